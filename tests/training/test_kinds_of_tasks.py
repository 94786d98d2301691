# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sets of classes and numbers end to end: trained from the command line, reported, resumed, shared and served."""

import json
import random
import re
from pathlib import Path

import predict as predict_program
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


def write_topics(path: Path, rows: int, drawn: random.Random) -> None:
    """A text names its topics, which are none, one or several."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            names = [name for name in TOPICS if drawn.random() < 0.4]
            text = " ".join(["film", str(number), *(drawn.choice(TOPICS[name]) for name in names)])
            file.write(json.dumps({"text": text, "topics": names}) + "\n")


def write_stars(path: Path, rows: int, drawn: random.Random) -> None:
    """The number is around 50 and grows with the words that praise."""
    lines = ["text,stars"]
    for number in range(rows):
        good, bad = drawn.randint(0, 3), drawn.randint(0, 3)
        words = [*drawn.choices(GOOD, k=good), *drawn.choices(BAD, k=bad), "film", str(number)]
        drawn.shuffle(words)
        lines.append(f"{' '.join(words)},{50 + 10 * (good - bad) + drawn.random():.3f}")
    path.write_text("\n".join(lines), encoding="utf-8")


def train(folder: Path, name: str, extra: str = "") -> Path:
    file, column, epochs = {"sets": ("topics.jsonl", "topics", 15), "numbers": ("stars.csv", "stars", 4)}[name]
    options = f"--train_file {folder / file} --label_column {column} --num_train_epochs {epochs} --ema_decay 0"
    train_classifier.main(f"{options} --output_dir {folder / name} {SMALL} {extra}".split())
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    write_topics(folder / "topics.jsonl", 200, random.Random(0))
    write_stars(folder / "stars.csv", 300, random.Random(0))
    return folder


@pytest.fixture(scope="module")
def sets(folder: Path) -> Path:
    return train(folder, "sets", "--eval_strategy no --save_strategy no")


@pytest.fixture(scope="module")
def numbers(folder: Path) -> Path:
    return train(folder, "numbers", "--save_total_limit 9")


def content(run: Path, name: str) -> dict:
    return json.loads((run / name).read_text(encoding="utf-8"))


def check_report(run: Path, problem_type: str, scores: set[str]) -> dict:
    """What every kind leaves; returns evaluation.json."""
    evaluation, results, record = (
        content(run, name) for name in ("evaluation.json", "all_results.json", "run_config.json")
    )
    assert evaluation["problem_type"] == record["problem_type"] == content(run, "config.json")["problem_type"]
    assert evaluation["problem_type"] == problem_type
    assert evaluation["scores"].keys() == evaluation["baselines"][0]["scores"].keys() == scores
    for name, score in evaluation["scores"].items():
        low, high = score["interval_95"]
        assert low <= score["value"] <= high
        assert score["value"] == pytest.approx(results[f"test_{name}"], abs=1e-5)
        assert f"eval_{name}" in results
    report, card = ((run / name).read_text(encoding="utf-8") for name in ("results.md", "README.md"))
    assert "(paired bootstrap)" in report
    assert "(paired bootstrap)" in card
    assert evaluation["headline"] is None
    assert report.startswith("**Use ")
    assert "**The" not in report + card
    assert not uploaded_texts(run), "texts are quoted only if asked to"
    assert is_as_recorded(run)
    return evaluation


def test_sets_of_classes_are_learned(sets: Path) -> None:
    names = {"f1_micro", "f1_macro", "exact_match", "hamming_loss"}
    evaluation = check_report(sets, "multi_label_classification", names)
    assert evaluation["scores"]["f1_micro"]["value"] > 0.8 < evaluation["baselines"][0]["scores"]["f1_micro"]["value"]
    assert [row["label"] for row in evaluation["classes"]] == ["acting", "music", "plot"]
    assert "any number of the labels acting, music, plot" in (sets / "README.md").read_text()
    [answers] = pipeline("text-classification", model=str(sets), top_k=None)(["film 7 story actor"])
    assert {answer["label"]: answer["score"] > 0.5 for answer in answers} == {
        "plot": True,
        "acting": True,
        "music": False,
    }


def test_numbers_are_learned_in_their_own_unit(numbers: Path) -> None:
    names = {"mae", "rmse", "pearson", "spearman"}
    evaluation = check_report(numbers, "regression", names)
    assert evaluation["scores"]["rmse"]["value"] < 8
    assert evaluation["scores"]["pearson"]["value"] > 0.9
    assert evaluation["baselines"][0]["scores"]["pearson"]["value"] > 0.8
    [answer] = pipeline("text-classification", model=str(numbers))("great warm film")
    assert answer["label"] == "stars"
    assert 60 < answer["score"] < 80


@pytest.mark.parametrize(
    ("name", "constant"), [("sets", r"(\(none\)|(acting|music|plot)(, \w+)*)"), ("numbers", "(49|50|51)")]
)
def test_report_and_card_first_say_that_a_model_is_no_use(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture, name: str, constant: str
) -> None:
    for file in folder.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "new.csv").write_text("text\ngreat warm film 7 story\nunheard\n")
    run = train(tmp_path, name, "--max_steps 1 --learning_rate 1e-6 --eval_strategy no --save_strategy no")
    printed = capfd.readouterr()
    assert "%|" not in printed.out + printed.err, "progress bars are for terminals"
    evaluation = content(run, "evaluation.json")
    headline, rival = evaluation["headline"], evaluation["baselines"][0]["name"]
    assert re.match(rf"The Transformer (is .* than the answer|predicts) {constant}.* for every text", headline)
    assert (run / "results.md").read_text(encoding="utf-8").startswith(f"**{headline}** Use {rival} instead: ")
    assert f"## Results\n\n**{headline}** Use {rival} instead: " in (run / "README.md").read_text(encoding="utf-8")
    predict_program.main(
        f"--model {run / 'linear'} --input {tmp_path / 'new.csv'} --output {tmp_path / 'new.jsonl'}".split()
    )
    known, unknown = map(json.loads, (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines())
    assert known.keys() == {"row", "label", "score"}
    assert known["score"] != unknown["score"]


@pytest.mark.parametrize(
    ("name", "score"), [("numbers", "rmse"), pytest.param("sets", "f1 micro", marks=pytest.mark.slow)]
)
def test_every_kind_is_fine_tuned_after_pretraining(folder: Path, tmp_path: Path, name: str, score: str) -> None:
    for file in folder.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    run = train(tmp_path, name, "--pretrain_epochs 1 --num_train_epochs 1")
    evaluation = content(run, "evaluation.json")
    assert [stage["name"] for stage in evaluation["stages"]] == ["pretraining", "fine-tuning"]
    assert f"validation {score} " in evaluation["stages"][-1]["result"]
    assert "| fine-tuning |" in (run / "README.md").read_text(encoding="utf-8")
    assert content(run, "config.json")["problem_type"] == evaluation["problem_type"]
    assert is_as_recorded(run)


def test_checkpoints_predict_in_the_unit_too(numbers: Path) -> None:
    for checkpoint in numbers.glob("checkpoint-*"):
        [answer] = pipeline("text-classification", model=str(checkpoint))("film 7")
        assert 30 < answer["score"] < 70


def test_files_are_answered(sets: Path, numbers: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("text\ngreat warm film\nfilm 7 story\n")
    for run in (sets, numbers):
        predict_program.main(
            f"--model {run} --input {tmp_path / 'new.csv'} --output {tmp_path / run.name}.jsonl".split()
        )
    found = [json.loads(line) for line in (tmp_path / "sets.jsonl").read_text().splitlines()]
    assert found[1]["label"] == ["plot"]
    assert found[1]["score"][0] > 0.5
    found = [json.loads(line) for line in (tmp_path / "numbers.jsonl").read_text().splitlines()]
    assert [row["label"] for row in found] == ["stars", "stars"]
    assert found[0]["score"] > found[1]["score"]


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
