# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Gradio makes an interface of a pipeline by the library's own class, so that the import must not replace it."""

from typing import Any

import pytest
from model_cases import CAUSAL_LM, MASKED_LM, TEXTS, TOKENS, Case
from toy_text import toy_tokenizer
from transformers import pipeline

gradio = pytest.importorskip("gradio")

# Task: the model, and the component that shows an answer.
TASKS = {
    "text-classification": (TEXTS, "Label"),
    "token-classification": (TOKENS, "HighlightedText"),
    "fill-mask": (MASKED_LM, "Label"),
    "text-generation": (CAUSAL_LM, "Textbox"),
}


@pytest.mark.parametrize(("task", "case", "component"), [(task, *found) for task, found in TASKS.items()])
def test_gradio_makes_an_interface_of_a_pipeline(task: str, case: Case, component: str) -> None:
    serve: Any = pipeline(task, model=case.model(), tokenizer=toy_tokenizer())
    interface = gradio.Interface.from_pipeline(serve)
    assert [type(each).__name__ for each in interface.input_components] == ["Textbox"]
    assert [type(each).__name__ for each in interface.output_components] == [component]
