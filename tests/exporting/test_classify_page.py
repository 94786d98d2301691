# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page of an exported classifier answers in a browser what ours answers, with each kind of tokenizer."""

import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import writers
from browser import violations
from conftest import redraw
from transformers import AutoTokenizer, pipeline

import modeling_scratch as scratch
from modeling_scratch.bridges.model_sources import read_special_tokens
from modeling_scratch.exporting.program import ExportArguments, export
from tokenization import KINDS, special_token_ids

MISSING = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f"needs {MISSING}")]
READ = [
    "A warm and very human film, isn't it?", "Où est le 7e [SEP] film? <br /> 漢字 🙂 don’t", "word " * 60,
]  # fmt: skip
LABELS = {0: "<b>bad</b>", 1: "good", 2: "so-so"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A folder on this machine with an exported classifier and the packages of its page."""
    if (npm := shutil.which("npm")) is None:
        pytest.skip("needs npm")
    folder = tmp_path_factory.mktemp("page") / "site"
    config = scratch.presets.tutorial(
        vocab_size=700, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, pad_token_id=0
    )
    config.id2label = LABELS
    model = redraw(scratch.ScratchEncoderForSequenceClassification(config), std=0.7, biases=False)
    tokenizer = trained("words")
    config.update(special_token_ids(tokenizer))
    export(ExportArguments("onnx", str(writers.save(folder.parent / "model", model, tokenizer)), str(folder)))
    installed = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, check=False
    )
    if installed.returncode:
        pytest.skip("npm cannot install the packages of the page")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html", folder
        server.shutdown()


def trained(kind: str) -> Any:
    tokenizer = KINDS[kind](READ * 5, vocab_size=400, min_frequency=1, model_max_length=24, show_progress=False)
    read_special_tokens(tokenizer, are_allowed=False)
    return tokenizer


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_answers_as_the_pipeline(page: Any, site: tuple[str, Path], kind: str) -> None:
    url, folder = site
    trained(kind).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    read_special_tokens(tokenizer, None)
    ours = pipeline("text-classification", model=str(folder.parent / "model"), tokenizer=tokenizer, top_k=None)
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    for text in READ:
        page.fill("#text", text)
        page.wait_for_function("text => document.querySelector('#answers').dataset.text === text", arg=text)
        rows = page.eval_on_selector_all(
            "#answers tr", "rows => rows.map(row => [...row.cells].map(c => c.textContent))"
        )
        expected = {each["label"]: each["score"] for each in ours([text], truncation=True, max_length=24)[0]}
        assert [name for name, _ in rows] == list(LABELS.values())
        assert violations(page) == []
        assert {name: float(score) for name, score in rows} == pytest.approx(expected, abs=1e-4)
