# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Embeddings: tokens plus positions plus token types, normalised and projected.

Shapes: B batch, T length, E embedding size, hidden the width of the stack.
"""

import torch
from torch import Tensor, nn

from .configuration_scratch import ScratchConfig
from .layers import make_norm, make_projection
from .positions import SINUSOIDS


class Embeddings(nn.Module):
    """norm(scale * tokens[id] + token_types[type] + positions[p]) W (Vaswani et al. 2017, 3.4; Devlin et al. 2019).

    W is there where the sizes differ (factorised embeddings, Lan et al. 2020); with
    positions_after_projection it widens the tokens alone: norm(scale * tokens[id] W + the others).
    """

    def __init__(self, config: ScratchConfig, vocab_size: int) -> None:
        super().__init__()
        self.projects_first = config.positions_after_projection
        size = config.hidden_size if self.projects_first else config.embedding_size
        self.tokens = nn.Embedding(vocab_size, config.embedding_size)
        self.scale = config.hidden_size**0.5 if config.embedding_scale else 1.0
        self.rounds_scale = config.float32_norms  # to half precision, as Gemma does
        self.offset = config.position_offset
        self.positions = self.token_types = None
        if config.position_type == "learned":
            self.positions = nn.Embedding(config.max_position_embeddings + self.offset, size)
        self.sinusoid = SINUSOIDS.get(config.position_type)
        if config.type_vocab_size:
            self.token_types = nn.Embedding(config.type_vocab_size, size)
        self.norm = make_norm(config, size, config.embedding_norm)
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.projection = make_projection(config.embedding_size, config.hidden_size)

    def forward(
        self,
        input_ids: Tensor | None,
        position_ids: Tensor,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> Tensor:
        """input_ids (B, T) or inputs_embeds (B, T, E), position_ids (B, T) or (1, T) -> (B, T, hidden)."""
        embeddings = inputs_embeds  # (B, T, E)
        if embeddings is None:
            embeddings = look_up(self.tokens, input_ids, "input_ids")
        if self.projects_first:
            embeddings = self.projection(embeddings)  # (B, T, hidden)
        if self.rounds_scale:
            embeddings = embeddings * torch.tensor(self.scale, dtype=embeddings.dtype)
        elif self.scale != 1.0:
            embeddings = embeddings * self.scale
        if self.token_types is not None:
            if token_type_ids is None:
                token_type_ids = position_ids.new_zeros(1)  # type 0, broadcast to all tokens
            embeddings = embeddings + look_up(
                self.token_types, token_type_ids, "token_type_ids"
            )
        if self.positions is not None:
            embeddings = embeddings + look_up(
                self.positions, position_ids + self.offset, "position_ids"
            )
        if self.sinusoid is not None:
            sinusoid = self.sinusoid(position_ids, embeddings.shape[-1])
            embeddings = embeddings + sinusoid.to(embeddings.dtype)
        embeddings = self.dropout(self.norm(embeddings))
        if self.projects_first:
            return embeddings
        return self.projection(embeddings)  # (B, T, E) -> (B, T, hidden)


HINTS = {
    "input_ids": (
        "is the tokenizer this model's own? New tokens need "
        "model.resize_token_embeddings(len(tokenizer))"
    ),
    "position_ids": "learned positions end at max_position_embeddings",
    "token_type_ids": "see config.type_vocab_size",
}


def look_up(table: nn.Embedding, ids: Tensor, name: str) -> Tensor:
    """Rows of a table, (B, T) -> (B, T, size); on a CPU, IndexError names ids that it lacks."""
    try:
        return table(ids)
    except IndexError as error:
        raise IndexError(
            f"{name} from {int(ids.min())} to {int(ids.max())}, but there are embeddings "
            f"for 0 to {len(table.weight) - 1}: {HINTS[name]}."
        ) from error
