# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hold out the splits that a data set lacks, draw samples of large ones, and count what occurs in two of them."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

from ..utils.errors import DataError, counted
from .columns import normalised
from .splits import SplitArguments

Item = TypeVar("Item")  # of a split: a text with its label, a sentence, a question, a pair
Strata = Callable[[Sequence[Item]], Sequence[Hashable]]  # the stratum of each item


def draw(text: str, seed: int, purpose: str = "") -> float:
    """Return a number in [0, 1) that depends on the arguments alone: not on other texts, nor on the machine."""
    salt, content = (seed % 2**64).to_bytes(8, "big"), text.encode(errors="surrogatepass")
    digest = blake2b(content, digest_size=8, salt=salt, person=purpose.encode()).digest()
    return int.from_bytes(digest, "big") / 2**64


def stratified_order(texts: Sequence[str], strata: Sequence[Hashable], seed: int, purpose: str) -> list[int]:
    """Return the rows in a random order in which every section has the overall proportions of the strata.

    The draws of their texts order the n rows of a stratum: row k has the relative position (k + 1/2) / n. So a text
    keeps about its position when other rows are added or dropped.
    """
    draws = [draw(text, seed, purpose) for text in texts]
    sizes, counts = Counter(strata), Counter[Hashable]()
    position = {}
    for row in sorted(range(len(texts)), key=draws.__getitem__):
        position[row] = (counts[strata[row]] + 0.5) / sizes[strata[row]]
        counts[strata[row]] += 1
    return sorted(position, key=position.__getitem__)


def missing_splits(splits: Mapping[str, object]) -> list[str]:
    """Return the splits to hold out: validation if it is missing, and test if both are."""
    return [] if "validation" in splits else ["validation"] if "test" in splits else ["validation", "test"]


@dataclass(frozen=True)
class Division:
    """How a data set is divided. what: the name of an item. strata: the stratum of each item; None: there is one."""

    arguments: SplitArguments
    what: str
    notes: list[str]
    strata: Strata | None = None

    def order(self, items: Sequence[Item], texts: Sequence[str], split: str) -> list[int]:
        """Return the rows of items, which have these texts, in the `stratified_order` of a split."""
        strata = self.strata(items) if self.strata else [None] * len(items)
        return stratified_order(texts, strata, self.arguments.split_seed, split)

    def completed(
        self, splits: Mapping[str, list[Item]], missing: Sequence[str], key: Callable[[Item], str]
    ) -> dict[str, list[Item]]:
        """Return train, validation and test, those that are missing held out of train, and add notes on them.

        Each has a fraction of the distinct keys, which are texts. Items with equal keys share a split, to avoid
        leakage. Raises `DataError` if there are too few for every split.
        """
        if not missing:
            return dict(splits)
        items, fraction = splits["train"], self.arguments.validation_fraction
        keys = [key(item) for item in items]
        first = dict(zip(reversed(keys), reversed(items)))  # the first item of each key
        distinct = list(dict.fromkeys(keys))
        size = max(1, round(fraction * len(distinct)))
        if size * len(missing) >= len(distinct):
            few = f"too few to hold out {' and '.join(missing)}: {counted(len(distinct), f'different {self.what}')}"
            raise DataError(f"{few}; add {self.what}s, or a validation file")
        split_of: dict[str, str] = {}
        for split in missing:
            rest = [each for each in distinct if each not in split_of]
            order = self.order([first[each] for each in rest], rest, split)
            split_of.update((rest[row], split) for row in order[:size])
        held_out: dict[str, list[Item]] = {split: [] for split in ("train", *missing)}
        for item, each in zip(items, keys):
            held_out[split_of.get(each, "train")].append(item)
        for split in missing:
            number, all_items = len(held_out[split]), counted(len(items), self.what)
            how = f"(--validation_fraction {fraction}, --split_seed {self.arguments.split_seed})"
            self.notes.append(f"{split}: not in the data; {counted(number, self.what)} held out of train {how}")
            if 2 * number < fraction * len(items):
                why = "as equal ones share a split and the frequent ones are in train; name a file of your own"
                self.notes.append(f"WARNING: {split}: only {number:,} of {all_items} are held out, {why}")
        complete = {**splits, **held_out}
        return {split: complete[split] for split in ("train", "validation", "test") if split in complete}

    def sampled(self, splits: Mapping[str, list[Item]], key: Callable[[Item], str]) -> dict[str, list[Item]]:
        """Return the splits, of those above the maximum size a sample, in the order of its rows, with a note."""
        chosen = dict(splits)
        for split, items in splits.items():
            limit = self.arguments.max_train_samples if split == "train" else self.arguments.max_eval_samples
            if limit is not None and limit < len(items):
                how = "stratified by label" if self.strata else "drawn at random (--split_seed)"
                self.notes.append(f"{split}: {limit:,} of {counted(len(items), self.what)} used, {how}")
                drawn = self.order(items, list(map(key, items)), split)[:limit]
                chosen[split] = [items[row] for row in sorted(drawn)]
        return chosen


def left_out(split: str, what: str, why: str, places: Sequence[str]) -> list[str]:
    """Return a note on items that are left out, if there are any, with the first three places."""
    dropped = f"dropped {counted(len(places), what)} {why}, first {'; '.join(places[:3])}"
    return [f"{split}: {dropped}"] if places else []


def overlaps(splits: Mapping[str, Sequence[str]], what: str, prefix: str = "") -> list[str]:
    """Return a warning for each split with texts that train has, too. what: the name of a text."""
    others = {split: texts for split, texts in splits.items() if split != "train"}
    train, warnings = set(map(normalised, splits["train"] if others else ())), []
    for split, texts in others.items():
        if count := sum(normalised(text) in train for text in texts):
            found = f"{count:,} of its {counted(len(texts), what)} also occur in train, inflating scores"
            how = "(apart from case, white space and compatibility characters); all kept"
            warnings.append(f"{prefix}{split}: {found} {how}")
    return warnings
