# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Our beam search finds the texts that the library's own finds."""

from itertools import cycle, product
from typing import Any

import pytest
import torch
from model_cases import CAUSAL_LM, SEQ2SEQ_LM, Case, draw_ids, parametrize_cases
from shared import lively
from transformers import StoppingCriteriaList

from modeling_scratch import fast

IDS = draw_ids()
PADDED = torch.ones_like(IDS)
PADDED[1, :4] = 0
every_generator = parametrize_cases((CAUSAL_LM, SEQ2SEQ_LM))

# When a search ends, and which of its texts is best.
ENDS = [
    {"early_stopping": early, "length_penalty": penalty, "num_return_sequences": returned}
    for (early, penalty), returned in zip(product((False, True, "never"), (-1.0, 0.0, 2.0)), cycle((1, 3)))
]


def both(model: Any, **settings: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """What our search finds, and what the library's finds."""
    settings = {"max_new_tokens": 8, "num_beams": 3, "pad_token_id": 0, **settings}
    settings.setdefault("attention_mask", torch.ones_like(IDS))
    ours = model.generate(IDS, **settings)
    with fast.disabled():
        return ours, model.generate(IDS, **settings)


@pytest.fixture(scope="module")
def models() -> dict[Case, Any]:
    return {case: lively(case.model()) for case in (CAUSAL_LM, SEQ2SEQ_LM)}


@every_generator
def test_it_ends_where_the_library_ends(case: Case, models: dict[Case, Any]) -> None:
    free, _ = both(models[case], eos_token_id=None)
    lengths = set()
    for ends, tokens in zip(ENDS, cycle((free[0, -5:-3], free[:, -4]))):
        ours, expected = both(models[case], eos_token_id=tokens.tolist(), **ends)
        assert torch.equal(ours, expected), (ends, tokens)
        lengths |= set((ours != 0).sum(-1).tolist())
    assert len(lengths) > 2  # some texts ended by themselves


SETTINGS: list[tuple[Case, dict[str, Any]]] = [
    (CAUSAL_LM, {"eos_token_id": None}),
    (SEQ2SEQ_LM, {"min_new_tokens": 6, "no_repeat_ngram_size": 2}),
    (CAUSAL_LM, {"repetition_penalty": 1.5, "bad_words_ids": [[7]]}),
    (SEQ2SEQ_LM, {"num_beams": 8, "num_return_sequences": 8}),
    (CAUSAL_LM, {"use_cache": False}),
    (SEQ2SEQ_LM, {"use_cache": False}),
    (CAUSAL_LM, {"cache_implementation": "static"}),
    (SEQ2SEQ_LM, {"cache_implementation": "static"}),
    (CAUSAL_LM, {"max_time": 0.0}),
    (CAUSAL_LM, {"attention_mask": PADDED}),
    (SEQ2SEQ_LM, {"attention_mask": PADDED}),
    (SEQ2SEQ_LM, {"stopping_criteria": StoppingCriteriaList([lambda ids, scores: ids[:, -1] % 5 == 0])}),
]


@pytest.mark.parametrize(("case", "settings"), SETTINGS)
def test_it_takes_every_setting(case: Case, settings: dict[str, Any], models: dict[Case, Any]) -> None:
    ours, expected = both(models[case], **{"eos_token_id": [3, 4], **settings})
    assert torch.equal(ours, expected)
