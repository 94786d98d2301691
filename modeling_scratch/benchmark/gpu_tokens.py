# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Real texts as arrays of token ids, for a machine with a GPU that has neither the data sets nor a network.

One compressed file holds IMDb with its unlabelled reviews and SST-2: 16-bit ids of one BPE vocabulary, the end of each
text, and the labels.
"""

import io
import lzma
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tokenization import train_bpe_tokenizer

from ..data.demo_reviews import Split, generate
from ..data.tables import read_rows
from ..utils.errors import DataError
from ..utils.files import file_digest, replacing

# name: the file in the folder of data sets, and its column of texts
FILES = {
    "imdb-train": ("imdb/train.parquet", "text"),
    "imdb-unlabelled": ("imdb/unsupervised.parquet", "text"),
    "imdb-test": ("imdb/test.parquet", "text"),
    "sst2-train": ("sst2/train.parquet", "sentence"),
    "sst2-validation": ("sst2/validation.parquet", "sentence"),
}
DEMO: dict[str, tuple[Split, int]] = {
    "imdb-train": ("train", 320), "imdb-unlabelled": ("train", 640), "imdb-test": ("test", 80),
    "sst2-train": ("train", 320), "sst2-validation": ("validation", 80),
}  # fmt: skip
VOCAB_SIZE, LONGEST = 16_000, 1024
LINE_BREAK = re.compile(r"<br\s*/?>")
UNLABELLED = -1
PARTS = "ids", "bounds", "labels"  # the fields of `Texts`


@dataclass(frozen=True)
class Texts:
    """ids (tokens,) of all texts, their bounds (texts + 1,), and labels (texts,), UNLABELLED where there is none."""

    ids: np.ndarray
    bounds: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def text(self, number: int, longest: int = LONGEST) -> np.ndarray:
        """The ids of a text, without what goes beyond the longest."""
        start, end = self.bounds[number : number + 2]
        return self.ids[start : min(end, start + longest)]

    def lengths(self, longest: int = LONGEST) -> np.ndarray:
        return np.diff(self.bounds).clip(max=longest)


@dataclass(frozen=True)
class Tokens:
    """All texts by name, and their vocabulary. special: the ids of padding and of a mask, then other special tokens."""

    texts: dict[str, Texts]
    vocab_size: int
    special: tuple[int, ...]
    origin: str = "generated reviews"  # or the digest of their file


def prepare_tokens(folder: Path, output: Path) -> Tokens:
    """Tokenise the data sets in a folder, write them, and return them. The vocabulary never sees a test text."""
    pairs: dict[str, list[tuple[str, int]]] = {}
    for name, (file, column) in FILES.items():
        columns = [column] if name.endswith("unlabelled") else [column, "label"]
        rows = (row.values for row in read_rows(folder / file, columns))
        pairs[name] = [(LINE_BREAK.sub(" ", row[column]), int(row.get("label", UNLABELLED))) for row in rows]
    tokens = _tokenised(pairs, VOCAB_SIZE)
    arrays = {f"{name} {part}": getattr(tokens.texts[name], part) for name in FILES for part in PARTS}
    written = io.BytesIO()
    np.savez(written, special=np.array([tokens.vocab_size, *tokens.special]), **arrays)
    with replacing(output) as temporary:
        temporary.write_bytes(lzma.compress(written.getvalue()))
    return tokens


def read_tokens(path: Path) -> Tokens:
    """Read a file of `prepare_tokens`. Raises `DataError` for another file."""
    try:
        arrays = np.load(io.BytesIO(lzma.decompress(path.read_bytes())), allow_pickle=False)
        texts = {name: Texts(*(arrays[f"{name} {part}"] for part in PARTS)) for name in FILES}
        vocab_size, *special = arrays["special"].tolist()
    except (lzma.LZMAError, zipfile.BadZipFile, EOFError, LookupError, TypeError, ValueError, OSError) as error:
        raise DataError(f"{path}: no file of tokens as --prepare writes it ({error})") from error
    return Tokens(texts, vocab_size, tuple(special), file_digest(path)[:16])


def demo_tokens() -> Tokens:
    """A few of the project's own generated reviews in place of all data sets, for a rehearsal."""
    return _tokenised({name: generate(*DEMO[name], seed) for seed, name in enumerate(DEMO)}, 600)


def _tokenised(pairs: Mapping[str, Sequence[tuple[str, int]]], vocab_size: int) -> Tokens:
    learned = [text for name, rows in pairs.items() if name.endswith(("train", "unlabelled")) for text, _ in rows]
    tokenizer = train_bpe_tokenizer(learned, vocab_size, lowercase=True, model_max_length=LONGEST, show_progress=False)
    special = dict.fromkeys([tokenizer.pad_token_id, tokenizer.mask_token_id, *tokenizer.all_special_ids])
    texts = {}
    for name, rows in pairs.items():
        ids = tokenizer([text for text, _ in rows], truncation=True)["input_ids"]
        flat = np.concatenate([np.array(row, dtype=np.uint16) for row in ids])
        texts[name] = Texts(flat, np.cumsum([0, *map(len, ids)]), np.array([label for _, label in rows]))
    return Tokens(texts, len(tokenizer), tuple(special))
