# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program that trains a tokenizer: what it reads, what it saves, and how it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import train_tokenizer
from text_samples import write
from transformers import AutoTokenizer

from modeling_scratch.training import tokenizer as train_tokenizer_room
from tokenization import train_bpe_tokenizer, train_wordlevel_tokenizer

TEXTS = [f"review {number} of a fine film, né {number % 5}" for number in range(60)]
LABELS = [number % 2 for number in range(60)]


def write_txt(path):
    path.write_text("".join(f"{text}\r\n" for text in TEXTS), encoding="utf-8-sig")


def write_table(path):
    """With another name of the column of texts where nothing else could be it."""
    write(path, {"body" if path.suffix == ".parquet" else "text": TEXTS, "label": LABELS})


WRITERS = {"txt": write_txt, **dict.fromkeys(("csv", "tsv", "jsonl", "parquet"), write_table)}


def run(*arguments):
    train_tokenizer.main(["--no_show_progress", "--vocab_size", "300", *map(str, arguments)])


def refused(capsys, *arguments):
    """The one line that the program says before it ends with exit code 2."""
    with pytest.raises(SystemExit) as error:
        run(*arguments)
    captured = capsys.readouterr()
    assert error.value.code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def saved(tmp_path):
    train_bpe_tokenizer(TEXTS, 300, show_progress=False).save_pretrained(tmp_path / "expected")
    return contents(tmp_path / "expected")


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_the_tokenizer_of_its_texts(suffix, tmp_path, saved):
    WRITERS[suffix](tmp_path / f"data.{suffix}")
    run("--train_file", tmp_path / f"data.{suffix}", "--output_dir", tmp_path / "new" / "out")
    assert contents(tmp_path / "new" / "out") == saved
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]


@pytest.mark.parametrize("option", ["--data_dir", "--dataset_name"])
def test_only_the_train_split_of_a_folder_or_data_set_is_read(option, tmp_path, saved, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "data").mkdir()
    write_table(tmp_path / "data" / "train.parquet")
    pq.write_table(pa.table({"label": [1], "body": ["zzz zzz zzz"]}), tmp_path / "data" / "test.parquet")
    run(option, tmp_path / "data", "--output_dir", tmp_path / "out")
    assert contents(tmp_path / "out") == saved


def test_several_files_and_columns_are_read(tmp_path):
    pq.write_table(pa.table({"de": ["ein Hund"], "en": ["a dog"], "id": ["x7"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"de": ["eine Katze"], "en": [None], "id": ["x8"]}), tmp_path / "b.parquet")
    files = ["--train_file", tmp_path / "a.parquet", tmp_path / "b.parquet", "--text_column", "de", "en"]
    run(*files, "--kind", "wordlevel", "--style", "marian", "--output_dir", tmp_path / "out")
    vocabulary = AutoTokenizer.from_pretrained(tmp_path / "out").get_vocab()
    assert set(vocabulary) == {"<pad>", "</s>", "<unk>", "ein", "eine", "Hund", "Katze", "a", "dog"}


@pytest.mark.parametrize(
    ("kind", "train"),
    [
        ("byte_bpe", train_bpe_tokenizer),
        ("bpe", lambda *arguments, **options: train_bpe_tokenizer(*arguments, byte_level=False, **options)),
        ("wordlevel", train_wordlevel_tokenizer),
    ],
)
def test_options_arrive(kind, train, tmp_path):
    write_txt(tmp_path / "data.txt")
    options = ["--style", "bart", "--lowercase", "--min_frequency", 3, "--max_length", 9, "--padding_side", "left"]
    options += ["--token_type_ids", "--kind", kind, "--output_dir", tmp_path / "o"]
    run("--train_file", tmp_path / "data.txt", *options)
    expected = train(
        TEXTS, 300, style="bart", lowercase=True, min_frequency=3, model_max_length=9, padding_side="left",
        token_type_ids=True, show_progress=False,
    )  # fmt: skip
    expected.save_pretrained(tmp_path / "expected")
    assert contents(tmp_path / "o") == contents(tmp_path / "expected")


@pytest.mark.slow
def test_program_reports_on_a_tokenizer_that_it_says_how_to_load(tmp_path):
    write_txt(tmp_path / "data.txt")
    script = Path(train_tokenizer.__file__)
    arguments = ["--train_file", "data.txt", "--kind", "wordlevel", "--vocab_size", "10", "--output_dir", "out"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, script, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert lines["vocabulary"] == "10 tokens"
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    ids = [number for text in TEXTS for number in tokenizer(text, add_special_tokens=False)["input_ids"]]
    unknown = ids.count(tokenizer.unk_token_id) / len(ids)
    assert lines["tokens per text"].startswith(
        f"{len(ids) / 60:.1f} on average, {unknown:.2%} of them unknown (60 of 60"
    )
    assert lines["load"] == "AutoTokenizer.from_pretrained('out')"
    assert "60 texts" in done.stderr


def test_a_sample_is_bounded_and_leaves_the_stream_alone():
    sample = train_tokenizer_room.Sample()
    stream = [str(number) for number in range(5_000)]
    assert list(sample.watch(iter(stream))) == stream
    assert sample.count == 5_000
    assert len(set(sample.texts)) == len(sample.texts) == train_tokenizer_room.SAMPLE_TEXTS
    assert 2_000 < sum(map(int, sample.texts)) / len(sample.texts) < 3_000


def test_a_tokenizer_is_replaced_only_when_asked_to_and_other_files_never(tmp_path, capsys):
    write_txt(tmp_path / "data.txt")
    out = tmp_path / "out"
    arguments = ["--train_file", tmp_path / "data.txt", "--output_dir", out]
    out.mkdir()
    run(*arguments)
    first = contents(out)
    capsys.readouterr()
    assert "--overwrite" in refused(capsys, *arguments)
    assert contents(out) == first
    run(*arguments, "--overwrite", "--lowercase")
    assert contents(out) != first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.txt", "out"]
    (out / "thesis.doc").write_text("mine")
    capsys.readouterr()
    assert "thesis.doc" in refused(capsys, *arguments, "--overwrite")
    assert (out / "thesis.doc").read_text() == "mine"
    assert "is a file" in refused(capsys, *arguments[:2], "--output_dir", tmp_path / "data.txt")
    assert "data.txt" in refused(capsys, *arguments[:2], "--output_dir", tmp_path / "data.txt" / "out" / "deep")


def test_faults_are_one_line(tmp_path, capsys):
    write_txt(tmp_path / "data.txt")
    (tmp_path / "latin.txt").write_bytes("fine\ncafé\n".encode("latin-1"))
    (tmp_path / "empty.txt").write_text("")
    pq.write_table(pa.table({"de": ["ein Hund"], "en": ["a dog"]}), tmp_path / "two.parquet")
    output = ["--output_dir", tmp_path / "out"]
    faults = {
        "latin.txt, line 2, byte 3": ["--train_file", tmp_path / "latin.txt"],
        "no words": ["--train_file", tmp_path / "empty.txt"],
        "missing.txt: cannot be read: No such file": ["--train_file", tmp_path / "missing.txt"],
        "--text_column": ["--train_file", tmp_path / "two.parquet"],
        "'fr'": ["--train_file", tmp_path / "two.parquet", "--text_column", "fr"],
        "folder not found": ["--data_dir", tmp_path / "nowhere"],
        "exactly one of": ["--data_dir", tmp_path, "--train_file", tmp_path / "data.txt"],
        "at least 261": ["--train_file", tmp_path / "data.txt", "--vocab_size", "20"],
        "invalid choice: 'xml'": ["--train_file", tmp_path / "data.txt", "--kind", "xml"],
        "unrecognized arguments: --sizes 3": ["--train_file", tmp_path / "data.txt", "--sizes", "3"],
    }
    for message, arguments in faults.items():
        assert message in refused(capsys, *arguments, *output)
    assert "required: --output_dir" in refused(capsys, "--train_file", tmp_path / "data.txt")
    assert not (tmp_path / "out").exists()
