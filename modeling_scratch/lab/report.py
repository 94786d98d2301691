# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The report of a lab: the differences of its variants, paired by their seeds, in a table for each factor."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from scipy.stats import ttest_1samp

from ..report.metrics import LOWER_IS_BETTER
from ..utils.files import write_json, write_text
from ..utils.markdown import bullets, percent, points, table
from .variants import Factors, Variant

SHARES = {"accuracy", "f1", "f1_macro", "f1_micro"}
CONFIDENCE = 0.95
ROUNDING = 1e-9  # differences of scores that are no further apart are equal
RECORD, REPORT = "lab.json", "report.md"
Runs = Mapping[tuple[str, int], Mapping[str, Any]]  # the result of each variant and seed
Scores = Mapping[int, float]  # of each seed


@dataclass(frozen=True)
class Difference:
    """Mean of the differences d to the first value, seed by seed: mean(d) ± t(n - 1) sd(d) / sqrt(n).

    low, high, p and adjusted_p are None with one seed, low and high also if all d are equal: a score of few texts has
    few values, and equal ones show no spread. p: of the paired t test, or of the signs of equal d; adjusted_p: after
    Holm's correction.
    """

    differences: Sequence[float]
    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted_p: float | None = None


def paired_difference(scores: Scores, first: Scores) -> Difference:
    """Return the difference of a value from the first value of its factor, over the seeds of both."""
    differences = [scores[seed] - first[seed] for seed in sorted(scores.keys() & first.keys())]
    mean = fmean(differences)
    if len(differences) < 2:
        return Difference(differences, mean)
    if max(differences) - min(differences) < ROUNDING:
        return Difference(differences, mean, p=1.0 if abs(mean) < ROUNDING else 2.0 ** (1 - len(differences)))
    found = ttest_1samp(differences, 0)
    low, high = found.confidence_interval(CONFIDENCE)
    return Difference(differences, mean, float(low), float(high), float(found.pvalue))


def adjusted(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences with p values after Holm's correction (1979) for all of them."""
    order = sorted((each.p, number) for number, each in enumerate(found) if each.p is not None)
    result, largest = list(found), 0.0
    for rank, (p, number) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p))
        result[number] = replace(found[number], adjusted_p=largest)
    return result


class Results:
    """What the runs of a lab have found, by one score.

    majority: the accuracy of the most frequent label alone; None where there is none to compare with.
    """

    def __init__(
        self, factors: Factors, variants: Sequence[Variant], runs: Runs, score: str, majority: float | None = None
    ) -> None:
        self.factors, self.runs, self.score, self.majority = factors, runs, score, majority
        self.base, *self.others = variants
        self.seeds = sorted({seed for _, seed in runs})
        compared = [variant for variant in self.others if not self.obstacle(variant)]
        found = [paired_difference(self.scores(variant), self.scores(self.base)) for variant in compared]
        self.differences = {variant.name: each for variant, each in zip(compared, adjusted(found))}

    def runs_of(self, variant: Variant) -> list[Mapping[str, Any]]:
        return [self.runs[variant.name, seed] for seed in self.seeds]

    def scores(self, variant: Variant, score: str | None = None) -> Scores:
        return {seed: self.runs[variant.name, seed]["scores"][score or self.score] for seed in self.seeds}

    def failure(self, variant: Variant) -> str | None:
        """Return why a variant has no score, or None."""
        for seed, run in zip(self.seeds, self.runs_of(variant)):
            if "failed" in run or not isfinite(run["scores"][self.score]):
                return run.get("failed") or f"{self.score} is {run['scores'][self.score]} with seed {seed}"
        return None

    def obstacle(self, variant: Variant) -> str | None:
        """Return why a variant has no verdict: it failed, or it read other tokens than the base."""
        if failure := self.failure(variant):
            return f"failed: {failure}"
        return None if self.of_base("tokens", variant) else "no verdict: other tokens than the base"

    def of_base(self, name: str, variant: Variant) -> bool:
        """Return whether a part of the results of a variant equals that of the base, for each seed."""
        return all(run.get(name) == base[name] for run, base in zip(self.runs_of(variant), self.runs_of(self.base)))

    def verdict(self, variant: Variant) -> str:
        """Return what the runs show of a variant, and whether it has learned nothing."""
        if obstacle := self.obstacle(variant):
            return obstacle
        accuracies = [run["scores"].get("accuracy", inf) for run in self.runs_of(variant)]
        has_learned = self.majority is None or fmean(accuracies) > self.majority
        return self.compared(variant) + ("" if has_learned else "; nothing learned")

    def compared(self, variant: Variant) -> str:
        """Return what the runs show of the difference between a variant and the base."""
        if variant is self.base:
            return "first value"
        found = self.differences[variant.name]
        if self.of_base("curve", variant):
            return "no effect here: its runs are those of the first value"
        if found.low is None or found.high is None:
            return "no interval: " + ("one seed" if len(self.seeds) == 1 else "the same difference with each seed")
        if found.low <= 0 <= found.high:
            return f"no difference that {len(self.seeds)} seeds can show"
        is_better = (found.mean > 0) != (self.score in LOWER_IS_BETTER)
        holds = found.adjusted_p is not None and found.adjusted_p <= 1 - CONFIDENCE
        return ("better" if is_better else "worse") + ("" if holds else ", not after correction")

    def tokens(self) -> str:
        """Return the tokens of training as measured, and whether all variants of a seed read equally many."""
        trained = [each for each in (self.base, *self.others) if not self.failure(each)]
        counts = [run["tokens"] for each in trained for run in self.runs_of(each)]
        read = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))
        others = ", ".join(each.name for each in trained if not self.of_base("tokens", each))
        is_equal = f"NOT EQUAL to those of the base: {others}" if others else "equally many in all variants of a seed"
        epochs = max(run.get("epochs", 0) for run in self.runs.values())
        return f"tokens of training, measured: {read}, {is_equal}; {epochs:.1f} epochs"


def shown(score: str, value: float, sign: str = "") -> str:
    """Format a score; sign "+": a difference, of shares in percentage points."""
    if score in SHARES:
        return points(value) if sign else percent(value)
    return f"{value:{sign}.{2 if score in ('bleu', 'chrf', 'perplexity') else 4}f}"


def with_spread(score: str, scores: Scores) -> str:
    """Format the mean of a score, and its standard deviation over several seeds."""
    values = list(scores.values())
    spread = f" ± {shown(score, stdev(values)).removesuffix(' %')}" if len(values) > 1 else ""
    return shown(score, fmean(values)) + spread


def interval(score: str, found: Difference) -> str:
    """Format a difference with its interval."""
    mean, *ends = (shown(score, each, "+") for each in (found.mean, found.low, found.high) if each is not None)
    return f"{mean} ({' to '.join(ends)})" if ends else mean


def factor_table(results: Results, name: str, others: Sequence[str]) -> str:
    """Return the table of a factor, with a row for each value. The others are compared with the first value."""
    columns, rows = [name, results.score, "difference", "p", "result", *others, "time"], []
    for variant in (results.base, *(each for each in results.others if name in each.changed)):
        row = {name: variant.values[name], "result": results.verdict(variant)}
        if not results.failure(variant):
            row |= {score: with_spread(score, results.scores(variant, score)) for score in (results.score, *others)}
            whole = [run["seconds"] for run in results.runs_of(variant) if not run["resumed_at"]]
            row["time"] = f"{fmean(whole):.0f} s" if whole else "resumed"
        if found := results.differences.get(variant.name):
            row |= {"difference": interval(results.score, found)}
            row |= {"p": f"{found.adjusted_p:.3f}"} if found.adjusted_p is not None else {}
        rows.append([row.get(column, "") for column in columns])
    return table(columns, rows)


def write_report(folder: Path, results: Results, others: Sequence[str], facts: Mapping[str, Any]) -> str:
    """Write lab.json and report.md, and return the report.

    facts: of lab.json, with the lines of the section on conditions under "conditions".
    """
    parts = [f"# Lab: {facts['command']['task']}"]
    parts += [text for name in results.factors for text in (f"## {name}", factor_table(results, name, others))]
    parts += ["## Conditions", bullets([results.tokens(), *facts["conditions"]]), f"```sh\n{facts['repeat']}\n```"]
    runs = [{"variant": name, "seed": seed, **run} for (name, seed), run in results.runs.items()]
    comparisons = [
        {"field": name, "value": each.values[name], "first": results.base.values[name],
         "verdict": results.verdict(each), "score": results.score, **asdict(results.differences[each.name])}
        for each in results.others if each.name in results.differences
        for name in each.changed
    ]  # fmt: skip
    write_json(folder / RECORD, {**facts, "tokens": results.tokens(), "comparisons": comparisons, "runs": runs})
    text = "\n\n".join(parts) + "\n"
    write_text(folder / REPORT, text)
    return text
