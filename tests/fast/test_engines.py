# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Both engines compute the same: states, logits, loss and every gradient, whatever the model and the batch."""

from contextlib import ExitStack, nullcontext
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CASES,
    CAUSAL_LM,
    DECODER,
    DECODER_TEXTS,
    ENCODER,
    MASKED_LM,
    ONE_STACK,
    SEQ2SEQ,
    SEQ2SEQ_LM,
    SPANS,
    SWITCHES,
    TEXTS,
    TINY,
    TOKENS,
    Case,
    boundaries,
    low_thresholds,  # noqa: F401  (a fixture)
    parametrize_cases,
    restarting,
)
from shared import lively
from torch import Tensor, nn

from modeling_scratch import fast

Batch = dict[str, Any]
always = pytest.mark.usefixtures("low_thresholds")

SETTINGS = {
    **SWITCHES,
    "output-one_key_head": {"norm_position": "output", "num_key_value_heads": 1, "position_type": "rotary"},
    "projected_first": {"embedding_size": 8, "positions_after_projection": True, "position_type": "learned"},
}
LENGTHS = 4, 16, 9, 9, 15, 1, 7  # an odd number of tokens, which oneDNN gets a few more of
LENGTH = max(LENGTHS)


# Forms of a batch: inputs for a model of one stack

IDS = torch.randint(1, TINY["vocab_size"], (len(LENGTHS), LENGTH), generator=torch.Generator().manual_seed(0))
MASK = (torch.arange(LENGTH) < torch.tensor(LENGTHS)[:, None]).long()
RIGHT, LEFT = ({"input_ids": IDS, "attention_mask": MASK}, {"input_ids": IDS.flip(1), "attention_mask": MASK.flip(1)})
PADDED: dict[str, Batch] = {
    "padded_right": RIGHT,
    "padded_left": LEFT,
    "padded_anywhere": {**RIGHT, "attention_mask": MASK[:, torch.randperm(LENGTH, generator=torch.Generator())]},
    "without_padding": {"input_ids": IDS},
    "one_short_text": {"input_ids": IDS[:1, :5]},
    "token_types": {**RIGHT, "token_type_ids": IDS % 2},
    "embeddings": {"inputs_embeds": IDS.flip(1), "attention_mask": MASK.flip(1)},  # of these tokens
}
WHOLE = {"input_ids": IDS[MASK.bool()][None]}
CONCATENATED: dict[str, Batch] = {
    "positions": {**WHOLE, "position_ids": restarting(LENGTHS)},
    "boundaries": {**WHOLE, **boundaries(torch.tensor(LENGTHS))},
    "an_empty_segment": {**WHOLE, **boundaries(torch.tensor((*LENGTHS[:2], 0, *LENGTHS[2:])))},
}
# Not for encoder-decoders: what attends to nothing says whatever stood there. A mask of pairs: tokens see themselves
# and tokens of the same kind; whether they see what follows is the mask's to say.
PAIRWISE = (IDS[:, :, None] % 3 == IDS[:, None] % 3)[:, None].tril()
FORMS: dict[str, Batch] = {
    **PADDED,
    "an_empty_text": {**RIGHT, "attention_mask": F.pad(MASK[1:], (0, 0, 0, 1))},
    "given_positions": {**RIGHT, "position_ids": torch.arange(3, LENGTH + 3)[None]},
    "mask_of_pairs": {"input_ids": IDS, "attention_mask": PAIRWISE},
    **CONCATENATED,
}
BACKENDS = "eager", "sdpa"
# Each class takes every form; those whose states another class reads, or that read like another one, a third of them.
ALIKE = ENCODER, TOKENS, DECODER, SEQ2SEQ
PAIRS = [
    pytest.param(case, form, {**list(SETTINGS.values())[(row + column) % len(SETTINGS)],
                              "attn_implementation": BACKENDS[(row + column) % 2]},
                 id=f"{case.model_class.__name__}-{form}")
    for (row, case), (column, form) in product(enumerate(CASES), enumerate(FORMS))
    if (case in ONE_STACK or form in PADDED) and (case not in ALIKE or (row + column) % 3 == 0)
]  # fmt: skip


def make_batch(model: Any, case: Case, form: str) -> tuple[Batch, Tensor]:
    """With labels, and the mask of real tokens of what the last stack reads."""
    batch = {**FORMS[form]}
    ids = batch.get("input_ids", batch.get("inputs_embeds"))
    mask = batch.get("attention_mask")
    real = torch.ones_like(ids, dtype=torch.bool) if mask is None or mask.ndim == 4 else mask.bool()
    count = len(LENGTHS) + (form == "an_empty_segment") if form in CONCATENATED else len(ids)
    if form == "token_types" and not model.config.type_vocab_size:
        batch.pop("token_type_ids")
    if case in (TEXTS, DECODER_TEXTS):
        batch["labels"] = torch.arange(count) % 3
    elif case in (MASKED_LM, CAUSAL_LM, TOKENS, SEQ2SEQ_LM):
        batch["labels"] = torch.where(real & (ids % 4 != 0), ids % (3 if case is TOKENS else 64), -100)
    elif case is SPANS and form not in CONCATENATED:
        batch |= {"start_positions": real.int().argmax(-1), "end_positions": real.cumsum(-1).argmax(-1)}
    if case in (SEQ2SEQ, SEQ2SEQ_LM):
        batch |= {"decoder_input_ids": ids.flip(0)[:, 1:], "decoder_attention_mask": real.long().flip(0)[:, 1:]}
        batch |= {"labels": batch["labels"].flip(0)[:, 1:]} if "labels" in batch else {}
        real = real.flip(0)[:, 1:]
    if form == "embeddings":
        batch["inputs_embeds"] = model.get_input_embeddings()(ids)
    return batch, real


def step(model: Any, case: Case, form: str) -> dict[str, Tensor]:
    """What the model says of real tokens, the loss, and every gradient, of some sum where there is no loss."""
    model.zero_grad()
    batch, real = make_batch(model, case, form)
    outputs = model(**batch)
    found = {}
    for name, value in outputs.items():
        at = {real.shape: real}.get(value.shape[:2])
        if name == "encoder_last_hidden_state":
            at = batch["attention_mask"].bool() if "attention_mask" in batch else None
        found[name] = value if at is None else value[at]
    loss = found.get("loss")
    if loss is None:
        loss = sum((value * torch.linspace(-1, 1, value.shape[-1])).sum() for value in found.values()) / real.sum()
    loss.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()
                 if parameter.grad is not None}  # fmt: skip
    return {**{name: value.detach() for name, value in found.items()}, **gradients}


def assert_engines_agree(model: Any, case: Case, form: str) -> None:
    found = step(model, case, form)
    with fast.disabled():
        expected = step(model, case, form)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        scale = max(1.0, float(value.abs().max()))
        torch.testing.assert_close(found[name], value, atol=2e-5 * scale, rtol=0, msg=f"{name}: {{}}".format)


@always
@pytest.mark.parametrize(("case", "form", "settings"), PAIRS)
def test_a_step_is_the_same(case: Case, form: str, settings: dict) -> None:
    assert_engines_agree(case.model(**settings).train(), case, form)


@pytest.mark.parametrize(("case", "form"), [*product([MASKED_LM], FORMS), *product([SEQ2SEQ_LM], PADDED)])
def test_a_sparse_step_is_the_same(case: Case, form: str) -> None:
    """At the sizes where the engine thinks that it pays."""
    settings = {"norm_position": "output", "position_type": "rotary", "sparse_prediction": True}
    model = case.model(**settings).train()
    assert_engines_agree(model, case, form)
    batch = {**case.batch(), "labels": case.inputs()["input_ids"] % 3}  # of padding, too
    with fast.disabled():
        expected = model(**batch).loss
    torch.testing.assert_close(model(**batch).loss, expected, atol=1e-5, rtol=0)


# Generation

SEARCHES = {"greedy": {}, "sampling": {"do_sample": True, "top_k": 10}, "beams": {"num_beams": 3}}


@always
@pytest.mark.parametrize(
    ("texts", "cache"), [(40, {}), (3, {"cache_implementation": "static", "disable_compile": True})], ids=str
)
@parametrize_cases((CAUSAL_LM, SEQ2SEQ_LM))
def test_the_same_texts_are_generated(case: Case, texts: int, cache: dict) -> None:
    model = lively(case.model(use_cache=True, lm_head_bias=True))
    batch = {name: value.repeat(6, 1)[1 : texts + 1] for name, value in LEFT.items()}
    for search in SEARCHES.values():
        found = []
        for generate in (model.generate, fast.disabled()(lambda **given: model.generate(**given))):
            torch.manual_seed(0)
            found.append(generate(**batch, **cache, **search, max_new_tokens=8, no_repeat_ngram_size=1))
        assert torch.equal(*found)
        assert len(found[0].unique()) > 8  # or nothing would be shown


# What stays as it was; who hooks or patches a part: see test_patched.py


class FailureError(Exception):
    pass


def drawn(dropout: nn.Module) -> Tensor:
    """Each engine has draws of its own."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return dropout(torch.ones(1000))


@always
@pytest.mark.parametrize("fails", [False, True], ids=["ends", "fails"])
def test_nothing_stays_switched_after_a_call(fails: bool) -> None:
    model = TEXTS.model(hidden_dropout=0.1).train()
    dropout, inside = model.classifier.dropout, []
    before = drawn(dropout)

    def look(*_: Any) -> None:
        inside.append(drawn(dropout))
        if fails:
            raise FailureError

    hook = model.classifier.register_forward_pre_hook(look)
    for _ in range(2):
        with pytest.raises(FailureError) if fails else nullcontext():
            model(**TEXTS.batch()).loss.backward()
        assert torch.equal(drawn(dropout), before)
        assert not any("forward" in vars(module) for module in model.modules())
    assert len(inside) == 2
    assert not any(torch.equal(each, before) for each in inside)  # the engine was at work
    hook.remove()
    assert model(**TEXTS.batch()).loss.isfinite()


@parametrize_cases((ENCODER, DECODER, SEQ2SEQ))
def test_switching_off_nests_and_overlaps_and_ends_as_it_was(case: Case) -> None:
    model = case.model()
    batch, _ = make_batch(model, case, "padded_right")

    def is_on() -> bool:
        """Of padding the engine, which leaves it out, says zeros; the textbook computes something there, too."""
        outputs = model(**batch)
        states = outputs.encoder_last_hidden_state if case is SEQ2SEQ else outputs.last_hidden_state
        assert fast.is_enabled() != states[~batch["attention_mask"].bool()].any()
        return fast.is_enabled()

    with fast.disabled(), fast.disabled():
        assert not is_on()
    with pytest.raises(FailureError), fast.disabled():
        raise FailureError
    assert is_on()
    with ExitStack() as second:  # of two threads: the engine comes back when the last one ends
        with fast.disabled():
            second.enter_context(fast.disabled())
        assert not is_on()
    assert is_on()
    fast.disable()
    try:
        with fast.disabled():
            assert not is_on()
        assert not is_on()
    finally:
        fast.enable()
