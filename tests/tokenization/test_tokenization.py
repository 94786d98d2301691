# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tokenizers: merges against the plain algorithm, exact decoding and offsets, special tokens, and files that reload."""

import inspect
import json
import logging
import os
import random
import subprocess
import sys
import weakref
from collections import Counter
from functools import cache, partial
from itertools import pairwise

import pandas as pd
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer
from transformers.convert_slow_tokenizer import bytes_to_unicode

import tokenization
from tokenization import (
    STYLES,
    special_token_ids,
    train_bpe_tokenizer,
    train_character_tokenizer,
    train_wordlevel_tokenizer,
)

PROSE = [
    line for function in (os.walk, subprocess.Popen, logging) for line in (inspect.getdoc(function) or "").split("\n")
]
MULTILINGUAL = [
    "naïve café, cafe\u0301 and Straße; İstanbul ŉ ﬁnal ①",
    "日本語のテキスト。中文, 한국어 and العربية!",
    "🤗 hugs 👩‍👩‍👧 family 🇫🇷flag e\u0301\u0323 क्षि",
    "  tabs\tand\nlines\r\n, no\u00a0break\u2009thin \u200b zero \x00 nul  ",
    "don't 'll 3.14 x2 a_b __init__ <b>bold</b> ... :-) $5 €7",
]
CORPUS = PROSE + MULTILINGUAL * 2

KINDS = {
    "byte_level": partial(train_bpe_tokenizer, byte_level=True),
    "end_of_word": partial(train_bpe_tokenizer, byte_level=False),
    "wordlevel": train_wordlevel_tokenizer,
    "character": train_character_tokenizer,
}
GPT2_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def train(kind, texts=CORPUS, vocab_size=1_000, **options):
    return KINDS[kind](texts, vocab_size, **{"show_progress": False, **options})


@cache
def trained(kind, **options):
    """On the corpus."""
    return train(kind, **options)


# The algorithm


def sennrich(words, symbols, vocab_size, min_frequency):
    """Algorithm 1 of Sennrich et al. 2016, counting all pairs anew for each merge; ties go to the lowest ids."""
    ids = {symbol: number for number, symbol in enumerate(symbols)}
    merges = []
    while len(ids) < vocab_size:
        pairs = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], ids[pair[0]], ids[pair[1]]), default=None)
        if best is None or pairs[best] < min_frequency:
            break
        merges.append(list(best))
        ids.setdefault("".join(best), len(ids))
        merged = Counter()
        for word, count in words.items():
            merged[merge(word, best)] += count
        words = merged
    return ids, merges


def merge(word, pair):
    symbols, place = [], 0
    while place < len(word):
        step = 2 if word[place : place + 2] == pair else 1
        symbols.append("".join(word[place : place + step]))
        place += step
    return tuple(symbols)


def byte_level_words(texts):
    """The words of texts in symbols, with their counts, and the symbols that are known from the start."""
    letters = bytes_to_unicode()
    words = Counter(word for text in texts for word in regex.findall(GPT2_WORDS, text))
    counts = Counter({tuple(letters[byte] for byte in word.encode()): count for word, count in words.items()})
    return counts, sorted(letters.values())


def end_of_word_words(texts):
    words = Counter(word for text in texts for word in regex.findall(r"\w+|[^\w\s]+", text))
    counts = Counter({(*word[:-1], word[-1] + "</w>"): count for word, count in words.items()})
    alphabet = sorted({character for text in texts for character in "".join(text.split())})
    return counts, [*alphabet, *(character + "</w>" for character in alphabet)]


def learned(tokenizer):
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    return model["vocab"], model["merges"]


@pytest.mark.parametrize("kind", ["byte_level", "end_of_word"])
def test_long_words_and_texts_are_learned_from_in_parts(kind):
    """The time of a merge is the square of the length of a word, and a word of megabytes would take hours."""
    word = "".join(random.Random(0).choices("abcdefgh", k=5_000))
    parts = [word[start : start + 1_000] for start in range(0, len(word), 1_000)]
    text = " ".join(CORPUS * 25)
    assert len(text) > 100_000
    for whole, cut in ((word, parts), (text, regex.split(r"(?<=\S)(?= \S)", text))):
        assert learned(train(kind, [whole], 600)) == learned(train(kind, cut, 600))


def toy_texts(seed, letters):
    """A corpus of few short words and small counts, so that most choices are ties."""
    generator = random.Random(seed)
    words = ["".join(generator.choices(letters, k=generator.randrange(1, 9))) for _ in range(40)]
    return [" ".join(generator.choices(words, k=generator.randrange(1, 12))) for _ in range(20)]


@pytest.mark.parametrize(("kind", "words_of"), [("byte_level", byte_level_words), ("end_of_word", end_of_word_words)])
@pytest.mark.parametrize(("letters", "min_frequency"), [("ab", 1), ("abcdeé", 3), ("abc日本", 1), (None, 3)])
def test_merges_are_those_of_the_plain_algorithm(kind, words_of, letters, min_frequency):
    texts = toy_texts(0, letters) if letters else CORPUS
    words, symbols = words_of(texts)
    symbols = [*STYLES["bert"].roles.values(), *symbols]
    tokenizer = train(kind, texts, len(symbols) + 90, min_frequency=min_frequency)
    assert learned(tokenizer) == sennrich(words, symbols, len(symbols) + 90, min_frequency)


EQUALLY_FREQUENT = ["b a é c", "b a é c", "d B z z z"]
# The most frequent are kept, of equals the first by code point; characters are in the order of their code points.
KEPT = [
    ("wordlevel", EQUALLY_FREQUENT, {"vocab_size": 5 + 4}, ["z", "a", "b", "c"]),
    ("wordlevel", EQUALLY_FREQUENT, {"min_frequency": 2}, ["z", "a", "b", "c", "é"]),
    ("character", [" 日本 naïve zzz\n"], {}, [*"\n aenvzï日本"]),
    ("character", ["ccc bb  aa d"], {"vocab_size": 5 + 3}, [*" ac"]),
    ("character", ["ccc d"], {"min_frequency": 2}, ["c"]),
]


@pytest.mark.parametrize(("kind", "texts", "options", "kept"), KEPT)
def test_a_vocabulary_keeps_what_is_most_frequent_behind_the_special_tokens(kind, texts, options, kept):
    tokenizer = train(kind, texts, style="bert", **options)
    special = list(STYLES["bert"].roles.values())
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == [*special, *kept]


def test_an_unseen_character_is_unknown_and_the_others_keep_their_places():
    tokenizer = train("character", ["abc"], style="gpt")
    encoded = tokenizer("aXbé", return_offsets_mapping=True)
    assert encoded["input_ids"] == [4, tokenizer.unk_token_id, 5, tokenizer.unk_token_id]
    assert encoded["offset_mapping"] == [(place, place + 1) for place in range(4)]


# Decoding and offsets


KNOWN_TEXTS = {"byte_level": st.text(), "character": st.sampled_from(CORPUS)}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", KNOWN_TEXTS)
@given(data=st.data())
def test_bytes_and_characters_decode_every_text_exactly(kind, style, data):
    tokenizer, text = trained(kind, style=style), data.draw(KNOWN_TEXTS[kind])
    assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text
    assert tokenizer.unk_token_id not in tokenizer(text)["input_ids"]
    assert kind != "character" or len(tokenizer(text, add_special_tokens=False)["input_ids"]) == len(text)


BYTES = {letter: byte for byte, letter in bytes_to_unicode().items()}


@pytest.mark.parametrize("prefix_space", [False, True])
@given(text=st.text() | st.sampled_from(CORPUS))
def test_byte_level_offsets_are_where_the_token_stands_without_the_space_before_it(prefix_space, text):
    tokenizer, text = trained("byte_level", add_prefix_space=prefix_space), text.lstrip(" ") if prefix_space else text
    encoding = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
    for letters, (start, end) in zip(encoding.tokens(), encoding["offset_mapping"]):
        token, surface = bytes(map(BYTES.get, letters)).strip(b" "), text[start:end].encode()
        is_part_of_a_character = "\ufffd" in token.decode(errors="replace")
        assert token == surface or (is_part_of_a_character and token in surface)


def test_words_of_the_web_keep_their_apostrophes_and_lose_their_tags():
    text = "I don't!! <br /><br/>It's <b>bad</b>, O’Neil's 'idea' <3 4 < 5"
    tokenizer = train("wordlevel", [text], 100, web_text=True)
    words = ["I", "don't", "!", "!", "It's", "bad", ",", "O’Neil's", "'", "idea", "'", "<", "3", "4", "<", "5"]
    assert tokenizer.tokenize(text) == words
    offsets = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"]
    assert [text[start:end] for start, end in offsets] == words


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("kind", ["end_of_word", "wordlevel"])
def test_offsets_are_where_the_token_stands(kind, lowercase):
    tokenizer = trained(kind, lowercase=lowercase, normalization=None)
    for text in (" Unseen: Ж", *PROSE, *MULTILINGUAL[1:]):
        encoding = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        spans = [text[start:end] for start, end in encoding["offset_mapping"]]
        assert "".join(spans) == "".join(text.split())
        for number, surface in zip(encoding["input_ids"], spans):
            token = tokenizer.convert_ids_to_tokens(number).removesuffix("</w>")
            assert token in (surface.lower() if lowercase else surface, tokenizer.unk_token)


def test_prefix_space_makes_a_first_word_like_the_others():
    words = ["walk", "the", "walk"]
    tokenizer = train("byte_level", add_prefix_space=True)
    ids = tokenizer(words, is_split_into_words=True, add_special_tokens=False)["input_ids"]
    assert ids == tokenizer("walk the walk", add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == " walk the walk"
    with pytest.raises(ValueError, match="add_prefix_space"):
        train("end_of_word", add_prefix_space=True)


@pytest.mark.parametrize("kind", KINDS)
def test_lowercase_and_normalization_apply_to_training_and_use(kind):
    tokenizer = trained(kind, lowercase=True, normalization="NFKC")
    assert tokenizer("CAFE\u0301 ﬁNAL")["input_ids"] == tokenizer("café final")["input_ids"]
    assert tokenizer("CAFE")["input_ids"] != tokenizer("CAFÉ")["input_ids"]


# Special tokens

TEMPLATES = {
    "bert": (["[CLS]", "A", "[SEP]"], ["[CLS]", "A", "[SEP]", "B", "[SEP]"], [0, 0, 0, 1, 1]),
    "roberta": (["<s>", "A", "</s>"], ["<s>", "A", "</s>", "</s>", "B", "</s>"], [0, 0, 0, 0, 1, 1]),
    "bart": (["<s>", "A", "</s>"], ["<s>", "A", "</s>", "</s>", "B", "</s>"], [0, 0, 0, 0, 1, 1]),
    "gpt": (["A"], ["A", "B"], [0, 1]),
    "marian": (["A", "</s>"], ["A", "</s>", "B", "</s>"], [0, 0, 1, 1]),
}
IDS = {
    "bert": {"pad_token_id": 0},
    "roberta": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2},
    "bart": {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
    "gpt": {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    "marian": {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("style", STYLES)
def test_style_sets_tokens_templates_and_ids_for_good(kind, style, tmp_path):
    made = train(kind, ["A B"] * 3, 300, style=style, token_type_ids=True)
    made.save_pretrained(tmp_path)
    single, pair, types = TEMPLATES[style]
    for tokenizer in (made, AutoTokenizer.from_pretrained(tmp_path)):
        special = set(tokenizer.all_special_tokens)
        bare = [[t if t in special else t[0] for t in tokenizer(*texts).tokens()] for texts in ("A", ("A", "B"))]
        assert bare == [single, pair]
        assert tokenizer("A", "B")["token_type_ids"] == types
        assert tokenizer.convert_tokens_to_ids([*dict.fromkeys(STYLES[style].roles.values())]) == [*range(len(special))]
        assert special_token_ids(tokenizer) == IDS[style]
        assert len(tokenizer) == tokenizer.vocab_size == len(set(tokenizer.get_vocab().values()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_special_token_in_a_text_is_that_token_unless_it_is_told_to_be_text(kind):
    """Also where the corpus has its letters."""
    text = "the worst [SEP] ever [MASK] ."
    tokenizer = train(kind, [*CORPUS, *["[MASK] <s> </s> </w> [SEP]"] * 9], style="bert")
    assert len(set(tokenizer.get_vocab().values())) == len(tokenizer)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert ids.count(tokenizer.sep_token_id) == ids.count(tokenizer.mask_token_id) == 1
    literal = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert not {tokenizer.sep_token_id, tokenizer.mask_token_id} & set(literal)
    if kind == "byte_level":
        assert tokenizer.decode(literal) == text


def test_a_mask_takes_the_space_of_the_word_it_stands_for():
    tokenizer, texts = trained("byte_level"), ("of the", "of the [MASK] and", " and")
    before, masked, after = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts)
    assert masked == [*before, tokenizer.mask_token_id, *after]


# What is saved


@pytest.mark.parametrize("kind", KINDS)
def test_length_side_and_inputs_survive_a_reload(kind, tmp_path):
    train(kind, model_max_length=7, padding_side="left").save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    batch = tokenizer([" ".join(PROSE), "A"], truncation=True, padding=True)
    assert [*batch] == ["input_ids", "attention_mask"]
    assert [len(ids) for ids in batch["input_ids"]] == [7, 7]
    assert batch["attention_mask"][1][0] == 0


TRAIN_ALL = """
import json, os, sys
from tokenization import KINDS
texts = json.load(sys.stdin)
for threads in "14":  # each in a child of its own: the first use fixes the number
    if (child := os.fork()) == 0:
        os.environ["RAYON_NUM_THREADS"] = threads
        for kind, train in KINDS.items():
            train(iter(texts), 500, show_progress=False).save_pretrained(f"{sys.argv[1]}/{threads}/{kind}")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_files_are_the_same_on_any_number_of_threads(tmp_path):
    texts = [text for seed in range(40) for text in toy_texts(seed, "abcdefgh")] + CORPUS
    command = [sys.executable, "-c", TRAIN_ALL, str(tmp_path)]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "true"}
    subprocess.run(command, input=json.dumps(texts), text=True, env=environment, check=True)
    one, four = (
        {path.relative_to(tmp_path / threads): path.read_bytes() for path in (tmp_path / threads).rglob("*.json")}
        for threads in "14"
    )
    assert one == four
    assert len(one) == 2 * len(tokenization.KINDS)


# The corpus as it comes


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_streamed_once_and_let_go(kind):
    """Some are read ahead, as a text is read on all threads."""
    alive, most = weakref.WeakSet(), []

    def stream():
        for number in range(5_000):
            text = type("Text", (str,), {})(f"text number {number % 7}")  # a string that can be watched
            alive.add(text)
            most.append(len(alive))
            yield text

    train(kind, stream(), 300)
    assert 0 < max(most) < 1_000


@pytest.mark.parametrize("kind", ["byte_level", "end_of_word", "wordlevel"])
def test_fewer_tokens_than_asked_for_are_told(kind, caplog):
    count = len(train(kind, ["tiny"], 5_000))
    assert f"The vocabulary has {count} tokens: the texts contain no more (vocab_size=5000)" in caplog.text


class Failing:
    """Texts on a disk that fails while they are read."""

    def __iter__(self):
        yield "fine"
        raise OSError("disk gone")


FAULTS = [
    ({"texts": []}, ValueError, "no words"),
    ({"texts": ["", ""]}, ValueError, "no words"),
    ({"texts": "one text"}, TypeError, r"texts is a str.*\[text\]"),
    ({"texts": ["a", None]}, TypeError, r"texts\[1\] is of type NoneType"),
    ({"texts": {"text": ["a"]}}, TypeError, r"texts is a dict.*one column"),
    ({"texts": pd.DataFrame({"text": ["a"]})}, TypeError, r"texts is a DataFrame.*one column"),
    ({"texts": [["a"]]}, TypeError, r"texts\[0\] is of type list"),
    ({"texts": ["a", "half \ud83d"]}, ValueError, r"texts\[1\].*character 5"),
    ({"texts": Failing()}, OSError, "disk gone"),
    ({"vocab_size": 0}, ValueError, "vocab_size=0"),
    ({"vocab_size": 10**12}, ValueError, "vocab_size=1000000000000"),
    ({"vocab_size": 5}, ValueError, "vocab_size=5: .* at least"),
    ({"style": "Bert"}, ValueError, "style='Bert': the choices are bert, "),
    ({"normalization": "NFD"}, ValueError, "normalization='NFD'"),
    ({"padding_side": "top"}, ValueError, "padding_side='top'"),
    ({"min_frequency": 0}, ValueError, "min_frequency=0"),
    ({"model_max_length": 3}, ValueError, "model_max_length=3: has to be more than the 3"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("arguments", "error", "message"), FAULTS)
def test_faults_are_named(kind, arguments, error, message):
    arguments = {"texts": ["some text"], "vocab_size": 300, "style": "bert", **arguments}
    with pytest.raises(error, match=message):
        train(kind, **arguments)


@pytest.mark.parametrize(("kind", "minimum"), [*zip(KINDS, (5 + 256, 5 + 2 * 3, 5 + 1, 4 + 1))])
def test_the_smallest_vocabulary_is_named_and_works(kind, minimum):
    with pytest.raises(ValueError, match=f"at least {minimum}"):
        train(kind, ["aabb cc"], minimum - 1)
    assert len(train(kind, ["aabb cc"], minimum)) == minimum
