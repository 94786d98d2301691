# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Ctrl-C and SIGTERM as a wish: training ends behind the step that it is at."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals(TrainerCallback):
    """Ends training at a step from which it goes on exactly; a second signal ends the process at once.

    A checkpoint of the last step of an epoch is put off until the epoch has been evaluated: who goes on from it starts
    with the next epoch, and would never make up for that.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self.before: dict[signal.Signals, Any] = {}
        self.is_save_put_off = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """While this lasts; only the main thread can hear, and what is ignored (nohup) stays ignored."""
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            self.before = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
            for number in self.before:
                signal.signal(number, self._receive)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Signals do again what they did before."""
        while self.before:
            signal.signal(*self.before.popitem())

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        for each in self.before:
            signal.signal(each, signal.SIG_DFL)
        told = f"\n{self.received.name}: training stops after this step, and is saved; once more stops it at once\n"
        os.write(2, told.encode())  # print may be in the middle of a line

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if _ends_epoch(state):
            self.is_save_put_off, control.should_save = control.should_save, False
        elif self.received:
            control.should_training_stop = True

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self.received:
            control.should_training_stop = True
            if not _ends_epoch(state):  # it has only been stopped: nothing is due yet
                control.should_log = control.should_evaluate = control.should_save = False
        if self.is_save_put_off:
            self.is_save_put_off, control.should_save = False, True


def _ends_epoch(state: TrainerState) -> bool:
    return float(state.epoch or 0).is_integer() or state.global_step >= state.max_steps
