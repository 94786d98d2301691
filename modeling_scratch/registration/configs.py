# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What new configs do only where this package is imported.

They warn of unknown fields, refuse a retired one, and find the package's pipelines.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from transformers.utils import logging

from ..configuration_scratch import ScratchConfig
from ..pipelines import SEQ2SEQ_PIPELINES
from ..question_answering import ENCODER_PIPELINES
from ..utils.field_names import likely_field
from . import others

logger = logging.get_logger(__name__)

PIPELINES: Mapping[str, tuple[type, str]] = {**ENCODER_PIPELINES, **SEQ2SEQ_PIPELINES}
# Task: "file.Class", as saved configs name the package's own pipelines.
IMPLEMENTATIONS = {task: f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}" for task, (cls, _) in PIPELINES.items()}

RETIRED_FIELD = "ngram_vocab_size"
KERNELS = ("attn_implementation", "_attn_implementation")  # whose value may be a repository with a kernel


class CustomPipelines(dict[str, Any]):
    """The pipelines that a config names, of which `in` finds those of others only.

    `transformers.pipeline` asks for trust_remote_code before it runs what is found here. Anything else it takes from
    its registry, which has the package's own.
    """

    def __contains__(self, task: object) -> bool:
        return super().__contains__(task) and self[str(task)].get("impl") != IMPLEMENTATIONS.get(str(task))


def repositories(attention: Any) -> list[str]:
    """Return those that the value of `attn_implementation` names, which may be a dict for parts of a model."""
    values = list(attention.values()) if isinstance(attention, Mapping) else [attention]
    return [value for value in values if isinstance(value, str) and "/" in value]


def check_kernels(folder: Mapping[str, Any], given: Iterable[str] = ()) -> None:
    """Refuse a config.json whose attention is code of another repository. given: the names of a caller's arguments.

    kernels-community is that of Hugging Face. Whoever trusts the folder's code runs the folder's class instead.
    """
    for name in KERNELS:
        for each in repositories(folder.get(name)) if name not in given else ():
            if not each.split("|")[-1].startswith("kernels-community/"):
                raise ValueError(
                    f"config.json has {name}={each!r}, which is code of another repository: remove it, or pass "
                    "trust_remote_code=True if you trust it."
                )


def from_dict(cls: Any, config_dict: dict[str, Any], **kwargs: Any) -> Any:
    """For ScratchConfig.from_dict, which reads a config.json."""
    check_kernels(config_dict, kwargs)
    return super(ScratchConfig, cls).from_dict(config_dict, **kwargs)


_derive = ScratchConfig.__post_init__


def post_init(config: ScratchConfig, **unknown: Any) -> None:
    """For ScratchConfig.__post_init__; unknown: arguments that are no fields of it."""
    _derive(config, **unknown)
    if rows := unknown.get(RETIRED_FIELD):
        raise ValueError(f"{RETIRED_FIELD}={rows}: n-grams were removed; train anew.")
    if RETIRED_FIELD in unknown:
        delattr(config, RETIRED_FIELD)
    for name in unknown.keys() - type(config).attribute_map.keys():
        if field := likely_field(name, type(config)):
            logger.warning(
                f"{type(config).__name__} has no field {name!r}, which has no effect: did you mean {field!r}?"
            )
    # From the Hub, only the folder's own class knows of which revision the second tokenizer has to be.
    is_one_place = getattr(config, "share_encoder_decoder_embeddings", True) or Path(config.name_or_path).is_dir()
    if is_one_place and (pipelines := getattr(config, "custom_pipelines", None)):
        config.custom_pipelines = CustomPipelines(pipelines)
    others.register_adapted_layers()
