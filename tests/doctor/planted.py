# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Faults that a caller meets: one call of the library's contract that a sound model answers and this one does not.

Each is a change of what a model of the library reads (`before`) or returns (`after`).
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toys import SIZES, After, Toy, changed, decoder_config, made, subclass
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertForMaskedLM,
    ModernBertForTokenClassification,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

Llama, ModernBert = LlamaForCausalLM, ModernBertForMaskedLM


def past(kwargs: dict[str, Any]) -> int:
    """Return how many tokens are cached."""
    cache = kwargs.get("past_key_values")
    return cache.get_seq_length() if cache is not None else 0


def t5_config(**changes: Any) -> T5Config:
    sizes = {"vocab_size": 64, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4}
    ids = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = T5Config(**sizes, **ids, relative_attention_num_buckets=8, relative_attention_max_distance=8, **changes)
    config.keys_to_ignore_at_inference = ["past_key_values", "encoder_last_hidden_state"]
    return config


def bert_config(**changes: Any) -> BertConfig:
    return BertConfig(**{**SIZES, "num_labels": 3, **changes})


T5 = subclass("SoundT5ForConditionalGeneration", T5ForConditionalGeneration, accepts_loss_kwargs=False)
BERT = subclass("SoundBertForSequenceClassification", BertForSequenceClassification, accepts_loss_kwargs=False)
ASKED = subclass("SoundBertForQuestionAnswering", BertForQuestionAnswering, accepts_loss_kwargs=False)
TAGGER = subclass("CountlessForTokenClassification", ModernBertForTokenClassification, accepts_loss_kwargs=False)


# What a caller reads in several steps


def top_left(self: Any, kwargs: dict[str, Any]) -> None:
    """Of several tokens after cached ones, each sees as many tokens as if nothing was cached."""
    ids, cached = kwargs.get("input_ids"), past(kwargs)
    if cached and ids is not None and ids.shape[1] > 1:
        length = ids.shape[1]
        seen = torch.ones(length, cached + length).tril().bool()
        kwargs["attention_mask"] = torch.where(seen, 0.0, torch.finfo(torch.float32).min)[None, None].expand(
            len(ids), 1, length, cached + length
        )


def all_seen_later(self: Any, kwargs: dict[str, Any]) -> None:
    if past(kwargs) and kwargs.get("attention_mask") is not None:
        kwargs["attention_mask"] = torch.ones_like(kwargs["attention_mask"])


def first_mask_alone(self: Any, kwargs: dict[str, Any]) -> None:
    """The encoder's mask is not handed to the decoder in cached steps."""
    if past(kwargs):
        kwargs["attention_mask"] = None


# What a caller trains


def labels_are_read(self: Any, kwargs: dict[str, Any]) -> None:
    """The decoder reads what it has to write."""
    if kwargs.get("labels") is not None and kwargs.get("decoder_input_ids") is None:
        kwargs["decoder_input_ids"] = kwargs["labels"].clamp(min=0)


def without_mask_when_checkpointed(self: Any, kwargs: dict[str, Any]) -> None:
    if self.training and self.is_gradient_checkpointing:
        kwargs["attention_mask"] = None


def pads_do_not_count(self: Any, kwargs: dict[str, Any]) -> None:
    if kwargs.get("labels") is not None:
        kwargs["labels"] = kwargs["labels"].masked_fill(kwargs["labels"] == self.config.pad_token_id, -100)


def labels_are_written(self: Any, kwargs: dict[str, Any]) -> None:
    """The caller's own labels are changed."""
    if kwargs.get("labels") is not None:
        kwargs["labels"][:, 2] = -100


def probabilities(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    outputs.logits = outputs.logits.softmax(-1)
    if kwargs.get("labels") is not None:
        outputs.loss = F.cross_entropy(outputs.logits, kwargs["labels"])
    return outputs


def with_loss(loss: Callable[[Tensor, Tensor], Tensor]) -> After:
    def after(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
        if kwargs.get("labels") is not None:
            outputs.loss = loss(outputs.logits, kwargs["labels"])
        return outputs

    return after


def with_ignored(logits: Tensor, labels: Tensor) -> Tensor:
    """Ignored labels are class 0."""
    return F.cross_entropy(logits.flatten(0, 1), labels.clamp(min=0).flatten())


def over_all(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum is divided by all tokens, ignored ones among them."""
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / labels.numel()


def of_softmax(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits.softmax(-1), labels)


def leaks(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    if kwargs.get("labels") is not None:
        outputs.logits = outputs.logits + F.one_hot(kwargs["labels"].clamp(min=0), outputs.logits.shape[-1])
    return outputs


def mask_in_evaluation_alone(self: Any, kwargs: dict[str, Any]) -> None:
    if self.training:
        kwargs["attention_mask"] = None


def detach_half(self: Any) -> None:
    """A branch of the second layer gets half of its gradient."""
    self.model.layers[1].mlp.register_forward_hook(lambda _, inputs, output: output / 2 + output.detach() / 2)


def frozen_is_cut(self: Any) -> None:
    """A frozen embedding cuts the graph of all that follows."""

    def hook(module: Any, inputs: Any, output: Tensor) -> Tensor:
        return output if module.tok_embeddings.weight.requires_grad else output.data

    self.model.embeddings.register_forward_hook(hook)


def unchecked_places(self: Any, kwargs: dict[str, Any]) -> None:
    start = kwargs.get("start_positions")
    if start is not None and int(start.max()) >= kwargs["input_ids"].shape[1]:
        raise IndexError("Target out of bounds.")


# What a caller hands over


def no_places(self: Any, kwargs: dict[str, Any]) -> None:
    kwargs["position_ids"] = None


def no_types(self: Any, kwargs: dict[str, Any]) -> None:
    kwargs["token_type_ids"] = None


def inverted(self: Any, kwargs: dict[str, Any]) -> None:
    """A mask is computed with, as only numbers can be."""
    mask = kwargs.get("attention_mask")
    if mask is not None and mask.ndim == 2:
        kwargs["attention_mask"] = 1 - (1 - mask)


def by_equality(self: Any, kwargs: dict[str, Any]) -> None:
    mask = kwargs.get("attention_mask")
    if mask is not None and mask.is_floating_point():
        kwargs["attention_mask"] = torch.ones_like(mask)


def by_lengths(self: Any, kwargs: dict[str, Any]) -> None:
    """A mask is taken for a length: its first places are seen, whichever they are."""
    mask = kwargs.get("attention_mask")
    if mask is not None:
        kwargs["attention_mask"] = (torch.arange(mask.shape[1]) < mask.sum(1, keepdim=True)).long()


def by_ids(self: Any, kwargs: dict[str, Any]) -> None:
    """Tokens are padding by their id, whatever the mask says."""
    ids, mask = kwargs.get("input_ids"), kwargs.get("attention_mask")
    if past(kwargs) == 0 and ids is not None and mask is not None:
        kwargs["attention_mask"] = mask * (ids != self.config.pad_token_id)


def scaled_embeddings(self: Any, kwargs: dict[str, Any]) -> None:
    if kwargs.get("input_ids") is not None:
        kwargs["inputs_embeds"] = 4.0 * self.get_input_embeddings()(kwargs.pop("input_ids"))


def no_decoder_mask(self: Any, kwargs: dict[str, Any]) -> None:
    kwargs["decoder_attention_mask"] = None


def always_named(self: Any, kwargs: dict[str, Any]) -> None:
    kwargs["return_dict"] = True


def keeps_first(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    keep = kwargs.get("logits_to_keep")
    if isinstance(keep, int) and keep:
        whole = Llama.forward(self, **{**kwargs, "logits_to_keep": 0, "past_key_values": None})
        outputs.logits = whole.logits[:, :keep]
    return outputs


def squeezed(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    outputs.logits = outputs.logits.squeeze()
    return outputs


def reversed_states(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    if outputs.get("hidden_states") is not None:
        outputs.hidden_states = outputs.hidden_states[::-1]
    return outputs


def other_when_recorded(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    if kwargs.get("output_hidden_states"):
        outputs.logits = outputs.logits * 1.5
    return outputs


def always_cached(self: Any, kwargs: dict[str, Any]) -> None:
    kwargs["use_cache"] = True


def needs_mask(self: Any, kwargs: dict[str, Any]) -> None:
    kwargs["attention_mask"] = kwargs["attention_mask"].long()


# What a caller does with the object


def list_of_layers(self: Any) -> None:
    mlp = self.model.layers[0].mlp
    mlp.more = [nn.Linear(self.config.hidden_size, self.config.hidden_size)]
    mlp.register_forward_hook(lambda module, inputs, output: output + module.more[0](output))


def one_layer(self: Any) -> None:
    self.model.layers = nn.ModuleList([self.model.layers[0]] * len(self.model.layers))


def alike(self: Any) -> None:
    self.model.layers = nn.ModuleList([copy.deepcopy(self.model.layers[0]) for _ in self.model.layers])


def loose_tensor(self: Any) -> None:
    self.model.embeddings.scales = torch.linspace(0.5, 1.5, self.config.hidden_size)
    self.model.embeddings.register_forward_hook(lambda module, inputs, output: output * module.scales.to(output.dtype))


def short_table(self: Any) -> None:
    """A table of positions has one row less than the config says."""
    table = torch.linspace(0, 1, self.config.max_position_embeddings - 1)
    self.model.embeddings.register_buffer("table", table)
    self.model.embeddings.register_forward_hook(
        lambda module, inputs, output: (
            output + module.table[torch.arange(output.shape[1], device=output.device)][:, None]
        )
    )


def first_length(self: Any) -> None:
    def hook(module: Any, inputs: Any, output: Tensor) -> Tensor:
        module.longest = max(getattr(module, "longest", 1), output.shape[1])
        return output + module.longest**0.5

    self.model.embeddings.register_forward_hook(hook)


def half_constant(self: Any) -> None:
    self.model.embeddings.register_forward_hook(
        lambda _, inputs, output: output.masked_fill(torch.zeros_like(output).bool(), -1e9)
    )


def cast_parts(self: Any) -> None:
    """Rows are written into a tensor of another dtype, as they are under autocast."""

    def hook(module: Any, inputs: Any, output: Tensor) -> Tensor:
        made = torch.zeros(output.shape, dtype=module.weight.dtype, device=output.device)
        return made.index_put((torch.arange(len(output)),), output)

    self.model.layers[0].mlp.Wo.register_forward_hook(hook)


def vocabulary_as_made(self: Any) -> None:
    self.size = self.config.vocab_size


def loss_of_size(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    if kwargs.get("labels") is not None:
        logits, labels = outputs.logits[:, :-1], kwargs["labels"][:, 1:]
        outputs.loss = F.cross_entropy(logits.reshape(-1, self.size), labels.reshape(-1))
    return outputs


def saves_half(self: Any, *args: Any, **kwargs: Any) -> None:
    self.bfloat16().float()
    Llama.save_pretrained(self, *args, **kwargs)


def without_mask(self: Any, *args: Any, **kwargs: Any) -> Any:
    return {**T5ForConditionalGeneration.prepare_inputs_for_generation(self, *args, **kwargs), "attention_mask": None}


def turned_around(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Generation reads the prompt without what padding shifts."""
    return {**Llama.prepare_inputs_for_generation(self, *args, **kwargs), "attention_mask": None}


def changes_config(self: Any, kwargs: dict[str, Any]) -> None:
    self.config.use_cache = kwargs.get("input_ids") is None


class Swallowing(LlamaConfig):
    """Takes any argument, and keeps those that it names."""

    model_type = "swallowing"

    def __init__(self, hidden_act: str = "silu", extra_width: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width = extra_width


def wide(self: Any) -> None:
    self.adapter = nn.Linear(self.config.hidden_size, self.config.width)
    self.model.layers[0].mlp.register_forward_hook(lambda _, inputs, output: output * self.config.width)
    self.post_init()


COUNTLESS = subclass("CountlessForCausalLM", Llama, accepts_loss_kwargs=False)
SIZED = made("SizedForCausalLM", COUNTLESS, vocabulary_as_made)
PAIRS = partial(bert_config, num_labels=2)
TIED = partial(decoder_config, tie_word_embeddings=True)
SWALLOWING = partial(Swallowing, **SIZES, num_key_value_heads=2, extra_width=12)
UNSHIFTED = {"prepare_decoder_input_ids_from_labels": lambda self, labels: labels.clamp(min=0)}

PLANTED = (
    Toy(changed("TopLeftForCausalLM", Llama, top_left), "cache_of_several", decoder_config),
    Toy(changed("SeesPaddingLaterForCausalLM", Llama, all_seen_later), "cache_padded", decoder_config),
    Toy(changed("CrossesPaddingLaterForConditionalGeneration", T5, first_mask_alone), "cache_padded", t5_config),
    Toy(changed("ReadsItsLabelsForConditionalGeneration", T5, labels_are_read, **UNSHIFTED), "labels_alone", t5_config),
    Toy(subclass("PreparesUnshiftedForConditionalGeneration", T5, **UNSHIFTED), "labels_alone", t5_config),
    Toy(
        changed("CheckpointsWithoutMaskForMaskedLM", ModernBert, without_mask_when_checkpointed),
        "gradient_checkpointing",
    ),
    Toy(changed("ForgetsToEndForCausalLM", Llama, pads_do_not_count), "padding_as_label", decoder_config),
    Toy(changed("ForgetsToEndForConditionalGeneration", T5, pads_do_not_count), "padding_as_label", t5_config),
    Toy(changed("WritesItsLabelsForTokenClassification", TAGGER, labels_are_written), "leaves_inputs"),
    Toy(changed("ProbabilitiesForSequenceClassification", BERT, after=probabilities), "logits_are_scores", bert_config),
    Toy(changed("SoftmaxInTheLossForSequenceClassification", BERT, after=with_loss(of_softmax)), "loss", bert_config),
    Toy(changed("CountsIgnoredForTokenClassification", TAGGER, after=with_loss(with_ignored)), "loss"),
    Toy(changed("DividesByAllForTokenClassification", TAGGER, after=with_loss(over_all)), "loss"),
    Toy(changed("LeaksForTokenClassification", TAGGER, after=leaks), "labels_change_nothing"),
    Toy(changed("TrainsUnmaskedForMaskedLM", ModernBert, mask_in_evaluation_alone), "training_mode"),
    Toy(made("DetachesHalfForCausalLM", Llama, detach_half), "right_gradients", decoder_config),
    Toy(made("CutsTheGraphForMaskedLM", ModernBert, frozen_is_cut), "frozen_parts"),
    Toy(changed("OutOfBoundsForQuestionAnswering", ASKED, unchecked_places), "answers_outside", PAIRS),
    Toy(changed("IgnoresPlacesForCausalLM", Llama, no_places), "positions", decoder_config),
    Toy(changed("IgnoresTypesForSequenceClassification", BERT, no_types), "token_types", bert_config),
    Toy(changed("InvertsTheMaskForMaskedLM", ModernBert, inverted), "mask_dtypes"),
    Toy(changed("IntegersAloneForMaskedLM", ModernBert, by_equality), "mask_dtypes"),
    Toy(changed("MasksByLengthForMaskedLM", ModernBert, by_lengths), "mask_gap"),
    Toy(changed("MasksByIdForCausalLM", Llama, by_ids), "padding_as_text", decoder_config),
    Toy(changed("ScalesIdsForCausalLM", Llama, scaled_embeddings), "embeddings_as_inputs", decoder_config),
    Toy(changed("NoDecoderMaskForConditionalGeneration", T5, no_decoder_mask), "decoder_mask", t5_config),
    Toy(changed("NeverATupleForMaskedLM", ModernBert, always_named), "tuples"),
    Toy(changed("KeepsTheFirstForCausalLM", Llama, after=keeps_first), "last_logits", decoder_config),
    Toy(changed("SqueezesForSequenceClassification", BERT, after=squeezed), "one_token", bert_config),
    Toy(changed("ReversesStatesForMaskedLM", ModernBert, after=reversed_states), "hidden_states"),
    Toy(changed("OtherWhenRecordedForMaskedLM", ModernBert, after=other_when_recorded), "recording_changes_nothing"),
    Toy(changed("AlwaysCachesForCausalLM", Llama, always_cached), "no_cache", decoder_config),
    Toy(changed("NeedsAMaskForMaskedLM", ModernBert, needs_mask), "no_mask"),
    Toy(made("ListOfLayersForCausalLM", Llama, list_of_layers), "registered", decoder_config),
    Toy(made("OneLayerForMaskedLM", ModernBert, one_layer), "own_weights"),
    Toy(made("AlikeLayersForMaskedLM", ModernBert, alike), "own_weights"),
    Toy(made("LooseTensorForMaskedLM", ModernBert, loose_tensor), "device"),
    Toy(made("ShortTableForMaskedLM", ModernBert, short_table), "longest_text"),
    Toy(made("RemembersForMaskedLM", ModernBert, first_length), "stateless"),
    Toy(made("HalfConstantForMaskedLM", ModernBert, half_constant), "float16"),
    Toy(made("CastsPartsForMaskedLM", ModernBert, cast_parts), "autocast"),
    Toy(changed("StaleVocabularyForCausalLM", SIZED, after=loss_of_size), "resized_embeddings", decoder_config),
    Toy(subclass("SavesHalfForCausalLM", Llama, save_pretrained=saves_half), "round_trip", decoder_config),
    Toy(
        subclass("GeneratesUnmaskedForConditionalGeneration", T5, prepare_inputs_for_generation=without_mask),
        "generation_is_forward",
        t5_config,
    ),
    Toy(
        subclass("PromptsUnmaskedForCausalLM", Llama, prepare_inputs_for_generation=turned_around),
        "generation_padded",
        decoder_config,
    ),
    Toy(changed("ChangesConfigForMaskedLM", ModernBert, changes_config), "stateless"),
    Toy(made("SwallowsForCausalLM", Llama, wide, config_class=Swallowing), "config_fields", SWALLOWING),
    Toy(subclass("SaysThatItIsTiedForCausalLM", Llama, _tied_weights_keys={}), "ties", TIED),
)


# What is meant so, and no fault


def weighted(logits: Tensor, labels: Tensor) -> Tensor:
    if labels.is_floating_point():
        return F.binary_cross_entropy_with_logits(logits, labels)
    return F.cross_entropy(logits, labels, weight=torch.linspace(0.5, 2, logits.shape[-1]))


def balanced(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    """A term that does not know the labels, such as that of a router."""
    if kwargs.get("labels") is not None:
        outputs.loss = outputs.loss + 0.3 * outputs.logits.float().logsumexp(-1).square().mean()
    return outputs


MEANT = (
    Toy(changed("ClassWeightsForSequenceClassification", BERT, after=with_loss(weighted)), "", bert_config),
    Toy(changed("BalancesForCausalLM", Llama, after=balanced), "", decoder_config),
)
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.update({toy.name: toy.name for toy in (*PLANTED, *MEANT)})  # type: ignore[misc]

_HALF = {"vocab_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 16, "pad_token_id": 0}
_BART = {
    "vocab_size": 64, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 32,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
_IDS = {"bos_token_id": 1, "eos_token_id": 2}
_GPT = {"vocab_size": 64, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 8, **_IDS}
_LLAMA = {**SIZES, "num_key_value_heads": 2}
_XLNET = {"vocab_size": 64, "d_model": 16, "n_layer": 2, "n_head": 4, "d_inner": 24, "pad_token_id": 0}
_T5 = {
    "vocab_size": 64, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_heads": 4, "pad_token_id": 0,
    "eos_token_id": 2, "decoder_start_token_id": 0,
}  # fmt: skip
NATIVE: list[tuple[str, dict[str, Any]]] = [
    ("BertForSequenceClassification", SIZES),
    ("BertForQuestionAnswering", {**SIZES, "num_labels": 2}),
    ("RobertaForMaskedLM", {**SIZES, "pad_token_id": 1, "bos_token_id": 0}),
    ("ElectraForTokenClassification", {**SIZES, "embedding_size": 16}),
    ("AlbertForMaskedLM", {**SIZES, "embedding_size": 16}),
    ("DebertaV2ForMaskedLM", {**SIZES, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    ("ModernBertForSequenceClassification", {**SIZES, "cls_token_id": 1, "sep_token_id": 2}),
    ("XLNetLMHeadModel", _XLNET),
    ("XLNetForSequenceClassification", _XLNET),
    ("GPT2LMHeadModel", _GPT),
    ("LlamaForCausalLM", _LLAMA),
    ("MistralForCausalLM", {**_LLAMA, "sliding_window": 4}),
    ("Qwen3ForCausalLM", {**_LLAMA, "head_dim": 8}),
    ("MixtralForCausalLM", {**_LLAMA, "num_local_experts": 2}),
    ("GPTNeoXForCausalLM", SIZES),
    ("BloomForCausalLM", {"vocab_size": 64, "hidden_size": 16, "n_layer": 2, "n_head": 4, "pad_token_id": 0}),
    ("FalconForCausalLM", _HALF),
    ("OPTForCausalLM", {**_HALF, "word_embed_proj_dim": 16, "ffn_dim": 24, "max_position_embeddings": 32}),
    (
        "MambaForCausalLM",
        {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4, "pad_token_id": 0},
    ),
    ("BartForConditionalGeneration", {**_BART, "forced_eos_token_id": None}),
    ("MarianMTModel", _BART),
    ("T5ForConditionalGeneration", _T5),
]
