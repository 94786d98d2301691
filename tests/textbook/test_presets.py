# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The settings of the literature are those of the literature: counted by hand, and against the library's own models."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from references import BART, BERT, GPT2, LIMIT, LLAMA, MARIAN, VOCAB
from torch import Tensor, nn
from transformers import (
    BartConfig,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertForMaskedLM,
    GPT2Config,
    LlamaConfig,
    MarianConfig,
    RobertaConfig,
    RobertaForMaskedLM,
)

from modeling_scratch import (
    ScratchConfig,
    ScratchEncoderForMaskedLM,
    ScratchEncoderForSequenceClassification,
    ScratchEncoderModel,
    ScratchSeq2SeqForConditionalGeneration,
    convert_config,
    presets,
)

Preset = Callable[..., ScratchConfig]
TABLES = {"encoder": presets.ENCODERS, "decoder": presets.DECODERS, "seq2seq": presets.SEQ2SEQS}
every_preset = pytest.mark.parametrize(
    "preset",
    [pytest.param(preset, id=f"{kind}-{name}") for kind, table in TABLES.items() for name, preset in table.items()],
)


def count(model_class: type[nn.Module], config: Any) -> int:
    """Without allocating what is counted."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in model_class(config).parameters())


def block_size(width: int, inner: int) -> int:
    attention = 4 * (width * width + width)
    feed_forward = (width * inner + inner) + (inner * width + width)
    return attention + feed_forward + 2 * (width + width)  # two norms


def test_vaswani_has_the_size_of_table_3() -> None:
    config = presets.ENCODERS["vaswani"]()
    assert (config.num_hidden_layers, config.hidden_size, config.intermediate_size) == (6, 512, 2048)
    assert (config.num_attention_heads, config.head_dim, config.hidden_dropout) == (8, 64, 0.1)
    assert count(ScratchEncoderModel, config) == 32_000 * 512 + 6 * block_size(512, 2048)


def bart_sizes(width: int, layers: int, inner: int, heads: int) -> dict[str, int]:
    names = {"layers": layers, "ffn_dim": inner, "attention_heads": heads}
    both = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in names.items()}
    return {"d_model": width, **both}


ROBERTA_BASE = RobertaConfig(vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5)
SIZES_OF: dict[str, tuple] = {
    "bert": (ScratchEncoderModel, presets.bert(), partial(BertModel, add_pooling_layer=False), BertConfig()),
    "roberta": (ScratchEncoderForMaskedLM, presets.roberta(), RobertaForMaskedLM, ROBERTA_BASE),
    "distilbert": (ScratchEncoderForMaskedLM, presets.distilbert(), DistilBertForMaskedLM, DistilBertConfig()),
    "gpt2": (GPT2.ours, presets.gpt2(), GPT2.model_class, GPT2Config()),
    "llama": (LLAMA.ours, presets.llama(), LLAMA.model_class, LlamaConfig()),
    "bart": (BART.ours, presets.bart(), BART.model_class, BartConfig(**bart_sizes(768, 6, 3072, 12))),
    "marian": (MARIAN.ours, presets.marian(), MARIAN.model_class, MarianConfig(**bart_sizes(512, 6, 2048, 8))),
}


@pytest.mark.parametrize("name", SIZES_OF)
def test_presets_have_the_sizes_of_the_library(name: str) -> None:
    """Marian's sinusoids are weights there, which stay as they are, and the bias of the logits is a buffer."""
    model_class, config, reference_class, reference_config = SIZES_OF[name]
    with torch.device("meta"):
        reference = reference_class(reference_config)
    bias = reference_config.vocab_size if name == "marian" else 0
    assert count(model_class, config) == reference.num_parameters(only_trainable=True) + bias


def test_vaswani_counts_as_table_3_does() -> None:
    """63 million with the 37 000 tokens that English and German share, which the paper rounds up to 65."""
    config = presets.vaswani(vocab_size=37_000)
    decoder_block = block_size(512, 2048) + 4 * (512 * 512 + 512) + 2 * 512
    size = count(ScratchSeq2SeqForConditionalGeneration, config)
    assert size == 37_000 * 512 + 6 * (block_size(512, 2048) + decoder_block)
    assert size // 10**6 == 63


def test_the_tutorial_classifier_has_the_size_its_description_tells() -> None:
    size = count(ScratchEncoderForSequenceClassification, presets.tutorial())
    assert size == 12_000 * 64 + 2 * block_size(64, 256) + 2 * (64 + 1)
    assert f"{size // 1000} k parameters" in presets.tutorial.__doc__


def test_the_positions_of_roberta_start_behind_its_pad_token() -> None:
    """So that its model has a native class with whatever tokenizer it is trained."""
    offsets = [presets.roberta(**ids).position_offset for ids in ({}, {"pad_token_id": 0}, {"pad_token_id": None})]
    assert offsets == [2, 1, 2]


@every_preset
def test_overrides_win(preset: Preset) -> None:
    config = preset(hidden_size=24, num_attention_heads=3, hidden_act="silu", num_labels=5, attn_implementation="eager")
    assert (config.hidden_size, config.head_dim, config.hidden_act) == (24, 8, "silu")
    assert config.num_labels == len(config.id2label) == 5
    assert config._attn_implementation == "eager"


@every_preset
def test_an_unknown_override_is_refused_with_the_closest_name(preset: Preset) -> None:
    """A config class would keep it in silence, and train something else."""
    with pytest.raises(ValueError, match="no field 'hiden_size', did you mean 'hidden_size'") as caught:
        preset(hiden_size=24)
    assert "num_hidden_layers" in str(caught.value)
    with pytest.raises(ValueError, match=r"no field 'qqq'.*The fields are"):
        preset(qqq=1)


@every_preset
def test_each_call_makes_a_config_of_its_own(preset: Preset) -> None:
    first, second = preset(), preset()
    first.id2label[0] = "changed"
    assert second.id2label[0] == "LABEL_0"


def test_all_presets_are_listed() -> None:
    public = {
        name
        for name, value in vars(presets).items()
        if callable(value) and getattr(value, "__module__", "") == presets.__name__ and not name.startswith("_")
    }
    assert public == {name for table in TABLES.values() for name in table}


TEXT_LENGTHS = torch.tensor([LIMIT, 9, 4])
IDS = torch.randint(4, VOCAB - 1, (3, LIMIT), generator=torch.Generator().manual_seed(1))
backends = pytest.mark.parametrize("backend", ["eager", "sdpa"])
paddings = pytest.mark.parametrize("side", ["right", "left", "none"])


def mask_of(side: str) -> Tensor:
    mask = torch.arange(LIMIT) < TEXT_LENGTHS[:, None] if side != "none" else torch.ones(3, LIMIT, dtype=torch.bool)
    return (mask.flip(1) if side == "left" else mask).long()


def assert_same_where(found: Tensor, expected: Tensor, mask: Tensor) -> None:
    torch.testing.assert_close(found[mask.bool()], expected[mask.bool()], atol=1e-5, rtol=0)


@pytest.mark.parametrize("with_types", [True, False], ids=["types", "no_types"])
@paddings
@backends
def test_bert_computes_what_bert_computes(side: str, backend: str, with_types: bool) -> None:
    reference, model = BERT.pair(backend)
    mask = mask_of(side)
    types = {"token_type_ids": (torch.arange(LIMIT) > 6).long().expand(3, LIMIT)} if with_types else {}
    places = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}  # BERT itself would count padding on the left
    expected = reference(IDS, mask, **types, **places).last_hidden_state
    assert_same_where(model(IDS, mask, **types).last_hidden_state, expected, mask)


ROPES = {
    "default": {"rope_type": "default", "rope_theta": 500_000.0},
    "dynamic": {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 2.0},
}


@paddings
@backends
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_decoders_compute_what_the_library_computes(name: str, backend: str, side: str) -> None:
    reference, model = {"gpt2": GPT2, "llama": LLAMA}[name].pair(backend)
    mask = mask_of(side)
    places = {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
    expected = reference(IDS, attention_mask=mask, **places).logits
    assert_same_where(model(IDS, mask).logits, expected, mask)
    labels = torch.where(mask.bool() & (mask.cumsum(-1) > 1), IDS, -100)  # theirs lets padding predict the first token
    losses = [one(IDS, attention_mask=mask, labels=labels, **places).loss for one in (model, reference)]
    torch.testing.assert_close(*losses, atol=1e-5, rtol=0)


@pytest.mark.parametrize("rope", ROPES.values(), ids=ROPES)
def test_llama_goes_on_from_a_cache_as_llama_does(rope: dict[str, Any]) -> None:
    """Dynamic frequencies change beyond the trained length, and cached keys keep the angles that they had."""
    limit = {"max_position_embeddings": 8}
    reference, model = LLAMA.pair("sdpa", {**limit, "rope_parameters": rope}, **limit, rope_parameters=rope)
    theirs = ours = None
    for start, end in ((0, 6), (6, 7), (7, 11), *((i, i + 1) for i in range(11, LIMIT))):
        expected = reference(IDS[:, start:end], past_key_values=theirs, use_cache=True)
        found = model(IDS[:, start:end], past_key_values=ours, use_cache=True)
        torch.testing.assert_close(found.logits, expected.logits, atol=1e-5, rtol=0)
        theirs, ours = expected.past_key_values, found.past_key_values


@backends
@pytest.mark.parametrize("side", ["right", "none"])
@pytest.mark.parametrize("name", ["bart", "marian"])
def test_encoder_decoders_compute_what_the_library_computes(name: str, side: str, backend: str) -> None:
    reference, model = {"bart": BART, "marian": MARIAN}[name].pair(backend)
    mask, target = mask_of(side), IDS.flip(0)[:, :11]
    target_mask = mask.flip(0)[:, :11]
    for decoder_mask in target_mask, None:
        arguments = {
            "input_ids": IDS, "attention_mask": mask, "decoder_input_ids": target,
            "decoder_attention_mask": decoder_mask,
        }  # fmt: skip
        assert_same_where(model(**arguments).logits, reference(**arguments).logits, target_mask)
    labels = torch.where(target_mask.bool(), target, -100)
    found, expected = (one(IDS, mask, labels=labels) for one in (model, reference))
    torch.testing.assert_close(found.loss, expected.loss, atol=1e-5, rtol=0)
    torch.testing.assert_close(found.logits, expected.logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("preset", "native"),
    [
        (presets.bert, BertConfig()),
        (
            presets.roberta,
            RobertaConfig(vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5),
        ),
        (presets.distilbert, DistilBertConfig()),
        (presets.gpt2, GPT2Config()),
        (presets.llama, LlamaConfig()),
        (presets.bart, BartConfig(num_labels=2, **bart_sizes(768, 6, 3072, 12))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_preset_is_what_the_native_config_of_that_name_converts_to(preset: Preset, native: Any) -> None:
    """But for the bias of BART's logits, which is none."""
    ours, converted = preset().to_dict(), convert_config(native).to_dict()
    for name in ("native_model_type", "architectures", "lm_head_bias", "forced_eos_token_id", "dtype"):
        ours.pop(name, None), converted.pop(name, None)
    assert converted == ours
