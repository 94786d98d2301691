# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A run as the files in its folder tell it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from card_loading import USES, Use
from card_results import RESULTS, Results
from run_folder import RUN_FILE
from safetensors import safe_open
from text_sources import HUB_ALIASES

DEMO = "demo-reviews"  # where no data was named
SETUP_FILES = (RUN_FILE, "config.json", "tokenizer_config.json")
RESULT_FILES = ("evaluation.json", "all_results.json", "trainer_state.json")


@dataclass(frozen=True)
class Run:
    """What its files hold: {} for one that is not there, and for all results where the run has not ended."""

    folder: Path
    name: str
    record: Mapping[str, Any]
    config: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    times: Mapping[str, Any]
    state: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, name: str | None, is_finished: bool) -> "Run":
        setup = [_read(folder / file) for file in SETUP_FILES]
        results = [_read(folder / file) if is_finished else {} for file in RESULT_FILES]
        return cls(folder, name or folder.resolve().name, *setup, *results)

    @property
    def program(self) -> str:
        return Path(self.record["program"]).stem

    @property
    def kind(self) -> str:
        """The objective of pretraining, or else the program."""
        return self.record["model"].get("objective") or self.program

    @property
    def use(self) -> Use:
        return USES[self.kind]

    @property
    def results(self) -> Results:
        return RESULTS[self.program](self.evaluation) if self.evaluation else Results("", [], "…")

    @property
    def starts_from(self) -> str | None:
        """The last part of the name of the checkpoint that was trained further; None: it is a new model."""
        name = self.record["model"]["model_name_or_path"]
        return Path(name).name or name if name else None

    @property
    def has_new_tokenizer(self) -> bool:
        return self.starts_from is None and not self.record["model"].get("tokenizer_name_or_path")

    @property
    def base_model(self) -> str | None:
        """The name on the Hub of the checkpoint that was trained further."""
        return self.record["on_the_hub"].get("model_name_or_path")

    @property
    def dataset(self) -> tuple[str, str | None] | None:
        """Name and configuration on the Hub of the data."""
        if (name := self.record["on_the_hub"].get("dataset_name")) is None:
            return None
        config = self.record["data"]["dataset_config_name"]
        return (name, config) if config else HUB_ALIASES.get(name, (name, None))

    @property
    def data_name(self) -> str:
        """That of the Hub, or the last parts of the paths that were given."""
        data = self.record["data"]
        local = data["dataset_name"] or data["data_dir"] or data["train_file"] or DEMO
        paths: Sequence[str] = [local] if isinstance(local, str) else local
        return self.dataset[0] if self.dataset else ", ".join(Path(path).name or path for path in paths)

    def count_parameters(self) -> int:
        """As many as the weights hold; those that are tied are in there once."""
        total = 0
        for path in self.folder.glob("model*.safetensors"):
            with safe_open(path, "pt") as weights:
                total += sum(math.prod(weights.get_slice(name).get_shape()) for name in weights.keys())  # noqa: SIM118
        return total


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
