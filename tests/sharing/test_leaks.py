# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A push takes what a run wrote, and nothing behind links, and no secret of anybody."""

import json
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from model_cases import TEXTS
from safetensors.torch import save_file
from toy_text import REVIEWS, toy_tokenizer
from transformers import TrainingArguments

from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.sharing.leaks import check_contents
from modeling_scratch.utils.errors import DataError

# Of no account: each is made of the prefix that its service gives, and of letters and digits of ours.
SECRETS = {
    "Hugging Face": "hf_" + "aB" * 16,
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


def test_a_secret_in_a_text_stays(tmp_path: Path) -> None:
    own = "of-no-known-form"
    for secret in (*SECRETS.values(), own):
        (tmp_path / "README.md").write_text(f"# Mine\n\n| text |\n| the film is {secret} good |\n")
        with pytest.raises(DataError, match=r"README.md: contains an? .* in line 4; remove it") as refusal:
            check_contents(tmp_path, ["README.md"], own)
        assert secret not in str(refusal.value)


def test_a_secret_behind_an_encoding_stays(tmp_path: Path) -> None:
    (tmp_path / "utf_16.json").write_bytes(SECRETS["GitHub"].encode("utf-16"))
    (tmp_path / "escaped.json").write_text(json.dumps(SECRETS["npm"]).replace("n", "\\u006e"))
    metadata = {"format": "pt", "note": SECRETS["GitHub"]}
    save_file({"weight": torch.ones(2)}, tmp_path / "model.safetensors", metadata=metadata)
    for name in ("utf_16.json", "escaped.json", "model.safetensors"):
        with pytest.raises(DataError, match=f"{name}: contains an access token of"):
            check_contents(tmp_path, [name])


def test_texts_that_resemble_secrets_go(tmp_path: Path) -> None:
    digest, long = "sha256:" + "0a" * 32, "1" * 40
    (tmp_path / "README.md").write_text(
        f"{digest}\nrisk-{long}\nsk-learn-{'a' * 40}\n{'sk-' * 100_000}\nAKIA\nghp_short\nBEGIN PRIVATE KEY\n"
    )
    check_contents(tmp_path, ["README.md"])


def test_a_push_of_the_trainer_is_checked_and_training_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    data = toy_tokenizer()([text for text, _ in REVIEWS], padding=True)
    output = tmp_path / "run"
    trainer = RunTrainer(
        TEXTS.model(),
        TrainingArguments(str(output), max_steps=1, save_steps=1, use_cpu=True, disable_tqdm=True, report_to="none"),
        train_dataset=Dataset.from_dict({**data, "labels": [label for _, label in REVIEWS]}),
        processing_class=toy_tokenizer(),
    )
    trainer.hub_model_id, trainer.args.push_to_hub = "user/name", True  # there is no Hub to create it at
    output.mkdir(exist_ok=True)
    (output / "results.md").write_text(SECRETS["AWS"])
    trainer.train()
    assert trainer.state.global_step == 1
    told = f"not pushed (Training in progress, step 1): {output / 'results.md'}: contains an access token of AWS"
    assert told in capfd.readouterr().err
    (output / "results.md").unlink()
    (output / "results.md").symlink_to(__file__)
    with pytest.raises(DataError, match="a link to"):
        trainer.push_to_hub()
