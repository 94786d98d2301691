# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Workflows and issue forms name the versions and the commands that the project has."""

import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")


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


def test_tests_that_are_left_out_exist() -> None:
    names = re.findall(r"\btest_\w+", ROWS[-1]["tests"])
    defined = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "textbook").glob("*.py"))
    assert [name for name in names if f"def {name}(" not in defined] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_with_few_rights_and_a_limit(path: Path) -> None:
    workflow = load(path)
    assert all(f"run: make {name}" in read(".github/workflows/ci.yml") for name in ("test", "lint", "docs"))
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for job in workflow["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 60
        run = set(re.findall(r"\bmake ([\w-]+)", " ".join(step.get("run", "") for step in job["steps"])))
        assert run <= targets
        assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_complete(path: Path) -> None:
    form = load(path)
    assert {"name", "description"} <= form.keys()
    assert all(field["attributes"]["label"] for field in form["body"])
