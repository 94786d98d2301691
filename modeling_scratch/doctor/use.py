# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of what people do with a model: read in steps with a cache, generate, and ask pipelines."""

import inspect
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor
from transformers import pipeline

from ..tasks import CLASSIFY, FILL, TAG, WRITE, named
from .comparing import Batch, rows, run, values, without
from .findings import Need, check, only_if, require, tried
from .forward import POSITIONS
from .subject import BASE, CAUSAL, GENERATES, NEW_TOKENS, OF_TOKENS, TOKENIZER, Subject, takes_any

OTHER_CACHES = "cache_params", "mems", "state", "past_buckets_states"
PIPED = CLASSIFY, TAG, FILL, WRITE  # transformers has pipelines for these
CACHES = (
    "Use the caches of `cache_utils`, return them only if use_cache is true, count positions from their length, keep "
    "nothing of a text on `self`, and make the mask of the whole text by `masking_utils.create_causal_mask`; hand "
    "cross-attention its own in each step."
)


def _takes_cache(subject: Subject) -> bool:
    return subject.reads("past_key_values") or (subject.model.can_generate() and takes_any(subject.signature))


OWN: Need = (lambda subject: not any(map(subject.reads, OTHER_CACHES)), "The model has a cache of another kind.")


@check(CACHES, CAUSAL, OF_TOKENS, OWN, link="43679")
def cache(subject: Subject) -> None:
    """With a cache, which is all that is kept, tokens have the same answers as without; use_cache=False keeps none.

    Read one by one, several in a step, in a padded batch, with rows that change places, and in turns with other texts.
    """
    takes_it, what = _takes_cache(subject), "`forward` has no argument past_key_values"
    require(takes_it or not subject.model.can_generate(), f"{what}: generation computes every token again.")
    only_if(takes_it, f"{what}.")
    is_asked = subject.reads("use_cache") or takes_any(subject.signature)
    require(is_asked, "`forward` has no argument use_cache, by which `generate` asks for past_key_values.")
    plain, whole, name = subject.batch(), subject.longest_batch(), subject.read_name
    if subject.reads("use_cache"):
        kept = run(subject.redrawn, plain, use_cache=False).get("past_key_values")
        require(kept is None, "use_cache=False returns past_key_values, whose memory training does not need.")
    length, each_token = whole[name].shape[1], [*range(max(1, subject.shorter - 1), plain[name].shape[1] + 1)]

    def same(when: str, batch: Batch, ends: list[int] = each_token, is_turned: bool = False) -> None:
        found = torch.cat([*_in_steps(subject, batch, ends, is_turned)], dim=1)
        subject.same(f"Read {when}", found, batch)

    same("one at a time with a cache", plain)
    same(f"in one step after {length // 2} cached tokens", whole, [length // 2, length])
    if subject.reads("attention_mask"):
        padded = subject.padded_batch("right" if subject.is_seq2seq else "left")
        same("one at a time with a cache in a padded batch", padded)
    if subject.reads(f"{subject.prefix}inputs_embeds"):
        same("one at a time with a cache, as inputs_embeds", subject.embedded(plain, subject.prefix))
    bare = without(plain, "attention_mask")
    same("one at a time with a cache, after `reorder_cache`, as of beam search", bare, is_turned=True)
    others = {key: value.flip(1) for key, value in bare.items()}
    in_turns = zip_longest(_in_steps(subject, bare, each_token), _in_steps(subject, others, each_token[-1:]))
    found = torch.cat([one for one, _ in in_turns], dim=1)
    subject.same("With two texts that are read in turns, each with its cache", found, bare)


def _in_steps(subject: Subject, batch: Batch, ends: list[int], is_turned: bool = False) -> Iterator[Tensor]:
    """Yield the answers to the tokens up to each of these ends, each step seeing the cached ones.

    is_turned: whether the rows change their order between steps.
    """
    name = next(name for name in (subject.read_name, f"{subject.prefix}inputs_embeds") if name in batch)
    order, past, start = torch.arange(len(batch[name])), None, 0
    for end in ends:
        if is_turned and past is not None:
            order = order.flip(0)
            past.reorder_cache(torch.arange(len(order)).flip(0))
        step = rows(batch, order) | {name: batch[name][order, start:end]}
        if not subject.is_seq2seq and "attention_mask" in batch:
            step["attention_mask"] = step["attention_mask"][:, :end]
        outputs = run(subject.redrawn, step, past_key_values=past, use_cache=True)
        past = outputs.get("past_key_values")
        require(past is not None, "use_cache=True returns no past_key_values: generation computes every token again.")
        yield values(outputs)[order]
        start = end


@check(
    "Use the caches of `cache_utils`, and the library's prepare_inputs_for_generation, or return every mask from your "
    f"own. {POSITIONS} Compute logits of hidden_states[:, -logits_to_keep:].",
    GENERATES,
    link="43280",
)
def generation(subject: Subject) -> None:
    """Greedy search has the scores of `forward`; with it and beam search, caches and longer prompts change nothing.

    With a static cache, too, where the model says that it compiles, from embeddings, and from a cache that is given.
    """
    _check_scores(subject)
    model: Any = subject.model
    ways: dict[str, dict[str, Any]] = {"With a cache": {}, "With a cache and beam search": {"num_beams": 3}}
    if model._can_compile_fullgraph:
        ways["With a static cache"] = {"cache_implementation": "static"}
    prompt, prepares = _prompts(subject), inspect.signature(model.prepare_inputs_for_generation).parameters
    if subject.reads("inputs_embeds") and "inputs_embeds" in prepares:
        ways["From inputs_embeds"] = subject.embedded(prompt) | {"input_ids": None}
    if subject.is_decoder and _takes_cache(subject) and OWN[0](subject):
        begun = run(subject.redrawn, {"input_ids": prompt["input_ids"][:, : subject.length // 2]}, use_cache=True)
        ways["After tokens that are cached already"] = {"past_key_values": begun.get("past_key_values")}
    for way, options in ways.items():
        wanted = _written(subject, prompt, use_cache=False, num_beams=options.get("num_beams", 1))
        with tried(f"{way}, `generate`"):
            found = _written(subject, prompt, **{"use_cache": True, **options})
        require(torch.equal(found, wanted), f"{way}, `generate` writes other tokens than without a cache.")
    short, long = subject.ids(subject.shorter, seed=1), subject.ids()
    for beams in (1, 2):
        together = _written(subject, _prompts(subject, short, long), num_beams=beams)
        alone = _written(subject, _prompts(subject, short), num_beams=beams)
        require(together[:1].equal(alone), "Beside a longer prompt, a prompt is continued otherwise than alone.")


def _check_scores(subject: Subject) -> None:
    """Greedy search has the scores of `forward`, which reads what is written so far, without a cache, after padding."""
    if subject.reads("logits_to_keep"):
        last = {**subject.batch(), "logits_to_keep": 2}
        subject.same("With logits_to_keep=2, of the last two tokens", last, subject.answers(subject.batch())[:, -2:])
    batch = _prompts(subject, subject.ids(subject.shorter, seed=1), subject.ids())
    written = _generate(subject, batch, use_cache=False)
    mask, start = batch.get("attention_mask"), written.sequences.shape[1] - NEW_TOKENS
    for step, scores in enumerate(written.logits):
        given = {**batch, subject.read_name: written.sequences[:, : start + step]}
        if mask is not None and not subject.is_seq2seq:
            given["attention_mask"] = torch.cat([mask, mask.new_ones(len(mask), step)], dim=1)
            if "position_ids" in subject.signature:  # by which `generate` sees whether to make them
                given["position_ids"] = (given["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        subject.same(f"For token {step + 1} of `generate`", scores, subject.answers(given)[:, -1])


def _prompts(subject: Subject, *texts: Tensor) -> Batch:
    """Return a batch of texts to continue; by default, of one."""
    batch = subject.batch(texts or [subject.ids()], side="right" if subject.is_seq2seq else "left")
    return without(batch, "decoder_input_ids")


def _written(subject: Subject, prompts: Batch, **options: Any) -> Tensor:
    return _generate(subject, prompts, **options).sequences[:, -NEW_TOKENS:]


def _generate(subject: Subject, prompts: Batch, **options: Any) -> Any:
    lengths = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "pad_token_id": subject.pad_token_id}
    recorded = {"output_logits": True, "return_dict_in_generate": True}
    model: Any = subject.redrawn
    return model.generate(**{**prompts, **options}, do_sample=False, **lengths, **recorded)


@check("Register the class with its Auto class.", TOKENIZER, link="https://github.com/IBM/fastfit/issues/15")
def pipelines(subject: Subject) -> None:
    """The pipeline of its task takes it, as an object and from a folder."""
    head, tokenizer, model = subject.head, subject.tokenizer, subject.model
    only_if(head in (BASE, *PIPED) and not subject.permutes, "transformers has no pipeline for its task.")
    only_if(head != FILL or tokenizer.mask_token, "The tokenizer has no mask token.")
    task: Any = "feature-extraction" if head == BASE else named(head).card.use.pipeline
    text, options = f"A {tokenizer.mask_token}." if head == FILL else "A text.", {"max_new_tokens": 2}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        sources: dict[str, dict[str, Any]] = {
            "": {"model": model, "tokenizer": tokenizer},
            " of its folder": {"model": folder, "trust_remote_code": subject.trusts_code},
        }
        found = []
        for whose, made in sources.items():
            with tried(f"pipeline({task!r}){whose}"):
                piped = pipeline(task, device="cpu", **made)
                found.append(str(piped(text, **options if head == WRITE else {})))
    require(head == WRITE or found[0] == found[1], "The pipeline of its folder answers otherwise.")
