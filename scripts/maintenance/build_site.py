# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write the site, but for its documentation: live pages of three models that compute what is typed, and the course.

python scripts/maintenance/build_site.py build/site

`make site` trains the models first, and adds the documentation. A live page is one of `modeling-scratch explain`.
"""

import html
import re
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import modeling_scratch
from modeling_scratch.course.building import read_lesson, sources
from modeling_scratch.course.lessons import LessonArguments, write_lessons
from modeling_scratch.data.text_pairs import pair_columns
from modeling_scratch.inspection.explanation import explain
from modeling_scratch.inspection.page import LEAST_POSITIONS, page
from modeling_scratch.inspection.program import load_explained
from modeling_scratch.inspection.weights import MOST_WEIGHTS, ROWS, packed_model
from modeling_scratch.sharing.card_run import Run
from modeling_scratch.sharing.card_summary import read_summary
from modeling_scratch.utils.command_line import quiet_libraries
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.files import write_text

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs" / "site" / "index.html"
MOST_TRIED = 3
NEUTRAL = "This is a text."  # on the live page of a model without texts to try
REMEDY = "list some as `widget` in its README.md"
SQUARES, SOURCE = 6, 3  # tokens in the picture of a card, and those of them that an encoder has read


class Live(NamedTuple):
    """A live page. folder: that of the project's own model; data: what it was trained on; tries: texts to try."""

    name: str
    button: str
    about: str
    folder: str
    data: str
    tries: Sequence[str]


LIVE = (
    Live(
        "classifier", "Classify",
        "An encoder reads a text, each word in the light of all the others, and gives it a label.",
        "runs/demo", "film reviews",
        ("The acting is gripping, but this film bores.", "The acting bores, but this film is gripping.",
         "My sister hated it, but I would not call this film dull."),
    ),
    Live(
        "translator", "Translate",
        "An encoder reads a sentence, and a decoder writes it in another language, word by word.",
        "runs/live/translator", "English to German",
        ("The old woman reads a letter because Felix has forgotten the story.",
         "Does the young doctor want to buy the red bicycle?", "My brother does not know a quiet village."),
    ),
    Live(
        "writer", "Write on",
        "A decoder reads the start of a text, and writes on: each token is drawn from a distribution.",
        "runs/live/writer", "film reviews",
        ("The acting is", "I expected a bore, but", "My sister told me"),
    ),
)  # fmt: skip


def described(live: Live, folder: str) -> Live:
    """With what a model of other data was trained on, and texts that may be published, if there are any.

    Raises `DataError` for a model of pairs.
    """
    if folder == live.folder:
        return live
    title, examples = read_summary(folder, is_public=True)
    tries = [texts[0] for texts in examples if len(texts) == 1][:MOST_TRIED]
    if pair_columns(folder) or (examples and not tries):
        raise DataError(f"--{live.name} {folder}: reads pairs of texts; choose a model of single texts")
    if not tries:
        print(f"--{live.name} {folder}: no texts to try that may be published; {REMEDY}", file=sys.stderr)
    return live._replace(folder=folder, data=title, tries=tries)


def uncomputed(model: Any, rules: dict[str, Any] | None) -> str | None:
    """Why a page cannot compute what is typed; None where it can."""
    if packed_model(model, LEAST_POSITIONS) is None:
        odd = [axis for axis in ROWS if getattr(model.config, axis, None) not in {*ROWS[axis], None}]
        return f"a page computes with up to {MOST_WEIGHTS:,} weights, and not every {', '.join(odd or ROWS)}"
    part = "no fast tokenizer" if rules is None else rules["missing"]
    return part and f"a page does not know a part of its tokenizer ({part})"


def write_live_page(live: Live, path: Path) -> str:
    """Write the page of the first text to try; return parameters, size and a score, that on test if there is one.

    Raises `DataError` for a model with which a page does not compute.
    """
    option = f"--{live.name} {live.folder}"
    model, tokenizers = load_explained(live.folder)
    try:
        explanation = explain(model, tokenizers, live.tries[0] if live.tries else NEUTRAL)
    except DataError as error:
        raise DataError(f"{option}: {error}; {REMEDY}") from error
    content = {**explanation.to_dict(), "home": "../index.html"}
    if reason := uncomputed(model, content["tokenizer"]["rules"]):
        raise DataError(f"{option}: {reason}; choose another model")
    page(content, model, path)
    facts = [f"{content['model']['parameters']:,} parameters", f"{path.stat().st_size / 1e6:.1f} MB"]
    with suppress(OSError, ValueError, LookupError, AttributeError, TypeError):  # a folder of no run of ours
        first, *others = Run.read(Path(live.folder), None).metrics
        metric = next((each for each in (first, *others) if each.split == "test"), first)
        value = f"{metric.value:.2%}" if metric.id == "accuracy" else f"{metric.value:.2f}"
        facts.append(f"{metric.id.replace('sacrebleu', 'BLEU')} {value} ({metric.split})")
    return " · ".join(facts)


def card(live: Live, facts: str) -> str:
    """Return the entry of a live page on the start page.

    Its picture: which token (row) may look at which, at all, at those before it, or also at all that an encoder has
    read.
    """
    seen = {"classifier": SQUARES, "translator": SOURCE, "writer": 0}[live.name]
    places = [(t, s) for t in range(SQUARES) for s in range(SQUARES)]
    drawn = [f'<rect x="{9 * s}" y="{9 * t}" class="{"on" if s <= t or s < seen else "off"}"/>' for t, s in places]
    side = 9 * SQUARES - 2
    squares = f'<svg viewBox="0 0 {side} {side}" aria-hidden="true">{"".join(drawn)}</svg>'
    address, texts = f"live/{live.name}.html", [(quote(text), html.escape(text)) for text in live.tries]
    links = "".join(f'<li><a href="{address}#text={part}">{text}</a></li>' for part, text in texts)
    return f"""<article class="card">
<h2>{squares}<span>A {live.name}<small>{html.escape(live.data)}</small></span></h2>
<p>{live.about}</p>
<form data-page="{address}"><input required autocomplete="off" aria-label="A text for the {live.name}"
placeholder="Type a text"><button>{live.button}</button></form>
{f"<ul>{links}</ul>" if links else ""}
<p class="facts">{html.escape(facts)}</p>
</article>"""


def write_course(folder: Path) -> str:
    """Write the notebooks of students and the slides, and return the links to them."""
    write_lessons(LessonArguments(slides=True, output_dir=str(folder), overwrite=True, open=False))
    links = []
    for source in sources().values():
        title = html.escape(read_lesson(source)[0].source.partition("\n")[0].lstrip("# "))
        slides, notebook = (f"course/{source.stem}{ending}" for ending in ("_slides.html", ".ipynb"))
        both = f'<a href="{slides}">slides</a> · <a href="{notebook}" download>notebook</a>'
        links.append(f"<div><h3>{title}</h3><p>{both}</p></div>")
    return "\n".join(links)


def build(site: Path, lives: Sequence[Live], has_course: bool = True) -> None:
    """Write the live pages, the course and the start page. Raises `DataError` before the course is written."""
    (site / "live").mkdir(parents=True, exist_ok=True)
    cards = [card(live, write_live_page(live, site / "live" / f"{live.name}.html")) for live in lives]
    lessons = write_course(site / "course") if has_course else ""
    parts = {"version": modeling_scratch.__version__, "cards": "\n".join(cards), "lessons": lessons}
    template = TEMPLATE.read_text(encoding="utf-8")
    shutil.copyfile(ROOT / "modeling_scratch" / "block.svg", site / "block.svg")
    (site / ".nojekyll").touch()  # GitHub Pages would leave out folders whose names start with _
    write_text(site / "index.html", re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("site", type=Path, help="The folder of the site.")
    for live in LIVE:
        parser.add_argument(f"--{live.name}", default=live.folder, help=f"The folder of its model ({live.folder}).")
    given = vars(parser.parse_args(arguments))
    try:
        build(given["site"], [described(live, given[live.name]) for live in LIVE])
    except DataError as error:
        parser.error(str(error))


if __name__ == "__main__":
    quiet_libraries()
    main()
