# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pairs come in whole from tables and from pairs of files, and what is wrong with them is said with its place."""

from pathlib import Path
from typing import Any

import datasets
import pytest
from text_samples import WRITERS, fault, write

from modeling_scratch.data.translation_pairs import TranslationData, TranslationDataArguments, load_pairs

EN = [f"a dog number {n}" for n in range(40)]
DE = [f"ein Hund Nummer {n}" for n in range(40)]
PAIRS = list(zip(EN, DE))


def load(**arguments: Any) -> TranslationData:
    return load_pairs(TranslationDataArguments(**arguments))


def write_lines(path: Path, lines: list[str], ending: str = "\n") -> str:
    path.write_text("".join(line + ending for line in lines), encoding="utf-8", newline="")
    return str(path)


@pytest.mark.parametrize("suffix", WRITERS)
def test_reads_two_columns_of_any_table(tmp_path: Path, suffix: str) -> None:
    for split in ("train", "validation", "test"):
        write(tmp_path / f"{split}{suffix}", {"id": list(range(40)), "en": EN, "de": DE})
    data = load(data_dir=str(tmp_path), source_column="de", target_column="en")
    assert data.splits == {split: [(de, en) for en, de in PAIRS] for split in ("train", "validation", "test")}
    assert data.sources("test") == DE
    assert data.targets("test") == EN


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_reads_two_files_line_by_line(tmp_path: Path, ending: str) -> None:
    for name, lines in (("en", EN), ("de", DE)):
        for split in ("train", "dev"):
            write_lines(tmp_path / f"{split}.{name}", lines, ending)
    folder = load(data_dir=str(tmp_path), source_column="en", target_column="de")
    files = load(
        train_file=[str(tmp_path / f"train.{name}") for name in ("en", "de")],
        validation_file=[str(tmp_path / f"dev.{name}") for name in ("en", "de")],
    )
    assert folder.splits == files.splits == {"train": PAIRS, "validation": PAIRS}


def test_reads_the_nested_column_of_the_hubs_parallel_sets(tmp_path: Path) -> None:
    rows = [{"id": n, "translation": {"en": en, "de": de}} for n, (en, de) in enumerate(PAIRS)]
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "train.parquet")
    data = load(dataset_name=str(tmp_path), source_column="en", target_column="de", validation_fraction=0.25)
    assert sorted(data.splits["train"] + data.splits["validation"]) == sorted(PAIRS)


def test_validation_is_held_out_by_source_so_that_none_leaks(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.csv", {"en": EN * 3, "de": [f"{de} {n}" for n in range(3) for de in DE]})
    data = load(train_file=[str(path)], validation_fraction=0.2)
    assert not set(data.sources("train")) & set(data.sources("validation"))
    assert len(data.splits["validation"]) == 3 * 8
    assert len(data.splits["train"]) == 3 * 32
    assert "source column: 'en', target column: 'de'" in data.describe()


def test_a_pair_that_lacks_a_side_is_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "train.jsonl", {"en": [*EN, "  ", "alone"], "de": [*DE, "allein", None]})
    data = load(train_file=[str(path)], validation_file=[str(path)])
    assert data.splits["train"] == PAIRS
    assert (
        "train: 2 pairs without both sides were dropped, first train.jsonl, row 41; train.jsonl, row 42" in data.notes
    )
    assert any("40 of its 40 sources also occur in train" in note for note in data.notes)


def test_files_of_different_length_are_refused_with_both_counts(tmp_path: Path) -> None:
    names = [write_lines(tmp_path / "a.en", EN), write_lines(tmp_path / "a.de", DE[:-1])]
    with fault("a.en has 40 lines", "a.de has 39 lines", "one translation per line"):
        load(train_file=names)


def test_faults_name_what_is_wrong(tmp_path: Path) -> None:
    table = str(write(tmp_path / "t.csv", {"id": EN, "english": EN, "german": DE}))
    with fault("t.csv", "'englisch'", "did you mean 'english'?"):
        load(train_file=[table], source_column="englisch", target_column="german")
    with fault("ambiguous columns id, english, german"):
        load(train_file=[table])
    with fault("must be given together"):
        load(train_file=[table], source_column="english")
    with fault("give one of --data_dir, --train_file"):
        load()
    with fault("--data_dir and --train_file are mutually exclusive"):
        load(train_file=[table], data_dir=str(tmp_path))
    for name in ("max_train_samples", "max_eval_samples"):
        for limit in (-150, 0):
            with fault(f"--{name} {limit}", "at least 1"):
                load(train_file=[table], **{name: limit})
    with fault("--validation_fraction -3", "between 0 and 0.5"):
        load(train_file=[table], validation_fraction=-3)
    with fault("both 'english'"):
        load(train_file=[table], source_column="english", target_column="english")
    with fault("file not found"):
        load(train_file=[str(tmp_path / "x.en"), str(tmp_path / "x.de")])
    with fault("have the same suffix"):
        load(train_file=[str(tmp_path / "x.txt"), str(tmp_path / "y.txt")])
    with fault("one table", "or two text files"):
        load(train_file=[write_lines(tmp_path / "one.en", EN)])
    write_lines(tmp_path / "train.en", EN)
    with fault("train.de is missing"):
        load(data_dir=str(tmp_path), source_column="en", target_column="de")
    blank = [write_lines(tmp_path / "blank.en", []), write_lines(tmp_path / "blank.de", [])]
    with fault("blank.en and", "contains no pairs"):
        load(train_file=blank)
    with fault("t.csv", "give one table", "or two text files"):
        load(train_file=[table, str(tmp_path / "t.tsv")])
    numbers = str(write(tmp_path / "n.jsonl", {"en": EN, "de": list(range(40))}))
    with fault("row 1, column 'de'", "int '0' is not text"):
        load(train_file=[numbers])
    empty = str(write(tmp_path / "e.csv", {"en": EN, "de": [" "] * 40}))
    with fault("no pair has text on both sides"):
        load(train_file=[empty])
    (tmp_path / "bad.en").write_bytes(b"fine\n\xff\xfe\n")
    with fault("bad.en, line 2, byte 0", "UTF-8"):
        load(train_file=[str(tmp_path / "bad.en"), write_lines(tmp_path / "bad.de", DE[:2])])


def test_what_files_of_lines_in_a_folder_leave_open_is_asked(tmp_path: Path) -> None:
    for ending, lines in (("en", EN), ("de", DE)):
        write_lines(tmp_path / f"train.{ending}", lines)
    with fault("ambiguous files train.de, train.en", "--source_column and --target_column"):
        load(data_dir=str(tmp_path))
    with fault("ambiguous files train.de, train.en"):
        load(data_dir=str(tmp_path), source_column="english", target_column="german")
    for split in ("dev", "val"):
        for ending, lines in (("en", EN), ("de", DE)):
            write_lines(tmp_path / f"{split}.{ending}", lines)
    with fault("dev.en", "val.en", "both are candidates for the validation split"):
        load(data_dir=str(tmp_path), source_column="en", target_column="de")
    write(tmp_path / "train-00000-of-00001.csv", {"en": EN, "de": DE})
    assert set(load(data_dir=str(tmp_path)).splits["train"]) < set(PAIRS)


def test_the_seed_decides_which_sources_are_held_out(tmp_path: Path) -> None:
    path = write(tmp_path / "train.csv", {"en": [f"a {number}" for number in range(50)], "de": ["ein"] * 50})
    held = [
        load_pairs(TranslationDataArguments(train_file=[str(path)], validation_fraction=0.2, split_seed=seed))
        for seed in (0, 0, 1)
    ]
    first, again, other = (data.sources("validation") for data in held)
    assert first == again != other
