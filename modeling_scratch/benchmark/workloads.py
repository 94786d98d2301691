# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The workloads: training a classifier, classification of many texts, generation, and beam search over sentences.

Each yields the rows of its settings, ours beside the peer's.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from transformers import pipeline

from ..fast.text_classification import SortingTextClassificationPipeline
from ..inference.compiled import compile_generation
from ..modeling_base import ScratchPreTrainedModel
from ..utils.errors import DataError
from .data import draw_texts, grouped_by_length, in_random_order, on_device, packed, padded, train_tokenizer
from .models import CLASSIFIER, DECODER, TRANSLATOR, Kind, check_logits, difference, make_pair, training_step
from .settings import Settings
from .timing import measure

Row = dict[str, Any]
SIDES = "ours", "peer"
BATCHES = {"sst2": (64, 8), "imdb": (16, 4)}  # texts per batch, and batches per round
INFERENCE_BATCH = 32
COUNTS = {"sst2": 960, "imdb": 96}  # texts per round


def train(name: str, settings: Settings) -> Iterator[Row]:
    """Compare on random batches, then with the peer's batches grouped by length, then both grouped.

    Ours are padded on a CPU, where the model packs internally, and packed on an accelerator. A rate is of real tokens.
    """
    size, steps = settings.batch_size or BATCHES[name][0], settings.few(BATCHES[name][1])
    texts, source = draw_texts(settings, name, size * max(steps * settings.rounds, settings.few(64)))
    tokenizer = train_tokenizer(settings, texts)
    rows = tokenizer(texts, truncation=True)["input_ids"]
    random, grouped = (draw(rows, size, steps, settings.rounds) for draw in (in_random_order, grouped_by_length))
    peers_form = partial(padded, tokenizer)
    forms = peers_form if settings.device == "cpu" else packed, peers_form
    ours, peer = make_pair(CLASSIFIER, settings)
    own, batch = (on_device(form(random[0][0]), settings.device) for form in forms)
    agreement = check_logits(ours, peer, batch, own, settings)
    steps_of = [training_step(model, settings) for model in (ours, peer)]
    for order, drawn in (
        ("both in random order", (random, random)),
        ("the peer's grouped by length, ours in random order", (random, grouped)),
        ("both grouped by length", (grouped, grouped)),
    ):
        sides, tokens = {}, {}
        for side, step, form, rounds in zip(SIDES, steps_of, forms, drawn):
            batches = [[on_device(form(rows), settings.device) for rows in each] for each in rounds]
            sides[side] = step, batches
            tokens[side] = [sum(len(ids) for rows in each for ids in rows) for each in rounds]
        yield measure(settings, f"train-{name}", f"batch {size}, {source}, {order}", sides, tokens, agreement)


def infer(name: str, settings: Settings) -> Iterator[Row]:
    """Compare pipelines, ours sorting by length; then the peer on sorted texts."""
    count = settings.few(COUNTS[name])
    texts, source = draw_texts(settings, name, count * settings.rounds)
    tokenizer = train_tokenizer(settings, texts)
    ours, peer = (_classifier(model, tokenizer, settings) for model in make_pair(CLASSIFIER, settings))
    found, expected = (torch.tensor([_positive(one) for one in answers(texts[:count])]) for answers in (ours, peer))
    agreement = difference(found, expected, settings.dtype).replace("logits", "scores")
    rounds = [[texts[number * count : (number + 1) * count]] for number in range(settings.rounds)]
    tokens = [sum(map(len, tokenizer(one, truncation=True)["input_ids"])) for [one] in rounds]
    for setting, theirs in (
        ("pipeline", rounds),
        ("pipeline, the peer's texts sorted by length", [[sorted(one, key=len)] for [one] in rounds]),
    ):
        sides, where = {"ours": (ours, rounds), "peer": (peer, theirs)}, f"batch {INFERENCE_BATCH}, {source}, {setting}"
        yield measure(settings, f"infer-{name}", where, sides, dict.fromkeys(SIDES, tokens), agreement)


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


def generate(
    workload: str, kind: Kind, data: str, counts: tuple[int, ...], new: int, beams: int, settings: Settings
) -> Iterator[Row]:
    """Compare greedy or beam search of a fixed length, for batches of so many texts.

    With --compile, each side compiles the pass of a token over a static cache: the peer as Transformers does.
    """
    models, new = make_pair(kind, settings), settings.few(new)
    for model in models:  # fixed length, without a logits processor that suppresses the end token
        model.generation_config.update(eos_token_id=None, forced_eos_token_id=None)
        if settings.compile and kind is DECODER:
            compile_generation(model)
    texts, source = draw_texts(settings, data, 2000)
    tokenizer = train_tokenizer(settings, texts)
    tokenizer.padding_side = "right" if models[0].config.is_encoder_decoder else "left"

    def answer(model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        with settings.autocast():
            return model.generate(**inputs, max_new_tokens=new, do_sample=False, num_beams=beams)

    for count in counts:
        inputs = tokenizer(texts[:count], padding=True, truncation=True, return_tensors="pt")
        inputs = on_device({name: inputs[name] for name in ("input_ids", "attention_mask")}, settings.device)
        agreement = _check_generation(models, inputs, [answer(model, inputs) for model in models], settings)
        sides = {side: (partial(answer, model), [[inputs]] * settings.rounds) for side, model in zip(SIDES, models)}
        setting = f"batch {count}, {source}, {new} new tokens, " + (f"beam {beams}" if beams > 1 else "greedy")
        if models[0].generation_config.cache_implementation:
            setting += ", compiled, static cache"
        tokens = dict.fromkeys(SIDES, [count * new] * settings.rounds)
        yield measure(settings, workload, setting, sides, tokens, agreement)


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


WORKLOADS: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "train-sst2": partial(train, "sst2"),
    "train-imdb": partial(train, "imdb"),
    "infer-sst2": partial(infer, "sst2"),
    "infer-imdb": partial(infer, "imdb"),
    "generate-gpt2": partial(generate, "generate-gpt2", DECODER, "sst2", (1, 8), 128, 1),
    "translate-marian": partial(generate, "translate-marian", TRANSLATOR, "multi30k", (32,), 32, 4),
}
