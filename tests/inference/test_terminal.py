# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Standard output: what a pipe gets, a full disk, and encodings that lack letters."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import predict
import pytest
from processes import in_child
from serving import save_classifier

from modeling_scratch.sharing import verification

EVIL = "a\x1b]0;title\x07b\x1b[2J\x9b31m\x7f\u202ec"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_classifier(tmp_path_factory.mktemp("classifier"))
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {number: EVIL + number for number in config["id2label"]}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_pipe_gets_the_characters_themselves(classifier: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    """A pipe or a file: programs read it."""
    (tmp_path / "in.txt").write_text(EVIL + "\n", encoding="utf-8")
    predict.main(f"--model {classifier} --input {tmp_path}/in.txt --with_text --format csv".split())
    assert EVIL in capfd.readouterr().out


NO_ROOM = "No space left on device"


@pytest.mark.parametrize(
    ("main", "options", "message"),
    [
        (predict.main, "--model {model} --input {folder}/in.txt", f"{NO_ROOM}: the output could not be written; free"),
        (verification.main, "{folder}", NO_ROOM),
    ],
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
