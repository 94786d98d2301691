# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Settings that follow from the number of texts, the model of `make train`, and what retired options answer."""

import json
import random
from pathlib import Path
from typing import Any

import pretrain
import pytest
import torch
import train_classifier
from processes import refusal
from test_train_classifier import write_reviews
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from modeling_scratch.data.labelled_texts import ReviewData
from modeling_scratch.run.defaults import (
    LEAST_STEPS,
    MOST_EPOCHS,
    TABLE,
    ClassifierModelArguments,
    ClassifierTrainingArguments,
    choose,
    row_for,
    values_of,
)
from modeling_scratch.run.encoder_models import build_model, build_tokenizer
from modeling_scratch.training import train_classifier as trained
from modeling_scratch.utils.options import RETIRED

TINY = "hidden_size=8,intermediate_size=8,num_attention_heads=2"
QUIET = "--report_to none --use_cpu --disable_tqdm True --eval_strategy no --save_strategy no"

PARTS = ["plot", "acting", "script", "music", "cast", "dialogue", "editing", "ending", "camera", "story"]
GOOD = ["gripping", "brilliant", "warm", "funny", "clever", "moving", "superb", "fresh", "vivid", "witty"]
BAD = ["dull", "clumsy", "cold", "tedious", "stupid", "boring", "bland", "stale", "flat", "silly"]
CLAUSES = ["although {other} , {main}", "{main} , although {other}", "{other} , but {main}", "{main} , even if {other}"]


def verdicts(count: int) -> list[tuple[str, str]]:
    """Sentences with the label of the main clause. The other clause has the other opinion: words do not tell."""
    drawn, rows = random.Random(0), dict[str, str]()
    while len(rows) < count:
        main, other = drawn.sample(PARTS, 2)
        words, label = ((GOOD, BAD), "good") if len(rows) % 2 else ((BAD, GOOD), "bad")
        said, against = map(drawn.choice, words)
        clauses = {"main": f"the {main} is {said}", "other": f"the {other} is {against}"}
        rows[drawn.choice(CLAUSES).format(**clauses)] = label
    return list(rows.items())


@pytest.mark.slow
@pytest.mark.parametrize("texts", [max(600, row.texts) for row in TABLE])
def test_the_order_of_words_is_learned(texts: int, tmp_path: Path) -> None:
    rows = verdicts(texts + 500)
    splits = {"train": rows[:texts], "validation": rows[texts:]}
    report = trained(splits, tmp_path / "run", use_cpu=True, report_to="none", seed=0)
    assert report.scores["accuracy"] > 0.95


@pytest.mark.parametrize("min_frequency", [1, 2])
def test_a_word_that_no_training_has_taught_is_no_noise(min_frequency: int) -> None:
    arguments = ClassifierModelArguments(tokenizer_kind="words", vocab_size=50, min_frequency=min_frequency)
    tokenizer = build_tokenizer(arguments, ["a warm film", "a dull film"])
    embeddings = build_model(arguments, tokenizer, ["no", "yes"]).get_input_embeddings().weight
    assert bool(embeddings[tokenizer("unheard").input_ids[1]].any()) == (min_frequency == 2)


@pytest.mark.parametrize("texts", [50, 200, 1_500, 5_000, 20_000, 10**6])
@pytest.mark.parametrize("is_pretrained", [False, True])
def test_few_texts_are_read_often_enough(texts: int, is_pretrained: bool) -> None:
    chosen = values_of(row := row_for(texts, is_pretrained=is_pretrained), texts)["training"]
    epochs, batch = chosen["num_train_epochs"], chosen["per_device_train_batch_size"]
    assert epochs * texts / batch >= LEAST_STEPS or epochs == MOST_EPOCHS
    assert epochs == row.epochs or (epochs - 1) * texts / batch < LEAST_STEPS


def test_the_documentation_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text(encoding="utf-8")
    for row, following in zip(TABLE, [*TABLE[1:], None]):
        texts = f"{row.texts:,} or more" if following is None else f"fewer than {following.texts:,}"
        sizes = f"{row.layers} of {row.hidden_size} | {row.vocab_size:,} | {row.batch} | {row.epochs}"
        assert f"| {texts} | {sizes} |" in page


def test_what_is_given_counts_and_a_resumed_run_keeps_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table = write_reviews(tmp_path / "reviews.csv", 60, 0)
    run = f"--train_file {table} --output_dir {tmp_path / 'run'} {QUIET} --config_overrides {TINY}".split()
    train_classifier.main([*run, "--vocab_size", "50", "--max_steps", "2", "--save_strategy", "steps"])
    said = "48 texts: 1 layer of 8, vocabulary 50, 2 steps; change them by --config_overrides, --vocab_size,"
    assert f"{said} --max_steps\n" in capsys.readouterr().out
    record = json.loads((tmp_path / "run" / "run_config.json").read_text())
    assert record["model"]["vocab_size"] == 50
    assert record["training"]["learning_rate"] == record["defaults"]["training"]["learning_rate"]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["hidden_size"], config["norm_position"], config["classifier_pooling"]) == (8, "pre", "mean")


@pytest.mark.parametrize(
    ("given", "decay"),
    [
        ({}, 0),
        ({"num_train_epochs": 40}, 0.999),
        ({"max_steps": 2_000}, 0.999),
        ({"num_train_epochs": 40, "gradient_accumulation_steps": 4}, 0),
        ({"max_steps": 2_000, "early_stopping_patience": 2}, 0),
    ],
    ids=str,
)
def test_the_average_of_weights_follows_the_length(given: dict[str, Any], decay: float, tmp_path: Path) -> None:
    texts = [(f"film {number}", number % 2) for number in range(480)]
    data = ReviewData.from_pairs({"train": texts}, ["no", "yes"], [], [])
    training = ClassifierTrainingArguments(str(tmp_path), use_cpu=True, **given)
    assert choose(data, False, ClassifierModelArguments(), training, False)["training"]["ema_decay"] == decay


def test_what_is_retired_names_what_replaces_it(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    output = ["--output_dir", str(tmp_path / "run")]
    for name in (name for name in RETIRED if name.startswith("--") and " " not in name):
        for spelled in ([name, "1"], [f"{name.replace('_', '-')}=1"]):
            message = refusal(capsys, train_classifier.main, [*output, *spelled])
            assert f"{name} is retired: {RETIRED[name]}" in message
    options = ["--config_overrides", "ngram_vocab_size=5"]
    assert "ngram_vocab_size is retired: " in refusal(capsys, train_classifier.main, [*output, *options])
    options = ["--objective", "context", "--train_file", "x.txt"]
    assert "--objective context is retired: use --objective mlm" in refusal(capsys, pretrain.main, [*output, *options])
    assert not (tmp_path / "run").exists()


# The model of `make train`: right about plain sentences of a visitor, and by the order of words

FLAGSHIP = "The acting is gripping, but this film bores."
SENTENCES = [line.split(" ", 1) for line in Path(__file__).with_name("plain_reviews.txt").read_text().splitlines()]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("demo") / "run"
    train_classifier.main(f"--output_dir {folder} --use_cpu --report_to none".split())
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def positive(text: str, has_order: bool = True) -> float:
        inputs = tokenizer(text, return_tensors="pt")
        if not has_order:
            inputs["position_ids"] = torch.zeros_like(inputs["input_ids"])
        with torch.no_grad():
            return model(**inputs).logits.softmax(-1)[0, 1].item()

    return positive


@pytest.mark.slow
def test_plain_sentences_of_a_visitor_are_understood(demo: Any) -> None:
    """At least 95 % of sentences that were written by hand, as plain as "This film is terrible."."""
    wrong = [(sign, text) for sign, text in SENTENCES if (demo(text) > 0.5) != (sign == "+")]
    assert len(SENTENCES) >= 200
    assert len(wrong) <= 0.05 * len(SENTENCES), wrong


@pytest.mark.slow
def test_the_answer_to_the_sentence_of_the_readme_depends_on_the_order_of_words(demo: Any) -> None:
    reversed_opinions = "The acting bores, but this film is gripping."
    assert demo(FLAGSHIP) < 0.05 < 0.95 < demo(reversed_opinions)
    without_order = [demo(text, has_order=False) for text in (FLAGSHIP, reversed_opinions)]
    assert without_order[0] == pytest.approx(without_order[1], abs=0.05), "a bag of words cannot tell them apart"
