# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What all tasks promise alike, on a small run of each. What is a task's own is in the file of its name."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import train_answers
import train_tokens
import train_translation
import transformers
from huggingface_hub import ModelCard
from native_models import NATIVES
from processes import refusal
from records import is_as_recorded
from safetensors.torch import load_file
from test_translate import write_split
from toy_names import write_conll
from toy_questions import write_squad
from transformers import AutoTokenizer
from uploads import uploaded_texts

from modeling_scratch import tasks
from modeling_scratch.run.checkpoints import checkpoints_in
from tokenization import special_token_ids

QUIET = "--report_to none --use_cpu --disable_tqdm True"
COMMON = f"""{QUIET} --learning_rate 1e-2 --tokenizer_kind wordlevel
--vocab_size 90 --num_train_epochs 2 --save_total_limit 2 --per_device_train_batch_size 12
--config_overrides hidden_size=16,num_hidden_layers=1,num_attention_heads=2,intermediate_size=16"""
SPLITS = {"train": 30, "validation": 8, "test": 6}


class Case(NamedTuple):
    main: Callable[..., None]
    options: str
    changed: tuple[str, str]
    refused: dict[str, str]


OF_ENCODERS = {
    "--preset gpt2": "invalid choice: 'gpt2'",
    "--max_length 3": "--max_length 3: must be at least 4",
    "--early_stopping_patience 2 --ema_decay 0.9": "--early_stopping_patience requires --ema_decay 0",
}
CASES = {
    "tag": Case(
        train_tokens.main, "", ("--no_label_all_tokens", "--label_all_tokens was True and is False"),
        {**OF_ENCODERS, "--label_column 9": "--label_column 9"},
    ),
    "answer": Case(
        train_answers.main, "--min_frequency 1", ("--max_answer_length 5", "--max_answer_length was 30 and is 5"),
        {**OF_ENCODERS, "--max_answer_length 0": "must be at least 1", "--max_length 10": "the question leaves"},
    ),
    "translate": Case(
        train_translation.main,
        "--source_column en --target_column de --num_beams 1 --max_length 12",
        ("--max_length 11", "--max_length was 12 and is 11"),
        {
            "--metric_for_best_model f1": "the choices are loss, bleu, chrf, perplexity",
            "--bpe_dropout 0.1": "--bpe_dropout is retired",
            "--r_drop 1": "--r_drop is retired",
            "--predict_with_generate True": "--predict_with_generate is retired",
            "--max_length 4 --tokenizer_kind byte_bpe --vocab_size 259": "exceed 4 tokens",
            "--preset bert": "argument --preset: invalid choice: 'bert'",
            "--num_beams 0": "--num_beams",
            "--config_overrides position_type=learned,max_position_embeddings=8": "positions for only 8 tokens",
            "--model_name_or_path runs/x --separate_vocabularies": "--separate_vocabularies: for new models",
        },
    ),
}  # fmt: skip
REFUSED = [(name, options, told) for name, case in CASES.items() for options, told in case.refused.items()]
MADE: dict[str, Path] = {}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name in CASES:
        (folder / name).mkdir()
    for seed, (split, rows) in enumerate(SPLITS.items()):
        write_conll(folder / "tag" / f"{split}.conll", rows, seed)
        write_squad(folder / "answer" / f"{split}.json", rows, seed)
        write_split(folder / "translate", split, rows, seed)
    return folder


def train(name: str, data: Path, output: Path, extra: str = "") -> None:
    case = CASES[name]
    case.main(f"--data_dir {data / name} --output_dir {output} {COMMON} {case.options} {extra}".split())


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """made(name): the folder of a run that nobody touches."""

    def folder(name: str) -> Path:
        if name not in MADE:
            MADE[name] = tmp_path_factory.mktemp(name) / "run"
            train(name, data, MADE[name])
        return MADE[name]

    return folder


@pytest.mark.parametrize("name", CASES)
def test_a_run_leaves_what_was_promised(name: str, made: Any) -> None:
    run, task = made(name), tasks.named(name)
    record, state = (json.loads((run / f"{each}.json").read_text()) for each in ("run_config", "trainer_state"))
    assert (record["program"], set(record["rows"])) == (f"scripts/{task.program}.py", set(SPLITS))
    card = ModelCard.load(run / "README.md")
    assert card.data.pipeline_tag == task.card.use.tag
    assert f'pipeline("{task.card.use.pipeline}"' in card.text
    assert {result.dataset_split for result in card.data.eval_results} >= {"test"}
    assert "test split" in (run / "results.md").read_text() or "test: 6 texts" in (run / "results.md").read_text()
    assert (run / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert not (run / "training_args.bin").exists()
    assert not uploaded_texts(run)
    key = f"eval_{record['training']['metric_for_best_model'].removeprefix('eval_')}"
    assert state["best_metric"] == max(entry.get(key, 0) for entry in state["log_history"])
    assert is_as_recorded(run)


@pytest.mark.parametrize("name", CASES)
def test_a_stopped_run_is_resumed_to_the_same_weights(
    name: str, made: Any, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other arguments than those that it was started with are refused."""
    whole, (changed, told) = made(name), CASES[name].changed
    output = shutil.copytree(whole, tmp_path / "run")
    shutil.rmtree(checkpoints_in(output)[-1])
    assert told in refusal(capsys, train, name, data, output, f"--resume_from_checkpoint last {changed}")
    train(name, data, output, "--resume_from_checkpoint last")
    printed = capsys.readouterr().out
    assert f"next: modeling-scratch predict --model {output} --input" in printed
    assert ("--text 'a question' --text_pair 'a context'" in printed) == (name == "answer")
    before, after = (load_file(folder / "model.safetensors") for folder in (whole, output))
    assert all(weight.equal(after[key]) for key, weight in before.items())


@pytest.mark.parametrize("name", ["tag", "answer"])
def test_a_native_checkpoint_is_fine_tuned(name: str, made: Any, data: Path, tmp_path: Path) -> None:
    """Of a shorter length than its own, which cuts contexts into windows."""
    native = next(native for native in NATIVES if native.model_type == "bert")
    tokenizer = AutoTokenizer.from_pretrained(made(name))
    ids = {"vocab_size": len(tokenizer), "max_position_embeddings": 60, **special_token_ids(tokenizer)}
    native.model_class(native.config(**ids)).save_pretrained(tmp_path / "native")
    tokenizer.save_pretrained(tmp_path / "native")
    options = f"--model_name_or_path {tmp_path / 'native'} --max_length 30 --max_steps 3 {QUIET}"
    CASES[name].main(f"--data_dir {data / name} --output_dir {tmp_path / 'run'} {options}".split())
    auto_class = getattr(transformers, tasks.named(name).card.use.auto_class)
    assert type(auto_class.from_pretrained(tmp_path / "run")).__name__.startswith("ScratchEncoder")
    assert AutoTokenizer.from_pretrained(tmp_path / "run").model_max_length == 30
    assert json.loads((tmp_path / "run" / "run_config.json").read_text())["training"]["learning_rate"] == 5e-5


@pytest.mark.parametrize(("name", "options", "told"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_before_anything_is_written(
    name: str, options: str, told: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in refusal(capsys, train, name, data, tmp_path / "run", options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["classify", *CASES])
def test_a_task_is_found_by_its_head_and_by_its_program(name: str) -> None:
    task = tasks.named(name)
    head = task.card.use.auto_class.removeprefix("AutoModel")
    assert tasks.action_in({"architectures": [f"AnyEncoder{head}"]}) == task.name
    assert tasks.trained_by(f"scripts/{task.program}.py") is tasks.named(task.name) is task
