# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The files of a folder: those of the model, those that no loader reads, and all others.

The lists follow the loaders of transformers, sentence-transformers and PEFT. A file on neither list counts as read.
"""

import json
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from transformers.dynamic_module_utils import get_relative_imports

from ..pipelines import TARGET_FOLDER
from ..registration.configs import KERNELS, repositories
from ..run.layout import EVALUATION, HISTORY, LINEAR, PICKLED_ARGUMENTS, PRETRAINING, RECORD, VERIFICATION

WEIGHT_PATTERNS = ("*.safetensors", "*.safetensors.index.json")
CODE = ("*.py", "custom_generate/*")
TOKENIZERS = (
    "tokenizer.json", "tokenizer.*.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.*", "merges.txt", "*.spm", "*.model", "*.jinja", "additional_chat_templates/*.jinja", "chat_template.json",
)  # fmt: skip
CONFIGS = ("config.json", "config.*.json", "generation_config.json", "adapter_config.json", "*processor_config.json")
SENTENCE_TRANSFORMERS = (
    "modules.json", "config_sentence_transformers.json", "sentence_*_config.json", "router_config.json",
    "[0-9]_*/*.json", "[0-9]_*/*.safetensors", "[0-9]_*/*.txt",
)  # fmt: skip
MODEL_FILES = (*CONFIGS, *CODE, *WEIGHT_PATTERNS, *TOKENIZERS, *SENTENCE_TRANSFORMERS)

# What `save_pretrained` writes, beside the code that it names; other files of the model are in verify.json.
SAVED_WEIGHTS = ("model.safetensors", "model-*-of-*.safetensors")
SAVED = (
    "config.json", "generation_config.json", *SAVED_WEIGHTS, "model.safetensors.index.json", "tokenizer.json",
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt",
    "source.spm", "target.spm", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "chat_template.jinja",
    "additional_chat_templates/*.jinja",
)  # fmt: skip
TOKENIZER_CONFIGS = ("tokenizer_config.json", f"{TARGET_FOLDER}/tokenizer_config.json")

# What runs and people put beside a model.
UNREAD = (
    VERIFICATION, RECORD, EVALUATION, "*_results.json", HISTORY, PICKLED_ARGUMENTS,
    "events.out.tfevents.*", "_lock", "LICENSE*", "NOTICE*", "*.md", "*.txt", "*.pdf", "*.html", "*.ipynb", "*.png",
    "*.jpg", "*.jpeg", "*.gif", "*.svg", "*.csv", "*.tsv", "*.jsonl", "*.parquet", "*.arrow", "*.log",
    "study.db*",
)  # fmt: skip
# Loaded only by their own names.
OTHER_FOLDERS = (
    *(".*", "checkpoint-*", "_*checkpoint-*", "last-checkpoint", PRETRAINING, LINEAR),
    "teacher-[0-9]*",  # of runs of earlier versions
)

# JSON keys whose values name code ("file.Class", "repository--file.Class") or further config files.
LEAD_TO_CODE = {"modules.json": ("type",), "router_config.json": ("types",)}
LEAD_TO_CODE_ANYWHERE = ("auto_map", "impl", "configuration_files")


def is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a file of the model or its target tokenizer matches one of the patterns."""
    file = name.removeprefix(f"{TARGET_FOLDER}/")
    inside = all(re.fullmatch(r"[^.\\:][^\\:]*", part) for part in file.split("/"))  # any name that stays inside
    return inside and any(fnmatchcase(file, one) and file.count("/") == one.count("/") for one in patterns)


def is_read(name: str) -> bool:
    """Return whether a loader could read or run a file, or whether that is unknown."""
    *folders, file = name.split("/")
    if file.startswith(".") or any(fnmatchcase(part, one) for part in folders for one in OTHER_FOLDERS):
        return False
    return is_one_of(name, MODEL_FILES) or not any(fnmatchcase(file, pattern) for pattern in UNREAD)


def all_files(folder: Path) -> list[str]:
    """Return the names of all files of a folder and below it, without checkpoints. A linked folder is one name."""
    return sorted(path.relative_to(folder).as_posix() for path in _walk(folder))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if not path.is_dir() or path.is_symlink():
            yield path
        elif not any(fnmatchcase(path.name, pattern) for pattern in OTHER_FOLDERS):
            yield from _walk(path)


def named_code(folder: Path, names: Iterable[str]) -> list[str]:
    """Return all code references in the JSON files of these names. Raises ValueError for an unreadable file."""
    references: set[str] = set()
    for name in names:
        if name.lower().endswith(".json"):
            try:
                references |= _code_in(folder / name)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{name} is not valid JSON, so the code that it names is unknown") from error
    return sorted(references)


def code_files(folder: Path) -> list[str]:
    """Return the Python files that the model and its tokenizer name, and those that they import."""
    files = [file for file in ("config.json", *TOKENIZER_CONFIGS) if (folder / file).is_file()]
    named = [name for name in named_code(folder, files) if "--" not in name and not name.endswith(".json")]
    modules, waiting = set[str](), {name.partition(".")[0] for name in named}
    while waiting:
        modules.add(module := waiting.pop())
        if (path := folder / f"{module}.py").is_file():
            waiting |= set(get_relative_imports(path)) - modules
    return sorted(f"{module}.py" for module in modules)


def _code_in(path: Path) -> set[str]:
    named: list[Any] = []
    keys = (*LEAD_TO_CODE_ANYWHERE, *LEAD_TO_CODE.get(path.name, ()))

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        named.extend(value for key, value in pairs if key in keys)
        named.extend(f"{each}--{key}" for key, value in pairs if key in KERNELS for each in repositories(value))
        return dict(pairs)

    json.loads(path.read_bytes(), object_pairs_hook=note)
    references: set[str] = set()
    while named:
        value = named.pop()
        if isinstance(value, str) and not value.startswith("sentence_transformers."):
            references.add(value)
        elif isinstance(value, dict | list):
            named.extend(value.values() if isinstance(value, dict) else value)
    return references
