# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What configs do only where this package is imported: warn of unknown fields, find the package's pipelines, and tell
PEFT which layers to adapt.

`import modeling_scratch` adds it to ScratchConfig. No saved folder holds any of it.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers.utils import logging

from .configuration_scratch import ScratchConfig, ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig
from .field_names import likely_field
from .pipelines import SEQ2SEQ_PIPELINES
from .question_answering import ENCODER_PIPELINES

logger = logging.get_logger(__name__)

PIPELINES: Mapping[str, tuple[type, str]] = {**ENCODER_PIPELINES, **SEQ2SEQ_PIPELINES}
# Task: "file.Class", as saved configs name the package's own pipelines.
IMPLEMENTATIONS = {task: f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}" for task, (cls, _) in PIPELINES.items()}

# PEFT's tables: model type -> names of the layers that a method adapts if it is not told which.
PEFT_TABLE = re.compile(r"TRANSFORMERS_MODELS_TO_\w+_MODULES_MAPPING")
NORMS = r".*_residual\.norm"  # of blocks: the other norms are identities in some models, which have no weights

_post_init = ScratchConfig.__post_init__
_to_dict = ScratchConfig.to_dict


class CustomPipelines(dict[str, Any]):
    """The pipelines that a config names, of which `in` finds those of others only.

    `transformers.pipeline` asks for trust_remote_code before it runs what is found here. Anything else it takes from
    its registry, which has the package's own.
    """

    def __contains__(self, task: object) -> bool:
        return super().__contains__(task) and self[str(task)].get("impl") != IMPLEMENTATIONS.get(str(task))


def post_init(self: ScratchConfig, **kwargs: Any) -> None:
    """As ScratchConfig's. Configs take fields of others by right, so a field that looks misnamed is only warned of."""
    for name in kwargs.keys() - type(self).attribute_map.keys():
        if field := likely_field(name, type(self)):
            logger.warning(f"{type(self).__name__} has no field {name!r}, which has no effect: did you mean {field!r}?")
    _post_init(self, **kwargs)
    # From the Hub, only the folder's own class knows of which revision the second tokenizer has to be.
    is_one_place = getattr(self, "share_encoder_decoder_embeddings", True) or Path(self.name_or_path).is_dir()
    if is_one_place and (pipelines := getattr(self, "custom_pipelines", None)):
        self.custom_pipelines = CustomPipelines(pipelines)


def to_dict(self: ScratchConfig) -> dict[str, Any]:
    """As ScratchConfig's. PEFT reads a model's type from it, then looks for the type in its tables."""
    if constants := sys.modules.get("peft.utils.constants"):
        register_adapted_layers(vars(constants))
    return _to_dict(self)


def register_adapted_layers(constants: Mapping[str, Any]) -> None:
    """Add our model types to the tables of PEFT: the layers of blocks have Llama's names, norms have their own."""
    for name, table in constants.items():
        if PEFT_TABLE.fullmatch(name) and "llama" in table:
            layers = NORMS if "LNTUNING" in name else table["llama"]
            for config_class in (ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig):
                table.setdefault(config_class.model_type, layers)


def enable() -> None:
    """Add the warnings, the pipelines and the layers for PEFT to all scratch configs."""
    ScratchConfig.__post_init__ = post_init  # type: ignore[method-assign]
    ScratchConfig.to_dict = to_dict  # type: ignore[method-assign, assignment]
