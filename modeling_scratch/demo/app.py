# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page of a model: arguments, layout and server. Neither the page nor the server calls another host."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from threading import Event
from typing import Any

import gradio
from starlette.middleware import Middleware

from ..inference.arguments import PredictArguments
from ..inference.batches import failing_on
from ..serving.answerers import load_page
from ..serving.connections import ANY_HOST, Address, KnownHosts, open_socket
from ..sharing.card_summary import Summary, read_summary
from ..tasks.page import Component, Page
from ..utils.errors import DataError, one_line, panics_as_errors
from ..utils.markdown import escaped
from ..utils.options import REQUIRED, option

FONTS = "system-ui", "sans-serif"  # of the reader's system
LONGEST = 100_000  # characters of a text
MOST_WAITING = 64  # clicks


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
    names = "model", "device", "allow_special_tokens", "trust_remote_code"
    model = load_page(PredictArguments(**{name: getattr(arguments, name) for name in names}))
    page = build_page(read_summary(arguments.model), model, arguments.max_characters)
    off = "run_history", "enable_monitoring", "ssr_mode", "mcp_server", "pwa", "inline"
    try:
        _, url, public = page.launch(
            server_name=arguments.host,
            server_port=port,
            share=arguments.share,
            theme=gradio.themes.Default(font=FONTS, font_mono=("ui-monospace", "monospace")),
            app_kwargs={"middleware": [Middleware(KnownHosts, hosts=arguments.hosts)]},
            footer_links=[],
            quiet=True,
            prevent_thread_lock=True,
            **dict.fromkeys(off, False),
        )
        yield url.rstrip("/"), public
    finally:
        page.close(verbose=False)


def build_page(card: Summary, model: Page, most: int) -> Any:
    """Return the page, without a server. most: characters of a text."""
    with gradio.Blocks(title=card.title, analytics_enabled=False) as page:
        gradio.Markdown(f"# {escaped(card.title)}\n\n{model.hint}")
        lines = {"lines": 5 if len(model.fields) == 1 else 3, "max_lines": 15}
        boxes = [component(("Textbox", {"label": label_of(name), **lines})) for name in model.fields]
        gradio.Interface(
            answering(model, most),
            boxes,
            list(map(component, model.outputs if model.grows else [*model.outputs, ("Markdown", {})])),
            [list(texts) for texts in card.examples if len(texts) == len(boxes)] or None,
            additional_inputs=list(map(component, model.settings)),
            additional_inputs_accordion=gradio.Accordion("Settings", open=True),
            submit_btn=label_of(model.action),
            api_name=model.action,
            concurrency_limit=1,
            cache_examples=False,
            preload_example=False,
            flagging_mode="never",
            deep_link=False,
            analytics_enabled=False,
        )
    return page.queue(max_size=MOST_WAITING)


def label_of(name: str) -> str:
    """ "text_pair" -> "Text pair"."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def component(described: Component) -> Any:
    """Return a component of the page."""
    name, arguments = described
    return getattr(gradio, name)(**arguments, render=False)


def answering(model: Page, most: int) -> Callable[..., Iterator[Any]]:
    """Return the function of the page: texts, then settings -> the answer, which can grow. Errors are a sentence."""

    def answer(*values: Any) -> Iterator[Any]:
        try:
            with panics_as_errors(), failing_on("on this text"):
                model.check(most, *values[: len(model.fields)])
                found = model.answer(*values)
                yield from found if model.grows else [found]
        except DataError as error:
            raise gradio.Error(escape(one_line(error), quote=False), print_exception=False) from None

    return answer
