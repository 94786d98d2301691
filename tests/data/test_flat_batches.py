# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Training batches without padding: the same steps as on padded ones, one row for the device, one text for Trainer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from shared import redraw
from transformers import BertConfig, BertForSequenceClassification, DataCollatorWithPadding

from modeling_scratch import ScratchEncoderConfig, ScratchEncoderForSequenceClassification
from modeling_scratch.data.collators import FlatBatches
from modeling_scratch.run.defaults import ClassifierTrainingArguments
from modeling_scratch.run.losses import are_flat
from modeling_scratch.run.trainer import RunTrainer
from tokenization import train_wordlevel_tokenizer

LENGTHS = [5, 2, 9, 1, 7, 3, 4, 8, 6, 2]
ROWS = [
    {"input_ids": [number % 7 + 5] * (length - 1) + [3], "label": number % 2} for number, length in enumerate(LENGTHS)
]
TOKENIZER = train_wordlevel_tokenizer(["a few words for a vocabulary"], 16, style="bert", show_progress=False)


def model() -> ScratchEncoderForSequenceClassification:
    config = ScratchEncoderConfig(
        vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=2, num_attention_heads=2,
        hidden_dropout=0.0, attention_dropout=0.0, position_type="learned", max_position_embeddings=9, pad_token_id=0,
        attention_bias=False,  # a bias of keys has no gradient but rounding, which AdamW makes as large as the others
    )  # fmt: skip
    return redraw(ScratchEncoderForSequenceClassification(config))


def trainer(folder: Path, flat: bool = False, **options: Any) -> RunTrainer:
    arguments = ClassifierTrainingArguments(
        str(folder), num_train_epochs=2, per_device_train_batch_size=4, learning_rate=1e-2, logging_steps=1,
        save_strategy="no", use_cpu=True, disable_tqdm=True, report_to="none", **options,
    )  # fmt: skip
    padded = DataCollatorWithPadding(TOKENIZER)
    return RunTrainer(model(), arguments, padded, ROWS, ROWS, train_collator=FlatBatches() if flat else None)


@pytest.mark.parametrize("options", [{"gradient_accumulation_steps": 2}, {"label_smoothing_factor": 0.1}], ids=str)
def test_the_steps_are_those_of_padded_batches(options: dict, tmp_path: Path) -> None:
    padded, flat = (trainer(tmp_path, flat, **options) for flat in (False, True))
    assert "attention_mask" in next(iter(padded.get_train_dataloader()))
    assert "cu_seq_lens_q" in next(iter(flat.get_train_dataloader()))
    assert "attention_mask" in next(iter(flat.get_eval_dataloader()))
    for one in (padded, flat):
        one.train()
    losses = [[row.get("loss", row.get("eval_loss")) for row in one.state.log_history] for one in (padded, flat)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    for one, other in zip(padded.model.parameters(), flat.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("device", "options", "flat"),
    [
        ("cpu", {}, False),
        ("cuda", {}, True),
        ("cuda", {"n_gpu": 2}, False),
        ("cuda", {"torch_compile": True}, False),
        ("cuda", {"torch_compile": True, "bf16": True}, True),
    ],
)
def test_the_device_decides(device: str, options: dict, flat: bool) -> None:
    given = {"n_gpu": 1, "torch_compile": False, "bf16": False, "fp16": False, **options}
    arguments = SimpleNamespace(device=torch.device(device), **given)
    assert are_flat(arguments, model()) == flat
    assert not are_flat(arguments, BertForSequenceClassification(BertConfig(vocab_size=16, hidden_size=24)))
