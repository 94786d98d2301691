# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Encoder-decoders: padding and caches change nothing, losses are not shifted, and tables are shared as configured."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from huggingface_hub.errors import StrictDataclassError
from model_cases import (
    MASK,
    POSITIONS,
    SEQ2SEQ_LM,
    SEQ2SEQS,
    TINY,
    Case,
    assert_close,
    assert_same_outputs,
    draw_ids,
    engines,
    every_switch,
    in_turn,
    padded,
    texts,
)
from safetensors.torch import load_file
from test_modeling_decoder import in_steps
from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache, StaticCache
from transformers.modeling_outputs import BaseModelOutputWithPooling

from modeling_scratch import fast

SOURCE, TARGET = draw_ids(0), draw_ids(1)[:, :7]
REAL, TARGET_REAL = MASK.bool(), torch.arange(7) < torch.tensor([7, 2, 5])[:, None]
LABELS = TARGET.masked_fill(~TARGET_REAL, -100)
HEADS, LAYERS = TINY["num_attention_heads"], TINY["num_hidden_layers"]


# Padding and caches


@engines
@in_turn(SEQ2SEQS, POSITIONS)
def test_padding_changes_nothing(case: Case, settings: dict) -> None:
    """A batch of pairs equals the pairs one by one, whichever side of source and target is padded."""
    model = case.model(**settings)
    sources, targets = texts(0), texts(1)[::-1]
    singles = torch.cat([model(one[None], decoder_input_ids=other[None])[0][0] for one, other in zip(sources, targets)])
    for source_side, target_side, length in ("left", "right", 11), ("right", "left", 13):
        source, target = padded(sources, source_side, length), padded(targets, target_side, length + 1, filler=5)
        found = model(**source, **{f"decoder_{name}": value for name, value in target.items()})[0]
        assert_close(found[target["attention_mask"].bool()], singles)


@in_turn((SEQ2SEQ_LM,), POSITIONS)
def test_cached_equals_uncached(case: Case, settings: dict) -> None:
    """Prefill, one token, several tokens, with padding on the left of both sides."""
    model, real = case.model(**settings, decoder_layers=3), TARGET_REAL.flip(1)
    batch = {"input_ids": SOURCE, "attention_mask": MASK}
    batch |= {"decoder_input_ids": TARGET, "decoder_attention_mask": real.long()}
    config = model.config.get_text_config(decoder=True)
    static = (StaticCache(config=config, max_cache_len=length) for length in (16, SOURCE.shape[1]))
    for cache in None, EncoderDecoderCache(*static):
        found = in_steps(model, batch, [3, 4, 5, 7], cache, "decoder_")
        assert_close(found[real], model(**batch).logits[real])


# Losses


@every_switch
def test_the_loss_is_not_shifted(settings: dict) -> None:
    """The decoder reads a start token and the labels before, and predicts each label; -100 does not count."""
    model = SEQ2SEQ_LM.model(**settings)
    read = F.pad(TARGET.masked_fill(~TARGET_REAL, 0), (1, 0), value=1)[:, :-1]
    logits = model(SOURCE, MASK, read).logits
    total = -logits.log_softmax(-1).gather(-1, TARGET[..., None])[..., 0][TARGET_REAL].sum()
    assert torch.equal(model.prepare_decoder_input_ids_from_labels(LABELS), read)
    for given in {}, {"decoder_input_ids": read}:
        assert_close(model(SOURCE, MASK, labels=LABELS, **given).loss, total / TARGET_REAL.sum())
        assert_close(model(SOURCE, MASK, labels=LABELS, num_items_in_batch=50, **given).loss, total / 50)
    nothing = model(SOURCE, MASK, labels=torch.full_like(LABELS, -100)).loss
    assert nothing == 0


GAP = LABELS.masked_fill(torch.arange(7) == 1, -100)


@pytest.mark.parametrize("labels", [LABELS, GAP, LABELS * 0 - 100], ids=["all", "gap", "none"])
def test_training_reads_up_to_the_last_label(labels: Tensor) -> None:
    """By the labelled tokens alone or by all, fast or not: the same loss and gradients."""
    found = []
    for sparse, engine in ((False, fast.disabled()), (False, nullcontext()), (True, nullcontext())):
        model = SEQ2SEQ_LM.model(position_type="rotary", sparse_prediction=sparse).train()
        with engine:
            outputs = model(input_ids=SOURCE, attention_mask=MASK, labels=labels)
        outputs.loss.backward()
        count = (int((labels != -100).sum()),) if sparse else labels.shape
        assert outputs.logits.shape == (*count, model.config.decoder_vocab_size)
        found.append([outputs.loss, *(parameter.grad for parameter in model.parameters())])
    with torch.no_grad():  # and evaluation answers everywhere
        assert model.eval()(SOURCE, MASK, labels=labels).logits.shape[:2] == labels.shape
    for others in found[1:]:
        for one, other in zip(others, found[0], strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                assert_close(one, other)


# Tables

TWO_TABLES = {"decoder_vocab_size": 40, "share_encoder_decoder_embeddings": False}
UNTIED = {"tie_word_embeddings": False}
# Settings, and as many tables.
TABLES = {
    "shared, tied": ({}, 1), "shared, untied": (UNTIED, 2), "two, tied": (TWO_TABLES, 2),
    "two, untied": ({**TWO_TABLES, **UNTIED}, 3),
}  # fmt: skip
every_table = pytest.mark.parametrize(("settings", "count"), TABLES.values(), ids=TABLES)


def tables(model: Any) -> dict[str, nn.Parameter]:
    sides = {side: getattr(model.model, side).embeddings.tokens.weight for side in ("encoder", "decoder")}
    return {**sides, "head": model.lm_head.weight}


@every_table
def test_who_shares_a_table(settings: dict, count: int, tmp_path: Path) -> None:
    """After construction, loading and saving again: the same memory, and every tensor stored once."""
    case = SEQ2SEQ_LM
    model = case.model(**settings, embedding_size=8 if count > 1 else None, lm_head_bias=True)
    model.save_pretrained(tmp_path / "first")
    loaded, info = case.model_class.from_pretrained(tmp_path / "first", output_loading_info=True)
    assert not any(info.values())
    loaded.save_pretrained(tmp_path / "second")
    for one in model, loaded, case.model_class(model.config):
        found = tables(one)
        assert len({weight.data_ptr() for weight in found.values()}) == count
        assert (found["encoder"] is found["decoder"]) == ("share_encoder_decoder_embeddings" not in settings)
        assert (found["head"] is found["decoder"]) == ("tie_word_embeddings" not in settings)
    files = [tmp_path / name / "model.safetensors" for name in ("first", "second")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert load_file(files[0]).keys() == {name for name, _ in model.named_parameters()}
    batch = {"input_ids": SOURCE, "attention_mask": MASK, "decoder_input_ids": TARGET % 40}
    assert_same_outputs(loaded(**batch), model(**batch))


# What is asked for, and what is refused


def test_a_plain_cache_gets_one_beside_it_and_training_keeps_none() -> None:
    model = SEQ2SEQ_LM.model(use_cache=True)
    assert model(SOURCE, MASK, labels=LABELS).past_key_values is None
    first = model(SOURCE, MASK, TARGET[:, :4], past_key_values=DynamicCache())
    assert isinstance(first.past_key_values, EncoderDecoderCache)
    rest = model(SOURCE, MASK, TARGET[:, 4:], past_key_values=first.past_key_values)
    assert_close(torch.cat((first.logits, rest.logits), 1), model(SOURCE, MASK, TARGET).logits)
    assert model.train()(SOURCE, MASK, TARGET).past_key_values is None


def test_what_the_encoder_said_may_be_given() -> None:
    model = SEQ2SEQ_LM.model()
    expected = model(SOURCE, MASK, TARGET).logits
    encoded = model.get_encoder()(SOURCE, MASK)
    embeds = model.model.decoder.get_input_embeddings()(TARGET)
    for given in encoded, encoded.to_tuple(), BaseModelOutputWithPooling(encoded.last_hidden_state):
        assert_close(model(None, MASK, TARGET, encoder_outputs=given).logits, expected)
    assert_close(model(SOURCE, MASK, decoder_inputs_embeds=embeds).logits, expected)


def test_what_is_missing_or_too_much_or_does_not_fit_is_named() -> None:
    for settings, arguments, message in (
        ({}, {}, "decoder_input_ids or decoder_inputs_embeds"),
        ({"decoder_start_token_id": None}, {"labels": LABELS}, "decoder_start_token_id=None"),
        ({"pad_token_id": None}, {"labels": LABELS}, "pad_token_id=None"),
        ({}, {"labels": LABELS, "cu_seq_lens_q": torch.tensor([0, 4, 9])}, "packed.*cu_seq_lens_q"),
        ({}, {"labels": LABELS, "position_ids": torch.arange(9)[None]}, "packed.*position_ids"),
        ({"decoder_vocab_size": 40}, {}, "decoder_vocab_size=40 .* vocab_size=64: set share_encoder_decoder_embed"),
        ({"decoder_layers": -1}, {}, "decoder_layers=-1"),
        ({"decoder_start_token_id": 64}, {}, "decoder_start_token_id=64 .* 64"),
        ({**TWO_TABLES, "pad_token_id": 50}, {}, "pad_token_id=50 .* 40"),
    ):
        with pytest.raises((StrictDataclassError, ValueError), match=message):
            SEQ2SEQ_LM.model(**settings)(SOURCE, MASK, **arguments)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"cache_implementation": "static"}], ids=str)
def test_windows_are_of_the_tokens_themselves_in_every_cache(options: dict[str, Any]) -> None:
    """The decoder goes on seeing the whole source, of which a cache by the config would keep a window alone."""
    model = SEQ2SEQ_LM.model(sliding_window=3, position_type="rotary", decoder_layers=1, use_cache=True)
    source = {name: value for name, value in SEQ2SEQ_LM.inputs().items() if not name.startswith("decoder")}
    search = {"max_new_tokens": 8, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
    with fast.textbook():
        expected = model.generate(**source, **search, **{**options, "cache_implementation": None}, use_cache=False)
    found = model.generate(**source, **search, **options)
    assert_close(torch.stack(found.logits), torch.stack(expected.logits))
