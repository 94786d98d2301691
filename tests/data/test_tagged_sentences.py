# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labelled words from CoNLL files and tables: what is read, how it is divided, and the errors of broken files."""

import gzip
from pathlib import Path
from typing import Any

import datasets
import pytest
from text_samples import fault, write
from toy_names import sentences, write_conll

from modeling_scratch.data.tagged_sentences import TaggedData, TaggedDataArguments, load_tagged

WORDS = ["Anna", "Berg", "lives", "in", "Berg", "."]
LABELS = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]


def load(train: Path, **arguments: Any) -> TaggedData:
    return load_tagged(TaggedDataArguments(train_file=str(train), **arguments))


def read(path: Path, text: str, **arguments: Any) -> TaggedData:
    """The file as train, validation and test."""
    path.write_text(text, encoding="utf-8")
    return load(path, validation_file=str(path), test_file=str(path), **arguments)


def conll(words: list[str], labels: list[str], between: str = " ") -> str:
    return "".join(f"{word}{between}{label}\n" for word, label in zip(words, labels))


def test_a_conll_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    data = load(write_conll(tmp_path / "train.conll", 30, 0), validation_fraction=0.2)
    found = [row for rows in data.splits.values() for row in rows]
    written = [(tuple(word for word, _ in one), tuple(label for _, label in one)) for one in sentences(30, 0)]
    assert sorted((row.words, row.labels) for row in found) == sorted(written)
    assert data.label_names == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    assert data.are_entities
    texts = [set(data.texts(split)) for split in ("train", "validation", "test")]
    assert all(texts)
    assert sum(map(len, texts)) == len(set.union(*texts))  # equal sentences stay together


def test_columns_are_chosen_by_index_and_what_is_read_as_classes_is_told(tmp_path: Path) -> None:
    for label in ("1", "-3"):
        data = load(write_conll(tmp_path / "train.conll", 30, 0), word_column="0", label_column=label)
        assert data.label_names == ["ADP", "DET", "PUNCT", "X"]
    numbered = [f"{number} {word} {label}" for number, (word, label) in enumerate(zip(WORDS, LABELS), 1)]
    assert read(tmp_path / "numbered.conll", "\n".join(numbered)).splits["test"][0].words == tuple(WORDS)
    for labels in (["PER", "PER", *"OOOO"], ["b-PER", *"oooLo"], ["E-MAIL", "NAME", *"OOOO"], list("122300")):
        told = read(tmp_path / "a.txt", conll(WORDS, labels)).describe()
        assert "classes of words (of entities: O, and B- or I-" in told


def test_all_formats_give_the_same_sentences(tmp_path: Path) -> None:
    rows = {"tokens": [WORDS, ["Hm", "Anna"]], "ner_tags": [LABELS, ["O", "B-PER"]]}
    text = "\n".join(conll(*pair, between="\t") for pair in zip(*rows.values()))
    names = ["O", "B-PER", "I-PER", "B-LOC"]
    of_words = {"tokens": datasets.Value("string"), "ner_tags": datasets.ClassLabel(names=names)}
    features = datasets.Features({name: datasets.List(kind) for name, kind in of_words.items()})
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "train.parquet")
    (tmp_path / "train.bio").write_text(text, encoding="utf-8")
    (tmp_path / "crlf.conll").write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    (tmp_path / "train.tsv").write_text(text, encoding="utf-8")
    (tmp_path / "packed.conll.gz").write_bytes(gzip.compress(text.encode()))
    files = [tmp_path / name for name in ("train.bio", "crlf.conll", "packed.conll.gz", "train.tsv", "train.parquet")]
    files.append(write(tmp_path / "train.jsonl", {"words": rows["tokens"], "labels": rows["ner_tags"]}))
    loaded = [load(path, validation_file=str(path)) for path in files]
    for data in loaded:
        assert [(list(row.words), list(row.labels)) for row in data.splits["train"]] == list(zip(*rows.values()))
        assert data.label_names == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
        assert data.digests() == loaded[0].digests()
        assert any("2 of its 2 sentences also occur in train" in note for note in data.notes)


def test_what_is_no_word_is_skipped(tmp_path: Path) -> None:
    """A comment, a contraction of two words, and an empty node of Universal Dependencies; other comments."""
    ids = ["1-2", "1", "2", "2.1", "3"]
    forms, tags = ["zum", "zu", "dem", "x", "Haus"], ["_", "ADP", "DET", "X", "NOUN"]
    lines = ["\t".join([number, form, "_", tag, *"______"]) for number, form, tag in zip(ids, forms, tags)]
    text = "\n".join(["# text = zum Haus", *lines, "", ""])
    for column, labels in ((None, ("ADP", "DET", "NOUN")), ("ID", ("1", "2", "3"))):
        (sentence,) = read(tmp_path / "train.conllu", text, label_column=column).splits["train"]
        assert (sentence.words, sentence.labels) == (("zu", "dem", "Haus"), labels)
    text = f"-DOCSTART- -X-\n\n# id 1 of 2\n{conll(WORDS, LABELS)}\n# id 2 of 2\n# O\nAnna B-PER\n"
    first, second = read(tmp_path / "train.conll", text).splits["train"]
    assert (first.words, second.words) == (tuple(WORDS), ("#", "Anna"))


@pytest.mark.parametrize(
    "labels",
    [
        ["B-PER", "E-PER", "O", "O", "S-LOC", "O", "B-ORG", "I-ORG", "E-ORG"],
        ["B-PER", "L-PER", "O", "O", "U-LOC", "O", "B-ORG", "I-ORG", "L-ORG"],
        ["B-PER", "E-PER", "O", "O", "W-LOC", "O", "B-ORG", "M-ORG", "E-ORG"],
        ["I-PER", "I-PER", "O", "O", "I-LOC", "O", "I-ORG", "I-ORG", "I-ORG"],  # IOB1, as in CoNLL 2003
    ],
)
def test_other_schemes_mark_the_same_entities(tmp_path: Path, labels: list[str]) -> None:
    text = f"{conll([*WORDS, 'a', 'b', 'c'], labels)}\nAnna I-PER\nBerg B-PER\nOslo I-LOC\n"
    data = read(tmp_path / "train.iob", text)
    assert list(data.splits["test"][0].labels) == [*LABELS, "B-ORG", "I-ORG", "I-ORG"]
    assert data.splits["test"][1].labels == ("B-PER", "B-PER", "B-LOC"), "neighbours are two entities"
    assert any("labels read as those of BIO, first train.iob, sentence of line 1, word" in note for note in data.notes)


@pytest.mark.parametrize(("slip", "times"), [("0", 1), ("NER", 1), ("b-PER", 1), ("1", 40)])
def test_slips_among_entities_are_named_with_the_line(tmp_path: Path, slip: str, times: int) -> None:
    """They can be many: comments before short sentences with as many columns as words have."""
    text = f"{conll(WORDS, LABELS)}\n" * 9
    with fault(f"train.conll, sentence of line 64, word 1: the label {slip!r} is neither O nor B- or I-"):
        read(tmp_path / "train.conll", text + f"# {slip}\nword O\n\n" * times)


def test_labels_that_train_lacks_are_reported_and_kept(tmp_path: Path) -> None:
    for name, label in (("train", "B-LOC"), ("more", "B-ORG")):
        (tmp_path / f"{name}.conll").write_text(conll(WORDS, [*LABELS[:4], label, "O"]))
    data = load(tmp_path / "train.conll", validation_file=str(tmp_path / "more.conll"))
    assert ("B-ORG" in data.label_names, data.splits["validation"][0].labels[4]) == (False, "B-ORG")
    assert "validation: labels that do not occur in train count as errors: B-ORG 1" in data.notes


FAULTS = {  # of JSON lines, and of CoNLL
    '{"tokens": ["a"], "labels": ["O", "O"]}': "row 1: 1 words, but 2 labels",
    '{"tokens": ["a", " "], "labels": ["O", "O"]}': "word 2, column 'tokens': ' ' is empty",
    '{"tokens": ["a", "b"], "labels": ["O", null]}': "word 2, column 'labels': None is empty or not text",
    '{"tokens": "a b", "labels": "O O"}': "column 'tokens': str, but expected a list",
    '{"tokens": ["a"], "labels": ["O"], "tags": ["O"]}': "labels and tags could be the labels",
    '{"tokens": ["a"], "label": ["O"]}': "no column 'labels'",
    '{"tokens": [], "labels": []}': "the train split has no words",
    "a O\nb\n": "line 2: 1 columns, but the first line has 2",
    "a O\nb\t\n": "line 1, word 2, column '1': '' is empty or not text",
    "a\nb\n": "line 1: column 0 cannot be both the word and the label",
    "a O\nb O\n": "line 1, word 1: all words of the train split have one label, 'O'",
    "": "the train split has no words",
}


@pytest.mark.parametrize(("text", "told"), FAULTS.items(), ids=range(len(FAULTS)))
def test_what_cannot_be_read_is_named_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    name = "train.jsonl" if text.startswith("{") else "train.conll"
    with fault(name, told):
        read(tmp_path / name, text)


def test_wrong_options_are_errors(tmp_path: Path) -> None:
    path = write_conll(tmp_path / "train.conll", 30, 0)
    with fault("--label_column 7", "line 3", "'0', '1', '2', '3'"):
        load(path, label_column="7")
    with fault("--label_column UPOS"):
        load(path, label_column="UPOS")
    (tmp_path / "train.csv").touch()
    with fault("train.csv: unknown format", ".tsv"):
        load(tmp_path / "train.csv")
    (latin := tmp_path / "latin.conll").write_bytes("Jörg B-PER\nging O\n".encode("latin-1"))
    with fault("latin.conll", "line 1", "not valid UTF-8"):
        load(latin)
    data = load(latin, validation_file=str(latin), encoding="latin-1")
    assert data.splits["train"][0].words == ("Jörg", "ging")
