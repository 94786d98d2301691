# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Parts that are broken from outside: what is then computed, that it is taken back, and what it costs in training."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lab import main
from model_cases import CAUSAL_LM, MASK, SEQ2SEQ_LM, SWITCHES, TEXTS, TINY, Case, draw_ids
from shared import redraw, refused
from torch import Tensor, nn

from modeling_scratch import ScratchDecoderConfig, ScratchDecoderModel, ScratchEncoderConfig, ScratchEncoderModel, fast
from modeling_scratch.attention import Attention
from modeling_scratch.lab.breaks import BREAKS, broken
from modeling_scratch.layers import RMSNorm

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


def with_larger_queries(decoder: Any) -> Any:
    for module in decoder.modules():
        if isinstance(module, Attention):
            for parameter in module.q_proj.parameters():
                parameter.data *= module.head_dim**0.5
    return decoder


def without_norms(decoder: Any) -> Any:
    for path, module in list(decoder.named_modules()):
        if isinstance(module, nn.LayerNorm | RMSNorm):
            decoder.set_submodule(path, nn.Identity())
    return decoder


def with_weights_of(decoder: Any, other: Any) -> Any:
    other.load_state_dict(decoder.state_dict())
    return other


WITHOUT: dict[str, Callable[[Any], Any]] = {
    "scaling": with_larger_queries,
    "norm": without_norms,
    "mask": lambda decoder: with_weights_of(
        decoder, ScratchEncoderModel(ScratchEncoderConfig(**TINY), add_pooling_layer=False)
    ),
    "positions": lambda decoder: with_weights_of(
        decoder, ScratchDecoderModel(ScratchDecoderConfig(**TINY, position_type="none"))
    ),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_broken_model_computes_as_one_without_the_part(name: str) -> None:
    decoder = redraw(ScratchDecoderModel(ScratchDecoderConfig(**TINY))).eval()
    inputs = {"input_ids": draw_ids(), "attention_mask": MASK.clone()}
    expected = answers(WITHOUT[name](copy.deepcopy(decoder)).eval(), inputs)
    with broken(decoder, name):
        torch.testing.assert_close(answers(decoder, inputs), expected, rtol=1e-4, atol=1e-5)


def test_weights_over_queries_add_up_to_one_for_each_key() -> None:
    model, ids = CAUSAL_LM.model(), draw_ids()[:1]
    with torch.no_grad(), broken(model, "softmax_axis"):
        weights = model(ids, output_attentions=True).attentions[0]  # (1, H, T, T)
    torch.testing.assert_close(weights.sum(-2), torch.ones(weights.shape[:2] + weights.shape[-1:]))
    assert (weights.sum(-1) - 1).abs().max() > 0.1
    assert torch.equal(weights, weights.tril())


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
