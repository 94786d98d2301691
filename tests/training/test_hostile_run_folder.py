# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Run folders with damaged records, with links, with files of others, and with names that mean something elsewhere."""

# ruff: noqa: F401, F811
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import Ended
from test_faults import content
from test_resume import RUNS, data, run

from modeling_scratch.training.checkpoints import seal

SHORT = "--max_steps 1 --save_strategy steps --save_steps 1"
RESUME = "--max_steps 2 --save_strategy no --resume_from_checkpoint last"


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    ended = run("steps", data, folder, extra=SHORT)
    assert ended.status == 0, ended.text
    return folder


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "run")


def refused(capsys: pytest.CaptureFixture, data: Path, folder: Path, extra: str) -> str:
    main, options = RUNS["steps"]
    with pytest.raises(SystemExit) as ended:
        main(f"--output_dir {folder} {options.format(data=data)} {extra}".split())
    lines = capsys.readouterr().err.strip().splitlines()
    assert ended.value.code == 2
    return lines[-1]


@pytest.mark.parametrize(
    "damage",
    [
        *(b"", b"{}", b"[]", b"null", b'"program"', b'{"program": "scripts/tr', b"\xff\xfe\x00", b"[" * 100_000),
        b'{"program": "scripts/train_classifier.py", "training": {}, "model": {}}',
        b'{"program": "scripts/train_classifier.py", "training": {}, "model": {}, "data": []}',
    ],
)
def test_a_damaged_record_is_refused(damage: bytes, data: Path, copied: Path, capsys: pytest.CaptureFixture) -> None:
    (copied / "run_config.json").write_bytes(damage)
    before = content(copied)
    message = refused(capsys, data, copied, RESUME)
    assert f"{copied / 'run_config.json'} is damaged: restore it" in message
    assert content(copied) == before


@pytest.mark.parametrize("value", [[1], "x", 5, None])
@pytest.mark.parametrize("part", ["model", "data_digests", "environment", "training_before_it_was_resumed"])
def test_a_record_with_a_damaged_part_is_refused(
    part: str, value: object, data: Path, copied: Path, capsys: pytest.CaptureFixture
) -> None:
    record = json.loads((copied / "run_config.json").read_text())
    (copied / "run_config.json").write_text(json.dumps(record | {part: value}))
    assert f"{copied / 'run_config.json'} is damaged: restore it" in refused(capsys, data, copied, RESUME)


def test_a_run_without_its_record_is_not_resumed(data: Path, copied: Path, capsys: pytest.CaptureFixture) -> None:
    (copied / "run_config.json").unlink()
    assert f"{copied / 'run_config.json'} is missing; restore it from a copy" in refused(capsys, data, copied, RESUME)


def test_a_run_with_a_damaged_record_can_be_replaced(data: Path, copied: Path) -> None:
    (copied / "run_config.json").write_bytes(b"{")
    ended = run("steps", data, copied, extra=f"{SHORT} --overwrite")
    assert ended.status == 0, ended.text


@pytest.mark.parametrize("extra", ["", "--overwrite", RESUME])
def test_a_lock_that_is_a_link_is_not_followed(
    extra: str, data: Path, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "thesis.tex").write_text("my thesis")
    (copied / "_lock").symlink_to(tmp_path / "thesis.tex")
    assert "_lock: a link" in refused(capsys, data, copied, extra)
    assert (tmp_path / "thesis.tex").read_text() == "my thesis"


def test_a_file_that_has_the_name_of_the_lock_is_kept(data: Path, copied: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("my thesis")
    os.link(tmp_path / "thesis.tex", copied / "_lock")
    ended = run("steps", data, copied, extra=RESUME)
    assert ended.status == 0, ended.text
    assert (copied / "_lock").read_text() == "my thesis"


@pytest.mark.parametrize("extra", ["", "--overwrite", RESUME])
def test_a_link_in_place_of_an_earlier_run_is_not_followed(
    extra: str, data: Path, whole: Path, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    mine = shutil.copytree(whole, tmp_path / "mine")
    before = content(mine)
    (copied / "_replaced-1").symlink_to(mine)
    assert "_replaced-1: a link" in refused(capsys, data, copied, extra)
    assert content(mine) == before


@pytest.mark.parametrize("name", ["all_results.json", "trainer_state.json", ".unfinished"])
def test_a_resumed_run_does_not_write_through_links(
    name: str, data: Path, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "mine").write_text("my thesis")
    (copied / name).unlink(missing_ok=True)
    (copied / name).symlink_to(tmp_path / "mine")
    assert f"{copied / name}: a link" in refused(capsys, data, copied, RESUME)
    assert (tmp_path / "mine").read_text() == "my thesis"


def test_a_checkpoint_is_not_written_into_a_linked_folder(data: Path, copied: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (copied / "checkpoint-2").symlink_to(tmp_path / "mine")
    ended = run("steps", data, copied, extra="--max_steps 2 --save_steps 1 --resume_from_checkpoint last")
    assert ended.status == 0, ended.text
    assert not list((tmp_path / "mine").iterdir())


def test_a_run_is_not_set_aside_into_a_folder_of_somebody_else(data: Path, copied: Path) -> None:
    (copied / "_replaced-1").mkdir()
    (copied / "_replaced-1" / "thesis.tex").write_text("my thesis")
    (copied / "_replaced-2").write_text("my thesis")
    ended = run("steps", data, copied, extra=f"{SHORT} --overwrite")
    assert ended.status == 0, ended.text
    assert (copied / "_replaced-1" / "thesis.tex").is_file()
    assert (copied / "_replaced-2").read_text() == "my thesis"
    assert not (copied / "_replaced-3").exists()


@pytest.mark.parametrize("name", ["checkpoint-9", "checkpoint-004", "checkpoint-\u0669"])
def test_a_checkpoint_under_the_name_of_another_step_is_skipped(
    name: str, data: Path, copied: Path, capsys: pytest.CaptureFixture
) -> None:
    (copied / "checkpoint-1").rename(copied / name)
    assert "no complete checkpoint of a run" in refused(capsys, data, copied, RESUME)


@pytest.mark.parametrize("state", ["[]", "null", "{", '{"global_step": "1"}'])
def test_a_checkpoint_whose_state_was_changed_and_sealed_is_skipped(
    state: str, data: Path, copied: Path, capsys: pytest.CaptureFixture
) -> None:
    (copied / "checkpoint-1" / "trainer_state.json").write_text(state)
    seal(copied / "checkpoint-1")
    assert "no complete checkpoint of a run" in refused(capsys, data, copied, RESUME)


@pytest.mark.slow
def test_searches_keep_their_trials_in_their_own_folders(data: Path, tmp_path: Path) -> None:
    search = "--search_trials 1 --max_steps 1 --search_over learning_rate"
    for name in ("why?100%41", "why?b#c"):
        ended = run("best", data, tmp_path / name, extra=search)
        assert ended.status == 0, ended.text
        assert (tmp_path / name / "study.db").stat().st_size
        assert len(json.loads((tmp_path / name / "search.json").read_text())["trials"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["why?100%41", "why?b#c"]
