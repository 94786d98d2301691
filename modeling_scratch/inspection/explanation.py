# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""`explain`: record texts on their way through a model, analyse each, and hold it all as plain data and as a page.

What the page can compute from the tensors and weights that it holds, it computes itself: answer, attention and logit
lens. What needs gradients is computed here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import modeling_scratch

from ..data.containers import strings_in
from ..data.text_pairs import TextPair
from ..inference.answers import names_of
from ..utils.errors import DataError
from .attributions import Attributions, attributions_of, target_of
from .page import page
from .recorder import Recording, as_textbook, record
from .subjects import GENERATION, TAGGING, TEXT_TASKS, Subject, Tokens, names_of_tokens, subject_of, task_of
from .tokens import described_tokenizer
from .trace import plain, trace

FORMAT = 3
MAX_TOKENS = 64
MOST_TEXTS = 8
PRIVATE = ("_name_or_path", "name_or_path", "auto_map", "custom_pipelines")  # of a config: paths, and code


@dataclass
class TextExplanation:
    """One text: what the tokenizer did, every tensor of the forward pass, and the analyses of its answer.

    recording holds the tensors themselves, and is not part of the data. A part that a model of this kind lacks is None.
    """

    text: str
    target: str | None
    tokens: Tokens
    target_tokens: Tokens | None
    trace: dict[str, Any]
    attributions: Attributions | None
    notes: list[str]
    recording: Recording = field(repr=False)


@dataclass
class Explanation:
    """What `explain` found: the model and the texts."""

    model: dict[str, Any]
    tokenizer: dict[str, Any]
    texts: list[TextExplanation]
    explained: Any = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the data as JSON types; tensors as `trace.packed` packs them."""
        return {"format": FORMAT, "package": modeling_scratch.__version__, **plain(self)}

    def save(self, path: str | Path) -> None:
        """Write the page, one HTML file that needs no network. Raises `DataError`."""
        page(self.to_dict(), self.explained, Path(path))


def explain(
    model: Any,
    tokenizer: Any,
    texts: Any,
    *,
    text_pairs: Any = None,
    targets: Any = None,
    max_tokens: int = MAX_TOKENS,
) -> Explanation:
    """Run texts through a scratch model, record everything, and explain the answers. The model is left as it was.

    - model: any class of the package, also of a saved folder's own code; native checkpoints: `load_pretrained`.
    - tokenizer: its tokenizer; for an encoder-decoder with two vocabularies, a pair of source and target tokenizers.
    - texts: one, or up to 8 in any container, such as a table with a column "text"; longer ones are truncated to
      max_tokens. A masked LM's text may have a mask token.
    - text_pairs: the second texts, one a text, of a classifier that reads pairs.
    - targets: of an encoder-decoder, one a text; by default what the model generates.

    Raises `DataError`, a ValueError, for other models and empty texts.

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
    texts = strings_in(texts, "texts")
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise DataError(f"--text: {len(texts)} texts; give from 1 to {MOST_TEXTS}")
    pairs = zip(texts, _one_a_text("--text_pair", text_pairs, texts))
    texts = [first if second is None else TextPair(first, second) for first, second in pairs]
    wanted = _one_a_text("--target", targets, texts)
    tokenizers = tuple(tokenizer) if isinstance(tokenizer, list | tuple) else (tokenizer, tokenizer)
    with as_textbook(model):  # what the page shows is what the files say, edits included
        subjects = [subject_of(model, tokenizers, *each, max_tokens) for each in zip(texts, wanted)]
        found = [explain_text(subject) for subject in subjects]
    return Explanation(described(model), described_tokenizer(subjects[0]), found, model)


def _one_a_text(name: str, given: Any, texts: Sequence[str]) -> Sequence[str | None]:
    values = [None] * len(texts) if given is None else strings_in(given, f"{name[2:]}s")
    if len(values) != len(texts):
        raise DataError(f"{name}: {len(values)} {name[2:]}s of {len(texts)} texts; give one a text")
    return values


def explain_text(subject: Subject) -> TextExplanation:
    """Record one text and analyse it."""
    recording = record(subject.model, **subject.batch())
    target = target_of(subject, recording.output)
    if target is None:
        subject.notes.append("the model has no single answer for a text: no attributions")
    if not subject.tokenizer.is_fast:
        subject.notes.append("the tokenizer is a slow one, which tells neither its steps nor positions in the text")
    written, read = None, None  # by the decoder of an encoder-decoder
    if subject.task == GENERATION:
        tokenizer, ids = subject.target_tokenizer, subject.decoder_ids
        written = str(tokenizer.decode(subject.target_ids, skip_special_tokens=True))
        read = Tokens(names_of_tokens(tokenizer, ids), ids, [each in tokenizer.all_special_ids for each in ids])
    return TextExplanation(
        text=subject.text.text,
        target=written,
        tokens=subject.text,
        target_tokens=read,
        trace=trace(recording),
        attributions=None if target is None else attributions_of(subject, target),
        notes=subject.notes,
        recording=recording,
    )


def described(model: Any) -> dict[str, Any]:
    """Return what a page says about a model, without paths."""
    config, task = model.config, task_of(model)
    return {
        "name": Path(config.name_or_path).name or type(model).__name__,
        "class": type(model).__name__,
        "family": config.model_type.removeprefix("scratch_"),
        "task": task,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "config": {name: value for name, value in config.to_dict().items() if name not in PRIVATE},
        "labels": names_of(config) if task in (*TEXT_TASKS, TAGGING) else None,
    }
