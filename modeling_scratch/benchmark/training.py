# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training workloads: time and memory of classifiers (SST-2, IMDb), masked language models and translation models."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from ..utils.errors import DataError
from .data import (
    Batch,
    Rows,
    draw_texts,
    full_rows,
    grouped_by_length,
    in_random_order,
    masked,
    on_device,
    packed,
    padded,
    train_tokenizer,
    translated,
)
from .models import CLASSIFIER, MASKED_LM, TRANSLATOR, check_logits, make_ours, make_pair, make_peer, training_step
from .settings import Settings
from .timing import Side, measure, run_rounds

# Texts per batch, and batches per round.
BATCHES = {"sst2": (64, 8), "imdb": (16, 4), "multi30k": (64, 4), "mlm": (8, 2)}
MEMORY_STEPS = 4


def batches_of(name: str, settings: Settings) -> tuple[int, int]:
    """Texts per batch, and batches per round."""
    size, steps = BATCHES[name]
    return settings.batch_size or size, settings.few(steps)


def read_rows(settings: Settings, name: str, batches: int) -> tuple[PreTrainedTokenizerBase, Rows, str]:
    """A tokenizer, tokenised texts and their origin."""
    texts, source = draw_texts(settings, name, batches * batches_of(name, settings)[0])
    tokenizer = train_tokenizer(settings, texts)
    return tokenizer, tokenizer(texts, truncation=True)["input_ids"], source


def train(name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare on random batches, then with the peer's batches grouped by length, then both grouped."""
    size, steps = batches_of(name, settings)
    drawn = steps, settings.rounds
    tokenizer, rows, source = read_rows(settings, name, max(steps * settings.rounds, settings.few(64)))
    ours, peer = make_pair(CLASSIFIER, settings)
    random, grouped = in_random_order(rows, size, *drawn), grouped_by_length(rows, size, *drawn)
    first, own_first = (form(tokenizer, random[0][0], settings) for form in (_padded, _own))
    agreement = check_logits(ours, peer, first, own_first, settings)
    our_step, peer_step = training_step(ours, settings), training_step(peer, settings)
    for setting, own, theirs in (
        ("both in random order", random, random),
        ("the peer's grouped by length, ours in random order", random, grouped),
        ("both grouped by length", grouped, grouped),
    ):
        own_batches = [[_own(tokenizer, batch, settings) for batch in batches] for batches in own]
        their_batches = [[_padded(tokenizer, batch, settings) for batch in batches] for batches in theirs]
        sides = _side(our_step, own_batches, own), _side(peer_step, their_batches, theirs)
        where = f"batch {size}, {source}, {setting}"
        yield measure(settings, f"train-{name}", where, *sides, agreement)


def mlm(settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare masked language modelling on rows without padding, where only sparse prediction saves work."""
    size, steps = batches_of("mlm", settings)
    needed = size * steps * settings.rounds
    texts, source = draw_texts(settings, "imdb", 3 * needed)
    tokenizer = train_tokenizer(settings, texts)
    ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    rounds = in_random_order(full_rows(ids, settings.shape.max_length), size, steps, settings.rounds)
    batches = [[on_device(masked(tokenizer, batch), settings.device) for batch in one] for one in rounds]
    ours, peer = make_pair(MASKED_LM, settings, sparse_prediction=True)  # as in pretraining
    agreement = check_logits(ours, peer, batches[0][0], batches[0][0], settings)
    own, theirs = (_side(training_step(model, settings), batches, rounds) for model in (ours, peer))
    setting = f"batch {size}, {source} in full rows of {settings.shape.max_length}"
    yield measure(settings, "mlm", setting, own, theirs, agreement)


def train_translator(settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare translation training on sentences as their own targets, in random order."""
    size, steps = batches_of("multi30k", settings)
    tokenizer, rows, source = read_rows(settings, "multi30k", steps * settings.rounds)
    rounds = in_random_order(rows, size, steps, settings.rounds)
    batches = [[on_device(translated(tokenizer, batch), settings.device) for batch in one] for one in rounds]
    ours, peer = make_pair(TRANSLATOR, settings, sparse_prediction=True)  # as in translation training
    agreement = check_logits(ours, peer, batches[0][0], batches[0][0], settings)
    read = [[[*rows, *rows] for rows in each] for each in rounds]  # sources and targets
    own, theirs = (_side(training_step(model, settings), batches, read) for model in (ours, peer))
    yield measure(settings, "train-marian", f"batch {size}, {source}, to itself", own, theirs, agreement)


def memory(settings: Settings) -> Iterator[dict[str, Any]]:
    """Measure the peak memory of training steps above the idle model, in fresh processes."""
    for name in ("sst2", "imdb"):
        size, steps = batches_of(name, settings)[0], settings.few(MEMORY_STEPS)
        tokenizer, rows, source = read_rows(settings, name, settings.few(64))
        (batches,) = in_random_order(rows, size, steps, 1)
        ours = peak_memory("ours", settings, [_own(tokenizer, batch, settings) for batch in batches])
        peer = peak_memory("peer", settings, [_padded(tokenizer, batch, settings) for batch in batches])
        where = f"training, batch {size}, {source}, both in random order"
        row = {"workload": "memory", "setting": where, "unit": "MiB"}
        yield row | {"ours": ours, "peer": peer, "ratio": ours / peer, "ratio_range": [ours / peer] * 2}


def _padded(tokenizer: PreTrainedTokenizerBase, rows: Rows, settings: Settings) -> Batch:
    return on_device(padded(tokenizer, rows), settings.device)


def _own(tokenizer: PreTrainedTokenizerBase, rows: Rows, settings: Settings) -> Batch:
    """Return our batches: padded on a CPU, where the model packs internally; packed on an accelerator."""
    return _padded(tokenizer, rows, settings) if settings.device == "cpu" else on_device(packed(rows), settings.device)


def _lengths(batches: Sequence[Rows]) -> list[int]:
    return [len(ids) for rows in batches for ids in rows]


def _side(step: Callable[[Batch], None], batches: Sequence[Sequence[Batch]], rounds: Sequence[Sequence[Rows]]) -> Side:
    """The training steps on the batches of each round, and their numbers of real tokens."""
    return Side(run_rounds(step, batches), [float(sum(_lengths(each))) for each in rounds])


STATUS = Path("/proc/self/status")


def peak_memory(side: str, settings: Settings, batches: Sequence[Batch]) -> float:
    """MiB of gradients, the optimiser's states and what steps hold in between.

    On a CPU that is the memory of the process, which Linux alone tells without what a process inherits of its parent's
    peak, as ru_maxrss does; raises DataError elsewhere.
    """
    if settings.device == "cpu" and not STATUS.is_file():
        raise DataError(f"memory: requires {STATUS}, which this system lacks; skip this workload")
    batches = [on_device(batch, "cpu") for batch in batches]
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        return fresh.submit(_growth, side, settings, batches, torch.get_num_threads()).result()


def _growth(side: str, settings: Settings, batches: Sequence[Batch], threads: int) -> float:
    torch.set_num_threads(threads)
    step = training_step((make_ours if side == "ours" else make_peer)(CLASSIFIER, settings), settings)
    before = _memory(settings, "VmRSS")
    for batch in batches:
        step(on_device(batch, settings.device))
    return _memory(settings, "VmHWM") - before


def _memory(settings: Settings, name: str) -> float:
    """Return this process's memory in MiB: current (VmRSS) or peak (VmHWM)."""
    if settings.device != "cpu":
        count = torch.cuda.memory_allocated if name == "VmRSS" else torch.cuda.max_memory_allocated
        return count() / 2**20
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 2**10
