# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Padding changes nothing in models of one stack, and encoders compute for the tokens alone that somebody reads."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    DECODERS,
    ENCODERS,
    HEADS,
    MASK,
    MASKED_LM,
    POSITIONS,
    TEXTS,
    Case,
    assert_close,
    engines,
    in_turn,
    of_real_tokens,
    padded,
    texts,
)
from shared import watch


@engines
@pytest.mark.parametrize(
    ("case", "settings"), [*in_turn(ENCODERS, POSITIONS).args[1], *in_turn(DECODERS, POSITIONS).args[1]]
)
def test_padding_changes_nothing(case: Case, settings: dict) -> None:
    """A batch equals its texts one by one, whichever side is padded, however far and with whatever."""
    model = case.model(**settings)
    singles = [model(row[None]) for row in texts()]
    for side, length, filler in ("right", 9, 0), ("left", 13, 7):
        batch = padded(texts(), side, length, filler)
        for name, value in model(**batch).items():
            of_tokens = value.shape[:2] == batch["attention_mask"].shape
            expected = torch.cat([single[name][0] if of_tokens else single[name] for single in singles])
            assert_close(of_real_tokens(value, batch["attention_mask"]), expected)


@engines
@in_turn(HEADS)
def test_texts_without_tokens(case: Case, settings: dict) -> None:
    """Nothing to see in them: finite numbers, and the other texts are as they were."""
    model, inputs = case.model(**settings), case.inputs()
    expected = model(**inputs)
    for empty in [1], [0, 1, 2]:
        mask = MASK.index_fill(0, torch.tensor(empty), 0)
        others = [i for i in range(len(MASK)) if i not in empty]
        for name, value in model(**{**inputs, "attention_mask": mask}).items():
            assert value.isfinite().all()
            found, same = (of_real_tokens(each[others], MASK[others]) for each in (value, expected[name]))
            assert_close(found, same)


def test_sparse_prediction_sends_the_labelled_tokens_alone_through_the_head() -> None:
    batch = MASKED_LM.batch()
    labelled = batch["labels"] != -100
    everywhere, sparse = (MASKED_LM.model(sparse_prediction=choice) for choice in (False, True))
    expected, found = everywhere(**batch), sparse(**batch)
    torch.testing.assert_close(found.loss, expected.loss)
    torch.testing.assert_close(found.logits, expected.logits[labelled])
    expected.loss.backward()
    found.loss.backward()
    for one, other in zip(everywhere.parameters(), sparse.parameters()):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4)
    unlabelled = {name: value for name, value in batch.items() if name != "labels"}
    assert sparse(**unlabelled).logits.shape[:2] == labelled.shape
    assert sparse(**unlabelled, labels=torch.full_like(batch["labels"], -100)).loss == 0


def test_where_one_token_asks_weights_are_dropped_as_anywhere() -> None:
    """The mean and the spread over many draws are those of the layer that projects keys and values for all."""
    model = TEXTS.model(classifier_pooling="first", attention_dropout=0.3, position_type="learned", num_hidden_layers=1)
    attention = model.model.stack.layers[-1].attention
    asked: list[torch.Tensor] = []
    watch(attention.o_proj, asked.append)
    inputs = TEXTS.inputs()
    with torch.no_grad():
        model.train().model.embeddings.dropout.p = 0.0
        for draw in range(200):
            if draw == 100:
                watch(attention.k_proj, lambda _: None)
            torch.manual_seed(draw % 100)
            model(**inputs)
    shortened, whole = torch.stack(asked[:100]), torch.stack(asked[100:])
    error = (shortened.mean(0) - whole.mean(0)).abs() / (whole.std(0) / 100**0.5 + 1e-6)
    assert error.mean() < 1.5  # in standard errors, of two means
    torch.testing.assert_close(shortened.std(0).mean(), whole.std(0).mean(), rtol=0.05, atol=0)


class Quantised(torch.Tensor):
    """What libraries make of weights of fewer bits: the layer looks as it did, and few operations work."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert function is not torch.cat, "nobody but its layer works with this weight"
        if function is not F.linear:
            return super().__torch_function__(function, types, args, kwargs or {})
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args)


def test_weights_of_fewer_bits_are_used_by_their_layer_alone() -> None:
    model = TEXTS.model(classifier_pooling="first", position_type="learned").eval()
    expected = model(**TEXTS.inputs()).logits
    layer = model.model.stack.layers[-1].attention.v_proj
    layer.weight = torch.nn.Parameter(layer.weight.detach().as_subclass(Quantised))
    with torch.no_grad():
        torch.testing.assert_close(model(**TEXTS.inputs()).logits, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_half_precision_are_finite_where_one_token_asks(dtype: torch.dtype) -> None:
    """Rows hold different numbers of texts, and scores are large: what is masked must stay finite."""
    model = TEXTS.model(classifier_pooling="first", position_type="learned", attention_dropout=0.0)
    for name, parameter in model.named_parameters():
        if "q_proj" in name or "k_proj" in name:
            parameter.data *= 12
    model.to(dtype)
    ids = torch.arange(1, 41).view(4, 10)
    for lengths in ([9, 3, 3, 3], [9, 4, 3, 2], [10, 5, 5, 10]):
        mask = (torch.arange(10) < torch.tensor(lengths)[:, None]).long()
        model(ids, mask).logits.float().square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
