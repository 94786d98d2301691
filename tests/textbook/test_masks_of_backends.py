# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A mask or a bias that the attention backend would ignore or misread is an error, with either engine."""

from typing import Any

import pytest
import torch
from model_cases import DECODER, ENCODER, SEQ2SEQ
from shared import lively
from torch import Tensor
from transformers import AttentionInterface

FAMILIES = {"encoder": ENCODER, "decoder": DECODER, "encoder-decoder": SEQ2SEQ}
TEXTS, LENGTH, HEADS = 3, 20, 2
PADDED = (torch.arange(LENGTH) < torch.tensor([LENGTH, 7, 12])[:, None]).long()
PAIRS = torch.rand(TEXTS, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0)) < 0.5
PAIRS |= torch.eye(LENGTH, dtype=torch.bool)
BIASES = torch.randn(TEXTS, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0))
BIAS_A_HEAD = torch.randn(TEXTS, HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0))

pytestmark = pytest.mark.usefixtures("engine")
families = pytest.mark.parametrize("family", FAMILIES)


def make(family: str, backend: str, **settings: Any) -> Any:
    model = lively(FAMILIES[family].model(**{"num_attention_heads": HEADS, "num_hidden_layers": 1, **settings}))
    model.config._attn_implementation = backend  # set_attn_implementation asks for what is installed
    for part in model.modules():
        if hasattr(part, "config"):
            part.config._attn_implementation = backend
    return model


def read(model: Any, mask: Any, **kwargs: Any) -> Tensor:
    ids = torch.randint(1, 50, (TEXTS, LENGTH), generator=torch.Generator().manual_seed(1))
    if model.config.is_encoder_decoder:
        kwargs["decoder_input_ids"] = ids
    with torch.no_grad():
        return model(ids, attention_mask=mask, **kwargs).last_hidden_state


MISREAD = (
    *(("flash_attention_2", mask) for mask in (BIASES, PAIRS)),
    *(("flex_attention", mask) for mask in (BIASES, PAIRS, BIAS_A_HEAD)),
    *((backend, PAIRS.long()) for backend in ("eager", "sdpa")),
)  # fmt: skip


@families
def test_a_mask_that_the_backend_would_ignore_or_misread_is_refused(family: str) -> None:
    for backend, mask in MISREAD:
        with pytest.raises(ValueError, match=f"attention_mask.*{backend}|{backend}.*attention_mask"):
            read(make(family, backend), mask)
    if family == "encoder-decoder":  # also where the encoder need not read it
        source = make(family, "eager").encoder(torch.ones(TEXTS, LENGTH, dtype=torch.long))
        with pytest.raises(ValueError, match="attention_mask"):
            read(make(family, "flash_attention_2"), PAIRS, encoder_outputs=source)
    with pytest.raises(ValueError, match="negative"):
        read(make(family, "eager"), (1.0 - PADDED) * -1e9)


@families
def test_eager_attention_and_sdpa_read_a_4d_mask_alike(family: str) -> None:
    models = [make(family, backend) for backend in ("eager", "sdpa")]
    without = read(models[0], None)
    for mask in PAIRS, BIASES, BIAS_A_HEAD:
        eager, sdpa = (read(model, mask) for model in models)
        torch.testing.assert_close(sdpa, eager, atol=1e-4, rtol=1e-4)
        assert (eager - without).abs().max() > 0.1


@families
def test_every_number_but_0_is_a_real_token(family: str) -> None:
    model, is_real = make(family, "eager"), PADDED.bool()
    expected = read(model, PADDED)[is_real]
    for real in 2, -1, 0.5, True:
        assert torch.equal(read(model, PADDED.to(torch.tensor(real).dtype) * real)[is_real], expected)


def test_a_mask_of_the_new_tokens_alone_is_refused_beside_a_cache() -> None:
    model = make("decoder", "eager")
    ids = torch.randint(1, 50, (TEXTS, LENGTH), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        whole = model(ids, attention_mask=PADDED.flip(-1)).last_hidden_state
        past = model(ids[:, :-3], attention_mask=PADDED.flip(-1)[:, :-3], use_cache=True).past_key_values
        with pytest.raises(ValueError, match=r"attention_mask \(3, 3\): has to be a tensor \(3, 20\)"):
            model(ids[:, -3:], attention_mask=torch.ones_like(ids[:, -3:]), past_key_values=past)
        rest = model(ids[:, -3:], attention_mask=PADDED.flip(-1), past_key_values=past).last_hidden_state
    torch.testing.assert_close(rest, whole[:, -3:], atol=1e-4, rtol=1e-4)


def plain(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float, **_: Any) -> Any:
    """A user's backend, for which no mask function is registered; it knows nothing of is_causal."""
    scores = query @ key.transpose(-2, -1) * scaling
    return ((scores if mask is None else scores + mask).softmax(-1) @ value).transpose(1, 2), None


@families
@pytest.mark.parametrize("mask", [None, PADDED], ids=["whole", "padded"])
def test_a_backend_without_mask_function_gets_the_masks_of_eager_attention(family: str, mask: Any) -> None:
    """In a decoder they hide the future, and where there is a window what is beyond it."""
    AttentionInterface.register("plain", plain)
    is_real = slice(None) if mask is None else mask.bool()
    for window in {}, {"sliding_window": 4}:
        if family != "encoder-decoder" or not window:
            expected, found = (read(make(family, backend, **window), mask)[is_real] for backend in ("eager", "plain"))
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("position_type", ["alibi", "relative"])
def test_who_may_ignore_biases_is_refused(position_type: str) -> None:
    """A backend of the user, and continuous batching."""
    AttentionInterface.register("plain", plain)
    with pytest.raises(ValueError, match=f"position_type='{position_type}': plain attention"):
        read(make("decoder", "plain", position_type=position_type), None)
    with pytest.raises(ValueError, match=f"position_type='{position_type}'"):
        read(make("decoder", "sdpa", position_type=position_type), None, cache=object())


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_masks_by_type_of_layer_are_those_that_the_layers_make(backend: str) -> None:
    """As continuous batching hands them over."""
    types = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 3}
    model = make("decoder", backend, num_hidden_layers=2, **types)
    behind = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
    seen = {"full_attention": behind >= 0, "sliding_attention": (behind >= 0) & (behind < 3)}
    masks = {kind: mask.expand(TEXTS, 1, -1, -1) for kind, mask in seen.items()}
    torch.testing.assert_close(read(model, masks), read(model, None), atol=1e-5, rtol=1e-5)
    assert (read(model, dict(zip(masks, reversed(masks.values())))) - read(model, None)).abs().max() > 0.01
