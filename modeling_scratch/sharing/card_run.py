# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A run as recorded in its folder."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from ..data.splits import HUB_ALIASES
from ..report.report_files import examples_of
from ..run.layout import CONFUSION_MATRIX, EVALUATION, HISTORY, RECORD, RESULTS
from ..tasks import trained_by
from ..tasks.card import Card, Metric, Use
from ..utils.files import read_json
from ..utils.markdown import table

DEMO = "demo-reviews"  # without a data source
FILES = (RECORD, "config.json", "tokenizer_config.json", EVALUATION, HISTORY)


@dataclass(frozen=True)
class Run:
    """The contents of a run's files: {} for missing files, and for results of an unfinished run."""

    folder: Path
    name: str
    record: Mapping[str, Any]
    config: Mapping[str, Any]
    tokenizer: Mapping[str, Any]
    evaluation: Mapping[str, Any]
    state: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, name: str | None) -> "Run":
        paths = [folder / file for file in FILES]
        contents = (read_json(path) if path.is_file() else {} for path in paths)
        return cls(folder, name or folder.resolve().name, *contents)

    @property
    def card(self) -> Card:
        return trained_by(Path(self.record["program"]).stem).card.of(self.record)

    @property
    def use(self) -> Use:
        use = self.card.use
        recorded = (self.config.get("task_specific_params") or {}).get(use.pipeline) or {}
        return use._replace(options={**use.options, **recorded})

    @property
    def metrics(self) -> list[Metric]:
        return self.card.metrics(self.evaluation) if self.evaluation else []

    @property
    def results(self) -> str:
        """results.md with its picture; the scores alone where it quotes texts; "" of an unfinished run."""
        path = self.folder / RESULTS
        if not (self.evaluation and path.is_file()):
            return ""
        if examples_of(self.evaluation):  # of an earlier version
            return table(["score", "value"], [[metric.name, f"{metric.value:.4f}"] for metric in self.metrics])
        text = path.read_text(encoding="utf-8").strip()
        has_picture = (self.folder / CONFUSION_MATRIX).is_file()
        return f"{text}\n\n![Predictions]({CONFUSION_MATRIX})" if has_picture else text

    @property
    def base_model(self) -> str | None:
        """The initial checkpoint's name on the Hub, if any."""
        return self.record["on_the_hub"].get("model_name_or_path")

    @property
    def dataset(self) -> tuple[str, str | None] | None:
        """The data set's name and configuration on the Hub, if any."""
        if (name := self.record["on_the_hub"].get("dataset_name")) is None:
            return None
        config = self.record["data"]["dataset_config_name"]
        return (name, config) if config else HUB_ALIASES.get(name, (name, None))

    @property
    def data_name(self) -> str:
        """The data set's name on the Hub, or the last components of the data paths."""
        data = self.record["data"]
        local = data["dataset_name"] or data["data_dir"] or data["train_file"] or DEMO
        paths: Sequence[str] = [local] if isinstance(local, str) else local
        return self.dataset[0] if self.dataset else ", ".join(Path(path).name or path for path in paths)

    def count_parameters(self) -> int:
        """Return the number of stored parameters, counting tied weights once. Buffers of whole numbers are none."""
        total = 0
        for path in self.folder.glob("model*.safetensors"):
            with safe_open(path, "pt") as weights:
                stored = [weights.get_slice(name) for name in weights.keys()]  # noqa: SIM118  # it is no dict
                total += sum(math.prod(each.get_shape()) for each in stored if "F" in each.get_dtype())
        return total
