# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A run as recorded in its folder, and code snippets that load its model."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import safe_open

from ..data.splits import HUB_ALIASES
from ..data.text_pairs import TextPair, column_names, parts_of
from ..report.report_files import without_texts
from ..run.layout import RECORD
from ..tasks import trained_by
from ..tasks.base import Results, Task, Use
from .quotations import may_quote


class Snippets(NamedTuple):
    """Code snippets for a model.

    text: the example input. has_code: the folder holds the model's own code. target_folder: that of a separate target
    tokenizer.
    """

    task: Use
    name: str
    text: str
    has_code: bool
    target_folder: str | None = None

    def use(self) -> str:
        """Return the snippet of a pipeline, with the model's own code if it has any."""
        with_code = ", with the model's own code" if self.has_code else ""
        is_ours = self.task.pipeline.startswith(("seq2seq", "extractive")) and not self.has_code
        ours = "import modeling_scratch  # registers the pipeline\n" if is_ours else ""
        return f"In a pipeline{with_code}; {self._where()}:\n\n{self.pipeline(self._trust, ours)}"

    def other_ways(self) -> str:
        """Return snippets of the model itself, with its own code and with the package, and of its check."""
        if not self.has_code:
            return f"The model:\n\n{self.model('')}"
        return "\n\n".join(
            [
                "The model, with its own code:",
                self.model(self._trust),
                "The model, with modeling-scratch installed instead of its own code:",
                self.model("", "import modeling_scratch  # registers its classes\n"),
                "With modeling-scratch installed, verify that a copy gives the outputs recorded after training:",
                f"```bash\npython -m modeling_scratch.verify {shlex.quote(self.name)}\n```",
            ]
        )

    @property
    def _trust(self) -> str:
        return "trust_remote_code=True" if self.has_code else ""

    def _where(self) -> str:
        return f"{_quoted(self.name)} is the path of this folder or its name on the Hub"

    def pipeline(self, trust: str, imports: str = "") -> str:
        options = [f"{name}={_python(value)}" for name, value in self.task.options.items()]
        arguments = ", ".join(filter(None, [f"model={_quoted(self.name)}", *options, trust]))
        lines = [
            "from transformers import pipeline",
            *_lines_of(imports),
            "",
            f"pipe = pipeline({_quoted(self.task.pipeline)}, {arguments})",
            f"print(pipe({self._pair() or self._question('pipe.tokenizer')}))",
        ]
        return _program(lines)

    def model(self, trust: str, imports: str = "") -> str:
        arguments = ", ".join(filter(None, [_quoted(self.name), trust]))
        answer, target = self.task.answer, []
        if isinstance(self.text, TextPair):
            answer = answer.replace("tokenizer(text", "tokenizer(*text", 1)
        if self.target_folder:
            target = [f"target = AutoTokenizer.from_pretrained({arguments}, subfolder={_quoted(self.target_folder)})"]
            answer = answer.replace("tokenizer.decode", "target.decode", 1)
        lines = [
            f"from transformers import {self.task.auto_class}, AutoTokenizer",
            *_lines_of(imports),
            "",
            f"tokenizer = AutoTokenizer.from_pretrained({arguments})",
            *target,
            f"model = {self.task.auto_class}.from_pretrained({arguments})",
            f"text = {self._question('tokenizer')}",
            f"print({answer})",
        ]
        return _program(lines)

    def _pair(self) -> str:
        """Return the input of a pipeline for a pair as Python code; "" for a single text."""
        pair = dict(zip(self.task.fields, parts_of(self.text)))
        return json.dumps(pair, ensure_ascii=False) if isinstance(self.text, TextPair) else ""

    def _question(self, tokenizer: str) -> str:
        """Return the example input as Python code; a pair as a tuple."""
        if isinstance(self.text, TextPair):
            return f"({', '.join(map(_quoted, self.text.parts))})"
        return self.task.given.format(text=_quoted(self.text), tokenizer=tokenizer)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _python(value: Any) -> str:
    return _quoted(value) if isinstance(value, str) else repr(value)


def _lines_of(imports: str) -> list[str]:
    return ["", *imports.splitlines()] if imports else []


def _program(lines: list[str]) -> str:
    return "\n".join(["```python", *lines, "```"])


TEXT, PAIR = "This is an example.", TextPair("What is this?", "This is an example.")  # where no text is quoted
DEMO = "demo-reviews"  # without a data source
SETUP_FILES = (RECORD, "config.json", "tokenizer_config.json")
RESULT_FILES = ("evaluation.json", "all_results.json", "trainer_state.json")


@dataclass(frozen=True)
class Run:
    """The contents of a run's files: {} for missing files, and for results of an unfinished run."""

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
    def task(self) -> Task:
        return trained_by(self.program)

    @property
    def use(self) -> Use:
        use = self.task.use_of(self.record)
        recorded = (self.config.get("task_specific_params") or {}).get(use.pipeline) or {}
        return use._replace(options={**use.options, **recorded})

    @property
    def results(self) -> Results:
        if not self.evaluation:
            return Results("", [], "…")
        evaluation = self.evaluation if may_quote(self.record) else without_texts(self.evaluation)
        results = self.task.results(evaluation)
        reads_pairs = "question" in self.use.fields or len(column_names(self.record["data"].get("text_column"))) == 2
        return results._replace(example=results.example or (PAIR if reads_pairs else TEXT))

    @property
    def starts_from(self) -> str | None:
        """The last component of the initial checkpoint's name; None for a new model."""
        name = self.record["model"]["model_name_or_path"]
        return Path(name).name or name if name else None

    @property
    def has_new_tokenizer(self) -> bool:
        return self.starts_from is None and not self.record["model"].get("tokenizer_name_or_path")

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


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
