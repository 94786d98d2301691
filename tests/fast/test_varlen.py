# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Packed batches on accelerators, as far as a machine without one can tell: see test_gpu.py for the kernels themselves.

A tensor on torch's meta device has a shape and no values: what looks at one, where an accelerator would be waited for,
fails. What the kernels are asked to do is done here by a loop over the texts.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CAUSAL_LM,
    CLASSES,
    LENGTHS,
    MASKED_LM,
    PACKED_HEADS,
    TEXTS,
    Case,
    packed,
    parametrize_cases,
)
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from modeling_scratch.benchmark.data import on_device
from modeling_scratch.fast import attention as varlen

# Heads of 8 features: what the kernels take.
SIZES = {"hidden_size": 32, "num_attention_heads": 4, "attn_implementation": "sdpa"}
KERNELS = torch.ops.aten._flash_attention_forward.default, torch.ops.aten._efficient_attention_forward.default
GROUPED = {"num_key_value_heads": 2}


def without_values(case: Case, lengths: Sequence[int] = LENGTHS) -> dict[str, Any]:
    return on_device(packed(case, lengths), "meta")


POOLED = [*((case, "first", {}) for case in PACKED_HEADS), (TEXTS, "mean", GROUPED), (TEXTS, "max", {})]


@pytest.mark.parametrize(("case", "pooling", "heads"), POOLED)
def test_a_training_step_waits_for_nothing(case: Case, pooling: str, heads: dict) -> None:
    """Fewer learned positions than tokens: they are enough for each text."""
    settings = {"position_type": "learned", "max_position_embeddings": max(LENGTHS), "classifier_pooling": pooling}
    model = case.model(**SIZES, **settings, **heads, **CLASSES, attention_dropout=0.1).train().bfloat16().to("meta")
    model(**without_values(case), num_items_in_batch=4).loss.backward()
    assert all(parameter.grad.shape == parameter.shape for parameter in model.parameters())


class TextByText(TorchDispatchMode):
    """Does what torch documents of the kernels, and remembers which were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[Any] = set()

    def __torch_dispatch__(self, function: Any, types: Any, given: tuple = (), options: Any = None) -> Any:
        if function not in KERNELS:
            return function(*given, **(options or {}))
        self.asked.add(function)
        names = [argument.name for argument in function._schema.arguments]
        output = attend_text_by_text(**dict(zip(names, given)), **(options or {}))
        others = function._schema.returns[1:]  # which nobody reads without gradients
        return output, *(output.new_empty(0) if str(other.type) == "Tensor" else 0 for other in others)


def attend_text_by_text(query: Tensor, key: Tensor, value: Tensor, scale: float, **options: Any) -> Tensor:
    """query, key, value (tokens, H or K, D), or (1, tokens, H, D)."""
    ends = [value for name, value in options.items() if name.startswith(("cu_", "cum_"))]
    assert all(each.dtype == torch.int32 and each.tolist() == [0, 6, 7, 16, 20] for each in ends)
    assert len(ends) == 2
    assert [value for name, value in options.items() if name.startswith("max_")] == [max(LENGTHS)] * 2
    assert options["dropout_p"] == 0
    causal = bool(options.get("is_causal", options.get("custom_mask_type")))
    attend = partial(F.scaled_dot_product_attention, is_causal=causal, scale=scale, enable_gqa=True)
    columns = (states.flatten(0, -3).transpose(0, 1).split(LENGTHS, 1) for states in (query, key, value))
    return torch.cat([attend(*text).transpose(0, 1) for text in zip(*columns, strict=True)]).view_as(query)


@torch.no_grad()
@pytest.mark.parametrize(("position_type", "heads"), [("learned", {}), ("rotary", GROUPED)])
@parametrize_cases((TEXTS, MASKED_LM, CAUSAL_LM))
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_kernels_are_asked_for_what_the_other_backends_do(
    case: Case, position_type: str, heads: dict, kernel: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = case.model(**SIZES, position_type=position_type, **heads)
    inputs = packed(case)
    expected = model(**inputs)
    monkeypatch.setattr(varlen, "DEVICES", "cpu")
    if kernel is KERNELS[0]:  # which in truth takes numbers of 16 bits alone
        monkeypatch.setattr(varlen, "HALVES", (torch.float32,))
        monkeypatch.setattr(torch.backends.cuda, "is_flash_attention_available", lambda: True)
    of_texts = {name: inputs[name] for name in ("input_ids", "labels")}
    positions, boundaries = ({name: inputs[name]} for name in ("position_ids", "cu_seq_lens_q"))
    for told in inputs, positions, boundaries:  # any of them says enough
        with TextByText() as kernels:
            outputs = model(**of_texts | told)
        assert kernels.asked == {kernel}
        torch.testing.assert_close(outputs.logits, expected.logits, atol=1e-5, rtol=0)
        torch.testing.assert_close(outputs.loss, expected.loss, atol=1e-5, rtol=0)


CUDA, META = torch.device("cuda"), torch.device("meta")


@pytest.mark.parametrize(
    ("card", "taken"), [((7, 5), []), ((8, 0), [64, 192, 256]), ((8, 6), [64, 192]), ((9, 0), [64, 192, 256])]
)
def test_what_each_generation_of_cards_takes(card: tuple, taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without flash attention there is no kernel for bfloat16, and none with a gradient in a graph (torch 2.13)."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: card)
    monkeypatch.setattr(torch.backends.cuda, "is_flash_attention_available", lambda: True)
    sizes = 64, 192, 256, 264, 12
    assert [n for n in sizes if varlen.has_varlen_kernel(CUDA, torch.bfloat16, n, traced=False)] == taken
    for traced in (False, True):
        assert varlen.has_varlen_kernel(CUDA, torch.float32, 64, traced) == (not traced)
        assert varlen.has_varlen_kernel(CUDA, torch.float16, 64, traced) == (not traced or bool(taken))
