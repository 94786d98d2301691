# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Self-pretraining: one run of two stages, which never reads the texts that it is evaluated on, and resumes exactly."""

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import train_classifier
from processes import Ended, at_call, in_child, refusal
from records import is_as_recorded
from test_resume import KILL, TERM
from test_train_classifier import write_reviews
from text_samples import write
from transformers import AutoTokenizer

from modeling_scratch.data.documents import load_corpus
from modeling_scratch.data.labelled_texts import ReviewData, load_splits
from modeling_scratch.data.splits import DataArguments
from modeling_scratch.inference.seen_words import read_seen_words
from modeling_scratch.run import self_pretraining, trainer
from modeling_scratch.run.run_folder import claim
from modeling_scratch.sharing.push import files_to_upload
from modeling_scratch.utils.files import read_json

TINY = "--config_overrides hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2"
QUIET = f"--report_to none --use_cpu --disable_tqdm True {TINY}"
OPTIONS = f"{QUIET} --pretrain_epochs 4 --num_train_epochs 2 --learning_rate 2e-2 --per_device_train_batch_size 16"
HELD_OUT = {"validation": "a zebra of a film", "test": "an okapi of a story"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews, and unlabelled texts among which those of validation and test are hidden."""
    folder = tmp_path_factory.mktemp("data") / "reviews"
    folder.mkdir()
    for seed, split in enumerate(("train", *HELD_OUT)):
        path = write_reviews(folder / f"{split}.csv", 60 if split == "train" else 20, 1_000 * seed)
        if split in HELD_OUT:
            path.write_text(f"{path.read_text()}{HELD_OUT[split]},1\n")
    copies = [text for text in HELD_OUT.values() for text in (text, text.upper(), text.replace(" ", "  \t"))]
    write(folder / "unsupervised.csv", {"text": [*copies, *(f"a quiet film {number}" for number in range(240))]})
    (folder.parent / "more.txt").write_text("\n".join([*copies, "a loud film", "a loud story"]))
    return folder


def run(data: Path, output: Path, *before: Callable[[], None], extra: str = "") -> Ended:
    more = data.parent / "more.txt"
    arguments = f"--data_dir {data} --unlabelled_file {more} --output_dir {output} {OPTIONS} {extra}"
    return in_child(*before, lambda: train_classifier.main(arguments.split()))


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One finished run, for all tests that only look at it."""
    output = tmp_path_factory.mktemp("finished") / "run"
    ended = run(data, output)
    assert ended.status == 0, ended.text
    return output


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_the_report_says_what_pretraining_read_and_reached(finished: Path) -> None:
    """The first stage is neither verified nor pushed."""
    steps = read_json(finished / "run_config.json")["self_pretraining"]["steps"]
    for page in "results.md", "README.md":
        text = (finished / page).read_text(encoding="utf-8")
        row = rf"\| pretraining on masked words \| \S+ \| {steps:,} \| .*loss .*\n\| fine-tuning \| 60 \| .*loss "
        assert re.search(row, text), page
    assert (finished / "tokenizer.json").read_bytes() == (finished / "pretraining" / "tokenizer.json").read_bytes()
    assert read_json(finished / "config.json")["classifier_pooling"] == "mean"
    assert is_as_recorded(finished)
    assert not [name for name in files_to_upload(finished) if name.startswith("pretraining")]


def texts_of(data: ReviewData, arguments: DataArguments, more: Path) -> list[str]:
    """The texts to pretrain on, those that are held out of them, too."""
    documents = load_corpus(data, arguments, [str(more)], seed=0)
    return [*documents.train, *documents.validation]


def test_never_pretrains_on_texts_of_validation_and_test(data: Path, finished: Path) -> None:
    vocabulary = AutoTokenizer.from_pretrained(finished / "pretraining").get_vocab()
    assert {"quiet", "loud"} <= vocabulary.keys()
    assert not {"zebra", "okapi"} & vocabulary.keys()
    notes = read_json(finished / "pretraining" / "run_config.json")["notes"]
    assert [note.split("; ")[1].split()[0] for note in notes if "removed" in note] == ["0", "6", "6"]
    arguments = DataArguments(data_dir=str(data))
    texts = texts_of(load_splits(arguments), arguments, data.parent / "more.txt")
    assert not [text for text in texts if "zebra" in text.lower() or "okapi" in text.lower()]
    assert len(texts) == 60 + 240 + 2


def test_no_row_that_is_held_out_is_pretrained_on_whatever_becomes_of_it(tmp_path: Path) -> None:
    """Rows that are held out of train, beyond --max_eval_samples or without a label, and a test file without labels."""
    arguments = DataArguments(train_file=str(write_reviews(tmp_path / "train.csv", 60, 0)))
    data, more = load_splits(arguments), tmp_path / "more.txt"
    more.write_text("\n".join(text for split in data.splits.values() for text in split["text"]))
    held_out = {text for split in ("validation", "test") for text in data.splits[split]["text"]}
    texts = set(texts_of(data, arguments, more))
    assert held_out
    assert texts == set(data.splits["train"]["text"]) - held_out

    rows = [f"a {word} film that is number {i}" for i in range(30) for word in ("zebra", "okapi")]
    labelled = [f"{text},{i % 2}" for i, text in enumerate(rows)]
    (tmp_path / "validation.csv").write_text("\n".join(["text,label", *labelled, "an unlabelled ibis,"]))
    (tmp_path / "test.csv").write_text("\n".join(["text", *(f"a hidden kudu {i}" for i in range(9))]))
    tests = [f"A hidden  KUDU {i}" for i in range(9)]
    more.write_text("\n".join([*rows, "an unlabelled ibis", *tests, "a text of its own"]))
    arguments = DataArguments(data_dir=str(tmp_path), max_eval_samples=10)
    data = load_splits(arguments)
    assert data.splits["validation"].num_rows == 10
    assert sorted(texts_of(data, arguments, more)) == sorted([*data.splits["train"]["text"], "a text of its own"])


seal = partial(at_call, trainer, "seal")  # 4 checkpoints of pretraining, then 2 of fine-tuning
FAULTS = {
    "killed in pretraining, and once more in fine-tuning": [(seal(3, KILL), -9), (seal(4, KILL), -9)],
    "killed in pretraining before a checkpoint": [(seal(1, KILL), -9)],
    "SIGTERM in pretraining": [(seal(2, TERM), 143)],
    "killed while the pretrained model is saved": [(at_call(trainer, "move_all", 1, KILL), -9)],
    "killed after pretraining": [(at_call(self_pretraining, "pretraining_stage", 1, KILL), -9)],
    "killed in fine-tuning before a checkpoint": [(seal(5, KILL), -9)],
    "killed while the classifier is saved": [(at_call(trainer, "move_all", 2, KILL), -9)],
}
QUICK, *SLOW = FAULTS
RESUME = "--resume_from_checkpoint last"


@pytest.mark.parametrize("fault", [QUICK, *(pytest.param(fault, marks=pytest.mark.slow) for fault in SLOW)])
def test_a_resumed_run_ends_with_the_same_weights(fault: str, data: Path, tmp_path: Path, finished: Path) -> None:
    extra = ""
    for patch, status in FAULTS[fault]:
        ended = run(data, tmp_path / "run", patch, extra=extra)
        assert ended.status == status, ended.text
        extra = RESUME
    before = times(tmp_path / "run" / "pretraining")
    ended = run(data, tmp_path / "run", extra=RESUME)
    assert ended.status == 0, ended.text
    for name in "model.safetensors", "pretraining/model.safetensors", "tokenizer.json":
        assert (tmp_path / "run" / name).read_bytes() == (finished / name).read_bytes(), name
    assert not list(tmp_path.glob("run/**/.unfinished*"))
    if "fine-tuning" in fault or "classifier" in fault:
        assert times(tmp_path / "run" / "pretraining") == before


def test_minutes_are_measured_once_and_resumed_as_recorded(data: Path, tmp_path: Path) -> None:
    arguments, records = f"--data_dir {data} --output_dir {tmp_path / 'run'} {QUIET} --tokenizer_kind byte_bpe", []
    for patch, extra, status in ((seal(1, KILL), "--pretrain_minutes 0.01", -9), (seal(99, KILL), RESUME, 0)):
        options = f"{arguments} --num_train_epochs 1 {extra}".split()
        ended = in_child(patch, partial(train_classifier.main, options))
        assert ended.status == status, ended.text
        records.append(read_json(tmp_path / "run" / "run_config.json"))
    before, after = records
    assert after["pretraining"]["pretrain_minutes"] == 0.01
    steps = read_json(tmp_path / "run" / "pretraining" / "trainer_state.json")["global_step"]
    assert after["self_pretraining"]["steps"] == before["self_pretraining"]["steps"] == steps
    words = read_seen_words(str(tmp_path / "run"))  # of both stages
    assert {"story", "quiet"} <= words
    assert "zebra" not in words


def test_other_options_are_refused_and_overwrite_replaces_both_stages(
    data: Path, finished: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    for extra, told in (
        ("--overwrite --adam_beta1 1.5", "beta"),
        (f"{RESUME} --pretrain_epochs 5", "--pretrain_epochs was 4.0 and is 5.0"),
    ):
        ended = run(data, folder, extra=extra)
        assert (ended.status, told in ended.text, times(folder).keys()) == (2, True, times(finished).keys()), ended.text
    plain = f"--data_dir {data} --output_dir {folder} {QUIET} --max_steps 1 --pretrain_minutes 0".split()
    ended = in_child(lambda: train_classifier.main([*plain, "--overwrite"]))
    assert ended.status == 0, ended.text
    assert not (folder / "pretraining").exists()
    (folder / "pretraining").mkdir()  # of somebody else: this run has no pretraining
    (folder / "pretraining" / "notes.txt").touch()
    claim(folder)
    assert (folder / "pretraining" / "notes.txt").is_file()


REFUSED = {
    "--pretrain_minutes 1 --model_name_or_path runs/other": "--model_name_or_path",
    "--pretrain_minutes 1 --search_trials 2": "--search_trials",
    "--pretrain_minutes 1 --push_to_hub True": "modeling-scratch push",
    "--pretrain_minutes 1 --pretrain_epochs 1": "exclude each other",
    "--pretrain_minutes -1": "at least 0",
    "--pretrain_minutes 0 --unlabelled_file missing.csv": "there is no pretraining",
    "--pretrain_epochs 1 --unlabelled_file missing.csv": "missing.csv",
    "--pretrain_epochs 1 --adam_beta1 1.5": "beta",
}


@pytest.mark.parametrize("options", REFUSED)
def test_refuses(options: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = f"--data_dir {data} --output_dir {tmp_path / 'run'} --use_cpu --report_to none {options}".split()
    assert REFUSED[options] in refusal(capsys, train_classifier.main, arguments)
    assert not (tmp_path / "run").exists()
