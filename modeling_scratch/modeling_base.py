# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The base class of every scratch model: what Transformers asks of it, and folders that load anywhere."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel
from transformers.dynamic_module_utils import custom_object_save

from .configuration_scratch import ScratchConfig


class ScratchPreTrainedModel(PreTrainedModel):
    """Base class.

    Weights are drawn by Hugging Face's own rules: normal(0, initializer_range), biases 0, norms 1.
    """

    config: ScratchConfig
    base_model_prefix = "model"
    _input_embed_layer = "tokens"  # of model.embeddings
    supports_gradient_checkpointing = True
    _skip_keys_device_placement = ["past_key_values"]
    _no_split_modules = ["Block", "ParallelBlock"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    is_causal = False  # whether tokens see those before them only
    # Generation hands the mask of padding on: the base model makes masks of it.
    create_masks_for_generate = staticmethod(lambda attention_mask, **_: attention_mask)
    # Task: pipeline and Auto class, for tasks that transformers has no pipeline for.
    pipelines: Mapping[str, tuple[type, str]] = {}

    # --- saving: weights, config, and the code of the family ---------------------------------------

    @classmethod
    def is_remote_code(cls) -> bool:
        return False  # wherever it was loaded from: save_pretrained brings the code along by itself

    def save_pretrained(
        self, save_directory: Any, is_main_process: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        """As PreTrainedModel's; the folder also holds the code, and loads with every Auto class."""
        is_adapter = getattr(self, "_hf_peft_config_loaded", False)  # whose base has the code
        if is_main_process and not is_adapter:
            self.config.auto_map = dict(self.config.auto_classes)
            self.config.custom_pipelines = self._custom_pipelines()
            Path(save_directory).mkdir(parents=True, exist_ok=True)
            # The file of the family's heads; what it imports goes along.
            file, name = list(self.config.auto_classes.values())[-1].split(".")
            head = getattr(import_module(f".{file}", __package__), name)
            custom_object_save(head, save_directory)
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)

    def _get_files_timestamps(self, working_dir: Any) -> dict[str, float]:
        """As PreTrainedModel's, which pushes what is newer; the code always goes along."""
        times = super()._get_files_timestamps(working_dir)
        return {name: time for name, time in times.items() if not name.endswith(".py")}

    def _custom_pipelines(self) -> dict[str, Any]:
        """The pipelines that serve this head, and those a user has named."""
        names = {cls.__name__ for cls in type(self).__mro__}
        # Auto classes of the family's other heads.
        of_others = {
            auto
            for auto, path in self.config.auto_classes.items()
            if path.partition(".")[2] not in names
        }
        named = getattr(self.config, "custom_pipelines", None) or {}
        of_user = {
            task: entry
            for task, entry in named.items()
            if not of_others.issuperset(entry.get("pt") or [""])  # where no task is named
        }
        return of_user | {
            task: {"impl": f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}", "pt": [auto]}
            for task, (cls, auto) in self.pipelines.items()
        }
