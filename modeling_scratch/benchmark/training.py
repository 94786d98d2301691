# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training workloads: classifiers (SST-2, IMDb), masked language models and translation models."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from transformers import PreTrainedTokenizerBase

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
from .models import CLASSIFIER, MASKED_LM, TRANSLATOR, Kind, check_logits, make_pair, training_step
from .settings import Settings
from .timing import Side, measure, run_rounds

# Texts per batch, and batches per round.
BATCHES = {"sst2": (64, 8), "imdb": (16, 4), "multi30k": (64, 4), "mlm": (8, 2)}

Form = Callable[[Rows], Batch]
Rounds = Sequence[Sequence[Rows]]


def train(name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare on random batches, then with the peer's batches grouped by length, then both grouped.

    Ours are padded on a CPU, where the model packs internally, and packed on an accelerator.
    """
    size, steps = batches_of(name, settings)
    tokenizer, rows, source = read_rows(settings, name, max(steps * settings.rounds, settings.few(64)))
    random, grouped = (draw(rows, size, steps, settings.rounds) for draw in (in_random_order, grouped_by_length))
    orders = {
        ", both in random order": (random, random),
        ", the peer's grouped by length, ours in random order": (random, grouped),
        ", both grouped by length": (grouped, grouped),
    }
    form = partial(padded, tokenizer)
    forms = form if settings.device == "cpu" else packed, form
    yield from _compare(f"train-{name}", f"batch {size}, {source}", CLASSIFIER, forms, orders, settings)


def mlm(settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare masked language modelling on rows without padding, where only sparse prediction saves work."""
    (size, steps), length = batches_of("mlm", settings), settings.shape.max_length
    texts, source = draw_texts(settings, "imdb", 3 * size * steps * settings.rounds)
    tokenizer = train_tokenizer(settings, texts)
    ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    rounds = in_random_order(full_rows(ids, length), size, steps, settings.rounds)
    where, form = f"batch {size}, {source} in full rows of {length}", partial(masked, tokenizer)
    yield from _compare("mlm", where, MASKED_LM, (form, form), {"": (rounds, rounds)}, settings, sparse_prediction=True)


def train_translator(settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare translation training on sentences as their own targets, in random order."""
    size, steps = batches_of("multi30k", settings)
    tokenizer, rows, source = read_rows(settings, "multi30k", steps * settings.rounds)
    rounds = in_random_order(rows, size, steps, settings.rounds)
    form, orders = partial(translated, tokenizer), {", to itself": (rounds, rounds)}
    where = f"batch {size}, {source}"
    yield from _compare("train-marian", where, TRANSLATOR, (form, form), orders, settings, sparse_prediction=True)


def batches_of(name: str, settings: Settings) -> tuple[int, int]:
    """Texts per batch, and batches per round."""
    size, steps = BATCHES[name]
    return settings.batch_size or size, settings.few(steps)


def read_rows(settings: Settings, name: str, batches: int) -> tuple[PreTrainedTokenizerBase, Rows, str]:
    """A tokenizer, tokenised texts and their origin."""
    texts, source = draw_texts(settings, name, batches * batches_of(name, settings)[0])
    tokenizer = train_tokenizer(settings, texts)
    return tokenizer, tokenizer(texts, truncation=True)["input_ids"], source


def _compare(
    workload: str, where: str, kind: Kind, forms: tuple[Form, Form], orders: Mapping[str, tuple[Rounds, Rounds]],
    settings: Settings, **changes: Any,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """A row for each order of the texts: ours, and the peer's. forms: what makes batches of them. changes: of ours.

    A rate is of real tokens; those of a translator's text count as source and as target.
    """
    models, reads = make_pair(kind, settings, **changes), 2 if kind is TRANSLATOR else 1
    first = next(iter(orders.values()))[0][0][0]
    own, batch = (on_device(form(first), settings.device) for form in forms)
    agreement = check_logits(*models, batch, own, settings)
    steps = [training_step(model, settings) for model in models]
    for order, drawn in orders.items():
        sides = []
        for step, form, rounds in zip(steps, forms, drawn):
            batches = [[on_device(form(rows), settings.device) for rows in each] for each in rounds]
            tokens = [float(reads * sum(len(ids) for rows in each for ids in rows)) for each in rounds]
            sides.append(Side(run_rounds(step, batches), tokens))
        yield measure(settings, workload, where + order, sides[0], sides[1], agreement)
