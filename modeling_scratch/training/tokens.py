# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a tagger, which labels the words of sentences: arguments, alignment of words and tokens, and evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
from torch import Tensor
from transformers import (
    DataCollatorForTokenClassification,
    EvalPrediction,
    PreTrainedTokenizerBase,
    pipeline,
)

from ..data.tagged_sentences import Sentence, TaggedData, TaggedDataArguments, inside, load_tagged, words_of_tokens
from ..evaluation.judged_split import judged_split, predict_split
from ..evaluation.tagging import FrequentLabels, report_tagging, score_labels
from ..inference.pipeline_settings import TAGGING_TASK, record_settings, strategy_of
from ..utils.errors import DataError, DivergedError, one_line
from ..utils.markdown import excerpt
from .encoder_heads import HeadModelArguments, HeadTrainer, HeadTrainingArguments, limit_length
from .encoder_models import build_model, build_tokenizer
from .encoder_training import build_trainer, choose_epoch_on_validation, inputs_of
from .run import Run, pipeline_call, summary
from .run_folder import alone
from .trainer import share

PROGRAM = "scripts/train_tokens.py"
HEAD = "ForTokenClassification"
IGNORED = -100  # the label of a token without one
DIVERGED = -1  # the prediction of NaN


@dataclass
class TaggerModelArguments(HeadModelArguments):
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    lowercase: bool = field(default=False, metadata={"help": "Lower-case the text in a new tokenizer."})
    label_all_tokens: bool = field(
        default=True,
        metadata={"help": "Train on all tokens of a word, of which a pipeline reads each; False: the first."},
    )


@dataclass
class TaggerTrainingArguments(HeadTrainingArguments):
    """transformers.TrainingArguments with defaults for small taggers on a CPU."""

    output_dir: str | None = field(
        default="runs/tagger", metadata={"help": "The folder for the model and all results."}
    )
    per_device_train_batch_size: int = field(default=16, metadata={"help": "Training sentences per step and device."})
    per_device_eval_batch_size: int = field(default=128, metadata={"help": "Sentences per evaluation batch."})


# Words and tokens


class Encoded(NamedTuple):
    """Token ids and labels of a split; firsts: the index of the first token of each word that has one, by sentence."""

    rows: datasets.Dataset
    firsts: list[dict[int, int]]

    def count_left(self, sentences: Sequence[Sentence]) -> int:
        """Count the words without a token: those beyond the limit, and those that the tokenizer drops."""
        return sum(len(sentence.words) - len(firsts) for sentence, firsts in zip(sentences, self.firsts))


def encode_sentences(
    sentences: Sequence[Sentence],
    tokenizer: PreTrainedTokenizerBase,
    label_names: Sequence[str],
    labels_all: bool = False,
) -> Encoded:
    """Tokenise the words with blanks between them, as a text is read later, and label the first token of each word.

    labels_all: label the other tokens of a word as well, in BIO as inside. Raises `DataError` for a token of several
    words, which could have one label only.
    """
    if not tokenizer.is_fast:
        raise DataError("the tokenizer gives no offsets, which words are found by; use a fast tokenizer")
    try:
        batch = tokenizer(
            [sentence.text for sentence in sentences],
            truncation=True,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
    except Exception as error:  # of tokenizers: of no type of its own
        raise DataError(f"the tokenizer cannot read the sentences: {one_line(error)}") from error
    id_of = {name: number for number, name in enumerate(label_names)}
    columns, firsts = [], []
    for sentence, offsets, special in zip(sentences, batch.pop("offset_mapping"), batch.pop("special_tokens_mask")):
        try:
            words = words_of_tokens(sentence.text, sentence.spans, offsets, special)
        except ValueError as error:
            raise DataError(f"{sentence.where(0)}: {error}; use another tokenizer (--tokenizer_kind)") from error
        columns.append(_token_labels(sentence, words, id_of, labels_all))
        firsts.append({word: words.index(word) for word in dict.fromkeys(words) if word is not None})
    return Encoded(datasets.Dataset.from_dict({**batch, "labels": columns}), firsts)


def _token_labels(
    sentence: Sentence, words: Sequence[int | None], id_of: dict[str, int], labels_all: bool
) -> list[int]:
    labels, before = [], None
    for word in words:
        label = None if word is None else sentence.labels[word]
        if label is not None and word == before:
            label = inside(label) if labels_all else None
        labels.append(IGNORED if label is None else id_of.get(label, IGNORED))
        before = word
    return labels


def check_use(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sentence]) -> list[str]:
    """Return a note if the tokenizer tokenises words in a list differently from words in a text, which training does.

    Byte-level tokenizers without add_prefix_space do: in a list, no word has a blank before it.
    """
    for sentence in sentences:
        try:
            ids = tokenizer(list(sentence.words), is_split_into_words=True, verbose=False)["input_ids"]
        except Exception:  # the library refuses some of these tokenizers
            ids = None
        if ids != tokenizer(sentence.text, verbose=False)["input_ids"]:
            return [
                "the tokenizer splits a list of words differently from a text (no add_prefix_space); the model is "
                "trained on texts: join words with blanks, without is_split_into_words"
            ]
    return []


CHECKED_SENTENCES = 100


# Training


class TaggerMetrics:
    """compute_metrics for Trainer: scores of the words that have a token with a label."""

    def __init__(self, data: TaggedData) -> None:
        self.names, self.are_entities = data.label_names, data.are_entities

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """predictions and label_ids (rows, tokens) are label ids. Raises `DataError` if training has diverged."""
        found, given = prediction_sides(prediction)
        scores = score_labels(self.labels_of(given, given), self.labels_of(found, given), self.are_entities)
        return {name: scores[name] for name in ("accuracy", "precision", "recall", "f1")}

    def labels_of(self, ids: np.ndarray, given: np.ndarray) -> list[list[str]]:
        """Return the names of the ids where there is a label."""
        return [[self.names[number] for number in row[there != IGNORED]] for row, there in zip(ids, given)]


def prediction_sides(prediction: EvalPrediction) -> tuple[np.ndarray, np.ndarray]:
    """Return the predicted and the given label ids (rows, tokens). Raises `DataError` if predictions are NaN."""
    found, given = np.asarray(prediction.predictions), np.asarray(prediction.label_ids)
    if (found[given != IGNORED] == DIVERGED).any():
        raise DivergedError("the logits are NaN: training has diverged. Lower the learning rate or warm up longer")
    return found, given


def most_likely(outputs: Any, _: Tensor) -> Tensor:
    """(B, T, labels) -> (B, T): the label of the greatest logit, `DIVERGED` where one is NaN."""
    logits: Tensor = outputs[0] if isinstance(outputs, tuple) else outputs
    return logits.argmax(-1).masked_fill(logits.isnan().any(-1), DIVERGED)


@alone
def train(
    model_arguments: TaggerModelArguments, data_arguments: TaggedDataArguments, arguments: TaggerTrainingArguments
) -> None:
    """Run the training: read, align, train, evaluate and save. Input errors are raised before training starts."""
    run = Run.open(PROGRAM, model_arguments, data_arguments, arguments, inputs_of(model_arguments, data_arguments))
    data = load_tagged(data_arguments)
    run.check_data(data.digests())
    print(data.describe())
    options = {"add_prefix_space": True} if model_arguments.tokenizer_kind == "byte_bpe" else {}
    tokenizer = build_tokenizer(model_arguments, data.texts("train"), run.checkpoint, **options)
    model = build_model(model_arguments, tokenizer, data.label_names, HEAD, problem_type=None)
    limit_length(tokenizer, model.config)
    if not model_arguments.label_all_tokens:
        record_settings(model.config, TAGGING_TASK, aggregation_strategy="first")  # no other token of a word is trained
    encoded, notes = encode_splits(data, tokenizer, model_arguments.label_all_tokens)
    print(*notes, sep="\n")
    choose_epoch_on_validation(arguments, data, ("f1", True))
    rows_of = {split: each.rows for split, each in encoded.items()}
    collator = DataCollatorForTokenClassification(tokenizer)
    trainer = build_trainer(
        HeadTrainer, tokenizer, rows_of, TaggerMetrics(data), arguments, collator, most_likely, model=model
    )
    rows = {split: len(sentences) for split, sentences in data.splits.items()}
    run.start(trainer, [*data.notes, *notes], labels=data.label_names, rows=rows)
    judge(run, trainer, data, encoded)


def encode_splits(
    data: TaggedData, tokenizer: PreTrainedTokenizerBase, labels_all: bool
) -> tuple[dict[str, Encoded], list[str]]:
    """Encode each split, and return notes on words without a label."""
    encoded, notes = {}, check_use(tokenizer, data.splits["train"][:CHECKED_SENTENCES])
    for split, sentences in data.splits.items():
        names, is_train = data.label_names, split == "train"
        encoded[split] = encode_sentences(sentences, tokenizer, names, labels_all and is_train)
        if left := encoded[split].count_left(sentences):
            what = "not trained on" if is_train else "scored as the most frequent label"
            notes.append(
                f"{split}: {left:,} words beyond {tokenizer.model_max_length} tokens (--max_length) or without a token "
                f"are {what}"
            )
    return encoded, notes


def judge(run: Run, trainer: HeadTrainer, data: TaggedData, encoded: dict[str, Encoded]) -> None:
    """Train, save, and evaluate on the test split, or on validation if there is none."""
    split = judged_split(data.splits)
    run.train(trainer, evaluates=split == "test")
    baseline = FrequentLabels(data.splits["train"])
    predicted = predict(trainer, encoded[split], data, split, baseline.otherwise)
    if run.is_main:
        left = encoded[split].count_left(data.splits[split])
        notes = [f"{left:,} words were not read and count as {baseline.otherwise}."] if left else []
        print(report_tagging(trainer, data, split, predicted, baseline.predict(data.splits[split]), notes))
    share(trainer, data.texts(split))
    if run.is_main:
        print(tag(run.folder, data.texts(split)[:3], run.groups["model"].trust_remote_code))
        print(f"\n{summary(trainer, run.checkpoint)}")


def predict(trainer: HeadTrainer, encoded: Encoded, data: TaggedData, split: str, otherwise: str) -> list[list[str]]:
    """Return the label of each word; `otherwise` for those that the model does not read."""
    output = predict_split(trainer, encoded.rows, split)
    found, _ = prediction_sides(EvalPrediction(output.predictions, output.label_ids))
    predicted = [[otherwise] * len(sentence.words) for sentence in data.splits[split]]
    for labels, row, firsts in zip(predicted, found, encoded.firsts):
        for word, token in firsts.items():
            labels[word] = data.label_names[row[token]]
    return predicted


def tag(folder: Path, texts: Sequence[str], trust_remote_code: bool) -> str:
    """Label a few texts with a pipeline loaded from the saved folder."""
    task: Any = TAGGING_TASK
    tagger = pipeline(task, model=str(folder), trust_remote_code=trust_remote_code)
    strategy = strategy_of(tagger.model.config)
    rows = []
    for text in texts:
        found = tagger(text, aggregation_strategy=strategy)
        spans = [f"{text[one['start'] : one['end']]} ({one['entity_group']})" for one in found]
        rows.append(f"{excerpt(text, 80)}\n    {excerpt(', '.join(spans)) or '(nothing)'}")
    arguments = f'"{TAGGING_TASK}", model={str(folder)!r}, aggregation_strategy="{strategy}"'
    return "\n".join(["", pipeline_call(arguments), *rows])
