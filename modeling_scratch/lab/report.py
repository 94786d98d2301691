# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The report of a lab: a table for each factor, in Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from ..report.metrics import LOWER_IS_BETTER
from ..utils.errors import counted
from ..utils.files import write_json, write_text
from ..utils.markdown import bullets, percent, points, table
from .statistics import CONFIDENCE, Difference, Scores, adjusted, paired_difference, spread
from .variants import Factors, Variant

SHARES = {"accuracy", "f1", "f1_macro", "f1_micro"}
SIGNIFICANCE = 1 - CONFIDENCE  # the largest corrected p of a difference
RECORD, REPORT = "lab.json", "report.md"
Runs = Mapping[tuple[str, int], Mapping[str, Any]]  # the result of each variant and seed


class Results:
    """What the runs of a lab have found, by one score."""

    def __init__(self, factors: Factors, variants: Sequence[Variant], runs: Runs, score: str) -> None:
        self.factors, self.runs, self.score = factors, runs, score
        self.base, *others = variants
        self.others = {(name, each.values[name]): each for each in others for name in each.changed}
        self.seeds = sorted({seed for _, seed in runs})
        compared = {key: variant for key, variant in self.others.items() if not self.obstacle(variant)}
        found = [paired_difference(self.scores(variant), self.scores(self.base)) for variant in compared.values()]
        self.differences = dict(zip(compared, adjusted(found)))

    def failure(self, variant: Variant) -> str | None:
        """Return why a variant has no score, or None."""
        for seed in self.seeds:
            run = self.runs[variant.name, seed]
            if "failed" in run or not isfinite(run["scores"][self.score]):
                return run.get("failed") or f"{self.score} is {run['scores'][self.score]} with seed {seed}"
        return None

    def obstacle(self, variant: Variant) -> str | None:
        """Return why a variant has no verdict: it failed, or it read other tokens than the base."""
        if self.failure(variant):
            return "failed"
        return None if self.of_base("tokens", variant) else "no verdict: other tokens than the base"

    def of_base(self, name: str, variant: Variant) -> bool:
        """Return whether a part of the results of a variant equals that of the base, for each seed."""
        runs, seeds = self.runs, self.seeds
        return all(runs[variant.name, seed].get(name) == runs[self.base.name, seed][name] for seed in seeds)

    def scores(self, variant: Variant, score: str | None = None) -> Scores:
        return {seed: self.runs[variant.name, seed]["scores"][score or self.score] for seed in self.seeds}

    def verdict(self, name: str, value: str) -> str:
        found, variant = self.differences.get((name, value)), self.others[name, value]
        if found is None:
            return str(self.obstacle(variant))
        if self.of_base("curve", variant):
            return "no effect here: its runs are those of the first value"
        if found.low is None:
            return "no interval: " + ("one seed" if len(self.seeds) == 1 else "the same difference with each seed")
        if not found.is_shown:
            return f"no difference that {len(self.seeds)} seeds can show"
        is_better = (found.mean > 0) != (self.score in LOWER_IS_BETTER)
        holds = found.adjusted_p is not None and found.adjusted_p <= SIGNIFICANCE
        return ("better" if is_better else "worse") + ("" if holds else ", not after correction")

    def comparisons(self) -> list[dict[str, Any]]:
        """Return the differences for lab.json."""
        return [
            {
                "field": name, "value": value, "first": self.factors[name][0], "score": self.score,
                **asdict(found), "verdict": self.verdict(name, value),
            }
            for (name, value), found in self.differences.items()
        ]  # fmt: skip

    def values_of(self, name: str) -> dict[str, Variant]:
        """Return the variant of each value of a field, the base first."""
        first, *others = self.factors[name]
        return {first: self.base, **{value: self.others[name, value] for value in others}}

    def tokens(self) -> str:
        """Return the tokens of training as measured, and whether all variants of a seed read equally many."""
        trained = [each for each in (self.base, *self.others.values()) if not self.failure(each)]
        read = sorted({self.runs[each.name, seed]["tokens"] for each in trained for seed in self.seeds})
        others = ", ".join(each.name for each in trained if not self.of_base("tokens", each))
        is_equal = f"NOT EQUAL to those of the base: {others}" if others else "equally many in all variants of a seed"
        epochs = max(run.get("epochs", 0) for run in self.runs.values())
        return f"tokens of training, measured: {_range(read)}, {is_equal}" + (
            f"; {epochs:.1f} epochs" if epochs else ""
        )


def shown(score: str, value: float, sign: str = "") -> str:
    """Format a score; sign "+": a difference, of shares in percentage points."""
    if score in SHARES:
        return points(value) if sign else percent(value)
    return f"{value:{sign}.{2 if score in ('bleu', 'chrf', 'perplexity') else 4}f}"


def with_spread(score: str, scores: Scores) -> str:
    mean, deviation = spread(scores)
    return shown(score, mean) + (f" ± {shown(score, deviation).removesuffix(' %')}" if deviation is not None else "")


def interval(score: str, found: Difference) -> str:
    """Format a difference with its interval."""
    mean = shown(score, found.mean, "+")
    if found.low is None or found.high is None:
        return mean
    return f"{mean} ({shown(score, found.low, '+')} to {shown(score, found.high, '+')})"


def factor_table(results: Results, name: str, others: Sequence[str]) -> list[list[str]]:
    """Return a head, and the row of each value of a factor. The others are compared with the first value."""
    rows = [[name, results.score, "difference", "p", "result", *others, "parameters", "tokens", "time"]]
    for value, variant in results.values_of(name).items():
        if results.failure(variant):
            rows.append([value, "", "", "", "failed", *[""] * (len(others) + 3)])
            continue
        cells = ["", "", "first value"]
        if variant is not results.base:
            found = results.differences.get((name, value))
            p = "" if found is None or found.adjusted_p is None else f"{found.adjusted_p:.3f}"
            cells = [interval(results.score, found) if found else "", p, results.verdict(name, value)]
        first, *more = (with_spread(score, results.scores(variant, score)) for score in (results.score, *others))
        rows.append([value, first, *cells, *more, *costs(results, variant)])
    return rows


def costs(results: Results, variant: Variant) -> list[str]:
    """Return parameters, tokens and mean time of the runs of a variant."""
    runs = [results.runs[variant.name, seed] for seed in results.seeds]
    parameters, tokens = (_range(sorted({run[name] for run in runs})) for name in ("parameters", "tokens"))
    whole = [run["seconds"] for run in runs if not run["resumed_at"]]
    return [parameters, tokens, f"{fmean(whole):.0f} s" if whole else "resumed"]


def _range(values: Sequence[int]) -> str:
    return f"{values[0]:,}" if len(values) == 1 else f"{values[0]:,} to {values[-1]:,}"


def sentences(results: Results, name: str) -> list[str]:
    """Return what a factor has shown, in words, and what was adjusted."""
    first, *others = results.factors[name]
    lines = []
    for value in others:
        found, variant = results.differences.get((name, value)), results.others[name, value]
        what = f" in {results.score}: {interval(results.score, found)}" if found else ""
        lines.append(f"{value} against {first}: {results.verdict(name, value)}{what}")
        lines.append(f"{variant.name}: {size_note(variant, results.base)}")
        lines += [f"{variant.name} failed: {fault}"] if (fault := results.failure(variant)) else []
    return lines


def size_note(variant: Variant, base: Variant) -> str:
    """Return what was adjusted, and the remaining difference in parameters."""
    difference = variant.parameters - base.parameters
    parameter = "more parameter" if difference > 0 else "fewer parameter"
    more = f"{counted(abs(difference), parameter)} than the base"
    return "; ".join(filter(None, [variant.note, more if difference else "as many parameters as the base"]))


def write_report(folder: Path, results: Results, others: Sequence[str], facts: Mapping[str, Any]) -> str:
    """Write lab.json and report.md, and return the report.

    facts: of lab.json, with the lines of the section on conditions under "conditions".
    """
    parts = [f"# Lab: {facts['command']['task']}"]
    for name in results.factors:
        head, *rows = factor_table(results, name, others)
        parts += [f"## {name}", bullets(sentences(results, name)), table(head, rows)]
    parts += ["## Conditions", bullets([results.tokens(), *facts["conditions"]]), f"```sh\n{facts['repeat']}\n```"]
    runs = [{"variant": name, "seed": seed, **run} for (name, seed), run in results.runs.items()]
    found = {"tokens": results.tokens(), "comparisons": results.comparisons(), "runs": runs}
    write_json(folder / RECORD, {**facts, **found})
    text = "\n\n".join(parts) + "\n"
    write_text(folder / REPORT, text)
    return text
