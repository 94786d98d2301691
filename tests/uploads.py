# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which texts of the data would leave a run's folder with a push."""

import json
from pathlib import Path

from modeling_scratch.sharing.push import files_to_upload

KEYS = "text", "text_pair", "source", "reference", "question", "context"
OF_WORDS = ("tokenizer.json", "target_tokenizer/tokenizer.json")  # words and phrases of the training texts


def uploaded_texts(run: Path) -> set[tuple[str, str]]:
    """The names of the files that a push uploads and that quote the examples of the run, with what they quote."""
    lines = (run / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    examples = map(json.loads, lines)
    texts = {value for example in examples for key, value in example.items() if is_text(example, key) and " " in value}
    assert texts, "the run has kept no examples"
    names = [name for name in files_to_upload(run) if name not in OF_WORDS]
    contents = {name: (run / name).read_bytes().decode("utf-8", "replace") for name in names}
    return {(name, text) for name, content in contents.items() for text in texts if text in content}


def is_text(example: dict[str, str], key: str) -> bool:
    """Whether the field is a text of the data. The answer of a classifier is its classes."""
    return key in KEYS or (key == "answer" and "question" in example)
