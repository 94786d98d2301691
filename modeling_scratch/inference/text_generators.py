# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Texts generated from texts, in batches of similar length and in the order of the input, or streamed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase
from transformers.generation import BaseStreamer

DEFAULT_NEW_TOKENS = 128  # where neither the user nor the checkpoint says anything
HELD_BACK = 24  # characters: a longer word, or text that knows no spaces, is shown before it is complete


class Generated(NamedTuple):
    """A text, and after how many tokens it was cut where the model found no end to it."""

    text: str = ""
    cut_after: int | None = None

    @property
    def is_cut(self) -> bool:
        return self.cut_after is not None


class WordStreamer(BaseStreamer):
    """Writes a text while it grows, up to its last word: the next token may still change that one."""

    def __init__(self, decode: Callable[[list[int]], str], write: Callable[[str], object]) -> None:
        self.decode, self.write = decode, write
        self.tokens: list[int] | None = None
        self.written = 0

    def put(self, value: Tensor) -> None:
        """Take the next token, but for the first call, which hands over what the decoder has read already."""
        if self.tokens is None:
            self.tokens = []
            return
        self.tokens += value.tolist()
        text = self.decode(self.tokens)
        self._write_until(text, max(text.rfind(" "), text.rfind("\n"), len(text) - HELD_BACK))

    def end(self) -> None:
        """Nothing is left to do: `finish` has the whole text."""

    def finish(self, text: str) -> None:
        """Write what is missing of the whole text."""
        self._write_until(text, len(text))

    def _write_until(self, text: str, end: int) -> None:
        if end > self.written:
            self.write(text[self.written : end])
            self.written = end


class TextGenerator(ABC):
    """text -> the texts that model.generate makes of it, for one family of models."""

    padding_side: str

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, batch_size: int = 64, **generation: Any) -> None:
        """generation: as of model.generate; it wins over what model.generation_config says."""
        self.model, self.tokenizer, self.batch_size = model, tokenizer, batch_size
        self.generation = generation

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """The most tokens that a text to be read can have; None: there is no end."""

    @abstractmethod
    def encode(self, texts: Sequence[str], truncation: bool = True) -> list[list[int]]:
        """The tokens of each text, none where there is nothing to read, cut at `limit` where that makes sense."""

    @abstractmethod
    def decode(self, source: list[int], tokens: list[int]) -> str:
        """The text of the new tokens, which came of a source or stand behind a prompt."""

    @abstractmethod
    def room(self, length: int) -> int:
        """How many new tokens a text of this length has positions for, at most max_new_tokens."""

    def setting(self, name: str, default: Any) -> Any:
        """What generation or else model.generation_config says, or the default where they say nothing."""
        value = self.generation.get(name)
        value = getattr(self.model.generation_config, name, None) if value is None else value
        return default if value is None else value

    @property
    def max_new_tokens(self) -> int:
        """A max_length of the checkpoint counts the token that a decoder starts with, too."""
        return self.setting("max_new_tokens", self.setting("max_length", DEFAULT_NEW_TOKENS + 1) - 1)

    @property
    def can_stream(self) -> bool:
        """A beam changes its mind."""
        return self.setting("num_beams", 1) == self.setting("num_return_sequences", 1) == 1

    def generate(self, texts: Sequence[str]) -> list[list[Generated]]:
        """num_return_sequences texts for each text; empty ones where there is nothing to read."""
        encoded = self.encode(texts)
        generated = [[Generated()] * self.setting("num_return_sequences", 1) for _ in texts]
        order = [i for i, tokens in enumerate(encoded) if tokens]
        order.sort(key=lambda i: len(encoded[i]), reverse=True)  # the longest first: memory is short at once
        for room, group in groupby(order, key=lambda i: self.room(len(encoded[i]))):
            rows = list(group)
            for start in range(0, len(rows), self.batch_size):
                batch = rows[start : start + self.batch_size]
                for row, answers in zip(batch, self._generate_batch([encoded[row] for row in batch], room)):
                    generated[row] = answers
        return generated

    def stream(self, text: str, write: Callable[[str], object]) -> Generated:
        """What `generate` makes of one text, and its pieces to `write` while it grows; only where `can_stream`."""
        tokens = self.encode([text])[0]
        if not tokens:
            return Generated()
        streamer = WordStreamer(partial(self.decode, tokens), write)
        answer = self._generate_batch([tokens], self.room(len(tokens)), streamer)[0][0]
        streamer.finish(answer.text)
        return answer

    @torch.inference_mode()
    def _generate_batch(
        self, batch: list[list[int]], room: int, streamer: BaseStreamer | None = None
    ) -> list[list[Generated]]:
        inputs = self._pad(batch)
        options = {**self.generation, "max_new_tokens": room, "streamer": streamer}
        was_training = self.model.training
        self.model.eval()
        outputs = self.model.generate(**inputs, **options)
        self.model.train(was_training)
        new = outputs[:, 1 if self.model.config.is_encoder_decoder else inputs["input_ids"].shape[1] :].tolist()
        each = len(new) // len(batch)
        return [[self._answer(tokens, new[i * each + j], room) for j in range(each)] for i, tokens in enumerate(batch)]

    def _pad(self, batch: list[list[int]]) -> dict[str, Tensor]:
        """input_ids and attention_mask (B, T)."""
        side: dict[str, Any] = {"batch_first": True, "padding_side": self.padding_side}
        rows = [torch.tensor(tokens) for tokens in batch]
        ids = pad_sequence(rows, padding_value=self.tokenizer.pad_token_id or 0, **side)
        mask = pad_sequence([torch.ones_like(row) for row in rows], **side)
        return {"input_ids": ids.to(self.model.device), "attention_mask": mask.to(self.model.device)}

    def _answer(self, source: list[int], new: list[int], room: int) -> Generated:
        ends = self.setting("eos_token_id", [])
        ends = ends if isinstance(ends, list) else [ends]
        length = next((place for place, token in enumerate(new) if token in ends), None)
        return Generated(self.decode(source, new[:length]), room if length is None else None)


def position_limit(config: Any) -> int | None:
    """How many tokens the model has positions for; None where it computes them without end."""
    if getattr(config, "position_type", "learned") != "learned":
        return None
    return getattr(config, "max_position_embeddings", None)


class Continuer(TextGenerator):
    """prompt -> what p(next token | prompt and text so far) makes of it; a text is the continuation alone."""

    padding_side = "left"

    @property
    def limit(self) -> int | None:
        return position_limit(self.model.config)

    def encode(self, texts: Sequence[str], truncation: bool = True) -> list[list[int]]:
        """Never cut; without the tokens that end a text, which a tokenizer may add: a prompt goes on."""
        if not any(texts):
            return [[] for _ in texts]
        encoded = self.tokenizer(list(texts), return_special_tokens_mask=True, verbose=False)
        prompts = []
        for text, tokens, added in zip(texts, encoded["input_ids"], encoded["special_tokens_mask"]):
            length = len(tokens)
            while length and added[length - 1]:
                length -= 1
            prompts.append(list(tokens[:length]) if text else [])
        return prompts

    def decode(self, source: list[int], tokens: list[int]) -> str:
        """Decoded behind the prompt: a first token alone would lose the space that it begins with."""
        prompt, whole = (str(self.tokenizer.decode(ids, skip_special_tokens=True)) for ids in (source, source + tokens))
        return whole[len(prompt) :]

    def room(self, length: int) -> int:
        """The last token needs no position, as nothing is predicted from it."""
        return min(self.max_new_tokens, self.max_new_tokens if self.limit is None else self.limit + 1 - length)


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
