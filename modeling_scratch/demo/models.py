# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a demo asks of a model: each kind of model with its inputs and its answers, which are those of its pipeline."""

import copy
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedConfig,
    pipeline,
)

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import (
    ask_for_mask,
    check_folder,
    check_loaded,
    load_checkpoint,
    position_limit,
    read_special_tokens,
)
from ..data.text_pairs import of_parts, pair_columns
from ..inference.answers import ALL, MULTI_LABEL, Choice, gives_numbers
from ..inference.arguments import PredictArguments
from ..inference.classification import explain, load_classifier, uncounted
from ..inference.generation import SearchArguments, load_generator
from ..inference.text_generators import Generated, TextGenerator
from ..tasks import CLASSIFY, FILL, TRANSLATE, WRITE, action_of, named
from ..tasks.base import Task
from ..tasks.requests import Inputs
from ..utils.errors import DataError, panics_as_errors

RATE = "rate"  # what a classifier of numbers does
MOST_ANSWERS = 5  # of a mask
CUT = "Only the first {limit:,} tokens were read."
UNFINISHED = "The text has no end: it was cut at {limit:,} tokens."


@dataclass(frozen=True)
class Source:
    """Where a model comes from, and how its texts are read."""

    name: str
    device: str | None = None
    allow_special_tokens: bool = False
    trust_remote_code: bool = False

    @property
    def place(self) -> str:
        return self.device or str(torch.accelerator.current_accelerator(check_available=True) or "cpu")


class DemoModel(ABC):
    """A model with the names of its input texts. action: what it does, a verb."""

    action: str
    fields: tuple[str, ...] = ("text",)

    @abstractmethod
    def __init__(self, source: Source) -> None:
        """Load the model. Raises `DataError` for one without trained head or tokenizer."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Any, Any]:
        """The model and its tokenizer, or a pair of tokenizers."""

    def check(self, most: int, *texts: str) -> None:
        """Raise `DataError` for an empty text, and one with more than `most` characters or tokens."""
        for name, text in zip(self.fields, texts):
            if not text.strip():
                raise DataError(f"{name}: empty; write a text")
            if fault := Inputs(1, most).fault_of(text):
                raise DataError(f"{name}: {fault}")


class TextClassifier(DemoModel):
    """Texts or pairs of texts -> the probabilities of labels, or numbers."""

    action = CLASSIFY

    def __init__(self, source: Source) -> None:
        arguments = PredictArguments(
            model=source.name,
            device=source.device,
            allow_special_tokens=source.allow_special_tokens,
            trust_remote_code=source.trust_remote_code,
        )
        self.fields = pair_columns(source.name) or DemoModel.fields
        self.classifier = load_classifier(arguments)
        self.config = self.classifier.model.config
        if self.gives_numbers:
            self.action = RATE
        else:
            self.classifier.choice = Choice(ALL)

    @property
    def parts(self) -> tuple[Any, Any]:
        return self.classifier.model, self.classifier.tokenizer

    @property
    def gives_numbers(self) -> bool:
        return gives_numbers(self.config)

    @property
    def has_words(self) -> bool:
        """Whether the model chooses one of several labels for one text, so that its words contribute to one answer."""
        return len(self.fields) == 1 and not self.gives_numbers and self.config.problem_type != MULTI_LABEL

    def answer(self, *texts: str) -> tuple[dict[str, float], str]:
        """Return the score of each label, most likely first, and a note about a truncated text."""
        classifier = replace(self.classifier, cut=0)
        label, score, *top = classifier.classify([of_parts(texts)], uncounted)[0]
        if score is None:
            raise DataError(f"{self.fields[0]}: has no tokens of the model; write something else")
        if top:
            scores = {each["label"]: each["score"] for each in top[0]}
        else:
            scores = dict(zip(label, score)) if isinstance(label, list) else {label: score}
        return scores, CUT.format(limit=classifier.limit) if classifier.cut else ""

    def words(self, text: str) -> list[dict[str, Any]]:
        """Return {"word", "contribution"} of each word, in the order of the text."""
        return explain(self.classifier, [text], uncounted)[0] or []


class PipelineModel(DemoModel):
    """A model that a pipeline of the library or of this package asks."""

    task: Any  # the name of the pipeline
    auto_class: Any

    def __init__(self, source: Source) -> None:
        trusts = source.trust_remote_code
        model, info = load_checkpoint(self.auto_class, source.name, trusts, output_loading_info=True)
        check_loaded(model, info, "no trained head")
        tokenizer = load_checkpoint(AutoTokenizer, source.name, trusts)
        read_special_tokens(tokenizer, source.allow_special_tokens or None)
        ask_for_mask(tokenizer, model)
        self.pipe: Any = pipeline(
            self.task, model=model.eval(), tokenizer=tokenizer, device=source.place, **self.options(model.config)
        )

    def options(self, config: PreTrainedConfig) -> dict[str, Any]:
        """Return the arguments of the pipeline for a model."""
        return {}

    @property
    def parts(self) -> tuple[Any, Any]:
        return self.pipe.model, self.pipe.tokenizer

    @property
    def limit(self) -> int | None:
        limit = min(self.pipe.tokenizer.model_max_length, position_limit(self.pipe.model.config) or NO_LIMIT)
        return limit if limit < NO_LIMIT else None


class OneTextModel(PipelineModel):
    """A pipeline that does not truncate, or whose answer would lack the end of a truncated text."""

    def check(self, most: int, *texts: str) -> None:
        super().check(most, *texts)
        length = len(self.pipe.tokenizer(texts[0], verbose=False)["input_ids"])
        if len(texts) == 1 and self.limit is not None and length > self.limit:  # contexts are read in windows
            raise DataError(f"text: {length:,} tokens exceed the model's limit of {self.limit:,}; shorten it")


class TaskModel(OneTextModel):
    """A model of a task, which says what the page shows."""

    def __init__(self, task: Task, source: Source) -> None:
        self.told, self.action, self.fields = task, task.name, task.fields
        self.task, self.auto_class = task.use.pipeline, getattr(transformers, task.use.auto_class)
        super().__init__(source)

    def options(self, config: PreTrainedConfig) -> dict[str, Any]:
        return self.told.settings(config)

    def answer(self, *texts: str) -> Any:
        """Return the values of the task's outputs, or that of the only one."""
        found = self.pipe(*texts) if len(texts) == 1 else self.pipe(**dict(zip(self.fields, texts)))
        values = self.told.shown(found, *texts)
        return values if len(values) > 1 else values[0]


class MaskFiller(OneTextModel):
    """Texts with a mask -> the most likely tokens."""

    action, task, auto_class = FILL, "fill-mask", AutoModelForMaskedLM

    def __init__(self, source: Source) -> None:
        super().__init__(replace(source, allow_special_tokens=True))  # the mask is one

    @property
    def mask(self) -> str:
        return self.pipe.tokenizer.mask_token

    def check(self, most: int, *texts: str) -> None:
        super().check(most, *texts)
        if (count := texts[0].count(self.mask)) != 1:
            raise DataError(f"text: has {self.mask} {count} times; write it once, for the missing word")

    def answer(self, text: str) -> list[dict[str, Any]]:
        """Return the most likely tokens: {"score", "token", "token_str", "sequence"}."""
        return self.pipe(text, top_k=MOST_ANSWERS)


class Generator(DemoModel):
    """What writers and translators share."""

    def __init__(self, source: Source) -> None:
        self.generator: TextGenerator = load_generator(
            source.name, SearchArguments(), 1, source.device, source.trust_remote_code, source.allow_special_tokens
        )

    @property
    def parts(self) -> tuple[Any, Any]:
        source = self.generator.tokenizer
        return self.generator.model, (source, getattr(self.generator, "target_tokenizer", source))

    def with_settings(self, **settings: Any) -> TextGenerator:
        """Return the generator with settings of one request. Raises `DataError` for invalid ones."""
        generator = copy.copy(self.generator)
        generator.generation = {**generator.generation, **SearchArguments(**settings).given()}
        return generator


class TextTranslator(Generator):
    """Texts -> texts of an encoder-decoder."""

    action = TRANSLATE

    def answer(self, text: str, beams: int, longest: int) -> tuple[str, str]:
        """Return the translation, and a note about a truncated text."""
        translator: Any = self.with_settings(num_beams=beams, max_new_tokens=longest)
        translated = translator.translate([text])[0]
        notes = [CUT.format(limit=translator.limit)] if translator.count_cut([text]) else []
        notes += [UNFINISHED.format(limit=translated.cut_after)] if translated.is_cut else []
        return translated.text, " ".join(notes)


class Writer(Generator):
    """Prompts -> texts that continue them."""

    action, fields = WRITE, ("prompt",)

    def check(self, most: int, *texts: str) -> None:
        super().check(most, *texts)
        limit, length = self.generator.limit, len(self.generator.encode(texts, truncation=False)[0])
        if limit is not None and length > limit:
            raise DataError(f"prompt: {length:,} tokens exceed the model's limit of {limit:,}; shorten it")

    def answer(self, prompt: str, longest: int, seed: int | None, **sampling: Any) -> Iterator[str]:
        """Yield the growing text, prompt included. sampling: temperature, top_k and top_p, none for greedy search."""
        generator = self.with_settings(max_new_tokens=longest, num_beams=1, do_sample=bool(sampling), **sampling)
        text = prompt
        for piece in pieces(partial(_write, generator, prompt, seed)):
            text += piece
            yield text


def _write(generator: TextGenerator, prompt: str, seed: int | None, write: Callable[[str], object]) -> Generated:
    if seed is not None:
        transformers.set_seed(seed)
    return generator.stream(prompt, write)


class StoppedError(Exception):
    """Nobody reads the pieces any more."""


def pieces(run: Callable[[Callable[[str], object]], object]) -> Iterator[str]:
    """Yield what `run` passes to the function that it gets. It runs in a thread, and stops with the iterator."""
    written: SimpleQueue[str | Exception | None] = SimpleQueue()
    is_closed = Event()

    def write(piece: str) -> None:
        if is_closed.is_set():
            raise StoppedError
        written.put(piece)

    def work() -> None:
        try:
            run(write)
            written.put(None)
        except Exception as error:
            written.put(error)

    Thread(target=work, daemon=True).start()
    try:
        while (piece := written.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece
    finally:
        is_closed.set()


KINDS: dict[str, type[DemoModel]] = {
    CLASSIFY: TextClassifier,
    FILL: MaskFiller,
    WRITE: Writer,
    TRANSLATE: TextTranslator,
}


def load_demo_model(source: Source) -> Any:
    """Load a model as what its architecture says. Raises `DataError` for others, and for what does not load."""
    check_folder(source.name, "--model")
    try:
        config = load_checkpoint(AutoConfig, source.name, source.trust_remote_code)
        if (action := action_of(config)) is None:
            raise DataError(f"{(config.architectures or ['it'])[0]} has no head that answers texts; train one first")
        with panics_as_errors():
            return KINDS[action](source) if action in KINDS else TaskModel(named(action), source)
    except Exception as error:  # files, network, configuration, code: libraries raise many types
        message = str(error).removeprefix("--model_name_or_path").removeprefix("--model").strip()
        message = message.removeprefix(f"{source.name}: ")
        raise DataError(f"--model {source.name}: {textwrap.shorten(message, 240)}") from error
