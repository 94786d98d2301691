# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Packing is exact: whichever way a batch comes, its tokens see their own sequence, all of it, and nothing else."""

import random
from collections.abc import Callable
from statistics import mean
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import (
    CAUSAL_LM,
    DECODER,
    DECODER_TEXTS,
    ENCODER,
    TEXTS,
    Case,
    assert_close,
    backends,
    boundaries,
    draw_ids,
    engines,
    low_thresholds,  # noqa: F401  (a fixture)
    restarting,
    texts,
)
from torch import nn

from modeling_scratch.fast.bin_packing import Rows, arrange, equal_rows

LENGTHS = [3, 48, 16, 16, 48, 7]  # rows of one text, which need no mask, and rows that texts share
SEQUENCES = texts(lengths=LENGTHS)
PACKED_IDS, LABELS = torch.cat(SEQUENCES)[None], torch.tensor([0, 2, 1, 1, 0, 2])
BY_POSITIONS = {"position_ids": restarting(LENGTHS)}
BY_BOUNDARIES = boundaries(torch.tensor(LENGTHS))
# As for compiled kernels, which want as many boundaries in each batch.
MORE_ENDS = nn.functional.pad(BY_BOUNDARIES["cu_seq_lens_q"], (0, 3), value=sum(LENGTHS))
BY_PADDED_BOUNDARIES = {"cu_seq_lens_q": MORE_ENDS, "cu_seq_lens_k": MORE_ENDS}
FORMS = BY_POSITIONS, BY_BOUNDARIES, BY_POSITIONS | BY_BOUNDARIES, BY_PADDED_BOUNDARIES

MODELS: list[tuple[Case, dict[str, Any]]] = [
    (ENCODER, {"position_type": "none", "num_key_value_heads": 2, "head_dim": 6}),
    (ENCODER, {"position_type": "learned", "position_offset": 2, "norm_position": "pre"}),
    (ENCODER, {"position_type": "sinusoidal", "embedding_scale": True, "num_key_value_heads": 1}),
    (ENCODER, {"position_type": "sinusoidal_halves", "embedding_size": 8, "type_vocab_size": 2}),
    (ENCODER, {"position_type": "rotary", "rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}),
    (CAUSAL_LM, {"position_type": "learned", "use_cache": True}),
    (CAUSAL_LM, {"position_type": "rotary"}),
    (TEXTS, {"classifier_pooling": "first"}), (TEXTS, {"classifier_pooling": "mean"}),
    (TEXTS, {"classifier_pooling": "max"}), (DECODER_TEXTS, {}),
]  # fmt: skip


def make(case: Case, **settings: Any) -> Any:
    return case.model(max_position_embeddings=max(LENGTHS), **settings)


@engines
@backends
@pytest.mark.parametrize(("case", "settings"), MODELS)
def test_a_packed_batch_equals_its_texts_one_by_one(case: Case, settings: dict, backend: str) -> None:
    """States or logits, loss and gradients, though every token has a label: none predicts the first of another text."""
    model, is_text = make(case, attn_implementation=backend, **settings), case in (TEXTS, DECODER_TEXTS)
    labels = LABELS.split(1) if is_text else [ids[None] for ids in SEQUENCES]
    count = len(LENGTHS) if is_text else sum(LENGTHS) - len(LENGTHS)
    given: dict[str, Any] = {} if case is ENCODER else {"num_items_in_batch": count}

    def step(ids: torch.Tensor, label: Any, **form: Any) -> tuple[torch.Tensor, torch.Tensor]:
        outputs = model(ids, **form, **({"labels": label, **given} if given else {}))
        return outputs[1 if given else 0].flatten(0, -2), outputs[0] if given else outputs[0].square().sum()

    def gradients(loss: torch.Tensor) -> list[Any]:
        model.zero_grad()
        loss.backward()
        return [parameter.grad for parameter in model.parameters()]

    alone = [step(ids[None], label) for ids, label in zip(SEQUENCES, labels)]
    expected, loss = torch.cat([answers for answers, _ in alone]), sum(each for _, each in alone)
    slopes = gradients(loss)
    for form in FORMS:
        if is_text and form is BY_PADDED_BOUNDARIES:  # as many labels as texts are not there
            assert_close(model(PACKED_IDS, **form).logits[: len(LENGTHS)], expected)
            continue
        answers, found = step(PACKED_IDS, LABELS if is_text else PACKED_IDS, **form)
        assert_close(answers, expected)
        torch.testing.assert_close(found, loss, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(gradients(found), slopes, atol=1e-4, rtol=1e-4)


@pytest.mark.usefixtures("low_thresholds")
@engines
@backends
@pytest.mark.parametrize("case", [ENCODER, DECODER], ids=["encoder", "decoder"])
def test_a_segment_starts_wherever_positions_do_not_go_on_by_one(case: Case, backend: str) -> None:
    """A first one may be short, and positions may leap ahead, as in a piece from the middle of a text."""
    model, ids = case.model(position_type="learned", attn_implementation=backend), draw_ids()[:1]
    for starts, lengths in ([0, 0], [1, 8]), ([0, 0], [2, 7]), ([0, 7], [4, 5]):
        places = [torch.arange(start, start + length)[None] for start, length in zip(starts, lengths)]
        found = model(ids, position_ids=torch.cat(places, 1)).last_hidden_state
        pieces = zip(ids.split(lengths, dim=1), places)
        assert_close(found, torch.cat([model(each, position_ids=place)[0] for each, place in pieces], 1))


def test_exported_with_one_sequence_several_stay_apart() -> None:
    """No graph may depend on what a traced tensor holds; where a cache is the rule, packed texts get none."""
    model = make(CAUSAL_LM, num_hidden_layers=1, position_type="learned", use_cache=True)
    ids, places = torch.ones(2, 8, dtype=torch.long), torch.arange(8).expand(2, 8)
    sizes = {0: torch.export.Dim("rows", min=1), 1: torch.export.Dim("tokens", min=3)}
    example = {"input_ids": ids, "position_ids": places, "labels": ids}
    program = torch.export.export(model, (), example, dynamic_shapes=dict.fromkeys(example, sizes)).module()
    outputs = program(input_ids=PACKED_IDS, **BY_POSITIONS, labels=PACKED_IDS)
    expected = model(PACKED_IDS, **BY_POSITIONS, labels=PACKED_IDS)
    assert_close(outputs.logits, expected.logits)
    assert_close(outputs.loss, expected.loss)


# Rows: every text stands in one, whole, and they cost no more than simpler ways to arrange them


@pytest.mark.parametrize("make", [arrange, equal_rows])
@settings(max_examples=60)
@given(st.sampled_from([5, 40, 600]).flatmap(lambda longest: st.lists(st.integers(0, longest), max_size=60)))
def test_every_text_stands_whole_in_one_row(make: Callable[[list[int]], list[Rows]], lengths: list[int]) -> None:
    """Of few different lengths or of many, with empty ones among them."""
    arrangement = make(lengths)
    standing = sorted(text for rows in arrangement for row in rows.texts for text in row)
    assert standing == [text for text, length in enumerate(lengths) if length]
    for rows in arrangement:
        filled = [sum(lengths[text] for text in row) for row in rows.texts]
        assert all(0 < tokens <= rows.width for tokens in filled)
        assert rows.padding == sum(rows.width - tokens for tokens in filled)


LIKE: dict[str, tuple[Callable[[random.Random], int], float]] = {  # lengths, and the share of padding
    "phrases, from one word to many": (lambda draw: 1 + round(draw.lognormvariate(2, 0.8)), 0.012),
    "captions, much alike": (lambda draw: max(9, round(draw.gauss(15, 4))), 0.05),
}


@pytest.mark.parametrize("name", LIKE)
def test_short_texts_share_rows_that_they_nearly_fill(name: str) -> None:
    length, share = LIKE[name]
    drawn = [[length(draw) for _ in range(64)] for draw in map(random.Random, range(20))]
    found = [arrange(lengths) for lengths in drawn]
    assert all(sum(len(rows.texts) for rows in one) < 0.6 * 64 for one in found)
    assert mean(sum(rows.padding for rows in one) / sum(lengths) for one, lengths in zip(found, drawn)) < share
