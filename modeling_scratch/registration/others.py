# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables of other libraries that name model types, and that have no public way to add one.

Trainer smooths labels outside of the model, and shifts them for the causal classes of a table. PEFT looks for the
layers that a method adapts by a model's type. `fast.disable()` takes our rows out again.
"""

import re
import sys
from collections.abc import Iterator
from typing import Any

from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from ..configuration_scratch import ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig

MODEL_TYPES = [each.model_type for each in (ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig)]
CAUSAL_CLASS = "ScratchDecoderForCausalLM"
# Names of PEFT's tables: model type -> layers that a method adapts if it is not told which.
PEFT_TABLE = re.compile(r"TRANSFORMERS_MODELS_TO_\w+_MODULES_MAPPING")
NORMS = r".*_residual\.norm"  # of blocks: the other norms are identities in some models, which have no weights


_is_on = False  # as enable and disable left it: PEFT may be imported later


def enable() -> None:
    global _is_on
    _is_on = True
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.setdefault(ScratchDecoderConfig.model_type, CAUSAL_CLASS)
    register_adapted_layers()


def disable() -> None:
    global _is_on
    _is_on = False
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.pop(ScratchDecoderConfig.model_type, None)
    for _, table in peft_tables():
        for model_type in MODEL_TYPES:
            table.pop(model_type, None)


def register_adapted_layers() -> None:
    """Add our model types to PEFT's tables, if it is imported: blocks have Llama's names, norms their own."""
    for name, table in peft_tables() if _is_on else ():
        if "llama" in table:
            for model_type in MODEL_TYPES:
                table.setdefault(model_type, NORMS if "LNTUNING" in name else table["llama"])


def peft_tables() -> Iterator[tuple[str, dict[str, Any]]]:
    constants = vars(sys.modules.get("peft.utils.constants", object))
    return ((name, table) for name, table in constants.items() if PEFT_TABLE.fullmatch(name))
