# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The main job end to end on small files of its own: what it writes, what it refuses, and that it loses nothing."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
import train_classifier
from native_models import NATIVES
from processes import refusal
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from modeling_scratch import export_config
from modeling_scratch.bridges.configs import FAMILIES
from modeling_scratch.bridges.model_sources import load_model
from modeling_scratch.data.labelled_texts import ReviewData
from modeling_scratch.run.arguments import choose_epoch
from modeling_scratch.run.checkpoints import checkpoints_in, step_of
from modeling_scratch.run.defaults import ClassifierTrainingArguments
from modeling_scratch.tasks.classify import TASK
from modeling_scratch.utils.command_line import parsed
from modeling_scratch.utils.errors import DataError

FAST = "--learning_rate 2e-2 --num_train_epochs 4 --per_device_train_batch_size 16 --report_to none --use_cpu"
SMALL = f"{FAST} --config_overrides hidden_size=16,intermediate_size=32,num_hidden_layers=1,hidden_dropout=0.1"
GOOD = ["great", "lovely", "warm", "funny", "clever", "moving"]
BAD = ["poor", "dull", "cold", "boring", "stupid", "lifeless"]


def write_reviews(path: Path, rows: int, seed: int) -> Path:
    generator, lines = random.Random(seed), ["text,label"]
    for number in range(rows):
        word = generator.choice((BAD, GOOD)[number % 2])
        article, noun = generator.choice(["a", "the"]), generator.choice(["film", "story"])
        lines.append(f"{article} {word} {noun} {number + seed},{number % 2}")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


SPLITS = {"train": 240, "validation": 40, "test": 40}
NATIVE = {native.model_type: native for native in NATIVES}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "reviews"
    folder.mkdir()
    for seed, (split, rows) in enumerate(SPLITS.items()):
        write_reviews(folder / f"{split}.csv", rows, 1_000 * seed)
    return folder


def train(folder: Path, output: Path, extra: str = "") -> None:
    train_classifier.main(f"--data_dir {folder} --output_dir {output} {SMALL} {extra}".split())


@pytest.fixture(scope="module")
def run(reviews: Path) -> Path:
    """One finished run, for all tests that only look at it."""
    train(reviews, reviews.parent / "run", "--save_total_limit 9")
    return reviews.parent / "run"


def test_learns_and_leaves_everything_that_was_promised(run: Path) -> None:
    results = json.loads((run / "all_results.json").read_text())
    evaluation = json.loads((run / "evaluation.json").read_text())
    assert results["test_accuracy"] == evaluation["accuracy"] > 0.9
    assert sum(map(sum, evaluation["confusion_matrix"])) == evaluation["texts"] == 40
    assert min(baseline["scores"]["accuracy"]["value"] for baseline in evaluation["baselines"]) > 0.9
    for name in ("results.md", "README.md"):
        assert "| class | precision | recall | F1 | support |" in (run / name).read_text()
    for picture in ("confusion_matrix.png", "learning_curve.png"):
        assert (run / picture).read_bytes().startswith(b"\x89PNG")
    record = json.loads((run / "run_config.json").read_text())
    assert (record["model"]["preset"], record["training"]["learning_rate"]) == ("reviews", 2e-2)
    assert record["rows"] == SPLITS
    assert record["labels"] == ["NEGATIVE", "POSITIVE"]
    answer = pipeline("sentiment-analysis", model=str(run))(["a great film", "a dull story"])
    assert [row["label"] for row in answer] == ["POSITIVE", "NEGATIVE"]


def test_fine_tunes_a_checkpoint_with_other_labels_and_dropouts(run: Path, tmp_path: Path, capsys) -> None:
    rows = [(f"{word} film {i}", name) for i in range(20) for word, name in zip(("dull", "fair", "great"), "xyz")]
    lines = "\n".join(json.dumps({"review": text, "stars": name}) for text, name in rows)
    (tmp_path / "train.jsonl").write_text(lines)
    tuned = f"--data_dir {tmp_path} --output_dir {tmp_path / 'tuned'} --model_name_or_path {run} {FAST} --max_steps 2"
    told = refusal(capsys, train_classifier.main, f"{tuned} --config_overrides hidden_size=8".split())
    assert "--config_overrides hidden_size: for a checkpoint, only" in told
    train_classifier.main(f"{tuned} --config_overrides hidden_dropout=0.25".split())
    printed = capsys.readouterr()
    assert f"{run}: new, untrained layers: classifier.out_proj\n" in printed.out
    assert "LOAD REPORT" not in printed.err
    assert "not sharded" not in printed.err
    config = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned").config
    assert (config.id2label, config.hidden_dropout) == ({0: "x", 1: "y", 2: "z"}, 0.25)
    assert (tmp_path / "tuned" / "tokenizer.json").read_bytes() == (run / "tokenizer.json").read_bytes()


def test_fine_tunes_a_native_checkpoint_as_a_scratch_model(run: Path, reviews: Path, tmp_path: Path) -> None:
    """Exported, the result is of the native class again. A tokenizer without padding pads with the end of a text."""
    tokenizer, folder = AutoTokenizer.from_pretrained(run), tmp_path / "native"
    tokenizer.eos_token, tokenizer.pad_token = tokenizer.sep_token, None
    ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "num_labels": 7}
    native = NATIVE["gpt2"]
    torch.manual_seed(0)
    native.model_class(native.config(**ids)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    arguments = f"--data_dir {reviews} --output_dir {tmp_path / 'tuned'} --model_name_or_path {folder} {FAST}"
    train_classifier.main(f"{arguments} --num_train_epochs 2".split())
    tuned = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned")
    assert type(tuned).__name__ in FAMILIES["gpt2"].heads
    assert json.loads((tmp_path / "tuned" / "evaluation.json").read_text())["accuracy"] > 0.9
    assert export_config(tuned.config, type(tuned).__name__).model_type == "gpt2"
    assert tuned.config.pad_token_id == AutoTokenizer.from_pretrained(tmp_path / "tuned").pad_token_id is not None


def test_weights_stored_in_16_bits_are_trained_in_32(run: Path, tmp_path: Path) -> None:
    """A scratch model's and a native one's: in 16 bits an average over steps would stay where it began."""
    native = NATIVE["bert"]
    native.model_class(native.config()).bfloat16().save_pretrained(tmp_path / "native")
    AutoModelForSequenceClassification.from_pretrained(run).bfloat16().save_pretrained(tmp_path / "ours")
    for name in ("native", "ours"):
        head = AutoModelForSequenceClassification, "ForSequenceClassification"
        assert load_model(*head, str(tmp_path / name), False).dtype == torch.float32


def test_a_run_that_goes_back_leaves_later_checkpoints_aside(run: Path, reviews: Path, tmp_path: Path, capsys) -> None:
    """They stay, under another name: "last" is the last of the run that goes on, with its vocabulary."""
    output = shutil.copytree(run, tmp_path / "run")
    first, *later = checkpoints_in(output)
    assert later
    steps = step_of(first) + 2
    train(reviews, output, f"--save_total_limit 1 --resume_from_checkpoint {first} --max_steps {steps}")
    assert {f"_{path.name}" for path in later} <= {path.name for path in output.iterdir()}
    assert [step_of(path) for path in checkpoints_in(output)] == [steps]
    assert (output / "tokenizer.json").read_bytes() == (run / "tokenizer.json").read_bytes()
    assert json.loads((output / "run_config.json").read_text())["training"]["max_steps"] == steps
    elsewhere = f"--layer_decay 0.9 --data_dir {tmp_path / 'elsewhere'} --resume_from_checkpoint last"
    told = "--data_dir was 'reviews' and is 'elsewhere'; --layer_decay was 1.0 and is 0.9"
    assert told in refusal(capsys, train, reviews, output, elsewhere)


def test_the_score_that_chooses_counts_rare_classes_where_classes_are_imbalanced_or_weighted(tmp_path: Path) -> None:
    def chosen_by(rare: int, *options: str) -> str:
        texts = [(f"film {number}", int(number < rare)) for number in range(100)]
        data = ReviewData.from_pairs({"train": texts}, ["no", "yes"], [], [])
        (arguments,) = parsed([ClassifierTrainingArguments], ["--output_dir", str(tmp_path), *options])
        return TASK.best(data, arguments)[0]

    assert chosen_by(50) == "accuracy"
    assert chosen_by(9) == chosen_by(50, "--class_weights", "balanced") == "f1_macro"


STEPS = "--eval_strategy steps --save_strategy steps --eval_steps 7"


@pytest.mark.parametrize(
    ("options", "is_chosen", "saved_every"),
    [
        ("", True, 500),
        (STEPS, True, 7),
        (f"{STEPS} --save_steps 1", True, 1),
        ("--load_best_model_at_end False", False, 500),
    ],
    ids=["by default", "with a checkpoint for each evaluation", "and more", "the last, if that is asked for"],
)
def test_the_epoch_is_chosen_on_validation(options: str, is_chosen: bool, saved_every: int, tmp_path: Path) -> None:
    splits = {split: [("film", 0), ("song", 1)] for split in ("train", "validation", "test")}
    data = ReviewData.from_pairs(splits, ["no", "yes"], [], [])
    given = ["--output_dir", str(tmp_path), "--ema_decay", "0", "--use_cpu", *options.split()]
    (arguments,) = parsed([ClassifierTrainingArguments], given)
    choose_epoch(TASK, arguments, data)
    assert (arguments.load_best_model_at_end, arguments.save_steps) == (is_chosen, saved_every)
    if not is_chosen:
        (arguments,) = parsed([ClassifierTrainingArguments], [*given, "--early_stopping_patience", "2"])
        with pytest.raises(DataError, match="requires no --load_best_model_at_end False"):
            choose_epoch(TASK, arguments, data)
