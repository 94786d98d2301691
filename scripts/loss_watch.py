# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Losses that are no numbers: found on the device that computes them, so that no step has to wait for it."""

import torch
from torch import Tensor


class LossWatch:
    """Keeps the first loss that is no number, and its step, as scalars on the device of the losses."""

    def __init__(self, device: torch.device) -> None:
        self.step = torch.zeros((), dtype=torch.long, device=device)  # 0: there was none yet
        self.loss = torch.zeros((), device=device)

    def see(self, loss: Tensor, step: int) -> None:
        """loss: a scalar; step: counted from 1. Nothing is read here."""
        is_first = ~torch.isfinite(loss) & (self.step == 0)
        self.step = torch.where(is_first, step, self.step)
        self.loss = torch.where(is_first, loss, self.loss)

    def fault(self) -> str | None:
        """What was wrong, and when; it waits for the device."""
        return f"the loss is {self.loss.item()} in step {step}" if (step := int(self.step)) else None


def is_read_at_once(device: torch.device) -> bool:
    """Whether a look at each loss costs nothing: a CPU has computed it by then, an accelerator would be waited for."""
    return device.type == "cpu"
