# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""TransformerLens's bridge reads scratch models, finds their adapter by itself, and edits what they compute with."""

from configparser import ConfigParser
from importlib.metadata import EntryPoint
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import CASES, CAUSAL_LM, ENCODERS, MASKED_LM, SEQ2SEQ_LM, SEQ2SEQS, SWITCHES, Case, in_turn
from native_models import Native
from torch import Tensor

from modeling_scratch import fast, load_pretrained

factories = pytest.importorskip("transformer_lens.factories.architecture_adapter_factory")
sources = pytest.importorskip("transformer_lens.model_bridge.sources")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

GROUP = "transformer_lens.architectures"
LAYERS = 2


def entry_points() -> list[EntryPoint]:
    """Those of setup.cfg, which an installed package has."""
    parser = ConfigParser()
    parser.read(Path(__file__).resolve().parents[2] / "setup.cfg", encoding="utf-8")
    lines = parser["options.entry_points"][GROUP].strip().splitlines()
    return [EntryPoint(*(part.strip() for part in line.split("=")), GROUP) for line in lines]


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    for point in entry_points():
        factories.ArchitectureAdapterFactory.register_adapter(point.name, point.load())


def bridge_of(model: Any) -> Any:
    return sources.build_bridge_from_module(model, type(model).__name__, hf_config=model.config)


def test_every_class_has_an_entry_point() -> None:
    assert {point.name for point in entry_points()} == {case.model_class.__name__ for case in CASES}


def states(outputs: Any, side: str = "") -> dict[str, Tensor]:
    """The residual stream and the attention patterns, under the names of TransformerLens."""
    name = f"{side}_" if side else ""
    found = {}
    for layer in range(LAYERS):
        found[f"{name}blocks.{layer}.hook_resid_pre"] = outputs[f"{name}hidden_states"][layer]
        found[f"{name}blocks.{layer}.attn.hook_pattern"] = outputs[f"{name}attentions"][layer]
        if side == "decoder":
            found[f"{name}blocks.{layer}.cross_attn.hook_pattern"] = outputs.cross_attentions[layer]
    return found


@in_turn(CASES, SWITCHES)
def test_a_cache_holds_what_the_model_computes(case: Case, settings: dict[str, Any]) -> None:
    model, inputs = case.model(**settings), case.inputs()
    model.set_attn_implementation("eager")
    with torch.no_grad(), fast.disabled():
        expected = model(**inputs, output_hidden_states=True, output_attentions=True)
    bridge, ids = bridge_of(model), inputs.pop("input_ids")
    with torch.no_grad():
        output, cache = bridge.run_with_cache(ids, **inputs)
    for side in ("encoder", "decoder") if case in SEQ2SEQS else ("",):
        for name, value in states(expected, side).items():
            torch.testing.assert_close(cache[name], value, atol=1e-5, rtol=0)
    if "logits" in expected:
        torch.testing.assert_close(output, expected.logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("position_type", ["alibi", "relative"])
@pytest.mark.parametrize("case", [MASKED_LM, CAUSAL_LM, SEQ2SEQ_LM], ids=lambda case: case.model_class.__name__)
def test_biases_of_positions_are_in_the_scores(case: Case, position_type: str) -> None:
    test_a_cache_holds_what_the_model_computes(case, {"position_type": position_type})


NATIVES = Native("bert", "ScratchEncoderForMaskedLM"), Native("gpt2", "ScratchDecoderForCausalLM")
# TransformerLens's output of attention in BERT is that of a module that also adds the residual.
ALIKE = {f"attn.hook_{part}" for part in ("q", "k", "v", "z", "pattern")}
ALIKE |= {"hook_resid_pre", "hook_resid_post", "hook_mlp_out", "mlp.hook_pre", "mlp.hook_post"}


@pytest.mark.parametrize("native", NATIVES, ids=str)
def test_a_converted_checkpoint_has_the_cache_of_the_native_one(native: Native, tmp_path: Path) -> None:
    """By TransformerLens's own adapters."""
    theirs = native.model()
    theirs.save_pretrained(tmp_path)
    ours = load_pretrained(tmp_path)
    ids = torch.randint(3, 50, (3, 11), generator=torch.Generator().manual_seed(0))
    caches = []
    for model in (theirs, ours):
        model.set_attn_implementation("eager")
        with torch.no_grad():
            caches.append(bridge_of(model.eval()).run_with_cache(ids)[1])
    for layer, part in product(range(LAYERS), sorted(ALIKE)):
        theirs, ours = (cache[f"blocks.{layer}.{part}"] for cache in caches)
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0, msg=lambda text, part=part: f"{part}: {text}")


@pytest.mark.parametrize("case", [MASKED_LM, CAUSAL_LM, SEQ2SEQ_LM], ids=lambda case: case.model_class.__name__)
def test_an_edited_pattern_decides_what_is_mixed(case: Case) -> None:
    """With a pattern that is the same for all keys, each head gives the mean of the values."""
    model, inputs = case.model(), {name: ids for name, ids in case.inputs().items() if "mask" not in name}
    bridge, ids = bridge_of(model), inputs.pop("input_ids")
    name = f"{'encoder_' if case is SEQ2SEQ_LM else ''}blocks.0.attn"
    seen: dict[str, Tensor] = {}

    def keep(states: Tensor, hook: Any) -> None:
        seen[hook.name] = states

    hooks = [(f"{name}.hook_pattern", lambda pattern, hook: torch.full_like(pattern, 1 / pattern.shape[-1]))]
    hooks += [(f"{name}.hook_v", keep), (f"{name}.hook_z", keep)]
    with torch.no_grad():
        bridge.run_with_hooks(ids, **inputs, fwd_hooks=hooks)
    values, mixed = (next(value for key, value in seen.items() if part in key) for part in ("attn.v", "attn.o"))
    torch.testing.assert_close(mixed.flatten(2), values.flatten(2).mean(1, keepdim=True).expand_as(mixed.flatten(2)))


def test_batches_with_padding_keep_their_shape() -> None:
    """Large ones, too, which the engine would pack."""
    for case in ENCODERS:
        model, inputs = case.model(), {name: ids.repeat(8, 1) for name, ids in case.inputs().items()}
        bridge, ids = bridge_of(model), inputs.pop("input_ids")
        with torch.no_grad():
            _, cache = bridge.run_with_cache(ids, **inputs)
        assert cache["blocks.1.hook_resid_post"].shape == (*ids.shape, 16)
