# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate texts from texts: in batches of similar length, in input order, or streamed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase, TextStreamer

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import position_limit
from ..pipelines import DEFAULT_NEW_TOKENS

TEXTS_AT_ONCE = 1_000  # tokenised to count their tokens: tokens take fifty times as much memory as their text


class Generated(NamedTuple):
    """A generated text, and the number of tokens it was cut at, or None if it has an end token."""

    text: str = ""
    cut_after: int | None = None


class PieceStreamer(TextStreamer):
    """Passes a growing text to `write`, except for its last word, which the next token may still change.

    decode: of new tokens. It stands for a tokenizer's, which would not know what they follow.
    """

    def __init__(self, decode: Callable[..., str], write: Callable[[str], object]) -> None:
        super().__init__(SimpleNamespace(decode=decode), skip_prompt=True)  # type: ignore[arg-type]
        self.write = write

    def on_finalized_text(self, text: str, stream_end: bool = False) -> None:
        self.write(text)


class TextGenerator(ABC):
    """Base class: generate texts from a text by model.generate, for one kind of model."""

    padding_side: str
    stop: Sequence[str] = ()  # strings before which a text ends

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, batch_size: int = 64, **generation: Any) -> None:
        """generation: arguments of model.generate, with precedence over model.generation_config."""
        self.model, self.tokenizer, self.batch_size = model, tokenizer, batch_size
        self.generation = generation

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """The maximum number of input tokens; None: unlimited."""

    @abstractmethod
    def encode(self, texts: Sequence[str], truncation: bool = True) -> list[list[int]]:
        """Tokenise the texts, truncated to `limit` where applicable. Empty texts have no tokens."""

    @abstractmethod
    def decode(self, source: list[int], tokens: list[int]) -> str:
        """Decode the new tokens of a source or prompt."""

    @abstractmethod
    def room(self, length: int) -> int:
        """Return how many new tokens an input of this length has positions for, at most max_new_tokens."""

    def encode_all(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the tokens of each text, without truncation. No more than TEXTS_AT_ONCE are in memory as tokens."""
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            yield from self.encode(texts[start : start + TEXTS_AT_ONCE], truncation=False)

    def setting(self, name: str, default: Any) -> Any:
        """Return a setting from generation, else from model.generation_config, else the default."""
        value = self.generation.get(name)
        value = getattr(self.model.generation_config, name, None) if value is None else value
        return default if value is None else value

    @property
    def max_new_tokens(self) -> int:
        """The maximum number of new tokens. A checkpoint's max_length includes the decoder's start token."""
        return self.setting("max_new_tokens", self.setting("max_length", DEFAULT_NEW_TOKENS + 1) - 1)

    @property
    def can_stream(self) -> bool:
        """Whether texts can be streamed: beam search may revise earlier tokens, and a stop takes back its beginning."""
        return not self.stop and self.setting("num_beams", 1) == self.setting("num_return_sequences", 1) == 1

    def generate(self, texts: Sequence[str]) -> list[list[Generated]]:
        """Generate num_return_sequences texts for each text; empty ones for empty texts."""
        encoded = self.encode(texts)
        generated = [[Generated()] * self.setting("num_return_sequences", 1) for _ in texts]
        rows = [row for row, tokens in enumerate(encoded) if tokens]
        rows.sort(key=lambda row: len(encoded[row]), reverse=True)  # longest first: exhausted memory shows early
        for room, group in groupby(rows, key=lambda row: self.room(len(encoded[row]))):
            every = list(group)
            for start in range(0, len(every), self.batch_size):
                batch = every[start : start + self.batch_size]
                for row, answers in zip(batch, self.run([encoded[row] for row in batch], room)):
                    generated[row] = answers
        return generated

    def stream(self, text: str, write: Callable[[str], object]) -> Generated:
        """Generate a text for one text and pass its pieces to `write`. Requires `can_stream`."""
        tokens = self.encode([text])[0]
        if not tokens:
            return Generated()
        streamer = PieceStreamer(partial(self.decode, tokens), write)
        return self.run([tokens], self.room(len(tokens)), streamer=streamer)[0][0]

    @torch.inference_mode()
    def run(self, batch: Sequence[list[int]], room: int, **options: Any) -> list[list[Generated]]:
        """Generate the texts of one batch of tokens: at most `room` new tokens each. options: of model.generate."""
        rows = [torch.tensor(tokens) for tokens in batch]
        pad = partial(pad_sequence, batch_first=True, padding_side=self.padding_side)
        ids = pad(rows, padding_value=self.tokenizer.pad_token_id or 0).to(self.device)  # (B, T), as the mask
        inputs = {"input_ids": ids, "attention_mask": pad([torch.ones_like(row) for row in rows]).to(self.device)}
        options = {**self.generation, **options, "max_new_tokens": room, "return_dict_in_generate": False}
        if self.stop:
            options |= {"stop_strings": [*self.stop], "tokenizer": getattr(self, "target_tokenizer", self.tokenizer)}
        was_training = self.model.training
        self.model.eval()
        outputs = self.model.generate(**inputs, **options)
        self.model.train(was_training)
        new = outputs[:, 1 if self.model.config.is_encoder_decoder else ids.shape[1] :].tolist()
        each = len(new) // len(batch)
        return [[self._answer(tokens, new[i * each + j], room) for j in range(each)] for i, tokens in enumerate(batch)]

    def _answer(self, source: list[int], new: list[int], room: int) -> Generated:
        ends = self.setting("eos_token_id", [])
        ends = ends if isinstance(ends, list) else [ends]
        length = next((index for index, token in enumerate(new) if token in ends), None)
        text = self.decode(source, new[:length])
        stops = [text.index(each) for each in self.stop if each in text]
        is_cut = length is None and not stops
        return Generated(text[: min(stops, default=len(text))], room if is_cut else None)


class Continuer(TextGenerator):
    """Continue prompts by p(next token | prompt and text so far). Outputs exclude the prompt."""

    padding_side = "left"

    @property
    def limit(self) -> int | None:
        return position_limit(self.model.config)

    def encode(self, texts: Sequence[str], truncation: bool = True) -> list[list[int]]:
        """Tokenise prompts without truncation and without final special tokens, as a prompt continues."""
        if not any(texts):
            return [[] for _ in texts]
        encoded = self.tokenizer(list(texts), return_special_tokens_mask=True, verbose=False)
        prompts = []
        for text, tokens, added in zip(texts, encoded["input_ids"], encoded["special_tokens_mask"]):
            length = max((place for place, is_added in enumerate(added, 1) if not is_added), default=0)
            prompts.append(list(tokens[:length]) if text else [])
        return prompts

    def decode(self, source: list[int], tokens: list[int]) -> str:
        """Decode together with the prompt: decoded alone, the first token would lose its leading space."""
        prompt, whole = (str(self.tokenizer.decode(ids, skip_special_tokens=True)) for ids in (source, source + tokens))
        return whole[len(prompt) :]

    def room(self, length: int) -> int:
        """The last token needs no position, as it is not an input."""
        return min(self.max_new_tokens, self.max_new_tokens if self.limit is None else self.limit + 1 - length)


class Translator(TextGenerator):
    """Translate: argmax over targets of log p(target | source) / length^penalty, by beam search."""

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
        """target_tokenizer: for a separate decoder vocabulary. generation: arguments of model.generate."""
        super().__init__(model, tokenizer, batch_size, **generation)
        self.target_tokenizer = target_tokenizer or tokenizer
        self.max_source_length = max_source_length

    def translate(self, sources: Sequence[str]) -> list[Generated]:
        """Return one translation per source; blank sources give empty ones."""
        return [best for best, *_ in self.generate(sources)]

    @property
    def limit(self) -> int | None:
        """max_source_length, or else the smaller of the tokenizer's and the encoder's limit."""
        limits = [self.tokenizer.model_max_length, position_limit(self.model.config) or NO_LIMIT]
        limit = self.max_source_length or min(limits)
        return limit if limit < NO_LIMIT else None

    def encode(self, texts: Sequence[str], truncation: bool = True) -> list[list[int]]:
        sources, prefix = [text.strip() for text in texts], getattr(self.model.config, "prefix", None) or ""
        if not any(sources):
            return [[] for _ in sources]
        limit = self.limit if truncation else None
        options: dict[str, Any] = {"truncation": limit is not None, "max_length": limit, "verbose": False}
        encoded = self.tokenizer([prefix + source for source in sources], **options)["input_ids"]
        return [list(tokens) if source else [] for source, tokens in zip(sources, encoded)]

    def decode(self, source: list[int], tokens: list[int]) -> str:
        return str(self.target_tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def room(self, length: int) -> int:
        """Independent of the source, as the decoder has its own positions; the last one predicts the end."""
        return min(self.max_new_tokens, position_limit(self.model.config) or self.max_new_tokens)
