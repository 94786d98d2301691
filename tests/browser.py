# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A real browser for tests of pages: fixtures that fail on errors in the page and on requests to other machines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from modeling_scratch.utils.browser import BROWSERS, chromium

LOCAL_SCHEMES = {"file", "data", "blob", "about"}
WINDOW = {"width": 1280, "height": 720}
TAGS = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
RULES = f"{{runOnly: {TAGS}, rules: {{'color-contrast': {{enabled: false}}}}}}"
CONTRAST = "{runOnly: {type: 'rule', values: ['color-contrast']}}"
# Nine tenths of the time are contrast. It is the same for all texts of one colour, size and weight on one ground: mark
# the first of each.
MARK = """() => {
    const grounds = new Map([[null, ""]]), looks = new Set();
    const ground = element => {
        if (!grounds.has(element)) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
            const own = [backgroundColor, backgroundImage, opacity].join(" ");
            const paints = own !== "rgba(0, 0, 0, 0) none 1";
            grounds.set(element, ground(element.parentElement) + (paints ? `${own}; ` : ""));
        }
        return grounds.get(element);
    };
    for (const element of document.body.querySelectorAll("*")) {
        delete element.dataset.look;
        const says = [...element.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim());
        if (!element.checkVisibility() || !(says || element.matches("input, select, textarea"))) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(element);
        const look = [color, fontSize, fontWeight, ground(element)].join(" ");
        if (!looks.has(look)) element.dataset.look = looks.add(look).size;
    }
    return looks.size;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for the tests of a file; skips where there is none. Its event loop would disturb those of others."""
    pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if chromium() is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """One tab for the tests of a file: a new one is a new process, which takes longer than most tests."""
    return browser.new_page()


@pytest.fixture
def page(tab: Any) -> Iterator[Any]:
    """An empty tab. The test fails where the page logs an error, throws, or asks another machine for anything."""
    problems: list[str] = []
    listeners = {
        "console": lambda message: message.type == "error" and problems.append(message.text),
        "pageerror": lambda error: problems.append(str(error)),
        "request": lambda request: is_local(request.url) or problems.append(request.url),
    }
    tab.goto("about:blank")
    tab.set_viewport_size(WINDOW)
    tab.emulate_media(reduced_motion="reduce", color_scheme="light")
    for event, listener in listeners.items():
        tab.on(event, listener)
    yield tab
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)
    assert problems == []


def violations(page: Any, in_full: bool = False) -> list[str]:
    """What axe-core finds on a page: rules of WCAG 2.2 A and AA, and good practice; in light and dark, contrast.

    in_full: ask for the contrast of every text, not of one of each look.
    """
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    page.evaluate(f"{Path(axe.__file__).with_name('axe.min.js').read_text(encoding='utf-8')}; 0")
    found = []
    for colours, rules in (("light", RULES), ("light", CONTRAST), ("dark", CONTRAST)):
        page.emulate_media(color_scheme=colours)
        context = "document"
        if rules is CONTRAST and not in_full:
            assert page.evaluate(MARK) > 1
            context = "'[data-look]'"
        result = page.evaluate(f"() => axe.run({context}, {rules})")
        found += [f"{colours}: {each['id']}: {node['html']}" for each in result["violations"] for node in each["nodes"]]
    return found


def is_local(url: str) -> bool:
    """Whether an address is in a file, in the page itself, or on this machine."""
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in {"127.0.0.1", "localhost"}
