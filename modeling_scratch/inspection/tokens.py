# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""How a tokenizer got from a text to its tokens: normalisation, pieces, and what its model does to each piece.

The model's own JSON (its vocabulary and merges) is replayed, and compared with the tokenizer's real output: a replay
that gives other tokens is left out.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..data.text_pairs import of_parts, parts_of
from .notes import Note
from .subjects import MASKED, Encoded, Subject

Vocabulary = dict[str, int]
SLOW = Note(
    "the tokenizer is a slow one, which tells neither its steps nor positions in the text",
    "der Tokenizer ist ein langsamer, der weder seine Schritte noch Stellen im Text nennt",
)
UNKNOWN_STEPS = Note(
    "the steps of the tokenizer are left out: a replay of its file gives other tokens",
    "die Schritte des Tokenizers fehlen: Eine Wiederholung nach seiner Datei gibt andere Token",
)


@dataclass
class Merge:
    """One merge of byte-pair encoding: its rank, the two symbols, what they become, and all symbols after it."""

    rank: int
    left: str
    right: str
    result: str
    symbols: list[str]


@dataclass
class Piece:
    """A piece of the pre-tokenised text and its tokens. start_symbols and merges: of byte-pair encoding."""

    text: str
    tokens: list[str]
    how: str
    start_symbols: list[str] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    start: int | None = None
    end: int | None = None


@dataclass
class Tokens:
    """The tokens of a text; see `Encoded`. word_list: the words; words: the index of each token's word.

    parts: of a pair, the texts, and types: the token type ids; None for a single text.
    """

    tokens: list[str]
    ids: list[int]
    special: list[bool]
    spans: list[tuple[int, int]] | None = None
    words: list[int | None] | None = None
    word_list: list[Any] = field(default_factory=list)
    normalized: str | None = None
    pieces: list[Piece] | None = None
    parts: list[str] | None = None
    types: list[int] | None = None


class Bpe:
    """Byte-pair encoding (Sennrich et al. 2016): of all neighbours, merge those of the lowest rank, the first first."""

    def __init__(self, model: dict[str, Any]) -> None:
        pairs = (each.split(" ") if isinstance(each, str) else each for each in model["merges"])
        self.ranks = {tuple(pair): rank for rank, pair in enumerate(pairs)}
        self.vocabulary: Vocabulary = model["vocab"]
        self.prefix = model.get("continuing_subword_prefix") or ""
        self.suffix = model.get("end_of_word_suffix") or ""
        self.unknown, self.fuses = model.get("unk_token"), bool(model.get("fuse_unk"))
        self.has_bytes, self.keeps_whole = bool(model.get("byte_fallback")), bool(model.get("ignore_merges"))

    def piece(self, text: str) -> Piece:
        if self.keeps_whole and text in self.vocabulary:
            return Piece(text, [text], "in the vocabulary")
        symbols = list(self._symbols(text))
        piece = Piece(text, symbols, "merges", symbols)
        while len(piece.tokens) > 1:
            ranked = [(self.ranks.get(pair), place) for place, pair in enumerate(pairwise(piece.tokens))]
            possible = [(rank, place) for rank, place in ranked if rank is not None]
            if not possible:
                break
            rank, place = min(possible)
            left, right = piece.tokens[place : place + 2]
            result = left + right.removeprefix(self.prefix)
            piece.tokens = [*piece.tokens[:place], result, *piece.tokens[place + 2 :]]
            piece.merges.append(Merge(rank, left, right, result, piece.tokens))
        return piece

    def _symbols(self, text: str) -> Iterator[str]:
        """The characters, in the form in which the vocabulary has them, or what stands for those that it lacks."""
        was_unknown = False
        for place, character in enumerate(text):
            symbol = (self.prefix if place else "") + character + (self.suffix if place == len(text) - 1 else "")
            in_bytes = [f"<0x{byte:02X}>" for byte in symbol.encode()]
            is_known = symbol in self.vocabulary
            if is_known:
                yield symbol
            elif self.has_bytes and all(each in self.vocabulary for each in in_bytes):
                yield from in_bytes
            elif self.unknown is not None and not (was_unknown and self.fuses):
                yield self.unknown
            was_unknown = not is_known


class WordLevel:
    """The piece, if the vocabulary has it, or the unknown token."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.vocabulary: Vocabulary = model["vocab"]
        self.unknown = model["unk_token"]

    def piece(self, text: str) -> Piece:
        is_known = text in self.vocabulary
        return Piece(text, [text if is_known else self.unknown], "in the vocabulary" if is_known else "unknown")


class WordPiece:
    """The longest prefix that the vocabulary has, again and again (Wu et al. 2016; BERT)."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.vocabulary: Vocabulary = model["vocab"]
        self.unknown, self.prefix = model["unk_token"], model["continuing_subword_prefix"]
        self.longest = model["max_input_chars_per_word"]

    def piece(self, text: str) -> Piece:
        tokens: list[str] = []
        start = 0
        while start < len(text) <= self.longest:
            before = self.prefix if start else ""
            ends = range(len(text), start, -1)
            end = next((end for end in ends if before + text[start:end] in self.vocabulary), None)
            if end is None:
                break
            tokens.append(before + text[start:end])
            start = end
        if start < len(text):
            return Piece(text, [self.unknown], "unknown")
        return Piece(text, tokens, "longest prefixes" if len(tokens) > 1 else "in the vocabulary")


MODELS: dict[str, Callable[[dict[str, Any]], Any]] = {"BPE": Bpe, "WordLevel": WordLevel, "WordPiece": WordPiece}


def replay(tokenizer: Any, text: str, keeps_special: bool = False) -> list[Piece] | None:
    """Return the pieces of a text and their tokens, without added special tokens; None: an unknown kind of model.

    keeps_special: special tokens that the text spells out are tokens.
    """
    backend = tokenizer.backend_tokenizer
    model = json.loads(backend.to_str())["model"]
    if (kind := MODELS.get(model.get("type", ""))) is None:
        return None
    rules = kind(model)
    pieces = []
    for part in filter(None, _cut(tokenizer, text) if keeps_special else [text]):
        if keeps_special and part.strip() in tokenizer.all_special_tokens:
            pieces.append(Piece(part.strip(), [part.strip()], "in the vocabulary"))
            continue
        normalized = backend.normalizer.normalize_str(part) if backend.normalizer else part
        split = backend.pre_tokenizer.pre_tokenize_str(normalized) if backend.pre_tokenizer else [(normalized, None)]
        pieces += [rules.piece(piece) for piece, _ in split]
    return pieces


def _cut(tokenizer: Any, text: str) -> list[str]:
    """The text, cut at special tokens, which take the white space along that they strip."""
    special = [each for each in tokenizer.added_tokens_decoder.values() if each.special]
    space = r"\s*"
    forms = [space * each.lstrip + re.escape(each.content) + space * each.rstrip for each in special]
    return re.split(f"({'|'.join(sorted(forms, key=len, reverse=True))})", text)


def tokens_of(subject: Subject, encoded: Encoded) -> Tokens:
    """Return a text's tokens and how they came about; without pieces where the replay differs, which is noted."""
    tokenizer = subject.tokenizer
    names = [str(each) for each in tokenizer.convert_ids_to_tokens(encoded.ids)]
    words = [{"word": each.word, "start": each.start, "end": each.end} for each in encoded.words]
    found = Tokens(names, encoded.ids, encoded.special, encoded.spans, encoded.word_of_token, words)
    parts = parts_of(encoded.text)
    if len(parts) > 1:
        found.parts, found.types = list(parts), encoded.types
    if not tokenizer.is_fast:
        subject.notes.append(SLOW)
        return found
    backend = tokenizer.backend_tokenizer
    normalize = backend.normalizer.normalize_str if backend.normalizer else str
    found.normalized = str(of_parts([normalize(part) for part in parts]))
    replayed = [replay(tokenizer, part, reads_special(subject)) for part in parts]
    pieces = [piece for each in replayed for piece in each or ()]
    found.pieces = None if None in replayed else _placed(pieces, found)
    if found.pieces is None:
        subject.notes.append(UNKNOWN_STEPS)
    return found


def reads_special(subject: Subject) -> bool:
    """Whether special tokens that a text spells out are tokens."""
    return subject.task == MASKED or not subject.tokenizer.split_special_tokens


def _placed(pieces: list[Piece], found: Tokens) -> list[Piece] | None:
    """The pieces with ids and positions in the text, up to where it is truncated; None where tokens differ."""
    real = [number for number, added in enumerate(found.special) if not added]
    names = [found.tokens[number] for number in real]
    if [token for piece in pieces for token in piece.tokens][: len(names)] != names:
        return None
    placed, start = [], 0
    for piece in pieces:
        numbers = real[start : start + len(piece.tokens)]
        start += len(piece.tokens)
        if numbers:
            spans = [(found.spans or [])[number] for number in numbers]
            piece.start, piece.end = spans[0][0], spans[-1][1]
            piece.ids = [found.ids[number] for number in numbers]
            placed.append(piece)
    return placed


def target_tokens(subject: Subject) -> Tokens:
    """Return the tokens that the decoder of an encoder-decoder reads."""
    tokenizer, ids = subject.target_tokenizer, subject.decoder_ids
    special = set(tokenizer.all_special_ids)
    return Tokens(list(map(str, tokenizer.convert_ids_to_tokens(ids))), ids, [each in special for each in ids])
