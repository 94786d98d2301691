# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Embeddings: tokens plus positions plus token types, normalised and projected.

Shapes: B batch, T length, E embedding size, hidden the width of the stack.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.utils import is_tracing

from .configuration_scratch import NGRAM_BITS, ScratchConfig
from .layers import make_norm, make_projection
from .positions import SINUSOIDS


class NGrams(nn.Module):
    """G[two tokens up to here] + G[three tokens up to here], 0 for those that the table lacks: (B, T) -> (B, T, E).

    N-Grammer (Roy et al. 2022) with frequent n-grams, no hashes. keys (N,): rising; their digits are the ids plus 1.
    """

    def __init__(self, count: int, size: int) -> None:
        super().__init__()
        self.keys: Tensor = nn.Buffer(torch.zeros(count, dtype=torch.long))
        self.table = nn.Embedding(count + 1, size, padding_idx=0)

    def forward(self, input_ids: Tensor, position_ids: Tensor) -> Tensor:
        rows, keys, is_inside = [], input_ids + 1, input_ids >= 0
        for back in (1, 2):
            ids, positions = (
                F.pad(x, (back, 0), value=-3)[:, : x.shape[1]]
                for x in (input_ids, position_ids)
            )
            keys = keys + ((ids + 1) << back * NGRAM_BITS)
            is_inside = is_inside & (position_ids == positions + back)  # of one text
            row = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
            rows.append((row + 1) * (is_inside & (self.keys[row] == keys)))
        return self.table(torch.stack(rows)).sum(0)


class Embeddings(nn.Module):
    """norm(scale * E[token] + P[position] + S[token type]) W (Vaswani et al. 2017, 3.4; Devlin et al. 2019).

    W is there where the sizes differ (factorised embeddings, Lan et al. 2020); with positions_after_projection it
    widens the tokens alone: norm(scale * E[token] W + P[position] + S[token type]). NGrams are added to E[token].
    """

    def __init__(
        self, config: ScratchConfig, vocab_size: int, prefix: str = "", ngrams: int = 0
    ) -> None:
        super().__init__()
        self.prefix = prefix  # of the names by which callers know what is looked up here
        self.projects_first = config.positions_after_projection
        size = config.hidden_size if self.projects_first else config.embedding_size
        self.tokens = nn.Embedding(vocab_size, config.embedding_size)
        self.ngrams = NGrams(ngrams, config.embedding_size) if ngrams else None
        self.scale = config.hidden_size**0.5 if config.embedding_scale else 1.0
        self.offset = config.position_offset
        learned = config.position_type == "learned"
        self.positions = None
        if learned:
            self.positions = nn.Embedding(config.max_position_embeddings + self.offset, size)
        self.sinusoid = SINUSOIDS.get(config.position_type)
        self.token_types = None
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
        longest: Tensor | int | None = None,
    ) -> Tensor:
        """input_ids (B, T) or inputs_embeds (B, T, E), position_ids (B, T) or (1, T) -> (B, T, hidden).

        longest: of the texts, cached tokens included, where it is known; it spares a look at position_ids.
        """
        embeddings = inputs_embeds  # (B, T, E)
        if embeddings is None:
            embeddings = self.embed_tokens(input_ids, position_ids)
        if self.projects_first:
            embeddings = self.projection(embeddings)
        if self.scale != 1.0:
            embeddings = embeddings * self.scale
        if self.positions is not None:
            self._check_length(position_ids, longest)
            hint = "positions end at max_position_embeddings"
            rows = position_ids + self.offset
            embeddings = embeddings + checked(self.positions, rows, "position_ids", hint)
        if self.sinusoid is not None:
            sinusoid = self.sinusoid(position_ids, embeddings.shape[-1])
            embeddings = embeddings + sinusoid.to(embeddings.dtype)
        if self.token_types is not None:
            if token_type_ids is None:
                token_type_ids = position_ids.new_zeros(1)
            hint = "see config.type_vocab_size"
            types = checked(self.token_types, token_type_ids, "token_type_ids", hint)
            embeddings = embeddings + types
        embeddings = self.dropout(self.norm(embeddings))
        if self.projects_first:
            return embeddings
        return self.projection(embeddings)

    def embed_tokens(self, input_ids: Tensor, position_ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, E), without positions, which say which tokens follow each other in one text."""
        hint = "is the tokenizer this model's own? New tokens need model.resize_token_embeddings(len(tokenizer))"
        embeddings = checked(self.tokens, input_ids, f"{self.prefix}input_ids", hint)
        if self.ngrams is None:
            return embeddings
        return embeddings + self.ngrams(input_ids, position_ids)

    def _check_length(self, position_ids: Tensor, longest: Tensor | int | None) -> None:
        limit = self.positions.num_embeddings - self.offset
        if is_tracing(position_ids) or (longest is not None and longest <= limit):
            return  # short enough, and known without a synchronisation
        if (length := int(position_ids.max()) + 1) > limit:
            raise ValueError(
                f"A text of {length} tokens, but learned positions end at max_position_embeddings={limit}: "
                "truncate it (tokenizer(..., truncation=True)) or use rotary or sinusoidal positions."
            )


def checked(table: nn.Embedding, ids: Tensor, name: str, hint: str) -> Tensor:
    """Rows of a table; on a CPU, IndexError names ids that it lacks."""
    try:
        return table(ids)
    except IndexError as error:
        message = f"{name} from {int(ids.min())} to {int(ids.max())}, but there are embeddings for 0 to"
        raise IndexError(f"{message} {len(table.weight) - 1}: {hint}.") from error
