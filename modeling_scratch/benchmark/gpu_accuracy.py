# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A Transformer from random weights on a GPU: masked words on IMDb and SST-2, then sentiment by the book's head.

Pretraining reads the reviews for training, the unlabelled ones and the sentences for training. The rate of fine-tuning
is chosen on the last tenth of the reviews for training. With that rate alone, the reviews for testing are classified
once for each seed, and the sentences for validation once.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import DataCollatorWithPadding, TrainingArguments, set_seed

from ..configuration_scratch import ScratchEncoderConfig
from ..fast.captured import captured_step
from ..fast.static_shapes import Size, fill
from ..heads import cross_entropy
from ..modeling_encoder import ScratchEncoderForMaskedLM, ScratchEncoderForSequenceClassification
from ..run.captured_trainer import CapturedTrainer
from ..utils.files import replacing
from .data import Batch, padding_tokenizer
from .gpu_speed import Row, pin
from .gpu_tokens import LONGEST, Texts, Tokens
from .settings import Shape, wait_for

Chosen = tuple[Texts, np.ndarray]  # texts, and the numbers of those that are meant

WEIGHTS = "pretrained.safetensors"
BETAS, WEIGHT_DECAY = (0.9, 0.98), 0.01
HELD_OUT = 10  # the last 1 / HELD_OUT of the training texts, in an order of their own
EVALUATED = 128  # texts a batch
FIRST_STEPS = 30  # which compile and capture; as many more are timed, which tells how many there is time for
TOLD = 200  # steps between two lines about the loss


@dataclass(frozen=True)
class Recipe:
    """Sizes and rates, which were chosen beforehand. tokens: of a pretraining step; seconds: of pretraining."""

    device: str = "cuda"
    layers: int = 8
    width: int = 512
    heads: int = 8
    dtype: torch.dtype | None = torch.bfloat16
    tokens: int = 32_768
    masked: float = 0.25
    rate: float = 1.2e-3
    warm_up: int = 250
    seconds: float = 170.0
    rates: Sequence[float] = (4e-5, 8e-5)
    epochs: int = 3
    batch_size: int = 32
    seeds: int = 2

    def config(self, tokens: Tokens) -> ScratchEncoderConfig:
        shape = Shape(self.layers, self.width, self.heads, tokens.vocab_size, LONGEST)
        sizes: dict[str, Any] = {**shape.fields, "num_labels": 2}
        return ScratchEncoderConfig(
            **sizes, hidden_act="gelu", norm_position="pre", position_type="rotary", hidden_dropout=0.1,
            attention_dropout=0.0, classifier_pooling="mean", problem_type="single_label_classification",
            pad_token_id=tokens.special[0],
        )  # fmt: skip


FULL = Recipe()
REHEARSED = Recipe(
    device="cpu", layers=2, width=32, heads=2, dtype=None, tokens=512, warm_up=20, seconds=4.0, rates=(1e-3, 2e-3),
    epochs=1, batch_size=16,
)  # fmt: skip


# --- pretraining -----------------------------------------------------------------------------------------------------


def pretraining_batches(tokens: Tokens, recipe: Recipe) -> Iterator[Batch]:
    """Whole texts without their labels, in random order, epoch after epoch: as many a batch as fit into recipe.tokens.

    All batches are filled up to one shape, for all of the training.
    """
    splits = [tokens.texts[name] for name in ("imdb-train", "imdb-unlabelled", "sst2-train")]
    lengths = np.concatenate([split.lengths() for split in splits])
    most = int(1.6 * recipe.tokens / lengths.mean()) + -(-recipe.tokens // int(lengths.max()))
    size, random = Size(recipe.tokens, most, int(lengths.max())), np.random.default_rng(0)
    places = [(split, number) for split in splits for number in range(len(split))]
    texts: list[np.ndarray] = []
    room = recipe.tokens
    while True:
        for place in random.permutation(len(places)):
            split, number = places[place]
            text = split.text(number)
            if len(text) > room:
                yield pin(fill(flat_batch(texts), [size], tokens.special[0]), recipe.device)
                texts, room = [], recipe.tokens
            texts.append(text)
            room -= len(text)


def flat_batch(texts: Sequence[np.ndarray]) -> Batch:
    """Texts one after another, without lists of numbers: those of `packed` take longer than a step of a GPU."""
    lengths = [len(text) for text in texts]
    bounds = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    positions = np.concatenate([np.arange(length) for length in lengths])
    return {
        "input_ids": torch.from_numpy(np.concatenate(texts).astype(np.int64))[None],
        "position_ids": torch.from_numpy(positions)[None],
        "cu_seq_lens_q": bounds, "cu_seq_lens_k": bounds, "max_length_q": max(lengths), "max_length_k": max(lengths),
    }  # fmt: skip


def mask_words(ids: Tensor, special: Sequence[int], vocab_size: int, fraction: float) -> tuple[Tensor, Tensor]:
    """Hide a constant number of random tokens: ids (tokens,) -> what the model reads, and the indices of the hidden.

    80 % become the mask, 10 % another token (Devlin et al. 2019, 3.1). No special token is hidden or shown in place of
    one; they come first in the vocabulary. All of it is drawn on the device of ids.
    """
    first, mask = max(special) + 1, special[1]
    chances = torch.rand(ids.shape, device=ids.device).masked_fill(ids < first, 2.0)
    indices = chances.topk(round(fraction * ids.numel()), largest=False, sorted=False).indices
    kinds = torch.rand(indices.shape, device=ids.device)
    others = torch.randint(first, vocab_size, indices.shape, device=ids.device)
    shown = torch.where(kinds < 0.8, mask, torch.where(kinds < 0.9, others, ids[indices]))
    return ids.index_copy(0, indices, shown), indices


def masked_words_loss(tokens: Tokens, fraction: float, model: Any, batch: Batch) -> Tensor:
    """The loss of masked words, hidden anew at each call."""
    ids = batch["input_ids"].flatten()
    shown, indices = mask_words(ids, tokens.special, tokens.vocab_size, fraction)
    hidden_states = model.model(**{**batch, "input_ids": shown[None]}).last_hidden_state.flatten(0, 1)
    return cross_entropy(model.lm_head(hidden_states.index_select(0, indices)), ids[indices])


def pretrain(tokens: Tokens, recipe: Recipe, tell: Callable[[str], None]) -> tuple[dict[str, Tensor], Row]:
    """Train for recipe.seconds; return the weights and what was measured."""
    torch.manual_seed(0)
    model: Any = ScratchEncoderForMaskedLM(recipe.config(tokens))
    model = model.to(recipe.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, betas=BETAS, weight_decay=WEIGHT_DECAY, fused=True)
    loss = partial(masked_words_loss, tokens, recipe.masked)
    step = captured_step(model, optimizer, loss=loss, dtype=recipe.dtype, compiled=True)
    batches, losses = pretraining_batches(tokens, recipe), list[Tensor]()

    def train(end: int, total: int) -> float:
        """Take the steps up to this one of a schedule of total steps; return the seconds."""
        start = time.perf_counter()
        while len(losses) < end:
            optimizer.param_groups[0]["lr"] = recipe.rate * schedule(len(losses), total, recipe.warm_up)
            losses.append(step(next(batches)))
            if len(losses) % TOLD == 0:
                tell(f"step {len(losses):,}: loss {_mean(losses):.3f}")
        wait_for(recipe.device)
        return time.perf_counter() - start

    unknown = 100 * recipe.warm_up  # the number of steps is not known before a step has been timed
    compiling, timed = (train(end, unknown) for end in (FIRST_STEPS, 2 * FIRST_STEPS))
    total = max(int(recipe.seconds / timed * FIRST_STEPS), 3 * FIRST_STEPS)
    tell(f"pretraining: {1e3 * timed / FIRST_STEPS:.1f} ms a step, {total:,} steps")
    seconds = compiling + timed + train(total, total)
    row = {
        "parameters": sum(weight.numel() for weight in model.parameters()), "steps": total,
        "tokens": total * recipe.tokens, "seconds": round(seconds, 1),
        "tokens/s": round(total * recipe.tokens / seconds),
        "tokens/s, without compilation": round(FIRST_STEPS * recipe.tokens / timed), "loss": round(_mean(losses), 4),
    }  # fmt: skip
    return {name: value.detach().clone() for name, value in model.model.state_dict().items()}, row


def _mean(losses: Sequence[Tensor]) -> float:
    """The mean of the last losses. Raises FloatingPointError where they are not finite."""
    mean = torch.stack(list(losses[-TOLD // 2 :])).mean().item()
    if not np.isfinite(mean):
        raise FloatingPointError(f"the loss of pretraining is {mean} after {len(losses):,} steps")
    return mean


def schedule(step: int, total: int, warm_up: int) -> float:
    """The share of the rate at a step: up in a line, then down to 0 in a line."""
    warm_up = min(warm_up, total // 4)
    return min((step + 1) / (warm_up + 1), (total - step) / max(total - warm_up, 1))


# --- fine-tuning -----------------------------------------------------------------------------------------------------


def score_of(
    weights: dict[str, Tensor], tokens: Tokens, train: Chosen, evaluated: Chosen, rate: float, seed: int, recipe: Recipe
) -> Row:
    """Fine-tune the weights on some texts; the accuracy on others, and the seconds of the training."""
    set_seed(seed)
    model: Any = ScratchEncoderForSequenceClassification(recipe.config(tokens))
    model.model.load_state_dict(weights)
    with TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, use_cpu=recipe.device == "cpu", bf16=recipe.dtype is not None, num_train_epochs=recipe.epochs,
            per_device_train_batch_size=recipe.batch_size, per_device_eval_batch_size=EVALUATED, learning_rate=rate,
            warmup_steps=0.1, weight_decay=WEIGHT_DECAY, adam_beta1=BETAS[0], adam_beta2=BETAS[1], seed=seed,
            save_strategy="no", report_to="none", disable_tqdm=True,
        )  # fmt: skip
        collator = DataCollatorWithPadding(padding_tokenizer())
        trainer = CapturedTrainer(model, arguments, collator, rows_of(*train), captured=True, compiled=True)
        seconds = trainer.train().metrics["train_runtime"]
        found = trainer.predict(cast(Any, rows_of(*evaluated)))
    right = np.asarray(found.predictions).argmax(1) == found.label_ids
    return {"accuracy": round(100 * float(right.mean()), 2), "texts": len(right), "seconds": round(seconds, 1)}


def rows_of(texts: Texts, chosen: np.ndarray) -> list[dict[str, Any]]:
    """The chosen texts as rows of a data set."""
    return [{"input_ids": texts.text(int(n)).tolist(), "label": int(texts.labels[n])} for n in chosen]


# --- the whole of it -------------------------------------------------------------------------------------------------


def train_from_scratch(
    tokens: Tokens, recipe: Recipe, folder: Path, done: Mapping[str, Row], tell: Callable[[str], None]
) -> Iterator[tuple[str, Row]]:
    """Yield (key, row) of pretraining, of each rate on the held-out texts, of SST-2, of each seed on the test texts.

    done: the rows of an earlier call, to which the caller adds each that is yielded. The folder keeps the pretrained
    weights for a later call.
    """
    if sum("accuracy" in row for row in done.values()) >= len(recipe.rates) + recipe.seeds + 1:
        return  # all is known; without the weights, they would be trained for nothing
    file, key = folder / WEIGHTS, "pretraining, masked words"
    if not file.is_file() or key not in done:
        weights, row = pretrain(tokens, recipe, tell)
        yield key, row
        with replacing(file) as temporary:
            save_file(weights, temporary)
    score = partial(score_of, load_file(file), tokens)
    everything = {name: (texts, np.arange(len(texts))) for name, texts in tokens.texts.items()}
    train = tokens.texts["imdb-train"]
    order = np.random.default_rng(0).permutation(len(train))
    held_out, rest = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]
    keys = {rate: f"IMDb, a tenth held out, rate {rate:g}" for rate in recipe.rates}
    for rate, key in keys.items():
        if key not in done:
            yield key, score((train, rest), (train, held_out), rate, 0, recipe)
    best = max(recipe.rates, key=lambda rate: done[keys[rate]]["accuracy"])
    if (key := f"SST-2, validation, rate {best:g}") not in done:
        twice = replace(recipe, batch_size=2 * recipe.batch_size)
        yield key, score(everything["sst2-train"], everything["sst2-validation"], best, 1, twice)
    for seed in range(1, recipe.seeds + 1):
        if (key := f"IMDb, test, rate {best:g}, seed {seed}") not in done:
            yield key, score((train, order), everything["imdb-test"], best, seed, recipe)
