# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Splits: where they come from, which options contradict, and what is left out, held out, sampled and warned of."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_samples import WRITERS, fault, load, read, reviews, write

from modeling_scratch.data.documents import DocumentArguments
from modeling_scratch.data.held_out import Division, Strata, missing_splits, overlaps, stratified_order
from modeling_scratch.data.label_types import Number
from modeling_scratch.data.labelled_texts import load_splits
from modeling_scratch.data.questions import QuestionDataArguments
from modeling_scratch.data.splits import DataArguments, SplitArguments
from modeling_scratch.data.tagged_sentences import TaggedDataArguments
from modeling_scratch.data.translation_pairs import TranslationDataArguments


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
    with fault(str(tmp_path / "train" / "pos" / "1_7.txt"), "character 4", "--encoding cp1252"):
        load(tmp_path)


def test_a_column_of_splits_is_refused(tmp_path: Path) -> None:
    """The rows of all splits would be trained on."""
    for column, cells in (("split", ["train"] * 1_500 + ["test"] * 300), ("Fold", ["Train"] * 20 + [" DEV", ""] * 10)):
        write(tmp_path / "train.csv", {**reviews(len(cells)), column: cells})
        with fault(f"column {column!r} names splits: write a file for each", "groupby"):
            load(tmp_path)
    for column, cells in (("split", ["train", "unlabelled"]), ("vehicle", ["train", "test"]), ("fold", ["1", "2"])):
        write(tmp_path / "train.csv", {**reviews(40), column: cells * 20})
        assert sum(load(tmp_path).splits.num_rows.values()) == 40


def test_a_dataset_of_the_hub_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder laid out as a repository on the Hub goes through the same `load_dataset`, without a network."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    repository = tmp_path / "repository"
    (repository / "data").mkdir(parents=True)
    text, label = datasets.Value("string"), datasets.ClassLabel(names=["minus", "plus"])
    features = datasets.Features({"sentence": text, "label": label})
    for split, labels in {"train": [0, 1] * 6, "validation": [1, 1], "test": [-1, -1], "unsupervised": [-1]}.items():
        columns = {"sentence": [f"{split} {row}" for row in range(len(labels))], "label": labels}
        rows = datasets.Dataset.from_dict(columns, features=features)
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


@pytest.mark.parametrize(
    ("suffix", "gap", "label_gap"), [(".csv", "", ""), (".jsonl", None, None), (".parquet", None, float("nan"))]
)
def test_gaps_are_left_out_and_counted(tmp_path: Path, suffix: str, gap: object, label_gap: object) -> None:
    texts, labels = (list(values) for values in reviews(20).values())
    texts[2], texts[5], texts[7], labels[9] = "", " \n ", gap, label_gap
    labels = list(map(float, labels)) if suffix == ".parquet" else labels  # as pandas has integers beside gaps
    file = write(tmp_path / f"train{suffix}", {"text": texts, "label": labels}).name
    write(tmp_path / f"validation{suffix}", reviews(4, 100))
    data = load(tmp_path)
    kept = [row for row in range(20) if row not in (2, 5, 7, 9)]
    expected = {"text": [f"review number {row}" for row in kept], "label": [row % 2 for row in kept]}
    assert data.splits["train"].to_dict() == expected
    lines = {8: " (line 10)", 10: " (line 12)"} if suffix == ".csv" else {}  # below a field of three lines
    places = [f"{file}, row {row}{lines.get(row, '')}" for row in (3, 6, 8, 10)]
    assert f"train: dropped 3 rows without a text, first {'; '.join(places[:3])}" in data.notes
    assert f"train: dropped 1 row without a label, first {places[3]}" in data.notes


def test_each_text_says_the_file_and_the_row_that_it_was_read_from(tmp_path: Path) -> None:
    columns = reviews(60)
    columns["text"][10] = ""
    write(tmp_path / "train.csv", columns)
    write(tmp_path / "test.csv", reviews(30, 100))
    data = load(tmp_path, max_train_samples=20, max_eval_samples=10)
    files = {"train": "train.csv", "validation": "train.csv", "test": "test.csv"}
    rows = {name: read(tmp_path / name) for name in files.values()}
    for split, name in files.items():
        places = data.places_of(split)
        assert len(places) == len(data.splits[split]) > 5
        for text, place in zip(data.texts(split), places):
            file, _, row = place.partition(", row ")
            assert (file, rows[file][int(row) - 1]["text"]) == (name, text)


def test_texts_that_differ_by_case_and_blanks_are_counted_and_held_out_together(tmp_path: Path) -> None:
    columns = reviews(40)
    variants = [f" Review\u3000NUMBER {row}" for row in range(40)]
    write(tmp_path / "train.csv", columns)
    write(tmp_path / "validation.csv", reviews(10, 100))
    write(tmp_path / "test.csv", {"text": [*columns["text"][:3], *variants[3:8], "new"], "label": [0, 1] * 4 + [0]})
    data = load(tmp_path)
    (warning,) = data.warnings
    assert warning.startswith("test: 8 of its 9 texts also occur in train")
    assert data.splits["test"].num_rows == 9
    assert f"WARNING: {warning}" in data.describe().splitlines()
    for split in ("validation", "test"):
        (tmp_path / f"{split}.csv").unlink()
    write(tmp_path / "train.csv", {"text": columns["text"] + variants, "label": columns["label"] * 2})
    data = load(tmp_path)
    assert data.splits["train"].num_rows < 70
    assert data.warnings == []


def test_texts_with_different_labels_are_listed(tmp_path: Path) -> None:
    texts = [f"text {row}" for row in range(20)] + ["text 3", "text 3", "text 5"]
    write(tmp_path / "train.csv", {"text": texts, "label": ["a", "b"] * 10 + ["a", "b", "b"]})
    write(tmp_path / "validation.csv", {"text": ["text 4", "new"], "label": ["b", "b"]})
    (warning,) = [warning for warning in load(tmp_path).warnings if "different labels" in warning]
    assert warning.startswith("2 texts with different labels, all kept")
    assert "train.csv, row 4: 'b'; train.csv, row 21: 'a'" in warning
    assert "train.csv, row 5: 'a'; validation.csv, row 1: 'b'" in warning
    assert "row 23" not in warning


@pytest.mark.parametrize("has_test", [True, False])
def test_splits_that_are_held_out_of_train_have_its_proportions(tmp_path: Path, has_test: bool) -> None:
    columns = {"text": [f"text {row}" for row in range(400)], "label": [int(row % 4 == 0) for row in range(400)]}
    write(tmp_path / "train.parquet", columns)
    if has_test:
        write(tmp_path / "test.parquet", reviews(10))
    data, again, other = load(tmp_path), load(tmp_path), load(tmp_path, split_seed=1)
    for split in ["validation"] if has_test else ["validation", "test"]:
        assert Counter(data.splits[split]["label"]) == {0: 30, 1: 10}
        assert any(note.startswith(f"{split}: not in the data; 40 rows held out") for note in data.notes)
        assert data.splits[split].to_dict() == again.splits[split].to_dict() != other.splits[split].to_dict()


def test_too_little_to_hold_out_is_said(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", reviews(2))
    with fault("too few to hold out validation and test: 2 different rows", "validation file"):
        load(tmp_path)
    write(tmp_path / "train.csv", {"text": [f"text {row}" for row in range(11)], "label": ["rare", *"aaaaabbbbb"]})
    with fault("leaves train without a text of 'rare'", "--drop_labels"):
        load(tmp_path, validation_fraction=0.4)
    files = {"train_file": tmp_path / "train.csv", "validation_file": tmp_path / "gaps.csv"}
    write(files["validation_file"], {"text": ["", " "], "label": ["a", "b"]})
    with fault("the validation split has no row with both text and label"):
        load_splits(DataArguments(**{name: str(path) for name, path in files.items()}))


ROWS = st.lists(st.integers(0, 40).map(str), min_size=1, max_size=120)


def arguments(**options: object) -> SplitArguments:
    return SplitArguments(data_dir="folder", **options)


@given(ROWS, st.floats(0.01, 0.49), st.integers(0, 5), st.booleans())
def test_rows_that_are_held_out_are_in_one_split(rows: list[str], fraction: float, seed: int, has_test: bool) -> None:
    options, notes = arguments(validation_fraction=fraction, split_seed=seed), []
    given_splits = {"train": rows} | ({"test": ["new"]} if has_test else {})
    missing, distinct = missing_splits(given_splits), len(set(rows))
    size = max(1, round(fraction * distinct))
    if size * len(missing) >= distinct:
        with fault(f"{distinct} different row", f"too few to hold out {' and '.join(missing)}"):
            Division(options, "row", notes).completed(given_splits, missing, str)
        return
    splits = Division(options, "row", notes).completed(given_splits, missing, str)
    assert list(splits) == ["train", "validation", "test"]
    made = {split: splits[split] for split in ("train", *missing)}
    assert sum(map(Counter, made.values()), Counter()) == Counter(rows)
    assert {split: len(set(made[split])) for split in missing} == dict.fromkeys(missing, size)
    assert overlaps(made, "row") == []
    assert splits == Division(options, "row", []).completed(given_splits, missing, str)
    assert [note.split(":")[0] for note in notes if not note.startswith("WARNING")] == missing
    share = min(len(splits[split]) for split in missing) / len(rows)
    assert any("as equal ones share a split" in note for note in notes) == (2 * share < fraction)


KINDS: dict[str, Strata] = {  # of the labels that are drawn from a text, which is a number
    "no labels": lambda rows: [None] * len(rows),
    "classes": lambda rows: [int(row) % 3 for row in rows],
    "numbers": lambda rows: Number().strata(list(map(int, rows))),
}


@pytest.mark.parametrize("share", [0.01, 0.05])
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_stays_in_its_split_when_other_rows_come_or_go(kind: str, share: float) -> None:
    for seed in range(5):
        random, options = np.random.default_rng(seed), arguments(split_seed=seed, max_eval_samples=100)
        rows = [str(row) for row in random.permutation(2_000)]
        fewer = [str(row) for row in random.permutation(rows)[: round(2_000 * (1 - share))]]
        found = []
        for each in (rows, fewer):
            division = Division(options, "row", [], KINDS[kind])
            splits = division.completed({"train": each}, ("validation", "test"), str)
            samples = division.sampled(splits, str)
            found.append([{*part[split]} & {*fewer} for part in (splits, samples) for split in ("validation", "test")])
        for before, after in zip(*found):
            assert len(before & after) >= 0.9 * len(before)


@given(ROWS, st.integers(1, 130), st.integers(1, 130))
def test_a_sample_has_its_size_and_the_order_of_the_rows(rows: list[str], most: int, most_others: int) -> None:
    notes: list[str] = []
    numbered = {split: list(enumerate(rows)) for split in ("train", "validation")}
    options = arguments(max_train_samples=most, max_eval_samples=most_others)
    chosen = Division(options, "row", notes).sampled(numbered, lambda row: row[1])
    assert [len(each) for each in chosen.values()] == [min(most, len(rows)), min(most_others, len(rows))]
    for split, each in chosen.items():
        assert each == sorted(each)
        assert set(each) <= set(numbered[split])
    assert len(notes) == (most < len(rows)) + (most_others < len(rows))


@given(st.lists(st.sampled_from("aaaabbc"), min_size=1, max_size=200), st.integers(0, 5))
def test_each_section_has_the_proportions_of_all(labels: list[str], seed: int) -> None:
    order = stratified_order([f"text {row}" for row in range(len(labels))], labels, seed, "test")
    assert sorted(order) == list(range(len(labels)))
    sizes = Counter(labels)
    for end in range(1, len(order) + 1):
        counts = Counter(labels[row] for row in order[:end])
        assert all(abs(counts[label] - size * end / len(labels)) < len(sizes) for label, size in sizes.items())


SPLIT_ARGUMENTS = DataArguments, QuestionDataArguments, TaggedDataArguments, TranslationDataArguments
FILES: dict[str, Any] = {"train_file": ["a.csv"]}

SHARED: list[tuple[dict[str, Any], str]] = [
    ({"data_dir": "a", "train_file": "b"}, "--data_dir and --train_file are mutually exclusive"),
    ({"dataset_name": "a", "data_dir": "b"}, "--dataset_name and --data_dir are mutually exclusive"),
    ({"data_dir": "a", "validation_file": "b"}, "--data_dir and --train_file are mutually exclusive"),
    ({"test_file": "a"}, "--validation_file and --test_file require --train_file"),
    ({"data_dir": "a", "dataset_config_name": "sst2"}, "--dataset_config_name requires --dataset_name"),
    ({"data_dir": "a", "validation_fraction": 0.0}, "--validation_fraction 0.0: must be between 0 and 0.5"),
    ({"data_dir": "a", "validation_fraction": 0.5}, "--validation_fraction 0.5: must be between 0 and 0.5"),
    ({"data_dir": "a", "max_train_samples": -150}, "--max_train_samples -150: must be at least 1"),
    ({"data_dir": "a", "max_eval_samples": 0}, "--max_eval_samples 0: must be at least 1"),
    ({"data_dir": "a", "max_file_size": 0}, "--max_file_size 0: must be above 0"),
]


@pytest.mark.parametrize("kind", SPLIT_ARGUMENTS)
@pytest.mark.parametrize(("arguments", "message"), SHARED)
def test_options_of_splits_that_contradict_are_refused(kind: type, arguments: dict, message: str) -> None:
    with fault(message):
        kind(**arguments)


NO_SOURCE = "no data source; give one of --train_file, --data_dir and --dataset_name"
OWN: list[tuple[type, dict[str, Any], str]] = [
    *((kind, {}, NO_SOURCE) for kind in [SplitArguments, *SPLIT_ARGUMENTS[1:]]),
    (DataArguments, {"label_separator": ""}, "--label_separator: is empty"),
    (DataArguments, {"label_separator": "|", "problem_type": "regression"}, "--label_separator: regression has one"),
    (DataArguments, {"text_column": ["a", "a"]}, "--text_column a a"),
    (DataArguments, {"text_column": ["a", "b", "c"]}, "--text_column a b c"),
    (DataArguments, {"encoding": "nothing"}, "--encoding nothing: unknown"),
    (TaggedDataArguments, {"train_file": "a", "encoding": "nothing"}, "--encoding nothing: unknown"),
    *((DataArguments, {"delimiter": wrong}, "must be one character") for wrong in ("", ";;", '"', "x", "\n")),
    *((DataArguments, {"label_map": [pair]}, "source=target") for pair in ("a", "=a", "a= ", "a=b=c")),
    (DataArguments, {"label_map": ["none.csv"]}, "none.csv: file not found"),
    (DataArguments, {"label_map": ["a=b", "a=c"]}, "'a' is already read as 'b'"),
    (TranslationDataArguments, FILES | {"source_column": "a"}, "must be given together"),
    (TranslationDataArguments, FILES | {"source_column": "a", "target_column": "a"}, "and differ"),
    (DocumentArguments, {}, "exactly one of"),
    (DocumentArguments, FILES | {"data_dir": "b"}, "exactly one of"),
    (DocumentArguments, {"data_dir": "b", "validation_file": ["c"]}, "--validation_file requires --train_file"),
    (DocumentArguments, {"data_dir": "b", "validation_fraction": 0.0}, "--validation_fraction 0.0"),
    (DocumentArguments, {"data_dir": "b", "max_validation_documents": 0}, "--max_validation_documents 0"),
]


@pytest.mark.parametrize(("kind", "arguments", "message"), OWN, ids=range(len(OWN)))
def test_options_that_do_not_fit_are_refused(kind: type, arguments: dict, message: str) -> None:
    with fault(message):
        kind(**arguments)
