# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A tokenizer of single characters: nothing to learn but which characters there are."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from .building import Normalization, check_options, check_room, check_words, checked_texts, finish, make_normalizer
from .special_tokens import choose_style


def train_character_tokenizer(
    texts: Iterable[str],
    vocab_size: int | None = None,
    *,
    style: str = "gpt",
    lowercase: bool = False,
    normalization: Normalization | None = None,
    min_frequency: int = 1,
    model_max_length: int = 512,
    padding_side: Literal["left", "right"] = "right",
    token_type_ids: bool = False,
    length: int | None = None,
    show_progress: bool = True,
) -> PreTrainedTokenizerFast:
    """One token a character, white space and line breaks included, so that decoding gives back every text exactly.

    A character is a code point. Those of the texts are known, in the order of their code points behind the special
    tokens; all others are the unknown token. Where `vocab_size` leaves room for some only, the most frequent are kept,
    the first in the order of code points of those that are equally frequent; None: room for all.
    All else is as in `train_bpe_tokenizer`.

    >>> from tokenization import train_character_tokenizer
    >>> tokenizer = train_character_tokenizer(["to be or not to be"], show_progress=False)
    >>> tokenizer.decode(tokenizer("be not", add_special_tokens=False)["input_ids"])
    'be not'
    """
    special_tokens = choose_style(style, model_max_length)
    check_options(1 if vocab_size is None else vocab_size, min_frequency, padding_side)
    tokenizer = Tokenizer(models.WordLevel(unk_token=special_tokens.roles["unk_token"]))
    tokenizer.normalizer = make_normalizer(normalization, lowercase)
    counts = Counter[str]()
    for text in checked_texts(texts, length, show_progress):
        counts.update(tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text)
    check_words(len(counts))

    tokens = [token.content for token in special_tokens.tokens]
    frequent = sorted((c for c in counts if counts[c] >= min_frequency), key=lambda c: (-counts[c], c))
    if vocab_size is not None:
        check_room(vocab_size, len(tokens) + 1, "the special tokens and a character")
        frequent = frequent[: vocab_size - len(tokens)]
    vocabulary = {token: number for number, token in enumerate([*tokens, *sorted(frequent)])}
    tokenizer.model = models.WordLevel(vocabulary, unk_token=special_tokens.roles["unk_token"])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    size = len(vocabulary)
    return finish(tokenizer, size, special_tokens, model_max_length, padding_side, token_type_ids)
