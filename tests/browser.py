# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A real browser for tests of pages: fixtures that fail on errors in the page and on requests to other machines."""

import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

NAMES = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"
LOCAL_SCHEMES = {"file", "data", "blob", "about"}


def chromium() -> str | None:
    """The path of Chromium or Chrome, None where there is neither."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests of a process; skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if (path := chromium()) is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on PATH")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


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
