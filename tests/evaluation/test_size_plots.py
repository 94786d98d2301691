# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Accuracy against the number of training texts: from runs to a table and a picture."""

import json
from pathlib import Path

import compare_sizes
import matplotlib.image
import pytest
from test_train_classifier import write_reviews

from modeling_scratch.evaluation.size_plots import read_scores, size_png, size_table
from modeling_scratch.utils.errors import DataError


def write_run(folder: Path, texts: int, accuracy: float) -> Path:
    folder.mkdir(parents=True)
    baselines = [{"name": "NB-SVM", "accuracy": accuracy - 0.1}]
    (folder / "evaluation.json").write_text(json.dumps({"accuracy": accuracy, "baselines": baselines}))
    (folder / "run_config.json").write_text(json.dumps({"rows": {"train": texts}}))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, list[Path]]:
    found = {100: (0.5, 0.7), 20: (0.5,)}
    recipe = [write_run(tmp_path / f"{n}-{a}", n, a) for n, accuracies in found.items() for a in accuracies]
    return {"recipe": recipe, "checkpoint": [write_run(tmp_path / "checkpoint", 100, 0.9)]}


def test_a_table_has_means_and_standard_deviations_of_seeds(runs: dict[str, list[Path]], tmp_path: Path) -> None:
    scores = read_scores(runs)
    lines = size_table(scores).splitlines()
    assert [cell.strip() for cell in lines[0].split("|")[1:-1]] == ["training texts", "recipe", "NB-SVM", "checkpoint"]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert cells == [["20", "50.0", "40.0", ""], ["100", "60.0 ± 14.1", "50.0 ± 14.1", "90.0"]]
    size_png({"some": scores, "other": scores}, tmp_path / "sizes.png")
    assert matplotlib.image.imread(tmp_path / "sizes.png").shape[1] > 800


def test_an_unfinished_run_is_named(runs: dict[str, list[Path]]) -> None:
    (runs["recipe"][0] / "evaluation.json").unlink()
    with pytest.raises(DataError, match=r"100-0\.5: not the folder of a finished run"):
        read_scores(runs)


def test_finished_runs_are_drawn_without_training(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for seed in (0, 1):
        write_run(tmp_path / "reviews" / f"recipe-20-{seed}", 20, 0.5)
    (tmp_path / "reviews" / "recipe-20-0" / "verify.json").touch()  # the other one is not finished
    command = f"--rows 20 90 --checkpoint none --draw_only --output_dir {tmp_path} --panel".split()
    compare_sizes.main([*command, "reviews", "nowhere"])
    assert capsys.readouterr().out.splitlines()[-1] == "| 20 | 50.0 | 40.0 |"
    with pytest.raises(SystemExit):
        compare_sizes.main([*command, "others", "nowhere"])
    assert "others: no run is finished" in capsys.readouterr().err


@pytest.mark.slow
def test_runs_are_made_once(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    for seed, split in enumerate(("train", "validation")):
        write_reviews(folder / f"{split}.csv", 60, 1_000 * seed)
    command = f"--panel reviews {folder} --rows 20 --seeds 0 1 --output_dir {tmp_path / 'sizes'}".split()
    compare_sizes.main(command)
    first = capsys.readouterr().out
    assert (tmp_path / "sizes" / "sizes.md").read_text() in first
    assert first.count(str(tmp_path)) == 2
    compare_sizes.main(command)
    assert str(tmp_path) not in capsys.readouterr().out
