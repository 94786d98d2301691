# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A tokenizer of whole words and a handful of labelled reviews for it."""

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
REVIEWS = (
    ("a good film", 1),
    ("bad", 0),
    ("what a very very good and moving film from Paris", 1),
    ("not good at all", 0),
    ("good", 1),
    ("a slow and bad film by Anna Berg", 0),
    ("moving", 1),
    ("the film is slow , bad and long", 0),
)


def toy_tokenizer(padding_side: str = "right") -> PreTrainedTokenizerFast:
    words = sorted({word for text, _ in REVIEWS for word in text.split()} | {"This", "example", "is", "."})
    vocabulary = {token: i for i, token in enumerate([*SPECIAL.values(), *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, padding_side=padding_side, model_max_length=32, **SPECIAL,
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
