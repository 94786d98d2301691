# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Gradio makes an interface of a pipeline by the library's own class, so that the import must not replace it."""

from typing import Any

import pytest
from model_cases import TEXTS
from toy_text import toy_tokenizer
from transformers import pipeline

gradio = pytest.importorskip("gradio")


def test_gradio_makes_an_interface_of_a_pipeline() -> None:
    serve: Any = pipeline("text-classification", model=TEXTS.model(), tokenizer=toy_tokenizer())
    interface = gradio.Interface.from_pipeline(serve)
    assert [type(each).__name__ for each in interface.input_components] == ["Textbox"]
    assert [type(each).__name__ for each in interface.output_components] == ["Label"]
