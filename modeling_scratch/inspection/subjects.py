# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One text as a model reads it: its tokens, its words, and batches of it and of its variants."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..bridges.model_sources import position_limit
from ..data.text_pairs import SEPARATOR, of_parts, parts_of
from ..inference.answers import gives_numbers, has_sigmoids
from ..inference.classification import unseen_words
from ..inference.pieces import WORD
from ..tasks import HEADS, action_of_class, named
from ..utils.errors import DataError

CLASSIFICATION, MULTI, REGRESSION, TAGGING = "classification", "multi-label", "regression", "tagging"
MASKED, NEXT, GENERATION, SPAN, EMBEDDING = "masked", "next", "generation", "span", "embedding"
TEXT_TASKS = CLASSIFICATION, MULTI, REGRESSION  # one answer a text
LEAST_TOKENS = 4


def task_of(model: Any) -> str:
    """Return what a model answers. Raises `DataError` for an unknown head."""
    name, config = type(model).__name__, model.config
    if action := action_of_class(name):
        task = named(action).explained
        if task == CLASSIFICATION and gives_numbers(config):
            return REGRESSION
        return MULTI if task == CLASSIFICATION and has_sigmoids(config) else task
    if not name.endswith("Model"):
        raise DataError(f"{name}: no class that explanations know; its name must end in Model or {', '.join(HEADS)}")
    if config.is_encoder_decoder:
        raise DataError(f"{name}: has no head; explain a model ForConditionalGeneration")
    return EMBEDDING


@dataclass(frozen=True)
class Word:
    """A run of characters that are no white space, the unit of explanations. part: 1 in the second text of a pair."""

    start: int
    end: int
    part: int = 0


@dataclass(frozen=True)
class Encoded:
    """The tokens of a text or of a pair, whose string is both texts joined.

    spans: characters of each token, None for tokenizers that do not tell. special: added tokens. parts: 1 for tokens of
    the second text. types: token type ids, None for tokenizers without. unseen: the words that the model has not seen.
    """

    text: str
    ids: list[int]
    spans: list[tuple[int, int]] | None
    special: list[bool]
    parts: list[int]
    types: list[int] | None = None
    is_cut: bool = False
    unseen: list[str] = field(default_factory=list)

    @cached_property
    def words(self) -> list[Word]:
        return [
            Word(start + match.start(), start + match.end(), part)
            for part, (start, text) in enumerate(zip(starts(self.text), parts_of(self.text)))
            for match in WORD.finditer(text)
        ]

    @cached_property
    def word_of_token(self) -> list[int | None] | None:
        """Index of the word that each token ends in; None for special tokens, and white space."""
        if self.spans is None:
            return None
        ends = {end: number for number, word in enumerate(self.words) for end in range(word.start + 1, word.end + 1)}
        tokens = zip(self.spans, self.special)
        return [None if added or start == end else ends.get(end) for (start, end), added in tokens]

    def per_word(self, values: Sequence[float]) -> list[float] | None:
        """Sum values of tokens (T,) over the tokens of each word."""
        if self.word_of_token is None:
            return None
        sums = [0.0] * len(self.words)
        for value, word in zip(values, self.word_of_token):
            if word is not None:
                sums[word] += value
        return sums


def starts(text: str) -> tuple[int, ...]:
    """Return where each part of a text begins in its string."""
    first, *others = parts_of(text)
    return (0, len(first) + len(SEPARATOR)) if others else (0,)


@dataclass
class Subject:
    """A text and the model that answers it.

    target_ids: what an encoder-decoder gives, with its end. hidden: the token that a masked position held, if it was
    masked here. notes: what was changed or left out, for readers.
    """

    model: Any
    tokenizer: Any
    target_tokenizer: Any
    task: str
    max_tokens: int
    text: Encoded = field(init=False)
    target_ids: list[int] = field(default_factory=list)
    hidden: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def limit(self) -> int:
        """The most tokens of a text or a target: max_tokens, or fewer if the model or its tokenizer reads fewer."""
        limits = self.max_tokens, self.tokenizer.model_max_length, position_limit(self.model.config)
        return min(each for each in limits if each)

    @property
    def limited_by(self) -> str:
        return "--max_tokens" if self.limit == self.max_tokens else "the limit of the model"

    def encode(self, text: str) -> Encoded:
        """Tokenise a text or a pair, truncated to max_tokens; for a decoder without final special tokens."""
        is_fast, begins = self.tokenizer.is_fast, starts(text)
        options: dict[str, Any] = {"return_offsets_mapping": True} if is_fast else {}
        if self.task == MASKED and is_fast:
            options["split_special_tokens"] = False  # so that a text can say what is masked
        found = self.tokenizer(
            *parts_of(text), truncation=True, max_length=self.limit, return_special_tokens_mask=True, verbose=False,
            **options,
        )  # fmt: skip
        special = [bool(each) for each in found["special_tokens_mask"]]
        while self.task == NEXT and special and special[-1]:
            special.pop()
        kept = slice(len(special))
        parts = [part or 0 for part in found.sequence_ids()] if is_fast else [0] * len(special)
        offsets = found["offset_mapping"][kept] if is_fast else ()
        spans = [(begins[part] + start, begins[part] + end) for part, (start, end) in zip(parts, offsets)]
        types = list(found["token_type_ids"])[kept] if "token_type_ids" in found else None
        is_cut = any(encoding.overflowing for encoding in found.encodings or ())
        ids = list(found["input_ids"])[kept]
        unknown = self.tokenizer.unk_token_id
        unseen = unseen_words(found.encodings[0], unknown, parts_of(text)) if is_fast else []
        return Encoded(text, ids, spans if is_fast else None, special, parts[kept], types, is_cut, unseen)

    @property
    def decoder_ids(self) -> list[int]:
        """What a decoder reads to give the target: a start token, then the token before each."""
        return [self.model.config.decoder_start_token_id, *self.target_ids[:-1]]

    @property
    def inputs(self) -> dict[str, Any]:
        """The arguments of the model for the text alone."""
        return self.batch([self.text])

    def batch(self, rows: Sequence[Encoded]) -> dict[str, Any]:
        """Return padded rows of tokens, and the target of each."""
        inputs = self.padded([row.ids for row in rows])
        if any(parts_of(row.text)[1:] for row in rows) and self.text.types is not None:
            types = self.padded([row.types or [] for row in rows])["input_ids"]
            inputs["token_type_ids"] = types * inputs["attention_mask"]  # padding has type 0
        if self.task == GENERATION:
            inputs["decoder_input_ids"] = self.tensor([self.decoder_ids] * len(rows))
        if self.task in (NEXT, GENERATION) or self.model.is_causal:
            inputs["use_cache"] = False  # all tokens are read at once
        return inputs

    def padded(self, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Rows of tokens, padded on the left for a decoder, whose last token answers."""
        pad = getattr(self.model.config, "pad_token_id", None) or 0
        side = "left" if self.task == NEXT else "right"
        ids, mask = (
            pad_sequence([self.tensor(row) for row in each], batch_first=True, padding_value=value, padding_side=side)
            for each, value in ((rows, pad), ([[1] * len(row) for row in rows], 0))
        )
        return {"input_ids": ids, "attention_mask": mask}

    def tensor(self, rows: Any) -> Tensor:
        return torch.tensor(rows, device=self.model.device)

    def masked_positions(self, ids: Sequence[int]) -> list[int]:
        return [position for position, token in enumerate(ids) if token == self.tokenizer.mask_token_id]


def subject_of(
    model: Any, tokenizers: tuple[Any, Any], text: str, target: str | None = None, max_tokens: int = 64
) -> Subject:
    """Encode a text, and mask a token or generate the target where the model needs it. Raises `DataError`."""
    subject = Subject(model, *tokenizers, task_of(model), max_tokens)
    if target is not None and subject.task != GENERATION:
        raise DataError("--target: only for an encoder-decoder")
    if max_tokens < LEAST_TOKENS:
        raise DataError(f"--max_tokens {max_tokens}: must be at least {LEAST_TOKENS}")
    if len(parts_of(text)) > 1 and subject.task not in (*TEXT_TASKS, SPAN):
        raise DataError("--text_pair: only for a classifier, a regression, or questions on a text")
    subject.text = subject.encode(text)
    if not all(part.strip() for part in parts_of(text)) or not subject.text.ids:
        raise DataError("--text: the text is empty, or has no tokens")
    if subject.text.is_cut:
        subject.notes.append(f"the text is truncated to {len(subject.text.ids)} tokens ({subject.limited_by})")
        subject.text = subject.encode(read_of(subject.text))
    if words := subject.text.unseen:
        subject.notes.append(f"the model has not seen: {', '.join(words)}")
    if subject.task == MASKED:
        _mask(subject)
    if subject.task == GENERATION:
        subject.target_ids = _generated(subject) if target is None else _given(subject, target)
    return subject


def read_of(encoded: Encoded) -> str:
    """Return what was read of a truncated text, so that no variant of it reads on."""
    if encoded.spans is None:
        return encoded.text
    read = []
    for part, (start, text) in enumerate(zip(starts(encoded.text), parts_of(encoded.text))):
        ends = [end for (_, end), other in zip(encoded.spans, encoded.parts) if other == part]
        read.append(text[: max(0, max(ends, default=0) - start)])
    return of_parts(read)


def _mask(subject: Subject) -> None:
    """Mask the middle one of the text's tokens, unless the text has a masked one."""
    encoded, mask = subject.text, subject.tokenizer.mask_token
    if subject.masked_positions(encoded.ids):
        return
    if encoded.spans is None or mask is None:
        raise DataError("--text: must have the tokenizer's mask token, as this tokenizer tells no positions of tokens")
    if not (real := [number for number, (start, end) in enumerate(encoded.spans) if start < end]):
        raise DataError("--text: the text is empty, or has no tokens")
    position = real[len(real) // 2]
    start, end = encoded.spans[position]
    subject.hidden = encoded.ids[position]
    subject.text = subject.encode(f"{encoded.text[:start]}{mask}{encoded.text[end:]}")
    shown = encoded.text[start:end]
    subject.notes.append(f"the text has no {mask}: it stands for {shown!r} here")
    if len(subject.masked_positions(subject.text.ids)) != 1:
        raise DataError(f"--text: masking {shown!r} failed; write {mask} in place of a word")


def _generated(subject: Subject) -> list[int]:
    """The tokens that the model's own generation settings give, from the first to the end."""
    if subject.model.config.decoder_start_token_id is None:
        raise DataError("the model has no decoder_start_token_id in config.json, so that it cannot generate")
    ids = subject.tensor([subject.text.ids])
    encoded = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        output = subject.model.generate(**encoded, max_new_tokens=subject.limit - 1, do_sample=False)[0].tolist()[1:]
    end = subject.model.generation_config.eos_token_id
    ends = [n for n, token in enumerate(output) if token in (end if isinstance(end, list) else [end])]
    if not ends:
        subject.notes.append(f"the output has no end within {len(output)} tokens ({subject.limited_by})")
    return output[: ends[0] + 1] if ends else output


def _given(subject: Subject, target: str) -> list[int]:
    """The tokens of a target that the user gives, as labels of training."""
    ids = list(subject.target_tokenizer(text_target=target, verbose=False)["input_ids"])
    if not target.strip() or not ids:
        raise DataError("--target: the text is empty, or has no tokens")
    if len(ids) > subject.limit:
        subject.notes.append(f"the target is truncated to {subject.limit} tokens ({subject.limited_by})")
    return list(subject.target_tokenizer(text_target=target, truncation=True, max_length=subject.limit)["input_ids"])
