# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Exported folders in ONNX Runtime: what they answer and write is what our models do; what cannot be is refused."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import export as program
import pytest
import torch
import writers
from demos import SAVE, save_encoder
from model_cases import (
    CASES,
    MASKED_LM,
    SEQ2SEQ_LM,
    SWITCHES,
    TEXTS,
    TOKENS,
    Case,
)
from shared import refused
from torch import Tensor
from transformers import AutoTokenizer, pipeline
from transformers.modeling_outputs import BaseModelOutput

import modeling_scratch as scratch
from modeling_scratch.exporting.graphs import COMPARED, export_graphs, largest_difference
from modeling_scratch.exporting.program import NEEDED, ExportArguments, check_versions, export
from modeling_scratch.utils.errors import DataError

TEXT = "a slow and bad film by Anna Berg"
SENTENCE = "word3 word5 word8 word1"


MISSING = [name for name in NEEDED if find_spec(name) is None]
in_onnxruntime = pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}")


def exported(model: Path, folder: Path) -> Any:
    """A folder of export, opened in its runtime as Transformers opens it."""
    from transformers.exporters import ExportedModel

    export(ExportArguments("onnx", str(model), str(folder)))
    return ExportedModel.from_pretrained(folder)


@pytest.mark.slow
@in_onnxruntime
def test_a_classifier_answers_as_ours(tmp_path: Path) -> None:
    model, folder = SAVE["labels"](tmp_path / "model"), tmp_path / "out"
    logits = exported(model, folder)(**AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")).logits
    best = pipeline("text-classification", model=str(model))(TEXT)[0]
    assert logits.softmax(-1).max().item() == pytest.approx(best["score"], abs=1e-5)
    assert not [file for file in folder.iterdir() if str(tmp_path).encode() in file.read_bytes()]


@pytest.mark.slow
@in_onnxruntime
def test_a_translator_writes_greedily_as_ours(tmp_path: Path) -> None:
    source, target = writers.words(), writers.words("x")
    ours = writers.translator(source, target, decoder_layers=2)
    ours.generation_config.update(no_repeat_ngram_size=None, suppress_tokens=None)
    model = writers.save(tmp_path / "model", ours, source)
    target.save_pretrained(model / "target_tokenizer")
    inputs = source(SENTENCE, return_tensors="pt")
    expected = ours.generate(**inputs, max_new_tokens=20, do_sample=False, num_beams=1)[0].tolist()
    run = exported(model, tmp_path / "out").runners
    written = torch.tensor([[ours.config.decoder_start_token_id]])
    found = run["prefill"](
        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], decoder_input_ids=written
    )
    encoded = BaseModelOutput(last_hidden_state=found.encoder_last_hidden_state)
    for _ in expected[1:]:
        written = torch.cat((written, found.logits[:, -1:].argmax(-1)), 1)
        found = run["decode"](
            attention_mask=inputs["attention_mask"], decoder_input_ids=written[:, -1:], encoder_outputs=encoded,
            past_key_values=found.past_key_values,
        )  # fmt: skip
    assert written[0].tolist() == expected
    assert (tmp_path / "out" / "target_tokenizer" / "tokenizer.json").is_file()


ROWS = [(case, settings) for number, settings in enumerate(SWITCHES.values()) for case in CASES[number::5]]
ROWS += [(case, SWITCHES["alibi-sandwich"]) for case in (TOKENS, SEQ2SEQ_LM)]
ROWS += [(case, SWITCHES["relative-query_key_norm"]) for case in (MASKED_LM, SEQ2SEQ_LM)]
ROWS += [(MASKED_LM, SWITCHES["local-parallel"])]


@pytest.mark.slow
@in_onnxruntime
@pytest.mark.parametrize(
    ("case", "settings"),
    [
        pytest.param(case, settings, id=f"{case.model_class.__name__}-{number}")
        for number, (case, settings) in enumerate([(TEXTS, {"type_vocab_size": 2}), *ROWS])
    ],
)
def test_every_class_in_onnxruntime(case: Case, settings: dict[str, Any], tmp_path: Path) -> None:
    """Each class with one of the switches: equal over all sizes of batch."""
    assert export_graphs(case.model(**settings, attn_implementation="eager"), tmp_path)


WRONG: dict[str, Callable[[Tensor], Tensor]] = {
    "other": lambda logits: logits + 1e-3, "NaN": lambda logits: logits * torch.nan, "cut": lambda logits: logits[:, 1:]
}  # fmt: skip


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
@torch.no_grad()
def test_a_wrong_runtime_is_rejected(change: Callable[[Tensor], Tensor]) -> None:
    model = TEXTS.model(attn_implementation="eager")
    assert largest_difference(model, "model", model, [*COMPARED[:2]]) < 1e-5
    with pytest.raises(DataError, match=r"model: logits differs from PyTorch .* length=1"):
        largest_difference(model, "model", lambda **inputs: {"logits": change(model(**inputs).logits)}, [COMPARED[0]])


def test_what_cannot_be_exported_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = save_encoder(tmp_path / "model", scratch.ScratchEncoderForSequenceClassification)
    output = tmp_path / "out"

    def fails(*pieces: str, **options: object) -> None:
        given = {"format": "onnx", "model": model, "output_dir": output, **options}
        refused(capfd, program.main, [each for name, value in given.items() for each in (f"--{name}", value)], *pieces)
        assert not output.exists()

    for kind, told in (
        ("gguf", "use `modeling-scratch convert"),
        ("openvino", "use --format onnx"),
        ("executorch", "use"),
    ):
        fails(f"--format {kind} is retired: {told}", format=kind)
    fails("invalid choice", format="coreml")
    if MISSING:
        fails("it needs", "pip install 'modeling-scratch[onnx]'")
    else:
        fails("already exists", output_dir=model)
        fails("folder not found", model=tmp_path / "none")


@pytest.mark.parametrize(("library", "python"), [("5.22.1", "3.12.1"), ("5.23.0", "3.10.14")])
def test_versions_without_exporters_are_refused(library: str, python: str) -> None:
    check_versions("5.23.0", "3.11.0")
    with pytest.raises(DataError, match=rf"Transformers 5.23 or later, and Python 3.11 .* are {library} and {python}"):
        check_versions(library, python)
