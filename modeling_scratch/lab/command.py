# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The lab: its arguments, its plan, its runs one after another, and its report."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

from ..run.run_folder import LOCK_FILE, locked
from ..sharing.run_record import environment, without_paths
from ..utils.errors import DataError, counted
from ..utils.files import remove, write_json
from ..utils.options import option
from .breaks import BREAKS
from .digits import chosen, run_breaks
from .report import RECORD, REPORT, Results, shown, size_note, write_report
from .runs import plan, read_part, train
from .tasks import EVALUATIONS, NEEDED, TASKS, Experiment, find_task
from .variants import BASE, Variant, check_variants, parse_factors, plan_variants

# What the lab decides for each run.
OURS = ("seed", "output_dir", "config_overrides", "max_steps", "overwrite", "resume_from_checkpoint", "data_dir")
SHOWN = "accuracy", "bleu", "loss", "perplexity"  # after each run
OF_BREAKS = ("broken", "seeds", "max_steps")
NOT_OF_COMMAND = ("output_dir", "overwrite", "score", "seeds", "broken")  # they change no run


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
    seeds: int = option(3, "The number of seeds of each variant, from 0 on.")
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
    overwrite: bool = option(False, "Replace the lab in the output folder.")

    RETIRED = {
        "--grid": "vary one switch, and repeat the lab from another base (--config_overrides)",
        "--budget": "give --max_steps; the lab prints the seconds of each run",
    }

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise DataError(f"--seeds {self.seeds}: must be at least 1")
        if self.max_steps is not None and self.max_steps < EVALUATIONS:
            raise DataError(f"--max_steps {self.max_steps}: must be at least {EVALUATIONS}, one for each evaluation")
        if self.broken is None and self.task is None:
            raise DataError("--task is missing: name what to train; or give --broken, which has a task of its own")
        if self.broken is not None and (others := [name for name in self.given() if name not in OF_BREAKS]):
            raise DataError(f"--{others[0]}: not with --broken, whose models and task are its own")
        try:
            shlex.split(self.options)
        except ValueError as error:
            raise DataError(f"--options {self.options}: {error}") from error
        given = {name.replace("-", "_") for name in re.findall(r"--([\w-]+)", self.options)}
        if refused := [name for name in OURS if name in given]:
            raise DataError(f"--options: the lab itself sets --{refused[0]}; give it as an option of the lab, or not")

    def given(self) -> list[str]:
        """Return the options that differ from their defaults."""
        defaults: dict[str, Any] = {each.name: [] if each.name == "vary" else each.default for each in fields(self)}
        return [name for name, value in vars(self).items() if value != defaults[name]]

    def command(self) -> dict[str, Any]:
        """Return what decides on the runs, without local paths, to recognise the same command."""
        return {name: without_paths(value) for name, value in vars(self).items() if name not in NOT_OF_COMMAND}


def run_lab(arguments: LabArguments) -> None:
    """Plan, train what is not finished, and report. Input errors are raised before the first run."""
    if arguments.broken is not None:
        return run_breaks(chosen(arguments.broken), arguments.seeds, arguments.max_steps)
    assert arguments.task
    factors = parse_factors(arguments.vary)
    task, of_data = find_task(arguments.task, arguments.data_dir)
    options = [*task.options, *of_data, *shlex.split(arguments.options)]
    variants = plan_variants(factors)
    preset = task.groups(options, [], 0, "unused")["model"].preset
    check_variants(task.comparison.presets, preset, arguments.config_overrides, factors, variants)
    options += ["--max_steps", str(arguments.max_steps or task.max_steps)]
    options += ["--config_overrides", arguments.config_overrides] if arguments.config_overrides else []
    folder = Path(arguments.output_dir)
    with locked(folder):
        record = open_lab(folder, arguments) or plan_lab(folder, arguments, task, options, variants)
        variants = [Variant(**variant) for variant in record["variants"]]
        # The number of seeds and the score may be others than those of the lab that is continued.
        record["conditions"] = conditions(arguments, variants, options, record)
        record["repeat"] = shlex.join(["modeling-scratch", "lab", *repeated(arguments)])
        print(*record["conditions"], sep="\n", flush=True)
        scores = [arguments.score] if arguments.score else [task.comparison.score, *task.comparison.others]
        runs = train_all(folder, arguments.seeds, scores, variants, record["data_digests"], task, options)
        known = runs[BASE, 0]["scores"].keys()
        results = Results(factors, variants, runs, next(name for name in scores if name in known))
        more = [task.comparison.score, *task.comparison.others]
        others = [name for name in more if name != results.score and name in known]
        print("", write_report(folder, results, others, record), f"report: {folder / REPORT}", sep="\n")


def open_lab(folder: Path, arguments: LabArguments) -> dict[str, Any] | None:
    """Return the record of the lab in the folder, which the same command continues; None where there is none."""
    path = folder / RECORD
    if not path.is_file():
        # Files of this name with a dot are those of a process that was killed.
        if any(not each.name.startswith((LOCK_FILE, f".{RECORD}.")) for each in folder.iterdir()):
            raise DataError(f"--output_dir {folder} holds files that do not belong to a lab; choose another folder")
        return None
    record = read_part(path)
    if arguments.overwrite:
        return None
    before, now = record.get("command", {}), arguments.command()
    names = sorted({*before, *now}.difference(NOT_OF_COMMAND))
    differing = [name for name in names if (before.get(name) or None) != (now.get(name) or None)]
    changes = [f"--{name} was {before.get(name)!r} and is {now.get(name)!r}" for name in differing]
    if changes:
        raise DataError(
            f"--output_dir {folder} holds another lab: {'; '.join(changes)}; choose another folder, or give --overwrite"
        )
    if record["environment"] != environment():
        print("WARNING: the lab was started with other versions of the libraries", file=sys.stderr)
    return record


def plan_lab(
    folder: Path, arguments: LabArguments, task: Experiment, options: Sequence[str], variants: Sequence[Variant]
) -> dict[str, Any]:
    """Read the data, match the parameters, and write the record of a new lab."""
    planned = plan(task, options, variants, arguments.match_parameters)
    record = {
        "command": arguments.command(),
        "factors": parse_factors(arguments.vary),
        "steps": arguments.max_steps or task.max_steps,
        "environment": environment(),
        "date": date.today().isoformat(),
        **planned,
    }
    if (folder / RECORD).is_file():  # --overwrite: the earlier lab is kept until here
        names = [Variant(**variant).name for variant in read_part(folder / RECORD)["variants"]]
        for name in (*names, REPORT, RECORD):
            if Path(name).name == name:  # a record that somebody changed deletes nothing elsewhere
                remove(folder / name)
    write_json(folder / RECORD, record)
    return record


def conditions(
    arguments: LabArguments, variants: Sequence[Variant], options: Sequence[str], record: Mapping[str, Any]
) -> list[str]:
    """Return the lines of the report on what is equal, and on how to read the intervals."""
    base, *others = variants
    last = arguments.seeds - 1
    counts = f"{len(variants)} variants, {f'seeds 0 to {last}' if last else 'seed 0'}"
    matched = "adjusted by intermediate_size" if arguments.match_parameters else "not adjusted"
    intervals = (
        "difference: to the first value, paired by seed, with a 95 % interval of Student's t; one interval in 20 "
        f"excludes 0 by chance; p is corrected for {counted(len(others), 'comparison')} (Holm)"
    )
    return [
        f"{counts}, {len(variants) * arguments.seeds} runs; base: {', '.join(base.overrides)}",
        f"parameters: {base.parameters:,} of the base; those of variants are {matched}",
        *(f"{each.name}: {each.parameters:,} parameters; {size_note(each, base)}" for each in others),
        "equal for all variants: steps, texts of each batch, learning rate and all other options; a variant may have a "
        "better learning rate of its own",
        "scores are those of validation, of the last weights; no test split is used",
        "time: of the training with its evaluations, on the clock",
        f"hardware: {record['hardware']}; date: {record.get('date', 'unknown')}",
        f"options of each run: `{shlex.join(map(str, map(without_paths, options)))}`",
        intervals if last else "one seed shows no spread: there are no intervals, and differences may be chance",
    ]


def repeated(arguments: LabArguments) -> list[str]:
    """Return the command line, with the last component of absolute paths."""
    given = {name: getattr(arguments, name) for name in arguments.given() if name != "overwrite"}
    lists = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    return [word for name, values in lists.items() for one in values for word in (f"--{name}", str(without_paths(one)))]


def train_all(
    folder: Path,
    seeds: int,
    scores: Sequence[str],
    variants: Sequence[Variant],
    digests: Any,
    task: Experiment,
    options: Sequence[str],
) -> dict[tuple[str, int], dict[str, Any]]:
    """Train what is not finished, all variants of a seed before the next seed, and return all results.

    scores: one of which the base must have. Raises `DataError` as soon as it has none.
    """
    wanted = [(seed, variant) for seed in range(seeds) for variant in variants]
    runs = {}
    for number, (seed, variant) in enumerate(wanted, 1):
        output = folder / variant.name / f"seed-{seed}.json"
        is_new = not output.is_file()
        if is_new:
            train(task, options, variant, seed, output, digests)
        runs[variant.name, seed] = result = read_part(output)
        print(f"{number} of {len(wanted)}: {variant.name}, seed {seed}: {described(result, is_new)}", flush=True)
        if variant is variants[0]:
            check_base(result, seed, scores)
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
    if "failed" in result:
        return f"failed: {result['failed']}"
    scores = {name: value for name, value in result["scores"].items() if name in SHOWN}
    what = ", ".join(f"{name} {shown(name, value)}" for name, value in scores.items())
    return f"{what}; {result['seconds']:.0f} s" + ("" if is_new else " (finished before)")
