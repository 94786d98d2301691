# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Serving tasks: pipelines split into steps, so that texts of several requests can share a batch."""

import textwrap
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    DataCollatorWithPadding,
    pipeline,
)

from ..bridges.model_sources import (
    ask_for_mask,
    check_folder,
    check_loaded,
    load_checkpoint,
    load_tokenizers,
    position_limit,
    read_special_tokens,
    token_limit,
)
from ..data.columns import is_missing
from ..data.text_pairs import check_single
from ..inference.answers import ALL, MULTI_LABEL, gives_numbers, names_of
from ..inference.arguments import PredictArguments
from ..inference.classification import load_classifier
from ..inference.loading import load_head, move
from ..inference.question_answering import HEAD, Reader
from ..pipelines import DEFAULT_NEW_TOKENS, TranslationPipeline
from ..utils.errors import DataError, panics_as_errors
from .batches import Job
from .interface import Inputs, Option, Questions, array, one_or_several, record

TASKS = ("classify", "translate", "answer")

MOST_BEAMS, MOST_NEW_TOKENS = 8, 256

MORE_THAN_ANY = 1_000  # limit of top_k; as in a pipeline, larger values return all labels
GENERATION = {
    "num_beams": ("The number of beams.", 4),
    "max_new_tokens": ("The maximum number of tokens of a translation.", 32),
}


@dataclass
class Task:
    """texts -> jobs -> answers, each equal to `pipeline(text, truncation=True)`.

    A text without a visible character has an empty answer, as from `modeling-scratch predict` and `generate`.

    name: the route; limits: the request options with their maxima; defaults: arguments of generate that requests do not
    override.
    """

    name: str
    pipe: Any
    limits: dict[str, int]
    defaults: dict[str, int] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Option]:
        """The options of a request, beside its texts."""
        if self.name != "classify":
            chosen = {name: (*GENERATION[name], most) for name, most in self.limits.items()}
            return {name: Option(text, min(value, most), 1, most) for name, (text, value, most) in chosen.items()}
        top_k = Option("The number of labels of a text, most likely first.", 2, 1, self.limits["top_k"], words=(ALL,))
        if gives_numbers(self.pipe.model.config):
            return {"top_k": top_k}
        told = 'The lowest probability of a label. The answer then has "labels": the labels that reach it.'
        return {"top_k": top_k, "threshold": Option(told, 0.8, 0, 1, is_whole=False)}

    @property
    def answers(self) -> dict[str, Any]:
        """The JSON schema of a response: to one text, or to a list of them."""
        if self.name != "classify":
            outputs = array(record({"translation_text": {"type": "string"}}))
            return record({"outputs": outputs, "truncated": one_or_several({"type": "boolean"})})
        names = names_of(self.pipe.model.config)
        outputs = one_or_several(array(record({"label": {"enum": names}, "score": {"type": "number"}})))
        is_multi = self.pipe.model.config.problem_type == MULTI_LABEL
        labels = one_or_several(array({"enum": names}) if is_multi else {"enum": [*names, None]})
        added = {"labels": labels} if "threshold" in self.options else {}
        return record({"outputs": outputs, "truncated": one_or_several({"type": "boolean"})}, added)

    def inputs(self, max_texts: int, max_characters: int) -> Inputs:
        """The form of the texts in a request."""
        return Inputs(max_texts, max_characters)

    @property
    def samples(self) -> list[Any]:
        """Inputs that warm up the model."""
        return ["a", "b c"]

    @property
    def no_answer(self) -> list[dict[str, Any]]:
        """The answer to an empty text: no label, or an empty translation."""
        return [] if self.name == "classify" else [{"translation_text": ""}]

    def encode(self, texts: Sequence[Any], options: Mapping[str, Any]) -> list[Job | None]:
        """Tokenise texts into jobs, None for empty texts. Raises `ValueError` if the tokenizer fails on a text."""
        with panics_as_errors():
            are_empty = (isinstance(text, str) and is_missing(text) for text in texts)
            return [None if empty else self._encode(text, options) for text, empty in zip(texts, are_empty)]

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        encoded = self.pipe.preprocess(text, truncation=True)
        features = {name: values[0] for name, values in encoded.items()}
        generation = {**self.defaults, **options} if self.name == "translate" else {}
        length = len(features["input_ids"])
        tokens = length * generation.get("num_beams", 1)  # each beam occupies a row of the batch
        if encoded.encodings is not None:
            is_cut = bool(encoded.encodings[0].overflowing)
        else:  # slow tokenizers do not report truncation
            is_cut = self.pipe.preprocess(text, truncation=False)["input_ids"].shape[1] > length
        return Job(features, tokens, is_cut, tuple(sorted(generation.items())))

    def run(self, jobs: Sequence[Job]) -> list[list[dict[str, Any]]]:
        """Return each job's labels, most likely first, or its translation."""
        batch = DataCollatorWithPadding(self.pipe.tokenizer)([job.features for job in jobs])
        outputs = self.pipe.forward(batch, **dict(jobs[0].options))
        every = {"top_k": None, "_legacy": False} if self.name == "classify" else {}
        tensors = {name: value for name, value in outputs.items() if isinstance(value, torch.Tensor)}
        if "logits" in tensors and not tensors["logits"].isfinite().all():
            raise ValueError("the model returns NaN or infinity: its weights are damaged; train it again")
        rows = ({name: value[row : row + 1] for name, value in tensors.items()} for row in range(len(jobs)))
        return [self.pipe.postprocess(row, **every) for row in rows]

    def shape(self, answers: Sequence[list[dict[str, Any]]], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Return the labels of one text, or a list of those of each; translations as the pipeline does."""
        top_k = options.get("top_k", 1)
        best = [answer[: None if top_k == ALL else top_k] for answer in answers]
        if not is_list:
            return best[0]
        return best if self.name == "classify" else [answer[0] for answer in best]

    def labels(self, answers: Sequence[list[dict[str, Any]]], threshold: float) -> list[Any]:
        """Return the label of each answer, None if it is below the threshold; of multi-label models, those that reach
        it."""
        reaching = [[each["label"] for each in answer if each["score"] >= threshold] for answer in answers]
        if self.pipe.model.config.problem_type == MULTI_LABEL:
            return reaching
        return [labels[0] if labels else None for labels in reaching]


@dataclass
class Answering(Task):
    """Questions on contexts -> jobs -> answers, each equal to `pipe(question=..., context=...)`.

    A job has the windows of a context. What its model's configuration records is how it is asked.
    """

    reader: Reader | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def options(self) -> dict[str, Option]:
        return {"top_k": Option("The number of answers to a question, best first.", 2, 1, self.limits["top_k"])}

    @property
    def answers(self) -> dict[str, Any]:
        kinds = {"score": "number", "start": "integer", "end": "integer", "answer": "string"}
        answer = record({name: {"type": kind} for name, kind in kinds.items()})
        outputs = {"anyOf": [answer, array(answer), array(array(answer))]}
        return record({"outputs": outputs, "truncated": one_or_several({"type": "boolean"})})

    def inputs(self, max_texts: int, max_characters: int) -> Inputs:
        return Questions(max_texts, max_characters)

    @property
    def samples(self) -> list[Any]:
        return [{"question": "a", "context": "b c"}]

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        with self.lock:  # each call changes how the tokenizer truncates, and requests are encoded in threads
            windows = self.reader.windows(**text)
            question = self.pipe.tokenizer(text["question"], add_special_tokens=False, verbose=False)["input_ids"]
        ids = [token for window in windows for token in window["encoding"].ids]
        sides = [window["encoding"].sequence_ids for window in windows]
        if not any(1 in each for each in sides):
            raise ValueError(f"context: {text['context'][:40]!r} gives no tokens that could be an answer")
        features = {"input_ids": ids, "windows": windows}
        return Job(features, len(ids), sides[0].count(0) < len(question), (("top_k", options.get("top_k", 1)),))

    def run(self, jobs: Sequence[Job]) -> list[list[dict[str, Any]]]:
        """Return each job's answers, best first."""
        return self.reader.answer([job.features["windows"] for job in jobs], **dict(jobs[0].options))

    def shape(self, answers: Sequence[list[dict[str, Any]]], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Format answers as the pipeline does: a list for each question if several are asked for."""
        best = [answer[0] if options.get("top_k", 1) == 1 else answer for answer in answers]
        return best if is_list else best[0]


def load_task(
    name: str,
    device: str | None = None,
    trust_remote_code: bool = False,
    max_beams: int = MOST_BEAMS,
    max_new_tokens: int = MOST_NEW_TOKENS,
    allow_special_tokens: bool = False,
) -> Task:
    """Load the task of a checkpoint. Raises `DataError` for other architectures and untrained heads."""
    check_folder(name, "--model")
    try:
        config = load_checkpoint(AutoConfig, name, trust_remote_code)
        architecture = (config.architectures or [""])[0]
        if architecture.endswith("ForSequenceClassification"):
            task = _classification(name, device, trust_remote_code)
        elif architecture.endswith(HEAD):
            task = _answering(name, device, trust_remote_code)
        elif config.is_encoder_decoder:
            task = _translation(name, device, trust_remote_code)
            most = min(max_new_tokens, position_limit(config) or max_new_tokens)
            task.limits |= {"num_beams": max_beams, "max_new_tokens": most}
            task.defaults |= _defaults(task)
        else:
            what = f"{architecture or 'this model'} neither classifies nor translates texts, nor answers questions"
            raise DataError(f"--model {name}: {what}")
        read_special_tokens(task.pipe.tokenizer, allow_special_tokens or None)
        return _ready(task)
    except DataError:
        raise
    except Exception as error:  # files, network, configuration, code: libraries raise many types
        raise DataError(f"--model {name}: {textwrap.shorten(str(error), 240)}") from error


def _classification(name: str, device: str | None, trust_remote_code: bool) -> Task:
    check_single(name, "the server takes single texts: use `modeling-scratch predict`")
    arguments = PredictArguments(model=name, device=device, trust_remote_code=trust_remote_code)
    classifier = load_classifier(arguments)
    model = classifier.model
    pipe = pipeline("text-classification", model=model, tokenizer=classifier.tokenizer, device=model.device)
    return Task("classify", pipe, {"top_k": MORE_THAN_ANY})


def _answering(name: str, device: str | None, trust_remote_code: bool) -> Task:
    arguments = PredictArguments(model=name, device=device, trust_remote_code=trust_remote_code)
    reader = Reader(*load_head(arguments, AutoModelForQuestionAnswering, "not trained to answer questions"))
    return Answering("answer", reader.pipe, {"top_k": MORE_THAN_ANY}, reader=reader)


def _translation(name: str, device: str | None, trust_remote_code: bool) -> Task:
    model, info = load_checkpoint(AutoModelForSeq2SeqLM, name, trust_remote_code, output_loading_info=True)
    check_loaded(model, info, "no trained generation head")
    source, target = load_tokenizers(name, trust_remote_code)
    ask_for_mask(source, model)
    move(model.eval(), device)
    pipe = TranslationPipeline(model=model, tokenizer=source, target_tokenizer=target, device=model.device)
    return Task("translate", pipe, {})


def _defaults(task: Task) -> dict[str, int]:
    """Return the generation options of the checkpoint or pipeline, within the server's limits."""
    settings = task.pipe.model.generation_config
    length = settings.max_new_tokens or (settings.max_length or 0) - 1  # max_length includes the start token
    if length < 1:
        positions = getattr(task.pipe.model.config, "max_position_embeddings", None)
        length = min(DEFAULT_NEW_TOKENS, positions or DEFAULT_NEW_TOKENS)
    defaults = {"num_beams": settings.num_beams or 1, "max_new_tokens": length}
    return {name: min(value, task.limits[name]) for name, value in defaults.items()} | {"num_return_sequences": 1}


def _ready(task: Task) -> Task:
    """Let the tokenizer truncate where the model has to, and warm up the model."""
    task.pipe.tokenizer.model_max_length = token_limit(task.pipe.tokenizer, task.pipe.model.config)
    jobs = task.encode(task.samples, {"max_new_tokens": 2} if task.name == "translate" else {})
    task.run([job for job in jobs if job])
    return task
