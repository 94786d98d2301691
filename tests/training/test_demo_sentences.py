# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the demo is asked at its end: sentences of words that its tokenizer knows."""

import pytest
from transformers import PreTrainedTokenizerBase

from modeling_scratch.data.demo_reviews import demo_splits
from modeling_scratch.training.classification import SENTENCES
from tokenization import train_wordlevel_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    texts = [text for text, _ in demo_splits(train_size=3_000, validation_size=2, test_size=2)["train"]]
    return train_wordlevel_tokenizer(texts, 16_000, style="bert", lowercase=True, min_frequency=2)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_demo_knows_every_word_of_its_sentences(tokenizer: PreTrainedTokenizerBase, sentence: str) -> None:
    assert tokenizer.unk_token not in tokenizer.tokenize(sentence)
