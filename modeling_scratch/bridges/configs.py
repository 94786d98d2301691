# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Convert native configs to scratch configs and back.

No field is dropped silently: a value without counterpart raises an error that names it.
"""

import copy
from dataclasses import fields
from typing import Any

import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig

from ..configuration_scratch import ScratchConfig
from ..utils.errors import CheckpointError, one_line
from .decoders import GEMMA3, GPT2, LLAMA, MISTRAL, MPT, PHI, QWEN2, QWEN3
from .encoder_decoders import BART, MARIAN, T5
from .encoders import BERT, DISTILBERT, ELECTRA, MODERNBERT, ROBERTA
from .tables import Family

ENCODERS = BERT, ROBERTA, DISTILBERT, ELECTRA, MODERNBERT
DECODERS = GPT2, LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA3, PHI, MPT
FAMILIES = {family.model_type: family for family in (*ENCODERS, *DECODERS, BART, MARIAN, T5)}
REFUSED = {"gemma2": "it squashes scores and logits by tanh (softcapping)"}

# Our fields that change no answer of a trained model, or none with the positions that the native class has.
WITHOUT_EFFECT = {
    "initializer_range", "use_cache", "sparse_prediction", "counted_tokens", "float16_guards", "float32_norms",
    "max_position_embeddings", "relative_attention_num_buckets", "relative_attention_max_distance",
}  # fmt: skip
CLASSIFICATION_ONLY = {"classifier_pooling", "classifier_activation", "classifier_norm"}
LAYERS = "sliding_window", "layer_types", "local_rope_theta", "rope_parameters"
LABELS = ("id2label", "label2id", "problem_type")
OF_CALLS = ("return_dict", "output_hidden_states", "output_attentions", "chunk_size_feed_forward")
OF_THIS_PACKAGE = ("native_model_type", "native_fields", "auto_map", "custom_pipelines", "decoder_start_token_id")


def family_of(native: PreTrainedConfig) -> Family:
    """Return the tables of a native config. Raises CheckpointError for an unsupported model_type."""
    if isinstance(native, ScratchConfig):
        raise CheckpointError(f"{native.model_type} is a model type of this package: load it with from_pretrained")
    if (family := FAMILIES.get(native.model_type)) is None:
        reason = REFUSED.get(native.model_type, f"convertible families: {', '.join(FAMILIES)}")
        raise CheckpointError(f"model_type {native.model_type!r} cannot be converted: {reason}")
    return family


def convert_config(native: PreTrainedConfig, **overrides: Any) -> ScratchConfig:
    """Return the scratch config equivalent to a native one. overrides: changes to our fields.

    Raises CheckpointError, naming the field, for a value without counterpart.
    """
    family = family_of(native)
    _check_accounted(native, family)
    found = _carried(native, family)
    labels = {name: getattr(native, name) for name in LABELS}
    extra = {"native_model_type": family.model_type, "dtype": native.dtype, "architectures": None}
    if native._attn_implementation is not None:
        extra["attn_implementation"] = native._attn_implementation
    if unknown := overrides.keys() - {field.name for field in fields(family.config)}:
        choices = f"{type(native).__name__} and {family.config.__name__}"
        raise CheckpointError(f"{', '.join(sorted(unknown))}: not a field of {choices}")
    try:
        config = family.config(**{**found, **labels, **extra, **overrides})
    except StrictDataclassError as error:
        raise CheckpointError(f"{family.model_type}: {error}") from error
    # What changes no number: attributes that pipelines and users read, and fields for the way back.
    for name, value in {**_attributes(native), **{name: getattr(native, name) for name in OF_CALLS}}.items():
        setattr(config, name, value)
    default = type(native)()
    unused = {name: value for name in family.unused if (value := getattr(native, name)) != getattr(default, name)}
    if unused:
        config.native_fields = unused
    return config


def _attributes(config: PreTrainedConfig) -> dict[str, Any]:
    """Return what a config holds beside its fields, such as the task_specific_params and the prefix of T5."""
    known = {*dir(type(config)()), *OF_THIS_PACKAGE, *(field.name for field in fields(ScratchConfig))}
    return {name: value for name, value in vars(config).items() if name not in known and not name.startswith("_")}


def _carried(native: PreTrainedConfig, family: Family) -> dict[str, Any]:
    """Return our fields as the tables give them."""
    found = dict(family.fixed)
    for theirs, ours in family.fields.items():
        found[ours] = _agreed(native, theirs)
    for group in family.groups:
        found |= group.read(native)
    if (activation := found["hidden_act"]) not in family.activations:
        what = f"{family.model_type}: hidden_act={activation!r} has no counterpart"
        raise CheckpointError(f"{what}; supported: {', '.join(family.activations)}")
    found["hidden_act"] = family.activations[activation]
    if found.get("intermediate_size", 0) is None:  # GPT-2
        found["intermediate_size"] = 4 * found["hidden_size"]
    if (found["pad_token_id"] or 0) < 0:  # the first checkpoints of Llama have no padding
        found["pad_token_id"] = None
    if family.positions_after_padding:
        found["position_offset"] = (native.pad_token_id or 0) + 1
        found["max_position_embeddings"] -= found["position_offset"]
    return copy.deepcopy(found)


def _check_accounted(native: PreTrainedConfig, family: Family) -> None:
    """Raise CheckpointError unless each native field is mapped, has the required value or has no effect."""
    wrong = [name for name, value in family.requires.items() if _value(native, name, value) != value]
    if native.is_encoder_decoder != family.config.is_encoder_decoder:
        wrong.append("is_encoder_decoder")
    if getattr(native, "quantization_config", None) is not None:
        wrong.append("quantization_config")
    rope = getattr(native, "rope_parameters", None) or {}
    if rope.get("partial_rotary_factor", 1.0) != 1.0 and not family.partial_rotary:
        wrong.append("rope_parameters")  # the native class rotates all features
    known = {*family.requires, *family.unused}.union(*(_names(theirs) for theirs in family.fields))
    known = known.union(*(group.theirs for group in family.groups))
    known |= {field.name for field in fields(PreTrainedConfig)}
    default = type(native)()
    for field in fields(native):  # of a newer library than the table
        if field.name not in known and getattr(native, field.name) != getattr(default, field.name):
            wrong.append(field.name)
    if wrong:
        values = ", ".join(f"{name}={_value(native, name)!r}" for name in wrong)
        name, _, inner = wrong[0].partition(".")  # "a.b" is b of the dictionary a
        value = family.requires.get(wrong[0])
        remedy = f"load_pretrained(..., {name}={ {inner: value} if inner else value!r})"
        raise CheckpointError(
            f"{family.model_type}: {values} cannot be converted. If the model does not depend on it, override it: "
            + remedy
        )


def why_not(family: Family, name: str) -> str:
    """Return why a class, native or ours, has no counterpart, with a colon before it, or nothing."""
    return next((f": {reason}" for end, reason in family.other_heads.items() if name.endswith(end)), "")


def check_head(native: PreTrainedConfig, head: str) -> None:
    """Raise CheckpointError if the native head computes a different function than ours with this config."""
    for name, value in family_of(native).heads[head].requires.items():
        if (given := getattr(native, name)) != value:
            raise CheckpointError(f"{native.model_type}: {name}={given!r}: its head is a {head} only with {value!r}")


def _value(native: Any, name: str, default: Any = None) -> Any:
    """Return a field, "a.b" of a config within the config."""
    for part in name.split("."):
        native = getattr(native, part, default)
    return native


def _names(theirs: str | tuple[str, ...]) -> tuple[str, ...]:
    return (theirs,) if isinstance(theirs, str) else theirs


def _agreed(native: PreTrainedConfig, theirs: str | tuple[str, ...]) -> Any:
    values = {name: getattr(native, name) for name in _names(theirs)}
    value = next(iter(values.values()))
    if any(other != value for other in values.values()):
        pairs = ", ".join(f"{name}={one!r}" for name, one in values.items())
        remedy = "override one with load_pretrained(..., name=value)"
        raise CheckpointError(f"{pairs}: must be equal, as they map to one field; {remedy}")
    return value


def export_config(config: ScratchConfig, head: str, model_type: str | None = None) -> PreTrainedConfig:
    """Return the native config equivalent to a scratch one. head: the name of the scratch class.

    model_type: the family; by default the one it was converted from, else the first that can express it. Raises
    CheckpointError with the conflicting fields of the closest family.
    """
    candidates = [family for family in FAMILIES.values() if head in family.heads]
    if model_type is not None:
        candidates = [family for family in candidates if family.model_type == model_type]
    if not candidates:
        reason = why_not(FAMILIES[model_type], head) if model_type in FAMILIES else ""
        raise CheckpointError(f"{head}: no counterpart in {model_type or 'the native families'}{reason}")
    origin = getattr(config, "native_model_type", None)
    candidates.sort(key=lambda family: family.model_type != origin)
    obstacles = {family.model_type: _obstacles(config, family, head) for family in candidates}
    nearest = min(obstacles, key=lambda name: len(obstacles[name]))
    if obstacles[nearest]:
        native_class = FAMILIES[nearest].heads[head].theirs
        raise CheckpointError(
            f"No native class can express this {head}. The closest is {native_class}, which conflicts in "
            f"{', '.join(obstacles[nearest])}. A folder written by save_pretrained loads with trust_remote_code."
        )
    return _native_config(config, FAMILIES[nearest], head)


def _obstacles(config: ScratchConfig, family: Family, head: str) -> list[str]:
    """Return our fields that would come back from this family with another value, as far as they affect this head."""
    back, wrong = copy.copy(config), []
    vars(back).update(family.fixed)
    try:
        native = _native_config(config, family, head)
        back = type(config)(**_carried(native, family))
        check_head(native, head)
    except (ValueError, StrictDataclassError) as error:
        wrong.append(one_line(error))
    if back.rope_parameters and not family.partial_rotary:
        back.rope_parameters = {**back.rope_parameters, "partial_rotary_factor": 1.0}
    names = [field.name for field in fields(config) if _affects(field.name, config, family, head)]
    names += LAYERS if _layers(config) != _layers(back) else ()
    different = ((name, getattr(config, name), getattr(back, name)) for name in names)
    return wrong + [
        f"{name}={ours!r} (native: {theirs!r})"
        for name, ours, theirs in different
        if ours != theirs and not (name.endswith("_bias") and theirs)  # no bias equals a zero bias
    ]


def _affects(name: str, config: ScratchConfig, family: Family, head: str) -> bool:
    """Return whether a field, apart from `LAYERS`, changes what a model with this head computes."""
    if name in CLASSIFICATION_ONLY:
        return head.endswith("ForSequenceClassification")
    if name == "pooler":
        return head == "ScratchEncoderModel" and name in family.fixed
    if name == "position_offset":
        return config.position_type == "learned"
    if name == "final_norm":  # None: as the other fields say
        return config.final_norm not in (None, config.norm_position != "post")
    if name == "positions_after_projection":
        return config.embedding_size != config.hidden_size
    known = name in WITHOUT_EFFECT or name in LAYERS or name in {field.name for field in fields(PreTrainedConfig)}
    return not (known or name.endswith(("dropout", "_token_id")))


def _layers(config: ScratchConfig) -> list[Any]:
    """Return the window and the rotation of each layer."""
    rope, theta, window = config.rope_parameters, config.local_rope_theta, config.sliding_window
    if rope is not None:
        rope = {"partial_rotary_factor": 1.0, **rope}
    local = rope if rope is None or theta is None else {"rope_type": "default", "rope_theta": theta}
    kinds = config.attention_types(config.num_hidden_layers)
    return [(window, local) if kind == "sliding_attention" else (None, rope) for kind in kinds]


def _native_config(config: ScratchConfig, family: Family, head: str) -> PreTrainedConfig:
    found: dict[str, Any] = {}
    for theirs, ours in family.fields.items():
        found |= dict.fromkeys(_names(theirs), getattr(config, ours))
    for group in family.groups:
        found |= group.write(config)
    back = {ours: theirs for theirs, ours in reversed(list(family.activations.items()))}
    for theirs in (theirs for theirs, ours in family.fields.items() if ours == "hidden_act"):
        found |= dict.fromkeys(_names(theirs), back.get(config.hidden_act, next(iter(family.activations))))
    if family.positions_after_padding:
        found["max_position_embeddings"] += config.position_offset
    if found.get("seq_classif_dropout", 0) is None:  # DistilBERT has no other to fall back on
        found["seq_classif_dropout"] = config.hidden_dropout
    labels = {name: getattr(config, name) for name in LABELS}
    native_class = getattr(transformers, family.heads[head].theirs)
    default = native_class.config_class()
    found |= {name: value for name, value in family.requires.items() if getattr(default, name, value) != value}
    if getattr(config, "native_model_type", None) == family.model_type:
        found |= getattr(config, "native_fields", {})
    others = {**_attributes(config), **{name: getattr(config, name) for name in OF_CALLS}, **found, **labels}
    others = copy.deepcopy(others)  # native configs complete the dictionaries that they are given
    return native_class.config_class(**others, dtype=config.dtype, architectures=[native_class.__name__])
