# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""`explain`: record texts on their way through a model, analyse each, and hold it all as plain data and as a page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import modeling_scratch

from ..data.text_pairs import TextPair
from ..inference.answers import names_of
from ..utils.errors import DataError
from .answers import Target, answer_of
from .arrays import plain
from .attributions import integrated_gradients, is_exact, occlusion, rollout
from .cached_generation import cached_generation
from .contributions import Contributions, contributions_of
from .deletion import deletion
from .lens import lens
from .notes import Note
from .outputs import output_attributions
from .pairs import compared
from .recorder import Recording, as_textbook, record
from .subjects import (
    CLASSIFICATION,
    GENERATION,
    MULTI,
    REGRESSION,
    TAGGING,
    Subject,
    subject_of,
    task_of,
)
from .tokenizer_rules import tokenizer_rules
from .tokens import Tokens, target_tokens, tokens_of
from .trace import attention_maps, trace
from .training_step import MOST_PARAMETERS, other_steps, training_step

FORMAT = 1
MAX_TOKENS = 64
MOST_TEXTS = 8
PRIVATE = ("_name_or_path", "name_or_path", "auto_map", "custom_pipelines")  # of a config: paths, and code


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


@dataclass
class Explanation:
    """What `explain` found: the model, its code as far as it ran, the texts, and pairs of the first with each other."""

    model: dict[str, Any]
    tokenizer: dict[str, Any]
    sources: dict[str, str]
    texts: list[TextExplanation]
    pairs: list[dict[str, Any]]
    notes: list[str]
    explained: Any = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the data as JSON types; tensors as arrays.py packs them."""
        return {"format": FORMAT, "package": modeling_scratch.__version__, **plain(self)}

    def save(self, path: str | Path, language: str = "en") -> None:
        """Write the page, one HTML file that needs no network. language: en or de. Raises `DataError`."""
        from .page import page  # what only analyses needs no page

        page(self.to_dict(), self.explained, Path(path), language)


def explain(
    model: Any,
    tokenizer: Any,
    texts: str | Sequence[str],
    *,
    text_pairs: str | Sequence[str] | None = None,
    targets: str | Sequence[str] | None = None,
    label: str | None = None,
    max_tokens: int = MAX_TOKENS,
) -> Explanation:
    """Run texts through a scratch model, record everything, and explain the answers. The model is left as it was.

    - model: any class of the package, also of a saved folder's own code; native checkpoints: `load_pretrained`.
    - tokenizer: its tokenizer; for an encoder-decoder with two vocabularies, a pair of source and target tokenizers.
    - texts: one, or up to 8; longer ones are truncated to max_tokens. A masked LM's text may have a mask token.
    - text_pairs: the second texts, one a text, of a classifier that reads pairs.
    - targets: of an encoder-decoder, one a text; by default what the model generates.
    - label: of the training step; by default the model's own answer.

    Raises `DataError`, a ValueError, for other models, empty texts and unknown labels.

    >>> import torch, modeling_scratch
    >>> from modeling_scratch import ScratchEncoderForSequenceClassification, presets
    >>> from tokenization import train_wordlevel_tokenizer
    >>> tokenizer = train_wordlevel_tokenizer(["a warm film", "a dull film"], vocab_size=100, show_progress=False)
    >>> sizes = {"vocab_size": len(tokenizer), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    >>> model = ScratchEncoderForSequenceClassification(presets.bert(**sizes, intermediate_size=32, num_labels=2))
    >>> explanation = modeling_scratch.explain(model, tokenizer, "a warm film")
    >>> step = explanation.texts[0].recording.keys["model.stack.layers.0.attention.weights"]
    >>> step.code.text
    'weights = scores.softmax(dim=-1, dtype=torch.float32).to(query.dtype)'
    >>> step.tensor.shape
    torch.Size([1, 2, 5, 5])
    """
    texts = [texts] if isinstance(texts, str) else list(texts)
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise DataError(f"--text: {len(texts)} texts; give from 1 to {MOST_TEXTS}")
    wanted = _one_a_text("--target", targets, texts)
    others = _one_a_text("--text_pair", text_pairs, texts)
    texts = [text if other is None else TextPair(text, other) for text, other in zip(texts, others)]
    tokenizers = tuple(tokenizer) if isinstance(tokenizer, list | tuple) else (tokenizer, tokenizer)
    with as_textbook(model):  # what the page shows is what the files say, edits included
        found = [
            explain_text(subject_of(model, tokenizers, text, target, max_tokens), target, label)
            for text, target in zip(texts, wanted)
        ]
        reader = Subject(model, tokenizers[0], tokenizers[-1], task_of(model), max_tokens)
        rules = tokenizer_rules(reader, reader.encode(texts[0]))
    return Explanation(
        model=described(model),
        tokenizer={**described_tokenizer(*tokenizers), "rules": rules},
        sources={name: file.source for each in found for name, file in each.recording.files.items()},
        texts=found,
        pairs=[_pair(number, found, model) for number in range(1, len(found))],
        notes=[],
        explained=model,
    )


def _one_a_text(name: str, given: str | Sequence[str] | None, texts: Sequence[str]) -> list[str | None]:
    values: list[str | None] = [given] if isinstance(given, str) else list(given or [None] * len(texts))
    if len(values) != len(texts):
        raise DataError(f"{name}: {len(values)} {name[2:]}s of {len(texts)} texts; give one a text")
    return values


def explain_text(subject: Subject, target_text: str | None = None, label: str | None = None) -> TextExplanation:
    """Record one text and analyse it."""
    model = subject.model
    recording = record(model, **subject.inputs)
    answer, target = answer_of(subject, recording.output)
    if target is None:
        subject.notes.append(_no_answer(type(model).__name__))
    if (generated := cached_generation(subject)) is not None:
        answer["continuation"] = generated[1]
    step = training_step(subject, target, recording.output, label) if target and _can_step(subject) else None
    return TextExplanation(
        text=subject.text.text,
        target=target_text,
        tokens=tokens_of(subject, subject.text),
        target_tokens=target_tokens(subject) if subject.task == GENERATION else None,
        answer=answer,
        trace=trace(recording),
        attention=attention_maps(recording, model),
        lens=lens(subject, recording),
        cache=None if generated is None else generated[0],
        training_step=step,
        other_steps=other_steps(subject, target, recording.output, step) if target and step else [],
        contributions=None if target is None else contributions_of(subject, target, recording),
        attributions=None if target is None else attributions_of(subject, target, recording),
        outputs=output_attributions(subject, answer.get("continuation", ())),
        notes=subject.notes,
        recording=recording,
    )


def _no_answer(name: str) -> Note:
    return Note(
        f"{name} has no single answer: no attributions and no training step",
        f"{name} hat keine einzelne Antwort: keine Beiträge der Wörter und kein Trainingsschritt",
    )


def _can_step(subject: Subject) -> bool:
    """Whether the model is small enough for a training step; a note says if not."""
    is_small = sum(parameter.numel() for parameter in subject.model.parameters()) <= MOST_PARAMETERS
    if not is_small:
        subject.notes.append(
            Note(
                f"no training step: the model has more than {MOST_PARAMETERS:,} parameters",
                f"kein Trainingsschritt: Das Modell hat mehr als {MOST_PARAMETERS:,} Parameter",
            )
        )
    return is_small


def attributions_of(subject: Subject, target: Target, recording: Recording) -> dict[str, Any]:
    """Return the three attributions of the answer's score to the words, and the deletion test of each."""
    gradients, read = integrated_gradients(subject, target), rollout(subject, recording, target)
    without = occlusion(subject, target)
    if not is_exact(gradients.sum, gradients.difference):
        gap = f"{gradients.sum:.4g} of {gradients.difference:.4g}"
        german = f"{gradients.sum:.4g} von {gradients.difference:.4g}"
        subject.notes.append(
            Note(
                f"integrated gradients are not exact: in {gradients.steps} steps they add up to {gap}",
                f"integrierte Gradienten sind nicht genau: In {gradients.steps} Schritten ergeben sie {german}",
            )
        )
    methods = {"integrated_gradients": gradients.words, "occlusion": without["words"], "rollout": read["words"]}
    usable = {name: values for name, values in methods.items() if values}
    value = without.pop("value")
    return {
        "score": target.score,
        "unit": target.unit,
        "value": value,
        "p": None if value is None else target.probability(value),
        "words": list(range(len(subject.text.words))),
        "integrated_gradients": gradients,
        "occlusion": without,
        "rollout": read,
        "deletion": deletion(subject, target, usable),
    }


def described(model: Any) -> dict[str, Any]:
    """Return what a page says about a model, without paths."""
    config, task = model.config, task_of(model)
    has_labels = task in (CLASSIFICATION, MULTI, REGRESSION, TAGGING)
    return {
        "name": Path(config.name_or_path).name or type(model).__name__,
        "class": type(model).__name__,
        "family": config.model_type.removeprefix("scratch_"),
        "task": task,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "config": {name: value for name, value in config.to_dict().items() if name not in PRIVATE},
        "labels": names_of(config) if has_labels else None,
    }


def described_tokenizer(tokenizer: Any, target: Any) -> dict[str, Any]:
    """Return kind and vocabulary of a tokenizer, and the vocabulary of a second one."""
    own = {"vocab_size": len(tokenizer), "vocabulary": _vocabulary(tokenizer)}
    others = {} if target is tokenizer else {"target_vocabulary": _vocabulary(target)}
    if not tokenizer.is_fast:
        return {"kind": None, **own, **others}
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    return {
        "kind": parts["model"].get("type"),
        "normalizer": ", ".join(_types(parts["normalizer"])),
        "pre_tokenizer": ", ".join(_types(parts["pre_tokenizer"])),
        **own,
        **others,
    }


def _vocabulary(tokenizer: Any) -> list[str | None]:
    return [None if each is None else str(each) for each in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))]


def _types(part: dict[str, Any] | None) -> list[str]:
    """The names of a tokenizer's normalizer or pre-tokenizer, those within a sequence."""
    within = [each for value in (part or {}).values() if isinstance(value, list) for each in value]
    nested = [name for each in within if isinstance(each, dict) for name in _types(each)]
    return nested or ([part["type"]] if part else [])


def _pair(number: int, found: Sequence[TextExplanation], model: Any) -> dict[str, Any]:
    sides = [(each.tokens.ids, each.recording) for each in (found[0], found[number])]
    return {"a": 0, "b": number, **compared(sides[0], sides[1], model)}
