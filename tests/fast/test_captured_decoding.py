# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Captured decoding writes the tokens of `generate` without it: by default on CUDA, on a CPU where it is asked for."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from model_cases import CAUSAL_LM, MASK, draw_ids
from shared import every_device, lively
from torch import Tensor

from modeling_scratch import fast
from modeling_scratch.fast.captured_decoding import captured_decoding, kept

pytestmark = pytest.mark.usefixtures("exact_products")

IDS, LEFT = draw_ids(), MASK.flip(1).sort(1).values  # padded on the left
ENDS = list(range(5, 25))
POSITIONS: dict[str, dict[str, Any]] = {
    "learned": {"position_type": "learned"},
    "rotary, grouped": {"position_type": "rotary", "num_key_value_heads": 2},
    "alibi": {"position_type": "alibi"},
    "relative": {"position_type": "relative"},
}
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "ends": {"eos_token_id": ENDS},
    "processors": {"eos_token_id": ENDS, "repetition_penalty": 1.3, "min_new_tokens": 6},
    "sampling": {"do_sample": True, "top_k": 20, "temperature": 3.0, "eos_token_id": ENDS},
    "two of each": {"do_sample": True, "num_return_sequences": 2},
    "ends as a tensor": {"eos_token_id": torch.tensor(ENDS)},
    "prefixes": {"eos_token_id": ENDS, "prefix_allowed_tokens_fn": lambda text, tokens: list(range(3, 30))},
}


def make_model(device: str, **settings: Any) -> Any:
    return lively(CAUSAL_LM.model(max_position_embeddings=64, use_cache=True, **settings)).to(device)


def generate(model: Any, count: int = len(IDS), **options: Any) -> Tensor:
    options = {"attention_mask": LEFT[:count].to(model.device), "pad_token_id": 0, "max_new_tokens": 33, **options}
    return model.generate(IDS[:count].to(model.device), **options)


def captured(model: Any, **options: Any) -> Tensor:
    asked = {} if model.device.type == "cuda" else {"custom_generate": captured_decoding}
    return generate(model, **asked, **options)


def assert_same(model: Any, calls: int = 1, **options: Any) -> int:
    """From the second call on by steps of earlier ones. Returns the number of tokens."""
    torch.manual_seed(0)
    with fast.disabled():
        expected, expected_number = generate(model, **options), torch.rand(1, device=model.device)
    for _ in range(calls):
        torch.manual_seed(0)
        tokens = captured(model, **options)
        assert torch.equal(tokens, expected)
        assert torch.equal(torch.rand(1, device=model.device), expected_number)  # as many were drawn
    return tokens.shape[1]


@every_device
@pytest.mark.parametrize("positions", POSITIONS)
def test_the_tokens_are_those_of_generate(device: str, positions: str) -> None:
    model = make_model(device, **POSITIONS[positions])
    searches = [*SEARCHES.values()] if positions == "rotary, grouped" else [SEARCHES["greedy"], SEARCHES["processors"]]
    lengths = {assert_same(model, 2, **options) for options in searches}
    assert len(lengths) > 1 or len(searches) < len(SEARCHES)  # some calls end early


@every_device
def test_a_longer_call_and_other_batches_follow_a_short_one(device: str) -> None:
    model = make_model(device)
    for count, new in ((3, 32), (1, 32), (3, 50), (3, 32)):
        mask = torch.ones(count, IDS.shape[1], dtype=torch.long, device=device)
        assert_same(model, count=count, max_new_tokens=new, attention_mask=mask)


@every_device
def test_processors_see_contiguous_tokens_and_may_generate(device: str) -> None:
    model = make_model(device)

    def process(tokens: Tensor, scores: Tensor) -> Tensor:
        tokens.view(-1)
        if tokens.shape[1] < IDS.shape[1] + 2:
            captured(model)
        return scores

    assert torch.equal(captured(model, logits_processor=[process]), captured(model))


@every_device
def test_ended_texts_are_padded_with_the_first_end_token(device: str) -> None:
    model = make_model(device)
    model.generation_config.pad_token_id = None
    assert_same(model, pad_token_id=None, eos_token_id=ENDS)


@every_device
def test_it_sees_what_changes_between_calls(device: str) -> None:
    model = make_model(device)
    before = captured(model)
    weight = model.model.stack.layers[0].feed_forward.down_proj.weight
    changes = (
        lambda: weight.data.mul_(-2),  # in place
        lambda: setattr(weight, "data", -weight.data),  # in another place
        lambda: setattr(model.model.stack.layers[1].attention, "scaling", 0.0),
        lambda: model.set_attn_implementation("eager"),
        lambda: model.model.stack.layers[0].register_forward_hook(lambda module, args, output: 0 * output),
    )
    for change in changes:
        change()
        assert_same(model)
    assert not torch.equal(captured(model), before)


@every_device
def test_threads_share_a_model(device: str) -> None:
    model = make_model(device)
    expected = captured(model)
    with ThreadPoolExecutor(4) as threads:
        assert all(torch.equal(tokens, expected) for tokens in threads.map(captured, [model] * 4))


@every_device
def test_a_model_that_nobody_holds_is_freed(device: str) -> None:
    model = make_model(device)
    captured(model)
    alive = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert alive() is None
    finally:
        gc.enable()


@every_device
def test_disabling_the_engine_frees_what_it_kept(device: str) -> None:
    model = make_model(device)
    captured(model)
    assert model in kept
    fast.disable()
    fast.enable()
    assert model not in kept


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_graphs_of_torch_compile_leave_it_alone() -> None:
    model = make_model("cuda", hidden_size=256)
    expected = captured(model)
    square = torch.compile(lambda matrix: matrix @ matrix, mode="reduce-overhead")
    for size in (256, 512):
        for _ in range(3):
            square(torch.rand(size, size, device="cuda"))
        taken = [torch.full((2**20,), torch.nan, device="cuda") for _ in range(64)]
        assert torch.equal(captured(model), expected)
        del taken
