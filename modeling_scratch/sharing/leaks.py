# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What must not leave a folder: secrets in its texts, and files behind links."""

import re
from collections.abc import Sequence
from pathlib import Path

from ..utils.errors import DataError

TOKEN = re.compile("hf_[A-Za-z0-9]{30,}")

# Only what a fixed prefix makes unmistakable: users' texts, vocabularies and digests must pass.
SECRETS = {
    "an access token of Hugging Face": TOKEN,
    "an access token of AWS": re.compile(
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|(?i:aws_secret_access_key)\W{1,5}[A-Za-z0-9/+]{40}"
    ),
    "an access token of GitHub": re.compile(r"gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,}"),
    "an access token of GitLab": re.compile(r"\bglpat-[\w-]{20,}"),
    "an access token of OpenAI or Anthropic": re.compile(r"\bsk-(?=[\w-]{0,63}\d)[\w-]{32,}"),
    "an access token of Google": re.compile(r"\bAIza[\w-]{35}"),
    "an access token of Slack": re.compile(r"\bxox[abeoprs]-[\w-]{20,}"),
    "an access token of Stripe": re.compile(r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    "an access token of npm or PyPI": re.compile(r"\bnpm_[A-Za-z0-9]{36}|\bpypi-AgE[\w-]{50,}"),
    "a private key": re.compile("-----BEGIN [A-Z ]*PRIVATE KEY"),
}
BINARY = (".bin", ".pt", ".pth", ".distcp")  # of checkpoints, which may have many gigabytes
ESCAPED = re.compile(r"\\u00([2-7][0-9a-fA-F])")  # an ASCII character in JSON
LONGEST_HEADER = 100_000_000  # bytes, as safetensors reads it


def secret_in(text: str, token: str = "") -> tuple[str, int] | None:
    """Return the kind of the first secret in a text and its position; None if there is none. token: one's own."""
    own = {"an access token": re.compile(re.escape(token))} if token else {}
    found = ((kind, match.start()) for kind, secret in (own | SECRETS).items() if (match := secret.search(text)))
    return next(found, None)


def check_contents(folder: Path, names: Sequence[str], token: str = "") -> None:
    """Raise `DataError` if a file is a link out of the folder, or contains a secret that its readers could use."""
    check_links_inside(folder, names)
    for path in map(folder.joinpath, names):
        if path.suffix in BINARY or not path.is_file():
            continue
        text = _text_of(path)
        if secret := secret_in(text, token):
            kind, start = secret
            line = text.count("\n", 0, start) + 1
            raise DataError(f"{path}: contains {kind} in line {line}; remove it, and renew it if it may have leaked")


def _text_of(path: Path) -> str:
    """Return the text of a file, with ASCII characters for their escapes; of weights, the header with its metadata."""
    with path.open("rb") as file:
        is_weights = path.suffix == ".safetensors"
        content = file.read(min(int.from_bytes(file.read(8), "little"), LONGEST_HEADER) if is_weights else -1)
    text = content.decode("utf-8", "replace").replace("\0", "")  # UTF-16, too
    return ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def check_links_inside(folder: Path, names: Sequence[str]) -> None:
    """Raise `DataError` if a file is a link out of the folder."""
    for path in map(folder.joinpath, names):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"{path}: a link to {path.resolve()}, out of the folder; delete it, or copy the file")
