# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Milliseconds a step of `Trainer.train()` on a GPU: Hugging Face's BERT, and ours with captured steps.

All of a step is timed: batches from the loader, collation, copies, passes, clipping, the update, callbacks. The bare
loop of captured steps over batches that lie ready tells what Trainer adds.
"""

import copy
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import torch
from transformers import (
    DataCollatorWithPadding,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from ..fast.captured import captured_step
from ..fast.static_shapes import choose_sizes, fill
from ..run.captured_trainer import SIZES, CapturedTrainer
from .data import Rows, in_random_order, packed, padding_tokenizer
from .gpu_speed import Plan, Row, Side, cells, free_memory, in_turns, pinned, ratio, rows_of
from .gpu_tokens import Tokens
from .models import CLASSIFIER, make_pair
from .settings import wait_for
from .timing import training_operations

CELLS = ("SST-2", 32), ("SST-2", 64), ("IMDb", 16), ("IMDb", 64), ("IMDb", 128)
REHEARSED_CELLS = ("SST-2", 4), ("IMDb", 4)
RATE = 1e-5
WARM_UP = {"HF": 8, "ours": 40}  # steps: ours meet each size twice before all are captured
PARTS = 3  # of the timed steps: their range
STEPS = 2  # times the steps of a round, in a part
PEERS = "HF", "HF, layers compiled"
OURS = "ours", "ours, compiled"
BARE = "ours, bare loop"


class Clock(TrainerCallback):
    """The time at each end of a part of the timed steps, when the device has ended them."""

    def __init__(self, first: int, steps: int, device: torch.device) -> None:
        self.ends = {first + number * steps: 0.0 for number in range(PARTS + 1)}
        self.steps, self.device = steps, device

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step in self.ends:
            wait_for(self.device.type)
            self.ends[state.global_step] = time.perf_counter()

    def milliseconds(self) -> list[float]:
        return [1e3 * (end - start) / self.steps for start, end in pairwise(self.ends.values())]


def compare_trainers(tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row) of each comparison that is not done."""
    each = CELLS if plan.device.type == "cuda" else REHEARSED_CELLS
    wanted = [(key, *one) for one in each if (key := f"{one[0]} training, {one[1]} texts") not in done]
    if not wanted:
        return
    ours, peer = make_pair(CLASSIFIER, plan.settings)
    for key, data, batch_size in wanted:
        yield key, _row(tokens, plan, ours, peer, data, batch_size)
        free_memory(plan)


def _row(tokens: Tokens, plan: Plan, ours: Any, peer: Any, data: str, batch_size: int) -> Row:
    rows = rows_of(tokens, data, (max(WARM_UP.values()) + 2 * PARTS * plan.steps) * batch_size, plan)
    plain, of_layers = copy.deepcopy(peer), copy.deepcopy(peer)
    for layer in of_layers.bert.encoder.layer:  # as a whole, it takes more than a minute before the first step
        layer.compile(dynamic=True, backend=plan.backend)
    taken = {name: _train(Trainer, model, rows, batch_size, plan) for name, model in zip(PEERS, (plain, of_layers))}
    for name in OURS:
        options = {"captured": True, "compiled": name == OURS[1]}
        taken[name] = _train(CapturedTrainer, copy.deepcopy(ours), rows, batch_size, plan, **options)
    taken[BARE] = _bare(copy.deepcopy(ours), rows, batch_size, plan)
    work = training_operations(plan.settings.shape, list(map(len, rows))) / len(rows) * batch_size
    fastest = min(statistics.median(taken[name]) for name in OURS)
    return cells(taken, taken) | {
        **{f"HF / {name}": ratio(taken, "HF", [name]) for name in OURS},
        "Trainer / bare loop": ratio(taken, OURS[0], [BARE]),
        "TFLOP/s": round(work / fastest / 1e9, 1),
    }


def _train(make: Any, model: Any, rows: Rows, batch_size: int, plan: Plan, **options: Any) -> list[float]:
    """The milliseconds a step of the parts of a training."""
    first = WARM_UP["HF" if make is Trainer else "ours"]
    clock = Clock(first, STEPS * plan.steps, plan.device)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, use_cpu=plan.device.type == "cpu", per_device_train_batch_size=batch_size,
            max_steps=first + PARTS * STEPS * plan.steps, learning_rate=RATE, weight_decay=0.01,
            bf16=plan.dtype is not None, logging_steps=STEPS * plan.steps, save_strategy="no", report_to="none",
        )  # fmt: skip
        dataset = [{"input_ids": text, "label": number % 2} for number, text in enumerate(rows)]
        trainer = make(
            model=model, args=arguments, train_dataset=dataset,
            data_collator=DataCollatorWithPadding(padding_tokenizer(), pad_to_multiple_of=8), callbacks=[clock],
            **options,
        )  # fmt: skip
        trainer.remove_callback(ProgressCallback)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return clock.milliseconds()


def _bare(model: Any, rows: Rows, batch_size: int, plan: Plan) -> list[float]:
    """Milliseconds a captured step over batches that lie ready, of each round."""
    sizes = choose_sizes([len(row) for row in rows], batch_size, SIZES)
    rounds = in_random_order(rows, batch_size, plan.steps, plan.rounds)
    batches = pinned([[fill(packed(texts), sizes, 0) for texts in one] for one in rounds], plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
    step = captured_step(model.train(), optimizer, dtype=plan.dtype)
    return in_turns({BARE: Side(step, batches, is_static=True)}, plan)[BARE]
