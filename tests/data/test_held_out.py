# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Splits that are made here: every row is in one, equal rows are in the same one, and the seed alone chooses."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from text_samples import fault

from modeling_scratch.data.held_out import complete_splits, missing_splits, overlaps, sampled, stratified_order
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
        with fault(f"{distinct} different rows are too few to hold out {' and '.join(missing)}"):
            complete_splits(given_splits, missing, str, options, "rows", notes)
        return
    splits = complete_splits(given_splits, missing, str, options, "rows", notes)
    assert list(splits) == ["train", "validation", "test"]
    made = {split: splits[split] for split in ("train", *missing)}
    assert sum(map(Counter, made.values()), Counter()) == Counter(rows)
    assert {split: len(set(made[split])) for split in missing} == dict.fromkeys(missing, size)
    assert overlaps(made, "rows") == []
    assert splits == complete_splits(given_splits, missing, str, options, "rows", [])
    assert [note.split(":")[0] for note in notes if not note.startswith("WARNING")] == missing
    share = min(len(splits[split]) for split in missing) / len(rows)
    assert any("as equal ones share a split" in note for note in notes) == (2 * share < fraction)


@given(ROWS, st.integers(1, 130), st.integers(1, 130))
def test_a_sample_has_its_size_and_the_order_of_the_rows(rows: list[str], most: int, most_others: int) -> None:
    notes: list[str] = []
    numbered = {split: list(enumerate(rows)) for split in ("train", "validation")}
    chosen = sampled(numbered, arguments(max_train_samples=most, max_eval_samples=most_others), "rows", notes)
    assert [len(each) for each in chosen.values()] == [min(most, len(rows)), min(most_others, len(rows))]
    for split, each in chosen.items():
        assert each == sorted(each)
        assert set(each) <= set(numbered[split])
    assert len(notes) == (most < len(rows)) + (most_others < len(rows))


@given(st.lists(st.sampled_from("aaaabbc"), min_size=1, max_size=200), st.integers(0, 5))
def test_each_section_has_the_proportions_of_all(labels: list[str], seed: int) -> None:
    order = stratified_order(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    sizes = Counter(labels)
    for end in range(1, len(order) + 1):
        counts = Counter(labels[row] for row in order[:end])
        assert all(abs(counts[label] - size * end / len(labels)) < len(sizes) for label, size in sizes.items())
