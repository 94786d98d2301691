# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels, texts and file names on a real terminal: none of them moves the cursor, clears it or types into it."""

import fcntl
import io
import json
import logging
import os
import pty
import struct
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import colorlog  # comes with Optuna
import generate
import predict
import pytest
import train_tokenizer
import writers
from processes import in_child
from serving import save_classifier

from modeling_scratch.utils.terminal import protect_terminal, told

EVIL = "a\x1b]0;title\x07b\x1b[2J\x9b31m\x7f\u202ec"
RAW = ["\x1b", "\x07", "\x9b", "\x7f", "\u202e"]


def on_terminal(main: Callable[[Sequence[str]], object], arguments: Sequence[str]) -> str:
    """What a program writes to the terminal that its standard output and error are."""
    child, terminal = pty.fork()
    if child == 0:
        status = 1
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        try:
            sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", buffering=1) for number in (1, 2))
            main(arguments)
        except SystemExit as ended:
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    written = b""
    try:
        while piece := os.read(terminal, 10_000):
            written += piece
    except OSError:  # how a terminal ends
        pass
    os.waitpid(child, 0)
    os.close(terminal)
    return written.decode("utf-8")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_classifier(tmp_path_factory.mktemp("classifier"))
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {number: EVIL + number for number in config["id2label"]}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_progress_bars_still_move(classifier: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("word1\n" * 3)
    options = f"--model {classifier} --input {tmp_path}/in.txt --output {tmp_path}/out.csv"
    shown = on_terminal(predict.main, options.split())
    assert "\r3 texts" in shown
    assert "\\x" not in shown


PREDICT = "--model {model} --input {folder}/in.txt --with_text --no_progress --format "


@pytest.mark.parametrize(
    ("main", "options", "part"),
    [
        (predict.main, PREDICT + "jsonl", "]0;title"),
        (predict.main, PREDICT + "csv", "]0;title"),
        (generate.main, "--model_name_or_path {writer} --max_new_tokens 2 --prompt {evil}", "a\\x1b]0;title\\x07b"),
        (train_tokenizer.main, "--train_file {folder}/{evil}.txt --output_dir {folder}/run", "not valid UTF-8"),
    ],
)
def test_labels_texts_and_file_names_are_shown(
    classifier: Path, tmp_path: Path, main: Callable[[Sequence[str]], object], options: str, part: str
) -> None:
    (tmp_path / EVIL).mkdir()
    (tmp_path / f"{EVIL}.txt").write_bytes(b"\xff")
    (tmp_path / "in.txt").write_text(EVIL + "\n", encoding="utf-8")
    if "{writer}" in options:
        writers.save(tmp_path / "writer", writers.decoder(tokenizer := writers.words()), tokenizer)
    places = {"model": classifier, "folder": tmp_path, "writer": tmp_path / "writer", "evil": EVIL}
    shown = on_terminal(main, [option.format(**places) for option in options.split()])
    assert [character for character in RAW if character in shown] == []
    assert part in shown


def log_in_colours(arguments: Sequence[str]) -> None:
    protect_terminal()
    formatter = colorlog.TTYColoredFormatter("%(log_color)s%(message)s%(reset)s", stream=sys.stderr)
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    handler.handle(logging.makeLogRecord({"msg": "trial 1", "levelname": "INFO"}))


def test_colours_of_libraries_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna's, which logs by colorlog, and Python's own from version 3.13 on."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert on_terminal(log_in_colours, []).strip() == "trial 1"


def test_what_is_no_terminal_gets_the_characters_themselves(
    classifier: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    """A pipe or a file: programs read it."""
    (tmp_path / "in.txt").write_text(EVIL + "\n", encoding="utf-8")
    predict.main(f"--model {classifier} --input {tmp_path}/in.txt --with_text --format csv".split())
    assert EVIL in capfd.readouterr().out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_standard_output_without_room_is_one_line(classifier: Path, tmp_path: Path) -> None:
    """Buffered, so that the system refuses at the end, where Python itself would print a traceback."""
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
        protect_terminal()
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
