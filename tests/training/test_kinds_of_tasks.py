# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sets of classes and numbers end to end: trained from the command line, reported, resumed, shared and served."""

import json
import random
from pathlib import Path

import pytest
import train_classifier
from processes import refusal
from records import is_as_recorded
from transformers import pipeline
from uploads import uploaded_texts

FAST = "--learning_rate 2e-2 --per_device_train_batch_size 16 --report_to none --use_cpu --seed 0"
SMALL = f"{FAST} --config_overrides hidden_size=16,intermediate_size=32,num_hidden_layers=1,hidden_dropout=0.1"
TOPICS = {"plot": ["plot", "story"], "acting": ["actor", "cast"], "music": ["score", "song"]}
GOOD, BAD = ["great", "lovely", "warm"], ["poor", "dull", "cold"]


def write_topics(path: Path) -> None:
    """A text names its topics, which are none, one or several."""
    drawn, rows = random.Random(0), []
    for number in range(200):
        names = [name for name in TOPICS if drawn.random() < 0.4]
        words = " ".join(["film", str(number), *(drawn.choice(TOPICS[name]) for name in names)])
        rows.append(json.dumps({"text": words, "topics": names}))
    path.write_text("\n".join(rows), encoding="utf-8")


def write_stars(path: Path) -> None:
    """The number is around 50 and grows with the words that praise."""
    drawn, lines = random.Random(0), ["text,stars"]
    for number in range(300):
        good, bad = drawn.randint(0, 3), drawn.randint(0, 3)
        words = [*drawn.choices(GOOD, k=good), *drawn.choices(BAD, k=bad), "film", str(number)]
        drawn.shuffle(words)
        lines.append(f"{' '.join(words)},{50 + 10 * (good - bad) + drawn.random():.3f}")
    path.write_text("\n".join(lines), encoding="utf-8")


def train(table: Path, column: str, epochs: int) -> Path:
    options = f"--train_file {table} --label_column {column} --num_train_epochs {epochs} --ema_decay 0"
    train_classifier.main(f"{options} --output_dir {table.parent / 'run'} {SMALL}".split())
    return table.parent / "run"


def content(run: Path, name: str) -> dict:
    return json.loads((run / name).read_text(encoding="utf-8"))


def check_report(run: Path, problem_type: str, scores: set[str]) -> dict:
    """What every kind leaves; returns evaluation.json."""
    evaluation, results = content(run, "evaluation.json"), content(run, "all_results.json")
    assert evaluation["problem_type"] == content(run, "config.json")["problem_type"] == problem_type
    assert evaluation["scores"].keys() == evaluation["baselines"][0]["scores"].keys() == scores
    for name, score in evaluation["scores"].items():
        assert score["value"] == pytest.approx(results[f"test_{name}"], abs=1e-5)
    for name in ("results.md", "README.md"):
        assert "(paired bootstrap)" in (run / name).read_text(encoding="utf-8")
    assert evaluation["headline"] is None
    assert not uploaded_texts(run), "texts are quoted only if asked to"
    assert is_as_recorded(run)
    return evaluation


def test_sets_of_classes_are_learned(tmp_path: Path) -> None:
    names = {"f1_micro", "f1_macro", "exact_match", "hamming_loss"}
    write_topics(tmp_path / "topics.jsonl")
    sets = train(tmp_path / "topics.jsonl", "topics", 9)
    evaluation = check_report(sets, "multi_label_classification", names)
    assert evaluation["scores"]["f1_micro"]["value"] > 0.8 < evaluation["baselines"][0]["scores"]["f1_micro"]["value"]
    assert [row["label"] for row in evaluation["classes"]] == ["acting", "music", "plot"]
    assert "any number of the labels acting, music, plot" in (sets / "README.md").read_text()
    [answers] = pipeline("text-classification", model=str(sets), top_k=None)(["film 7 story actor"])
    assert {answer["label"] for answer in answers if answer["score"] > 0.5} == {"plot", "acting"}


def test_numbers_are_learned_in_their_own_unit(tmp_path: Path) -> None:
    write_stars(tmp_path / "stars.csv")
    numbers = train(tmp_path / "stars.csv", "stars", 4)
    evaluation = check_report(numbers, "regression", {"mae", "rmse", "pearson", "spearman"})
    assert evaluation["scores"]["rmse"]["value"] < 8
    assert evaluation["scores"]["pearson"]["value"] > 0.9
    assert evaluation["baselines"][0]["scores"]["pearson"]["value"] > 0.8
    [answer] = pipeline("text-classification", model=str(numbers))("great warm film")
    assert answer["label"] == "stars"
    assert 60 < answer["score"] < 80


REFUSED = {
    "--label_smoothing_factor 0.1": "--label_smoothing_factor requires one class per text",
    "--search_trials 2": "--search_trials requires one class per text",
    "--max_train_samples 5": "only one label, 1.5",
    "--label_map 1=2": "the labels are numbers",
}


@pytest.mark.parametrize("extra", REFUSED)
def test_what_numbers_do_not_permit_is_refused(extra: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("optuna")
    lines = [f"film {number},{1.5 if number else 2.5}" for number in range(100)]
    (tmp_path / "stars.csv").write_text("\n".join(["text,stars", *lines]), encoding="utf-8")
    options = f"--train_file {tmp_path / 'stars.csv'} --label_column stars --output_dir {tmp_path / 'run'} {SMALL}"
    assert REFUSED[extra] in refusal(capsys, train_classifier.main, f"{options} {extra}".split())
    assert not (tmp_path / "run").exists()
