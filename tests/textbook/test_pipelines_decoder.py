# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every ordinary pipeline that a decoder serves, from the object and from its folder."""

from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import lively
from transformers import Pipeline, PreTrainedTokenizerFast, TextIteratorStreamer, pipeline

from modeling_scratch import (
    ScratchDecoderConfig,
    ScratchDecoderForCausalLM,
    ScratchDecoderForSequenceClassification,
    ScratchDecoderModel,
)
from tokenization import special_token_ids, train_bpe_tokenizer

PROMPTS = ["once upon a time", "a", "the green field and the old dog"]
CHAT = [{"role": "user", "content": "tell me of the dog"}]
TEMPLATE = "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}"
OPTIONS = {"max_new_tokens": 6, "do_sample": False, "no_repeat_ngram_size": 1}
SIZES = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24,
    "norm_position": "pre", "position_type": "rotary",
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = train_bpe_tokenizer(PROMPTS * 3, 300, style="gpt", padding_side="left", show_progress=False)
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def build(model_class: Any, tokenizer: PreTrainedTokenizerFast, **settings: Any) -> Any:
    ids = {"vocab_size": len(tokenizer), **special_token_ids(tokenizer)}
    return lively(model_class(ScratchDecoderConfig(**SIZES, **ids, **settings)))


@pytest.fixture(params=["object", "folder"])
def write(request: pytest.FixtureRequest, tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> Pipeline:
    model = build(ScratchDecoderForCausalLM, tokenizer)
    if request.param == "object":
        return pipeline("text-generation", model=model, tokenizer=tokenizer)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return pipeline("text-generation", model=str(tmp_path))


def continuation(write: Any, prompt: str) -> str:
    inputs = write.tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
    ids = write.model.generate(**inputs, **OPTIONS)[0, inputs["input_ids"].shape[1] :]
    return write.tokenizer.decode(ids, skip_special_tokens=True)


def test_texts_go_on_as_generate_goes_on(write: Any) -> None:
    expected = [continuation(write, prompt) for prompt in PROMPTS]
    assert len(set(expected)) == len(PROMPTS)
    for batch_size in (1, 3):
        found = write(PROMPTS, batch_size=batch_size, return_full_text=False, **OPTIONS)
        assert [answers[0]["generated_text"] for answers in found] == expected
    assert write(PROMPTS[0], **OPTIONS) == [{"generated_text": PROMPTS[0] + expected[0]}]


def test_a_chat_goes_on_behind_its_template(write: Any) -> None:
    answer = write(CHAT, **OPTIONS)[0]["generated_text"]
    assert answer[:-1] == CHAT
    assert answer[-1]["role"] == "assistant"
    prompt = write.tokenizer.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    assert answer[-1]["content"] == continuation(write, prompt)


def test_text_is_streamed_as_it_is_written(write: Any) -> None:
    streamer = TextIteratorStreamer(write.tokenizer, skip_prompt=True, skip_special_tokens=True)
    write(PROMPTS[0], streamer=streamer, **OPTIONS)
    assert "".join(streamer) == continuation(write, PROMPTS[0])


def test_features_of_a_text_are_its_hidden_states(tokenizer: PreTrainedTokenizerFast) -> None:
    model = build(ScratchDecoderModel, tokenizer)
    features = pipeline("feature-extraction", model=model, tokenizer=tokenizer)(PROMPTS, batch_size=1)
    for prompt, found in zip(PROMPTS, features):
        inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        torch.testing.assert_close(torch.tensor(found), model(**inputs).last_hidden_state, atol=1e-5, rtol=0)


@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_texts_are_classified_the_same_in_batches(tokenizer: PreTrainedTokenizerFast, padding_side: str) -> None:
    labels = {"id2label": {0: "NEGATIVE", 1: "POSITIVE"}, "label2id": {"NEGATIVE": 0, "POSITIVE": 1}}
    model = build(ScratchDecoderForSequenceClassification, tokenizer, **labels)
    tokenizer.padding_side = padding_side
    classify: Any = pipeline("sentiment-analysis", model=model, tokenizer=tokenizer)
    single, batch = classify(PROMPTS, batch_size=1), classify(PROMPTS, batch_size=3)
    assert [answer["label"] for answer in single] == [answer["label"] for answer in batch]
    assert [answer["score"] for answer in batch] == pytest.approx([answer["score"] for answer in single], abs=1e-5)
    tokenizer.padding_side = "left"
