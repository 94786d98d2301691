# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Token embeddings plus positions plus token types, normalised, and projected to the width of the stack.

Shapes: B batch, T length, E embedding size, hidden the width of the stack; packed batches are (1, tokens).
"""

from torch import Tensor, nn
from transformers.utils import is_tracing

from .configuration_scratch import ScratchConfig
from .dropout import Dropout
from .input_checks import look_up
from .layers import NORMS
from .positions import SINUSOIDS


class Embeddings(nn.Module):
    """norm(scale * E[token] + P[position] + S[token type]) W (Vaswani et al. 2017, 3.4; Devlin et al. 2019).

    W is there where the sizes differ (factorised embeddings, Lan et al. 2020).
    """

    def __init__(self, config: ScratchConfig, vocab_size: int, ids_name: str = "input_ids") -> None:
        super().__init__()
        self.ids_name = ids_name  # as callers know what is looked up here
        size = config.embedding_size
        self.tokens = nn.Embedding(vocab_size, size)
        self.scale = config.hidden_size**0.5 if config.embedding_scale else 1.0
        self.offset = config.position_offset
        learned = config.position_type == "learned"
        self.positions = nn.Embedding(config.max_position_embeddings + self.offset, size) if learned else None
        self.sinusoid = SINUSOIDS.get(config.position_type)
        self.token_types = nn.Embedding(config.type_vocab_size, size) if config.type_vocab_size else None
        self.norm = NORMS[config.norm_type](size, eps=config.norm_eps) if config.embedding_norm else nn.Identity()
        self.dropout = Dropout(config.hidden_dropout)
        self.projection = nn.Linear(size, config.hidden_size) if size != config.hidden_size else nn.Identity()

    def forward(
        self,
        input_ids: Tensor | None,
        position_ids: Tensor,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        seen: Tensor | int = 0,
        longest: int | None = None,
    ) -> Tensor:
        """input_ids (B, T) or inputs_embeds (B, T, E), position_ids (B, T) or (1, T) -> (B, T, hidden).

        seen counts the tokens that a cache holds of the same texts; longest is the length of the longest text of a
        packed batch, where it is known.
        """
        embeddings = inputs_embeds
        if embeddings is None:
            embeddings = self.look_up(input_ids)
        if self.scale != 1.0:
            embeddings = embeddings * self.scale
        if self.positions is not None:
            self._check_length(position_ids, seen, longest)
            embeddings = embeddings + self.positions(position_ids + self.offset)
        if self.sinusoid is not None:
            embeddings = embeddings + self.sinusoid(position_ids, embeddings.shape[-1]).to(embeddings.dtype)
        if self.token_types is not None:
            ids = position_ids.new_zeros(1) if token_type_ids is None else token_type_ids
            types = look_up(self.token_types, ids, "token_type_ids", "see type_vocab_size of the config")
            embeddings = embeddings + types
        return self.projection(self.dropout(self.norm(embeddings)))

    def look_up(self, input_ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, E), without positions."""
        hint = "is the tokenizer this model's own? New tokens need model.resize_token_embeddings(len(tokenizer))"
        return look_up(self.tokens, input_ids, self.ids_name, hint)

    def _check_length(self, position_ids: Tensor, seen: Tensor | int, longest: Tensor | int | None) -> None:
        limit = self.positions.num_embeddings - self.offset
        if longest is None or position_ids.device.type == "cpu":  # an accelerator is not waited for
            longest = position_ids.shape[-1] + seen
        if is_tracing(position_ids) or longest <= limit:
            return  # short enough whatever it holds, without looking
        if (length := int(position_ids.max()) + 1) > limit:
            raise ValueError(
                f"A text of {length} tokens, but learned positions end at max_position_embeddings={limit}: "
                "truncate it (tokenizer(..., truncation=True)) or use rotary or sinusoidal positions."
            )
