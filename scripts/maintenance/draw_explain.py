# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Draw the parts of an explanation's page as PNG files, with playwright and Chromium or Chrome.

python scripts/maintenance/draw_explain.py explain.html docs/pictures
"""

import sys
from pathlib import Path
from typing import Any

from modeling_scratch.utils.browser import chromium

PARTS = "pass", "attention", "words", "change"  # those that docs/explain.md shows
SIZE = {"width": 1000, "height": 700}  # of the window


def draw(page: Any, path: Path, folder: Path) -> None:
    """Write explain-page.png of the head, and explain-PART.png of each of PARTS, by a page of playwright.

    The part of changes has the first layer switched off.
    """
    page.set_viewport_size(SIZE)
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("html[data-ready]")
    page.screenshot(path=folder / "explain-page.png")
    page.click("#block-0 > summary")  # embeddings; the first layer is open
    height = "maxHeight: part.id === 'pass' ? '1660px' : '1000px'"
    look = f"part => Object.assign(part.style, {{padding: '8px 16px', overflow: 'hidden', {height}}})"
    page.eval_on_selector_all("section.part", f"parts => parts.forEach({look})")
    page.eval_on_selector(".change-bar", "bar => { bar.style.visibility = 'hidden'; }")
    for part in PARTS:
        if part == "change" and (switch := page.query_selector(".switch-row [role=switch]:last-child")):
            switch.click()
        if section := page.query_selector(f"#{part}"):
            section.screenshot(path=folder / f"explain-{part}.png")


def main(name: str, folder: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        draw(browser.new_page(color_scheme="light"), Path(name), Path(folder))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
