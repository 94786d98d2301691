# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Options of the training scripts: each does what it says, also in a run that is stopped and resumed."""

import json
import re
import shlex
import shutil
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pretrain
import pytest
import torch
import torch.nn.functional as F
import train_classifier
from processes import at_call, in_child, refusal
from shared import redraw
from sklearn.utils.class_weight import compute_class_weight
from test_temperature import write_noisy
from transformers import (
    DefaultDataCollator,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    MPNetConfig,
    MPNetForSequenceClassification,
    PreTrainedModel,
    TrainerCallback,
    TrainerState,
)
from transformers.trainer_pt_utils import LengthGroupedSampler
from transformers.trainer_utils import TrainOutput

from modeling_scratch import ScratchDecoderForSequenceClassification, ScratchEncoderForSequenceClassification, presets
from modeling_scratch.run.arguments import EncoderTrainingArguments
from modeling_scratch.run.callbacks import progress_line
from modeling_scratch.run.checkpoints import checkpoints_in
from modeling_scratch.run.defaults import ClassifierTrainingArguments
from modeling_scratch.run.layout import AVERAGE
from modeling_scratch.run.losses import WeightedCrossEntropy, balanced_weights
from modeling_scratch.run.optimizers import depths
from modeling_scratch.run.resuming import LengthGroups
from modeling_scratch.run.search import rank
from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.utils.errors import DataError, DivergedError

TINY = "hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2,hidden_dropout=0.1"
FAST = "--learning_rate 2e-2 --per_device_train_batch_size 16 --use_cpu --disable_tqdm True --report_to none"
SIZES: dict[str, Any] = {"vocab_size": 16, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 3}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Accuracies differ, and do not only rise."""
    return write_noisy(tmp_path_factory.mktemp("data") / "reviews", train=160, validation=60, test=60)


def train(folder: Path, output: Path, extra: str = "") -> None:
    options = f"--data_dir {folder} --output_dir {output} --config_overrides {TINY} {FAST} {extra}"
    train_classifier.main(shlex.split(options))


REFUSED = {
    "--fsdp full_shard": "--fsdp is not supported: each process holds the whole model here",
    "--dataloader_persistent_workers": "--dataloader_persistent_workers is not supported",
    "--precision auto": "--precision is retired: use --bf16 True",
    "--ignore_data_skip True": "--ignore_data_skip is not supported: a resumed run would read rows twice",
    """--accelerator_config '{"use_seedable_sampler":false}'""": "a resumed run could read other rows",
    "--output_dir s3://bucket/run": "--output_dir 's3://bucket/run': must be a local folder",
    "--config_overrides problem_type=regression": "--config_overrides problem_type: determined by",
    "--dataloader_drop_last True": "--dataloader_drop_last is not supported: each epoch reads every row",
    "--hub_strategy checkpoint": "--hub_strategy checkpoint is not supported: --push_to_hub True pushes once",
    "--config_overrides hiden_size=3": "did you mean 'hidden_size'",
    "--resume_from_checkpoint last": "no complete checkpoint",
    "--load_best_model_at_end True --ema_decay 0.9": "--ema_decay 0",
    "--num_epochs 2": "(did you mean --num_train_epochs?)",
    "--report_to neptune": "--report_to neptune: its library is not installed",
    "--label_smoothing_factor 2": "at most 1",
    "--save_steps 0": "--save_steps 0: must be above 0",
    "--metric_for_best_model nothing": "--metric_for_best_model nothing: the choices are loss, accuracy",
    "--layer_decay 1.5": "--layer_decay",
    "--ema_decay 1 --max_steps 1": "--ema_decay",
    "--early_stopping_patience 2 --ema_decay 0.9": "--ema_decay 0",
    "--early_stopping_patience 2 --ema_decay 0 --save_strategy no": "--save_strategy",
    "--search_trials 2 --early_stopping_patience 2": "--early_stopping_patience",
    "--search_trials 2 --search_over learning_rate": "--search_over is retired",
}


@pytest.mark.parametrize(("options", "told"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_written(
    reviews: Path, tmp_path: Path, capsys, options: str, told: str
) -> None:
    assert told in refusal(capsys, train, reviews, tmp_path / "run", options)
    assert not (tmp_path / "run").exists()


def history(run: Path, name: str) -> list[float]:
    """All that was logged under a name."""
    entries = json.loads((run / "trainer_state.json").read_text())["log_history"]
    return [entry[name] for entry in entries if name in entry]


# Learning rates that fall from layer to layer


def encoder(**changes: int) -> PreTrainedModel:
    sizes = {**SIZES, **changes}
    return ScratchEncoderForSequenceClassification(presets.bert(**sizes, num_attention_heads=2, pad_token_id=0))


def decoder() -> PreTrainedModel:
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return ScratchDecoderForSequenceClassification(presets.gpt2(**SIZES, num_attention_heads=2, **ids))


def native() -> PreTrainedModel:
    config = DistilBertConfig(vocab_size=16, dim=8, hidden_dim=8, n_heads=2, n_layers=3)
    return DistilBertForSequenceClassification(config)


@pytest.mark.parametrize("build", [encoder, decoder, native])
def test_depth_is_counted_from_the_head_down_to_the_embeddings(build: Any) -> None:
    model = build()
    body = model.base_model
    (layers,) = (part for part in body.modules() if isinstance(part, torch.nn.ModuleList) and len(part) == 3)
    expected = dict.fromkeys(model.parameters(), 0) | dict.fromkeys(body.embeddings.parameters(), 4)
    expected |= {weight: 3 - number for number, layer in enumerate(layers) for weight in layer.parameters()}
    assert depths(model, model.base_model_prefix) == expected


def test_the_groups_of_weight_decay_stay_and_the_head_is_logged(tmp_path: Path) -> None:
    def optimizer(decay: float) -> torch.optim.Optimizer:
        arguments = EncoderTrainingArguments(
            str(tmp_path), layer_decay=decay, learning_rate=1e-3, eval_strategy="no", use_cpu=True
        )
        return RunTrainer(model, arguments).create_optimizer()

    def weight_decays(optimizer: torch.optim.Optimizer) -> dict[torch.Tensor, float]:
        return {weight: group["weight_decay"] for group in optimizer.param_groups for weight in group["params"]}

    model = encoder()
    plain, split = optimizer(1.0), optimizer(0.5)
    assert len(plain.param_groups) == 2
    assert weight_decays(split) == weight_decays(plain)
    assert [group["lr"] for group in split.param_groups] == [
        1e-3 * 0.5**depth for depth in (0, 0, 1, 1, 2, 2, 3, 3, 4, 4)
    ]


# Early stopping


@pytest.mark.parametrize(("rate", "told"), [("2e-2", "."), ("1e-9", ", and the last of 2 steps with the same score.")])
def test_stops_after_so_many_evaluations_without_a_better_one(
    rate: str, told: str, reviews: Path, tmp_path: Path
) -> None:
    run, options = tmp_path / "run", f"--num_train_epochs 40 --ema_decay 0 --save_total_limit 50 --learning_rate {rate}"
    train(reviews, run, f"{options} --early_stopping_patience 1")
    *accuracies, kept = history(run, "eval_accuracy")
    best = accuracies.index(max(accuracies))
    assert len(accuracies) == best + 2 < 40
    assert kept == max(accuracies)
    last = max(number for number, accuracy in enumerate(accuracies) if accuracy == max(accuracies))  # of equal ones
    chosen = checkpoints_in(run)[last] / "model.safetensors"
    assert (run / "model.safetensors").read_bytes() == chosen.read_bytes()
    assert f"the best on validation{told}" in (run / "README.md").read_text()


@pytest.mark.parametrize(("score", "is_greater"), [("rmse", False), ("eval_mae", False), ("r2", True), ("loss", False)])
def test_a_smaller_error_is_better(score: str, is_greater: bool, tmp_path: Path) -> None:
    made = ClassifierTrainingArguments(str(tmp_path), metric_for_best_model=score)
    assert made.greater_is_better == is_greater


def test_pretraining_stops_early_by_its_loss_and_keeps_the_best(tmp_path: Path, capsys) -> None:
    """At a rate that is far too high, so that the loss soon rises.

    And the same when it is resumed, in the middle or when it had stopped already.
    """
    text, run = tmp_path / "text.txt", tmp_path / "run"
    text.write_text("\n".join(f"the {word} sees the sea" for word in ("cat", "dog", "aunt") * 30))
    options = (
        f"--train_file {text} --output_dir {run} --objective clm --block_size 32 --tokenizer_kind character "
        f"--config_overrides {TINY} {FAST} --early_stopping_patience 2 --learning_rate 0.3 --max_steps 60 "
        "--eval_steps 2"
    )
    pretrain.main(options.split())
    *losses, kept = history(run, "eval_loss")
    best = losses.index(min(losses))
    assert len(losses) == best + 1 + 2 < 30
    assert kept == min(losses) < losses[-1]
    stop = f"stopped early after step {2 * len(losses)}: best loss {min(losses):g} at step {2 * (best + 1)}\n"
    assert stop in capsys.readouterr().out
    steps = checkpoints_in(run)  # the best, and the last, from which a longer run goes on
    assert [path.name for path in steps] == [f"checkpoint-{2 * (best + 1)}", f"checkpoint-{2 * len(losses)}"]
    weights = (run / "model.safetensors").read_bytes()
    assert weights == (steps[0] / "model.safetensors").read_bytes()
    for left in (len(steps), len(steps) - 1):
        for step in steps[left:]:
            shutil.rmtree(step)
        pretrain.main(f"{options} --resume_from_checkpoint last".split())
        assert (run / "model.safetensors").read_bytes() == weights
        assert history(run, "eval_loss") == [*losses, kept]


# What is printed


VALUES = r"loss [\d.]+, gradient norm [\d.]+, rate [\d.e-]+"


def test_a_log_entry_is_a_line_beside_the_progress_bar(reviews: Path, tmp_path: Path, capsys) -> None:
    options = "--max_steps 2 --per_device_train_batch_size 160 --logging_steps 1 --ema_decay 0.9 --disable_tqdm False"
    train(reviews, tmp_path / "run", f"{options} --include_num_input_tokens_seen True")  # with which Trainer logs times
    printed = capsys.readouterr()
    lines = [line for line in printed.out.splitlines() if line.startswith("step ")]
    of_steps = rf"step [12] of 2 \(epoch \d\.\d\d\): {VALUES}(, num input tokens|$)"
    assert sum(bool(re.match(of_steps, line)) for line in lines) == 2
    evaluated = r": validation loss [\d.]+, accuracy [\d.]+, f1 macro [\d.]+"
    assert sum(bool(re.search(evaluated, line)) for line in lines) == 2
    assert re.search(f"^the saved weights{evaluated}", printed.out, re.MULTILINE)
    assert "{'" not in printed.out + printed.err
    assert "runtime" not in printed.out
    assert "%|" in printed.err


@pytest.mark.parametrize(("evaluations", "printed"), [(5, 5), (20, 20), (74, 21)])
def test_of_many_evaluations_some_are_printed_and_the_last(evaluations: int, printed: int) -> None:
    entries = [{"eval_loss": 1.0, "step": 5 * number} for number in range(1, evaluations + 1)]
    lines = [
        progress_line(entry, TrainerState(max_steps=5 * evaluations, log_history=entries[:number]), is_in_train=True)
        for number, entry in enumerate(entries, 1)
    ]
    assert (sum(line is not None for line in lines), lines[-1] is None) == (printed, False)


# The search


@pytest.fixture(scope="module")
def searched(reviews: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three trials, of which the second one diverges."""
    output = tmp_path_factory.mktemp("search") / "run"

    def diverge(*_: Any, **__: Any) -> None:
        raise DivergedError("some logits are NaN")

    def run() -> None:
        train(reviews, output, "--search_trials 3 --num_train_epochs 2")

    ended = in_child(at_call(RunTrainer, "evaluate", 2, diverge), run)
    assert ended.status == 0, ended.text
    assert "2 of 3 trials have not diverged; on validation:" in ended.text
    return output


def test_search_keeps_scores_and_no_weights(searched: Path, reviews: Path, tmp_path: Path) -> None:
    """And the best arguments give the score that it saw."""
    found = json.loads((searched / "search.json").read_text())
    rows = found["trials"]
    assert rows == sorted(rows, key=lambda row: (-row["accuracy"], row["loss"]))
    for row in rows:
        assert 2e-3 <= row["learning_rate"] <= 2e-1
        assert row["per_device_train_batch_size"] in (8, 16, 32)
        assert row["num_train_epochs"] in (1, 2)
    assert {path.name for path in searched.iterdir()} == {"run_config.json", "search.json"}
    assert json.loads((searched / "run_config.json").read_text())["training"]["search_trials"] == 3
    train(reviews, tmp_path / "best", f"--num_train_epochs 2 {found['best_arguments']}")
    scores = json.loads((tmp_path / "best" / "all_results.json").read_text())
    assert (scores["eval_accuracy"], scores["eval_loss"]) == (rows[0]["accuracy"], rows[0]["loss"])
    train(reviews, tmp_path / "steps", "--search_trials 1 --max_steps 1")
    assert "num_train_epochs" not in (tmp_path / "steps" / "search.json").read_text()
    rows = [{"f1": score, "loss": loss} for score, loss in ((0.5, 0.1), (0.9, 0.4), (0.9, 0.3))]
    assert sorted(rows, key=partial(rank, metric="f1")) == rows[::-1]


# Steps


def trained(folder: Path, model: PreTrainedModel, rows: Any, *callbacks: Any, **options: Any) -> TrainOutput:
    given = {"warmup_steps": 0, "max_grad_norm": 0, "save_strategy": "no", "eval_strategy": "no", "ema_decay": 0.0}
    given |= {"num_train_epochs": 1, "use_cpu": True, "disable_tqdm": True, "report_to": "none", **options}
    resumed, loss = given.pop("resume_from_checkpoint", None), given.pop("compute_loss_func", None)
    arguments = ClassifierTrainingArguments(str(folder), **given)
    collator = DefaultDataCollator()
    trainer = RunTrainer(model, arguments, collator, rows, compute_loss_func=loss, callbacks=[*callbacks])
    return trainer.train(resume_from_checkpoint=resumed)


def rows_of(count: int) -> list[dict[str, Any]]:
    return [{"input_ids": [5 + n % 8, 6, 7], "attention_mask": [1, 1, 1], "label": n % 2} for n in range(count)]


def test_bfloat16_learns_as_float32_does_and_keeps_its_weights(tmp_path: Path) -> None:
    losses = []
    for bf16 in (False, True):
        torch.manual_seed(0)
        options = {"bf16": bf16, "learning_rate": 1e-2, "per_device_train_batch_size": 4, "max_steps": 12}
        losses.append(trained(tmp_path, model := encoder(), rows_of(48), **options).training_loss)
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    assert losses[0] != losses[1]


def test_accumulated_batches_of_a_native_class_are_one_batch(tmp_path: Path) -> None:
    """It takes num_items_in_batch among its keyword arguments, and ignores it."""
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    without = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    weights = []
    for batches in (1, 4):
        torch.manual_seed(0)
        model = redraw(MPNetForSequenceClassification(MPNetConfig(vocab_size=20, **sizes, **without)))
        size = {"per_device_train_batch_size": 8 // batches, "gradient_accumulation_steps": batches, "max_steps": 1}
        trained(tmp_path, model, rows_of(8), **size, optim="sgd", learning_rate=0.1)
        weights.append(model.state_dict())
    torch.testing.assert_close(*weights, atol=1e-6, rtol=1e-4)


# The moving average of the weights


class Trace(TrainerCallback):
    """The weights after each step."""

    def __init__(self) -> None:
        self.steps: list[torch.Tensor] = []

    def on_step_end(self, *_, model: torch.nn.Module, **__) -> None:
        self.steps.append(flat(model))


def flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])


SETTINGS = {
    "save_strategy": "steps", "save_steps": 5, "save_total_limit": 9, "per_device_train_batch_size": 4,
    "learning_rate": 1e-2, "lr_scheduler_type": "constant", "weight_decay": 0.0,
}  # fmt: skip


def averaged(folder: Path, decay: float, max_steps: int = 12, **options: Any) -> tuple[torch.nn.Module, Trace]:
    model, trace = redraw(encoder(num_hidden_layers=1)), Trace()
    trained(folder, model, rows_of(24), trace, ema_decay=decay, max_steps=max_steps, **SETTINGS, **options)
    return model, trace


@pytest.mark.parametrize("decay", [0.5, 0.999], ids=str)
def test_the_end_is_the_average_of_all_steps(tmp_path: Path, decay: float) -> None:
    model, trace = averaged(tmp_path, decay)
    average = flat(redraw(ScratchEncoderForSequenceClassification(model.config)))
    for step, weights in enumerate(trace.steps, 1):
        d = min(decay, (step + 1) / (step + 10))
        average = d * average + (1 - d) * weights
    torch.testing.assert_close(flat(model), average, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(flat(model), trace.steps[-1])


def test_a_checkpoint_has_the_weights_that_training_goes_on_with_and_their_average(tmp_path: Path) -> None:
    _, trace = averaged(tmp_path, 0.9, max_steps=7)
    checkpoint = ScratchEncoderForSequenceClassification.from_pretrained(tmp_path / "checkpoint-5")
    assert torch.equal(flat(checkpoint), trace.steps[4])
    (tmp_path / "checkpoint-5" / AVERAGE).unlink()
    with pytest.raises(DataError, match="--ema_decay 0"):
        averaged(tmp_path, 0.9, resume_from_checkpoint=str(tmp_path / "checkpoint-5"))


def test_batches_of_similar_lengths_are_others_in_each_epoch() -> None:
    sampler = LengthGroups(LengthGroupedSampler(4, lengths=[number % 9 for number in range(80)]), seed=3, rows_a_step=4)
    orders = []
    for epoch in (0, 1, 0):
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    assert orders[0] == orders[2] != orders[1]


# Class weights: the loss and gradients are those of torch's weighted cross entropy over a whole optimizer step

LABELS = [0, 1, 1, 2, 1, 1, 0, 1]


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
    rows = [{**row, "label": label} for row, label in zip(rows_of(8), LABELS)]
    model, weights = encoder(num_labels=3, hidden_dropout=0, attention_dropout=0), balanced_weights(LABELS, 3)
    reference, loss = deepcopy(redraw(model)), WeightedCrossEntropy(torch.tensor(weights), smoothing)
    inputs = {name: torch.tensor([row[name] for row in rows]) for name in ("input_ids", "attention_mask")}
    logits, options = reference(**inputs).logits, {"reduction": "none", "label_smoothing": smoothing}
    expected = F.cross_entropy(logits, torch.tensor(LABELS), torch.tensor(weights), **options).mean()
    expected.backward()
    with torch.no_grad():
        for weight in reference.parameters():
            weight -= 0.5 * weight.grad
    size = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": accumulated, "max_steps": 1}
    size |= {"learning_rate": 0.5, "optim": "sgd", "lr_scheduler_type": "constant", "weight_decay": 0}
    found = trained(tmp_path, model, rows, compute_loss_func=loss, label_smoothing_factor=smoothing, **size)
    assert found.training_loss == pytest.approx(float(expected.detach()), abs=1e-5)
    torch.testing.assert_close(model.state_dict(), reference.state_dict())


def test_the_weights_of_a_run_are_recorded(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    texts = [f"a {word} film {i},{label}" for i in range(30) for word, label in (("great", 1), ("dull", i % 2))]
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *texts]))
    options = f"--train_file {tmp_path / 'train.csv'} --use_cpu --report_to none --config_overrides {TINY}"
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
