# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""`make gpu` without a GPU: a rehearsal of every part, limits, a second call, and the texts that it trains on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from processes import refusal

from modeling_scratch.benchmark.gpu_parts import PARTS, Part, Session, has_failed, run_parts
from modeling_scratch.benchmark.gpu_tokens import FILES, UNLABELLED, prepare_tokens, read_tokens

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'scripts'}"}
Rows = Iterator[tuple[str, dict[str, Any]]]


def test_a_second_call_goes_on_where_the_first_one_stopped(tmp_path: Path) -> None:
    options = {"tokens_file": tmp_path, "minutes": 5, "rehearses": True}
    first = run_parts(["generation"], tmp_path, **options)["generation"]
    missing, *others = rows = {key: row for key, row in first.items() if key != "conditions"}
    assert len(others) == 1
    assert all(row["HF"] > 0 and row["ours"] > 0 and row["HF, static cache / ours"] > 0 for row in rows.values())
    kept = {key: row for key, row in first.items() if key != missing}
    (tmp_path / "results.json").write_text(json.dumps({"generation": kept}))
    second = run_parts(["generation"], tmp_path, **options)["generation"]
    assert second.keys() == first.keys()
    assert {key: row for key, row in second.items() if key != missing} == kept
    page = (tmp_path / "results.md").read_text()
    assert "## Milliseconds a generated token" in page
    assert all(f"| {key} |" in page for key in rows)


@pytest.mark.slow
def test_every_part_comes_to_its_end(tmp_path: Path) -> None:
    """Where neither `datasets` nor scikit-learn can be imported."""
    hidden = "import sys; sys.modules.update(datasets=None, sklearn=None); import gpu; gpu.main(sys.argv[1:])"
    command = [sys.executable, "-c", hidden, "--rehearse", "--output", str(tmp_path)]
    process = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert results.keys() == PARTS.keys()
    assert not [name for name, rows in results.items() if rows.keys() & {"failed", "stopped"}]
    checked = results["checks"]["equality, no recompilation, no wait"]
    assert ("passed" in checked["result"], checked["failed"]) == (True, [])
    assert len(results["inference"]) == 1 + 2
    assert all(row["HF / ours"] > 0 and row["TFLOP/s"] >= 0 for row in list(results["trainer"].values())[1:])
    found = results["accuracy"]
    assert found["pretraining, masked words"]["loss"] < np.log(600)
    assert {key.partition(", rate")[0] for key in found} >= {"IMDb, test", "SST-2, validation"}


def endless(session: Session) -> Rows:
    yield "before", {"value": 1}
    while True:
        pass


def failing(session: Session) -> Rows:
    yield "before", {"value": 2}
    raise RuntimeError("two lines\nof an error")


def sound(session: Session) -> Rows:
    yield "all", {"value": 3, "seen": list(session.done("sound"))}


def killed(session: Session) -> Rows:
    os.kill(os.getpid(), signal.SIGKILL)
    yield "never", {}


def with_a_failed_test(session: Session) -> Rows:
    yield "tests", {"result": "1 failed", "failed": ["FAILED test_x"]}


def called(folder: Path, **parts: Any) -> dict[str, Any]:
    """What a call of these parts leaves; one that never ends has a second."""
    with pytest.MonkeyPatch.context() as patch:
        for name, run in parts.items():
            patch.setitem(PARTS, name, Part(run, name, 1 if run is endless else 60))
        return run_parts([*parts], folder, folder / "no tokens", 1, rehearses=True)


def test_a_part_that_is_stopped_fails_or_dies_is_reported_and_keeps_its_rows(tmp_path: Path) -> None:
    results = called(tmp_path, endless=endless, failing=failing, killed=killed, tests=with_a_failed_test, sound=sound)
    assert results["endless"]["before"] == {"value": 1}
    assert results["endless"]["stopped"] == {"at its limit of": "1 s"}
    assert results["failing"]["before"] == {"value": 2}
    assert results["failing"]["failed"] == {"error": "RuntimeError: two lines of an error"}
    assert results["killed"]["failed"] == {"error": "its process ended with exit code -9"}
    assert results["sound"]["all"] == {"value": 3, "seen": ["conditions"]}
    assert [name for name in results if has_failed(results, [name])] == ["failing", "killed", "tests"]
    assert results == json.loads((tmp_path / "results.json").read_text())
    assert "stopped" not in called(tmp_path, endless=sound)["endless"]  # a later call ends it


ENDLESS = """
import sys
from pathlib import Path
from modeling_scratch.benchmark import gpu_parts
import gpu

def endless(session):
    yield "before", {"process": __import__("os").getpid()}
    while True:
        pass

gpu_parts.PARTS["checks"] = gpu_parts.Part(endless, "Endless", 600)
gpu.main(["--rehearse", "--only", "checks", "--output", sys.argv[1]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_part_ends_with_the_program(tmp_path: Path, end: signal.Signals) -> None:
    command = [sys.executable, "-u", "-c", ENDLESS, str(tmp_path)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    part = next(int(line.split()[-1]) for line in process.stdout if "process" in line)
    process.send_signal(end)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + end
    assert "Traceback" not in errors
    assert ("the same command resumes" in errors) == (end == signal.SIGINT)
    with pytest.raises(ProcessLookupError):
        os.kill(part, 0)
    assert "before" in json.loads((tmp_path / "results.json").read_text())["checks"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_wrong_minutes_or_no_gpu_are_one_line_and_nothing_is_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.json").write_text("{}")
    for minutes in "0", "-1", "nan", "inf", "many":
        assert "--minutes" in refusal(capsys, gpu.main, ["--rehearse", "--minutes", minutes])
    refusal(capsys, gpu.main, ["--overwrite", "--output", str(tmp_path)])
    assert (tmp_path / "results.json").exists()
    assert "no CUDA device: run this on a machine" in refusal(capsys, gpu.main, ["--output", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


def test_tokens_are_read_as_they_were_written_and_the_vocabulary_has_no_word_of_a_test_text(tmp_path: Path) -> None:
    for name, (file, column) in FILES.items():
        texts = [f"{word} of <br /> {name}" for word in ("one", "two", "three")]
        texts += ["onlyintest onlyintest"] if name.endswith("test") else []
        columns: dict[str, Any] = {column: texts}
        if not name.endswith("unlabelled"):
            columns["label"] = [number % 2 for number in range(len(texts))]
        (tmp_path / file).parent.mkdir(exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / file)
    written, read = prepare_tokens(tmp_path, tmp_path / "tokens.xz"), read_tokens(tmp_path / "tokens.xz")
    assert (read.vocab_size, read.special) == (written.vocab_size, written.special)
    assert read.texts.keys() == written.texts.keys() == FILES.keys()
    for name, texts in read.texts.items():
        rows = [texts.text(number).tolist() for number in range(len(texts))]
        assert rows == [written.texts[name].text(number).tolist() for number in range(len(texts))]
        assert (texts.lengths().tolist(), texts.lengths(2).max()) == ([len(row) for row in rows], 2)
    assert set(read.texts["imdb-unlabelled"].labels.tolist()) == {UNLABELLED}
    assert read.texts["sst2-validation"].labels.tolist() == [0, 1, 0]
    learned, only_there = read.texts["imdb-train"].text(0), read.texts["imdb-test"].text(3)
    assert len(only_there) > 2 * len(learned), "spelt in pieces"
