# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tag the texts of a file: find entities as the pipeline does, or give each word its label."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from tqdm import tqdm
from transformers import AutoModelForTokenClassification, TokenClassificationPipeline

from ..data.columns import is_missing
from ..data.tables import Row
from ..data.tagged_sentences import are_entities
from ..utils.errors import DataError
from ..utils.files import open_output
from .answers import csv_writer, json_writer
from .classification import PredictArguments, check_is_free, in_chunks, load_head, read_input

OVERLAP = 1 / 4  # of neighbouring windows of a text that is too long for one
Span = dict[str, Any]  # {"text", "label", "score", "start", "end"}


class Tagger:
    """Finds the entities of texts, or labels their words, which are between white space, by the label of a first token.

    Entities of a long text are found in windows that overlap. Words beyond the maximum number of tokens have the label
    None; `cut` counts their texts. Raises `DataError` for a tokenizer without character offsets.
    """

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32) -> None:
        if not tokenizer.is_fast:
            raise DataError("the tokenizer tells no character offsets of its tokens (a slow one); use a fast one")
        most = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
        tokenizer.model_max_length = limit = min(tokenizer.model_max_length, most)
        self.finds_entities = are_entities(model.config.label2id)
        self.batch_size, self.cut = batch_size, 0
        options: dict[str, Any] = {"ignore_labels": []}
        if self.finds_entities:
            options = {"aggregation_strategy": "simple", "stride": int(limit * OVERLAP)}
        self.pipe = TokenClassificationPipeline(model=model, tokenizer=tokenizer, device=model.device, **options)

    def tag(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return the entities or the words of each text, none of an empty one. Texts of one length share a batch."""
        order = sorted((row for row, text in enumerate(texts) if not is_missing(text)), key=lambda row: len(texts[row]))
        found = self.pipe([texts[row] for row in order], batch_size=self.batch_size) if order else []
        spans: list[list[Span]] = [[] for _ in texts]
        for row, tokens in zip(order, found):
            spans[row] = self._entities(texts[row], tokens) if self.finds_entities else self._words(texts[row], tokens)
        return spans

    def _entities(self, text: str, groups: Sequence[Row]) -> list[Span]:
        return [_span(text, group["start"], group["end"], group["entity_group"], group["score"]) for group in groups]

    def _words(self, text: str, tokens: Sequence[Row]) -> list[Span]:
        spans, rest = [], list(reversed(tokens))
        for word in re.finditer(r"\S+", text):
            while rest and rest[-1]["end"] <= word.start():
                rest.pop()
            is_read = rest and rest[-1]["start"] < word.end()
            label, score = (rest[-1]["entity"], rest[-1]["score"]) if is_read else (None, None)
            spans.append(_span(text, *word.span(), label, score))
        self.cut += any(span["label"] is None for span in spans)
        return spans


def _span(text: str, start: int, end: int, label: str | None, score: Any) -> Span:
    score = None if score is None else float(score)
    return {"text": text[start:end], "label": label, "score": score, "start": start, "end": end}


def tag_file(arguments: PredictArguments) -> None:
    """Tag every row of the input. Raises `DataError` for an invalid input or model."""
    check_options(arguments)
    model, tokenizer = load_head(arguments, AutoModelForTokenClassification, "not a trained tagger")
    if arguments.max_length is not None:
        tokenizer.model_max_length = arguments.max_length
    tagger, empty = Tagger(model, tokenizer, arguments.batch_size), 0
    answer = "entities" if tagger.finds_entities else "words"
    with open_output(arguments.output) as handle, tqdm(unit=" texts", disable=arguments.no_progress or None) as bar:
        write = writer_of(handle, arguments, answer)
        for chunk in in_chunks(read_input(arguments)):
            for (row, text, kept), spans in zip(chunk, tagger.tag([text for _, text, _ in chunk])):
                write({"text": text, answer: spans, **kept, "row": row})
                empty += is_missing(text)
            bar.update(len(chunk))
            handle.flush()
    counts = {
        f"rows without text, output without {answer}": empty,
        f"texts truncated to {tokenizer.model_max_length} tokens, whose last words have no label": tagger.cut,
    }
    for what, count in counts.items():
        if count:
            print(f"{what}: {count:,}", file=sys.stderr)


def check_options(arguments: PredictArguments) -> None:
    """Raises `DataError` for options of classifiers."""
    given: dict[str, Any] = {"--threshold": arguments.threshold is not None, "--explain": arguments.explain}
    given |= {"--top_k": arguments.top_k, "--text_column with two names": arguments.has_pairs}
    for option in (option for option, is_given in given.items() if is_given):
        raise DataError(f"{option}: the model labels words; leave it out")
    for name in arguments.kept:
        check_is_free(name, ("entities", "words", "text"))


def writer_of(handle: TextIO, arguments: PredictArguments, answer: str) -> Callable[[Row], object]:
    """Return a function that writes a text's spans as a line of JSON or CSV, the kept columns behind its row."""
    columns = ["row", *arguments.kept, *(["text"] if arguments.with_text else []), answer]
    write = json_writer(handle, columns) if arguments.format == "jsonl" else csv_writer(handle, columns)
    return lambda line: write([line[name] for name in columns])
