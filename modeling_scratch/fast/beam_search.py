# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Beam search: keep the k most likely prefixes of each text at every step (Sutskever et al. 2014, 3.2).

The results equal those of transformers' beam search, with less work per step: tokens outside the beams are neither
copied nor scored further, and reordering beams does not move the encoder states that they share.

Shapes: B texts, k beams per text, n candidates, V vocabulary, L maximum length in tokens.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from ..attention import self_attention_cache

NEVER = -1e9  # the score of excluded candidates
CHUNK = 128  # tokens per chunk, preselected by their maximum


def beam_search(
    model: Any,
    input_ids: Any,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    **inputs: Any,
) -> Tensor:
    """The best num_return_sequences of each text, best first: input_ids (B * k, T) -> (B * them, longest).

    For generate(custom_generate=beam_search), which prepares its arguments.
    """
    config, count = generation_config, generation_config.num_beams
    texts, prompt = len(input_ids) // count, input_ids.shape[1]
    kept = max(2, 1 + len(end_tokens(config))) * count  # enough to continue if all others end
    running, finished = _start(input_ids, texts, config)
    is_open = torch.ones(texts, 1, dtype=torch.bool, device=input_ids.device)
    read = model.prepare_inputs_for_generation(input_ids, is_first_iteration=True, **inputs)
    length, buffer, forward = prompt, None, model
    while True:
        outputs = forward(**read, return_dict=True)
        length += 1
        inputs = model._update_model_kwargs_for_generation(outputs, inputs, model.config.is_encoder_decoder)
        logits = outputs.logits[:, -1].to(input_ids.device, torch.float32)
        log_probs = torch.log_softmax(logits, dim=-1, out=buffer)
        buffer = None if logits_processor else log_probs  # for the next step, if nobody keeps these
        if logits_processor:
            log_probs = logits_processor(running.tokens(length - 1), log_probs)
        candidates, parents = running.extend(*likeliest(log_probs, running.scores, kept), length)
        ended = stopping_criteria(candidates.tokens(length), None).view(texts, kept)
        running, chosen = candidates.best(candidates.scores + ended * NEVER, count)
        finished = _finish(finished, candidates, ended, is_open, length - prompt, config)

        is_open &= _may_improve(running, finished, length - prompt, prompt, config)
        if ~is_open.any() | ended.all() | (finished.lengths.all() & (config.early_stopping is True)):
            break
        if (cache := self_attention_cache(inputs.get("past_key_values"))) is not None:  # beams share the encoder's
            cache.reorder_cache(parents.gather(1, chosen).flatten())
        if config.compile_config is not None and config.cache_implementation == "static":
            forward = model.get_compiled_call(config.compile_config)  # for all tokens but the prompt
        last = 1 if inputs["use_cache"] else None  # the last token (B * k, 1), or all where nothing is cached
        read = model.prepare_inputs_for_generation(running.tokens(length), next_sequence_length=last, **inputs)
    return _answers(finished, logits, prompt, config.num_return_sequences)


def _answers(finished: "Beams", logits: Tensor, prompt: int, count: int) -> Tensor:
    """The `count` best of each text, (B * count, longest)."""
    if logits.isnan().any():  # which would look like empty texts
        raise ValueError("The model returns NaN: its weights or its inputs are damaged.")
    return finished.sequences[:, :count, : prompt + int(finished.lengths[:, :count].max())].flatten(0, 1)


def end_tokens(config: GenerationConfig) -> list[int]:
    """Return the ids of the end tokens, if any."""
    ends = config.eos_token_id
    return [] if ends is None else torch.as_tensor(ends, dtype=torch.long).flatten().tolist()


@dataclass
class Beams:
    """sequences (B, k, L), scores (B, k), and the number of new tokens of finished sequences, (B, k)."""

    sequences: Tensor
    scores: Tensor
    lengths: Tensor

    def tokens(self, length: int) -> Any:
        """(B * k, length)."""
        return self.sequences[:, :, :length].flatten(0, 1)

    def extend(self, scores: Tensor, parents: Tensor, tokens: Tensor, length: int) -> tuple["Beams", Tensor]:
        """Append a token to the parents (B, n); also return their indices in the flattened batch (B * k)."""
        sequences = self.sequences.take_along_dim(parents[:, :, None], 1)
        sequences[:, :, length - 1] = tokens
        rows = parents + torch.arange(len(parents), device=parents.device)[:, None] * self.scores.shape[1]
        return Beams(sequences, scores, torch.zeros_like(parents)), rows

    def best(self, scores: Tensor, count: int) -> tuple["Beams", Tensor]:
        """The `count` best beams by these scores, which replace theirs, and their indices (B, count)."""
        best, places = scores.topk(count)
        return Beams(self.sequences.take_along_dim(places[:, :, None], 1), best, self.lengths.gather(1, places)), places


def _start(input_ids: Tensor, texts: int, config: GenerationConfig) -> tuple[Beams, Beams]:
    """Running beams, of which only the first of each text counts, as they are equal, and no finished ones."""
    if not math.isfinite(config.length_penalty):
        raise ValueError(f"length_penalty has to be a finite number, not {config.length_penalty}.")
    ends, count = end_tokens(config), config.num_beams
    fill = (config.pad_token_id or ends[0]) if ends else -1
    sequences = input_ids.new_full((texts, count, config.max_length), fill)
    sequences[:, :, : input_ids.shape[1]] = input_ids.view(texts, count, -1)
    never = torch.full((texts, count), NEVER, device=input_ids.device)
    lengths = torch.zeros_like(never, dtype=torch.long)
    return Beams(sequences, never.index_fill(1, lengths.new_zeros(1), 0), lengths), Beams(sequences, never, lengths)


def _finish(
    finished: Beams, candidates: Beams, ended: Tensor, is_open: Tensor, new: int, config: GenerationConfig
) -> Beams:
    """The best k of the finished beams and of the candidates that end now, by score / length^penalty."""
    count = config.num_beams
    counts = ended & is_open & (torch.arange(ended.shape[1], device=ended.device) < count)
    if config.early_stopping is True:
        counts = counts & ~finished.lengths.all(-1, keepdim=True)
    scores = torch.where(counts, candidates.scores / new**config.length_penalty, NEVER)
    everything = Beams(
        torch.cat((finished.sequences, candidates.sequences), dim=1),
        torch.cat((finished.scores, scores), dim=1),
        torch.cat((finished.lengths, counts * new), dim=1),
    )
    return everything.best(everything.scores, count)[0]


def _may_improve(running: Beams, finished: Beams, new: int, prompt: int, config: GenerationConfig) -> Tensor:
    """Whether the best running beam could still beat the worst finished one, (B, 1).

    Its score is taken at the current length, or with early_stopping="never" at the most favourable length.
    """
    hopes = config.early_stopping == "never" and config.length_penalty > 0
    best = running.scores[:, :1] / (config.max_length - prompt if hopes else new) ** config.length_penalty
    worst = torch.where(finished.lengths > 0, finished.scores.amin(-1, keepdim=True), NEVER)
    return (best > worst).any(-1, keepdim=True)


def likeliest(log_probs: Tensor, scores: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best continuations of each text: log_probs (B * k, V), scores (B, k) -> scores, beams, tokens."""
    values, tokens = highest(log_probs, count)  # per beam: a text takes at most `count` from each
    totals = values.view(*scores.shape, -1) + scores[:, :, None]
    best, places = totals.flatten(1).topk(count)
    return best, places // values.shape[-1], tokens.view(len(scores), -1).gather(1, places)


def highest(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """rows.topk(count) in a quarter of its time on a CPU: (N, V) -> values and indices (N, count).

    The `count` highest values lie in the `count` chunks with the highest maxima.
    """
    whole = rows.shape[1] // CHUNK * CHUNK
    count = min(count, rows.shape[1])
    if whole <= 2 * count * CHUNK:
        return rows.topk(count)
    chunks = rows[:, :whole].unflatten(1, (-1, CHUNK))
    found = chunks.amax(-1).topk(count).indices[:, :, None]  # (N, count, 1)
    inside = torch.arange(CHUNK, device=rows.device)
    places = (found * CHUNK + inside).flatten(1)
    rest = torch.arange(whole, rows.shape[1], device=rows.device).expand(len(rows), -1)
    places = torch.cat((places, rest), dim=1)
    values, best = rows.gather(1, places).topk(count)
    return values, places.gather(1, best)
