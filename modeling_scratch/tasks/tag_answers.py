# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What taggers answer: the entities of texts, or the labels of their words."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from transformers import AutoModelForTokenClassification, TokenClassificationPipeline

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import with_padding
from ..data.tables import select
from ..data.tagged_sentences import are_entities, read_words, words_column
from ..inference.arguments import PredictArguments
from ..inference.batches import Job, check_finite, failing_on
from ..inference.loading import load_head
from ..inference.pieces import Piece, entities_of, words_of
from ..inference.seen_words import unseen_words
from ..utils.errors import DataError, counted
from .answerer import Answerer, FileRow, recorded_settings
from .page import Page

PIPELINE = "token-classification"
COLUMNS = "entities", "words"  # one of them is in the output of predict
OVERLAP = 1 / 4  # of neighbouring windows of a text that is too long for one


class FinitePipeline(TokenClassificationPipeline):
    """Raises `DataError` for logits that are no numbers, of which the most likely label would be the first."""

    def _forward(self, model_inputs: Any) -> Any:  # type: ignore[override]  # as in the library's own pipeline
        outputs = super()._forward(model_inputs)
        check_finite(outputs["logits"])
        return outputs


class Tagger(Answerer):
    """Finds the entities of texts, or labels their words by the label of each word's first token.

    White space separates words. Entities of a long text are found in overlapping windows. Words without a token, such
    as those beyond the tokenizer's limit, have the label None. Raises `DataError` for a slow tokenizer.
    """

    answers = list[Piece]
    summary: ClassVar[str] = "Find the entities of texts, or label their words. start and end count characters."

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32, device: Any = None) -> None:
        if not tokenizer.is_fast:
            raise DataError("a slow tokenizer has no character offsets; use a fast one")
        limit = with_padding(tokenizer, "--model").model_max_length
        self.finds_entities = are_entities(model.config.label2id)
        self.column = COLUMNS[not self.finds_entities]
        options: dict[str, Any] = {"ignore_labels": []}
        if self.finds_entities:
            options = self.settings(model.config)
            options |= {"stride": int(OVERLAP * limit)} if limit < NO_LIMIT else {}
        self.counter = copy.deepcopy(tokenizer)  # the pipeline changes how its own truncates while the model runs
        place = model.device if device is None else device
        pipe = FinitePipeline(model=model, tokenizer=tokenizer, device=place, **options)
        super().__init__(pipe, batch_size=batch_size)

    @classmethod
    def load(cls, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> "Tagger":
        model, tokenizer = load_head(arguments, AutoModelForTokenClassification, "not a trained tagger")
        return cls(model, tokenizer, arguments.batch_size)

    @classmethod
    def settings(cls, config: Any) -> dict[str, Any]:
        """Make entities of tokens by first tokens, if the model was trained on these alone."""
        recorded = recorded_settings(config, PIPELINE).get("aggregation_strategy")
        return {"aggregation_strategy": "first" if recorded == "first" else "simple"}

    def job_of(self, text: str, options: Mapping[str, Any]) -> Job:
        encoded = self.counter(text, verbose=False)
        ids, length = encoded["input_ids"], len(encoded["input_ids"])
        is_cut = length > self.limit and not self.finds_entities  # these are found in windows, which cut nothing
        unseen = unseen_words(encoded.encodings[0], self.counter.unk_token_id, (text,))
        return Job({"input_ids": ids, "text": text}, min(length, self.limit), is_cut, unseen=unseen)

    def run(self, jobs: Sequence[Job]) -> list[list[Piece]]:
        texts = [job.features["text"] for job in jobs]
        with failing_on(f"on {counted(len(texts), 'text')} (--batch_size, --max_length)"):
            found: Any = self.pipe(texts, batch_size=len(texts))
        pieces_of = entities_of if self.finds_entities else words_of
        return [pieces_of(text, each) for text, each in zip(texts, found)]

    def fields_of(self, answer: list[Piece] | None, options: Mapping[str, Any]) -> dict[str, Any]:
        return {self.column: answer or []}

    @property
    def counts(self) -> dict[str, int]:
        return {
            f"rows without text, which get no {self.column}": self.empty,
            f"texts truncated to {self.limit} tokens, whose last words have no label": self.cut,
            **super().counts,
        }

    # Rows of files, whose texts can be lists of words or sentences of CoNLL

    @classmethod
    def name_columns(cls, arguments: PredictArguments) -> None:
        if cls._words(arguments) is None:
            super().name_columns(arguments)

    @classmethod
    def columns(cls, arguments: PredictArguments, answerer: Any = None) -> list[str]:
        return [*(["text"] if arguments.with_text else []), *([answerer.column] if answerer else COLUMNS)]

    @classmethod
    def rows(cls, arguments: PredictArguments) -> Iterator[FileRow]:
        if (column := cls._words(arguments)) is None:
            yield from super().rows(arguments)
            return
        for row, text in read_words(Path(arguments.input), column, arguments.form):
            kept = select(row.values, arguments.kept.values(), row.where)
            yield row.number, text, {new: kept[name] for new, name in arguments.kept.items()}

    @staticmethod
    def _words(arguments: PredictArguments) -> str | None:
        """Return the column of the words of the input; None where it has texts."""
        path = Path(arguments.input)
        is_text = arguments.input == "-" or bool(arguments.text_column) or not path.is_file()
        return None if is_text else words_column(path, arguments.form)


class TaggerPage(Page):
    outputs = (("HighlightedText", {"label": "Answer", "show_legend": True}),)

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        pieces = answer[self.answerer.column]
        labelled = [{**each, "entity": each["label"]} for each in pieces if each["label"] is not None]
        return [{"text": texts[0], "entities": labelled}]
