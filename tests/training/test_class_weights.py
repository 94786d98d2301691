# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Class weights: the loss and the gradients are those of torch's weighted cross entropy over a whole optimizer step."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import train_classifier
from datasets import Dataset
from processes import refusal
from sklearn.utils.class_weight import compute_class_weight
from torch import nn
from transformers import PreTrainedConfig, TrainingArguments
from transformers.modeling_outputs import SequenceClassifierOutput

from modeling_scratch.run.losses import WeightedCrossEntropy, balanced_weights
from modeling_scratch.run.trainer import RunTrainer

LABELS = [0, 1, 1, 2, 1, 1, 0, 1]
FEATURES = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))


class Linear(nn.Module):
    """A classifier of which every text is a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.config, self.layer = PreTrainedConfig(), nn.Linear(4, 3)
        nn.init.normal_(self.layer.weight, generator=torch.Generator().manual_seed(1))
        nn.init.zeros_(self.layer.bias)

    def forward(self, features: Any, labels: Any = None) -> SequenceClassifierOutput:
        return SequenceClassifierOutput(logits=self.layer(features))


def test_weights_are_those_of_scikit_learn() -> None:
    expected = compute_class_weight("balanced", classes=np.arange(3), y=LABELS)
    assert balanced_weights(LABELS, 3) == pytest.approx(expected.tolist())
    assert balanced_weights([0, 0, 1], 3) == pytest.approx([0.5, 1, 1])  # no text has the last class


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize(("batch", "accumulated"), [(8, 1), (2, 4)])
def test_a_step_is_that_of_the_weighted_cross_entropy(
    tmp_path: Path, batch: int, accumulated: int, smoothing: float
) -> None:
    """Whatever batches the texts of the step are in: they are of unequal weight."""
    model, reference, weights = Linear(), Linear(), torch.tensor(balanced_weights(LABELS, 3))
    options: Any = {"reduction": "none", "label_smoothing": smoothing}
    expected = F.cross_entropy(reference(FEATURES).logits, torch.tensor(LABELS), weights, **options).mean()
    expected.backward()
    with torch.no_grad():
        for weight in reference.parameters():
            weight -= 0.5 * weight.grad
    arguments = TrainingArguments(
        str(tmp_path), use_cpu=True, report_to=[], max_steps=1, per_device_train_batch_size=batch, optim="sgd",
        gradient_accumulation_steps=accumulated, learning_rate=0.5, label_smoothing_factor=smoothing,
        max_grad_norm=0, lr_scheduler_type="constant", save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    rows = Dataset.from_dict({"features": FEATURES.numpy(), "labels": LABELS})
    loss = WeightedCrossEntropy(weights, smoothing)
    trainer = RunTrainer(model, arguments, train_dataset=rows, eval_dataset=rows, compute_loss_func=loss)
    assert trainer.evaluate()["eval_loss"] == pytest.approx(float(expected.detach()), abs=1e-5)
    assert trainer.train().training_loss == pytest.approx(float(expected.detach()), abs=1e-5)
    for found, wanted in zip(model.parameters(), reference.parameters()):
        torch.testing.assert_close(found, wanted)


def test_the_weights_of_a_run_are_recorded(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    texts = [f"a {word} film {i},{label}" for i in range(30) for word, label in (("great", 1), ("dull", i % 2))]
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *texts]))
    sizes = "hidden_size=16,intermediate_size=16,num_hidden_layers=1,num_attention_heads=2"
    options = f"--train_file {tmp_path / 'train.csv'} --use_cpu --report_to none --config_overrides {sizes}"
    weighted, run = f"{options} --class_weights balanced --output_dir", tmp_path / "run"
    train_classifier.main(f"{weighted} {run} --max_steps 2 --save_strategy no".split())
    record, evaluation = (json.loads((run / f"{name}.json").read_text()) for name in ("run_config", "evaluation"))
    weights, rows = record["weights_of_classes"], record["rows"]["train"]
    assert sum(rows / (2 * weight) for weight in weights.values()) == pytest.approx(rows)  # the texts of each class
    assert weights["NEGATIVE"] > 1 > weights["POSITIVE"]
    assert evaluation["comparison"]["score"] == "f1_macro"
    assert "so macro F1 decides" in (run / "results.md").read_text()
    for extra in ("--problem_type regression", "--search_trials 2"):
        arguments = f"{weighted} {tmp_path / 'other'} {extra}".split()
        assert "--class_weights" in refusal(capsys, train_classifier.main, arguments)
