# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tag the texts of a file: find entities as the pipeline does, or give each word its label."""

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm
from transformers import AutoModelForTokenClassification, TokenClassificationPipeline

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import with_padding
from ..data.columns import is_missing
from ..data.tables import Row
from ..data.tagged_sentences import are_entities, words_of_tokens
from ..fast.text_classification import batches_by_length
from ..utils.errors import DataError, counted
from ..utils.files import open_output
from .arguments import PredictArguments, refuse
from .loading import load_head, set_length
from .pipeline_settings import strategy_of
from .rows import check_input, in_chunks, read_input, row_writer, tell

OVERLAP = 1 / 4  # of neighbouring windows of a text that is too long for one
WORD = re.compile(r"\S+")
# Thai, Lao, Burmese, Khmer, Kana and Han.
WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
Piece = dict[str, Any]  # {"text", "label", "score", "start", "end"}


class Tagger:
    """Finds the entities of texts, or labels their words by the label of each word's first token.

    White space separates words. Entities of a long text are found in overlapping windows. Words without a token, such
    as those beyond the tokenizer's limit, have the label None; `cut` counts the texts that exceed it. Raises
    `DataError` for a slow tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32) -> None:
        if not tokenizer.is_fast:
            raise DataError("a slow tokenizer has no character offsets; use a fast one")
        self.limit = with_padding(tokenizer, "--model").model_max_length
        self.finds_entities = are_entities(model.config.label2id)
        self.batch_size, self.cut = batch_size, 0
        options: dict[str, Any] = {"ignore_labels": []}
        if self.finds_entities:
            options = {"aggregation_strategy": strategy_of(model.config)}
            options |= {"stride": int(OVERLAP * self.limit)} if self.limit < NO_LIMIT else {}
        self.pipe = FinitePipeline(model=model, tokenizer=tokenizer, device=model.device, **options)

    def tag(self, texts: Sequence[str]) -> list[list[Piece]]:
        """Return the entities or the words of each text, none of an empty one. Batched by length, longest first."""
        rows = [row for row, text in enumerate(texts) if not is_missing(text)]
        encoded = self.pipe.tokenizer([texts[row] for row in rows], verbose=False)["input_ids"] if rows else []
        lengths = list(map(len, encoded))
        self.cut += sum(length > self.limit for length in lengths)
        pieces: list[list[Piece]] = [[] for _ in texts]
        for batch in batches_by_length([min(each, self.limit) for each in lengths], self.batch_size, self.pipe.device):
            chosen = [rows[number] for number in batch]
            for row, found in zip(chosen, self._answer([texts[row] for row in chosen])):
                pieces[row] = (entities_of if self.finds_entities else words_of)(texts[row], found)
        return pieces

    def _answer(self, texts: list[str]) -> Any:
        try:
            return self.pipe(texts, batch_size=len(texts))
        except (RuntimeError, IndexError, ValueError) as error:
            what = f"the model fails on {counted(len(texts), 'text')} (--batch_size, --max_length)"
            raise DataError(f"{what}: {textwrap.shorten(str(error), 240)}") from error


class FinitePipeline(TokenClassificationPipeline):
    """Raises `DataError` for logits that are no numbers, of which the most likely label would be the first."""

    def _forward(self, model_inputs: Any) -> Any:  # type: ignore[override]  # as in the library's own pipeline
        outputs = super()._forward(model_inputs)
        if not outputs["logits"].isfinite().all():
            raise DataError("the model returns NaN or infinity: its weights are damaged; train it again")
        return outputs


def entities_of(text: str, groups: Sequence[Row]) -> list[Piece]:
    """Return the pieces of a text that the pipeline grouped, up to the ends of their words.

    Of several pieces of one word, the first has it, as the first token of a word decides in training.
    """
    pieces: list[Piece] = []
    for group in groups:
        start, end = _whole_words(text, group["start"], group["end"])
        if pieces and start < (before := pieces[-1]["end"]):
            start = next((at for at in range(before, end) if text[at].isalnum()), end)
        if start < end:
            pieces.append(_piece(text, start, end, group["entity_group"], group["score"]))
    return pieces


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with the letters and digits next to it, unless its writing system has no blanks."""
    while start > 0 and _is_in_word(text[start - 1]) and _is_in_word(text[start]):
        start -= 1
    while end < len(text) and _is_in_word(text[end - 1]) and _is_in_word(text[end]):
        end += 1
    return start, end


def _is_in_word(character: str) -> bool:
    is_letter = character.isalnum() or unicodedata.category(character).startswith("M")
    return is_letter and not WITHOUT_BLANKS.match(character)


def words_of(text: str, tokens: Sequence[Row]) -> list[Piece]:
    """Return the words of a text, with the labels of their first tokens."""
    spans = [word.span() for word in WORD.finditer(text)]
    offsets = [(token["start"], token["end"]) for token in tokens]
    try:
        places = words_of_tokens(text, spans, offsets, [0] * len(tokens))
    except ValueError as error:
        raise DataError(f"the tokenizer does not fit a tagger of words: {error}") from error
    firsts: dict[int | None, Row] = {}
    for word, token in zip(places, tokens):
        firsts.setdefault(word, token)
    unread = {"entity": None, "score": None}
    answers = [firsts.get(word, unread) for word in range(len(spans))]
    return [_piece(text, *span, answer["entity"], answer["score"]) for span, answer in zip(spans, answers)]


def _piece(text: str, start: int, end: int, label: str | None, score: Any) -> Piece:
    score = None if score is None else float(score)
    return {"text": text[start:end], "label": label, "score": score, "start": start, "end": end}


def tag_file(arguments: PredictArguments) -> None:
    """Tag every row of the input. Raises `DataError` for an invalid input or model."""
    check_options(arguments)
    arguments.name_columns()
    check_input(arguments, read_input)
    model, tokenizer = load_head(arguments, AutoModelForTokenClassification, "not a trained tagger")
    set_length(arguments, tokenizer, model.config)
    tagger, empty = Tagger(model, tokenizer, arguments.batch_size), 0
    answer = "entities" if tagger.finds_entities else "words"
    with open_output(arguments.output) as handle, tqdm(unit=" texts", disable=arguments.no_progress or None) as bar:
        write = row_writer(handle, arguments, [*(["text"] if arguments.with_text else []), answer])
        for chunk in in_chunks(read_input(arguments)):
            for (row, text, kept), pieces in zip(chunk, tagger.tag([text for _, text, _ in chunk])):
                write({"text": text, answer: pieces, **kept, "row": row})
                empty += is_missing(text)
            bar.update(len(chunk))
            handle.flush()
    counts = {
        f"rows without text, which get no {answer}": empty,
        f"texts truncated to {tagger.limit} tokens, whose last words have no label": tagger.cut * (answer == "words"),
    }
    tell(counts)


def check_options(arguments: PredictArguments) -> None:
    """Raises `DataError` for options of classifiers."""
    given: dict[str, Any] = {"--threshold": arguments.threshold is not None, "--explain": arguments.explain}
    given |= {"--top_k": arguments.top_k, "--text_column with two names": arguments.has_pairs}
    refuse(given, "the model labels words")
    arguments.check_answer(["text", "entities", "words"] if arguments.with_text else ["entities", "words"])
