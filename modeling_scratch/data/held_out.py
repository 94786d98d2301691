# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hold out the splits that a data set lacks, and count what occurs in two of them."""

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

from .splits import SplitArguments, assign_splits

Item = TypeVar("Item")  # of a split: a sentence, a question
Key = Callable[[Item], Hashable]


class Limits(Protocol):
    """The maximum sizes of the splits, and the seed of what is drawn."""

    max_train_samples: int | None
    max_eval_samples: int | None
    split_seed: int


def complete_splits(
    splits: Mapping[str, list[Item]], arguments: SplitArguments, key: Key, what: str, notes: list[str]
) -> dict[str, list[Item]]:
    """Return train, validation and test, within the maximum sizes, and add notes on those that are held out of train.

    If validation and test are both missing, both are held out. If only validation is missing, only validation is.
    Items with equal keys share a split. what: the name of the items, for the notes.
    """
    missing = [] if "validation" in splits else ["validation"] if "test" in splits else ["validation", "test"]
    complete, rows = dict(splits), splits["train"]
    if missing:
        chosen = assign_splits(list(map(key, rows)), missing, arguments.validation_fraction, arguments.split_seed)
        for split in ("train", *missing):
            complete[split] = [row for row, name in zip(rows, chosen) if name == split]
    notes += [
        f"{split}: not in the data; {len(complete[split]):,} {what} held out of train (--validation_fraction "
        f"{arguments.validation_fraction}, --split_seed {arguments.split_seed})"
        for split in missing
    ]
    return sampled(complete, arguments, what, notes)


def sampled(splits: Mapping[str, list[Item]], arguments: Limits, what: str, notes: list[str]) -> dict[str, list[Item]]:
    """Return train, validation and test, of larger ones a random sample of the maximum size, in order, with a note."""
    ordered = {split: splits[split] for split in ("train", "validation", "test") if split in splits}
    for split, items in ordered.items():
        limit = arguments.max_train_samples if split == "train" else arguments.max_eval_samples
        if limit is not None and limit < len(items):
            notes.append(f"{split}: {limit:,} of {len(items):,} {what} used, drawn at random (--split_seed)")
            chosen = random.Random(arguments.split_seed).sample(range(len(items)), limit)
            ordered[split] = [items[row] for row in sorted(chosen)]
    return ordered


def overlaps(splits: Mapping[str, Sequence[Hashable]], what: str) -> list[str]:
    """Return a warning for each split with items that train has, too. what: the name of the items."""
    train = set(splits["train"])
    counts = {split: sum(one in train for one in rows) for split, rows in splits.items() if split != "train"}
    return [
        f"WARNING: {split}: {count:,} of its {len(splits[split]):,} {what} also occur in train, inflating scores"
        for split, count in counts.items()
        if count
    ]
