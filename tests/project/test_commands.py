# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The installed command: every program by its name, its help, its completion, and its errors."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from setuptools import find_packages
from setuptools.config.setupcfg import read_configuration

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
HELP = {path.stem: path.read_text(encoding="utf-8") for path in (SCRIPTS / "help").glob("*.txt")}
HEAVY = "torch", "transformers", "numpy", "modeling_scratch"


def command(*arguments: str, code: int = 0, **environment: str) -> str:
    """What the command prints, on either stream, in a fresh process."""
    process = subprocess.run(
        [sys.executable, "-m", "modeling_scratch_cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
    )
    assert process.returncode == code, process.stderr
    return process.stdout + process.stderr


def test_without_a_name_it_lists_the_programs() -> None:
    printed = command()
    assert command("--help") == printed
    assert re.findall(r"^  ([\w-]+) ", printed, re.MULTILINE) == [*programs(), "completion"]


def programs() -> list[str]:
    from modeling_scratch_cli.__main__ import PROGRAMS

    return list(PROGRAMS)


def test_every_program_has_a_script_and_a_help() -> None:
    from modeling_scratch_cli.__main__ import PROGRAMS

    helpers = {"__init__", "__main__", "write_help"}
    assert {path.stem for path in SCRIPTS.glob("*.py")} - helpers == set(PROGRAMS.values())
    assert HELP.keys() == PROGRAMS.keys()


@pytest.mark.parametrize("name", sorted(HELP))
def test_help_is_printed_without_a_library(name: str) -> None:
    """In a process in which the libraries cannot be imported at all."""
    code = f"import sys\nfor name in {HEAVY}: sys.modules[name] = None\n"
    code += f"from modeling_scratch_cli.__main__ import main\nmain([{name!r}, '--help'])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == HELP[name]


def test_help_is_that_of_the_parsers() -> None:
    """`python scripts/write_help.py` writes it anew."""
    code = "import json\nfrom write_help import parser_help\n"
    code += f"print(json.dumps({{name: parser_help(name) for name in {sorted(HELP)}}}))"
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert json.loads(process.stdout) == HELP


def test_all_options_are_shown_on_request() -> None:
    printed = command("train-classifier", "--help_all")
    shown, hidden = (set(re.findall(r"^  (--\w+)", text, re.MULTILINE)) for text in (HELP["train-classifier"], printed))
    assert shown < hidden
    assert {"--gradient_accumulation_steps", "--optim"} <= hidden - shown


def test_a_wrong_name_is_corrected() -> None:
    assert "did you mean predict?" in command("predcit", code=1)


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no', name='uvicorn')", encoding="utf-8")
    printed = command("serve", "--model", "x", code=1, PYTHONPATH=str(tmp_path))
    assert printed == "modeling-scratch serve: error: it needs uvicorn: pip install 'modeling-scratch[serve]'\n"


def test_every_extra_names_modules_of_its_own() -> None:
    from modeling_scratch_cli.__main__ import EXTRAS

    declared = read_configuration(ROOT / "setup.cfg")["options"]["extras_require"]
    distributions = {"sklearn": "scikit-learn", "prometheus_client": "prometheus-client"}
    for extra, modules in EXTRAS.items():
        assert {distributions.get(module, module) for module in modules} <= set(declared[extra]), extra


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [("pre", {"predict", "pretrain"}), ("predict --in", {"--input"}), ("convert --ou", {"--output_dir"})],
    ids=["a name", "an option", "an option of another"],
)
def test_bash_completes_names_and_options(words: str, expected: set[str]) -> None:
    typed = f"COMP_WORDS=(modeling-scratch {words}); COMP_CWORD={len(words.split())}"
    ask = f'{typed}; _modeling_scratch; echo "${{COMPREPLY[@]}}"'
    printed = subprocess.run(
        ["bash", "-c", f"{command('completion')}\n{ask}"], capture_output=True, text=True, check=True
    )
    assert set(printed.stdout.split()) == expected


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
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(source)], check=True)
    wheel = next(tmp_path.glob("*.whl"))
    assert "modeling_scratch_cli/help/predict.txt" in zipfile.ZipFile(wheel).namelist()
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)

    def run(*arguments: str) -> str:
        process = subprocess.run(
            [sys.executable, str(target / "bin" / "modeling-scratch"), *arguments],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(target)},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    where = "import modeling_scratch; print(modeling_scratch.__file__)"
    found = subprocess.run([sys.executable, "-c", where], cwd=home, env={**os.environ, "PYTHONPATH": str(target)},
                           capture_output=True, text=True, check=True)  # fmt: skip
    assert found.stdout.startswith(str(target))
    run("train-classifier", "--max_train_samples", "400", "--num_train_epochs", "1")
    (home / "new.csv").write_text("text\nthis film is great\nthis film is dull\n", encoding="utf-8")
    answers = [json.loads(line) for line in run("predict", "--model", "runs/demo", "--input", "new.csv").splitlines()]
    assert [answer["row"] for answer in answers] == [1, 2]
    assert {answer["label"] for answer in answers} <= {"NEGATIVE", "POSITIVE"}
