# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Typical wrong solutions of lesson 5: exercise, answer, a part of the hint."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def by_shares(logits: Tensor, labels: Tensor) -> Tensor:
    real = labels >= 0
    exponents = logits[real].exp()
    shares = exponents / exponents.sum(1, keepdim=True)
    return -shares[range(len(shares)), labels[real]].log().mean()


def over_all_rows(logits: Tensor, labels: Tensor) -> Tensor:
    total = sum(-row.log_softmax(0)[label] for row, label in zip(logits, labels) if label != -100)
    return total / len(labels)


def adam(weight: Any, gradient: Any, mean: Any, square: Any, step: int, rate: float, decay: float) -> Any:
    gradient = gradient + decay * weight
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient * gradient
    root = (square / (1 - 0.999**step)).sqrt()
    return weight - rate * mean / (1 - 0.9**step) / (root + 1e-8), mean, square


def adamw(weight: Any, gradient: Any, mean: Any, square: Any, step: int, rate: float, decay: float) -> Any:
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
    return weight - rate * decay * weight - rate * mean / (square.sqrt() + 1e-8), mean, square


def without_root(weight: Any, gradient: Any, mean: Any, square: Any, step: int, rate: float, decay: float) -> Any:
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
    move = mean / (1 - 0.9**step) / (square / (1 - 0.999**step) + 1e-8)
    return weight * (1 - rate * decay) - rate * move, mean, square


WRONG: list[tuple[str, Any, str]] = [
    ("cross_entropy", by_shares, "exp overflows"),
    ("cross_entropy", over_all_rows, "labels of -100 count"),
    ("cross_entropy", lambda logits, labels: F.cross_entropy(logits, labels, reduction="sum"), "divide by the number"),
    ("cross_entropy", lambda logits, labels: -F.cross_entropy(logits, labels), "the sign is wrong"),
    ("loss_of_guessing", lambda classes: 1 / classes, "this is the probability"),
    ("loss_of_guessing", lambda classes: math.log(1 / classes), "this is log p"),
    ("loss_of_guessing", lambda classes: -math.log2(1 / classes), "this is in bits"),
    ("adamw_step", adam, "L2 in Adam"),
    ("adamw_step", adamw, "not corrected"),
    ("adamw_step", without_root, "the root is missing"),
    ("learning_rate", lambda step, peak, warmup, total: peak * (1 - step / total), "there is no warm-up"),
    ("learning_rate", lambda step, peak, warmup, total: peak * min(1, step / warmup), "stays at the peak"),
    ("learning_rate", lambda s, peak, w, t: peak * (s / w if s < w else 1 - s / t), "the rate jumps"),
    ("learning_rate", lambda s, peak, w, t: s / w if s < w else (t - s) / (t - w), "multiply by `peak`"),
    ("best_checkpoint", lambda training, validation: training.index(min(training)), "learns by heart"),
    ("best_checkpoint", lambda training, validation: len(validation) - 1, "the last one"),
    ("best_checkpoint", lambda training, validation: sorted(validation)[0], "not the index"),
    ("attention_on", lambda weights, keys: weights[:, keys, torch.arange(len(keys))].mean(1), "are swapped"),
    ("attention_on", lambda weights, keys: weights[:, :, keys].mean((1, 2)), "index queries and keys together"),
    ("attention_on", lambda weights, keys: (weights.argmax(2) == keys).float().mean(1), "how often the key"),
    ("attention_on", lambda weights, keys: weights[:, range(len(keys)), keys].sum(-1), "sum over the queries"),
]
