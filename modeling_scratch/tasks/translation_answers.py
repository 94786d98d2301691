# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What translators answer: translations of a file, of a request, and on a page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from transformers import DataCollatorWithPadding

from ..bridges.model_sources import ask_for_mask, position_limit
from ..inference.arguments import PredictArguments
from ..inference.batches import Job
from ..inference.loading import load_generating, move
from ..pipelines import DEFAULT_NEW_TOKENS, TranslationPipeline
from .answerer import Answer, Answerer, FileRow, Option
from .page import CUT, Component, GeneratorPage, slider

WARMING = 7, 8  # tokens of the translations that warm up a model
MOST_BEAMS = 8  # that a page can ask for
UNFINISHED = "The text has no end: it was cut at {limit:,} tokens."
MOST = {"num_beams": 1_000, "max_new_tokens": 1_000_000}  # of a file
GENERATION = {"num_beams": "The number of beams.", "max_new_tokens": "The maximum number of tokens of a translation."}


@dataclass
class Translation(Answerer):
    """Translations. defaults: arguments of generate."""

    name: ClassVar[str] = "translate"
    summary: ClassVar[str] = "Translate texts."
    column, answers = "translation", list[dict[str, str]]

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Translation":
        model, (source, target) = load_generating(arguments.model, arguments.trust_remote_code)
        ask_for_mask(source, model)
        move(model.eval(), arguments.device)
        pipe = TranslationPipeline(model=model, tokenizer=source, target_tokenizer=target, device=model.device)
        most = dict(limits or MOST)
        most["max_new_tokens"] = min(most["max_new_tokens"], position_limit(model.config) or most["max_new_tokens"])
        return cls(pipe, most, _defaults(model, most), batch_size=arguments.batch_size)

    @property
    def options(self) -> Mapping[str, Option]:
        return {name: Option(GENERATION[name], 1, most) for name, most in self.limits.items()}

    @property
    def no_answer(self) -> Answer:
        return {"translation_text": ""}

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        encoded, generation = self.pipe.preprocess(text, truncation=True), {**self.defaults, **options}
        features = {name: values[0] for name, values in encoded.items()}
        length = len(features["input_ids"])
        if encoded.encodings is not None:
            is_cut = bool(encoded.encodings[0].overflowing)
        else:  # slow tokenizers do not report truncation
            is_cut = self.pipe.preprocess(text, truncation=False)["input_ids"].shape[1] > length
        tokens = length * generation.get("num_beams", 1)  # each beam occupies a row of the batch
        return Job(features, tokens, is_cut, tuple(sorted(generation.items())))

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        batch = DataCollatorWithPadding(self.pipe.tokenizer)([job.features for job in jobs])
        outputs = self.pipe.forward(batch, **dict(jobs[0].options))
        rows = ({name: value[row : row + 1] for name, value in outputs.items()} for row in range(len(jobs)))
        return [self.pipe.postprocess(row)[0] for row in rows]

    def lines(self, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        for line in super().lines(rows):
            yield {**line, self.column: line[self.column]["translation_text"]}

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        """Return a list, also of one text, as the pipeline does."""
        return list(answers)

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
                features = {name: values.repeat(length)[:length] for name, values in job.features.items()}
                for count in 1, texts:
                    yield [Job(features, length, options=tuple(options.items()))] * count

    @property
    def counts(self) -> dict[str, int]:
        return {"texts truncated before translation": self.cut}


def _defaults(model: Any, limits: Mapping[str, int]) -> dict[str, int]:
    """Return the generation options of the checkpoint or pipeline, within the server's limits."""
    settings = model.generation_config
    length = settings.max_new_tokens or (settings.max_length or 0) - 1  # max_length includes the start token
    if length < 1:
        positions = getattr(model.config, "max_position_embeddings", None)
        length = min(DEFAULT_NEW_TOKENS, positions or DEFAULT_NEW_TOKENS)
    defaults = {"num_beams": settings.num_beams or 1, "max_new_tokens": length}
    return {name: min(value, limits[name]) for name, value in defaults.items()} | {"num_return_sequences": 1}


class TranslatorPage(GeneratorPage):
    """Texts -> their translations."""

    outputs = ("Textbox", {"label": "Answer", "lines": 5, "buttons": ["copy"]}), ("Markdown", {})

    @property
    def settings(self) -> list[Component]:  # type: ignore[override]
        beams = self.generator.setting("num_beams", 1)
        return [slider("Beams", 1, max(MOST_BEAMS, beams), beams, 1), self.length_slider]

    def answer(self, *values: Any) -> list[str]:
        """Return the translation, and a note about a text, or a translation, that was cut."""
        text, beams, longest = values
        translator: Any = self.with_settings(num_beams=beams, max_new_tokens=longest)
        translated = translator.translate([text])[0]
        notes = [CUT.format(limit=translator.limit)] if translator.count_cut([text]) else []
        notes += [UNFINISHED.format(limit=translated.cut_after)] if translated.is_cut else []
        return [translated.text, " ".join(notes)]
