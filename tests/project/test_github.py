# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Workflows, issue forms and the changelog name the versions and the commands that the project has."""

import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import modeling_scratch
from modeling_scratch.configuration_scratch import TESTED

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def load(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def rows() -> list[dict[str, str]]:
    jobs = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    return jobs["test"]["strategy"]["matrix"]["include"]


def test_the_matrix_has_the_pythons_of_the_package() -> None:
    package = ConfigParser()
    package.read(ROOT / "setup.cfg")
    declared = re.findall(r"Python :: (\d+\.\d+)", package["metadata"]["classifiers"])
    assert [row["python"] for row in rows() if "tests" not in row] == declared
    assert package["options"]["python_requires"] == f">={declared[0]}"
    assert re.findall(r"python(3\.\d+)", re.findall(r"^PYTHONS .*", read("Makefile"), re.MULTILINE)[0]) == declared


def test_the_matrix_has_the_versions_that_were_tested() -> None:
    section = read("docs/versions.md").partition("## Tests under other versions")[2]
    table = re.findall(r"^\| (3\.\d+)\.\d+ \| ([\d.]+) \| ([\d.]+)", section, re.MULTILINE)
    assert [(row["python"], row["transformers"]) for row in rows()] == [
        (python, library) for python, library, _ in table
    ]
    assert f"torch=={table[-1][2]}/" in rows()[-1]["edit"]
    oldest, newest = (".".join(map(str, version)) for version in TESTED)
    assert f"transformers>={oldest},<" in read("setup.cfg")
    assert rows()[-1]["transformers"].startswith(f"{oldest}.")
    (pinned,) = re.findall(r"^transformers==(\S+)", read("constraints.txt"), re.MULTILINE)
    assert pinned.startswith(f"{newest}.")
    assert pinned in {row["transformers"] for row in rows()}


def test_tests_that_are_left_out_exist() -> None:
    names = re.findall(r"\btest_\w+", rows()[-1]["tests"])
    defined = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "textbook").glob("*.py"))
    assert [name for name in names if f"def {name}(" not in defined] == []
    assert all((ROOT / folder).is_dir() for folder in re.findall(r"\btests/\w+", rows()[-1]["tests"]))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_targets_with_few_rights_and_a_limit(path: Path) -> None:
    workflow = load(path)
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    for job in workflow["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 60
        assert set(re.findall(r"\bmake ([\w-]+)", " ".join(step.get("run", "") for step in job["steps"]))) <= targets
        assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)


def test_continuous_integration_runs_tests_linters_and_documentation() -> None:
    assert {"test", "lint", "docs"} <= set(re.findall(r"run: make (\w+)", read(".github/workflows/ci.yml")))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_complete(path: Path) -> None:
    form = load(path)
    assert form["name"]
    assert form["description"]
    names = [field["id"] for field in form["body"]]
    assert len(set(names)) == len(names) > 0
    assert all(field["attributes"]["label"] for field in form["body"])


def test_the_newest_version_of_the_changelog_has_a_date() -> None:
    unreleased, newest = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)[:2]
    assert unreleased == "Unreleased"
    assert re.fullmatch(rf"{re.escape(modeling_scratch.__version__)} \(\d{{4}}-\d\d-\d\d\)", newest)
