# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A saved classifier gives softmax(logits / T), whoever loads it; its checkpoints and its answers stay as they were."""

import csv
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import train_classifier
from datasets import Dataset
from native_models import VOCAB, Native
from sklearn.metrics import log_loss
from torch import Tensor, nn
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedModel,
    Trainer,
    TrainingArguments,
    pipeline,
)

from modeling_scratch.bridges.conversion import export_pretrained, load_pretrained
from modeling_scratch.report.calibration import fit_temperature
from modeling_scratch.run.losses import calibrate

SMALL = (
    "--preset bert --config_overrides hidden_size=16,intermediate_size=32,num_hidden_layers=1,num_attention_heads=2 "
    "--learning_rate 1e-2 --warmup_steps 0.3 --num_train_epochs 4 --per_device_train_batch_size 16 --ema_decay 0 "
    "--report_to none --use_cpu"
)
TEXTS = ["a great film", "the dull story", "a great dull film"]


def write_noisy(folder: Path, **rows: int) -> Path:
    """Reviews of which a fifth has the wrong label."""
    folder.mkdir()
    generator = random.Random(0)
    for split, count in rows.items():
        lines = ["text,label"]
        for number in range(count):
            word, label = ("dull", "great")[number % 2], number % 2 ^ (generator.random() < 0.2)
            lines.append(f"{generator.choice(('a', 'the'))} {word} film {split} {number},{label}")
        (folder / f"{split}.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_noisy(tmp_path_factory.mktemp("data") / "noisy", train=160, validation=120, test=60)


@pytest.fixture(scope="module")
def run(data: Path) -> Path:
    train_classifier.main(f"--data_dir {data} --output_dir {data.parent / 'run'} {SMALL} --save_total_limit 9".split())
    return data.parent / "run"


def rows_of(data: Path, split: str) -> tuple[list[str], list[int]]:
    """Texts and labels."""
    with (data / f"{split}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [int(row["label"]) for row in rows]


def evaluation_of(run: Path) -> dict[str, Any]:
    return json.loads((run / "evaluation.json").read_text())


def best_checkpoint(run: Path) -> Path:
    state = json.loads((run / "trainer_state.json").read_text())
    return run / Path(state["best_model_checkpoint"]).name


def logits_of(folder: Path, texts: list[str]) -> Tensor:
    tokenizer, model = (each.from_pretrained(folder) for each in (AutoTokenizer, AutoModelForSequenceClassification))
    with torch.no_grad():
        return model(**tokenizer(texts, padding=True, truncation=True, return_tensors="pt")).logits.double()


def test_any_client_gets_calibrated_probabilities(run: Path, tmp_path: Path) -> None:
    """A pipeline, and a native checkpoint that the model is exported to."""
    trained = logits_of(best_checkpoint(run), TEXTS)
    temperature = evaluation_of(run)["calibration"]["temperature"]
    expected = (trained / temperature).softmax(-1)
    assert not torch.allclose(expected, trained.softmax(-1), atol=1e-3), "there is nothing to see"
    answers = pipeline("text-classification", model=str(run), top_k=None)(TEXTS)
    found = [[row["score"] for row in sorted(rows, key=lambda row: row["label"])] for rows in answers]
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), expected, atol=1e-6, rtol=0)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(run), AutoTokenizer.from_pretrained(run)
    export_pretrained(model, tmp_path / "native", tokenizer)
    native = logits_of(tmp_path / "native", TEXTS).softmax(-1)
    torch.testing.assert_close(native, expected, atol=1e-6, rtol=0)


def test_predictions_are_those_of_the_saved_model_and_hold_no_text(run: Path, data: Path) -> None:
    """Of the test split, one line a text, from which the scores follow; the digest of the split is the recorded one."""
    head, *lines = map(json.loads, (run / "predictions.jsonl").read_text().splitlines())
    record = json.loads((run / "run_config.json").read_text())
    digest = record["data_digests"]["test"]
    about = {"labels": record["labels"], "problem_type": "single_label_classification"}
    assert head == {"split": "test", "digest": digest, "texts": 60, **about}
    texts, labels = rows_of(data, "test")
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
    assert [line["id"] for line in lines] == [f"{row}-{digest}" for row, digest in enumerate(digests, 1)]
    assert [line["label"] for line in lines] == [record["labels"][label] for label in labels]
    found = torch.tensor([line["probabilities"] for line in lines], dtype=torch.float64)
    torch.testing.assert_close(found, logits_of(run, texts).softmax(-1), atol=1e-6, rtol=0)
    assert [line["prediction"] for line in lines] == [record["labels"][index] for index in found.argmax(-1)]
    loss = log_loss([line["label"] for line in lines], found, labels=record["labels"])
    scores = evaluation_of(run)["calibration"]["negative_log_likelihood"]
    assert scores["after"] == pytest.approx(loss, rel=1e-6)


def test_the_temperature_is_that_of_the_validation_split(run: Path, data: Path) -> None:
    texts, labels = rows_of(data, "validation")
    expected = fit_temperature(logits_of(best_checkpoint(run), texts).numpy(), np.array(labels))
    calibration = evaluation_of(run)["calibration"]
    assert calibration["temperature"] == pytest.approx(expected, rel=1e-4)
    about = {"validation_texts": 120, "obstacle": None, "on_validation": False}
    assert {name: calibration[name] for name in about} == about


def random_rows(count: int, labels: int) -> Dataset:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(4, VOCAB, (count, 7), generator=generator)
    return Dataset.from_dict({
        "input_ids": ids.tolist(), "attention_mask": torch.ones_like(ids).tolist(),
        "label": torch.randint(labels, (count,), generator=generator).tolist(),
    })  # fmt: skip


def trainer_of(model: PreTrainedModel, folder: Path, rows: int = 120) -> Trainer:
    arguments = TrainingArguments(str(folder), use_cpu=True, report_to="none", disable_tqdm=True)
    return Trainer(model, arguments, eval_dataset=random_rows(rows, 3), preprocess_logits_for_metrics=logits_alone)


def logits_alone(outputs: Any, _: Tensor) -> Tensor:
    return outputs[0] if isinstance(outputs, tuple) else outputs


def predictions(trainer: Trainer) -> Tensor:
    return torch.from_numpy(trainer.predict(trainer.eval_dataset).predictions).double()


HEADS = "ScratchEncoderForSequenceClassification", "ScratchDecoderForSequenceClassification"
NATIVE = [Native(name, HEADS[name in ("gpt2", "llama")]) for name in ("bert", "roberta", "distilbert", "gpt2", "llama")]


@pytest.mark.parametrize("native", NATIVE, ids=lambda native: native.model_type)
def test_the_last_layer_of_every_family_is_found(native: Native, tmp_path: Path) -> None:
    """Of the native model and of ours."""
    native.model().save_pretrained(tmp_path / "native")
    off = torch.tensor([0, 1, 2, 0, 1] * 12 + [0, 2, 1, 0, 2] * 12)  # 40 % of the answers are right
    for model in (native.model(), load_pretrained(tmp_path / "native")):
        trainer = trainer_of(model, tmp_path)
        before = predictions(trainer)
        labels = ((before.argmax(-1) + off) % 3).tolist()
        trainer.eval_dataset = trainer.eval_dataset.remove_columns("label").add_column("label", labels)
        calibration = calibrate(trainer)
        assert calibration.obstacle is None
        assert calibration.temperature != 1
        after = predictions(trainer)
        expected = before / calibration.temperature
        torch.testing.assert_close(after, expected, atol=1e-5 * float(expected.abs().max()), rtol=1e-5)


class Bounded(GPT2ForSequenceClassification):
    """Logits that are not those of a linear layer."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__(config)
        self.score = nn.Sequential(self.score, nn.Tanh())


@pytest.mark.parametrize(
    ("model_class", "problem", "rows"),
    [
        (Bounded, None, 120),
        (GPT2ForSequenceClassification, "regression", 120),
        (GPT2ForSequenceClassification, "multi_label_classification", 120),
        (GPT2ForSequenceClassification, None, 99),
    ],
    ids=["tanh", "number", "sets", "few texts"],
)
def test_other_models_are_left_alone(model_class: Any, problem: str | None, rows: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = model_class(Native("gpt2", HEADS[1]).config(problem_type=problem))
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    calibration = calibrate(trainer_of(model, tmp_path, rows))
    assert calibration.temperature == 1
    assert calibration.obstacle
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
