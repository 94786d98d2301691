# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Two processes train every head together, to the weights that one process reaches with the same texts."""

import gc
import os
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing
from model_cases import HEADS, Case
from safetensors.torch import load_file
from torch.distributed import destroy_process_group
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

PROCESSES = 2


class Rows(Dataset):
    """The texts of a batch one by one; four of them, so that each process gets two."""

    def __init__(self, case: Case) -> None:
        batches = case.batch(seed=0), case.batch(seed=1)
        self.rows = [{name: value[i] for name, value in batch.items()} for batch in batches for i in range(2)]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.rows[index]


def train(case: Case, folder: Path, size: int) -> None:
    """One step, with every parameter awaited: one that gets no gradient in a process would stop the other."""
    arguments = TrainingArguments(
        output_dir=str(folder), use_cpu=True, disable_tqdm=True, save_strategy="no", max_steps=1, optim="sgd",
        learning_rate=0.5, lr_scheduler_type="constant", max_grad_norm=0.0, per_device_train_batch_size=size,
        train_sampling_strategy="sequential", ddp_find_unused_parameters=False,
    )  # fmt: skip
    made = Trainer(model=case.model(), args=arguments, train_dataset=Rows(case))
    made.train()
    made.save_model()


def process(rank: int, folder: str, port: int) -> None:
    torch.set_num_threads(1)
    gc.freeze()  # Trainer looks for garbage with every run, and need not look through the libraries
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(PROCESSES), MASTER_ADDR="localhost", MASTER_PORT=str(port)
    )
    for case in HEADS:
        train(case, Path(folder) / case.model_class.__name__, size=4 // PROCESSES)
    destroy_process_group()


def free_port() -> int:
    store = torch.distributed.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    return store.port


def test_every_head_trains_in_two_processes(tmp_path: Path) -> None:
    # A server process imports the libraries once and forks from there: nothing of this process is shared.
    torch.multiprocessing.set_forkserver_preload(["transformers.trainer", "modeling_scratch", "model_cases"])
    torch.multiprocessing.start_processes(
        process, (str(tmp_path / "together"), free_port()), nprocs=PROCESSES, start_method="forkserver"
    )
    for case in HEADS:
        name = case.model_class.__name__
        train(case, tmp_path / "alone" / name, size=4)
        together, alone = (load_file(tmp_path / kind / name / "model.safetensors") for kind in ("together", "alone"))
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
        start = case.model().state_dict()
        assert not all(torch.equal(value, start[key]) for key, value in alone.items())
