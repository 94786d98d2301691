# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load sentences whose words have labels: CoNLL files, or tables with a list of words and a list of labels."""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ..utils.errors import DataError, counted
from ..utils.files import rows_digest
from ..utils.options import option
from .held_out import Division, missing_splits, overlaps
from .label_types import MAX_CLASSES
from .splits import FileSource, Source, SplitArguments, open_splits
from .tables import ENCODING_HELP, Row, TableForm, missing_column, read_rows, select
from .text_files import CONLL, WITHOUT_BLANKS, format_of

LISTS = (".jsonl", ".json", ".parquet")
COLUMNS = (*CONLL, ".txt", ".tsv")
CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
WORD_NAMES = ("tokens", "words", "FORM")
LABEL_NAMES = ("labels", "ner_tags", "tags", "UPOS")
DOCUMENT = "-DOCSTART-"
MOST = 0.5  # of the labels mark entities; the others are slips

Span = tuple[int, int]


class Sentence(NamedTuple):
    """Words and their labels. source: the file, and the row or the sentence, by its first line."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    source: str

    def where(self, index: int) -> str:
        return f"{self.source}, word {index + 1}"

    @property
    def text(self) -> str:
        """The words with blanks between them, which is what a tokenizer reads."""
        return " ".join(self.words)

    @property
    def spans(self) -> list[Span]:
        """The start and the end of each word in the text."""
        ends = accumulate(len(word) + (number > 0) for number, word in enumerate(self.words))
        return [(end - len(word), end) for word, end in zip(self.words, ends)]


def is_in_word(character: str) -> bool:
    """Return whether no entity begins or ends at a character if the next one is such a character as well."""
    is_letter = character.isalnum() or unicodedata.category(character).startswith("M")
    return is_letter and not WITHOUT_BLANKS.match(character)


def parts_of(text: str) -> list[Span]:
    """Return the spans that entities are made of: letters and digits together, and any other character alone."""
    parts: list[Span] = []
    for at, character in enumerate(text):
        if parts and parts[-1][1] == at and is_in_word(character) and is_in_word(text[at - 1]):
            parts[-1] = parts[-1][0], at + 1
        elif not character.isspace():
            parts.append((at, at + 1))
    return parts


def words_of_tokens(
    text: str, spans: Sequence[Span], offsets: Sequence[Span], is_special: Sequence[int]
) -> list[int | None]:
    """Return the index of the word that each token lies in; None for special tokens.

    spans: of the words in the text, with blanks between them. offsets: of the tokens. A blank belongs to the word
    behind it, which it is a token of in byte-level BPE. Raises ValueError for a token of several words.
    """
    ends = [end for _, end in spans]
    found: list[int | None] = []
    for (start, end), special in zip(offsets, is_special):
        start = end - len(text[start:end].lstrip())  # some tokenizers count the blank before a word, some do not
        end = start + len(text[start:end].rstrip())
        word = bisect_right(ends, start)
        if not special and word < len(ends) and start < end > ends[word]:
            raise ValueError(f"{text[start:end]!r} is one token of several words")
        found.append(None if special or word == len(ends) else word)
    return found


# Rows of words


def conll_rows(path: Path, form: TableForm) -> Iterator[Row]:
    """Stream the sentences of a file: a word a line, columns between tabs or blanks, an empty line after each sentence.

    Columns have numbers from 0, or the names of CoNLL-U. Comments before a sentence, which have other columns than its
    words, are skipped. So are lines of several words or of none in a .conllu file (Universal Dependencies). Raises
    `DataError` that names the line.
    """
    is_conllu, width, numbers = format_of(path) == ".conllu", 0, count(1)
    lines = enumerate(map(_columns_of, form.lines(path)), 1)
    for _, block in groupby(lines, key=lambda line: bool(line[1])):
        words = [one for one in block if one[1]]
        width = width or next((len(columns) for _, columns in words if not columns[0].startswith("#")), 0)
        words = [one for one in words if len(one[1]) == width or not one[1][0].startswith("#")]  # without comments
        words = [one for one in words if not is_conllu or one[1][0].isdecimal()]
        for number, columns in words:
            if len(columns) != width:
                what = f"{len(columns)} columns, but the first line has {width}"
                advice = "a line is one word and its columns, and an empty line ends a sentence"
                raise DataError(f"{path}, line {number}: {what}; {advice}")
        if words:
            names = CONLLU if is_conllu and width == len(CONLLU) else map(str, range(width))
            lists = zip(*(columns for _, columns in words))
            yield Row(next(numbers), dict(zip(names, lists)), f"{path.name}, sentence of line {words[0][0]}")


def _columns_of(line: str) -> list[str]:
    """Return the columns of a line; none of an empty line, and of one between documents."""
    line = line.rstrip("\r\n")
    columns = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
    return columns if line.strip() and columns[0] != DOCUMENT else []


def _rows_of(path: Path, form: TableForm) -> Iterator[Row]:
    return conll_rows(path, form) if format_of(path) in COLUMNS else read_rows(path, form=form)


def words_column(path: Path, form: TableForm) -> str | None:
    """Return the column with a list of words a row, of CoNLL or a table without a column "text"; None without one."""
    first = next(_rows_of(path, form), None) if format_of(path) in (*CONLL, *LISTS) else None
    if first is None or "text" in first.values:
        return None
    names = (*WORD_NAMES, _words_of_conll(first))
    return next((name for name in names if isinstance(first.values.get(name), list | tuple)), None)


def read_words(path: Path, column: str, form: TableForm) -> Iterator[tuple[Row, str]]:
    """Stream each row with its words between blanks, as a tagger is trained and evaluated on them."""
    return ((row, " ".join(_strings(row, column))) for row in _rows_of(path, form))


def _choose_columns(first: Row, arguments: "TaggedDataArguments") -> list[str]:
    """Return the columns of the words and of the labels: those given, by name or number, or those of usual names."""
    names = list(first.values)
    known = dict(zip(map(str, range(-len(names), len(names))), names * 2)) | dict(zip(names, names))
    chosen = []
    for kind, usual, of_conll in (("word", WORD_NAMES, _words_of_conll(first)), ("label", LABEL_NAMES, "-1")):
        given = getattr(arguments, f"{kind}_column")
        found = [given] if given else [name for name in usual if name in names]
        if len(found) > 1:
            where = f"{first.where}: {' and '.join(found)} could be the {kind}s"
            raise DataError(f"{where}; choose one with --{kind}_column")
        name = found[0] if found else of_conll if "0" in names else usual[0]
        if name not in known:
            what = "each row has a list of words and one of their labels, and no spans of characters"
            raise missing_column(name, names, f"--{kind}_column {given or ''}: {first.where}: {what}")
        chosen.append(known[name])
    if chosen[0] == chosen[1]:
        what = f"column {chosen[0]} cannot be both the word and the label"
        raise DataError(f"{first.where}: {what}; choose with --word_column and --label_column")
    return chosen


def _words_of_conll(row: Row) -> str:
    """Return the column of the words of CoNLL: the first, or the second if the first numbers them."""
    first = list(row.values.get("0", ()))
    numbers = (list(map(str, range(start, start + len(first)))) for start in (0, 1))
    return "1" if len(first) > 1 and first in numbers else "0"


def _strings(row: Row, column: str, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the strings of a list, or those that the class names give to its integers."""
    items: Any = select(row.values, [column], row.where)[column]
    if not isinstance(items, list | tuple):
        what = f"{type(items).__name__}, but expected a list with one value a word"
        raise DataError(f"{row.where}, column {column!r}: {what}")
    strings, named = [], dict(enumerate(names or ()))
    for index, item in enumerate(items, 1):
        text = item if not isinstance(item, int) else named.get(item) if names else str(item)
        if not isinstance(text, str) or not text.strip():
            what = f"{item!r} is empty or not text, nor the index of a label"
            raise DataError(f"{row.where}, word {index}, column {column!r}: {what}")
        strings.append(text.strip())
    return tuple(strings)


# Entities

_ENTITY = re.compile("(?P<prefix>[BIESLUMW])-(?P<kind>.+)", re.DOTALL)
GOES_ON = "IELM"  # inside, end, last, middle (IOBES: single; BILOU: unit; BMEWO: middle, whole)
OUTSIDE = "O"


def are_entities(labels: Mapping[str, int]) -> bool:
    """Return whether labels mark entities: O, and B- or I- (or another letter of `_ENTITY`) with a type."""
    others = labels.keys() - {OUTSIDE}
    return bool(others) and all(_ENTITY.fullmatch(label) for label in others)


def _as_bio(split: str, sentences: list[Sentence], notes: list[str]) -> list[Sentence]:
    """Return the sentences with labels of BIO, the only scheme that the library's pipeline groups. Note what changes.

    An entity begins with B-, also where it begins with I- (IOB1, of CoNLL 2003) or ends in a label of its own.
    Raises `DataError` for a label that marks no entity.
    """
    read, changed = list[Sentence](), list[str]()
    for sentence in sentences:
        labels = [OUTSIDE]  # before the first
        for index, label in enumerate(sentence.labels):
            if found := _ENTITY.fullmatch(label):
                goes_on = found["prefix"] in GOES_ON and labels[-1][1:] == f"-{found['kind']}"
                labels.append(f"{'I' if goes_on else 'B'}-{found['kind']}")
            elif label == OUTSIDE:
                labels.append(label)
            else:
                what = f"the label {label!r} is neither O nor B- or I- with a type, as most are; correct it"
                raise DataError(f"{sentence.where(index)}: {what}")
            if labels[-1] != label:
                changed.append(f"{sentence.where(index)}: {label} as {labels[-1]}")
        read.append(sentence._replace(labels=tuple(labels[1:])))
    if changed:
        notes.append(f"{split}: {counted(len(changed), 'label')} read as those of BIO, first {changed[0]}")
    return read


def inside(label: str) -> str:
    """Return the label of a further token of a word: I- for B-, or else the same."""
    return f"I-{label[2:]}" if label.startswith("B-") else label


def labels_of_parts(text: str, spans: Iterable[tuple[Span, str]]) -> list[str]:
    """Return the label of each of the `parts_of` a text. spans: of words or entities in it, with their labels."""
    labels = dict.fromkeys(parts_of(text), OUTSIDE)
    for (start, end), label in spans:
        for part in [(first, last) for first, last in labels if start <= first and last <= end]:
            labels[part], label = label, inside(label)
    return list(labels.values())


# Splits


@dataclass
class TaggedDataArguments(SplitArguments):
    """The source of labelled words, and their columns."""

    data_dir: str | None = option(None, f"A folder of train.*, validation.*, test.* ({', '.join((*COLUMNS, *LISTS))}).")
    train_file: str | None = option(None, "Training data: CoNLL, or jsonl or parquet with lists of words and labels.")
    word_column: str | None = option(None, f"Words: an index (CoNLL: 0) or a name ({', '.join(WORD_NAMES[:-1])}).")
    label_column: str | None = option(None, f"Labels: an index (CoNLL: -1) or a name ({', '.join(LABEL_NAMES[:-1])}).")
    encoding: str | None = option(None, ENCODING_HELP)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.form  # which checks it

    @property
    def form(self) -> TableForm:
        """How the files are read. Raises `DataError` for an unknown encoding."""
        return TableForm(encoding=self.encoding)


@dataclass(frozen=True)
class TaggedData:
    """The sentences of each split, the labels in the order of their ids, and notes on how they were prepared.

    are_entities: the labels are those of BIO. Otherwise, each is a class of words.
    """

    splits: dict[str, list[Sentence]]
    label_names: list[str]
    are_entities: bool
    notes: list[str]

    def texts(self, split: str) -> list[str]:
        return [sentence.text for sentence in self.splits[split]]

    def digests(self) -> dict[str, str | None]:
        """Return a digest of the words and labels of each split, in their order."""
        return {
            split: rows_digest(part for one in rows for part in ((str(len(one.words)),), one.words, one.labels))
            for split, rows in self.splits.items()
        }

    def describe(self) -> str:
        sizes = [
            f"{split}: {len(rows):,} sentences, {sum(len(one.words) for one in rows):,} words"
            for split, rows in self.splits.items()
        ]
        types = sorted({name[2:] for name in self.label_names if name != OUTSIDE})
        classes = f"classes of words (of entities: O, and B- or I- with a type): {', '.join(self.label_names)}"
        return "\n".join([*sizes, f"entities: {', '.join(types)}" if self.are_entities else classes, *self.notes])


def load_tagged(arguments: TaggedDataArguments) -> TaggedData:
    """Load and check the sentences that `arguments` select. Raises `DataError` for invalid data.

    The train split defines the labels. If validation and test are both missing, both are held out of train. If only
    validation is missing, only validation is held out.
    """
    sources, notes = open_splits(arguments, (*COLUMNS, *LISTS))
    splits = {split: _read(split, source, arguments, notes) for split, source in sources.items()}
    if is_bio := _mark_entities(splits["train"]):
        splits = {split: _as_bio(split, rows, notes) for split, rows in splits.items()}
    text_of = attrgetter("text")
    division = Division(arguments, "sentence", notes)
    splits = division.sampled(division.completed(splits, missing_splits(splits), text_of), text_of)
    used = {label for sentence in splits["train"] for label in sentence.labels}
    labels = sorted(used | set(map(inside, used)) if is_bio else used)
    names = sorted(labels, key=lambda label: (label != OUTSIDE, label[2:])) if is_bio else labels  # by their types
    data = TaggedData(splits, names, is_bio, notes)
    for split in splits:
        unseen = Counter(label for one in splits[split] for label in one.labels if label not in used)
        if found := ", ".join(f"{label} {number:,}" for label, number in unseen.most_common(3)):
            notes.append(f"{split}: labels that do not occur in train count as errors: {found}")
    notes += overlaps({split: data.texts(split) for split in splits}, "sentence", "WARNING: ")
    return data


def _read(split: str, source: Source, arguments: TaggedDataArguments, notes: list[str]) -> list[Sentence]:
    if isinstance(source, FileSource):
        rows = [row for path in source.paths for row in _rows_of(path, source.form)]
    else:
        rows = list(source.rows())
    sentences = []
    word_column, label_column = _choose_columns(rows[0], arguments) if rows else ("", "")
    names = source.class_names(label_column) if rows else None
    for row in rows:
        words, labels = _strings(row, word_column), _strings(row, label_column, names)
        if len(words) != len(labels):
            raise DataError(f"{row.where}: {len(words)} words, but {len(labels)} labels")
        if words:
            sentences.append(Sentence(words, labels, row.where))
    if not sentences:
        raise DataError(f"{source}: the {split} split has no words")
    if dropped := len(rows) - len(sentences):
        notes.append(f"{split}: dropped {counted(dropped, 'row')} without words")
    return sentences


def _mark_entities(train: Sequence[Sentence]) -> bool:
    """Return whether labels mark entities, but for a few slips, which `_as_bio` refuses.

    Raises `DataError` for one label, and for too many.
    """
    counts = Counter(label for sentence in train for label in sentence.labels)
    first = next(iter(counts))
    if len(counts) == 1:
        raise DataError(f"{train[0].where(0)}: all words of the train split have one label, {first!r}")
    if len(counts) > MAX_CLASSES:
        what = f"{len(counts):,} different labels, such as {first!r}: probably the wrong column"
        raise DataError(f"the words of the train split have {what}; choose it with --label_column")
    entities = {label for label in counts if _ENTITY.fullmatch(label)}
    has_begin = any(label[0] not in "ELM" for label in entities)  # none ends without: E-MAIL is a class
    return has_begin and sum(counts[label] for label in {OUTSIDE, *entities}) >= MOST * counts.total()
