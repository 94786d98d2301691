# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Writing by the rules of a grammar, and what generation says and batches by itself."""

import re
from importlib import import_module
from typing import Any

import pytest
import torch
from client_pairs import TEXTS, WRITE, Pair, client, pair

WRITERS = pytest.mark.parametrize("model_type", ["gpt2", "llama"])
PATTERN = r" (good|bad) (film|end)"


def written(models: Pair, **options: Any) -> list[str]:
    """By the native model and by ours, from two prompts of several lengths."""
    batch = models.tokenizer(TEXTS[:3], padding=True, return_tensors="pt", padding_side="left")
    batch.pop("token_type_ids", None)
    found = []
    for model in models:
        given = {name: make() if callable(make) else make for name, make in options.items()}
        ids = model.generate(**batch, max_new_tokens=16, do_sample=False, **given)
        found.append(models.tokenizer.batch_decode(ids[:, batch["input_ids"].shape[1] :], skip_special_tokens=True))
    return found


@client("xgrammar", "GPT-2, Llama")
@WRITERS
def test_xgrammar(model_type: str) -> None:
    """A regular expression as LogitsProcessor of `generate`: texts"""
    xgrammar = import_module("xgrammar")
    models = pair(model_type, WRITE)
    tokens = xgrammar.TokenizerInfo.from_huggingface(models.tokenizer, vocab_size=models.ours.config.vocab_size)
    grammar = xgrammar.GrammarCompiler(tokens).compile_regex(PATTERN)
    process = import_module("xgrammar.contrib.hf").LogitsProcessor
    theirs, ours = written(models, logits_processor=lambda: [process(grammar)])
    assert ours == theirs
    assert all(re.fullmatch(PATTERN, text) for text in ours)


@client("transformers", "Llama")
def test_continuous_batching() -> None:
    """`generate_batch`, continuous batching with paged attention: texts, also those of `generate`"""
    models = pair("llama", WRITE)
    library = import_module("transformers")
    config = library.GenerationConfig(
        max_new_tokens=6, do_sample=False, eos_token_id=models.tokenizer.eos_token_id, pad_token_id=0
    )
    pages = library.ContinuousBatchingConfig(num_blocks=16, max_batch_tokens=32)  # else it takes all the memory
    prompts = models.tokenizer(TEXTS[:4]).input_ids
    found = []
    for model in models:
        alone = [model.generate(torch.tensor([ids]), generation_config=config)[0, len(ids) :] for ids in prompts]
        outputs = model.generate_batch(prompts, config, pages)
        texts = {tuple(output.prompt_ids): output.generated_tokens for output in outputs.values()}
        found.append([texts[tuple(ids)] for ids in prompts])
        assert found[-1] == [ids.tolist() for ids in alone]
    assert found[1] == found[0]
