# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The picture of the block: drawn from today's code, well-formed, and inside its frame, for each preset."""

from pathlib import Path
from xml.etree import ElementTree

from modeling_scratch import presets
from modeling_scratch.figures import drawing
from modeling_scratch.figures.drawing import DEFAULT, PRESETS, draw

COMMITTED = Path(presets.__file__).with_name("block.svg")
TEXT = "{http://www.w3.org/2000/svg}text"


def words(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(TEXT)]


def test_the_committed_picture_is_what_the_code_says() -> None:
    drawn = draw({name: PRESETS[name] for name in DEFAULT})
    assert COMMITTED.read_text(encoding="utf-8") == drawn, "run `python -m modeling_scratch.figures.drawing`"


def test_parts_are_those_of_the_model() -> None:
    bert, llama, bart = (words(draw({name: PRESETS[name]})) for name in ("bert", "llama", "bart"))
    assert {"PostNorm", "norm(x + f(x))", "+ token_types", "is_causal=False"} <= set(bert)
    assert {"PreNorm", "x + f(norm(x))", "gate_proj", "rotate(q, k)", "RMSNorm"} <= set(llama)
    assert {"encoder_hidden_states", "cross_attention_residual", "model.decoder.stack.layers", "Block × 6"} <= set(bart)
    absent = {"cross_attention = None", "positions = None", "token_types = None", "stack.norm = Identity"}
    assert absent <= set(words(draw({name: PRESETS[name] for name in DEFAULT})))
    assert not {"gate_proj", "rotate(q, k)"} & {*bert, *bart}


def test_the_program_writes_the_columns_it_is_asked_for(tmp_path: Path) -> None:
    drawing.main(["--preset", "marian", "reviews", "--output", str(tmp_path / "two.svg")])
    found = words((tmp_path / "two.svg").read_text(encoding="utf-8"))
    assert {"presets.marian()", "presets.reviews()"} <= set(found)
