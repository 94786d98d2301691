# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The queue in front of a served model: what runs together, in which order, and what never runs."""

import asyncio
from threading import Event
from typing import Any

import pytest
from fastapi import HTTPException
from serving import PATIENCE

from modeling_scratch.serving.batches import Batcher, Job


def job(number: int, tokens: int = 1, **options: Any) -> Job:
    return Job({"number": number}, tokens, options=tuple(options.items()))


def test_a_batch_has_its_budget_and_the_oldest_goes_first() -> None:
    batches: list[list[int]] = []
    begun, gate = Event(), Event()

    def run(jobs: list) -> list:
        batches.append([each.features["number"] for each in jobs])
        begun.set()
        assert gate.wait(PATIENCE)
        return batches[-1]

    async def ask() -> list[list[int]]:
        batcher = Batcher(run, max_tokens=10, max_waiting=6)
        first = asyncio.create_task(batcher.answer([job(0)]))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        asked = [job(1, 4), job(2, 20), job(3, 5), job(5, 1, num_beams=2), job(6, 1)]
        left = asyncio.create_task(batcher.answer([job(4, 2)]))
        others = asyncio.create_task(batcher.answer(asked))
        await asyncio.sleep(0)  # both are queued
        with pytest.raises(HTTPException, match="503: the queue is full") as refused:
            await batcher.answer([job(7)])
        assert refused.value.headers == {"Retry-After": "1"}
        left.cancel()
        await asyncio.wait([left])
        gate.set()
        return [await asyncio.wait_for(each, PATIENCE) for each in (first, others)]

    assert asyncio.run(ask()) == [[0], [1, 2, 3, 5, 6]]
    assert batches == [[0], [3, 1], [2], [5], [6]]  # padded: 2 jobs of 5 tokens are 10
