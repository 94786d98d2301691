# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the card of a model says: what it is for, how a program asks it, its scores beside those of baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from ..utils.markdown import escaped, percent, table

MODEL = "Transformer"
LONGER_OR_PRETRAINED = (
    "Train on more texts, or longer (--num_train_epochs, or --max_steps where that is given) if the loss on validation "
    "still falls at the end, or fine-tune a pretrained encoder (--model_name_or_path)."
)
EXAMPLES = 5  # of a split, for local pages


class Use(NamedTuple):
    """The use of a model."""

    tag: str | None  # of the Hub
    pipeline: str
    auto_class: str
    options: Mapping[str, Any] = {}  # further arguments of the pipeline
    fields: tuple[str, str] = ("text", "text_pair")  # of a pair, in the pipeline's input
    given: str = "{text}"  # the expression for the input, of the text and the tokenizer


class Metric(NamedTuple):
    """A metric for the Hub: id, value, description and split."""

    id: str
    value: float
    name: str
    split: str


# Scores beside those of baselines


def baselines_by_name(evaluation: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the scores of the baselines by their names."""
    return {each["name"]: each for each in evaluation["baselines"]}


def is_useful(evaluation: Mapping[str, Any]) -> bool:
    """Return whether nothing says not to use the Transformer."""
    return not evaluation["headline"] and evaluation.get("comparison", {}).get("verdict") != "worse"


def first_line(evaluation: Mapping[str, Any]) -> str:
    """Return which model to use."""
    if headline := evaluation["headline"]:
        return escaped(headline)
    if "comparison" not in evaluation:
        return f"Use the {MODEL}: it is better than the baselines."
    baseline, word = escaped(evaluation["comparison"]["baseline"]), evaluation["comparison"]["verdict"]
    if word == "better":
        return f"Use the {MODEL}: it is significantly better than {baseline}."
    if word == "worse":
        return f"Use {baseline}: it is significantly better than the {MODEL}."
    return f"Use either model, as there is {word}."


def shares_table(head: str, rows: Mapping[str, Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return a Markdown table of shares, intervals and counts. columns: the heads of keys, or of paths of keys."""
    cells = [[name, *(_cell(reduce(getitem, key.split("."), row)) for key in columns)] for name, row in rows.items()]
    return table([head, *columns.values()], cells)


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return percent(value) if isinstance(value, float) else " to ".join(map(percent, value))


def scores_table(evaluation: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    """Return the `shares_table` of the model and of the baselines."""
    return shares_table("", {MODEL: evaluation, **baselines_by_name(evaluation)}, columns)


# Cards


@dataclass(frozen=True)
class Card:
    """What the card says of a model, and what its report shows of evaluation.json."""

    purpose: str  # a format of the entries of a run's record
    use: Use
    limits: Sequence[str] = ()  # of its answers
    reads: str | None = None  # what it says of long texts; None: the limit
    unit: str = "texts"  # of what is evaluated
    scores: Mapping[str, str] = field(default_factory=dict)  # those that the Hub gets, with their names

    def of(self, record: Mapping[str, Any]) -> "Card":
        """Return the card for the model of a run."""
        return self

    def evaluated(self, evaluation: Mapping[str, Any]) -> str:
        """Return what was evaluated, such as the number of texts."""
        return f"{evaluation[self.unit]:,} {self.unit}"

    def definitions(self, evaluation: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the scores that the Hub gets, with their names."""
        return self.scores

    def tables(self, evaluation: Mapping[str, Any]) -> list[str]:
        """Return the scores of the model and of the baselines in Markdown."""
        return [scores_table(evaluation, self.definitions(evaluation))]

    def report(self, evaluation: Mapping[str, Any]) -> str:
        """Return results.md: below a line that says which model to use, and without texts of the data."""
        advice = "" if is_useful(evaluation) else f" {LONGER_OR_PRETRAINED}"
        line = f"**{first_line(evaluation)}**{advice}"
        about = f"{self.evaluated(evaluation)} of the {evaluation['split']} split"
        return "\n\n".join([line, about, *self.tables(evaluation), *evaluation["notes"]]) + "\n"

    def metrics(self, evaluation: Mapping[str, Any]) -> list[Metric]:
        """Return what the Hub gets of evaluation.json: scores, each beside those of the baselines."""
        found = []
        for key, name in self.definitions(evaluation).items():
            others = [
                f"of the baseline {baseline}: {percent(scores[key])}"
                for baseline, scores in baselines_by_name(evaluation).items()
            ]
            found.append(Metric(key, evaluation[key], "; ".join([name, *others]), evaluation["split"]))
        return found
