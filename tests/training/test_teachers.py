# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Teachers: labels that are probabilities, the texts that get them, and what a classifier learns from them."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import train_classifier
from datasets import Dataset
from text_samples import write

from modeling_scratch import ScratchEncoderForSequenceClassification, presets
from modeling_scratch.data.collators import FlatBatches
from modeling_scratch.data.unlabelled import Corpus
from modeling_scratch.training.classification import ClassifierTrainer, ClassifierTrainingArguments
from modeling_scratch.training.soft_labels import PseudoLabelled, with_pseudo_labels
from tokenization import train_wordlevel_tokenizer

SIZES: dict[str, Any] = {"vocab_size": 16, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
IDS = [[5, 6], [7, 8], [9, 5], [6, 7], [8, 9], [5, 9], [7, 5], [9, 9]]
GIVEN = [0, 1, 2, 0, 1, 2, 2, 1]


def rows(labels: Any) -> Dataset:
    return Dataset.from_dict({"input_ids": IDS, "attention_mask": [[1, 1]] * 8, "label": labels})


def trained(labels: Any, folder: Path, **options: Any) -> tuple[float, dict[str, torch.Tensor]]:
    """Train for one step of SGD on all rows, and return the loss and the weights."""
    torch.manual_seed(0)
    config = presets.bert(**SIZES, num_attention_heads=2, pad_token_id=0, num_labels=3, hidden_dropout=0.0)
    config.problem_type = "single_label_classification"
    arguments = ClassifierTrainingArguments(
        str(folder), max_steps=1, optim="sgd", learning_rate=0.1, warmup_steps=0, weight_decay=0.0, logging_steps=1,
        eval_strategy="no", save_strategy="no", use_cpu=True, report_to=[], disable_tqdm=True, seed=3, **options,
    )  # fmt: skip
    trainer = ClassifierTrainer(
        ScratchEncoderForSequenceClassification(config), arguments, train_dataset=rows(labels), eval_dataset=rows(GIVEN)
    )
    loss = super(ClassifierTrainer, trainer).train().training_loss
    return loss, {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}


def test_certain_probabilities_teach_what_labels_do(tmp_path: Path) -> None:
    options = {"per_device_train_batch_size": 8, "label_smoothing_factor": 0.1}
    expected = trained(GIVEN, tmp_path, **options)
    loss, weights = trained(np.eye(3)[GIVEN].tolist(), tmp_path, **options)
    assert loss == pytest.approx(expected[0], rel=1e-6)
    torch.testing.assert_close(weights, expected[1])


def test_the_loss_of_probabilities_is_a_mean_over_the_texts_of_a_step(tmp_path: Path) -> None:
    soft = np.random.default_rng(0).dirichlet([1, 1, 1], size=8).tolist()
    whole = trained(soft, tmp_path, per_device_train_batch_size=8)
    parts = trained(soft, tmp_path, per_device_train_batch_size=2, gradient_accumulation_steps=4)
    assert parts[0] == pytest.approx(whole[0], rel=1e-5)
    torch.testing.assert_close(parts[1], whole[1])
    by_class = [trained([label] * 8, tmp_path, per_device_train_batch_size=8)[1] for label in range(3)]
    uniform = trained([[1 / 3] * 3] * 8, tmp_path, per_device_train_batch_size=8)[1]
    for name, weight in uniform.items():  # a gradient is linear in q
        torch.testing.assert_close(weight, torch.stack([weights[name] for weights in by_class]).mean(0))


def test_taught_texts_keep_the_probabilities_of_the_teacher() -> None:
    tokenizer = train_wordlevel_tokenizer(["a dull film", "a fine film"], 20, style="bert", min_frequency=1)
    taught = PseudoLabelled(["a film", "a fine dull film"], np.array([[0.25, 0.75], [0.5, 0.5]]))
    given = Dataset.from_dict({**tokenizer(["a dull film"]), "label": [1]})
    both = with_pseudo_labels(given, taught, tokenizer)
    assert both["label"] == [[0, 1], [0.25, 0.75], [0.5, 0.5]]
    assert both["input_ids"] == tokenizer(["a dull film", *taught.texts])["input_ids"]


def test_batches_without_padding_carry_probabilities() -> None:
    batch = FlatBatches()([{"input_ids": [1, 2], "label": [0.25, 0.75]}, {"input_ids": [3], "label": [1.0, 0.0]}])
    torch.testing.assert_close(batch["labels"], torch.tensor([[0.25, 0.75], [1.0, 0.0]]))


def test_sentences_to_label_have_the_length_of_the_task_and_are_not_evaluated() -> None:
    text = "I saw it twice. Was it good?<br /><br />It was  not good! A very, very, very long way to say so. No."
    corpus = Corpus(["a labelled text. of two sentences."], [], 1, frozenset({"was it good?"}))
    assert corpus.unlabelled_sentences(2, 5, 10, seed=0) == []
    corpus = Corpus([*corpus.texts, text, text], [], 1, corpus.evaluated)
    assert sorted(corpus.unlabelled_sentences(3, 5, 10, seed=0)) == ["I saw it twice.", "It was  not good!"]
    assert len(corpus.unlabelled_sentences(1, 20, 2, seed=0)) <= 2


def test_a_linear_model_learns_words_without_a_labelled_text_from_their_neighbours(tmp_path: Path) -> None:
    """Labelled texts have a known word, evaluated texts a new one, and unlabelled texts both.

    The linear model learns new words from the teacher's labels. What a Transformer learns of them depends on its seed
    and on the processor: a known word alone can explain the probabilities.
    """
    draw = random.Random(0)
    words = {name: [[f"{name}{label}{number}" for number in range(3)] for label in "ab"] for name in ("known", "new")}

    def texts(names: tuple[str, ...], number: int) -> list[str]:
        chosen = ([draw.choice(words[name][row % 2]) for name in names] for row in range(number))
        return [" ".join(["a", *each, f"film {draw.randrange(9)}"]) for each in chosen]

    splits = {"train": ("known", 120), "validation": ("new", 60)}
    for split, (name, number) in splits.items():
        write(tmp_path / f"{split}.csv", {"text": texts((name,), number), "label": [row % 2 for row in range(number)]})
    write(tmp_path / "unsupervised.csv", {"text": texts(("known", "new"), 300)})
    tiny = "hidden_size=16,intermediate_size=16,num_hidden_layers=1,num_attention_heads=2,hidden_dropout=0.0"
    options = f"--config_overrides {tiny} --learning_rate 1e-2 --num_train_epochs 15 --ema_decay 0.9"
    command = f"--data_dir {tmp_path} --output_dir {tmp_path / 'run'} --recipe minutes --use_cpu --report_to none"
    train_classifier.main(f"{command} {options} --teachers 1 --pretraining_steps 2 --disable_tqdm True".split())
    evaluation = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    [linear], chance = evaluation["others"], max(each["accuracy"] for each in evaluation["baselines"])
    assert chance == pytest.approx(0.5, abs=0.1)  # no baseline knows a new word
    assert linear["accuracy"] > 0.75
    assert "unlabelled texts" in linear["name"]
