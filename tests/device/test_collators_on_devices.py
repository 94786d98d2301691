# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Collators make the same batches where there is an accelerator: on the host, from where no copy has to wait."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from own_process import in_own_process
from stand_in_device import NAMES, stand_in

from modeling_scratch.data.collators import (
    CorruptSpans,
    Denoise,
    FlatBatches,
    Infill,
    MaskTokens,
    next_token_batch,
)

VOCABULARY, LENGTH = 40, 12
ORDINARY = np.arange(VOCABULARY) >= 5
FRAME = [1], [2]
COLLATORS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "flat": FlatBatches(),
    "next tokens": next_token_batch,
    "masks": MaskTokens(4, ORDINARY, fraction=0.3, seed=0),
    "infilling": Denoise(Infill(4, np.arange(VOCABULARY) == 7, fraction=0.3), FRAME, 0, seed=0),
    "spans": Denoise(CorruptSpans(np.arange(30, 40), fraction=0.3), FRAME, 0, seed=0),
}


def rows() -> list[dict[str, Any]]:
    made = []
    for number in range(3):
        ids = torch.arange(LENGTH) * (number + 3) % 25 + 5
        made.append(
            {
                "number": number, "input_ids": ids, "next_ids": ids.roll(-1), "position_ids": torch.arange(LENGTH),
                "word_starts": torch.arange(LENGTH) % 2 == 0,
            }
        )  # fmt: skip
    return made


def batches() -> dict[str, dict[str, Any]]:
    texts = [{"input_ids": row["input_ids"].tolist(), "label": row["number"]} for row in rows()]
    return {name: collate(texts if name == "flat" else rows()) for name, collate in COLLATORS.items()}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "cuda" else pytest.mark.slow) for name in NAMES]
)
@in_own_process
def test_batches_are_made_on_the_host_and_copied_without_a_wait(name: str) -> None:
    expected = batches()
    with stand_in(name) as device:
        found = batches()
        tensors = [value for batch in found.values() for value in batch.values() if isinstance(value, torch.Tensor)]
        assert {tensor.device.type for tensor in tensors} == {"cpu"}
        assert {tensor.pin_memory().to(name, non_blocking=True).device.type for tensor in tensors} == {name}
        assert device.waits == {}
    for which, batch in expected.items():
        assert batch.keys() == found[which].keys()
        assert all(torch.equal(torch.as_tensor(found[which][key]), torch.as_tensor(batch[key])) for key in batch)
