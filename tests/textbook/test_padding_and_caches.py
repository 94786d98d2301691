# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Padding, the future and a cache change nothing of what a token says, and reading few tokens none of theirs."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CAUSAL_LM,
    DECODER,
    DECODER_TEXTS,
    DECODERS,
    ENCODER,
    ENCODERS,
    HEADS,
    MASK,
    POSITIONS,
    SEQ2SEQ_LM,
    SEQ2SEQS,
    SWITCHES,
    TEXTS,
    TINY,
    Case,
    assert_close,
    draw_ids,
    engines,
    in_turn,
    low_thresholds,  # noqa: F401  (a fixture)
    of_real_tokens,
    padded,
    parametrize_cases,
    texts,
)
from shared import watch
from torch import Tensor
from transformers import Cache, DynamicCache, EncoderDecoderCache, StaticCache

from modeling_scratch import fast

IDS, REAL, LENGTH = draw_ids(), MASK.bool(), MASK.shape[1]
GENERATORS = (CAUSAL_LM, SEQ2SEQ_LM)
always = pytest.mark.usefixtures("low_thresholds")
every_position = pytest.mark.parametrize(
    ("case", "settings"), [row for cases in (ENCODERS, DECODERS, SEQ2SEQS) for row in in_turn(cases, POSITIONS).args[1]]
)

# Padding


@engines
@every_position
def test_padding_changes_nothing(case: Case, settings: dict) -> None:
    """A batch equals its texts one by one, whichever side is padded, however far and with whatever.

    Of a source and of its target, on other sides.
    """
    model, targets = case.model(**settings), texts(1)[::-1] if case in SEQ2SEQS else [None] * 4
    read = ({"decoder_input_ids": each[None]} if each is not None else {} for each in targets)
    singles = [model(row[None], **target) for row, target in zip(texts(), read)]
    for side, other, length, filler in ("right", "left", 9, 0), ("left", "right", 13, 7):
        batch = padded(texts(), side, length, filler)
        mask = batch["attention_mask"]
        if case in SEQ2SEQS:
            target = padded(targets, other, length + 1, filler=5)
            batch |= {f"decoder_{name}": value for name, value in target.items()}
            mask = target["attention_mask"]
        outputs = {name: value for name, value in model(**batch).items() if not name.startswith("encoder")}
        for name, value in outputs.items():
            of_tokens = value.shape[:2] == mask.shape
            expected = torch.cat([single[name][0] if of_tokens else single[name] for single in singles])
            assert_close(of_real_tokens(value, mask), expected)


@always
@engines
@in_turn(HEADS)
def test_texts_without_tokens(case: Case, settings: dict) -> None:
    """Nothing to see in them: finite numbers, and the other texts are as they were; a decoder sees their padding."""
    model, inputs = case.model(**settings), case.inputs()
    expected = model(**inputs)
    for empty in [1], [0, 1, 2]:
        mask = MASK.index_fill(0, torch.tensor(empty), 0)
        others = [i for i in range(len(MASK)) if i not in empty]
        batch = {**inputs, "attention_mask": mask}
        with fast.disabled():
            by_textbook = model(**batch)
        for name, value in model(**batch).items():
            assert value.isfinite().all()
            if case is SEQ2SEQ_LM:
                assert_close(*(of_real_tokens(each, MASK) for each in (value, by_textbook[name])))
            found, same = (of_real_tokens(each[others], MASK[others]) for each in (value, expected[name]))
            assert_close(found, same)


@engines
@in_turn()
def test_no_gradient_reaches_padding(case: Case, settings: dict) -> None:
    model = case.model(**{**settings, "classifier_pooling": "mean"})  # a maximum reaches few tokens
    batch = case.batch()
    embeds = model.get_input_embeddings()(batch.pop("input_ids")).detach().requires_grad_()
    outputs = model(**batch, inputs_embeds=embeds)
    (outputs.loss if case in HEADS else outputs.last_hidden_state[REAL].square().sum()).backward()
    assert (embeds.grad[~REAL] == 0).all()
    reached = REAL
    if case is CAUSAL_LM:  # a text's last token predicts nothing
        reached = reached & F.pad(reached[:, 1:], (0, 1))
    assert (embeds.grad[reached].abs().sum(-1) > 0).all()


# The future, with eager attention and sdpa: see the doctor in test_hf_behaviour.py


@pytest.mark.slow
@parametrize_cases(GENERATORS)
@torch.no_grad()
def test_the_future_changes_nothing_by_flex_attention(case: Case) -> None:
    model = case.model(position_type="rotary", attn_implementation="flex_attention")
    name = "decoder_input_ids" if case is SEQ2SEQ_LM else "input_ids"
    before = model(**{"input_ids": IDS, name: IDS}).logits
    for t in 0, 3, LENGTH - 2:
        changed = torch.where(torch.arange(LENGTH) > t, IDS % (TINY["vocab_size"] - 1) + 1, IDS)
        after = model(**{"input_ids": IDS, name: changed}).logits
        assert_close(after[:, : t + 1], before[:, : t + 1])
        assert not torch.allclose(after[:, t + 1], before[:, t + 1], atol=1e-3)


# Caches


def in_steps(model: Any, batch: dict, ends: list[int], cache: Cache | None, prefix: str) -> Tensor:
    """Logits of a batch that comes piece by piece, each piece behind the tokens that the cache holds."""
    logits, start, (ids, mask) = [], 0, (f"{prefix}input_ids", f"{prefix}attention_mask")
    for end in ends:
        piece = {**batch, ids: batch[ids][:, start:end], mask: batch[mask][:, :end] if mask in batch else None}
        outputs = model(**piece, past_key_values=cache, use_cache=True)
        logits.append(outputs.logits)
        cache, start = outputs.past_key_values, end
    assert cache.get_seq_length() == ends[-1]
    return torch.cat(logits, dim=1)


def static(config: Any) -> Cache:
    own, source = (StaticCache(config=config.get_text_config(decoder=True), max_cache_len=n) for n in (16, LENGTH))
    return EncoderDecoderCache(own, source) if config.is_encoder_decoder else own


@pytest.mark.parametrize(
    ("case", "settings"),
    [*in_turn((CAUSAL_LM,), {**POSITIONS, **SWITCHES}).args[1], *in_turn((SEQ2SEQ_LM,), POSITIONS).args[1]],
)
def test_cached_equals_uncached(case: Case, settings: dict) -> None:
    """Prefill, one token at a time, several at a time, and one again; a text is padded on the left, another right.

    Also without a mask, where positions go on from the cache.
    """
    prefix, own = ("decoder_", {"decoder_layers": 3}) if case is SEQ2SEQ_LM else ("", {})
    model, batch = case.model(**settings, **own), case.inputs()
    for cache in None, static(model.config):
        found = in_steps(model, batch, [4, 5, 6, 8, 9], cache, prefix)
        assert_close(found[REAL], model(**batch).logits[REAL])
    del batch[f"{prefix}attention_mask"]
    assert_close(in_steps(model, batch, [5, 9], DynamicCache(config=model.config), prefix), model(**batch).logits)


def test_a_cache_is_kept_where_it_is_of_use() -> None:
    """A plain one gets one of the source beside it."""
    model = CAUSAL_LM.model(use_cache=True)
    assert isinstance(model(IDS).past_key_values, DynamicCache)
    packed = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])  # whose next token would it be?
    for outputs in model(IDS, use_cache=False), model(IDS, labels=IDS), model(IDS[:1], position_ids=packed):
        assert outputs.past_key_values is None
    assert model.train()(IDS).past_key_values is None
    pairs, source = SEQ2SEQ_LM.model(use_cache=True), (IDS, MASK)
    assert pairs(*source, labels=IDS).past_key_values is None
    first = pairs(*source, IDS[:, :4], past_key_values=DynamicCache())
    assert isinstance(first.past_key_values, EncoderDecoderCache)
    rest = pairs(*source, IDS[:, 4:], past_key_values=first.past_key_values)
    assert_close(torch.cat((first.logits, rest.logits), 1), pairs(*source, IDS).logits)
    assert pairs.train()(*source, IDS).past_key_values is None


@engines
def test_a_text_is_classified_from_a_cache_as_at_once() -> None:
    model = DECODER_TEXTS.model(use_cache=True)
    cache: Any = model(IDS[:, :4], MASK[:, :4]).past_key_values
    found = model(IDS[:, 4:], MASK, past_key_values=cache).logits
    assert_close(found, model(IDS, MASK, use_cache=False).logits)


# What is read


@always
@engines
@pytest.mark.parametrize(
    ("position_type", "norm_position"), [("rotary", "post"), ("learned", "pre"), ("none", "output")]
)
@parametrize_cases((ENCODER, DECODER))
def test_the_token_that_is_read_sees_what_it_always_sees(case: Case, position_type: str, norm_position: str) -> None:
    """One of each text, not the last one: in a decoder those behind it stay unseen. Two heads share their keys."""
    model = case.model(position_type=position_type, norm_position=norm_position, num_key_value_heads=2)
    for place, mask in (2, None), (4, MASK), (4, None):
        indices = torch.arange(len(IDS)) * LENGTH + place
        expected = model(IDS, mask).last_hidden_state[:, place]
        assert_close(model(IDS, mask, token_indices=indices).last_hidden_state[:, place], expected)


@always
@engines
def test_the_pooler_reads_the_first_real_token_of_each_text() -> None:
    """Padded or packed, also with a mask of what sees what; without a mask, the first one, whichever it is."""
    model: Any = ENCODER.model(pooler=True, pad_token_id=0)
    outputs, begun = model(IDS, MASK), model(IDS.index_fill(1, torch.tensor(0), 0))
    for each, place in (outputs, [0, 0, 2]), (begun, [0, 0, 0]):  # the third begins with padding
        first = each.last_hidden_state[torch.arange(len(IDS)), torch.tensor(place)]
        assert_close(each.pooler_output, (first @ model.pooler.dense.weight.T + model.pooler.dense.bias).tanh())
    packed = model(IDS[:1], position_ids=torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])).pooler_output
    assert_close(packed, torch.cat([model(part).pooler_output for part in (IDS[:1, :4], IDS[:1, 4:])]))
    read = model(IDS, MASK, token_indices=torch.tensor([3, 12, 21]))  # without those that the pooler reads
    assert_close(read.pooler_output, outputs.pooler_output)
    whole = torch.ones(len(IDS), 1, LENGTH, LENGTH, dtype=torch.bool)
    assert_close(model(IDS, whole).pooler_output, model(IDS).pooler_output)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_half_precision_are_finite_where_one_token_asks(dtype: torch.dtype) -> None:
    """Rows hold different numbers of texts, and scores are large: what is masked must stay finite."""
    model = TEXTS.model(classifier_pooling="first", position_type="learned", attention_dropout=0.0)
    for name, parameter in model.named_parameters():
        if "q_proj" in name or "k_proj" in name:
            parameter.data *= 12
    model.to(dtype)
    ids = torch.arange(1, 41).view(4, 10)
    for lengths in ([9, 3, 3, 3], [9, 4, 3, 2], [10, 5, 5, 10]):
        mask = (torch.arange(10) < torch.tensor(lengths)[:, None]).long()
        model(ids, mask).logits.float().square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


# Training


@always
@engines
@parametrize_cases((TEXTS, CAUSAL_LM))
def test_parts_in_evaluation_drop_nothing_while_the_rest_trains(case: Case) -> None:
    """As who trains a head on frozen layers sets them: the model says what it says without dropout."""
    model = case.model(hidden_dropout=0.5, activation_dropout=0.5, attention_dropout=0.5)
    expected = model(**case.inputs())[0]
    model.training = True
    assert_close(of_real_tokens(model(**case.inputs())[0], MASK), of_real_tokens(expected, MASK))


ROUNDING = 2e-7  # what the order of summation may change: recomputed blocks are computed whole, for all tokens


# One stack, one whose last block asks for few tokens, and two stacks; each kind of checkpointing.
@engines
@pytest.mark.parametrize(("case", "reentrant"), [(CAUSAL_LM, True), (TEXTS, False), (SEQ2SEQ_LM, True)])
def test_checkpointing_recomputes_and_changes_nothing(case: Case, reentrant: bool) -> None:
    """The same bits, with dropout on: what is computed twice draws the same numbers twice."""
    model = case.model(hidden_dropout=0.3, attention_dropout=0.3, activation_dropout=0.3).train()
    calls: list[str] = []
    projections = [name for name, _ in model.named_modules() if name.endswith("q_proj")]
    for name in projections:
        watch(model.get_submodule(name), lambda _, name=name: calls.append(name))

    def step(times: int) -> list[Any]:
        """Loss and gradients, by so many calls of each projection."""
        calls.clear()
        model.zero_grad()
        torch.manual_seed(0)
        loss = model(**case.batch()).loss
        loss.backward()
        assert sorted(calls) == sorted(times * projections)
        return [loss.detach(), *(each.grad.clone() for each in model.parameters() if each.grad is not None)]

    expected = step(1)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    torch.testing.assert_close(step(2), expected, atol=ROUNDING, rtol=0)
    model.gradient_checkpointing_disable()
    torch.testing.assert_close(step(1), expected, atol=0, rtol=0)


LABELS = IDS.masked_fill(torch.arange(LENGTH) >= torch.tensor([7, 2, 5])[:, None], -100)
GAP = LABELS.masked_fill(torch.arange(LENGTH) == 1, -100)


@pytest.mark.parametrize("labels", [LABELS, GAP, LABELS * 0 - 100], ids=["all", "gap", "none"])
def test_training_reads_up_to_the_last_label(labels: Tensor) -> None:
    """By the labelled tokens alone or by all, fast or not: the same loss and gradients."""
    found: list[list[Any]] = []
    for sparse, engine in ((False, fast.disabled()), (False, nullcontext()), (True, nullcontext())):
        model = SEQ2SEQ_LM.model(position_type="rotary", sparse_prediction=sparse).train()
        with engine:
            outputs = model(input_ids=IDS, attention_mask=MASK, labels=labels)
        outputs.loss.backward()
        count = (int((labels != -100).sum()),) if sparse else labels.shape
        assert outputs.logits.shape == (*count, model.config.decoder_vocab_size)
        found.append([outputs.loss, *(parameter.grad for parameter in model.parameters())])
    with torch.no_grad():  # and evaluation answers everywhere
        assert model.eval()(IDS, MASK, labels=labels).logits.shape[:2] == labels.shape
    for others in found[1:]:
        assert [one is None for one in others] == [one is None for one in found[0]]
        for one, other in zip(others, found[0], strict=True):
            if one is not None:
                assert_close(one, other)
