# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Labels, texts and file names on a real terminal: none of them moves the cursor, clears it or types into it."""

import fcntl
import json
import logging
import os
import pty
import struct
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

import benchmark
import colorlog  # comes with Optuna
import generate
import predict
import pytest
import train_tokenizer
import writers
from processes import in_child, refusal
from serving import save_classifier

from modeling_scratch.sharing import verification
from modeling_scratch.utils.terminal import protect_terminal

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


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_labels_and_texts_of_predict_are_shown(classifier: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "in.txt").write_text(EVIL + "\n", encoding="utf-8")
    options = f"--model {classifier} --input {tmp_path}/in.txt --with_text --format {form} --no_progress"
    shown = on_terminal(predict.main, options.split())
    assert [character for character in RAW if character in shown] == []
    assert "]0;title" in shown


def test_answers_of_generate_are_shown(tmp_path: Path) -> None:
    tokenizer = writers.words()
    folder = writers.save(tmp_path, writers.decoder(tokenizer), tokenizer)
    options = ["--model_name_or_path", str(folder), "--max_new_tokens", "2", "--prompt", EVIL]
    shown = on_terminal(generate.main, options)
    assert [character for character in RAW if character in shown] == []
    assert "a\\x1b]0;title\\x07b" in shown


def test_file_names_in_messages_are_shown(tmp_path: Path) -> None:
    (tmp_path / f"{EVIL}.txt").write_bytes(b"\xff")
    options = ["--train_file", str(tmp_path / f"{EVIL}.txt"), "--output_dir", str(tmp_path / "run")]
    shown = on_terminal(train_tokenizer.main, options)
    assert [character for character in RAW if character in shown] == []
    assert "not valid UTF-8" in shown


def test_what_verify_finds_is_shown(tmp_path: Path) -> None:
    (folder := tmp_path / EVIL).mkdir()
    shown = on_terminal(verification.main, [str(folder)])
    assert [character for character in RAW if character in shown] == []
    assert "Cannot tell" in shown


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


NO_ROOM = "No space left on device"


@pytest.mark.parametrize(
    ("main", "options", "message"),
    [
        (predict.main, "--model {model} --input {folder}/in.txt", f"{NO_ROOM}: the output could not be written; free"),
        (predict.main, "--model {model} --input {folder}/in.txt", "then repeat the command"),
        (verification.main, "{folder}", NO_ROOM),
        (benchmark.main, "load --quick", NO_ROOM),
    ],
    ids=["predict", "its-advice", "verify", "benchmark"],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_standard_output_without_room_is_one_line(
    classifier: Path, tmp_path: Path, main: Callable[[Sequence[str]], object], options: str, message: str
) -> None:
    """Buffered, so that the system refuses at the end, where Python itself would print a traceback."""
    (tmp_path / "in.txt").write_text("word1\n")

    def fill() -> None:
        with Path("/dev/full").open("wb") as full:
            os.dup2(full.fileno(), 1)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        main(options.format(model=classifier, folder=tmp_path).split())

    ended = in_child(fill)
    assert ended.status == 2
    assert message in ended.text
    assert "Traceback" not in ended.text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_labels_and_paths_that_an_encoding_lacks_are_escaped(tmp_path: Path, encoding: str) -> None:
    (folder := tmp_path / "שלום").mkdir()

    def encode() -> None:
        sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
        sys.exit(verification.main([str(folder)]))

    ended = in_child(encode)
    assert ended.status == 2
    assert r"\u05e9\u05dc" in ended.text
    assert "Traceback" not in ended.text


def test_a_closed_standard_output_is_refused(
    classifier: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert "--output -: standard output is closed" in refusal(capsys, predict.main, ["--model", str(classifier)])
