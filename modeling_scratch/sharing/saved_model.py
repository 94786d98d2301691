# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A saved model as others load it, with or without the code of its folder."""

from pathlib import Path
from typing import Any

import transformers
from transformers import AutoConfig, PreTrainedModel
from transformers.dynamic_module_utils import get_class_from_dynamic_module

import modeling_scratch

from ..bridges.model_limits import check_model_files
from ..bridges.model_sources import pretrained
from ..utils.errors import DataError


def load_model(folder: Path, trust_remote_code: bool = False) -> tuple[PreTrainedModel, dict[str, list[str]]]:
    """As its config.json names it, in the type it was saved in, in eval mode: of this package, of transformers, or of
    the folder's own code; raises ValueError for a class that is known nowhere.

    Return also the names of the tensors that are missing, "missing_keys", and that it does not read, "unexpected_keys".
    """
    check_model_files(Path(folder))
    config = pretrained(AutoConfig, folder, trust_remote_code)
    name = str((config.architectures or ["no class"])[0])
    known = getattr(modeling_scratch, name, None) or getattr(transformers, name, None)
    if known is not None and not isinstance(config, known.config_class):  # a config of the folder's code, with its rows
        known = None
    codes = (getattr(config, "auto_map", None) or {}).values()
    code = next((code for code in codes if isinstance(code, str) and code.endswith(f".{name}")), None)
    if known is None and trust_remote_code and code:
        known = get_class_from_dynamic_module(code, str(folder))
    if not (isinstance(known, type) and issubclass(known, PreTrainedModel)):
        raise ValueError(f"config.json names a model class that is not known here: {name!a}")
    options = {"config": config, "use_safetensors": True, "ignore_mismatched_sizes": True}  # which are an error below
    made: Any = known.from_pretrained(folder, output_loading_info=True, **options)
    model, loading = made
    for key, stored, wanted in sorted(loading["mismatched_keys"]):
        raise DataError(
            f"{folder}: {key} has the shape {list(stored)}, and {list(wanted)} by config.json: save it again"
        )
    return model.eval(), {kind: sorted(loading[kind]) for kind in ("missing_keys", "unexpected_keys")}
