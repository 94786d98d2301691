# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""convert_checkpoint.py: both directions, verified before they are there; and what others make of the result."""

from pathlib import Path

import convert_checkpoint
import pytest
import torch
from native_models import Native
from shared import redraw, refused
from toy_text import toy_tokenizer
from transformers import AutoTokenizer, BertForSequenceClassification, PreTrainedModel

from modeling_scratch import ScratchEncoderForSequenceClassification, ScratchEncoderModel, presets

NATIVE = Native("bert", "ScratchEncoderForSequenceClassification")
LABELS = {"id2label": {0: "BAD", 1: "FAIR", 2: "GOOD"}, "label2id": {"BAD": 0, "FAIR": 1, "GOOD": 2}}
TEXT = "a warm and funny film"


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """A classifier with names of labels and a tokenizer, as it comes from elsewhere."""
    tokenizer = toy_tokenizer()
    NATIVE.model(vocab_size=len(tokenizer), **LABELS).save_pretrained(tmp_path / "native")
    tokenizer.save_pretrained(tmp_path / "native")
    return tmp_path / "native"


def convert(*arguments: object) -> None:
    convert_checkpoint.main([str(argument) for argument in arguments])


def test_there_and_back(native: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    convert("--input", native, "--output_dir", tmp_path / "ours")
    convert("--input", tmp_path / "ours", "--output_dir", tmp_path / "back")
    output = capsys.readouterr().out
    assert f"{tmp_path / 'ours'}: ScratchEncoderForSequenceClassification, equivalent to" in output
    assert output.count("maximum difference") == 2 * 2
    ours = ScratchEncoderForSequenceClassification.from_pretrained(tmp_path / "ours")
    theirs, back = (BertForSequenceClassification.from_pretrained(folder) for folder in (native, tmp_path / "back"))
    assert ours.config.id2label == back.config.id2label == LABELS["id2label"]
    inputs = AutoTokenizer.from_pretrained(tmp_path / "back")(TEXT, return_tensors="pt")
    for model in (ours, back):
        torch.testing.assert_close(model(**inputs).logits, theirs(**inputs).logits, atol=1e-5, rtol=0)
    for path in native.glob("tokenizer*"):
        path.unlink()
    convert("--input", native, "--output_dir", tmp_path / "bare")
    assert "no tokenizer; save" in capsys.readouterr().out
    assert not list((tmp_path / "bare").glob("tokenizer*"))


def test_weights_of_16_bits_under_a_config_of_32(native: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    config = (native / "config.json").read_text()
    BertForSequenceClassification.from_pretrained(native, dtype=torch.bfloat16).save_pretrained(native)
    (native / "config.json").write_text(config)
    convert("--input", native, "--output_dir", tmp_path / "ours")
    assert "equivalent to BertForSequenceClassification" in capsys.readouterr().out


def test_a_result_that_answers_differently_is_never_there(
    native: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """As if the disk had changed one weight on the way."""
    save = PreTrainedModel.save_pretrained

    def save_another(model: PreTrainedModel, *args: object, **kwargs: object) -> None:
        save(redraw(model, seed=5), *args, **kwargs)

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", save_another)
    arguments = ["--input", native, "--output_dir", tmp_path / "ours"]
    refused(capsys, convert_checkpoint.main, arguments, "random tokens: outputs differ by")
    assert [path.name for path in tmp_path.iterdir()] == ["native"]


def test_what_the_user_can_mend_is_one_line(native: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    no_bridge = tmp_path / "ours"
    config = presets.reviews(vocab_size=30, hidden_size=16, intermediate_size=16)
    ScratchEncoderModel(config).save_pretrained(no_bridge)
    new = ("--output_dir", tmp_path / "new")
    for arguments, message in [
        (("--input", tmp_path / "nothing", *new), "nothing: folder not found"),
        (("--input", tmp_path, *new), "a folder of models: "),
        (("--input", native, "--output_dir", native), "already exists"),
        (("--input", native, *new, "--model_class", "NoSuchModel"), "'NoSuchModel' is not a class of modeling_scratch"),
        (("--input", native, *new, "--model_type", "bert"), "--model_type applies to scratch checkpoints only"),
        (("--input", native, *new, "--text_file", "a"), "--text_file is retired: leave it out"),
        (("--input", no_bridge, *new), "conflicts in position_type='sinusoidal'"),
        (("--input", no_bridge, *new, "--model_class", "ScratchEncoderModel"), "applies to native checkpoints only"),
    ]:
        refused(capsys, convert_checkpoint.main, arguments, message)
    assert not (tmp_path / "new").exists()
