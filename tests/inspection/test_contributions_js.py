# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What adds up to an answer: the page's JavaScript against gradients of PyTorch with the norms' divisors fixed."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any

import pytest
import torch
from shared import redraw
from test_explanation import TEXT, TOKENIZER, model_of
from test_forward_js import Run, computed, of_page
from torch import Tensor, nn

import modeling_scratch as scratch
from modeling_scratch import fast
from modeling_scratch.inspection.recorder import record

CLASSIFIER = scratch.ScratchEncoderForSequenceClassification
SUMS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (CLASSIFIER, {"classifier_norm": True, "num_labels": 3}),
    (CLASSIFIER, {"norm_position": "sandwich", "norm_type": "rms_norm", "position_type": "sinusoidal"}),
    (CLASSIFIER, {"classifier_pooling": "first", "embedding_norm": True}),
    (CLASSIFIER, {"type_vocab_size": 2, "position_type": "learned"}),
    (scratch.ScratchDecoderForSequenceClassification, {"norm_position": "output", "position_type": "learned"}),
    (scratch.ScratchDecoderForCausalLM, {"block_type": "parallel", "tie_word_embeddings": False}),
    (CLASSIFIER, {"num_hidden_layers": 0, "final_norm": False, "embedding_norm": False, "position_type": "none"}),
)
SWITCHED_OFF: tuple[dict[str, Any], ...] = (
    {"heads": {"model.stack.layers.0.attention": [0, 1]}},
    {"layers": ("model.stack.layers.0",)},
    {"layers": ("model.stack.layers.0", "model.stack.layers.1"), "broken": ("positions",)},
)


def summing(model_class: Any, settings: dict[str, Any]) -> Any:
    given = {"norm_position": "pre", "num_labels": 2, "classifier_pooling": "mean", "num_hidden_layers": 2, **settings}
    return redraw(model_of(model_class, **given))


@pytest.fixture(scope="module")
def models() -> list[Any]:
    return [summing(*case) for case in SUMS]


def inputs_of(model: Any) -> dict[str, Tensor]:
    """Of a text whose tokens stand there twice."""
    return {"input_ids": torch.tensor([TOKENIZER(f"{TEXT} {TEXT}")["input_ids"]])}


def of_pages(models: list[Any], **off: Any) -> list[dict[str, Any]]:
    """Of the label 1, or the token 1, less the mean of the others."""
    counts = [model(**inputs_of(model)).logits.shape[-1] for model in models]
    runs = [Run(model, inputs_of(model), **off) for model in models]
    return computed(runs, [{"contributions": [1, -1 / (count - 1)]} for count in counts])


@contextmanager
def linear_norms(model: Any) -> Iterator[None]:
    """Norms behind the residual stream divide by a constant, by which they divide here."""

    def divided(norm: Any, inputs: tuple[Tensor, ...], _: Tensor) -> Tensor:
        (x,) = inputs
        x = x - x.mean(-1, keepdim=True) if isinstance(norm, nn.LayerNorm) else x
        x = x / (x.square().mean(-1, keepdim=True) + norm.eps).sqrt().detach() * norm.weight
        return x if getattr(norm, "bias", None) is None else x + norm.bias

    norms = [model.model.stack.norm, getattr(getattr(model, "classifier", None), "norm", None)]
    with ExitStack() as hooks:
        for norm in norms:
            if norm is not None and not isinstance(norm, nn.Identity):
                hooks.enter_context(norm.register_forward_hook(divided))
        yield


def expected(model: Any) -> tuple[float, dict[tuple[str, int | None], float], dict[int, float]]:
    """The score, its parts, and what each token adds, by the gradient of the score at the last block's output."""
    recorded, kept = record(model, **inputs_of(model)).keys, []
    last = [model.model.embeddings, *model.model.stack.layers][-1]
    with fast.disabled(), linear_norms(model), last.register_forward_hook(lambda _, __, x: kept.append(x)):
        logits = model(**inputs_of(model)).logits.flatten(0, -2)[-1]
        value = logits[1] - (logits.sum() - logits[1]) / (len(logits) - 1)
        (gradient,) = torch.autograd.grad(value, kept[0])

    def share(x: Tensor) -> float:
        return (x * gradient).sum().item()

    layers = [f"model.stack.layers.{layer}" for layer in range(len(model.model.stack.layers))]
    stream = [recorded[name].tensor for name in ("model.embeddings", *layers)]
    parts = {("embeddings", None): share(stream[0]), ("bias", None): value.item() - share(stream[-1])}
    for layer, (before, after) in enumerate(pairwise(stream)):
        middle = recorded[f"{layers[layer]}.attention_residual.after"].tensor
        parts |= {("attention", layer + 1): share(middle - before), ("feed_forward", layer + 1): share(after - middle)}
    rows, ids = recorded["model.embeddings.tokens"].tensor, inputs_of(model)["input_ids"]
    tokens = {id: share(rows * (ids == id)[..., None]) for id in ids.unique().tolist()}
    return value.item(), parts, tokens


def test_parts_and_tokens_are_those_of_the_gradient(models: list[Any]) -> None:
    close = {"rel": 1e-4, "abs": 1e-4}
    for model, found in zip(models, of_pages(models), strict=True):
        value, parts, tokens = expected(model)
        ids = inputs_of(model)["input_ids"][0].tolist()
        assert found["value"] == pytest.approx(value, **close)
        assert sum(part["value"] for part in found["parts"]) == pytest.approx(value, **close)
        first = sum(part["value"] for part in found["parts"] if part["layer"] is None and part["name"] != "bias")
        assert first == pytest.approx(parts["embeddings", None], **close)
        for part in found["parts"]:
            key = part["name"], part["layer"]
            assert part["value"] == pytest.approx(parts.get(key, part["value"]), **close)
            if part["name"] == "block":
                both = parts["attention", part["layer"]] + parts["feed_forward", part["layer"]]
                assert part["value"] == pytest.approx(both, **close)
        for piece in found["pieces"]:
            token = ids[piece["first"]]
            assert (piece["first"], piece["count"]) == (ids.index(token), ids.count(token))
            assert piece["value"] == pytest.approx(tokens[token], **close)


def test_parts_have_the_names_of_what_the_model_has(models: list[Any]) -> None:
    names = [[part["name"] for part in found["parts"] if part["layer"] is None] for found in of_pages(models)]
    positions = ["tokens", "positions", "bias"]
    assert names[1:] == [
        positions, ["embeddings", "bias"], ["tokens", "positions_token_types", "bias"], positions,
        names[5], ["tokens", "bias"],
    ]  # fmt: skip


@pytest.mark.parametrize("off", SWITCHED_OFF, ids=["heads", "layer", "layers and positions"])
def test_what_is_left_adds_up_while_parts_are_off(off: dict[str, Any], models: list[Any]) -> None:
    for found in of_pages(models[:-1], **off):
        assert sum(part["value"] for part in found["parts"]) == pytest.approx(found["value"], rel=1e-4, abs=1e-4)
        for part in found["parts"]:
            if part["layer"] is not None and f"model.stack.layers.{part['layer'] - 1}" in off.get("layers", ()):
                assert part["value"] == 0


@pytest.mark.parametrize("settings", [{"norm_position": "post"}, {"classifier_pooling": "max"},
                                      {"classifier_activation": "tanh"}], ids=str)  # fmt: skip
def test_an_answer_that_is_no_sum_has_no_parts(settings: dict[str, Any]) -> None:
    config = {"norm_position": "pre", "classifier_activation": None, "classifier_pooling": "mean"}
    written = [json.dumps({"class": CLASSIFIER.__name__, "config": each}) for each in (config, {**config, **settings})]
    assert of_page(["contributions"], f"[{', '.join(f'isSum({each})' for each in written)}]") == [True, False]
