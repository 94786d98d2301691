# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Windows of contexts, which a model reads one after the other, and their labels in training."""

from collections.abc import Sequence
from typing import Any

import datasets
import torch

from ..data.questions import Answer, Question
from .base import Encoded
from .reader import Reader, Window

IGNORED = -100  # the position of an answer that a tokenizer has no token for


def token_span(encoding: Any, answer: Answer, is_first: bool, is_last: bool) -> tuple[int, int] | None:
    """Return the first and the last token of an answer in a window; None if the window has not all of it.

    is_first, is_last: of the windows of the context.
    """
    places = {index: encoding.offsets[index] for index, side in enumerate(encoding.sequence_ids) if side == 1}
    touched = [index for index, (start, end) in places.items() if max(start, answer.start) < min(end, answer.end)]
    if not touched:
        return None
    begins = is_first or min(places.values())[0] <= answer.start
    ends = is_last or max(end for _, end in places.values()) >= answer.end
    return (touched[0], touched[-1]) if begins and ends else None


def no_answer(encoding: Any, token: int | None) -> int:
    """Return the index of the token that stands for no answer, as the pipeline reads it; `IGNORED` without one."""
    pairs = enumerate(zip(encoding.ids, encoding.sequence_ids))
    return next((index for index, (one, side) in pairs if one == token and side != 1), IGNORED)


def encode_questions(questions: Sequence[Question], reader: Reader) -> Encoded:
    """Divide each context into windows, with the tokens of the first answer, or of none, as labels.

    lost: the first answers that are in no window. Raises `DataError` for a question without room for its context.
    """
    columns: dict[str, list[Any]] = {}
    lost = 0
    for question in questions:
        windows = reader.windows_of(question)
        spans = _spans(question, windows, reader.pipe.tokenizer.truncation_side)
        lost += bool(question.answers) and not any(spans)
        for window, span in zip(windows, spans):
            null = no_answer(window["encoding"], reader.pipe.tokenizer.cls_token_id)
            values: dict[str, Any] = {
                name: value[0].tolist() for name, value in window.items() if isinstance(value, torch.Tensor)
            }
            values |= dict(zip(("start_positions", "end_positions"), span or (null, null)))
            for name, value in values.items():
                columns.setdefault(name, []).append(value)
    return Encoded(datasets.Dataset.from_dict(columns), [], lost)


def _spans(question: Question, windows: Sequence[Window], truncation_side: str) -> list[tuple[int, int] | None]:
    """Return the `token_span` of the first answer in each window. Truncation on the left starts at the end."""
    if not question.answers:
        return [None] * len(windows)
    last = len(windows) - 1
    places = range(last + 1) if truncation_side == "right" else range(last, -1, -1)
    return [
        token_span(window["encoding"], question.answers[0], place == 0, place == last)
        for window, place in zip(windows, places)
    ]
