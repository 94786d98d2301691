# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Milliseconds of inference and of a generated token on a GPU: Hugging Face's classes as people use them, and ours.

All sides take the same weights, the same texts and bfloat16, in turns.
"""

import copy
import gc
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..fast.captured import captured_forward
from ..fast.static_shapes import choose_sizes, fill
from . import timing
from .data import Rows, in_random_order, on_device, packed, padded, padding_tokenizer
from .gpu_tokens import Tokens
from .models import CLASSIFIER, DECODER, check_logits, make_pair
from .settings import Settings
from .timing import run_rounds

Batch = dict[str, Any]
Step = Callable[[Batch], object]
Row = dict[str, Any]

TEXTS = {"SST-2": ("sst2-train", 128), "IMDb": ("imdb-train", 512)}  # and where texts are cut
SIZES = 3  # static shapes of a comparison
PADDED = partial(padded, padding_tokenizer(), multiple=8)  # the form of the peer's batches
OURS = "ours, eager", "ours, captured", "ours, captured and compiled"


@dataclass(frozen=True)
class Plan:
    """What is measured, and how often: rounds in turns, steps a round."""

    settings: Settings
    batch_sizes: Sequence[int] = (32, 64)
    rounds: int = 3
    steps: int = 8
    new_tokens: int = 64
    backend: str = "inductor"  # of the compiled peer

    @property
    def device(self) -> torch.device:
        return torch.device(self.settings.device)

    @property
    def dtype(self) -> torch.dtype | None:
        return None if self.settings.dtype == "float32" else getattr(torch, self.settings.dtype)


def full_plan() -> Plan:
    return Plan(Settings(device="cuda", dtype="bfloat16"))


def rehearsed_plan() -> Plan:
    return Plan(Settings(quick=True), (4,), rounds=2, steps=2, new_tokens=4, backend="aot_eager")


@dataclass(frozen=True)
class Side:
    """A step and, for each round, the batches that it takes; those of a static side have few shapes."""

    step: Step
    rounds: Sequence[Sequence[Batch]]
    is_static: bool = False


# --- batches ---------------------------------------------------------------------------------------------------------


def rows_of(tokens: Tokens, data: str, count: int, plan: Plan) -> Rows:
    """Random texts as lists of ids; the small vocabulary of a rehearsal takes the rest of each id."""
    name, longest = TEXTS[data]
    texts, shape = tokens.texts[name], plan.settings.shape
    chosen = np.random.default_rng(0).permutation(len(texts))[:count]
    longest = min(longest, shape.max_length)
    return [(texts.text(int(number), longest) % shape.vocab_size).tolist() for number in chosen]


def pinned(rounds: Sequence[Sequence[Batch]], plan: Plan) -> list[list[Batch]]:
    """In memory from which a GPU copies while the host goes on."""
    return [[pin(batch, plan.device) for batch in one] for one in rounds]


def pin(batch: Batch, device: torch.device) -> Batch:
    if device.type != "cuda":
        return batch
    return {name: value.pin_memory() if isinstance(value, Tensor) else value for name, value in batch.items()}


# --- measuring -------------------------------------------------------------------------------------------------------


def in_turns(sides: dict[str, Side], plan: Plan) -> dict[str, list[float]]:
    """Milliseconds a step of each side and round, after each has met its batches; a side without memory is left out."""
    for name in list(sides):
        try:
            _warm_up(sides[name], plan)
        except torch.OutOfMemoryError:
            del sides[name]
            torch.cuda.empty_cache()
    jobs = {name: run_rounds(side.step, side.rounds) for name, side in sides.items()}
    taken = timing.in_turns(jobs, plan.rounds, plan.settings.wait)
    steps = {name: [len(batches) for batches in side.rounds] for name, side in sides.items()}
    return {name: [1e3 * n / count for n, count in zip(taken[name], steps[name])] for name in sides}


def _warm_up(side: Side, plan: Plan) -> None:
    """Every batch once, as its shape may be new, or one of each static shape three times: a graph is captured of it."""
    batches = sorted((batch for one in side.rounds for batch in one), key=_size, reverse=True)  # the largest first
    if side.is_static:
        batches = [batch for batch in {_size(batch): batch for batch in batches}.values() for _ in range(3)]
    for batch in batches:
        side.step(batch)
    plan.settings.wait()


def _size(batch: Batch) -> int:
    return batch["input_ids"].numel()


def cells(taken: Mapping[str, list[float]], names: Iterable[str]) -> Row:
    """Of each side the median, and how much it varied; "no memory" where it was left out."""
    found: Row = {}
    for name in names:
        milliseconds = taken.get(name)
        found[name] = "no memory" if milliseconds is None else round(statistics.median(milliseconds), 3)
        found[f"{name}, range"] = milliseconds and [round(min(milliseconds), 3), round(max(milliseconds), 3)]
    return found


def ratio(taken: dict[str, list[float]], peer: str, ours: Sequence[str]) -> float | None:
    """The median of the peer's milliseconds by that of our fastest way."""
    found = [statistics.median(taken[name]) for name in ours if name in taken]
    return round(statistics.median(taken[peer]) / min(found), 2) if found and peer in taken else None


def free_memory(plan: Plan) -> None:
    """Free what a comparison held: an optimizer and its captured steps name each other."""
    gc.collect()
    if plan.device.type == "cuda":
        torch.cuda.empty_cache()


# --- inference -------------------------------------------------------------------------------------------------------


def compare_inference(tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row) of each comparison that is not done: BERT base on padded texts, ours on packed ones."""
    each = [(size, data) for size in plan.batch_sizes for data in TEXTS]
    wanted = [(key, *one) for one in each if (key := f"{one[1]} inference, {one[0]} texts") not in done]
    if not wanted:
        return
    ours, peer = make_pair(CLASSIFIER, plan.settings)
    first = rows_of(tokens, "SST-2", 16, plan)
    both, own = (on_device(form(first), plan.settings.device) for form in (PADDED, packed))
    check_logits(ours, peer, both, own, plan.settings)
    eager, captured, compiled = OURS
    ways = {"HF": _forward(peer, plan), eager: _forward(ours, plan)}
    ways |= {
        name: captured_forward(copy.deepcopy(ours), dtype=plan.dtype, compiled=name == compiled)
        for name in (captured, compiled)
    }
    for key, batch_size, data in wanted:
        rows = rows_of(tokens, data, batch_size * plan.steps * plan.rounds, plan)
        yield key, _inference(ways, rows, batch_size, plan)
        free_memory(plan)


def _inference(ways: Mapping[str, Step], rows: Rows, batch_size: int, plan: Plan) -> Row:
    sizes = choose_sizes([len(row) for row in rows], batch_size, SIZES)
    rounds = in_random_order(rows, batch_size, plan.steps, plan.rounds)

    def batches(form: Callable[[Any], Batch]) -> list[list[Batch]]:
        made = [[form(texts) for texts in one] for one in rounds]
        return pinned([[{k: batch[k] for k in batch.keys() - {"labels"}} for batch in one] for one in made], plan)

    static = batches(lambda texts: fill(packed(texts), sizes, 0))
    read = {"HF": batches(PADDED), OURS[0]: batches(packed), OURS[1]: static, OURS[2]: static}
    taken = in_turns({name: Side(step, read[name], read[name] is static) for name, step in ways.items()}, plan)
    return cells(taken, read) | {"HF / ours": ratio(taken, "HF", OURS)}


def _forward(model: Any, plan: Plan) -> Step:
    """A forward pass over a batch from the host."""

    @torch.no_grad()
    def forward(batch: Batch) -> None:
        with plan.settings.autocast():
            model(**on_device(batch, plan.settings.device))

    return forward


# --- generation ------------------------------------------------------------------------------------------------------


def compare_generation(tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row): milliseconds a token of greedy search, HF by its default and over a static cache."""
    wanted = [(key, count) for count in (1, 8) if (key := f"GPT-2 greedy, batch {count}") not in done]
    if not wanted:
        return
    ours, peer = (model.to(plan.dtype or torch.float32) for model in make_pair(DECODER, plan.settings))
    generator = torch.Generator().manual_seed(0)
    for key, count in wanted:
        prompts = torch.randint(5, plan.settings.shape.vocab_size, (count, 16), generator=generator).to(plan.device)
        static = _generate(peer, plan.new_tokens, cache_implementation="static")
        ways = {"HF": _generate(peer, plan.new_tokens), "HF, static cache": static}
        ways["ours"] = _generate(ours, plan.new_tokens)
        sides = {name: Side(way, [[{"input_ids": prompts}]] * plan.rounds) for name, way in ways.items()}
        found = in_turns(sides, plan)
        taken = {name: [value / plan.new_tokens for value in values] for name, values in found.items()}
        written = [way({"input_ids": prompts})[:, prompts.shape[1] :] for way in ways.values()]
        same = [round((each == written[0]).float().mean().item(), 3) for each in written[1:]]
        ratios = {f"{name} / ours": ratio(taken, name, ["ours"]) for name in list(ways)[:2]}
        yield key, cells(taken, ways) | ratios | {"tokens as HF's: static, ours": same}


def _generate(model: Any, new_tokens: int, **options: Any) -> Callable[[Batch], Tensor]:
    options |= {"max_new_tokens": new_tokens, "min_new_tokens": new_tokens, "do_sample": False, "pad_token_id": 0}

    def generate(batch: Batch) -> Tensor:
        return model.generate(batch["input_ids"], attention_mask=torch.ones_like(batch["input_ids"]), **options)

    return generate
