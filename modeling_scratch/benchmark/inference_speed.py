# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Inference workloads: classification of many texts, generation from prompts, and beam search over sentences."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from transformers import pipeline

from ..fast.text_classification import SortingTextClassificationPipeline
from ..inference.compiled import compile_generation
from ..modeling_base import ScratchPreTrainedModel
from ..utils.errors import DataError
from .data import draw_texts, on_device, train_tokenizer
from .models import CLASSIFIER, DECODER, TRANSLATOR, check_logits, difference, make_pair
from .settings import Settings
from .timing import Side, measure

INFERENCE_BATCH = 32
COUNTS = {"sst2": 960, "imdb": 96}  # texts per round
NEW_TOKENS = {"generate-gpt2": 128, "translate-marian": 32}


def infer(name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare pipelines, ours sorting by length; then the peer on sorted texts."""
    count = settings.few(COUNTS[name])
    texts, source = draw_texts(settings, name, count * settings.rounds)
    tokenizer = train_tokenizer(settings, texts)
    ours, peer = (_classifier(model, tokenizer, settings) for model in make_pair(CLASSIFIER, settings))
    found, expected = (torch.tensor([_positive(one) for one in answers(texts[:count])]) for answers in (ours, peer))
    agreement = difference(found, expected, settings.dtype).replace("logits", "scores")
    rounds = [texts[number * count : (number + 1) * count] for number in range(settings.rounds)]
    sorted_rounds = [sorted(one, key=len) for one in rounds]
    tokens = [float(sum(map(len, tokenizer(one, truncation=True)["input_ids"]))) for one in rounds]
    own = Side(lambda number: ours(rounds[number]), tokens)
    for setting, theirs in (("pipeline", rounds), ("pipeline, the peer's texts sorted by length", sorted_rounds)):
        other = Side(lambda number, theirs=theirs: peer(theirs[number]), tokens)  # type: ignore[misc]
        where = f"batch {INFERENCE_BATCH}, {source}, {setting}"
        yield measure(settings, f"infer-{name}", where, own, other, agreement)


def _classifier(model: Any, tokenizer: Any, settings: Settings) -> Callable[[list[str]], Any]:
    task: Any = "text-classification"
    sorts = {"pipeline_class": SortingTextClassificationPipeline} if isinstance(model, ScratchPreTrainedModel) else {}
    classify: Any = pipeline(task, model=model, tokenizer=tokenizer, device=settings.device, **sorts)  # type: ignore

    def answers(texts: list[str]) -> Any:
        with settings.autocast():
            return classify(texts, batch_size=INFERENCE_BATCH, truncation=True)

    return answers


def _positive(answer: dict[str, Any]) -> float:
    return answer["score"] if answer["label"] == "LABEL_1" else 1 - answer["score"]


def generate(settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare greedy generation for one prompt, and for a batch of eight prompts of different length.

    With --compile, each side compiles the pass of a token over a static cache: the peer as Transformers does.
    """
    models = make_pair(DECODER, settings)
    for model in models if settings.compile else ():
        compile_generation(model)
    for count in (1, 8):
        yield _generation("generate-gpt2", "sst2", count, models, settings, num_beams=1)


def translate(settings: Settings) -> Iterator[dict[str, Any]]:
    """Compare beam search with 4 beams on 32 sentences, with a fixed output length."""
    models = make_pair(TRANSLATOR, settings)
    yield _generation("translate-marian", "multi30k", 32, models, settings, num_beams=4)


def _generation(
    workload: str, name: str, count: int, models: tuple[Any, Any], settings: Settings, num_beams: int
) -> dict[str, Any]:
    texts, source = draw_texts(settings, name, 2000)
    tokenizer, new = train_tokenizer(settings, texts), settings.few(NEW_TOKENS[workload])
    tokenizer.padding_side = "right" if models[0].config.is_encoder_decoder else "left"
    inputs = tokenizer(texts[:count], padding=True, truncation=True, return_tensors="pt")
    inputs = on_device({name: inputs[name] for name in ("input_ids", "attention_mask")}, settings.device)
    for model in models:  # fixed length, without a logits processor that suppresses the end token
        model.generation_config.update(eos_token_id=None, forced_eos_token_id=None)

    def answer(model: Any) -> torch.Tensor:
        with settings.autocast():
            return model.generate(**inputs, max_new_tokens=new, do_sample=False, num_beams=num_beams)

    agreement = _check_generation(models, inputs, [answer(model) for model in models], settings)
    amounts = [float(count * new)] * settings.rounds
    ours, peer = (Side(lambda _, model=model: answer(model), amounts) for model in models)  # type: ignore[misc]
    setting = f"batch {count}, {source}, {new} new tokens, " + (f"beam {num_beams}" if num_beams > 1 else "greedy")
    if models[0].generation_config.cache_implementation:
        setting += ", compiled, static cache"
    return measure(settings, workload, setting, ours, peer, agreement)


def _check_generation(models: tuple[Any, Any], inputs: dict, answers: list[torch.Tensor], settings: Settings) -> str:
    """Check for equal logits and, in full precision, equal tokens."""
    batch = dict(inputs)
    if models[0].config.is_encoder_decoder:
        batch["decoder_input_ids"] = answers[1][:, :-1]
    else:  # as generate() counts them: the peer's own forward would count padding
        batch["position_ids"] = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    agreement = check_logits(*models, batch, batch, settings, real=inputs["attention_mask"])
    if settings.dtype == "float32" and not torch.equal(*answers):
        raise DataError("the two sides generate different tokens; not timed")
    return f"{agreement}, the same tokens" if settings.dtype == "float32" else agreement
