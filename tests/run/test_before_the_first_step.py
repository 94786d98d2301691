# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What can only fail at the first save, or at the first evaluation, is tried before the first step."""

import json
from pathlib import Path

import pretrain
import pytest
import torch
import train_answers
import train_tokens
from processes import refusal
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    BartConfig,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    TrainingArguments,
)

from modeling_scratch import (
    ScratchDecoderConfig,
    ScratchSeq2SeqConfig,
    ScratchSeq2SeqForConditionalGeneration,
    load_pretrained,
)
from modeling_scratch.bridges.model_sources import load_model
from modeling_scratch.modeling_decoder import ScratchDecoderForCausalLM
from modeling_scratch.run.life_cycle import rehearse
from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.utils.errors import DataError

SIZES = {"vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
REFUSED_BY_THE_LIBRARY = {"temperature": 0.7, "top_p": 0.9, "length_penalty": 2.0}  # without do_sample or beams


def decoder() -> ScratchDecoderForCausalLM:
    return ScratchDecoderForCausalLM(ScratchDecoderConfig(**SIZES, intermediate_size=16))


@pytest.mark.parametrize("samples", [True, False])
def test_settings_that_cannot_be_saved_are_left_out_when_they_have_no_effect(samples: bool, tmp_path: Path) -> None:
    """Of a native model and of an own one."""
    settings = REFUSED_BY_THE_LIBRARY | ({"do_sample": True, "num_beams": 2} if samples else {})
    native = GPT2LMHeadModel(GPT2Config(vocab_size=20, n_embd=16, n_layer=1, n_head=2, n_positions=8))
    for model, load in (
        (native, lambda folder: load_pretrained(folder, ScratchDecoderForCausalLM)),
        (decoder(), lambda folder: load_model(AutoModelForCausalLM, "ForCausalLM", folder, False)),
    ):
        model.save_pretrained(tmp_path / "model")
        (tmp_path / "model" / "generation_config.json").write_text(json.dumps(settings))
        load(str(tmp_path / "model")).save_pretrained(tmp_path / "saved")
        kept = GenerationConfig.from_pretrained(tmp_path / "saved")
        expected = REFUSED_BY_THE_LIBRARY if samples else dict.fromkeys(REFUSED_BY_THE_LIBRARY)
        assert {name: getattr(kept, name) for name in expected} == expected


def test_a_model_that_cannot_be_saved_is_not_trained(tmp_path: Path) -> None:
    model, row = decoder(), {"input_ids": torch.ones(4, dtype=torch.long), "labels": torch.ones(4, dtype=torch.long)}
    arguments = TrainingArguments(str(tmp_path / "run"), report_to=[], use_cpu=True)
    rehearse(RunTrainer(model, arguments, train_dataset=[row], eval_dataset=[row]))
    model.generation_config.temperature = 0.5
    with pytest.raises(DataError, match=r"the model could not be saved: .*temperature"):
        rehearse(RunTrainer(model, arguments, train_dataset=[row], eval_dataset=[row]))


@pytest.mark.parametrize("program", [train_tokens, train_answers, pretrain])
def test_a_score_that_no_evaluation_has_is_refused(program, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    objective = ["--objective", "clm"] if program is pretrain else []
    options = [*objective, "--train_file", str(tmp_path / "none.txt"), "--output_dir", str(tmp_path / "run")]
    told = refusal(capsys, program.main, [*options, "--metric_for_best_model", "nothing"])
    assert "--metric_for_best_model nothing: the choices are loss, " in told


def test_an_encoder_decoder_does_not_classify_and_is_told_so(tmp_path: Path) -> None:
    config = ScratchSeq2SeqConfig(**SIZES, intermediate_size=16, pad_token_id=0, decoder_start_token_id=1)
    ScratchSeq2SeqForConditionalGeneration(config).save_pretrained(tmp_path / "own")
    sizes = {"vocab_size": 20, "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "pad_token_id": 0}
    BartConfig(**sizes, decoder_attention_heads=2, encoder_attention_heads=2).save_pretrained(tmp_path / "native")
    for name in "own", "native":
        with pytest.raises(DataError, match=r"has no ForSequenceClassification"):
            load_model(AutoModelForSequenceClassification, "ForSequenceClassification", str(tmp_path / name), False)
