# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""predict.py: the answers of a pipeline, in the order of the input, and nothing half done when something goes wrong."""

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import predict
import pytest
import torch
import transformers
from conftest import redraw
from text_samples import write

from modeling_scratch import ScratchEncoderForMaskedLM, ScratchEncoderForSequenceClassification, presets
from modeling_scratch.inference import classification as predict_room
from tokenization import special_token_ids, train_wordlevel_tokenizer

WORDS = [f"word{number}" for number in range(40)]
LIMIT = 64
PROGRAM = str(Path(predict.__file__))
AWKWARD = ['with "quotes", commas', "two\nlines", "carriage\rreturn", "ünïcödé ☃\u2028", "'", "\ttab"]


def text_of(length: int) -> str:
    """Texts of one length are equal, those of different lengths are not."""
    return " ".join(WORDS[(3 * length + place**2) % len(WORDS)] for place in range(length))


@pytest.fixture(scope="module")
def tokenizer() -> transformers.PreTrainedTokenizerFast:
    return train_wordlevel_tokenizer(WORDS, len(WORDS) + 5, model_max_length=LIMIT, show_progress=False)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Any:
    """A function that saves a tiny random checkpoint with its tokenizer and returns the folder."""

    def save(
        model_class: Any = ScratchEncoderForSequenceClassification, tokenizer: Any = tokenizer, **fields: Any
    ) -> Path:
        folder = tmp_path_factory.mktemp("model")
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        config = presets.tutorial(vocab_size=len(tokenizer), **sizes, **special_token_ids(tokenizer))
        labels = [f"CLASS {number}" for number in range(fields.pop("num_labels", 2))]
        for name, value in {"id2label": dict(enumerate(labels)), **fields}.items():
            setattr(config, name, value)
        model = redraw(model_class(config), std=0.8, biases=False)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return save


@pytest.fixture(scope="module")
def folder(make: Any) -> Path:
    return make()


def run(folder: Path, source: Path | str, output: Path, *options: str) -> list[dict]:
    """The answers in `output`, numbers and nulls of a CSV read back."""
    predict.main(["--model", str(folder), "--input", str(source), "--output", str(output), *options])
    with output.open(encoding="utf-8", newline="") as handle:
        if output.suffix == ".csv":
            return list(csv.DictReader(handle))
        return [json.loads(line) for line in handle]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def lines_to_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def expect_error(capfd: pytest.CaptureFixture, arguments: list[str], *pieces: str) -> None:
    """Exit code 2, and a last line on standard error that has every piece."""
    with pytest.raises(SystemExit) as caught:
        predict.main(arguments)
    assert caught.value.code == 2
    line = capfd.readouterr().err.splitlines()[-1]
    assert "error: " in line
    assert [piece for piece in pieces if piece not in line] == [], line


def test_equals_the_pipeline_one_by_one_in_the_order_of_the_input(folder, tmp_path, monkeypatch, capfd):
    texts = [text_of(length) for length in (3, 90, 1, 62, 7, 30, 63, 2, 55, 2, 100, 12, 1)]
    monkeypatch.setattr(predict_room, "CHUNK_TEXTS", 5)
    answers = run(folder, write(tmp_path / "in.csv", {"text": texts}), tmp_path / "out.jsonl", "--batch_size", "2")
    assert "texts truncated to 64 tokens: 3" in capfd.readouterr().err
    classify = transformers.pipeline("text-classification", str(folder))
    expected = [classify(text, truncation=True)[0] for text in texts]
    assert [answer["row"] for answer in answers] == list(range(1, len(texts) + 1))
    assert [answer["label"] for answer in answers] == [answer["label"] for answer in expected]
    assert [answer["score"] for answer in answers] == pytest.approx([answer["score"] for answer in expected], abs=1e-5)
    assert {answer["label"] for answer in answers} == {"CLASS 0", "CLASS 1"}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".txt", "-"])
def test_every_kind_of_input(folder, tmp_path, monkeypatch, capfd, suffix):
    texts = [text_of(4), " ", text_of(1), 'not "closed', text_of(9), ""]
    source = "-" if suffix == "-" else tmp_path / f"in{suffix}"
    if suffix == ".txt":
        source.write_text("\ufeff" + "\n".join(texts[:-1]) + "\r\n\n", "utf-8")
    elif suffix == "-":
        lines_to_stdin(monkeypatch, "\n".join([*texts, ""]).encode())
    else:
        write(source, {"text": texts, "label": [0, 1, 0, 1, 0, 1]})
    answers = run(folder, source, tmp_path / "out.jsonl", "--with_text")
    assert [answer["row"] for answer in answers] == [1, 2, 3, 4, 5, 6]
    assert [answer["text"] for answer in answers] == [text_of(4), "", text_of(1), 'not "closed', text_of(9), ""]
    assert [answer["label"] is None for answer in answers] == [False, True, False, False, False, True]
    assert [answer["score"] is None for answer in answers] == [False, True, False, False, False, True]
    assert "rows without text, output without label and score: 2" in capfd.readouterr().err


def test_nulls_and_a_file_without_any_text(folder, tmp_path):
    source = write(tmp_path / "in.parquet", {"id": [7, 8, 9], "body": [None, text_of(3), None]})
    answers = run(folder, source, tmp_path / "out.csv", "--text_column", "body")
    assert [(answer["row"], answer["label"] == "", answer["score"] == "") for answer in answers] == [
        ("1", True, True),
        ("2", False, False),
        ("3", True, True),
    ]
    source.with_suffix(".txt").write_text("\n\n")
    answers = run(folder, source.with_suffix(".txt"), tmp_path / "out.jsonl")
    assert answers == [{"row": row, "label": None, "score": None} for row in (1, 2)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_awkward_texts_come_back_as_they_were(folder, tmp_path, suffix):
    source = write(tmp_path / "in.parquet", {"text": AWKWARD})
    answers = run(folder, source, tmp_path / f"out{suffix}", "--with_text")
    assert [answer["text"] for answer in answers] == AWKWARD
    assert [int(answer["row"]) for answer in answers] == list(range(1, len(AWKWARD) + 1))


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_fewer_bits_answer_nearly_alike(folder, tmp_path, precision):
    source = write(tmp_path / "lines.csv", {"text": [text_of(length) for length in range(1, 12)]})
    full = run(folder, source, tmp_path / "full.jsonl")
    reduced = run(folder, source, tmp_path / "reduced.jsonl", "--precision", precision)
    first = [
        [row["score"] if row["label"] == "CLASS 1" else 1 - row["score"] for row in rows] for rows in (full, reduced)
    ]
    assert first[0] != first[1]  # it was computed otherwise
    torch.testing.assert_close(torch.tensor(first[1]), torch.tensor(first[0]), atol=0.1, rtol=0)


def test_standard_output_and_format(folder, tmp_path, capfd):
    source = write(tmp_path / "in.csv", {"text": [text_of(3), "schön"]})
    predict.main(["--model", str(folder), "--input", str(source), "--with_text"])
    first, second = map(json.loads, capfd.readouterr().out.splitlines())
    assert (first["row"], second["row"], second["text"]) == (1, 2, "schön")
    predict.main(["--model", str(folder), "--input", str(source), "--format", "csv"])
    header, *rows = csv.reader(capfd.readouterr().out.splitlines())
    assert header == ["row", "label", "score"]
    assert [(row[1], float(row[2])) for row in rows] == [(x["label"], x["score"]) for x in (first, second)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_several_labels_a_text(make, tmp_path, suffix):
    folder = make(num_labels=3, problem_type="multi_label_classification")
    texts = [text_of(length) for length in (5, 1, 30)]
    answers = run(folder, write(tmp_path / "in.csv", {"text": texts}), tmp_path / f"out{suffix}")
    if suffix == ".csv":
        answers = [{name: json.loads(value) for name, value in answer.items()} for answer in answers]
    classify = transformers.pipeline("text-classification", str(folder), top_k=None)
    for answer, text in zip(answers, texts):
        assert answer["label"] == ["CLASS 0", "CLASS 1", "CLASS 2"]
        expected = {pair["label"]: pair["score"] for pair in classify([text])[0]}
        assert dict(zip(answer["label"], answer["score"])) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("num_labels", "problem_type"), [(1, "regression"), (1, None), (2, "regression")])
def test_a_regression_answers_its_numbers(make, tokenizer, tmp_path, num_labels, problem_type):
    folder = make(num_labels=num_labels, problem_type=problem_type)
    texts = [text_of(length) for length in (5, 1, 30)]
    answers = run(folder, write(tmp_path / "in.csv", {"text": texts}), tmp_path / "out.jsonl")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = [model(**tokenizer(text, return_tensors="pt")).logits[0].tolist() for text in texts]
    for answer, numbers in zip(answers, logits):
        assert answer["score"] == pytest.approx(numbers if num_labels > 1 else numbers[0], abs=1e-5)
        assert answer["label"] == (["CLASS 0", "CLASS 1"] if num_labels > 1 else "CLASS 0")


def test_chunks_are_bounded_by_rows_and_by_characters(monkeypatch):
    monkeypatch.setattr(predict_room, "CHUNK_TEXTS", 3)
    monkeypatch.setattr(predict_room, "CHUNK_CHARACTERS", 10)
    rows = list(enumerate(["a"] * 4 + ["long enough", "", "12345", "12345", "b"], 1))
    chunks = list(predict_room.in_chunks(rows))
    assert [len(chunk) for chunk in chunks] == [3, 2, 3, 1]
    assert [row for chunk in chunks for row in chunk] == rows
    assert list(predict_room.in_chunks([])) == []


def test_max_length_with_a_tokenizer_written_in_python(make, tmp_path, capfd):
    folder = make(tokenizer=transformers.ByT5Tokenizer(extra_ids=0))
    source = write(tmp_path / "in.csv", {"text": ["a" * 11, "b" * 12, "c" * 40]})
    answers = run(folder, source, tmp_path / "out.jsonl", "--max_length", "12")
    assert "texts truncated to 12 tokens: 2" in capfd.readouterr().err
    expected = transformers.pipeline("text-classification", str(folder))("c" * 40, truncation=True, max_length=12)
    assert answers[2]["score"] == pytest.approx(expected[0]["score"], abs=1e-5)


def test_a_tokenizer_without_a_limit_is_cut_where_the_positions_end(make, tokenizer, tmp_path, capfd):
    endless = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]"
    )
    folder = make(tokenizer=endless, position_type="learned", max_position_embeddings=20)
    run(folder, write(tmp_path / "in.csv", {"text": [text_of(18), text_of(19)]}), tmp_path / "out.jsonl")
    assert "texts truncated to 20 tokens: 1" in capfd.readouterr().err


def test_a_folder_that_would_answer_at_random_is_refused(make, tmp_path, capfd, tokenizer):
    source = write(tmp_path / "in.csv", {"text": [text_of(2)]})
    pretrained = make(ScratchEncoderForMaskedLM)
    expect_error(capfd, ["--model", str(pretrained), "--input", str(source)], str(pretrained), "classifier.out_proj")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    bert = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=50, **sizes))
    bert.save_pretrained(tmp_path / "bert")
    expect_error(capfd, ["--model", str(tmp_path / "bert"), "--input", str(source)], "no tokenizer")
    tokenizer.save_pretrained(tmp_path / "bert")
    assert run(tmp_path / "bert", source, tmp_path / "out.jsonl")[0]["label"] in ("LABEL_0", "LABEL_1")


def test_a_run_that_is_not_finished_is_called_so(folder, tmp_path, capfd):
    source = write(tmp_path / "in.csv", {"text": [text_of(2)]})
    (tmp_path / "run" / "checkpoint-3").mkdir(parents=True)
    expect_error(capfd, ["--model", str(tmp_path / "run"), "--input", str(source)], "unfinished", "checkpoint-*")


def test_a_model_that_fails_or_answers_nan(make, tmp_path, capfd):
    source = write(tmp_path / "in.csv", {"text": [text_of(40)]})
    short = make(position_type="learned", max_position_embeddings=20)
    expect_error(capfd, ["--model", str(short), "--input", str(source)], "1 texts of up to 42 tokens", "--max_length")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(short)
    torch.nn.init.constant_(model.classifier.out_proj.bias, torch.nan)
    model.save_pretrained(short)
    expect_error(capfd, ["--model", str(short), "--input", str(source), "--max_length", "9"], "NaN")


def test_arguments_that_cannot_work(folder, tmp_path, monkeypatch, capfd):
    source = str(write(tmp_path / "in.csv", {"text": [text_of(2)], "label": [1]}))
    model, data = ["--model", str(folder)], ["--input", source]
    expect_error(capfd, ["--model", "runs/none", *data], "runs/none", "folder not found")
    expect_error(capfd, [*model, "--input", str(tmp_path / "none.csv")], "none.csv")
    expect_error(capfd, [*model, "--input", str(tmp_path / "none.txt")], "none.txt")
    expect_error(capfd, [*model, *data, "--text_column", "txt"], "'txt'", "did you mean 'text'?")
    expect_error(capfd, [*model, *data, "--output", source, "--overwrite"], source, "this is the input")
    expect_error(capfd, [*model, *data, "--output", str(tmp_path), "--format", "csv"], "not a regular file")
    expect_error(capfd, [*model, *data, "--output", str(tmp_path / "no" / "out.csv")], "not found")
    expect_error(capfd, [*model, *data, "--output", str(tmp_path / "out.txt")], ".jsonl or .csv", "--format")
    expect_error(capfd, [*model, *data, "--batch_size", "0"], "--batch_size 0")
    expect_error(capfd, [*model, *data, "--max_length", "2"], "--max_length 2", "2 special tokens")
    expect_error(capfd, [*model, *data, "--max_length", "0"], "--max_length 0")
    expect_error(capfd, [*model, *data, "--device", "toaster"], "toaster")
    lines_to_stdin(monkeypatch, "fine\nschön\n".encode("latin-1"))
    expect_error(capfd, model, "line 2, byte 3", "not valid UTF-8")
    assert names(tmp_path) == ["in.csv"]


def test_an_existing_output_stays_until_the_last_answer(folder, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(predict_room, "CHUNK_TEXTS", 1)
    source, output = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_bytes(b"fine\n" * 5 + b"\xff\n")
    output.write_text("precious")
    arguments = ["--model", str(folder), "--input", str(source), "--output", str(output)]
    expect_error(capfd, arguments, "out.jsonl", "--overwrite")
    expect_error(capfd, [*arguments, "--overwrite"], "line 6, byte 0")
    assert (output.read_text(), names(tmp_path)) == ("precious", ["in.txt", "out.jsonl"])
    source.write_bytes(b"fine\n")
    assert len(run(folder, source, output, "--overwrite")) == 1
    assert names(tmp_path) == ["in.txt", "out.jsonl"]


class InterruptedInput(io.BytesIO):
    """Standard input at which somebody presses Ctrl-C once the first chunk has been answered."""

    def __init__(self, folder: Path) -> None:
        super().__init__(b"fine\n" * 3)
        self.folder = folder
        self.seen: list[str] = []

    def readline(self, size: int | None = -1) -> bytes:
        self.seen = names(self.folder)
        if self.tell() == 10:
            signal.raise_signal(signal.SIGINT)
        return super().readline(size)


def test_ctrl_c_leaves_no_half_file(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(predict_room, "CHUNK_TEXTS", 1)
    stream = InterruptedInput(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    with pytest.raises(SystemExit, match="130"):
        predict.main(["--model", str(folder), "--output", str(tmp_path / "out.csv")])
    assert len(stream.seen) == 1  # there was a half file, under another name
    assert "out.csv" not in stream.seen
    assert names(tmp_path) == []


def start(*arguments: str) -> subprocess.Popen:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, PROGRAM, *arguments], **pipes)


@pytest.mark.slow
def test_a_process_that_is_terminated_leaves_no_half_file(folder, tmp_path):
    process = start("--model", str(folder), "--output", str(tmp_path / "out.jsonl"))
    # The first chunk, and then more than a pipe holds: it can be written only while the second chunk is read.
    process.stdin.write(b"fine\n" + b"\n" * (predict_room.CHUNK_TEXTS - 1) + (b" " * 999 + b"\n") * 1_000)
    assert [name != "out.jsonl" for name in names(tmp_path)] == [True]
    process.terminate()
    _, errors = process.communicate()
    assert (process.returncode, errors, names(tmp_path)) == (128 + signal.SIGTERM, b"", [])


@pytest.mark.slow
def test_a_closed_pipe_ends_the_process_quietly(folder):
    process = start("--model", str(folder))
    process.stdin.write(b"\n" * 3 * predict_room.CHUNK_TEXTS)
    process.stdin.close()
    assert json.loads(process.stdout.readline()) == {"row": 1, "label": None, "score": None}
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)


@pytest.mark.slow
def test_an_error_of_the_process_is_one_line(make):
    process = start("--model", str(make(ScratchEncoderForMaskedLM)))
    _, errors = process.communicate(b"fine\n")
    assert (process.returncode, errors.count(b"\n")) == (2, 1)
    assert b"predict.py: error: " in errors
