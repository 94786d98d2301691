# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serve encoder-decoders: translations, whose beams and lengths a request chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from transformers import AutoModelForSeq2SeqLM

from ..bridges.model_sources import ask_for_mask, check_loaded, load_checkpoint, load_tokenizers, position_limit
from ..inference.loading import move
from ..pipelines import DEFAULT_NEW_TOKENS, TranslationPipeline
from ..tasks.answerer import Answer, Job, OneTextAnswerer, response
from ..tasks.requests import AnyOption, Option, Schema, array, record

MOST_BEAMS, MOST_NEW_TOKENS = 8, 256
GENERATION = {
    "num_beams": ("The number of beams.", 4),
    "max_new_tokens": ("The maximum number of tokens of a translation.", 32),
}


@dataclass
class Translation(OneTextAnswerer):
    """Translations. defaults: arguments of generate."""

    name: ClassVar[str] = "translate"
    summary: ClassVar[str] = "Translate texts."

    @property
    def options(self) -> Mapping[str, AnyOption]:
        chosen = {name: (*GENERATION[name], most) for name, most in self.limits.items()}
        return {name: Option(told, min(value, most), 1, most) for name, (told, value, most) in chosen.items()}

    @property
    def answers(self) -> Schema:
        return response(array(record({"translation_text": {"type": "string"}})))

    @property
    def no_answer(self) -> Answer:
        return [{"translation_text": ""}]

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        job, generation = super()._encode(text, options), {**self.defaults, **options}
        tokens = job.tokens * generation.get("num_beams", 1)  # each beam occupies a row of the batch
        return replace(job, tokens=tokens, options=tuple(sorted(generation.items())))

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        return [self.pipe.postprocess(each) for each in self.outputs(jobs, **dict(jobs[0].options))]

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        return [answer[0] for answer in answers] if is_list else answers[0]


def load_translation(
    name: str, device: str | None, trust_remote_code: bool, max_beams: int, max_new_tokens: int
) -> Translation:
    model, info = load_checkpoint(AutoModelForSeq2SeqLM, name, trust_remote_code, output_loading_info=True)
    check_loaded(model, info, "no trained generation head")
    source, target = load_tokenizers(name, trust_remote_code)
    ask_for_mask(source, model)
    move(model.eval(), device)
    pipe = TranslationPipeline(model=model, tokenizer=source, target_tokenizer=target, device=model.device)
    most = min(max_new_tokens, position_limit(model.config) or max_new_tokens)
    limits = {"num_beams": max_beams, "max_new_tokens": most}
    return Translation(pipe, limits, _defaults(model, limits))


def _defaults(model: Any, limits: Mapping[str, int]) -> dict[str, int]:
    """Return the generation options of the checkpoint or pipeline, within the server's limits."""
    settings = model.generation_config
    length = settings.max_new_tokens or (settings.max_length or 0) - 1  # max_length includes the start token
    if length < 1:
        positions = getattr(model.config, "max_position_embeddings", None)
        length = min(DEFAULT_NEW_TOKENS, positions or DEFAULT_NEW_TOKENS)
    defaults = {"num_beams": settings.num_beams or 1, "max_new_tokens": length}
    return {name: min(value, limits[name]) for name, value in defaults.items()} | {"num_return_sequences": 1}
