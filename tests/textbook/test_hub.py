# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What needs the Hugging Face Hub: `HF_HUB_OFFLINE=0 python -m pytest -m hub`."""

import pytest
import torch
import transformers
from transformers import AutoConfig, AutoTokenizer

from modeling_scratch import load_pretrained

pytestmark = pytest.mark.hub


CHECKPOINTS = (
    "google-bert/bert-base-uncased", "FacebookAI/roberta-base", "distilbert/distilbert-base-uncased",
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english", "google/electra-small-discriminator",
    "openai-community/gpt2", "HuggingFaceTB/SmolLM2-135M", "Qwen/Qwen2-0.5B", "facebook/bart-base",
    "facebook/bart-large-cnn", "Helsinki-NLP/opus-mt-en-de",
)  # fmt: skip


@pytest.mark.parametrize("name", CHECKPOINTS)
@torch.no_grad()
def test_checkpoints_that_people_use(name: str) -> None:
    ours = load_pretrained(name)
    base = AutoConfig.from_pretrained(name).architectures[0] == "ElectraForPreTraining"  # its head has no counterpart
    native_class = getattr(transformers, "ElectraModel" if base else AutoConfig.from_pretrained(name).architectures[0])
    native = native_class.from_pretrained(name, dtype=ours.dtype).eval()
    inputs = AutoTokenizer.from_pretrained(name)("A warm, funny and very human film.", return_tensors="pt")
    inputs = {key: inputs[key] for key in ("input_ids", "attention_mask")}
    if ours.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    expected, found = native(**inputs)[0], ours(**inputs)[0]
    tolerance = 1e-4 if ours.dtype == torch.float32 else 5e-2
    torch.testing.assert_close(found, expected, atol=tolerance * expected.abs().max().item(), rtol=0)
