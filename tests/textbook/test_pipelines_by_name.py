# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The package's own pipelines by name, from a saved folder: with the package, nobody has to trust the folder's code."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import redraw
from toy_text import toy_tokenizer
from transformers import pipeline

from modeling_scratch import (
    ScratchEncoderConfig,
    ScratchEncoderForQuestionAnswering,
    ScratchSeq2SeqConfig,
    ScratchSeq2SeqForConditionalGeneration,
)
from modeling_scratch.pipelines import SEQ2SEQ_PIPELINES
from modeling_scratch.question_answering import ENCODER_PIPELINES

SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
QUESTION = {"question": "who ?", "context": "what a good film by Anna Berg"}
ALL = [*ENCODER_PIPELINES, *SEQ2SEQ_PIPELINES]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of each task, a folder whose model it serves."""
    tokenizer, top = toy_tokenizer(), tmp_path_factory.mktemp("folders")
    sizes = {**SIZES, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    target = {"decoder_start_token_id": tokenizer.pad_token_id, "eos_token_id": 1}
    models: Any = {
        "encoder": ScratchEncoderForQuestionAnswering(ScratchEncoderConfig(**sizes)),
        "encoder-decoder": ScratchSeq2SeqForConditionalGeneration(ScratchSeq2SeqConfig(**sizes, **target)),
    }
    for name, model in models.items():
        redraw(model).save_pretrained(top / name)
        tokenizer.save_pretrained(top / name)
    return {task: str(top / ("encoder" if task in ENCODER_PIPELINES else "encoder-decoder")) for task in ALL}


@pytest.mark.parametrize(("task", "trust"), [*zip(ALL, (None, False, True, None), strict=True)])
def test_a_pipeline_of_the_package_is_found_by_its_name(folders: dict[str, str], task: str, trust: bool | None) -> None:
    serve: Any = pipeline(task, model=folders[task], trust_remote_code=trust)
    assert type(serve) is (ENCODER_PIPELINES | SEQ2SEQ_PIPELINES)[task][0]
    if task == "extractive-question-answering":  # the only one of its folder
        assert type(pipeline(model=folders[task])) is type(serve)
    answers = serve(**QUESTION) if task in ENCODER_PIPELINES else serve("a good film", max_new_tokens=3)
    assert answers


def test_code_of_others_needs_trust_whatever_its_task_is_called(folders: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(folders["extractive-question-answering"], tmp_path, dirs_exist_ok=True)
    config = json.loads((tmp_path / "config.json").read_text())
    for task in "extractive-question-answering", "reviews":
        config["custom_pipelines"] = {task: {"impl": "theirs.Pipeline", "pt": ["AutoModelForQuestionAnswering"]}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(ValueError, match="trust_remote_code"):
            pipeline(task, model=str(tmp_path))
