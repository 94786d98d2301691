# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a server tells Prometheus of itself, in its text format (version 0.0.4)."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Histogram:
    """How many values are at most as large as each bound, and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, label: str = "") -> Iterator[str]:
        for bound, count in zip((*self.bounds, "+Inf"), accumulate(self.counts)):
            yield f'{name}_bucket{{{label}{"," if label else ""}le="{bound}"}} {count}'
        labels = f"{{{label}}}" if label else ""
        yield f"{name}_sum{labels} {self.sum}"
        yield f"{name}_count{labels} {sum(self.counts)}"


class Metrics:
    """Requests are counted by the server's thread, batches by the model's: no number is written by both."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(SECONDS))
        self.batches = Histogram(TEXTS)
        self.tokens = 0

    def count_request(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self.seconds[route].observe(seconds)

    def count_batch(self, texts: int, tokens: int) -> None:
        self.batches.observe(texts)
        self.tokens += tokens

    def text(self, waiting: int) -> str:
        """waiting: texts in the queue."""
        return "\n".join([*self._request_lines(), *self._model_lines(waiting), ""])

    def _request_lines(self) -> Iterator[str]:
        yield from _head("serve_requests_total", "counter", "Requests that were answered, by route and status.")
        for (route, status), count in sorted(self.requests.items()):
            yield f'serve_requests_total{{route="{route}",status="{status}"}} {count}'
        yield from _head("serve_request_seconds", "histogram", "From the head of a request to the end of its answer.")
        for route, histogram in sorted(self.seconds.items()):
            yield from histogram.lines("serve_request_seconds", f'route="{route}"')

    def _model_lines(self, waiting: int) -> Iterator[str]:
        yield from _head("serve_batch_texts", "histogram", "Texts that went through the model together.")
        yield from self.batches.lines("serve_batch_texts")
        yield from _head("serve_tokens_total", "counter", "Tokens that the model has read, padding not counted.")
        yield f"serve_tokens_total {self.tokens}"
        yield from _head("serve_queue_texts", "gauge", "Texts that wait for the model.")
        yield f"serve_queue_texts {waiting}"


def _head(name: str, kind: str, purpose: str) -> tuple[str, str]:
    return f"# HELP {name} {purpose}", f"# TYPE {name} {kind}"
