# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Models with one fault each: a sound model of the library, and what makes it fall short.

Each names the check that has to find it.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import (
    BertForQuestionAnswering,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    ModernBertForMaskedLM,
    ModernBertForTokenClassification,
    PreTrainedModel,
    StaticCache,
    T5ForConditionalGeneration,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

SIZES: dict[str, Any] = {
    "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


LABELLED, OF_LLAMA = {**SIZES, "num_labels": 3}, {**SIZES, "num_key_value_heads": 2}
OF_T5 = {**SIZES, "d_kv": 4, "d_ff": 24, "num_decoder_layers": 2, "decoder_start_token_id": 1}
RELATIVE = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 8}
# Arguments of configs by their model type.
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {**OF_LLAMA, "num_labels": 3},
    "swallowing": OF_LLAMA,
    "sharing": OF_LLAMA,
    "modernbert": {**LABELLED, "cls_token_id": 1, "sep_token_id": 2},
    "bert": LABELLED,
    "t5": {**OF_T5, **RELATIVE, "keys_to_ignore_at_inference": ["past_key_values", "encoder_last_hidden_state"]},
}


def subclass(name: str, base: Any, **members: Any) -> Any:
    """A class of this module, which a fresh process finds by its name. It ends with what the model is for."""
    name += "For" + base.__name__.partition("For")[2]
    globals()[name] = made = type(name, (base,), {"__module__": __name__, **members})
    return made


# What changes the arguments of a forward pass, or its outputs.
Change = Callable[[Any, dict[str, Any]], object]
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


def parted(name: str, base: Any, part: str, make: Callable[[Any], nn.Module], **members: Any) -> Any:
    """A class with another part, or one more."""

    def change(self: Any) -> None:
        self.set_submodule(part, make(self))
        self.post_init()

    return made(name, base, change, **members)


def hooked(name: str, base: Any, change: Callable[[Any, Tensor], Tensor], start: Any = None, **members: Any) -> Any:
    """A class whose embeddings are changed on their way to the first layer. start: what they get at the beginning."""

    def hook(self: Any) -> None:
        embeddings = self.model.embed_tokens if base is Llama else self.model.embeddings
        if start:
            start(embeddings, self.config)
        embeddings.register_forward_hook(lambda module, inputs, output: change(module, output))

    return made(name, base, hook, **members)


Llama, ModernBert = LlamaForCausalLM, ModernBertForMaskedLM
# Sound classes, of which Trainer expects no more than they do.
COUNTLESS = subclass("Countless", Llama, accepts_loss_kwargs=False)
EAGER = made("Eager", Llama, lambda self: self.set_attn_implementation("eager"))
READER = subclass("Countless", LlamaForSequenceClassification, accepts_loss_kwargs=False)
TAGGER = subclass("Countless", ModernBertForTokenClassification, accepts_loss_kwargs=False)
T5 = subclass("SoundT5", T5ForConditionalGeneration, accepts_loss_kwargs=False)
BERT = subclass("SoundBert", BertForSequenceClassification, accepts_loss_kwargs=False)
ASKED = subclass("SoundBert", BertForQuestionAnswering, accepts_loss_kwargs=False)


# Changes of arguments


def always(**values: Any) -> Change:
    """Arguments have these values, whatever the caller says."""
    return lambda self, kwargs: kwargs.update(values)


def past(kwargs: dict[str, Any]) -> int:
    """Return how many tokens are cached."""
    cache = kwargs.get("past_key_values")
    return cache.get_seq_length() if cache is not None else 0


def gone(value: Any) -> None:
    return None


def replaced(name: str, change: Callable[[Any], Any], when: str = "") -> Change:
    """An argument that is given becomes another, always or in one of the states of WHEN."""

    def before(self: Any, kwargs: dict[str, Any]) -> None:
        if kwargs.get(name) is not None and (not when or WHEN[when](self, kwargs)):
            kwargs[name] = change(kwargs[name])

    return before


WHEN: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "cached": lambda self, kwargs: past(kwargs),
    "trained": lambda self, kwargs: self.training,
    "checkpointed": lambda self, kwargs: self.training and self.is_activation_checkpointing,
    "encoded": lambda self, kwargs: kwargs.get("encoder_outputs"),
    "recorded": lambda self, kwargs: kwargs.get("output_attentions"),
    "checkpointed with a cache": lambda self, kwargs: WHEN["checkpointed"](self, kwargs) and kwargs.get("use_cache"),
    "labelled": lambda self, kwargs: kwargs.get("labels") is not None,
    "labels alone": lambda self, kwargs: kwargs.get("decoder_input_ids") is None,
}


def keeps_the_first(self: Any, kwargs: dict[str, Any]) -> None:
    if (encoded := kwargs.get("encoder_outputs")) is not None:
        kwargs["encoder_outputs"] = vars(self).setdefault("kept", encoded)


def named(encoded: Any) -> Any:
    """What an encoder returned is read by its name, which a tuple has not."""
    return encoded if encoded.last_hidden_state is not None else None


def first_places(mask: Tensor) -> Tensor:
    """A mask is taken for a length: its first places are seen, whichever they are."""
    return (torch.arange(mask.shape[1], device=mask.device) < mask.sum(1, keepdim=True)).long()


def triangular(mask: Tensor, dtype: torch.dtype, fill: float) -> Tensor:
    seen = torch.ones(2 * mask.shape[1:], device=mask.device).tril().bool() & mask[:, None].bool()
    return torch.zeros(seen.shape, dtype=dtype, device=mask.device).masked_fill(~seen, fill)[:, None]


def infinite(self: Any, kwargs: dict[str, Any]) -> None:
    """Scores of -inf, which are NaN where a token sees nothing."""
    mask = kwargs.get("attention_mask")
    if mask is not None and mask.ndim == 2 and not past(kwargs):
        kwargs["attention_mask"] = triangular(mask, self.dtype, -torch.inf)


def by_ids(self: Any, kwargs: dict[str, Any]) -> None:
    """Tokens are padding by their id, whatever the mask says."""
    ids, mask = kwargs.get("input_ids"), kwargs.get("attention_mask")
    if past(kwargs) == 0 and ids is not None and mask is not None:
        kwargs["attention_mask"] = mask * (ids != self.config.pad_token_id)


def top_left(self: Any, kwargs: dict[str, Any]) -> None:
    """Of several tokens after cached ones, each sees as many tokens as if nothing was cached."""
    ids, cached = kwargs.get("input_ids"), past(kwargs)
    if cached and ids is not None and ids.shape[1] > 1:
        length = ids.shape[1]
        seen = torch.ones(length, cached + length).tril().bool()
        mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
        kwargs["attention_mask"] = mask.expand(len(ids), 1, -1, -1)


def begin_at_0(self: Any, kwargs: dict[str, Any]) -> None:
    """Positions of a step begin at 0, whatever is cached."""
    if past(kwargs) and (embeds := kwargs.get("inputs_embeds")) is not None:
        kwargs["position_ids"] = torch.arange(embeds.shape[1])[None]


def counts_on_itself(self: Any, kwargs: dict[str, Any]) -> None:
    """Positions are counted by the model, which begins anew where nothing is cached."""
    given = kwargs["inputs_embeds" if kwargs.get("input_ids") is None else "input_ids"]
    length = given.shape[1]
    self.read = length + (self.read if past(kwargs) else 0)
    if kwargs.get("attention_mask") is None and kwargs.get("position_ids") is None:
        kwargs["position_ids"] = torch.arange(self.read - length, self.read, device=given.device)[None]


def scaled_embeddings(self: Any, kwargs: dict[str, Any]) -> None:
    if kwargs.get("input_ids") is not None:
        kwargs["inputs_embeds"] = 4.0 * self.get_input_embeddings()(kwargs.pop("input_ids"))


def counts_calls(self: Any, kwargs: dict[str, Any]) -> None:
    self.calls = getattr(self, "calls", 0) + 1


def labels_are_read(self: Any, kwargs: dict[str, Any]) -> None:
    """The decoder reads what it has to write."""
    given = {"decoder_input_ids", "decoder_inputs_embeds"} & kwargs.keys()
    if kwargs.get("labels") is not None and not given:
        kwargs["decoder_input_ids"] = kwargs["labels"].clamp(min=0)


def refuses_static_caches(self: Any, kwargs: dict[str, Any]) -> None:
    if isinstance(kwargs.get("past_key_values"), StaticCache):
        raise TypeError("of no fixed size")


def scaled_by_length(self: Any, kwargs: dict[str, Any]) -> None:
    """As of a dynamic scaling of rotary positions, which begins at the length that was trained."""
    ids = kwargs.get("input_ids")
    if past(kwargs) == 0 and ids is not None and (length := ids.shape[1]) > 20:
        kwargs["position_ids"] = torch.arange(length)[None] * 20 / length


def unchecked_places(self: Any, kwargs: dict[str, Any]) -> None:
    start, embeds = kwargs.get("start_positions"), kwargs.get("inputs_embeds")
    read = kwargs.get("input_ids") if embeds is None else embeds
    if start is not None and int(start.max()) >= read.shape[1]:
        raise IndexError("Target out of bounds.")


# Changes of outputs


def with_loss(name: str) -> After:
    """Another loss than that of the library: one of LOSSES."""

    def after(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
        if kwargs.get("labels") is not None:
            outputs.loss = LOSSES[name](outputs.logits, kwargs["labels"])
        return outputs

    return after


def weighted(logits: Tensor, labels: Tensor) -> Tensor:
    """With weights of classes, which are meant so."""
    if labels.is_floating_point():
        return F.binary_cross_entropy_with_logits(logits, labels)
    return F.cross_entropy(logits, labels, weight=torch.linspace(0.5, 2, logits.shape[-1]))


def of_tokens(logits: Tensor, labels: Tensor, **options: Any) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), **options)


# Losses with a mistake each, of logits and labels.
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "unshifted": of_tokens,
    "rolled": lambda logits, labels: of_tokens(logits, labels.roll(-1, 1)),
    "class 0 for ignored": lambda logits, labels: of_tokens(logits, labels.clamp(min=0)),
    "over all tokens": lambda logits, labels: of_tokens(logits, labels, reduction="sum") / labels.numel(),
    "without class 0": lambda logits, labels: of_tokens(logits, labels.clamp(min=0), ignore_index=0),
    "mean of means": lambda logits, labels: torch.stack(
        [F.cross_entropy(*row) for row in zip(logits, labels) if (row[1] != -100).any()]
    ).mean(),
    "of one type": lambda logits, labels: F.cross_entropy(logits, labels.argmax(-1) if labels.ndim == 2 else labels),
    "of softmax": lambda logits, labels: F.cross_entropy(logits.softmax(-1), labels),
    "broadcast": lambda logits, labels: (logits - labels).square().mean(),
    "broadcast alone": lambda logits, labels: (
        LOSSES["broadcast"](logits, labels) if logits.shape[-1] == 1 else weighted(logits, labels)
    ),
    "of classes": lambda logits, labels: F.cross_entropy(logits, labels.long()),
    "weighted": weighted,
    "of 64": lambda logits, labels: F.cross_entropy(logits[:, :-1].reshape(-1, 64), labels[:, 1:].flatten()),
}


def states_of_the_decoder(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    if outputs.get("encoder_hidden_states") is not None:
        outputs.encoder_hidden_states = outputs.decoder_hidden_states
    return outputs


def loss_alone(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    return type(outputs)(loss=outputs.loss) if kwargs.get("labels") is not None else outputs


def with_logits(change: Callable[[Any, Tensor, dict[str, Any]], Tensor]) -> After:
    """Other logits, by these and the arguments."""

    def after(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
        outputs.logits = change(self, outputs.logits, kwargs)
        return outputs

    return after


def leak(self: Any, logits: Tensor, kwargs: dict[str, Any]) -> Tensor:
    given = kwargs.get("labels") is not None
    return logits + F.one_hot(kwargs["labels"].clamp(min=0), logits.shape[-1]) if given else logits


@wraps(BertForSequenceClassification.forward)
def logits_first(self: Any, *args: Any, return_dict: bool | None = None, **kwargs: Any) -> Any:
    outputs = BertForSequenceClassification.forward(self, *args, return_dict=True, **kwargs)
    return outputs if return_dict is not False else outputs.to_tuple()[::-1]


def keeps_the_order(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    """The rows of the cache stay where they are."""
    if outputs.get("past_key_values") is not None:
        outputs.past_key_values.reorder_cache = lambda order: None
    return outputs


def keeps_first(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    keep = kwargs.get("logits_to_keep")
    if isinstance(keep, int) and keep:
        whole = Llama.forward(self, **{**kwargs, "logits_to_keep": 0, "past_key_values": None})
        outputs.logits = whole.logits[:, :keep]
    return outputs


# Changes of embeddings


def drawn_table(embeddings: Any, config: Any) -> None:
    """A table that is not saved, drawn when the model is made."""
    embeddings.register_buffer("table", torch.rand(config.hidden_size), persistent=False)


def plus_row(module: Any, output: Tensor) -> Tensor:
    return output + module.table.weight[torch.arange(output.shape[1], device=output.device)]


def plus_parity(module: Any, output: Tensor) -> Tensor:
    """Positions are counted in the dtype of the weights, where bfloat16 has no odd numbers above 256."""
    positions = torch.arange(output.shape[1], device=output.device).to(output.dtype)
    return output + 2 * (positions % 2)[:, None]


def add_table(embeddings: Any, config: Any, fewer: int = 0) -> None:
    """A table of positions, of which some have no row."""
    embeddings.table = nn.Embedding(config.max_position_embeddings - fewer, config.hidden_size)


def plus_row_made(module: Any, output: Tensor) -> Tensor:
    """The index is of the CPU, which the meta device does not refuse."""
    return output + module.table(torch.arange(output.shape[1]))


def hold_table(embeddings: Any, config: Any) -> None:
    """A reference to a weight, which loading replaces."""
    embeddings.held = [embeddings.tok_embeddings.weight]


def plus_first_held(module: Any, output: Tensor) -> Tensor:
    return output + module.held[0][:1].to(output)


def drifts(module: Any, output: Tensor) -> Tensor:
    """Training moves a number that the file does not have."""
    module.drift = getattr(module, "drift", 1.0) + (0.1 if module.training else 0.0)
    return output * module.drift


def cut_when_frozen(module: Any, output: Tensor) -> Tensor:
    """A frozen embedding cuts the graph of all that follows."""
    return output if module.tok_embeddings.weight.requires_grad else output.data


# Changes of the object


def tie(self: Any) -> None:
    self.lm_head.weight = self.model.embed_tokens.weight


def encode_causally(self: Any) -> None:
    def hook(module: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        mask = kwargs.get("attention_mask")
        mask = torch.ones_like(kwargs["input_ids"]) if mask is None else mask
        return args, {**kwargs, "attention_mask": triangular(mask, module.dtype, torch.finfo(module.dtype).min)}

    self.encoder.register_forward_pre_hook(hook, with_kwargs=True)


def detach_half(self: Any) -> None:
    """A branch of the second layer gets half of its gradient."""
    self.model.layers[1].mlp.register_forward_hook(lambda _, inputs, output: output / 2 + output.detach() / 2)


def list_of_layers(self: Any) -> None:
    mlp = self.model.layers[0].mlp
    mlp.more = [nn.Linear(self.config.hidden_size, self.config.hidden_size)]
    mlp.register_forward_hook(lambda module, inputs, output: output + module.more[0](output))


def grow(self: Any) -> None:
    self.config.intermediate_size += 8


def use_up(self: Any) -> None:
    """The list of the config is empty once the model is made, and makes another one."""
    self.adapters = nn.ModuleList(nn.Linear(16, self.config.widths.pop()) for _ in tuple(self.config.widths))
    self.model.embeddings.register_forward_hook(
        lambda _, inputs, output: output + sum(each(output) for each in self.adapters)
    )
    self.post_init()


def scaled(self: Any) -> None:
    """A parameter that `_init_weights` does not know."""
    self.head.scale = nn.Parameter(torch.empty(self.config.hidden_size).fill_(1.5))
    self.head.register_forward_hook(lambda module, inputs, output: output * module.scale)


def cooled(model: Any, module: Any, inputs: Any, output: Tensor) -> Tensor:
    """Temperature 2 for one attention backend alone."""
    return output * 2 if model.config._attn_implementation == "sdpa" else output


def cool_fused(self: Any) -> None:
    self.model.layers[0].attn.Wqkv.register_forward_hook(partial(cooled, self))


def cast_parts(self: Any) -> None:
    """Rows are written into a tensor of another dtype, as they are under autocast."""

    def hook(module: Any, inputs: Any, output: Tensor) -> Tensor:
        made = torch.zeros(output.shape, dtype=module.weight.dtype, device=output.device)
        return made.index_put((torch.arange(len(output)),), output)

    self.model.layers[0].mlp.Wo.register_forward_hook(hook)


def prompted_without(base: Any, name: str = "attention_mask") -> dict[str, Any]:
    """Generation reads the prompt without this argument, such as what padding hides."""

    @wraps(base.prepare_inputs_for_generation)
    def prepare(self: Any, ids: Tensor, *args: Any, **kwargs: Any) -> dict[str, Any]:
        kwargs = {**kwargs, name: None}
        return {**base.prepare_inputs_for_generation(self, ids, *args, **kwargs), name: None}

    return {"prepare_inputs_for_generation": prepare}


def drop_anew(self: Any, *args: Any, **kwargs: Any) -> None:
    """What is computed again has other dropout."""
    for layer in self.bert.encoder.layer:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False)


def last_token(self: Any, ids: Tensor, past_key_values: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Of a prompt behind cached tokens, generation reads the last one alone."""
    made = Llama.prepare_inputs_for_generation(self, ids, past_key_values=past_key_values, **kwargs)
    is_more = past({"past_key_values": past_key_values}) and made.get("input_ids") is not None
    return {**made, "input_ids": ids[:, -1:], "position_ids": None} if is_more else made


def resized_untied(self: Any, *args: Any, **kwargs: Any) -> Any:
    Llama.resize_token_embeddings(self, *args, **kwargs)
    self.lm_head.weight = nn.Parameter(self.lm_head.weight.detach().clone())


def positions(self: Any) -> nn.Module:
    return self.bert.embeddings.position_embeddings


def starts_with_padding(self: Any, labels: Tensor) -> Tensor:
    return F.pad(labels[:, :-1], (1, 0)).masked_fill(F.pad(labels[:, :-1], (1, 0)) == -100, 0)


class Swallowing(LlamaConfig):
    """Takes any argument, and keeps those that it names."""

    model_type = "swallowing"

    def __init__(self, hidden_act: str = "silu", extra_width: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width = extra_width


class Sharing(LlamaConfig):
    """Its configs share the list that is the default of an argument."""

    model_type = "sharing"

    def __init__(self, hidden_act: str = "silu", widths: Any = [], **kwargs: Any) -> None:  # noqa: B006  # the fault
        super().__init__(**kwargs)
        self.widths = widths


def wide(self: Any) -> None:
    self.adapter = nn.Linear(self.config.hidden_size, self.config.width)
    self.model.layers[0].mlp.register_forward_hook(lambda _, inputs, output: output * self.config.width)
    self.post_init()


class NamesNothingForMaskedLM(ModernBertForMaskedLM):
    def forward(self, input_ids: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        return super().forward(input_ids, attention_mask=attention_mask, **kwargs)


class SharesADefaultForMaskedLM(ModernBertForMaskedLM):
    """All calls share the list that is the default of an argument."""

    def forward(self, input_ids=None, attention_mask=None, labels=None, seen=[], **kwargs: Any) -> Any:  # type: ignore  # noqa
        return super().forward(input_ids, attention_mask=attention_mask, labels=labels, **kwargs)


class NamedOtherwise(ModernBertForMaskedLM):
    """The library chooses the loss by the end of the class's name: for any other, that of a causal model."""


@dataclass(frozen=True)
class Toy:
    """found: the check that has to find it, and says so; what else falls short has to follow from it."""

    model_class: type[PreTrainedModel]
    found: str
    settings: dict[str, Any] = field(default_factory=dict)
    says: str = ""

    @property
    def name(self) -> str:
        return self.model_class.__name__

    def config(self) -> Any:
        config_class: Any = self.model_class.config_class
        return config_class(**{**CONFIGS[config_class.model_type], **self.settings})


# Its name is in no table of the library, and so unknown to Trainer.
UnknownToTrainer = subclass("UnknownToTrainer", Llama)
UNSHIFTED = {"prepare_decoder_input_ids_from_labels": lambda self, labels: labels.clamp(min=0)}
# A file without the classifier's norm loads as if it had one.
SILENT = {"_keys_to_ignore_on_load_missing": (r"head\.norm",)}

TIED, LONG = {"tie_word_embeddings": True}, {"max_position_embeddings": 512}


def replacing(
    name: str, base: Any, found: str, argument: str, change: Callable[[Any], Any], when: str = "", says: str = ""
) -> Toy:
    return Toy(changed(name, base, replaced(argument, change, when)), found, says=says)


PLANTED = (
    replacing("IgnoresPadding", Llama, "padding_left", "attention_mask", gone),
    replacing("EncoderIgnoresPadding", ModernBert, "batch_equals_single", "attention_mask", gone),
    replacing("TrainsUnmasked", ModernBert, "training_mode", "attention_mask", gone, "trained"),
    replacing("CheckpointsUnmasked", ModernBert, "gradient_checkpointing", "attention_mask", gone, "checkpointed"),
    replacing("RecordsUnmasked", ModernBert, "recording_changes_nothing", "attention_mask", gone, "recorded"),
    replacing("EncodedUnmasked", T5, "encoder_outputs", "attention_mask", gone, "encoded"),
    replacing("CrossesPaddingLater", T5, "cache", "attention_mask", gone, "cached"),
    replacing("SeesPaddingLater", Llama, "cache", "attention_mask", torch.ones_like, "cached"),
    replacing("MasksByLength", ModernBert, "mask_gap", "attention_mask", first_places),
    replacing("NeedsWholeNumbers", ModernBert, "mask_dtypes", "attention_mask", lambda mask: 1 - (1 - mask)),
    replacing("NoDecoderMask", T5, "mask_gap", "decoder_attention_mask", gone),
    replacing("IgnoresPlaces", Llama, "default_ids", "position_ids", gone),
    replacing("IgnoresTypes", BERT, "default_ids", "token_type_ids", gone),
    replacing("IgnoresTheCount", Llama, "accumulation", "num_items_in_batch", gone),
    replacing("HidesItsStates", ModernBert, "hidden_states", "output_hidden_states", gone),
    replacing("LooksAtValues", ModernBert, "one_graph", "input_ids", lambda ids: ids if int(ids.max()) < 999 else None),
    replacing("ForgetsToEnd", Llama, "loss", "labels", lambda labels: labels.masked_fill(labels == 0, -100)),
    replacing(
        "Overwrites", T5, "leaves_inputs", "labels", lambda each: each.masked_fill_(each == -100, 0), "labels alone"
    ),
    replacing("NeedsNames", T5, "encoder_outputs", "encoder_outputs", named, says="as a tuple"),
    Toy(changed("KeepsTheText", T5, keeps_the_first), "stateless", says="is kept"),
    replacing("DetachesEmbeds", Llama, "every_gradient", "inputs_embeds", Tensor.detach, says="No gradient reaches"),
    Toy(hooked("MixesTexts", ModernBert, lambda _, output: output - output.mean(0) / 2), "batch_equals_single"),
    Toy(changed("Probabilities", BERT, after=with_logits(lambda _, each, kwargs: each.softmax(-1))), "loss"),
    Toy(changed("Squeezes", BERT, after=with_logits(lambda _, each, kwargs: each.squeeze())), "shortest_and_longest"),
    Toy(hooked("CountsInHalf", ModernBert, plus_parity), "half_precision", LONG, "to a long text"),
    Toy(subclass("ResizedUntied", Llama, resize_token_embeddings=resized_untied), "resized_embeddings", TIED, "tied"),
    Toy(subclass("SaysThatItIsTied", Llama, _tied_weights_keys={}), "ties", TIED),
    Toy(
        changed("AsksNoConfig", BERT, lambda self, kwargs: kwargs.setdefault("output_hidden_states", False)),
        "hidden_states",
        says="With config.output_hidden_states",
    ),
    Toy(hooked("SeesTheFuture", Llama, lambda _, output: output + output.mean(1, keepdim=True)), "causality"),
    Toy(hooked("LosesItsBuffer", ModernBert, lambda module, output: output * module.table, drawn_table), "round_trip"),
    Toy(subclass("Silent", ModernBert, **SILENT), "missing_keys"),
    Toy(made("LosesItsTie", Llama, tie, _tied_weights_keys={}), "ties"),
    Toy(NamedOtherwise, "loss"),
    Toy(changed("PredictsItself", COUNTLESS, after=with_loss("unshifted")), "loss"),
    Toy(UnknownToTrainer, "label_smoothing"),
    Toy(hooked("DropsInEvaluation", ModernBert, lambda _, output: F.dropout(output, 0.3, training=True)), "repeats"),
    Toy(parted("DeadPart", ModernBert, "pooler", lambda self: nn.Linear(16, 16)), "every_gradient"),
    Toy(made("FusedIsAnother", ModernBert, cool_fused), "attention_backends"),
    replacing("HidesItsWeights", ModernBert, "attention_weights", "output_attentions", gone),
    Toy(subclass("FixedVocabulary", Llama, get_output_embeddings=lambda self: None), "resized_embeddings"),
    Toy(parted("FixedHead", TAGGER, "classifier", lambda self: nn.Linear(16, 3)), "resized_head"),
    Toy(changed("ForgetsTheType", READER, after=with_loss("of one type")), "loss"),
    Toy(changed("GathersMore", ModernBert, always(output_hidden_states=True)), "evaluation_outputs"),
    Toy(NamesNothingForMaskedLM, "named_arguments"),
    Toy(changed("TopLeft", Llama, top_left), "cache"),
    Toy(changed("ReadsItsLabels", T5, labels_are_read, **UNSHIFTED), "labels_alone"),
    Toy(subclass("PreparesUnshifted", T5, **UNSHIFTED), "labels_alone"),
    Toy(changed("SoftmaxInTheLoss", BERT, after=with_loss("of softmax")), "loss"),
    Toy(changed("CountsIgnored", TAGGER, after=with_loss("class 0 for ignored")), "loss"),
    Toy(changed("DividesByAll", TAGGER, after=with_loss("over all tokens")), "loss"),
    Toy(changed("Leaks", TAGGER, after=with_logits(leak)), "labels_change_nothing"),
    Toy(made("DetachesHalf", Llama, detach_half), "every_gradient"),
    Toy(hooked("CutsTheGraph", ModernBert, cut_when_frozen), "every_gradient"),
    Toy(changed("OutOfBounds", ASKED, unchecked_places), "loss", {"num_labels": 2}),
    Toy(changed("MasksById", Llama, by_ids), "mask_gap"),
    Toy(changed("ScalesIds", Llama, scaled_embeddings), "embeddings_as_inputs"),
    Toy(changed("NeverATuple", ModernBert, always(return_dict=True)), "tuples"),
    Toy(changed("KeepsTheFirst", Llama, after=keeps_first), "generation"),
    Toy(changed("AlwaysCaches", Llama, always(use_cache=True)), "cache"),
    Toy(changed("NeedsAMask", ModernBert, lambda self, kwargs: kwargs["attention_mask"].long()), "mask_dtypes"),
    Toy(made("ListOfLayers", Llama, list_of_layers), "registered"),
    Toy(
        parted("OneLayer", ModernBert, "model.layers", lambda self: nn.ModuleList([self.model.layers[0]] * 2)),
        "own_weights",
    ),
    Toy(
        parted("AlikeLayers", ModernBert, "model.layers.1", lambda self: copy.deepcopy(self.model.layers[0])),
        "own_weights",
    ),
    Toy(hooked("ShortTable", ModernBert, plus_row, partial(add_table, fewer=1)), "shortest_and_longest"),
    Toy(hooked("HalfConstant", ModernBert, lambda _, each: each.masked_fill(each != each, -1e9)), "half_precision"),
    Toy(made("CastsParts", ModernBert, cast_parts), "half_precision"),
    Toy(changed("StaleVocabulary", COUNTLESS, after=with_loss("of 64")), "resized_embeddings"),
    Toy(subclass("GeneratesUnmasked", T5, **prompted_without(T5)), "generation"),
    Toy(changed("ChangesConfig", ModernBert, lambda self, kwargs: setattr(self.config, "use_cache", 0)), "stateless"),
    Toy(made("Swallows", Llama, wide, config_class=Swallowing), "config_fields", {"extra_width": 12}),
    Toy(subclass("LogitsFirst", BERT, forward=logits_first), "tuples", says="With labels"),
    Toy(changed("LossAlone", BERT, after=loss_alone), "labels_change_nothing", says="no logits"),
    Toy(changed("Seeds", ModernBert, lambda self, kwargs: torch.manual_seed(42)), "stateless", says="random numbers"),
    Toy(changed("ScaledByLength", Llama, scaled_by_length), "causality", says="In a text of 32 tokens"),
    Toy(
        made("Grows", ModernBert, grow),
        "config_fields",
        says="Making the model",
    ),
    Toy(made("UsesUpItsConfig", ModernBert, use_up), "config_fields", {"widths": [16, 16]}, "Made anew"),
    Toy(hooked("HoldsAWeight", ModernBert, plus_first_held, hold_table), "registered", says="of a loaded"),
    Toy(hooked("IndexedOnTheCPU", ModernBert, plus_row_made, add_table), "device", says="embedding gets"),
    Toy(hooked("Drifts", ModernBert, drifts), "stateless", says="After a call in training"),
    Toy(changed("CountsOnItself", Llama, counts_on_itself), "cache", says="read in turns"),
    Toy(changed("KeepsTheOrder", Llama, after=keeps_the_order), "cache", says="after `reorder_cache`"),
    Toy(
        changed("InfiniteInHalf", EAGER, lambda self, kwargs: self.dtype.itemsize == 4 or infinite(self, kwargs)),
        "half_precision",
        says="padded on the left",
    ),
    Toy(subclass("StartsOtherwise", T5, _shift_right=starts_with_padding), "labels_alone", says="(1)"),
    Toy(changed("ClassesAlone", BERT, after=with_loss("of classes")), "loss", {"num_labels": 1}, "labels of float32"),
    Toy(made("NeverInitialised", ModernBert, scaled), "missing_keys", says="is not initialised"),
    Toy(subclass("PositionsAsTable", BERT, get_input_embeddings=positions), "resized_embeddings", says="of 32 rows"),
    Toy(changed("WithoutClassZero", TAGGER, after=with_loss("without class 0")), "loss", says="of 0 are"),
    Toy(changed("MeanOfMeans", TAGGER, after=with_loss("mean of means")), "loss", says="mean of the"),
    Toy(changed("Rolls", COUNTLESS, after=with_loss("rolled")), "loss", says="rolled"),
    Toy(changed("BroadcastsOne", BERT, after=with_loss("broadcast alone")), "loss", says="num_labels=1"),
    Toy(changed("Infinite", EAGER, infinite), "padding_left", says="of -inf alone"),
    Toy(SharesADefaultForMaskedLM, "repeats", says="the default of seen"),
    Toy(made("EncodesCausally", T5, encode_causally), "causality"),
    Toy(changed("MixesStates", T5, after=states_of_the_decoder), "hidden_states", says="encoder_hidden_states[-1]"),
    Toy(subclass("Shares", Llama, config_class=Sharing), "config_fields", says="share one widths"),
    Toy(subclass("NamesNoBase", ModernBert, base_model_prefix="encoder"), "base_weights"),
    replacing("ChecksACache", Llama, "gradient_checkpointing", "labels", Tensor.flipud, "checkpointed with a cache"),
    Toy(subclass("PromptsByIds", Llama, **prompted_without(Llama, "inputs_embeds")), "generation", says="em"),
    replacing(
        "LabelsFirst", T5, "embeddings_as_inputs", "decoder_inputs_embeds", gone, "labelled", "With labels, decoder_"
    ),
    Toy(subclass("ReadsTheLast", Llama, prepare_inputs_for_generation=last_token), "generation", says="cached already"),
    Toy(subclass("SavesAlone", BERT, save_pretrained=lambda self, folder: None), "round_trip", says="'state_dict'"),
    Toy(
        parted("SixtyFourRows", Llama, "model.embed_tokens", lambda self: nn.Embedding(64, 16)),
        "resized_embeddings",
        says="what was saved",
    ),
    Toy(subclass("DropsAnew", BERT, activation_checkpointing_enable=drop_anew), "gradient_checkpointing"),
    Toy(changed("CountsCalls", ModernBert, counts_calls), "one_graph", says="A second call"),
    Toy(subclass("PreparesNothing", T5, prepare_decoder_input_ids_from_labels=None), "labels_alone", says="no prepare"),
    Toy(changed("EmbedsFrom0", Llama, begin_at_0), "cache", says="as inputs_embeds"),
)


# What is meant so, and no fault


def dropped_in_training(module: Any, output: Tensor) -> Tensor:
    return F.dropout(output, 0.3, module.training)


def noisy_in_training(module: Any, output: Tensor) -> Tensor:
    if not module.training:
        return output
    return output * torch.empty_like(output).normal_(1.0, 0.3) * torch.normal(1.0, 0.3, output.shape)


def path_dropped(module: Any, output: Tensor) -> Tensor:
    """Stochastic depth, as the library's models of images have it."""
    kept = 1 - module.drop_prob
    if not module.training or kept == 1:
        return output
    return output / kept * (kept + torch.rand(len(output), 1, 1)).floor()


def start_drop_path(module: Any, config: Any) -> None:
    module.drop_prob = 0.1


def balanced(self: Any, outputs: Any, kwargs: dict[str, Any]) -> Any:
    """A term that does not know the labels, such as that of a router."""
    if kwargs.get("labels") is not None:
        outputs.loss = outputs.loss + 0.3 * outputs.logits.float().logsumexp(-1).square().mean()
    return outputs


MEANT = (
    Toy(changed("ClassWeights", BERT, after=with_loss("weighted")), ""),
    Toy(changed("Balances", Llama, after=balanced), ""),
    Toy(changed("RefusesStatic", Llama, refuses_static_caches, _can_compile_fullgraph=False), ""),
    Toy(hooked("DropsByFunction", ModernBert, dropped_in_training), ""),
    Toy(hooked("DropsPaths", ModernBert, path_dropped, start_drop_path), ""),
    Toy(hooked("DropsByNoise", ModernBert, noisy_in_training), ""),
)
# A class of another name than those of the library is unknown to Trainer, until it is added here.
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.update(
    {toy.name: toy.name for toy in (*PLANTED, *MEANT) if toy.model_class is not UnknownToTrainer}  # type: ignore[misc]
)

# Families of the library, and where their sizes are others than SIZES.
NATIVE: dict[str, dict[str, Any]] = {
    "BertForSequenceClassification": {},
    "BertForQuestionAnswering": {},
    "RobertaForMaskedLM": {"pad_token_id": 1, "bos_token_id": 0},
    "ElectraForTokenClassification": {"embedding_size": 16},
    "DebertaV2ForMaskedLM": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "ModernBertForSequenceClassification": {"cls_token_id": 1, "sep_token_id": 2},
    "GPT2LMHeadModel": {"max_position_embeddings": 8, "pad_token_id": None},
    "LlamaForCausalLM": {"num_key_value_heads": 2},
    "MistralForCausalLM": {"num_key_value_heads": 2, "sliding_window": 4},
    "MixtralForCausalLM": {"num_key_value_heads": 2, "num_local_experts": 2},
    "GPTNeoXForCausalLM": {},
    "BloomForCausalLM": {},
    "FalconForCausalLM": {},
    "OPTForCausalLM": {"word_embed_proj_dim": 16, "ffn_dim": 24},
    "MambaForCausalLM": {"state_size": 4, "intermediate_size": 32, "num_attention_heads": 0},
    "BartForConditionalGeneration": {
        "encoder_ffn_dim": 24, "decoder_layers": 2, "decoder_ffn_dim": 24, "decoder_attention_heads": 4,
        "decoder_start_token_id": 2, "forced_eos_token_id": None,
    },
    "T5ForConditionalGeneration": {**OF_T5, "decoder_start_token_id": 0},
}  # fmt: skip
NATIVE = {name: {**SIZES, **sizes} for name, sizes in NATIVE.items()}
NATIVE["XLNetLMHeadModel"] = {  # which takes its own names alone
    "vocab_size": 64, "d_model": 16, "n_layer": 2, "n_head": 4, "d_inner": 24, "pad_token_id": 0,
}  # fmt: skip
