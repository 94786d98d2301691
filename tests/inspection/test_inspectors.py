# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Libraries that look into models show the same of a converted checkpoint as of the native one, whatever the engine."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from model_cases import low_thresholds  # noqa: F401  (a fixture)
from native_models import VOCAB, Native
from torch import Tensor

from modeling_scratch import load_pretrained
from tokenization import train_bpe_tokenizer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("low_thresholds"), pytest.mark.filterwarnings("ignore")]

LENGTHS = 9, 5, 7
TEXT = "the cat sat on the mat"


class Twins(NamedTuple):
    """A native model and what it was converted to, each with the parts that hold the same, by their paths."""

    models: tuple[Any, Any]
    parts: tuple[dict[str, str], dict[str, str]]

    def pairs(self) -> Iterator[tuple[Any, dict[str, str]]]:
        """The native one first."""
        return zip(self.models, self.parts)


def twins(native: Native, folder: Path, theirs: dict[str, str], **settings: Any) -> Twins:
    model = native.model(**settings)
    model.save_pretrained(folder)
    models = model, load_pretrained(folder).eval()
    for each in models:
        each.set_attn_implementation("eager")
    return Twins(models, (theirs, OURS))


OURS = {
    "table": "model.embeddings.tokens", "embeddings": "model.embeddings", "block": "model.stack.layers.1",
    "up": "model.stack.layers.1.feed_forward.up_proj", "feed_forward": "model.stack.layers.1.feed_forward",
}  # fmt: skip


@pytest.fixture
def classifiers(tmp_path: Path) -> Twins:
    block = "bert.encoder.layer.1"
    theirs = {
        "table": "bert.embeddings.word_embeddings", "embeddings": "bert.embeddings", "block": block,
        "up": f"{block}.intermediate.dense", "feed_forward": f"{block}.output.dense",
    }  # fmt: skip
    return twins(Native("bert", "ScratchEncoderForSequenceClassification"), tmp_path, theirs)


@pytest.fixture
def writers(tmp_path: Path) -> Twins:
    block = "transformer.h.1"
    theirs = {"table": "transformer.wte", "block": block, "up": f"{block}.mlp.c_fc", "feed_forward": f"{block}.mlp"}
    return twins(Native("gpt2", "ScratchDecoderForCausalLM"), tmp_path, theirs, vocab_size=300)


def batch() -> dict[str, Tensor]:
    """Texts of three lengths, padded on the right."""
    ids = torch.randint(4, VOCAB, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]).long()
    return {"input_ids": ids.where(mask.bool(), 1), "attention_mask": mask}


def at_real_tokens(states: Any) -> Tensor:
    states = states[0] if isinstance(states, tuple) else states
    assert states.shape[:2] == (len(LENGTHS), max(LENGTHS))
    return states[batch()["attention_mask"].bool()]


def assert_same(found: Tensor, expected: Tensor) -> None:
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def traced(model: Any, parts: dict[str, str]) -> list[Tensor]:
    """By nnsight: states of three parts, and the logits after the last one is patched."""
    nnsight = pytest.importorskip("nnsight")
    tracer = nnsight.NNsight(model)
    table, up, block = (tracer.get(parts[name]) for name in ("table", "up", "block"))
    inputs = batch()
    with torch.no_grad(), tracer.trace(**inputs):
        embedded = table.output.save()
        features = up.output.save()
        states = block.output.save()
        block.output = (states[0] * 2,) if isinstance(states, tuple) else states * 2
        outputs = tracer.output.save()
    return [*map(at_real_tokens, (embedded, features, states)), outputs.logits]


@pytest.mark.parametrize("kind", ["classifiers", "writers"])
def test_nnsight_reads_and_patches(kind: str, request: pytest.FixtureRequest) -> None:
    found = [traced(model, parts) for model, parts in request.getfixturevalue(kind).pairs()]
    for theirs, ours in zip(*found):
        real = (at_real_tokens(theirs), at_real_tokens(ours)) if theirs.ndim == 3 else (theirs, ours)
        assert_same(real[1], real[0])


def layer_attributions(model: Any, parts: dict[str, str]) -> dict[str, Tensor]:
    """By captum: integrated gradients at two layers, and the conductance of a third."""
    attr = pytest.importorskip("captum.attr")
    inputs = batch()
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    table = model.get_submodule(parts["table"])

    def logits(ids: Tensor, mask: Tensor) -> Tensor:
        return model(ids, attention_mask=mask).logits

    def logits_of_embeddings(embeddings: Tensor, mask: Tensor) -> Tensor:
        return model(inputs_embeds=embeddings, attention_mask=mask).logits

    options: dict[str, Any] = {"additional_forward_args": (mask,), "target": 1, "n_steps": 4}
    found = {}
    for name in ("table", "embeddings"):
        method = attr.LayerIntegratedGradients(logits, model.get_submodule(parts[name]))
        found[name] = method.attribute(ids, baselines=torch.ones_like(ids), **options)
    method = attr.LayerConductance(logits_of_embeddings, model.get_submodule(parts["up"]))
    return found | {"up": method.attribute(table(ids).detach(), **options)}


def test_captum_attributes(classifiers: Twins) -> None:
    theirs, ours = (layer_attributions(model, parts) for model, parts in classifiers.pairs())
    for name, value in theirs.items():
        assert value.abs().max() > 1e-4
        assert_same(at_real_tokens(ours[name]), at_real_tokens(value))


def patched_by_pyvene(model: Any, parts: dict[str, str]) -> Tensor:
    pyvene = pytest.importorskip("pyvene")
    component = re.sub(r"\.(\d+)", r"[\1]", parts["feed_forward"]) + ".output"
    change = {"component": component, "intervention": lambda states, _: states * 3}
    with torch.no_grad():
        return pyvene.IntervenableModel(change, model=model)(batch())[1].logits


@pytest.mark.parametrize("kind", ["classifiers", "writers"])
def test_pyvene_intervenes(kind: str, request: pytest.FixtureRequest) -> None:
    pairs = request.getfixturevalue(kind)
    theirs, ours = (patched_by_pyvene(model, parts) for model, parts in pairs.pairs())
    assert not torch.allclose(theirs, pairs.models[0](**batch()).logits)
    if theirs.ndim == 3:
        theirs, ours = at_real_tokens(theirs), at_real_tokens(ours)
    assert_same(ours, theirs)


@pytest.mark.parametrize("method", ["saliency", "integrated_gradients", "attention"])
def test_inseq_attributes_generated_tokens(method: str, writers: Twins) -> None:
    inseq = pytest.importorskip("inseq")
    tokenizer = train_bpe_tokenizer([TEXT] * 20, 300, style="gpt", show_progress=False)
    options = {"n_steps": 8} if method == "integrated_gradients" else {}
    found = []
    for model in writers.models:
        explained = inseq.load_model(model, method, tokenizer=tokenizer)
        result = explained.attribute("the cat", TEXT, show_progress=False, **options)
        found.append(result.sequence_attributions[0].target_attributions)
    assert found[0].nan_to_num().abs().max() > 0
    torch.testing.assert_close(found[1], found[0], atol=1e-5, rtol=1e-4, equal_nan=True)
