# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A real browser for tests of pages: fixtures that fail on errors in the page and on requests to other machines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from draw_explain import opened_browser

from modeling_scratch.utils.browser import BROWSERS, chromium

LOCAL_SCHEMES = {"file", "data", "blob", "about"}
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}"
CONTRAST = "{runOnly: {type: 'rule', values: ['color-contrast']}}"


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


def violations(page: Any) -> list[str]:
    """What axe-core finds on a page: rules of WCAG 2.2 A and AA, and good practice; of dark colours, their contrast."""
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    page.evaluate(f"{Path(axe.__file__).with_name('axe.min.js').read_text(encoding='utf-8')}; 0")
    found: list[str] = []
    for colours, rules in (("light", RULES), ("dark", CONTRAST)):
        page.emulate_media(color_scheme=colours)
        result = page.evaluate(f"() => axe.run(document, {rules})")
        found += [f"{colours}: {each['id']}: {node['html']}" for each in result["violations"] for node in each["nodes"]]
    return found


def is_local(url: str) -> bool:
    """Whether an address is in a file, in the page itself, or on this machine."""
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in {"127.0.0.1", "localhost"}
