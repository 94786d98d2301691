# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The report of a run as files: results.md, evaluation.json and a plot, which pushes upload, and the texts it quotes.

What pushes upload has no texts of the data. The examples are in a file that is never uploaded, from which local pages
read texts to try.
"""

import json
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..run.layout import CURVE, EVALUATION, EXAMPLES, HISTORY, RESULTS
from ..utils.files import read_json, write_json, write_text
from ..utils.markdown import table
from .plots import losses_and_score_png

if TYPE_CHECKING:  # what pushes import this file, and should not wait for Trainer
    from transformers import Trainer
    from transformers.trainer_utils import PredictionOutput

QUOTED = "examples", "example"  # what tasks, and evaluation.json of earlier versions, have texts in


def examples_of(evaluation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the texts that an evaluation quotes, with their labels and answers."""
    if text := evaluation.get("example"):
        return [{"text": text}]
    return evaluation.get("examples") or []


NO_BLOCKS = "The model has no blocks, and so no attention: it reads the embeddings alone."


def model_notes(trainer: "Trainer") -> list[str]:
    """Return what a report says of a model without blocks, and of a run that chose its weights on validation."""
    notes = [NO_BLOCKS] if getattr(trainer.model.config, "num_hidden_layers", None) == 0 else []
    state = trainer.state
    if trainer.args.load_best_model_at_end and state.best_global_step:
        best, last = f"step {state.best_global_step:,}", f"{state.global_step:,}"
        if state.best_model_checkpoint:
            notes.append(f"The weights are those of {best} of {last}, the best on validation{_ties(trainer)}.")
        else:
            notes.append(f"The weights are those of step {last}, the last: those of {best}, the best, were lost.")
    return notes


def deciding_metric(args: Any) -> str:
    """Return the name under which an evaluation has the score that checkpoints are chosen by."""
    return f"eval_{(args.metric_for_best_model or '').removeprefix('eval_')}"


def _ties(trainer: "Trainer") -> str:
    name, state = deciding_metric(trainer.args), trainer.state
    equal = [each["step"] for each in state.log_history if each.get(name) == state.best_metric]
    until = {step for step in equal if step <= state.best_global_step}  # the last weights are evaluated once more
    return f", and the last of {len(until)} steps with the same score" if len(until) > 1 else ""


def write_report(trainer: "Trainer", report: Any, curve: Sequence[Any]) -> None:
    """Write the files of a `Report`. curve: what the learning curve shows beside the losses."""
    folder, evaluation = Path(trainer.args.output_dir or ""), report.evaluation
    lines = [json.dumps(example, ensure_ascii=False, default=str) for example in examples_of(evaluation)]
    write_text(folder / EXAMPLES, "".join(f"{line}\n" for line in lines))
    write_text(folder / RESULTS, report.text)
    write_json(folder / EVALUATION, {name: value for name, value in evaluation.items() if name not in QUOTED})
    losses_and_score_png(trainer.state.log_history, folder / CURVE, *curve)


# The stages of a run


def pretraining_stage(folder: Path, read: str, since: int = 0) -> dict[str, Any]:
    """Return the `stage_of` a finished pretraining run."""
    state = read_json(folder / HISTORY)
    return stage_of(state["log_history"], state["global_step"], read, since)


def stage_of(log: Sequence[Mapping[str, Any]], steps: int, read: str, since: int) -> dict[str, Any]:
    """Return what a training read, and its first and its last loss on validation, by the log of its `TrainerState`.

    since: the step that it was resumed at, which its minutes are counted from.
    """
    losses = [f"{entry['eval_loss']:.3f} at step {entry['step']:,}" for entry in log if "eval_loss" in entry]
    seconds = next((entry["train_runtime"] for entry in reversed(log) if "train_runtime" in entry), 0.0)
    result = f"loss {', then '.join(dict.fromkeys(losses[:1] + losses[-1:]))}"
    return {"read": read, "steps": steps, "minutes": seconds / 60, "result": result, "since": since}


def stages_table(stages: Sequence[Mapping[str, Any]]) -> str:
    """Return the stages as Markdown: pretraining, and fine-tuning after it."""
    rows = []
    for name, each in zip(("pretraining on masked words", "fine-tuning"), stages):
        minutes = f"{each['minutes']:.1f}" + (f" since step {each['since']:,}" if each["since"] else "")
        rows.append([name, each["read"], f"{each['steps']:,}", minutes, each["result"]])
    return table(["stage", "texts", "steps", "minutes", "validation"], rows)


# The split that a report is about


def evaluated_split(splits: Container[str]) -> str:
    """Return test, or validation if there is none."""
    return "test" if "test" in splits else "validation"


def predict_split(trainer: "Trainer", rows: Any, split: str) -> "PredictionOutput":
    """Return the predictions on the rows of a split, and save its metrics, under the names that Trainer uses."""
    prefix = "test" if split == "test" else "eval"
    prediction = trainer.predict(rows, metric_key_prefix=prefix)
    trainer.save_metrics(prefix, prediction.metrics or {})
    return prediction
