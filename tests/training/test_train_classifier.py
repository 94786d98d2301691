# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The main job end to end on small files of its own: what it writes, what it refuses, and that it loses nothing."""

import csv
import json
import random
import shutil
from pathlib import Path

import pytest
import torch
import train_classifier
from native_models import NATIVES
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainingArguments, pipeline

from modeling_scratch import export_config
from modeling_scratch.bridges.configs import FAMILIES
from modeling_scratch.bridges.model_sources import load_model
from modeling_scratch.training.checkpoints import checkpoint_to_resume
from modeling_scratch.training.classification import with_recipe

FAST = "--learning_rate 2e-2 --num_train_epochs 4 --per_device_train_batch_size 16 --report_to none --use_cpu"
SMALL = f"{FAST} --config_overrides hidden_size=16,intermediate_size=32,num_hidden_layers=1,hidden_dropout=0.1"
GOOD = ["great", "lovely", "warm", "funny", "clever", "moving"]
BAD = ["poor", "dull", "cold", "boring", "stupid", "lifeless"]


def write_reviews(path: Path, rows: int, seed: int, **columns: list[str]) -> Path:
    generator = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", *columns])
        for number in range(rows):
            word = generator.choice((BAD, GOOD)[number % 2])
            text = " ".join(
                [generator.choice(["a", "the"]), word, generator.choice(["film", "story"]), str(number + seed)]
            )
            writer.writerow([text, number % 2, *(values[number] for values in columns.values())])
    return path


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    folder = tmp_path / "reviews"
    folder.mkdir()
    write_reviews(folder / "train.csv", 240, seed=1)
    write_reviews(folder / "validation.csv", 40, seed=1_000)
    write_reviews(folder / "test.csv", 40, seed=2_000)
    return folder


def train(folder: Path, output: Path, extra: str = "") -> None:
    train_classifier.main(f"--data_dir {folder} --output_dir {output} {SMALL} {extra}".split())


def refused(capsys: pytest.CaptureFixture, folder: Path, output: Path, extra: str = "") -> str:
    with pytest.raises(SystemExit) as exit_:
        train(folder, output, extra)
    assert exit_.value.code == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert "error:" in message
    return message


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One finished run, for all tests that only look at it."""
    folder = tmp_path_factory.mktemp("data")
    for split, rows, seed in (("train", 240, 1), ("validation", 40, 1_000), ("test", 40, 2_000)):
        write_reviews(folder / f"{split}.csv", rows, seed)
    train(folder, folder / "run")
    return folder / "run"


def test_learns_and_leaves_everything_that_was_promised(run: Path) -> None:
    results = json.loads((run / "all_results.json").read_text())
    evaluation = json.loads((run / "evaluation.json").read_text())
    assert results["test_accuracy"] == evaluation["accuracy"] > 0.9
    low, high = evaluation["accuracy_interval_95"]
    assert low <= evaluation["accuracy"] <= high
    assert sum(map(sum, evaluation["confusion_matrix"])) == evaluation["texts"] == 40
    assert 0 <= evaluation["mcnemar"]["p_value"] <= 1
    assert evaluation["baseline"]["accuracy"] > 0.9
    assert evaluation["only_answer"] is None
    for picture in ("confusion_matrix.png", "learning_curve.png"):
        assert (run / picture).read_bytes().startswith(b"\x89PNG")
    assert "Transformer" in (run / "results.md").read_text()


def test_records_the_whole_configuration(run: Path) -> None:
    record = json.loads((run / "run_config.json").read_text())
    assert record["model"]["preset"] == "reviews"
    assert record["training"]["learning_rate"] == 2e-2
    assert record["rows"] == {"train": 240, "validation": 40, "test": 40}
    assert record["labels"] == ["NEGATIVE", "POSITIVE"]
    assert record["environment"]["torch"]


def test_folder_is_an_ordinary_checkpoint(run: Path) -> None:
    answer = pipeline("sentiment-analysis", model=str(run))(["a great film", "a dull story"])
    assert [row["label"] for row in answer] == ["POSITIVE", "NEGATIVE"]
    tokenizer, model = AutoTokenizer.from_pretrained(run), AutoModelForSequenceClassification.from_pretrained(run)
    assert model.config.vocab_size == len(tokenizer)
    assert model.config.pad_token_id == tokenizer.pad_token_id
    assert model.config.label2id == {"NEGATIVE": 0, "POSITIVE": 1}
    assert tokenizer.model_max_length == model.config.max_position_embeddings


def test_fine_tunes_a_checkpoint_with_other_labels(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "three"
    folder.mkdir()
    rows = [(f"{word} film {i}", name) for i in range(20) for word, name in zip(("dull", "fair", "great"), "xyz")]
    lines = "\n".join(json.dumps({"review": text, "stars": name}) for text, name in rows)
    (folder / "train.jsonl").write_text(lines)
    tuned = f"--data_dir {folder} --output_dir {tmp_path / 'tuned'} --model_name_or_path {run} {FAST}"
    train_classifier.main(tuned.split())
    config = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned").config
    assert config.id2label == {0: "x", 1: "y", 2: "z"}
    assert (tmp_path / "tuned" / "tokenizer.json").read_bytes() == (run / "tokenizer.json").read_bytes()


@pytest.mark.parametrize("model_type", ["bert", "gpt2"])
def test_fine_tunes_a_native_checkpoint_as_a_scratch_model(
    run: Path, reviews: Path, tmp_path: Path, model_type: str
) -> None:
    """Of whatever class it is; exported, the result is one of the native class again."""
    tokenizer = AutoTokenizer.from_pretrained(run)
    native = next(native for native in NATIVES if native.model_type == model_type)
    ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "num_labels": 7}
    native.model_class(native.config(**ids)).save_pretrained(tmp_path / "native")
    tokenizer.save_pretrained(tmp_path / "native")
    arguments = (
        f"--data_dir {reviews} --output_dir {tmp_path / 'tuned'} --model_name_or_path {tmp_path / 'native'} {FAST}"
    )
    train_classifier.main(arguments.split())
    tuned = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned")
    assert type(tuned).__name__ in native_heads(model_type)
    assert json.loads((tmp_path / "tuned" / "evaluation.json").read_text())["accuracy"] > 0.9
    assert export_config(tuned.config, type(tuned).__name__).model_type == model_type


def test_weights_stored_in_16_bits_are_trained_in_32(run: Path, tmp_path: Path) -> None:
    """A scratch model's and a native one's: in 16 bits an average over steps would stay where it began."""
    native = next(native for native in NATIVES if native.model_type == "bert")
    native.model_class(native.config()).bfloat16().save_pretrained(tmp_path / "native")
    AutoModelForSequenceClassification.from_pretrained(run).bfloat16().save_pretrained(tmp_path / "ours")
    for name in ("native", "ours"):
        head = AutoModelForSequenceClassification, "ForSequenceClassification"
        assert load_model(*head, str(tmp_path / name), False).dtype == torch.float32


def test_a_tokenizer_without_padding_pads_with_the_end_of_a_text(run: Path, reviews: Path, tmp_path: Path) -> None:
    """As GPT-2's and Llama's."""
    tokenizer = AutoTokenizer.from_pretrained(run)
    native = next(native for native in NATIVES if native.model_type == "gpt2")
    native.model_class(native.config(vocab_size=len(tokenizer), pad_token_id=None)).save_pretrained(tmp_path / "native")
    tokenizer.eos_token, tokenizer.pad_token = tokenizer.sep_token, None
    tokenizer.save_pretrained(tmp_path / "native")
    checkpoint = f"--data_dir {reviews} --model_name_or_path {tmp_path / 'native'} {FAST} --max_steps 2"
    train_classifier.main(f"{checkpoint} --output_dir {tmp_path / 'tuned'}".split())
    config = AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned").config
    assert config.pad_token_id == AutoTokenizer.from_pretrained(tmp_path / "tuned").pad_token_id is not None


def test_a_run_that_goes_back_leaves_later_checkpoints_aside(reviews: Path, tmp_path: Path) -> None:
    """They stay, under another name: "last" is the last of the run that goes on."""
    output = tmp_path / "run"
    train(reviews, output, "--num_train_epochs 2 --save_total_limit 9")  # else they would be deleted before
    first, *later = sorted(path.name for path in output.glob("checkpoint-*"))
    assert later
    for limit in (9, 1):
        train(reviews, output, f"--save_total_limit {limit} --resume_from_checkpoint {output / first} --max_steps 20")
        assert {f"_{name}" for name in later} <= {path.name for path in output.iterdir()}
        assert {path.name for path in output.glob("checkpoint-*")} == {"checkpoint-20", *[first] * (limit > 1)}
    arguments = TrainingArguments(str(output), resume_from_checkpoint="last")
    assert checkpoint_to_resume(arguments) == str(output / "checkpoint-20")


def test_evaluations_and_checkpoints_come_together(reviews: Path, tmp_path: Path) -> None:
    """Else the step that is best on validation could be one that was not saved."""
    steps = "--eval_strategy steps --save_strategy steps --eval_steps 7 --max_steps 21"
    train(reviews, tmp_path / "run", f"--ema_decay 0 {steps}")
    history = json.loads((tmp_path / "run" / "trainer_state.json").read_text())
    assert (tmp_path / "run" / history["best_model_checkpoint"]).is_dir()
    assert history["save_steps"] == 7


def native_heads(model_type: str) -> set[str]:
    return {head for head in FAMILIES[model_type].heads if head.endswith("ForSequenceClassification")}


def test_of_a_checkpoint_dropouts_can_change_and_sizes_cannot(run: Path, reviews: Path, tmp_path: Path, capsys) -> None:
    checkpoint = (
        f"--data_dir {reviews} --output_dir {tmp_path / 'tuned'} --model_name_or_path {run} {FAST} --max_steps 1"
    )
    train_classifier.main(f"{checkpoint} --config_overrides hidden_dropout=0.25".split())
    assert AutoModelForSequenceClassification.from_pretrained(tmp_path / "tuned").config.hidden_dropout == 0.25
    with pytest.raises(SystemExit):
        train_classifier.main(f"{checkpoint} --config_overrides hidden_size=8".split())
    assert "--config_overrides hidden_size: for a checkpoint, only" in capsys.readouterr().err


def test_a_model_that_gives_one_answer_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Its labels say nothing of its texts, and most of them are the same."""
    folder, output = tmp_path / "same", tmp_path / "run"
    folder.mkdir()
    for split, rows in (("train", 240), ("test", 40)):
        lines = [f"a {GOOD[number % 6]} film {number},{int(number % 7 > 0)}" for number in range(rows)]
        (folder / f"{split}.csv").write_text("\n".join(["text,label", *lines]), encoding="utf-8")
    train(folder, output, "--num_train_epochs 1")
    assert json.loads((output / "evaluation.json").read_text())["only_answer"] == "POSITIVE"
    message = "predicts POSITIVE for every text: it has not learned"
    assert message in capsys.readouterr().out
    assert message in (output / "results.md").read_text()
    assert "**It predicts POSITIVE for all of these texts" in (output / "README.md").read_text()


def test_a_misspelt_option_is_answered_with_the_likely_one(reviews: Path, tmp_path: Path, capsys) -> None:
    assert "(did you mean --num_train_epochs?)" in refused(capsys, reviews, tmp_path / "run", "--num_epochs 2")
    assert refused(capsys, reviews, tmp_path / "run", "--quux 2").endswith("unrecognized arguments: --quux 2")


def test_a_run_that_did_not_end_is_not_called_another(run: Path, tmp_path: Path, reviews: Path, capsys) -> None:
    stopped = tmp_path / "stopped"
    shutil.copytree(run, stopped)
    (stopped / "all_results.json").unlink()
    (stopped / "checkpoint-8").mkdir()
    assert "an unfinished run; continue it with --resume_from_checkpoint last" in refused(capsys, reviews, stopped)


def test_another_run_is_never_written_over(run: Path, reviews: Path, tmp_path: Path, capsys) -> None:
    before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert "holds another run" in refused(capsys, reviews, run)
    assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == before

    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("my thesis")
    assert "do not belong to a run" in refused(capsys, reviews, precious, "--overwrite")
    assert (precious / "thesis.txt").read_text() == "my thesis"


def test_a_run_that_cannot_start_overwrites_nothing(run: Path, reviews: Path, tmp_path: Path, capsys) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    refused(capsys, reviews, run, "--overwrite --text_column nowhere")
    assert "would delete" in refused(capsys, reviews, run, f"--overwrite --tokenizer_name_or_path {run}")
    assert "not a checkpoint" in refused(capsys, reviews, run, f"--resume_from_checkpoint {tmp_path}")
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_run_goes_on_with_its_own_vocabulary_and_arguments(reviews: Path, tmp_path: Path, capsys) -> None:
    output = tmp_path / "run"
    train(reviews, output, "--max_steps 2 --save_strategy steps --save_steps 2")
    vocabulary = (output / "tokenizer.json").read_bytes()
    train(reviews, output, "--max_steps 3 --save_strategy no --resume_from_checkpoint last")
    assert (output / "tokenizer.json").read_bytes() == vocabulary
    assert json.loads((output / "run_config.json").read_text())["training"]["max_steps"] == 3
    message = refused(capsys, reviews, output, "--preset tutorial --resume_from_checkpoint last")
    assert "--preset was 'reviews' and is 'tutorial'" in message
    message = refused(capsys, tmp_path / "elsewhere", output, "--resume_from_checkpoint last")
    assert "--data_dir was 'reviews' and is 'elsewhere'" in message


def test_overwrite_replaces_a_run(reviews: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    train(reviews, output, "--max_steps 2")
    train(reviews, output, "--max_steps 2 --overwrite --preset tutorial")
    assert json.loads((output / "run_config.json").read_text())["model"]["preset"] == "tutorial"


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("--preset bort", ["bort", "bert", "tutorial"]),
        ("--config_overrides hiden_size=3", ["hiden_size", "did you mean 'hidden_size'"]),
        ("--config_overrides hidden_size=x", ["hidden_size"]),
        ("--config_overrides norm_type=batch", ["norm_type", "rms_norm", "layer_norm"]),
        ("--config_overrides hidden_size", ["'hidden_size'", "name=value"]),
        ("--tokenizer_name_or_path /nowhere", ["/nowhere"]),
        ("--text_column review", ["review", "text"]),
        ("--vocab_size 3", ["vocab_size"]),
        ("--resume_from_checkpoint last", ["no complete checkpoint"]),
        ("--max_length 2", ["--max_length 2"]),
        ("--config_overrides vocab_size=5", ["vocab_size"]),
        ("--load_best_model_at_end True", ["--ema_decay 0"]),
        ("--evaluation_strategy epoch", ["evaluation_strategy"]),
    ],
    ids=lambda value: value.split()[1] if isinstance(value, str) else "",
)
def test_bad_arguments_end_in_one_clear_line(
    reviews: Path, tmp_path: Path, capsys, extra: str, said: list[str]
) -> None:
    message = refused(capsys, reviews, tmp_path / "run", extra)
    for part in said:
        assert part in message
    assert "Traceback" not in message


def test_empty_and_huge_texts_are_counted(reviews: Path, tmp_path: Path, capsys) -> None:
    with (reviews / "train.csv").open("a", encoding="utf-8") as file:
        file.write(f",1\n{'great film ' * 91_000},1\n")
    train(reviews, tmp_path / "run", "--max_steps 1")
    printed = capsys.readouterr().out
    assert "1 rows without a text were dropped" in printed
    assert "1 texts exceed 512 tokens and were truncated" in printed


@pytest.mark.parametrize(
    ("arguments", "is_demo"),
    [
        ([], True),
        (["--ema_decay", "0.9", "--max_train_samples", "9"], True),
        (["--data_dir", "x"], False),
        (["--train-file=x.csv"], False),
        (["--model_name_or_path", "x"], False),
    ],
    ids=str,
)
def test_the_recipe_of_the_demo_goes_with_its_reviews(arguments: list[str], is_demo: bool) -> None:
    given = with_recipe(arguments)
    assert given[len(given) - len(arguments) :] == arguments
    assert ("demo" in given) == is_demo
