# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load questions on contexts and their answers, pieces of the contexts: SQuAD's nested JSON, or a question a row."""

import re
import sys
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ..utils.errors import DataError, counted, one_line
from ..utils.files import rows_digest
from ..utils.markdown import excerpt
from ..utils.options import option
from .columns import check_length, is_missing, normalised, read_lines
from .held_out import Division, missing_splits, overlaps
from .splits import SplitArguments, open_splits
from .tables import READERS, Row, TableArguments, TableForm, json_object, objects, parse_json, read_rows, select
from .text_pairs import TextPair

FIELDS = "question", "context", "answers"
PARTS = "text", "answer_start"  # of an answer
SHOWN = 60  # characters of a text in a message


class Answer(NamedTuple):
    """A piece of a context. start: the index of its first character there."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Question(NamedTuple):
    """A question on a context. answers: the right ones; none if the context has no answer. where: file and entry."""

    question: str
    context: str
    answers: tuple[Answer, ...] = ()
    id: str | None = None
    where: str = ""

    @property
    def pair(self) -> TextPair:
        """The two texts, as a tokenizer reads them."""
        return TextPair(self.question, self.context)

    @property
    def right(self) -> tuple[str, ...]:
        """The texts of the right answers."""
        return tuple(answer.text for answer in self.answers)


def question_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Stream the row of each question: the rows of a table, or those in the paragraphs of SQuAD's articles.

    Raises `DataError` that names the file and the entry.
    """
    numbers = count(1)
    for row in rows:
        if "paragraphs" not in row.values:
            yield row
            continue
        for place, paragraph in objects(row.values["paragraphs"], f"{row.where}, paragraphs"):
            shared, entries = select(paragraph, ["context", "qas"], place).values()
            for where, entry in objects(entries, f"{place}.qas"):
                yield Row(next(numbers), {"context": shared, **entry}, where)


def asked_rows(
    source: str, form: TableForm, kept: Mapping[str, str] = {}
) -> Iterator[tuple[int, Question, dict[str, Any]]]:
    """Stream (row, question without answers, kept columns) of a file, or of the lines of standard input: "-".

    kept: the columns by their new names. A missing text is "". Raises `DataError` that names the entry and the field.
    """
    for row in _typed_rows(form) if source == "-" else question_rows(read_rows(Path(source), form=form)):
        question, chosen = asked(row, may_be_missing=True), select(row.values, kept.values(), row.where)
        yield row.number, question, {new: chosen[name] for new, name in kept.items()}


def _typed_rows(form: TableForm) -> Iterator[Row]:
    for number, line in read_lines(sys.stdin.buffer, "--input -", form):
        where = f"--input -, line {number}"
        if not is_missing(line):
            yield Row(number, json_object(line, where), where)


# Fields


def _text_in(value: Any, where: str, may_be_missing: bool = False) -> str:
    if may_be_missing and is_missing(value):
        return ""
    if not isinstance(value, str) or is_missing(value):
        raise DataError(f"{where}: {str(value)[:SHOWN]!r} is empty or not text")
    check_length(value, where)
    return value


def asked(row: Row, may_be_missing: bool = False) -> Question:
    """Return the question of a row without its answers. Raises `DataError` that names the field."""
    texts = select(row.values, FIELDS[:2], row.where)
    question, context = (_text_in(text, f"{row.where}, {name}", may_be_missing) for name, text in texts.items())
    known = None if is_missing(row.values.get("id")) else str(row.values["id"])
    return Question(question, context, id=known, where=row.where)


def answered(row: Row, fixed: list[str] | None = None) -> Question:
    """Return the question of a row with its answers. Raises `DataError` that names the field, and proposes an offset.

    fixed: if given, answers move to their nearest occurrence in the context, and their locations are added here.
    """
    question = asked(row)
    where = f"{row.where} (id {question.id[:SHOWN]})" if question.id else row.where
    (given,) = select(row.values, FIELDS[2:], where).values()
    pairs = _answer_fields(given, f"{where}, answers")
    if pairs and str(row.values.get("is_impossible")).strip().lower() in ("true", "1"):
        raise DataError(f"{where}: has answers, and is_impossible; correct one of them")
    places = (f"{where}, answers[{number}]" for number in range(len(pairs)))
    answers = tuple(_located(text, at, question.context, place, fixed) for (text, at), place in zip(pairs, places))
    return question._replace(answers=answers, where=where)


def _answer_fields(value: Any, where: str) -> list[tuple[Any, Any]]:
    """Return (text, answer_start) of each answer: of a dict of two lists, a list of dicts, or either as JSON.

    A dict may be in a cell as Python writes it, as in the tables of pandas.
    """
    if isinstance(value, str) and value.strip():
        try:
            value = literal_eval(value) if value.startswith("{'") else parse_json(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            raise DataError(f"{where}: invalid JSON: {one_line(error)}") from error
    if is_missing(value):
        return []
    if isinstance(value, dict):
        texts, starts = (value.get(name) for name in PARTS)
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            raise DataError(f"{where}: expected the lists text and answer_start, of equal length")
        return list(zip(texts, starts))
    found = (select(each, PARTS, place) for place, each in objects(value, where))
    return [(each["text"], each["answer_start"]) for each in found]


def _located(text: Any, start: Any, context: str, where: str, fixed: list[str] | None) -> Answer:
    _text_in(text, where)
    if not isinstance(start, int) and not (isinstance(start, float) and start.is_integer()):  # of pandas, beside gaps
        raise DataError(f"{where}: answer_start {str(start)[:SHOWN]!r} is not an integer")
    if start >= 0 and context.startswith(text, int(start)):
        return Answer(text, int(start))
    places = [found.start() for found in re.finditer(f"(?={re.escape(text)})", context)]
    if not places:
        raise DataError(f"{where}: {excerpt(text, SHOWN)!r} does not occur in the context")
    nearest = min(places, key=lambda place: abs(place - start))
    if fixed is None:
        what = f"{excerpt(text, SHOWN)!r} is not at answer_start {start}, but at {nearest}"
        raise DataError(f"{where}: {what}; correct it, or give --fix_offsets")
    fixed.append(where)
    return Answer(text, nearest)


# Splits


@dataclass
class QuestionDataArguments(TableArguments, SplitArguments):
    """The source of questions with their contexts and answers."""

    data_dir: str | None = option(None, f"A folder with train.*, validation.* and test.* ({', '.join(READERS)}).")
    train_file: str | None = option(None, "Training data: SQuAD's json, or a table of question, context and answers.")
    fix_offsets: bool = option(False, "Move an answer that is not at its offset to its nearest occurrence.")


@dataclass(frozen=True)
class QuestionData:
    """The questions of each split, and notes on how they were prepared."""

    splits: dict[str, list[Question]]
    notes: list[str]

    @property
    def has_unanswerable(self) -> bool:
        """Whether train has questions that their contexts do not answer."""
        return any(not question.answers for question in self.splits["train"])

    def texts(self, split: str) -> list[TextPair]:
        return [question.pair for question in self.splits[split]]

    def digests(self) -> dict[str, str | None]:
        """Return a digest of the questions, contexts and answers of each split, in their order."""

        def parts(one: Question) -> list[str]:
            answers = [part for answer in one.answers for part in (answer.text, str(answer.start))]
            return [str(len(answers)), one.question, one.context, *answers]

        return {split: rows_digest(map(parts, rows)) for split, rows in self.splits.items()}

    def describe(self) -> str:
        sizes = []
        for split, rows in self.splits.items():
            contexts, without = len({one.context for one in rows}), sum(not one.answers for one in rows)
            sizes.append(f"{split}: {len(rows):,} questions on {contexts:,} contexts, {without:,} without an answer")
        return "\n".join([*sizes, *self.notes])


def load_questions(arguments: QuestionDataArguments) -> QuestionData:
    """Load and check the questions that `arguments` select. Raises `DataError` for invalid data.

    Missing splits are held out of train. All questions on a context share a split.
    """
    sources, notes = open_splits(arguments)
    splits = {split: _read(split, source.rows(), arguments, notes) for split, source in sources.items()}
    division = Division(arguments, "question", notes)
    splits = division.completed(splits, missing_splits(splits), lambda one: normalised(one.context))
    splits = division.sampled(splits, attrgetter("question"))
    data = QuestionData(splits, notes)
    if not any(question.answers for question in splits["train"]):
        raise DataError(f"{splits['train'][0].where}: no question of the train split has an answer")
    for split, rows in splits.items():
        if (number := sum(not one.answers for one in rows)) and not data.has_unanswerable:
            what = f"{number:,} questions have no answer and count as errors"
            notes.append(f"{split}: {what}, as train has no such question")
    contexts = {split: list({normalised(one.context): None for one in rows}) for split, rows in splits.items()}
    notes += overlaps(contexts, "context", "WARNING: ")
    return data


def _read(split: str, rows: Iterable[Row], arguments: QuestionDataArguments, notes: list[str]) -> list[Question]:
    fixed: list[str] | None = [] if arguments.fix_offsets else None
    questions, faults = list[Question](), list[DataError]()
    for row in question_rows(rows):
        try:
            questions.append(answered(row, fixed))
        except DataError as error:
            faults.append(error)
    if faults:
        others = f"; {counted(len(faults) - 1, 'other question')} in {split} cannot be read, either"
        raise DataError(f"{faults[0]}{others if len(faults) > 1 else ''}")
    if not questions:
        raise DataError(f"the {split} split has no questions")
    if fixed:
        notes.append(f"{split}: {len(fixed):,} answers moved to their nearest occurrence (--fix_offsets): {fixed[0]}")
    return questions
