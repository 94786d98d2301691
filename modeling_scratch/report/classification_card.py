# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The scores of a classifier: in words and tables for its report, and as metrics for the Hub."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..tasks.card import LONGER_OR_PRETRAINED, MODEL, Metric, first_line, is_useful, shares_table
from ..utils.markdown import escaped
from .calibration import calibration_text
from .metrics import METRICS, ONE_CLASS
from .significance import Score, scores_table

Evaluation = Mapping[str, Any]
OF_CLASSES = {"precision": "precision", "recall": "recall", "f1": "F1", "support": "support"}


def scores_text(evaluation: Evaluation) -> str:
    """Return the scores as Markdown: below a line that says which model to use, and without texts of the data."""
    scores = METRICS[evaluation["problem_type"]].scores
    models = {MODEL: evaluation["scores"], **{row["name"]: row["scores"] for row in evaluation["baselines"]}}
    advice = None if is_useful(evaluation) else LONGER_OR_PRETRAINED
    parts = [
        " ".join(filter(None, [f"**{first_line(evaluation)}**", evaluation.get("linear_model"), advice])),
        f"{evaluation['texts']:,} texts of the {evaluation['split']} split",
        scores_table(scores, models),
        difference_sentence(scores, evaluation),
    ]
    if classes := evaluation.get("classes"):
        parts += ["Each class:", shares_table("class", {row["label"]: row for row in classes}, OF_CLASSES)]
    if calibration := evaluation.get("calibration"):
        parts.append(calibration_text(calibration))
    return "\n\n".join([*parts, *evaluation.get("notes", ())])


def difference_sentence(scores: Sequence[Score], evaluation: Evaluation) -> str:
    """Return the comparison with the strongest baseline by the score that decides."""
    comparison = evaluation["comparison"]
    score = next(each for each in scores if each.name == comparison["score"])
    value, low, high = map(score.shown_difference, (comparison["value"], *comparison["interval_95"]))
    unit = " percentage points" if score.is_share else ""
    return (
        f"The difference in {score.heading} from {escaped(comparison['baseline'])} is {value}{unit}, with a 95 % "
        f"interval of {low} to {high} (paired bootstrap): {comparison['verdict']}."
    )


def metrics_for_hub(evaluation: Evaluation) -> list[Metric]:
    """Return the metrics of a run of any version; the first ones have those of one class without intervals."""
    found = evaluation.get("scores") or evaluation
    scores = METRICS[evaluation.get("problem_type") or ONE_CLASS].scores
    values = [(score, found[score.name]) for score in scores if score.name in found]
    return [
        Metric(score.name, value["value"] if isinstance(value, Mapping) else value, score.heading, evaluation["split"])
        for score, value in values
    ]
