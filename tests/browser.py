# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A real browser for tests of pages: fixtures that fail on errors in the page and on requests to other machines."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from draw_explain import BROWSERS, chromium, opened_browser

LOCAL_SCHEMES = {"file", "data", "blob", "about"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for the tests of a file; skips where there is none. Its event loop would disturb those of others."""
    pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if chromium() is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    with opened_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """An empty tab. The test fails where the page logs an error, throws, or asks another machine for anything."""
    problems: list[str] = []
    tab = browser.new_page(reduced_motion="reduce")
    tab.on("console", lambda message: message.type == "error" and problems.append(message.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("request", lambda request: is_local(request.url) or problems.append(request.url))
    yield tab
    tab.close()
    assert problems == []


def is_local(url: str) -> bool:
    """Whether an address is in a file, in the page itself, or on this machine."""
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in {"127.0.0.1", "localhost"}
