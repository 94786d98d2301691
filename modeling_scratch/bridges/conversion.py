# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load native checkpoints as scratch models, and export scratch models as native checkpoints.

model = load_pretrained("bert-base-uncased")      # an equivalent scratch model
export_pretrained(model, "folder")                # loads with BertForMaskedLM.from_pretrained etc.
"""

import copy
import inspect
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from transformers import AutoConfig, GenerationConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.initialization import no_init_weights
from transformers.utils import logging

from .. import modeling_decoder, modeling_encoder, modeling_seq2seq
from ..modeling_base import ScratchPreTrainedModel
from ..registration.configs import check_kernels
from ..utils.errors import CheckpointError, some
from ..utils.files import complete_folder
from .checkpoints import WeightFiles
from .configs import FAMILIES, check_head, convert_config, export_config, family_of, why_not
from .older_names import add_older_names
from .tables import Family
from .weights import Slots, empty_model, freeze_zeros, map_weights, native_weights, renamed, zeros_of

logger = logging.get_logger(__name__)

HUB_OPTIONS = "subfolder", "token", "cache_dir", "local_files_only", "force_download"
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
    dtype: torch.dtype | str | None = None,
    ignore_mismatched_sizes: bool = False,
    **overrides: Any,
) -> Any:
    """Load a native checkpoint, a folder or a name on the Hub, as an equivalent scratch model in eval mode.

    Weights are read one by one from safetensors, so that memory holds only the model and one tensor. Biases that the
    native model lacks are zero and frozen (requires_grad=False).

    - model_class: a different head than the checkpoint's; its new weights are randomly initialised, with a warning.
    - revision: of the Hub; subfolder, token, cache_dir, local_files_only, force_download: as in from_pretrained.
    - dtype: that of the weights, or its name; None or "auto": as stored.
    - ignore_mismatched_sizes: randomly initialise head weights of a different shape, e.g. for other labels.
    - overrides: fields of the native config, such as num_labels, or of ours, such as
      classifier_pooling="mean".

    Raises CheckpointError, a ValueError, naming the config field or weight that cannot be converted.

    >>> from tempfile import TemporaryDirectory
    >>> from transformers import BertConfig, BertModel
    >>> from modeling_scratch import load_pretrained
    >>> sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
    >>> with TemporaryDirectory() as folder:
    ...     BertModel(BertConfig(vocab_size=100, **sizes)).save_pretrained(folder)
    ...     type(load_pretrained(folder)).__name__
    'ScratchEncoderModel'
    """
    hub = {"revision": revision, **{name: overrides.pop(name) for name in HUB_OPTIONS if name in overrides}}
    dtype = _dtype(overrides.pop("torch_dtype", None) if dtype is None else dtype)
    native, changes = _read_config(name_or_path, hub, overrides)
    family, where = family_of(native), str(name_or_path)
    head, is_own = _choose_head(model_class, native, family)
    check_head(native, head)
    files = WeightFiles(where, **hub)
    if head == "ScratchEncoderModel" and any(name.endswith("pooler.dense.weight") for name in files.files):
        changes = {"pooler": True, **changes}
    if family.unties_head and not head.endswith("Model") and "lm_head.weight" not in files.files:
        changes = {"tie_word_embeddings": True, **changes}
    model = empty_model(MODELS[head], convert_config(native, **changes))
    slots = Slots(model)
    places, left_out = map_weights(files.files, family, head, slots, where)
    new = _missing(slots, places, family, head, is_own, where)
    for theirs, name, tensor in renamed(places, files.read, native, model, dtype):
        if ignore_mismatched_sizes and _is_of_head(name, head) and not slots.fits(name, tensor):
            new.append(name)
        else:
            slots.put(name, tensor, theirs)
    _finish(slots, family, new)
    freeze_zeros(model, family)
    if left_out:
        logger.info(f"{where}: {some(left_out)} ignored: not part of {head}")
    if model.can_generate():
        model.generation_config = savable(_generation_config(where, native, hub), where)
    model.config.dtype = slots.dtype
    return model.eval()


def _dtype(given: torch.dtype | str | None) -> torch.dtype | None:
    if given in (None, "auto"):
        return None
    found = getattr(torch, str(given).removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise CheckpointError(f"dtype={given!r}: not a dtype of torch, such as bfloat16")
    return found


def _read_config(name: Any, hub: dict[str, Any], overrides: dict[str, Any]) -> tuple[PreTrainedConfig, dict[str, Any]]:
    """Return the native config with its overrides, and the overrides that are not native fields."""
    try:
        native, changes = AutoConfig.from_pretrained(name, return_unused_kwargs=True, **hub, **overrides)
    except StrictDataclassError as error:
        raise CheckpointError(f"{name}: {error}") from error
    check_kernels({"attn_implementation": native._attn_implementation}, overrides)
    return native, changes


def _choose_head(wanted: Any, native: PreTrainedConfig, family: Family) -> tuple[str, bool]:
    """Return the name of our class, and whether it is that of the architecture that a checkpoint names."""
    theirs = (native.architectures or [next(iter(family.heads.values())).theirs])[0]
    own = {**{head.theirs: ours for ours, head in family.heads.items()}, **family.also}.get(theirs)
    head = own if wanted is None else wanted.__name__
    if head is None or head not in family.heads:
        what = head or ", ".join(native.architectures or [])
        choices = ", ".join(family.heads)
        raise CheckpointError(f"{what} has no counterpart{why_not(family, what)}; choose a model_class: {choices}")
    return head, head == own


def _missing(slots: Slots, places: Mapping, family: Family, head: str, is_own: bool, where: str) -> list[str]:
    """Return the weights of a new head to initialise. Raises CheckpointError for any other missing weight."""
    covered = [ours for _, names in places.values() for ours in names]
    missing = slots.missing(covered)
    missing = [name for name in missing if name not in zeros_of(missing, family)]
    lost = missing if is_own else [name for name in missing if not _is_of_head(name, head)]
    if lost:
        remedy = "check that the checkpoint is complete and matches its config"
        raise CheckpointError(f"{where}: missing weights for {some(lost)}; {remedy}")
    return missing


def _is_of_head(ours: str, head: str) -> bool:
    return not head.endswith("Model") and not ours.startswith("model.")


def _finish(slots: Slots, family: Family, new: Iterable[str]) -> None:
    """Fill zero biases, and initialise new weights as configured."""
    model, dtype = slots.model, slots.dtype
    for name in zeros_of(slots.missing(), family):
        slots.put(name, torch.zeros(slots.weights[name].shape, dtype=dtype), name)
    for parent in dict.fromkeys(name.rpartition(".")[0] for name in slots.missing()):
        module = model.get_submodule(parent)
        module.to_empty(device="cpu", recurse=False)
        model._init_weights(module.to(dtype))
    if names := sorted(new):
        logger.warning(f"{type(model).__name__}: {some(names)} randomly initialised: train the model before use")


# Settings that the library refuses to save without do_sample, or without beams, where it ignores them.
OF_SAMPLING = "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff"
OF_BEAMS = "early_stopping", "length_penalty"


def savable(config: GenerationConfig, name: str) -> GenerationConfig:
    """Return the generation settings of a checkpoint without those that have no effect, if they could not be saved."""
    try:
        config.validate(strict=True)
    except ValueError:
        unused = OF_SAMPLING * (config.do_sample is not True) + OF_BEAMS * ((config.num_beams or 1) == 1)
        if given := [f"{each}={getattr(config, each)}" for each in unused if getattr(config, each, None) is not None]:
            logger.warning(f"{name}: generation_config.json: without effect and left out: {', '.join(given)}")
        config.update(**dict.fromkeys(unused))
    return config


def _generation_config(name: str, native: PreTrainedConfig, hub: dict[str, Any]) -> GenerationConfig:
    try:
        return GenerationConfig.from_pretrained(name, **hub)
    except OSError:  # checkpoints before generation_config.json have it in the config
        return GenerationConfig.from_model_config(native)


def convert_state_dict(
    weights: Mapping[str, Tensor], native: PreTrainedConfig, model_class: type[ScratchPreTrainedModel]
) -> dict[str, Tensor]:
    """Convert native weights to a state dict of model_class."""
    family, head = family_of(native), model_class.__name__
    check_head(native, head)
    slots = Slots(empty_model(model_class, convert_config(native)))
    places, _ = map_weights(weights, family, head, slots, type(native).__name__)
    _missing(slots, places, family, head, True, type(native).__name__)
    for theirs, ours, tensor in renamed(places, weights.__getitem__, native, slots.model):
        slots.put(ours, tensor, theirs)
    _finish(slots, family, ())
    return slots.model.state_dict()


def export_model(model: ScratchPreTrainedModel, model_type: str | None = None) -> PreTrainedModel:
    """Return the equivalent native model, which shares the weights. model_type: see `export_config`."""
    head = type(model).__name__
    config = export_config(model.config, head, model_type)
    family = family_of(config)
    native_class = getattr(transformers, family.heads[head].theirs)
    takes_pooler = "add_pooling_layer" in inspect.signature(native_class).parameters
    options = {"add_pooling_layer": getattr(model, "pooler", None) is not None} if takes_pooler else {}
    with no_init_weights():
        native = native_class(config, **options)
    native.tie_weights()
    if family.unties_head and not model.config.tie_word_embeddings and native.can_generate():
        native.lm_head.weight = nn.Parameter(torch.empty_like(native.lm_head.weight))
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
    """Return the state dict of `export_model`."""
    return export_model(model, model_type).state_dict()


def export_pretrained(
    model: ScratchPreTrainedModel,
    folder: str | PathLike,
    tokenizer: PreTrainedTokenizerBase | None = None,
    model_type: str | None = None,
    **options: Any,
) -> None:
    """Write a native checkpoint and the tokenizer. options: arguments of save_pretrained.

    The folder appears once it is complete. Raises FileExistsError if it exists and is not empty, and CheckpointError,
    a ValueError, for fields that no native class supports.
    """
    native = export_model(model, model_type)
    with complete_folder(str(folder)) as beside:
        native.save_pretrained(beside, **options)
        if tokenizer is not None:
            tokenizer.save_pretrained(beside)
        add_older_names(beside)
