# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The ways in which people load and share a folder, where its own code is all there is of this package."""

from pathlib import Path
from typing import Any

import pytest
import torch
from fresh_process import run_fresh
from model_cases import CAUSAL_LM, ENCODER, MASKED_LM, SEQ2SEQ_LM, SPANS, TEXTS, Case
from safetensors.torch import save_file
from toy_text import REVIEWS, toy_tokenizer
from transformers import pipeline

pytestmark = pytest.mark.slow  # the same ways where the package is are in test_saving.py

REVIEW_TEXTS = [text for text, _ in REVIEWS]
LANGUAGE_MODELS = {
    "AutoModelForMaskedLM": MASKED_LM, "AutoModelForCausalLM": CAUSAL_LM, "AutoModelForSeq2SeqLM": SEQ2SEQ_LM,
}  # fmt: skip

# Names of what `ways` gives to from_pretrained: the file is bfloat16, and stays so unless it is told otherwise.
AS_IN_THE_FILE = ("plain", "auto", "old name", "mapped", "disk", "low", "revision")
WIDER = ("wide", "wide by its old name")

WAYS = """
from safetensors.torch import load_file

def load(auto_class, folder, **kwargs):
    return getattr(transformers, auto_class).from_pretrained(folder, trust_remote_code=True, **kwargs)

def ways(folder):
    return {
        "plain": {}, "auto": {"dtype": "auto"}, "old name": {"torch_dtype": torch.bfloat16},
        "mapped": {"device_map": "auto"}, "low": {"low_cpu_mem_usage": True},
        "revision": {"code_revision": "main", "revision": "main"},
        "disk": {"device_map": {"": "disk"}, "offload_folder": folder + "/offload"},
        "wide": {"dtype": "float32"}, "wide by its old name": {"torch_dtype": torch.float32},
    }

def in_every_way(where, auto_class, folder):
    answers = {}
    for name, way in ways(folder).items():
        model = load(auto_class, folder, **way)
        with torch.no_grad():
            logits = model(**load_file(folder + "/batch")).logits
        answers[name] = {"dtype": str(logits.dtype), "logits": logits.tolist()}
    return answers

def served(where, folder, task, inputs):
    return transformers.pipeline(task, model=folder, trust_remote_code=True)(**inputs)

def embedded(where, folder, texts):
    from sentence_transformers import SentenceTransformer
    return SentenceTransformer(folder, device="cpu", trust_remote_code=True).encode(texts).tolist()
"""


def write_language_model(folder: Path, case: Case) -> str:
    case.model().bfloat16().save_pretrained(folder, max_shard_size="4KB")
    save_file(case.inputs(), folder / "batch")
    return str(folder)


SERVED: dict[str, tuple[Case, dict[str, Any]]] = {
    "sentiment-analysis": (TEXTS, {"inputs": REVIEW_TEXTS}),
    "extractive-question-answering": (SPANS, {"question": "good film ?", "context": "a good film from Paris"}),
    "seq2seq-translation": (SEQ2SEQ_LM, {"inputs": REVIEW_TEXTS, "max_new_tokens": 8, "do_sample": False}),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the functions of WAYS return, by the name of the function, or of the Auto class."""
    top = tmp_path_factory.mktemp("elsewhere")
    plan = [
        ("there", "in_every_way", auto_class, write_language_model(top / auto_class, case))
        for auto_class, case in LANGUAGE_MODELS.items()
    ]
    ENCODER.model(classifier_pooling="mean").save_pretrained(top / "encoder")
    toy_tokenizer().save_pretrained(top / "encoder")
    for task, (case, inputs) in SERVED.items():
        case.model().save_pretrained(top / task)
        toy_tokenizer().save_pretrained(top / task)
        plan.append(("there", "served", str(top / task), task, inputs))
    plan.append(("there", "embedded", str(top / "encoder"), REVIEW_TEXTS))
    known = [*LANGUAGE_MODELS, *SERVED]
    names = [*known, *(function for _, function, *_ in plan[len(known) :])]
    return dict(zip(names, run_fresh(WAYS, plan), strict=True))


@pytest.mark.parametrize("auto_class", LANGUAGE_MODELS)
def test_shards_of_bfloat16_are_the_same_model_in_every_way(auto_class: str, found: dict[str, Any]) -> None:
    answers = found[auto_class]
    assert answers.keys() == {*AS_IN_THE_FILE, *WIDER}
    for names, dtype in (AS_IN_THE_FILE, "torch.bfloat16"), (WIDER, "torch.float32"):
        for name in names:
            assert answers[name] == {"dtype": dtype, "logits": answers[names[0]]["logits"]}, name
    narrow, wide = (torch.tensor(answers[name]["logits"]) for name in ("plain", "wide"))
    assert (narrow - wide).abs().max() < 0.1 * wide.abs().max()


@pytest.mark.parametrize("task", SERVED)
def test_pipelines_answer_as_they_do_here(task: str, found: dict[str, Any]) -> None:
    case, inputs = SERVED[task]
    expected = pipeline(task, model=case.model(), tokenizer=toy_tokenizer())(**inputs)
    answers = found[task] if isinstance(expected, list) else [found[task]]
    for answer, wanted in zip(answers, expected if isinstance(expected, list) else [expected], strict=True):
        assert answer.pop("score", 0) == pytest.approx(wanted.pop("score", 0), rel=1e-4)
        assert answer == wanted


def test_sentence_transformers_take_an_encoder_as_it_is(found: dict[str, Any]) -> None:
    """The mean over the real tokens, as it pools where a folder says nothing else."""
    batch = toy_tokenizer()(REVIEW_TEXTS, padding=True, return_tensors="pt")
    states = ENCODER.model(classifier_pooling="mean")(**batch).last_hidden_state
    mask = batch["attention_mask"][..., None]
    expected = (states * mask).sum(1) / mask.sum(1)
    torch.testing.assert_close(torch.tensor(found["embedded"]), expected, atol=1e-5, rtol=0)
