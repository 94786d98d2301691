# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Prompts continued by a decoder, in batches of similar length, in the order in which they came."""

from collections.abc import Sequence

from text_generation import TextGenerator, position_limit


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
