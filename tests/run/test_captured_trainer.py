# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trainer with captured steps computes what Trainer does: on a CPU over the same static batches, on CUDA by graphs."""

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model_cases import CLASSES, TINY
from shared import every_device, redraw
from torch import nn
from torch.utils.data import IterableDataset
from transformers import DataCollatorWithPadding, PreTrainedTokenizerBase, Trainer, TrainerCallback, TrainingArguments

import modeling_scratch as scratch
from modeling_scratch.run.captured_trainer import FEWEST_STEPS, CapturedTrainer
from tokenization import train_wordlevel_tokenizer

ROWS, TEXTS = 46, 8


class Thaw(TrainerCallback):
    """Trains the head alone in the first epoch."""

    def on_train_begin(self, *_: Any, model: Any = None, **__: Any) -> None:
        model.model.requires_grad_(False)

    def on_epoch_end(self, *_: Any, model: Any = None, **__: Any) -> None:
        model.model.requires_grad_(True)


SETTINGS: dict[str, dict[str, Any]] = {
    "one batch an update": {},
    "accumulated": {"gradient_accumulation_steps": 3},
    "not clipped": {"max_grad_norm": 0.0},
    "smoothed labels": {"label_smoothing_factor": 0.2},
    "evaluated between": {"eval_strategy": "steps", "eval_steps": 5},
    "frozen at first": {"callbacks": [Thaw()]},
}


def rows_of(seed: int = 0) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    ids = [random.integers(5, TINY["vocab_size"], length).tolist() for length in random.integers(1, 17, ROWS)]
    return [{"input_ids": row, "labels": int(random.integers(3))} for row in ids]


def tokenizer_of() -> PreTrainedTokenizerBase:
    return train_wordlevel_tokenizer(["a b c"], vocab_size=20, show_progress=False)


def model_of(dropout: float = 0.0) -> Any:
    changes = {"classifier_pooling": "mean", "position_type": "rotary", "norm_position": "pre"}
    config = scratch.ScratchEncoderConfig(**{**TINY, **CLASSES, **changes, "attention_dropout": 0.0})
    model = redraw(scratch.ScratchEncoderForSequenceClassification(config))
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = dropout
    return model


def train(
    folder: Path, model: Any, device: str, make: Any = CapturedTrainer, resume: bool = False, **changes: Any
) -> Any:
    captured = {"captured": True} if make is CapturedTrainer else {}
    callbacks: Sequence[Any] = changes.pop("callbacks", ())
    rows, collator = changes.pop("train_dataset", list), changes.pop("data_collator", DataCollatorWithPadding)
    arguments = TrainingArguments(
        **{
            "output_dir": str(folder), "use_cpu": device == "cpu", "per_device_train_batch_size": TEXTS,
            "num_train_epochs": 3, "learning_rate": 1e-3, "logging_steps": 1, "report_to": "none", "seed": 1,
            "save_strategy": "no", "disable_tqdm": True, **changes,
        }
    )  # fmt: skip
    trainer = make(
        model=model, args=arguments, train_dataset=rows(rows_of()), eval_dataset=rows_of(1),
        data_collator=collator(tokenizer_of()), callbacks=[*callbacks], **captured,
    )  # fmt: skip
    trainer.add_callback(Witness(trainer))
    trainer.train(resume_from_checkpoint=resume)
    return trainer


class Witness(TrainerCallback):
    """Notes of its trainer whether the steps are captured."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.trainer.was_captured = getattr(self.trainer, "replays", None) is not None


def logged(trainer: Trainer, name: str = "loss") -> list[float]:
    return [entry[name] for entry in trainer.state.log_history if name in entry]


@every_device
@pytest.mark.parametrize("settings", list(SETTINGS))
def test_losses_norms_and_weights_are_those_of_trainer(settings: str, device: str, tmp_path: Path) -> None:
    model, plain = model_of(), model_of()
    found = train(tmp_path / "captured", model, device, **SETTINGS[settings])
    expected = train(tmp_path / "plain", plain, device, Trainer, **SETTINGS[settings])
    assert found.was_captured
    assert not expected.was_captured
    for name in ("loss", "grad_norm", "learning_rate", "eval_loss"):
        torch.testing.assert_close(logged(found, name), logged(expected, name), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(model.state_dict(), plain.state_dict(), rtol=1e-3, atol=1e-4)
    assert len(logged(found)) == found.state.max_steps


class Reader(TrainerCallback):
    """Reads all that callbacks can see: gradients before and after an update, and weights."""

    def __init__(self) -> None:
        self.norms: list[float] = []

    def on_pre_optimizer_step(self, *_: Any, model: Any = None, **__: Any) -> None:
        self.norms.append(sum(float(weight.grad.norm()) for weight in model.parameters() if weight.grad is not None))

    def on_step_end(self, *_: Any, model: Any = None, **__: Any) -> None:
        assert all(weight.grad is None for weight in model.parameters())


@every_device
def test_callbacks_see_gradients_before_an_update_and_none_after(device: str, tmp_path: Path) -> None:
    readers = Reader(), Reader()
    for reader, make in zip(readers, (CapturedTrainer, Trainer)):
        train(tmp_path / make.__name__, model_of(), device, make, callbacks=[reader])
    assert readers[0].norms == pytest.approx(readers[1].norms, rel=1e-2, abs=1e-4)


@every_device
def test_a_resumed_run_ends_as_an_uninterrupted_one(device: str, tmp_path: Path) -> None:
    """Bit for bit on a CPU, dropout included. On CUDA, a resumed run meets each size first without a graph.

    In float32, there are other kernels then, which draw other numbers.
    """
    saved = {"save_strategy": "steps", "save_steps": 7}
    whole, first, resumed = (model_of(dropout=0.2 if device == "cpu" else 0.0) for _ in range(3))
    expected = train(tmp_path / "whole", whole, device, **saved)
    train(tmp_path / "stopped", first, device, callbacks=[StopAt(9)], **saved)
    found = train(tmp_path / "stopped", resumed, device, resume=True, **saved)
    assert found.state.global_step == expected.state.global_step
    tolerance = {"rtol": 0.0, "atol": 0.0} if device == "cpu" else {"rtol": 1e-3, "atol": 1e-4}
    torch.testing.assert_close(resumed.state_dict(), whole.state_dict(), **tolerance)
    assert logged(found)[-3:] == pytest.approx(logged(expected)[-3:], rel=1e-3)


class StopAt(TrainerCallback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, _: Any, state: Any, control: Any, **__: Any) -> None:
        control.should_training_stop = state.global_step >= self.step


def test_a_trainer_trains_twice(tmp_path: Path) -> None:
    model = model_of()
    trainer = train(tmp_path, model, "cpu")
    before = copy.deepcopy(model.state_dict())
    trainer.train()
    assert any(not value.equal(before[name]) for name, value in model.state_dict().items())
    assert np.isfinite(logged(trainer)).all()


class Streamed(IterableDataset):
    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)


class Own(DataCollatorWithPadding):
    """Batches that someone else makes."""


OBSTACLES: dict[str, dict[str, Any]] = {
    "only fused optimizers (optim=adamw_torch_fused) have all on the device": {"optim": "adamw_torch"},
    "gradient checkpointing copies the state of random numbers": {"gradient_checkpointing": True},
    "torch_empty_cache_steps is set": {"torch_empty_cache_steps": 5},
    "the training data has no length": {"train_dataset": Streamed},
    "rows with these labels and this collator are not packed": {"data_collator": Own},
}


@pytest.mark.parametrize("reason", OBSTACLES)
def test_what_prevents_captures_is_logged_and_trains_as_ever(
    reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, plain = model_of(), model_of()
    found = train(tmp_path / "captured", model, "cpu", max_steps=3, **OBSTACLES[reason])
    train(tmp_path / "plain", plain, "cpu", Trainer, max_steps=3, **OBSTACLES[reason])
    assert not found.was_captured
    assert f"Steps are not captured as CUDA graphs: {reason}." in caplog.text
    torch.testing.assert_close(model.state_dict(), plain.state_dict())


def test_whole_numbers_as_labels_of_a_regression_are_not_packed(tmp_path: Path) -> None:
    model = model_of()
    model.config.num_labels, model.num_labels, model.config.problem_type = 3, 3, "regression"
    rows = [{**row, "labels": [float(row["labels"])] * 3} for row in rows_of()]
    assert not train(tmp_path, model, "cpu", max_steps=2, train_dataset=lambda _: rows).was_captured


def test_by_default_a_cpu_trains_as_ever(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trainer = train(tmp_path, model_of(), "cpu", partial(CapturedTrainer), max_steps=1)
    assert not trainer.was_captured
    assert "captured" not in caplog.text


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
class TestOnGpu:
    @pytest.mark.parametrize("steps", [FEWEST_STEPS, 3])
    def test_a_long_run_is_captured_by_default_and_a_short_one_is_not(self, steps: int, tmp_path: Path) -> None:
        trainer = train(tmp_path, model_of(), "cuda", partial(CapturedTrainer), max_steps=steps, bf16=True)
        assert trainer.was_captured == (steps == FEWEST_STEPS)
        assert np.isfinite(logged(trainer)).all()

    def test_dropout_draws_new_numbers_at_each_replay(self, tmp_path: Path) -> None:
        trainer = train(tmp_path, model_of(0.5), "cuda", learning_rate=0.0, weight_decay=0.0, num_train_epochs=20)
        losses = logged(trainer)
        assert len(set(losses)) == len(losses)

    def test_steps_never_wait_for_the_device(self, tmp_path: Path) -> None:
        """Once each size has been captured, Trainer's whole loop runs ahead of the device, but where it logs."""
        watch = Watch(12)
        train(tmp_path, model_of(0.1), "cuda", bf16=True, logging_steps=1000, num_train_epochs=4, callbacks=[watch])
        assert watch.steps > 5


class Watch(TrainerCallback):
    """Lets any wait for the device raise an error between a step and the end of the run."""

    def __init__(self, first: int) -> None:
        self.first, self.steps = first, 0

    def on_step_end(self, _: Any, state: Any, __: Any, **___: Any) -> None:
        if state.global_step == self.first:
            torch.cuda.set_sync_debug_mode("error")
        self.steps += state.global_step > self.first
        if state.global_step == state.max_steps:
            torch.cuda.set_sync_debug_mode("default")
