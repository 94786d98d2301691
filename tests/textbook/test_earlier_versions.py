# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Folders that earlier versions saved load today, and compute what they computed then: see write_fixtures.py."""

import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from fresh_process import run_fresh
from records import findings, is_as_recorded
from safetensors.torch import load_file, save_file
from torch import Tensor
from write_fixtures import PRESETS, RECORDED, SAVED, outputs_of, recorded_copy, with_code

import modeling_scratch as scratch
from modeling_scratch import fast
from modeling_scratch.doctor.findings import Verdict

MODELS = sorted(SAVED.glob("*/models/*"))
QUICK = "EncoderForSequenceClassification", "DecoderForCausalLM", "Seq2SeqForConditionalGeneration"
# The first says who saved it, the second names files of the code and has a test of its own, the third may be refused.
MAY_CHANGE = {"transformers_version", "auto_map", "ngram_vocab_size"}
ANSWER = """
from __future__ import annotations
from safetensors.torch import load_file, save_file
from torch import Tensor

def answer(where, auto_class, folder):
    options = {"trust_remote_code": True, "output_loading_info": True}
    model, report = getattr(transformers, auto_class).from_pretrained(folder, **options)
    model.double()
    given = {name: value for name, value in load_file(f"{folder}/expected.safetensors").items() if "inputs." in name}
    outputs = dict(outputs_of(model, {name.removeprefix("inputs."): value for name, value in given.items()}))
    save_file({name: value.contiguous() for name, value in {**given, **outputs}.items()}, f"{folder}/found.safetensors")
    return type(model).__module__, [name for name, keys in report.items() if keys]


"""


def ids_of(paths: list[Path]) -> list[str]:
    return [path.relative_to(SAVED).as_posix().replace("models/", "") for path in paths]


every_model = pytest.mark.parametrize("folder", MODELS, ids=ids_of(MODELS))


def read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def auto_class_of(folder: Path) -> Any:
    return getattr(transformers, read_json(folder / "expected.json")["auto_class"])


def inputs_and_outputs(file: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    tensors = load_file(file)
    inputs = {name.removeprefix("inputs."): value for name, value in tensors.items() if name.startswith("inputs.")}
    return inputs, {name: value for name, value in tensors.items() if not name.startswith("inputs.")}


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor], mask: Tensor) -> None:
    """The same outputs, of models in float64, in which processors agree.

    Outputs of tokens, (B, T, ...), are compared at real tokens: at padding they are undefined.
    """
    assert found.keys() >= expected.keys()
    for name, value in expected.items():
        where = mask.bool() if value.shape[:2] == mask.shape else ...
        difference = found[name][where].double() - value[where].double()
        assert difference.abs().max() <= 1e-6, name


def changed_fields(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The stored fields that are no longer there, or have another value: name -> the values."""
    kept = before.keys() - MAY_CHANGE
    return {name: (before[name], after.get(name)) for name in kept if after.get(name, ...) != before[name]}


@every_model
def test_a_folder_computes_what_it_did(folder: Path) -> None:
    expected = read_json(folder / "expected.json")
    model, report = auto_class_of(folder).from_pretrained(folder, output_loading_info=True)
    assert type(model) is getattr(scratch, expected["class"])
    assert {name: keys for name, keys in report.items() if keys} == {}
    assert {key: str(tuple(value.shape)) for key, value in model.state_dict().items()} == expected["state_dict"]
    inputs, outputs = inputs_and_outputs(folder / "expected.safetensors")
    model.double()
    assert_same(dict(outputs_of(model, inputs)), outputs, inputs["attention_mask"])
    with fast.disabled():
        assert_same(dict(outputs_of(model, inputs)), outputs, inputs["attention_mask"])


@every_model
def test_a_folder_saved_again_is_the_same(folder: Path, tmp_path: Path) -> None:
    """Its weights, and all settings; it names the classes that it named, now of today's code, beside the weights."""
    auto_class_of(folder).from_pretrained(folder).save_pretrained(tmp_path)
    before, after = (load_file(path / "model.safetensors") for path in (folder, tmp_path))
    assert before.keys() == after.keys()
    assert [key for key, weight in before.items() if not torch.equal(weight, after[key])] == []
    for file in {"config.json", "generation_config.json"} & {path.name for path in folder.iterdir()}:
        assert changed_fields(read_json(folder / file), read_json(tmp_path / file)) == {}
    stored, saved = (read_json(path / "config.json") for path in (folder, tmp_path))
    for auto_class, reference in stored["auto_map"].items():
        assert saved["auto_map"][auto_class].partition(".")[2] == reference.partition(".")[2]
    for reference in (*saved["auto_map"].values(), *(entry["impl"] for entry in saved["custom_pipelines"].values())):
        file, _, name = reference.partition(".")
        assert name in (tmp_path / f"{file}.py").read_text(encoding="utf-8")


def marked(folder: Path) -> Any:
    return pytest.param(folder, marks=() if folder.name.removeprefix("Scratch") in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("folder", map(marked, MODELS), ids=ids_of(MODELS))
def test_a_folder_with_its_own_code_needs_no_package(folder: Path, tmp_path: Path) -> None:
    copy = with_code(folder, tmp_path)
    auto_class = read_json(folder / "expected.json")["auto_class"]
    code = ANSWER + inspect.getsource(outputs_of)
    [(module, reported)] = run_fresh(code, [("there", "answer", auto_class, str(copy))])
    assert module.startswith("transformers_modules.")
    assert reported == []
    inputs, outputs = inputs_and_outputs(folder / "expected.safetensors")
    assert_same(load_file(copy / "found.safetensors"), outputs, inputs["attention_mask"])
    assert type(auto_class_of(folder).from_pretrained(copy)).__module__.startswith("modeling_scratch.")


RECORDS = sorted(SAVED.glob("*/records/*.json"))


@pytest.mark.parametrize("record", RECORDS, ids=ids_of(RECORDS))
def test_a_record_of_a_copy_is_compared(record: Path, tmp_path: Path) -> None:
    """Of weights in the type that the record is named after. What is changed in the copy falls short."""
    folder = recorded_copy(record.parents[1] / "models" / RECORDED, getattr(torch, record.stem), tmp_path)
    shutil.copyfile(record, folder / "verify.json")
    assert is_as_recorded(folder)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.out_proj.bias"] += 1
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert findings(folder)["recorded_files"].verdict is Verdict.FALLS_SHORT


CONFIGS = sorted(SAVED.glob("*/presets/*.json"))


@pytest.mark.parametrize("file", CONFIGS, ids=ids_of(CONFIGS))
def test_a_preset_keeps_its_settings(file: Path, tmp_path: Path) -> None:
    """Those of a config that was saved, and those of the function of its name."""
    stored = read_json(file)
    config = transformers.AutoConfig.from_pretrained(file)
    config.save_pretrained(tmp_path)
    assert changed_fields(stored, read_json(tmp_path / "config.json")) == {}
    family, _, name = file.stem.partition("-")
    assert changed_fields(stored, PRESETS[family][name]().to_dict()) == {}


TOKENIZERS = sorted(path.parent for path in SAVED.glob("*/tokenizers/*/tokenizer.json"))


@pytest.mark.parametrize("folder", TOKENIZERS, ids=ids_of(TOKENIZERS))
def test_a_tokenizer_gives_the_same_tokens(folder: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text, ids in read_json(folder.parent / "expected.json")[folder.name].items():
        assert tokenizer(text)["input_ids"] == ids
