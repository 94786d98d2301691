# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Open text files, plain or compressed, and decode their lines in bounded memory."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from ..utils.errors import DataError, one_line
from ..utils.files import check_regular, refuse_loop

CONLL = (".conll", ".conllu", ".bio", ".iob", ".iob2")
TEXT_FORMATS = (".csv", ".tsv", ".jsonl", ".json", ".txt", *CONLL)
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
OTHER_NAMES = {".ndjson": ".jsonl", ".tab": ".tsv"}  # of formats
MAX_CHARACTERS = 40_000_000  # of a line; a longer one would exhaust memory
# Of a text. Python's default of 131,072 rejects long documents. Without a limit, an unclosed quote exhausts memory.
MAX_FIELD_CHARACTERS = 10_000_000
FREE_BYTES = 256_000_000  # decompressed size that is always allowed
MAX_RATIO = 300  # above FREE_BYTES: limit of decompressed to on-disk size; text compresses by a factor of 2 to 10
OTHER_BYTES = {
    b"PAR1": "a Parquet file", b"PK\x03\x04": "a workbook or a zip archive", b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF document", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture", b"GIF8": "a picture",
    b"\xd0\xcf\x11\xe0": "a file of old Office versions", b"ARROW1": "a Feather file", b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive", b"SQLite format 3": "a database",
    b"version https://git-lfs": "a pointer of Git LFS to a file that was not downloaded",
}  # fmt: skip
WEB_PAGE = b"<!DOCTYPE", b"<html"  # which may be a text, and is no table
WITHOUT_BLANKS = re.compile(  # Thai, Lao, Burmese, Khmer, Kana and Han
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
CONTROLS = re.compile("[\0-\x08\x0e-\x1a]")  # which no text has
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # byte order marks
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def format_of(path: Path) -> str:
    """Return the suffix that gives the format, without that of a compression: ".csv" of `reviews.csv.gz`."""
    suffix, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    if suffix in OPENERS:
        return inner if inner in TEXT_FORMATS else suffix
    return OTHER_NAMES.get(suffix, suffix)


def count_words(text: str) -> int:
    """Return the number of words, of two letters each in scripts that write no blanks between words."""
    return max(len(text.split()), len(WITHOUT_BLANKS.findall(text)) // 2)


def other_command(path: Path) -> str:
    """Return advice on the command that trains on a file which is no table; nothing if none does."""
    suffix = format_of(path)
    if suffix in CONLL:
        return "; `modeling-scratch train-tokens` trains on CoNLL"
    is_language = len(suffix) == len(".en") and suffix[1:].isalpha() and suffix not in OPENERS
    return "; `modeling-scratch train-translation` trains on two files such as train.en train.de" if is_language else ""


def unknown_format(path: Path, formats: Iterable[str]) -> DataError:
    """Return the error for a file of none of these formats."""
    advice = "name a table of text .csv, whatever its delimiter; unpack an archive; save a sheet as .xlsx"
    supported = f"{', '.join(formats)}, those of texts also before {', '.join(OPENERS)}"
    return DataError(f"{path}: unknown format; supported suffixes: {supported}; {advice}{other_command(path)}")


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed as a stream if its suffix says so.

    Raises `DataError` for what cannot be read, also while it is read: missing, irregular and damaged files.
    """
    check_readable(path)
    try:
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as handle:
            yield handle
    except DAMAGE as error:
        what = f"damaged or not {path.suffix.lower()[1:]}: {one_line(error)}"
        raise DataError(f"{path}: {what}; compress the file again") from error
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> DataError:
    """Return the error for what the system says against reading a file."""
    return DataError(f"{path}: cannot be read: {error.strerror or one_line(error)}")


@contextmanager
def intact(path: Path, what: str) -> Iterator[None]:
    """Raise `DataError` for whatever a library says of a file that is damaged, in one line."""
    try:
        yield
    except DataError:
        raise
    except PermissionError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # of archives, of XML, of Arrow and of others: of many types
        raise DataError(f"{path}: damaged or not {what}: {one_line(error)}; save or download it again") from error


def check_readable(path: Path) -> None:
    """Raise `DataError` for a path that is missing, a folder, a pipe or a device."""
    refuse_loop(path)
    if not path.exists():
        raise DataError(f"{path}: file not found")
    if path.is_dir():
        raise DataError(f"{path}: a folder, and not a file; name a file in it (training takes a folder by --data_dir)")
    check_regular(path)


def allowed_bytes(path: Path) -> int:
    """Return the decompressed size that is plausible for a file of this size on disk."""
    return max(FREE_BYTES, MAX_RATIO * path.stat().st_size)


def check_size(path: Path, size: int) -> None:
    """Raise `DataError` for a decompressed size that is not plausible."""
    if size > (allowed := allowed_bytes(path)):
        raise DataError(f"{path}: expands to more than {allowed / 1e6:,.0f} MB, implausible for its size on disk")


def decoded_lines(path: Path, encoding: str | None, newline: str | None, **options: int) -> Generator[str, None, None]:
    """Yield the lines of a file as `text_lines` does. Raises `DataError` for too many bytes, too."""
    size = 0
    with open_bytes(path) as handle:
        if format_of(path) != ".txt" and handle.peek(2).startswith(WEB_PAGE):  # type: ignore[attr-defined]
            raise DataError(f"{path}: the bytes are those of a web page; download the file itself")
        for line in text_lines(handle, str(path), encoding, newline, **options):
            size += len(line)
            if size > FREE_BYTES:
                check_size(path, size)
            yield line


def text_lines(
    handle: Any, where: str, encoding: str | None = None, newline: str | None = "\n", longest: int = MAX_CHARACTERS
) -> Iterator[str]:
    """Yield the decoded lines with their ends. encoding: by default UTF-8, or UTF-16 with a byte order mark.

    newline: as in `open`; "" ends lines at a lone carriage return, too. longest: in characters, without the end. Raises
    `DataError` for bytes of another format, and with the line, and the character in it, that cannot be decoded.
    """
    start = handle.peek(2) if hasattr(handle, "peek") else b""
    if found := next((what for magic, what in OTHER_BYTES.items() if start.startswith(magic)), None):
        what = f"the bytes are those of {found}, and not of a text"
        raise DataError(f"{where}: {what}; rename it, or name the text file")
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-16" if start.startswith(UTF16) else "utf-8-sig"  # which has a byte order mark or not
    text = io.TextIOWrapper(handle, encoding, "surrogateescape", newline)
    number = 0
    try:
        for number, line in enumerate(iter(partial(text.readline, longest + len("\r\n")), ""), 1):
            if len(line) > longest and len(line.rstrip("\r\n")) > longest:
                raise DataError(f"{where}, line {number}: longer than {longest:,} characters; is it a text file?")
            if not line.isascii():
                line.encode()  # not possible for bytes that could not be decoded, which became surrogates
            yield line
    except UnicodeError as error:  # others are of encodings that have no surrogates for some bytes
        place = f", line {number}, character {error.start + 1}" if isinstance(error, UnicodeEncodeError) else ""
        name = "UTF-8" if encoding == "utf-8-sig" else encoding
        advice = "give its encoding, such as --encoding cp1252, or convert it: iconv -f cp1252 -t utf-8"
        what = f"not valid {name}; {advice}"
        if encoding == "utf-8-sig" and isinstance(error, UnicodeEncodeError) and CONTROLS.search(error.object):
            what = "the bytes are not those of a text; name a text file, or give its --encoding"
        raise DataError(f"{where}{place}: {what}") from None
    finally:
        text.detach()  # whose handle others close
