# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A saved folder refuses a transformers older than its code was tested with."""

import re
from pathlib import Path

from fresh_process import run_fresh
from model_cases import TEXTS
from transformers import __version__

OPEN = """
def opened(where, folder):
    messages = []
    for auto_class in (transformers.AutoConfig, transformers.AutoModelForSequenceClassification):
        try:
            auto_class.from_pretrained(folder, trust_remote_code=True)
        except ImportError as error:
            messages.append(str(error))
    return messages
"""


def test_an_older_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    TEXTS.model().save_pretrained(tmp_path)
    path = tmp_path / "configuration_scratch.py"
    code, count = re.subn(r"transformers>=[\d.]+", "transformers>=98.0", path.read_text(encoding="utf-8"))
    assert count == 1
    path.write_text(code, encoding="utf-8")
    (messages,) = run_fresh(OPEN, [("there", "opened", str(tmp_path))])
    assert len(messages) == 2  # the config and the model
    for message in messages:
        assert message.startswith("transformers>=98.0 is required")
        assert f"transformers=={__version__}" in message
