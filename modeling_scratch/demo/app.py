# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page of a model: arguments, layout and server. Neither the page nor the server calls another host."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import gradio
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

import modeling_scratch

from ..inference.arguments import PredictArguments
from ..serving.answerers import load_page
from ..serving.connections import ANY_HOST, Address, KnownHosts, open_socket
from ..sharing.card_summary import Summary, read_summary
from ..tasks.page import FONTS, LONGEST, MOST_WAITING
from ..utils.errors import DataError
from ..utils.markdown import escaped
from ..utils.options import REQUIRED, option
from .explanations import ROUTE, Explanations
from .views import View, show


@dataclass
class DemoArguments(Address):
    """The model and the address of a demo."""

    model: str = option(REQUIRED, "A saved model with its tokenizer: a folder or a name on the Hub.")
    port: int = option(7860, "The port; 0: any free port, printed at start.")
    share: bool = option(False, "Make a public address for a week, through a server of Gradio. Everyone can use it.")
    max_characters: int = option(LONGEST, "The maximum length of a text.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_characters < 1:
            raise DataError(f"--max_characters {self.max_characters}: must be at least 1")

    @property
    def hosts(self) -> tuple[str, ...]:
        return (*super().hosts, *((ANY_HOST,) if self.share else ()))

    @property
    def source(self) -> PredictArguments:
        """The model, and how its texts are read."""
        special, trusts = self.allow_special_tokens, self.trust_remote_code
        return PredictArguments(
            model=self.model, device=self.device, allow_special_tokens=special, trust_remote_code=trusts
        )


def demo(arguments: DemoArguments) -> None:
    """Show the page until a signal arrives. Raises `DataError` for an invalid model or address."""
    with running(arguments) as (url, public):
        print(f"listening at {url}", *([f"and for everyone at {public}"] if public else []), flush=True)
        Event().wait()


@contextmanager
def running(arguments: DemoArguments) -> Iterator[tuple[str, str | None]]:
    """Yield the local and the public address of the page; the latter is None without --share."""
    with open_socket(arguments.host, arguments.port) as listener:  # before the model loads, which takes longer
        port = listener.getsockname()[1]
    model, card = load_page(arguments.source), read_summary(arguments.model)
    with TemporaryDirectory(prefix="explanations-") as folder:
        explanations = Explanations(Path(folder), modeling_scratch.explain)
        page = build_page(card, View(model, arguments.max_characters, card.examples, explanations))
        try:
            _, url, public = page.launch(**launch_options(arguments, port, Path(folder)))
            yield url.rstrip("/"), public
        finally:
            page.close(verbose=False)


def build_page(card: Summary, view: View) -> Any:
    """Return the page, without a server."""
    with gradio.Blocks(title=card.title, analytics_enabled=False) as page:
        gradio.Markdown(f"# {escaped(card.title)}\n\n{card.description}")
        show(view)
    return page.queue(max_size=MOST_WAITING)


def launch_options(arguments: DemoArguments, port: int, folder: Path) -> dict[str, Any]:
    """Return the arguments of `launch`. folder: of pages that the server offers."""
    return {
        "server_name": arguments.host,
        "server_port": port,
        "share": arguments.share,
        "theme": gradio.themes.Default(font=FONTS, font_mono=("ui-monospace", "monospace")),
        "app_kwargs": {
            "routes": [Mount(f"/{ROUTE}", StaticFiles(directory=folder))],
            "middleware": [Middleware(KnownHosts, hosts=arguments.hosts)],
        },
        "footer_links": [],
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "mcp_server": False,
        "pwa": False,
        "inline": False,
        "quiet": True,
        "prevent_thread_lock": True,
    }
