# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tokenizers trained on a user's own texts, as plain fast tokenizers that `AutoTokenizer` loads anywhere.

The same texts give the same files, on any number of threads. Of pairs that are equally frequent, BPE merges the one
with the lowest ids, of the left symbol and then of the right one. Ids run over the special tokens, the characters in
the order of their code points, in the same order the characters that end a word, and the merges.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Literal

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast
from transformers.utils.logging import tqdm

from .special_tokens import SpecialTokens, choose_style

logger = logging.getLogger(__name__)

END_OF_WORD = "</w>"
HTML_TAG = r"</?[a-zA-Z][^<>]*>"
WITH_APOSTROPHES = r"\w+(?:['’]\w+)*|[^\w\s]"  # a word, or a single mark
REPEATED_WORDS = 1_000
LONGEST_WORD = 1_000  # characters to learn from; a merge takes the square of the length of a word

Normalization = Literal["NFC", "NFKC"]
NORMALIZERS = {"NFC": normalizers.NFC, "NFKC": normalizers.NFKC}

# The trainer reserves memory for so many tokens from the start, and where there is none, the process dies.
MAX_VOCAB_SIZE = 2**24
LONG_TEXT = 100_000  # characters to read at once
BEFORE_BLANKS = re.compile(r"(?<=\S)(?=\s)")


def train_bpe_tokenizer(
    texts: Iterable[str],
    vocab_size: int,
    *,
    byte_level: bool = True,
    style: str = "bert",
    lowercase: bool = False,
    normalization: Normalization | None = None,
    min_frequency: int = 2,
    add_prefix_space: bool = False,
    model_max_length: int = 512,
    padding_side: Literal["left", "right"] = "right",
    token_type_ids: bool = False,
    length: int | None = None,
    show_progress: bool = True,
) -> PreTrainedTokenizerFast:
    """Byte-pair encoding: merge the most frequent pair of neighbours inside a word, again and again.

    `byte_level` works on the bytes of the text, so that decoding gives back every text exactly and nothing is unknown
    (Radford et al. 2019); `add_prefix_space` then treats a first word like all others, which text that is split into
    words needs. Otherwise words and runs of punctuation are spelt in characters, the last one marked `</w>` (Sennrich
    et al. 2016, algorithm 1): decoding is exact up to white space, and characters not seen in training are unknown.

    - texts: read once, as they come; memory grows with the distinct words only. `length` is for the progress bar.
    - vocab_size: the number of tokens of all kinds; fewer if no pair is left that occurs `min_frequency` times.
    - style: the special tokens, a key of `STYLES`. Written out in a text they become the token, which is how a user
      asks for `[MASK]`; for text from strangers, `tokenizer(text, split_special_tokens=True)` takes them as text.
    - lowercase, normalization: applied to every text first, in training and in use; they undo the exact decoding, and
      offsets of a character that NFC or NFKC composes leave out its combining marks.
    - model_max_length: in tokens; `tokenizer(text, truncation=True)` cuts there. padding_side: "left" to generate.
    - token_type_ids: whether the model takes them.

    Raises TypeError for a text that is no string, and ValueError for options out of range, a corpus without words and
    a vocabulary too small for its characters.

    >>> from tokenization import train_bpe_tokenizer
    >>> tokenizer = train_bpe_tokenizer(["low lower lowest"] * 10, vocab_size=300, show_progress=False)
    >>> tokenizer.decode(tokenizer("slower, lower!")["input_ids"], skip_special_tokens=True)
    'slower, lower!'
    """
    special_tokens = choose_style(style, model_max_length)
    check_options(vocab_size, min_frequency, padding_side)
    if add_prefix_space and not byte_level:
        raise ValueError("add_prefix_space=True: goes with byte_level=True; no other token has a space to begin with.")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = make_normalizer(normalization, lowercase)
    texts = checked_texts(texts, length, show_progress)
    if byte_level:
        _train_byte_level(tokenizer, texts, vocab_size, min_frequency, special_tokens, add_prefix_space)
    else:
        _train_end_of_word(tokenizer, texts, vocab_size, min_frequency, special_tokens)
    return finish(tokenizer, vocab_size, special_tokens, model_max_length, padding_side, token_type_ids)


def train_wordlevel_tokenizer(
    texts: Iterable[str],
    vocab_size: int,
    *,
    web_text: bool = False,
    style: str = "bert",
    lowercase: bool = False,
    normalization: Normalization | None = "NFC",
    min_frequency: int = 1,
    model_max_length: int = 512,
    padding_side: Literal["left", "right"] = "right",
    token_type_ids: bool = False,
    length: int | None = None,
    show_progress: bool = True,
) -> PreTrainedTokenizerFast:
    """One token a word, for the most frequent words and runs of punctuation; all others are the unknown token.

    Of words that are equally frequent, the first in the order of code points is kept. Words written with composed and
    with combining characters are one word by default (NFC). All else is as in `train_bpe_tokenizer`.

    - web_text: "don't" is one token, each punctuation mark is one, and HTML tags such as <br /> are white space.

    >>> from tokenization import train_wordlevel_tokenizer
    >>> tokenizer = train_wordlevel_tokenizer(["a warm film", "a dull film"], vocab_size=100, show_progress=False)
    >>> tokenizer.tokenize("a warm evening")
    ['a', 'warm', '[UNK]']
    """
    special_tokens = choose_style(style, model_max_length)
    check_options(vocab_size, min_frequency, padding_side)
    check_room(vocab_size, len(special_tokens.tokens) + 1, "the special tokens and a word")
    tokenizer = Tokenizer(models.WordLevel(unk_token=special_tokens.roles["unk_token"]))
    tokenizer.normalizer = make_normalizer(normalization, lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if web_text:
        words = pre_tokenizers.Split(Regex(WITH_APOSTROPHES), behavior="removed", invert=True)
        tags = pre_tokenizers.Split(Regex(HTML_TAG), behavior="removed")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([tags, words])
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=special_tokens.tokens, show_progress=False
    )
    tokenizer.train_from_iterator(checked_texts(texts, length, show_progress), trainer)
    check_words(tokenizer.get_vocab_size() - len(special_tokens.tokens))
    return finish(tokenizer, vocab_size, special_tokens, model_max_length, padding_side, token_type_ids)


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


def _train_byte_level(
    tokenizer: Tokenizer, texts: Iterator[str], vocab_size: int, min_frequency: int, special_tokens: SpecialTokens,
    add_prefix_space: bool,
) -> None:  # fmt: skip
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    check_room(vocab_size, len(special_tokens.tokens) + len(alphabet), "the special tokens and the 256 bytes")
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    # Offsets begin at the word, not at the space before it that its first token stands for too.
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=add_prefix_space, trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=special_tokens.tokens,
        initial_alphabet=alphabet, show_progress=False,
    )  # fmt: skip
    _learn(tokenizer, texts, trainer)
    check_words(trainer.get_word_count())


def _train_end_of_word(
    tokenizer: Tokenizer, texts: Iterator[str], vocab_size: int, min_frequency: int, special_tokens: SpecialTokens
) -> None:
    """Count the words first, to number the characters ourselves, then learn the merges from the counts.

    The trainer numbers characters that end a word in the order of its hash map, differently each time, and ties, hence
    merges, go by the numbers. It also leaves out those that end no word in training; a new word could not end in them.
    """
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.BPEDecoder(END_OF_WORD)
    counter = trainers.BpeTrainer(vocab_size=0, show_progress=False)
    _learn(tokenizer, texts, counter)  # which counts on all threads
    words: dict[str, int] = json.loads(counter.__getstate__())["BpeTrainer"]["words"]  # its state alone shows them
    check_words(len(words))
    alphabet = sorted(set().union(*words))
    symbols = [*alphabet, *(character + END_OF_WORD for character in alphabet)]
    minimum = len(special_tokens.tokens) + len(symbols)
    check_room(vocab_size, minimum, f"the special tokens and {len(alphabet)} characters, within and ending a word,")
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=[*special_tokens.tokens, *symbols],
        end_of_word_suffix=END_OF_WORD, show_progress=False,
    )  # fmt: skip
    learner = Tokenizer(models.BPE(unk_token=special_tokens.roles["unk_token"]))
    learner.pre_tokenizer = pre_tokenizers.CharDelimiterSplit(" ")
    learner.train_from_iterator(_repeated(words), trainer)
    tokenizer.model = learner.model


def _learn(tokenizer: Tokenizer, texts: Iterator[str], trainer: trainers.BpeTrainer) -> None:
    """Train on the words as `tokenizer` splits them, in parts where they are too long."""
    splitter = tokenizer.pre_tokenizer
    cut = pre_tokenizers.Split(Regex(rf"[\s\S]{{{LONGEST_WORD}}}"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([splitter, cut])
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.pre_tokenizer = splitter


def _repeated(words: Mapping[str, int]) -> Iterator[str]:
    """The words as a text again, each as often as it was counted, in lines of bounded length."""
    for word, count in words.items():
        for start in range(0, count, REPEATED_WORDS):
            yield " ".join([word] * min(REPEATED_WORDS, count - start))


# What every kind needs before its training and after it


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
