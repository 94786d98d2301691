# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Model folders that no training wrote, or that lead out of the folder, are refused in one line by all."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import convert_checkpoint
import generate
import predict
import pytest
import serve
import train_classifier
import writers
from records import findings
from safetensors import safe_open
from serving import save_classifier
from shared import refused
from text_samples import fault

from modeling_scratch.bridges.model_sources import check_folder
from modeling_scratch.sharing.push import check_that_it_loads
from modeling_scratch.utils.errors import DataError
from modeling_scratch.verify import write_verification


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = writers.words()
    return writers.save(tmp_path_factory.mktemp("decoder"), writers.decoder(tokenizer), tokenizer)


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def change(path: Path, **fields: Any) -> None:
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | fields))


def lead_outside(folder: Path) -> None:
    """The weights are those of somebody else, in a folder beside this one."""
    other = Path(shutil.move(folder / "model.safetensors", folder.parent / "other.safetensors"))
    with safe_open(other, "pt") as weights:
        shards = dict.fromkeys(weights.keys(), "../other.safetensors")
    change(folder / "model.safetensors.index.json", metadata={}, weight_map=shards)


def index_of(shards: Any) -> Callable[[Path], None]:
    return lambda folder: change(folder / "model.safetensors.index.json", metadata={}, weight_map=shards)


def config(**fields: Any) -> Callable[[Path], None]:
    return lambda folder: change(folder / "config.json", **fields)


def pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


ATTACKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "labels": (config(id2label={"0": "bad", "5": "good"}), "id2label must name the labels 0, 1, ..."),
    "label types": (config(id2label={"0": "bad", "1": 5}), "id2label must name the labels 0, 1, ..."),
    "equal labels": (config(id2label={"0": "bad", "1": "bad"}), "id2label gives several labels the name 'bad'"),
    "list of weights": (index_of(["a"]), "index.json: weight_map must give the file of each weight"),
    "numbers of files": (index_of({"a": 1}), "index.json: weight_map must give the file of each weight"),
    "index": (lead_outside, "'../other.safetensors', which is not a file of its folder"),
    "pipe": (pipe, "config.json: not a regular file"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_folder_that_no_training_wrote_is_refused(folder: Path, attack: str) -> None:
    check_folder(str(folder))
    act, message = ATTACKS[attack]
    act(folder)
    with fault(message, str(folder)):
        check_folder(str(folder))


def write_reviews(folder: Path) -> None:
    folder.mkdir()
    rows = [f"text {number},{number % 2}" for number in range(40)]
    (folder / "train.csv").write_text("\n".join(["text,label", *rows]))


PROGRAMS: dict[str, tuple[Callable[..., Any], str]] = {
    "predict": (predict.main, "--model {} --input -"),
    "generate": (generate.main, "--model_name_or_path {} --prompt a"),
    "serve": (serve.main, "--model {} --port 0"),
    "convert": (convert_checkpoint.main, "--input {} --output_dir {}/new"),
    "train": (train_classifier.main, "--data_dir {0}/data --output_dir {0}/run --use_cpu --model_name_or_path {0}"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_load_a_folder_refuse_it_in_one_line(
    folder: Path, decoder: Path, tmp_path: Path, program: str, capsys: pytest.CaptureFixture
) -> None:
    """One whose weights lie elsewhere; and one whose model would answer, but is another one than was trained."""
    shallow = Path(shutil.copytree(decoder if program == "generate" else folder, tmp_path / "shallow"))
    change(shallow / "config.json", num_hidden_layers=0)
    lead_outside(folder)
    main, options = PROGRAMS[program]
    for each, message in (
        (folder, "'../other.safetensors', which is not a file of its folder"),
        (shallow, f"{shallow}: the files have"),
    ):
        write_reviews(each / "data")
        refused(capsys, main, options.format(each, each).split(), message)


def test_a_copy_is_not_verified_and_not_pushed_with_it(folder: Path) -> None:
    write_verification(folder)
    names = [path.name for path in folder.iterdir()]
    lead_outside(folder)
    assert "not a file of its folder" in findings(folder)["loading"].what
    with pytest.raises(DataError, match="not a file of its folder"):
        check_that_it_loads(folder, [*{*names, "model.safetensors.index.json"} - {"model.safetensors"}])


@pytest.mark.parametrize("name", ["num_beams", "num_return_sequences", "max_new_tokens"])
def test_generate_bounds_what_is_asked_for(
    decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture, name: str
) -> None:
    """By the user, and by the checkpoint."""
    folder = shutil.copytree(decoder, tmp_path / "model")
    change(folder / "generation_config.json", **{name: 10**7})
    for model, options in ((decoder, f"--{name} 10000000"), (folder, "")):
        refused(capsys, generate.main, f"--model_name_or_path {model} --prompt word1 {options}".split(), name)
