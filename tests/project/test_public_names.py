# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Public names stay: those of tests/fixtures/public_names.json, to which new ones may be added."""

import dataclasses
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from modeling_scratch_cli.__main__ import main
from transformers.pipelines import PIPELINE_REGISTRY

import modeling_scratch as scratch
from modeling_scratch import presets

FILE = Path(__file__).parents[1] / "fixtures" / "public_names.json"
PUBLIC: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
CONFIGS = "ScratchEncoderConfig", "ScratchDecoderConfig", "ScratchSeq2SeqConfig"


@pytest.mark.parametrize("module", PUBLIC["names"])
def test_names_of_a_module_can_be_imported(module: str) -> None:
    imported = import_module(module)
    assert [name for name in PUBLIC["names"][module] if not hasattr(imported, name)] == []


def test_the_package_lists_its_names() -> None:
    assert [name for name in PUBLIC["names"]["modeling_scratch"] if name not in scratch.__all__] == []


@pytest.mark.parametrize("table", PUBLIC["presets"])
def test_presets_are_in_their_table(table: str) -> None:
    assert [name for name in PUBLIC["presets"][table] if name not in getattr(presets, table)] == []


@pytest.mark.parametrize("name", CONFIGS)
def test_fields_of_configs_keep_their_names_and_defaults(name: str) -> None:
    """A config class has those of ScratchConfig and its own."""
    fields = {field.name: field.default for field in dataclasses.fields(getattr(scratch, name))}
    expected = {**PUBLIC["fields"]["ScratchConfig"], **PUBLIC["fields"][name]}
    assert [field for field in expected if field not in fields] == []
    assert {field: fields[field] for field in expected} == expected


def test_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert [name for name in PUBLIC["commands"] if name not in listed] == []


def test_pipelines_are_registered() -> None:
    supported = PIPELINE_REGISTRY.get_supported_tasks()
    assert [name for name in PUBLIC["pipelines"] if name not in supported] == []
