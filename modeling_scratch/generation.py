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

FEW_ROWS = 16  # of one call
WORTH_A_COPY = 16  # calls of a single row


class LMHead(nn.Linear):
    """x W^T (+ b). (B, T, E) -> (B, T, V).

    Of few rows, W x^T takes half the time, and that of a single row with a copy of W^T a third. The copy lives while
    one text is being written, when nobody changes the weights.
    """

    single_rows: int | None = None  # calls so far; None: no text is being written
    transposed: Tensor | None = None

    def forward(self, hidden_states: Tensor) -> Tensor:
        rows = hidden_states.flatten(0, -2)
        trained = torch.is_grad_enabled() and self.weight.requires_grad
        if trained or rows.device.type != "cpu" or rows.dtype != torch.float32 or is_tracing(rows):
            return super().forward(hidden_states)
        if not 1 <= len(rows) <= FEW_ROWS:
            return super().forward(hidden_states)
        logits = self._single(rows) if len(rows) == 1 else (self.weight @ rows.T).T
        logits = logits if self.bias is None else logits + self.bias
        return logits.reshape(*hidden_states.shape[:-1], -1)

    def _single(self, row: Tensor) -> Tensor:
        if self.single_rows is not None:
            self.single_rows += 1
            if self.single_rows == WORTH_A_COPY:
                self.transposed = self.weight.T.contiguous()
        return row @ (self.weight.T if self.transposed is None else self.transposed)

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.single_rows = 0
        try:
            yield
        finally:
            self.single_rows = self.transposed = None


class WritingGenerationMixin(GenerationMixin):
    """GenerationMixin, which tells the head when a text is being written."""

    lm_head: nn.Linear

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        """As GenerationMixin's."""
        with self.lm_head.writing() if isinstance(self.lm_head, LMHead) else nullcontext():
            return super().generate(*args, **kwargs)  # type: ignore[misc]
