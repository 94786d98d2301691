# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""An explanation as one static page: data, weights, style and scripts in a single HTML file that loads nothing."""

import base64
import gzip
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

from ..modeling_base import ScratchPreTrainedModel
from ..utils.errors import DataError
from ..utils.files import write_text
from .weights import MOST_WEIGHTS, packed_model

FOLDER = Path(__file__).with_name("page")
# In the order in which they stand in the page's one script.
SCRIPTS = (
    "unpack", "forward", "tokenize", "view", "formulas", "view-matrix", "view-tokens", "view-pass", "view-attention",
    "view-lens", "view-answer", "view-words", "view-change", "typed", "main",
)  # fmt: skip
MORE_POSITIONS, LEAST_POSITIONS = 8, 128  # than the longest text has, and at all: for tokens that a reader adds


def page(content: dict[str, Any], model: ScratchPreTrainedModel | None, path: Path) -> None:
    """Write an explanation, as to_dict() gives it, to one HTML file.

    model: its weights go along, so that the page computes; None, or a large model: the page shows what was recorded.
    Raises DataError where path cannot be written.
    """
    try:
        write_text(path, rendered(content, model))
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror}); choose another name") from error


def rendered(explanation: dict[str, Any], model: ScratchPreTrainedModel | None) -> str:
    """The page's HTML. Data stand in it as base64, which ends no tag, under a policy that permits no network."""
    texts, name = explanation["texts"], explanation["model"]["name"]
    sides = [text.get(side) for text in texts for side in ("tokens", "target_tokens")]
    longest = max((len(side["ids"]) for side in sides if side), default=0)
    weights = None if model is None else packed_model(model, max(longest + MORE_POSITIONS, LEAST_POSITIONS))
    title = f"{texts[0]['text'][:80]} – {name}" if texts else name
    style = _read("style.css")
    script = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    # A Content-Security-Policy under which nothing but this style and this script runs, and nothing is loaded.
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    rules = [f"{name} 'sha256-{digest}'" for name, digest in zip(("style-src", "script-src"), digests)]
    policy = "; ".join(["default-src 'none'", *rules, "img-src data:", "base-uri 'none'", "form-action 'none'"])
    parts = {
        "policy": policy, "style": style, "script": script,
        "title": html.escape(title), "explanation": _compressed(explanation),
        "weights": _compressed(weights), "most_weights": str(MOST_WEIGHTS),
    }  # fmt: skip
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html"))


def _compressed(value: Any) -> str:
    """Base64 of gzip of JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8").rstrip("\n")
