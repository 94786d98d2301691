# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generation is the library's own, and says the same with every cache, in every batch, drafted or not."""

from typing import Any

import pytest
import torch
from model_cases import CAUSAL_LM, MASK, SEQ2SEQ_LM, Case, draw_ids, in_turn, padded, parametrize_cases
from shared import lively
from torch import Tensor, nn
from transformers import CompileConfig

from modeling_scratch.fast.engine import MANY_TEXTS
from modeling_scratch.fast.generation import MANY_ROWS, WORTH_A_COPY, quick_head

GENERATORS = (CAUSAL_LM, SEQ2SEQ_LM)
IDS = draw_ids()
ROWS = [row[real] for row, real in zip(IDS, MASK.bool())]
NEW = 7
LENGTH = {"max_new_tokens": NEW, "min_new_tokens": NEW}
every_generator = parametrize_cases(GENERATORS)

# One continuation of each text, and several, drawn by chance.
SEARCHES: tuple[dict[str, Any], ...] = ({}, {"num_beams": 3, "num_return_sequences": 2, "do_sample": True})
STATIC = {"cache_implementation": "static", "disable_compile": True}


def generate(model: Any, ids: Tensor = IDS, mask: Tensor | None = None, seed: int = 0, **settings: Any) -> Any:
    """NEW tokens for each text, none of them twice as small models like to, and their scores."""
    torch.manual_seed(seed)
    mask = torch.ones_like(ids) if mask is None else mask
    settings = {**LENGTH, "use_cache": True, "no_repeat_ngram_size": 1, "suppress_tokens": [0], **settings}
    return model.generate(ids, attention_mask=mask, return_dict_in_generate=True, output_scores=True, **settings)


def assert_same_texts(found: Any, expected: Any) -> None:
    """The same tokens, and scores within rounding."""
    assert torch.equal(found.sequences, expected.sequences)
    for one, other in zip(found.scores, expected.scores, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=0)


def new_tokens(outputs: Any) -> Tensor:
    """Without the prompt, or the token that a decoder starts with: as many as there were steps."""
    return outputs.sequences[:, -len(outputs.scores) :]


# Caches


@in_turn(GENERATORS)
def test_a_cache_changes_nothing(case: Case, settings: dict) -> None:
    model = lively(case.model(**settings))
    for search in SEARCHES:
        expected = generate(model, use_cache=False, **search)
        assert_same_texts(generate(model, use_cache=True, **search), expected)
    assert_same_texts(generate(model, **STATIC), generate(model))


FEW = IDS[::2], MASK[::2]  # without the text that is padded on the right


@every_generator
def test_a_static_cache_changes_nothing_for_many_texts(case: Case) -> None:
    """One token of each of many is read by plain products, which are given the mask of the fused kernel."""
    model = lively(case.model())
    many = [states.repeat(MANY_TEXTS, 1) for states in FEW]
    assert_same_texts(generate(model, *many, **STATIC), generate(model, *many))
    assert_same_texts(generate(model, *FEW, **STATIC, output_attentions=True), generate(model, *FEW))


COMPILED = CompileConfig(fullgraph=False, dynamic=False, mode="default", backend="eager")
COMPILED._compile_all_devices = True  # as on a GPU; without a public name


@pytest.mark.parametrize(
    ("case", "position_type", "search"),
    [
        (CAUSAL_LM, "rotary", {"do_sample": True}), (CAUSAL_LM, "alibi", {}), (CAUSAL_LM, "learned", {"num_beams": 2}),
        (SEQ2SEQ_LM, "rotary", {"num_beams": 2}),
    ],
)  # fmt: skip
def test_a_second_call_runs_what_the_first_one_compiled(case: Case, position_type: str, search: dict) -> None:
    """All tokens but the prompt have inputs of one shape, so that one graph fits them."""
    torch.compiler.reset()
    model = lively(case.model(position_type=position_type))
    expected = generate(model, *FEW, **search)
    compiled = {"cache_implementation": "static", "compile_config": COMPILED}
    assert_same_texts(generate(model, *FEW, **search, **compiled), expected)
    with torch.compiler.set_stance("fail_on_recompile"):
        assert_same_texts(generate(model, *FEW, **search, **compiled), expected)


# Batches


@in_turn(GENERATORS)
def test_a_batch_says_what_its_texts_say_one_by_one(case: Case, settings: dict) -> None:
    model = lively(case.model(**settings))
    batch = padded(ROWS, "left", 12)
    for search in {}, {"num_beams": 3}:  # chance is drawn for a whole batch
        together = new_tokens(generate(model, batch["input_ids"], batch["attention_mask"], **search))
        assert len(together.unique(dim=0)) > 1
        apart = torch.cat([new_tokens(generate(model, row[None], **search)) for row in ROWS])
        assert torch.equal(together, apart)


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
    ids = torch.tensor([[1, 2, 3]])
    options = {"max_new_tokens": WORTH_A_COPY + 8, "min_new_tokens": WORTH_A_COPY + 8, "do_sample": False}
    first = model.generate(ids, **options)
    model.lm_head.weight.data.copy_(model.lm_head.weight.data.flip(0))
    second = model.generate(ids, **options)
    assert not torch.equal(first, second)
    assert torch.equal(second, model.generate(ids.expand(2, -1), **options)[:1])
