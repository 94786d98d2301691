# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Texts translated by an encoder-decoder, in batches of similar length, in the order in which they came."""

from collections.abc import Sequence
from typing import Any

from text_generation import Generated, TextGenerator, position_limit
from transformers import PreTrainedTokenizerBase

ENDLESS = 10**20  # tokenizers say with a larger model_max_length that they know none


class Translator(TextGenerator):
    """source text -> argmax over targets of log p(target | source) / length^penalty, by beam search."""

    padding_side = "right"

    def __init__(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        target_tokenizer: PreTrainedTokenizerBase | None = None,
        max_source_length: int | None = None,
        batch_size: int = 64,
        **generation: Any,
    ) -> None:
        """target_tokenizer: of a decoder with a vocabulary of its own. generation: as of model.generate."""
        super().__init__(model, tokenizer, batch_size, **generation)
        self.target_tokenizer = target_tokenizer or tokenizer
        self.max_source_length = max_source_length

    def translate(self, sources: Sequence[str]) -> list[Generated]:
        """As many translations as sources; a source of white space is not translated, but stays a line."""
        return [best for best, *_ in self.generate(sources)]

    def count_cut(self, sources: Sequence[str]) -> int:
        """How many sources are longer than `limit`: `translate` does not read their ends."""
        limit = self.limit
        return sum(limit is not None and len(tokens) > limit for tokens in self.encode(sources, truncation=False))

    @property
    def limit(self) -> int | None:
        """max_source_length, or else what the tokenizer was trained for and the encoder has positions for."""
        limits = [self.tokenizer.model_max_length, position_limit(self.model.config) or ENDLESS]
        limit = self.max_source_length or min(limits)
        return limit if limit < ENDLESS else None

    def encode(self, texts: Sequence[str], truncation: bool = True) -> list[list[int]]:
        sources = [text.strip() for text in texts]
        if not any(sources):
            return [[] for _ in sources]
        limit = self.limit if truncation else None
        encoded = self.tokenizer(sources, truncation=limit is not None, max_length=limit, verbose=False)["input_ids"]
        return [list(tokens) if source else [] for source, tokens in zip(sources, encoded)]

    def decode(self, source: list[int], tokens: list[int]) -> str:
        return str(self.target_tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def room(self, length: int) -> int:
        """The same for every source: its translation has positions of its own, the last of which predicts the end."""
        return min(self.max_new_tokens, position_limit(self.model.config) or self.max_new_tokens)
