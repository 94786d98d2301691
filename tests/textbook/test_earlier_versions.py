# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Folders that version 0.1.0 saved, code and all, answer today as they did then.

saved_by_0.1.0.tar.xz holds what save_pretrained of that version wrote: a classifier, a decoder and an encoder-decoder
of tiny size, every parameter drawn anew. Their own code, where this package cannot be imported, is the reference.
"""

import tarfile
from pathlib import Path

import pytest
import torch
import transformers
from conftest import run_without_package
from safetensors.torch import load_file

import modeling_scratch

ARCHIVE = Path(__file__).parent / "saved_by_0.1.0.tar.xz"
FAMILIES = {
    "encoder": ("AutoModelForSequenceClassification", "ScratchEncoderForSequenceClassification"),
    "decoder": ("AutoModelForCausalLM", "ScratchDecoderForCausalLM"),
    "seq2seq": ("AutoModelForSeq2SeqLM", "ScratchSeq2SeqForConditionalGeneration"),
}
ANSWER = """
import sys, torch, transformers
from safetensors.torch import save_file
top, *pairs = sys.argv[1:]
for name, auto_class in (pair.split("=") for pair in pairs):
    model = getattr(transformers, auto_class).from_pretrained(f"{top}/{name}", trust_remote_code=True).eval()
    ids = torch.arange(3, 51).view(4, 12) % 58
    mask = torch.arange(12) < torch.tensor([[12], [7], [1], [10]])
    inputs = {"input_ids": ids, "attention_mask": mask.long()}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids.flip(1)
    answers = {"logits": model(**inputs).logits.detach()}
    if model.can_generate():
        answers["generated"] = model.generate(**{**inputs, "max_new_tokens": 4, "do_sample": False, "num_beams": 2})
    save_file({key: value.contiguous() for key, value in {**inputs, **answers}.items()}, f"{top}/{name}.answers")
"""


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders, and beside them what their own code answers."""
    folder = tmp_path_factory.mktemp("saved")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    pairs = [f"{name}={auto_class}" for name, (auto_class, _) in FAMILIES.items()]
    run_without_package(ANSWER, str(folder), *pairs, HF_HOME=str(folder / "home"))
    return folder


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("with_code", [True, False], ids=["with_code", "without_code"])
@pytest.mark.parametrize("name", FAMILIES)
def test_the_answers_are_those_of_its_own_code(name: str, with_code: bool, top: Path, tmp_path: Path) -> None:
    auto_class, class_name = FAMILIES[name]
    for path in (top / name).iterdir():
        if with_code or path.suffix != ".py":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    model = getattr(transformers, auto_class).from_pretrained(tmp_path).eval()
    assert type(model) is getattr(modeling_scratch, class_name)
    saved = load_file(top / f"{name}.answers")
    inputs = {key: value for key, value in saved.items() if key not in ("logits", "generated")}
    found = model(**inputs).logits
    real = inputs["attention_mask"].bool() if name == "decoder" else ...
    torch.testing.assert_close(found[real], saved["logits"][real], atol=1e-5, rtol=0)
    if "generated" in saved:
        written = model.generate(**inputs, max_new_tokens=4, do_sample=False, num_beams=2)
        assert torch.equal(written, saved["generated"])


@pytest.mark.parametrize("name", FAMILIES)
def test_saved_again_a_folder_holds_todays_code_and_the_same_weights(name: str, top: Path, tmp_path: Path) -> None:
    getattr(transformers, FAMILIES[name][0]).from_pretrained(top / name).save_pretrained(tmp_path)
    before, after = (load_file(folder / "model.safetensors") for folder in (top / name, tmp_path))
    assert before.keys() == after.keys()
    assert all(torch.equal(weight, after[key]) for key, weight in before.items())
    assert (tmp_path / "base_models.py").exists()
    assert not (tmp_path / "packing.py").exists()
