# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Open text files, plain or compressed (.gz, or .zip with one file in it), and read their lines in bounded memory."""

import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO, Any, AnyStr

from ..utils.errors import DataError, one_line, quoted
from ..utils.files import check_regular

TEXT_FORMATS = (".csv", ".tsv", ".jsonl", ".json", ".txt")
COMPRESSIONS = (".gz", ".zip")
MAX_BYTES = 40_000_000  # per line or value
FREE_BYTES = 256_000_000  # decompressed size that is always allowed
MAX_RATIO = 300  # above FREE_BYTES: limit of decompressed to on-disk size; text compresses by a factor of 2 to 10
BUFFER_BYTES = 1 << 17
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, RuntimeError, NotImplementedError)


def format_of(path: Path) -> str:
    """Return the suffix that gives the format, without that of a compression: ".csv" of `reviews.csv.gz`.

    The name of the file inside gives the format of `reviews.zip`. An archive that cannot be read is a ".zip".
    """
    suffix, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    if suffix not in COMPRESSIONS:
        return suffix
    if suffix == ".zip" and inner not in TEXT_FORMATS and path.is_file():
        with suppress(DataError, OSError):
            inner = Path(_only_member(path).filename).suffix.lower()
    return inner if inner in TEXT_FORMATS else suffix


def unknown_format(path: Path, formats: Iterable[str]) -> DataError:
    """Return the error for a file of none of these formats, or for an archive without one text file."""
    if path.suffix.lower() == ".zip":
        _only_member(path)
    if path.suffix.lower() == ".xls":
        return DataError(f"{path}: the format of old Excel versions; save it as .xlsx")
    compressed = "; text formats may end in .gz or .zip, too"
    return DataError(f"{path}: unknown format; supported suffixes: {', '.join(formats)}{compressed}")


def allowed_bytes(path: Path) -> int:
    """Return the decompressed size that is plausible for a file of this size on disk."""
    return max(FREE_BYTES, MAX_RATIO * path.stat().st_size)


def check_expansion(unpacked: int, allowed: int) -> None:
    """Raise ValueError if a file expands to more than is allowed."""
    if unpacked > allowed:
        raise ValueError(f"its content expands to more than {allowed / 1e6:,.0f} MB, implausible for its size on disk")


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed as a stream if its suffix says so.

    Raises `DataError`, also while it is read, for a damaged archive or one of implausible content.
    """
    if path.suffix.lower() not in COMPRESSIONS:
        return path.open("rb")
    return io.BufferedReader(Decompressed(path), BUFFER_BYTES)


def open_text(path: Path, newline: str | None = "", encoding: str | None = None) -> IO[str]:
    """Open a file as `open_bytes` does. encoding: by default UTF-8, with or without a byte order mark."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding or "utf-8-sig", newline=newline)


class Decompressed(io.RawIOBase):
    """The content of a .gz file, or of the only file in a .zip archive."""

    def __init__(self, path: Path) -> None:
        self.path, self.unpacked, self.allowed = path, 0, allowed_bytes(path)
        self.stream: Any = gzip.open(path) if path.suffix.lower() == ".gz" else _open_member(path)  # noqa: SIM115

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self.stream.read(len(buffer))
            self.unpacked += len(content)
            check_expansion(self.unpacked, self.allowed)
        except DAMAGE as error:
            raise _damaged(self.path, error) from error
        except ValueError as error:
            raise DataError(f"{self.path}: {error}") from error
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()


def _damaged(path: Path, error: BaseException) -> DataError:
    return DataError(f"{path}: damaged or not {path.suffix.lower()[1:]}: {one_line(error)}; compress the file again")


def _only_member(path: Path) -> zipfile.ZipInfo:
    """Return the only file in an archive. Raises `DataError` for none, several, or one that cannot be streamed."""
    check_regular(path)
    try:
        with zipfile.ZipFile(path) as archive:
            found = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    except DAMAGE as error:
        raise _damaged(path, error) from error
    if len(found) != 1:
        raise DataError(f"{path}: contains {len(found):,} files; a compressed text is an archive of one file")
    if found[0].flag_bits & 1 or found[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(f"{path}: encrypted, or compressed by another method than deflate; compress the file again")
    if Path(found[0].filename).suffix.lower() not in TEXT_FORMATS:
        raise DataError(f"{path}: contains {quoted(found[0].filename)}, not a text file ({', '.join(TEXT_FORMATS)})")
    return found[0]


def _open_member(path: Path) -> IO[bytes]:
    member = _only_member(path)
    try:
        with zipfile.ZipFile(path) as archive:  # the file stays open until its member is closed
            return archive.open(member.filename)
    except DAMAGE as error:
        raise _damaged(path, error) from error


def bounded_lines(handle: IO[AnyStr], where: str) -> Iterator[AnyStr]:
    """Yield the lines of a text or binary file. Raises `DataError` for one that would exhaust memory."""
    for number in count(1):
        line = handle.readline(MAX_BYTES)
        if not line:
            return
        if len(line) == MAX_BYTES:
            raise DataError(f"{where}, line {number}: longer than {MAX_BYTES:,} characters; is it a text file?")
        yield line


def encoding_error(path: Path, has_option: bool = False) -> DataError:
    """Return the error that locates the first byte that is not UTF-8. The decoder reports the offset in its buffer.

    has_option: whether the command has --encoding.
    """
    place, encoding, offset = str(path), "cp1252", 0
    with open_bytes(path) as handle:
        for number, line in enumerate(bounded_lines(handle, str(path)), 1):
            if offset == 0 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                encoding = "utf-16"
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                place = f"{path}, line {number}, byte {offset + error.start}"
                break
            offset += len(line)
    name = path.stem if path.suffix.lower() in COMPRESSIONS else path.name
    fix = f"convert the file: iconv -f {encoding} -t utf-8 {name} > utf8-{name}"
    fix = f"add --encoding {encoding}" if has_option else fix
    return DataError(f"{place}: not valid UTF-8; if the encoding is {encoding}, {fix}")
