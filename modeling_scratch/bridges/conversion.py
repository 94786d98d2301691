# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretrained weights in, native checkpoints out.

model = load_pretrained("bert-base-uncased")      # a scratch model of the same function
export_pretrained(model, "folder")                # what BertForMaskedLM.from_pretrained and its kin load
"""

import copy
import inspect
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor
from transformers import AutoConfig, GenerationConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from .. import modeling_decoder, modeling_encoder, modeling_seq2seq
from ..modeling_base import ScratchPreTrainedModel
from ..utils.errors import CheckpointError
from ..utils.files import complete_folder
from .checkpoints import WeightFiles
from .configs import FAMILIES, check_head, convert_config, export_config, family_of
from .tables import Family
from .weights import Slots, empty_model, native_weights, places_of, renamed, some, zeros_of

logger = logging.get_logger(__name__)

MODELS: dict[str, type[ScratchPreTrainedModel]] = {
    name: getattr(module, name)
    for module in (modeling_encoder, modeling_decoder, modeling_seq2seq)
    for family in FAMILIES.values()
    for name in family.heads
    if hasattr(module, name)
}


def load_pretrained(
    name_or_path: str | PathLike,
    model_class: type[ScratchPreTrainedModel] | None = None,
    *,
    revision: str | None = None,
    dtype: torch.dtype | None = None,
    ignore_mismatched_sizes: bool = False,
    **overrides: Any,
) -> Any:
    """The scratch model of the same function as a native checkpoint, a folder or a name on the Hub; in eval mode.

    Weights are read one by one, from safetensors alone, so that memory holds the model and one tensor.

    - model_class: another head than the checkpoint's; what is new in it is drawn at random, with a warning.
    - dtype: of the weights; None: as they are stored.
    - ignore_mismatched_sizes: draw the weights of a head anew that are of another shape, as for other labels.
    - overrides: fields of the native config, such as num_labels or sliding_window=None, or else of ours, such as
      classifier_pooling="mean".

    Raises CheckpointError, a ValueError, for a config or a weight that cannot be carried over, and names it.

    >>> from tempfile import TemporaryDirectory
    >>> from transformers import BertConfig, BertModel
    >>> from modeling_scratch import load_pretrained
    >>> sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
    >>> with TemporaryDirectory() as folder:
    ...     BertModel(BertConfig(vocab_size=100, **sizes)).save_pretrained(folder)
    ...     type(load_pretrained(folder)).__name__
    'ScratchEncoderModel'
    """
    native, changes = _read_config(name_or_path, revision, overrides)
    family, where = family_of(native), str(name_or_path)
    own = _own_class(native, family)
    head = _choose_head(own, model_class, native, family)
    check_head(native, head)
    files = WeightFiles(where, revision)
    if head == "ScratchEncoderModel" and any(name.endswith("pooler.dense.weight") for name in files.files):
        changes = {"pooler": True, **changes}
    model = empty_model(MODELS[head], convert_config(native, **changes))
    slots = Slots(model)
    places, left_out = places_of(files.files, family, head, slots, where)
    new = _missing(slots, places, family, head, own, where)
    for theirs, name, tensor in renamed(places, files.read):
        if ignore_mismatched_sizes and _is_of_head(name, head) and not slots.fits(name, tensor.shape):
            new.append(name)
        else:
            slots.put(name, tensor.to(dtype or tensor.dtype), theirs)
    _finish(slots, family, new)
    if left_out:
        logger.info(f"{where}: {some(left_out)} left out: no part of {head}")
    if model.can_generate():
        model.generation_config = _generation_config(where, native, revision)
    return model.eval()


def _read_config(name: Any, revision: str | None, overrides: dict[str, Any]) -> tuple[PreTrainedConfig, dict[str, Any]]:
    """The native config with its overrides, and those that are no fields of it."""
    try:
        return AutoConfig.from_pretrained(name, revision=revision, return_unused_kwargs=True, **overrides)
    except StrictDataclassError as error:
        raise CheckpointError(f"{name}: {error}") from error


def _choose_head(own: str | None, wanted: Any, native: PreTrainedConfig, family: Family) -> str:
    head = own if wanted is None else wanted.__name__
    if head is None or head not in family.heads:
        what = head or ", ".join(native.architectures or [])
        raise CheckpointError(f"{what} has no counterpart; name a model_class: {', '.join(family.heads)}")
    return head


def _own_class(native: PreTrainedConfig, family: Family) -> str | None:
    """The class of ours for the class that a checkpoint says it is of."""
    theirs = (native.architectures or [next(iter(family.heads.values())).theirs])[0]
    heads = {head.theirs: ours for ours, head in family.heads.items()}
    return {**heads, **family.also}.get(theirs)


def _missing(slots: Slots, places: Mapping, family: Family, head: str, own: str | None, where: str) -> list[str]:
    """What of a head that is not the checkpoint's own has to be drawn; anything else that is missing is an error."""
    covered = [ours for _, names in places.values() for ours in names]
    missing = slots.missing(covered)
    missing = [name for name in missing if name not in zeros_of(missing, family)]
    lost = missing if head == own else [name for name in missing if not _is_of_head(name, head)]
    if lost:
        raise CheckpointError(f"{where} has nothing for {some(lost)}: is the checkpoint whole, and of this config?")
    return missing


def _is_of_head(ours: str, head: str) -> bool:
    return not head.endswith("Model") and not ours.startswith("model.")


def _finish(slots: Slots, family: Family, new: Iterable[str]) -> None:
    """Biases of zeros, and what is new: drawn as the config says."""
    model, dtype = slots.model, slots.dtype
    for name in zeros_of(slots.empty(), family):
        slots.put(name, torch.zeros(slots.weights[name].shape, dtype=dtype), name)
    for parent in dict.fromkeys(name.rpartition(".")[0] for name in slots.empty()):
        module = model.get_submodule(parent)
        module.to_empty(device="cpu", recurse=False)
        model._init_weights(module.to(dtype))
    if names := sorted(new):
        logger.warning(f"{type(model).__name__}: {some(names)} drawn at random: train it before you use it")


def _generation_config(name: str, native: PreTrainedConfig, revision: str | None) -> GenerationConfig:
    try:
        return GenerationConfig.from_pretrained(name, revision=revision)
    except OSError:  # checkpoints before generation_config.json have it in the config
        return GenerationConfig.from_model_config(native)


def convert_state_dict(
    weights: Mapping[str, Tensor], native: PreTrainedConfig, model_class: type[ScratchPreTrainedModel]
) -> dict[str, Tensor]:
    """Native weights under the names of model_class, as load_state_dict takes them."""
    family, head = family_of(native), model_class.__name__
    check_head(native, head)
    slots = Slots(empty_model(model_class, convert_config(native)))
    places, _ = places_of(weights, family, head, slots, type(native).__name__)
    _missing(slots, places, family, head, head, type(native).__name__)
    for theirs, ours, tensor in renamed(places, weights.__getitem__):
        slots.put(ours, tensor, theirs)
    _finish(slots, family, ())
    return slots.model.state_dict()


def export_model(model: ScratchPreTrainedModel, model_type: str | None = None) -> PreTrainedModel:
    """The native model of the same function, which shares its weights; see export_config for model_type."""
    head = type(model).__name__
    config = export_config(model.config, head, model_type)
    family = family_of(config)
    native_class = getattr(transformers, family.heads[head].theirs)
    takes_pooler = "add_pooling_layer" in inspect.signature(native_class).parameters
    options = {"add_pooling_layer": getattr(model, "pooler", None) is not None} if takes_pooler else {}
    native = empty_model(lambda config: native_class(config, **options), config)
    slots = Slots(native)
    for theirs, tensor in native_weights(model.state_dict(keep_vars=True), family, head, slots):
        slots.put(theirs, tensor, theirs)
    _finish(slots, family, ())
    if native.can_generate():
        native.generation_config = copy.deepcopy(model.generation_config)
        if hasattr(config, "forced_eos_token_id"):  # BART and Marian have it in both places
            config.forced_eos_token_id = model.generation_config.forced_eos_token_id
    return native.eval()


def export_state_dict(model: ScratchPreTrainedModel, model_type: str | None = None) -> dict[str, Tensor]:
    """The weights of export_model."""
    return export_model(model, model_type).state_dict()


def export_pretrained(
    model: ScratchPreTrainedModel,
    folder: str | PathLike,
    tokenizer: PreTrainedTokenizerBase | None = None,
    model_type: str | None = None,
    **options: Any,
) -> None:
    """Write the native class's own checkpoint, and the tokenizer; options as save_pretrained has them.

    The folder appears when it is complete. Raises FileExistsError where it is not empty, and CheckpointError, a
    ValueError, with the fields that no native class has.
    """
    native = export_model(model, model_type)
    with complete_folder(str(folder)) as beside:
        native.save_pretrained(beside, **options)
        if tokenizer is not None:
            tokenizer.save_pretrained(beside)


__all__ = [
    "CheckpointError", "convert_config", "convert_state_dict", "export_config", "export_model", "export_pretrained",
    "export_state_dict", "load_pretrained",
]  # fmt: skip
