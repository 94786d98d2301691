# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Dropout keeps what it says, as often as it says, scaled so that the mean stays."""

import pytest
import torch
from model_cases import CAUSAL_LM, DECODER, backends, low_thresholds  # noqa: F401  (a fixture)

from modeling_scratch.fast.forwards import dropout

N = 200_001  # odd: the last elements share their random number with nobody
HALVES = {torch.bfloat16, torch.float16}
GROUP = 256  # elements that share what is left of p beyond the steps of a byte


def draw(p: float, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(seed)
    return dropout(torch.ones(3, N, dtype=dtype), p)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.9])
def test_each_element_is_kept_with_probability_1_minus_p_and_scaled(p: float) -> None:
    kept = draw(p) != 0
    deviation = (p * (1 - p) / kept.numel()) ** 0.5
    assert (kept.float().mean() - (1 - p)).abs() < 4 * deviation
    for part in kept.flatten()[: kept.numel() // 8 * 8].view(-1, 8).unbind(-1):  # each byte of a number
        assert (part.float().mean() - (1 - p)).abs() < 12 * deviation
    torch.testing.assert_close(draw(p)[kept], torch.full_like(draw(p)[kept], 1 / (1 - p)), rtol=2e-4, atol=0)


@pytest.mark.parametrize("p", [0.1, 0.0039])
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
    dropout(states, 0.3).sum().backward()
    torch.manual_seed(0)
    assert torch.equal(states.grad, dropout(torch.ones(50, 7), 0.3))


def test_its_ends_and_dtypes_are_those_of_torch() -> None:
    ones = torch.ones(5, 3)
    assert torch.equal(dropout(ones, 0.0), ones)
    assert torch.equal(dropout(ones, 1.0), torch.zeros(5, 3))
    assert dropout(torch.ones(100_000), 0.999).mean() == pytest.approx(1, abs=0.5)  # of a hundred elements
    assert torch.equal(dropout(ones, 0.7, training=False), ones)
    assert dropout(torch.ones(0, 3), 0.5).shape == (0, 3)
    assert dropout(ones, 0.5, inplace=True) is ones
    assert set(ones.unique().tolist()) <= {0.0, 2.0}
    assert {draw(0.1, dtype=dtype).dtype for dtype in HALVES} == HALVES
    with pytest.raises(ValueError, match="between 0 and 1"):
        dropout(ones, 1.5)


@pytest.mark.usefixtures("low_thresholds", "engine")
@backends
def test_attention_drops_weights_whatever_the_backend(backend: str) -> None:
    """The mean over many draws is what is said without dropout: nothing is lost, nothing scaled twice.

    With one pre-norm block whose feed-forward layer says nothing, and no norm behind it, this holds for its states.
    """
    settings = {"num_hidden_layers": 1, "norm_position": "pre", "final_norm": False, "attention_dropout": 0.2}
    model = DECODER.model(**settings, attn_implementation=backend)
    for parameter in model.stack.layers[0].feed_forward.down_proj.parameters():
        parameter.data.zero_()
    inputs = DECODER.inputs()
    real = inputs["attention_mask"].bool()
    with torch.no_grad():
        expected = model(**inputs).last_hidden_state[real]
        model.train()
        torch.manual_seed(0)
        many = {name: value.repeat(20, 1) for name, value in inputs.items()}
        draws = torch.cat([model(**many).last_hidden_state.unflatten(0, (20, -1))[:, real] for _ in range(10)])
    assert draws.std(0).max() > 0
    error = (draws.mean(0) - expected).abs() / (draws.std(0) / 200**0.5 + 1e-5)
    assert error.mean() < 1.2  # in standard errors, whose mean is 0.8
