# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generation where its time goes on a CPU: the product of one row, or a few, with a large vocabulary.

Shapes: B batch, T length, E embedding size, V vocabulary.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationMixin
from transformers.utils import is_tracing

from .beam_search import beam_search

FEW_ROWS = 16  # of one call
MANY_ROWS = 256  # from here on the product takes the same time either way
WORTH_A_COPY = 16  # calls


class LMHead(nn.Linear):
    """x W^T (+ b). (B, T, E) -> (B, T, V).

    Of few rows, W x^T takes half the time; with a copy of W^T a single row takes a third, and hundreds an eighth less.
    The copy lives while a text is being written, when nobody changes the weights.
    """

    writers = 0  # texts that are being written at this moment
    calls = 0  # since the first of them began
    transposed: Tensor | None = None

    def forward(self, hidden_states: Tensor) -> Tensor:
        rows = hidden_states.flatten(0, -2)
        trained = torch.is_grad_enabled() and self.weight.requires_grad
        if trained or rows.device.type != "cpu" or rows.dtype != torch.float32 or is_tracing(rows):
            return super().forward(hidden_states)
        if not 1 <= len(rows) <= MANY_ROWS:
            return super().forward(hidden_states)
        return self._few(rows).reshape(*hidden_states.shape[:-1], -1)

    def _few(self, rows: Tensor) -> Tensor:
        """(N, E) -> (N, V)."""
        if self.writers:
            self.calls += 1
            if self.calls == WORTH_A_COPY:
                self.transposed = self.weight.T.contiguous()
        if (transposed := self.transposed) is not None:  # once: another thread may take it away
            logits = rows @ transposed
        elif len(rows) <= FEW_ROWS:
            logits = (self.weight @ rows.T).T
        else:
            return super().forward(rows)
        return logits if self.bias is None else logits.add_(self.bias)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While it lasts, a copy of the weights may serve; the last writer takes it away."""
        self.writers += 1
        try:
            yield
        finally:
            self.writers -= 1
            if not self.writers:
                self.calls, self.transposed = 0, None


class WritingGenerationMixin(GenerationMixin):
    """GenerationMixin, with a quicker beam search, which tells the head when a text is being written."""

    lm_head: nn.Linear

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        """As GenerationMixin's."""
        with self.lm_head.writing() if isinstance(self.lm_head, LMHead) else nullcontext():
            return super().generate(*args, **kwargs)  # type: ignore[misc]

    def _beam_search(self, input_ids: Any, *args: Any, synced_gpus: bool = False, **kwargs: Any) -> Any:
        """Ours, where the texts alone are asked for, not drawn by chance, and by one process."""
        config = kwargs["generation_config"]
        if config.do_sample or config.return_dict_in_generate or synced_gpus:
            return super()._beam_search(input_ids, *args, synced_gpus=synced_gpus, **kwargs)  # type: ignore[misc]
        return beam_search(self, input_ids, *args, **kwargs)
