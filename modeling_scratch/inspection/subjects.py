# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One text as a model reads it: its tokens, its words, and batches of it and of its variants."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..inference.answers import MULTI_LABEL, gives_numbers
from ..inference.explanations import WORD
from ..inference.text_generators import position_limit
from ..utils.errors import DataError

CLASSIFICATION, MULTI, REGRESSION, TAGGING = "classification", "multi-label", "regression", "tagging"
MASKED, NEXT, GENERATION, SPAN, EMBEDDING = "masked", "next", "generation", "span", "embedding"
HEADS = {
    "ForMaskedLM": MASKED,
    "ForTokenClassification": TAGGING,
    "ForCausalLM": NEXT,
    "ForConditionalGeneration": GENERATION,
    "ForQuestionAnswering": SPAN,
    "Model": EMBEDDING,
}
LEAST_TOKENS = 4


def task_of(model: Any) -> str:
    """Return what a model answers. Raises `DataError` for an unknown head."""
    name, config = type(model).__name__, model.config
    if name.endswith("ForSequenceClassification"):
        is_multi = config.problem_type == MULTI_LABEL
        return REGRESSION if gives_numbers(config) else MULTI if is_multi else CLASSIFICATION
    if (task := next((task for head, task in HEADS.items() if name.endswith(head)), None)) is None:
        raise DataError(f"{name}: no class that explanations know; its name must end in one of {', '.join(HEADS)}")
    if task == EMBEDDING and config.is_encoder_decoder:
        raise DataError(f"{name}: has no head; explain a model ForConditionalGeneration")
    return task


@dataclass(frozen=True)
class Word:
    """A run of characters that are no white space, the unit of explanations."""

    word: str
    start: int
    end: int


@dataclass(frozen=True)
class Encoded:
    """A text's tokens. spans: characters of each token, None for tokenizers that do not tell; special: added tokens."""

    text: str
    ids: list[int]
    spans: list[tuple[int, int]] | None
    special: list[bool]
    is_cut: bool = False

    @cached_property
    def words(self) -> list[Word]:
        return [Word(match[0], *match.span()) for match in WORD.finditer(self.text)]

    @cached_property
    def word_of_token(self) -> list[int | None] | None:
        """Index of the word that each token ends in; None for special tokens, and white space."""
        if self.spans is None:
            return None
        return [None if added or start == end else self._word_at(end) for (start, end), added in self._tokens]

    @property
    def _tokens(self) -> list[tuple[tuple[int, int], bool]]:
        return list(zip(self.spans or [], self.special))

    def _word_at(self, end: int) -> int | None:
        return next((number for number, word in enumerate(self.words) if word.start < end <= word.end), None)

    def per_word(self, values: Sequence[float]) -> list[float] | None:
        """Sum values of tokens (T,) over the tokens of each word."""
        if self.word_of_token is None:
            return None
        sums = [0.0] * len(self.words)
        for value, word in zip(values, self.word_of_token):
            if word is not None:
                sums[word] += value
        return sums


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
        """Tokenise a text, truncated to max_tokens; for a decoder without final special tokens, as it continues."""
        options: dict[str, Any] = {"return_offsets_mapping": True} if self.tokenizer.is_fast else {}
        if self.task == MASKED and self.tokenizer.is_fast:
            options["split_special_tokens"] = False  # so that a text can say what is masked
        found = self.tokenizer(
            text, truncation=True, max_length=self.limit, return_special_tokens_mask=True, verbose=False, **options
        )
        length, special = len(found["input_ids"]), [bool(each) for each in found["special_tokens_mask"]]
        while self.task == NEXT and length and special[length - 1]:
            length -= 1
        spans = [tuple(span) for span in found["offset_mapping"]][:length] if options else None
        is_cut = any(encoding.overflowing for encoding in found.encodings or ())
        return Encoded(text, list(found["input_ids"])[:length], spans, special[:length], is_cut)

    @property
    def decoder_ids(self) -> list[int]:
        """What a decoder reads to give the target: a start token, then the token before each."""
        return [self.model.config.decoder_start_token_id, *self.target_ids[:-1]]

    @property
    def inputs(self) -> dict[str, Any]:
        """The arguments of the model for the text alone."""
        return self.batch([self.text.ids])

    def batch(self, rows: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return padded rows of tokens, on the left for a decoder, whose last token answers; and the target of each."""
        longest, pad = max(map(len, rows)), getattr(self.model.config, "pad_token_id", None) or 0
        ids, mask = [], []
        for row in rows:
            gap = longest - len(row)
            ids.append([pad] * gap + [*row] if self.task == NEXT else [*row] + [pad] * gap)
            mask.append([0] * gap + [1] * len(row) if self.task == NEXT else [1] * len(row) + [0] * gap)
        inputs: dict[str, Any] = {"input_ids": self.tensor(ids), "attention_mask": self.tensor(mask)}
        if self.task == GENERATION:
            inputs["decoder_input_ids"] = self.tensor([self.decoder_ids] * len(rows))
        return inputs | self.options

    @property
    def options(self) -> dict[str, Any]:
        """No cache: all tokens are read at once."""
        return {"use_cache": False} if self.task in (NEXT, GENERATION) or self.model.is_causal else {}

    def tensor(self, rows: Any) -> Tensor:
        return torch.tensor(rows, device=self.model.device)


def subject_of(
    model: Any, tokenizers: tuple[Any, Any], text: str, target: str | None = None, max_tokens: int = 64
) -> Subject:
    """Encode a text, and mask a token or generate the target where the model needs it. Raises `DataError`."""
    subject = Subject(model, *tokenizers, task_of(model), max_tokens)
    if target is not None and subject.task != GENERATION:
        raise DataError("--target: only for an encoder-decoder")
    if max_tokens < LEAST_TOKENS:
        raise DataError(f"--max_tokens {max_tokens}: must be at least {LEAST_TOKENS}")
    subject.text = subject.encode(text)
    if not text.strip() or not subject.text.ids:
        raise DataError("--text: the text is empty, or has no tokens")
    if subject.text.is_cut:
        subject.notes.append(f"the text is truncated to {len(subject.text.ids)} tokens ({subject.limited_by})")
        if subject.text.spans is not None:  # so that no variant reads on
            subject.text = subject.encode(text[: max(end for _, end in subject.text.spans)])
    if subject.task == MASKED:
        _mask(subject)
    if subject.task == GENERATION:
        subject.target_ids = _generated(subject) if target is None else _given(subject, target)
    return subject


def masked_positions(subject: Subject, ids: Sequence[int]) -> list[int]:
    return [position for position, token in enumerate(ids) if token == subject.tokenizer.mask_token_id]


def _mask(subject: Subject) -> None:
    """Mask the middle one of the text's tokens, unless the text has a masked one."""
    encoded, mask = subject.text, subject.tokenizer.mask_token
    if masked_positions(subject, encoded.ids):
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
    if len(masked_positions(subject, subject.text.ids)) != 1:
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
