# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Packing is exact: whichever way a batch comes, its tokens see their own sequence, all of it, and nothing else."""

from itertools import cycle
from typing import Any

import pytest
import torch
from model_cases import DECODER_TEXTS, ENCODER, TEXTS, TINY, Case, assert_close, boundaries, engines, restarting
from torch import Tensor, nn
from transformers import AttentionInterface

from modeling_scratch.fast.packing import make_packing

LENGTH = 48
LENGTHS = [3, LENGTH, 16, 16, LENGTH, 7]  # rows of one text, which need no mask, and rows that texts share


def make_mask() -> Tensor:
    """Padding on the right, on the left, in holes, nowhere, and a row of nothing else."""
    mask = torch.zeros(len(LENGTHS) + 1, LENGTH, dtype=torch.long)
    for row, length in enumerate(LENGTHS):
        mask[row, :length] = 1
    mask[2] = mask[2].flip(0)
    mask[3] = mask[3][torch.randperm(LENGTH, generator=torch.Generator().manual_seed(3))]
    return mask


MASK = make_mask()
REAL = MASK.bool()
IDS = torch.randint(1, TINY["vocab_size"], MASK.shape, generator=torch.Generator().manual_seed(1))

SETTINGS: dict[str, dict[str, Any]] = {
    "none": {"position_type": "none", "num_key_value_heads": 2, "head_dim": 6},
    "learned": {"position_type": "learned", "position_offset": 2, "norm_position": "pre"},
    "sinusoidal": {"position_type": "sinusoidal", "embedding_scale": True, "num_key_value_heads": 1},
    "sinusoidal_halves": {"position_type": "sinusoidal_halves", "embedding_size": 8, "type_vocab_size": 2},
    "dynamic": {"position_type": "rotary", "rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
}  # fmt: skip


def make(case: Case = ENCODER, backend: str = "sdpa", **settings: Any) -> Any:
    return case.model(max_position_embeddings=LENGTH, attn_implementation=backend, **settings)


SEQUENCES = [ids[real] for ids, real in zip(IDS, REAL) if real.any()]
PACKED_IDS = torch.cat(SEQUENCES)[None]
BY_POSITIONS = {"position_ids": restarting(LENGTHS)}
BY_BOUNDARIES = boundaries(torch.tensor(LENGTHS))
# As for compiled kernels, which want as many boundaries in each batch.
MORE_ENDS = nn.functional.pad(BY_BOUNDARIES["cu_seq_lens_q"], (0, 3), value=sum(LENGTHS))
BY_PADDED_BOUNDARIES = {"cu_seq_lens_q": MORE_ENDS, "cu_seq_lens_k": MORE_ENDS}
FORMS = BY_POSITIONS, BY_BOUNDARIES, BY_POSITIONS | BY_BOUNDARIES, BY_PADDED_BOUNDARIES


def one_by_one(model: nn.Module) -> Tensor:
    """The states (tokens, hidden) of each sequence on its own, unpadded and unpacked."""
    return torch.cat([model(ids[None]).last_hidden_state[0] for ids in SEQUENCES])


def visible_backend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Somebody's own attention, for which nobody makes masks."""
    assert mask is None
    scores = query @ key.repeat_interleave(query.shape[1] // key.shape[1], 1).transpose(-2, -1) * options["scaling"]
    if module.is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    return (scores.softmax(-1) @ value.repeat_interleave(query.shape[1] // key.shape[1], 1)).transpose(1, 2), None


def test_texts_stay_apart_where_nobody_makes_masks() -> None:
    AttentionInterface.register("visible", visible_backend)
    model, expected = make(backend="visible"), one_by_one(make())
    assert_close(model(IDS, MASK).last_hidden_state[REAL], expected)
    assert_close(model(PACKED_IDS, **BY_POSITIONS).last_hidden_state[0], expected)


@engines
@pytest.mark.parametrize(("settings", "backend"), [*zip(SETTINGS.values(), cycle(("eager", "sdpa")))])
def test_a_batch_that_arrives_packed_equals_each_sequence_on_its_own(settings: dict, backend: str) -> None:
    model = make(backend=backend, **settings)
    expected = one_by_one(model)
    for form in FORMS:
        assert_close(model(PACKED_IDS, **form).last_hidden_state[0], expected)


@engines
@pytest.mark.parametrize(
    ("case", "pooling"), [(TEXTS, "first"), (TEXTS, "mean"), (TEXTS, "max"), (DECODER_TEXTS, "last")]
)
def test_each_packed_sequence_is_one_text_to_classify(case: Case, pooling: str) -> None:
    model = make(case, classifier_pooling=pooling)
    labels = torch.tensor([0, 2, 1, 1, 0, 2])
    expected = model(IDS[: len(LENGTHS)], MASK[: len(LENGTHS)], labels=labels)
    for form in FORMS:
        outputs = model(PACKED_IDS, **form, labels=labels if form is not BY_PADDED_BOUNDARIES else None)
        assert_close(outputs.logits[: len(LENGTHS)], expected.logits)
        if outputs.loss is not None:
            assert_close(outputs.loss, expected.loss)


# Graphs: nothing may depend on what a traced tensor holds


def test_exported_with_one_sequence_several_stay_apart() -> None:
    model = make(num_hidden_layers=1)
    example = {"input_ids": torch.ones(2, 8, dtype=torch.long), "position_ids": torch.arange(8).expand(2, 8)}
    sizes = {0: torch.export.Dim("rows", min=1), 1: torch.export.Dim("tokens", min=2)}
    program = torch.export.export(model, (), example, dynamic_shapes=dict.fromkeys(example, sizes)).module()
    states = program(input_ids=PACKED_IDS, **BY_POSITIONS).last_hidden_state
    assert_close(states[0], one_by_one(model))


# The parts


@pytest.mark.parametrize("seed", range(3))
def test_unpacking_undoes_packing(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows, length = (int(torch.randint(1, 30, (), generator=generator)) for _ in range(2))
    mask = torch.rand(rows, length, generator=generator) < 0.5
    states = torch.randn(rows, length, 3, generator=generator)
    tokens = mask.flatten().nonzero().flatten()
    packing = make_packing(tokens, mask.sum(-1), mask.shape, lambda segments, shape: None)
    packed = packing.pack(states)
    assert torch.equal(packing.unpack(packed), states * mask[..., None])
    assert torch.equal(packed[0, packing.packed_indices(tokens)], states.flatten(0, 1)[tokens])
    assert mask.flatten()[packing.indices].all()  # what fills a row is some token, too
