# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Workflows and issue forms name the versions and the commands that the project has."""

import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def load(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


ROWS = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]["include"]


def test_the_matrix_has_the_pythons_of_the_package() -> None:
    package = ConfigParser()
    package.read(ROOT / "setup.cfg")
    declared = re.findall(r"Python :: (\d+\.\d+)", package["metadata"]["classifiers"])
    assert [row["python"] for row in ROWS if "tests" not in row] == declared
    assert package["options"]["python_requires"] == f">={declared[0]}"
    assert re.findall(r"python(3\.\d+)", re.findall(r"^PYTHONS .*", read("Makefile"), re.MULTILINE)[0]) == declared


def test_the_matrix_has_the_versions_that_were_tested() -> None:
    section = read("docs/experiments/versions.md").partition("## Tests under other versions")[2]
    table = re.findall(r"^\| (3\.\d+)\.\d+ \| ([\d.]+) \| ([\d.]+)", section, re.MULTILINE)
    assert [(row["python"], row["transformers"]) for row in ROWS] == [(python, library) for python, library, _ in table]
    assert f"torch=={table[-1][2]}/" in ROWS[-1]["edit"]
    (oldest,) = re.findall(r'"transformers>=([\d.]+)"', read("modeling_scratch/configuration_scratch.py"))
    assert f"transformers>={oldest},<" in read("setup.cfg")
    assert ROWS[-1]["transformers"].startswith(f"{oldest}.")
    (pinned,) = re.findall(r"^transformers==(\S+)", read("constraints.txt"), re.MULTILINE)
    assert pinned in {row["transformers"] for row in ROWS}
