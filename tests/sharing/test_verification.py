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
from records import findings, is_as_recorded, verified
from safetensors.torch import load_file, save_file
from toy_text import toy_tokenizer
from transformers import BartConfig, BartForSequenceClassification

from modeling_scratch.doctor.findings import Diagnosis, Verdict
from modeling_scratch.doctor.folders import NOT_TRUSTED
from modeling_scratch.sharing.verification import (
    difference,
    differing_files,
    largest_difference,
    read_record,
    summarise,
    write_verification,
)
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.files import file_digest
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


def put(folder: Path, name: str, content: object = "{}") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_classifier_that_reads_its_answer_at_the_end_token_is_recorded(tmp_path: Path) -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = BartConfig(d_model=16, vocab_size=50, max_position_embeddings=32, **sizes, **heads)
    model = BartForSequenceClassification(config)
    model.save_pretrained(tmp_path)
    write_verification(model, None, tmp_path)
    record = read_record(tmp_path)
    assert all(entry["ids"]["input_ids"][-1] == config.eos_token_id for entry in record["inputs"])
    assert largest_difference(record, model.eval()) < 1e-6


def test_a_folder_of_another_model_or_tokenizer_is_not_recorded(copy: Path) -> None:
    record, model = (copy / RECORD).read_bytes(), TEXTS.model(pad_token_id=0)
    torch.nn.init.zeros_(model.get_input_embeddings().weight[3, 3])
    with pytest.raises(ValueError, match="holds another model than this one"):
        write_verification(model, None, copy)
    change_json(copy / "tokenizer.json", swap_words)
    with pytest.raises(ValueError, match="does not make this tokenizer"):
        write_verification(TEXTS.model(pad_token_id=0), toy_tokenizer(), copy, REVIEWS)
    assert (copy / RECORD).read_bytes() == record


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


EVIL = """
from pathlib import Path
from transformers import BertConfig

Path({victim!r}).touch()

class Evil(BertConfig):
    model_type = "evil"
"""
CARRIERS = {
    "config.json": lambda reference: {"model_type": "evil", "auto_map": {"AutoConfig": reference}},
    "tokenizer_config.json": lambda reference: {"auto_map": {"AutoTokenizer": [None, reference]}},
    "target_tokenizer/config.json": lambda reference: {"model_type": "evil", "auto_map": {"AutoConfig": reference}},
}
DECOY = "other--evil.py"


@pytest.mark.parametrize(
    ("carrier", "file", "reference"),
    [
        ("config.json", "copy/sub/evil.py", "sub/evil.Evil"),
        ("config.json", "other/evil.py", "other--evil.Evil"),  # of another repository, and no file is called so
        ("tokenizer_config.json", "other/evil.py", "{parent}/other--evil.Evil"),
        ("target_tokenizer/config.json", "copy/-evil.py", "-evil.Evil"),
    ],
)
def test_code_that_is_not_recorded_never_runs(
    carrier: str, file: str, reference: str, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever names it, a file of the copy that was changed, or one that the record itself vouches for."""
    monkeypatch.chdir(copy.parent)
    evil, names, victim = copy.parent / file, copy / carrier, copy.parent / "victim"
    for path, text in (evil, EVIL.format(victim=str(victim))), (copy / DECOY, ""):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    content = json.loads(names.read_text()) if names.exists() else {}
    put(copy, carrier, content | CARRIERS[carrier](reference.format(parent=copy.parent)))
    vouched = [carrier, DECOY, *(["sub/evil.py"] if file.startswith("copy/sub") else [])]
    for names_recorded in [], vouched:
        entries = {name: {"sha256": file_digest(copy / name)} for name in names_recorded}
        change_json(copy / RECORD, lambda record, entries=entries: record["files"].update(entries))
        found = verified(copy, True)
        assert found["recorded_files"].verdict is Verdict.FALLS_SHORT
        assert not victim.exists()
    assert DECOY not in found["recorded_files"].what


OWN_CODE = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM

Path({victim!r}).touch()

class OwnConfig(BertConfig):
    model_type = "own"

class OwnModel(BertForMaskedLM):
    config_class = OwnConfig
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with code of its own, which says by a file "victim" beside it that it runs."""
    model, folder = Native("bert", "ScratchEncoderForMaskedLM").model(), tmp_path / "own"
    model.save_pretrained(folder)
    put(folder, "modeling_own.py", OWN_CODE.format(victim=str(tmp_path / "victim")))
    write_verification(model, None, folder)
    auto_map = {"AutoConfig": "modeling_own.OwnConfig", "AutoModelForMaskedLM": "modeling_own.OwnModel"}
    names = {"model_type": "own", "architectures": ["OwnModel"], "auto_map": auto_map}
    change_json(folder / "config.json", lambda config: config.update(names))
    entry = {"config.json": {"sha256": file_digest(folder / "config.json")}}
    change_json(folder / RECORD, lambda record: record["files"].update(entry))
    return folder


def test_code_of_a_folder_runs_where_it_is_trusted_and_is_what_was_recorded(own: Path) -> None:
    victim = own.parent / "victim"
    assert NOT_TRUSTED in verified(own, False)["loading"].what
    assert not victim.exists()
    assert {found.verdict for found in verified(own, True).values()} == {Verdict.HOLDS}
    assert victim.exists()
    victim.unlink()
    put(own, "modeling_own.py", (own / "modeling_own.py").read_text() + "\n")
    assert verified(own, True)["recorded_files"].verdict is Verdict.FALLS_SHORT
    assert not victim.exists()


@pytest.mark.slow  # processes that import everything
def test_the_earlier_function_asks_the_doctor(own: Path) -> None:
    victim = own.parent / "victim"
    with pytest.raises(DataError, match="--revision v1: a folder has none"):
        verify(own, revision="v1")
    assert {found.verdict for found in verify(own, trust_remote_code=True).findings} == {Verdict.HOLDS}
    victim.unlink()
    put(own, "modeling_own.py", (own / "modeling_own.py").read_text() + "\n")
    assert not verify(own, trust_remote_code=True).is_sound
    (own / RECORD).unlink()
    verify(own, trust_remote_code=True)
    assert not victim.exists()


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
    assert f"{len(PLANTED) + 1} files are not those that" in findings(copy)["recorded_files"].what


def test_a_name_brings_no_control_sequence_to_the_terminal(copy: Path) -> None:
    put(copy, "e\x1b[2Jvil.py")
    shown = str(Diagnosis("copy", [*findings(copy).values()]))
    assert r"e\x1b[2Jvil.py (not recorded)" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("reference", ["sub/code.Module", "user/name--code.Module"])
def test_code_elsewhere_that_the_recorded_files_name_cannot_be_compared(reference: str, copy: Path) -> None:
    put(copy, "modules.json", [{"path": "", "type": reference}])
    write_verification(TEXTS.model(pad_token_id=0), toy_tokenizer(), copy)
    assert differing_files(copy) == [f"{reference} (code that is in no recorded file)"]


def test_what_runs_and_people_put_beside_a_model_is_no_part_of_it(copy: Path) -> None:
    for name in (
        "README.md", "LICENSE", "notes.txt", "curve.png", "predictions.csv", ".gitattributes", ".cache/download.json",
        "test_results.json", "checkpoint-5/model.py", "__checkpoint-5/config.json", "last-checkpoint/config.json",
        "events.out.tfevents.1",
    ):  # fmt: skip
        put(copy, name)
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
