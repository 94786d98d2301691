# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a client of Xet storage uploads: xorbs of compressed chunks, and shards that say which of them make a file.

Source: https://huggingface.co/docs/xet, the formats of xorbs and shards.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

RECORD = 48  # bytes: all that a shard holds comes in records of this size, its header, too
WITH_VERIFICATION, WITH_METADATA = 1 << 31, 1 << 30
END = b"\xff" * 32


class Term(NamedTuple):
    """Chunks of a xorb, from first to before last."""

    xorb: str
    first: int
    last: int


def hash_text(record: bytes) -> str:
    """As in an address: the 32 bytes are four little-endian numbers."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", record[:32]))


def read_shard(shard: bytes) -> Iterator[tuple[str, list[Term]]]:
    """The SHA-256 of each file, and what it is made of."""
    place = RECORD
    while (header := shard[place : place + RECORD])[:32] != END:
        flags, count = struct.unpack_from("<2I", header, 32)
        records = [shard[place + RECORD * number :][:RECORD] for number in range(1, count + 1)]
        terms = [Term(hash_text(record), *struct.unpack_from("<2I", record, 40)) for record in records]
        place += RECORD * (1 + count * (2 if flags & WITH_VERIFICATION else 1))
        assert flags & WITH_METADATA, "the hash of the file is not there"
        yield hash_text(shard[place:]), terms
        place += RECORD


def read_xorb(xorb: bytes) -> list[bytes]:
    """Its chunks; what follows them, where something does, starts with no version 0."""
    chunks, place = [], 0
    while place < len(xorb) and xorb[place] == 0:
        packed_size, size = (int.from_bytes(xorb[place + offset :][:3], "little") for offset in (1, 5))
        packed = xorb[place + 8 :][:packed_size]
        chunks.append(_unpack(packed, xorb[place + 4], size))
        place += 8 + packed_size
    return chunks


def _unpack(packed: bytes, scheme: int, size: int) -> bytes:
    """Schemes: 0 as it is, 1 an LZ4 frame, 2 one of the first of every four bytes, then of the second, and so on."""
    if scheme == 0:
        return packed
    data = pa.decompress(packed, decompressed_size=size, codec="lz4", asbytes=True)
    if scheme == 1:
        return data
    chunk, place = bytearray(size), 0
    for first in range(4):
        count = len(range(first, size, 4))
        chunk[first::4] = data[place : place + count]
        place += count
    return bytes(chunk)
