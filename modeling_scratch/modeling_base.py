# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What every scratch model shares: flags for Hugging Face's machinery, saving with code, and pooling.

Shapes: B batch, T length.
"""

import sys
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel
from transformers.dynamic_module_utils import custom_object_save, get_relative_import_files

from .attention import Attention
from .batch_layout import BatchLayout
from .configuration_scratch import ScratchConfig
from .heads import pool, pooled_places, without_empty
from .input_checks import checked_inputs
from .packed_input import packed_lengths, to_rows
from .shortcuts import is_seen_inside
from .stack import Block


def _file(cls: type) -> str:
    return cls.__module__.rpartition(".")[-1]


class ScratchPreTrainedModel(BatchLayout, PreTrainedModel):
    """Base class. Weights are drawn by Hugging Face's own rules: normal(0, initializer_range), biases 0, norms 1."""

    config: ScratchConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["Block"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    _can_record_outputs = {"hidden_states": Block, "attentions": Attention}

    # Auto class: class of this family. All of them go into a saved folder, whichever head was saved.
    auto_classes: dict[str, str] = {}
    # Task: pipeline and Auto class, for tasks that transformers has no pipeline for. Their code goes along, too.
    pipelines: Mapping[str, tuple[type, str]] = {}

    def save_pretrained(
        self, save_directory: str | PathLike, is_main_process: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        """As PreTrainedModel's; the folder also holds the code, and loads with every Auto class of the family.

        That of a subclass, a user's own or what sharded training makes of a model, is a folder of its family, too.
        """
        is_adapter = getattr(self, "_hf_peft_config_loaded", False)  # its base, which it names, has the code
        if self.auto_classes and is_main_process and not is_adapter:
            family = self._family()
            code = {auto_class: f"{_file(family)}.{head}" for auto_class, head in self.auto_classes.items()}
            config_class = type(self.config)
            self.config.auto_map = {"AutoConfig": f"{_file(config_class)}.{config_class.__name__}", **code}
            self.config.custom_pipelines = self._custom_pipelines()
            Path(save_directory).mkdir(parents=True, exist_ok=True)
            custom_object_save(family, save_directory)
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)

    def _family(self) -> type:
        """The class that names the Auto classes; it stands in the file of those that it names."""
        return next(cls for cls in type(self).__mro__ if "auto_classes" in vars(cls))

    def _get_files_timestamps(self, working_dir: str | PathLike) -> dict[str, float]:
        """As PreTrainedModel's, which pushes what is newer; the code, saved before it looks, always goes along."""
        file = sys.modules[self._family().__module__].__file__
        code = {Path(path).name for path in (file, *get_relative_import_files(file))}
        times = super()._get_files_timestamps(working_dir)
        return {name: time for name, time in times.items() if name not in code}

    def _custom_pipelines(self) -> dict[str, Any]:
        """The pipelines that serve this head, and those a user has named; where no task is named, these are taken."""
        heads = {cls.__name__ for cls in type(self).__mro__}
        named = getattr(self.config, "custom_pipelines", None) or {}
        ours = {
            task: {"impl": f"{_file(pipeline)}.{pipeline.__name__}", "pt": [auto_class]}
            for task, (pipeline, auto_class) in self.pipelines.items()
            if self.auto_classes[auto_class] in heads
        }
        return {task: entry for task, entry in named.items() if task not in self.pipelines} | ours

    def _pooled(self, pooling: str, real: Tensor | None, **arguments: Any) -> tuple[Tensor, Any]:
        """One vector a text (B, hidden), and the outputs of the base model, which is called with these arguments.

        real (B, T): 1 at the tokens that count, None: all do. Where pooling reads one token a text, the last block
        works for that one alone, except where all hidden states are asked for or seen.
        """
        names = "input_ids", "inputs_embeds", "attention_mask", "past_key_values"
        inputs = checked_inputs(**{name: arguments.get(name) for name in names})
        shape = inputs.shape[:2]
        lengths = packed_lengths(shape, arguments["attention_mask"], arguments["position_ids"], arguments)
        places = None
        if not (self._is_asked_for("output_hidden_states", arguments) or is_seen_inside(self.model.stack)):
            places = pooled_places(shape, real, lengths, pooling, inputs.device)
        places = None if places is None else places[:, None]
        outputs = self.model(places=places, return_dict=True, **arguments)
        hidden_states = outputs.last_hidden_state
        if places is not None:
            return without_empty(hidden_states[0], real if lengths is None else lengths[:, None]), outputs
        if lengths is not None:
            hidden_states, real = to_rows(hidden_states, lengths, arguments.get("max_length_q"))
        return pool(hidden_states, real, pooling), outputs
