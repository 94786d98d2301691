# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Reversing numbers, which takes attention: what it costs a small decoder to be trained with a broken part.

3 1 4 1 5 = 5 1 4 1 3. The score is the share of right digits; one in ten is right by chance.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ..modeling_decoder import ScratchDecoderForCausalLM
from ..presets import gpt2
from ..utils.markdown import percent, table
from .breaks import broken

EQUALS, DIGITS = 10, 5
BATCH, RATE, TESTED = 64, 3e-3, 500


@dataclass(frozen=True)
class Demonstration:
    """What one should expect of a break, and the settings of a model in which it shows."""

    expected: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 200


ROTARY = {"position_type": "rotary", "rope_parameters": {"rope_theta": 100.0}}
LARGE_WEIGHTS = {"initializer_range": 0.3}
DEMONSTRATIONS = {
    "scaling": Demonstration(
        "The scores of 512 features are 23 times as large. From the start, softmax gives nearly all to one token, "
        "right or wrong, and a small step makes it jump to another.",
        {**LARGE_WEIGHTS, "num_attention_heads": 1, "head_dim": 512},
        steps=100,
    ),
    "mask": Demonstration(
        "The next token can be read, so the model learns to copy it. While it writes, there is nothing to copy.", ROTARY
    ),
    "residual": Demonstration(
        "Attention mixes the tokens. Nothing carries them past it, so after six layers all are alike "
        "(Dong et al. 2021).",
        {"num_hidden_layers": 6, "hidden_size": 32},
    ),
    "norm": Demonstration(
        "Weights that start 15 times as large make each layer enlarge its input. A norm would undo it.", LARGE_WEIGHTS
    ),
    "positions": Demonstration("The model knows which digits there are, and nearly nothing of their order."),
    "softmax_axis": Demonstration(
        "The weights of a token depend on what later tokens look at. While the model writes, these are not there."
    ),
}


def numbers(count: int, generator: torch.Generator) -> Tensor:
    """(count, 2 * DIGITS + 1): digits, the equals sign, the digits in reverse."""
    drawn = torch.randint(10, (count, DIGITS), generator=generator)
    return torch.cat((drawn, torch.full((count, 1), EQUALS), drawn.flip(1)), dim=1)


def model_of(settings: Mapping[str, Any]) -> ScratchDecoderForCausalLM:
    sizes = {
        "vocab_size": EQUALS + 1, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 128, "max_position_embeddings": 2 * DIGITS + 1, "hidden_dropout": 0.0,
        "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
    }  # fmt: skip
    return ScratchDecoderForCausalLM(gpt2(**{**sizes, **settings}))


def train(model: ScratchDecoderForCausalLM, steps: int, seed: int) -> None:
    """Train a model on numbers drawn with this seed; the loss is that of the digits of the answer."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(steps):
        rows = numbers(BATCH, generator)
        labels = rows.clone()
        labels[:, : DIGITS + 1] = -100
        optimizer.zero_grad()
        model(rows, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


@torch.no_grad()
def score(model: Any) -> tuple[float, float]:
    """The share of right digits of an answer that the model writes, and of one that it reads meanwhile.

    Of numbers that no training has drawn the seed of.
    """
    rows = numbers(TESTED, torch.Generator().manual_seed(10**6))
    prompts, answers = rows[:, : DIGITS + 1], rows[:, DIGITS + 1 :]
    mask = torch.ones_like(prompts)
    written = model.generate(prompts, attention_mask=mask, max_new_tokens=DIGITS, do_sample=False, pad_token_id=0)
    read = model(rows).logits[:, DIGITS:-1].argmax(-1)
    writing, reading = ((found == answers).double().mean().item() for found in (written[:, DIGITS + 1 :], read))
    return writing, reading


def compared(name: str, seed: int, steps: int) -> list[float]:
    """Train a model whole and with this part broken: the same first weights, the same numbers.

    Return the shares of digits that the whole one writes, and that the broken one writes and reads.
    """
    scores: list[float] = []
    for is_broken in (False, True):
        torch.manual_seed(seed)
        model = model_of(DEMONSTRATIONS[name].settings)
        with broken(model, name) if is_broken else nullcontext():
            train(model, steps, seed)
            scores += score(model)
    whole, _, *damaged = scores
    print(f"  seed {seed}: {percent(whole)} of the digits right, broken {percent(damaged[0])}", flush=True)
    return [whole, *damaged]


def run_breaks(names: Sequence[str], seeds: int, steps: int | None) -> None:
    """Print what one should expect of each break, the scores of each seed, and a table of their means."""
    threads, rows = torch.get_num_threads(), []
    torch.set_num_threads(1)  # of models so small, several threads wait for each other
    try:
        for name in names:
            print(f"{name}: {DEMONSTRATIONS[name].expected}", flush=True)
            found = [compared(name, seed, steps or DEMONSTRATIONS[name].steps) for seed in range(seeds)]
            rows.append([name, *(percent(fmean(each)) for each in zip(*found))])
    finally:
        torch.set_num_threads(threads)
    print("", table(["part", "whole", "broken", "broken, reading the answer"], rows), sep="\n")
