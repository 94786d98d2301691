# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The HTTP server of one model: its arguments, its socket and its signals."""

import socket
from dataclasses import dataclass, fields
from typing import Any

import uvicorn
from transformers.hf_argparser import HfArg

from ..utils.errors import DataError
from .app import Limits, build_app
from .tasks import MOST_BEAMS, MOST_NEW_TOKENS, load_task

option: Any = HfArg  # its own type is that of a field, not of the field's value


@dataclass
class ServeArguments:
    """What is served, where, and how much of it."""

    model: str = option(help="A folder or a name on the Hub: a text classifier or an encoder-decoder.")
    host: str = option(default="127.0.0.1", help="The address to listen at; others than this one are open to others.")
    port: int = option(default=8000, help="0: any that is free; the first line of output says which.")
    max_batch_tokens: int = option(default=4096, help="Tokens that go through the model at a time, without padding.")
    max_waiting: int = option(default=1024, help="Texts that may wait; with more, requests are answered 503.")
    max_texts: int = option(default=64, help="Texts of one request.")
    max_characters: int = option(default=100_000, help="Of one text; tokens beyond those of the model are cut.")
    max_body_bytes: int = option(default=1_000_000, help="Of one request.")
    max_beams: int = option(default=MOST_BEAMS, help="The largest num_beams, of a request or a checkpoint.")
    max_new_tokens: int = option(default=MOST_NEW_TOKENS, help="The longest answer, of a request or a checkpoint.")
    timeout: float = option(default=30.0, help="Seconds for a request, and for those that run when the server stops.")
    device: str | None = option(default=None, help="cpu, cuda, cuda:1, ...; an accelerator where there is one.")
    trust_remote_code: bool = option(default=False, help="Run the code that a checkpoint brings along.")

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name.startswith("max_") and value < 1:
                raise DataError(f"--{name} {value}: has to be at least 1")
        if not 0 < self.timeout < float("inf"):
            raise DataError(f"--timeout {self.timeout}: has to be above 0")
        if not 0 <= self.port < 2**16:
            raise DataError(f"--port {self.port}: has to be from 0 to {2**16 - 1}")
        if self.max_texts > self.max_waiting:
            raise DataError(f"--max_texts {self.max_texts}: more than may wait; raise --max_waiting {self.max_waiting}")

    def limits(self) -> Limits:
        return Limits(**{limit.name: getattr(self, limit.name) for limit in fields(Limits)})


class Server(uvicorn.Server):
    """Says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port, *_ = (sockets or [])[0].getsockname()
        print(f"listening at http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)


def serve(arguments: ServeArguments) -> None:
    """Answer requests until a signal comes; raises `DataError` for a model or an address that cannot be served."""
    with open_socket(arguments.host, arguments.port) as listener:
        task = load_task(
            arguments.model,
            arguments.device,
            arguments.trust_remote_code,
            arguments.max_beams,
            arguments.max_new_tokens,
        )
        seconds = int(arguments.timeout) + 1
        config = uvicorn.Config(
            build_app(task, arguments.limits()),
            log_level="warning",
            access_log=False,
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=seconds,
        )
        Server(config).run(sockets=[listener])


def open_socket(host: str, port: int) -> socket.socket:
    """Bound, but not listening yet: an address in use is said before a model is loaded, none waits for that."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise DataError(f"--host {host} --port {port}: {error.strerror or error}") from error
    return listener
