# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Scores against the number of training texts: from runs to a table and a picture, and texts to measure on."""

import json
from collections import Counter
from itertools import chain
from pathlib import Path

import compare_sizes
import matplotlib.image
import pytest
from size_plots import read_scores, size_png, size_table
from test_train_classifier import write_reviews
from write_tickets import DECLINING, Tickets

from modeling_scratch.utils.errors import DataError


def write_run(folder: Path, texts: int, accuracy: float) -> Path:
    folder.mkdir(parents=True)
    baselines = [{"name": "NB-SVM", "accuracy": accuracy - 0.1, "f1": 0.3}]
    (folder / "evaluation.json").write_text(json.dumps({"accuracy": accuracy, "f1": 0.2, "baselines": baselines}))
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
    of_f1 = read_scores(runs, "f1")
    assert size_table(of_f1).splitlines()[2].count("20.0") == size_table(of_f1).splitlines()[2].count("30.0") == 1
    size_png({"some": scores, "other": of_f1}, tmp_path / "sizes.png", {"other": "f1"})
    assert matplotlib.image.imread(tmp_path / "sizes.png").shape[1] > 800


def test_an_unfinished_run_is_named(runs: dict[str, list[Path]]) -> None:
    (runs["recipe"][0] / "evaluation.json").unlink()
    with pytest.raises(DataError, match=r"100-0\.5: not the folder of a finished run"):
        read_scores(runs)


def test_finished_runs_are_drawn_without_training(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for seed in (0, 1):
        write_run(tmp_path / "reviews" / f"new-20-{seed}", 20, 0.5)
    (tmp_path / "reviews" / "new-20-0" / "verify.json").touch()  # the other one is not finished
    command = f"--rows 20 90 --checkpoint none --draw_only --output_dir {tmp_path} --panel".split()
    compare_sizes.main([*command, "reviews", "nowhere"])
    assert capsys.readouterr().out.splitlines()[-1] == "| 20 | 50.0 | 40.0 |"
    compare_sizes.main([*command, "reviews", "nowhere", "--metric", "reviews", "f1"])
    assert capsys.readouterr().out.splitlines()[-1] == "| 20 | 20.0 | 30.0 |"
    for wrong in (["others", "f1"], ["reviews", "loss"]):
        with pytest.raises(SystemExit):
            compare_sizes.main([*command, "reviews", "nowhere", "--metric", *wrong])
        assert "give the title of a panel and one of accuracy, f1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        compare_sizes.main([*command, "others", "nowhere"])
    assert "others: no run is finished" in capsys.readouterr().err


def test_tickets_are_those_of_their_seed_and_no_word_tells_most_of_them() -> None:
    tickets = [Tickets(0).of_topics() for _ in range(2)]
    assert tickets[0] == tickets[1] != Tickets(1).of_topics()
    source = Tickets(0)
    owners = Counter(chain.from_iterable(map(set, source.topics)))
    assert sorted(Counter(owners.values()).items()) == [(1, 200), (2, 200)]
    assert not owners.keys() & set(source.others)
    rows = [source.of_topics() for _ in range(600)]
    assert len({label for _, label in rows}) == 20
    declined = sum(any(phrase in text for phrase in DECLINING) for text, _ in rows)
    assert 250 < declined < 350
    assert 0 < sum(label == "rare" for _, label in (source.of_rare() for _ in range(1_000))) < 50


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
