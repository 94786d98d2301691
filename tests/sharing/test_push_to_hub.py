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

import pretrain
import push_to_hub
import pytest
from conftest import lively
from hub_server import SIGNATURE, HubServer
from model_cases import SEQ2SEQ_LM, TEXTS, TINY, Case
from safetensors.torch import save_file
from test_pretrain import CHARACTERS, prose
from toy_text import toy_tokenizer
from warm_python import ROOT, Ended, WarmPython

from modeling_scratch.sharing.verification_record import write_verification

TOKEN = "hf_" + "t" * 34
WRONG = "hf_" + "w" * 34
SCRIPT = ROOT / "scripts" / "push_to_hub.py"

NOT_UPLOADED = {
    "training_args.bin", "optimizer.pt", "pytorch_model.bin", ".env", "trainer_state.json", "training.log",
    "checkpoint-4/model.safetensors", "checkpoint-4/optimizer.pt", "target_tokenizer/notes.txt",
}  # fmt: skip


# Half of a training; then the other half by who has nothing of it but what is on the Hub, and the same bits.
TRAIN = """
import sys
import torch, transformers
from datasets import Dataset
from huggingface_hub import snapshot_download
from model_cases import TEXTS
from modeling_scratch.training.trainer import SharingTrainer
from toy_text import REVIEWS, toy_tokenizer

class Stop(transformers.TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        control.should_training_stop = state.global_step == 2

def trainer(folder, *callbacks, **arguments):
    data = toy_tokenizer()([text for text, _ in REVIEWS], padding=True)
    return {"Trainer": transformers.Trainer, "SharingTrainer": SharingTrainer}[sys.argv[1]](
        TEXTS.model(hidden_dropout=0.1),
        transformers.TrainingArguments(
            f"{sys.argv[2]}/{folder}", max_steps=4, save_steps=2, use_cpu=True, disable_tqdm=True, report_to="none",
            **arguments,
        ),
        train_dataset=Dataset.from_dict({**data, "labels": [label for _, label in REVIEWS]}),
        processing_class=toy_tokenizer(), callbacks=list(callbacks),
    )

hub = {"push_to_hub": True, "hub_model_id": sys.argv[3], "hub_strategy": "checkpoint", "hub_always_push": True}
if sys.argv[1] == "SharingTrainer":
    hub["hub_token"] = sys.argv[4]
first = trainer("first", Stop(), **hub)
first.train()
first.push_to_hub()
second = trainer("second")
second.train(resume_from_checkpoint=snapshot_download(sys.argv[3]) + "/last-checkpoint")
uninterrupted = trainer("uninterrupted")
uninterrupted.train()
assert second.state.global_step == 4
there, here, half = (one.model.state_dict() for one in (second, uninterrupted, first))
assert all(torch.equal(value, there[name]) for name, value in here.items())
assert not all(torch.equal(value, half[name]) for name, value in here.items())
"""

DOWNLOAD = """
import sys
import modeling_scratch, transformers
try:
    transformers.AutoModel.from_pretrained(sys.argv[1])
except OSError as error:
    print(f"OSError: {error}")
"""


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


def settings(hub: HubServer, home: Path) -> dict[str, str]:
    return {
        "HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": TOKEN,
    }  # fmt: skip


@pytest.fixture(scope="module")
def python(hub: HubServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """Programs that ask this hub with the right token; none of them writes it anywhere."""
    top = tmp_path_factory.mktemp("programs")
    modules = ["modeling_scratch.sharing.push", "modeling_scratch.training.trainer", "toy_text"]
    with WarmPython(top, modules, settings(hub, top / "home")) as warm:
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


@pytest.mark.parametrize("trainer", ["Trainer", "SharingTrainer"])
def test_training_goes_on_from_the_hub(trainer: str, hub: HubServer, python: WarmPython, tmp_path: Path) -> None:
    ended = python.run(write_program(tmp_path, TRAIN), trainer, tmp_path, f"user/{trainer}", TOKEN)
    assert ended.code == 0, ended.text
    files = on_the_hub(hub, f"user/{trainer}")
    saved = contents(tmp_path / "first" / "checkpoint-2")
    for name, content in saved.items():
        assert files[f"last-checkpoint/{name}"] == content
    for name in "config.json", "model.safetensors", "modeling_encoder.py", "tokenizer.json":
        assert files[name] == saved[name]
    if trainer == "SharingTrainer":
        assert not any("training_args" in name for name in files)


def push(python: WarmPython, folder: Path, repository: str, *more: object, **environment: str) -> Ended:
    return python.run(SCRIPT, "--folder", folder, "--repo_id", repository, *more, **environment)


def test_the_script_uploads_what_makes_a_model_and_nothing_else(
    python: WarmPython, hub: HubServer, folder: Path, tmp_path: Path
) -> None:
    before = contents(folder)
    hub.repositories.pop("user/mine", None)
    ended = push(python, folder, "user/mine", "--commit_message", "The best of three")
    assert ended.code == 0, ended.text
    assert ended.text.splitlines()[-1] == f"{hub.url}/user/mine"
    assert "model.safetensors" in ended.text
    assert on_the_hub(hub, "user/mine") == contents(folder) == before
    assert hub.messages("user/mine") == ["initial commit", "The best of three"]
    program = "import sys, huggingface_hub; huggingface_hub.snapshot_download(*sys.argv[1:2], local_dir=sys.argv[2])"
    assert python.run(write_program(tmp_path, program), "user/mine", tmp_path / "copy").code == 0
    copied = contents(tmp_path / "copy")
    assert {name: copied[name] for name in before} == before


def test_a_dry_run_shows_what_would_go_and_asks_nobody(python: WarmPython, hub: HubServer, folder: Path) -> None:
    before, seen = contents(folder), len(hub.requests)
    ended = push(python, folder, "user/dry", "--dry_run", HF_TOKEN="")
    assert ended.code == 0, ended.text
    assert all(f" bytes  {name}\n" in ended.text for name in before if "/" not in name)
    assert "Nothing was uploaded" in ended.text
    assert "no access token" in push(python, folder, "user/dry", HF_TOKEN="").text
    (folder / "results.md").write_text(TOKEN)
    assert "contains an access token" in push(python, folder, "user/dry", "--dry_run", HF_TOKEN="").text
    assert (len(hub.requests), "user/dry" in hub.repositories) == (seen, False)


def test_a_second_push_sends_what_has_changed(python: WarmPython, hub: HubServer, folder: Path) -> None:
    """Nothing where nothing has; weights in other pieces replace those that were there."""
    hub.repositories.pop("user/again", None)
    assert push(python, folder, "user/again").code == 0
    seen = len(hub.requests)
    assert push(python, folder, "user/again").code == 0
    assert len(hub.messages("user/again")) == 2
    assert not [request for request in hub.requests[seen:] if re.search("^PUT|/commit/", request)]
    (folder / "model.safetensors").unlink()
    TEXTS.model().save_pretrained(folder, max_shard_size="8KB")
    assert push(python, folder, "user/again").code == 0
    assert on_the_hub(hub, "user/again") == contents(folder)
    assert "model.safetensors" not in hub.files("user/again")


def test_what_an_earlier_model_left_goes(hub: HubServer, python: WarmPython, folder: Path) -> None:
    """What would be loaded or verified as a part of the one that is there now, and nothing else."""
    of_a_model = ["chat_template.jinja", "added_tokens.json", "old_heads.py", "model-00001-of-00001.safetensors"]
    results = ["results.md", "learning_curve.png"]
    for name in of_a_model[:3] + results:
        (folder / name).write_text("{}")
    save_file({}, folder / of_a_model[3])
    write_verification(TEXTS.model_class.from_pretrained(folder), None, folder)
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    assert push(python, folder, "user/renewed").code == 0
    assert {*of_a_model, "target_tokenizer/tokenizer.json"} < on_the_hub(hub, "user/renewed").keys()
    for name in of_a_model + results:
        (folder / name).unlink()
    shutil.rmtree(folder / "target_tokenizer")
    ended = push(python, folder, "user/renewed")
    assert ended.code == 0, ended.text
    assert "deleted on the Hub  old_heads.py" in ended.text
    assert on_the_hub(hub, "user/renewed") == contents(folder) | dict.fromkeys(results, b"{}")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_upload_can_be_interrupted(how: signal.Signals, python: WarmPython, hub: HubServer, folder: Path) -> None:
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


@pytest.mark.slow
def test_the_client_tries_again_and_tells_no_signed_address(hub: HubServer, python: WarmPython, folder: Path) -> None:
    save_model(folder, hidden_size=24)
    hub.answers |= {"preupload": [429], "store": [500]}
    ended = push(python, folder, "user/patient")
    assert ended.code == 0, ended.text
    assert "Retrying" in ended.text
    assert f"/storage/{oid(folder / 'model.safetensors')}***" in ended.text
    assert on_the_hub(hub, "user/patient") == contents(folder)


REFUSED = {
    "a wrong token": ("user/no", {"HF_TOKEN": WRONG}, {}, ["user/no: the Hub does not accept the access token: set"]),
    "another's account": ("other/no", {}, {}, ["other/no: the access token lacks write permission: 403"]),
    "no new repositories": ("user/no", {}, {"create": [500]}, ["user/no: ", "500", "repeat the command"]),
    "no such branch": ("user/no", {}, {"preupload": [404]}, ["user/no: ", "404", "preupload is refused"]),
    "no room": ("user/no", {}, {"store": [403]}, ["user/no: ", "403", "repeat the command"]),
    "no commits": ("user/no", {}, {"receive_commit": [403]}, ["lacks write permission: 403", "commit is refused"]),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_hub_refuses_is_one_line(what: str, python: WarmPython, hub: HubServer, folder: Path) -> None:
    repository, environment, answers, parts = REFUSED[what]
    save_model(folder, hidden_size=28)
    hub.answers = {name: list(statuses) for name, statuses in answers.items()}
    hub.repositories.pop(repository, None)
    hub.storage.pop(oid(folder / "model.safetensors"), None)
    assert_one_line(push(python, folder, repository, **environment), *parts)
    hub.answers = {}
    if repository in hub.repositories:
        assert on_the_hub(hub, repository) == {}


def test_private_repositories_and_branches(hub: HubServer, python: WarmPython, folder: Path, tmp_path: Path) -> None:
    assert push(python, folder, "user/secret", "--private", "True", "--revision", "try/1").code == 0
    assert hub.repositories["user/secret"].private
    assert on_the_hub(hub, "user/secret") == {}
    assert on_the_hub(hub, "user/secret", "try/1") == contents(folder)
    assert push(python, folder, "user/public").code == 0
    (folder / "verify.json").write_text("[]")
    ended = push(python, folder, "user/public", "--private")
    assert_one_line(ended, "already exists and is public; nothing was uploaded")
    assert on_the_hub(hub, "user/public")["verify.json"] == b"{}\n"
    program = write_program(tmp_path, DOWNLOAD)
    cases = [("user/secret", ""), ("user/nowhere", TOKEN), ("user/secret", WRONG)]
    for repository, token in cases:
        ended = python.run(program, repository, HF_TOKEN=token)
        assert ended.code == 0, ended.text
        assert ended.text.startswith("OSError: ")
        assert repository in ended.text


def test_the_card_of_a_run_names_the_repository(hub: HubServer, python: WarmPython, tmp_path: Path) -> None:
    """And nothing of a run names the machine that it ran on."""
    (tmp_path / "plays.txt").write_text("\n".join(prose(100)))
    options = f"{CHARACTERS} --train_file {tmp_path / 'plays.txt'} --output_dir {tmp_path / 'run'} --max_steps 2"
    pretrain.main([*options.split(), "--report_to", "none", "--use_cpu", "--disable_tqdm", "True"])
    assert push(python, tmp_path / "run", "user/plays").code == 0
    files = on_the_hub(hub, "user/plays")
    assert b'from_pretrained("user/plays"' in files["README.md"]
    assert {"README.md", "run_config.json", "evaluation.json", "results.md", "learning_curve.png"} < files.keys()
    assert not [name for name, content in files.items() if str(tmp_path).encode() in content]
    assert all((tmp_path / "run" / name).read_bytes() == content for name, content in files.items())


def test_a_target_tokenizer_goes_along(hub: HubServer, python: WarmPython, folder: Path) -> None:
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


def test_every_file_that_verify_records_goes_along(hub: HubServer, python: WarmPython, folder: Path) -> None:
    toy_tokenizer().save_pretrained(folder / "target_tokenizer")
    (folder / "target_tokenizer" / "merges.txt").mkdir()  # that is no file
    for name in ("vocab.bpe", "spiece.model", "extra.jinja", "target_tokenizer/source.spm"):
        (folder / name).write_text("of a tokenizer")
    model = TEXTS.model_class.from_pretrained(folder)
    record = json.loads(write_verification(model, toy_tokenizer(), folder).read_text())
    assert {"spiece.model", "extra.jinja", "target_tokenizer/source.spm"} < record["files"].keys()
    assert push(python, folder, "user/recorded").code == 0
    pushed = hub.files("user/recorded")
    found = {name: hashlib.sha256(pushed[name]).hexdigest() for name in record["files"]}
    assert found == {name: file["sha256"] for name, file in record["files"].items()}


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
    "a token in a file": ("stack.py", f"login('{WRONG}')", "stack.py: contains an access token"),
    "the token in a card": ("README.md", f"Use {TOKEN}.", "README.md: contains an access token"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_in_a_folder_never_leaves_it(
    fault: str, hub: HubServer, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    name, content, part = FAULTS[fault]
    (folder / name).unlink(missing_ok=True)
    if content is not None:
        (folder / name).write_text(content)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(sys, "argv", [SCRIPT.name])
    seen = len(hub.requests)
    with pytest.raises(SystemExit) as ended:
        push_to_hub.main(["--folder", str(folder), "--repo_id", "user/faulty"])
    assert_one_line(Ended(ended.value.code, capsys.readouterr().err), str(folder), part)
    assert len(hub.requests) == seen


ARGUMENTS = {
    "no token": (["user/x"], "", "no access token: set HF_TOKEN or log in with `hf auth login`"),
    "a token": (["user/x", "--commit_message", TOKEN], TOKEN, "an access token is no argument"),
    "no name": (["user/x/y"], TOKEN, "user/x/y"),
    "no message": (["user/x", "--commit_message", " "], TOKEN, "--commit_message must not be empty"),
    "no folder": (["user/x", "--folder", "nowhere"], TOKEN, "--folder nowhere: folder not found"),
}


@pytest.mark.parametrize("fault", ARGUMENTS)
def test_what_is_wrong_with_arguments(fault: str, python: WarmPython, folder: Path) -> None:
    (repository, *more), token, part = ARGUMENTS[fault]
    assert_one_line(push(python, folder, repository, *more, HF_TOKEN=token), part)
