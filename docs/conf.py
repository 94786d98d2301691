# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sphinx configuration: `make docs`, or `sphinx-build -W --keep-going -b html docs docs/_build/html`.

`sphinx-build -b linkcheck docs docs/_build/linkcheck` checks external links, or skips them if there is no network.
"""

import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = (ROOT / "modeling_scratch" / "__init__.py").read_text(encoding="utf-8")

project = "modeling-scratch"
author = "The modeling-scratch authors"
copyright = f"2026, {author}"
release = version = re.findall(r'^__version__ = "(.+)"', PACKAGE, re.MULTILINE)[0]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True  # a link to a page or an anchor that does not exist is a warning, with -W an error

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = f"{project} {release}"

linkcheck_anchors = True
linkcheck_timeout = 15
linkcheck_retries = 2


def is_online(host: str = "huggingface.co", port: int = 443, timeout: float = 3.0) -> bool:
    with suppress(OSError), socket.create_connection((host, port), timeout):
        return True
    return False


def skip_external_links_offline(app: Any) -> None:
    if app.builder.name == "linkcheck" and not is_online():
        app.config.linkcheck_ignore = [r"https?://.*"]


TEXTBOOK = "../modeling_scratch/README.md"  # on the site, the page textbook.md includes it


def link_textbook_page(app: Any, page: str, source: list[str]) -> None:
    source[0] = source[0].replace(f"]({TEXTBOOK}", "](textbook.md")  # an anchor may follow


def unlink_files(app: Any, path: Path, page: str, source: list[str]) -> None:
    """Links of an included page to files of the package become plain text."""
    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)[^)]+\)", r"\1", source[0])


def setup(app: Any) -> None:
    app.connect("source-read", link_textbook_page)
    app.connect("include-read", unlink_files)
    app.connect("builder-inited", skip_external_links_offline)
