# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""predict.py: the answers of a pipeline, in the order of the input, and nothing half done when something goes wrong."""

import csv
import io
import json
import runpy
import shutil
import signal
import sys
from datetime import date
from pathlib import Path

import numpy
import predict
import pytest
import torch
import transformers
from processes import in_child, refusal
from serving import save_classifier
from shared import refused
from text_samples import predicted, write
from writers import POSITIONS, WORDS, text_of

from modeling_scratch import ScratchEncoderForMaskedLM
from modeling_scratch.data import encoded_texts
from modeling_scratch.run.encoder_models import ModelArguments, build_tokenizer
from modeling_scratch.serving.answerers import load_answerer

TEXTS = [text_of(length) for length in (3, 50, 1, 22, 7, 12, 23, 2, 17, 2, 30, 12, 1)]  # 3 exceed the limit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_classifier(tmp_path_factory.mktemp("model"))


@pytest.fixture
def source(tmp_path):
    return write(tmp_path / "in.csv", {"text": TEXTS})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def to_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_unknown_words_are_named_the_most_frequent_first(folder, tmp_path, capfd):
    source = write(tmp_path / "in.csv", {"text": [text_of(4), "quokka ☃ numbat", f"{text_of(4)} numbat", "☃"]})
    rows = predicted(folder, source, tmp_path / "out.jsonl")
    assert [row.get("unknown_words") for row in rows] == [None, ["quokka", "numbat"], ["numbat"], ["☃"]]
    told = capfd.readouterr().err
    assert "words that the model has not seen (numbat, quokka, ☃): 3" in told
    assert f"saved 4 rows to {tmp_path}/out.jsonl" in told


def test_equals_the_pipeline_one_by_one_in_the_order_of_the_input(folder, source, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(encoded_texts, "CHUNK_TEXTS", 5)
    answers = predicted(folder, source, tmp_path / "out.jsonl", "--batch_size", "2")
    assert f"texts truncated to {POSITIONS} tokens: 3" in capfd.readouterr().err
    classify = transformers.pipeline("text-classification", str(folder))
    expected = [classify(text, truncation=True)[0] for text in TEXTS]
    assert [answer["row"] for answer in answers] == list(range(1, len(TEXTS) + 1))
    assert [answer["label"] for answer in answers] == [answer["label"] for answer in expected]
    assert [answer["score"] for answer in answers] == pytest.approx([answer["score"] for answer in expected], abs=1e-5)
    assert len({answer["label"] for answer in answers}) > 1
    assert all(str(answer["score"]) == str(numpy.float32(answer["score"])) for answer in answers)  # no further digits


@pytest.mark.parametrize("suffix", [".csv", ".txt", "-", "/"])
def test_every_kind_of_input(folder, tmp_path, monkeypatch, capfd, suffix):
    texts = [f"<html> {text_of(4)}", " ", text_of(1), 'not "closed', text_of(9), ""]
    source = "-" if suffix == "-" else tmp_path / f"in{suffix}"
    if suffix == ".txt":
        source.write_text("\ufeff" + "\n".join(texts[:-1]) + "\r\n\n", "utf-8")
    elif suffix == "-":
        to_stdin(monkeypatch, "\n".join([*texts, ""]).encode())
    elif suffix == "/":
        for number, text in enumerate(texts):  # in files, those of a label in a folder
            (source / "ab"[number > 3]).mkdir(parents=True, exist_ok=True)
            (source / "ab"[number > 3] / f"{number}.txt").write_text(text)
    else:
        write(source, {"text": texts, "label": [0, 1, 0, 1, 0, 1]})
    answers = predicted(folder, source, tmp_path / "out.jsonl", "--with_text")
    assert [answer["row"] for answer in answers] == [1, 2, 3, 4, 5, 6]
    assert [answer["text"] for answer in answers] == texts
    for name in ("label", "score"):
        assert [answer[name] is None for answer in answers] == [False, True, False, False, False, True]
    assert "rows without text, which get no label or score: 2" in capfd.readouterr().err


def test_a_file_without_any_text(folder, tmp_path):
    (tmp_path / "in.txt").write_text("\n\n")
    answers = predicted(folder, tmp_path / "in.txt", tmp_path / "out.jsonl")
    assert answers == [{"row": row, "label": None, "score": None} for row in (1, 2)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_columns_are_kept(folder, tmp_path, suffix):
    days = [date(2024, 5, day) for day in range(1, 4)]
    columns = {
        "date": days,
        "size": [1.5, None, float("nan")],
        "ticket_id": ['x "1"', "é;2", None],
        "label": [["a"]] * 3,
        "given_label": ["b"] * 3,
    }
    source = write(tmp_path / "in.parquet", {**columns, "body": [text_of(3), None, text_of(5)]})
    kept = ["--keep_columns", "ticket_id", "date", "size", "label", "given_label"]
    answers = predicted(folder, source, tmp_path / f"out{suffix}", "--text_column", "body", *kept)
    names = ["row", "ticket_id", "date", "size", "given_label", "given_given_label", "label", "score"]
    assert list(answers[0]) == names
    none = None if suffix == ".jsonl" else ""
    assert [answer["ticket_id"] for answer in answers] == ['x "1"', "é;2", none]
    assert [answer["date"] for answer in answers] == ["2024-05-01", "2024-05-02", "2024-05-03"]
    assert [answer["size"] for answer in answers] == [1.5 if suffix == ".jsonl" else "1.5", none, none]
    assert answers[0]["given_label"] == (["a"] if suffix == ".jsonl" else '["a"]')
    assert [answer["label"] == none for answer in answers] == [False, True, False]


def test_standard_output_and_format(folder, tmp_path, capfd):
    texts = ['with "quotes", commas', "two\nlines", "carriage\rreturn", "ünïcödé ☃\u2028", "'", "\ttab", *TEXTS]
    asked = ["--model", str(folder), "--input", str(write(tmp_path / "in.parquet", {"text": texts})), "--with_text"]
    predict.main(asked)
    answers = [json.loads(line) for line in capfd.readouterr().out.split("\n")[:-1]]
    predict.main([*asked, "--format", "csv"])
    header, *rows = csv.reader(io.StringIO(capfd.readouterr().out, newline=""))
    assert header == ["row", "label", "score", "text"]
    assert [answer["text"] for answer in answers] == [row[3] for row in rows] == texts
    assert [(row[1], float(row[2])) for row in rows] == [(answer["label"], answer["score"]) for answer in answers]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("in.csv", "text\n" + "fine\n" * 3_000 + "cut, here\n", "row 3001 (line 3002)"),
        ("in.jsonl", '{"question": "who?", "context": "a b"}\n{"question": "who?"}\n', "no column 'context'"),
    ],
)
def test_a_row_that_cannot_be_read_is_told_before_the_model_is_loaded(tmp_path, capsys, name, content, fault):
    (tmp_path / name).write_text(content)
    asked = ["--model", str(tmp_path), "--input", str(tmp_path / name)]
    assert fault in refusal(capsys, predict.main, asked)


@pytest.mark.parametrize(
    ("labels", "problem_type", "suffix"),
    [
        (3, "multi_label_classification", ".csv"),
        (2, "regression", ".jsonl"),
        (1, None, ".jsonl"),  # the rerankers of other packages are saved so
    ],
)
def test_several_labels_a_text_and_regressions(source, tmp_path, capfd, labels, problem_type, suffix):
    classes, least = [f"CLASS {number}" for number in range(labels)], -numpy.inf
    folder = save_classifier(tmp_path / "model", labels=classes, problem_type=problem_type)
    answers, function = predicted(folder, source, tmp_path / f"out{suffix}"), "sigmoid"
    if suffix == ".csv":
        answers, least = [{name: json.loads(value) for name, value in row.items()} for row in answers], 0.5
    if problem_type == "regression":
        refused(capfd, predict.main, ["--model", folder, "--input", source, "--threshold", "0.5"], "predicts numbers")
        function = "none"
    classify = transformers.pipeline("text-classification", str(folder), top_k=None, function_to_apply=function)
    for answer, pairs in zip(answers, classify(TEXTS, truncation=True)):
        found = dict(zip(answer["label"], answer["score"])) if labels > 1 else {answer["label"]: answer["score"]}
        expected = {pair["label"]: pair["score"] for pair in pairs if pair["score"] > least}
        assert found == pytest.approx(expected, abs=1e-5)
        assert list(found) == [name for name in classes if name in expected]


@pytest.mark.parametrize(("top_k", "most"), [("2", 2), ("all", 3)])
def test_the_most_likely_classes_are_listed_in_order(folder, tmp_path, top_k, most):
    texts = [TEXTS[0], "", TEXTS[3]]
    source = write(tmp_path / "in.csv", {"text": texts, "score_bad": ["1", "2", "3"]})
    plain = predicted(folder, source, tmp_path / "plain.jsonl", "--text_column", "text", "--keep_columns", "score_bad")
    assert [answer.pop("score_bad") for answer in plain] == ["1", "2", "3"]
    options = ["--text_column", "text", "--top_k", top_k, "--with_text"]
    answers = predicted(folder, source, tmp_path / "out.jsonl", *options)
    classify = transformers.pipeline("text-classification", str(folder), top_k=None)
    for text, before, answer in zip(texts, plain, answers):
        expected = classify([text], truncation=True)[0][:most] if text else None
        top = expected and [{**pair, "score": pytest.approx(pair["score"], abs=1e-5)} for pair in expected]
        assert answer == {**before, "text": text, "top": top}
    for row, answer in zip(predicted(folder, source, tmp_path / "out.csv", *options), answers):
        if top_k == "all":
            found = {name: value for name, value in row.items() if name.startswith("score_")}
            expected = {f"score_{pair['label']}": str(pair["score"]) for pair in answer["top"] or []}
            assert found == (expected or dict.fromkeys(found, ""))
        else:
            assert (json.loads(row["top"]) if row["top"] else None) == answer["top"]
    if top_k == "all":
        kept = predicted(folder, source, tmp_path / "kept.csv", *options, "--keep_columns", "score_bad")
        assert [row["given_score_bad"] for row in kept] == ["1", "2", "3"]


def test_a_label_has_to_reach_the_threshold(folder, source, tmp_path, capfd):
    """The score of a text without one stays."""
    plain = predicted(folder, source, tmp_path / "plain.jsonl")
    threshold = sorted(answer["score"] for answer in plain)[len(plain) // 2]
    answers = predicted(folder, source, tmp_path / "out.jsonl", "--threshold", str(threshold))
    expected = [{**answer, "label": answer["label"] if answer["score"] >= threshold else None} for answer in plain]
    assert answers == expected != plain
    below = sum(answer["label"] is None for answer in answers)
    assert f"texts without a label, as none is likely enough (--threshold): {below}" in capfd.readouterr().err
    several = save_classifier(tmp_path / "model", problem_type="multi_label_classification")
    every = predicted(several, source, tmp_path / "every.jsonl", "--threshold", "0")
    answers = predicted(several, source, tmp_path / "some.jsonl", "--threshold", "0.6", "--top_k", "2")
    for before, answer in zip(every, answers):
        pairs = [{"label": label, "score": score} for label, score in zip(before["label"], before["score"])]
        kept = [pair for pair in pairs if pair["score"] >= 0.6]
        assert [answer["label"], answer["score"]] == [[pair[name] for pair in kept] for name in ("label", "score")]
        assert answer["top"] == sorted(pairs, key=lambda pair: -pair["score"])[:2]
    assert len({len(answer["label"]) for answer in answers}) > 1


def test_padding_is_masked_also_if_the_tokenizer_does_not_name_the_mask(folder, source, tmp_path):
    """Else, an answer would depend on the other texts of its batch."""
    other = shutil.copytree(folder, tmp_path / "model")
    content = json.loads((other / "tokenizer_config.json").read_text())
    (other / "tokenizer_config.json").write_text(json.dumps({**content, "model_input_names": ["input_ids"]}))
    masked, unnamed = (predicted(each, source, tmp_path / f"{each.name}.jsonl") for each in (folder, other))
    assert unnamed == masked


def test_a_folder_that_would_answer_at_random_is_refused(folder, source, tmp_path, capfd):
    data = ["--input", source, "--model"]
    pretrained = save_classifier(tmp_path / "pretrained", ScratchEncoderForMaskedLM)
    refused(capfd, predict.main, [*data, pretrained], str(pretrained), "fills gaps; fine-tune it first")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    bert = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=50, **sizes))
    bert.save_pretrained(tmp_path / "bert")
    refused(capfd, predict.main, [*data, tmp_path / "bert"], "no tokenizer")
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "bert")
    assert predicted(tmp_path / "bert", source, tmp_path / "out.jsonl")[0]["label"] in ("LABEL_0", "LABEL_1")


def test_a_text_that_exhausts_the_tokenizer(folder, tmp_path, capfd):
    """Its library panics, which is no `Exception`; a server goes on with the next text."""
    other = shutil.copytree(folder, tmp_path / "model")
    content = json.loads((other / "tokenizer.json").read_text())
    slow = {"type": "Split", "pattern": {"Regex": "^(a+)+$"}, "behavior": "Isolated", "invert": False}
    (other / "tokenizer.json").write_text(json.dumps({**content, "pre_tokenizer": slow}))
    source = write(tmp_path / "in.csv", {"text": [TEXTS[0], "a" * 60 + "b"]})
    fault = "the tokenizer fails on a text: "
    arguments = ["--model", other, "--input", source, "--output", tmp_path / "out.jsonl"]
    refused(capfd, predict.main, arguments, fault)
    assert names(tmp_path) == ["in.csv", "model"]
    task = load_answerer(str(other))
    with pytest.raises(ValueError, match=fault):
        task.encode(["a" * 60 + "b"], {})
    assert len(task.encode(["word1"], {})) == 1


def test_a_model_that_fails_or_answers_nan(source, tmp_path, capfd):
    short = save_classifier(tmp_path / "model", position_type="learned", max_position_embeddings=20)
    predicted(short, source, tmp_path / "out.jsonl")
    assert "truncated to 20 tokens" in capfd.readouterr().err
    arguments = ["--model", short, "--input", source, "--max_length"]
    refused(capfd, predict.main, [*arguments, "21"], "--max_length 21", "20 positions")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(short)
    torch.nn.init.constant_(model.classifier.out_proj.bias, torch.nan)
    model.save_pretrained(short)
    refused(capfd, predict.main, [*arguments, "9"], "NaN")


def test_arguments_that_cannot_work(folder, source, tmp_path, monkeypatch, capfd):
    (tmp_path / "run" / "checkpoint-3").mkdir(parents=True)
    model = ["--model", folder]
    data = [*model, "--input", source]
    for arguments, *pieces in (
        (["--model", "runs/none", "--input", source], "runs/none", "folder not found"),
        (["--model", source, "--input", source], f"{source}: a file; name the folder"),
        (["--model", tmp_path / "run", "--input", source], "unfinished", "checkpoint-*"),
        ([*model, "--input", tmp_path / "none.csv"], "none.csv"),
        ([*model, "--input", folder / "model.safetensors"], "unknown format; supported suffixes: .txt, .csv"),
        ([*model, "--text_column", "text"], "--text_column text: requires a table"),
        ([*model, "--keep_columns", "id"], "--keep_columns id: requires a table"),
        ([*data, "--keep_columns", "tex"], "in.csv", "no column 'tex'", "did you mean 'text'?"),
        ([*data, "--explain"], "--explain is retired: use `modeling-scratch explain`"),
        ([*data, "--precision", "int8"], "--precision int8 is retired: use --precision bfloat16"),
        ([*data, "--output", source, "--overwrite"], str(source), "this is the input"),
        ([*data, "--output", tmp_path / "out.txt"], ".jsonl or .csv", "--format"),
        ([*data, "--batch_size", "0"], "--batch_size 0"),
        ([*data, "--max_length", "2"], "--max_length 2", "2 special tokens"),
        ([*data, "--device", "toaster"], "error: --device toaster: "),
        ([*data, "--top_k", "0"], "--top_k 0", "all or an integer from 1"),
        ([*data, "--threshold", "80"], "--threshold 80.0", "from 0 to 1"),
    ):
        refused(capfd, predict.main, arguments, *pieces)
    to_stdin(monkeypatch, "fine\nschön\n".encode("latin-1"))
    refused(capfd, predict.main, model, "line 2, character 4", "not valid UTF-8")
    monkeypatch.setattr(sys, "stdin", None)  # as `<&-` starts a program
    refused(capfd, predict.main, model, "--input -: standard input is closed")
    assert names(tmp_path) == ["in.csv", "run"]


def test_an_existing_output_stays_until_the_last_answer(folder, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(encoded_texts, "CHUNK_TEXTS", 1)
    source, output = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_bytes(b"fine\n" * 5 + b"\xff\n")
    output.write_text("precious")
    arguments = ["--model", folder, "--input", source, "--output", output]
    refused(capfd, predict.main, arguments, "out.jsonl", "--overwrite")
    refused(capfd, predict.main, [*arguments, "--overwrite"], "line 6, character 1")
    assert (output.read_text(), names(tmp_path)) == ("precious", ["in.txt", "out.jsonl"])
    source.write_bytes(b"fine\n")
    assert len(predicted(folder, source, output, "--overwrite")) == 1
    assert names(tmp_path) == ["in.txt", "out.jsonl"]


SPELLED = "word1 [SEP] word2 [PAD]"
# The same words with other special tokens: different texts to a model that reads these, equal ones to one that does
# not know the brackets.
OTHERS = SPELLED.replace("[SEP]", "[CLS]").replace("[PAD]", "[MASK]")


@pytest.mark.parametrize("allowed", [False, True])
def test_special_tokens_that_a_text_spells_out_are_text_as_in_the_training_of_the_model(tmp_path, allowed):
    """Unless they are allowed; without a word of whom the folder goes to: a plain pipeline reads it that way, too."""

    def scores(*options: str) -> list[float]:
        source = write(tmp_path / "in.csv", {"text": [SPELLED, OTHERS]})
        return [row["score"] for row in predicted(folder, source, tmp_path / "out.jsonl", "--overwrite", *options)]

    folder = save_classifier(tmp_path / "model")
    first, second = scores(*["--allow_special_tokens"] * allowed)
    assert (first == pytest.approx(second)) is not allowed
    tokenizer = build_tokenizer(ModelArguments(allow_special_tokens=allowed, max_length=24), [*WORDS * 2])
    tokenizer.save_pretrained(folder)
    assert tokenizer(SPELLED)["input_ids"].count(tokenizer.sep_token_id) == (2 if allowed else 1)
    (job,) = load_answerer(str(folder)).encode([SPELLED], {})
    assert job.features["input_ids"] == tokenizer(SPELLED)["input_ids"]
    classify = transformers.pipeline("text-classification", str(folder), device="cpu")
    assert scores() == pytest.approx([answer["score"] for answer in classify([SPELLED, OTHERS])], abs=1e-5)


class InterruptedInput(io.BytesIO):
    """Standard input at which a signal comes once the first chunk has been answered."""

    def __init__(self, folder: Path, how: signal.Signals) -> None:
        super().__init__(b"fine\n" * 3)
        self.folder, self.how = folder, how

    def read1(self, size: int | None = -1) -> bytes:
        if self.tell() == 10:
            (half,) = names(self.folder)
            assert half != "out.csv"
            signal.raise_signal(self.how)
        return super().read1(10)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_no_half_file(how, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(encoded_texts, "CHUNK_TEXTS", 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(InterruptedInput(tmp_path, how)))
    monkeypatch.setattr(sys, "argv", ["predict.py", "--model", str(folder), "--output", str(tmp_path / "out.csv")])
    ended = in_child(lambda: runpy.run_path(predict.__file__, run_name="__main__"))
    assert (ended.status, names(tmp_path)) == (128 + how, []), ended.text
