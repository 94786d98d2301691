# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The workload of training a classifier, on SST-2 or IMDb."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .data import draw_texts, grouped_by_length, in_random_order, on_device, packed, padded, train_tokenizer
from .models import CLASSIFIER, check_logits, make_pair, training_step
from .settings import Settings
from .timing import Side, measure, run_rounds

BATCHES = {"sst2": (64, 8), "imdb": (16, 4)}  # texts per batch, and batches per round


def train(name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare on random batches, then with the peer's batches grouped by length, then both grouped.

    Ours are padded on a CPU, where the model packs internally, and packed on an accelerator. A rate is of real tokens.
    """
    size, steps = settings.batch_size or BATCHES[name][0], settings.few(BATCHES[name][1])
    texts, source = draw_texts(settings, name, size * max(steps * settings.rounds, settings.few(64)))
    tokenizer = train_tokenizer(settings, texts)
    rows = tokenizer(texts, truncation=True)["input_ids"]
    random, grouped = (draw(rows, size, steps, settings.rounds) for draw in (in_random_order, grouped_by_length))
    peers_form = partial(padded, tokenizer)
    forms = peers_form if settings.device == "cpu" else packed, peers_form
    ours, peer = make_pair(CLASSIFIER, settings)
    own, batch = (on_device(form(random[0][0]), settings.device) for form in forms)
    agreement = check_logits(ours, peer, batch, own, settings)
    steps_of = [training_step(model, settings) for model in (ours, peer)]
    for order, drawn in (
        ("both in random order", (random, random)),
        ("the peer's grouped by length, ours in random order", (random, grouped)),
        ("both grouped by length", (grouped, grouped)),
    ):
        sides = []
        for step, form, rounds in zip(steps_of, forms, drawn):
            batches = [[on_device(form(rows), settings.device) for rows in each] for each in rounds]
            tokens = [float(sum(len(ids) for rows in each for ids in rows)) for each in rounds]
            sides.append(Side(run_rounds(step, batches), tokens))
        own_side, peers_side = sides
        where = f"batch {size}, {source}, {order}"
        yield measure(settings, f"train-{name}", where, own_side, peers_side, agreement)
