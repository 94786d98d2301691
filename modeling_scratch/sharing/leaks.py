# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What must not leave a folder: access tokens of Hugging Face in its texts, and files behind links.

The Hub itself looks for secrets of other services in every upload.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from ..utils.errors import DataError

TOKEN = re.compile("hf_[A-Za-z0-9]{30,}")
BINARY = (".safetensors", ".bin", ".pt", ".pth", ".distcp")  # of checkpoints, which may have many gigabytes


def has_token(text: str, own: str = "") -> bool:
    """Return whether a text contains an access token. own: one's own, of any form."""
    return TOKEN.search(text) is not None or bool(own and own in text)


def check_contents(folder: Path, names: Sequence[str], token: str = "") -> None:
    """Raise `DataError` if a file is a link out of the folder, or contains a token that its readers could use."""
    check_links_inside(folder, names)
    for path in map(folder.joinpath, names):
        if path.suffix in BINARY or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if has_token(line, token):
                advice = "remove it, and renew it if it may have leaked"
                raise DataError(f"{path}: contains an access token in line {number}; {advice}")


def check_links_inside(folder: Path, names: Sequence[str]) -> None:
    """Raise `DataError` if a file is a link out of the folder."""
    for path in map(folder.joinpath, names):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"{path}: a link to {path.resolve()}, out of the folder; delete it, or copy the file")
