# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The installed command: every program by its name, its help, and its errors."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pretrain
import pytest
from modeling_scratch_cli.__main__ import PROGRAMS, main
from modeling_scratch_cli.command_line_check import check_command_line
from setuptools import find_packages
from setuptools.config.setupcfg import read_configuration
from write_help import WIDTH, all_options, parser_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
HELP = {path.stem: path.read_text(encoding="utf-8") for path in (SCRIPTS / "help").glob("*.txt")}
HEAVY = "torch", "transformers", "numpy", "modeling_scratch"


def run(command: list[str], code: int = 0, cwd: Path | None = None, **environment: str) -> str:
    """What a fresh process prints, on either stream."""
    process = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == code, process.stdout
    return process.stdout


def command(*arguments: str, code: int = 0, **environment: str) -> str:
    return run([sys.executable, "-m", "modeling_scratch_cli", *arguments], code, **environment)


def test_help_is_printed_without_a_library() -> None:
    """In a process in which the libraries cannot be imported at all."""
    hidden = f"import sys\nfor name in {HEAVY}: sys.modules[name] = None\n"
    code = (
        f"{hidden}from modeling_scratch_cli.__main__ import main\nfor name in {list(PROGRAMS)}: main([name, '--help'])"
    )
    assert run([sys.executable, "-c", code]) == "".join(map(HELP.get, PROGRAMS))


def test_help_and_options_are_those_of_the_parsers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python scripts/maintenance/write_help.py` writes them anew.

    Versions of transformers have other options, and versions of Python break the lines of help elsewhere.
    """
    written, found = (SCRIPTS / "help" / "options.json").read_text(encoding="utf-8"), all_options()
    if json.loads(written)["transformers"] == json.loads(found)["transformers"]:
        assert written == found
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    for name in PROGRAMS:
        assert parser_of(name)[0].format_help().split() == HELP[name].split()


def test_inherited_options_are_shown_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        pretrain.main(["--help_all"])
    assert {"--optim", "--adam_epsilon"} <= set(re.findall(r"^  (--\w+)", capsys.readouterr().out, re.MULTILINE))


WRONG = {
    "unknown option": ("train-classifier --sed 3", "unrecognized arguments: --sed 3 (did you mean --seed?)"),
    "no number": ("pretrain --seed many", "argument --seed: invalid int value: 'many'"),
    "no choice": ("pretrain --objective bp", "argument --objective: invalid choice: 'bp'"),
    "retired option": ("train-classifier --recipe sst2", "--recipe is retired: the number of texts chooses"),
    "retired by one program": ("compare a b --label_map c=d", "--label_map is retired: train both runs with the same"),
    "retired option with hyphens": ("train-classifier --pretraining-minutes 3", "--pretraining_minutes is retired"),
    "retired, and another one missing": ("push --folder x --space u/n", "--space is retired: docs/serving.md has"),
    "retired value": ("pretrain --objective context", "--objective context is retired: use --objective mlm"),
    "retired program": ("load-test --model runs/demo", "it is retired: start `modeling-scratch serve`"),
    "required option": ("compare", "runs: required, before all options"),
    "missing file": ("data --train_file gone.csv", "gone.csv: cannot be read: No such file or directory"),
    "missing folder": ("train-tokens --data_dir gone", "gone: folder not found"),
    "missing model": ("predict --model {folder}/none", "--model {folder}/none: folder not found"),
    "missing run": ("compare {run} ./none", "--runs ./none: folder not found"),
    "file as folder": ("train-answers --output_dir {file}", "--output_dir {file}: this is a file, or a link"),
    "link to itself": ("train-answers --output_dir {loop}", "--output_dir {loop}: this is a file, or a link to none"),
    "foreign folder": ("train-answers --output_dir {folder}", "holds files that do not belong to a run"),
    "another run": ("train-classifier --output_dir {run}", "--output_dir {run} holds another run; choose another"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_command_line_is_refused_without_a_library(fault: str, tmp_path: Path) -> None:
    """In one line, with exit code 2, in a process in which the libraries cannot be imported at all."""
    paths = {"file": tmp_path / "file", "folder": tmp_path / "folder", "run": tmp_path / "run"}
    for path in (paths["file"], paths["folder"] / "notes.txt", paths["run"] / "run_config.json"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    paths["loop"] = tmp_path / "loop"
    paths["loop"].symlink_to("loop")
    line, expected = (each.format(**paths) for each in WRONG[fault])
    hidden = f"import sys\nfor name in {HEAVY}: sys.modules[name] = None\n"
    code = f"{hidden}from modeling_scratch_cli.__main__ import main\nmain({line.split()})"
    printed = run([sys.executable, "-c", code], code=2)
    assert printed.startswith(f"modeling-scratch {line.split()[0]}: error: ")
    assert expected in printed
    assert printed.count("\n") == 1


ACCEPTED = [
    "train-classifier --output_dir {run} --overwrite",
    "train-classifier --output_dir {run} --resume_from_checkpoint last",
    "train-classifier --output_dir new --bf16 --lowercase False --learning-rate=3e-4 --report_to none",
    "predict --model folder --input -",
    "data --train_file {loop}",
    "convert --input gpt2 --output_dir new",
    "pretrain --help_all",
    "compare one another",
    "figures attention-masks --output_dir new",
]


@pytest.mark.parametrize("line", ACCEPTED)
def test_what_a_program_may_accept_is_left_to_it(line: str, tmp_path: Path) -> None:
    (tmp_path / "run_config.json").write_text("{}", encoding="utf-8")
    (loop := tmp_path / "loop.csv").symlink_to(loop)
    name, *arguments = line.format(run=tmp_path, loop=loop).split()
    check_command_line(name, arguments)


@pytest.mark.parametrize(
    ("name", "room", "library"), [("serve", "serving.server", "uvicorn"), ("demo", "demo.app", "gradio")]
)
def test_a_missing_library_is_named_with_its_extra(
    name: str, room: str, library: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["modeling-scratch"])
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"modeling_scratch.{room}", raising=False)
    with pytest.raises(SystemExit, match="2"):
        main([name, "--model", "x"])
    assert f"{name}: error: it needs {library}: pip install 'modeling-scratch[{name}]'" in capsys.readouterr().err


def test_every_package_is_installed() -> None:
    declared = read_configuration(ROOT / "setup.cfg")["options"]["packages"]
    found = find_packages(ROOT, include=["modeling_scratch*", "tokenization*"])
    assert sorted(declared) == sorted([*found, "modeling_scratch_cli"])


@pytest.mark.slow
def test_a_wheel_trains_and_predicts_outside_of_the_clone(tmp_path: Path) -> None:
    """Built, unpacked by pip into a folder of its own, and run from another one, without the clone on the path."""
    source, target, home = tmp_path / "source", tmp_path / "installed", tmp_path / "home"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "runs", "*.egg-info", "__pycache__"))
    home.mkdir()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    run([*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(source)])
    wheel = next(tmp_path.glob("*.whl"))
    assert "modeling_scratch_cli/help/predict.txt" in zipfile.ZipFile(wheel).namelist()
    run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)])

    def installed(*arguments: str) -> str:
        return run([sys.executable, *arguments], cwd=home, PYTHONPATH=str(target))

    program = str(target / "bin" / "modeling-scratch")
    assert installed("-c", "import modeling_scratch; print(modeling_scratch.__file__)").startswith(str(target))
    installed(program, "train-classifier", "--max_train_samples", "400", "--num_train_epochs", "1")
    (home / "new.csv").write_text("text\nthis film is great\nthis film is dull\n", encoding="utf-8")
    printed = installed(program, "predict", "--model", "runs/demo", "--input", "new.csv")
    answers = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert [answer["row"] for answer in answers] == [1, 2]
    assert {answer["label"] for answer in answers} <= {"NEGATIVE", "POSITIVE"}
