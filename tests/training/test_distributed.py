# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Several processes, or machines, train together: to the losses and weights of one process with the same texts."""

import json
import shutil
import signal
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
import train_classifier
from accelerate.commands.config.config_args import load_config_from_file
from model_cases import CASES, CAUSAL_LM, HEADS, SWITCHES, Case
from processes import refusal
from safetensors.torch import load_file
from small_runs import data
from test_temperature import write_noisy
from together import ROOT, SETTINGS, free_port, launching, losses, program, start, together
from torch.distributed import barrier, init_process_group
from transformers import Trainer, TrainingArguments
from transformers.distributed import DistributedConfig

from modeling_scratch import fast
from modeling_scratch.run.checkpoints import check_checkpoint, checkpoint_at, checkpoints_in

# ruff: noqa: F401, F811  (the fixture comes from small_runs)

PROCESSES = 2


def rows_of(case: Case) -> list[dict[str, Any]]:
    """The texts of two batches one by one; four of them, so that each process gets two."""
    batches = case.batch(seed=0), case.batch(seed=1)
    return [{name: value[i] for name, value in batch.items()} for batch in batches for i in range(2)]


def train(case: Case, folder: Path, size: int) -> None:
    """One step, with every parameter awaited: one that gets no gradient in a process would stop the other."""
    arguments = TrainingArguments(
        output_dir=str(folder), use_cpu=True, disable_tqdm=True, save_strategy="no", max_steps=1, optim="sgd",
        learning_rate=0.5, lr_scheduler_type="constant", max_grad_norm=0.0, per_device_train_batch_size=size,
        train_sampling_strategy="sequential", ddp_find_unused_parameters=False,
    )  # fmt: skip
    made = Trainer(model=case.model(), args=arguments, train_dataset=rows_of(case))
    made.train()
    made.save_model()


def train_heads(rank: int, folder: str) -> None:
    for case in HEADS:
        train(case, Path(folder) / case.model_class.__name__, size=4 // PROCESSES)


@pytest.mark.slow
def test_every_head_trains_in_two_processes(tmp_path: Path) -> None:
    together(PROCESSES, train_heads, str(tmp_path / "together"))
    for case in HEADS:
        name = case.model_class.__name__
        train(case, tmp_path / "alone" / name, size=4)
        trained, alone = (load_file(tmp_path / kind / name / "model.safetensors") for kind in ("together", "alone"))
        torch.testing.assert_close(trained, alone, atol=1e-5, rtol=1e-5)
        start = case.model().state_dict()
        assert not all(torch.equal(value, start[key]) for key, value in alone.items())


SIZES = "hidden_size=16,intermediate_size=32,num_hidden_layers=2,num_attention_heads=2,hidden_dropout=0.0"
COMMON = f"--report_to none --use_cpu --disable_tqdm True --seed 3 --logging_steps 1 --config_overrides {SIZES}"
SAVES = "--save_strategy steps --save_steps 3 --eval_strategy steps --eval_steps 3 --save_total_limit 5"
REVIEWS = f"{COMMON},classifier_dropout=0.0 --data_dir {{data}}/reviews --num_train_epochs 2"
TEXTS = f"{COMMON} --block_size 16 --train_file {{data}}/many.csv"
PROGRAMS = {
    "classifier": ("train_classifier", f"{REVIEWS} {SAVES} --ema_decay 0"),  # ends with the best checkpoint
    "average": ("train_classifier", f"{REVIEWS} --ema_decay 0.9"),
    "decoder": ("pretrain", f"{TEXTS} --objective clm --tokenizer_kind character --max_steps 6"),
    "denoising": ("pretrain", f"{TEXTS} --objective denoising --vocab_size 300 --max_steps 4"),
    "translation": (
        "train_translation",
        f"{COMMON} --data_dir {{data}}/pairs --source_column en --target_column de --tokenizer_kind wordlevel "
        "--vocab_size 60 --warmup_steps 4 --num_train_epochs 2 --num_beams 1 --max_length 8 "
        "--train_sampling_strategy random",
    ),
}
STEP = 12


def options_of(name: str, data: Path, output: Path, processes: int) -> str:
    """Each script with the texts of a step, which processes divide among them."""
    batch = f"--per_device_train_batch_size {STEP // processes}"
    return f"{PROGRAMS[name][1].format(data=data)} {batch} --output_dir {output}"


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of each program as one process runs it."""
    folder = tmp_path_factory.mktemp("alone")

    def finished(name: str) -> Path:
        if not (folder / name).exists():
            together(1, program, PROGRAMS[name][0], options_of(name, data, folder / name, processes=1))
        return folder / name

    return finished


def check_same(folder: Path, expected: Path) -> None:
    """To rounding; but a bias of keys changes nothing, its gradient is rounding alone, and Adam enlarges it."""
    torch.testing.assert_close(losses(folder), losses(expected), atol=1e-5, rtol=1e-5)
    weights, others = (load_file(place / "model.safetensors") for place in (folder, expected))
    assert weights.keys() == others.keys()
    for name in weights.keys() - {name for name in weights if name.endswith("k_proj.bias")}:
        torch.testing.assert_close(weights[name], others[name], atol=1e-3, rtol=1e-3, msg=name)
    assert not list(folder.glob(".*"))


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in PROGRAMS if name != "decoder"]


@pytest.mark.parametrize("name", ["decoder", *OTHERS])
def test_two_processes_have_the_losses_of_one(
    name: str, data: Path, tmp_path: Path, alone: Callable[[str], Path]
) -> None:
    output = tmp_path / "run"
    together(2, program, PROGRAMS[name][0], options_of(name, data, output, processes=2))
    check_same(output, alone(name))


def parallel_outputs(rank: int, folder: str) -> None:
    """Each class whole, and as two processes share its blocks: outputs, and what is generated and saved of them."""
    init_process_group("gloo")
    pairs = [*zip(CASES, cycle(SWITCHES.values())), *((CAUSAL_LM, settings) for settings in SWITCHES.values())]
    for number, (case, settings) in enumerate(pairs):
        whole, place = case.model(**settings), Path(folder) / str(number)
        if rank == 0:
            whole.save_pretrained(place)
        barrier()
        shared = case.model_class.from_pretrained(place, distributed_config=DistributedConfig(tp_plan="auto")).eval()
        with torch.no_grad(), fast.disabled():  # packed, hidden states of padding are 0
            outputs, expected = shared(**case.inputs()), whole(**case.inputs())
        torch.testing.assert_close(dict(outputs), dict(expected), atol=1e-5, rtol=1e-5)
        if case is CAUSAL_LM:
            prompts = {"input_ids": case.inputs()["input_ids"], "do_sample": False, "max_new_tokens": 8}
            assert torch.equal(shared.generate(**prompts, use_cache=True), whole.generate(**prompts))
        shared.save_pretrained(place / "again")
        if rank == 0:
            weights, others = (load_file(each / "model.safetensors") for each in (place, place / "again"))
            assert all(torch.equal(weight, others[key]) for key, weight in weights.items())


@pytest.mark.slow
def test_a_model_shared_by_two_processes_answers_the_same(tmp_path: Path) -> None:
    together(2, parallel_outputs, str(tmp_path))


def launch(processes: int, options: str, machines: int = 1) -> None:
    program = str(ROOT / "scripts" / "train_classifier.py"), *options.split()
    places = f"--num_processes {processes} --main_process_port {free_port()} --num_machines {machines}"
    places += " --main_process_ip 127.0.0.1" if machines > 1 else ""
    started = [start(launching(f"{places} --machine_rank {rank}", *program)) for rank in range(machines)]
    texts = [each.communicate()[0] for each in started]
    assert [each.returncode for each in started] == [0] * machines, texts


@pytest.mark.slow
def test_what_accelerate_launches_saves_and_is_resumed_by_others(
    data: Path, tmp_path: Path, alone: Callable[[str], Path]
) -> None:
    """By as many processes, by one, and by three."""
    output = tmp_path / "run"
    launch(2, options_of("classifier", data, output, processes=2))
    check_same(output, alone("classifier"))
    checkpoint = output / "checkpoint-3"
    assert check_checkpoint(checkpoint) is None
    for processes in (2, 1, 3):
        copy = shutil.copytree(output, tmp_path / str(processes))
        options = options_of("classifier", data, copy, processes)
        launch(processes, f"{options} --resume_from_checkpoint {copy / checkpoint.name}")
        check_same(copy, alone("classifier"))


@pytest.mark.slow
def test_processes_calibrate_as_one(tmp_path: Path) -> None:
    """The last layer is divided by the same temperature."""
    (tmp_path / "data").mkdir()
    reviews = write_noisy(tmp_path / "data" / "reviews", train=60, validation=120, test=20)
    found = []
    for processes in (1, 2):
        launch(processes, options_of("classifier", reviews.parent, tmp_path / str(processes), processes))
        evaluation = json.loads((tmp_path / str(processes) / "evaluation.json").read_text())
        found.append(evaluation["calibration"]["temperature"])
    check_same(tmp_path / "2", tmp_path / "1")
    assert 1 != found[0] == pytest.approx(found[1], rel=1e-3)


def test_a_launcher_of_sharded_weights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    arguments = f"--output_dir {tmp_path / 'run'} --use_cpu".split()
    assert "each process holds the whole model here" in refusal(capsys, train_classifier.main, arguments)


@pytest.mark.slow
def test_two_machines_train_as_one(data: Path, tmp_path: Path, alone: Callable[[str], Path]) -> None:
    launch(2, options_of("classifier", data, tmp_path / "run", processes=2), machines=2)
    check_same(tmp_path / "run", alone("classifier"))
