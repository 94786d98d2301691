# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A push takes what a run wrote, and nothing behind links, and no access token."""

from pathlib import Path

import pytest

from modeling_scratch.sharing.uploads import check_contents
from modeling_scratch.utils.errors import DataError

SECRET = "hf_" + "aB" * 16  # of no account


@pytest.mark.parametrize("secret", [SECRET, "of-no-known-form"])
def test_a_token_in_a_text_stays(tmp_path: Path, secret: str) -> None:
    (tmp_path / "README.md").write_text(f"# Mine\n\n| text |\n| the film is {secret} good |\n")
    with pytest.raises(DataError, match=r"README.md: contains an access token in line 4; remove it") as refusal:
        check_contents(tmp_path, ["README.md"], "of-no-known-form")
    assert secret not in str(refusal.value)


def test_texts_that_resemble_tokens_go(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"sha256:{'0a' * 32}\nhf_short\n{'hf_' * 100_000}\n")
    check_contents(tmp_path, ["README.md"])
