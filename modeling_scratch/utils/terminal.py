# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Standard output and standard error: control characters and missing letters are escaped, full disks reported."""

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

# C0 and C1 controls, DEL, and the characters that reverse the direction of what follows.
CONTROLS = {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
ESCAPED = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in CONTROLS}
LONG, AGAIN = 2.0, 20.0  # seconds after which silence looks like a fault, and does so again
CURSOR_UP = re.compile(r"(\x1b\[A)+")  # by which one progress bar finds its line among several


class PlainTerminal:
    """A stream that writes control characters as `\\x1b`, except those it keeps, and is the stream otherwise."""

    def __init__(self, stream: Any, kept: str, has_bars: bool = False) -> None:
        self.stream, self.has_bars = stream, has_bars
        self.escaped = {code: text for code, text in ESCAPED.items() if chr(code) not in kept}

    def write(self, text: str) -> int:
        is_bar = self.has_bars and CURSOR_UP.fullmatch(text)
        return self.stream.write(text if is_bar else text.translate(self.escaped))

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def plain(stream: Any, **options: Any) -> Any:
    """Return the stream, as a `PlainTerminal` if it leads to a terminal."""
    is_plain = stream is None or isinstance(stream, PlainTerminal)
    return stream if is_plain or not stream.isatty() else PlainTerminal(stream, **{"kept": "\n\t", **options})


def protect_terminal() -> None:
    """Make standard output and standard error plain, those that lead to a terminal. Progress bars work as before.

    Libraries write no colours, which would be escaped, too. Characters that the encoding of a stream lacks, and
    undecodable bytes of file names, are escaped.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = plain(sys.stdout)
    sys.stderr = plain(sys.stderr, kept="\n\t\r", has_bars=True)
    if any(isinstance(stream, PlainTerminal) for stream in (sys.stdout, sys.stderr)):
        os.environ.pop("FORCE_COLOR", None)
        os.environ["NO_COLOR"] = "1"


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
