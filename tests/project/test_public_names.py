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


def test_names_presets_and_pipelines_are_there() -> None:
    for module, names in PUBLIC["names"].items():
        assert [name for name in names if not hasattr(import_module(module), name)] == [], module
    assert set(PUBLIC["names"]["modeling_scratch"]) <= set(scratch.__all__)
    for table, names in PUBLIC["presets"].items():
        assert set(names) <= getattr(presets, table).keys()
    assert set(PUBLIC["pipelines"]) <= set(PIPELINE_REGISTRY.get_supported_tasks())


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
