# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Folders that version 0.1.0 saved, code and all, answer today as they did then.

saved_by_0.1.0.tar.xz holds what save_pretrained of that version wrote: a classifier, a decoder and an encoder-decoder
of tiny size, every parameter drawn anew. Their own code, where this package cannot be imported, is the reference.
"""

import tarfile
from pathlib import Path

import torch
import transformers
from fresh_process import run_fresh
from safetensors.torch import load_file

import modeling_scratch
from modeling_scratch import fast

ARCHIVE = Path(__file__).parent / "saved_by_0.1.0.tar.xz"
FAMILIES = {
    "encoder": ("AutoModelForSequenceClassification", "ScratchEncoderForSequenceClassification"),
    "decoder": ("AutoModelForCausalLM", "ScratchDecoderForCausalLM"),
    "seq2seq": ("AutoModelForSeq2SeqLM", "ScratchSeq2SeqForConditionalGeneration"),
}
ANSWER = """
from safetensors.torch import save_file

def answer(where, top, auto_classes):
    for name, auto_class in auto_classes.items():
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


def assert_same_answers(name: str, folder: Path, answers: Path) -> None:
    auto_class, class_name = FAMILIES[name]
    model = getattr(transformers, auto_class).from_pretrained(folder).eval()
    assert type(model) is getattr(modeling_scratch, class_name)
    saved = load_file(answers)
    inputs = {key: value for key, value in saved.items() if key not in ("logits", "generated")}
    real = inputs["attention_mask"].bool() if name == "decoder" else ...
    torch.testing.assert_close(model(**inputs).logits[real], saved["logits"][real], atol=1e-5, rtol=0)
    if "generated" in saved:
        written = model.generate(**inputs, max_new_tokens=4, do_sample=False, num_beams=2)
        assert torch.equal(written, saved["generated"])


def test_the_answers_are_those_of_its_own_code(tmp_path: Path) -> None:
    """With its code beside it, and saved again: with today's code, and the same weights."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    run_fresh(ANSWER, [("there", "answer", str(tmp_path), {name: auto for name, (auto, _) in FAMILIES.items()})])
    for name, (auto_class, _) in FAMILIES.items():
        old, new, answers = tmp_path / name, tmp_path / f"{name} saved again", tmp_path / f"{name}.answers"
        getattr(transformers, auto_class).from_pretrained(old).save_pretrained(new)
        before, after = (load_file(folder / "model.safetensors") for folder in (old, new))
        assert before.keys() == after.keys()
        assert all(torch.equal(weight, after[key]) for key, weight in before.items())
        assert (new / "base_models.py").exists()
        assert not (new / "packing.py").exists()
        assert_same_answers(name, old, answers)
        with fast.disabled():
            assert_same_answers(name, new, answers)
