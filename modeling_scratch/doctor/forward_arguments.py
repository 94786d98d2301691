# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of the arguments of `forward`: each does what the library and its data collators take for granted."""

from typing import Any

import torch
from torch import Tensor

from .findings import Need, check, only_if, require, tried
from .invariances import backends
from .subject import (
    MASKED,
    OF_TOKENS,
    SEQ2SEQ,
    TOLERANCE,
    Batch,
    Subject,
    attention,
    distance,
    embedded,
    encoded,
    reads,
    require_close,
    run,
    values,
)

DECODER = Need(lambda subject: subject.is_causal and not subject.is_seq2seq, "The model is not a decoder alone.")
MASK = "Make masks by `transformers.masking_utils`, which take each dtype and shape."


@check(MASK, MASKED)
def no_mask(subject: Subject) -> None:
    """Without a mask, every token is seen."""
    batch = subject.batch()
    without = {name: value for name, value in batch.items() if name != "attention_mask"}
    what = "Without attention_mask, the answers are {} away from those with a mask of ones."
    require_close(subject.answers(without), subject.answers(batch), what)


@check(MASK, MASKED, Need(lambda subject: not subject.permutes, "The model has a mask of another kind."))
def mask_dtypes(subject: Subject) -> None:
    """A mask of bool, int32 or float32 is that of int64, and inputs may be views.

    Tools make masks of each dtype, and slice batches.
    """
    batch = subject.padded_batch()
    wanted = subject.answers(batch)
    for dtype in (torch.int32, torch.float32, torch.bool):
        what = f"A mask of {str(dtype).removeprefix('torch.')} changes the answers by {{}}."
        _check_answers(subject, {**batch, "attention_mask": batch["attention_mask"].to(dtype)}, wanted, what)
    views = {name: value.T.contiguous().T for name, value in batch.items()}
    _check_answers(subject, views, wanted, "Inputs that are not contiguous change the answers by {}.")
    ids = {**batch, "input_ids": batch["input_ids"].int()}
    _check_answers(subject, ids, wanted, "Ids of int32 change the answers by {}.")


def _check_answers(subject: Subject, batch: Batch, wanted: Tensor, what: str) -> None:
    with tried(f"{what.partition(' change')[0]}: `forward`"):
        found = subject.answers(batch)
    real = subject.real(batch)
    require_close(found[real], wanted[real], what)


@check(MASK, MASKED)
def mask_gap(subject: Subject) -> None:
    """What a mask hides inside of a text changes nothing."""
    _check_hidden(subject, "", subject.real(_with_gap(subject)))


def _with_gap(subject: Subject, prefix: str = "") -> Batch:
    """Return a batch whose mask hides the second token of each text."""
    batch = subject.batch()
    mask = torch.ones_like(batch[f"{prefix}input_ids"])
    mask[:, 1] = 0
    return {**batch, f"{prefix}attention_mask": mask}


def _check_hidden(subject: Subject, prefix: str, compared: Any) -> None:
    """Check that the token in the gap of a mask changes nothing. compared: the index of the answers."""
    batch, name = _with_gap(subject, prefix), f"{prefix}input_ids"
    ids = batch[name].clone()
    ids[:, 1] = subject.others(ids[:, 1])
    before, after = subject.answers(batch), subject.answers({**batch, name: ids})
    what = f"With a gap in {prefix}attention_mask, the token that it hides changes the answers by {{}}."
    require_close(after[compared], before[compared], what)


@check("Hide tokens by attention_mask, and never by their id.", MASKED, DECODER, OF_TOKENS, link="2210")
def padding_as_text(subject: Subject) -> None:
    """A token is padding by the mask, and not by its id.

    Where pad_token is eos_token, as it is of many decoders, texts have it inside.
    """
    batch = subject.batch()
    batch["input_ids"][:, 1] = subject.pad_token_id
    gap = _with_gap(subject)["attention_mask"]
    apart = distance(subject.answers({**batch, "attention_mask": gap}), subject.answers(batch))
    require(apart > 1e-6, "A token with the id of padding is hidden, though attention_mask shows it.")


@check("Compute everything from the embeddings, after `get_input_embeddings`.", reads("inputs_embeds"))
def embeddings_as_inputs(subject: Subject) -> None:
    """inputs_embeds answers as its ids."""
    batch = subject.batch()
    for side in ("", "decoder_"):
        if subject.reads(f"{side}inputs_embeds"):
            given, wanted = embedded(subject, batch, side), subject.answers(batch)
            what = f"{side}inputs_embeds of the ids answers {{}} away from the ids."
            require_close(subject.answers(given), wanted, what)
            require_close(subject.answers(given | subject.labels(batch)), wanted, f"With labels, {what}")


@check("Hand attention_mask to cross-attention, whether the encoder runs or not.", SEQ2SEQ, reads("encoder_outputs"))
def encoder_outputs(subject: Subject) -> None:
    """encoder_outputs answers as its text."""
    batch = subject.padded_batch()
    what = "encoder_outputs, which generation computes once, answers {} away from the text that they are of."
    given, wanted = encoded(subject.redrawn, batch), subject.answers(batch)
    require_close(subject.answers(given), wanted, what)
    given["encoder_outputs"] = given["encoder_outputs"].to_tuple()
    _check_answers(subject, given, wanted, "encoder_outputs as a tuple changes the answers by {}.")


@check("Hand position_ids to what reads them.", reads("position_ids"), DECODER)
def positions(subject: Subject) -> None:
    """position_ids are those that it counts itself, and others count."""
    batch = subject.batch()
    wanted, counted = subject.answers(batch), torch.arange(batch["input_ids"].shape[1])[None].expand(2, -1)
    found = subject.answers(batch, position_ids=counted)
    require_close(found, wanted, "position_ids of 0, 1, 2, ... change the answers by {}.")
    again = subject.answers(batch, position_ids=counted // 2)
    only_if(getattr(subject.config, "position_type", "") not in ("alibi", "relative", "none"), "It adds no positions.")
    require(distance(again, wanted) > 1e-6, "Other position_ids change nothing: `forward` does not use them.")


@check("Add the embeddings of token_type_ids, of zeros by default.", reads("token_type_ids"))
def token_types(subject: Subject) -> None:
    """token_type_ids are zeros by default, and ones count."""
    kinds = getattr(subject.config, "type_vocab_size", 0)
    only_if(kinds, "The config has no type_vocab_size.")
    batch = subject.batch()
    wanted, zeros = subject.answers(batch), torch.zeros_like(batch["input_ids"])
    require_close(
        subject.answers(batch, token_type_ids=zeros), wanted, "token_type_ids of zeros change the answers by {}."
    )
    zeros[:, 2:] = 1
    apart = distance(subject.answers(batch, token_type_ids=zeros), wanted) if kinds > 1 else 1
    require(apart > 1e-6, "token_type_ids of ones change nothing: `forward` does not use them.")


@check("Return `outputs.to_tuple()` if return_dict is False, by `can_return_tuple`.", reads("input_ids"))
def tuples(subject: Subject) -> None:
    """return_dict=False returns the same as a tuple."""
    plain = subject.batch()
    for when, batch in (("The", plain), ("With labels, the", plain | subject.labels(plain))):
        wanted = run(subject.redrawn, batch).to_tuple()
        with torch.no_grad():
            found = subject.redrawn(**batch, return_dict=False)
        require(isinstance(found, tuple), f"return_dict=False returns {type(found).__name__}, and no tuple.")
        if torch.is_tensor(wanted[0]):
            what = f"{when} first value of return_dict=False is {{}} away from that of the names."
            require_close(found[0], wanted[0], what)


@check("Compute logits of hidden_states[:, -logits_to_keep:].", reads("logits_to_keep"))
def last_logits(subject: Subject) -> None:
    """logits_to_keep keeps the last ones."""
    batch = subject.batch()
    found = subject.answers(batch, logits_to_keep=2)
    require_close(found, subject.answers(batch)[:, -2:], "logits_to_keep=2 returns logits {} away from the last two.")


@check("Remove dimensions by number (`squeeze(-1)`), and never all of size 1.")
def one_token(subject: Subject) -> None:
    """One text of one token has an answer."""
    many, single = subject.answers(subject.batch()), subject.batch([subject.ids(1)])
    if subject.is_seq2seq:
        single["decoder_input_ids"] = single["decoder_input_ids"][:, :1]
    found, wanted = subject.answers(single), (1, *([1] if many.ndim == 3 else []), many.shape[-1])
    require(
        tuple(found.shape) == wanted, f"One text of one token has answers of shape {tuple(found.shape)}, not {wanted}."
    )
    require(found.isfinite().all(), "The answer to one text of one token is not finite.")


@check("Make as many positions as the config says.")
def longest_text(subject: Subject) -> None:
    """It reads as many tokens as it has positions."""
    only_if(subject.limit, "The config names no positions, or too many to try.")
    found = subject.answers(subject.longest_batch())
    require(found.isfinite().all(), f"Answers to a text of {subject.limit} tokens are not finite.")


@check("Hand decoder_attention_mask to the decoder's own attention.", SEQ2SEQ, reads("decoder_attention_mask"))
def decoder_mask(subject: Subject) -> None:
    """What decoder_attention_mask hides changes nothing."""
    _check_hidden(subject, "decoder_", (slice(None), slice(2, None)))


@check("Record what is computed, and compute nothing else for it.")
def recording_changes_nothing(subject: Subject) -> None:
    """Asking for hidden states or attention weights changes no answer."""
    batch = subject.padded_batch()
    real = subject.real(batch)
    for backend in backends(subject):
        with attention(subject, backend):
            wanted = subject.answers(batch)
            for name in ("output_hidden_states", "output_attentions"):
                found = values(run(subject.redrawn, batch, **{name: True}))
                what = f"With {backend} attention, {name}=True changes the answers by {{}}."
                require_close(found[real], wanted[real], what, 10 * TOLERANCE)
