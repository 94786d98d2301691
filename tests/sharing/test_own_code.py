# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A folder whose code has a row that this package lacks: where it is trusted, its code runs, and else it is refused."""

from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from predict import main as predict
from processes import refusal
from toy_text import toy_tokenizer
from transformers import AutoConfig, AutoModelForSequenceClassification

from modeling_scratch import ScratchEncoderForSequenceClassification, doctor, presets
from modeling_scratch.bridges.model_sources import pretrained
from modeling_scratch.inspection.program import load_explained
from modeling_scratch.sharing.verification import write_verification
from modeling_scratch.utils.errors import DataError

NEW = "activation_of_a_folder"


def put(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The activation relu(x)^2 (So et al. 2021) in the code that a model was saved with."""
    tokenizer = toy_tokenizer()
    config = presets.demo(vocab_size=len(tokenizer), hidden_act="silu", pad_token_id=tokenizer.pad_token_id)
    torch.manual_seed(0)
    ScratchEncoderForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    put(tmp_path / "configuration_scratch.py", '"silu",', f'"silu", "{NEW}",')
    put(
        tmp_path / "layers.py",
        '    "silu": (nn.functional.silu',
        f'    "{NEW}": (lambda x: nn.functional.relu(x) ** 2, False),\n    "silu": (nn.functional.silu',
    )
    put(tmp_path / "config.json", '"silu"', f'"{NEW}"')
    return tmp_path


def test_trusted_code_runs(folder: Path, capsys: pytest.CaptureFixture) -> None:
    """The doctor finds nothing in it. Without trust, it is named, and refused."""
    model = pretrained(AutoModelForSequenceClassification, folder, True)
    assert model.config.hidden_act == NEW
    explained, _ = load_explained(str(folder), trust_remote_code=True)
    ids = torch.tensor([[2, 6, 7, 3]])
    with torch.no_grad():
        assert torch.equal(explained(input_ids=ids).logits, model.eval()(input_ids=ids).logits)
    write_verification(folder)
    diagnosis = doctor.check_folder(folder, True, only=["auto_classes", "recorded_files"])
    assert diagnosis.is_sound, str(diagnosis)
    (folder / "texts.txt").write_text("a good film\n", encoding="utf-8")
    given = ["--model", str(folder), "--input", str(folder / "texts.txt"), "--output", str(folder / "answers.csv")]
    predict([*given, "--trust_remote_code"])
    assert "LABEL" in (folder / "answers.csv").read_text(encoding="utf-8")
    assert "--trust_remote_code runs the code of the folder" in refusal(capsys, predict, [*given, "--overwrite"])
    with pytest.raises(DataError, match="--trust_remote_code runs the code of the folder"):
        load_explained(str(folder))
    with pytest.raises(StrictDataclassError, match=NEW):
        AutoConfig.from_pretrained(folder)
