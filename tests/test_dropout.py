# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Dropout keeps what it says, as often as it says, scaled so that the mean stays."""

import pytest
import torch
from conftest import redraw, watch
from model_cases import TINY
from torch import nn

from modeling_scratch import ScratchDecoderModel, presets
from modeling_scratch.dropout import Dropout, add_dropped, drop

N = 200_001  # odd: the last elements share their random number with nobody
GROUP = 256  # elements that share what is left of p beyond the steps of a byte


def draw(p: float, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(3, N, dtype=dtype))


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
def test_each_element_is_kept_with_probability_1_minus_p_and_scaled(p: float) -> None:
    kept = draw(p) != 0
    deviation = (p * (1 - p) / kept.numel()) ** 0.5
    assert (kept.float().mean() - (1 - p)).abs() < 4 * deviation
    for part in kept.flatten()[: kept.numel() // 8 * 8].view(-1, 8).unbind(-1):  # each byte of a number
        assert (part.float().mean() - (1 - p)).abs() < 12 * deviation
    torch.testing.assert_close(draw(p)[kept], torch.full_like(draw(p)[kept], 1 / (1 - p)), rtol=2e-4, atol=0)


@pytest.mark.parametrize("p", [0.1, 0.5])
@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8, GROUP, N])
def test_neighbours_are_dropped_independently(lag: int, p: float) -> None:
    kept = (draw(p) != 0).flatten().double() - (1 - p)
    assert (kept[lag:] * kept[:-lag]).mean().abs() / (p * (1 - p)) < 4 / kept.numel() ** 0.5


@pytest.mark.parametrize("p", [0.1, 0.0039, 0.7])
def test_so_many_of_a_group_are_dropped_as_if_each_were_drawn_alone(p: float) -> None:
    """The count has the variance of independent draws, and what sharing a step adds: at most (GROUP / 512)^2."""
    counts = (draw(p) == 0).flatten()[: 3 * N // GROUP * GROUP].view(-1, GROUP).sum(-1).double()
    expected = GROUP * p * (1 - p)
    error = 4 * expected * (2 / len(counts)) ** 0.5 * max(1, 1 / expected) ** 0.5
    assert expected - error < counts.var() < expected + (GROUP / 512) ** 2 + error


def test_the_seed_decides_and_the_gradient_has_the_same_mask() -> None:
    assert torch.equal(draw(0.3), draw(0.3))
    assert not torch.equal(draw(0.3), draw(0.3, seed=1))
    states = torch.randn(50, 7, requires_grad=True)
    torch.manual_seed(0)
    Dropout(0.3)(states).sum().backward()
    torch.manual_seed(0)
    assert torch.equal(states.grad, Dropout(0.3)(torch.ones(50, 7)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_dtype_stays(dtype: torch.dtype) -> None:
    assert draw(0.1, dtype=dtype).dtype == dtype


def test_its_ends_are_those_of_torch() -> None:
    ones = torch.ones(5, 3)
    assert torch.equal(Dropout(0.0)(ones), ones)
    assert torch.equal(Dropout(1.0)(ones), nn.Dropout(1.0)(ones))
    assert Dropout(0.999)(torch.ones(100_000)).mean() == pytest.approx(1, abs=0.5)  # of a hundred elements
    assert torch.equal(Dropout(0.7).eval()(ones), ones)
    assert drop(torch.ones(0, 3), 0.5)[0].shape == (0, 3)


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_with_the_residual_it_is_their_sum(p: float) -> None:
    residual, states = torch.randn(2, 40, 30).unbind()
    for dropout in (Dropout(p), Dropout(p).eval(), nn.Dropout(0.0), nn.Identity()):
        torch.manual_seed(0)
        found = add_dropped(residual, states, dropout)
        torch.manual_seed(0)
        torch.testing.assert_close(found, residual + dropout(states))


def test_hooks_see_the_dropout_of_a_residual_connection() -> None:
    dropout, seen = Dropout(0.5), []
    dropout.register_forward_hook(lambda module, inputs, output: seen.append(output))
    found = add_dropped(torch.zeros(4, 5), torch.ones(4, 5), dropout)
    assert torch.equal(found, seen[0])


def test_it_is_compiled_and_exported_as_that_of_torch() -> None:
    program = torch.export.export(nn.Sequential(Dropout(0.5)), (torch.ones(4),))
    assert not any("random" in str(node.target) for node in program.graph.nodes)


@pytest.mark.parametrize("packed", [True, False])
def test_attention_drops_weights_whatever_the_backend(packed: bool) -> None:
    """The mean over many draws is what is said without dropout: nothing is lost, nothing scaled twice."""
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    ids = torch.arange(1, 13).view(2, 6)
    settings = {**TINY, "num_hidden_layers": 1, "norm_position": "pre"}
    model = redraw(ScratchDecoderModel(presets.gpt2(**settings, attention_dropout=0.2)), std=0.1)
    model.stack.layers[0].feed_forward.down_proj.weight.data.zero_()
    model.packs_padded_batches = packed
    block = model.stack.layers[0].attention
    seen: list[torch.Tensor] = []
    watch(block, lambda output: seen.append(output[0]))
    model.eval()(ids, mask, use_cache=False)
    model.train()
    for seed in range(400):
        torch.manual_seed(seed)
        model(ids, mask)
    draws = torch.stack(seen[1:])
    assert draws.std(0).max() > 0
    error = (draws.mean(0) - seen[0]).abs() / (draws.std(0) / 20 + 1e-6)
    assert error.mean() < 1.5  # in standard errors
