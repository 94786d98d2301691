# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of what people do with a model: generate, pipelines, export and compilation."""

import copy
import inspect
import tempfile
from typing import Any

import torch
from torch import Tensor, nn
from transformers import pipeline

from ..tasks import CLASSIFY, FILL, TAG, WRITE, named
from .findings import check, only_if, require, tried
from .invariances import POSITIONS
from .subject import BASE, GENERATES, NEW_TOKENS, TOKENIZER, Subject, embedded, require_close, run, values

PIPED = CLASSIFY, TAG, FILL, WRITE  # transformers has pipelines for these
TEXT = "A text."


@check("Use the caches of `cache_utils`, and the library's prepare_inputs_for_generation.", GENERATES, link="43280")
def generation(subject: Subject) -> None:
    """Greedy search writes the same with and without a cache.

    With a cache, without, with a static one where the model says that it compiles, and from embeddings.
    """
    wanted = _generate(subject, use_cache=False)[:, -NEW_TOKENS:]
    ways: dict[str, dict[str, Any]] = {"With a cache": {"use_cache": True}}
    if subject.model._can_compile_fullgraph:
        ways["With a static cache"] = {"cache_implementation": "static"}
    model: Any = subject.model
    prepares = inspect.signature(model.prepare_inputs_for_generation).parameters
    if subject.reads("inputs_embeds") and "inputs_embeds" in prepares:
        ways["From inputs_embeds"] = embedded(subject, _prompts(subject, None)) | {"use_cache": True, "input_ids": None}
    for way, options in ways.items():
        with tried(f"{way}, greedy search"):
            found = _generate(subject, **options)[:, -NEW_TOKENS:]
        require(torch.equal(found, wanted), f"{way}, greedy search writes other tokens than without a cache.")


@check(POSITIONS, GENERATES, link="29419")
def generation_padded(subject: Subject) -> None:
    """A prompt is continued in a batch as it is alone.

    A prompt beside a longer one is padded: on the left, or on the right where an encoder reads it.
    """
    short, long = subject.ids(subject.shorter, seed=1), subject.ids()
    for beams in (1, 2):
        together = _generate(subject, [short, long], num_beams=beams)[0, -NEW_TOKENS:]
        alone = _generate(subject, [short], num_beams=beams)[0, -NEW_TOKENS:]
        require(torch.equal(together, alone), "Beside a longer prompt, a prompt is continued otherwise than alone.")


@check("Use the classes of `transformers.cache_utils`, which reorder their rows.", GENERATES, link="43280")
def beam_search(subject: Subject) -> None:
    """Beam search writes the same with and without a cache."""
    found, wanted = (_generate(subject, num_beams=3, use_cache=cached) for cached in (True, False))
    require(torch.equal(found, wanted), "With a cache, beam search writes other tokens than without.")


@check("Return every mask from `prepare_inputs_for_generation`, or use the library's.", GENERATES, link="29419")
def generation_is_forward(subject: Subject) -> None:
    """Greedy search has the scores of `forward`.

    `forward` reads what is written so far, without a cache, and after padding.
    """
    texts = [subject.ids(subject.shorter, seed=1), subject.ids()]
    batch, name = _prompts(subject, texts), f"{subject.prefix}input_ids"
    written: Any = _generate(subject, texts, use_cache=False, output_logits=True, return_dict_in_generate=True)
    mask, start = batch.get("attention_mask"), written.sequences.shape[1] - NEW_TOKENS
    for step, scores in enumerate(written.logits):
        given = {**batch, name: written.sequences[:, : start + step]}
        if mask is not None and not subject.is_seq2seq:
            given["attention_mask"] = torch.cat([mask, mask.new_ones(len(mask), step)], dim=1)
            if "position_ids" in subject.signature:  # by which `generate` sees whether to make them
                given["position_ids"] = (given["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        wanted = values(run(subject.redrawn, given))[:, -1]
        require_close(scores, wanted, f"The scores of token {step + 1} are {{}} away from those of `forward`.")


def _prompts(subject: Subject, texts: list[Tensor] | None) -> dict[str, Tensor]:
    """Return a batch of texts to continue."""
    batch = subject.batch(texts or [subject.ids()], side="right" if subject.is_seq2seq else "left")
    batch.pop("decoder_input_ids", None)
    return batch


def _generate(subject: Subject, texts: list[Tensor] | None = None, **options: Any) -> Tensor:
    batch = {**_prompts(subject, texts), **options}
    lengths = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "pad_token_id": subject.pad_token_id}
    model: Any = subject.redrawn
    return model.generate(**batch, do_sample=False, **lengths)


@check("Register the class with its Auto class.", TOKENIZER, link="https://github.com/IBM/fastfit/issues/15")
def pipelines(subject: Subject) -> None:
    """The pipeline of its task takes it.

    From the object, and from a saved folder.
    """
    only_if(subject.head in (BASE, *PIPED) and not subject.permutes, "transformers has no pipeline for its task.")
    task = "feature-extraction" if subject.head == BASE else named(subject.head).card.use.pipeline
    text = f"A {subject.tokenizer.mask_token}." if subject.head == FILL else TEXT
    only_if(subject.head != FILL or subject.tokenizer.mask_token, "The tokenizer has no mask token.")
    options: Any = {"max_new_tokens": 2} if subject.head == WRITE else {}
    found = _piped(task, "", text, options, model=subject.model, tokenizer=subject.tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        subject.model.save_pretrained(folder)
        subject.tokenizer.save_pretrained(folder)
        again = _piped(task, " of its folder", text, options, model=folder, trust_remote_code=subject.trusts_code)
    require(subject.head == WRITE or str(found) == str(again), "The pipeline of its folder answers otherwise.")


def _piped(task: Any, whose: str, text: str, options: dict[str, Any], **made: Any) -> Any:
    """Return what a pipeline answers to a text. Raises `FallsShort` if it cannot be made, or fails."""
    with tried(f"pipeline({task!r}){whose}"):
        return pipeline(task, device="cpu", **made)(text, **options)


class Answers(nn.Module):
    """A model as a function of its inputs by position."""

    def __init__(self, model: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Tensor) -> Tensor:
        return values(self.model(**dict(zip(self.names, inputs)), return_dict=True))


@check("Let no Python value depend on what tensors hold.")
def export(subject: Subject) -> None:
    """torch.export takes it."""
    batch = subject.batch()
    model = copy.deepcopy(subject.redrawn)
    if subject.reads("use_cache"):
        model.config.use_cache = False
    wrapped = Answers(model, list(batch))
    program = torch.export.export(wrapped, tuple(batch.values()), strict=False)
    with torch.no_grad():
        found = program.module()(*batch.values())
    require_close(found, subject.answers(batch), "The exported program answers {} away from the model.")


@check("Let no Python value depend on what tensors hold.")
def one_graph(subject: Subject) -> None:
    """torch.compile sees one graph."""
    batch = subject.batch()
    wrapped = Answers(copy.deepcopy(subject.redrawn), list(batch))
    torch.compiler.reset()
    compiled = torch.compile(wrapped, backend="eager", fullgraph=True)
    try:
        with tried("torch.compile(fullgraph=True)"), torch.no_grad():
            found = compiled(*batch.values())
    finally:
        torch.compiler.reset()
    require_close(found, subject.answers(batch), "The compiled model answers {} away from the model.")
