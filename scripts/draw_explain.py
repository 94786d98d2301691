# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Draw the parts of an explanation's page as PNG files, with playwright and Chromium or Chrome.

python scripts/draw_explain.py explain.html docs/pictures
"""

import shutil
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BROWSERS = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"
PARTS = "tokens", "pass", "attention", "lens", "answer", "words", "change", "backward", "pairs"
WIDTH, HEIGHT = 1000, 700  # of the window; a part is cut after this height


def draw(name: str, folder: Path) -> None:
    """Write explain-PART.png of each part that the page has, and explain-page.png of its head."""
    from playwright.sync_api import sync_playwright

    path = next((found for browser in BROWSERS if (found := shutil.which(browser))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", bypass_csp=True)
        page.goto(Path(name).resolve().as_uri())
        page.wait_for_selector("html[data-ready]")
        page.screenshot(path=folder / "explain-page.png")
        _open_an_attention(page)
        for part in PARTS:
            if section := page.query_selector(f"#{part}"):
                section.screenshot(path=folder / f"explain-{part}.png")
        browser.close()


def _open_an_attention(page: Any) -> None:
    """The part of all tensors shows the weights of the first block; the part of changes has a head switched off."""
    page.click("details.block >> nth=1")
    page.click("details.step:has(.name:text-is('weights')) > summary >> nth=0")
    if switch := page.query_selector("#change [role=switch]"):
        switch.click()
    cut = f"padding-top: 8px !important; max-height: {HEIGHT}px; overflow: hidden;"
    page.add_style_tag(content=f".change-bar {{ display: none !important; }} .part {{ {cut} }}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("page", help="The HTML file that modeling-scratch explain wrote.")
    parser.add_argument("folder", help="Where the PNG files go.")
    given = parser.parse_args(arguments)
    if not Path(given.page).is_file():
        parser.error(f"{given.page}: file not found")
    draw(given.page, Path(given.folder))


if __name__ == "__main__":
    main()
