# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Measure pages of modeling-scratch explain: seconds to make and to open, sizes, and the difference from PyTorch.

python scripts/maintenance/measure_explain.py runs/demo "It bores." runs/plays "ROMEO:"

It prints a table in Markdown. Pages are opened by playwright in Chromium or Chrome. The difference is that between the
logits that the page computes and those of PyTorch; pages of large models do not compute.
"""

import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from draw_explain import opened_browser

from modeling_scratch.inspection.explanation import explain
from modeling_scratch.inspection.program import load_explained
from modeling_scratch.utils.command_line import quiet_libraries
from modeling_scratch.utils.markdown import table

COLUMNS = "model", "parameters", "tokens", "tensors", "seconds to make", "page (MB)", "seconds to open", "difference"


def measure(page: Any, name: str, text: str) -> list[str]:
    """Return the row of a model and a text."""
    model, tokenizers = load_explained(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explain.html"
        start = time.perf_counter()
        explanation = explain(model, tokenizers, text)
        explanation.save(path)
        made = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        opened = time.perf_counter()
        size = path.stat().st_size
        difference = page.evaluate("document.documentElement.dataset.difference")
    (explained,) = explanation.texts
    return [
        Path(name).name,
        f"{sum(parameter.numel() for parameter in model.parameters()):,}",
        str(len(explained.tokens.ids)),
        str(len(explained.recording.steps)),
        f"{made - start:.1f}",
        f"{size / 1e6:.2f}",
        f"{opened - made:.1f}",
        f"{float(difference):.1e}" if difference else "–",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("pairs", nargs="+", metavar="FOLDER TEXT", help="Models, each with a text.")
    given = parser.parse_args(arguments).pairs
    if len(given) % 2:
        parser.error(f"{given[-1]}: name a text after each model")
    with opened_browser() as browser:
        page = browser.new_page()
        print(table(COLUMNS, [measure(page, *pair) for pair in zip(given[::2], given[1::2])]))


if __name__ == "__main__":
    quiet_libraries()
    main()
