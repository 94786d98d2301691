# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What checks need of a subject: a check whose needs it does not meet does not apply."""

from ..tasks import ANSWER, CLASSIFY, FILL, TAG, TRANSLATE, WRITE
from .findings import Need
from .subject import BASE


def reads(name: str) -> Need:
    """Return the need of an argument of `forward`."""
    return Need(lambda subject: subject.reads(name), f"`forward` has no argument {name}.")


# What checks need of a subject.
MASKED = reads("attention_mask")
SEQ2SEQ = Need(lambda subject: subject.is_seq2seq, "The model has no encoder and decoder.")
TOKENIZER = Need(lambda subject: subject.tokenizer is not None, "No tokenizer was given.")
GENERATES = Need(lambda subject: subject.is_causal and subject.model.can_generate(), "The model does not generate.")
LOSS = Need(lambda subject: subject.head != BASE, "The model has no loss.")
CLASSIFIES = Need(lambda subject: subject.head in (CLASSIFY, TAG), "The model has no labels.")
CLASSIFIES_TEXTS = Need(lambda subject: subject.head == CLASSIFY, "The model does not classify texts.")
TAGS = Need(lambda subject: subject.head == TAG, "The model tags no words.")
OF_TOKENS = Need(lambda subject: subject.head != CLASSIFY, "The classifier has one answer for a text.")
CAUSAL = Need(lambda subject: subject.is_causal, "The model reads in both directions.")
HAS_LOGITS = Need(lambda subject: subject.head in (CLASSIFY, TAG, FILL, WRITE, TRANSLATE), "The model has no logits.")
WRITES = Need(lambda subject: subject.head in (FILL, WRITE, TRANSLATE), "Its labels are no tokens.")
ANSWERS = Need(lambda subject: subject.head == ANSWER, "The model does not point into a text.")
DECODER = Need(lambda subject: subject.is_causal and not subject.is_seq2seq, "The model is not a decoder alone.")
