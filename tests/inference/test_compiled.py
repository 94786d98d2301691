# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""--compile: the same texts by a compiled pass of a token, which one graph of single texts and one of batches run."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import writers
from model_cases import padded
from native_models import NATIVES
from serving import save_classifier, served
from torch import Tensor

from modeling_scratch.inference.compiled import compile_generation
from modeling_scratch.serving.answerers import load_answerer
from modeling_scratch.utils.errors import DataError

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
PROMPTS = [torch.tensor(tokens) for tokens in ([5, 6], [4, 5, 6, 7, 4], [6])]


def models() -> dict[str, Any]:
    words = writers.words()
    return {"left": writers.decoder(writers.characters()), "right": writers.translator(words, words)}


def written(model: Any, rows: list[Tensor], side: str, **options: Any) -> Tensor:
    torch.manual_seed(0)
    return model.generate(**padded(rows, side, max(map(len, rows))), **options)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_compiled_pass_writes_the_same_and_fits_other_batches(side: str) -> None:
    """Once a single text and a batch were written, other numbers of texts and other lengths are, without compiling."""
    torch.compiler.reset()
    calls = [
        (rows, {"max_new_tokens": new, **search})
        for rows, new in ((PROMPTS[:1], 6), (PROMPTS, 6), (PROMPTS[:2], 9), (PROMPTS[1:2], 12), (PROMPTS * 2, 4))
        for search in ({"do_sample": False}, {"do_sample": True, "top_k": 5}, {"num_beams": 3, "do_sample": False})
    ]
    model = models()[side]
    expected = [written(model, rows, side, **options) for rows, options in calls]
    compile_generation(model)
    for (rows, options), text in zip(calls[:6], expected):
        assert torch.equal(written(model, rows, side, **options), text)
    with torch.compiler.set_stance("fail_on_recompile"):
        for (rows, options), text in zip(calls, expected):
            assert torch.equal(written(model, rows, side, **options), text)
    assert len({tuple(row) for row in expected[1].tolist() + expected[4].tolist()}) > 1


@pytest.mark.slow
@needs_compiler
def test_models_of_one_shape_have_graphs_of_their_own() -> None:
    characters = writers.characters()
    both = [writers.decoder(characters, hidden_act=activation) for activation in ("gelu", "relu")]
    expected = [written(model, PROMPTS, "left", max_new_tokens=12) for model in both]
    assert not torch.equal(*expected)
    for model in both:
        compile_generation(model)
    for model, text in zip(both, expected):
        assert torch.equal(written(model, PROMPTS, "left", max_new_tokens=12), text)


REQUESTS = [
    {"inputs": [writers.text_of(length + row % 2) for row in range(texts)], "num_beams": beams, "max_new_tokens": new}
    for beams, texts, length, new in [
        (1, 1, 3, 5), (1, 1, 1, 1), (1, 2, 1, 2), (1, 4, 4, 4), (1, 8, 20, 20), (2, 1, 3, 2), (2, 2, 3, 3), (8, 3, 5, 9)
    ]
]  # fmt: skip


def native(tokenizer: Any) -> Any:
    """A model of the library, whose own compiled call is used."""
    ids = {"vocab_size": len(tokenizer), "max_position_embeddings": writers.POSITIONS}
    ids |= {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "eos", "bos")}
    marian = next(each for each in NATIVES if (each.model_type, each.head[-10:]) == ("marian", "Generation"))
    config = marian.config(**ids, decoder_start_token_id=tokenizer.pad_token_id)
    return writers.lively(marian.model_class(config), tokenizer)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("name", ["words", "characters", "native"])
def test_no_request_to_a_compiled_server_compiles(name: str, tmp_path: Path) -> None:
    """Whatever its beams, its texts and their lengths: all was compiled before the server listens."""
    tokenizer = writers.characters() if name == "characters" else writers.words()
    model = native(tokenizer) if name == "native" else writers.translator(tokenizer, tokenizer)
    folder = writers.save(tmp_path, model, tokenizer)
    torch.compiler.reset()
    answers = []
    for compiles in False, True:
        task = load_answerer(str(folder), "cpu", compiles=compiles)
        with torch.compiler.set_stance("fail_on_recompile"), served(task) as client:
            answers.append([client.post("/translate", json=request).json()["outputs"] for request in REQUESTS])
    assert answers[0] == answers[1]


def test_what_cannot_be_compiled_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = save_classifier(tmp_path / "classifier")
    with pytest.raises(DataError, match="--compile: the model writes no texts"):
        load_answerer(str(classifier), compiles=True)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(DataError, match=r"--compile: requires a C\+\+ compiler"):
        compile_generation(models()["left"])
