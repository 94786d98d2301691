# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Standard output and standard error: letters that an encoding lacks are escaped, full disks reported."""

import io
import os
import sys
from contextlib import suppress


def escape_missing_letters() -> None:
    """Escape characters that the encoding of standard output lacks, and undecodable bytes of file names."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


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
