# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generation is the library's own, and says the same with every cache; our beam search finds the library's texts.

Of every class, with padded prompts and by the scores of `forward`: see the doctor in test_hf_behaviour.py.
"""

from itertools import cycle, product
from typing import Any

import pytest
import torch
from model_cases import CAUSAL_LM, MASK, SEQ2SEQ_LM, Case, assert_close, draw_ids, parametrize_cases
from shared import lively
from torch import Tensor, nn
from transformers import CompileConfig, StoppingCriteriaList

from modeling_scratch import fast
from modeling_scratch.fast.engine import MANY_TEXTS
from modeling_scratch.fast.forwards import MANY_ROWS, WORTH_A_COPY, quick_head

IDS = draw_ids()
FEW = IDS[::2], MASK[::2]  # without the text that is padded on the right
STATIC = {"cache_implementation": "static", "disable_compile": True}
every_generator = parametrize_cases((CAUSAL_LM, SEQ2SEQ_LM))


def generate(model: Any, ids: Tensor, mask: Tensor, **settings: Any) -> Any:
    """7 tokens for each text, none of them twice as small models like to, and their scores."""
    torch.manual_seed(0)
    settings = {"use_cache": True, "no_repeat_ngram_size": 1, "suppress_tokens": [0], **settings}
    lengths = {"max_new_tokens": 7, "min_new_tokens": 7, "return_dict_in_generate": True, "output_scores": True}
    return model.generate(ids, attention_mask=mask, **lengths, **settings)


def assert_same_texts(found: Any, expected: Any) -> None:
    """The same tokens, and scores within rounding."""
    assert torch.equal(found.sequences, expected.sequences)
    torch.testing.assert_close(torch.stack(found.scores), torch.stack(expected.scores), atol=1e-4, rtol=0)


# Caches


@every_generator
def test_a_static_cache_changes_nothing_for_many_texts(case: Case) -> None:
    """One token of each of many is read by plain products, which are given the mask of the fused kernel."""
    model = lively(case.model())
    many = [states.repeat(MANY_TEXTS, 1) for states in FEW]
    assert_same_texts(generate(model, *many, **STATIC), generate(model, *many))
    assert_same_texts(generate(model, *FEW, **STATIC, output_attentions=True), generate(model, *FEW, use_cache=False))


COMPILED = CompileConfig(fullgraph=False, dynamic=False, mode="default", backend="eager")
COMPILED._compile_all_devices = True  # as on a GPU; without a public name
SEARCHES: list[tuple[Case, str, dict[str, Any]]] = [
    (CAUSAL_LM, "rotary", {"do_sample": True}), (CAUSAL_LM, "alibi", {}), (CAUSAL_LM, "learned", {"num_beams": 2}),
    (SEQ2SEQ_LM, "rotary", {"num_beams": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("case", "position_type", "search"), SEARCHES)
def test_a_second_call_runs_what_the_first_one_compiled(case: Case, position_type: str, search: dict) -> None:
    """All tokens but the prompt have inputs of one shape, so that one graph fits them."""
    torch.compiler.reset()
    model = lively(case.model(position_type=position_type))
    expected = generate(model, *FEW, **search)
    compiled = {"cache_implementation": "static", "compile_config": COMPILED}
    assert_same_texts(generate(model, *FEW, **search, **compiled), expected)
    with torch.compiler.set_stance("fail_on_recompile"):
        assert_same_texts(generate(model, *FEW, **search, **compiled), expected)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"cache_implementation": "static"}], ids=str)
def test_windows_are_of_the_tokens_themselves_in_every_cache(options: dict[str, Any]) -> None:
    """The decoder goes on seeing the whole source, of which a cache by the config would keep a window alone."""
    model = SEQ2SEQ_LM.model(sliding_window=3, position_type="rotary", decoder_layers=1, use_cache=True)
    search = {"max_new_tokens": 8, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
    with fast.textbook():
        expected = model.generate(IDS, **search, **{**options, "cache_implementation": None}, use_cache=False)
    found = model.generate(IDS, **search, **options)
    assert_close(torch.stack(found.logits), torch.stack(expected.logits))


def test_positions_that_were_given_go_on_while_a_text_is_written() -> None:
    """From 7 on, one more for each token; beams find what those of the library find."""
    model = lively(CAUSAL_LM.model(position_type="learned", use_cache=True))
    given = {"attention_mask": torch.ones_like(IDS), "position_ids": torch.arange(7, 16).expand(len(IDS), -1)}
    options: dict[str, Any] = {**given, "max_new_tokens": 6, "eos_token_id": None, "pad_token_id": 0}
    written = model.generate(IDS, **options)
    logits = model(written[:, :-1], position_ids=torch.arange(7, 21).expand(len(IDS), -1)).logits
    assert torch.equal(written[:, 9:], logits[:, 8:].argmax(-1))

    found = model.generate(IDS, num_beams=3, **options)
    with fast.disabled():
        assert torch.equal(found, model.generate(IDS, num_beams=3, **options))
    assert not torch.equal(found, model.generate(IDS, num_beams=3, **{**options, "position_ids": None}))


# The head, which a generation computes by a quicker product


@pytest.mark.parametrize("rows", [1, MANY_ROWS, MANY_ROWS + 1])
@pytest.mark.parametrize("bias", [True, False])
def test_the_quick_head_is_the_same_product(rows: int, bias: bool) -> None:
    head = nn.Linear(12, 40, bias=bias)
    states = torch.randn(rows, 1, 12, generator=torch.Generator().manual_seed(0))
    expected = head(states)
    with torch.no_grad(), quick_head(head):
        for _ in range(WORTH_A_COPY + 1):  # with a copy in the end, where there are few rows
            torch.testing.assert_close(head(states), expected)
        torch.testing.assert_close(head(states[:1]), expected[:1])  # one copy serves every number of rows
    with quick_head(head):
        head(states).sum().backward()
    torch.testing.assert_close(head.weight.grad, states.sum((0, 1)).expand(40, -1))


def test_a_text_is_written_with_the_weights_of_the_moment() -> None:
    """The copy that makes few rows cheap is gone when the text is."""
    model = lively(CAUSAL_LM.model())
    ids, length = torch.tensor([[1, 2, 3]]), WORTH_A_COPY + 8
    options = {"max_new_tokens": length, "min_new_tokens": length, "do_sample": False}
    first = model.generate(ids, **options)
    model.lm_head.weight.data.copy_(model.lm_head.weight.data.flip(0))
    second = model.generate(ids, **options)
    assert not torch.equal(first, second)
    assert torch.equal(second, model.generate(ids.expand(2, -1), **options)[:1])


# Beam search


def both(model: Any, **settings: Any) -> tuple[Tensor, Tensor]:
    """What our search finds, and what the library's finds."""
    settings = {
        "max_new_tokens": 8,
        "num_beams": 3,
        "pad_token_id": 0,
        "attention_mask": torch.ones_like(IDS),
        **settings,
    }
    ours = model.generate(IDS, **settings)
    with fast.disabled():
        return ours, model.generate(IDS, **settings)


# When a search ends, and which of its texts is best.
ENDS = [
    {"early_stopping": early, "length_penalty": penalty, "num_return_sequences": returned}
    for (early, penalty), returned in zip(product((False, True, "never"), (-1.0, 0.0, 2.0)), cycle((1, 3)))
]
STOP = StoppingCriteriaList([lambda ids, scores: ids[:, -1] % 5 == 0])
FIRST_PADDED = {"attention_mask": MASK.index_fill(0, torch.tensor([0, 1]), 1)}
SETTINGS: dict[Case, list[dict[str, Any]]] = {
    CAUSAL_LM: [
        {"eos_token_id": None}, {"repetition_penalty": 1.5, "bad_words_ids": [[7]]}, {"use_cache": False},
        {"cache_implementation": "static"}, {"max_time": 0.0}, FIRST_PADDED,
    ],
    SEQ2SEQ_LM: [
        {"min_new_tokens": 6, "no_repeat_ngram_size": 2}, {"num_beams": 8, "num_return_sequences": 8},
        {"use_cache": False}, {"cache_implementation": "static"}, {"stopping_criteria": STOP}, FIRST_PADDED,
    ],
}  # fmt: skip


@every_generator
def test_beam_search_finds_what_that_of_the_library_finds(case: Case) -> None:
    """Wherever it ends, and with every setting."""
    model = lively(case.model(use_cache=True))
    free, _ = both(model, eos_token_id=None)
    lengths = set()
    for ends, tokens in zip(ENDS, cycle((free[0, -5:-3], free[:, -4]))):
        ours, expected = both(model, eos_token_id=tokens.tolist(), **ends)
        assert torch.equal(ours, expected), (ends, tokens)
        lengths |= set((ours != 0).sum(-1).tolist())
    assert len(lengths) > 2  # some texts ended by themselves
    for settings in SETTINGS[case]:
        ours, expected = both(model, **{"eos_token_id": [3, 4], **settings})
        assert torch.equal(ours, expected), settings
