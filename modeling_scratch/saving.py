# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""How a folder is saved so that it loads anywhere: weights, config, and the code of the family."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from transformers.dynamic_module_utils import custom_object_save


class SavedWithCode:
    """Beside PreTrainedModel: its save_pretrained writes the code of the family, too."""

    # Task: pipeline and Auto class, for tasks that transformers has no pipeline for.
    pipelines: Mapping[str, tuple[type, str]] = {}
    config: Any

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
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)  # type: ignore[misc]

    def _get_files_timestamps(self, working_dir: Any) -> dict[str, float]:
        """As PreTrainedModel's, which pushes what is newer; the code always goes along."""
        times = super()._get_files_timestamps(working_dir)  # type: ignore[misc]
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
        kept = {
            task: entry
            for task, entry in named.items()
            if not of_others.issuperset(entry.get("pt") or [""])  # where no task is named
        }
        for task, (cls, auto) in self.pipelines.items():
            file = cls.__module__.rpartition(".")[2]
            kept[task] = {"impl": f"{file}.{cls.__name__}", "pt": [auto]}
        return kept
