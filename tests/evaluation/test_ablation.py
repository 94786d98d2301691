# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What each ingredient brings: from the folders of finished runs to a table."""

import json
from pathlib import Path

import ablate
import hold_out_sentences
import pandas as pd
import pytest


def write_run(folder: Path, accuracy: float, minutes: float) -> None:
    folder.mkdir(parents=True)
    stages = [{"name": name, "minutes": minutes / 2, "since": 0} for name in ("tokenizer", "linear part")]
    (folder / "evaluation.json").write_text(json.dumps({"accuracy": accuracy, "stages": stages}))
    (folder / "run_config.json").write_text(json.dumps({"recipe": {"recipe": "minutes"}}))
    (folder / "verify.json").touch()


def test_a_table_has_differences_to_the_recipe_over_the_same_seeds(tmp_path: Path, capsys) -> None:
    for seed, (base, other) in enumerate([(0.80, 0.78), (0.84, 0.80)]):
        write_run(tmp_path / f"00-{seed}", base, 1.0)
        write_run(tmp_path / f"02-{seed}", other, 2.0)
    command = f"nowhere --seeds 0 1 --output_dir {tmp_path} --only".split()
    ablate.main([*command, "without n-grams"])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert rows[2] == ["recipe minutes", "82.00 %", "", "1.0"]
    assert rows[3] == ["without n-grams", "79.00 %", "-3.00 (-15.71 to +9.71)", "2.0"]
    assert "without n-grams" in (tmp_path / "ablation.md").read_text()


def test_a_run_that_is_not_one_of_a_recipe_is_named(tmp_path: Path, capsys) -> None:
    write_run(tmp_path / "00-0", 0.8, 1.0)
    (tmp_path / "00-0" / "evaluation.json").write_text("{}")
    with pytest.raises(SystemExit):
        ablate.main([*f"nowhere --seeds 0 --output_dir {tmp_path} --only".split(), "two blocks"])
    assert "00-0: not the folder of a finished run with --recipe" in capsys.readouterr().err


def test_a_folder_of_runs_with_other_options_is_refused(tmp_path: Path, capsys) -> None:
    write_run(tmp_path / "00-0", 0.8, 1.0)
    (tmp_path / "00-0.options.json").write_text("[]")
    with pytest.raises(SystemExit):
        ablate.main([*f"nowhere --seeds 0 --output_dir {tmp_path} --only".split(), "two blocks"])
    assert "00-0 is a run with other options" in capsys.readouterr().err


def test_held_out_sentences_leave_none_of_their_phrases_in_train(tmp_path: Path) -> None:
    words = "red", "blue", "green", "black", "grey", "white"
    sentences = [f"{word} films of {word} paint are a joy to see" for word in words]
    phrases = [" ".join(sentence.split()[:count]) for sentence in sentences for count in (2, 4, 10)]
    (tmp_path / "data").mkdir()
    rows = pd.DataFrame({"sentence": [f"{text} " for text in phrases], "label": 1})
    rows.to_parquet(tmp_path / "data" / "train.parquet")
    hold_out_sentences.main([str(tmp_path / "data"), str(tmp_path / "dev"), "--sentences", "3"])
    splits = (pd.read_parquet(tmp_path / "dev" / f"{name}.parquet") for name in ("train", "validation", "test"))
    train, validation, test = (list(split["sentence"].str.strip()) for split in splits)
    held_out = [*validation, *test]
    assert len(validation) == 1
    assert sorted(held_out) == sorted(set(held_out) & set(sentences))
    assert len(train) == 9
    assert not [text for text in train if any(text in sentence for sentence in held_out)]
