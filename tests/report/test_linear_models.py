# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Linear models that are saved with a run answer as those of scikit-learn that it was compared with."""

import json
from pathlib import Path

import numpy as np
import predict
import pytest
import serve
from shared import refused
from test_baseline import corpus

from modeling_scratch.report.baselines import one_versus_rest, ridge, run_baselines

TEXTS = ["A dull film, film", "plot scene", "bright actor dull odd", "unheard of"]
ONE_CLASS = "single_label_classification"


def answers(model: Path, texts: list[str], extra: str = "") -> list[dict]:
    """What `modeling-scratch predict` gives."""
    source, output = model.with_suffix(".txt"), model.with_suffix(".jsonl")
    source.write_text("\n".join(texts), encoding="utf-8")
    predict.main(f"--model {model} --input {source} --output {output} --overwrite {extra}".split())
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("classes", [[0, 1], [0, 2], [0, 1, 2], [1, 3, 7]])
def test_the_saved_model_gives_the_probabilities_of_scikit_learn(classes: list[int], tmp_path: Path) -> None:
    """Also where the training texts lack some of the classes."""
    train_texts, drawn = corpus(len(classes), 60, seed=0)
    names = [f"class {number}" for number in range(max(classes) + 1)]
    for number, result in enumerate(run_baselines(train_texts, [classes[label] for label in drawn], TEXTS)):
        weights = result.weights.of_classes(result.classes, len(names))
        weights.save(tmp_path / str(number), result.name, ONE_CLASS, names, has_pairs=False)
        found = answers(tmp_path / str(number), [*TEXTS, " "], "--top_k all")
        listed = [{each["label"]: each["score"] for each in answer["top"] or ()} for answer in found]
        expected = np.zeros((len(TEXTS), len(names)))
        expected[:, result.classes] = result.probabilities
        scores = [[of_text[name] for name in names] for of_text in listed[:-1]]
        assert scores == pytest.approx(np.float32(expected), abs=2e-7), "predict writes the digits of float32"
        assert [answer["label"] for answer in found] == [*(names[label] for label in result.predictions), None]
    assert number == 1


def test_sets_of_classes_and_numbers(tmp_path: Path) -> None:
    """One of the classes is that of no text."""
    train_texts, drawn = corpus(3, 90, seed=0)
    sets = np.column_stack([np.equal(drawn, 0), np.equal(drawn, 1), np.zeros(90)])
    model, names = one_versus_rest(train_texts, sets, TEXTS), ["a", "b", "c"]
    model.weights.save(tmp_path / "sets", model.name, "multi_label_classification", names, has_pairs=False)
    found = [[name in answer["label"] for name in names] for answer in answers(tmp_path / "sets", TEXTS)]
    assert found == model.predictions.tolist()
    model = ridge(train_texts, np.array(drawn) * 1.5, TEXTS)
    model.weights.save(tmp_path / "numbers", model.name, "regression", ["stars"], has_pairs=False)
    found = answers(tmp_path / "numbers", TEXTS)
    assert [answer["score"] for answer in found] == pytest.approx(np.float32(model.predictions))


def test_unknown_words_are_counted_and_other_programs_refuse_the_model(
    tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    linear, result = tmp_path / "linear", run_baselines(*corpus(2, 60, seed=0), TEXTS)[0]
    result.weights.save(linear, result.name, ONE_CLASS, ["bad", "good"], has_pairs=False)
    [answer, _] = answers(linear, ["dull film", "nothing of that"])
    assert answer["label"] == "bad"
    assert "words that the model has not seen (nothing, of, that): 3" in capfd.readouterr().err
    for extra in ("--max_length 9", "--precision bfloat16", "--text_column a b"):
        with pytest.raises(SystemExit):
            answers(linear, TEXTS, extra)
    told = f"--model {linear}: a linear model, which only `modeling-scratch predict` reads"
    refused(capfd, serve.main, ["--model", linear], told)
    (linear / "weights.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(SystemExit):
        answers(linear, TEXTS)
    assert "damaged: restore it" in capfd.readouterr().err
