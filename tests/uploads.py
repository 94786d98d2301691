# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which texts of the data would leave a run's folder with a push."""

import html
import json
import re
from pathlib import Path

from modeling_scratch.sharing.push import files_to_upload

KEYS = "text", "text_pair", "source", "reference", "question", "context"
OF_WORDS = ("tokenizer.json", "target_tokenizer/tokenizer.json")  # words and phrases of the training texts
PHRASE = 3  # words in a row that only a quotation has
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def uploaded_texts(run: Path) -> set[tuple[str, str]]:
    """The names of the files that a push uploads and that quote the examples of the run, with what they quote.

    A quotation can be a part of a text, and escaped as in JSON, HTML or Markdown.
    """
    lines = (run / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    examples = map(json.loads, lines)
    texts = {value for example in examples for key, value in example.items() if is_text(example, key)}
    phrases = {phrase for text in texts for phrase in phrases_of(text)}
    assert phrases, "the run has kept no examples"
    names = [name for name in files_to_upload(run) if name not in OF_WORDS]
    contents = {name: phrases_of((run / name).read_bytes().decode("utf-8", "replace")) for name in names}
    return {(name, phrase) for name, content in contents.items() for phrase in phrases & content}


def phrases_of(text: str) -> set[str]:
    plain = html.unescape(ESCAPE.sub(lambda found: chr(int(found[1], 16)), text))
    words = re.findall(r"\w+", plain.lower())
    return {" ".join(words[at : at + PHRASE]) for at in range(len(words) - PHRASE + 1)}


def is_text(example: dict[str, str], key: str) -> bool:
    """Whether the field is a text of the data. The answer of a classifier is its classes."""
    return key in KEYS or (key == "answer" and "question" in example)
