# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The picture of models as SVG: each is a column, from ids to logits, and all columns have the same rows.

A switched part has the second colour. architecture.py says what stands where.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

INK, GREY, RULE, BOX, SWITCHED, TINT, PAPER = (
    "#1f2328", "#59636e", "#d1d9e0", "#f6f8fa", "#bc4c00", "#fff1e5", "#ffffff"
)  # fmt: skip
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS = " font-family=\"-apple-system,BlinkMacSystemFont,'Segoe UI',Helvetica,Arial,sans-serif\""
END, MIDDLE, BOLD, DASHED = ' text-anchor="end"', ' text-anchor="middle"', ' font-weight="600"', ' stroke-dasharray="3"'
ADVANCE = 0.605  # width of a letter of these fonts, in units of their size
PITCH, FRAME, LEFT, INNER = 246, 234, 26, 198  # widths: column, frame of a block, left edge and width of its boxes
CENTRE = LEFT + INNER / 2
MARGIN, TOP, GAP, ROW, BELOW, BAND = 11, 104, 7, 21, 12, 18  # heights: title, between rows, row, second line, header
THIRD = 62  # width of q_proj, k_proj and v_proj
TITLE = "From ids to logits: one block and its switches"
MEANINGS = (  # of the colours
    (BOX, GREY, "", "as in the Transformer of 2017"), (TINT, SWITCHED, "", "switched by the config field below"),
    (PAPER, RULE, DASHED, "None in this model"), (PAPER, PAPER, "", "dropout is not drawn"),
)  # fmt: skip
# The first row of each frame, the row above which it ends, and its distance from the outer frame.
FRAMES = (
    ("embeddings", "hidden", 0), ("block", "end", 0), ("attention.residual", "cross_attention.residual", 5),
    ("cross_attention.residual", "feed_forward.residual", 5), ("feed_forward.residual", "end", 5),
)  # fmt: skip
Places = Mapping[str, tuple[float, float]]  # row: (y, height)


@dataclass(frozen=True)
class Part:
    """A box: the attribute's name, what is right of it, and below it a switch of the config or else a note.

    is_there: False where the attribute is None or nn.Identity(). Several names are boxes side by side, whose details
    have commas between them.
    """

    name: str
    detail: str = ""
    switch: str = ""
    note: str = ""
    is_there: bool = True


@dataclass(frozen=True)
class Column:
    """One model: its titles, the parts by the rows in which they stand, and where embeddings and blocks are found."""

    titles: tuple[str, str, str]
    parts: Mapping[str, Part]
    prefix: str
    layers: int


# Rows from ids to logits; a row that no column fills is left out.
EMBEDDINGS = ("tokens", "projection_first", "scale", "positions", "token_types", "embedding_norm", "projection")
ATTENTION = (
    "residual", "before", "source", "qkv", "query_key_norm", "rotary", "softmax", "o_proj", "output", "add", "after",
)  # fmt: skip
FEED_FORWARD = ("residual", "before", "up", "activation", "down", "output", "add", "after")
LAYERS = {"attention": ATTENTION, "cross_attention": ATTENTION, "feed_forward": FEED_FORWARD}
BLOCK = tuple(f"{layer}.{row}" for layer, rows in LAYERS.items() for row in rows)
HEAD = ("final_norm", "pooled", "pooled_norm", "head_projection", "head_dense", "head_norm", "head")
ROWS = ("input", "embeddings", *EMBEDDINGS, "hidden", "block", *BLOCK, "end", *HEAD, "logits")


def draw_columns(columns: Sequence[Column]) -> str:
    """Return the picture of these columns as SVG."""
    places = heights(columns)
    width, bottom = 2 * MARGIN + PITCH * len(columns) - (PITCH - FRAME), places["logits"][0] + ROW
    in_a_line = max(1, int(width // PITCH))
    height = bottom + 26 + 20 * -(-len(MEANINGS) // in_a_line)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" font-family="{MONO}">',
        f"<title>{TITLE}</title>",
        f'<rect width="{width}" height="{height:g}" rx="8" fill="{PAPER}"/>',
        text(MARGIN, 26, TITLE, 17, SANS + BOLD, room=width - 2 * MARGIN),
    ]
    for number, each in enumerate(columns):
        lines += draw_column(MARGIN + PITCH * number, each, places)
    for number, (fill, stroke, extra, words) in enumerate(MEANINGS):
        x, y = MARGIN + PITCH * (number % in_a_line), bottom + 20 + 20 * (number // in_a_line)
        lines += [rectangle(x, y, 18, 12, fill, stroke, extra), text(x + 25, y + 10, words, 11.5, SANS)]
    return "\n".join([*lines, "</svg>"]) + "\n"


def heights(columns: Sequence[Column]) -> dict[str, tuple[float, float]]:
    """Return y and height of the rows that some column fills."""
    y, places = float(TOP), dict[str, tuple[float, float]]()
    for row in ROWS:
        parts = [each.parts[row] for each in columns if row in each.parts]
        if not any(part.is_there for part in parts):
            continue
        has_second = any(part.switch or part.note for part in parts) and not row.endswith("add")
        height = ROW + (BELOW if has_second or row.endswith(("qkv", "source")) else 0)
        height = BAND if row in ("embeddings", "block") or row.endswith("residual") else height
        y += 6 if row.endswith("residual") or row == "end" else 0
        places[row] = y, height
        y += height + GAP * (2 if row.endswith("residual") else 1)
    return places


def draw_column(x: float, each: Column, places: Places) -> list[str]:
    centre, bottom = x + CENTRE, places["logits"][0]
    drawn = [path(f"M{centre:g} {places['input'][0]:g}V{bottom:g}"), *frames(x, each, places), arrow(centre, bottom)]
    for line, title, size, extra in zip((54, 70, 86), each.titles, (14, 10.5, 9.5), (SANS + BOLD, "", "")):
        drawn.append(text(x, line, title, size, extra, room=FRAME))
    for row, (y, height) in places.items():
        if row in each.parts:
            drawn += draw_row(x, y, height, row, each, places)
    return drawn


def frames(x: float, each: Column, places: Places) -> list[str]:
    """Outlines of the embeddings, the block, and the layers in it."""
    drawn = []
    for first, last, inset in FRAMES:
        if first not in places or not each.parts.get(first, Part("")).is_there:
            continue
        last = last if last in places else "feed_forward.residual"  # no column has cross-attention
        top, bottom = places[first][0], places[last][0] - (9 if last.endswith("residual") else 2 + inset)
        drawn.append(rectangle(x + inset, top, FRAME - 2 * inset, bottom - top, "none", RULE))
    return drawn


def draw_row(x: float, y: float, height: float, row: str, each: Column, places: Places) -> list[str]:
    part, centre, (layer, _, kind) = each.parts[row], x + CENTRE, row.partition(".")
    if kind == "residual":
        return [*band(x + 5, y, FRAME - 10, part), arrow(centre, y)]
    if row in ("embeddings", "block"):
        layers = f" × {each.layers}" if row == "block" else ""
        return [*band(x, y, FRAME, Part(f"{each.prefix}.{part.name}", part.detail + layers)), arrow(centre, y)]
    if row in ("hidden", "end"):
        return [text(centre + 7, y + height / 2 + 3.5, part.detail, 9.5, colour=GREY)]
    if kind == "add":
        split = places[f"{layer}.residual"]
        return addition(x, y, part, split[0] + split[1] + GAP / 2)
    if kind == "source":
        return source(x, part, places[f"{layer}.qkv"][0])
    if kind == "qkv" or part.name == "gate_proj up_proj":
        below = places[f"{layer}.{'softmax' if kind == 'qkv' else 'activation'}"][0]
        return side_by_side(x, y, height, part, below, crosses=f"{layer}.source" in each.parts)
    if not part.is_there:  # beside the line that passes it
        words = f"{part.name} = {part.detail}".lstrip("+ ")
        return [text(centre + 7, y + height / 2 + 3, words, 9, colour=GREY, room=FRAME - CENTRE - 8)]
    return box(x + LEFT, y, 2 * THIRD + 6 if kind == "rotary" else INNER, height, part)


def text(
    x: float, y: float, words: str, size: float, extra: str = "", colour: str = INK, room: float | None = None
) -> str:
    """Words whose letters are smaller where the line would be wider than its room."""
    size = size if room is None else min(size, room / ADVANCE / max(len(words), 1))
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:.4g}" fill="{colour}"{extra}>{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, fill: str, stroke: str, extra: str = "") -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} rx="4" fill="{fill}" stroke="{stroke}"{extra}/>'


def path(points: str, colour: str = GREY) -> str:
    return f'<path d="{points}" fill="none" stroke="{colour}"/>'


def arrow(x: float, y: float) -> str:
    """Its point down, at y."""
    return f'<path d="M{x:g} {y:g}l-3.5 -6h7z" fill="{GREY}"/>'


def box(x: float, y: float, width: float, height: float, part: Part, is_switched: bool = False) -> list[str]:
    """Name left and detail right, or the name alone in the middle; below it the switch, or the note."""
    stroke, fill = (SWITCHED, TINT) if part.switch or is_switched else (GREY, BOX)
    below, colour = part.switch or part.note, SWITCHED if part.switch else GREY
    middle, centre = y + height / 2 + (-2.5 if below else 3.5), x + width / 2
    drawn = [rectangle(x, y, width, height, fill, stroke)]
    if part.detail:
        size = min(10.5, (width - 8) / ADVANCE / len(f"{part.name}   {part.detail}"))
        drawn.append(text(x + 8, middle, part.name, size, BOLD))
        drawn.append(text(x + width - 8, middle, part.detail, size, END, GREY))
    else:
        drawn.append(text(centre, middle, part.name, 10.5, BOLD + MIDDLE, room=width - 8))
    if below:
        start, anchor = (x + 8, "") if part.detail else (centre, MIDDLE)
        drawn.append(text(start, middle + BELOW - 1, below, 9.5, anchor, colour, width - (16 if part.detail else 8)))
    return drawn


def side_by_side(x: float, y: float, height: float, part: Part, below: float, crosses: bool) -> list[str]:
    """Boxes that all read the stream, and their lines to the row below; the first of them alone if `crosses`."""
    names, details = part.name.split(), part.detail.split(", ")
    width = THIRD if len(names) == 3 else (INNER - 6) / 2
    centres = [x + LEFT + width / 2 + i * (INNER - width) / (len(names) - 1) for i in range(len(names))]
    top = y - 5 - (ROW + BELOW if crosses else 0)
    branch = f"H{x + CENTRE:g}" if crosses else f"H{centres[-1]:g}V{y:g}"
    hidden = rectangle(x + CENTRE - 3, top, 6, below - top, PAPER, PAPER)  # the stream, which passes no box here
    drawn = [hidden] if len(names) == 2 else []
    drawn.append(path(f"M{centres[0]:g} {y:g}V{top:g}{branch}"))
    for centre, name, detail in zip(centres, names, details):
        drawn.append(path(f"M{centre:g} {y + height:g}V{below:g}"))
        drawn += box(centre - width / 2, y, width, height, Part(name, note=detail), bool(part.switch))
    return drawn


def band(x: float, y: float, width: float, part: Part) -> list[str]:
    """The header of a frame: name left, class right."""
    if not part.is_there:
        words = text(x + width / 2, y + 12.5, f"{part.name} = {part.detail}", 9.5, MIDDLE, GREY)
        return [rectangle(x, y, width, BAND, PAPER, RULE, DASHED), words]
    stroke, fill, ink = (SWITCHED, TINT, SWITCHED) if part.switch else (RULE, RULE, INK)
    return [
        rectangle(x, y, width, BAND, fill, stroke),
        text(x + 7, y + 12.5, part.name, 9.5, BOLD),
        text(x + width - 7, y + 12.5, part.detail, 9.5, END, ink),
    ]


def source(x: float, part: Part, key: float) -> list[str]:
    """What the encoder read enters from the right, where the stream turns to the query."""
    centre, right, value = x + CENTRE, x + FRAME, x + LEFT + INNER - THIRD / 2
    return [
        rectangle(centre - 2, key - ROW - BELOW - 4, 4, ROW + BELOW + 3, PAPER, PAPER),
        path(f"M{right:g} {key - 7:g}H{centre:g}V{key:g}M{value:g} {key - 7:g}V{key:g}"),
        text(right - 12, key - 12, part.name, 9.5, END),
    ]


def addition(x: float, y: float, part: Part, split: float) -> list[str]:
    """The residual connection: from where the stream splits, past the layer, to its sum."""
    centre, middle = x + CENTRE, y + ROW / 2
    return [
        path(f"M{centre:g} {split:g}H{x + 14:g}V{middle:g}H{centre:g}"),
        f'<circle cx="{centre:g}" cy="{middle:g}" r="7" fill="{PAPER}" stroke="{GREY}"/>',
        path(f"M{centre - 4:g} {middle:g}h8m-4 -4v8", INK),
        text(centre + 13, middle + 3.5, part.detail, 9.5, colour=SWITCHED if part.switch else INK),
    ]
