# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What programs print: a full disk is reported, missing letters are escaped, and what takes long is told."""

import io
import os
import sys
from pathlib import Path
from threading import Event

import predict
import pytest
from processes import in_child
from serving import save_classifier

from modeling_scratch.utils.terminal import escape_missing_letters, told


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_standard_output_without_room_is_one_line(tmp_path: Path) -> None:
    """Buffered, so that the system refuses at the end, where Python itself would print a traceback."""
    classifier = save_classifier(tmp_path)
    (tmp_path / "in.txt").write_text("word1\n")

    def fill() -> None:
        with Path("/dev/full").open("wb") as full:
            os.dup2(full.fileno(), 1)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        predict.main(["--model", str(classifier), "--input", str(tmp_path / "in.txt")])

    ended = in_child(fill)
    assert ended.status == 2
    assert "No space left on device: the output could not be written; free" in ended.text
    assert "Traceback" not in ended.text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_texts_that_an_encoding_lacks_are_escaped(encoding: str) -> None:
    def encode() -> None:
        sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
        escape_missing_letters()
        print("שלום", flush=True)

    ended = in_child(encode)
    assert ended.status == 0
    assert r"\u05e9\u05dc" in ended.text
    assert "Traceback" not in ended.text


def test_what_takes_long_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    with told("a short stage"):
        pass
    assert not capsys.readouterr().err
    is_told, stream = Event(), io.StringIO()
    monkeypatch.setattr(stream, "flush", is_told.set)
    monkeypatch.setattr(sys, "stderr", stream)
    with told("a long stage", after=0):
        assert is_told.wait(60)
    assert stream.getvalue() == "a long stage ...\n"
