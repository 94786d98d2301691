# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The slides of a lesson: one HTML file that needs no other, and its PDF by a headless browser."""

import html
import re
import subprocess
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt

from ..utils.browser import chromium
from .building import PICTURE, Cell, encoded

TEMPLATE = Path(__file__).with_name("slides.html")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
MARK = "\ue000{}\ue001"  # stands for a formula while Markdown is rendered: no letter of any text
SIZE = 10  # points; formulas are scaled by the size of the text around them
MARGIN = 2  # points around a formula, whose box is measured too small
BOX = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt" viewBox="[^"]*"')


def slides(cells: list[Cell]) -> str:
    """The page: a slide for each cell of this role, with the teacher's cells that follow it as speaker's notes."""
    pages: list[list[str]] = []
    for cell in cells:
        if cell.role == "slide":
            pages.append([rendered(cell.source)])
        elif cell.role == "teacher" and pages:
            pages[-1].append(f"<aside>{rendered(cell.source)}</aside>")
    sections = "\n".join(f"<section>{''.join(page)}</section>" for page in pages)
    title = cells[0].source.partition("\n")[0].strip("# ")
    return TEMPLATE.read_text(encoding="utf-8").replace("{{title}}", html.escape(title)).replace("{{slides}}", sections)


def rendered(text: str) -> str:
    """Markdown with formulas and pictures as HTML."""
    text = PICTURE.sub(lambda found: f"![{found[1]}](data:image/png;base64,{encoded(found[2])})", text)
    formulas: list[str] = []

    def keep(found: re.Match[str]) -> str:
        formulas.append(formula(found[2] or found[1].replace(r"\frac", r"\dfrac")))
        return MARK.format(len(formulas) - 1)

    page = MarkdownIt("commonmark", {"html": False}).enable("table").render(FORMULA.sub(keep, text))
    page = page.replace("<pre>", '<pre tabindex="0">')  # what scrolls sideways is reached by keys
    for number, image in enumerate(formulas):
        page = page.replace(f"<p>{MARK.format(number)}</p>", f'<p class="display" tabindex="0">{image}</p>')
        page = page.replace(MARK.format(number), image)
    return page


def formula(tex: str) -> str:
    """A formula in the part of TeX that matplotlib knows, as a picture in the size of the text around it."""
    from matplotlib import rc_context
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    written = BytesIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": tex}):
        depth = math_to_image(f"${tex}$", written, FontProperties(size=SIZE, math_fontfamily="cm"), format="svg")
    svg = re.sub(r"<metadata>.*?</metadata>", "", written.getvalue().decode(), flags=re.DOTALL)  # it has a date
    width, height = (float(side) + 2 * MARGIN for side in BOX.search(svg).groups())
    box = f'width="{width}pt" height="{height}pt" viewBox="{-MARGIN} {-MARGIN} {width} {height}"'
    svg = BOX.sub(box, svg, count=1)
    style = f"height: {height / SIZE:.2f}em; vertical-align: {-(depth + MARGIN) / SIZE:.2f}em"
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    return f'<img class="formula" style="{style}" alt="{html.escape(tex)}" src="{source}">'


def write_pdf(page: Path, path: Path) -> bool:
    """Print a page by a browser. Return whether there is one that could."""
    browser = chromium()
    if browser is None:
        return False
    with TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
        command = [browser, *options, f"--print-to-pdf={path.resolve()}", page.resolve().as_uri()]
        path.unlink(missing_ok=True)
        try:
            printed = subprocess.run(command, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return False
    return printed.returncode == 0 and path.exists()
