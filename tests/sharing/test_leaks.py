# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A push takes what a run wrote, and nothing behind links, and no secret of anybody."""

import json
import os
import shutil
from pathlib import Path

import push_to_hub
import pytest
from datasets import Dataset
from model_cases import TEXTS
from safetensors.torch import load_file, save_file
from toy_text import REVIEWS, toy_tokenizer
from transformers import TrainingArguments

from modeling_scratch.sharing.verification_record import write_verification
from modeling_scratch.training.trainer import SharingTrainer
from modeling_scratch.utils.errors import DataError

# Of no account: each is made of the prefix that its service gives, and of letters and digits of ours.
SECRETS = {
    "AWS": "AKIA" + "ABCD1234" * 2,
    "AWS, secret": "aws_secret_access_key = " + "aB3/+" * 8,
    "GitHub": "ghp_" + "a1B2" * 9,
    "GitHub, fine-grained": "github_pat_" + "11A_b2" * 12,
    "GitLab": "glpat-" + "a1B2" * 5,
    "OpenAI": "sk-proj-" + "a1-B2_c3" * 6,
    "OpenAI, earlier": "sk-" + "a1B2" * 12,
    "Anthropic": "sk-ant-api03-" + "a1B2" * 12,
    "Google": "AIza" + "a1B2-" * 7,
    "Slack": "xoxb-" + "12345678-" * 3,
    "Stripe": "sk_" + "live_" + "a1B2" * 6,
    "npm": "npm_" + "a1B2" * 9,
    "PyPI": "pypi-AgE" + "a1B2" * 15,
    "key": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "saved"
    model = TEXTS.model()
    model.save_pretrained(folder)
    toy_tokenizer().save_pretrained(folder)
    for name in ("README.md", "results.md", "evaluation.json", "confusion_matrix.png"):
        (folder / name).write_text("{}")
    write_verification(model, toy_tokenizer(), folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "folder"))


def check(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The names of the files that would be uploaded."""
    push_to_hub.main(["--folder", str(folder), "--repo_id", "user/name", "--dry_run"])
    return [line.partition(" bytes  ")[2] for line in capsys.readouterr().out.splitlines() if " bytes  " in line]


def refusal(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of the error."""
    with pytest.raises(SystemExit) as ended:
        check(folder, capsys)
    assert ended.value.code == 2
    *_, line = capsys.readouterr().err.splitlines()  # after the library's progress bars
    return line


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_in_a_text_stays(secret: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "README.md").write_text(f"# Mine\n\n| text |\n| the film is {secret} good |\n")
    line = refusal(folder, capsys)
    assert f"{folder}/README.md: contains a" in line
    assert "in line 4; remove it" in line
    assert secret not in line


def test_a_secret_in_any_text_file_stays(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "evaluation.json").write_bytes(SECRETS["GitHub"].encode("utf-16"))
    assert "evaluation.json: contains an access token of GitHub" in refusal(folder, capsys)


def test_a_secret_in_the_metadata_of_weights_or_behind_escapes_stays(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt", "note": SECRETS["GitHub"]})
    assert "model.safetensors: contains an access token of GitHub" in refusal(folder, capsys)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "evaluation.json").write_text(json.dumps(SECRETS["npm"]).replace("n", "\\u006e"))
    assert "evaluation.json: contains an access token of npm or PyPI" in refusal(folder, capsys)


def test_a_pipe_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "README.md").unlink()
    os.mkfifo(folder / "README.md")
    assert "README.md: not a regular file" in refusal(folder, capsys)


def test_files_that_the_record_does_not_describe_are_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "private.py").write_text("left out")
    push_to_hub.main(arguments := ["--folder", str(folder), "--repo_id", "user/name", "--dry_run"])
    assert "WARNING" not in capsys.readouterr().err
    with (folder / "heads.py").open("a") as code:
        code.write("import nowhere\n")
    push_to_hub.main(arguments)
    assert f"WARNING: {folder}/verify.json does not describe these files (heads.py changed)" in capsys.readouterr().err


def test_a_secret_is_no_argument(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        push_to_hub.main(["--folder", str(folder), "--repo_id", "user/name", "--commit_message", SECRETS["GitHub"]])
    assert "an access token is no argument" in capsys.readouterr().err


def test_texts_that_resemble_secrets_go(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digest, long = "sha256:" + "0a" * 32, "1" * 40
    (folder / "README.md").write_text(
        f"{digest}\nrisk-{long}\nsk-learn-{'a' * 40}\n{'sk-' * 100_000}\nAKIA\nghp_short\nBEGIN PRIVATE KEY\n"
    )
    assert "README.md" in check(folder, capsys)


@pytest.mark.parametrize("name", ["old.model", "README.md", "extra.py", "custom_generate/generate.py"])
def test_a_link_out_of_the_folder_is_refused(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside = folder.parent / "id_rsa"
    outside.write_text("private")
    (folder / name).unlink(missing_ok=True)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(outside)
    assert f"{folder / name}: a link to {outside}, out of the folder" in refusal(folder, capsys)


def test_what_no_run_wrote_is_left_out_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = check(folder, capsys)
    assert {"model.safetensors", "modeling_encoder.py", "README.md", "confusion_matrix.png"} < set(written)
    strange = ["private.py", "old.model", "screenshot.png", "custom_generate/generate.py", "1_Pooling/config.json"]
    for name in [*strange, "notes.txt", "sub/code.py", ".env"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    push_to_hub.main(["--folder", str(folder), "--repo_id", "user/name", "--dry_run"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" bytes  ")[2] for line in lines if " bytes  " in line] == written
    assert sorted(line.split()[2] for line in lines if "left out" in line) == sorted(strange)


def test_a_folder_without_a_record_goes_as_it_was_saved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = check(folder, capsys)
    (folder / "verify.json").unlink()
    assert check(folder, capsys) == [name for name in recorded if name != "verify.json"]


def test_a_push_of_the_trainer_is_checked_and_training_goes_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = toy_tokenizer()([text for text, _ in REVIEWS], padding=True)
    output = tmp_path / "run"
    trainer = SharingTrainer(
        TEXTS.model(),
        TrainingArguments(str(output), max_steps=1, save_steps=1, use_cpu=True, disable_tqdm=True, report_to="none"),
        train_dataset=Dataset.from_dict({**data, "labels": [label for _, label in REVIEWS]}),
        processing_class=toy_tokenizer(),
    )
    trainer.hub_model_id, trainer.args.push_to_hub = "user/name", True  # there is no Hub to create it at
    (output / "notes.md").parent.mkdir(exist_ok=True)
    (output / "notes.md").write_text(SECRETS["AWS"])
    trainer.train()
    assert trainer.state.global_step == 1
    assert f"step 1 was not pushed: {output / 'notes.md'}: contains an access token of AWS" in capsys.readouterr().err
    (output / "notes.md").unlink()
    (output / "notes.md").symlink_to(folder / "README.md")
    with pytest.raises(DataError, match="a link to"):
        trainer.push_to_hub()
