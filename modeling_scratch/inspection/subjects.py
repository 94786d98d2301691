# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One text as a model reads it: its tokens, its words, and batches of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..bridges.model_sources import position_limit
from ..data.text_pairs import SEPARATOR, of_parts, parts_of
from ..inference.answers import gives_numbers, has_sigmoids
from ..inference.pieces import WORD
from ..inference.seen_words import read_seen_words, unseen_words, words_not_in
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
    """A run of characters that are no white space, the unit of explanations."""

    start: int
    end: int


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text or of a pair, whose string is both texts joined.

    special: added tokens. types: token type ids, None for tokenizers without. parts: of a pair, its texts. Not in the
    data of a page are spans, the characters of each token, None for tokenizers that do not tell; sides, 1 for tokens of
    the second text; unseen, the words that the model has not seen.
    """

    tokens: list[Any]
    ids: list[int]
    special: list[bool]
    types: list[int] | None = None
    parts: list[str] | None = None
    word_list: list[Word] = field(default_factory=list)
    text: str = field(default="", repr=False)
    spans: list[list[int]] | None = field(default=None, repr=False)
    sides: list[int] = field(default_factory=list, repr=False)
    is_cut: bool = field(default=False, repr=False)
    unseen: list[str] = field(default_factory=list, repr=False)

    def per_word(self, values: Sequence[float]) -> list[float] | None:
        """Sum values of tokens (T,) over the tokens that end in each word."""
        if self.spans is None:
            return None
        sums = [0.0] * len(self.word_list)
        words = enumerate(self.word_list)
        word_at = {end: number for number, word in words for end in range(word.start + 1, word.end + 1)}
        for value, (start, end), added in zip(values, self.spans, self.special):
            if start < end and end in word_at and not added:
                sums[word_at[end]] += value
        return sums


def names_of_tokens(tokenizer: Any, ids: Iterable[int]) -> list[Any]:
    return [None if each is None else str(each) for each in tokenizer.convert_ids_to_tokens(list(ids))]


def starts(text: str) -> tuple[int, ...]:
    """Return where each part of a text begins in its string."""
    first, *others = parts_of(text)
    return (0, len(first) + len(SEPARATOR)) if others else (0,)


@dataclass
class Subject:
    """A text and the model that answers it.

    target_ids: what an encoder-decoder gives, with its end. notes: what was changed or left out, for readers.
    """

    model: Any
    tokenizer: Any
    target_tokenizer: Any
    task: str
    max_tokens: int
    text: Tokens = field(init=False)
    target_ids: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def limit(self) -> int:
        """The most tokens of a text or a target: max_tokens, or fewer if the model or its tokenizer reads fewer."""
        limits = self.max_tokens, self.tokenizer.model_max_length, position_limit(self.model.config)
        return min(each for each in limits if each)

    @property
    def limited_by(self) -> str:
        return "--max_tokens" if self.limit == self.max_tokens else "the limit of the model"

    def encode(self, text: str) -> Tokens:
        """Tokenise a text or a pair, truncated to max_tokens; for a decoder without final special tokens."""
        is_fast, begins, parts = self.tokenizer.is_fast, starts(text), parts_of(text)
        options: dict[str, Any] = {"return_offsets_mapping": True} if is_fast else {}
        if self.task == MASKED and is_fast:
            options["split_special_tokens"] = False  # so that a text can say what is masked
        options |= {"truncation": True, "max_length": self.limit, "return_special_tokens_mask": True, "verbose": False}
        found = self.tokenizer(*parts, **options)
        special = [bool(each) for each in found["special_tokens_mask"]]
        while self.task == NEXT and special and special[-1]:
            special.pop()
        kept = slice(len(special))
        ids, types = list(found["input_ids"])[kept], found.get("token_type_ids")
        words = [
            Word(at + each.start(), at + each.end()) for at, part in zip(begins, parts) for each in WORD.finditer(part)
        ]
        tokens = Tokens(
            names_of_tokens(self.tokenizer, ids), ids, special, types and list(types)[kept],
            list(parts) if len(parts) > 1 else None, words, text, sides=[0] * len(ids),
        )  # fmt: skip
        if not is_fast:
            return tokens
        sides = [side or 0 for side in found.sequence_ids()][kept]
        spans = [[begins[side] + place for place in span] for side, span in zip(sides, found["offset_mapping"])]
        unseen = unseen_words(found.encodings[0], self.tokenizer.unk_token_id, parts)
        return replace(tokens, spans=spans, sides=sides, unseen=unseen, is_cut=bool(found.encodings[0].overflowing))

    @property
    def decoder_ids(self) -> list[int]:
        """What a decoder reads to give the target: a start token, then the token before each."""
        return [self.model.config.decoder_start_token_id, *self.target_ids[:-1]]

    def batch(self, count: int = 1) -> dict[str, Any]:
        """Return the arguments of the model for rows of the text, and of the target."""
        ids = self.tensor([self.text.ids] * count)
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if len(parts_of(self.text.text)) > 1 and self.text.types is not None:
            inputs["token_type_ids"] = self.tensor([self.text.types] * count)
        if self.task == GENERATION:
            inputs["decoder_input_ids"] = self.tensor([self.decoder_ids] * count)
        if self.task in (NEXT, GENERATION) or self.model.is_causal:
            inputs["use_cache"] = False  # all tokens are read at once
        return inputs

    def tensor(self, rows: Any) -> Tensor:
        return torch.tensor(rows, device=self.model.device)

    def masked_positions(self) -> list[int]:
        return [place for place, token in enumerate(self.text.ids) if token == self.tokenizer.mask_token_id]


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
    known = read_seen_words(model.name_or_path)
    if words := words_not_in(known, subject.text.text) if known else subject.text.unseen:
        subject.notes.append(f"the model has not seen: {', '.join(words)}")
    if subject.task == MASKED:
        _mask(subject)
    if subject.task == GENERATION:
        subject.target_ids = _generated(subject) if target is None else _given(subject, target)
    return subject


def read_of(encoded: Tokens) -> str:
    """Return what was read of a truncated text, which is what a page shows."""
    if encoded.spans is None:
        return encoded.text
    ends = dict.fromkeys(encoded.sides, 0)
    for (_, end), part in zip(encoded.spans, encoded.sides):
        ends[part] = max(ends[part], end)
    parts = enumerate(zip(starts(encoded.text), parts_of(encoded.text)))
    return of_parts([text[: max(0, ends.get(part, 0) - start)] for part, (start, text) in parts])


def _mask(subject: Subject) -> None:
    """Mask the middle one of the text's tokens, unless the text has a masked one."""
    encoded, mask = subject.text, subject.tokenizer.mask_token
    if subject.masked_positions():
        return
    if encoded.spans is None or mask is None:
        raise DataError("--text: must have the tokenizer's mask token, as this tokenizer tells no positions of tokens")
    if not (real := [number for number, (start, end) in enumerate(encoded.spans) if start < end]):
        raise DataError("--text: the text is empty, or has no tokens")
    position = real[len(real) // 2]
    start, end = encoded.spans[position]
    hidden = encoded.text[start:end]
    subject.text = subject.encode(f"{encoded.text[:start]}{mask}{encoded.text[end:]}")
    subject.notes.append(f"the text has no {mask}: it stands for {hidden!r} here")
    if len(subject.masked_positions()) != 1:
        raise DataError(f"--text: masking {hidden!r} failed; write {mask} in place of a word")


def _generated(subject: Subject) -> list[int]:
    """The tokens that the model's own generation settings give, from the first to the end."""
    if subject.model.config.decoder_start_token_id is None:
        raise DataError("the model has no decoder_start_token_id in config.json, so that it cannot generate")
    ids, limit = subject.tensor([subject.text.ids]), subject.limit - 1
    options = {"attention_mask": torch.ones_like(ids), "max_new_tokens": limit, "do_sample": False}
    with torch.no_grad():
        output = subject.model.generate(ids, **options)[0].tolist()[1:]
    end = subject.model.generation_config.eos_token_id
    ends = [n for n, token in enumerate(output) if token in (end if isinstance(end, list) else [end])]
    if not ends:
        subject.notes.append(f"the output has no end within {len(output)} tokens ({subject.limited_by})")
    return output[: ends[0] + 1] if ends else output


def _given(subject: Subject, target: str) -> list[int]:
    """The tokens of a target that the user gives, as labels of training."""
    tokenizer, limit = subject.target_tokenizer, subject.limit
    ids = list(tokenizer(text_target=target, verbose=False)["input_ids"])
    if not target.strip() or not ids:
        raise DataError("--target: the text is empty, or has no tokens")
    if len(ids) > limit:
        subject.notes.append(f"the target is truncated to {limit} tokens ({subject.limited_by})")
    return list(tokenizer(text_target=target, truncation=True, max_length=limit)["input_ids"])
