# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Models go to a Hub and come back, by the real client over HTTP: whole, to others too, and no token stays behind."""

import hashlib
import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import push_to_hub
import pytest
from hub_server import SIGNATURE, File, HubServer, hub_of_this_process
from huggingface_hub import constants
from model_cases import SEQ2SEQ_LM, TEXTS, TINY
from processes import in_child
from records import findings, is_as_recorded
from shared import refused
from toy_text import toy_tokenizer

from modeling_scratch.doctor.diagnosis import folder_of
from modeling_scratch.sharing.uploads import checked_files
from modeling_scratch.sharing.verification import write_verification
from modeling_scratch.utils.errors import DataError

TOKEN = "hf_" + "t" * 34
WRONG = "hf_" + "w" * 34
LINEAR = "linear/linear.json", "linear/weights.safetensors"  # words of the training texts
NOT_UPLOADED = {
    "training_args.bin", "optimizer.pt", "pytorch_model.bin", ".env", "trainer_state.json", "training.log",
    "checkpoint-4/model.safetensors", "checkpoint-4/optimizer.pt", "target_tokenizer/notes.txt", "predictions.jsonl",
    *LINEAR,
}  # fmt: skip


def assert_no_secret(content: str | bytes) -> None:
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    assert not any(secret in text for secret in (TOKEN, WRONG, SIGNATURE)), text


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubServer]:
    """Neither a commit of it nor what its clients keep holds a token, at the end."""
    home = tmp_path_factory.mktemp("home")
    with hub_of_this_process(TOKEN, home) as server:
        yield server
    for repository in server.repositories.values():
        for commit in repository.commits.values():
            assert_no_secret(commit.message + "".join(commit.files))
            for file in commit.files.values():
                assert_no_secret(file.content)
    for path in home.rglob("*"):
        if path.is_file():
            assert_no_secret(path.read_bytes())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a run leaves one, with a card that somebody has written, and with what is nobody's business."""
    folder = tmp_path_factory.mktemp("runs") / "mine"
    TEXTS.model().save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# Mine\n")
    (folder / "learning_curve.png").write_bytes(b"\x89PNG\0")
    for name in NOT_UPLOADED:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\x80\0")
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "mine"))


def contents(folder: Path) -> dict[str, bytes]:
    """Of the files that are to be uploaded."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if name not in NOT_UPLOADED}


def on_the_hub(hub: HubServer, repository: str, revision: str = "main") -> dict[str, bytes]:
    return {path: content for path, content in hub.files(repository, revision).items() if path != ".gitattributes"}


def oid(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def options(folder: Path, repository: str, *more: str) -> list[str]:
    return ["--folder", str(folder), "--repo_id", repository, *more]


def push(capfd: pytest.CaptureFixture, *arguments: object) -> str:
    """What the program says of it."""
    capfd.readouterr()
    push_to_hub.main(options(*arguments))
    out, err = capfd.readouterr()
    assert_no_secret(out + err)
    return out


def not_pushed(capfd: pytest.CaptureFixture, arguments: list[str], *parts: str) -> None:
    """It is said in one line, and without a token."""
    assert_no_secret(refused(capfd, push_to_hub.main, arguments, *parts))


def test_what_makes_a_model_is_uploaded_and_nothing_else(hub, folder, capfd, monkeypatch):
    before, seen = contents(folder), len(hub.requests)
    monkeypatch.setenv("HF_TOKEN", "")
    shown = push(capfd, folder, "user/mine", "--dry_run")
    assert all(f" bytes  {name}\n" in shown for name in before if "/" not in name)
    assert "Nothing was uploaded" in shown
    not_pushed(capfd, options(folder, "user/mine"), "no access token")
    assert len(hub.requests) == seen
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert push(capfd, folder, "user/mine", "--commit_message", "The best of three").endswith(f"{hub.url}/user/mine\n")
    assert on_the_hub(hub, "user/mine") == contents(folder) == before
    assert hub.messages("user/mine") == ["initial commit", "The best of three"]
    not_pushed(capfd, options(folder, "user/mine", "--private"), "already exists and is public; nothing was uploaded")
    push(capfd, folder, "user/secret", "--private", "True", "--revision", "try/1")
    assert hub.repositories["user/secret"].private
    assert (on_the_hub(hub, "user/secret"), on_the_hub(hub, "user/secret", "try/1")) == ({}, before)


def test_a_second_push_sends_what_has_changed(hub, folder, capfd):
    """Nothing where nothing has. What an earlier model left goes where it would be loaded as a part of this one."""
    of_a_model = ["chat_template.jinja", "added_tokens.json", "old_heads.py"]
    results = ["results.md", "learning_curve.png"]
    for name in of_a_model + results:
        (folder / name).write_text("{}")
    write_verification(folder)
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    push(capfd, folder, "user/again")
    assert {*of_a_model, "target_tokenizer/tokenizer.json"} < on_the_hub(hub, "user/again").keys()
    push(capfd, folder, "user/again")
    assert len(hub.messages("user/again")) == 2
    for name in [*of_a_model, *results, "model.safetensors"]:
        (folder / name).unlink()
    shutil.rmtree(folder / "target_tokenizer")
    TEXTS.model().save_pretrained(folder, max_shard_size="8KB")
    assert "deleted on the Hub  old_heads.py" in push(capfd, folder, "user/again")
    assert on_the_hub(hub, "user/again") == contents(folder) | dict.fromkeys(results, b"{}")


def test_an_upload_can_be_interrupted(hub, folder, capfd):
    """One file of several loses its connection; the others need not be sent again, and none is seen without all."""
    (folder / "model.safetensors").unlink()
    TEXTS.model(hidden_size=40).save_pretrained(folder, max_shard_size="8KB")  # that no other test uploads
    lost, *stored = map(oid, folder.glob("model-*.safetensors"))
    assert stored
    hub.cut_after[lost] = 1_000

    def interrupt(process: int) -> None:
        hub.wait_for(lambda: lost in hub.cuts and set(stored) <= hub.storage.keys())
        os.kill(process, signal.SIGINT)
        hub.cut_after.clear()  # a client that ends by itself first sends what it has begun with

    ended = in_child(lambda: push_to_hub.main(options(folder, "user/interrupted")), meanwhile=interrupt)
    assert ended.status == 2
    assert "user/interrupted: interrupted; repeat the command" in ended.text.splitlines()[-1]
    assert_no_secret(ended.text)
    assert on_the_hub(hub, "user/interrupted") == {}
    seen = len(hub.requests)
    push(capfd, folder, "user/interrupted")
    assert {request for request in hub.requests[seen:] if request.startswith("PUT ")} <= {f"PUT /storage/{lost}"}
    assert on_the_hub(hub, "user/interrupted") == contents(folder)


REFUSED = {
    "a wrong token": (WRONG, {}, ["user/no: the access token is not accepted"]),
    "no room": (TOKEN, {"store": [403]}, ["user/no: ", "403", "repeat the command"]),
    "no commits": (TOKEN, {"receive_commit": [403]}, ["lacks write permission", "403", "commit is refused"]),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_hub_refuses_is_one_line(what, hub, folder, monkeypatch, capfd):
    token, answers, parts = REFUSED[what]
    monkeypatch.setenv("HF_TOKEN", token)
    TEXTS.model(hidden_size=28).save_pretrained(folder)
    hub.answers = {name: list(statuses) for name, statuses in answers.items()}
    not_pushed(capfd, options(folder, "user/no"), *parts)
    hub.answers = {}
    assert "user/no" not in hub.repositories or on_the_hub(hub, "user/no") == {}


def test_a_target_tokenizer_goes_along(hub, folder, capfd):
    for name in ("modeling_encoder.py", "question_answering.py"):  # of the model that was there before
        (folder / name).unlink()
    separate = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": TINY["vocab_size"]}
    SEQ2SEQ_LM.model(**separate).save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    push(capfd, folder, "user/pair")
    assert on_the_hub(hub, "user/pair") == contents(folder)
    assert "target_tokenizer/tokenizer.json" in contents(folder)
    (folder / "target_tokenizer" / "tokenizer.json").unlink()
    (folder / "target_tokenizer" / "tokenizer_config.json").unlink()
    not_pushed(capfd, options(folder, "user/pair"), "do not load", "target_tokenizer/ holds no tokenizer")


def test_a_copy_on_the_hub_is_verified(hub, folder, capfd, monkeypatch):
    """Every file that verify.json records goes along; checkpoints, which it does not name, are not fetched."""
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    (folder / "target_tokenizer" / "merges.txt").mkdir()  # that is no file
    for name in ("vocab.bpe", "spiece.model", "extra.jinja", "target_tokenizer/source.spm"):
        (folder / name).write_text("of a tokenizer")
    write_verification(folder)
    push(capfd, folder, "user/name")
    repository, files = hub.repositories["user/name"], hub.files("user/name")
    assert {"spiece.model", "extra.jinja", "target_tokenizer/source.spm"} < files.keys()
    others = {"checkpoint-5/model.safetensors": b"other", "notes.txt": b"other"}
    planted = {"stack.py": b"print()", "custom_generate/generate.py": b"print()", "module[1].so": b"print()"}
    for branch, more in {"main": others, "harmed": planted}.items():
        repository.commit(branch, "more", {name: File(content) for name, content in {**files, **more}.items()})
    seen = len(hub.requests)
    assert is_as_recorded(folder_of("user/name", None))
    fetched = {request.rpartition("/resolve/")[2].partition("/")[2] for request in hub.requests[seen:]}
    assert {"model.safetensors", "verify.json", "target_tokenizer/source.spm"} < fetched
    assert not fetched & others.keys()
    found = findings(folder_of("user/name", "harmed"))["recorded_files"]
    assert "custom_generate/generate.py (not recorded), module[1].so (not recorded), stack.py (changed)" in found.what
    with pytest.raises(DataError, match="user/none: neither a folder nor a repository"):
        folder_of("user/none", None)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert is_as_recorded(folder_of("user/name", None))
    assert (folder_of("user/name", "harmed") / "stack.py").read_bytes() == planted["stack.py"]


def test_texts_of_the_data_of_a_run_stay_here(hub, folder, capfd):
    """Those that a run of an earlier version wrote, also where an earlier push has uploaded them."""
    words, repository = "an okapi of a film", "user/quotes"
    record = {**json.loads(write_verification(folder).read_text()), "inputs": [{"text": words}]}
    (folder / "verify.json").write_text(json.dumps(record))
    (folder / "evaluation.json").write_text(json.dumps({"examples": [{"text": words, "label": "good"}]}))
    (folder / "results.md").write_text(f"Misclassified: {words}\n")
    quoting = {"evaluation.json", "results.md", "verify.json"}
    push(capfd, folder, repository)
    assert {name for name, content in on_the_hub(hub, repository).items() if words.encode() in content} == quoting
    (folder / "run_config.json").write_text(json.dumps({"program": "train_classifier"}))
    told = push(capfd, folder, repository)
    for name in quoting:
        assert re.search(f"left out  {name}  .of an earlier version: it may quote texts of the data", told)
        assert f"deleted on the Hub  {name}  (earlier commits still have it" in told
    assert not [name for name, content in on_the_hub(hub, repository).items() if words.encode() in content]


def test_what_no_run_wrote_is_left_out_and_named(hub, folder, capfd):
    def uploaded() -> set[str]:
        return set(re.findall(r" bytes  (\S+)", push(capfd, folder, "user/strange", "--dry_run")))

    write_verification(folder)
    written = uploaded()
    strange = {"private.py", "old.model", "screenshot.png", "custom_generate/generate.py", "1_Pooling/config.json"}
    for name in {*strange, "notes.txt", "sub/code.py"}:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    assert uploaded() == written
    assert strange <= set(re.findall(r"left out  (\S+)", push(capfd, folder, "user/strange", "--dry_run")))
    (folder / "heads.py").write_text("import nowhere\n")
    push_to_hub.main(options(folder, "user/strange", "--dry_run"))
    assert "WARNING" in (told := capfd.readouterr().err)
    assert "verify.json does not describe these files: " in told
    assert "heads.py (changed)" in told


def write(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def link_out(path: Path) -> None:
    path.symlink_to(__file__)


OUT = f"a link to {__file__}, out of the folder"
OTHERS_CONFIG = '{"architectures": ["Mine"], "model_type": "bert"}'
# The file, what is put in its place, and what is said of it.
FAULTS: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no config": ("config.json", str, "no config found"),
    "no weights": ("model.safetensors", str, "no weights found"),
    "no tokenizer": ("tokenizer.json", str, "no tokenizer found"),
    "no code": ("attention.py", str, "the code lacks attention.py"),
    "damaged weights": ("model.safetensors", write("{"), "do not load"),
    "damaged record": ("verify.json", write("{}"), "verify.json is damaged"),
    "another's model": ("config.json", write(OTHERS_CONFIG), "a model class that is not known here"),
    "code that is none": ("stack.py", write("def"), "do not load: "),
    "the token in a card": ("README.md", write(f"Use {TOKEN}."), "README.md: contains an access token"),
    "a pipe": ("README.md", os.mkfifo, "README.md: not a regular file"),
    "a link": ("README.md", link_out, OUT),
    "a link to code": ("custom_generate/generate.py", link_out, OUT),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_in_a_folder_never_leaves_it(fault, hub, folder, capfd):
    name, harm, part = FAULTS[fault]
    seen = len(hub.requests)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    harm(folder / name)
    not_pushed(capfd, options(folder, "user/faulty"), str(folder), part)
    assert len(hub.requests) == seen


def test_arguments_and_texts_that_cannot_work(hub, folder, capfd):
    for arguments, part in (
        (["--commit_message", TOKEN], "do not pass an access token"),
        (["--repo_id", "user/x/y"], "user/x/y"),
        (["--commit_message", " "], "--commit_message must not be empty"),
        (["--space", "user/x"], "--space is retired: docs/serving.md has the app.py of a Space"),
        (["--folder", "nowhere"], "--folder nowhere: folder not found"),
    ):
        not_pushed(capfd, options(folder, "user/x", *arguments), part)
    (folder / "README.md").write_text(f"sha256:{'0a' * 32}\nhf_short\n{'hf_' * 100_000}\nof-no-known-form\n")
    checked_files(folder, "")  # what resembles tokens
    with pytest.raises(DataError, match=r"README.md: contains an access token in line 4; remove it"):
        checked_files(folder, "of-no-known-form")
