# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The doctor finds the one trap of each toy, cries at no sound model, and outlives what it examines."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import CASES, TEXTS, Case
from toys import SOUND, TOYS, Toy
from transformers import LlamaForCausalLM

from modeling_scratch import doctor
from modeling_scratch.doctor import Verdict
from modeling_scratch.doctor.checks import CHECKS
from modeling_scratch.utils.errors import DataError

PROCESSES = {"fresh_process"}  # checks that start a process
COMPILERS = {"export", "one_graph", "pipelines"}
FAST = [check.name for check in CHECKS if check.name not in PROCESSES | COMPILERS]


def cried(diagnosis: doctor.Diagnosis) -> set[str]:
    return {finding.check for finding in diagnosis.of(Verdict.FALLS_SHORT)}


@pytest.mark.slow
@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
def test_each_trap_is_found_and_nothing_else_is_cried(toy: Toy) -> None:
    found = cried(doctor.check(toy.model_class, toy.config()))
    assert toy.found in found
    assert found <= {toy.found, *toy.also}


@pytest.mark.parametrize(
    "name", ["SeesTheFuture", "EncoderIgnoresPadding", "IgnoresTheCount", "DeadPart", "NamedOtherwise"]
)
def test_a_few_traps_by_their_own_checks(name: str) -> None:
    toy = next(toy for toy in TOYS if toy.name.startswith(name))
    finding = doctor.check(toy.model_class, toy.config(), only=[toy.found])[toy.found]
    assert finding.verdict is Verdict.FALLS_SHORT
    assert finding.what
    assert finding.mend


@pytest.mark.slow
@pytest.mark.parametrize(("model_class", "config"), SOUND, ids=lambda value: getattr(value, "__name__", None))
def test_sound_classes_of_the_library_hold(model_class: Any, config: Any) -> None:
    assert cried(doctor.check(model_class, config())) == set()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model_class.__name__)
def test_our_classes_hold(case: Case) -> None:
    assert cried(doctor.check(case.model_class, case.config(pad_token_id=0))) == set()


def test_a_classifier_of_ours_holds() -> None:
    diagnosis = doctor.check(TEXTS.model(pad_token_id=0), only=FAST)
    assert diagnosis.is_sound, str(diagnosis)
    assert {"round_trip", "padding_left", "accumulation", "bfloat16"} <= {
        finding.check for finding in diagnosis.of(Verdict.HOLDS)
    }


def test_the_model_is_left_as_it_was() -> None:
    model = TEXTS.model(pad_token_id=0).train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    config = model.config.to_dict()
    doctor.check(model, only=["resized_embeddings", "every_gradient", "gradient_checkpointing", "attention_backends"])
    assert model.training
    assert model.config.to_dict() == config
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_unknown_checks_and_missing_configs_are_named() -> None:
    with pytest.raises(DataError, match="causalty: no such check"):
        doctor.check(TEXTS.model(), only=["causalty"])
    with pytest.raises(DataError, match="LlamaForCausalLM: a class needs a config"):
        doctor.check(LlamaForCausalLM)
    with pytest.raises(DataError, match=r"no config\.json"):
        doctor.check_folder("nowhere")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    TEXTS.model(pad_token_id=0).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


STATIC = ["safe_weights", "code_is_there", "flat_code", "public_names", "known_version"]


def test_files_are_read_and_not_run(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"]["AutoModel"] = "lost.Model"
    config["transformers_version"] = "5.999.0"
    (folder / "config.json").write_text(json.dumps(config))
    marker = folder.with_name("it-ran")
    (folder / "extra.py").write_text(
        f"from .sub.layers import x\nfrom torch._dynamo import y\nopen({str(marker)!r}, 'w')\n"
    )
    diagnosis = doctor.check_folder(folder, only=STATIC)
    assert cried(diagnosis) == set(STATIC)
    assert "lost.Model" in diagnosis["code_is_there"].what
    assert "extra.py, line 1" in diagnosis["flat_code"].what
    assert "torch._dynamo" in diagnosis["public_names"].what
    assert not marker.exists()


CRASHING = """
import os, time
from .modeling_encoder import ScratchEncoderForSequenceClassification as Base

class Crashing(Base):
    def forward(self, *args, **kwargs):
        {fault}
"""


def bring(folder: Path, fault: str) -> None:
    """Give the folder a class of its own, whose forward pass does this."""
    (folder / "crashing.py").write_text(CRASHING.format(fault=fault))
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["Crashing"]
    config["auto_map"]["AutoModelForSequenceClassification"] = "crashing.Crashing"
    (folder / "config.json").write_text(json.dumps(config))


def test_code_of_a_folder_runs_only_if_it_is_trusted(folder: Path) -> None:
    bring(folder, "raise RuntimeError('it ran')")
    without = doctor.check_folder(folder, only=["repeats"])["repeats"]
    assert without.verdict is Verdict.DOES_NOT_APPLY
    assert "--trust_remote_code" in without.what
    trusted = doctor.check_folder(folder, is_trusted=True, only=["repeats"])["repeats"]
    assert "RuntimeError: it ran" in trusted.what


def test_checks_go_on_after_one_that_dies_and_one_that_hangs(folder: Path) -> None:
    bring(folder, "os.kill(os.getpid(), 9)")
    died = doctor.check_folder(folder, is_trusted=True, only=["repeats", "label_names"])
    assert "died (signal 9)" in died["repeats"].what
    assert died["label_names"].verdict is not Verdict.HOLDS or died["label_names"].what == ""
    assert [finding.check for finding in died.findings] == ["label_names", "repeats"]


@pytest.mark.slow
def test_a_check_that_hangs_is_stopped(folder: Path) -> None:
    bring(folder, "time.sleep(1000)")
    hung = doctor.check_folder(folder, is_trusted=True, only=["repeats", "hidden_states"], seconds=20)
    assert ["did not end within 20 seconds" in finding.what for finding in hung.findings] == [True, True]


def test_forms_of_the_answer() -> None:
    toy = next(toy for toy in TOYS if toy.name.startswith("DeadPart"))
    diagnosis = doctor.check(toy.model_class, toy.config(), only=["every_gradient", "label_names"])
    told = json.loads(diagnosis.to_json())
    assert [finding["verdict"] for finding in told["findings"]] == ["does not apply", "falls short"]
    assert diagnosis.annotations().startswith("::error title=DeadPartForMaskedLM%3A every_gradient::")
    assert "\n" not in diagnosis.annotations()
    assert "To mend it: " in str(diagnosis)


def test_the_checks_as_tests_of_an_author(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from modeling_scratch import ScratchEncoderConfig, ScratchEncoderForTokenClassification as Tagger\n"
        "from modeling_scratch.doctor.testing import ModelChecks\n"
        "class TestMine(ModelChecks):\n"
        "    def make(self):\n"
        "        sizes = dict(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)\n"
        "        return Tagger(ScratchEncoderConfig(**sizes, intermediate_size=16, pad_token_id=0)), None\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "padding or cache", "test_mine.py"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert "3 passed, 1 skipped" in done.stdout, done.stdout
