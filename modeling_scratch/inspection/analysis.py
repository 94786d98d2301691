# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One text on its way through a model: what is recorded, and every analysis of it."""

from dataclasses import dataclass, field
from typing import Any

from .answers import answer_of
from .attributions import attributions_of
from .cached_generation import cached_generation
from .contributions import Contributions, contributions_of
from .layers import lens
from .occlusion import output_attributions
from .recorder import Recording, record
from .subjects import GENERATION, Subject
from .tokens import Tokens, target_tokens, tokens_of
from .trace import attention_maps, trace
from .training_step import training_steps


@dataclass
class TextExplanation:
    """One text: what the tokenizer did, every tensor of the forward pass, the answer, and its analyses.

    recording holds the tensors themselves, and is not part of the data. A part that a model of this kind lacks is None.
    """

    text: str
    target: str | None
    tokens: Tokens
    target_tokens: Tokens | None
    answer: dict[str, Any]
    trace: dict[str, Any]
    attention: list[dict[str, Any]]
    lens: dict[str, Any] | None
    cache: dict[str, Any] | None
    training_step: dict[str, Any] | None
    other_steps: list[dict[str, Any]]
    contributions: Contributions | None
    attributions: dict[str, Any] | None
    outputs: dict[str, Any] | None
    notes: list[str]
    recording: Recording = field(repr=False)


def explain_text(subject: Subject, target_text: str | None = None, label: str | None = None) -> TextExplanation:
    """Record one text and analyse it."""
    model = subject.model
    recording = record(model, **subject.inputs)
    answer, target = answer_of(subject, recording.output)
    if target is None:
        subject.notes.append(f"{type(model).__name__} has no single answer: no attributions and no training step")
    if (generated := cached_generation(subject)) is not None:
        answer["continuation"] = generated[1]
    steps = [] if target is None else training_steps(subject, target, recording.output, label)
    return TextExplanation(
        text=subject.text.text,
        target=target_text,
        tokens=tokens_of(subject),
        target_tokens=target_tokens(subject) if subject.task == GENERATION else None,
        answer=answer,
        trace=trace(recording),
        attention=attention_maps(recording, model),
        lens=lens(subject, recording),
        cache=None if generated is None else generated[0],
        training_step=steps[0] if steps else None,
        other_steps=steps[1:],
        contributions=None if target is None else contributions_of(subject, target, recording),
        attributions=None if target is None else attributions_of(subject, target),
        outputs=output_attributions(subject, answer.get("continuation", ())),
        notes=subject.notes,
        recording=recording,
    )
