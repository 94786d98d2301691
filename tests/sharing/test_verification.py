# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A copy is told from the model that was recorded, whatever happened to it; and its record is not trusted blindly."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_cases import TEXTS
from records import findings, is_as_recorded
from toy_text import toy_tokenizer

from modeling_scratch.doctor.findings import Diagnosis, Verdict
from modeling_scratch.sharing.verification import differing_files, write_verification
from modeling_scratch.utils.errors import DataError
from modeling_scratch.verify import main, verify

WEIGHTS, RECORD = "model.safetensors", "verify.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "original"
    TEXTS.model(pad_token_id=0).save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    for name in ("README.md", "confusion_matrix.png", "all_results.json"):
        (folder / name).write_text("{}")
    write_verification(folder)
    return folder


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "copy"))


def put(folder: Path, name: str, content: object = "{}") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))


def test_the_record_names_the_model_and_nothing_of_the_machine(original: Path) -> None:
    text = (original / RECORD).read_text(encoding="utf-8")
    record = json.loads(text)
    assert {WEIGHTS, "config.json", "tokenizer.json", "modeling_encoder.py"} <= record["files"].keys()
    assert not {"README.md", "confusion_matrix.png", "all_results.json", RECORD} & record["files"].keys()
    assert str(original.parent) not in text
    assert is_as_recorded(original)


# What is done to a copy, and what is said of it.
FAULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "truncated": (lambda folder: (folder / WEIGHTS).write_bytes(b"cut"), f"{WEIGHTS} (changed)"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json (missing)"),
    "code": (lambda folder: put(folder, "stack.py", "print()"), "stack.py (changed)"),
    "more code": (lambda folder: put(folder, "extra.py", "print()"), "extra.py (not recorded)"),
    "a name that moves the cursor": (lambda folder: put(folder, "e\x1b[2Jvil.py"), r"e\x1b[2Jvil.py (not recorded)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_differs_is_named(fault: str, copy: Path) -> None:
    """Without control sequences for the terminal."""
    harm, expected = FAULTS[fault]
    harm(copy)
    found = findings(copy)["recorded_files"]
    assert found.verdict is Verdict.FALLS_SHORT
    shown = str(Diagnosis("copy", [found]))
    assert expected in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("carrier", "content", "reference"),
    [
        ("modules.json", [{"path": "", "type": "sub/code.Module"}], "sub/code.Module"),
        ("modules.json", [{"path": "", "type": "user/name--code.Module"}], "user/name--code.Module"),
        ("config.json", {"auto_map": {"AutoConfig": "other--evil.Evil"}}, "other--evil.Evil"),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "/a/o--e.E"]}}, "/a/o--e.E"),
        ("target_tokenizer/config.json", {"auto_map": {"AutoConfig": "-evil.Evil"}}, "-evil.Evil"),
    ],
)
def test_code_elsewhere_that_the_recorded_files_name_cannot_be_compared(
    carrier: str, content: object, reference: str, copy: Path
) -> None:
    put(copy, carrier, content)
    write_verification(copy)
    assert differing_files(copy) == [f"{reference} (code that is in no recorded file)"]


def test_the_earlier_function_asks_the_doctor_and_runs_no_code(copy: Path, tmp_path: Path) -> None:
    put(copy, "evil.py", f"from pathlib import Path\nPath({str(tmp_path / 'victim')!r}).touch()")
    put(copy, "config.json", {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil"}})
    with pytest.raises(DataError, match="--revision v1: a folder has none"):
        verify(copy, revision="v1")
    write_verification(copy)
    assert verify(copy, trust_remote_code=True).is_sound
    assert not (tmp_path / "victim").exists()


PLANTED = {
    "custom_generate/requirements.txt", "sub/code.py", "router_config.json", "2_Dense/model.safetensors",
    "chat_template.json", "processor_config.json", "config.4.0.0.json", "model_index.json", "unet/config.json",
    "adapter_model.safetensors", "model.fp16.safetensors", "pytorch_model.bin", "model.gguf", "onnx/model.onnx",
    "model.safetensors.index.json", "model-00001-of-00002.safetensors", "target_tokenizer/tokenizer.json",
    "bpe.codes", "entity_vocab.json", "module.so", "without_suffix", "custom_generate/generate.py", "modules.json",
    "1_Pooling/config.json", "additional_chat_templates/x.jinja", "\u00e9vil.py", "-evil.py", "e\x1b[2Jvil.py",
}  # fmt: skip


def test_every_file_that_a_loader_could_read_and_the_record_lacks_is_named(copy: Path) -> None:
    for name in PLANTED:
        put(copy, name)
    (copy / "link").symlink_to(copy.parent, target_is_directory=True)  # and not followed
    assert {*differing_files(copy)} == {f"{name} (not recorded)" for name in {*PLANTED, "link"}}
    assert f"{len(PLANTED) + 1} files not as recorded in verify.json: " in findings(copy)["recorded_files"].what


def test_what_runs_and_people_put_beside_a_model_is_no_part_of_it(copy: Path) -> None:
    for name in (
        "README.md", "LICENSE", "notes.txt", "curve.png", "predictions.csv", ".gitattributes", ".cache/download.json",
        "test_results.json", "checkpoint-5/model.py", "__checkpoint-5/config.json", "last-checkpoint/config.json",
        "events.out.tfevents.1",
    ):  # fmt: skip
        put(copy, name)
    assert is_as_recorded(copy)


def test_a_record_that_is_damaged_or_hostile_falls_short(copy: Path) -> None:
    record = json.loads((copy / RECORD).read_text())
    outside = record["files"] | {"../../etc/passwd": {"sha256": "0" * 64}}
    put(copy, RECORD, record | {"files": outside})
    assert "../../etc/passwd (missing)" in findings(copy)["recorded_files"].what
    for content in (b"", b"{", b"[]", b"\xff", b"[" * 100_000, b"1" * 10_000, b'{"format": 2, "files": {}}'):
        (copy / RECORD).write_bytes(content)
        assert "verify.json is damaged" in findings(copy)["recorded_files"].what
    (copy / RECORD).unlink()
    assert findings(copy)["recorded_files"].verdict is Verdict.DOES_NOT_APPLY


def test_the_earlier_command_names_that_of_the_doctor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["verify", "user/name", "--trust_remote_code"])
    assert main() == 2
    assert "doctor user/name --checks recorded_files" in capsys.readouterr().err
