# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Milliseconds a step on a GPU: Hugging Face's BERT as people train it, and ours, eager, captured and compiled.

All sides take the same weights, the same texts, bfloat16 autocast, clipping at 1.0 and fused AdamW, in turns.
"""

import copy
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..fast.captured import autocast, captured_forward, captured_step
from ..fast.static_shapes import Size, activation_bytes, choose_sizes, fill
from ..heads import cross_entropy
from .data import grouped_by_length, in_random_order, packed
from .gpu_tokens import Texts, Tokens
from .models import CLASSIFIER, DECODER, MASKED_LM, make_pair, make_peer
from .settings import BASE, QUICK, Settings, Shape
from .timing import training_work

Batch = dict[str, Any]
Step = Callable[[Batch], object]
Row = dict[str, Any]

RATE = 1e-5
TEXTS = {"SST-2": ("sst2-train", 128), "IMDb": ("imdb-train", 512)}  # and where texts are cut
PEER_SIDES = {"random": "HF, random order", "grouped": "HF, grouped by length"}
OUR_SIDES = {"eager": "ours, eager", "captured": "ours, captured", "compiled": "ours, captured and compiled"}
COMPILED_PEER = "HF, layers compiled, random order"
SIZES = 3  # static shapes of a comparison
CHECKED = {None: 1e-4, torch.bfloat16: 5e-2}  # how far the logits of the two sides may differ, of the largest


@dataclass(frozen=True)
class Plan:
    """What is measured, and how often: rounds in turns, steps a round."""

    device: torch.device
    shape: Shape = BASE
    dtype: torch.dtype | None = torch.bfloat16
    batch_sizes: Sequence[int] = (32, 64, 16, 128)
    rounds: int = 3
    steps: int = 8
    new_tokens: int = 64

    @property
    def settings(self) -> Settings:
        quick = {"quick": True} if self.shape is QUICK else {}
        return Settings(device=self.device.type, dtype="float32", **quick)


def rehearsal(device: torch.device) -> Plan:
    return Plan(device, QUICK, None, (4, 8), rounds=2, steps=2, new_tokens=4)


@dataclass(frozen=True)
class Side:
    """A step and, for each round, the batches that it takes."""

    step: Step
    rounds: Sequence[Sequence[Batch]]
    is_static: bool = False


# --- batches ---------------------------------------------------------------------------------------------------------


def of_data(tokens: Tokens, data: str) -> tuple[Texts, int]:
    name, longest = TEXTS[data]
    return tokens.texts[name], longest


def rows_of(texts: Texts, longest: int, count: int, shape: Shape) -> list[list[int]]:
    """Random texts as lists of ids; a small vocabulary of a rehearsal takes the rest of each id."""
    longest, random = min(longest, shape.max_length), np.random.default_rng(0)
    chosen = random.permutation(len(texts))[:count]
    return [(texts.text(int(number), longest) % shape.vocab_size).tolist() for number in chosen]


def padded(rows: Sequence[Sequence[int]]) -> Batch:
    """As DataCollatorWithPadding does: to the longest text, the width a multiple of 8."""
    width = -(-max(map(len, rows)) // 8) * 8
    ids, mask = torch.zeros(len(rows), width, dtype=torch.long), torch.zeros(len(rows), width, dtype=torch.long)
    for row, text in enumerate(rows):
        ids[row, : len(text)], mask[row, : len(text)] = torch.tensor(text), 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.arange(len(rows)) % 2}


def pinned(batch: Batch, device: torch.device) -> Batch:
    """In memory from which a GPU copies while the host goes on."""
    if device.type != "cuda":
        return batch
    return {name: value.pin_memory() if isinstance(value, Tensor) else value for name, value in batch.items()}


def to_device(batch: Batch, device: torch.device) -> Batch:
    return {
        name: value.to(device, non_blocking=True) if isinstance(value, Tensor) else value
        for name, value in batch.items()
    }


# --- sides -----------------------------------------------------------------------------------------------------------


def plain_step(model: Any, plan: Plan) -> Step:
    """A training step as in Trainer, without its overhead."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, fused=True)

    def step(batch: Batch) -> None:
        with _mixed(plan):
            loss = model(**to_device(batch, plan.device)).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def plain_forward(model: Any, plan: Plan) -> Step:
    @torch.no_grad()
    def forward(batch: Batch) -> None:
        with _mixed(plan):
            model(**to_device(batch, plan.device))

    return forward


def _mixed(plan: Plan) -> Any:
    return torch.autocast(plan.device.type, dtype=plan.dtype, enabled=plan.dtype is not None)


def our_steps(models: dict[str, Any], plan: Plan, trains: bool) -> dict[str, Step]:
    """The three ways of ours, each with a model of its own."""
    if not trains:
        ways: dict[str, Step] = {"eager": plain_forward(models["eager"], plan)}
        for way in ("captured", "compiled"):
            ways[way] = captured_forward(models[way], dtype=plan.dtype, compiled=way == "compiled")
        return ways
    ways = {"eager": plain_step(models["eager"], plan)}
    for way in ("captured", "compiled"):
        optimizer = torch.optim.AdamW(models[way].parameters(), lr=RATE, fused=True)
        ways[way] = captured_step(models[way], optimizer, dtype=plan.dtype, compiled=way == "compiled")
    return ways


# --- measuring -------------------------------------------------------------------------------------------------------


def in_turns(sides: dict[str, Side], plan: Plan) -> dict[str, list[float]]:
    """Milliseconds a step of each side and round, after each has met its batches; a side without memory is left out."""
    for name in list(sides):
        try:
            _warm_up(sides[name], plan)
        except torch.OutOfMemoryError:
            del sides[name]
            torch.cuda.empty_cache()
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(plan.rounds):
        for name, side in sides.items():
            _wait(plan)
            start = time.perf_counter()
            for batch in side.rounds[number]:
                side.step(batch)
            _wait(plan)
            taken[name].append(1e3 * (time.perf_counter() - start) / len(side.rounds[number]))
    return taken


def _warm_up(side: Side, plan: Plan) -> None:
    """Every batch once, as its shape may be new, or one of each static shape three times: a graph is captured of it."""
    batches = sorted((batch for one in side.rounds for batch in one), key=_tokens, reverse=True)  # the largest first
    if side.is_static:
        batches = [batch for batch in {_tokens(batch): batch for batch in batches}.values() for _ in range(3)]
    for batch in batches:
        side.step(batch)
    _wait(plan)


def _tokens(batch: Batch) -> int:
    return batch["input_ids"].numel()


def _wait(plan: Plan) -> None:
    if plan.device.type == "cuda":
        torch.cuda.synchronize()


def _release(plan: Plan) -> None:
    if plan.device.type == "cuda":
        torch.cuda.empty_cache()


def cells(taken: dict[str, list[float]], names: dict[str, str]) -> dict[str, Any]:
    """Of each side the median, and how much it varied; "no memory" where it was left out."""
    found: dict[str, Any] = {}
    for name, shown in names.items():
        milliseconds = taken.get(name)
        found[shown] = "no memory" if milliseconds is None else round(statistics.median(milliseconds), 3)
        found[f"{shown}, range"] = milliseconds and [round(min(milliseconds), 3), round(max(milliseconds), 3)]
    return found


# --- the comparisons -------------------------------------------------------------------------------------------------


def comparisons(plan: Plan) -> list[tuple[str, str, int]]:
    """(what, data, batch size), those of most worth first."""
    return [(what, data, size) for size in plan.batch_sizes for what in ("training", "inference") for data in TEXTS]


def compare_classifiers(tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row) of each comparison that is not done: BERT base on padded texts, ours on packed ones."""
    wanted = [each for each in comparisons(plan) if _key(*each) not in done]
    if not wanted:
        return
    ours, peer = make_pair(CLASSIFIER, plan.settings)
    models = {"eager": ours, "captured": copy.deepcopy(ours), "compiled": copy.deepcopy(ours)}
    check_same(ours, peer, rows_of(*of_data(tokens, "SST-2"), 16, plan.shape), plan)
    for what, data, batch_size in wanted:
        rows = rows_of(*of_data(tokens, data), 50 * batch_size * plan.rounds, plan.shape)
        yield _key(what, data, batch_size), _comparison(models, peer, rows, what, batch_size, plan)
        _release(plan)


def _key(what: str, data: str, batch_size: int) -> str:
    return f"{data} {what}, {batch_size} texts"


def _comparison(
    models: dict[str, Any], peer: Any, rows: list[list[int]], what: str, batch_size: int, plan: Plan
) -> Row:
    trains = what == "training"
    for model in (*models.values(), peer):
        model.train(trains)
    lengths = [len(row) for row in rows]
    sizes = choose_sizes(lengths, batch_size, SIZES)
    drawn = batch_size, plan.steps, plan.rounds, 0
    random, grouped = in_random_order(rows, *drawn), grouped_by_length(rows, *drawn)

    def prepared(rounds: Any, form: Callable[[Any], Batch]) -> list[list[Batch]]:
        batches = [[form(texts) for texts in one] for one in rounds]
        return [[pinned(_without_labels(each, trains), plan.device) for each in one] for one in batches]

    static = prepared(random, lambda texts: fill(packed(texts), sizes, 0))
    flat = prepared(random, packed)
    peer_step = (plain_step if trains else plain_forward)(peer, plan)
    sides = {name: Side(peer_step, prepared(each, padded)) for name, each in (("random", random), ("grouped", grouped))}
    ways = our_steps(models, plan, trains)
    sides["eager"] = Side(ways["eager"], flat)
    sides |= {way: Side(ways[way], static, is_static=True) for way in ("captured", "compiled")}
    taken = in_turns(sides, plan)
    row = cells(taken, PEER_SIDES | OUR_SIDES)
    best = min((statistics.median(found) for name, found in taken.items() if name in OUR_SIDES), default=None)
    seen = [len(text) for one in random for texts in one for text in texts]
    batches = plan.rounds * plan.steps
    if best is not None:
        work = training_work(plan.shape, seen, texts_read=True).needed * (1 if trains else 1 / 3)
        row["TFLOP/s of the best"] = round(work / batches / best / 1e9, 1)
        row["ratio"] = round(statistics.median(taken["random"]) / best, 2) if "random" in taken else None
    row |= {"tokens a step": round(sum(seen) / batches), "static sizes": [size.tokens for size in sizes]}
    if trains:
        row["GB of activations, estimated"] = _estimated(models["eager"], random[0][0], sizes, plan)
    return row


def _without_labels(batch: Batch, trains: bool) -> Batch:
    return batch if trains else {name: value for name, value in batch.items() if name != "labels"}


@torch.no_grad()
def check_same(ours: Any, peer: Any, rows: list[list[int]], plan: Plan) -> None:
    """Raise ValueError where the two sides are not the same model."""
    with _mixed(plan):
        found = ours.eval()(**to_device(packed(rows), plan.device)).logits.float()
        expected = peer.eval()(**to_device(padded(rows), plan.device)).logits.float()
    difference = float((found - expected).abs().max() / expected.abs().max())
    if not difference <= CHECKED[plan.dtype]:
        raise ValueError(f"the logits of the two sides differ by {difference:.2g} of the largest; not timed")


def _estimated(model: Any, rows: Any, sizes: Sequence[Size], plan: Plan) -> list[float]:
    """GB of activations of a step of each size, from what one batch keeps."""
    batch = to_device(packed(rows), plan.device)

    def loss() -> Tensor:
        with autocast(plan.device, plan.dtype):
            return model(**batch).loss

    a_token = activation_bytes(loss, list(model.parameters())) / batch["input_ids"].numel()
    return [round(a_token * size.tokens / 1e9, 2) for size in sizes]


# --- masked words ----------------------------------------------------------------------------------------------------


def full_rows(tokens: Tokens, plan: Plan, rows: int, fraction: float) -> list[list[Batch]]:
    """Rows of max_length, one after another as packed texts are, with a constant number of masked words."""
    length, random = plan.shape.max_length, np.random.default_rng(1)
    ids, size = tokens.texts["imdb-unlabelled"].ids, rows * length
    ends = torch.arange(0, size + 1, length, dtype=torch.int32)
    constant = {
        "position_ids": torch.arange(length).repeat(rows)[None],
        "cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": length, "max_length_k": length,
    }  # fmt: skip
    batches = []
    for number in range(plan.rounds * plan.steps):
        start = number * size % (len(ids) - size)
        read = torch.from_numpy((ids[start : start + size] % plan.shape.vocab_size).astype(np.int64))
        indices = torch.from_numpy(np.sort(random.choice(size, round(fraction * size), replace=False)))
        shown = read.index_fill(0, indices, tokens.special[1])[None]
        batches.append({"input_ids": shown, **constant, "indices": indices, "targets": read[indices]})
    return [batches[number * plan.steps : (number + 1) * plan.steps] for number in range(plan.rounds)]


def masked_loss(model: Any, batch: Batch) -> Tensor:
    """The loss of the book's masked-language-model head, given where the targets stand."""
    read = {name: value for name, value in batch.items() if name not in ("indices", "targets")}
    hidden_states = model.model(**read).last_hidden_state.flatten(0, 1)
    return cross_entropy(model.lm_head(hidden_states.index_select(0, batch["indices"])), batch["targets"])


def compare_masked(tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row): masked words in full rows, where only the targets need logits."""
    rows = 32 if plan.shape is BASE else 4
    key = f"masked words, {rows} rows of {plan.shape.max_length}"
    if key in done:
        return
    ours, peer = make_pair(MASKED_LM, plan.settings, sparse_prediction=True)
    models = {"eager": ours, "captured": copy.deepcopy(ours), "compiled": copy.deepcopy(ours)}
    for model in (*models.values(), peer):
        model.train()
    static = full_rows(tokens, plan, rows, 0.15)
    labelled = [[pinned(_with_labels(batch, rows), plan.device) for batch in one] for one in static]
    static = [[pinned(batch, plan.device) for batch in one] for one in static]
    sides = {"random": Side(plain_step(peer, plan), labelled), "eager": Side(plain_step(ours, plan), labelled)}
    for way in ("captured", "compiled"):
        optimizer = torch.optim.AdamW(models[way].parameters(), lr=RATE, fused=True)
        step = captured_step(models[way], optimizer, loss=masked_loss, dtype=plan.dtype, compiled=way == "compiled")
        sides[way] = Side(step, static, is_static=True)
    taken = in_turns(sides, plan)
    row = cells(taken, {"random": PEER_SIDES["random"]} | OUR_SIDES)
    row["ratio"] = round(statistics.median(taken["random"]) / min(map(statistics.median, taken.values())), 2)
    yield key, row | {"tokens a step": rows * plan.shape.max_length}


def _with_labels(batch: Batch, rows: int) -> Batch:
    """The same rows as a padded batch with labels, as Hugging Face's collator makes it."""
    labels = torch.full_like(batch["input_ids"][0], -100)
    labels[batch["indices"]] = batch["targets"]
    return {"input_ids": batch["input_ids"].view(rows, -1), "labels": labels.view(rows, -1)}


# --- the peer, compiled ----------------------------------------------------------------------------------------------


def compare_compiled_peer(tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row) of Hugging Face's class, each layer under torch.compile, once for all widths of a batch.

    Compiled as a whole, it takes more than a minute before the first step.
    """
    peer = make_peer(CLASSIFIER, plan.settings).train()
    for layer in peer.bert.encoder.layer:
        layer.compile(dynamic=True)
    step = plain_step(peer, plan)
    for data, batch_size in [(data, size) for size in plan.batch_sizes for data in TEXTS]:
        key = _key("training", data, batch_size)
        if key in done:
            continue
        rows = rows_of(*of_data(tokens, data), batch_size * plan.steps * plan.rounds, plan.shape)
        rounds = in_random_order(rows, batch_size, plan.steps, plan.rounds, 0)
        batches = [[pinned(padded(texts), plan.device) for texts in one] for one in rounds]
        start = time.perf_counter()
        taken = in_turns({"compiled": Side(step, batches)}, plan)
        row = cells(taken, {"compiled": COMPILED_PEER})
        spent = sum(map(sum, taken.values())) * plan.steps / 1e3
        yield key, row | {"seconds of compilation and warm-up": round(time.perf_counter() - start - spent, 1)}
        _release(plan)


# --- generation ------------------------------------------------------------------------------------------------------


def compare_generation(tokens: Tokens, plan: Plan, done: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield (key, row): milliseconds a token of greedy search, by each side's default and over a static cache."""
    wanted = [(count, cache) for cache in ("default", "static") for count in (1, 8)]
    wanted = [each for each in wanted if _generation_key(*each) not in done]
    if not wanted:
        return
    ours, peer = make_pair(DECODER, plan.settings)
    if plan.dtype is not None:
        ours, peer = ours.to(plan.dtype), peer.to(plan.dtype)
    for count, cache in wanted:
        prompts = torch.randint(5, plan.shape.vocab_size, (count, 16), generator=torch.Generator().manual_seed(0))
        options: Any = {"cache_implementation": "static"} if cache == "static" else {}
        options |= {"max_new_tokens": plan.new_tokens, "min_new_tokens": plan.new_tokens, "do_sample": False}
        sides = {
            name: Side(_generator(model, options), [[{"input_ids": prompts.to(plan.device)}]] * plan.rounds)
            for name, model in (("random", peer), ("eager", ours))
        }
        taken = {name: [each / plan.new_tokens for each in found] for name, found in in_turns(sides, plan).items()}
        row = cells(taken, {"random": "HF", "eager": "ours"})
        row["ratio"] = round(statistics.median(taken["random"]) / statistics.median(taken["eager"]), 2)
        yield _generation_key(count, cache), row


def _generation_key(count: int, cache: str) -> str:
    return f"GPT-2 greedy, batch {count}, {cache} cache"


def _generator(model: Any, options: dict[str, Any]) -> Step:
    mask = torch.ones_like

    def generate(batch: Batch) -> None:
        ids = batch["input_ids"]
        model.generate(ids, attention_mask=mask(ids), pad_token_id=0, **options)

    return generate
