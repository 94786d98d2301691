# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load sentences whose words have labels: CoNLL files, or tables with a list of words and a list of labels."""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, count, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ..utils.errors import DataError, counted
from ..utils.files import rows_digest
from ..utils.options import option
from .held_out import complete_splits, missing_splits, overlap_notes, sampled
from .label_types import MAX_CLASSES
from .splits import FileSource, Source, SplitArguments, open_splits
from .tables import ENCODING_HELP, Row, TableForm, missing_column, read_rows, select
from .text_files import CONLL, format_of

LISTS = (".jsonl", ".json", ".parquet")
COLUMNS = (*CONLL, ".txt", ".tsv")
CONLLU = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
WORD_NAMES = ("tokens", "words", "FORM")
LABEL_NAMES = ("labels", "ner_tags", "tags", "UPOS")
LINES = "line"  # the column of the line numbers of a CoNLL file
DOCUMENT = "-DOCSTART-"
MOSTLY = 0.9  # of the labels mark entities; the others are slips


Span = tuple[int, int]


class Sentence(NamedTuple):
    """Words and their labels. source: the file, or the file and row; lines: of the words in a CoNLL file."""

    words: tuple[str, ...]
    labels: tuple[str, ...]
    source: str
    lines: tuple[int, ...] = ()

    def where(self, index: int) -> str:
        return f"{self.source}, {f'line {self.lines[index]}' if self.lines else f'word {index + 1}'}"

    @property
    def text(self) -> str:
        """The words with blanks between them, which is what a tokenizer reads."""
        return " ".join(self.words)

    @property
    def spans(self) -> list[Span]:
        """The start and the end of each word in the text."""
        ends = accumulate(len(word) + (number > 0) for number, word in enumerate(self.words))
        return [(end - len(word), end) for word, end in zip(self.words, ends)]


# Thai, Lao, Burmese, Khmer, Kana and Han.
WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


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


@dataclass(frozen=True)
class ConllSource:
    """One split in CoNLL files. Its rows are sentences, whose columns are lists as in a table of lists."""

    paths: Sequence[Path]
    form: TableForm

    def __str__(self) -> str:
        return str(self.paths[0])

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        return chain.from_iterable(conll_rows(path, self.form) for path in self.paths)

    def class_names(self, column: str) -> None:
        return None


def conll_rows(path: Path, form: TableForm) -> Iterator[Row]:
    """Stream the sentences of a file: a word a line, columns between tabs or blanks, an empty line after each sentence.

    Columns have numbers from 0, or the names of CoNLL-U, and `LINES` has those of the lines. Comments before a
    sentence, which have other columns than its words, are skipped. So are lines of several words or of none in a
    .conllu file (Universal Dependencies). Raises `DataError` that names the line.
    """
    is_conllu, width, numbers = format_of(path) == ".conllu", 0, count(1)
    lines = enumerate(map(_columns_of, form.lines(path)), 1)
    for _, block in groupby(lines, key=lambda line: bool(line[1])):
        words = [(number, columns) for number, columns in block if columns]
        words = [one for one in words if len(one[1]) == width or not one[1][0].startswith("#")]  # without comments
        words = [one for one in words if not is_conllu or one[1][0].isdecimal()]
        width = width or (len(words[0][1]) if words else 0)
        for number, columns in words:
            if len(columns) != width:
                raise DataError(
                    f"{path}, line {number}: {len(columns)} columns, but the first line has {width}; a line is one "
                    "word and its columns, and an empty line ends a sentence"
                )
        if words:
            names = CONLLU if is_conllu and width == len(CONLLU) else map(str, range(width))
            places, values = zip(*words)
            lists = {**dict(zip(names, zip(*values))), LINES: places}
            yield Row(next(numbers), lists, f"{path.name}, line {places[0]}")


def words_column(path: Path, form: TableForm) -> str | None:
    """Return the column with a list of words a row, of CoNLL or a table without a column "text"; None without one."""
    first = next(_rows_of_words(path, form), None)
    names = (*WORD_NAMES, _words_of_conll(first)) if first and "text" not in first.values else ()
    return next((name for name in names if first and isinstance(first.values.get(name), list | tuple)), None)


def read_words(path: Path, column: str, form: TableForm) -> Iterator[tuple[Row, str]]:
    """Stream each row with its words between blanks, as a tagger is trained and evaluated on them."""
    return ((row, " ".join(_strings(row, column))) for row in _rows_of_words(path, form))


def _rows_of_words(path: Path, form: TableForm) -> Iterator[Row]:
    if format_of(path) in CONLL:
        return conll_rows(path, form)
    return iter(read_rows(path, form=form)) if format_of(path) in LISTS else iter(())


def _columns_of(line: str) -> list[str]:
    """Return the columns of a line; none of an empty line, and of one between documents."""
    line = line.rstrip("\r\n")
    columns = line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))
    return columns if line.strip() and columns[0] != DOCUMENT else []


def _choose_columns(first: Row, arguments: "TaggedDataArguments") -> tuple[str, str]:
    """Return the columns of the words and of the labels: those given, by name or number, or those of usual names."""
    names = [name for name in first.values if name != LINES]
    numbers = dict(zip(map(str, range(-len(names), len(names))), names * 2)) if LINES in first.values else {}
    chosen = []
    for kind, usual, end in (("word", WORD_NAMES, _words_of_conll(first)), ("label", LABEL_NAMES, "-1")):
        given = getattr(arguments, f"{kind}_column")
        found = [name for name in usual if name in names]
        if len(found) > 1 and not given:
            where = f"{first.where}: {' and '.join(found)} could be the {kind}s"
            raise DataError(f"{where}; choose one with --{kind}_column")
        column = given or (found[0] if found else numbers.get(end, usual[0]))
        if column not in names and column not in numbers:
            option = f"--{kind}_column {given}: " if given else ""
            what = "each row has a list of words and one of their labels, and no spans of characters"
            raise missing_column(column, names, f"{option}{first.where}: {what}")
        chosen.append(column if column in names else numbers[column])
    if chosen[0] == chosen[1]:
        what = f"column {chosen[0]} cannot be both the word and the label"
        raise DataError(f"{first.where}: {what}; choose with --word_column and --label_column")
    return chosen[0], chosen[1]


def _sentence(row: Row, word_column: str, label_column: str, class_names: Sequence[str] | None) -> Sentence:
    words, labels = _strings(row, word_column), _strings(row, label_column, class_names)
    if len(words) != len(labels):
        raise DataError(f"{row.where}: {len(words)} words, but {len(labels)} labels")
    lines = row.values.get(LINES, ())
    return Sentence(words, labels, row.where.rpartition(", line ")[0] if lines else row.where, tuple(lines))


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
    strings, lines = [], row.values.get(LINES)
    for number, item in enumerate(items, 1):
        place = f"{row.where.rpartition(', ')[0]}, line {lines[number - 1]}" if lines else f"{row.where}, word {number}"
        is_index = isinstance(item, int) and not isinstance(item, bool)
        if is_index and names and not 0 <= item < len(names):
            raise DataError(f"{place}, column {column!r}: {item} is no index of the {len(names)} labels")
        text = (names[item] if names else str(item)) if is_index else item
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{place}, column {column!r}: {item!r} is empty or not text")
        strings.append(text.strip())
    return tuple(strings)


# Entities

_ENTITY = re.compile("(?P<prefix>[BIESLU])-(?P<kind>.+)", re.DOTALL)
OUTSIDE = "O"
# IOBES (begin, inside, end, single) and BILOU (begin, inside, last, unit) as BIO.
TO_BIO = {"B": "B", "I": "I", "E": "I", "L": "I", "S": "B", "U": "B"}


def are_entities(labels: Mapping[str, int]) -> bool:
    """Return whether labels mark entities: O, and B- or I- (or another letter of IOBES and BILOU) with a type."""
    others = labels.keys() - {OUTSIDE}
    return bool(others) and all(_ENTITY.fullmatch(label) for label in others)


def as_bio(labels: Sequence[str]) -> list[str]:
    """Return the labels of a sentence in BIO, the only one of the schemes that the library's pipeline groups.

    An entity begins with B-, also where it begins with I- (IOB1, of CoNLL 2003) or ends in a label of its own.
    """
    read: list[str] = []
    for label in labels:
        if found := _ENTITY.fullmatch(label):
            goes_on = TO_BIO[found["prefix"]] == "I" and read and read[-1][1:] == f"-{found['kind']}"
            label = f"{'I' if goes_on else 'B'}-{found['kind']}"
        read.append(label)
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

    data_dir: str | None = option(
        None, f"A folder with train.*, validation.* and test.* ({', '.join((*COLUMNS, *LISTS))})."
    )
    train_file: str | None = option(
        None, "Training data: jsonl or parquet with a list of words and one of labels; others are CoNLL."
    )
    word_column: str | None = option(
        None, f"The words: an index (CoNLL; default 0) or a name ({', '.join(WORD_NAMES[:-1])})."
    )
    label_column: str | None = option(
        None, f"The labels: an index (CoNLL; default -1, the last) or a name ({', '.join(LABEL_NAMES[:-1])})."
    )
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
        kind = "entities" if self.are_entities else "labels"
        names = sorted({name[2:] for name in self.label_names if name != OUTSIDE}) if self.are_entities else None
        return "\n".join([*sizes, f"{kind}: {', '.join(names or self.label_names)}", *self.notes])


def load_tagged(arguments: TaggedDataArguments) -> TaggedData:
    """Load and check the sentences that `arguments` select. Raises `DataError` for invalid data.

    The train split defines the labels. If validation and test are both missing, both are held out of train. If only
    validation is missing, only validation is held out.
    """
    sources, notes = open_splits(arguments, (*COLUMNS, *LISTS))
    splits = {split: _read(split, source, arguments, notes) for split, source in sources.items()}
    counts = _check_labels(splits["train"])
    if is_bio := _are_mostly_entities(counts):
        splits = {split: _bio(split, rows, notes) for split, rows in splits.items()}
    elif {OUTSIDE, OUTSIDE.lower()} & counts.keys() or all(map(str.isdecimal, counts)):
        notes.append("the labels are classes of words; those of entities would be O, and B- or I- with a type")
    text_of = attrgetter("text")
    splits = complete_splits(splits, missing_splits(splits), text_of, arguments, "sentences", notes)
    splits = sampled(splits, arguments, "sentences", notes)
    used = {label for sentence in splits["train"] for label in sentence.labels}
    labels = sorted(used | set(map(inside, used)) if is_bio else used)
    names = sorted(labels, key=lambda label: (label != OUTSIDE, label[2:])) if is_bio else labels  # by their types
    texts = {split: list(map(text_of, rows)) for split, rows in splits.items()}
    notes += [*_unseen(splits, used), *overlap_notes(texts, "sentences")]
    return TaggedData(splits, names, is_bio, notes)


def _read(split: str, source: Source | ConllSource, arguments: TaggedDataArguments, notes: list[str]) -> list[Sentence]:
    if isinstance(source, FileSource) and format_of(source.paths[0]) not in LISTS:
        source = ConllSource(source.paths, source.form)
    first = next(iter(source.rows()), None)
    columns = _choose_columns(first, arguments) if first else ("", "")
    names = source.class_names(columns[1]) if first else None
    rows = [_sentence(row, *columns, names) for row in source.rows()]
    sentences = [sentence for sentence in rows if sentence.words]
    if len(sentences) < len(rows):
        notes.append(f"{split}: dropped {counted(len(rows) - len(sentences), 'row')} without words")
    if not sentences:
        raise DataError(f"{source}: the {split} split has no words")
    return sentences


def _check_labels(train: Sequence[Sentence]) -> Counter[str]:
    counts = Counter(label for sentence in train for label in sentence.labels)
    if len(counts) == 1:
        raise DataError(f"{train[0].where(0)}: all words of the train split have one label, {next(iter(counts))!r}")
    if len(counts) > MAX_CLASSES:
        raise DataError(
            f"the words of the train split have {len(counts):,} different labels, such as {next(iter(counts))!r}: "
            "probably the wrong column; choose it with --label_column"
        )
    return counts


def _are_mostly_entities(counts: Mapping[str, int]) -> bool:
    """Return whether labels mark entities, but for a few slips, which `_bio` refuses."""
    marking = {label for label in counts if _ENTITY.fullmatch(label)}
    marked = sum(count for label, count in counts.items() if label in {OUTSIDE, *marking})
    return bool(marking) and marked >= MOSTLY * sum(counts.values())


def _bio(split: str, sentences: list[Sentence], notes: list[str]) -> list[Sentence]:
    """Return the sentences with labels of BIO. Note what changes; raise `DataError` for a label of another kind."""
    read, changed = [], []
    for sentence in sentences:
        labels = tuple(as_bio(sentence.labels))
        for index, (label, new) in enumerate(zip(sentence.labels, labels)):
            if label != OUTSIDE and not _ENTITY.fullmatch(label):
                raise DataError(
                    f"{sentence.where(index)}: the label {label!r} is neither O nor B- or I- with a type, as most are; "
                    "correct it"
                )
            if label != new:
                changed.append(f"{sentence.where(index)}: {label} as {new}")
        read.append(sentence._replace(labels=labels))
    if changed:
        notes.append(f"{split}: {counted(len(changed), 'label')} read as those of BIO, first {changed[0]}")
    return read


def _unseen(splits: Mapping[str, Sequence[Sentence]], known: set[str]) -> list[str]:
    notes = []
    for split in splits.keys() - {"train"}:
        counts = Counter(label for sentence in splits[split] for label in sentence.labels if label not in known)
        if counts:
            names = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(3))
            notes.append(f"{split}: labels that do not occur in train count as errors: {names}")
    return sorted(notes)
