# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Parts that are broken from outside: that it is taken back, and what it costs in training.

What is then computed, tests/inspection/test_forward_js.py compares with the page's own code.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from lab import main
from model_cases import CAUSAL_LM, MASK, SEQ2SEQ_LM, SWITCHES, TEXTS, Case
from shared import refused
from torch import Tensor

from modeling_scratch import fast
from modeling_scratch.lab.breaks import BREAKS, broken

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab.md"


def answers(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    """The first field, where tokens are real."""
    with torch.no_grad():
        found = model(**inputs)[0]
    return found[MASK.bool()] if found.ndim == 3 else found


@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.parametrize("case", [TEXTS, CAUSAL_LM, SEQ2SEQ_LM], ids=["encoder", "decoder", "encoder-decoder"])
def test_a_break_changes_the_answers_until_it_is_taken_back(case: Case, name: str) -> None:
    """With the engine, too, which computes a whole model by other functions."""
    model, inputs = case.model(**SWITCHES["pre-rotary-grouped"]), case.inputs()
    if (case, name) == (TEXTS, "mask"):
        with pytest.raises(ValueError, match="has no mask"), broken(model, name):
            pass
        return
    state = {path: set(vars(module)) for path, module in model.named_modules()}
    whole = answers(model, inputs)
    with broken(model, name):
        with fast.disabled():
            expected = answers(model, inputs)
        torch.testing.assert_close(answers(model, inputs), expected)
    assert (expected - whole).abs().max() > 1e-3
    assert torch.equal(answers(model, inputs), whole)
    assert {path: set(vars(module)) for path, module in model.named_modules()} == state


def test_what_cannot_be_broken_is_refused(capfd: pytest.CaptureFixture) -> None:
    model = TEXTS.model(position_type="none")
    for name, message in (("positions", "has no positions"), ("attention", "choose one of scaling, mask")):
        with pytest.raises(ValueError, match=message), broken(model, name):
            pass
    refused(capfd, main, ["--broken", "masks"], "--broken masks", "choose from scaling, mask")
    refused(capfd, main, ["--broken", "mask", "--task", "demo"], "--task: not with --broken")
    refused(capfd, main, ["--vary", "norm_position=pre,post"], "--task is missing")


def rows(text: str) -> dict[str, list[float]]:
    """The table of breaks: the shares of a part in percent."""
    found = re.findall(r"^\| `?(\w+)`? \|(?: [^|]* \|)? ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \|", text, re.M)
    return {name: [float(share) for share in shares] for name, *shares in found}


def test_the_lab_trains_models_whole_and_broken(capsys: pytest.CaptureFixture) -> None:
    main(["--broken", "mask,positions", "--seeds", "1", "--max_steps", "5"])
    printed = capsys.readouterr().out
    assert rows(printed).keys() == {"mask", "positions"}
    assert printed.index("mask: ") < printed.index("seed 0") < printed.index("positions: ")


@pytest.mark.slow
def test_each_break_costs_what_the_page_says(capsys: pytest.CaptureFixture) -> None:
    main(["--broken", "all"])
    printed, told = rows(capsys.readouterr().out), rows(PAGE.read_text(encoding="utf-8"))
    assert printed.keys() == told.keys() == BREAKS.keys()
    for name, (whole, damaged, _) in printed.items():
        assert whole - damaged > 20
        assert told[name] == pytest.approx(printed[name], abs=10)
