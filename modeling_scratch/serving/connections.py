# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The address of a server, and the host names that it accepts."""

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..bridges.model_sources import ALLOW_SPECIAL_TOKENS
from ..utils.errors import DataError
from ..utils.options import REQUIRED, option

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_HOST = "*"


@dataclass
class Address:
    """A model, and the address of its server."""

    model: str = option(REQUIRED, "A saved model with its tokenizer: a folder or a name on the Hub.")
    host: str = option(
        "127.0.0.1", "The address to bind; any other than the default exposes the server to the network."
    )
    port: int = option(8000, "The port; 0: any free port, printed at start.")
    allow_host: list[str] | None = option(None, "Further host names in the Host and Origin of requests; *: any.")
    device: str | None = option(None, "cpu, cuda, cuda:1, ...; by default an available accelerator.")
    allow_special_tokens: bool = option(False, ALLOW_SPECIAL_TOKENS)
    trust_remote_code: bool = option(False, "Allow the checkpoint's own code to run.")

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise DataError(f"--port {self.port}: must be from 0 to {2**16 - 1}")

    @property
    def hosts(self) -> tuple[str, ...]:
        return (*LOOPBACK, self.host, *(self.allow_host or ()))


class KnownHosts:
    """Middleware that refuses requests whose Host or Origin names another host.

    A page of the web can make a browser send requests to a server on its own machine, under the name of the page.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self.app, self.hosts = app, {host.lower().strip("[]") for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        named = {"Host": f"//{headers.get('host', '')}", "Origin": headers.get("origin")}
        for header, url in named.items() if scope["type"] == "http" and ANY_HOST not in self.hosts else ():
            if url is not None and host_of(url) not in self.hosts:
                fault = f"{header} {ascii(headers.get(header.lower(), ''))[:80]}: not a host of this server"
                await JSONResponse({"error": f"{fault}; see --allow_host"}, 403)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def host_of(url: str) -> str | None:
    """Return the host of a URL, in lower case, without port and brackets."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def open_socket(host: str, port: int) -> socket.socket:
    """Bind a socket without listening, so that an address in use is reported before the model loads."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise DataError(f"--host {host} --port {port}: {error.strerror or error}") from error
    return listener
