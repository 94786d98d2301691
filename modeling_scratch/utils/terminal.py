# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Standard output and standard error: missing letters are escaped, full disks reported, and long stages told."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic

LONG, AGAIN = 2.0, 20.0  # seconds after which silence looks like a fault, and does so again


def escape_missing_letters() -> None:
    """Let standard output and standard error escape what their encoding lacks, and undecodable bytes of file names."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def told(what: str, after: float = LONG) -> Iterator[None]:
    """Print what goes on to standard error while it takes long; of several processes, the first one does."""
    ended, start = Event(), monotonic()

    def tell() -> None:
        if not ended.wait(after):
            print(f"{what} ...", file=sys.stderr, flush=True)
        while not ended.wait(AGAIN):
            print(f"{what} ... for {monotonic() - start:.0f} s", file=sys.stderr, flush=True)

    if os.environ.get("RANK", "0") == "0":
        Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def flush_output() -> None:
    """Flush standard output. If that fails, discard the rest, which Python would write again at exit, and raise."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        with suppress(OSError):  # a stream without a file
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, sys.stdout.fileno())
            os.close(nothing)
        raise
