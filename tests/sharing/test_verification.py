# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A copy is told from the model that was recorded, whatever happened to it; and its record is not trusted blindly."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import DECODER, MASKED_LM, SEQ2SEQ_LM, SPANS, TEXTS
from native_models import Native
from records import findings, is_as_recorded
from safetensors.torch import load_file, save_file
from toy_text import toy_tokenizer

from modeling_scratch.doctor.findings import Verdict
from modeling_scratch.sharing.verification import difference, summarise, write_verification
from modeling_scratch.verify import main, verify

REVIEWS = ["a good film", "not good at all"]
WEIGHTS, RECORD = "model.safetensors", "verify.json"
ATTENTION = "model.stack.layers.0.attention.q_proj.weight"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "original"
    model = TEXTS.model(pad_token_id=0)
    model.save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    for name in ("README.md", "confusion_matrix.png", "all_results.json"):
        (folder / name).write_text("{}")
    write_verification(model, toy_tokenizer(), folder, REVIEWS)
    return folder


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


def change_json(path: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def change_weights(folder: Path, change: Callable[[dict], Any]) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


@pytest.mark.parametrize("case", [DECODER, SPANS, SEQ2SEQ_LM, Native("bart", "ScratchSeq2SeqForConditionalGeneration")])
def test_a_model_is_recognised(case: Any, tmp_path: Path) -> None:
    model = case.model().bfloat16()
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    toy_tokenizer().save_pretrained(tmp_path)
    write_verification(model, toy_tokenizer(), tmp_path)
    assert is_as_recorded(tmp_path)


def test_the_record_names_the_model_and_nothing_of_the_machine(original: Path) -> None:
    text = (original / RECORD).read_text(encoding="utf-8")
    record = json.loads(text)
    assert {WEIGHTS, "config.json", "tokenizer.json", "modeling_encoder.py"} <= record["files"].keys()
    assert not {"README.md", "confusion_matrix.png", "all_results.json", RECORD} & record["files"].keys()
    assert [entry["text"] for entry in record["inputs"]] == [None, None, *REVIEWS]
    assert str(original.parent) not in text
    assert len(text) < 20_000


def test_a_model_in_training_is_left_alone(tmp_path: Path) -> None:
    model = MASKED_LM.model(pad_token_id=0).train()
    model.save_pretrained(tmp_path)
    tokenizer = toy_tokenizer()
    tokenizer.save_pretrained(tmp_path)
    state = torch.get_rng_state()
    write_verification(model, tokenizer, tmp_path)
    assert all(module.training for module in model.modules())
    assert torch.equal(torch.get_rng_state(), state)
    tokenizer.save_pretrained(tmp_path)  # as a push does
    assert is_as_recorded(tmp_path)


def swap_words(tokenizer: Any) -> None:
    words = tokenizer["model"]["vocab"]
    words["good"], words["bad"] = words["bad"], words["good"]


def answer_otherwise(record: Any) -> None:
    for entry in record["inputs"]:
        for output in entry["outputs"].values():
            output["rows"][0]["values"][0] += 1


# What is done to a copy, and what is said of its files, and of its answers.
FAULTS: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "truncated": (lambda folder: (folder / WEIGHTS).write_bytes(b"cut"), f"{WEIGHTS} (changed)", "It cannot be loaded"),
    "no tokenizer": (
        lambda folder: (folder / "tokenizer.json").unlink(),
        "tokenizer.json (missing)",
        "It cannot be loaded",
    ),
    "code": (lambda folder: (folder / "stack.py").write_text("print()"), "stack.py (changed)", ""),
    "more code": (lambda folder: (folder / "extra.py").write_text("print()"), "extra.py (not recorded)", ""),
    "a weight": (
        lambda folder: change_weights(folder, lambda weights: weights[ATTENTION][0].add_(1)),
        f"{WEIGHTS} (changed)",
        " away from the recorded ones, which were made with torch ",
    ),
    "written anew": (
        lambda folder: change_weights(folder, lambda weights: weights.update(more=torch.ones(1))),
        f"{WEIGHTS} (changed)",
        "",
    ),
    "tokens": (
        lambda folder: change_json(folder / "tokenizer.json", swap_words),
        "tokenizer.json (changed)",
        "reads other tokens than recorded in 'a good film', 'not good at all'",
    ),
    "other answers": (lambda folder: change_json(folder / RECORD, answer_otherwise), "", "which were made with torch "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_differs_is_named(fault: str, copy: Path) -> None:
    harm, of_files, of_answers = FAULTS[fault]
    harm(copy)
    found = findings(copy)
    answers = found.get("recorded_answers", found["loading"])
    for finding, expected in (found["recorded_files"], of_files), (answers, of_answers):
        assert (finding.verdict is Verdict.HOLDS) == (not expected)
        assert expected in finding.what


def test_planted_code_is_named_and_does_not_run(copy: Path) -> None:
    """Though the record of the copy vouches for it: code runs where it is trusted alone."""
    victim = copy.parent / "victim"
    planted = ["e\x1b[2Jvil.py", "evil.py", "custom_generate/generate.py", "1_Pooling/config.json"]
    (copy / "custom_generate").mkdir()
    (copy / "1_Pooling").mkdir()
    for name in planted:
        (copy / name).write_text(f"from pathlib import Path\nPath({str(victim)!r}).touch()\n")
    auto_map = {"AutoConfig": "evil.Config"}
    change_json(copy / "config.json", lambda config: config.update(model_type="evil", auto_map=auto_map))
    found = findings(copy)
    assert f"{len(planted) + 1} files are not those that verify.json records" in found["recorded_files"].what
    assert found["loading"].verdict is not Verdict.HOLDS
    assert not victim.exists()


def test_what_runs_and_people_put_beside_a_model_is_no_part_of_it(copy: Path) -> None:
    for name in ("README.md", "LICENSE", "curve.png", "predictions.csv", ".gitattributes", "checkpoint-5/config.json"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text("{}")
    assert is_as_recorded(copy)


HOSTILE: dict[str, Callable[[Any], Any]] = {
    "outside": lambda record: record["files"].update({"../../etc/passwd": {"sha256": "0" * 64}}),
    "endless": lambda record: record["inputs"][0]["ids"].update(input_ids=[1] * 100_000),
    "no such token": lambda record: record["inputs"][0]["ids"].update(input_ids=[10**9]),
    "huge": lambda record: record["inputs"][0]["outputs"]["logits"]["rows"][0].update(mean=10**400),
    "place": lambda record: record["inputs"][0]["outputs"]["logits"]["rows"][0].update(row=7),
    "dtype": lambda record: record.update(dtype="load"),
    "format": lambda record: record.update(format=2),
    "field": lambda record: record.pop("inputs"),
}


def test_a_record_that_is_damaged_or_hostile_falls_short(copy: Path) -> None:
    record = (copy / RECORD).read_text()
    for name, harm in HOSTILE.items():
        (copy / RECORD).write_text(record)
        change_json(copy / RECORD, harm)
        assert Verdict.FALLS_SHORT in {found.verdict for found in findings(copy).values()}, name
    for content in (b"", b"{", b"[]", b"\xff", b"[" * 100_000, b"1" * 10_000):
        (copy / RECORD).write_bytes(content)
        assert "verify.json is damaged" in findings(copy)["recorded_files"].what
    (copy / RECORD).unlink()
    assert findings(copy)["recorded_files"].verdict is Verdict.DOES_NOT_APPLY


def test_outputs_that_are_no_numbers_agree_with_none() -> None:
    logits = torch.tensor([[1.0, -2.0]])
    assert difference({"logits": logits}, {"logits": summarise(logits)}) == 0
    assert difference({"logits": logits.sqrt()}, {"logits": summarise(logits)}) == float("inf")


def test_the_earlier_command_names_that_of_the_doctor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["verify", "user/name", "--trust_remote_code"])
    assert main() == 2
    assert "doctor user/name --checks recorded_files recorded_answers" in capsys.readouterr().err


@pytest.mark.slow  # a process that imports everything
def test_the_earlier_function_asks_the_doctor(original: Path) -> None:
    assert verify(original).is_sound
