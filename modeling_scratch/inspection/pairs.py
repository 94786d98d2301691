# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Minimal pairs: where two texts part, layer by layer.

distance = |h_a - h_b| / mean(|h_a|, |h_b|) of tokens that the two texts share, aligned by difflib
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from torch import Tensor

from .lens import hidden_states, layer_names
from .recorder import Recording


def compared(
    left: tuple[Sequence[int], Recording], right: tuple[Sequence[int], Recording], model: Any
) -> dict[str, Any]:
    """Return aligned tokens, those that only one text has, and each layer's distances; of an encoder-decoder, of the
    encoder.

    left, right: the ids and the recording of each text.
    """
    (ids, recording), (others, other) = left, right
    matches = SequenceMatcher(None, list(ids), list(others), autojunk=False).get_matching_blocks()
    aligned = [(match.a + step, match.b + step) for match in matches for step in range(match.size)]
    path = "" if model.base_model is model else model.base_model_prefix
    path = f"{path}.encoder".lstrip(".") if model.config.is_encoder_decoder else path
    layers = zip(hidden_states(recording, path), hidden_states(other, path))
    distances = [distance(a[0], b[0], aligned) for a, b in layers]
    return {
        "aligned": aligned,
        "only_a": sorted(set(range(len(ids))) - {a for a, _ in aligned}),
        "only_b": sorted(set(range(len(others))) - {b for _, b in aligned}),
        "layers": layer_names(len(distances)),
        "distance": distances,
        "mean": [sum(row) / len(row) if row else None for row in distances],
    }


def distance(left: Tensor, right: Tensor, aligned: Sequence[tuple[int, int]]) -> list[float]:
    """Return the relative distances of aligned hidden states (T, hidden)."""
    if not aligned:
        return []
    a, b = left[[pair[0] for pair in aligned]].double(), right[[pair[1] for pair in aligned]].double()
    norms = (a.norm(dim=-1) + b.norm(dim=-1)) / 2
    return ((a - b).norm(dim=-1) / norms.clamp(min=1e-30)).tolist()
