# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generation where its time goes on a CPU: the product of one row, or a few, with a large vocabulary.

Shapes: B batch, T length, E embedding size, V vocabulary.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationMixin
from transformers.utils import is_tracing

from .beam_search import beam_search

FEW_ROWS, MANY_ROWS = 16, 256  # of one call
WORTH_A_COPY = 16  # calls of a single row


class LMHead(nn.Linear):
    """x W^T (+ b). (B, T, E) -> (B, T, V).

    Of few rows, W x^T takes half the time, and that of a single row with a copy of W^T a third. Of some hundred rows,
    oneDNN's product takes two thirds. The copy lives while texts are being written, when nobody changes the weights.
    """

    writers = 0  # texts that are being written at this moment
    single_rows = 0  # calls of one row since the first of them began
    transposed: Tensor | None = None

    def forward(self, hidden_states: Tensor) -> Tensor:
        rows = hidden_states.flatten(0, -2)
        trained = torch.is_grad_enabled() and (self.weight.requires_grad or rows.requires_grad)
        if trained or rows.device.type != "cpu" or rows.dtype != torch.float32 or is_tracing(rows):
            return super().forward(hidden_states)
        if not 1 <= len(rows) <= MANY_ROWS or torch.is_autocast_enabled("cpu"):
            return super().forward(hidden_states)
        return self._few(rows).reshape(*hidden_states.shape[:-1], -1)

    def _few(self, rows: Tensor) -> Tensor:
        """(N, E) -> (N, V)."""
        if len(rows) > FEW_ROWS:
            return onednn_linear(rows, self.weight, self.bias)
        logits = self._single(rows) if len(rows) == 1 else (self.weight @ rows.T).T
        return logits if self.bias is None else logits.add_(self.bias)

    def _single(self, row: Tensor) -> Tensor:
        if self.writers:
            self.single_rows += 1
            if self.single_rows == WORTH_A_COPY:
                self.transposed = self.weight.T.contiguous()
        transposed = self.transposed  # once: another thread may take it away
        return row @ (self.weight.T if transposed is None else transposed)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While it lasts, a copy of the weights may serve; the last writer takes it away."""
        self.writers += 1
        try:
            yield
        finally:
            self.writers -= 1
            if not self.writers:
                self.single_rows, self.transposed = 0, None


def onednn_linear(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T (+ b) without gradients: the product that torch.compile takes on a CPU, where torch has it."""
    product = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if product is None:
        return F.linear(rows, weight, bias)
    return product(rows, weight, bias, "none", [], "")


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
