# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Texts translated by an encoder-decoder, in batches of similar length, in the order in which they came."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedTokenizerBase


class Translation(NamedTuple):
    """A text, and whether it ends where the limit of tokens was and not where the model ended it."""

    text: str
    is_cut: bool


class Translator:
    """source text -> argmax over targets of log p(target | source) / length^penalty, by beam search."""

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
        self.model, self.tokenizer = model, tokenizer
        self.target_tokenizer = target_tokenizer or tokenizer
        self.max_source_length = max_source_length
        self.batch_size = batch_size
        self.generation = generation

    def translate(self, sources: Sequence[str]) -> list[Translation]:
        """As many translations as sources; a source of white space is not translated, but stays a line."""
        lengths = {i: len(source) for i, source in enumerate(sources) if source.strip()}
        order = sorted(lengths, key=lengths.__getitem__, reverse=True)  # the longest first: memory is short at once
        translations = [Translation("", False)] * len(sources)
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            for row, translation in zip(rows, self._translate_batch([sources[row] for row in rows])):
                translations[row] = translation
        return translations

    @torch.inference_mode()
    def _translate_batch(self, sources: list[str]) -> Iterator[Translation]:
        inputs = self.encode(sources).to(self.model.device)
        was_training = self.model.training
        self.model.eval()
        outputs = self.model.generate(**inputs, **self.generation)
        self.model.train(was_training)
        texts = self.target_tokenizer.batch_decode(outputs, skip_special_tokens=True)
        ended = (outputs[:, 1:] == self.target_tokenizer.eos_token_id).any(-1).tolist()
        for text, has_ended in zip(texts, ended):
            yield Translation(text.strip(), not has_ended)

    def encode(self, sources: list[str]) -> Any:
        """input_ids and attention_mask (B, S), cut at max_source_length tokens."""
        limit = self.max_source_length or min(self.tokenizer.model_max_length, 2**20)
        return self.tokenizer(
            sources, padding=True, truncation=True, max_length=limit, return_tensors="pt", return_token_type_ids=False
        )
