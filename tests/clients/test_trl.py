# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The trainers of TRL: the loss of each step is that of a native model."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from client_pairs import LABEL, TEXTS, WRITE, assert_same, client, folders, pair, steps
from datasets import Dataset

WRITERS = pytest.mark.parametrize("model_type", ["gpt2", "llama"])
PAIRS = {"prompt": TEXTS, "chosen": [f"{text} and good" for text in TEXTS], "rejected": [" bad"] * len(TEXTS)}
PLAIN = {"bf16": False, "gradient_checkpointing": False}


def trained(name: str, models: Any, folder: Path, rows: dict[str, Any], settings: Any = None, **given: Any) -> Any:
    """What TRL's trainer of this name logs, step by step, for the native model and for ours, loaded from folders."""
    trl = import_module("trl")
    auto = transformers.AutoModelForCausalLM if name in ("SFT", "DPO", "KTO", "GRPO") else None
    logs = []
    for where in folders(models, folder):
        model = (auto or transformers.AutoModelForSequenceClassification).from_pretrained(where)
        if model.config.model_type == "gpt2":  # else Trainer divides by the first tokens, too, which have no label
            model.loss_type = "ForCausalLM"
        trainer = getattr(trl, f"{name}Trainer")(
            model=model, args=getattr(trl, f"{name}Config")(**steps(folder, **PLAIN | (settings or {}))),
            train_dataset=Dataset.from_dict(rows), processing_class=models.tokenizer, **given,
        )  # fmt: skip
        torch.manual_seed(0)
        trainer.train()
        logs.append([entry for entry in trainer.state.log_history if "loss" in entry])
    return logs


def assert_equal_logs(logs: Any, *names: str) -> None:
    """The named values of each step are equal, and the loss changes."""
    theirs, ours = (torch.tensor([[float(entry[name]) for name in ("loss", *names)] for entry in log]) for log in logs)
    assert len(theirs) == 3
    assert theirs[:, 0].std() > 0
    assert_same(ours, theirs, atol=5e-4)


@client("trl", "GPT-2, Llama")
@WRITERS
def test_sft(model_type: str, tmp_path: Path) -> None:
    """SFTTrainer: loss and entropy of each step"""
    assert_equal_logs(trained("SFT", pair(model_type, WRITE), tmp_path, {"text": TEXTS}), "entropy")


@client("trl", "Llama")
@pytest.mark.parametrize("strategy", ["bfd", "wrapped"])
def test_sft_of_packed_texts(strategy: str, tmp_path: Path) -> None:
    """SFTTrainer with `packing=True`: loss of each step"""
    settings = {"packing": True, "packing_strategy": strategy, "max_length": 16, "per_device_train_batch_size": 2}
    assert_equal_logs(trained("SFT", pair("llama", WRITE), tmp_path, {"text": TEXTS * 4}, settings))


@client("trl", "GPT-2, Llama")
@WRITERS
def test_dpo(model_type: str, tmp_path: Path) -> None:
    """DPOTrainer: loss and rewards of each step"""
    assert_equal_logs(trained("DPO", pair(model_type, WRITE), tmp_path, PAIRS), "rewards/margins")


@client("trl", "GPT-2, RoBERTa")
@pytest.mark.parametrize(
    ("model_type", "head"), [("gpt2", "ScratchDecoderForSequenceClassification"), ("roberta", LABEL)]
)
def test_reward(model_type: str, head: str, tmp_path: Path) -> None:
    """RewardTrainer: loss and margin of each step"""
    rows = {name: PAIRS[name] for name in ("chosen", "rejected")}
    assert_equal_logs(trained("Reward", pair(model_type, head, num_labels=1), tmp_path, rows), "margin")


def variety(completions: list[str], **_: Any) -> list[float]:
    return [float(len(set(text))) for text in completions]


@client("trl", "GPT-2, Llama")
@WRITERS
def test_grpo(model_type: str, tmp_path: Path) -> None:
    """GRPOTrainer, which samples texts: loss, reward, length and divergence of each step"""
    settings = {"num_generations": 4, "max_completion_length": 6, "beta": 0.1}
    logs = trained("GRPO", pair(model_type, WRITE), tmp_path, {"prompt": TEXTS}, settings, reward_funcs=variety)
    assert_equal_logs(logs, "reward", "completions/mean_length", "kl")
