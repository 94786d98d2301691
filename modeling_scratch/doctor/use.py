# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of what people do with a model: generate, pipelines, export and compilation.

Each takes a `Subject` and raises `FallsShort`, or `DoesNotApply`.
"""

import copy
import tempfile
from typing import Any

import torch
from torch import Tensor, nn
from transformers import pipeline

from .findings import FallsShort, only_if, require, told
from .subject import LENGTH, SHORTER, TOLERANCE, Subject, distance, run, values

NEW_TOKENS = 4
TASKS = {
    "sequence": "text-classification",
    "token": "token-classification",
    "masked": "fill-mask",
    "causal": "text-generation",
    "base": "feature-extraction",
}
TEXT = "A text."


def generation(subject: Subject) -> None:
    """With a cache, without, and with a static one, greedy search writes the same."""
    only_if(subject.model.can_generate(), "The model does not generate.")
    wanted = _generate(subject, use_cache=False)
    caches: dict[str, dict[str, Any]] = {
        "a cache": {"use_cache": True},
        "a static cache": {"cache_implementation": "static"},
    }
    for name, options in caches.items():
        found = _generate(subject, **options)
        require(torch.equal(found, wanted), f"With {name}, greedy search writes other tokens than without a cache.")


def generation_padded(subject: Subject) -> None:
    """A prompt beside a longer one is padded on the left."""
    only_if(subject.model.can_generate(), "The model does not generate.")
    only_if(not subject.is_seq2seq, "Prompts of an encoder-decoder are read by the encoder.")
    short, long = subject.ids(SHORTER, seed=1), subject.ids(LENGTH)
    together = _generate(subject, [short, long])[0, -NEW_TOKENS:]
    alone = _generate(subject, [short])[0, -NEW_TOKENS:]
    require(torch.equal(together, alone), "Beside a longer prompt, a prompt is continued otherwise than alone.")


def beam_search(subject: Subject) -> None:
    only_if(subject.model.can_generate(), "The model does not generate.")
    found, wanted = (_generate(subject, num_beams=3, use_cache=cached) for cached in (True, False))
    require(torch.equal(found, wanted), "With a cache, beam search writes other tokens than without.")


def _generate(subject: Subject, texts: list[Tensor] | None = None, **options: Any) -> Tensor:
    batch = subject.batch(texts or [subject.ids()], side="left")
    batch.pop("decoder_input_ids", None)
    lengths = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "pad_token_id": subject.pad_token_id}
    model: Any = subject.redrawn
    return model.generate(**batch, do_sample=False, **lengths, **options)


def pipelines(subject: Subject) -> None:
    """From the object, and from a saved folder."""
    only_if(subject.tokenizer is not None, "No tokenizer was given.")
    task: Any = TASKS.get(subject.head)
    only_if(task, "transformers has no pipeline for its task.")
    text = f"A {subject.tokenizer.mask_token}." if subject.head == "masked" else TEXT
    only_if(subject.head != "masked" or subject.tokenizer.mask_token, "The tokenizer has no mask token.")
    options: Any = {"max_new_tokens": 2} if subject.head == "causal" else {}
    found = _piped(task, "", text, options, model=subject.model, tokenizer=subject.tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        subject.model.save_pretrained(folder)
        subject.tokenizer.save_pretrained(folder)
        again = _piped(task, " of its folder", text, options, model=folder, trust_remote_code=subject.trusts_code)
    require(subject.head == "causal" or str(found) == str(again), "The pipeline of its folder answers otherwise.")


def _piped(task: Any, whose: str, text: str, options: dict[str, Any], **made: Any) -> Any:
    """Return what a pipeline answers to a text. Raises `FallsShort` if it cannot be made, or fails."""
    try:
        return pipeline(task, device="cpu", **made)(text, **options)
    except Exception as error:  # whatever the model or the library raises
        raise FallsShort(f"pipeline({task!r}){whose} fails: {told(error)}") from error


class Answers(nn.Module):
    """A model as a function of its inputs by position."""

    def __init__(self, model: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Tensor) -> Tensor:
        return values(self.model(**dict(zip(self.names, inputs)), return_dict=True))


def export(subject: Subject) -> None:
    batch = subject.batch()
    model = copy.deepcopy(subject.redrawn)
    if subject.reads("use_cache"):
        model.config.use_cache = False
    wrapped = Answers(model, list(batch))
    program = torch.export.export(wrapped, tuple(batch.values()), strict=False)
    with torch.no_grad():
        apart = distance(program.module()(*batch.values()), values(run(subject.redrawn, batch)))
    require(apart < TOLERANCE, f"The exported program answers {apart:.2g} away from the model.")


def one_graph(subject: Subject) -> None:
    batch = subject.batch()
    wrapped = Answers(copy.deepcopy(subject.redrawn), list(batch))
    torch.compiler.reset()
    compiled = torch.compile(wrapped, backend="eager", fullgraph=True)
    try:
        with torch.no_grad():
            found = compiled(*batch.values())
    except Exception as error:  # dynamo raises many types
        raise FallsShort(f"torch.compile(fullgraph=True) fails: {told(error)}") from error
    finally:
        torch.compiler.reset()
    apart = distance(found, values(run(subject.redrawn, batch)))
    require(apart < TOLERANCE, f"The compiled model answers {apart:.2g} away from the model.")
