# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The classifier's training as a function: tables in memory, exceptions, and a report."""

import json
import re
from pathlib import Path
from signal import SIGINT
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
from processes import at_call, in_child, send
from test_train_classifier import write_reviews
from transformers import Trainer, pipeline

from modeling_scratch.training import train_classifier
from modeling_scratch.utils.errors import DataError

OPTIONS: dict[str, Any] = {"use_cpu": True, "report_to": "none", "max_steps": 2, "ema_decay": 0}
OPTIONS |= {"config_overrides": "hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("tables")
    splits = enumerate({"train": 60, "validation": 20, "test": 20}.items())
    return {name: pd.read_csv(write_reviews(folder / f"{name}.csv", rows, seed)) for seed, (name, rows) in splits}


def test_tables_in_memory_give_a_report_and_a_folder(tables: dict[str, pd.DataFrame], tmp_path: Path, capfd) -> None:
    """Of each kind, and the same model."""
    rows = map(tuple, tables["train"][["text", "label"]].to_numpy())
    kinds = {"train": rows, "validation": tables["validation"], "test": datasets.Dataset.from_pandas(tables["test"])}
    report = train_classifier(kinds, tmp_path / "run", class_names=["bad", "good"], **OPTIONS)
    plain = train_classifier(tables, tmp_path / "plain", class_names=["bad", "good"], **OPTIONS)
    assert len({(each.folder / "model.safetensors").read_bytes() for each in (report, plain)}) == 1
    assert (report.scores["split"], report.scores["texts"], report.scores["labels"]) == ("test", 20, ["bad", "good"])
    assert "| Transformer |" in str(report)
    task: Any = "text-classification"
    assert pipeline(task, model=str(report.folder))("a great film")[0]["label"] in ("bad", "good")
    assert str(report.folder) in str(report)
    [answer, empty] = report.predict(["a great film", " "])
    [expected] = pipeline(task, model=str(report.folder), top_k=None)(["a great film"])
    assert answer["probabilities"] == pytest.approx({each["label"]: each["score"] for each in expected}, rel=1e-4)
    assert (answer["label"], answer["score"]) == (expected[0]["label"], answer["probabilities"][expected[0]["label"]])
    assert empty == {"label": None, "score": None, "probabilities": {}}
    assert [each["label"] for each in report.predict("a great film")] == [answer["label"]]
    assert report.predict([]) == []
    texts = ["a great film", "a dull film", "a great film"]
    answers, columns = report.predict(texts), {"id": [1, 2, 3], "text": texts}
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    table, dataset = pd.DataFrame(columns, index=[7, 8, 9]), datasets.Dataset.from_dict(columns)
    tables_of_texts = [table, dataset, dataset.data.table, columns, rows, iter(rows), pd.DataFrame({"other": texts})]
    for held in (*tables_of_texts, table["text"], dataset["text"], np.array(texts), iter(texts), tuple(texts)):
        assert [each["label"] for each in report.predict(held)] == [each["label"] for each in answers]
    assert [each["label"] for each in report.predict({"text": texts[0]})] == [answers[0]["label"]]
    for refused in (table.drop(columns="text").assign(other=texts), 7, b"film", [7], [("one", "other")], __file__):
        with pytest.raises(DataError, match="predict"):
            report.predict(refused)
    wrong_answers = (report.folder / "misclassified.csv").read_text()
    assert "data['test'], row " in wrong_answers
    assert "shards" not in capfd.readouterr().err
    record = json.loads((report.folder / "run_config.json").read_text())
    assert record["rows"] == {"train": 60, "validation": 20, "test": 20}
    assert "/tmp" not in json.dumps(record["data"])


def test_reports_of_other_kinds_and_of_pairs_predict(tmp_path: Path) -> None:
    words = ["plot", "cast", "song", "score"]
    rows = [(words[row % 4], words[row % 3], row % 7 + 0.5, words[: row % 3]) for row in range(60)]
    table = pd.DataFrame(rows, columns=["premise", "hypothesis", "stars", "topics"])
    options = {"text_column": "premise", "label_column": "stars", **OPTIONS}
    [answer] = train_classifier(table, tmp_path / "numbers", **options).predict(["cast"])
    assert answer["label"] == "stars"
    assert -5 < answer.pop("score") < 12
    assert answer.keys() == {"label"}
    options |= {"text_column": ["premise", "hypothesis"], "label_column": "topics"}
    report = train_classifier(table, tmp_path / "pairs", **options)
    [answer] = report.predict([("plot", "cast")])
    assert answer["probabilities"].keys() == {"plot", "cast"}
    assert [each["label"] for each in report.predict([("plot", "cast"), None, pd.NA, ("plot", None)])][1:] == [None] * 3
    assert answer["label"] == [name for name, score in answer["probabilities"].items() if score >= 0.5]
    with pytest.raises(DataError, match="'plot' is not a pair of texts"):
        report.predict(["plot"])


def test_errors_are_exceptions_of_one_line(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    table = tables["train"]
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (table, {"learning_rat": 1.0}, "did you mean 'learning_rate'?"),
        (table, {"text_column": "nowhere"}, "data: no column 'nowhere'"),
        (tables, {"label_column": "nowhere"}, "data['train']"),
        (table, {"search_trials": 2}, "search_trials"),
        (tmp_path, {"preset": "bort"}, "preset bort: the choices are"),
        ({"train": table, "holdout": table}, {}, "'holdout'"),
        (7, {}, "data: cannot read the int as a table"),
        ({"train": table, "val": table, "valid": table}, {}, "validation split"),
        (table[:0], {}, "data has no rows"),
        (pd.DataFrame({"text": ["a", "b"], "label": [1, "x"]}), {}, "several types"),
        (pd.DataFrame([["a", "b", 1]], columns=["text", "text", "label"]), {}, "duplicate column names: 'text'"),
        (table, {"max_steps": 1.5}, "max_steps: invalid int value: 1.5"),
        (table, {"recipe": "minutes"}, "recipe is retired: the number of texts chooses"),
        ({"validation": table}, {}, "data: no table is the train split"),
    ]
    for data, options, told in wrong:
        with pytest.raises(DataError) as caught:
            train_classifier(data, tmp_path / "run", **options)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
        said = re.sub("`.*`", "", str(caught.value))  # without commands to run instead
        assert not re.search("--|data_dir", said), "options of the command"
    assert not (tmp_path / "run").exists()


def test_an_interruption_saves_a_checkpoint_and_raises(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    def train() -> None:
        with pytest.raises(KeyboardInterrupt):
            train_classifier(tables, tmp_path / "run", **{**OPTIONS, "max_steps": 9})
        print("goes on")

    ended = in_child(at_call(Trainer, "training_step", 3, send(SIGINT)), train)
    assert (ended.status, ended.text.strip().endswith("goes on")) == (0, True), ended.text
    assert (tmp_path / "run" / "checkpoint-3").is_dir()
