# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A push takes what a run wrote, and nothing behind links, and no access token."""

from pathlib import Path

import pytest
from datasets import Dataset
from model_cases import TEXTS
from toy_text import REVIEWS, toy_tokenizer
from transformers import TrainingArguments

from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.sharing.leaks import check_contents
from modeling_scratch.utils.errors import DataError

SECRET = "hf_" + "aB" * 16  # of no account


@pytest.mark.parametrize("secret", [SECRET, "of-no-known-form"])
def test_a_token_in_a_text_stays(tmp_path: Path, secret: str) -> None:
    (tmp_path / "README.md").write_text(f"# Mine\n\n| text |\n| the film is {secret} good |\n")
    with pytest.raises(DataError, match=r"README.md: contains an access token in line 4; remove it") as refusal:
        check_contents(tmp_path, ["README.md"], "of-no-known-form")
    assert secret not in str(refusal.value)


def test_texts_that_resemble_tokens_go(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"sha256:{'0a' * 32}\nhf_short\n{'hf_' * 100_000}\n")
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
    (output / "results.md").write_text(SECRET)
    trainer.train()
    assert trainer.state.global_step == 1
    told = f"not pushed (Training in progress, step 1): {output / 'results.md'}: contains an access token in line 1"
    assert told in capfd.readouterr().err
    (output / "results.md").unlink()
    (output / "results.md").symlink_to(__file__)
    with pytest.raises(DataError, match="a link to"):
        trainer.push_to_hub()
