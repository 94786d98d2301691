# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pairs come in whole from tables and from pairs of files, and what is wrong with them is said with its place."""

from itertools import chain
from pathlib import Path
from typing import Any

import datasets
import pytest
from text_samples import WRITERS, fault, write

from modeling_scratch.data.translation_pairs import TranslationData, TranslationDataArguments, load_pairs

EN = [f"a dog number {n}" for n in range(40)]
DE = [f"ein Hund Nummer {n}" for n in range(40)]
PAIRS = list(zip(EN, DE))
TABLE, AB = "id,english,german\n1,a dog,ein Hund\n", ["a.en", "a.de"]


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
    assert (data.sources("test"), data.targets("test")) == (DE, EN)
    path = write(tmp_path / f"pairs{suffix}", {"id": list(range(40)), "target": DE, "source": EN})
    assert load(train_file=[str(path)]).columns == ("source", "target")


def test_reads_the_nested_column_of_the_hubs_parallel_sets(tmp_path: Path) -> None:
    rows = [{"id": n, "translation": {"en": en, "de": de}} for n, (en, de) in enumerate(PAIRS)]
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "train.parquet")
    data = load(dataset_name=str(tmp_path), source_column="en", target_column="de", validation_fraction=0.25)
    assert sorted(data.splits["train"] + data.splits["validation"]) == sorted(PAIRS)


def test_reads_two_files_line_by_line(tmp_path: Path) -> None:
    for name, lines in (("en", EN), ("de", DE)):
        for split, ending in (("train", "\n"), ("dev", "\r\n")):
            write_lines(tmp_path / f"{split}.{name}", lines, ending)
    files = {split: [str(tmp_path / f"{split}.{name}") for name in ("en", "de")] for split in ("train", "dev")}
    folder = load(data_dir=str(tmp_path), source_column="en", target_column="de")
    named = load(train_file=files["train"], validation_file=files["dev"])
    assert folder.splits == named.splits == {"train": PAIRS, "validation": PAIRS}


def test_validation_is_held_out_by_source_and_samples_are_said(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.csv", {"en": EN * 3, "de": [f"{de} {n}" for n in range(3) for de in DE]})
    options = {"train_file": [str(path)], "validation_fraction": 0.2}
    data, again, other = (load(**options, split_seed=seed) for seed in (0, 0, 1))
    assert not set(data.sources("train")) & set(data.sources("validation"))
    assert [len(data.splits[split]) for split in ("train", "validation")] == [3 * 32, 3 * 8]
    assert data.sources("validation") == again.sources("validation") != other.sources("validation")
    assert "source column: 'en', target column: 'de'" in data.describe()
    assert "train: 9 of 96 pairs used" in load(**options, max_train_samples=9).describe()


def test_a_pair_that_lacks_a_side_is_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "train.jsonl", {"en": [*EN, "  ", "alone"], "de": [*DE, "allein", None]})
    data = load(train_file=[str(path)], validation_file=[str(path)])
    assert data.splits["train"] == PAIRS
    assert "train: dropped 2 pairs without both sides, first train.jsonl, row 41; train.jsonl, row 42" in data.notes
    assert any("40 of its 40 sources also occur in train" in note for note in data.notes)


BOTH = {"source_column": "english", "target_column": "german"}
FAULTS: dict[str, tuple[dict[str, str], list[str], dict[str, str]]] = {
    "did you mean 'english'?": ({"t.csv": TABLE}, ["t.csv"], BOTH | {"source_column": "englisch"}),
    "ambiguous columns id, english, german": ({"t.csv": TABLE}, ["t.csv"], {}),
    "give one table (.csv": ({}, ["t.csv", "t.tsv"], {}),
    "x.en: file not found": ({}, ["x.en", "x.de"], {}),
    "whose suffixes name the languages": ({}, ["x.txt", "y.txt"], {}),
    "or two text files": ({}, ["one.en"], {}),
    "a.de has 2 lines: the two files must have one translation per line": (
        {"a.en": "x\n" * 3, "a.de": "y\n" * 2},
        AB,
        {},
    ),
    "contains no pairs": ({"a.en": "", "a.de": ""}, AB, {}),
    "a.en, line 2, character 0: not valid UTF-8": ({"a.en": "fine\n\xff\xfe\n", "a.de": "y\n" * 2}, AB, {}),
    "no pair has text on both sides": ({"a.en": "x\n", "a.de": " \n"}, AB, {}),
}


@pytest.mark.parametrize("told", FAULTS)
def test_files_that_do_not_fit_or_have_no_pairs_are_refused(tmp_path: Path, told: str) -> None:
    contents, names, options = FAULTS[told]
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="latin-1")
    with fault(told):
        load(train_file=[str(tmp_path / name) for name in names], **options)


def test_what_files_of_lines_in_a_folder_leave_open_is_asked(tmp_path: Path) -> None:
    columns = {"data_dir": str(tmp_path), "source_column": "en", "target_column": "de"}
    write_lines(tmp_path / "train.en", EN)
    with fault("train.de: file not found"):
        load(**columns)
    write_lines(tmp_path / "train.de", DE)
    for options in ({}, {"source_column": "english", "target_column": "german"}):
        with fault("ambiguous files train.de, train.en", "--source_column and --target_column"):
            load(data_dir=str(tmp_path), **options)
    for split in ("dev", "val"):
        for ending, lines in (("en", EN), ("de", DE)):
            write_lines(tmp_path / f"{split}.{ending}", lines)
    with fault("dev.en", "val.en", "both are candidates for the validation split"):
        load(**columns)
    write(tmp_path / "train-00000-of-00001.csv", {"en": EN, "de": DE})
    assert set(load(data_dir=str(tmp_path)).splits["train"]) < set(PAIRS)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        *(("train.csv", first) for first in [("a man", "ein Mann"), ("Go!", "Los"), ("two dogs", "两只大狗")]),
        ("train.tsv", ("a dog", "ein Hund")),
    ],
)
def test_a_table_without_a_header_keeps_its_first_pair(tmp_path: Path, name: str, first: tuple[str, str]) -> None:
    separator = "," if name == "train.csv" else "\t"
    (tmp_path / name).write_text("\n".join(map(separator.join, [first, *PAIRS])))
    data = load(data_dir=str(tmp_path))
    assert sorted(chain.from_iterable(data.splits.values())) == sorted([first, *PAIRS])
    assert "no header" in data.describe()
    for options in ({"header_row": 1}, {"source_column": first[0], "target_column": first[1]}):
        assert sorted(chain.from_iterable(load(data_dir=str(tmp_path), **options).splits.values())) == sorted(PAIRS)
    (tmp_path / name).write_text("\n".join(map(separator.join, [names := ("中文句子", "英文句子"), *PAIRS])))
    assert load(data_dir=str(tmp_path)).columns == names


def test_tables_and_lines_are_read_as_the_options_say(tmp_path: Path) -> None:
    """Two words could be names of columns, so that nothing is guessed."""
    rows = [f"dog {n}\tHünd {n}\n" for n in range(40)]
    (tmp_path / "bare.tsv").write_text("".join(rows), encoding="cp1252")
    (tmp_path / "titled.csv").write_text("".join(["Pairs\n", "en;de\n", *rows]).replace("\t", ";"), encoding="cp1252")
    (tmp_path / "one.en").write_text("".join(row.split("\t")[0] + "\n" for row in rows))
    (tmp_path / "one.de").write_text("".join(row.split("\t")[1] for row in rows), encoding="cp1252")
    expected = [tuple(row.rstrip().split("\t")) for row in rows]
    for names, options in (
        (["bare.tsv"], {"no_header": True}),
        (["titled.csv"], {"header_row": 2}),
        (["one.en", "one.de"], {}),
    ):
        data = load(train_file=[str(tmp_path / name) for name in names], encoding="cp1252", **options)
        assert sorted(chain.from_iterable(data.splits.values())) == sorted(expected)
