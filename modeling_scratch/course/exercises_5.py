# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks of lesson 5: the loss, the optimizer, checkpoints, and what attention reads."""

import math
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..heads import cross_entropy
from .comparing import Check, random


def batches() -> list[tuple[Tensor, Tensor]]:
    logits = random(5, 4)
    return [(logits, torch.tensor([1, -100, 3, 0, 0])), (400 * logits, torch.tensor([3, 2, -100, -100, 1]))]


def chosen(values: Tensor, labels: Tensor) -> Tensor:
    """The value of each label that counts."""
    counts = labels != -100
    return values[counts].gather(1, labels[counts, None])


def adamw_step(weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step: int, rate: float, decay: float
) -> tuple[Tensor, ...]:  # fmt: skip
    """A step of PyTorch's own, from this state."""
    parameter = torch.nn.Parameter(weight.clone())
    parameter.grad = gradient.clone()
    optimizer = torch.optim.AdamW([parameter], lr=rate, weight_decay=decay)
    state = {"step": torch.tensor(step - 1.0), "exp_avg": mean.clone(), "exp_avg_sq": square.clone()}
    optimizer.state[parameter] = state
    optimizer.step()
    return parameter.detach(), state["exp_avg"], state["exp_avg_sq"]


def mistaken_step(weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step: int, rate: float, decay: float,
    *, corrects: bool = True, couples: bool = False, power: float = 0.5, sign: int = -1, betas: Any = (0.9, 0.999),
    kept: float = 1.0, by_rate: bool = True, returns_corrected: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The equations, with a choice of mistakes. couples: the decay is part of the gradient; kept: of the decay."""
    if couples:
        gradient, kept = gradient + decay * weight, 0.0
    mean, square = torch.lerp(gradient, mean, betas[0]), torch.lerp(gradient**2, square, betas[1])
    first, second = (1 - beta**step if corrects else 1.0 for beta in betas)
    move = mean / first / ((square / second) ** power + 1e-8)
    weight = weight - (rate if by_rate else 1) * kept * decay * weight + sign * rate * move
    return (weight, mean / first, square / second) if returns_corrected else (weight, mean, square)


def steps() -> list[tuple[Any, ...]]:
    weight, gradient, mean, square = random(4, 6)
    return [
        (weight, gradient, torch.zeros(6), torch.zeros(6), 1, 0.01, 0.1),
        # Copies: an answer may change its arguments.
        (weight.clone(), gradient.clone(), 0.1 * mean, 0.5 * square**2, 5, 0.02, 0.5),
    ]


def attention_on(weights: Tensor, keys: Tensor) -> Tensor:
    return weights[:, torch.arange(len(keys)), keys].mean(-1)


CHECKS = {
    "cross_entropy": Check(cross_entropy, batches, {
        "labels of -100 count: leave their rows out of the mean, too.":
            lambda logits, labels: F.cross_entropy(logits, labels, reduction="none").mean(),
        "it is the sum: divide by the number of labels.":
            lambda logits, labels: F.cross_entropy(logits, labels, reduction="sum"),
        "the sign is wrong: log p is negative, the loss is not.": lambda logits, labels: -cross_entropy(logits, labels),
        "the softmax is over the rows: it has to be over the last axis, the classes.":
            lambda logits, labels: -chosen(logits[labels != -100].log_softmax(0), labels[labels != -100]).mean(),
        "this is the logit itself: the log_softmax is missing.": lambda logits, labels: -chosen(logits, labels).mean(),
        "`log_p[:, labels]` pairs every row with every label: index rows and labels together.":
            lambda logits, labels: -logits[labels != -100].log_softmax(-1)[:, labels[labels != -100]].mean(),
        "a small probability rounds to 0, whose log is -inf: use log_softmax.":
            lambda logits, labels: -chosen(logits.softmax(-1), labels).log().mean(),
        "the logarithm is missing.": lambda logits, labels: -chosen(logits.softmax(-1), labels).mean(),
        "exp overflows where a logit is 500: use log_softmax, which subtracts the largest.": lambda logits, labels:
            -chosen(logits.exp() / logits.exp().sum(-1, keepdim=True), labels).log().mean(),
    }, "It is cross_entropy of heads.py, by which every model of the book is trained."),
    "loss_of_guessing": Check(math.log, lambda: [(2,), (10,), (30_522,)], {
        "this is the probability: the loss is -log of it.": lambda classes: 1 / classes,
        "this is log p: the loss is -log p.": lambda classes: -math.log(classes),
        "this is in bits: PyTorch's log is the natural one.": math.log2,
        "the logarithm is to the base 10: PyTorch's log is the natural one.": math.log10,
    }, "A training that starts with another loss has a mistake before its first step."),
    "adamw_step": Check(adamw_step, steps, {
        "m and v are not corrected: divide by 1 - 0.9^t and 1 - 0.999^t.": partial(mistaken_step, corrects=False),
        "the corrected m and v are returned: the next step needs the running means.":
            partial(mistaken_step, returns_corrected=True),
        "the decay passes through m and v: that is L2 in Adam; AdamW decays the weight itself.":
            partial(mistaken_step, couples=True),
        "the root is missing: divide by sqrt(v).": partial(mistaken_step, power=1.0),
        "the weight moves along its gradient: subtract.": partial(mistaken_step, sign=1),
        "0.9 and 0.999 are swapped: 0.9 is for m.": partial(mistaken_step, betas=(0.999, 0.9)),
        "the weight decay is missing: subtract rate * decay * weight.":
            partial(mistaken_step, kept=0.0),
        "the decay is not multiplied by the learning rate.":
            partial(mistaken_step, by_rate=False),
    }, "It is the step of torch.optim.AdamW."),
    "best_checkpoint": Check(
        lambda training, validation: validation.index(min(validation)),
        lambda: [([2.3, 1.1, 0.5, 0.2], [2.3, 1.4, 1.2, 1.9]), ([0.9, 0.5, 0.3, 0.4], [0.8, 1.0, 1.5, 1.6])], {
        "chosen by the training loss: it falls as long as the model learns by heart.":
            lambda training, validation: training.index(min(training)),
        "this is the last one, whatever the validation loss says.": lambda training, validation: len(training) - 1,
        "this is the highest validation loss.": lambda training, validation: validation.index(max(validation)),
        "it counts from 1: the index counts from 0.": lambda _, validation: validation.index(min(validation)) + 1,
        "this is the loss, not the index of its checkpoint.": lambda training, validation: min(validation),
    }, "Trainer does it by load_best_model_at_end."),
    "attention_on": Check(
        attention_on,
        lambda: [(random(2, 4, 6).softmax(-1), torch.tensor(keys)) for keys in ([3, 2, 1, 0], [0, 0, 3, 1])], {
        "queries and keys are swapped: the second axis is the query, the third the key.":
            lambda weights, keys: weights[:, keys, torch.arange(len(keys))].mean(-1),
        "it is the sum over the queries: take the mean.": lambda weights, keys: attention_on(weights, keys) * len(keys),
        "the heads are averaged: keep one number for each.": lambda weights, keys: attention_on(weights, keys).mean(),
        "this counts how often the key has the largest weight: average the weights themselves.":
            lambda weights, keys: (weights.argmax(-1) == keys).float().mean(-1),
        "`weights[:, :, keys]` pairs every query with every key: index queries and keys together.":
            lambda weights, keys: weights[:, :, keys].mean((-2, -1)),
    }, "A head that gives most of its attention to one place does one job; a mean over heads would hide it."),
}  # fmt: skip
