# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Libraries that quantise weights."""

import copy
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from client_pairs import LABEL, TEXTS, TRANSLATE, WRITE, Pair, assert_same, client, folders, pair
from torch import Tensor

FAMILIES = pytest.mark.parametrize(
    ("model_type", "head"), [("bert", LABEL), ("llama", WRITE), ("bart", TRANSLATE)], ids=["BERT", "Llama", "BART"]
)
# As large as these kernels ask for.
SIZES = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16}
BART = {"d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}


def made(model_type: str, head: str) -> Pair:
    return pair(model_type, head, **(BART if model_type == "bart" else SIZES), num_labels=32)


@torch.no_grad()
def logits(model: Any, models: Pair, texts: int = 4) -> Tensor:
    """Those at real tokens."""
    batch = models.tokenizer(TEXTS[:texts], padding=True, return_tensors="pt")
    if model.config.is_encoder_decoder:
        batch |= {f"decoder_{name}": batch[name] for name in ("input_ids", "attention_mask")}
    found = model(**{name: value for name, value in batch.items() if name != "token_type_ids"}).logits
    return found if found.ndim == 2 else found[batch["attention_mask"].bool()]


def assert_quantised(models: Pair, quantise: Callable[[Any], Any], error: float = 0.2) -> None:
    """Quantised weights give other logits, near those of the model, and the same for both."""
    before = logits(models.ours, models)
    theirs, ours = (logits(quantise(model), models) for model in models)
    assert not torch.equal(ours, before)
    assert (ours - before).abs().mean() < error * before.abs().mean()
    assert_same(ours, theirs, atol=1e-4)


def by_torchao(config: str) -> Callable[[Any], Any]:
    """What quantises a model in place by a config of torchao, and returns it."""
    quantization = import_module("torchao.quantization")

    def quantise(model: Any) -> Any:
        quantization.quantize_(model, getattr(quantization, config)())
        return model

    return quantise


@client("torchao", "BERT, Llama, BART")
@FAMILIES
def test_torchao_int8_weights(model_type: str, head: str) -> None:
    """`quantize_` with Int8WeightOnlyConfig: logits"""
    assert_quantised(made(model_type, head), by_torchao("Int8WeightOnlyConfig"))


@client("bitsandbytes", "BERT, Llama, BART", needs="accelerate")
@pytest.mark.parametrize("bits", [4, 8])
@FAMILIES
def test_bitsandbytes(model_type: str, head: str, bits: int, tmp_path: Any) -> None:
    """`BitsAndBytesConfig(load_in_4bit=True)` and 8 bits on a CPU: logits"""
    transformers = import_module("transformers")
    config = transformers.BitsAndBytesConfig(**{f"load_in_{bits}bit": True})

    def quantise(model: Any) -> Any:
        model.save_pretrained(tmp_path)
        options = {"quantization_config": config, "dtype": torch.float32, "device_map": "cpu"}
        return type(model).from_pretrained(tmp_path, **options)

    assert_quantised(made(model_type, head), quantise, error=0.2 if bits == 8 else 0.5)


@client("llmcompressor", "Llama", "quantised alike, to 1 % of the mean error: the sequential pipeline fails")
def test_gptq(tmp_path: Path) -> None:
    """`oneshot` with GPTQModifier (W4A16) and `pipeline="basic"`: mean error of logits"""
    models = pair("llama", WRITE, hidden_size=128, intermediate_size=256, num_key_value_heads=4, head_dim=32)
    rows = import_module("datasets").Dataset.from_dict(dict(models.tokenizer(TEXTS * 2)))
    gptq = import_module("llmcompressor.modifiers.gptq").GPTQModifier(
        targets="Linear", scheme="W4A16", ignore=["lm_head"]
    )
    errors = []
    for model, folder in zip(models, folders(models, tmp_path)):
        small = type(model).from_pretrained(folder)
        import_module("llmcompressor").oneshot(
            model=small, processor=models.tokenizer, dataset=rows, recipe=copy.deepcopy(gptq), pipeline="basic"
        )
        errors.append(float((logits(small, models) - logits(model, models)).abs().mean()))
    assert errors[1] == pytest.approx(errors[0], rel=0.01)
    assert errors[1] > 0
