# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Prometheus metrics of the server, and the middleware that counts its requests."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

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


class Counted:
    """Middleware that counts requests by route and status; unknown paths count as "other"."""

    def __init__(self, app: Starlette, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics
        self.paths = {route.path for route in app.routes if isinstance(route, Route)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.monotonic(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            route = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.count_request(route, status, time.monotonic() - start)
