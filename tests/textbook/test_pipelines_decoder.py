# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The library's pipelines that a decoder serves: in batches as one by one, and as `generate` goes on."""

from pathlib import Path
from typing import Any

import pytest
from conftest import lively
from transformers import PreTrainedTokenizerFast, TextIteratorStreamer, pipeline

from modeling_scratch import ScratchDecoderConfig, ScratchDecoderForCausalLM, ScratchDecoderForSequenceClassification
from tokenization import special_token_ids, train_bpe_tokenizer

PROMPTS = ["once upon a time", "a", "the green field and the old dog"]
CHAT = [{"role": "user", "content": "tell me of the dog"}]
TEMPLATE = "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}"
OPTIONS = {"max_new_tokens": 6, "do_sample": False, "no_repeat_ngram_size": 1}
SIZES = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24,
    "norm_position": "pre", "position_type": "rotary",
}  # fmt: skip


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    return train_bpe_tokenizer(PROMPTS * 3, 300, style="gpt", padding_side="left", show_progress=False)


def build(model_class: Any, tokenizer: PreTrainedTokenizerFast) -> Any:
    ids = {"vocab_size": len(tokenizer), **special_token_ids(tokenizer)}
    return lively(model_class(ScratchDecoderConfig(**SIZES, **ids)))


def test_texts_and_chats_go_on_as_generate_goes_on(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    model, tokenizer.chat_template = build(ScratchDecoderForCausalLM, tokenizer), TEMPLATE
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    write: Any = pipeline("text-generation", model=str(tmp_path))

    def continuation(prompt: str) -> str:
        inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        ids = model.generate(**inputs, **OPTIONS)[0, inputs["input_ids"].shape[1] :]
        return tokenizer.decode(ids, skip_special_tokens=True)

    expected = [continuation(prompt) for prompt in PROMPTS]
    assert len(set(expected)) == len(PROMPTS)
    for batch_size in 1, 3:
        found = write(PROMPTS, batch_size=batch_size, return_full_text=False, **OPTIONS)
        assert [answers[0]["generated_text"] for answers in found] == expected
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
    write(PROMPTS[0], streamer=streamer, **OPTIONS)
    assert "".join(streamer) == expected[0]
    prompt = tokenizer.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    assert write(CHAT, **OPTIONS)[0]["generated_text"][-1] == {"role": "assistant", "content": continuation(prompt)}


@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_texts_are_classified_the_same_in_batches(tokenizer: PreTrainedTokenizerFast, padding_side: str) -> None:
    model, tokenizer.padding_side = build(ScratchDecoderForSequenceClassification, tokenizer), padding_side
    classify: Any = pipeline("sentiment-analysis", model=model, tokenizer=tokenizer)
    single, batch = classify(PROMPTS, batch_size=1), classify(PROMPTS, batch_size=3)
    assert [answer["label"] for answer in single] == [answer["label"] for answer in batch]
    assert [answer["score"] for answer in batch] == pytest.approx([answer["score"] for answer in single], abs=1e-5)
