# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Padding changes nothing in models of one stack, and encoders compute for the tokens alone that somebody reads."""

import pytest
import torch
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
