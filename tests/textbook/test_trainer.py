# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hugging Face's Trainer as it is: one step however it is cut, as its options promise."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from datasets import Dataset
from model_cases import (
    CAUSAL_LM,
    DECODER_TEXTS,
    MASKED_LM,
    SEQ2SEQ_LM,
    SPANS,
    TEXTS,
    TOKENS,
    Case,
    draw_ids,
    parametrize_cases,
)
from toy_text import REVIEWS, toy_tokenizer
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, Trainer, TrainingArguments

from modeling_scratch import fast

TRAINED = (MASKED_LM, TEXTS, TOKENS, SPANS, CAUSAL_LM, SEQ2SEQ_LM)
Columns = dict[str, Any]


def reviews(case: Case = TEXTS, count: int = len(REVIEWS), **columns: list) -> Dataset:
    """Reviews with labels for this head, and columns that no model takes; columns replaces some."""
    encoded = toy_tokenizer()([text for text, _ in REVIEWS[:count]])
    ids = encoded["input_ids"]
    labels: Columns = {
        MASKED_LM: lambda: {"labels": [[i if i % 3 else -100 for i in row] for row in ids]},
        TEXTS: lambda: {"label": [label for _, label in REVIEWS[:count]]},
        TOKENS: lambda: {"labels": [[-100, *(i % 3 for i in row[1:-1]), -100] for row in ids]},
        DECODER_TEXTS: lambda: {"label": [label for _, label in REVIEWS[:count]]},
        CAUSAL_LM: lambda: {"labels": ids},
        SEQ2SEQ_LM: lambda: {"labels": [[*row[1:], *row[1:3]] for row in ids]},
        SPANS: lambda: {"start_positions": [1] * count, "end_positions": [len(row) - 2 for row in ids]},
    }[case]()
    noise = {"text": [text for text, _ in REVIEWS[:count]], "idx": list(range(count))}
    return Dataset.from_dict({**encoded, **noise, **labels, **columns})


def trainer(model: PreTrainedModel, folder: Path, dataset: Dataset | None = None, **arguments: Any) -> Trainer:
    """One step of plain gradient descent over all of the data, in order, unless the arguments say otherwise."""
    tokenizer = toy_tokenizer()
    # The one collator of the library that pads labels of tokens and of targets where there are some.
    collator = DataCollatorForSeq2Seq(tokenizer, model) if "labels" in (dataset or {}).column_names else None
    settings = {
        "output_dir": str(folder), "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "optim": "sgd",
        "learning_rate": 0.5, "lr_scheduler_type": "constant", "max_steps": 1, "per_device_train_batch_size": 8,
        "max_grad_norm": 0.0, "train_sampling_strategy": "sequential", "logging_steps": 1,
    }  # fmt: skip
    return Trainer(
        model=model, args=TrainingArguments(**{**settings, **arguments}), train_dataset=dataset,
        processing_class=tokenizer, data_collator=collator,
    )  # fmt: skip


STEPS = {
    "texts, the last batch smaller": (TEXTS, 7, {}, {}),
    "masked tokens": (MASKED_LM, 8, {}, {}),
    "spans": (SPANS, 8, {}, {}),
    "next tokens": (CAUSAL_LM, 8, {}, {}),
    "targets": (SEQ2SEQ_LM, 8, {}, {}),
    "several labels": (TEXTS, 7, {"label": [[1.0, 0.0, 1.0]] * 7}, {"problem_type": "multi_label_classification"}),
    "numbers": (TEXTS, 7, {"label": [0.5, -1.0, 2.0, 3.5, 0.0, 1.0, -2.0]}, {"num_labels": 1}),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_the_same_however_it_is_cut(name: str, tmp_path: Path) -> None:
    """1 x 8 and 4 x 2 texts of different lengths and numbers of labels, the second by the textbook."""
    case, count, columns, settings = STEPS[name]
    models, data = [case.model(**settings) for _ in range(3)], reviews(case, count, **columns)
    trainer(models[0], tmp_path, data).train()
    with fast.disabled():
        trainer(models[1], tmp_path, data, per_device_train_batch_size=2, gradient_accumulation_steps=4).train()
    whole, pairs, start = (model.state_dict() for model in models)
    torch.testing.assert_close(pairs, whole, atol=1e-5, rtol=1e-5)
    assert not all(torch.equal(value, start[key]) for key, value in whole.items())


@parametrize_cases((TEXTS, MASKED_LM, CAUSAL_LM, SEQ2SEQ_LM))
def test_label_smoothing(case: Case, tmp_path: Path) -> None:
    """(1 - e) * cross-entropy + e * the mean over all classes of -log p."""
    model, epsilon = case.model(), 0.2
    made = trainer(model, tmp_path, reviews(case), label_smoothing_factor=epsilon)
    batch = next(iter(made.get_train_dataloader()))
    logits, labels = model(**batch).logits.detach(), batch["labels"]
    if case is CAUSAL_LM:  # the only one whose labels are those of the next position
        logits, labels = logits[:, :-1], labels[:, 1:]
    log_p = logits[labels != -100].log_softmax(-1)
    expected = (1 - epsilon) * F.nll_loss(log_p, labels[labels != -100]) - epsilon * log_p.mean()
    assert made.train().training_loss == pytest.approx(expected.item(), rel=1e-5)


@parametrize_cases(TRAINED)
def test_columns_that_no_model_takes_are_left_out_and_only_predictions_gathered(case: Case, tmp_path: Path) -> None:
    model = case.model(output_hidden_states=True, output_attentions=True, attn_implementation="eager")
    data = reviews(case)
    made = trainer(model, tmp_path, data, per_device_eval_batch_size=3)
    decoder_inputs = {"decoder_input_ids"} if case is SEQ2SEQ_LM else set()  # made by the collator
    batch = next(iter(made.get_train_dataloader()))
    assert batch.keys() == {"input_ids", "attention_mask", *case.make_labels(draw_ids()), *decoder_inputs}

    predicted = made.predict(data)
    arrays = predicted.predictions if case is SPANS else (predicted.predictions,)
    assert [len(array) for array in arrays] == [8] * (2 if case is SPANS else 1)
    assert predicted.metrics["test_loss"] > 0
