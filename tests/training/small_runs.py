# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Small runs of every training program, and the folders of those that end well, which all files of tests share."""

import gc
from collections.abc import Callable
from pathlib import Path

import pretrain
import pytest
import train_classifier
import train_translation
from processes import Ended, in_child
from test_pretrain import prose
from test_train_classifier import write_reviews
from test_translate import write_split
from text_samples import write

COMMON = "--report_to none --use_cpu --disable_tqdm True --gradient_accumulation_steps 2 --seed 3 --learning_rate 1e-2"
SIZES = "hidden_size=16,intermediate_size=32,num_hidden_layers=1,num_attention_heads=2,hidden_dropout=0.2"
WITHOUT_DROPOUT = f"--config_overrides {SIZES},hidden_dropout=0.0".replace("hidden_dropout=0.2,", "")
GROUPED = "--train_sampling_strategy group_by_length"
SMALL = f"{COMMON} --config_overrides {SIZES}"
CLASSIFIER = f"{SMALL} --per_device_train_batch_size 6 --num_train_epochs 3 --data_dir {{data}}/reviews"  # 5 steps each
CHARACTERS = f"{SMALL} --objective clm --tokenizer_kind character --block_size 16 --train_file {{data}}/many.csv"
RUNS: dict[str, tuple[Callable[[list[str]], None], str]] = {
    "average": (train_classifier.main, f"{CLASSIFIER} {GROUPED} --ema_decay 0.9"),
    "best": (train_classifier.main, f"{CLASSIFIER} --ema_decay 0 --layer_decay 0.9"),
    "steps": (
        train_classifier.main,
        f"{CLASSIFIER} {GROUPED} --save_strategy steps --save_steps 2 --max_steps 13 --ema_decay 0.9",
    ),
    "packed": (pretrain.main, f"{CHARACTERS} --num_train_epochs 2 --max_steps 14 --per_device_train_batch_size 12"),
    "translation": (
        train_translation.main,
        f"{SMALL} --data_dir {{data}}/pairs --source_column en --target_column de --tokenizer_kind wordlevel "
        "--vocab_size 60 --warmup_steps 4 --num_train_epochs 4 --per_device_train_batch_size 10 "
        "--num_beams 1 --max_length 8",
    ),
}
SAVED = "--max_steps 6 --save_total_limit 3"
Made = Callable[..., Path]


MADE: dict[tuple[str, ...], Path] = {}  # by all files of tests


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the runs read."""
    if () not in MADE:
        folder = MADE[()] = tmp_path_factory.mktemp("data")
        for name in ("reviews", "pairs"):
            (folder / name).mkdir()
        for seed, (split, rows) in enumerate({"train": 60, "validation": 20, "test": 20}.items()):
            write_reviews(folder / "reviews" / f"{split}.csv", rows, seed)
            write_split(folder / "pairs", split, rows, seed)
        write(folder / "many.csv", {"text": [f"{text} {number}" for number, text in enumerate(prose(60))]})
    return MADE[()]


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """made(name, extra): the folder of a run that nobody touches, to look at or to copy.

    It is made once, by the process of the tests: its forks find loaded what every run needs.
    """

    def folder(name: str, extra: str = "") -> Path:
        if (name, extra) not in MADE:
            output = tmp_path_factory.mktemp("made") / "run"
            main, options = RUNS[name]
            main(f"--output_dir {output} {options.format(data=data)} {extra}".split())
            gc.freeze()
            MADE[name, extra] = output
        return MADE[name, extra]

    return folder


@pytest.fixture(scope="module")
def saved(made: Made) -> Path:
    """A run with the checkpoints 2, 4 and 6, to look at or to copy."""
    return made("steps", SAVED)


def run(name: str, data: Path, output: Path, *patches: Callable[[], None], extra: str = "") -> Ended:
    """A run in a process of its own."""
    main, options = RUNS[name]
    arguments = f"--output_dir {output} {options.format(data=data)} {extra}".split()
    return in_child(*patches, lambda: main(arguments))


def finish(name: str, data: Path, output: Path, *patches: Callable[[], None], extra: str = "") -> Ended:
    """A run that ends well."""
    ended = run(name, data, output, *patches, extra=extra)
    assert ended.status == 0, ended.text
    return ended


def content(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
