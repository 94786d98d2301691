# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Splits that are made here: every row is in one, equal rows are in the same one, and the seed alone chooses."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_samples import fault

from modeling_scratch.data.held_out import Strata, complete_splits, missing_splits, overlaps, sampled, stratified_order
from modeling_scratch.data.label_types import Number
from modeling_scratch.data.splits import SplitArguments

ROWS = st.lists(st.integers(0, 40).map(str), min_size=1, max_size=120)


def arguments(**options: object) -> SplitArguments:
    return SplitArguments(data_dir="folder", **options)


@given(ROWS, st.floats(0.01, 0.49), st.integers(0, 5), st.booleans())
def test_rows_that_are_held_out_are_in_one_split(rows: list[str], fraction: float, seed: int, has_test: bool) -> None:
    options, notes = arguments(validation_fraction=fraction, split_seed=seed), []
    given_splits = {"train": rows} | ({"test": ["new"]} if has_test else {})
    missing, distinct = missing_splits(given_splits), len(set(rows))
    size = max(1, round(fraction * distinct))
    if size * len(missing) >= distinct:
        with fault(f"{distinct} different row", f"too few to hold out {' and '.join(missing)}"):
            complete_splits(given_splits, missing, str, options, "row", notes)
        return
    splits = complete_splits(given_splits, missing, str, options, "row", notes)
    assert list(splits) == ["train", "validation", "test"]
    made = {split: splits[split] for split in ("train", *missing)}
    assert sum(map(Counter, made.values()), Counter()) == Counter(rows)
    assert {split: len(set(made[split])) for split in missing} == dict.fromkeys(missing, size)
    assert overlaps(made, "row") == []
    assert splits == complete_splits(given_splits, missing, str, options, "row", [])
    assert [note.split(":")[0] for note in notes if not note.startswith("WARNING")] == missing
    share = min(len(splits[split]) for split in missing) / len(rows)
    assert any("as equal ones share a split" in note for note in notes) == (2 * share < fraction)


KINDS: dict[str, Strata] = {  # of the labels that are drawn from a text, which is a number
    "no labels": lambda rows: [None] * len(rows),
    "classes": lambda rows: [int(row) % 3 for row in rows],
    "numbers": lambda rows: Number().strata(list(map(int, rows))),
}


@pytest.mark.parametrize("share", [0.01, 0.05])
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_stays_in_its_split_when_other_rows_come_or_go(kind: str, share: float) -> None:
    for seed in range(5):
        random, options = np.random.default_rng(seed), arguments(split_seed=seed, max_eval_samples=100)
        rows = [str(row) for row in random.permutation(2_000)]
        fewer = [str(row) for row in random.permutation(rows)[: round(2_000 * (1 - share))]]
        found = []
        for each in (rows, fewer):
            splits = complete_splits({"train": each}, ("validation", "test"), str, options, "row", [], KINDS[kind])
            samples = sampled(splits, str, options, "row", [], KINDS[kind])
            found.append([{*part[split]} & {*fewer} for part in (splits, samples) for split in ("validation", "test")])
        for before, after in zip(*found):
            assert len(before & after) >= 0.9 * len(before)


@given(ROWS, st.integers(1, 130), st.integers(1, 130))
def test_a_sample_has_its_size_and_the_order_of_the_rows(rows: list[str], most: int, most_others: int) -> None:
    notes: list[str] = []
    numbered = {split: list(enumerate(rows)) for split in ("train", "validation")}
    options = arguments(max_train_samples=most, max_eval_samples=most_others)
    chosen = sampled(numbered, lambda row: row[1], options, "row", notes)
    assert [len(each) for each in chosen.values()] == [min(most, len(rows)), min(most_others, len(rows))]
    for split, each in chosen.items():
        assert each == sorted(each)
        assert set(each) <= set(numbered[split])
    assert len(notes) == (most < len(rows)) + (most_others < len(rows))


@given(st.lists(st.sampled_from("aaaabbc"), min_size=1, max_size=200), st.integers(0, 5))
def test_each_section_has_the_proportions_of_all(labels: list[str], seed: int) -> None:
    order = stratified_order([f"text {row}" for row in range(len(labels))], labels, seed, "test")
    assert sorted(order) == list(range(len(labels)))
    sizes = Counter(labels)
    for end in range(1, len(order) + 1):
        counts = Counter(labels[row] for row in order[:end])
        assert all(abs(counts[label] - size * end / len(labels)) < len(sizes) for label, size in sizes.items())
