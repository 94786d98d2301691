# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What translators answer: translations of a file, of a request, and on a page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..bridges.model_sources import position_limit
from ..inference.arguments import PredictArguments
from ..inference.batches import Job
from ..inference.generation import load_generator
from ..inference.loading import loading_errors
from ..inference.text_generators import Generated
from .answerer import Answerer, Option
from .page import Component, Page, length_slider, slider

CUT_AFTER = "cut_after"  # of the fields of an answer: the tokens of one without an end
WARMING = 7, 8  # tokens of the translations that warm up a model
MOST_BEAMS = 8  # that a page can ask for
UNFINISHED = "The text has no end: it was cut at {limit:,} tokens."
MOST = {"num_beams": 1_000, "max_new_tokens": 1_000_000}  # of a file
GENERATION = {"num_beams": "The number of beams.", "max_new_tokens": "The maximum number of tokens of a translation."}


@dataclass
class Translation(Answerer):
    """Translations. pipe: a `Translator`. defaults: arguments of generate."""

    summary: ClassVar[str] = "Translate texts."
    column, answers, is_always_list, has_lines = "translation", list[dict[str, str]], True, True

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Translation":
        with loading_errors("--model", arguments.model):
            generator = load_generator(arguments.model, arguments)
        most = dict(limits or MOST)
        positions = position_limit(generator.model.config) or most["max_new_tokens"]
        most["max_new_tokens"] = min(most["max_new_tokens"], positions)
        defaults = {name: min(generator.setting(name, 1), limit) for name, limit in most.items()}
        return cls(generator, most, {**defaults, "num_return_sequences": 1}, batch_size=arguments.batch_size)

    @property
    def options(self) -> Mapping[str, Option]:
        return {name: Option(GENERATION[name], 1, most) for name, most in self.limits.items()}

    def job_of(self, text: str, options: Mapping[str, Any]) -> Job | None:
        whole, ids = (self.pipe.encode([text], truncation)[0] for truncation in (False, True))
        if not ids:
            return None
        generation = {**self.defaults, **options}
        tokens = len(ids) * generation["num_beams"]  # each beam occupies a row of the batch
        return Job({"input_ids": ids}, tokens, len(ids) < len(whole), tuple(sorted(generation.items())))

    def run(self, jobs: Sequence[Job]) -> list[Generated]:
        options = dict(jobs[0].options)
        room = options.pop("max_new_tokens")
        return [best for best, *_ in self.pipe.run([job.features["input_ids"] for job in jobs], room, **options)]

    def fields_of(self, answer: Generated | None, options: Mapping[str, Any]) -> dict[str, Any]:
        return {self.column: answer.text if answer else "", CUT_AFTER: answer and answer.cut_after}

    def output(self, answer: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, str]:
        return {"translation_text": answer[self.column]}

    def warming(self) -> Iterator[list[Job]]:
        """Yield one text, and several: what `compile_generation` compiles for one fits no others.

        All tokens are written, and no two sizes are equal: a graph that was traced with equal sizes fits these alone.
        All sizes come twice, since the library compiles once more for what has changed. Where a tokenizer adds nothing
        to a text, one of a single token has graphs of its own, too.
        """
        most = self.limits["max_new_tokens"]
        sizes = iter(size for size in range(3, 10) if size not in (*WARMING, most))
        (job,) = filter(None, self.encode(["a"], {}))
        for new in (min(each, most) for each in WARMING):
            tokens, texts = next(sizes), next(sizes)
            options = {**self.defaults, "num_beams": 1, "max_new_tokens": new, "min_new_tokens": new}
            for length in (tokens,) if self.pipe.tokenizer.num_special_tokens_to_add() else (tokens, 1):
                features = {"input_ids": (job.features["input_ids"] * length)[:length]}
                for count in 1, texts:
                    yield [Job(features, length, options=tuple(options.items()))] * count

    @property
    def counts(self) -> dict[str, int]:
        return {"texts truncated before translation": self.cut}


class TranslatorPage(Page):
    """Texts -> their translations."""

    outputs = (("Textbox", {"label": "Answer", "lines": 5, "buttons": ["copy"]}),)
    options = "num_beams", "max_new_tokens"

    @property
    def settings(self) -> list[Component]:  # type: ignore[override]
        beams = self.answerer.defaults["num_beams"]
        length = length_slider(self.answerer.defaults["max_new_tokens"])
        return [slider("Beams", 1, max(MOST_BEAMS, beams), beams, 1), length]

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        return [answer["translation"]]

    def notes(self, answer: Any) -> list[str]:
        """Tell of a translation that was cut."""
        return [UNFINISHED.format(limit=answer[CUT_AFTER])] if answer[CUT_AFTER] else []
