# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A copy is the recorded model only if all that loaders could read or run is recorded, and every tensor is exact."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import TEXTS
from safetensors.torch import load_file, save_file
from toy_text import toy_tokenizer

from modeling_scratch.sharing.verification import Report, Verdict, verify
from modeling_scratch.sharing.verification_record import write_verification

WEIGHTS, RECORD = "model.safetensors", "verify.json"
TOKENS = "model.embeddings.tokens.weight"


def save(folder: Path, dtype: torch.dtype = torch.float32) -> Path:
    model = TEXTS.model().to(dtype)
    model.save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    write_verification(model, toy_tokenizer(), folder, ["a good film"])
    return folder


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("runs") / "original")


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


def put(folder: Path, name: str, content: object = "{}") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))


def change_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def unlike(report: Report) -> dict[str, str]:
    return {file.name: file.status for file in report.files if file.status != "same"}


@pytest.mark.parametrize(
    "name",
    ["custom_generate/generate.py", "modules.json", "1_Pooling/config.json", "additional_chat_templates/x.jinja"],
)
def test_a_copy_with_a_planted_file_is_not_the_model(name: str, copy: Path) -> None:
    put(copy, name)
    report = verify(copy, trust_remote_code=True)
    assert (report.verdict, unlike(report)) == (Verdict.DIFFERENT, {name: "extra"})


PLANTED = {
    "custom_generate/requirements.txt", "sub/code.py", "router_config.json", "2_Dense/model.safetensors",
    "chat_template.json", "processor_config.json", "config.4.0.0.json", "model_index.json", "unet/config.json",
    "adapter_model.safetensors", "model.fp16.safetensors", "pytorch_model.bin", "model.gguf", "onnx/model.onnx",
    "model.safetensors.index.json", "model-00001-of-00002.safetensors", "target_tokenizer/tokenizer.json",
    "bpe.codes", "entity_vocab.json", "module.so", "without_suffix",
}  # fmt: skip


def test_every_file_that_a_loader_could_read_and_the_record_lacks_is_named(copy: Path) -> None:
    for name in PLANTED:
        put(copy, name)
    report = verify(copy)
    assert unlike(report) == dict.fromkeys(PLANTED, "extra")
    assert {file.name for file in report.files if file.matters} == PLANTED


def test_what_runs_and_people_put_beside_a_model_is_no_part_of_it(copy: Path) -> None:
    for name in (
        "README.md", "LICENSE", "notes.txt", "curve.png", "predictions.csv", ".gitattributes", ".cache/download.json",
        "test_results.json", "checkpoint-5/model.py", "__checkpoint-5/config.json", "last-checkpoint/config.json",
        "runs/events.out.tfevents.1",
    ):  # fmt: skip
        put(copy, name)
    report = verify(copy)
    assert (report.verdict, unlike(report)) == (Verdict.SAME, {})


def test_a_linked_folder_is_named_and_not_followed(copy: Path) -> None:
    (copy / "custom_generate").symlink_to(copy.parent, target_is_directory=True)
    report = verify(copy)
    assert (report.verdict, unlike(report)) == (Verdict.DIFFERENT, {"custom_generate": "extra"})


SENTENCES = "sentence_transformers.models"


def test_the_modules_of_sentence_transformers_are_recorded_and_compared(copy: Path) -> None:
    modules = [{"path": "", "type": f"{SENTENCES}.Transformer"}, {"path": "1_Pooling", "type": f"{SENTENCES}.Pooling"}]
    put(copy, "modules.json", modules)
    put(copy, "1_Pooling/config.json", {"pooling_mode": "mean"})
    write_verification(TEXTS.model(), toy_tokenizer(), copy)
    assert verify(copy).verdict is Verdict.SAME
    put(copy, "1_Pooling/config.json", {"pooling_mode": "cls"})
    report = verify(copy)
    assert (report.verdict, unlike(report)) == (Verdict.DIFFERENT, {"1_Pooling/config.json": "changed"})


@pytest.mark.parametrize("reference", ["sub/code.Module", "/elsewhere--code.Module", "user/name--code.Module"])
def test_code_elsewhere_that_the_recorded_files_name_cannot_be_compared(reference: str, copy: Path) -> None:
    put(copy, "modules.json", [{"path": "", "type": reference}])
    write_verification(TEXTS.model(), toy_tokenizer(), copy)
    report = verify(copy)
    assert report.verdict is Verdict.CANNOT_TELL
    assert f"{reference!r} is in no recorded file" in str(report)


def save_copy(folder: Path, dtype: torch.dtype, change: Callable[[dict[str, Any]], object] = len) -> None:
    """Save the weights in another type, as `model.to(dtype).save_pretrained` does."""
    weights = {name: tensor.to(dtype) for name, tensor in load_file(folder / WEIGHTS).items()}
    change(weights)
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    change_json(folder / "config.json", dtype=str(dtype).removeprefix("torch."))


def unused_token(folder: Path) -> int:
    """A token that no recorded input reads: its embedding changes no recorded output."""
    inputs = json.loads((folder / RECORD).read_text())["inputs"]
    used = {token for entry in inputs for token in entry["ids"]["input_ids"]}
    return next(token for token in range(64) if token not in used)


HALVES = [torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_rounded_copy_is_recognised_exactly(dtype: torch.dtype, copy: Path) -> None:
    save_copy(copy, dtype)
    assert verify(copy).verdict is Verdict.SAME
    change_json(copy / "config.json", dtype="float32")
    assert verify(copy).verdict is Verdict.SAME
    token = unused_token(copy)
    save_copy(copy, dtype, lambda weights: weights[TOKENS][token].add_(5))
    report = verify(copy)
    assert all(entry.agrees for entry in report.inputs)
    assert report.verdict is Verdict.DIFFERENT
    assert f"tensors differ: '{TOKENS}'" in str(report)


def test_a_copy_of_16_bits_in_32_is_recognised_exactly(tmp_path: Path) -> None:
    save_copy(save(tmp_path, torch.bfloat16), torch.float32)
    assert verify(tmp_path).verdict is Verdict.SAME
    save_copy(tmp_path, torch.float32, lambda weights: weights[TOKENS].mul_(1 + 1e-6))
    assert verify(tmp_path).verdict is Verdict.DIFFERENT


def test_a_copy_that_was_rounded_twice_is_another_model(copy: Path) -> None:
    save_copy(copy, torch.bfloat16)
    save_copy(copy, torch.float32)
    assert verify(copy).verdict is Verdict.DIFFERENT


def test_of_a_rounded_copy_a_record_of_an_earlier_version_tells_nothing(copy: Path) -> None:
    record = json.loads((copy / RECORD).read_text())
    del record["rounded"]
    (copy / RECORD).write_text(json.dumps(record))
    assert verify(copy).verdict is Verdict.SAME
    save_copy(copy, torch.bfloat16)
    report = verify(copy)
    assert report.verdict is Verdict.CANNOT_TELL
    assert "an earlier version recorded them" in str(report)


def test_weights_behind_the_type_that_the_config_names_are_not_vouched_for(copy: Path) -> None:
    """`from_pretrained(dtype=float32)` loads the changes that the rounding to the type of config.json hides."""
    weights = load_file(copy / WEIGHTS)
    hidden = weights[TOKENS] * (1 + 1e-6)
    assert not torch.equal(hidden, weights[TOKENS])
    save_file({**weights, TOKENS: hidden}, copy / WEIGHTS, metadata={"format": "pt"})
    change_json(copy / "config.json", dtype="bfloat16")
    report = verify(copy)
    assert report.verdict is not Verdict.SAME
    assert "stored in a type that is not loaded" in str(report)


def test_a_revision_of_a_folder_cannot_be_told(copy: Path) -> None:
    report = verify(copy, revision="v1")
    assert report.verdict is Verdict.CANNOT_TELL
    assert "--revision v1: a folder has none" in str(report)


def test_tensors_that_the_model_does_not_read_are_not_vouched_for(copy: Path) -> None:
    save_copy(copy, torch.float32, lambda weights: weights.update({"other.weight": torch.ones(2)}))
    report = verify(copy)
    assert report.verdict is Verdict.CANNOT_TELL
    assert "'other.weight'" in str(report)
