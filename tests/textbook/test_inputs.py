# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a batch may be: an input, a mask or a bias that would be ignored or misread is an error, with either engine."""

from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from model_cases import (
    CAUSAL_LM,
    DECODER,
    ENCODER,
    MASK,
    SEQ2SEQ,
    SEQ2SEQ_LM,
    TEXTS,
    TINY,
    Case,
    assert_close,
    draw_ids,
    restarting,
)
from shared import lively
from torch import Tensor
from transformers import AttentionInterface

FAMILIES = {"encoder": ENCODER, "decoder": DECODER, "encoder-decoder": SEQ2SEQ}
COUNT, LENGTH, HEADS, LIMIT = 3, 20, 2, TINY["max_position_embeddings"]
IDS = torch.randint(1, 50, (COUNT, LENGTH), generator=torch.Generator().manual_seed(1))
PADDED = (torch.arange(LENGTH) < torch.tensor([LENGTH, 7, 12])[:, None]).long()
PAIRS = torch.rand(COUNT, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0)) < 0.5
PAIRS |= torch.eye(LENGTH, dtype=torch.bool)
BIASES = torch.randn(COUNT, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0))
BIAS_A_HEAD = torch.randn(COUNT, HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0))

pytestmark = pytest.mark.usefixtures("engine")
families = pytest.mark.parametrize("family", FAMILIES)


def make(family: str, backend: str, **settings: Any) -> Any:
    model = lively(FAMILIES[family].model(**{"num_attention_heads": HEADS, "num_hidden_layers": 1, **settings}))
    for part in model.modules():  # set_attn_implementation asks for what is installed
        if hasattr(part, "config"):
            part.config._attn_implementation = backend
    return model


@torch.no_grad()
def read(model: Any, mask: Any = None, **kwargs: Any) -> Tensor:
    if model.config.is_encoder_decoder:
        kwargs["decoder_input_ids"] = IDS
    return model(IDS, attention_mask=mask, **kwargs).last_hidden_state


# Masks

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
        source = make(family, "eager").encoder(IDS)
        with pytest.raises(ValueError, match="attention_mask"):
            read(make(family, "flash_attention_2"), PAIRS, encoder_outputs=source)
    with pytest.raises(ValueError, match="negative"):
        read(make(family, "eager"), (1.0 - PADDED) * -1e9)


@families
def test_masks_mean_the_same_to_eager_attention_and_sdpa(family: str) -> None:
    """In 4D; and of a plain one, every number but 0 is a real token."""
    models = [make(family, backend) for backend in ("eager", "sdpa")]
    without, padded = read(models[0]), read(models[0], PADDED)
    for mask in PAIRS, BIASES, BIAS_A_HEAD:
        eager, sdpa = (read(model, mask) for model in models)
        torch.testing.assert_close(sdpa, eager, atol=1e-4, rtol=1e-4)
        assert (eager - without).abs().max() > 0.1
    for real in 2, -1, 0.5, True:
        found = read(models[0], PADDED.to(torch.tensor(real).dtype) * real)
        assert torch.equal(found[PADDED.bool()], padded[PADDED.bool()])


@torch.no_grad()
def test_a_mask_of_the_new_tokens_alone_is_refused_beside_a_cache() -> None:
    model, mask = make("decoder", "eager"), PADDED.flip(-1)
    past = model(IDS[:, :-3], attention_mask=mask[:, :-3], use_cache=True).past_key_values
    with pytest.raises(ValueError, match=r"attention_mask \(3, 3\): has to be a tensor \(3, 20\)"):
        model(IDS[:, -3:], attention_mask=torch.ones_like(IDS[:, -3:]), past_key_values=past)


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_masks_by_type_of_layer_are_those_that_the_layers_make(backend: str) -> None:
    """As continuous batching hands them over."""
    types = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 3}
    model = make("decoder", backend, num_hidden_layers=2, **types)
    behind = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
    seen = {"full_attention": behind >= 0, "sliding_attention": (behind >= 0) & (behind < 3)}
    masks = {kind: mask.expand(COUNT, 1, -1, -1) for kind, mask in seen.items()}
    assert_close(read(model, masks), read(model))
    assert (read(model, dict(zip(masks, reversed(masks.values())))) - read(model)).abs().max() > 0.01


def plain(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float, **_: Any) -> Any:
    """A user's backend, for which no mask function is registered; it knows nothing of is_causal."""
    scores = query @ key.transpose(-2, -1) * scaling
    return ((scores if mask is None else scores + mask).softmax(-1) @ value).transpose(1, 2), None


PACKED = {"position_ids": restarting([5, 8, 7])}  # in each row


@families
def test_a_backend_of_a_user_gets_the_masks_of_eager_attention(family: str) -> None:
    """In a decoder they hide the future, where there is a window what is beyond it, and in a packed batch other texts.

    Where it may ignore biases of positions it is refused, and so is continuous batching.
    """
    AttentionInterface.register("plain", plain)
    pairs = family == "encoder-decoder"
    for window in {}, *([] if pairs else [{"sliding_window": 4}]):
        models = [make(family, backend, **window) for backend in ("eager", "plain")]
        for mask, given in (None, {}), (PADDED, {}), *([] if pairs else [(None, PACKED)]):
            expected, found = (read(model, mask, **given)[PADDED.bool()] for model in models)
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    for position_type in "alibi", "relative":
        with pytest.raises(ValueError, match=f"position_type='{position_type}': plain attention"):
            read(make(family, "plain", position_type=position_type))
        if family == "decoder":
            with pytest.raises(ValueError, match=f"position_type='{position_type}'"):
                read(make(family, "sdpa", position_type=position_type), cache=object())


@families
def test_a_function_of_the_caller_computes_every_block(family: str) -> None:
    model = make(family, "sdpa")
    doubled = read(model, attention_fn=lambda module, query, *rest, **kwargs: plain(module, 2 * query, *rest, **kwargs))
    for name, weight in model.named_parameters():
        if ".q_proj." in name:
            weight.data *= 2
    assert_close(doubled, read(model))


# Inputs

SIDES = [(TEXTS, ""), (CAUSAL_LM, ""), (SEQ2SEQ_LM, ""), (SEQ2SEQ_LM, "decoder_")]


@pytest.mark.parametrize(("case", "side"), SIDES, ids=[f"{side}{case.model_class.__name__}" for case, side in SIDES])
def test_an_input_that_cannot_be_read_is_refused_by_its_name(case: Case, side: str) -> None:
    """Of each side of an encoder-decoder, too."""
    model, inputs, (count, length) = case.model(), case.inputs(), MASK.shape
    ids, name, mask_name = inputs[f"{side}input_ids"], f"{side}input_ids", f"{side}attention_mask"
    embeds = model.get_input_embeddings()(ids)
    if not side:
        for wrong in {**inputs, "input_ids": None}, {**inputs, "inputs_embeds": embeds}:
            with pytest.raises(ValueError, match=r"input_ids or .*inputs_embeds"):
                model(**wrong)
    without = {other: value for other, value in inputs.items() if other not in (name, mask_name)}

    unreadable = {name: (ids[:, :0], ids[:0], ids[0]), f"{side}inputs_embeds": (embeds[:, :0], embeds[0])}
    for wrong_name, values in unreadable.items():
        for wrong in values:
            shape = ", ".join(map(str, wrong.shape)) + "," * (wrong.ndim == 1)
            with pytest.raises(ValueError, match=rf"^{wrong_name} \({shape}\): has to be a tensor \(texts, tokens"):
                model(**{**without, wrong_name: wrong})
    for mask in MASK[:, :-1], MASK[:1], MASK[0], torch.ones(count, length + 1), MASK.tolist():
        with pytest.raises(ValueError, match=rf"^{mask_name} \(.*\): has to be a tensor \({count}, {length}\)"):
            model(**{**inputs, mask_name: mask})
    with pytest.raises(ValueError, match=rf"^{name} \(\): has to be a tensor"):
        model(**{**inputs, name: inputs[name].tolist()})
    for lowest, wrong in ((5, ids.clamp(5) + 60), (-3, ids.clamp(3, 9) - 6)):
        wrong[0, 0] = lowest
        with pytest.raises(IndexError, match=f"^input_ids from {lowest} to {int(wrong.max())}, .* 0 to 63"):
            model(**{**inputs, name: wrong})


TARGETS = draw_ids(1)[:, :7]
TWO_TABLES = {"decoder_vocab_size": 40, "share_encoder_decoder_embeddings": False}
# A model, its settings, what it is given beside a source and its mask, and the message.
REFUSED: list[tuple[Case, dict[str, Any], dict[str, Any], str]] = [
    (TEXTS, {"type_vocab_size": 2}, {"token_type_ids": draw_ids() % 3},
     r"^token_type_ids from 0 to 2, .* 0 to 1: see config.type_vocab_size"),
    (SEQ2SEQ_LM, {}, {}, "decoder_input_ids or decoder_inputs_embeds"),
    (SEQ2SEQ_LM, {"decoder_start_token_id": None}, {"labels": TARGETS}, "decoder_start_token_id=None"),
    (SEQ2SEQ_LM, {"pad_token_id": None}, {"labels": TARGETS}, "pad_token_id=None"),
    (SEQ2SEQ_LM, {}, {"labels": TARGETS, "cu_seq_lens_q": torch.tensor([0, 4, 9])}, "packed.*cu_seq_lens_q"),
    (SEQ2SEQ_LM, {}, {"labels": TARGETS, "position_ids": torch.arange(9)[None]}, "packed.*position_ids"),
    (SEQ2SEQ_LM, {}, {"labels": TARGETS, "input_ids": None, "encoder_outputs": (torch.ones(3, 8, 16),)},
     r"^attention_mask .* \(3, 8\)"),
    (SEQ2SEQ_LM, {"decoder_vocab_size": 40}, {},
     "decoder_vocab_size=40 .* vocab_size=64: set share_encoder_decoder_embed"),
    (SEQ2SEQ_LM, {"decoder_layers": -1}, {}, "decoder_layers=-1"),
    (SEQ2SEQ_LM, {"decoder_start_token_id": 64}, {}, "decoder_start_token_id=64 .* 64"),
    (SEQ2SEQ_LM, {**TWO_TABLES, "pad_token_id": 50}, {}, "pad_token_id=50 .* 40"),
]  # fmt: skip


def test_what_is_missing_or_too_much_or_does_not_fit_is_named() -> None:
    for case, settings, arguments, message in REFUSED:
        with pytest.raises((StrictDataclassError, ValueError, IndexError), match=message):
            case.model(**settings)(**{"input_ids": draw_ids(), "attention_mask": MASK, **arguments})


def test_a_text_beyond_the_learned_positions_is_refused_with_the_way_out() -> None:
    """Padding does not count, and texts that arrive packed are measured one by one."""
    learned = ENCODER.model(position_type="learned", position_offset=2)
    mask = torch.zeros(2, 3 * LIMIT, dtype=torch.long)
    mask[0, :LIMIT] = mask[1, -LIMIT:] = 1
    ids, packed = torch.ones(1, 3 * LIMIT, dtype=torch.long), torch.arange(LIMIT).repeat(3)[None]
    for inputs in {"input_ids": ids[:, :LIMIT]}, {"input_ids": torch.ones_like(mask), "attention_mask": mask}, {
        "input_ids": ids, "position_ids": packed
    }:  # fmt: skip
        assert learned(**inputs).last_hidden_state.isfinite().all()
    decoder = DECODER.model(position_type="learned")
    cache = decoder(ids[:, :LIMIT], use_cache=True).past_key_values
    longer = torch.cat([torch.arange(LIMIT + more) for more in (1, -1, 0)])[None]
    for model, inputs, way_out in (
        (learned, {"input_ids": ids[:, : LIMIT + 1]}, ".*truncation=True"),
        (learned, {"input_ids": ids, "position_ids": longer}, ""),
        (decoder, {"input_ids": ids[:, :1], "past_key_values": cache}, ""),
    ):
        with pytest.raises(ValueError, match=f"of {LIMIT + 1} tokens, .*max_position_embeddings={LIMIT}{way_out}"):
            model(**inputs)
    with pytest.raises(ValueError, match="max_position_embeddings"):
        CAUSAL_LM.model(position_type="learned").generate(ids[:, :LIMIT], max_new_tokens=2, pad_token_id=0)
    for position_type in "none", "sinusoidal", "sinusoidal_halves", "rotary":
        assert ENCODER.model(position_type=position_type)(ids).last_hidden_state.isfinite().all()
