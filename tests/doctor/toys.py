# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Models with one trap each: a sound decoder or encoder of the library, and what makes it fall short.

Each toy names the check that has to find it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    ModernBertConfig,
    ModernBertForMaskedLM,
    ModernBertForTokenClassification,
    PreTrainedModel,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

SIZES: dict[str, Any] = {
    "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def decoder_config(**changes: Any) -> LlamaConfig:
    return LlamaConfig(**{**SIZES, "num_key_value_heads": 2, "num_labels": 3, **changes})


def encoder_config(**changes: Any) -> ModernBertConfig:
    return ModernBertConfig(**{**SIZES, "cls_token_id": 1, "sep_token_id": 2, "num_labels": 3, **changes})


def subclass(name: str, base: Any, **members: Any) -> Any:
    """A class of this module, which a fresh process finds by its name."""
    globals()[name] = made = type(name, (base,), {"__module__": __name__, **members})
    return made


Change = Callable[[Any, dict[str, Any]], None]
After = Callable[[Any, Any, dict[str, Any]], Any]


def changed(name: str, base: Any, before: Change | None = None, after: After | None = None, **members: Any) -> Any:
    """A class whose forward pass changes its arguments before, or its outputs after."""

    @wraps(base.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if before:
            before(self, kwargs)
        if after is None:
            return base.forward(self, *args, **kwargs)
        is_tuple = kwargs.pop("return_dict", None) is False
        outputs = after(self, base.forward(self, *args, return_dict=True, **kwargs), kwargs)
        return outputs.to_tuple() if is_tuple else outputs

    return subclass(name, base, forward=forward, **members)


def made(name: str, base: Any, change: Callable[[Any], None], **members: Any) -> Any:
    """A class that is changed after it is made."""

    def start(self: Any, config: Any) -> None:
        base.__init__(self, config)
        change(self)

    return subclass(name, base, __init__=start, **members)


def hooked(name: str, base: Any, change: Callable[[Tensor], Tensor], **members: Any) -> Any:
    """A class whose embeddings are changed on their way to the first layer."""

    def hook(self: Any) -> None:
        embeddings = self.model.get_input_embeddings() if base is LlamaForCausalLM else self.model.embeddings
        embeddings.register_forward_hook(lambda _, inputs, output: change(output))

    return made(name, base, hook, **members)


def forgetful(name: str, base: Any, forgotten: str) -> Any:
    """A class whose forward pass takes an argument, and ignores it."""
    return changed(name, base, lambda self, kwargs: kwargs.pop(forgotten, None))


SeesTheFuture = hooked(
    "SeesTheFutureForCausalLM", LlamaForCausalLM, lambda output: output + output.mean(1, keepdim=True)
)
IgnoresPadding = forgetful("IgnoresPaddingForCausalLM", LlamaForCausalLM, "attention_mask")
EncoderIgnoresPadding = forgetful("EncoderIgnoresPaddingForMaskedLM", ModernBertForMaskedLM, "attention_mask")
IgnoresTheCount = forgetful("IgnoresTheCountForCausalLM", LlamaForCausalLM, "num_items_in_batch")
HidesItsStates = forgetful("HidesItsStatesForMaskedLM", ModernBertForMaskedLM, "output_hidden_states")
# Its name is in no table of the library.
UnknownToTrainer = subclass("UnknownToTrainerForCausalLM", LlamaForCausalLM)
# The library chooses the loss by the end of the class's name: for any other, that of a causal model.
NamedOtherwise = subclass("NamedOtherwise", ModernBertForMaskedLM)
# A file without the classifier's norm loads as if it had one.
Silent = subclass("SilentForMaskedLM", ModernBertForMaskedLM, _keys_to_ignore_on_load_missing=(r"head\.norm",))
FixedVocabulary = subclass("FixedVocabularyForCausalLM", LlamaForCausalLM, get_output_embeddings=lambda self: None)
DropsInEvaluation = hooked(
    "DropsInEvaluationForMaskedLM", ModernBertForMaskedLM, lambda output: F.dropout(output, 0.3, training=True)
)
MixesTexts = hooked(
    "MixesTextsForMaskedLM", ModernBertForMaskedLM, lambda output: output - output.mean(0, keepdim=True) / 2
)
# A constant in float32 meets weights in bfloat16.
OverflowsInHalf = hooked(
    "OverflowsInHalfForMaskedLM",
    ModernBertForMaskedLM,
    lambda output: output * torch.full((1,), 1.1, device=output.device),
)


class AbsolutePositionsForCausalLM(LlamaForCausalLM):
    """Positions are places in the row, padding included."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.places = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.model.embed_tokens.register_forward_hook(self.with_places)
        self.past = 0
        self.post_init()

    def with_places(self, _: Any, inputs: Any, output: Tensor) -> Tensor:
        return output + self.places.weight[self.past : self.past + output.shape[1]]

    @wraps(LlamaForCausalLM.forward)
    def forward(self, *args: Any, past_key_values: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        self.past = past_key_values.get_seq_length() if past_key_values is not None else 0
        return super().forward(*args, past_key_values=past_key_values, **kwargs)


class FusedIsAnotherForMaskedLM(ModernBertForMaskedLM):
    """Temperature 2 for one attention backend alone."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        for layer in self.model.layers:
            layer.attn.Wqkv.register_forward_hook(self.cooled)

    def cooled(self, _: Any, inputs: Any, output: Tensor) -> Tensor:
        return output * 2 if self.config._attn_implementation == "sdpa" else output


def with_a_table(self: Any) -> None:
    """A table that is not saved, drawn when the model is made."""
    self.model.embeddings.register_buffer("table", torch.rand(self.config.hidden_size), persistent=False)
    self.model.embeddings.register_forward_hook(lambda module, inputs, output: output * module.table)


def tie(self: Any) -> None:
    """Two layers share a weight, and nothing says so."""
    self.lm_head.weight = self.model.embed_tokens.weight


def with_a_dead_part(self: Any) -> None:
    self.pooler = nn.Linear(self.config.hidden_size, self.config.hidden_size)
    self.post_init()


def with_three_labels(self: Any) -> None:
    """The number of labels is written into the code."""
    self.classifier = nn.Linear(self.config.hidden_size, 3)
    self.post_init()


def begin_at_0(self: Any, kwargs: dict[str, Any]) -> None:
    """Positions of a step begin at 0, whatever is cached."""
    cache = kwargs.get("past_key_values")
    if cache is not None and cache.get_seq_length():
        kwargs["position_ids"] = torch.arange(kwargs["input_ids"].shape[1])[None]


def unshifted(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    labels, count = kwargs.get("labels"), kwargs.get("num_items_in_batch")
    if labels is not None:
        losses = F.cross_entropy(outputs.logits.flatten(0, 1), labels.flatten(), reduction="sum")
        outputs.loss = losses / ((labels != -100).sum() if count is None else count)
    return outputs


def of_one_type(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    labels, count = kwargs.get("labels"), kwargs.get("num_items_in_batch")
    if labels is not None:
        kind = labels.argmax(-1) if labels.ndim == 2 else labels
        losses = F.cross_entropy(outputs.logits, kind, reduction="sum")
        outputs.loss = losses / (len(labels) if count is None else count)
    return outputs


def without_weights(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    if kwargs.get("output_attentions"):
        outputs.attentions = (None,) * self.config.num_hidden_layers
    return outputs


LosesItsBuffer = made("LosesItsBufferForMaskedLM", ModernBertForMaskedLM, with_a_table)
LosesItsTie = made("LosesItsTieForCausalLM", LlamaForCausalLM, tie, _tied_weights_keys={})
DeadPart = made("DeadPartForMaskedLM", ModernBertForMaskedLM, with_a_dead_part)
FixedHead = made("FixedHeadForTokenClassification", ModernBertForTokenClassification, with_three_labels)
ForgetsTheCache = changed("ForgetsTheCacheForCausalLM", LlamaForCausalLM, begin_at_0)
PredictsItself = changed("PredictsItselfForCausalLM", LlamaForCausalLM, after=unshifted)
ForgetsTheType = changed("ForgetsTheTypeForSequenceClassification", LlamaForSequenceClassification, after=of_one_type)
HidesItsWeights = changed("HidesItsWeightsForMaskedLM", ModernBertForMaskedLM, after=without_weights)
GathersMore = changed(
    "GathersMoreForMaskedLM", ModernBertForMaskedLM, lambda self, kwargs: kwargs.update(output_hidden_states=True)
)


class LooksAtValuesForMaskedLM(ModernBertForMaskedLM):
    """A branch of Python depends on what a tensor holds."""

    def forward(self, input_ids: Any = None, attention_mask: Any = None, labels: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        if int(input_ids.max()) > 10_000:
            raise ValueError("too large")
        return super().forward(input_ids, attention_mask=attention_mask, labels=labels, **kwargs)


class NamesNothingForMaskedLM(ModernBertForMaskedLM):
    def forward(self, input_ids: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        return super().forward(input_ids, attention_mask=attention_mask, **kwargs)


class ChecksNothingPointedForMaskedLM(ModernBertForMaskedLM):
    """Says that it checkpoints its blocks, and detaches them."""

    def activation_checkpointing_enable(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        for layer in self.model.layers:
            layer.mlp.register_forward_hook(lambda _, inputs, output: output.detach())


@dataclass(frozen=True)
class Toy:
    """found: the check that has to find it; what else falls short has to follow from it."""

    model_class: type[PreTrainedModel]
    found: str
    config: Callable[[], Any] = encoder_config

    @property
    def name(self) -> str:
        return self.model_class.__name__


TOYS = (
    Toy(SeesTheFuture, "causality", decoder_config),
    Toy(IgnoresPadding, "padding_left", decoder_config),
    Toy(EncoderIgnoresPadding, "padding_right"),
    Toy(AbsolutePositionsForCausalLM, "padding_left", decoder_config),
    Toy(LosesItsBuffer, "round_trip"),
    Toy(Silent, "missing_keys"),
    Toy(LosesItsTie, "ties", decoder_config),
    Toy(NamedOtherwise, "loss"),
    Toy(PredictsItself, "loss", decoder_config),
    Toy(IgnoresTheCount, "accumulation", decoder_config),
    Toy(UnknownToTrainer, "label_smoothing", decoder_config),
    Toy(DropsInEvaluation, "repeats"),
    Toy(MixesTexts, "batch_equals_single"),
    Toy(DeadPart, "every_gradient"),
    Toy(ForgetsTheCache, "cache", decoder_config),
    Toy(FusedIsAnotherForMaskedLM, "attention_backends"),
    Toy(HidesItsWeights, "attention_weights"),
    Toy(HidesItsStates, "hidden_states"),
    Toy(OverflowsInHalf, "bfloat16"),
    Toy(FixedVocabulary, "resized_embeddings", decoder_config),
    Toy(FixedHead, "resized_head"),
    Toy(ForgetsTheType, "problem_types", decoder_config),
    Toy(LooksAtValuesForMaskedLM, "one_graph"),
    Toy(GathersMore, "evaluation_outputs"),
    Toy(NamesNothingForMaskedLM, "named_arguments"),
    Toy(ChecksNothingPointedForMaskedLM, "gradient_checkpointing"),
)
# The library's own classes, which hold; a class of another name is unknown to Trainer, until it is added here.
SOUND = ((LlamaForCausalLM, decoder_config), (ModernBertForMaskedLM, encoder_config))
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.update(
    {toy.name: toy.name for toy in TOYS if toy.model_class is not UnknownToTrainer}  # type: ignore[misc]
)
