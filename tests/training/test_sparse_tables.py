# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tables of embeddings that learn only where they are read, beside layers that learn as with AdamW."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import tiny
from transformers import TrainingArguments

from modeling_scratch import ScratchEncoderForMaskedLM, ScratchEncoderForSequenceClassification
from modeling_scratch.training.sparse_tables import SparseTables, sparse_tables


class Arguments(TrainingArguments):
    sparse_embeddings = True


def trainer(folder: Path, model: Any, is_sparse: bool = True, **options: Any) -> SparseTables:
    make = Arguments if is_sparse else TrainingArguments
    rows = [{"input_ids": [5, 6, 7], "labels": 1}, {"input_ids": [8, 6, 9], "labels": 0}] * 8
    settings = {"max_steps": 3, "learning_rate": 1e-2, "per_device_train_batch_size": 4, "save_strategy": "no"}
    arguments = make(str(folder), report_to=[], use_cpu=True, disable_tqdm=True, **{**settings, **options})
    return SparseTables(model, arguments, train_dataset=rows)


@pytest.fixture
def model() -> Any:
    return ScratchEncoderForSequenceClassification(tiny(ngram_vocab_size=10, norm_position="pre", attention_bias=False))


def test_rows_that_no_text_reads_stay_and_all_others_learn(model: Any, tmp_path: Path) -> None:
    """With weight decay, which would move each row in each step."""
    before = deepcopy(model.state_dict())
    trainer(tmp_path, model, weight_decay=0.1, gradient_accumulation_steps=2).train()
    moved = (model.model.embeddings.tokens.weight != before["model.embeddings.tokens.weight"]).any(-1)
    assert moved.nonzero().flatten().tolist() == [5, 6, 7, 8, 9]
    assert not torch.equal(model.classifier.out_proj.weight, before["classifier.out_proj.weight"])


def test_where_each_step_reads_each_row_it_is_adam(model: Any, tmp_path: Path) -> None:
    """Without epsilon, which the two add in different places, and without clipping, which leaves the tables out."""
    other = deepcopy(model)
    options = {"per_device_train_batch_size": 16, "max_grad_norm": 0, "adam_epsilon": 1e-14}
    trainer(tmp_path, model, **options).train()
    trainer(tmp_path, other, is_sparse=False, **options).train()
    for (name, ours), theirs in zip(model.named_parameters(), other.parameters()):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4, msg=name)


def test_a_schedule_reaches_the_tables(model: Any, tmp_path: Path) -> None:
    run = trainer(tmp_path, model, lr_scheduler_type="constant_with_warmup", warmup_steps=2)
    run.create_optimizer_and_scheduler(3)
    rates = {tuple(group["lr"] for group in run.optimizer.param_groups)}
    for _ in range(2):
        run.lr_scheduler.step()
        rates.add(tuple(group["lr"] for group in run.optimizer.param_groups))
    assert sorted(map(set, rates), key=min) == [{0.0}, {0.005}, {0.01}]


def test_a_table_that_a_head_shares_is_no_such_table() -> None:
    tied = ScratchEncoderForMaskedLM(tiny(ngram_vocab_size=10))
    embeddings = tied.model.embeddings
    assert sparse_tables(tied) == [embeddings.ngrams.table]
    untied = ScratchEncoderForMaskedLM(tiny(ngram_vocab_size=10, tie_word_embeddings=False))
    assert sparse_tables(untied) == [untied.model.embeddings.tokens, untied.model.embeddings.ngrams.table]


def test_a_restored_optimizer_goes_on_as_if_it_had_not_stopped(model: Any, tmp_path: Path) -> None:
    other = deepcopy(model)
    trainer(tmp_path / "whole", model, max_steps=6).train()
    stopping = trainer(tmp_path / "stopped", other, max_steps=6, save_strategy="steps", save_steps=3)
    stopping.train()
    again = ScratchEncoderForSequenceClassification(model.config)
    trainer(tmp_path / "stopped", again, max_steps=6).train(str(tmp_path / "stopped" / "checkpoint-3"))
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(again.parameters(), model.parameters()))
