# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of the forward pass: what must change nothing, what a token may see, and what each argument does."""

import copy
from itertools import product
from typing import Any

import torch

from ..tasks import CLASSIFY
from .comparing import TOLERANCE, Batch, distance, require_close, rows, run, without
from .findings import check, listed, only_if, require
from .subject import MASKED, OF_TOKENS, PADS_LEFT, Subject, reads

POSITIONS = "Count positions from attention_mask: `(attention_mask.cumsum(-1) - 1).clamp(min=0)`."
MASKS = "Make masks by `transformers.masking_utils`, which take each dtype and shape."
RECORDED = "Declare `_can_record_outputs`."
OTHER_DTYPES = torch.int32, torch.float32, torch.bool


@check("Draw random numbers in training mode only (`if self.training`), and let None be the default of an object.")
def repeats(subject: Subject) -> None:
    """Evaluation repeats."""
    plain = bool, int, float, str, tuple, type, type(None)  # a parameter without a default has a type
    shared = [name for name, each in subject.parameters.items() if not isinstance(each.default, plain)]
    require(not shared, f"All calls share one object, which is the default of {listed(shared)}.")
    batch = subject.batch()
    subject.same("In a second pass of the same batch", batch, batch, tolerance=0)


@check("Add the mask to the scores of each attention, pool no padding, and let no norm mix the rows.", link="26569")
def batch_equals_single(subject: Subject) -> None:
    """A text has the same answer in a batch and alone, also padded on the right."""
    batch = subject.batch([subject.ids(seed=seed) for seed in range(3)])
    for row, answer in enumerate(subject.answers(batch).split(1)):
        subject.same(f"For text {row} of a batch of 3", answer, rows(batch, slice(row, row + 1)))
    is_last = getattr(subject.config, "summary_type", "") == "last" and subject.head == CLASSIFY
    if not is_last:  # else the last token is the summary: texts are padded on the left
        _check_padding(subject, "right")


@check(f"{POSITIONS} Fill masks with torch.finfo(dtype).min, and not with -inf.", PADS_LEFT, link="29419")
def padding_left(subject: Subject) -> None:
    """Padding on the left changes nothing.

    Decoders generate from texts padded on the left. An encoder gets such texts if its tokenizer makes them.
    """
    _check_padding(subject, "left")


def _check_padding(subject: Subject, side: str) -> None:
    require(subject.reads("attention_mask"), "`forward` has no argument attention_mask, so padding cannot be hidden.")
    batch, where = subject.padded_batch(side), f"Padding on the {side}"
    found, alone = subject.answers(batch)[subject.real(batch)].flatten(0, -2), []
    is_finite = found.isfinite().all()
    require(is_finite, f"{where} makes answers NaN: a query that sees no token gets scores of -inf alone.")
    for row, mask in enumerate(batch["attention_mask"].bool()):
        one = rows(batch, slice(row, row + 1))
        one |= {name: one[name][:, mask] for name in ("input_ids", "attention_mask")}
        alone.append(subject.answers(one).flatten(0, -2))
    require_close(found, torch.cat(alone), f"{where} changes the answers by {{}}.")


@check(MASKS, OF_TOKENS, link="48748")
def causality(subject: Subject) -> None:
    """A token of a decoder sees no later one, nor how many there are; one of an encoder sees those after it."""
    if not subject.is_decoder:
        before, after = (
            subject.encoded(each)["encoder_outputs"][0] if subject.is_seq2seq else subject.answers(each)
            for each in (subject.batch(), subject.changed(subject.batch(), -1))
        )
        require(distance(after[:, 0], before[:, 0]) > 0, "The last token does not change the answer at the first one.")
    if not subject.is_causal:
        return
    name, batch = subject.read_name, subject.batch()
    for backend in subject.backends:
        with subject.attending(backend):
            for first in (1, batch[name].shape[1] - 1):
                when = f"Before other tokens from number {first} on, with {backend} attention"
                later = subject.changed(batch, slice(first, None), name)
                subject.same(when, later, batch, at=(slice(None), slice(first)))
    whole = subject.longest_batch()
    length = whole[name].shape[1]
    start = (slice(None), slice(length // 2))
    half = {key: value[start] if key == name or not subject.is_seq2seq else value for key, value in whole.items()}
    subject.same(f"In a text of {length} tokens, cut to its first half", half, subject.answers(whole)[start])


@check("Hand scale, mask and biases to each backend, and set `_supports_sdpa` only if they agree.")
def attention_backends(subject: Subject) -> None:
    """Eager and fused attention agree."""
    only_if(len(subject.backends) > 1, "The model says that it has eager attention only (_supports_sdpa is False).")
    for batch in subject.batches:
        answers = []
        for name in subject.backends:
            with subject.attending(name):
                answers.append(subject.answers(batch))
        subject.same("With sdpa in place of eager attention", answers[1], answers[0], at=subject.real(batch))


@check(f"Return (output, weights) from attention. {RECORDED}")
def attention_weights(subject: Subject) -> None:
    """Attention weights can be had."""
    only_if(getattr(subject.text_config, "num_attention_heads", 0), "The model has no attention.")
    batch = subject.batch()
    outputs = _recorded(subject, batch, "output_attentions")
    keys = {f"{subject.prefix}attentions": batch[subject.read_name]}
    if subject.is_seq2seq:
        keys |= {"encoder_attentions": batch["input_ids"], "cross_attentions": batch["input_ids"]}
    for name, ids in keys.items():
        weights = outputs.get(name) or [None]
        require(all(each is not None for each in weights), f"output_attentions=True returns no {name}, or None in it.")
        sums = torch.stack([each.float().sum(-1) for each in weights])
        require_close(sums, torch.ones_like(sums), f"{name}: the weights of a query are {{}} away from a sum of 1.")
        width = weights[0].shape[-1]
        require(width == ids.shape[1], f"{name} has weights of {width} tokens; {ids.shape[1]} were read.")


@check(RECORDED)
def hidden_states(subject: Subject) -> None:
    """Hidden states can be had: those of the embeddings, then those of each layer, of which the last is returned."""
    config, text, sides = subject.text_config, subject.ids(), ("encoder_", "decoder_") if subject.is_seq2seq else ("",)
    batch = subject.batch([text, torch.cat((text[:1], text[1:].flip(0)))])
    outputs = _recorded(subject, batch, "output_hidden_states")
    for side in sides:
        states, name = outputs.get(f"{side}hidden_states"), f"{side}hidden_states"
        require(states, f"output_hidden_states=True returns no {name}.")
        layers = getattr(config, f"num_{side}layers", None) or getattr(config, f"{side}layers", None)
        due = (layers or config.num_hidden_layers) + 1
        require(len(states) == due, f"{name} has {len(states)} entries; {due - 1} layers and the embeddings are due.")
        what = f"{name}[0] is not that of the embeddings: at the first token, other tokens change it by {{}}."
        require_close(states[0][1, 0], states[0][0, 0], what)
    base: Any = subject.redrawn if subject.is_seq2seq else subject.redrawn.base_model
    outputs, name = run(base, batch, output_hidden_states=True), f"{sides[0]}hidden_states"
    if (last := outputs.get(f"{sides[0]}last_hidden_state")) is not None:
        require_close(outputs[name][-1], last, f"{name}[-1] is {{}} away from {sides[0]}last_hidden_state.")


def _recorded(subject: Subject, batch: Batch, option: str) -> Any:
    """Return the outputs that this option asks for. The config can ask for them, too, as from_pretrained sets it."""
    config = copy.deepcopy(subject.config)
    config._attn_implementation = "eager"
    setattr(config, option, True)
    asked = type(subject.model)._from_config(config, attn_implementation="eager").eval()
    with subject.attending("eager"):
        outputs = run(subject.redrawn, batch, **{option: True})
    lost = outputs.keys() - run(asked, batch).keys()
    require(not lost, f"With config.{option}=True, as from_pretrained can set it, `forward` returns no {listed(lost)}.")
    return outputs


@check("Record what is computed, and compute nothing else for it.")
def recording_changes_nothing(subject: Subject) -> None:
    """Asking for hidden states or attention weights changes no answer."""
    for backend in subject.backends:
        with subject.attending(backend):
            for batch, name in product(subject.batches, ("output_hidden_states", "output_attentions")):
                when = f"With {backend} attention and {name}=True"
                subject.same(when, {**batch, name: True}, batch, tolerance=10 * TOLERANCE)


@check(MASKS, MASKED)
def mask_dtypes(subject: Subject) -> None:
    """A mask may be missing or of any dtype, ids of int32, and inputs views.

    Tools make masks of each dtype, and slice batches.
    """
    plain = subject.batch()
    subject.same("Without attention_mask", without(plain, "attention_mask"), plain)
    only_if(not subject.permutes, "Its mask of permutations is of another kind.")
    batch = subject.padded_batch()
    mask, ids = batch["attention_mask"], batch["input_ids"]
    cases = {f"With a mask of {dtype}": {"attention_mask": mask.to(dtype)} for dtype in OTHER_DTYPES}
    cases["With inputs that are not contiguous"] = {name: value.T.contiguous().T for name, value in batch.items()}
    for when, change in {**cases, "With ids of int32": {"input_ids": ids.int()}}.items():
        subject.same(when, {**batch, **change}, batch)


@check(f"{MASKS} Hand each to the attention over its text, and hide no token by its id.", MASKED, link="2210")
def mask_gap(subject: Subject) -> None:
    """What a mask hides inside of a text changes nothing, and a decoder sees all that it shows.

    Where pad_token is eos_token, as it is of many decoders, texts have its id inside.
    """
    plain, at = subject.batch(), (slice(None), slice(2, None))
    for side in ("", "decoder_"):
        if subject.reads(f"{side}attention_mask") and subject.reads(f"{side}input_ids"):
            mask = torch.ones_like(plain[f"{side}input_ids"]).index_fill(1, torch.tensor(1), 0)
            batch = {**plain, f"{side}attention_mask": mask}
            when = f"With another token in a gap of {side}attention_mask"
            subject.same(when, subject.changed(batch, 1, f"{side}input_ids"), batch, at if side else None)
    if subject.is_decoder and subject.head != CLASSIFY:
        shown = {**plain, "input_ids": plain["input_ids"].index_fill(1, torch.tensor(1), subject.pad_token_id)}
        apart = distance(subject.answers({**shown, "attention_mask": mask}), subject.answers(shown))
        require(apart > 1e-6, "A token with the id of padding is hidden, though attention_mask shows it.")


@check("Compute everything from the embeddings, after `get_input_embeddings`.", reads("inputs_embeds"))
def embeddings_as_inputs(subject: Subject) -> None:
    """inputs_embeds answers as its ids."""
    batch = subject.batch()
    for side in ("", "decoder_"):
        if subject.reads(f"{side}inputs_embeds"):
            given, name = subject.embedded(batch, side), f"{side}inputs_embeds of the ids"
            subject.same(f"With {name}", given, batch)
            subject.same(f"With labels, {name}", given | subject.labels(batch), batch)


@check("Hand attention_mask to cross-attention, whether the encoder runs or not.", reads("encoder_outputs"))
def encoder_outputs(subject: Subject) -> None:
    """encoder_outputs answers as its text, which generation encodes once."""
    for batch in subject.batches:
        given = subject.encoded(batch)
        subject.same("With encoder_outputs in place of their text", given, batch)
        given["encoder_outputs"] = given["encoder_outputs"].to_tuple()
        subject.same("With encoder_outputs as a tuple", given, batch)


@check("Hand position_ids to what reads them, and add the embeddings of token_type_ids, of zeros by default.")
def default_ids(subject: Subject) -> None:
    """position_ids and token_type_ids are by default what they should be, and others count."""
    counted, kinds = torch.arange(subject.length), getattr(subject.config, "type_vocab_size", 0)
    adds_none = getattr(subject.config, "position_type", "") in ("alibi", "relative", "none")
    cases = {
        "position_ids": (subject.is_decoder, counted, None if adds_none else counted // 2),
        "token_type_ids": (kinds, counted * 0, (counted > 1).long() if kinds > 1 else None),
    }
    cases = {name: case for name, case in cases.items() if case[0] and subject.reads(name)}
    only_if(cases, "`forward` has no token_type_ids, and is no decoder with position_ids.")
    batch = subject.batch()
    for name, (_, default, other) in cases.items():
        when = f"With {name} of {default[:3].tolist()} and so on"
        subject.same(when, {**batch, name: default.expand(2, -1)}, batch)
        if other is not None:
            apart = distance(subject.answers({**batch, name: other.expand(2, -1)}), subject.answers(batch))
            require(apart > 1e-6, f"Other {name} change nothing: `forward` does not use them.")


@check("Return `outputs.to_tuple()` if return_dict is False, by `can_return_tuple`.")
def tuples(subject: Subject) -> None:
    """return_dict=False returns the same as a tuple."""
    plain = subject.batch()
    for when, batch in (("The", plain), ("With labels, the", subject.labelled(plain))):
        wanted = run(subject.redrawn, batch).to_tuple()
        with torch.no_grad():
            found = subject.redrawn(**batch, return_dict=False)
        require(isinstance(found, tuple), f"return_dict=False returns {type(found).__name__}, and no tuple.")
        if torch.is_tensor(wanted[0]):
            what = f"{when} first value of return_dict=False is {{}} away from that of the names."
            require_close(found[0], wanted[0], what)


@check("Remove dimensions by number (`squeeze(-1)`), never all of size 1; make as many positions as the config says.")
def shortest_and_longest(subject: Subject) -> None:
    """A text of one token has an answer, and one of as many as there are positions."""
    many, single = subject.answers(subject.batch()), subject.batch([subject.ids(1)])
    if subject.is_seq2seq:
        single["decoder_input_ids"] = single["decoder_input_ids"][:, :1]
    found, wanted = subject.answers(single), (1, *([1] if many.ndim == 3 else []), many.shape[-1])
    shape = tuple(found.shape)
    require(shape == wanted, f"One text of one token has answers of shape {shape}, not {wanted}.")
    require(found.isfinite().all(), "The answer to one text of one token is not finite.")
    if subject.limit:
        found = subject.answers(subject.longest_batch())
        require(found.isfinite().all(), f"Answers to a text of {subject.limit} tokens are not finite.")
