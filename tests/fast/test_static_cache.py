# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generation with a static cache: one compiled graph fits all tokens."""

from functools import wraps
from typing import Any

import pytest
import torch
from conftest import lively
from model_cases import CAUSAL_LM, MASK, draw_ids
from torch import Tensor

LEFT = {"inputs": draw_ids()[::2], "attention_mask": MASK[::2]}  # without the text that is padded on the right
LENGTH = {"max_new_tokens": 7, "min_new_tokens": 7, "suppress_tokens": [0], "use_cache": True}


@pytest.mark.parametrize("settings", [{"position_type": kind} for kind in ("rotary", "alibi", "learned")], ids=str)
def test_every_token_has_inputs_of_one_shape(settings: dict) -> None:
    """The first call reads the prompt."""
    model, shapes = lively(CAUSAL_LM.model(**settings)), []
    expected, forward = model.generate(**LEFT, **LENGTH), model.forward

    @wraps(forward)  # whose arguments generate looks at
    def seen(*arguments: Any, **named: Any) -> Any:
        shapes.append({name: tuple(value.shape) for name, value in named.items() if isinstance(value, Tensor)})
        return forward(*arguments, **named)

    model.forward = seen
    found = model.generate(**LEFT, **LENGTH, cache_implementation="static", disable_compile=True)
    assert torch.equal(found, expected)
    assert "attention_mask" in shapes[1]
    assert [each for each in shapes[1:] if each != shapes[1]] == []


@pytest.mark.slow
def test_flex_attention_makes_its_own_masks() -> None:
    model = lively(CAUSAL_LM.model(position_type="rotary", hidden_size=32, num_attention_heads=2))
    expected = model.generate(**LEFT, **LENGTH)
    model.set_attn_implementation("flex_attention")
    found = model.generate(**LEFT, **LENGTH, cache_implementation="static", disable_compile=True)
    assert torch.equal(found, expected)
