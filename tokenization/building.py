# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What every kind of tokenizer needs before its training and after it: checks, normalisation and special tokens."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Literal

from tokenizers import Tokenizer, normalizers, processors
from transformers import PreTrainedTokenizerFast
from transformers.utils.logging import tqdm

from .special_tokens import SpecialTokens

logger = logging.getLogger(__name__)

Normalization = Literal["NFC", "NFKC"]
NORMALIZERS = {"NFC": normalizers.NFC, "NFKC": normalizers.NFKC}

# The trainer reserves memory for so many tokens from the start, and where there is none, the process dies.
MAX_VOCAB_SIZE = 2**24
LONG_TEXT = 100_000  # characters to read at once
BEFORE_BLANKS = re.compile(r"(?<=\S)(?=\s)")


def check_options(vocab_size: int, min_frequency: int, padding_side: str) -> None:
    """Refuse before the training what would fail after it, or kill the process."""
    if not 1 <= vocab_size <= MAX_VOCAB_SIZE:
        raise ValueError(f"vocab_size={vocab_size}: has to lie between 1 and {MAX_VOCAB_SIZE}.")
    if min_frequency < 1:
        raise ValueError(f"min_frequency={min_frequency}: has to be at least 1.")
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side={padding_side!r}: the choices are left, right.")


def check_room(vocab_size: int, minimum: int, what: str) -> None:
    if vocab_size < minimum:
        raise ValueError(f"vocab_size={vocab_size}: {what} need {minimum} tokens, so it has to be at least {minimum}.")


def check_words(words: int) -> None:
    if words == 0:
        raise ValueError(
            "texts hold no words to learn from, or none that occurs min_frequency times; an iterator that was used "
            "before is empty, too."
        )


def make_normalizer(normalization: Normalization | None, lowercase: bool) -> normalizers.Normalizer | None:
    if normalization not in (None, *NORMALIZERS):
        raise ValueError(f"normalization={normalization!r}: the choices are None, {', '.join(NORMALIZERS)}.")
    steps = [NORMALIZERS[normalization]()] if normalization else []
    if lowercase:
        steps.append(normalizers.Lowercase())
    return normalizers.Sequence(steps) if steps else None


def checked_texts(texts: Iterable[str], length: int | None, show_progress: bool) -> Iterator[str]:
    if isinstance(texts, str):
        raise TypeError("texts is a str, but has to be an iterable of them; a single text is given as [text].")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):  # whose items are the names of the columns
        raise TypeError(f"texts is a {type(texts).__name__}, but has to be an iterable of str; give one column of it.")
    shown = tqdm(texts, total=length, desc="Reading texts", unit=" texts", disable=not show_progress)
    for index, text in enumerate(shown):
        if not isinstance(text, str):
            raise TypeError(f"texts[{index}] is of type {type(text).__name__}, but each text has to be a str.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"texts[{index}] is no Unicode text: it has half a surrogate pair at character {error.start}; "
                "decode its source again, or drop it: text.encode(errors='ignore').decode()."
            ) from None
        yield from parts_of(text)


def parts_of(text: str) -> Iterator[str]:
    """Yield the parts of a long text, which are read on all threads. They begin between words, where all kinds divide.

    Where a text has no blank for as long, it is divided inside of a word.
    """
    start = 0
    while len(text) - start > 2 * LONG_TEXT:
        found = BEFORE_BLANKS.search(text, start + LONG_TEXT, start + 2 * LONG_TEXT)
        end = found.start() if found else start + 2 * LONG_TEXT
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _warn_once(message: str) -> None:
    """Log a warning, once in a process: folds of the same texts are told alike."""
    logger.warning(message)


def finish(
    tokenizer: Tokenizer, vocab_size: int, special_tokens: SpecialTokens, model_max_length: int, padding_side: str,
    token_type_ids: bool,
) -> PreTrainedTokenizerFast:  # fmt: skip
    """Add the special tokens and the template, and say what a model takes."""
    tokenizer.add_special_tokens(special_tokens.tokens)
    template = special_tokens.post_processor(tokenizer)
    trimmer = tokenizer.post_processor
    tokenizer.post_processor = processors.Sequence([trimmer, template]) if trimmer else template
    if (size := tokenizer.get_vocab_size()) < vocab_size:
        _warn_once(f"The vocabulary has {size} tokens: the texts contain no more (vocab_size={vocab_size}).")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=model_max_length,
        padding_side=padding_side,
        model_input_names=["input_ids", *["token_type_ids"] * token_type_ids, "attention_mask"],
        clean_up_tokenization_spaces=False,
        **special_tokens.roles,
    )
