# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A copy is told from the model that was trained, whatever happened to it; and its record is not trusted blindly."""

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hub_server import File, HubServer, Repository
from model_cases import CASES, MASKED_LM, SEQ2SEQ_LM, TEXTS, Case, parametrize_cases
from native_models import Native
from safetensors.torch import load_file, save_file
from toy_text import toy_tokenizer
from transformers import PreTrainedModel
from warm_python import Ended, WarmPython

from modeling_scratch.sharing.verification import Report, Verdict, _is_in, main, verify
from modeling_scratch.sharing.verification_outputs import difference, summarise
from modeling_scratch.sharing.verification_record import describe_file, write_verification

REVIEWS = ["a good film", "not good at all"]
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "original"
    labels = {"id2label": {0: "bad", 1: "good", 2: "mixed"}, "label2id": {"bad": 0, "good": 1, "mixed": 2}}
    model = TEXTS.model(**labels)
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


def statuses(report: Report) -> dict[str, str]:
    """Of the files that are not the same."""
    return {file.name: file.status for file in report.files if file.status != "same"}


@parametrize_cases(CASES)
def test_every_class_is_recognised(case: Case, tmp_path: Path) -> None:
    model = case.model()
    model.save_pretrained(tmp_path)
    write_verification(model, None, tmp_path)
    report = verify(tmp_path)
    assert report.verdict is Verdict.SAME, report
    assert [entry.difference for entry in report.inputs] == [0, 0]


@pytest.mark.parametrize(
    "pair", [("bert", "ScratchEncoderForMaskedLM"), ("bart", "ScratchSeq2SeqForConditionalGeneration")]
)
def test_native_classes_are_recognised(pair: tuple[str, str], tmp_path: Path) -> None:
    model = Native(*pair).model()
    model.save_pretrained(tmp_path)
    toy_tokenizer().save_pretrained(tmp_path)
    write_verification(model, toy_tokenizer(), tmp_path)
    assert verify(tmp_path).verdict is Verdict.SAME
    assert verify(tmp_path, dtype=torch.bfloat16).verdict is Verdict.SAME


def test_the_record_names_the_model_and_nothing_of_the_machine(original: Path) -> None:
    text = (original / "verify.json").read_text(encoding="utf-8")
    record = json.loads(text)
    assert record["labels"] == ["bad", "good", "mixed"]
    assert {WEIGHTS, "config.json", "tokenizer.json", "modeling_encoder.py"} <= record["files"].keys()
    assert not {"README.md", "confusion_matrix.png", "all_results.json", "verify.json"} & record["files"].keys()
    assert [entry["text"] for entry in record["inputs"]] == [None, None, *REVIEWS]
    assert str(original.parent) not in text
    assert len(text) < 20_000


def test_a_model_in_training_is_left_alone(tmp_path: Path) -> None:
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


def test_a_folder_of_another_model_or_tokenizer_is_not_recorded(copy: Path) -> None:
    record = (copy / "verify.json").read_bytes()
    with pytest.raises(ValueError, match="holds another model than this one"):
        write_verification(with_one_weight_moved(TEXTS.model()), None, copy)
    change_json(copy / "tokenizer.json", swap_words)
    with pytest.raises(ValueError, match="does not make this tokenizer"):
        write_verification(TEXTS.model(), toy_tokenizer(), copy)
    assert (copy / "verify.json").read_bytes() == record


def with_one_weight_moved(model: PreTrainedModel) -> PreTrainedModel:
    with torch.no_grad():
        next(model.parameters())[3, 3] += 1
    return model


def swap_words(tokenizer: Any) -> None:
    words = tokenizer["model"]["vocab"]
    words["good"], words["bad"] = words["bad"], words["good"]


def test_one_changed_weight_is_named_with_what_it_does(copy: Path) -> None:
    names = load_file(copy / WEIGHTS)
    name = next(key for key in names if "attention" in key and names[key].ndim == 2)
    change_weights(copy, lambda weights: weights[name][0, 0].add_(1))
    report = verify(copy)
    assert statuses(report) == {WEIGHTS: "changed"}
    assert f"1 of {len(names)} tensors differ: '{name}'" in str(report)
    assert any(entry.difference > entry.tolerance for entry in report.inputs)
    assert report.verdict is Verdict.DIFFERENT


def test_a_changed_weight_that_no_input_reads_is_found(copy: Path) -> None:
    record = json.loads((copy / "verify.json").read_text(encoding="utf-8"))
    used = {token for entry in record["inputs"] for token in entry["ids"]["input_ids"]}
    unused = next(token for token in range(64) if token not in used)
    name = next(key for key in load_file(copy / WEIGHTS) if key.endswith("tokens.weight"))
    change_weights(copy, lambda weights: weights[name][unused, 0].add_(1))
    report = verify(copy)
    assert [entry.difference for entry in report.inputs] == [0] * 4
    assert report.verdict is Verdict.DIFFERENT
    assert "NOT the model that was trained, though every logit agrees" in str(report)


def test_a_file_written_anew_is_no_other_model(copy: Path) -> None:
    weights = load_file(copy / WEIGHTS)
    save_file(weights, copy / WEIGHTS, metadata={"format": "pt", "written_by": "another version"})
    change_json(copy / "config.json", lambda config: config.update(transformers_version="6.0.0"))
    report = verify(copy)
    assert statuses(report) == {WEIGHTS: "changed", "config.json": "rewritten"}
    assert report.verdict is Verdict.SAME
    assert f"config.json, {WEIGHTS} differs, but every logit agrees" in str(report)


def test_a_swapped_tokenizer_is_named_with_text_and_token(copy: Path) -> None:
    change_json(copy / "tokenizer.json", swap_words)
    report = verify(copy)
    vocabulary = toy_tokenizer().get_vocab()
    now, was = vocabulary["bad"], vocabulary["good"]
    assert f"'a good film' tokenises differently, input_ids from token 2 on: {now} is, {was} was" in report.differences
    assert all(entry.agrees for entry in report.inputs)  # the model itself is the same
    assert report.verdict is Verdict.DIFFERENT


def test_labels_in_another_order(copy: Path) -> None:
    change_json(copy / "config.json", lambda config: config["id2label"].update({"0": "good", "1": "bad"}))
    report = verify(copy)
    assert "the labels: ['good', 'bad', 'mixed'] is, ['bad', 'good', 'mixed'] was" in report.differences
    assert report.verdict is Verdict.DIFFERENT


def test_weights_in_another_type_are_compared_within_it(copy: Path) -> None:
    model = TEXTS.model_class.from_pretrained(copy).to(torch.bfloat16)
    model.save_pretrained(copy)
    report = verify(copy)
    assert "the weights are bfloat16, were float32" in str(report)
    assert report.verdict is Verdict.SAME, report
    assert max(entry.difference for entry in report.inputs) > 1e-4
    change_weights(copy, lambda weights: next(iter(weights.values())).add_(1))
    assert verify(copy).verdict is Verdict.DIFFERENT


def test_computing_in_another_type_needs_no_other_weights(original: Path) -> None:
    exact, rounded = verify(original), verify(original, dtype=torch.bfloat16)
    assert rounded.verdict is exact.verdict is Verdict.SAME
    assert rounded.inputs[0].tolerance > 1e3 * exact.inputs[0].tolerance


def cut(folder: Path) -> None:
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[: len(content) // 2])


FAULTS: dict[str, tuple[Callable[[Path], Any], dict[str, str]]] = {
    "truncated": (cut, {WEIGHTS: "changed"}),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), {WEIGHTS: "missing"}),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), {"tokenizer.json": "missing"}),
    "code": (lambda folder: (folder / "stack.py").write_text("print()"), {"stack.py": "changed"}),
    "more code": (lambda folder: (folder / "extra.py").write_text("print()"), {"extra.py": "extra"}),
}


@pytest.mark.parametrize(("harm", "expected"), FAULTS.values(), ids=FAULTS)
def test_files_are_named(harm: Callable[[Path], Any], expected: dict[str, str], copy: Path) -> None:
    harm(copy)
    report = verify(copy)
    assert statuses(report) == expected
    assert report.verdict is Verdict.DIFFERENT
    assert "Traceback" not in str(report)


def test_sharded_weights(tmp_path: Path) -> None:
    model = MASKED_LM.model()
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    write_verification(model, None, tmp_path)
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert verify(tmp_path).verdict is Verdict.SAME
    shards[0].unlink()
    report = verify(tmp_path)
    assert (report.verdict, statuses(report)) == (Verdict.DIFFERENT, {shards[0].name: "missing"})
    for shard in tmp_path.glob("*.safetensors*"):
        shard.unlink(missing_ok=True)
    model.save_pretrained(tmp_path)  # in one file
    assert verify(tmp_path).verdict is Verdict.SAME


def test_two_tokenizers_of_a_translator(tmp_path: Path) -> None:
    model = SEQ2SEQ_LM.model()
    model.save_pretrained(tmp_path)
    toy_tokenizer().save_pretrained(tmp_path)
    toy_tokenizer().save_pretrained(tmp_path / "target_tokenizer")
    write_verification(model, toy_tokenizer(), tmp_path, REVIEWS)
    change_json(tmp_path / "target_tokenizer" / "tokenizer.json", swap_words)
    report = verify(tmp_path)
    assert statuses(report) == {"target_tokenizer/tokenizer.json": "changed"}
    assert any("decoder_input_ids from token" in line for line in report.differences)


HOSTILE: dict[str, Callable[[Any], Any]] = {
    "outside": lambda record: record["files"].update({"../../etc/passwd": {"size": 1, "sha256": "0" * 64}}),
    "absolute": lambda record: record["files"].update({"/etc/passwd.py": {"size": 1, "sha256": "0" * 64}}),
    "below": lambda record: record["files"].update({"target_tokenizer/../vocab.txt": {"size": 1, "sha256": "0" * 64}}),
    "endless": lambda record: record["inputs"][0]["ids"].update(input_ids=[1] * 100_000),
    "huge": lambda record: record["inputs"][0]["outputs"]["logits"]["rows"][0].update(mean=10**400),
    "infinite": lambda record: record["inputs"][0]["outputs"]["logits"]["rows"][0].update(mean=float("inf")),
    "type": lambda record: record.update(labels={"0": "bad"}),
    "dtype": lambda record: record.update(dtype="load"),
    "place": lambda record: record["inputs"][0]["outputs"]["logits"]["rows"][0].update(row=7),
    "nothing": lambda record: record.update(inputs=[]),
    "field": lambda record: record.pop("tensors"),
    "format": lambda record: record.update(format=2),
}


@pytest.mark.parametrize("harm", HOSTILE.values(), ids=HOSTILE)
def test_a_record_that_is_not_to_be_trusted_is_refused(harm: Callable[[Any], Any], copy: Path) -> None:
    change_json(copy / "verify.json", harm)
    report = verify(copy)
    assert report.verdict is Verdict.CANNOT_TELL
    assert report.problems[0].startswith("verify.json")
    assert not report.inputs


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_a_damaged_record(content: bytes, copy: Path) -> None:
    (copy / "verify.json").write_bytes(content)
    report = verify(copy)
    assert (report.verdict, len(report.problems)) == (Verdict.CANNOT_TELL, 1)


def test_ids_outside_of_the_vocabulary_and_escapes_do_no_harm(copy: Path) -> None:
    def harm(record: Any) -> None:
        record["inputs"][0]["ids"]["input_ids"][0] = 10**9
        record["inputs"][2]["text"] = "\x1b[2J good"
        record["versions"]["\x1b[31m"] = "\x07"

    change_json(copy / "verify.json", harm)
    report = verify(copy)
    assert report.verdict is not Verdict.SAME
    assert not {"\x1b", "\x07"} & set(str(report))


def test_without_a_record_nothing_is_told(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "verify.json").unlink()
    assert main([str(copy)]) == 2
    assert "there is no verify.json" in capsys.readouterr().out
    assert main([str(copy / "nowhere")]) == 2
    assert "looking for a repository on the Hub" in capsys.readouterr().err


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    with HubServer("hf_none") as server:
        yield server


@pytest.fixture(scope="module")
def run(hub: HubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Ended]]:
    """The program, in a process for each run."""
    folder = tmp_path_factory.mktemp("programs")
    program = folder / "program.py"
    program.write_text("import sys\nfrom modeling_scratch.verify import main\nsys.exit(main())\n")
    settings = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_HOME": str(folder), "HF_HUB_DISABLE_XET": "1"}
    with WarmPython(folder, ["modeling_scratch.verify"], {**settings, "OMP_NUM_THREADS": "1"}) as warm:
        yield partial(warm.run, program)


OWN_CODE = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM

Path(__file__).with_name("ran").touch()

class OwnConfig(BertConfig):
    model_type = "own"

class OwnModel(BertForMaskedLM):
    config_class = OwnConfig
"""


def test_code_of_a_folder_runs_where_it_is_trusted_and_is_what_was_recorded(
    run: Callable[..., Ended], tmp_path: Path
) -> None:
    model = Native("bert", "ScratchEncoderForMaskedLM").model()
    folder, cache = tmp_path / "own", tmp_path / "modules"
    model.save_pretrained(folder)
    (folder / "modeling_own.py").write_text(OWN_CODE)
    write_verification(model, None, folder)
    auto_map = {"AutoConfig": "modeling_own.OwnConfig", "AutoModelForMaskedLM": "modeling_own.OwnModel"}
    own = {"model_type": "own", "architectures": ["OwnModel"], "auto_map": auto_map}
    change_json(folder / "config.json", lambda config: config.update(own))
    change_json(folder / "verify.json", lambda record: record.update(model_class="OwnModel"))
    entry = describe_file(folder / "config.json")
    change_json(folder / "verify.json", lambda record: record["files"].update({"config.json": entry}))

    def verdict(*options: str) -> int:
        return run(folder, *options, HF_MODULES_CACHE=str(cache)).code

    assert verdict() == Verdict.CANNOT_TELL
    assert list(folder.parent.rglob("ran")) == []
    assert verdict("--trust-remote-code") == Verdict.SAME
    (folder / "modeling_own.py").write_text(OWN_CODE.replace("ran", "ran_again"))
    assert verdict("--trust-remote-code") == Verdict.DIFFERENT


# Where code lies that the record does not hold, and how a config refers to it.
ELSEWHERE = {
    "sub-folder": ("copy/sub/evil.py", "sub/evil.Evil"),
    "other folder": ("other/evil.py", "{parent}/other--evil.Evil"),
    "absolute": ("other/evil.py", "{parent}/other/evil.Evil"),
    "not ASCII": ("copy/\u00e9vil.py", "\u00e9vil.Evil"),
    "dash": ("copy/-evil.py", "-evil.Evil"),
}
CARRIERS = {
    "config.json": lambda reference: {"model_type": "evil", "auto_map": {"AutoConfig": reference}},
    "tokenizer_config.json": lambda reference: {"auto_map": {"AutoTokenizer": [None, reference]}},
    "target_tokenizer/config.json": lambda reference: {"model_type": "evil", "auto_map": {"AutoConfig": reference}},
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(("file", "reference"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_code_that_is_not_recorded_never_runs(copy: Path, file: str, reference: str, carrier: str) -> None:
    """Whatever names it, a file of the copy that was changed, or one that the record itself vouches for."""
    evil, names, victim = copy.parent / file, copy / carrier, copy.parent / "victim"
    evil.parent.mkdir(exist_ok=True)
    evil.write_text(f"import pathlib\npathlib.Path({str(victim)!r}).touch()\n{OWN_CODE}".replace("OwnConfig", "Evil"))
    names.parent.mkdir(exist_ok=True)
    names.touch()
    content = json.loads(names.read_text() or "{}") | CARRIERS[carrier](reference.format(parent=copy.parent))
    names.write_text(json.dumps(content))
    changed = verify(copy, trust_remote_code=True)
    if carrier in statuses(changed):
        entry = describe_file(names)
        change_json(copy / "verify.json", lambda record: record["files"].update({carrier: entry}))
    vouched = verify(copy, trust_remote_code=True)
    assert not victim.exists()
    for report in (changed, vouched):
        assert "no code of it was run: '" in str(report)


def test_any_file_of_code_beside_the_model_is_compared(copy: Path) -> None:
    for name in ("\u00e9vil.py", "-evil.py", "e\x1b[2Jvil.py"):
        (copy / name).write_text("print()")
    report = verify(copy)
    assert set(statuses(report).values()) == {"extra"}
    assert len(statuses(report)) == 3
    assert str(report).isascii()
    assert "\x1b" not in str(report)


def test_a_repository_of_the_hub(original: Path, hub: HubServer, run: Callable[..., Ended]) -> None:
    repository = hub.repositories["user/name"] = Repository(private=False)
    files = {path.name: File(path.read_bytes()) for path in original.iterdir()}
    repository.commit("main", "upload", files)
    planted = {"stack.py": File(b"print()"), "custom_generate/generate.py": File(b"print()")}
    repository.commit("harmed", "changed", {**files, **planted})
    assert run("user/name").code == Verdict.SAME
    harmed = run("user/name", "--revision", "harmed", "--dtype", "bfloat16")
    assert harmed.code == Verdict.DIFFERENT
    assert re.search(r"stack.py +changed [(]7 bytes is,", harmed.text)
    assert "custom_generate/generate.py  extra (not in verify.json)" in harmed.text
    missing = run("user/none")
    assert missing.code == Verdict.CANNOT_TELL
    assert "Traceback" not in missing.text


def test_of_a_repository_the_model_comes_and_no_checkpoints(
    original: Path, hub: HubServer, run: Callable[..., Ended]
) -> None:
    repository = hub.repositories["user/run"] = Repository(private=False)
    names = [WEIGHTS, "target_tokenizer/merges.txt", f"checkpoint-5/{WEIGHTS}", f"target_tokenizer/old/{WEIGHTS}"]
    record = File((original / "verify.json").read_bytes())
    repository.commit("main", "upload", {"verify.json": record, **{name: File(b"content") for name in names}})
    run("user/run")
    asked = [request for request in hub.requests if "user/run" in request]
    fetched = {request.rpartition("/resolve/")[2].partition("/")[2] for request in asked}
    assert fetched & {"verify.json", *names} == {"verify.json", *names[:2]}


def test_code_of_another_repository_is_in_no_file() -> None:
    """Whatever the files that were recorded are called."""
    assert _is_in("own.Own", ["own.py"])
    assert not _is_in("other--own.Own", ["own.py", "other--own.py"])


def test_outputs_that_are_no_numbers_agree_with_none() -> None:
    """As those of 16 bits may be where the recorded ones had 32."""
    logits = torch.tensor([[1.0, -2.0]])
    assert difference({"logits": logits}, {"logits": summarise(logits)}) == 0
    assert difference({"logits": logits.sqrt()}, {"logits": summarise(logits)}) == math.inf
