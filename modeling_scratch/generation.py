# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generation where its time goes on a CPU: the product of a few rows with a large vocabulary.

Shapes: B batch, T length, E embedding size, V vocabulary.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationMixin

from .beam_search import beam_search
from .products import affine, has_gradient, multiply, suits_onednn

MANY_ROWS = 256  # of one call: from here on, the usual product is as good
WORTH_A_COPY = 8  # calls while a text is being written
PACKED_FOR = 16  # rows; the layout is the same for any other number than 1


class LMHead(nn.Linear):
    """x W^T (+ b). (B, T, E) -> (B, T, V).

    Of few rows, oneDNN's product takes half the time of the usual one, and with a copy of the weights in its own
    layout a quarter. The copy lives while texts are being written, when nobody changes the weights.
    """

    writers = 0  # texts that are being written at this moment
    calls = 0  # of few rows, since the first of them began
    packed: Tensor | None = None

    def forward(self, hidden_states: Tensor) -> Tensor:
        factors = hidden_states, self.weight, self.bias
        suits = suits_onednn(*factors) and not has_gradient(*factors)  # first: a graph would remember its rows
        if not suits or hidden_states.shape[:-1].numel() > MANY_ROWS:
            return affine(*factors)
        packed = self._packed()
        return multiply(hidden_states, self.weight if packed is None else packed, self.bias)

    def _packed(self) -> Tensor | None:
        """The copy, where there is one: made when the calls show that it is worth its time."""
        if self.writers:
            self.calls += 1
            if self.calls == WORTH_A_COPY:
                self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach(), PACKED_FOR)
        return self.packed

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While it lasts, a copy of the weights may serve; the last writer takes it away."""
        self.writers += 1
        try:
            yield
        finally:
            self.writers -= 1
            if not self.writers:
                self.calls, self.packed = 0, None


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
