# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Arguments, files, folders and the Hub: where the splits come from."""

from pathlib import Path

import datasets
import pytest
from text_samples import WRITERS, fault, load, reviews, write
from transformers import HfArgumentParser

from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments, find_splits


def test_arguments_are_parsed_from_the_command_line() -> None:
    command = [
        "--data_dir=folder",
        "--class_names",
        "bad",
        "good",
        "--max_train_samples=5",
        "--validation_fraction=0.2",
    ]
    (arguments,) = HfArgumentParser(DataArguments).parse_args_into_dataclasses(command)
    assert arguments == DataArguments(
        data_dir="folder", class_names=["bad", "good"], max_train_samples=5, validation_fraction=0.2
    )
    assert not arguments.uses_demo
    assert DataArguments().uses_demo
    assert "--train_file" in HfArgumentParser(DataArguments).format_help()


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        ({"data_dir": "a", "train_file": "b"}, ["--data_dir and --train_file"]),
        ({"data_dir": "a", "test_file": "b"}, ["--data_dir and --train_file"]),
        ({"dataset_name": "a", "data_dir": "b"}, ["--dataset_name and --data_dir"]),
        ({"test_file": "a"}, ["--train_file"]),
        ({"dataset_config_name": "sst2"}, ["--dataset_name"]),
        ({"validation_fraction": 0.0}, ["--validation_fraction 0.0"]),
        ({"validation_fraction": 0.5}, ["--validation_fraction 0.5"]),
        ({"max_eval_samples": 0}, ["--max_eval_samples 0"]),
    ],
)
def test_arguments_that_contradict_are_refused(arguments: dict, pieces: list[str]) -> None:
    with fault(*pieces):
        DataArguments(**arguments)


def test_without_data_there_is_nothing_to_load() -> None:
    with fault("--data_dir, --train_file or --dataset_name"):
        load_splits(DataArguments())


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("validation", ["validation", "valid", "val", "dev"])
def test_splits_are_found_by_name(tmp_path: Path, suffix: str, validation: str) -> None:
    for split, start in (("train", 0), (validation, 100), ("test", 200)):
        write(tmp_path / f"{split}{suffix}", reviews(20, start))
    write(tmp_path / f"unsupervised{suffix}", reviews(3))
    data = load(tmp_path)
    assert list(data.splits) == ["train", "validation", "test"]
    for split, start in (("train", 0), ("validation", 100), ("test", 200)):
        assert data.splits[split].to_dict() == reviews(20, start)
    assert data.label_names == data.splits["train"].features["label"].names == ["NEGATIVE", "POSITIVE"]
    assert f"unsupervised{suffix}" in data.describe()


def test_shards_are_joined_in_order_and_none_may_lack(tmp_path: Path) -> None:
    for shard in range(3):
        write(tmp_path / f"train-{shard:05}-of-00003.parquet", reviews(10, 10 * shard))
    write(tmp_path / "validation-00000-of-00001-0a1b2c3d.parquet", reviews(10, 100))
    data = load(tmp_path)
    assert data.splits["train"].to_dict() == reviews(30)
    assert data.splits["validation"].to_dict() == reviews(10, 100)
    (tmp_path / "train-00001-of-00003.parquet").unlink()
    with fault("2 of 3 shards"):
        load(tmp_path)


def test_two_candidates_for_a_split_are_both_named(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", reviews(20))
    write(tmp_path / "dev.csv", reviews(20, 100))
    write(tmp_path / "validation.parquet", reviews(20, 100))
    with fault("dev.csv", "validation.parquet", "--validation_file"):
        load(tmp_path)


def test_a_folder_without_train_says_what_is_there(tmp_path: Path) -> None:
    write(tmp_path / "training.csv", reviews(2))
    with fault("no train file", "train.csv", "training.csv"):
        load(tmp_path)


def test_unpacked_imdb_is_read_in_one_order_everywhere(tmp_path: Path) -> None:
    expected: dict[str, dict[str, list]] = {split: {"text": [], "label": []} for split in ("train", "test")}
    for split in expected:
        for label, name in enumerate(("neg", "pos")):
            (tmp_path / split / name).mkdir(parents=True)
            for number in (2, 10, 1):
                (tmp_path / split / name / f"{number}_7.txt").write_text(f"{split} {name} {number} <br /> ünï", "utf-8")
            expected[split]["text"] += [f"{split} {name} {number} <br /> ünï" for number in (10, 1, 2)]
            expected[split]["label"] += [label] * 3
    (tmp_path / "train" / "unsup").mkdir()
    (tmp_path / "train" / "unsup" / "0_0.txt").write_text("no label")
    data = load(tmp_path, validation_fraction=0.2)
    assert data.label_names == ["neg", "pos"]
    assert data.splits["test"].to_dict() == expected["test"]
    held_out = data.splits["validation"].to_dict()
    assert sorted(data.splits["train"]["text"][:] + held_out["text"]) == sorted(expected["train"]["text"])
    assert find_splits(tmp_path) == {"train": [tmp_path / "train"], "test": [tmp_path / "test"]}
    (tmp_path / "train" / "pos" / "1_7.txt").write_bytes(b"caf\xe9")
    with fault(str(tmp_path / "train" / "pos" / "1_7.txt"), "byte 3", "iconv"):
        load(tmp_path)


def test_files_can_be_named_one_by_one(tmp_path: Path) -> None:
    files = {
        split: str(write(tmp_path / f"{split}.csv", reviews(20, start)))
        for split, start in (("a", 0), ("b", 100), ("c", 200))
    }
    data = load_splits(DataArguments(train_file=files["a"], validation_file=files["b"], test_file=files["c"]))
    assert {split: rows.num_rows for split, rows in data.splits.items()} == {"train": 20, "validation": 20, "test": 20}
    assert data.splits["test"].to_dict() == reviews(20, 200)


def test_a_dataset_of_the_hub_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder laid out as a repository on the Hub goes through the same `load_dataset`, without a network."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    features = datasets.Features(
        {
            "idx": datasets.Value("int32"),
            "sentence": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["minus", "plus"]),
        }
    )
    data_folder = tmp_path / "repository" / "data"
    data_folder.mkdir(parents=True)
    for split, labels in {"train": [0, 1] * 6, "validation": [1, 1], "test": [-1, -1], "unsupervised": [-1]}.items():
        columns = {
            "idx": range(len(labels)),
            "sentence": [f"{split} {row}" for row in range(len(labels))],
            "label": labels,
        }
        rows = datasets.Dataset.from_dict(columns, features=features)
        rows.to_parquet(data_folder / f"{split}-00000-of-00001.parquet")
    data = load_splits(DataArguments(dataset_name=str(tmp_path / "repository")))
    assert list(data.splits) == ["train", "validation"]
    assert data.label_names == ["minus", "plus"]
    assert data.splits["train"].to_dict() == {"text": [f"train {row}" for row in range(12)], "label": [0, 1] * 6}
    assert {
        "ignored, as not named after a split: unsupervised",
        "test: not used, as it has no labels",
    } <= set(data.notes)
    with fault("no column 'sentense'", "did you mean 'sentence'"):
        load_splits(DataArguments(dataset_name=str(tmp_path / "repository"), text_column="sentense"))


def test_without_network_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for short, name in (("sst2", "nyu-mll/glue"), ("imdb", "stanfordnlp/imdb")):
        with fault(f"data set {name!r} could not be loaded", "--data_dir folder (make train DATA=folder)"):
            load_splits(DataArguments(dataset_name=short))
