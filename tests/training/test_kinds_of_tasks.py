# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sets of classes, numbers and pairs of texts end to end: trained by the command, reported, shared and answered."""

import json
import random
from pathlib import Path
from typing import Any

import predict as predict_program
import pytest
import train_classifier
from processes import refusal
from records import is_as_recorded
from serving import served
from text_samples import fault, load, write
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline
from uploads import uploaded_texts

from modeling_scratch.serving.answerers import load_answerer

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


# Pairs of texts

COLUMNS = "--text_column premise hypothesis"
PAIRS = SMALL.replace("2e-2", "1e-2") + " --ema_decay 0 --disable_tqdm True"
COLOURS = {"red": "blood", "green": "grass", "blue": "sky", "white": "snow"}


def entailment(number: int) -> dict[str, list[Any]]:
    """Whether a thing has a colour. Four of the sixteen combinations are right: sums over words cannot tell them."""
    drawn = random.Random(0)
    colours = [(first, drawn.choice([first] * 2 + [*COLOURS])) for first in drawn.choices(list(COLOURS), k=number)]
    return {
        "premise": [f"ball {row} is {first}" for row, (first, _) in enumerate(colours)],
        "hypothesis": [f"it is {COLOURS[second]}" for _, second in colours],
        "label": ["yes" if first == second else "no" for first, second in colours],
        "sets": [sorted({"same"} if first == second else {"other", second}) for first, second in colours],
        "stars": [len(first) + len(second) + 0.5 for first, second in colours],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    write(folder / "train.jsonl", entailment(240))
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    options = f"--train_file {folder / 'train.jsonl'} {COLUMNS} --output_dir {folder / 'run'} {PAIRS}"
    train_classifier.main(f"{options} --label_column label --num_train_epochs 2".split())
    return folder / "run"


def answer_of(run: Path, first: str, second: str) -> dict[str, float]:
    """The probabilities of a pair, by the library alone."""
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(run), AutoTokenizer.from_pretrained(run)
    probabilities = model(**tokenizer(first, second, return_tensors="pt")).logits[0].softmax(-1).tolist()
    return dict(zip(model.config.id2label.values(), probabilities))


def test_equal_pairs_share_a_split_and_one_without_a_text_is_dropped(tmp_path: Path) -> None:
    firsts, seconds = [f"first {row % 30}" for row in range(122)], [f"SECOND {row % 60}" for row in range(122)]
    seconds[60:] = [text.lower() for text in seconds[60:]]
    firsts[120], seconds[121] = "", " "
    write(tmp_path / "train.csv", {"a": firsts, "b": seconds, "label": [row % 2 for row in range(122)]})
    for names, told in ((["a", "label"], "'label' cannot be both"), (["a", "answer"], "no column 'answer'")):
        with fault(told):
            load(tmp_path, text_column=names, label_column="label")
    data = load(tmp_path, text_column=["a", "b"])
    pairs = {split: {text.lower() for text in data.texts(split)} for split in data.splits}
    assert sum(map(len, pairs.values())) == len(set.union(*pairs.values())) == 60
    assert not any("also occur in train" in warning for warning in data.warnings)
    assert any("dropped 2 rows without a text" in note for note in data.notes)
    assert data.digests() != load(tmp_path, text_column=["b", "a"]).digests()


def test_the_model_reads_both_texts_with_their_token_types(run: Path) -> None:
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(run), AutoTokenizer.from_pretrained(run)
    assert model.config.type_vocab_size == 2
    encoded = tokenizer("ball is red", "it is blood")
    assert encoded["token_type_ids"] == [0] * 5 + [1] * 4
    assert tokenizer.unk_token_id not in encoded["input_ids"]  # its vocabulary has the words of both
    [answer] = pipeline("text-classification", model=str(run))([{"text": "ball is red", "text_pair": "it is sky"}])
    expected = answer_of(run, "ball is red", "it is sky")
    assert answer["score"] == pytest.approx(max(expected.values()), rel=1e-4)
    assert answer["label"] == max(expected, key=expected.__getitem__)
    assert expected != pytest.approx(answer_of(run, "it is sky", "ball is red"))


def test_the_report_and_the_card_show_both_texts(run: Path) -> None:
    evaluation, record = content(run, "evaluation.json"), content(run, "run_config.json")
    assert record["data"]["text_column"] == ["premise", "hypothesis"]
    examples = map(json.loads, (run / "examples.jsonl").read_text(encoding="utf-8").splitlines())
    assert all(row["text"].startswith("ball") and row["text_pair"].startswith("it") for row in examples)
    assert all(baseline["scores"]["accuracy"]["value"] < 0.9 for baseline in evaluation["baselines"])
    card = (run / "README.md").read_text(encoding="utf-8")
    assert 'pipe({"text": "What is this?", "text_pair": "This is an example."})' in card
    assert "premise and hypothesis" in card


def test_pairs_are_answered_in_files_and_by_the_server(run: Path, tmp_path: Path) -> None:
    write(tmp_path / "new.csv", {"premise": ["ball is red", ""], "hypothesis": ["it is blood", "it is sky"]})
    options = f"--model {run} --input {tmp_path / 'new.csv'} --output {tmp_path / 'answers.jsonl'} --with_text True"
    predict_program.main(f"{options} {COLUMNS} --top_k all".split())
    answer, empty = map(json.loads, (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines())
    pair = {name: answer[name] for name in ("text", "text_pair")}
    assert pair == {"text": "ball is red", "text_pair": "it is blood"}
    assert (empty["label"], empty["score"], empty["text"], empty["text_pair"]) == (None, None, "", "it is sky")
    with served(load_answerer(str(run), "cpu")) as client:
        outputs = client.post("/classify", json={"inputs": [pair, pair], "top_k": "all"}).json()["outputs"]
        wrong = client.post("/classify", json={"inputs": "ball is red"})
        nothing = client.post("/classify", json={"inputs": {**pair, "text": " "}, "threshold": 0}).json()
    expected = answer_of(run, *pair.values())
    for output in (answer["top"], *outputs):
        assert {each["label"]: each["score"] for each in output} == pytest.approx(expected, rel=1e-4)
    assert (wrong.status_code, "must be an object with text and text_pair" in wrong.text) == (422, True)
    assert (nothing["outputs"], nothing["labels"]) == ([], None)


def test_what_takes_single_texts_refuses_pairs(run: Path, folder: Path, tmp_path: Path, capsys) -> None:
    options = f"--train_file {folder / 'train.jsonl'} {COLUMNS} --output_dir {tmp_path / 'new'}"
    said = refusal(capsys, train_classifier.main, f"{options} --pretrain_minutes 2".split())
    assert "excludes pairs of texts (--text_column)" in said
    assert "give --train_file" in refusal(capsys, train_classifier.main, [*COLUMNS.split(), *options.split()[-2:]])
    options = f"--model {run} --input {folder / 'train.jsonl'}"
    assert "pairs of texts" in refusal(capsys, predict_program.main, f"{options} --text_column premise".split())
    assert not (tmp_path / "new").exists()
