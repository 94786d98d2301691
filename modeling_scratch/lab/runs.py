# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The runs of a lab: each in a process of its own, whose peak of memory is its own, and resumable.

What a process finds out comes back in a file of JSON that is written last: a run with this file is finished.
"""

import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer

from ..run.callbacks import TIMES
from ..run.checkpoints import delete_checkpoints, step_of
from ..run.life_cycle import Run
from ..run.train import fit, read
from ..sharing.run_record import describe_hardware
from ..utils.command_line import quiet_libraries
from ..utils.errors import DataError, DivergedError
from ..utils.files import read_json, write_json
from .tasks import Experiment, with_changes
from .variants import Matching, Variant

LONGEST = 300  # characters of the last line of a log in an error
# The library's parallel threads do not survive a fork: nothing in this process may compute before the last run.
CONTEXT: Any = get_context("fork" if sys.platform.startswith("linux") else "spawn")
KILOBYTE = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def in_process(work: Callable[..., Any], output: Path, *arguments: Any) -> dict[str, Any]:
    """Return what work(*arguments) returns in a process of its own, which writes it to `output`, and a log beside it.

    Raises `DataError` if it raises one, or ends otherwise. The process ends with this one, by a checkpoint if it can.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    process = CONTEXT.Process(target=_work, args=(work, str(output), arguments))
    process.start()
    try:
        process.join()
    finally:
        if process.is_alive():
            process.terminate()
            process.join()
    result = read_part(output) if output.is_file() else {}
    if "refused" in result:
        output.unlink()
        raise DataError(result["refused"])
    if process.exitcode or not result:
        log = output.with_suffix(".log")
        end = log.read_text(encoding="utf-8", errors="replace").strip()[-LONGEST:] if log.is_file() else ""
        raise DataError(f"a run ended with exit code {process.exitcode}: {end.rpartition(chr(10))[2]} (see {log})")
    return result


def _work(work: Callable[..., Any], output: str, arguments: Sequence[Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which the process that started this one handles
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    log = os.open(Path(output).with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.stdout.flush()
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    quiet_libraries("tokenization")
    try:
        result = work(*arguments)
    except DataError as error:
        result = {"refused": str(error)}
    write_json(Path(output), result)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, even if it was killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def read_part(path: Path) -> dict[str, Any]:
    """Return the record or a result of a lab. Raises `DataError` that says what to do where it is damaged."""
    with suppress(DataError):
        if isinstance(content := read_json(path), dict):
            return content
    raise DataError(f"{path} is damaged: delete it, and the lab repeats this part, or give --overwrite")


def inputs_of(experiment: Experiment, run: Run) -> tuple[Any, Any]:
    """Return the data and the tokenizer of a run."""
    data = read(experiment.task, run)
    return data, experiment.task.build_tokenizer(run.groups["model"], data, run.checkpoint)


def plan(experiment: Experiment, options: Sequence[str], variants: Sequence[Variant], matches: bool) -> dict[str, Any]:
    """Read the data, and return the variants with their parameters, the digests of the data, and the hardware."""
    run = Run(experiment.program, experiment.groups(options, [], 0, "unused"), None)
    inputs = inputs_of(experiment, run)

    def build(changes: Sequence[str]) -> Any:
        return experiment.task.build_model(with_changes(run.groups["model"], changes), *inputs)

    sized = Matching(build, matches).sized(variants)
    hardware = describe_hardware(run.groups["training"].device)
    return {"variants": [vars(variant) for variant in sized], "data_digests": dict(run.digests), "hardware": hardware}


def train(
    experiment: Experiment, options: Sequence[str], variant: Variant, seed: int, folder: str, digests: Any
) -> dict[str, Any]:
    """Train one variant with one seed, or what is left of it, and return its result.

    digests: of the data that the lab was planned with.
    """
    run = Run.open_stage(experiment.program, **experiment.groups(options, variant.overrides, seed, folder))
    resumed_at, inputs = step_of(run.checkpoint), inputs_of(experiment, run)
    if dict(run.digests) != digests:
        raise DataError("the data have changed since the lab was started: restore them, or give --overwrite")
    try:
        trainer = fit(experiment.task, run, *inputs)
    except DivergedError as error:
        return {"failed": str(error).partition(";")[0]}
    delete_checkpoints(Path(folder))  # nothing resumes from them
    return {**result_of(trainer), "resumed_at": resumed_at}


def result_of(trainer: Trainer) -> dict[str, Any]:
    """Return the scores, the curve and the costs of a run that has ended."""
    state, model = trainer.state, trainer.model
    evaluations: dict[int, dict[str, float]] = {}
    for entry in state.log_history:
        scores = {name: value for name, value in entry.items() if name.startswith("eval_") and not name.endswith(TIMES)}
        if scores := {name.removeprefix("eval_"): value for name, value in scores.items()}:
            evaluations.setdefault(int(entry["step"]), {}).update(scores)
    used, is_cuda = resource.getrusage(resource.RUSAGE_SELF), trainer.args.device.type == "cuda"
    return {
        "steps": state.global_step,
        "tokens": int(state.num_input_tokens_seen),
        "epochs": state.epoch,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seconds": next(entry["train_runtime"] for entry in state.log_history[::-1] if "train_runtime" in entry),
        "processor_seconds": used.ru_utime + used.ru_stime,
        "is_timed_by_processor": trainer.args.device.type == "cpu",
        "peak_memory": torch.cuda.max_memory_allocated() if is_cuda else used.ru_maxrss * KILOBYTE,
        "threads": torch.get_num_threads(),
        "scores": evaluations[max(evaluations)],
        "curve": [[step, scores] for step, scores in sorted(evaluations.items())],
    }
