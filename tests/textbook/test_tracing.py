# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compiled and exported models compute what they compute when run line by line, for every size of batch."""

from collections.abc import Iterator

import pytest
import torch
from model_cases import CASES, CAUSAL_LM, HEADS, SWITCHES, TEXTS, Batch, Case, assert_same_outputs, in_turn
from torch._dynamo.testing import CompileCounter

# Two classes are compiled by default, each takes seconds.
CLASSES = [
    pytest.param(case, id=case.model_class.__name__, marks=() if case in (TEXTS, CAUSAL_LM) else pytest.mark.slow)
    for case in CASES
]
every_class = pytest.mark.parametrize("case", CLASSES)
settings_in_turn = pytest.mark.parametrize(
    "settings",
    [
        pytest.param(settings, id=name, marks=() if "learned" in name else pytest.mark.slow)
        for name, settings in SWITCHES.items()
        if "untied" not in name
    ],
)


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


@settings_in_turn
@every_class
def test_one_graph_holds_all_of_a_model(case: Case, settings: dict) -> None:
    """No break in it, loss included, and it fits batches of other sizes without compiling again."""
    model = case.model(**settings, problem_type="single_label_classification")
    counter = CompileCounter()
    compiled = torch.compile(model, backend=counter, fullgraph=True, dynamic=True)
    for batch in case.batch(), larger(case.batch(seed=1)):
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


@pytest.mark.parametrize("backend", ["sdpa", pytest.param("eager", marks=pytest.mark.slow)])
@settings_in_turn
@every_class
def test_an_exported_model_takes_any_batch(case: Case, settings: dict, backend: str) -> None:
    model = case.model(**settings, attn_implementation=backend)
    inputs = case.inputs()
    sizes = {name: {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC} for name in inputs}
    exported = torch.export.export(model, (), inputs, dynamic_shapes=sizes).module()
    for batch in inputs, larger(case.inputs(seed=1)):
        assert_same_outputs(exported(**batch), model(**batch), atol=1e-5, where=batch["attention_mask"])
