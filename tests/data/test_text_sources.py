# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Arguments, files, folders and the Hub: where the splits come from."""

from itertools import product
from pathlib import Path

import datasets
import pytest
from text_samples import WRITERS, fault, load, reviews, write

from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.splits import DataArguments


@pytest.mark.parametrize(("suffix", "validation"), [*zip(WRITERS, ("validation", "valid", "val", "dev"))])
def test_splits_are_found_by_name(tmp_path: Path, suffix: str, validation: str) -> None:
    for split, start in (("train", 0), (validation, 100), ("test", 200)):
        write(tmp_path / f"{split}{suffix}", reviews(20, start))
    write(tmp_path / f"unsupervised{suffix}", reviews(3))
    data = load(tmp_path)
    assert list(data.splits) == ["train", "validation", "test"]
    for split, start in (("train", 0), ("validation", 100), ("test", 200)):
        assert data.splits[split].to_dict() == reviews(20, start)
    assert data.label_names == ["NEGATIVE", "POSITIVE"]
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


def test_what_a_folder_leaves_open_is_asked(tmp_path: Path) -> None:
    write(tmp_path / "training.csv", reviews(2))
    with fault("no train file", "train.csv", "training.csv"):
        load(tmp_path)
    for name in ("train.csv", "dev.csv", "validation.parquet"):
        write(tmp_path / name, reviews(20))
    with fault("dev.csv", "validation.parquet", "--validation_file"):
        load(tmp_path)
    with fault("--data_dir, --train_file or --dataset_name"):
        load_splits(DataArguments())


def test_unpacked_imdb_is_read_in_one_order_everywhere(tmp_path: Path) -> None:
    for split, name, number in product(("train", "test"), ("neg", "pos", "unsup"), (2, 10, 1)):
        path = tmp_path / split / name / f"{number}_7.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{split} {name} {number} <br /> ünï", "utf-8")
    texts = {
        split: [f"{split} {name} {number} <br /> ünï" for name in ("neg", "pos") for number in (10, 1, 2)]
        for split in ("train", "test")
    }
    data = load(tmp_path, validation_fraction=0.2)
    assert data.label_names == ["neg", "pos"]
    assert data.splits["test"].to_dict() == {"text": texts["test"], "label": [0, 0, 0, 1, 1, 1]}
    assert sorted([*data.splits["train"]["text"], *data.splits["validation"]["text"]]) == sorted(texts["train"])
    assert sum(load(tmp_path / "train", validation_fraction=0.2).splits.num_rows.values()) == 6  # without splits
    (tmp_path / "train" / "pos" / "1_7.txt").write_bytes(b"caf\xe9")
    with fault(str(tmp_path / "train" / "pos" / "1_7.txt"), "character 3", "--encoding cp1252"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("column", "cells", "is_split"),
    [
        ("split", ["train"] * 1_500 + ["test"] * 300, True),
        ("Fold", ["Train"] * 20 + [" DEV", ""] * 10, True),
        ("split", ["train"] * 30 + ["unlabelled"], False),
        ("vehicle", ["train", "test"] * 20, False),
        ("fold", ["1", "2"] * 20, False),
    ],
    ids=range(5),
)
def test_a_column_of_splits_is_refused(tmp_path: Path, column: str, cells: list[str], is_split: bool) -> None:
    """The rows of all splits would be trained on."""
    path = write(tmp_path / "all.csv", {**reviews(len(cells)), column: cells})
    if is_split:
        with fault(f"column {column!r} names splits: write a file for each", "groupby"):
            load_splits(DataArguments(train_file=str(path)))
    else:
        assert sum(load_splits(DataArguments(train_file=str(path))).splits.num_rows.values()) == len(cells)


def test_a_dataset_of_the_hub_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder laid out as a repository on the Hub goes through the same `load_dataset`, without a network."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    repository = tmp_path / "repository"
    (repository / "data").mkdir(parents=True)
    text, label = datasets.Value("string"), datasets.ClassLabel(names=["minus", "plus"])
    for split, labels in {"train": [0, 1] * 6, "validation": [1, 1], "test": [-1, -1], "unsupervised": [-1]}.items():
        columns = {"sentence": [f"{split} {row}" for row in range(len(labels))], "label": labels}
        rows = datasets.Dataset.from_dict(columns, features=datasets.Features({"sentence": text, "label": label}))
        rows.to_parquet(repository / "data" / f"{split}-00000-of-00001.parquet")
    data = load_splits(DataArguments(dataset_name=str(repository)))
    assert list(data.splits) == ["train", "validation"]
    assert data.label_names == ["minus", "plus"]
    assert data.splits["train"].to_dict() == {"text": [f"train {row}" for row in range(12)], "label": [0, 1] * 6}
    ignored = "ignored, as not named after a split: unsupervised"
    assert {ignored, "test: not used, as it has no labels"} <= set(data.notes)
    with fault("no column 'sentense'", "did you mean 'sentence'"):
        load_splits(DataArguments(dataset_name=str(repository), text_column="sentense"))


def test_a_saved_dataset_is_loaded(tmp_path: Path) -> None:
    saved = datasets.Dataset.from_dict(reviews(40)).train_test_split(0.2, seed=0)
    saved.save_to_disk(str(tmp_path / "splits"))
    saved["train"].save_to_disk(str(tmp_path / "one"))
    assert load(tmp_path / "splits").splits["test"]["text"] == saved["test"]["text"]
    assert sum(load(tmp_path / "one").splits.num_rows.values()) == 32
    (tmp_path / "one" / "dataset_info.json").write_text("[")
    with fault(str(tmp_path / "one"), "damaged or not a data set"):
        load(tmp_path / "one")


def test_without_network_the_way_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for short, name in (("sst2", "nyu-mll/glue"), ("imdb", "stanfordnlp/imdb")):
        with fault(f"data set {name!r} could not be loaded", "--data_dir folder (make train DATA=folder)"):
            load_splits(DataArguments(dataset_name=short))
