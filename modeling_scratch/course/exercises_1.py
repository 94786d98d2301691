# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 1: tokens and embeddings."""

import torch
from torch import Tensor

from .comparing import Check, same_as


def padded(texts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    length = max(map(len, texts))
    rows = [text + [pad_id] * (length - len(text)) for text in texts]
    mask = [[1] * len(text) + [0] * (length - len(text)) for text in texts]
    return torch.tensor(rows), torch.tensor(mask)


def padded_left(texts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    ids, mask = padded([text[::-1] for text in texts], pad_id)
    return ids.flip(1), mask.flip(1)


def mask_of_padding(texts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    ids, mask = padded(texts, pad_id)
    return ids, 1 - mask


def mask_by_value(texts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    ids, _ = padded(texts, pad_id)
    return ids, (ids != 0).long()


CHECKS = {
    "padded": Check(
        same_as(
            padded,
            lambda: [([[5, 6, 7], [8], [9, 4]], 0), ([[0, 2], [3, 1, 0]], 1)],
            {
                "the padding stands on the left: append it.": padded_left,
                "the mask is the wrong way round: 1 stands for a real token, 0 for padding.": mask_of_padding,
                "the mask asks whether an id is 0; pad_id need not be 0.": mask_by_value,
            },
        ),
        "A batch is one table of ids, and a mask says which of them are tokens.",
    ),
}
