# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 1: exercise, answer, a part of the hint."""

from typing import Any

import torch


def on_the_left(texts: list[list[int]], pad_id: int) -> Any:
    length = max(map(len, texts))
    rows = [[pad_id] * (length - len(text)) + text for text in texts]
    mask = [[0] * (length - len(text)) + [1] * len(text) for text in texts]
    return torch.tensor(rows), torch.tensor(mask)


WRONG: list[tuple[str, Any, str]] = [
    ("padded", on_the_left, "on the left"),
    ("padded", lambda texts, pad_id: torch.tensor(texts), "raises ValueError"),
    ("padded", lambda texts, pad_id: None, "`return`"),
]
