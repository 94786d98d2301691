# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Sections of a report as one HTML page that loads nothing."""

import base64
import html
from collections.abc import Sequence
from typing import NamedTuple

from ..utils.markdown import excerpt

STYLE = """body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse } td, th { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: right }
td:first-child, th:first-child { text-align: left } img { max-width: 100% } li, td { overflow-wrap: anywhere }
pre { background: #f4f4f4; padding: .8em; white-space: pre-wrap; overflow-wrap: anywhere }"""


class Section(NamedTuple):
    """A part of a report: sentences, a table whose first row is its head, a command, and a plot (PNG)."""

    title: str
    lines: Sequence[str] = ()
    table: Sequence[Sequence[str]] = ()
    command: str = ""
    plot: bytes = b""


def as_page(sections: Sequence[Section], title: str) -> str:
    """Return the sections as one HTML page that loads nothing. All their text is escaped."""
    head = f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    body = "\n".join(map(_as_html, sections))
    return f"{head}<style>{STYLE}</style></head>\n<body><main><h1>{title}</h1>\n{body}\n</main></body></html>\n"


def _as_html(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    if section.lines:
        parts += ["<ul>", *(f"<li>{_escaped(line)}</li>" for line in section.lines), "</ul>"]
    if section.table:
        head, *rows = section.table
        parts += ["<table>", _row(head, "th"), *(_row(row, "td") for row in rows), "</table>"]
    if section.command:
        parts.append(f"<pre>{html.escape(section.command)}</pre>")
    if section.plot:
        source = base64.b64encode(section.plot).decode()
        parts.append(f'<p><img alt="{html.escape(section.title)}" src="data:image/png;base64,{source}"></p>')
    return "\n".join(parts)


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{_escaped(cell)}</{tag}>' for cell in cells)}</tr>"


def _escaped(line: str) -> str:
    return html.escape(excerpt(line, 10_000))
