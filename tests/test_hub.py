# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What needs the Hugging Face Hub: `HF_HUB_OFFLINE=0 python -m pytest -m hub`."""

import pytest
from text_data import DataArguments, load_splits

pytestmark = pytest.mark.hub


@pytest.mark.parametrize(("name", "rows"), [("sst2", {"train": 67_349, "validation": 872})])
def test_short_names_of_data_sets_on_the_hub(name: str, rows: dict[str, int]) -> None:
    data = load_splits(DataArguments(dataset_name=name))
    assert {split: len(dataset) for split, dataset in data.splits.items()} == rows
    assert data.label_names == ["negative", "positive"]
