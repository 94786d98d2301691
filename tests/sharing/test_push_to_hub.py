# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Models go to a Hub and come back, by the real client over HTTP: whole, to others too, and no token stays behind."""

import hashlib
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import push_to_hub
import pytest
from conftest import lively
from hub_server import SIGNATURE, File, HubServer
from model_cases import SEQ2SEQ_LM, TEXTS, TINY, Case
from native_models import Native
from toy_text import toy_tokenizer
from warm_python import ROOT, Ended, WarmPython

from modeling_scratch.sharing.verification import Verdict
from modeling_scratch.sharing.verification_record import describe_file, write_verification

TOKEN = "hf_" + "t" * 34
WRONG = "hf_" + "w" * 34
SCRIPT = ROOT / "scripts" / "push_to_hub.py"
NOT_UPLOADED = {
    "training_args.bin", "optimizer.pt", "pytorch_model.bin", ".env", "trainer_state.json", "training.log",
    "checkpoint-4/model.safetensors", "checkpoint-4/optimizer.pt", "target_tokenizer/notes.txt",
}  # fmt: skip


VERIFY = "import sys\nfrom modeling_scratch.verify import main\nsys.exit(main())\n"


def assert_no_secret(content: str | bytes) -> None:
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    assert not any(secret in text for secret in (TOKEN, WRONG, SIGNATURE)), text


@pytest.fixture(scope="module")
def hub() -> Iterator[HubServer]:
    """No content of any of its commits holds a token, at the end."""
    with HubServer(TOKEN) as server:
        yield server
    for repository in server.repositories.values():
        for commit in repository.commits.values():
            assert_no_secret(commit.message + "".join(commit.files))
            for file in commit.files.values():
                assert_no_secret(file.content)


@pytest.fixture(scope="module")
def python(hub: HubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """Programs that ask this hub with the right token; none of them writes it anywhere."""
    top = tmp_path_factory.mktemp("programs")
    modules = ["modeling_scratch.sharing.push", "modeling_scratch.verify"]
    settings = {
        "HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_HOME": str(top / "home"), "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": TOKEN,
    }  # fmt: skip
    with WarmPython(top, modules, settings) as warm:
        yield warm
    for output in warm.outputs:
        assert_no_secret(output)
    for path in top.rglob("*"):
        if path.is_file():
            assert_no_secret(path.read_bytes())


def save_model(folder: Path, case: Case = TEXTS, **settings: object) -> Path:
    model = lively(case.model_class(case.config(**settings)))
    model.save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As a run leaves one, with a card that somebody has written, and with what is nobody's business."""
    folder = save_model(tmp_path / "mine")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# Mine\n")
    (folder / "verify.json").write_text("{}\n")
    (folder / "learning_curve.png").write_bytes(b"\x89PNG\0")
    for name in NOT_UPLOADED:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\x80\0")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Of the files that are to be uploaded."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if name not in NOT_UPLOADED}


def on_the_hub(hub: HubServer, repository: str, revision: str = "main") -> dict[str, bytes]:
    return {path: content for path, content in hub.files(repository, revision).items() if path != ".gitattributes"}


def oid(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_program(tmp_path: Path, text: str) -> Path:
    (tmp_path / "program.py").write_text(text)
    return tmp_path / "program.py"


def assert_one_line(ended: Ended, *parts: str) -> None:
    """An error for the user: one line on its own, exit code 2, and no token."""
    *_, line = ended.text.splitlines()
    assert ended.code == 2, ended.text
    assert "Traceback" not in ended.text
    assert line.startswith("push_to_hub.py: error: ")
    assert all(part in line for part in parts), line
    assert_no_secret(ended.text)


def push(python: WarmPython, folder: Path, repository: str, *more: object, **environment: str) -> Ended:
    return python.run(SCRIPT, "--folder", folder, "--repo_id", repository, *more, **environment)


def test_the_script_uploads_what_makes_a_model_and_nothing_else(python, hub, folder):
    before = contents(folder)
    ended = push(python, folder, "user/mine", "--commit_message", "The best of three")
    assert ended.code == 0, ended.text
    assert ended.text.splitlines()[-1] == f"{hub.url}/user/mine"
    assert "model.safetensors" in ended.text
    assert on_the_hub(hub, "user/mine") == contents(folder) == before
    assert hub.messages("user/mine") == ["initial commit", "The best of three"]


def test_a_dry_run_shows_what_would_go_and_asks_nobody(python, hub, folder):
    before, seen = contents(folder), len(hub.requests)
    ended = push(python, folder, "user/dry", "--dry_run", HF_TOKEN="")
    assert ended.code == 0, ended.text
    assert all(f" bytes  {name}\n" in ended.text for name in before if "/" not in name)
    assert "Nothing was uploaded" in ended.text
    assert "no access token" in push(python, folder, "user/dry", HF_TOKEN="").text
    (folder / "results.md").write_text(TOKEN)
    assert "contains an access token" in push(python, folder, "user/dry", "--dry_run", HF_TOKEN="").text
    assert (len(hub.requests), "user/dry" in hub.repositories) == (seen, False)


def test_a_second_push_sends_what_has_changed(python, hub, folder):
    """Nothing where nothing has. What an earlier model left goes where it would be loaded as a part of this one."""
    of_a_model = ["chat_template.jinja", "added_tokens.json", "old_heads.py"]
    results = ["results.md", "learning_curve.png"]
    for name in of_a_model + results:
        (folder / name).write_text("{}")
    write_verification(TEXTS.model_class.from_pretrained(folder), None, folder)
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    assert push(python, folder, "user/again").code == 0
    assert {*of_a_model, "target_tokenizer/tokenizer.json"} < on_the_hub(hub, "user/again").keys()
    seen = len(hub.requests)
    assert push(python, folder, "user/again").code == 0
    assert len(hub.messages("user/again")) == 2
    assert not [request for request in hub.requests[seen:] if re.search("^PUT|/commit/", request)]
    for name in [*of_a_model, *results, "model.safetensors"]:
        (folder / name).unlink()
    shutil.rmtree(folder / "target_tokenizer")
    TEXTS.model().save_pretrained(folder, max_shard_size="8KB")
    ended = push(python, folder, "user/again")
    assert ended.code == 0, ended.text
    assert "deleted on the Hub  old_heads.py" in ended.text
    assert on_the_hub(hub, "user/again") == contents(folder) | dict.fromkeys(results, b"{}")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_upload_can_be_interrupted(how, python, hub, folder):
    """One file of several loses its connection; the others need not be sent again, and none is seen without all."""
    (folder / "model.safetensors").unlink()
    TEXTS.model(hidden_size=32 + 4 * how).save_pretrained(folder, max_shard_size="8KB")  # that no other test uploads
    lost, *stored = map(oid, folder.glob("model-*.safetensors"))
    assert stored
    hub.repositories.pop("user/interrupted", None)
    hub.cut_after[lost] = 1_000
    process = python.start(SCRIPT, "--folder", folder, "--repo_id", "user/interrupted")
    hub.wait_for(lambda: lost in hub.cuts and set(stored) <= hub.storage.keys())
    os.kill(process, how)
    hub.cut_after.clear()  # a client that ends by itself first sends what it has begun with
    ended = python.end()
    if how == signal.SIGINT:
        assert_one_line(ended, "user/interrupted: interrupted; repeat the command")
    assert hub.messages("user/interrupted") == ["initial commit"]
    assert on_the_hub(hub, "user/interrupted") == {}
    seen = len(hub.requests)
    assert push(python, folder, "user/interrupted").code == 0
    assert {request for request in hub.requests[seen:] if request.startswith("PUT ")} <= {f"PUT /storage/{lost}"}
    assert on_the_hub(hub, "user/interrupted") == contents(folder)


REFUSED = {
    "a wrong token": ("user/no", {"HF_TOKEN": WRONG}, {}, ["user/no: the Hub does not accept the access token: set"]),
    "no such branch": ("user/no", {}, {"preupload": [404]}, ["user/no: ", "404", "preupload is refused"]),
    "no room": ("user/no", {}, {"store": [403]}, ["user/no: ", "403", "repeat the command"]),
    "no commits": ("user/no", {}, {"receive_commit": [403]}, ["lacks write permission: 403", "commit is refused"]),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_hub_refuses_is_one_line(what, python, hub, folder):
    repository, environment, answers, parts = REFUSED[what]
    save_model(folder, hidden_size=28)
    hub.answers = {name: list(statuses) for name, statuses in answers.items()}
    hub.repositories.pop(repository, None)
    hub.storage.pop(oid(folder / "model.safetensors"), None)
    assert_one_line(push(python, folder, repository, **environment), *parts)
    hub.answers = {}
    if repository in hub.repositories:
        assert on_the_hub(hub, repository) == {}


def test_private_repositories_and_branches(hub, python, folder):
    assert push(python, folder, "user/secret", "--private", "True", "--revision", "try/1").code == 0
    assert hub.repositories["user/secret"].private
    assert on_the_hub(hub, "user/secret") == {}
    assert on_the_hub(hub, "user/secret", "try/1") == contents(folder)
    assert push(python, folder, "user/public").code == 0
    (folder / "verify.json").write_text("[]")
    ended = push(python, folder, "user/public", "--private")
    assert_one_line(ended, "already exists and is public; nothing was uploaded")
    assert on_the_hub(hub, "user/public")["verify.json"] == b"{}\n"


def test_a_target_tokenizer_goes_along(hub, python, folder):
    separate = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": TINY["vocab_size"]}
    for name in ("modeling_encoder.py", "question_answering.py"):  # of the model that was there before
        (folder / name).unlink()
    save_model(folder, SEQ2SEQ_LM, **separate)
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    assert push(python, folder, "user/pair").code == 0
    assert on_the_hub(hub, "user/pair") == contents(folder)
    assert "target_tokenizer/tokenizer.json" in contents(folder)
    (folder / "target_tokenizer" / "tokenizer.json").unlink()
    (folder / "target_tokenizer" / "tokenizer_config.json").unlink()
    assert_one_line(push(python, folder, "user/pair"), "do not load", "target_tokenizer/ holds no tokenizer")


def test_a_copy_on_the_hub_is_verified(hub, python, folder, tmp_path):
    """Every file that verify.json records goes along; checkpoints, which it does not name, are not fetched."""
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    (folder / "target_tokenizer" / "merges.txt").mkdir()  # that is no file
    for name in ("vocab.bpe", "spiece.model", "extra.jinja", "target_tokenizer/source.spm"):
        (folder / name).write_text("of a tokenizer")
    write_verification(TEXTS.model_class.from_pretrained(folder), toy_tokenizer(), folder)
    assert push(python, folder, "user/name").code == 0
    repository, files = hub.repositories["user/name"], hub.files("user/name")
    assert {"spiece.model", "extra.jinja", "target_tokenizer/source.spm"} < files.keys()
    others = {"checkpoint-5/model.safetensors": b"other"}
    planted = {"stack.py": b"print()", "custom_generate/generate.py": b"print()"}
    for branch, more in {"main": others, "harmed": planted}.items():
        repository.commit(branch, "more", {name: File(content) for name, content in {**files, **more}.items()})
    program, seen = write_program(tmp_path, VERIFY), len(hub.requests)
    assert python.run(program, "user/name").code == Verdict.SAME
    fetched = {request.rpartition("/resolve/")[2].partition("/")[2] for request in hub.requests[seen:]}
    assert {"model.safetensors", "target_tokenizer/source.spm"} < fetched
    assert not fetched & others.keys()
    harmed = python.run(program, "user/name", "--revision", "harmed", "--dtype", "bfloat16")
    assert harmed.code == Verdict.DIFFERENT
    assert re.search(r"stack.py +changed [(]7 bytes is,", harmed.text)
    assert re.search("custom_generate/generate.py +extra", harmed.text)
    missing = python.run(program, "user/none")
    assert missing.code == Verdict.CANNOT_TELL
    assert "Traceback" not in missing.text


OWN_CODE = """
from pathlib import Path
from transformers import BertConfig, BertForMaskedLM

Path(__file__).with_name("ran").touch()

class OwnConfig(BertConfig):
    model_type = "own"

class OwnModel(BertForMaskedLM):
    config_class = OwnConfig
"""


def test_code_of_a_folder_runs_where_it_is_trusted_and_is_what_was_recorded(python, tmp_path):
    model, folder = Native("bert", "ScratchEncoderForMaskedLM").model(), tmp_path / "own"
    model.save_pretrained(folder)
    (folder / "modeling_own.py").write_text(OWN_CODE)
    write_verification(model, None, folder)
    auto_map = {"AutoConfig": "modeling_own.OwnConfig", "AutoModelForMaskedLM": "modeling_own.OwnModel"}
    own = {"model_type": "own", "architectures": ["OwnModel"], "auto_map": auto_map}
    config, record = (json.loads((folder / name).read_text()) for name in ("config.json", "verify.json"))
    (folder / "config.json").write_text(json.dumps(config | own))
    record["files"]["config.json"] = describe_file(folder / "config.json")
    (folder / "verify.json").write_text(json.dumps(record | {"model_class": "OwnModel"}))
    program = write_program(tmp_path, VERIFY)

    def verdict(*options: str) -> int:
        return python.run(program, folder, *options, HF_MODULES_CACHE=str(tmp_path / "modules")).code

    assert verdict() == Verdict.CANNOT_TELL
    assert list(tmp_path.rglob("ran")) == []
    assert verdict("--trust-remote-code") == Verdict.SAME
    (folder / "modeling_own.py").write_text(OWN_CODE.replace("ran", "ran_again"))
    assert verdict("--trust-remote-code") == Verdict.DIFFERENT


FAULTS = {
    "no config": ("config.json", None, "no config found"),
    "no weights": ("model.safetensors", None, "no weights found"),
    "no tokenizer": ("tokenizer.json", None, "no tokenizer found"),
    "no code": ("attention.py", None, "the code lacks attention.py"),
    "no class": ("modeling_encoder.py", None, "the code lacks modeling_encoder.py"),
    "damaged config": ("config.json", "{", "do not load"),
    "damaged weights": ("model.safetensors", "{", "do not load"),
    "another's model": (
        "config.json",
        '{"architectures": ["Mine"], "model_type": "bert"}',
        "unknown architecture in config.json: Mine",
    ),
    "code that is none": ("stack.py", "def", "do not load: "),
    "code out of reach": ("stack.py", "from . import helper", "stack.py, line 1: others load only what is imported as"),
    "a card that is none": ("README.md", "---\nlicense: [\n---\n", "README.md: its metadata are no valid YAML"),
    "a token in a file": ("stack.py", f"login('{WRONG}')", "stack.py: contains an access token"),
    "the token in a card": ("README.md", f"Use {TOKEN}.", "README.md: contains an access token"),
}


def assert_refused(monkeypatch, capsys, arguments: list[str], token: str, *parts: str) -> None:
    """In this process, which may ask no Hub."""
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.setattr(sys, "argv", [SCRIPT.name])
    with pytest.raises(SystemExit) as ended:
        push_to_hub.main(arguments)
    assert_one_line(Ended(ended.value.code, capsys.readouterr().err), *parts)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_in_a_folder_never_leaves_it(fault, hub, folder, monkeypatch, capsys):
    name, content, part = FAULTS[fault]
    (folder / name).unlink(missing_ok=True)
    if content is not None:
        (folder / name).write_text(content)
    arguments = ["--folder", str(folder), "--repo_id", "user/faulty"]
    assert_refused(monkeypatch, capsys, arguments, TOKEN, str(folder), part)


def test_arguments_that_cannot_work(folder, monkeypatch, capsys):
    for arguments, part in (
        (["--commit_message", TOKEN], "an access token is no argument"),
        (["--repo_id", "user/x/y"], "user/x/y"),
        (["--commit_message", " "], "--commit_message must not be empty"),
        (["--folder", "nowhere"], "--folder nowhere: folder not found"),
        (["--revision", "../x"], "--revision '../x': not the name of a branch"),
        (["--revision", "a b"], "--revision 'a b': not the name of a branch"),
    ):
        arguments = ["--folder", str(folder), "--repo_id", "user/x", *arguments]
        assert_refused(monkeypatch, capsys, arguments, TOKEN, part)
