# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The scores of a classifier in words and tables, from evaluation.json: for its report, and for its model card."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..data.text_pairs import from_fields
from ..tasks.card import Metric, Results, baselines_of, shares_table
from ..utils.markdown import escaped, percent, quoted_rows
from .calibration import calibration_text
from .metrics import METRICS
from .run_tables import split_table
from .significance import Score, scores_table
from .verdicts import MODEL, finding, macro_f1_text, only_answer_headline

Evaluation = Mapping[str, Any]


# Of a report and of a card


def one_class_text(evaluation: Evaluation, notes: Sequence[str]) -> str:
    """Return the report on texts with one class each, without its first line and without texts."""
    models = {MODEL: evaluation, **{each["name"]: each for each in evaluation["baselines"]}}
    return paragraphs(
        f"{evaluation['texts']:,} texts of the {evaluation['split']} split\n\n"
        f"{accuracy_table(models, evaluation['f1_name'])}\n\n{accuracy_sentence(evaluation)}",
        *notes,
        evaluation["macro_f1"] and macro_f1_text(evaluation["macro_f1"]),
        f"Macro F1: {percent(evaluation['f1_macro'])}. Each class:\n\n{class_table(evaluation['classes'])}",
        calibration_text(evaluation["calibration"]),
    )


def paragraphs(*texts: str | None) -> str:
    return "".join(f"\n{each}\n" for each in texts if each)


def accuracy_table(models: Mapping[str, Mapping[str, Any]], f1_name: str) -> str:
    """Return the accuracy, its interval and the F1 of each model, by its name, in Markdown."""
    heads = {"accuracy": "accuracy", "accuracy_interval_95": "95 % interval", "f1": escaped(f1_name)}
    return shares_table("", models, heads)


def class_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the scores of each class as Markdown."""
    heads = {name: name for name in ("precision", "recall")} | {"f1": "F1", "support": "support"}
    return shares_table("class", {row["label"]: row for row in rows}, heads)


def accuracy_sentence(evaluation: Evaluation) -> str:
    """Return the comparison of accuracies with the strongest baseline as a sentence."""
    test, texts = evaluation["mcnemar"], evaluation["texts"]
    alone, of_baseline = test["only_model_correct"], test["only_baseline_correct"]
    verb = "is" if alone == 1 else "are"
    return (
        f"{finding(MODEL, test['baseline'], test['verdict'], texts)}: of {texts} examples, {alone} {verb} correct only "
        f"with the former and {of_baseline} only with the latter (McNemar's exact test, p = {test['p_value']:.3g})."
    )


def scores_text(evaluation: Evaluation, model: str = MODEL) -> str:
    """Return the scores of evaluation.json as Markdown, for results.md and the model card."""
    models = {model: evaluation["scores"], **{row["name"]: row["scores"] for row in evaluation["baselines"]}}
    metrics = METRICS[evaluation["problem_type"]]
    parts = [
        f"{evaluation['texts']:,} texts of the {evaluation['split']} split",
        scores_table(metrics.scores, models),
        _score_sentence(metrics.score, evaluation, model),
    ]
    if classes := evaluation.get("classes"):
        parts += ["Each class. It is predicted if its probability is above 0.5:", class_table(classes)]
    return "\n\n".join([*parts, f"The model is not calibrated: {evaluation['calibration']['obstacle']}."])


def _score_sentence(score: Score, evaluation: Evaluation, model: str) -> str:
    comparison = evaluation["comparison"]
    found = finding(model, escaped(comparison["baseline"]), comparison["verdict"], evaluation["texts"])
    value, low, high = map(score.shown_difference, (comparison["value"], *comparison["interval_95"]))
    unit = " percentage points" if score.is_share else ""
    return (
        f"{found[0].upper() + found[1:]}: the difference in {score.heading} is {value}{unit}, with a 95 % interval of "
        f"{low} to {high} (paired bootstrap)."
    )


# Of a card


def _example(evaluation: Evaluation) -> str:
    return from_fields(evaluation["examples"][0]) if evaluation["examples"] else ""


def _examples(title: str, evaluation: Evaluation) -> list[str]:
    rows = [[from_fields(row), row["label"], row["answer"]] for row in evaluation["examples"]]
    return quoted_rows(title, ["text", "label", "answer"], rows)


def classification(evaluation: Evaluation) -> Results:
    """Report what the problem type of the run asks for; runs of earlier versions have one class per text."""
    results = of_scores(evaluation) if evaluation.get("problem_type") in METRICS else one_class(evaluation)
    if first := headline_of(evaluation):
        advice = f" {linear} It is not uploaded." if (linear := evaluation.get("linear_model")) else ""
        results = results._replace(text=f"**{escaped(first)}**{advice}\n\n{results.text}")
    if scores := evaluation.get("split_scores"):
        return results._replace(text=f"{results.text}\n\nThe scores of each split:\n\n{split_table(scores)}")
    return results


def of_scores(evaluation: Evaluation) -> Results:
    """Report the scores of sets of classes or of numbers, and the first texts with their labels and answers."""
    text = [
        scores_text(evaluation, "this model"),
        *([f"![Predictions]({picture})"] if (picture := evaluation["picture"]) else []),
        *_examples(f"The first texts of the {evaluation['split']} split:", evaluation),
    ]
    metrics = [
        Metric(score.name, evaluation["scores"][score.name]["value"], score.heading, evaluation["split"])
        for score in METRICS[evaluation["problem_type"]].scores
    ]
    return Results("\n\n".join(text), metrics, _example(evaluation))


def one_class(evaluation: Evaluation) -> Results:
    """Report the scores of model and baselines, the confusion matrix, and example texts per class."""
    split, test = evaluation["split"], evaluation["mcnemar"]
    baselines = {row["settings"]["model"]: row for row in baselines_of(evaluation)}
    interval = " to ".join(map(percent, evaluation["accuracy_interval_95"]))
    accuracy = f"accuracy, 95 % interval {interval}; {_of_baselines(baselines, 'accuracy')}"
    f1 = f"{evaluation['f1_name']}; {_of_baselines(baselines, 'f1')}"
    baseline = test.get("baseline", next(iter(baselines)))
    text = [
        f"On the {evaluation['texts']:,} texts of the {split} split, for this model and linear baselines:",
        accuracy_table({"this model": evaluation, **baselines}, evaluation["f1_name"]),
        f"This model compared with {escaped(baseline)}: {test['verdict'].partition(' (')[0]} "
        f"(McNemar's exact test, p = {test['p_value']:.3g}).",
        *([macro_f1_text(comparison)] if (comparison := evaluation.get("macro_f1")) else []),
        "![Confusion matrix](confusion_matrix.png)",
        *_examples(f"The first texts of each class in the {split} split:", evaluation),
    ]
    if classes := evaluation.get("classes"):
        text += ["The scores of each class:", class_table(classes)]
    if calibration := evaluation.get("calibration"):
        text.append(calibration_text(calibration))
    metrics = [Metric("accuracy", evaluation["accuracy"], accuracy, split), Metric("f1", evaluation["f1"], f1, split)]
    return Results("\n\n".join(text), metrics, _example(evaluation))


def headline_of(evaluation: Evaluation) -> str | None:
    """Return what a report says first of a model that nobody should use; earlier versions only know one answer."""
    if "headline" in evaluation or not (answer := evaluation.get("only_answer")):
        return evaluation.get("headline")
    return only_answer_headline(answer)


def _of_baselines(baselines: Mapping[str, Mapping[str, Any]], score: str) -> str:
    return "; ".join(f"of the baseline {name}: {percent(scores[score])}" for name, scores in baselines.items())
