# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The runs of a lab, which are resumed where they were stopped.

What a run has found is a file of JSON that is written last: a run with this file is finished.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from transformers import Trainer

from ..run.callbacks import TIMES
from ..run.checkpoints import delete_checkpoints, step_of
from ..run.life_cycle import Run
from ..run.train import fit, read
from ..sharing.run_record import describe_hardware
from ..utils.errors import DataError, DivergedError
from ..utils.files import read_json, write_json
from .tasks import Experiment, with_changes
from .variants import Variant, sized


def read_part(path: Path) -> dict[str, Any]:
    """Return the record or a result of a lab. Raises `DataError` that says what to do where it is damaged."""
    with suppress(DataError):
        if isinstance(content := read_json(path), dict):
            return content
    raise DataError(f"{path} is damaged: delete it, and the lab repeats this part")


def inputs_of(experiment: Experiment, run: Run) -> tuple[Any, Any]:
    """Return the data and the tokenizer of a run."""
    data = read(experiment.task, run)
    return data, experiment.task.build_tokenizer(run.groups["model"], data, run.checkpoint)


def plan(experiment: Experiment, options: Sequence[str], variants: Sequence[Variant], matches: bool) -> dict[str, Any]:
    """Read the data, and return the variants with their parameters, the digests of the data, and the hardware.

    Of texts with one label each, return also the share of the most frequent one in validation: the majority.
    """
    run = Run(experiment.program, experiment.groups(options, [], 0, "unused"), None)
    data, tokenizer = inputs_of(experiment, run)

    def build(changes: Sequence[str]) -> Any:
        return experiment.task.build_model(with_changes(run.groups["model"], changes), data, tokenizer)

    found: dict[str, Any] = {
        "variants": [vars(variant) for variant in sized(variants, build, matches)],
        "data_digests": dict(run.digests),
        "hardware": describe_hardware(run.groups["training"].device),
    }
    rows = data.splits["validation"]
    labels = [*rows["label"]] if "label" in getattr(rows, "column_names", ()) else []
    if labels and all(isinstance(label, int) for label in labels):
        found["majority"] = max(Counter(labels).values()) / len(labels)
    return found


def train(
    experiment: Experiment, options: Sequence[str], variant: Variant, seed: int, output: Path, digests: Any
) -> None:
    """Train one variant with one seed, or what is left of it, and write its result. A log beside it has what it prints.

    digests: of the data that the lab was planned with.
    """
    output.parent.mkdir(exist_ok=True)
    with output.with_suffix(".log").open("a", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        folder = output.with_suffix("")
        run = Run.open_stage(experiment.program, **experiment.groups(options, variant.overrides, seed, str(folder)))
        resumed_at, inputs = step_of(run.checkpoint), inputs_of(experiment, run)
        if dict(run.digests) != digests:
            raise DataError("the data have changed since the lab was started: restore them, or name another folder")
        try:
            result = result_of(fit(experiment.task, run, *inputs))
        except DivergedError as error:
            result = {"failed": str(error).partition(";")[0]}
        else:
            delete_checkpoints(folder)  # nothing resumes from them
    write_json(output, {**result, "resumed_at": resumed_at})


def result_of(trainer: Trainer) -> dict[str, Any]:
    """Return the scores, the curve and the costs of a run that has ended."""
    state, model = trainer.state, trainer.model
    evaluations: dict[int, dict[str, float]] = {}
    for entry in state.log_history:
        scores = {name: value for name, value in entry.items() if name.startswith("eval_") and not name.endswith(TIMES)}
        if scores := {name.removeprefix("eval_"): value for name, value in scores.items()}:
            evaluations.setdefault(int(entry["step"]), {}).update(scores)
    return {
        "steps": state.global_step,
        "tokens": int(state.num_input_tokens_seen),
        "epochs": state.epoch,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seconds": next(entry["train_runtime"] for entry in state.log_history[::-1] if "train_runtime" in entry),
        "scores": evaluations[max(evaluations)],
        "curve": [[step, scores] for step, scores in sorted(evaluations.items())],
    }
