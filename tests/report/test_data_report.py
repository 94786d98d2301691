# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The command data: a messy table is described before training, and leads to answers in four commands."""

import csv
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import data
import predict
import pytest
import train_classifier
from messy_tickets import SLIPS, WORDS, write_tickets
from records import is_as_recorded
from shared import refused
from text_samples import write

SMALL = (
    "--config_overrides hidden_size=16,intermediate_size=16,num_hidden_layers=1,num_attention_heads=2 --max_length 32 "
    "--max_steps 40 --learning_rate 2e-2 --ema_decay 0 --use_cpu --report_to none --disable_tqdm True"
)


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tickets(tmp_path_factory.mktemp("data") / "tickets.csv")


def printed(capsys: pytest.CaptureFixture, *arguments: object) -> str:
    data.main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def commands_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("modeling-scratch train-classifier")]


def table_in(text: str, head: str) -> dict[str, list[str]]:
    """The rows of a table of the report, by their first cell."""
    lines = text.partition(f"\n| {head} ")[2].partition("\n\n")[0].splitlines()[2:]
    rows = (line.strip("| ").split(" | ") for line in lines)
    return {name: [cell.replace(",", "") for cell in cells] for name, *cells in rows}


def test_a_raw_table_leads_to_answers_in_four_commands(tickets: Path, tmp_path: Path, capsys) -> None:
    text = printed(capsys, tickets)
    command = shlex.split(text.splitlines()[-1])
    assert command[:2] == ["modeling-scratch", "train-classifier"]
    end = command.index("--output_dir")  # of the pairs of --label_map
    command[end:end] = [f"{typo}={label}" for typo, label in SLIPS.items()]
    run = tmp_path / "run"
    train_classifier.main([*command[2:], *SMALL.split(), "--output_dir", str(run)])
    assert json.loads((run / "run_config.json").read_text())["labels"] == sorted(WORDS)
    assert json.loads((run / "evaluation.json").read_text())["accuracy"] > 0.6
    output = tmp_path / "answers.csv"
    asked = f"--model {run} --input {tickets} --output {output} --text_column text --keep_columns ticket_id date"
    predict.main(asked.split())
    with output.open(encoding="utf-8", newline="") as handle:
        answers = list(csv.DictReader(handle))
    assert list(answers[0]) == ["row", "ticket_id", "date", "label", "score"]
    assert [answer["ticket_id"] for answer in answers] == [f"T-{row:05}" for row in range(1, 1_501)]
    assert {answer["label"] for answer in answers} == {*WORDS, ""}
    capsys.readouterr()
    predict.main(["--model", str(run), "--input", str(tickets), "--output", str(tmp_path / "again.csv")])
    assert "text column: 'text'" in capsys.readouterr().err, "that of the run, of several that could be the text"
    again = list(csv.DictReader((tmp_path / "again.csv").open()))
    assert [row["label"] for row in again] == [row["label"] for row in answers]
    assert is_as_recorded(run)


def test_the_report_counts_what_a_reader_of_csv_counts(tickets: Path, capsys) -> None:
    text = printed(capsys, tickets)
    with tickets.open(encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle, delimiter=";") if row["text"].strip(" \u200b") and row["label"]]
    counts, numbers = table_in(text, "label"), Counter(row["label"] for row in rows)
    for label in ("login", "Biling", "shiping"):
        assert sum(map(int, counts[label])) == numbers[label] > 0
    assert sum(map(int, counts["all texts"])) == len(rows)
    labels_of: dict[str, set[str]] = {}
    for row in rows:
        labels_of.setdefault(row["text"], set()).add(row["label"].strip())
    conflicts = sum(len(labels) > 1 for labels in labels_of.values())
    listed = text.partition("\n## Labels of one text\n\n")[2].partition("\n\n")[0].splitlines()
    assert len(listed) == conflicts
    places = {"'shipping' in tickets.csv, row 7", "'billing' in tickets.csv, row 51"}
    without_lines = [re.sub(r" \(line \d+\)", "", line) for line in listed]
    assert any(places == {*line.removeprefix("- ").split("; ")} for line in without_lines)
    longest = max(len(row["text"].split()) for row in rows)
    assert str(longest) in {cells[3] for cells in table_in(text, "words of a text").values()}
    conflicting = f"{conflicts} texts with different labels, all kept"
    for piece in (conflicting, "the delimiter ';'", "rows without a text", "rows without a label", "truncates"):
        assert piece in text


def test_a_map_that_is_given_is_part_of_the_command_that_merges_more(tickets: Path, capsys) -> None:
    text = printed(capsys, tickets, "--label_map", "shiping=Shipping")
    plain, merged = commands_in(text)
    assert "--label_map shiping=Shipping --output" in plain
    assert "--label_map shiping=shipping " in merged
    assert " Shipping=shipping " in merged
    command = shlex.split(merged)
    data.main(["--train_file", str(tickets), *command[command.index("--label_map") : command.index("--output_dir")]])
    assert "probably variants of one class" not in capsys.readouterr().out


def test_names_of_labels_and_files_are_shown_as_they_are(tmp_path: Path, capsys) -> None:
    names, path = ["Q&amp;A", "Q&amp;a", "x|<b>"], tmp_path / "a&lt;b.csv"
    rows = "".join(f"a text {row},{names[row % 20 if row % 20 < 3 else 0]}\n" for row in range(400))
    path.write_text(f"text,label\n{rows}")
    text = printed(capsys, path)
    assert r"| x\|<b> | " in text
    assert "| Q&amp;A | " in text
    _, merged = map(shlex.split, commands_in(text))
    assert merged[merged.index("--train_file") + 1] == str(path)
    assert merged[merged.index("--label_map") + 1] == "Q&amp;a=Q&amp;A"


def test_what_cannot_be_reported_is_refused(tickets: Path, tmp_path: Path, capfd) -> None:
    questions = [f"Where is {row} of it?" for row in range(30)]
    squad = {"question": questions, "context": ["It is in Oslo."] * 30, "answers": [{"text": ["Oslo"]}] * 30}
    for name in ("train.conll", "train.en"):
        (tmp_path / name).touch()
    for arguments, *pieces in (
        ([], "modeling-scratch data my_reviews"),
        ([tmp_path / "none.csv"], "none.csv", "file not found"),
        ([tickets, "--output", "report.html"], "--output is retired: write what is printed into a file"),
        ([tickets, "--label_map", "none=login"], "no row has the label 'none'"),
        ([tmp_path / "train.conll"], "unknown format", "`modeling-scratch train-tokens` trains on CoNLL"),
        ([tmp_path / "train.en"], "`modeling-scratch train-translation` trains on two files such as"),
        ([tmp_path], "no train file", "`modeling-scratch train-translation` trains"),
        ([write(tmp_path / "squad.jsonl", squad)], "looks like the label", "`modeling-scratch train-answers` trains"),
        ([write(tmp_path / "tags.jsonl", {"tokens": [["a"]]})], "`modeling-scratch train-tokens` trains on such files"),
    ):
        refused(capfd, data.main, arguments, *pieces)


def test_sets_of_labels_and_numbers_are_described(tmp_path: Path, capsys) -> None:
    texts = [f"text number {n}" for n in range(60)]
    rows = [{"text": text, "label": ["music", "acting"][: n % 3]} for n, text in enumerate(texts)]
    (tmp_path / "topics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    counts = table_in(printed(capsys, tmp_path / "topics.jsonl"), "label")
    assert [sum(map(int, counts[name])) for name in ("music", "acting", "all texts")] == [40, 20, 60]
    write(tmp_path / "stars.csv", {"text": texts, "label": [n / 10 for n in range(60)]})
    shown = table_in(printed(capsys, tmp_path / "stars.csv"), "label")
    assert (min(map(float, shown["lowest"])), max(map(float, shown["highest"]))) == (0, 5.9)
