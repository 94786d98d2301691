# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The code that a saved folder ships: its files for each family, and the private names that they may use.

The code is parsed, not run.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import modeling_scratch
from modeling_scratch import ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig
from modeling_scratch.configuration_scratch import ScratchConfig

FOLDER = Path(modeling_scratch.__file__).parent
CONFIG_CLASSES: tuple[type[ScratchConfig], ...] = (ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig)
PIPELINES = {"pipelines.py", "question_answering.py"}  # shipped with the heads that need them, and not counted

# Private attributes of the libraries' objects that the code reads, sets or overrides: the page of
# https://huggingface.co/docs/transformers (5.x) that documents each, or why it is used all the same.
LIBRARY_ATTRIBUTES = {
    "_attn_implementation": "page Building a compatible model backend",
    "_can_record_outputs": "page Tracing model intermediate outputs",
    "_forward": "page Adding a new pipeline",
    "_keep_in_fp32_modules": "page Model structure rules, TRF005",
    "_keep_in_fp32_modules_strict": "page Model structure rules, TRF005",
    "_no_split_modules": "page Model structure rules, TRF005",
    "_sanitize_parameters": "page Adding a new pipeline",
    "_supports_attention_backend": "page Building a compatible model backend",
    "_tied_weights_keys": "page Model structure rules, TRF004",
    "_tp_plan": "page Tensor parallelism",
    "_input_embed_layer": "name of the table of token embeddings, for resizing and tying",
    "_auto_class": "what register_for_auto_class sets, which is documented; here it is set on the class",
    "_build_translation_inputs": "tokenizers of several languages (NLLB, mBART) take language codes by it",
    "_can_compile_fullgraph": "flag of PreTrainedModel: generate may compile the forward pass",
    "_get_files_timestamps": "a push uploads what is newer; overridden, so that code always is",
    "_hf_peft_config_loaded": "whether an adapter is loaded; its folder holds no code",
    "_load_tokenizer": "flag of Pipeline: `pipeline` loads a tokenizer",
    "_skip_keys_device_placement": "flag of PreTrainedModel: Accelerate leaves caches where they are",
    "_supports_flash_attn": "flag of PreTrainedModel: flash_attention_2 is allowed as attn_implementation",
    "_supports_flex_attn": "flag of PreTrainedModel: flex_attention is allowed as attn_implementation",
    "_supports_sdpa": "flag of PreTrainedModel: sdpa is allowed as attn_implementation",
}  # fmt: skip
READERS = "getattr", "hasattr", "setattr"


def shipped_files(config_class: type[ScratchConfig]) -> list[Path]:
    """The files that save_pretrained copies: those of config_class.auto_classes, and what they import from here."""
    waiting = sorted({reference.partition(".")[0] for reference in config_class.auto_classes.values()})
    found: set[str] = set()
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += imported_siblings(read(FOLDER / f"{name}.py"))
    return sorted(FOLDER / f"{name}.py" for name in found)


def counted(files: Iterable[Path]) -> list[Path]:
    return [path for path in files if path.name not in PIPELINES]


def statement_count(path: Path) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(read(path))))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def imported_siblings(source: str) -> list[str]:
    """Return the modules imported as `from .file import name`, the form that the Hub resolves."""
    nodes = ast.walk(ast.parse(source))
    return sorted({node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level and node.module})


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of each absolute import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def private_attributes(source: str) -> Iterator[tuple[int, str]]:
    """Yield x._name, getattr(x, "_name"), and the fields and methods of a class, with their lines."""
    for node in ast.walk(ast.parse(source)):
        names: list[tuple[ast.AST, object]] = []
        if isinstance(node, ast.Attribute):
            names = [(node, node.attr)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in READERS:
            names = [(node, getattr(node.args[1], "value", None))]
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", each)]
                names += [(each, getattr(target, "id", None) or getattr(target, "name", None)) for target in targets]
        yield from ((each.lineno, name) for each, name in names if isinstance(name, str) and is_private(name))  # type: ignore[attr-defined]


def own_names(sources: Iterable[str]) -> set[str]:
    """Return the names of functions that our code both defines and reads, other than by super()."""
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    read_ = {node.attr for node in nodes if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Call)}
    return read_ & {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def problems(sources: Mapping[str, str]) -> list[str]:
    """Return descriptions of names that shipped files must not use. sources: file name -> source text."""
    found, ours = [], own_names(sources.values())
    for file, source in sources.items():
        found += [f"{file}:{line}: {name} is private" for line, name in imports(source) if is_private(name)]
        unlisted = {name: line for line, name in private_attributes(source) if name not in {*LIBRARY_ATTRIBUTES, *ours}}
        found += [f"{file}:{n}: {name} is not listed in shipped.LIBRARY_ATTRIBUTES" for name, n in unlisted.items()]
    return found
