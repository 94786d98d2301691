# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Translator: what each source becomes depends on it alone, comes in its place, and is streamed as it is."""

from typing import Any

import pytest
import writers
from writers import POSITIONS, text_of

from modeling_scratch.inference.text_generators import Generated, Translator

SOURCES = ["", *(text_of(length) for length in (3, 20, 1, 7, 3)), "  ", *(text_of(length) for length in (12, 5, 2, 9))]
NEW = 10


@pytest.fixture(scope="module")
def parts():
    """A model whose target language has a vocabulary of its own, and its tokenizers."""
    tokenizers = writers.words(), writers.words("target")
    return writers.translator(*tokenizers), *tokenizers


def translate(parts: Any, sources: list[str] = SOURCES, **options: Any) -> list[Any]:
    return Translator(*parts, **{"max_new_tokens": NEW, **options}).translate(sources)


def test_a_text_is_cut_where_it_found_no_end(parts):
    """One that ends does so at every limit from there on; one that does not is longer with a higher limit."""
    longest = translate(parts, max_new_tokens=POSITIONS)
    assert {answer.is_cut for answer in longest} == {True, False}
    for limit in (1, 5):
        for answer, whole in zip(translate(parts, max_new_tokens=limit), longest):
            assert whole.text.startswith(answer.text)
            assert answer.is_cut == (len(whole.text.split()) + (not whole.is_cut) > limit) or not whole.text
            assert answer.cut_after in (limit, None)
    assert translate(parts, max_new_tokens=10 * POSITIONS) == longest


def test_each_of_several_tokens_ends_a_text(parts):
    source, target = [text_of(5)], parts[2]
    words = translate(parts, source)[0].text.split()
    end = next(word for word in words if word != words[0])
    unused = next(word for word in writers.WORDS if f"target{word}" not in words)
    ends = target.convert_tokens_to_ids([f"target{unused}", end])
    assert translate(parts, source, eos_token_id=ends) == [Generated(" ".join(words[: words.index(end)]))]


def test_the_limit_is_the_tokenizers_or_that_of_the_positions():
    tokenizer, endless = writers.words(), writers.words()
    endless.model_max_length = 10**30
    limits = {}
    for kind in ("learned", "sinusoidal"):
        model = writers.translator(tokenizer, tokenizer, position_type=kind)
        limits[kind] = Translator(model, tokenizer).limit, Translator(model, endless).limit
    assert limits == {"learned": (POSITIONS, POSITIONS), "sinusoidal": (POSITIONS, None)}
    assert Translator(model, endless).generate([text_of(3 * POSITIONS)])[0][0].text
