# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of the forward pass: what must change nothing, and what a token may see."""

from typing import Any, cast

import torch
from torch import Tensor

from .findings import check, listed, only_if, require
from .subject import (
    CAUSAL,
    OF_TOKENS,
    TOLERANCE,
    Batch,
    Subject,
    attention,
    distance,
    encoded,
    require_close,
    run,
    values,
)

BACKENDS = ("eager", "sdpa")
POSITIONS = "Count positions from attention_mask: `(attention_mask.cumsum(-1) - 1).clamp(min=0)`."


def backends(subject: Subject) -> list[str]:
    """Return the attention backends that the model says it has."""
    return [name for name in BACKENDS if name == "eager" or getattr(subject.model, f"_supports_{name}", False)]


@check("Draw random numbers in training mode only (`if self.training`), and let None be the default of an object.")
def repeats(subject: Subject) -> None:
    """Evaluation repeats."""
    plain = bool, int, float, str, tuple, type, type(None)  # a parameter without a default has a type
    shared = [name for name, each in subject.parameters.items() if not isinstance(each.default, plain)]
    require(not shared, f"All calls share one object, which is the default of {listed(shared)}.")
    model, batch = subject.redrawn, subject.batch()
    apart = distance(values(run(model, batch)), values(run(model, batch)))
    require(apart == 0, f"Two passes in evaluation mode differ by {apart:.2g}.")


@check("Let no operation mix the rows of a batch, such as a norm over the batch.")
def batch_equals_single(subject: Subject) -> None:
    """A text has the same answer in a batch and alone."""
    batch = subject.batch([subject.ids(seed=seed) for seed in range(3)])
    together = subject.answers(batch)
    for row in range(3):
        single = subject.answers({name: value[row : row + 1] for name, value in batch.items()})
        what = f"Text {row} of a batch of 3 differs by {{}} from the same text alone."
        require_close(together[row : row + 1], single, what)


@check("Add the mask to the scores of each attention, and leave padding out of what is pooled.", link="26569")
def padding_right(subject: Subject) -> None:
    """Padding on the right changes nothing."""
    fault = _fault_of_padding(subject, "right")
    is_last = getattr(subject.config, "summary_type", "") == "last" and subject.head == "classify"
    only_if(not fault or not is_last, f"{fault} The last token is the summary: texts have to be padded on the left.")
    require(not fault, fault)


@check(f"{POSITIONS} Fill masks with torch.finfo(dtype).min, and not with -inf.", link="29419")
def padding_left(subject: Subject) -> None:
    """Padding on the left changes nothing.

    Decoders generate from texts padded on the left. An encoder gets such texts if its tokenizer makes them.
    """
    fault = _fault_of_padding(subject, "left")
    reason = f"{fault} This does no harm here: the model is not a decoder, and its tokenizer does not pad on the left."
    only_if(not fault or subject.pads_left, reason)
    require(not fault, fault)


def _fault_of_padding(subject: Subject, side: str) -> str:
    """Return what padding on this side changes; empty if nothing."""
    if not subject.reads("attention_mask"):
        return "`forward` has no argument attention_mask, so padding cannot be hidden."
    batch = subject.padded_batch(side)
    if (apart := padding_changes(subject, batch, {})) < TOLERANCE:
        return ""
    if not subject.answers(batch)[subject.real(batch)].isfinite().all():
        return f"Padding on the {side} makes answers NaN: a query that sees no token gets scores of -inf alone."
    what = f"Padding on the {side} changes the answers by {apart:.2g}."
    if side == "left" and subject.reads("position_ids") and not subject.is_seq2seq:
        positions = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        if padding_changes(subject, batch, {"position_ids": positions}) < TOLERANCE:
            what += " With position_ids counted from attention_mask, it does not."
    return what


def padding_changes(subject: Subject, batch: Batch, options: dict[str, Tensor]) -> float:
    """Return the largest distance of the answers for a padded text from those for the text alone."""
    found = subject.answers(batch, **options)
    largest = 0.0
    for row in range(len(batch["input_ids"])):
        wanted = subject.answers(subject.alone(batch, row))
        answer = found[row : row + 1]
        if answer.ndim == 3 and not subject.is_seq2seq:
            answer = answer[:, batch["attention_mask"][row].bool()]
        largest = max(largest, distance(answer, wanted))
    return largest


@check("Make the mask by `masking_utils.create_causal_mask` for each backend.", CAUSAL, OF_TOKENS, link="48748")
def causality(subject: Subject) -> None:
    """No token sees a later one."""
    for backend in backends(subject):
        with attention(subject, backend):
            _check_causality(subject, backend)
    _check_length(subject)


def _check_causality(subject: Subject, backend: str) -> None:
    name, batch = f"{subject.prefix}input_ids", subject.batch()
    before = subject.answers(batch)
    for changed in (1, batch[name].shape[1] - 1):
        ids = batch[name].clone()
        ids[:, changed:] = subject.others(ids[:, changed:])
        after = subject.answers({**batch, name: ids})
        what = f"With {backend} attention, tokens from number {changed} on change the answers before by {{}}."
        require_close(after[:, :changed], before[:, :changed], what)


def _check_length(subject: Subject) -> None:
    """Check that tokens do not know how many come later, as where the length of the text scales its positions."""
    batch, name = subject.longest_batch(), f"{subject.prefix}input_ids"
    length = batch[name].shape[1]
    first = {each: value[:, : length // 2] for each, value in batch.items() if each == name or not subject.is_seq2seq}
    what = f"In a text of {length} tokens, the answers to the first {length // 2} are {{}} away from theirs alone."
    require_close(subject.answers(batch)[:, : length // 2], subject.answers({**batch, **first}), what)


@check("Make the mask by `transformers.masking_utils.create_bidirectional_mask`.", OF_TOKENS)
def sees_both_sides(subject: Subject) -> None:
    """A token sees those after it."""
    only_if(not subject.is_causal or subject.is_seq2seq, "The model reads from left to right.")
    batch, model = subject.batch(), subject.redrawn
    ids = batch["input_ids"].clone()
    ids[:, -1] = subject.others(ids[:, -1])
    before, after = (
        encoded(model, each)["encoder_outputs"][0] if subject.is_seq2seq else subject.answers(each)
        for each in (batch, {**batch, "input_ids": ids})
    )
    require(distance(after[:, 0], before[:, 0]) > 0, "The last token does not change the answer at the first one.")


@check("Hand scale, mask and biases to each backend, and set `_supports_sdpa` only if they agree.")
def attention_backends(subject: Subject) -> None:
    """Eager and fused attention agree."""
    names = backends(subject)
    only_if(len(names) > 1, "The model says that it has eager attention only (_supports_sdpa is False).")
    batch = subject.padded_batch()
    answers = []
    for name in names:
        with attention(subject, name):
            answers.append(subject.answers(batch))
    real = subject.real(batch)
    require_close(answers[1][real], answers[0][real], f"{names[1]} and {names[0]} attention differ by {{}}.")


@check("Return (output, weights) from attention, and declare `_can_record_outputs`.")
def attention_weights(subject: Subject) -> None:
    """Attention weights can be had."""
    only_if(getattr(subject.config.get_text_config(), "num_attention_heads", 0), "The model has no attention.")
    batch = subject.batch()
    with attention(subject, "eager"):
        outputs = run(subject.redrawn, batch, output_attentions=True)
    keys = {f"{subject.prefix}attentions": batch[f"{subject.prefix}input_ids"]}
    if subject.is_seq2seq:
        keys |= {"encoder_attentions": batch["input_ids"], "cross_attentions": batch["input_ids"]}
    for name, ids in keys.items():
        weights = outputs.get(name)
        require(weights is not None and len(weights) > 0, f"output_attentions=True returns no {name}.")
        require(all(each is not None for each in weights), f"output_attentions=True returns None in {name}.")
        sums = torch.stack([each.float().sum(-1) for each in weights])
        require_close(sums, torch.ones_like(sums), f"{name}: the weights of a query are {{}} away from a sum of 1.")
        width = weights[0].shape[-1]
        require(width == ids.shape[1], f"{name} has weights of {width} tokens; {ids.shape[1]} were read.")


@check("Declare `_can_record_outputs`.")
def hidden_states(subject: Subject) -> None:
    """Hidden states can be had."""
    outputs = run(subject.redrawn, subject.batch(), output_hidden_states=True)
    name = f"{subject.prefix}hidden_states"
    states, config = outputs.get(name), subject.config.get_text_config()
    layers = getattr(config, "num_decoder_layers", None) or getattr(config, f"{subject.prefix}layers", None)
    layers = layers or config.num_hidden_layers
    require(states, f"output_hidden_states=True returns no {name}.")
    shapes = {tuple(state.shape[:2]) for state in states}
    require(len(states) == layers + 1, f"{name} has {len(states)} entries; {layers} layers and the embeddings are due.")
    text = subject.ids()
    texts = [text, torch.cat((text[:1], text[1:].flip(0)))]
    first, second = (run(subject.redrawn, subject.batch([each]), output_hidden_states=True)[name][0] for each in texts)
    what = f"{name}[0] is not that of the embeddings: at the first token, other tokens change it by {{}}."
    require_close(second[:, 0], first[:, 0], what)
    side, model = ("encoder_", subject.redrawn) if subject.is_seq2seq else ("", cast(Any, subject.redrawn.base_model))
    base = run(model, subject.batch(), output_hidden_states=True)
    last, name = base.get(f"{side}last_hidden_state"), f"{side}hidden_states"
    require(base.get(name), f"output_hidden_states=True returns no {name}.")
    if last is not None:
        require_close(base[name][-1], last, f"{name}[-1] is {{}} away from {side}last_hidden_state.")
    require(len(shapes) == 1, f"{name} has tensors of different batches or lengths: {sorted(shapes)}.")
