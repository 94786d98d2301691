# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The doctor finds the one trap of each toy, cries at no sound model, and outlives what it examines."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from model_cases import TEXTS
from planted import MEANT, NATIVE, PLANTED, SIZES, Toy
from safetensors.torch import load_file, save_file
from toy_text import toy_tokenizer

from modeling_scratch import doctor
from modeling_scratch.doctor import Verdict
from modeling_scratch.doctor.diagnosis import folder_of
from modeling_scratch.doctor.examination import CHECKS
from modeling_scratch.doctor.findings import Finding
from modeling_scratch.doctor.folders import examine_folder
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.markdown import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "doctor.md"
SECONDS = {"fresh_process", "one_graph", "pipelines"}  # checks that take some
FAST = [check.name for check in CHECKS if check.name not in SECONDS]
every_toy = pytest.mark.parametrize("toy", PLANTED, ids=lambda toy: toy.name)


@pytest.mark.slow
@every_toy
def test_each_trap_is_one_finding(toy: Toy) -> None:
    """What else falls short follows from it, and is told below it."""
    diagnosis = doctor.check(toy.model_class, toy.config())
    assert [fault.check for fault in diagnosis.faults] == [toy.found], str(diagnosis)


@every_toy
def test_each_trap_by_its_own_check(toy: Toy) -> None:
    finding = doctor.check(toy.model_class, toy.config(), only=[toy.found])[toy.found]
    assert finding.verdict is Verdict.FALLS_SHORT
    assert finding.what
    assert toy.says in finding.what
    assert finding.mend


@pytest.mark.parametrize("toy", MEANT, ids=lambda toy: toy.name)
def test_what_is_meant_so_is_no_fault(toy: Toy) -> None:
    """Weights of classes and a term more of the loss, rates of dropout under any name, and no static cache."""
    only = ["loss", "accumulation", "every_gradient", "training_mode", "gradient_checkpointing", "generation"]
    diagnosis = doctor.check(toy.model_class, toy.config(), only=only)
    assert diagnosis.is_sound, str(diagnosis)
    assert diagnosis["loss"].verdict is Verdict.HOLDS


def native(name: str, *only: str, **changes: Any) -> doctor.Diagnosis:
    model_class = getattr(transformers, name)
    return doctor.check(model_class, model_class.config_class(**{**NATIVE.get(name, SIZES), **changes}), only=only)


@pytest.mark.parametrize("limit", [8, pytest.param(14, marks=pytest.mark.slow)])
def test_a_model_of_few_positions_is_read_by_shorter_texts(limit: int) -> None:
    only = [name for name in FAST if name != "padding_left"]
    diagnosis = native("GPT2LMHeadModel", *only, n_layer=1, n_positions=limit)
    assert diagnosis.is_sound, str(diagnosis)


@pytest.mark.slow
@pytest.mark.parametrize("name", NATIVE)
def test_native_families_are_clean(name: str) -> None:
    """But for what the page says of them. Falcon sees the future where sdpa adds its mask of booleans to the scores."""
    diagnosis = native(name)
    known = {"GPT2LMHeadModel": {"padding_left"}, "FalconForCausalLM": {"recording_changes_nothing"}}.get(name, set())
    fallen = {finding.check for finding in diagnosis.of(Verdict.FALLS_SHORT)}
    assert fallen - {"accumulation", "evaluation_outputs"} == known, str(diagnosis)


@pytest.mark.slow
def test_weights_that_a_folder_does_not_bring_are_told(folder: Path) -> None:
    """As of a file that torch.compile, or a wrapper for several devices, has named."""
    path = folder / "model.safetensors"
    save_file({f"_orig_mod.{name}": tensor for name, tensor in load_file(path).items()}, path, {"format": "pt"})
    found = doctor.check_folder(folder, only=["round_trip", "repeats"])
    assert "missing keys" in found["round_trip"].what
    assert found["repeats"].verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("name", "side", "verdict"),
    [
        ("BertForMaskedLM", None, Verdict.DOES_NOT_APPLY),
        ("BertForMaskedLM", "left", Verdict.FALLS_SHORT),
        ("GPT2LMHeadModel", "right", Verdict.FALLS_SHORT),
        ("ModernBertForMaskedLM", "left", Verdict.HOLDS),
    ],
)
def test_padding_on_the_left_matters_where_texts_are_padded_there(name: str, side: Any, verdict: Verdict) -> None:
    """Of decoders always: they generate."""
    model_class, tokenizer = getattr(transformers, name), toy_tokenizer(side) if side else None
    found = doctor.check(model_class, model_class.config_class(**SIZES), tokenizer, ["padding_left"])["padding_left"]
    assert found.verdict is verdict
    assert ("changes the answers by" in found.what) == bool(found.mend) == (verdict is Verdict.FALLS_SHORT)


def test_the_model_is_left_as_it_was_and_examined_in_float32() -> None:
    model = TEXTS.model(pad_token_id=0).train().bfloat16()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    config = model.config.to_dict()
    diagnosis = doctor.check(
        model, only=["resized_embeddings", "every_gradient", "gradient_checkpointing", "round_trip"]
    )
    assert diagnosis.is_sound, str(diagnosis)
    assert model.training
    assert model.config.to_dict() == config
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())  # also their dtype
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("examine", "told"),
    [
        (lambda: doctor.check(TEXTS.model(), only=["causalty"]), "causalty: no such check"),
        (lambda: doctor.check(TEXTS.model(), only=["cache_is_all"]), "cache_is_all is retired: cache checks it"),
        (lambda: doctor.check(transformers.LlamaForCausalLM), "LlamaForCausalLM: a class needs a config"),
        (lambda: doctor.check_folder("nowhere"), r"no config\.json"),
        (lambda: folder_of("transformers.LlamaForCausalLM", None), r"is examined from Python, by doctor\.check"),
        (lambda: native("BertForMultipleChoice"), "There are no checks of BertForMultipleChoice"),
        (lambda: native("ViTForImageClassification", num_hidden_layers=1), "reads pixel_values, not text"),
    ],
    ids=range(7),
)
def test_what_cannot_be_examined_is_named(examine: Any, told: str) -> None:
    with pytest.raises(DataError, match=told):
        examine()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    TEXTS.model(pad_token_id=0).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


JOB = {"is_trusted": False, "tokenizer": None}
STATIC = ["safe_weights", "code_is_there", "flat_code", "public_names", "known_version"]


def test_files_are_read_and_not_run(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"")
    marker = folder.with_name("it-ran")
    (folder / "extra.py").write_text(
        f"from .sub.layers import x\nfrom torch._dynamo import y\nopen({str(marker)!r}, 'w')\nopen(__file__)\n"
    )
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["Model"], "transformers_version": "5.999.0"}
    config["auto_map"] |= {"AutoModel": "lost.Model", "AutoModelForSequenceClassification": "extra.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    job = {**JOB, "folder": str(folder), "checks": [*STATIC, "repeats"]}
    found = {each.check: each for each in examine_folder(job)}  # which the doctor runs in a process of its own
    assert {name for name, each in found.items() if each.verdict is Verdict.FALLS_SHORT} == set(STATIC)
    assert "lost.Model" in found["code_is_there"].what
    assert "extra.py, line 1" in found["flat_code"].what
    assert "extra.py, line 4: __file__" in found["flat_code"].what
    assert "torch._dynamo" in found["public_names"].what
    assert found["loading"].verdict is Verdict.DOES_NOT_APPLY
    assert "--trust_remote_code" in found["loading"].what
    assert not marker.exists()


CRASHING = """
import os, time
{first}
from .modeling_encoder import ScratchEncoderForSequenceClassification as Base

class Crashing(Base):
    def forward(self, *args, **kwargs):
        {fault}
"""


def bring(folder: Path, fault: str = "pass", first: str = "") -> None:
    """Give the folder a class of its own, whose forward pass does this. first: what its file does when imported."""
    (folder / "crashing.py").write_text(CRASHING.format(fault=fault, first=first))
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["Crashing"]
    config["auto_map"]["AutoModelForSequenceClassification"] = "crashing.Crashing"
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.slow
def test_checks_go_on_after_one_that_dies_or_hangs(folder: Path) -> None:
    """What the code prints is no finding. A second process that it starts tells nothing, and leaves nothing."""
    hang, fail = "if 'labels' in kwargs: time.sleep(1000)", "if 'output_hidden_states' in kwargs: 1 / 0"
    fault = "\n        ".join((hang, fail, "os.kill(os.getpid(), 9)"))
    bring(folder, fault, first="print('{}', flush=True)\nos.fork()")
    told = {
        "label_names": "have no names",
        "repeats": "died (signal 9)",
        "hidden_states": "It raises ZeroDivisionError",
        "labels_change_nothing": "did not end within 20 seconds",
    }
    diagnosis = doctor.check_folder(folder, is_trusted=True, only=told, seconds=20)
    assert [finding.check for finding in diagnosis.findings] == list(told)
    assert all(told[finding.check] in finding.what for finding in diagnosis.findings), str(diagnosis)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("time.sleep(1000)", "Loading did not end within 20 seconds."),
        ("os._exit(3)", "The process that loaded it died (exit status 3)."),
        ("bytearray(2**40)", "It cannot be loaded: "),
    ],
)
def test_a_model_that_cannot_be_loaded_is_tried_once(folder: Path, first: str, told: str) -> None:
    bring(folder, first=first)
    diagnosis = doctor.check_folder(folder, is_trusted=True, seconds=20)
    assert {each.check for each in diagnosis.findings if not each.what.startswith(told)} == {*STATIC, "recorded_files"}


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "model.safetensors", "rows"])
def test_damaged_files_are_a_finding(folder: Path, name: str) -> None:
    """Also of a folder that brings code, which mends no weights."""
    path = folder / ("model.safetensors" if name == "rows" else name)
    if name == "rows":
        save_file({name: tensor[:1] for name, tensor in load_file(path).items()}, path, {"format": "pt"})
    else:
        path.write_text("{")
    *_, found = examine_folder({**JOB, "folder": str(folder), "checks": ["repeats"]})
    assert found.verdict is Verdict.FALLS_SHORT
    assert found.what.startswith("It cannot be loaded: ")
    assert ("by config.json" in found.what) == (name == "rows")


def test_one_reason_of_many_checks_is_told_once() -> None:
    names = ["repeats", "cache", "loss", "ties"]
    alike = [Finding(name, name, Verdict.FALLS_SHORT, "It is gone.", "Do this.") for name in names]
    reasons = [Finding(name, name, Verdict.DOES_NOT_APPLY, "It is gone.") for name in names]
    diagnosis = doctor.Diagnosis("model", [*alike, *reasons])
    assert f"falls short: {', '.join(names)}\n    It is gone.\n    To mend it: Do this." in str(diagnosis)
    assert f"does not apply: {', '.join(names)}: It is gone." in str(diagnosis)
    told = [finding["verdict"] for finding in json.loads(diagnosis.to_json())["findings"]]
    assert sorted(told) == ["does not apply"] * 4 + ["falls short"] * 4


def test_the_page_names_every_check_and_no_other() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## Known traps\n")[2].partition("\n## ")[0]
    rows = [line.rpartition(" | ")[2] for line in section.splitlines() if line.startswith("| ")]
    named = [set(re.findall(r"`(\w+)`", cell)) for cell in rows[2:]]
    assert all(named)
    assert set().union(*named) <= {check.name for check in CHECKS}
    checks = table(["check", "what holds"], [[each.name, each.says] for each in CHECKS]).replace("&#96;", "`")
    assert f"## The checks\n\n{checks}\n" in page
