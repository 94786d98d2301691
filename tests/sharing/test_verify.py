# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A copy is told from the model that was trained, whatever happened to it; and its record is not trusted blindly."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from model_cases import DECODER, MASKED_LM, SEQ2SEQ_LM, SPANS, TEXTS
from native_models import Native
from safetensors.torch import load_file, save_file
from toy_text import toy_tokenizer

from modeling_scratch.sharing.verification import Report, Verdict, main, verify
from modeling_scratch.sharing.verification_outputs import difference, summarise
from modeling_scratch.sharing.verification_record import describe_file, write_verification

REVIEWS = ["a good film", "not good at all"]
WEIGHTS, RECORD = "model.safetensors", "verify.json"
TOKENS, ATTENTION = "model.embeddings.tokens.weight", "model.stack.layers.0.attention.q_proj.weight"


def save(folder: Path) -> Path:
    labels = {"id2label": {0: "bad", 1: "good", 2: "mixed"}, "label2id": {"bad": 0, "good": 1, "mixed": 2}}
    model = TEXTS.model(**labels)
    model.save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    for name in ("README.md", "confusion_matrix.png", "all_results.json"):
        (folder / name).write_text("{}")
    write_verification(model, toy_tokenizer(), folder, REVIEWS)
    return folder


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return save(tmp_path_factory.mktemp("runs") / "original")


@pytest.fixture
def copy(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "copy"))


def change_json(path: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def change_weights(folder: Path, change: Callable[[dict], Any]) -> None:
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


def statuses(report: Report) -> dict[str, str]:
    """Of the files that are not the same."""
    return {file.name: file.status for file in report.files if file.status != "same"}


def put(folder: Path, name: str, content: object = "{}") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize("case", [DECODER, SPANS, SEQ2SEQ_LM, Native("bart", "ScratchSeq2SeqForConditionalGeneration")])
def test_a_model_is_recognised(case, tmp_path):
    model = case.model()
    model.save_pretrained(tmp_path)
    toy_tokenizer().save_pretrained(tmp_path)
    write_verification(model, toy_tokenizer(), tmp_path)
    report = verify(tmp_path)
    assert report.verdict is Verdict.SAME, report
    assert {entry.difference for entry in report.inputs} == {0}
    assert verify(tmp_path, dtype=torch.bfloat16).verdict is Verdict.SAME


def test_the_record_names_the_model_and_nothing_of_the_machine(original):
    text = (original / "verify.json").read_text(encoding="utf-8")
    record = json.loads(text)
    assert record["labels"] == ["bad", "good", "mixed"]
    assert {WEIGHTS, "config.json", "tokenizer.json", "modeling_encoder.py"} <= record["files"].keys()
    assert not {"README.md", "confusion_matrix.png", "all_results.json", "verify.json"} & record["files"].keys()
    assert [entry["text"] for entry in record["inputs"]] == [None, None, *REVIEWS]
    assert str(original.parent) not in text
    assert len(text) < 20_000


def test_a_model_in_training_is_left_alone(tmp_path):
    model = MASKED_LM.model().train()
    model.save_pretrained(tmp_path)
    tokenizer = toy_tokenizer()
    tokenizer.save_pretrained(tmp_path)
    before, state = {k: v.clone() for k, v in model.state_dict().items()}, torch.get_rng_state()
    write_verification(model, tokenizer, tmp_path)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    tokenizer.save_pretrained(tmp_path)  # as a push does
    assert not statuses(verify(tmp_path))


def test_a_folder_of_another_model_or_tokenizer_is_not_recorded(copy):
    record, model = (copy / "verify.json").read_bytes(), TEXTS.model()
    torch.nn.init.zeros_(model.get_input_embeddings().weight[3, 3])
    with pytest.raises(ValueError, match="holds another model than this one"):
        write_verification(model, None, copy)
    change_json(copy / "tokenizer.json", swap_words)
    with pytest.raises(ValueError, match="does not make this tokenizer"):
        write_verification(TEXTS.model(), toy_tokenizer(), copy)
    assert (copy / "verify.json").read_bytes() == record


def swap_words(tokenizer: Any) -> None:
    words = tokenizer["model"]["vocab"]
    words["good"], words["bad"] = words["bad"], words["good"]


def test_a_file_written_anew_is_no_other_model(copy):
    weights = load_file(copy / WEIGHTS)
    save_file(weights, copy / WEIGHTS, metadata={"format": "pt", "written_by": "another version"})
    change_json(copy / "config.json", lambda config: config.update(transformers_version="6.0.0"))
    report = verify(copy)
    assert statuses(report) == {WEIGHTS: "changed", "config.json": "rewritten"}
    assert report.verdict is Verdict.SAME
    assert str(report).endswith("the weights are the same, and every logit agrees.")


def answer_otherwise(record: Any) -> None:
    for entry in record["inputs"]:
        entry["outputs"]["logits"]["rows"][0]["values"][0] += 1


def test_other_versions_are_named_and_what_they_explain(copy):
    """Where answers differ though the files are the same, the versions are what is left, or the hardware."""
    change_json(copy / RECORD, answer_otherwise)
    report = verify(copy)
    assert report.verdict is Verdict.DIFFERENT
    assert str(report).endswith("but NOT its answers: the versions are the same, the hardware may differ.")
    change_json(copy / RECORD, lambda record: record["versions"].update(transformers="5.17.0"))
    text = str(verify(copy))
    assert f"  the versions differ: transformers 5.17.0 in the record, {transformers.__version__} here\n" in text
    assert text.endswith("but NOT its answers: the versions differ.")


def cut(folder: Path) -> None:
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[: len(content) // 2])


def swap_labels(config: Any) -> None:
    config["id2label"].update({"0": "good", "1": "bad"})


# What is done to a copy, the status of which file that gives, and what else the report says.
FAULTS: dict[str, tuple[Callable[[Path], Any], dict[str, str], str]] = {
    "truncated": (cut, {WEIGHTS: "changed"}, "cannot be loaded"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), {"tokenizer.json": "missing"}, ""),
    "code": (lambda folder: (folder / "stack.py").write_text("print()"), {"stack.py": "changed"}, "logits agree"),
    "more code": (lambda folder: (folder / "extra.py").write_text("print()"), {"extra.py": "extra"}, "(not in verify"),
    "a link": (
        lambda folder: (folder / "custom_generate").symlink_to(folder.parent, target_is_directory=True),
        {"custom_generate": "extra"},  # and not followed
        "",
    ),
    "a weight": (
        lambda folder: change_weights(folder, lambda weights: weights[ATTENTION][0, 0].add_(1)),
        {WEIGHTS: "changed"},
        f" tensors differ: '{ATTENTION}'",
    ),
    "tokens": (
        lambda folder: change_json(folder / "tokenizer.json", swap_words),
        {"tokenizer.json": "changed"},
        "'a good film' tokenises differently: token 2 of input_ids is ",
    ),
    "labels": (
        lambda folder: change_json(folder / "config.json", swap_labels),
        {"config.json": "changed"},
        "the labels: ['good', 'bad', 'mixed'], recorded ['bad', 'good', 'mixed']",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_differs_is_named(fault, copy):
    harm, expected, words = FAULTS[fault]
    harm(copy)
    report = verify(copy)
    assert statuses(report) == expected
    assert report.verdict is Verdict.DIFFERENT
    assert words in str(report)
    assert "Traceback" not in str(report)
    assert all(entry.agrees for entry in report.inputs) == (fault != "a weight")


def test_sharded_weights(tmp_path):
    model = MASKED_LM.model()
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    write_verification(model, None, tmp_path)
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert verify(tmp_path).verdict is Verdict.SAME
    shards[0].unlink()
    report = verify(tmp_path)
    assert (report.verdict, statuses(report)) == (Verdict.DIFFERENT, {shards[0].name: "missing"})


HOSTILE: dict[str, Callable[[Any], Any]] = {
    "outside": lambda record: record["files"].update({"../../etc/passwd": {"size": 1, "sha256": "0" * 64}}),
    "below": lambda record: record["files"].update({"target_tokenizer/../vocab.txt": {"size": 1, "sha256": "0" * 64}}),
    "endless": lambda record: record["inputs"][0]["ids"].update(input_ids=[1] * 100_000),
    "huge": lambda record: record["inputs"][0]["outputs"]["logits"]["rows"][0].update(mean=10**400),
    "dtype": lambda record: record.update(dtype="load"),
    "place": lambda record: record["inputs"][0]["outputs"]["logits"]["rows"][0].update(row=7),
    "field": lambda record: record.pop("tensors"),
    "format": lambda record: record.update(format=2),
}


def test_a_record_that_is_not_to_be_trusted_is_refused(copy):
    record = (copy / RECORD).read_text()
    for name, harm in HOSTILE.items():
        (copy / RECORD).write_text(record)
        change_json(copy / RECORD, harm)
        report = verify(copy)
        assert (report.verdict, report.inputs) == (Verdict.CANNOT_TELL, []), name
        assert report.problems[0].startswith("verify.json")
    for content in (b"", b"{", b"[]", b"\xff", b"[" * 100_000, b"1" * 10_000):
        (copy / RECORD).write_bytes(content)
        report = verify(copy)
        assert (report.verdict, len(report.problems)) == (Verdict.CANNOT_TELL, 1)


def test_ids_outside_of_the_vocabulary_and_escapes_do_no_harm(copy):
    def harm(record: Any) -> None:
        record["inputs"][0]["ids"]["input_ids"][0] = 10**9
        record["inputs"][2]["text"] = "\x1b[2J good"
        record["versions"]["\x1b[31m"] = "\x07"

    change_json(copy / "verify.json", harm)
    report = verify(copy)
    assert report.verdict is not Verdict.SAME
    assert not {"\x1b", "\x07"} & set(str(report))


def test_without_a_record_nothing_is_told(copy, capsys):
    (copy / "verify.json").unlink()
    assert main([str(copy)]) == 2
    assert "it has no verify.json" in capsys.readouterr().out
    assert main([str(copy / "nowhere")]) == 2
    assert "looking for a repository on the Hub" in capsys.readouterr().err
    report = verify(copy, revision="v1")
    assert report.verdict is Verdict.CANNOT_TELL
    assert "--revision v1: a folder has none" in str(report)


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
def test_code_that_is_not_recorded_never_runs(copy, carrier, file, reference, monkeypatch):
    """Whatever names it, a file of the copy that was changed, or one that the record itself vouches for."""
    monkeypatch.chdir(copy.parent)
    evil, names, victim = copy.parent / file, copy / carrier, copy.parent / "victim"
    for path, text in (evil, EVIL.format(victim=str(victim))), (copy / DECOY, ""):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    names.parent.mkdir(exist_ok=True)
    content = json.loads(names.read_text()) if names.exists() else {}
    names.write_text(json.dumps(content | CARRIERS[carrier](reference.format(parent=copy.parent))))
    changed = verify(copy, trust_remote_code=True)
    entries = {name: describe_file(copy / name) for name in (carrier, DECOY) if name in statuses(changed)}
    change_json(copy / "verify.json", lambda record: record["files"].update(entries))
    vouched = verify(copy, trust_remote_code=True)
    assert not victim.exists()
    assert DECOY not in statuses(vouched)
    for report in (changed, vouched):
        assert "no code of it was run: '" in str(report)


OWN_CODE = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM

Path({victim!r}).touch()

class OwnConfig(BertConfig):
    model_type = "own"

class OwnModel(BertForMaskedLM):
    config_class = OwnConfig
"""


def test_code_of_a_folder_runs_where_it_is_trusted_and_is_what_was_recorded(tmp_path):
    model, folder, victim = Native("bert", "ScratchEncoderForMaskedLM").model(), tmp_path / "own", tmp_path / "victim"
    model.save_pretrained(folder)
    (folder / "modeling_own.py").write_text(OWN_CODE.format(victim=str(victim)))
    write_verification(model, None, folder)
    auto_map = {"AutoConfig": "modeling_own.OwnConfig", "AutoModelForMaskedLM": "modeling_own.OwnModel"}
    own = {"model_type": "own", "architectures": ["OwnModel"], "auto_map": auto_map}
    change_json(folder / "config.json", lambda config: config.update(own))
    change_json(folder / RECORD, lambda record: record.update(model_class="OwnModel"))
    entry = {"config.json": describe_file(folder / "config.json")}
    change_json(folder / RECORD, lambda record: record["files"].update(entry))
    assert verify(folder).verdict is Verdict.CANNOT_TELL
    assert not victim.exists()
    assert verify(folder, trust_remote_code=True).verdict is Verdict.SAME
    assert victim.exists()
    victim.unlink()
    put(folder, "modeling_own.py", OWN_CODE.format(victim=str(victim)) + "\n")
    assert verify(folder, trust_remote_code=True).verdict is Verdict.DIFFERENT
    assert not victim.exists()


PLANTED = {
    "custom_generate/requirements.txt", "sub/code.py", "router_config.json", "2_Dense/model.safetensors",
    "chat_template.json", "processor_config.json", "config.4.0.0.json", "model_index.json", "unet/config.json",
    "adapter_model.safetensors", "model.fp16.safetensors", "pytorch_model.bin", "model.gguf", "onnx/model.onnx",
    "model.safetensors.index.json", "model-00001-of-00002.safetensors", "target_tokenizer/tokenizer.json",
    "bpe.codes", "entity_vocab.json", "module.so", "without_suffix", "custom_generate/generate.py", "modules.json",
    "1_Pooling/config.json", "additional_chat_templates/x.jinja", "\u00e9vil.py", "-evil.py", "e\x1b[2Jvil.py",
}  # fmt: skip


def test_every_file_that_a_loader_could_read_and_the_record_lacks_is_named(copy):
    for name in PLANTED:
        put(copy, name)
    report = verify(copy, trust_remote_code=True)
    assert (report.verdict, statuses(report)) == (Verdict.DIFFERENT, dict.fromkeys(PLANTED, "extra"))
    assert {file.name for file in report.files if file.matters} == PLANTED
    assert str(report).isascii()
    assert "\x1b" not in str(report)


def test_what_runs_and_people_put_beside_a_model_is_no_part_of_it(copy):
    for name in (
        "README.md", "LICENSE", "notes.txt", "curve.png", "predictions.csv", ".gitattributes", ".cache/download.json",
        "test_results.json", "checkpoint-5/model.py", "__checkpoint-5/config.json", "last-checkpoint/config.json",
        "runs/events.out.tfevents.1",
    ):  # fmt: skip
        put(copy, name)
    report = verify(copy)
    assert (report.verdict, statuses(report)) == (Verdict.SAME, {})


@pytest.mark.parametrize("reference", ["sub/code.Module", "user/name--code.Module"])
def test_code_elsewhere_that_the_recorded_files_name_cannot_be_compared(reference, copy):
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
    name_type(folder, dtype)


def name_type(folder: Path, dtype: torch.dtype) -> None:
    change_json(folder / "config.json", lambda config: config.update(dtype=str(dtype).removeprefix("torch.")))


def test_of_a_copy_in_another_type_only_the_outputs_are_compared(copy):
    save_copy(copy, torch.bfloat16)
    report = verify(copy)
    assert report.verdict is Verdict.CANNOT_TELL
    assert all(entry.agrees for entry in report.inputs)
    assert "the weights are torch.bfloat16, were torch.float32: only their outputs can be compared" in str(report)
    save_copy(copy, torch.bfloat16, lambda weights: weights[ATTENTION].add_(1))
    assert verify(copy).verdict is Verdict.DIFFERENT


def test_weights_behind_the_type_that_the_config_names_are_not_vouched_for(copy):
    """`from_pretrained(dtype=float32)` loads the changes that the rounding to the type of config.json hides."""
    change_weights(copy, lambda weights: weights[TOKENS].mul_(1 + 1e-6))
    name_type(copy, torch.bfloat16)
    report = verify(copy)
    assert (report.verdict, all(entry.agrees for entry in report.inputs)) == (Verdict.DIFFERENT, True)


def test_tensors_that_the_model_does_not_read_are_not_vouched_for(copy):
    save_copy(copy, torch.float32, lambda weights: weights.update({"other.weight": torch.ones(2)}))
    report = verify(copy)
    assert report.verdict is Verdict.DIFFERENT
    assert "tensors differ: 'other.weight'" in str(report)


def test_outputs_that_are_no_numbers_agree_with_none():
    """As those of 16 bits may be where the recorded ones had 32."""
    logits = torch.tensor([[1.0, -2.0]])
    assert difference({"logits": logits}, {"logits": summarise(logits)}) == 0
    assert difference({"logits": logits.sqrt()}, {"logits": summarise(logits)}) == math.inf
