# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Teachers: classifiers that label the unlabelled texts, so that the next classifier learns from these texts, too.

q = (p_T + p_L) / 2, where the Transformer p_T and the linear model p_L are trained on the given labels and on the q of
the teacher before. The two use different features: each learns what only the other knows (co-training, Blum and
Mitchell 1998, with the soft targets of Hinton et al. 2015).
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy.special import softmax
from transformers import PreTrainedTokenizerBase

from ..data.encoded_texts import encode_texts
from ..data.labelled_texts import ReviewData
from ..data.unlabelled import Corpus
from ..evaluation.baselines import BaselineResult, refit_and_predict
from ..evaluation.classification_metrics import ClassificationMetrics
from ..evaluation.stages import Stage, fine_tuning_stage
from ..sharing.model_files import TEACHER
from ..utils.errors import DataError
from ..utils.files import replacing, rows_digest
from . import classification
from .checkpoints import step_of
from .classification import ClassifierTrainer
from .encoder_models import ModelArguments
from .recipes import TextSizes
from .run import Run
from .soft_labels import PseudoLabelled

LABELS_FILE = "labels.safetensors"
MOST_TEXTS = 4  # unlabelled ones, for each labelled one
SHORTEST, LONGEST = 0.5, 4  # sentences to label, relative to the mean length of labelled texts


def texts_to_label(corpus: Corpus, data: ReviewData, seed: int) -> list[str]:
    """Return unlabelled texts that resemble the labelled ones: sentences where these are short, or else whole texts."""
    labelled = TextSizes.of(list(data.splits["train"]["text"]))
    most = MOST_TEXTS * labelled.texts
    if labelled.are_long:
        return Random(seed).sample(corpus.unlabelled, min(most, len(corpus.unlabelled)))
    words = labelled.words / labelled.texts
    return corpus.unlabelled_sentences(max(1, int(SHORTEST * words)), int(LONGEST * words), most, seed)


def train_teacher(
    run: Run,
    number: int,
    data: ReviewData,
    baseline: BaselineResult,
    model: ModelArguments,
    texts: Sequence[str],
    previous: PseudoLabelled | None,
) -> Stage:
    """Train teacher `number`, or what is left of it, and save its labels of the texts. Return its row of the report.

    model: what to fine-tune. previous: the labels of the teacher before.
    """
    arguments = copy(run.groups["training"])
    arguments.output_dir, arguments.overwrite = str(folder_of(run, number)), False
    arguments.seed += number
    arguments.linear_part = False  # its labels are the mean with those of a linear model
    stage = Run.open_stage(classification.PROGRAM, run.groups["model"], run.groups["data"], arguments)
    stage.check_data({**data.digests(), "unlabelled": digest(texts)})
    encoded = classification.encode(stage, data, model)
    metrics = ClassificationMetrics(data.label_names)
    trainer = classification.train_model(stage, data, encoded, metrics, evaluates=True, added=previous)
    start = perf_counter()
    probabilities = label(trainer, encoded.tokenizer, data, baseline, texts, previous)
    with replacing(stage.folder / LABELS_FILE) as path:
        save_file({"probabilities": probabilities.astype(np.float32)}, path, {"texts": digest(texts)})
    row = fine_tuning_stage(trainer, step_of(stage.checkpoint))
    minutes = row.minutes + (perf_counter() - start) / 60
    result = f"{row.result}; {len(texts):,} texts labelled"
    return replace(row, name=f"teacher {number}", minutes=minutes, result=result)


def label(
    trainer: ClassifierTrainer,
    tokenizer: PreTrainedTokenizerBase,
    data: ReviewData,
    baseline: BaselineResult,
    texts: Sequence[str],
    previous: PseudoLabelled | None,
) -> np.ndarray:
    """Return the means of the probabilities (texts, classes) of the trained model and of the linear one."""
    encoded, _ = encode_texts(texts, tokenizer)
    logits = np.asarray(trainer.predict(encoded).predictions, np.float64)
    transformer = softmax(logits, axis=-1)
    linear = label_linearly(baseline, data, previous, texts)
    if previous is None:  # the linear model learns from the first labels of both
        linear = label_linearly(baseline, data, PseudoLabelled(texts, (transformer + linear) / 2), texts)
    return (transformer + linear) / 2


def label_linearly(
    baseline: BaselineResult, data: ReviewData, added: PseudoLabelled | None, texts: Sequence[str]
) -> np.ndarray:
    """Return the probabilities (texts, classes) of the baseline, trained on the train split and the added texts."""
    known, labels = list(data.splits["train"]["text"]), list(data.splits["train"]["label"])
    if added:
        known, labels = [*known, *added.texts], [*labels, *added.probabilities.argmax(-1)]
    return refit_and_predict(baseline, known, labels, texts, len(data.label_names))


def read_labels(run: Run, number: int, texts: Sequence[str]) -> PseudoLabelled | None:
    """Read the labels of a teacher; None if they are missing or damaged.

    Raises `DataError` if they are those of other texts.
    """
    path = folder_of(run, number) / LABELS_FILE
    try:
        with safe_open(path, "numpy") as file:
            probabilities, labelled = file.get_tensor("probabilities"), (file.metadata() or {}).get("texts")
    except (OSError, SafetensorError):
        return None
    if labelled != digest(texts):
        raise DataError(
            f"{path}: labels of other texts than these; restore the unlabelled texts and the --seed that the run was "
            "started with"
        )
    return PseudoLabelled(texts, probabilities)


def folder_of(run: Run, number: int) -> Path:
    return run.folder / f"{TEACHER}{number}"


def digest(texts: Sequence[str]) -> str:
    return rows_digest([text] for text in texts)
