# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Prometheus metrics of the server."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)

disable_created_metrics()


class Metrics:
    """The counters and histograms of a server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        route, where = ["route"], self.registry
        self.requests = Counter("serve_requests", "Answered requests.", [*route, "status"], registry=where)
        self.seconds = Histogram(
            "serve_request_seconds", "Time from request header to complete response.", route,
            buckets=SECONDS, registry=where,
        )  # fmt: skip
        self.batches = Histogram("serve_batch_texts", "Texts per batch.", buckets=TEXTS, registry=where)
        self.tokens = Counter("serve_tokens", "Tokens processed, without padding.", registry=where)
        self.queue = Gauge("serve_queue_texts", "Queued texts.", registry=where)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def count_batch(self, texts: int, tokens: int) -> None:
        self.batches.observe(texts)
        self.tokens.inc(tokens)

    def text(self, waiting: int) -> str:
        """Return the metrics in Prometheus format. waiting: the number of queued texts."""
        self.queue.set(waiting)
        return generate_latest(self.registry).decode()
