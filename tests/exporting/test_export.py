# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Exported folders in their runtimes: what they answer and write is what our models do; what cannot be is refused."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import export as program
import numpy as np
import pytest
import torch
import writers
from conftest import redraw, refused
from demos import SAVE, save_encoder
from model_cases import (
    CASES,
    CAUSAL_LM,
    MASK,
    MASKED_LM,
    SEQ2SEQ_LM,
    SPANS,
    SWITCHES,
    TEXTS,
    TINY,
    TOKENS,
    Case,
    assert_close,
    draw_ids,
)
from transformers import pipeline

import modeling_scratch as scratch
from modeling_scratch.exporting.checking import largest_difference
from modeling_scratch.exporting.formats import FORMATS
from modeling_scratch.exporting.graphs import Graph, graphs_of, trace
from modeling_scratch.exporting.program import ExportArguments, export, graphs_for, write_graphs
from modeling_scratch.utils.errors import DataError
from tokenization import special_token_ids, train_bpe_tokenizer

TEXT = "a slow and bad film by Anna Berg"
SENTENCE = "word3 word5 word8 word1"
RUNTIMES = {"onnx": ("onnx", "onnxscript", "onnxruntime"), "openvino": ("onnx", "onnxscript", "openvino")}
EXECUTORCH = {"executorch": ("executorch", "torchao")}  # of encoders


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def slow(runtimes: dict[str, tuple[str, ...]]) -> pytest.MarkDecorator:
    params = [pytest.param(kind, marks=[pytest.mark.slow, needs(*modules)]) for kind, modules in runtimes.items()]
    return pytest.mark.parametrize("kind", params)


slow_runtimes = slow(RUNTIMES)
onnx_only = [pytest.mark.slow, needs(*RUNTIMES["onnx"])]


def exported(kind: str, model: Path, folder: Path) -> Path:
    export(ExportArguments(kind, str(model), str(folder)))
    return folder


def run_readme(folder: Path, *changes: tuple[str, str]) -> str:
    """What the program of the README prints, where this package cannot be imported."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    names = ["transformers", "modeling_scratch", *(["torch"] if "import torch" not in code else [])]
    hidden = f"import sys\nfor name in {names}: sys.modules[name] = None\n{code}"
    return subprocess.run(
        [sys.executable, "-c", hidden], cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


@slow({**RUNTIMES, **EXECUTORCH})
def test_a_classifier_answers_as_ours(kind: str, tmp_path: Path) -> None:
    model = SAVE["labels"](tmp_path / "model")
    folder = exported(kind, model, tmp_path / "out")
    logits = torch.tensor([float(each) for each in run_readme(folder, ("A text.", TEXT)).strip("[]").split(",")])
    best = pipeline("text-classification", model=str(model))(TEXT)[0]
    assert logits.softmax(-1).max().item() == pytest.approx(best["score"], abs=1e-5)
    assert not [file for file in folder.iterdir() if str(tmp_path).encode() in file.read_bytes()]


@slow_runtimes
def test_a_decoder_writes_greedily_as_ours(kind: str, tmp_path: Path) -> None:
    tokenizer = writers.characters()
    ours = writers.decoder(tokenizer, num_key_value_heads=2, position_type="rotary", num_hidden_layers=2)
    ours.generation_config.update(no_repeat_ngram_size=None, suppress_tokens=None)
    model = writers.save(tmp_path / "model", ours, tokenizer)
    ids = tokenizer("abc", return_tensors="pt")
    expected = tokenizer.decode(ours.generate(**ids, max_new_tokens=20, do_sample=False)[0], skip_special_tokens=True)
    assert run_readme(exported(kind, model, tmp_path / "out"), ("A text", "abc")) == expected.strip()


@slow_runtimes
def test_a_translator_writes_greedily_as_ours(kind: str, tmp_path: Path) -> None:
    source, target = writers.words(), writers.words("x")
    ours = writers.translator(source, target, decoder_layers=2)
    ours.generation_config.update(no_repeat_ngram_size=None, suppress_tokens=None)
    model = writers.save(tmp_path / "model", ours, source)
    target.save_pretrained(model / "target_tokenizer")
    found = ours.generate(**source(SENTENCE, return_tensors="pt"), max_new_tokens=20, do_sample=False, num_beams=1)
    expected = target.decode(found[0], skip_special_tokens=True)
    assert run_readme(exported(kind, model, tmp_path / "out"), ("A text.", SENTENCE)) == expected


ROWS = [(case, settings) for number, settings in enumerate(SWITCHES.values()) for case in CASES[number::5]]
ROWS += [(case, SWITCHES["alibi-sandwich"]) for case in (TOKENS, SEQ2SEQ_LM)]
ROWS += [(case, SWITCHES["relative-query_key_norm"]) for case in (MASKED_LM, SEQ2SEQ_LM)]
ROWS += [(MASKED_LM, SWITCHES["local-parallel"])]


@pytest.mark.parametrize(
    ("case", "settings"),
    [
        pytest.param(case, settings, id=f"{case.model_class.__name__}-{number}", marks=onnx_only)
        for number, (case, settings) in enumerate([(TEXTS, {"type_vocab_size": 2}), *ROWS])
    ],
)
def test_every_class_in_onnxruntime(case: Case, settings: dict[str, Any], tmp_path: Path) -> None:
    """Each class with one of the switches: equal over all sizes of batch."""
    model = case.model(**settings, attn_implementation="eager")
    kind = FORMATS["onnx"]
    for graph in graphs_of(model):
        path = tmp_path / f"{graph.name}.onnx"
        kind.write(trace(graph), graph, path)
        assert largest_difference(graph, kind.load(path), 1e-5, TINY["max_position_embeddings"]) < 1e-5


@slow(EXECUTORCH)
@pytest.mark.parametrize(
    ("case", "switch"), [(SPANS, "local-parallel"), (MASKED_LM, "relative-query_key_norm")], ids=str
)
def test_encoders_in_executorch(kind: str, case: Case, switch: str, tmp_path: Path) -> None:
    model = case.model(**SWITCHES[switch], attn_implementation="eager")
    assert list(write_graphs(graphs_for(kind, model), kind, tmp_path, model.config))


LOCAL: dict[str, dict[str, Any]] = {
    "mistral": {"sliding_window": 4},
    "gemma 3": {
        "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"], "local_rope_theta": 100.0,
        "query_key_norm": True, "norm_position": "sandwich",
    },
}  # fmt: skip


@slow_runtimes
@pytest.mark.parametrize("settings", LOCAL.values(), ids=LOCAL)
def test_a_window_slides_over_the_cache(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    """Token by token, far beyond the window: the logits are those of the whole text, read without a cache."""
    rotary = {"position_type": "rotary", "norm_type": "rms_norm", "norm_position": "pre", "num_key_value_heads": 2}
    model = CAUSAL_LM.model(**{**rotary, **settings}, attn_implementation="eager")
    (graph,) = graphs_of(model)
    assert list(write_graphs((graph,), kind, tmp_path, model.config))
    run = FORMATS[kind].load(tmp_path / f"model{FORMATS[kind].suffix}")
    ids, mask = draw_ids(), MASK.clone()
    mask[1] = 1  # texts padded on the left, or not at all
    with torch.no_grad():
        expected = model(ids, attention_mask=mask, use_cache=False).logits
    empty = {"batch": len(ids), "past": 0}
    cache = {port.name: np.zeros([empty.get(a, a) for a in port.axes], np.float32) for port in graph.inputs[2:]}
    for place in range(ids.shape[1]):
        read = {"input_ids": ids[:, [place]].numpy(), "attention_mask": mask[:, : place + 1].numpy()}
        logits, *states = run({**read, **cache})
        cache = dict(zip(cache, states))
        is_real = mask[:, place].bool()
        assert_close(torch.from_numpy(logits)[is_real, 0], expected[is_real, place])


def changed(graph: Graph, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[dict], list]:
    """The graph in PyTorch with a change of its outputs, as a runtime that is wrong."""

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        with torch.no_grad():
            return [change(each.numpy()) for each in graph.module(*map(torch.from_numpy, inputs.values()))]

    return run


def test_a_wrong_runtime_is_rejected() -> None:
    (graph,) = graphs_of(CASES[2].model(attn_implementation="eager"))
    assert largest_difference(graph, changed(graph, np.copy), 1e-5, None) < 1e-5
    for change in (lambda each: each + 1e-3, lambda each: each * np.nan, lambda each: each[:, :1]):
        with pytest.raises(DataError, match=r"model: logits differs from PyTorch .* 1 texts of 1 tokens"):
            largest_difference(graph, changed(graph, change), 1e-5, None)


def test_what_cannot_be_exported_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = save_encoder(tmp_path / "model", scratch.ScratchEncoderForSequenceClassification)
    output = tmp_path / "out"

    def fails(*pieces: str, **options: object) -> None:
        given = {"format": "onnx", "model": model, "output_dir": output, **options}
        refused(capfd, program.main, [each for name, value in given.items() for each in (f"--{name}", value)], *pieces)
        assert not output.exists()

    for kind, modules in {**RUNTIMES, **EXECUTORCH, "gguf": ("gguf", "xllamacpp")}.items():
        if any(find_spec(name) is None for name in modules):
            fails("it needs", f"pip install 'modeling-scratch[{kind}]'", format=kind)
    fails("invalid choice", format="coreml")
    if all(map(find_spec, RUNTIMES["onnx"])):
        fails("exists already", output_dir=model)
        fails("folder not found", model=tmp_path / "none")
    if all(map(find_spec, EXECUTORCH["executorch"])):
        fails("only for encoders", "use onnx", format="executorch", model=SAVE["translator"](tmp_path / "translator"))
    if all(map(find_spec, ("gguf", "xllamacpp"))):
        fails("only for decoders", format="gguf")
        fails("no pre-tokenizer for this tokenizer", format="gguf", model=SAVE["writer"](tmp_path / "writer"))


@pytest.mark.slow
@needs("gguf", "xllamacpp")
@pytest.mark.parametrize(("preset", "settings"), [("llama", {"num_key_value_heads": 2}), ("gpt2", {})])
def test_llama_cpp_writes_as_ours(preset: str, settings: dict[str, int], tmp_path: Path) -> None:
    """The export compares greedy tokens, their probabilities and the tokens of texts in llama.cpp."""
    texts = ["the king came home with 12 men", "where is it, he said"] * 50
    tokenizer = train_bpe_tokenizer(texts, 330, style="gpt", show_progress=False)
    sizes = {
        "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
        "max_position_embeddings": 64, "vocab_size": len(tokenizer),
    }  # fmt: skip
    config = getattr(scratch.presets, preset)(**sizes, **settings, **special_token_ids(tokenizer))
    model = writers.save(tmp_path / "model", redraw(scratch.ScratchDecoderForCausalLM(config), std=0.2), tokenizer)
    folder = exported("gguf", model, tmp_path / "out")
    assert (folder / "model.gguf").read_bytes()[:4] == b"GGUF"
