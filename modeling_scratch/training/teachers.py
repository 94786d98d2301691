# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Teachers: classifiers that label the unlabelled texts, so that those after them learn from these texts, too.

q <- (p_T + p_L) / 2, where a Transformer p_T and a linear model p_L have learned from the given labels and from the q
of the teacher before. The two read differently: each learns what only the other knows (co-training, Blum and Mitchell
1998, with the soft labels of Hinton et al. 2015).
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np
from datasets import Dataset
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy.special import softmax
from transformers import PreTrainedTokenizerBase

from ..data.labelled_texts import ReviewData
from ..data.unlabelled import Corpus
from ..evaluation.baselines import predict_like
from ..evaluation.classification import Judge
from ..evaluation.stages import Stage, fine_tuning_stage
from ..sharing.model_files import TEACHER
from ..utils.errors import DataError
from ..utils.files import replacing, rows_digest
from . import classification
from .checkpoints import step_of
from .classification import ClassifierTrainer, ModelArguments
from .recipes import TextSizes
from .run import Run
from .soft_labels import Taught

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
    return corpus.unlabelled_sentences(int(SHORTEST * words), int(LONGEST * words), most, seed)


def teach(
    run: Run,
    number: int,
    data: ReviewData,
    judge: Judge,
    model: ModelArguments,
    texts: Sequence[str],
    before: Taught | None,
) -> Stage:
    """Train teacher `number`, or what is left of it, and save its labels of the texts. Return its row of the report.

    before: the labels of the teacher before.
    """
    arguments = copy(run.groups["training"])
    arguments.output_dir, arguments.overwrite = str(run.folder / f"{TEACHER}{number}"), False
    arguments.seed += number
    stage = Run.open_stage(classification.PROGRAM, model, run.groups["data"], arguments)
    stage.check_data({**data.digests(), "unlabelled": rows_digest([text] for text in texts)})
    encoded = classification.encode(stage, data, model)
    trainer = classification.train_model(stage, data, encoded, judge, before)
    start = perf_counter()
    own = classify(trainer, encoded.tokenizer, texts)
    linear = classify_linearly(judge, data, before, texts)
    if before is None:  # the linear model learns from both as well
        linear = classify_linearly(judge, data, Taught(texts, (own + linear) / 2), texts)
    with replacing(stage.folder / LABELS_FILE) as path:
        save_file({"probabilities": ((own + linear) / 2).astype(np.float32)}, path)
    row = fine_tuning_stage(trainer, step_of(stage.checkpoint))
    minutes = row.minutes + (perf_counter() - start) / 60
    return replace(
        row, name=f"teacher {number}", minutes=minutes, result=f"{row.result}; {len(texts):,} texts labelled"
    )


def classify(trainer: ClassifierTrainer, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> np.ndarray:
    """Return the probabilities (texts, classes) of the trained model."""
    columns = tokenizer(list(texts), truncation=True)
    return softmax(np.asarray(trainer.predict(Dataset.from_dict(dict(columns))).predictions, np.float64), axis=-1)


def classify_linearly(judge: Judge, data: ReviewData, taught: Taught | None, texts: Sequence[str]) -> np.ndarray:
    """Return the probabilities (texts, classes) of the best baseline, trained on the labelled and the taught texts."""
    known, labels = list(data.splits["train"]["text"]), list(data.splits["train"]["label"])
    if taught:
        known, labels = [*known, *taught.texts], [*labels, *taught.probabilities.argmax(-1)]
    return predict_like(judge.best_baseline, known, labels, texts)


def read_labels(run: Run, number: int, texts: Sequence[str]) -> Taught:
    """Read the labels of a finished teacher. Raises `DataError` if they are not those of the texts."""
    path = Path(run.folder, f"{TEACHER}{number}", LABELS_FILE)
    try:
        probabilities = load_file(path)["probabilities"]
    except (OSError, KeyError, SafetensorError) as error:
        raise DataError(f"{path}: missing or damaged; use --overwrite to train the teacher again") from error
    if len(probabilities) != len(texts):
        raise DataError(
            f"{path}: labels of {len(probabilities):,} texts, not of these {len(texts):,}: restore the unlabelled "
            "texts that the run was started with"
        )
    return Taught(texts, probabilities)
