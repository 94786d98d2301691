# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Libraries that evaluate, explain, merge and distribute models."""

import json
import os
from importlib import import_module
from pathlib import Path

import pytest
import torch
import transformers
from client_pairs import (
    LABEL,
    REVIEWS,
    TEXTS,
    WRITE,
    Pair,
    assert_same,
    client,
    losses,
    pair,
    steps,
)
from datasets import Dataset
from together import together


@client("lm-eval", "GPT-2, Llama")
@pytest.mark.parametrize("model_type", ["gpt2", "llama"])
def test_lm_eval(model_type: str, tmp_path: Path) -> None:
    """HFLM: log-likelihoods, rolling ones and generated texts"""
    hflm = import_module("lm_eval.models.huggingface").HFLM
    instance = import_module("lm_eval.api.instance").Instance
    models = pair(model_type, WRITE)
    found = []
    for model in models:
        judged = hflm(pretrained=model, tokenizer=models.tokenizer, batch_size=2, max_length=32)
        likely = [instance("loglikelihood", {}, (text, " good"), i) for i, text in enumerate(TEXTS)]
        rolling = [instance("loglikelihood_rolling", {}, (text,), i) for i, text in enumerate(TEXTS)]
        until = {"until": ["bad"], "max_gen_toks": 6, "do_sample": False}
        write = [instance("generate_until", {}, (text, dict(until)), i) for i, text in enumerate(TEXTS)]
        scores = [score for score, _ in judged.loglikelihood(likely)], judged.loglikelihood_rolling(rolling)
        found.append((torch.tensor(scores), judged.generate_until(write)))
    assert_same(found[1][0], found[0][0])
    assert found[1][1] == found[0][1]


ZERO = {"gradient_accumulation_steps": "auto", "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}


def trained_by_zero(rank: int, stage: int, size: int, models: Pair, head: str, folder: str) -> None:
    """Write the loss of each step of both models; stage 0 is Trainer alone."""
    os.environ["DS_ACCELERATOR"] = "cpu"
    rows = Dataset.from_list([{**models.tokenizer(text), "label": label} for text, label in REVIEWS])
    collate = None if head == LABEL else transformers.DataCollatorForLanguageModeling(models.tokenizer, mlm=False)
    rows = rows if head == LABEL else rows.remove_columns("label")
    found = []
    models.theirs.accepts_loss_kwargs = head != LABEL  # else Trainer takes BERT's mean over a process for a part of one
    for model in models:
        settings = {"deepspeed": {**ZERO, "zero_optimization": {"stage": stage}}} if stage else {}
        arguments = transformers.TrainingArguments(**steps(Path(folder), per_device_train_batch_size=size, **settings))
        trainer = transformers.Trainer(
            model, arguments, train_dataset=rows, data_collator=collate, processing_class=models.tokenizer
        )
        found.append(losses(trainer).tolist())
    if rank == 0:
        (Path(folder) / f"{stage}.json").write_text(json.dumps(found))


@client("deepspeed", "BERT, Llama", needs="accelerate")
@pytest.mark.parametrize("stage", [2, 3], ids=["ZeRO-2", "ZeRO-3"])
@pytest.mark.parametrize(("model_type", "head"), [("bert", LABEL), ("llama", WRITE)])
def test_deepspeed(model_type: str, head: str, stage: int, tmp_path: Path) -> None:
    """ZeRO-2 and ZeRO-3 by Trainer, two processes on a CPU: loss of each step, also that of one process without it"""
    together(1, trained_by_zero, 0, 4, pair(model_type, head), head, str(tmp_path))
    together(2, trained_by_zero, stage, 2, pair(model_type, head), head, str(tmp_path))
    alone, shared = (torch.tensor(json.loads((tmp_path / f"{name}.json").read_text())) for name in (0, stage))
    assert alone.std(dim=1).min() > 0.01
    assert_same(shared, alone[0].expand(2, -1), atol=1e-3)
