# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The recorder sees every tensor, names its line of code, and leaves the model as it was."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from model_cases import CASES, CAUSAL_LM, TEXTS, Case, in_turn
from torch import Tensor
from toy_text import toy_tokenizer
from transformers import DistilBertConfig, DistilBertModel

import modeling_scratch
from modeling_scratch import fast
from modeling_scratch.inspection.program import load_explained
from modeling_scratch.inspection.recorder import record
from modeling_scratch.utils.errors import DataError

PACKAGE = Path(modeling_scratch.__file__).parent


def state(model: torch.nn.Module) -> list[object]:
    """What a recording could leave behind: hooks, modes, own forwards, backends, the engine, a trace function."""
    modules = list(model.modules())
    hooks = [len(each._forward_hooks) + len(each._forward_pre_hooks) + len(each._backward_hooks) for each in modules]
    modes = [(each.training, "forward" in vars(each)) for each in modules]
    return [hooks, modes, model.config._attn_implementation, fast.is_enabled(), sys.gettrace()]


def tensors(output: object) -> Iterator[Tensor]:
    return (each for each in vars(output).values() if isinstance(each, Tensor))


@in_turn(CASES, backends=("eager",))
def test_outputs_are_those_of_the_model_bit_for_bit(case: Case, settings: dict) -> None:
    """And weights, modes and hooks are as before, of a model in training mode."""
    model = case.model(**settings).train()
    before, weights = state(model), {name: value.clone() for name, value in model.state_dict().items()}
    recording = record(model, **case.inputs())
    assert state(model) == before
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    with fast.disabled(), torch.no_grad():
        expected = model.eval()(**case.inputs())
    pairs = list(zip(tensors(recording.output), tensors(expected), strict=True))
    assert pairs
    assert all(torch.equal(one, other) for one, other in pairs)
    made = [step.tensor for step in recording.steps]
    assert all(any(each.shape == one.shape and torch.equal(each, one) for each in made) for one, _ in pairs)


@in_turn((TEXTS, CAUSAL_LM), backends=("eager",))
def test_every_layer_is_recorded_with_its_output(case: Case, settings: dict) -> None:
    """Compared with what hooks see. Each line of code is that of its file."""
    model, seen = case.model(**settings), {}
    recording = record(model, **case.inputs())
    for path, module in model.named_modules():
        module.register_forward_hook(lambda _, __, output, path=path: seen.update({path: output}))
    with fast.disabled(), torch.no_grad():
        model(**case.inputs())
    found = {path: output for path, output in seen.items() if isinstance(output, Tensor)}
    for path, output in found.items():
        if not isinstance(model.get_submodule(path), torch.nn.Identity | torch.nn.Dropout):
            assert torch.equal(recording.keys[path].tensor, output), path
    weights = recording.keys["model.stack.layers.1.attention.weights"].tensor
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    for step in recording.steps:
        lines = (PACKAGE / step.code.file).read_text(encoding="utf-8").splitlines()[step.code.line - 1 : step.code.end]
        assert [line.strip() for line in step.code.text.splitlines()] == [line.strip() for line in lines]


def test_the_inputs_of_a_step_make_its_tensor() -> None:
    """Calculated again from the recorded inputs alone."""
    model = TEXTS.model(norm_position="pre", position_type="rotary", num_key_value_heads=2)
    recording = record(model, **TEXTS.inputs())
    parameters, count = dict(model.named_parameters()), 0
    functions = {"linear": torch.nn.functional.linear, "matmul": torch.matmul}
    for step in recording.steps:
        if step.op in functions:
            inputs = [
                recording.steps[each].tensor if isinstance(each, int) else parameters[each] for each in step.inputs
            ]
            torch.testing.assert_close(functions[step.op](*inputs), step.tensor, atol=0, rtol=0)
            count += 1
    assert count == 2 * (6 + 2) + 1  # of each layer six projections and two products, and the head


def test_changed_source_changes_the_record(tmp_path: Path) -> None:
    """A saved folder brings its code along: with trust, that code runs, and that code is shown."""
    TEXTS.model().save_pretrained(tmp_path)
    path = tmp_path / "attention.py"
    line = "scores = query @ key.transpose(-2, -1) * scaling"
    path.write_text(path.read_text(encoding="utf-8").replace(line, f"cooling = 0.5\n    {line} * cooling"))
    toy_tokenizer().save_pretrained(tmp_path)
    changed, _ = load_explained(str(tmp_path), trust_remote_code=True)
    own, other = (record(model, **TEXTS.inputs()) for model in (TEXTS.model(), changed))
    name = "model.stack.layers.0.attention.scores"
    expected, found = (next(step for step in each.steps if name in step.names) for each in (own, other))
    assert [step.code.text.partition("  #")[0] for step in (expected, found)] == [line, f"{line} * cooling"]
    assert any(step.variable == "scores" and step.code.line == found.code.line for step in other.steps)
    torch.testing.assert_close(found.tensor, expected.tensor * 0.5)


def test_a_refused_input_or_model_leaves_nothing_behind() -> None:
    model = TEXTS.model().train()
    other = DistilBertModel(DistilBertConfig(vocab_size=9, dim=8, n_layers=1, n_heads=2, hidden_dim=8))
    before = state(model)
    with pytest.raises(IndexError, match="input_ids from 900"):
        record(model, input_ids=torch.full((1, 3), 900))
    with pytest.raises(DataError, match=r"DistilBertModel.*load_pretrained"):
        record(other, input_ids=torch.ones(1, 2, dtype=torch.long))
    assert state(model) == before
