# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page of an exported classifier reads letters as its tokenizer does, over all that have two cases."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from modeling_scratch.exporting import folder

NORMALIZERS = {
    "lowercase": normalizers.Lowercase(),
    "nfc": normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]),
    "nested": normalizers.Sequence([normalizers.Sequence([normalizers.NFKC()]), normalizers.Lowercase()]),
    "bert": normalizers.BertNormalizer(lowercase=True),
    "cased bert": normalizers.BertNormalizer(lowercase=False),
}
CASED = [letter for letter in map(chr, range(0x10000)) if letter.lower() != letter or letter.upper() != letter]
TEXTS = [
    "ΟΔΟΣ", "ΣΟΦΟΣ ΟΔΟΣ, Σ. ΑΣ’", "\U0001d6ba\U0001d6ba", "İstanbul IĞDIR", "Straße STRASSE ẞ", "ŉ ǰ ΐ և ﬁ",
    "a漢\U00020000b",
    *(f"{letter} a{letter}Σ Σ{letter} {letter}." for letter in CASED),
]  # fmt: skip
PROGRAM = """
import fs from "node:fs";
import { adaptedRules } from "RULES";
import { Tokenizer } from "./node_modules/@huggingface/tokenizers/dist/tokenizers.mjs";
const { rules, texts } = JSON.parse(fs.readFileSync(0, "utf8")), tokenizer = new Tokenizer(adaptedRules(rules, {}), {});
process.stdout.write(JSON.stringify(texts.map((text) => tokenizer.encode(text).ids)));
"""


def of_bytes(normalizer: Any) -> Tokenizer:
    """A tokenizer whose ids are the bytes of the normalised text."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return tokenizer


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's library of tokenizers."""
    place, (name, version) = tmp_path_factory.mktemp("npm"), next(iter(folder.PACKAGES.items()))
    npm = shutil.which("npm")
    if npm is None or subprocess.run([npm, "install", f"{name}@{version}"], cwd=place, check=False).returncode:
        pytest.skip("npm cannot install the packages of the page")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("name", NORMALIZERS)
def test_the_page_reads_letters_as_the_tokenizer_does(packages: Path, name: str) -> None:
    tokenizer, program = of_bytes(NORMALIZERS[name]), PROGRAM.replace("RULES", (folder.PAGE / "rules.mjs").as_uri())
    asked = json.dumps({"rules": json.loads(tokenizer.to_str()), "texts": TEXTS})
    command = ["node", "--input-type=module", "-e", program]
    found = subprocess.run(command, input=asked, cwd=packages, capture_output=True, text=True, check=True).stdout
    expected = [each.ids for each in tokenizer.encode_batch(TEXTS)]
    wrong = [text for text, ours, theirs in zip(TEXTS, json.loads(found), expected, strict=True) if ours != theirs]
    assert wrong == []
