# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Milliseconds of a step of `Trainer.train()`, of inference and of a token on a GPU: Hugging Face's classes, and ours.

All sides take the same weights, the same texts and bfloat16. Of a step of Trainer, everything is timed: batches from
the loader, collation, copies, passes, clipping, the update, callbacks. The bare loop of captured steps over batches
that lie ready tells what Trainer adds.
"""

import copy
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import (
    DataCollatorWithPadding,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from ..fast.captured import captured_forward, captured_step
from ..fast.static_shapes import choose_sizes, fill
from ..run import captured_trainer
from . import timing
from .data import Batch, Rows, in_random_order, on_device, packed, padded, padding_tokenizer
from .gpu_tokens import Tokens
from .models import CLASSIFIER, DECODER, check_logits, make_pair
from .settings import Settings
from .timing import training_operations

Row = dict[str, Any]
Rounds = Sequence[Sequence[Batch]]
Taken = dict[str, list[float]]  # milliseconds of each side, in its rounds or parts

TEXTS = {"SST-2": ("sst2-train", 128), "IMDb": ("imdb-train", 512)}  # and where texts are cut
SIZES = 3  # static shapes of inference
PADDED = partial(padded, padding_tokenizer(), multiple=8)  # the form of the peer's batches
RATE = 1e-5
WARM_UP = {"HF": 8, "ours": 40}  # steps: ours meet each size twice before all are captured
PARTS = 3  # of the timed steps: their range
STEPS = 2  # times the steps of a round, in a part


@dataclass(frozen=True)
class Plan:
    """What is measured, and how often: rounds in turns, steps a round."""

    settings: Settings
    trainings: Sequence[tuple[str, int]] = (("SST-2", 32), ("SST-2", 64), ("IMDb", 16), ("IMDb", 64), ("IMDb", 128))
    batch_sizes: Sequence[int] = (32, 64)  # of inference
    rounds: int = 3
    steps: int = 8
    new_tokens: int = 64
    backend: str = "inductor"  # of the compiled peer

    @property
    def device(self) -> str:
        return self.settings.device

    @property
    def dtype(self) -> torch.dtype | None:
        return None if self.settings.dtype == "float32" else getattr(torch, self.settings.dtype)


FULL = Plan(Settings(device="cuda", dtype="bfloat16"))
REHEARSED = Plan(Settings(quick=True), (("SST-2", 4), ("IMDb", 4)), (4,), 2, 2, 4, "aot_eager")


def rows_of(tokens: Tokens, data: str, count: int, plan: Plan) -> Rows:
    """Random texts as lists of ids; the small vocabulary of a rehearsal takes the rest of each id."""
    name, longest = TEXTS[data]
    texts, shape = tokens.texts[name], plan.settings.shape
    chosen = np.random.default_rng(0).permutation(len(texts))[:count]
    longest = min(longest, shape.max_length)
    return [(texts.text(int(number), longest) % shape.vocab_size).tolist() for number in chosen]


def pin(batch: Batch, device: str, left_out: str = "") -> Batch:
    """In memory from which a GPU copies while the host goes on."""
    kept = {name: value for name, value in batch.items() if name != left_out}
    if device == "cpu":
        return kept
    return {name: value.pin_memory() if isinstance(value, Tensor) else value for name, value in kept.items()}


def batches_of(rows: Rows, size: int, form: Callable[[Rows], Batch], plan: Plan, left_out: str = "") -> Rounds:
    rounds = in_random_order(rows, size, plan.steps, plan.rounds)
    return [[pin(form(texts), plan.device, left_out) for texts in one] for one in rounds]


def in_turns(sides: Mapping[str, tuple[Callable[[Batch], object], Rounds]], plan: Plan) -> Taken:
    """Milliseconds a step of each side and round.

    Each side first takes a batch of each shape three times, the largest shape first: a graph may be captured of it.
    """
    for step, rounds in sides.values():
        of_sizes = {batch["input_ids"].numel(): batch for one in rounds for batch in one}
        for size in sorted(of_sizes, reverse=True):
            for _ in range(3):
                step(of_sizes[size])
        plan.settings.wait()
    taken = timing.in_turns(sides, plan.settings.wait)
    return {
        name: [1e3 * seconds / len(one) for seconds, one in zip(taken[name], rounds)]
        for name, (_, rounds) in sides.items()
    }


def cells(taken: Taken) -> Row:
    """Of each side the median, and how much it varied."""
    found: Row = {}
    for name, values in taken.items():
        found[name] = round(statistics.median(values), 3)
        found[f"{name}, range"] = [round(min(values), 3), round(max(values), 3)]
    return found


def ratio(taken: Taken, peer: str, *ours: str) -> float:
    """The median of the peer's milliseconds by that of our fastest way."""
    return round(statistics.median(taken[peer]) / min(statistics.median(taken[name]) for name in ours), 2)


# --- training --------------------------------------------------------------------------------------------------------


class Clock(TrainerCallback):
    """The time at each end of a part of the timed steps, when the device has ended them."""

    def __init__(self, first: int, steps: int, plan: Plan) -> None:
        self.ends = {first + number * steps: 0.0 for number in range(PARTS + 1)}
        self.steps, self.plan = steps, plan

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step in self.ends:
            self.plan.settings.wait()
            self.ends[state.global_step] = time.perf_counter()

    def milliseconds(self) -> list[float]:
        return [1e3 * (end - start) / self.steps for start, end in pairwise(self.ends.values())]


def training(tokens: Tokens, plan: Plan) -> Callable[..., Row]:
    """How a training is measured: Hugging Face's BERT by Trainer, with its layers compiled, too, and ours."""
    ours, peer = make_pair(CLASSIFIER, plan.settings)

    def measure(data: str, batch_size: int) -> Row:
        rows = rows_of(tokens, data, (max(WARM_UP.values()) + 2 * PARTS * plan.steps) * batch_size, plan)
        plain, of_layers = copy.deepcopy(peer), copy.deepcopy(peer)
        for layer in of_layers.bert.encoder.layer:  # as a whole, it takes more than a minute before the first step
            layer.compile(dynamic=True, backend=plan.backend)
        taken = {
            "HF": _train(Trainer, plain, rows, batch_size, plan),
            "HF, layers compiled": _train(Trainer, of_layers, rows, batch_size, plan),
        }
        for name, compiled in (("ours", False), ("ours, compiled", True)):
            make = partial(captured_trainer.CapturedTrainer, captured=True, compiled=compiled)
            taken[name] = _train(make, copy.deepcopy(ours), rows, batch_size, plan)
        taken["ours, bare loop"] = _bare_loop(copy.deepcopy(ours), rows, batch_size, plan)
        work = training_operations(plan.settings.shape, list(map(len, rows))) / len(rows) * batch_size
        fastest = min(statistics.median(taken[name]) for name in ("ours", "ours, compiled"))
        return cells(taken) | {
            **{f"HF / {name}": ratio(taken, "HF", name) for name in ("ours", "ours, compiled")},
            "Trainer / bare loop": ratio(taken, "ours", "ours, bare loop"),
            "TFLOP/s": round(work / fastest / 1e9, 1),
        }

    return measure


def _train(make: Callable[..., Trainer], model: Any, rows: Rows, batch_size: int, plan: Plan) -> list[float]:
    """The milliseconds a step of the parts of a training."""
    first, steps = WARM_UP["HF" if make is Trainer else "ours"], STEPS * plan.steps
    clock = Clock(first, steps, plan)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, use_cpu=plan.device == "cpu", per_device_train_batch_size=batch_size,
            max_steps=first + PARTS * steps, learning_rate=RATE, weight_decay=0.01, bf16=plan.dtype is not None,
            logging_steps=steps, save_strategy="no", report_to="none",
        )  # fmt: skip
        dataset: Any = [{"input_ids": text, "label": number % 2} for number, text in enumerate(rows)]
        collator = DataCollatorWithPadding(padding_tokenizer(), pad_to_multiple_of=8)
        trainer = make(model=model, args=arguments, train_dataset=dataset, data_collator=collator, callbacks=[clock])
        trainer.remove_callback(ProgressCallback)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return clock.milliseconds()


def _bare_loop(model: Any, rows: Rows, batch_size: int, plan: Plan) -> list[float]:
    """Milliseconds a captured step over batches that lie ready, of each round."""
    sizes = choose_sizes([len(row) for row in rows], batch_size, captured_trainer.SIZES)
    batches = batches_of(rows, batch_size, lambda texts: fill(packed(texts), sizes, 0), plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)
    return in_turns({"": (captured_step(model.train(), optimizer, dtype=plan.dtype), batches)}, plan)[""]


# --- inference -------------------------------------------------------------------------------------------------------


def inference(tokens: Tokens, plan: Plan) -> Callable[..., Row]:
    """How inference is measured: BERT base on padded texts, ours on packed ones."""
    ours, peer = make_pair(CLASSIFIER, plan.settings)
    first = rows_of(tokens, "SST-2", 16, plan)
    batch, own = (on_device(form(first), plan.device) for form in (PADDED, packed))
    check_logits(ours, peer, batch, own, plan.settings)
    steps = {"HF": _forward(peer, plan), "ours, eager": _forward(ours, plan)}
    for name, compiled in (("ours, captured", False), ("ours, captured and compiled", True)):
        steps[name] = captured_forward(copy.deepcopy(ours), dtype=plan.dtype, compiled=compiled)

    def measure(data: str, batch_size: int) -> Row:
        rows = rows_of(tokens, data, batch_size * plan.steps * plan.rounds, plan)
        sizes = choose_sizes([len(row) for row in rows], batch_size, SIZES)

        def static(texts: Rows) -> Batch:
            return fill(packed(texts), sizes, 0)

        forms = PADDED, packed, static, static
        batches = [batches_of(rows, batch_size, form, plan, left_out="labels") for form in forms]
        taken = in_turns(dict(zip(steps, zip(steps.values(), batches))), plan)
        return cells(taken) | {"HF / ours": ratio(taken, *steps)}

    return measure


def _forward(model: Any, plan: Plan) -> Callable[[Batch], object]:
    """A forward pass over a batch from the host."""

    @torch.no_grad()
    def forward(batch: Batch) -> None:
        with plan.settings.autocast():
            model(**on_device(batch, plan.device))

    return forward


# --- generation ------------------------------------------------------------------------------------------------------


def generation(tokens: Tokens, plan: Plan) -> Callable[..., Row]:
    """How greedy search is measured: milliseconds a token, HF by its default and over a static cache."""
    ours, peer = (model.to(plan.dtype or torch.float32) for model in make_pair(DECODER, plan.settings))
    ways = {
        "HF": _generate(peer, plan.new_tokens),
        "HF, static cache": _generate(peer, plan.new_tokens, cache_implementation="static"),
        "ours": _generate(ours, plan.new_tokens),
    }

    def measure(count: int) -> Row:
        random = torch.Generator().manual_seed(count)
        batch = {"input_ids": torch.randint(5, plan.settings.shape.vocab_size, (count, 16), generator=random)}
        batch = on_device(batch, plan.device)
        found = in_turns({name: (way, [[batch]] * plan.rounds) for name, way in ways.items()}, plan)
        taken = {name: [value / plan.new_tokens for value in values] for name, values in found.items()}
        written = [way(batch)[:, 16:] for way in ways.values()]
        same = [round((each == written[0]).float().mean().item(), 3) for each in written[1:]]
        ratios = {f"{name} / ours": ratio(taken, name, "ours") for name in ("HF", "HF, static cache")}
        return cells(taken) | ratios | {"tokens as HF's: static, ours": same}

    return measure


def _generate(model: Any, new_tokens: int, **options: Any) -> Callable[[Batch], Tensor]:
    options |= {"max_new_tokens": new_tokens, "min_new_tokens": new_tokens, "do_sample": False, "pad_token_id": 0}

    def generate(batch: Batch) -> Tensor:
        return model.generate(batch["input_ids"], attention_mask=torch.ones_like(batch["input_ids"]), **options)

    return generate


# --- all of them -----------------------------------------------------------------------------------------------------


# Of each part: how its cases are measured, and the cases by the keys of their rows.
Cases = Callable[[Plan], Mapping[str, tuple[Any, ...]]]
COMPARISONS: dict[str, tuple[Callable[[Tokens, Plan], Callable[..., Row]], Cases]] = {
    "trainer": (training, lambda plan: {f"{data} training, {n} texts": (data, n) for data, n in plan.trainings}),
    "inference": (
        inference,
        lambda plan: {f"{data} inference, {n} texts": (data, n) for n in plan.batch_sizes for data in TEXTS},
    ),
    "generation": (generation, lambda _: {f"GPT-2 greedy, batch {n}": (n,) for n in (1, 8)}),
}


def compare(part: str, tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row) of each case of a part that is not done."""
    prepare, cases = COMPARISONS[part]
    if missing := {key: case for key, case in cases(plan).items() if key not in done}:
        measure = prepare(tokens, plan)
        for key, case in missing.items():
            yield key, measure(*case)
            gc.collect()  # an optimizer and its captured steps name each other
            if plan.device != "cpu":
                torch.cuda.empty_cache()
