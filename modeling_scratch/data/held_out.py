# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hold out the splits that a data set lacks, draw samples of large ones, and count what occurs in two of them."""

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from ..utils.errors import DataError
from .splits import SplitArguments

Item = TypeVar("Item")  # of a split: a text with its label, a sentence, a question, a pair
Draw = Callable[[Sequence[Item], Sequence[str]], Sequence[str]]  # rows, missing splits -> the split of each row
ALSO_IN_TRAIN = "also occur in train, inflating scores"


def by_key(key: Callable[[Item], Hashable], arguments: SplitArguments) -> Draw[Item]:
    """Return a function that draws rows at random. Rows with equal keys share a split, to avoid leakage."""
    return lambda rows, missing: assign_splits(
        [key(row) for row in rows], missing, arguments.validation_fraction, arguments.split_seed
    )


def assign_splits(keys: Sequence[Hashable], splits: Sequence[str], fraction: float, seed: int) -> list[str]:
    """Return the split of each row: one of `splits`, each with a fraction of the distinct keys, or else "train".

    Raises `DataError` if there are too few for every split.
    """
    distinct = list(dict.fromkeys(keys))
    size = max(1, round(fraction * len(distinct)))
    if size * len(splits) >= len(distinct):
        raise DataError(
            f"{len(distinct)} different rows are too few to hold out {' and '.join(splits)}; add rows or files"
        )
    random.Random(seed).shuffle(distinct)
    chosen = {key: split for n, split in enumerate(splits) for key in distinct[n * size : (n + 1) * size]}
    return [chosen.get(key, "train") for key in keys]


def missing_splits(splits: Mapping[str, object]) -> list[str]:
    """Return the splits to hold out: validation if it is missing, and test if both are."""
    return [] if "validation" in splits else ["validation"] if "test" in splits else ["validation", "test"]


def complete_splits(
    splits: Mapping[str, list[Item]],
    missing: Sequence[str],
    draw: Draw[Item],
    arguments: SplitArguments,
    what: str,
    notes: list[str],
) -> dict[str, list[Item]]:
    """Return train, validation and test, those that are missing held out of train, and add notes on them.

    what: the name of the items, for the notes.
    """
    complete, rows = dict(splits), splits["train"]
    if missing:
        chosen = draw(rows, missing)
        complete |= {split: [row for row, name in zip(rows, chosen) if name == split] for split in ("train", *missing)}
    notes += [
        f"{split}: not in the data; {len(complete[split]):,} {what} held out of train (--validation_fraction "
        f"{arguments.validation_fraction}, --split_seed {arguments.split_seed})"
        for split in missing
    ]
    return {split: complete[split] for split in ("train", "validation", "test") if split in complete}


def sampled(
    splits: Mapping[str, list[Item]],
    arguments: SplitArguments,
    what: str,
    notes: list[str],
    order: Callable[[list[Item]], list[int]] | None = None,
) -> dict[str, list[Item]]:
    """Return the splits, of those above the maximum size a sample, in the order of its rows, with a note.

    order: rows -> their numbers in the order in which they are taken; by default, a random one.
    """
    chosen = dict(splits)
    for split, items in splits.items():
        limit = arguments.max_train_samples if split == "train" else arguments.max_eval_samples
        if limit is not None and limit < len(items):
            how = "stratified by label" if order else "drawn at random (--split_seed)"
            notes.append(f"{split}: {limit:,} of {len(items):,} {what} used, {how}")
            generator = random.Random(arguments.split_seed)
            drawn = order(items)[:limit] if order else generator.sample(range(len(items)), limit)
            chosen[split] = [items[row] for row in sorted(drawn)]
    return chosen


def overlaps(splits: Mapping[str, Sequence[Hashable]], what: str) -> list[str]:
    """Return a warning for each split with items that train has, too. what: the name of the items."""
    train = set(splits["train"])
    counts = {split: sum(one in train for one in rows) for split, rows in splits.items() if split != "train"}
    return [
        f"WARNING: {split}: {count:,} of its {len(splits[split]):,} {what} {ALSO_IN_TRAIN}"
        for split, count in counts.items()
        if count
    ]
