# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The lab: its arguments, its plan, its runs one after another, and its report."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any

from ..run.run_folder import LOCK_FILE, locked
from ..sharing.run_record import environment, without_paths
from ..utils.errors import DataError, counted, duration
from ..utils.files import write_json
from ..utils.markdown import percent
from ..utils.options import option
from .breaks import BREAKS
from .digits import run_breaks
from .report import RECORD, REPORT, Results, shown, write_report
from .runs import plan, read_part, train
from .tasks import EVALUATIONS, NEEDED, TASKS, Experiment, find_task
from .variants import BASE, Variant, check_variants, parse_factors, plan_variants

# What the lab decides for each run.
OURS = ("seed", "output_dir", "config_overrides", "max_steps", "overwrite", "resume_from_checkpoint", "data_dir")
SHOWN = "accuracy", "bleu", "loss", "perplexity"  # after each run
OF_BREAKS = ("broken", "seeds", "max_steps")
NOT_OF_RUNS = ("output_dir", "score", "seeds", "broken")  # a lab goes on with others of these


@dataclass
class LabArguments:
    """What to train, what to vary, and how often."""

    task: str | None = option(None, f"{', '.join(TASKS)}, a folder of labelled texts, or text to write like (.txt).")
    vary: list[str] = option(
        [],
        "A field of the configuration and its values, the first of which is the base: norm_position=pre,post. Repeat "
        "the option for further fields.",
        action="extend",
    )
    broken: str | None = option(
        None,
        f"In place of a task: train a small model whole and with a part broken: {', '.join(BREAKS)}, several with "
        "commas, or all. Other options: --seeds, --max_steps.",
    )
    seeds: int = option(3, "How many seeds each variant has: 2 stands for the seeds 0 and 1.")
    data_dir: str | None = option(None, "; ".join(f"{name}: {what}" for name, what in NEEDED.items()) + ".")
    max_steps: int | None = option(None, "The steps of each run; by default those of the task.")
    match_parameters: bool = option(
        True, "Adjust intermediate_size so that each variant has as many parameters as the base."
    )
    config_overrides: str | None = option(None, "Changes to the configuration of all variants, e.g. hidden_size=128.")
    options: str = option("", 'Further options of the training program, in quotes: "--learning_rate 1e-3".')
    score: str | None = option(
        None, "The validation score to compare, e.g. loss; repeating a lab with another is free."
    )
    output_dir: str = option("runs/lab", "The folder for the runs and the report.")

    RETIRED = {
        "--grid": "vary one switch, and repeat the lab from another base (--config_overrides)",
        "--budget": "give --max_steps; the lab prints the seconds of each run",
        "--overwrite": "delete the folder of the lab, or name another --output_dir",
    }

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise DataError(f"--seeds {self.seeds}: must be at least 1")
        if self.max_steps is not None and self.max_steps < EVALUATIONS:
            raise DataError(f"--max_steps {self.max_steps}: must be at least {EVALUATIONS}, one for each evaluation")
        if self.broken is None and self.task is None:
            raise DataError("--task is missing: name what to train; or give --broken, which has a task of its own")
        if self.broken is not None and (others := self.given().keys() - set(OF_BREAKS)):
            raise DataError(f"--{min(others)}: not with --broken, whose models and task are its own")
        if unknown := set(self.broken_parts()) - BREAKS.keys():
            raise DataError(f"--broken {min(unknown)}: choose from {', '.join(BREAKS)}, or all")
        try:
            names = {name.replace("-", "_") for name in re.findall(r"--([\w-]+)", " ".join(shlex.split(self.options)))}
        except ValueError as error:
            raise DataError(f"--options {self.options}: {error}") from error
        if refused := [name for name in OURS if name in names]:
            raise DataError(f"--options: the lab itself sets --{refused[0]}; give it as an option of the lab, or not")

    def broken_parts(self) -> list[str]:
        if self.broken is None or self.broken == "all":
            return [*BREAKS]
        return [name.strip() for name in self.broken.split(",")]

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, without local paths."""
        return {name: without_paths(value) for name, value in vars(self).items() if value != defaults()[name]}

    def command(self) -> str:
        """Return the command line, with the last component of absolute paths."""
        lists = {name: value if isinstance(value, list) else [value] for name, value in self.given().items()}
        given = [word for name, values in lists.items() for one in values for word in (f"--{name}", str(one))]
        return shlex.join(["modeling-scratch", "lab", *given])


def defaults() -> dict[str, Any]:
    return {**vars(LabArguments("")), "task": None}


def run_lab(arguments: LabArguments) -> None:
    """Plan, train what is not finished, and report. Input errors are raised before the first run."""
    if arguments.broken is not None:
        return run_breaks(arguments.broken_parts(), arguments.seeds, arguments.max_steps)
    assert arguments.task
    factors = parse_factors(arguments.vary)
    task, of_data = find_task(arguments.task, arguments.data_dir)
    options = [*task.options, *of_data, *shlex.split(arguments.options)]
    preset = task.groups(options, [], 0, "unused")["model"].preset
    check_variants(task.comparison.presets, preset, arguments.config_overrides, plan_variants(factors))
    options += ["--max_steps", str(arguments.max_steps or task.max_steps)]
    options += ["--config_overrides", arguments.config_overrides] if arguments.config_overrides else []
    folder = Path(arguments.output_dir)
    with locked(folder):
        record = opened(folder, arguments) or {
            **plan(task, options, plan_variants(factors), arguments.match_parameters),
            "command": arguments.given(), "factors": factors, "steps": arguments.max_steps or task.max_steps,
            "environment": environment(), "date": date.today().isoformat(),
        }  # fmt: skip
        write_json(folder / RECORD, record)
        variants = [Variant(**variant) for variant in record["variants"]]
        # The number of seeds and the score may be others than those of the lab that is continued.
        record["conditions"] = conditions(arguments, variants, options, record)
        record["repeat"] = arguments.command()
        print(*record["conditions"], sep="\n", flush=True)
        more = [task.comparison.score, *task.comparison.others]
        scores = [arguments.score] if arguments.score else more
        runs = train_all(folder, arguments.seeds, scores, variants, record, task, options)
        known = runs[BASE, 0]["scores"].keys()
        score = next(name for name in scores if name in known)
        results = Results(factors, variants, runs, score, record.get("majority"))
        others = [name for name in more if name != results.score and name in known]
        print("", write_report(folder, results, others, record), f"report: {folder / REPORT}", sep="\n")


def opened(folder: Path, arguments: LabArguments) -> dict[str, Any] | None:
    """Return the record of the lab in the folder, which the same command continues; None where there is none."""
    path = folder / RECORD
    if not path.is_file():
        # Files of this name with a dot are those of a process that was killed.
        if any(not each.name.startswith((LOCK_FILE, f".{RECORD}.")) for each in folder.iterdir()):
            raise DataError(f"--output_dir {folder} holds files that do not belong to a lab; choose another folder")
        return None
    record = read_part(path)
    before, now = ({**defaults(), **each} for each in (record.get("command", {}), arguments.given()))
    changes = [
        f"--{name} was {before[name]!r} and is {now[name]!r}"
        for name in sorted(defaults().keys() - set(NOT_OF_RUNS))
        if before[name] != now[name]
    ]
    if changes:
        raise DataError(f"--output_dir {folder} holds another lab: {'; '.join(changes)}; choose another folder")
    return record


def conditions(
    arguments: LabArguments, variants: Sequence[Variant], options: Sequence[str], record: Mapping[str, Any]
) -> list[str]:
    """Return the lines of the report on what is equal, and on how to read the intervals."""
    base, *others = variants
    seeds = arguments.seeds
    matched = "adjusted by intermediate_size" if arguments.match_parameters else "not adjusted"
    intervals = (
        "difference: to the first value, paired by seed, with a 95 % interval of Student's t; one interval in 20 "
        f"excludes 0 by chance; p is corrected for {counted(len(others), 'comparison')} (Holm)"
    )
    majority = f"the most frequent label alone has an accuracy of {percent(record.get('majority', 0.0))}"
    of_seeds = f"seeds 0 to {seeds - 1}" if seeds > 1 else "seed 0"
    return [
        f"{len(variants)} variants, {of_seeds}, {len(variants) * seeds} runs; base: {', '.join(base.overrides)}",
        f"parameters: {base.parameters:,} of the base; those of variants are {matched}",
        *(f"{each.name}: {each.parameters:,} parameters; {each.size_note(base)}" for each in others),
        "equal for all variants: steps, batches, learning rate and other options; scores of validation, last weights",
        f"hardware: {record['hardware']}; date: {record.get('date', 'unknown')}",
        f"options of each run: `{shlex.join(map(str, map(without_paths, options)))}`",
        intervals if seeds > 1 else "one seed shows no spread: there are no intervals, and differences may be chance",
        *([f"{majority}: what is no better has learned nothing"] if "majority" in record else ()),
    ]


def train_all(
    folder: Path, seeds: int, scores: Sequence[str], variants: Sequence[Variant], record: Mapping[str, Any],
    task: Experiment, options: Sequence[str],
) -> dict[tuple[str, int], dict[str, Any]]:  # fmt: skip
    """Train what is not finished, all variants of a seed before the next seed, and return all results.

    scores: one of which the base must have. Raises `DataError` as soon as it has none.
    """
    wanted = [(seed, variant) for seed in range(seeds) for variant in variants]
    outputs = [folder / variant.name / f"seed-{seed}.json" for seed, variant in wanted]
    missing = [output for output in outputs if not output.is_file()]
    runs = {}
    for number, ((seed, variant), output) in enumerate(zip(wanted, outputs), 1):
        started = monotonic()
        if output in missing:
            train(task, options, variant, seed, output, record["data_digests"])
        runs[variant.name, seed] = result = read_part(output)
        what = f"failed: {result['failed']}" if "failed" in result else described(result, output in missing)
        print(f"{number} of {len(wanted)}: {variant.name}, seed {seed}: {what}", flush=True)
        if variant is variants[0]:
            check_base(result, seed, scores)
            if result["scores"].get("accuracy", 1.0) <= record.get("majority", -1.0):  # 0 is an accuracy, too
                warning = "the base is no better than the most frequent label: give more --max_steps"
                print(f"WARNING: {warning}", file=sys.stderr)
        if output in missing[:1] and (left := len(missing) - 1):
            about = duration(left * (monotonic() - started))
            print(f"{counted(left, 'run')} left: about {about}, if each takes as long as this one", flush=True)
    return runs


def check_base(result: Mapping[str, Any], seed: int, scores: Sequence[str]) -> None:
    """Raise `DataError` for a base that nothing can be compared with, before others are trained."""
    fault, found = result.get("failed"), result.get("scores", {})
    name = next((name for name in scores if name in found), None)
    if not fault and name is None:
        raise DataError(f"--score {scores[0]}: the scores of this task are {', '.join(sorted(found))}")
    if not fault and not isfinite(found[name]):
        fault = f"{name} is {found[name]}"
    if fault:
        earlier = f"; --seeds {seed} compares the seeds before" if seed else ""
        raise DataError(f"the base failed with seed {seed} ({fault}), and nothing can be compared with it{earlier}")


def described(result: Mapping[str, Any], is_new: bool) -> str:
    what = ", ".join(f"{name} {shown(name, value)}" for name, value in result["scores"].items() if name in SHOWN)
    return f"{what}; {result['seconds']:.0f} s" + ("" if is_new else " (finished before)")
