# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program that trains a tokenizer: what it reads, what it saves, and how it refuses."""

import resource
import signal
from functools import partial

import pytest
import train_tokenizer
from text_samples import write
from transformers import AutoTokenizer

from tokenization import train_bpe_tokenizer, train_wordlevel_tokenizer

TEXTS = [f"review {number} of a fine film, né {number % 5}" for number in range(60)]
LABELS = [number % 2 for number in range(60)]


def write_data(path):
    """With another name of the column of texts where nothing else could be it."""
    if path.suffix == ".txt":
        path.write_text("".join(f"{text}\r\n" for text in TEXTS), encoding="utf-8-sig")
    else:
        write(path, {"body" if path.suffix == ".parquet" else "text": TEXTS, "label": LABELS})
    return path


def run(*arguments):
    train_tokenizer.main(["--no_show_progress", "--vocab_size", "300", *map(str, arguments)])


def refused(capsys, *arguments):
    """The one line that the program says before it ends with exit code 2."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as error:
        run(*arguments)
    captured = capsys.readouterr()
    assert (error.value.code, captured.out, captured.err.count("\n")) == (2, "", 1)
    return captured.err


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def saved(tmp_path):
    train_bpe_tokenizer(TEXTS, 300, show_progress=False).save_pretrained(tmp_path / "expected")
    return contents(tmp_path / "expected")


@pytest.mark.parametrize("suffix", ["txt", "csv", "tsv", "jsonl", "parquet"])
def test_every_format_gives_the_tokenizer_of_its_texts(suffix, tmp_path, saved):
    data = write_data(tmp_path / f"data.{suffix}")
    run("--train_file", data, "--output_dir", tmp_path / "new" / "out")
    assert contents(tmp_path / "new" / "out") == saved
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]


def test_a_table_without_a_header_is_read_whole(tmp_path, saved):
    (tmp_path / "data.csv").write_text("".join(f'"{text}"\n' for text in TEXTS), encoding="utf-8")
    run("--train_file", tmp_path / "data.csv", "--no_header", "--output_dir", tmp_path / "out")
    assert contents(tmp_path / "out") == saved


@pytest.mark.parametrize("option", ["--data_dir", "--dataset_name"])
def test_only_the_train_split_of_a_folder_or_data_set_is_read(option, tmp_path, saved, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    write(tmp_path / "data" / "test.parquet", {"label": [1], "body": ["zzz zzz zzz"]})
    write_data(tmp_path / "data" / "train.parquet")
    run(option, tmp_path / "data", "--output_dir", tmp_path / "out")
    assert contents(tmp_path / "out") == saved


def test_several_files_and_columns_are_read(tmp_path):
    first = write(tmp_path / "a.parquet", {"de": ["ein Hund"], "en": ["a dog"], "id": ["x7"]})
    second = write(tmp_path / "b.parquet", {"de": ["eine Katze"], "en": [None], "id": ["x8"]})
    options = ["--text_column", "de", "en", "--kind", "wordlevel", "--style", "marian"]
    run("--train_file", first, second, *options, "--output_dir", tmp_path / "out")
    vocabulary = AutoTokenizer.from_pretrained(tmp_path / "out").get_vocab()
    assert set(vocabulary) == {"<pad>", "</s>", "<unk>", "ein", "eine", "Hund", "Katze", "a", "dog"}


@pytest.mark.parametrize(
    ("kind", "train"),
    [
        ("byte_bpe", train_bpe_tokenizer),
        ("bpe", partial(train_bpe_tokenizer, byte_level=False)),
        ("wordlevel", train_wordlevel_tokenizer),
    ],
)
def test_options_arrive(kind, train, tmp_path, capsys):
    data = write_data(tmp_path / "data.txt")
    options = "--style bart --lowercase --min_frequency 3 --max_length 9 --padding_side left --token_type_ids --kind"
    run("--train_file", data, *options.split(), kind, "--output_dir", tmp_path / "out")
    expected = train(
        TEXTS, 300, style="bart", lowercase=True, min_frequency=3, model_max_length=9, padding_side="left",
        token_type_ids=True, show_progress=False,
    )  # fmt: skip
    expected.save_pretrained(tmp_path / "expected")
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")
    told = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert told["vocabulary"] == f"{len(expected)} tokens"
    assert told["load"] == f"AutoTokenizer.from_pretrained({str(tmp_path / 'out')!r})"


def test_a_tokenizer_is_replaced_only_when_asked_to_and_other_files_never(tmp_path, capsys):
    data, out = write_data(tmp_path / "data.txt"), tmp_path / "out"
    arguments = ["--train_file", data, "--output_dir", out]
    run(*arguments)
    first = contents(out)
    assert "--overwrite" in refused(capsys, *arguments)
    assert contents(out) == first
    run(*arguments, "--overwrite", "--lowercase")
    assert contents(out) != first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.txt", "out"]
    (out / "thesis.doc").write_text("mine")
    assert "thesis.doc" in refused(capsys, *arguments, "--overwrite")
    assert (out / "thesis.doc").read_text() == "mine"
    assert "is a file" in refused(capsys, *arguments[:2], "--output_dir", data)
    assert "data.txt" in refused(capsys, *arguments[:2], "--output_dir", data / "out" / "deep")


FAULTS = {
    "latin.txt, line 2, character 3": "--train_file latin.txt",
    "no words": "--train_file empty.txt",
    "missing.txt: file not found": "--train_file missing.txt",
    "--text_column": "--train_file two.jsonl",
    "'fr'": "--train_file two.jsonl --text_column fr",
    "folder not found": "--data_dir nowhere",
    "exactly one of": "--data_dir . --train_file data.txt",
    "at least 261": "--train_file data.txt --vocab_size 20",
    "invalid choice: 'xml'": "--train_file data.txt --kind xml",
    "unrecognized arguments: --sizes 3": "--train_file data.txt --sizes 3",
}


def test_a_disk_without_room_is_one_line_and_keeps_the_old_tokenizer(tmp_path, capsys):
    arguments = ["--train_file", write_data(tmp_path / "data.txt"), "--output_dir", tmp_path / "out"]
    run(*arguments)
    before, limits = contents(tmp_path / "out"), resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
        message = refused(capsys, *arguments, "--overwrite")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert "cannot be written" in message
    assert contents(tmp_path / "out") == before


def test_faults_are_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data.txt")
    (tmp_path / "latin.txt").write_bytes("fine\ncafé\n".encode("latin-1"))
    (tmp_path / "empty.txt").write_text("")
    write(tmp_path / "two.jsonl", {"de": ["ein Hund"], "en": ["a dog"]})
    for message, arguments in FAULTS.items():
        assert message in refused(capsys, *arguments.split(), "--output_dir", "out")
    assert "required: --output_dir" in refused(capsys, "--train_file", "data.txt")
    assert not (tmp_path / "out").exists()
