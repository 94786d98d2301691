# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The HTTP server of a model: arguments, socket and signals."""

import socket
from dataclasses import dataclass

import uvicorn

from ..inference.compiled import COMPILE_HELP
from ..tasks.answerer import Answerer
from ..utils.errors import DataError
from ..utils.options import REQUIRED, option
from .answerers import MOST_BEAMS, MOST_NEW_TOKENS, load_answerer
from .app import Limits, build_app
from .connections import Address, open_socket

BACKLOG = 128  # connections that are accepted at a time


@dataclass
class ServeArguments(Limits, Address):
    """The model, the address and the limits of a server."""

    model: str = option(
        REQUIRED,
        "A folder or a name on the Hub: a classifier, a tagger, a translator, or a model that answers questions.",
    )
    compile: bool = option(False, f"For a translator. {COMPILE_HELP}")
    max_connections: int = option(512, "The maximum number of open connections; more get status 503.")
    max_beams: int = option(MOST_BEAMS, "The maximum num_beams of requests and checkpoints.")
    max_new_tokens: int = option(MOST_NEW_TOKENS, "The maximum max_new_tokens of requests and checkpoints.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in vars(self).items():
            if name.startswith("max_") and value < 1:
                raise DataError(f"--{name} {value}: must be at least 1")
        if not 0 < self.timeout < float("inf"):
            raise DataError(f"--timeout {self.timeout}: must be above 0")
        if self.max_texts > self.max_waiting:
            raise DataError(f"--max_texts {self.max_texts}: exceeds --max_waiting {self.max_waiting}; raise the latter")


class Server(uvicorn.Server):
    """A uvicorn server that prints its address once it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port, *_ = (sockets or [])[0].getsockname()
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        print(f"listening at {url}\nits interface: {url}/openapi.json", flush=True)


def serve(arguments: ServeArguments) -> None:
    """Serve requests until a signal arrives. Raises `DataError` for an invalid model or address."""
    with open_socket(arguments.host, arguments.port) as listener:
        names = "device", "max_beams", "max_new_tokens", "trust_remote_code", "allow_special_tokens"
        loading = {name: getattr(arguments, name) for name in names}
        task = load_answerer(arguments.model, compiles=arguments.compile, **loading)
        Server(configuration(task, arguments)).run(sockets=[listener])


def configuration(task: Answerer, arguments: ServeArguments) -> uvicorn.Config:
    """Return the settings of the HTTP server."""
    return uvicorn.Config(
        build_app(task, arguments, arguments.hosts),
        http="h11",
        limit_concurrency=arguments.max_connections,
        log_level="warning",
        use_colors=False,
        access_log=False,
        ws="none",
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=int(arguments.timeout) + 1,
    )
