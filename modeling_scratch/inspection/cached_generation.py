# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generation with a cache, step by step: how keys and values grow, and that the logits are those without a cache."""

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache

from ..bridges.model_sources import position_limit
from .answers import shown
from .layers import main_stack
from .recorder import as_textbook
from .subjects import GENERATION, NEXT, Subject

MOST_STEPS = 12


@torch.no_grad()
def cached_generation(subject: Subject) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    """Return the cache's sizes at each step and the tokens: a decoder's greedy ones, or an encoder-decoder's target.

    length: tokens whose keys and values are kept; numbers: how many numbers these are, of cross-attention, too.
    difference: the largest |logit with - without the cache|. None for models that do not generate, or have no layers.
    """
    if subject.task not in (NEXT, GENERATION) or not len(main_stack(subject.model)[1].stack.layers):
        return None
    limit = position_limit(subject.model.config)
    start = len(subject.text.ids) if subject.task == NEXT else 1
    room = MOST_STEPS if limit is None else limit + 1 - start
    count = min(MOST_STEPS, room) if subject.task == NEXT else min(len(subject.target_ids), MOST_STEPS)
    with as_textbook(subject.model):
        steps, tokens, logits = _generate(subject, count)
        whole = _without_cache(subject, [each["id"] for each in tokens])
    difference = (torch.stack(logits) - whole).abs().max().item() if logits else 0.0
    return {"steps": steps, "difference": difference}, tokens


def _generate(subject: Subject, count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Tensor]]:
    model, is_target = subject.model, subject.task == GENERATION
    own, *cross = caches = [DynamicCache(config=model.config), *(DynamicCache() for _ in range(is_target))]
    cache: Any = EncoderDecoderCache(own, *cross) if is_target else own
    read = subject.decoder_ids[:1] if is_target else subject.text.ids
    steps, tokens, logits = [], [], []
    fixed = {name: subject.inputs[name] for name in ("input_ids", "attention_mask") if is_target}
    for number in range(count):
        inputs = {**fixed, "decoder_input_ids" if is_target else "input_ids": subject.tensor([read])}
        output = model(**inputs, past_key_values=cache, use_cache=True)
        row = output.logits[0, -1].float()
        token = subject.target_ids[number] if is_target else int(row.argmax())
        named = {"token": shown(subject.written_tokenizer, token), "id": token}
        kept: list[Any] = [layer for each in caches for layer in each.layers]
        numbers = sum(layer.keys.numel() + layer.values.numel() for layer in kept)
        steps.append({**named, "queries": len(read), "length": own.get_seq_length(), "numbers": numbers})
        tokens.append({**named, "p": row.softmax(-1)[token].item()})
        logits.append(row)
        read = [token]
        if is_target:  # the encoder's output does not change
            fixed["encoder_outputs"] = (output.encoder_last_hidden_state,)
            fixed.pop("input_ids", None)
    return steps, tokens, logits


def _without_cache(subject: Subject, tokens: list[int]) -> Tensor:
    """The logits (steps, V) that the steps have when all tokens are read at once."""
    if subject.task == GENERATION:
        return subject.model(**subject.inputs).logits[0, : len(tokens)].float()
    ids = subject.tensor([[*subject.text.ids, *tokens[:-1]]])
    return subject.model(input_ids=ids, use_cache=False).logits[0, -len(tokens) :].float()
