# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The scores of a classifier in words and tables, from evaluation.json: for its report, and for its model card."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..data.text_pairs import from_fields
from ..run.layout import CONFUSION_MATRIX
from ..tasks.card import LONGER_OR_PRETRAINED, Metric, Results, baselines_by_name, metrics_of, shares_table
from ..utils.markdown import escaped, percent, quoted_rows
from .calibration import calibration_text
from .metrics import MACRO_F1, METRICS
from .report_files import NO_BLOCKS
from .significance import FEW_EXAMPLES, Score, scores_table
from .stages import stage_table
from .verdicts import MODEL, only_answer_headline

Evaluation = Mapping[str, Any]
OF_CLASSES = {"precision": "precision", "recall": "recall", "f1": "F1", "support": "support"}


# Earlier versions have one baseline without a name, no sentence on a model that nobody should use, and fewer figures


def comparison_of(evaluation: Evaluation) -> Mapping[str, Any]:
    """Return the comparison that decides."""
    found = evaluation.get("comparison") or evaluation.get("macro_f1") or evaluation["mcnemar"]
    return {"baseline": next(iter(baselines_by_name(evaluation))), **found}


def headline_of(evaluation: Evaluation) -> str | None:
    """Return what a report says first of a model that nobody should use."""
    if "headline" in evaluation or not (answer := evaluation.get("only_answer")):
        return evaluation.get("headline")
    return only_answer_headline(answer)


# Of a report and of a card


def scores_text(evaluation: Evaluation, advises: bool = False) -> str:
    """Return the scores as Markdown: below a line that says which model to use, and without texts of the data.

    advises: of a model that nobody should use, what to try.
    """
    are_scores = evaluation.get("problem_type") in METRICS
    advice = LONGER_OR_PRETRAINED if advises and headline_of(evaluation) else None
    parts = [
        " ".join(filter(None, [f"**{first_line(evaluation)}**", evaluation.get("linear_model"), advice])),
        f"{evaluation['texts']:,} texts of the {evaluation['split']} split",
        *(_of_scores(evaluation) if are_scores else _of_one_class(evaluation)),
        *evaluation.get("notes", ()),
    ]
    if stages := evaluation.get("stages"):
        parts.append(stage_table(stages))
    return "\n\n".join(filter(None, parts))


def first_line(evaluation: Evaluation) -> str:
    if headline := headline_of(evaluation):
        return escaped(headline)
    comparison, texts = comparison_of(evaluation), evaluation["texts"]
    baseline, word = escaped(comparison["baseline"]), comparison["verdict"]
    if word == "better":
        return f"Use the {MODEL}: it is significantly better than {baseline}."
    if word == "worse":
        return f"Use {baseline}: it is significantly better than the {MODEL}."
    return f"Use either model: {finding(f'the {MODEL}', baseline, word, texts)}."


def finding(model: str, baseline: str, word: str, texts: int) -> str:
    """Return a verdict as a clause."""
    if word in ("better", "worse"):
        return f"{model} is {word} than {baseline}"
    if texts < FEW_EXAMPLES:
        return f"{texts} texts are too few to compare {model} and {baseline}"
    return f"{model} and {baseline} do not differ significantly on these texts"


def _of_one_class(evaluation: Evaluation) -> list[str]:
    heads = {"accuracy": "accuracy", "accuracy_interval_95": "95 % interval", "f1": escaped(evaluation["f1_name"])}
    parts = [shares_table("", {MODEL: evaluation, **baselines_by_name(evaluation)}, heads)]
    parts.append(accuracy_sentence(evaluation))
    if macro_f1 := evaluation.get("macro_f1"):
        parts.append(_macro_f1_sentence(macro_f1))
    if classes := evaluation.get("classes"):
        parts += [f"Macro F1: {percent(evaluation['f1_macro'])}. Each class:", class_table(classes)]
    if calibration := evaluation.get("calibration"):
        parts.append(calibration_text(calibration))
    return parts


def class_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the scores of each class as Markdown."""
    return shares_table("class", {row["label"]: row for row in rows}, OF_CLASSES)


def accuracy_sentence(evaluation: Evaluation) -> str:
    """Return the comparison of accuracies with the strongest baseline as a sentence."""
    texts, test = evaluation["texts"], comparison_of({**evaluation, "macro_f1": None})
    found, alone = finding(MODEL, escaped(test["baseline"]), test["verdict"], texts), ""
    if (right := test.get("only_model_correct")) is not None:
        alone = (
            f": of {texts} examples, {right} {'is' if right == 1 else 'are'} correct only with the former and "
            f"{test['only_baseline_correct']} only with the latter"
        )
    return f"{found}{alone} (McNemar's exact test, p = {test['p_value']:.3g})."


def _macro_f1_sentence(comparison: Mapping[str, Any]) -> str:
    difference, low, high = map(MACRO_F1.shown_difference, (comparison["value"], *comparison["interval_95"]))
    return (
        "The classes are weighted or imbalanced, so macro F1 says more than accuracy. The difference from "
        f"{escaped(comparison['baseline'])} is {difference} percentage points, with a 95 % interval of {low} to {high} "
        f"(paired bootstrap): {comparison['verdict']}."
    )


def _of_scores(evaluation: Evaluation) -> list[str]:
    models = {MODEL: evaluation["scores"], **{row["name"]: row["scores"] for row in evaluation["baselines"]}}
    metrics = METRICS[evaluation["problem_type"]]
    parts = [scores_table(metrics.scores, models), _score_sentence(metrics.score, evaluation)]
    if classes := evaluation.get("classes"):
        parts += ["Each class. It is predicted if its probability is above 0.5:", class_table(classes)]
    return [*parts, f"The model is not calibrated: {evaluation['calibration']['obstacle']}."]


def _score_sentence(score: Score, evaluation: Evaluation) -> str:
    comparison = evaluation["comparison"]
    found = finding(MODEL, escaped(comparison["baseline"]), comparison["verdict"], evaluation["texts"])
    value, low, high = map(score.shown_difference, (comparison["value"], *comparison["interval_95"]))
    unit = " percentage points" if score.is_share else ""
    return (
        f"{found}: the difference in {score.heading} is {value}{unit}, with a 95 % interval of {low} to {high} "
        "(paired bootstrap)."
    )


# Of a card


def classification(evaluation: Evaluation) -> Results:
    """Report what the problem type of the run asks for; runs of earlier versions have one class per text."""
    split, rows = evaluation["split"], evaluation["examples"]
    are_scores = evaluation.get("problem_type") in METRICS
    quoted = [[from_fields(row), row["label"], row["answer"]] for row in rows]
    title = f"The first texts of {'' if are_scores else 'each class in '}the {split} split:"
    linear = evaluation.get("linear_model")
    notes = [note for note in evaluation.get("notes", ()) if note != NO_BLOCKS]  # which the card says above
    told = {"linear_model": linear and f"{linear} It is not uploaded.", "notes": notes}
    text = [scores_text({**evaluation, **told})]
    if picture := evaluation.get("picture") if are_scores else CONFUSION_MATRIX:
        text.append(f"![Predictions]({picture})")
    text += quoted_rows(title, ["text", "label", "answer"], quoted)
    metrics = (_metrics_of_scores if are_scores else _metrics_of_one_class)(evaluation)
    return Results("\n\n".join(text), metrics, from_fields(rows[0]) if rows else "")


def _metrics_of_scores(evaluation: Evaluation) -> list[Metric]:
    scores, split = evaluation["scores"], evaluation["split"]
    every = METRICS[evaluation["problem_type"]].scores
    return [Metric(score.name, scores[score.name]["value"], score.heading, split) for score in every]


def _metrics_of_one_class(evaluation: Evaluation) -> list[Metric]:
    interval = " to ".join(map(percent, evaluation["accuracy_interval_95"]))
    about = {"accuracy": f"accuracy, 95 % interval {interval}", "f1": evaluation["f1_name"]}
    return metrics_of(evaluation, about)
