# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compiled and exported models compute what they compute when run line by line, for every size of batch.

Of every class with every switch in turn: see the doctor's check one_graph in test_hf_behaviour.py.
"""

from collections.abc import Iterator

import pytest
import torch
from model_cases import CAUSAL_LM, HEADS, SWITCHES, TEXTS, Batch, Case, assert_same_outputs, in_turn

SETTINGS = {**SWITCHES["learned-token_types"], "num_hidden_layers": 1}


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def larger(batch: Batch) -> Batch:
    """Five texts of eleven tokens."""
    wide = {
        name: torch.cat((value, value[:, :2]), dim=1) if value.ndim == 2 else value for name, value in batch.items()
    }
    return {name: torch.cat((value, value[:2])) for name, value in wide.items()}


def test_one_graph_holds_all_of_a_model() -> None:
    """No break in it, loss included, and it fits batches of other sizes without compiling again."""
    from torch._dynamo.testing import CompileCounter  # takes a second

    model, counter = CAUSAL_LM.model(**SETTINGS), CompileCounter()
    compiled = torch.compile(model, backend=counter, fullgraph=True, dynamic=True)
    for batch in CAUSAL_LM.batch(), larger(CAUSAL_LM.batch(seed=1)):
        assert_same_outputs(compiled(**batch), model(**batch), atol=1e-5, where=batch["attention_mask"])
    assert counter.frame_count == 1


@pytest.mark.slow
@in_turn(HEADS)
def test_compiled_code_computes_the_same_loss_and_gradients(case: Case, settings: dict) -> None:
    model, reference = case.model(**settings), case.model(**settings)
    compiled = torch.compile(model, fullgraph=True, dynamic=True)
    for batch in case.batch(), larger(case.batch(seed=1)):
        outputs, expected = compiled(**batch), reference(**batch)
        assert_same_outputs(outputs, expected, atol=1e-5, where=batch["attention_mask"])
        outputs.loss.backward()
        expected.loss.backward()
    for parameter, other in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, other.grad, atol=1e-5, rtol=1e-4)


def test_an_exported_model_takes_any_batch() -> None:
    model, inputs = TEXTS.model(**SETTINGS), TEXTS.inputs()
    sizes = {name: {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC} for name in inputs}
    exported = torch.export.export(model, (), inputs, dynamic_shapes=sizes).module()
    for batch in inputs, larger(TEXTS.inputs(seed=1)):
        assert_same_outputs(exported(**batch), model(**batch), atol=1e-5, where=batch["attention_mask"])
