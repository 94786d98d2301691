# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Libraries that look into models show the same of a converted checkpoint as of the native one, whatever the engine."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

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
Paths = dict[str, str]  # parts that hold the same in both models
OURS = {
    "table": "model.embeddings.tokens", "embeddings": "model.embeddings", "block": "model.stack.layers.1",
    "up": "model.stack.layers.1.feed_forward.up_proj", "feed_forward": "model.stack.layers.1.feed_forward",
}  # fmt: skip
BERT = {
    "table": "bert.embeddings.word_embeddings", "embeddings": "bert.embeddings", "block": "bert.encoder.layer.1",
    "up": "bert.encoder.layer.1.intermediate.dense", "feed_forward": "bert.encoder.layer.1.output.dense",
}  # fmt: skip
GPT2 = {
    "table": "transformer.wte", "block": "transformer.h.1", "up": "transformer.h.1.mlp.c_fc",
    "feed_forward": "transformer.h.1.mlp",
}  # fmt: skip
NATIVES: dict[str, tuple[Native, Paths, dict[str, Any]]] = {
    "classifier": (Native("bert", "ScratchEncoderForSequenceClassification"), BERT, {}),
    "writer": (Native("gpt2", "ScratchDecoderForCausalLM"), GPT2, {"vocab_size": 300}),
}


def batch() -> dict[str, Tensor]:
    """Texts of three lengths, padded on the right."""
    ids = torch.randint(4, VOCAB, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]).long()
    return {"input_ids": ids.where(mask.bool(), 1), "attention_mask": mask}


def by_nnsight(model: Any, parts: Paths) -> Iterator[Any]:
    """States of three parts, and the logits after the last one is patched."""
    tracer = pytest.importorskip("nnsight").NNsight(model)
    table, up, block = (tracer.get(parts[name]) for name in ("table", "up", "block"))
    inputs = batch()
    with torch.no_grad(), tracer.trace(**inputs):
        embedded = table.output.save()
        features = up.output.save()
        states = block.output.save()
        block.output = (states[0] * 2,) if isinstance(states, tuple) else states * 2
        outputs = tracer.output.save()
    yield from (embedded, features, states, outputs.logits)


def by_captum(model: Any, parts: Paths) -> Iterator[Any]:
    """Integrated gradients at two layers, and the conductance of a third."""
    attr, inputs = pytest.importorskip("captum.attr"), batch()
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    options: dict[str, Any] = {"additional_forward_args": (mask,), "target": 1, "n_steps": 4}
    for name in ("table", "embeddings"):
        layer = model.get_submodule(parts[name])
        method = attr.LayerIntegratedGradients(lambda ids, mask: model(ids, attention_mask=mask).logits, layer)
        yield method.attribute(ids, baselines=torch.ones_like(ids), **options)
    of_states = attr.LayerConductance(
        lambda states, mask: model(inputs_embeds=states, attention_mask=mask).logits, model.get_submodule(parts["up"])
    )
    yield of_states.attribute(model.get_submodule(parts["table"])(ids).detach(), **options)


def by_pyvene(model: Any, parts: Paths) -> Iterator[Any]:
    """What an intervention changes."""
    component = re.sub(r"\.(\d+)", r"[\1]", parts["feed_forward"]) + ".output"
    change = {"component": component, "intervention": lambda states, _: states * 3}
    with torch.no_grad():
        before = model(**batch()).logits
        yield pytest.importorskip("pyvene").IntervenableModel(change, model=model)(batch())[1].logits - before


def by_inseq(model: Any, parts: Paths, method: str) -> Iterator[Any]:
    """Attributions of generated tokens."""
    tokenizer = train_bpe_tokenizer([TEXT] * 20, 300, style="gpt", show_progress=False)
    explained = pytest.importorskip("inseq").load_model(model, method, tokenizer=tokenizer)
    options = {"n_steps": 8} if method == "integrated_gradients" else {}
    yield (
        explained.attribute("the cat", TEXT, show_progress=False, **options)
        .sequence_attributions[0]
        .target_attributions
    )


def at_real_tokens(states: Any) -> Tensor:
    states = states[0] if isinstance(states, tuple) else states
    mask = batch()["attention_mask"].bool()
    return states[mask] if states.shape[:2] == mask.shape else states


METHODS = "saliency", "integrated_gradients", "attention"
LOOKS: dict[str, tuple[str, Callable[..., Iterator[Any]]]] = {
    "nnsight-classifier": ("classifier", by_nnsight), "nnsight-writer": ("writer", by_nnsight),
    "captum": ("classifier", by_captum),
    "pyvene-classifier": ("classifier", by_pyvene), "pyvene-writer": ("writer", by_pyvene),
    **{f"inseq-{method}": ("writer", partial(by_inseq, method=method)) for method in METHODS},
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKS)
def test_a_library_sees_the_same_in_both(name: str, tmp_path: Path) -> None:
    kind, look = LOOKS[name]
    native, paths, settings = NATIVES[kind]
    native_model = native.model(**settings)
    native_model.save_pretrained(tmp_path)
    models = native_model, load_pretrained(tmp_path).eval()
    for model in models:
        model.set_attn_implementation("eager")
    theirs, ours = ([*look(model, parts)] for model, parts in zip(models, (paths, OURS)))
    for expected, found in zip(map(at_real_tokens, theirs), map(at_real_tokens, ours), strict=True):
        assert expected.nan_to_num().abs().max() > 1e-4
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4, equal_nan=True)
