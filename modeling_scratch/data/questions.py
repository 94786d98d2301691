# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load questions on contexts and their answers, pieces of the contexts: SQuAD's nested JSON, or a question a row."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..utils.errors import DataError
from ..utils.files import rows_digest
from ..utils.markdown import excerpt
from ..utils.options import option
from .columns import is_missing, read_lines
from .held_out import by_key, complete_splits, missing_splits, overlaps, sampled
from .rows import READERS, Row, missing_column, parse_json, read_rows, select
from .splits import SplitArguments, find_splits, open_hub
from .tables import FOUND, TableForm
from .text_files import format_of, unknown_format
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


# Files


def file_rows(path: Path, form: TableForm = FOUND) -> Iterator[tuple[int, str, Row]]:
    """Stream (row, location, fields) of each question in a file. Rows are those of `read_rows`, or questions from 1.

    A .json file has SQuAD's nested data, a list of rows, or a row a line; other files are tables. Raises `DataError`
    that names the file and the entry.
    """
    if format_of(path) not in READERS and path.exists():
        raise unknown_format(path, READERS)
    document = _read_document(path, form) if format_of(path) == ".json" else None
    if document is None:
        return ((row, f"{path.name}, row {row}", values) for row, values in read_rows(path, form=form))
    if isinstance(document, dict) and "data" in document:
        entries = _nested(document["data"], f"{path.name}, data")
    else:
        entries = _items(document if isinstance(document, list) else [document], path.name)
    return ((number, *entry) for number, entry in enumerate(entries, 1))


def asked_rows(
    source: str, form: TableForm, kept: Mapping[str, str] = {}
) -> Iterator[tuple[int, Question, dict[str, Any]]]:
    """Stream (row, question without answers, kept columns) of a file, or of standard input: "-".

    kept: the columns by their new names. Raises `DataError` that names the entry and the field.
    """
    for number, where, values in _typed_rows(form) if source == "-" else file_rows(Path(source), form):
        question, chosen = asked(values, where), select(values, kept.values(), where)
        yield number, question, {new: chosen[name] for new, name in kept.items()}


def _typed_rows(form: TableForm) -> Iterator[tuple[int, str, Row]]:
    """Stream (row, location, fields) of standard input, whose lines are objects in JSON."""
    for number, line in read_lines(sys.stdin.buffer, "--input -", form):
        where = f"--input -, line {number}"
        if is_missing(line):
            continue
        try:
            values = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: invalid JSON: {error}; expected one object per line") from error
        if not isinstance(values, dict):
            raise DataError(f'{where}: expected an object with "question" and "context"')
        yield number, where, values


def _read_document(path: Path, form: TableForm) -> Any:
    """Return the JSON document in a file, or None if it has several: JSON lines."""
    text = form.text(path)
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" or not text.strip():
            return None  # the reader of lines finds and reports their faults
        raise DataError(f"{path}, line {error.lineno}, column {error.colno}: invalid JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: invalid JSON: {error}") from error


def _nested(data: Any, where: str) -> Iterator[tuple[str, Row]]:
    """Stream the questions of SQuAD's articles and paragraphs; an article can also be a row."""
    for place, article in _items(data, where):
        if "paragraphs" not in article:
            yield place, article
            continue
        for place_of_paragraph, paragraph in _items(article["paragraphs"], f"{place}.paragraphs"):
            if "qas" not in paragraph:
                raise missing_column("qas", paragraph, place_of_paragraph)
            shared = {name: value for name, value in paragraph.items() if name == "context"}
            for place_of_question, entry in _items(paragraph["qas"], f"{place_of_paragraph}.qas"):
                yield place_of_question, {**shared, **entry}


def _items(values: Any, where: str) -> Iterator[tuple[str, Row]]:
    if not isinstance(values, list):
        raise DataError(f"{where}: {type(values).__name__}, but expected a list of objects")
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise DataError(f"{where}[{number}]: {type(value).__name__}, but expected an object")
        yield f"{where}[{number}]", value


# Fields


def _check_text(text: Any, where: str) -> None:
    if not isinstance(text, str) or is_missing(text):
        raise DataError(f"{where}: {str(text)[:SHOWN]!r} is empty or not text")


def asked(row: Row, where: str) -> Question:
    """Return the question of a row without its answers. Raises `DataError` that names the field."""
    for name, text in select(row, FIELDS[:2], where).items():
        _check_text(text, f"{where}, {name}")
    known = None if is_missing(row.get("id")) else str(row["id"])
    return Question(row["question"], row["context"], id=known, where=where)


def answered(row: Row, where: str, fixed: list[str] | None = None) -> Question:
    """Return the question of a row with its answers. Raises `DataError` that names the field, and proposes an offset.

    fixed: if given, answers move to their nearest occurrence in the context, and their locations are added here.
    """
    question = asked(row, where)
    if question.id:
        question = question._replace(where=f"{where} (id {question.id[:SHOWN]})")
    (given,) = select(row, FIELDS[2:], question.where).values()
    pairs = _answer_fields(given, f"{question.where}, answers")
    impossible = str(row.get("is_impossible")).strip().lower()  # a table has it as text
    if (impossible in ("true", "1") and pairs) or (impossible in ("false", "0") and not pairs):
        state = "has answers, and is_impossible is true" if pairs else "has no answer, and is_impossible is false"
        raise DataError(f"{question.where}: {state}; correct one of the two")
    answers = tuple(
        _located(text, start, question.context, f"{question.where}, answers[{number}]", fixed)
        for number, (text, start) in enumerate(pairs)
    )
    return question._replace(answers=answers)


def _answer_fields(value: Any, where: str) -> list[tuple[Any, ...]]:
    """Return (text, answer_start) of each answer: of a dict of two lists, a list of dicts, or either as JSON."""
    if isinstance(value, str) and value.strip():
        try:
            value = parse_json(value)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: invalid JSON: {error}") from error
    if is_missing(value):
        return []
    if isinstance(value, dict):
        lists = [value.get(name) for name in PARTS]
        if not all(isinstance(each, list) for each in lists) or len(lists[0] or ()) != len(lists[1] or ()):
            raise DataError(f"{where}: expected the lists text and answer_start, of equal length")
        return list(zip(*lists))
    return [tuple(select(each, PARTS, place).values()) for place, each in _items(value, where)]


def _located(text: Any, start: Any, context: str, where: str, fixed: list[str] | None) -> Answer:
    _check_text(text, where)
    if not isinstance(start, int) or isinstance(start, bool):
        raise DataError(f"{where}: answer_start {str(start)[:SHOWN]!r} is not an integer")
    if start >= 0 and context.startswith(text, start):
        return Answer(text, start)
    places = [found.start() for found in re.finditer(f"(?={re.escape(text)})", context)]
    nearest = min(places, key=lambda place: abs(place - start), default=None)
    if nearest is None:
        raise DataError(f"{where}: {excerpt(text, SHOWN)!r} does not occur in the context{_proposed(text, context)}")
    if fixed is None:
        raise DataError(
            f"{where}: {excerpt(text, SHOWN)!r} is not at answer_start {start}, but at {nearest}; correct it, or give "
            "--fix_offsets"
        )
    fixed.append(where)
    return Answer(text, nearest)


def _proposed(text: str, context: str) -> str:
    """Return the piece of a context that differs from an answer only by case and white space, as a proposal."""
    found = re.search(r"\s+".join(map(re.escape, text.split())), context, re.IGNORECASE)
    return f"; {found[0][:SHOWN]!r} does, at {found.start()}" if found else ""


# Splits


@dataclass
class QuestionDataArguments(SplitArguments):
    """The source of questions with their contexts and answers."""

    data_dir: str | None = option(None, f"A folder with train.*, validation.* and test.* ({', '.join(READERS)}).")
    train_file: str | None = option(
        None, "Training data: json as SQuAD's, or a table with the columns question, context and answers."
    )
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
        return {split: rows_digest(map(_digested, rows)) for split, rows in self.splits.items()}

    def describe(self) -> str:
        sizes = []
        for split, rows in self.splits.items():
            contexts, without = len({one.context for one in rows}), sum(not one.answers for one in rows)
            sizes.append(f"{split}: {len(rows):,} questions on {contexts:,} contexts, {without:,} without an answer")
        return "\n".join([*sizes, *self.notes])


def _digested(question: Question) -> list[str]:
    parts = [part for answer in question.answers for part in (answer.text, str(answer.start))]
    return [str(len(parts)), question.question, question.context, *parts]


def load_questions(arguments: QuestionDataArguments) -> QuestionData:
    """Load and check the questions that `arguments` select. Raises `DataError` for invalid data.

    Missing splits are held out of train. All questions on a context share a split.
    """
    notes: list[str] = []
    splits = {split: _read(split, rows, arguments, notes) for split, rows in _open(arguments).items()}
    draw = by_key(_context_of, arguments)
    splits = complete_splits(splits, missing_splits(splits), draw, arguments, "questions", notes)
    splits = sampled(splits, arguments, "questions", notes)
    data = QuestionData(splits, notes)
    if not any(question.answers for question in splits["train"]):
        raise DataError(f"{splits['train'][0].where}: no question of the train split has an answer")
    contexts = {split: list(dict.fromkeys(map(_context_of, rows))) for split, rows in splits.items()}
    notes += [*_unlearned(data), *overlaps(contexts, "contexts")]
    return data


def _context_of(question: Question) -> str:
    """Return the context, equal for those that differ only by case and white space."""
    return " ".join(question.context.split()).casefold()


def _open(arguments: QuestionDataArguments) -> dict[str, Iterator[tuple[str, Row]]]:
    """Return streams of the rows of each split."""
    if arguments.dataset_name:
        tables, _ = open_hub(arguments.dataset_name, arguments.dataset_config_name)
        return {split: table.rows() for split, table in tables.items()}
    files = find_splits(Path(arguments.data_dir)) if arguments.data_dir else arguments.files
    return {split: _rows_of(paths) for split, paths in files.items()}


def _rows_of(paths: list[Path]) -> Iterator[tuple[str, Row]]:
    for path in paths:
        yield from ((where, values) for _, where, values in file_rows(path))


def _read(
    split: str, rows: Iterator[tuple[str, Row]], arguments: QuestionDataArguments, notes: list[str]
) -> list[Question]:
    fixed: list[str] | None = [] if arguments.fix_offsets else None
    questions = [answered(row, where, fixed) for where, row in rows]
    if not questions:
        raise DataError(f"the {split} split has no questions")
    if fixed:
        notes.append(f"{split}: {len(fixed):,} answers moved to their nearest occurrence (--fix_offsets): {fixed[0]}")
    return questions


def _unlearned(data: QuestionData) -> list[str]:
    """Return a note on questions without an answer in other splits, if train has none of them."""
    if data.has_unanswerable:
        return []
    counts = {split: sum(not one.answers for one in rows) for split, rows in data.splits.items()}
    return [
        f"{split}: {count:,} questions have no answer and count as errors, as train has no such question"
        for split, count in counts.items()
        if count
    ]
