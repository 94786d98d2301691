# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of the cache: what a decoder reads in several steps has the answers that it has in one."""

from collections.abc import Iterator
from itertools import zip_longest

import torch
from torch import Tensor
from transformers import PreTrainedModel

from .findings import DoesNotApply, check, only_if, require
from .subject import CAUSAL, MASKED, OF_TOKENS, Batch, Subject, reads, require_close, run, takes_any, values

OTHER_CACHES = "cache_params", "mems", "state", "past_buckets_states"
MEND = "Use the caches of `cache_utils`, and count positions from their length."
MASKS = "Make the mask by `masking_utils.create_causal_mask`, which counts the cached tokens."


def _cached_name(subject: Subject) -> str:
    """Return the name of what is read in steps. Raises `DoesNotApply` for a model without such a cache."""
    only_if(not any(map(subject.reads, OTHER_CACHES)), "The model has a cache of another kind.")
    generates = subject.model.can_generate()
    if not subject.reads("past_key_values") and not (generates and takes_any(subject.signature)):
        what = "`forward` has no argument past_key_values"
        require(not generates, f"{what}: generation computes every token again.")
        raise DoesNotApply(f"{what}.")
    return f"{subject.prefix}input_ids"


@check(MEND, CAUSAL, OF_TOKENS, link="43679")
def cache(subject: Subject) -> None:
    """With a cache, a token has the same answer as without."""
    _check_steps(subject, subject.batch(), "Tokens read one at a time with a cache")


@check(MASKS, CAUSAL, OF_TOKENS, link="43679")
def cache_of_several(subject: Subject) -> None:
    """Several tokens after cached ones have the same answers as without a cache."""
    batch = subject.longest_batch()
    length = batch[_cached_name(subject)].shape[1]
    what = f"Tokens read in one step after {length // 2} cached ones"
    _check_steps(subject, batch, what, [length // 2, length])


@check("Use the caches of `cache_utils`, and keep nothing of a text on `self`.", CAUSAL, OF_TOKENS, link="43679")
def cache_is_all(subject: Subject) -> None:
    """What was read is in the cache alone, row by row."""
    name, model, start = _cached_name(subject), subject.redrawn, subject.first_step
    ends = [start, start + 1]
    batches = subject.batch(), subject.batch([subject.ids(seed=seed) for seed in (2, 3)])
    first, second = ({each: batch[each] for each in batch if each != "attention_mask"} for batch in batches)
    alone = torch.cat([*_in_steps(model, first, name, ends)], dim=1)
    turned = torch.cat([*_in_steps(model, first, name, ends, is_turned=True)], dim=1)
    what = "After `reorder_cache`, as of beam search, answers are {} away from those of the rows in this order."
    require_close(turned, alone, what)
    whole = [second[name].shape[1]]
    in_turns = zip_longest(_in_steps(model, first, name, ends), _in_steps(model, second, name, whole))
    what = "Of two texts that are read in turns, each with its cache, one has answers that are {} away from its own."
    require_close(torch.cat([found for found, _ in in_turns], dim=1), alone, what, 1e-6)


@check("Hand the mask of the whole text to each cached step, and that of the encoder, too.", CAUSAL, OF_TOKENS, MASKED)
def cache_padded(subject: Subject) -> None:
    """With a cache, padding is hidden as it is without."""
    batch = subject.padded_batch("right" if subject.is_seq2seq else "left")
    _check_steps(subject, batch, "In a padded batch, tokens read with a cache")


@check("Return past_key_values only if use_cache, or config.use_cache, is true.", CAUSAL, reads("use_cache"))
def no_cache(subject: Subject) -> None:
    """use_cache=False keeps no cache."""
    found = run(subject.redrawn, subject.batch(), use_cache=False).get("past_key_values")
    require(found is None, "use_cache=False returns past_key_values, whose memory training does not need.")


def _check_steps(subject: Subject, batch: Batch, what: str, ends: list[int] | None = None) -> None:
    """Check the answers to tokens that are read after some cached ones, up to these ends, or one by one."""
    name = _cached_name(subject)
    ends = ends or [*range(subject.first_step, batch[name].shape[1] + 1)]
    found, wanted = torch.cat([*_in_steps(subject.redrawn, batch, name, ends)], dim=1), subject.answers(batch)
    real = subject.real(batch)
    require_close(found[real], wanted[real], f"{what} differ by {{}} from a pass over all.")


def _in_steps(
    model: PreTrainedModel, batch: Batch, name: str, ends: list[int], is_turned: bool = False
) -> Iterator[Tensor]:
    """Yield the answers to the tokens up to each of these ends, each step seeing the cached ones.

    is_turned: whether the rows change their order between steps.
    """
    order, past, start = torch.arange(len(batch[name])), None, 0
    for end in ends:
        if is_turned and past is not None:
            order = order.flip(0)
            past.reorder_cache(torch.arange(len(order)).flip(0))
        step = {each: value[order] for each, value in batch.items()} | {name: batch[name][order, start:end]}
        if name == "input_ids" and "attention_mask" in batch:
            step["attention_mask"] = step["attention_mask"][:, :end]
        outputs = run(model, step, past_key_values=past, use_cache=True)
        past = outputs.get("past_key_values")
        require(past is not None, "use_cache=True returns no past_key_values: generation computes every token again.")
        yield values(outputs)[order]
        start = end
