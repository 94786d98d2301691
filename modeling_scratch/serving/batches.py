# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Dynamic batching: texts that queue up while the model runs form the next batch."""

import logging
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import Any

from ..inference.batches import Job

logger = logging.getLogger(__name__)


class QueueFullError(Exception):
    """The queue has reached its limit."""


class Batcher:
    """A queue and a worker thread that batches the oldest job with compatible ones, up to max_tokens tokens.

    Padding counts: a batch has as many tokens as its longest job, times their number. run: maps a batch, longest job
    first, to its answers. A failed batch is retried job by job, so that one text cannot fail the others. A batch never
    waits to fill up.
    """

    def __init__(self, run: Callable[[list[Job]], Sequence[Any]], max_tokens: int, max_waiting: int) -> None:
        self.run, self.max_tokens, self.max_waiting = run, max_tokens, max_waiting
        self._waiting: list[Job] = []
        self._changed = Condition()
        self._closed = False
        self._thread = Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive() and not self._closed

    @property
    def depth(self) -> int:
        """The number of queued jobs, without cancelled ones."""
        return sum(not job.answer.cancelled() for job in list(self._waiting))

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queue all jobs or none. Raises `QueueFullError`."""
        with self._changed:
            self._waiting = [job for job in self._waiting if not job.answer.cancelled()]
            if self._closed or len(self._waiting) + len(jobs) > self.max_waiting:
                raise QueueFullError
            self._waiting += jobs
            self._changed.notify()

    def close(self, timeout: float | None = None) -> None:
        """Cancel queued jobs and wait for the running batch."""
        with self._changed:
            self._closed = True
            for job in self._waiting:
                job.answer.cancel()
            self._changed.notify()
        self._thread.join(timeout)

    def _work(self) -> None:
        while not self._closed:
            if batch := self._take():
                self._answer(batch)

    def _take(self) -> list[Job]:
        """Return the next batch, which is empty if all its jobs were cancelled or the batcher is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting)
            batch: list[Job] = []
            left: list[Job] = []
            longest = 0
            for job in self._waiting:
                if job.answer.cancelled():
                    continue
                padded = max(longest, job.tokens) * (len(batch) + 1)
                fits = not batch or (job.options == batch[0].options and padded <= self.max_tokens)
                (batch if fits else left).append(job)
                longest = max(longest, job.tokens) if fits else longest
            self._waiting = left
        batch.sort(key=lambda job: job.tokens, reverse=True)
        return [job for job in batch if job.answer.set_running_or_notify_cancel()]

    def _answer(self, batch: list[Job]) -> None:
        try:
            answers = self.run(batch)
            if len(answers) != len(batch):
                raise RuntimeError(f"{len(answers)} answers for {len(batch)} texts")
        except BaseException as error:  # a panic of tokenizers is no Exception, and would end the only thread
            if len(batch) > 1:
                for job in batch:
                    self._answer([job])
                return
            logger.exception("the model fails on a text of %d tokens", batch[0].tokens)
            batch[0].answer.set_exception(error)
            return
        for job, answer in zip(batch, answers, strict=True):
            job.answer.set_result(answer)
