# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The README is true: its commands run as they stand there, on small files of a user."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_python import WarmPython

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if language == "bash" for line in block.splitlines()]
SCRIPTS = [command for command in COMMANDS if command.startswith(".venv/bin/python ")]
PROGRAMS = [block for language, block in BLOCKS if language == "python"]

# So that the commands end soon: they are run for what they do, not for how well.
FEWER = {
    "benchmark": "--quick",
    "pretrain": "--max_steps 4",
    "train_translation": "--num_train_epochs 1 --average_checkpoints 1 --num_beams 1 --max_length 16",
}


def run(arguments: list[str], folder: Path) -> str:
    process = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def user_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the user's in which the commands of the README were run, one after the other."""
    folder = tmp_path_factory.mktemp("user")
    rows = [f"a {word} film number {i},{label}" for i in range(60) for word, label in (("great", 1), ("dull", 0))]
    (folder / "reviews.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    (folder / "new.csv").write_text("text\na great film\na dull film\n", encoding="utf-8")
    (folder / "plays.txt").write_text("ROMEO: a rose by any name\nJULIET: my only love\n" * 100, encoding="utf-8")
    (folder / "unlabelled.txt").write_text("a fine film that nobody has judged\nanother one\n" * 50, encoding="utf-8")
    for language, line in (("en", "a dog runs over field {}"), ("de", "ein Hund rennt über Feld {}")):
        for split, count in (("train", 60), ("test", 5)):
            lines = [line.format(number) for number in range(count)]
            (folder / f"{split}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    programs = sorted({Path(command.split()[1]).stem for command in SCRIPTS if command.split()[1] != "-m"})
    with WarmPython(tmp_path_factory.mktemp("outputs"), programs, {}, folder) as warm:
        for command in SCRIPTS:
            program, *arguments = shlex.split(command, comments=True)[1:]
            if program == "-m":
                run([program, *arguments], folder)
                continue
            fewer = next((options for name, options in FEWER.items() if name in program), "")
            ended = warm.run(ROOT / program, *arguments, *fewer.split())
            assert ended.code == 0, ended.text
    shutil.copytree(folder / "runs" / "mine", folder / "runs" / "demo")
    return folder


def test_scripts_leave_what_the_readme_says(user_folder: Path) -> None:
    assert len(SCRIPTS) == 14
    for name in ("run_config.json", "all_results.json", "evaluation.json", "results.md", "model.safetensors"):
        assert (user_folder / "runs" / "mine" / name).is_file()
    assert len((user_folder / "answers.jsonl").read_text().splitlines()) == 2
    assert len((user_folder / "answers.de").read_text(encoding="utf-8").splitlines()) == 5
    for name in ("runs/tokenizer/tokenizer.json", "runs/plays/learning_curve.png", "runs/en-de/learning_curve.png"):
        assert (user_folder / name).is_file()


@pytest.fixture(scope="module")
def libraries(user_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """Those of others alone: what a program does not import of this package is not there."""
    with WarmPython(tmp_path_factory.mktemp("printed"), ["transformers.pipelines"], {}, user_folder) as python:
        yield python


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_python_examples_run(libraries: WarmPython, program: str, tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    to_file = f"import sys; sys.stdout = open({str(printed)!r}, 'w', encoding='utf-8')\n"
    (tmp_path / "example.py").write_text(to_file + program, encoding="utf-8")
    ended = libraries.run(tmp_path / "example.py")
    assert ended.code == 0, ended.text
    assert printed.read_text(encoding="utf-8")


def test_make_commands_are_targets() -> None:
    """What they do is tested by the continuous integration, which runs them."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {command.split()[1] for command in COMMANDS if command.startswith("make ")}
    assert {"train", "test"} <= wanted <= targets


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
