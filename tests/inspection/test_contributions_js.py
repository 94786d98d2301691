# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What adds up to an answer: the page's JavaScript against contributions.py, on texts that the page computes."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from shared import redraw
from test_explanation import OTHER, POOLED, SUMS, TEXT, TOKENIZER, model_of, without_blocks
from test_forward_js import PAGE, node

from modeling_scratch import explain
from modeling_scratch.inspection import weights
from modeling_scratch.inspection.contributions import Contributions

Case = tuple[Any, list[int], Contributions]  # a model, the ids of a text, and the contributions of another text
Recorded = list[tuple[Any, Any]]  # models, and what is explained of a text
NOTHING_OFF: dict[str, Any] = {"heads": [], "layers": []}
SWITCHED_OFF = (
    {"heads": [["model.stack.layers.0.attention", [0, 1]]], "layers": []},
    {"heads": [], "layers": ["model.stack.layers.0"]},
    {"heads": [], "layers": ["model.stack.layers.0", "model.stack.layers.1"], "broken": ["positions"]},
)


def summing(model_class: Any, settings: dict[str, Any]) -> Any:
    given = {"norm_position": "pre", "num_labels": 2, **POOLED, **settings}
    return redraw(model_of(model_class, **given, num_hidden_layers=2))


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    models = [*(summing(*case) for case in SUMS), without_blocks()]
    return [(model, explain(model, TOKENIZER, TEXT).texts[0]) for model in models]


def of_page(cases: list[Case], off: dict[str, Any] = NOTHING_OFF) -> list[dict[str, Any]]:
    runs = [
        {
            "model": weights.packed_model(model, 24),
            "inputs": {"input_ids": ids},
            "off": off,
            "contributions": asdict(like),
        }
        for model, ids, like in cases
    ]
    return json.loads(node(str(Path(__file__).with_name("run_forward.js")), str(PAGE), stdin=json.dumps(runs)))


def test_the_page_adds_up_as_python_does(recorded: Recorded) -> None:
    """By the names of the parts of one text, those of another."""
    texts = [explain(model, TOKENIZER, OTHER).texts[0] for model, _ in recorded]
    cases = [
        (model, text.tokens.ids, replace(like.contributions, index=text.contributions.index))
        for (model, like), text in zip(recorded, texts)
    ]
    for expected, shown in zip((text.contributions for text in texts), of_page(cases), strict=True):
        close = {"rel": 1e-4, "abs": 1e-4}
        assert shown["value"] == pytest.approx(expected.value, **close)
        assert [(part["name"], part["layer"]) for part in shown["parts"]] == [(p.name, p.layer) for p in expected.parts]
        assert [part["value"] for part in shown["parts"]] == pytest.approx([p.value for p in expected.parts], **close)
        pieces = {piece["first"]: piece for piece in shown["pieces"]}
        assert len(pieces) == len(expected.pieces)
        for piece in expected.pieces:
            same = pieces[piece.first]
            assert same["count"] == piece.count
            assert same["value"] == pytest.approx(piece.value, **close)


@pytest.mark.parametrize("off", SWITCHED_OFF, ids=["heads", "layer", "layers and positions"])
def test_what_is_left_adds_up_while_parts_are_off(off: dict[str, Any], recorded: Recorded) -> None:
    cases = [(model, text.tokens.ids, text.contributions) for model, text in recorded]
    for (_, text), shown in zip(recorded, of_page(cases, off), strict=True):
        assert sum(part["value"] for part in shown["parts"]) == pytest.approx(shown["value"], rel=1e-4, abs=1e-4)
        for part in shown["parts"]:
            if part["layer"] is not None and f"model.stack.layers.{part['layer'] - 1}" in off["layers"]:
                assert part["value"] == 0
        if any(part.layer for part in text.contributions.parts):
            assert shown["value"] != pytest.approx(text.contributions.value, rel=1e-3)
