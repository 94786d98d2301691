# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""List the code that a saved folder ships and its dependencies: `python -m modeling_scratch.sharing.shipped`.

For each family: the files that save_pretrained copies beside the weights, their statements, and every name of torch,
transformers and huggingface_hub in them that is private or undocumented. The code is parsed, not run. Exit status 1: a
limit is exceeded, a private name of torch is used, or an import has no row in LIBRARY_NAMES or LIBRARY_ATTRIBUTES.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from ..configuration_scratch import ScratchConfig, ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig

FOLDER = Path(__file__).parents[1]
CONFIG_CLASSES: tuple[type[ScratchConfig], ...] = (ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig)
MOST_FILES, MOST_STATEMENTS = 12, 1_200
PIPELINES = {"pipelines.py", "question_answering.py"}  # shipped with the heads that need them, and not counted


class Use(NamedTuple):
    """Whether the library documents a name, and where, or why it is used all the same."""

    documented: bool
    reason: str


# Modules of libraries, or names in them. What `from transformers import` gives is public and needs no row. Pages are
# those of https://huggingface.co/docs/transformers (5.x) and https://huggingface.co/docs/huggingface_hub.
LIBRARY_NAMES = {
    "huggingface_hub.dataclasses.strict": Use(True, "page Strict Dataclasses"),
    "transformers.modeling_layers.GradientCheckpointingLayer": Use(True, "page Custom Layers and Utilities"),
    "transformers.modeling_outputs": Use(True, "page Model outputs"),
    "transformers.modeling_utils.ALL_ATTENTION_FUNCTIONS": Use(True, "page Building a compatible model backend"),
    "transformers.utils.ModelOutput": Use(True, "page Model outputs"),
    "transformers.utils.can_return_tuple": Use(True, "page Model structure rules, TRF003"),
    "transformers.utils.logging": Use(True, "page Logging"),
    "transformers.utils.output_capturing.OutputRecorder": Use(True, "page Tracing model intermediate outputs"),
    "transformers.utils.output_capturing.capture_outputs": Use(True, "page Tracing model intermediate outputs"),
    "transformers.pipelines.base.ChunkPipeline": Use(True, "page Pipelines, chunk batching; no name at the top level"),
    "transformers.dynamic_module_utils.custom_object_save": Use(
        False, "copies code into a folder, as save_pretrained does for one class; here for each file of a family"
    ),
    "transformers.masking_utils.create_bidirectional_mask": Use(
        False, "masks in the form of each attention backend; most models of the library import it"
    ),
    "transformers.masking_utils.create_bidirectional_sliding_window_mask": Use(
        False, "masks in the form of each attention backend; ModernBERT imports it"
    ),
    "transformers.masking_utils.create_causal_mask": Use(
        False, "masks in the form of each attention backend; most models of the library import it"
    ),
    "transformers.masking_utils.create_sliding_window_causal_mask": Use(
        False, "masks in the form of each attention backend; Mistral imports it"
    ),
    "transformers.masking_utils.packed_sequence_mask_function": Use(
        False, "no attention across packed sequences, in the form that create_causal_mask takes"
    ),
    "transformers.utils.versions.require_version": Use(
        False, "refuses versions that load these models with random weights; examples of the library call it"
    ),
    "transformers.utils.is_tracing": Use(False, "checks that read values are left out of compiled and exported graphs"),
}

# Private attributes of the libraries' objects that the code reads, sets or overrides.
LIBRARY_ATTRIBUTES = {
    "_attn_implementation": Use(True, "page Building a compatible model backend"),
    "_can_record_outputs": Use(True, "page Tracing model intermediate outputs"),
    "_forward": Use(True, "page Adding a new pipeline"),
    "_no_split_modules": Use(True, "page Model structure rules, TRF005"),
    "_sanitize_parameters": Use(True, "page Adding a new pipeline"),
    "_supports_attention_backend": Use(True, "page Building a compatible model backend"),
    "_tied_weights_keys": Use(True, "page Model structure rules, TRF004"),
    "_tp_plan": Use(True, "page Tensor parallelism"),
    "_input_embed_layer": Use(False, "name of the table of token embeddings, for resizing and tying"),
    "_auto_class": Use(False, "what register_for_auto_class sets, which is documented; here it is set on the class"),
    "_build_translation_inputs": Use(False, "tokenizers of several languages (NLLB, mBART) take language codes by it"),
    "_can_compile_fullgraph": Use(False, "flag of PreTrainedModel: generate may compile the forward pass"),
    "_get_files_timestamps": Use(False, "a push uploads what is newer; overridden, so that code always is"),
    "_hf_peft_config_loaded": Use(False, "whether an adapter is loaded; its folder holds no code"),
    "_load_tokenizer": Use(False, "flag of Pipeline: `pipeline` loads a tokenizer"),
    "_skip_keys_device_placement": Use(False, "flag of PreTrainedModel: Accelerate leaves caches where they are"),
    "_supports_flash_attn": Use(False, "flag of PreTrainedModel: flash_attention_2 is allowed as attn_implementation"),
    "_supports_flex_attn": Use(False, "flag of PreTrainedModel: flex_attention is allowed as attn_implementation"),
    "_supports_sdpa": Use(False, "flag of PreTrainedModel: sdpa is allowed as attn_implementation"),
}  # fmt: skip
LIBRARIES = "transformers", "huggingface_hub"
WIDTH = 120  # of the printed report


class Name(NamedTuple):
    """A name and its line number."""

    line: int
    name: str


def family_of(config_class: type[ScratchConfig]) -> str:
    return config_class.model_type.removeprefix("scratch_")


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


def line_count(path: Path) -> int:
    """Return the number of lines, as `wc -l`."""
    return read(path).count("\n")


def statement_count(path: Path) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(read(path))))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def imported_siblings(source: str) -> list[str]:
    """Return the modules imported as `from .file import name`, the form that the Hub resolves."""
    nodes = ast.walk(ast.parse(source))
    return sorted({node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level and node.module})


def imports(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, full name and local name of each absolute import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}", alias.asname or alias.name


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def private_torch_names(source: str) -> list[Name]:
    """Imports of private modules and names of torch, and references such as torch._C.x or getattr(torch.ops, "_x")."""
    found, local = [], {}
    for line, name, alias in imports(source):
        if name.partition(".")[0] == "torch":
            found.append(Name(line, name))
            local[alias] = "torch" if alias == "torch" else name
    for node in ast.walk(ast.parse(source)):
        start, _, rest = (_dotted(node) or "").partition(".")
        if start in local and rest:
            found.append(Name(node.lineno, f"{local[start]}.{rest}"))  # type: ignore[attr-defined]
    longest: dict[int, list[str]] = {}
    for line, name in sorted({each for each in found if is_private(each.name)}, key=lambda each: -len(each.name)):
        if not any(other.startswith(f"{name}.") for other in longest.setdefault(line, [])):
            longest[line].append(name)
    return sorted(Name(line, name) for line, names in longest.items() for name in names)


def _dotted(node: ast.AST) -> str | None:
    """ "a.b.c" of an attribute, or of getattr(a.b, "c") and hasattr(a.b, "c"); None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        start, name = _dotted(node.value), node.attr
    elif (name := _named_in_call(node)) is not None:
        start = _dotted(node.args[0])  # type: ignore[attr-defined]
    return None if name is None or start is None else f"{start}.{name}"


def _named_in_call(node: ast.AST) -> str | None:
    """The constant attribute name in a call of getattr, hasattr or setattr."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1):
        return None
    name = node.args[1]
    is_reader = node.func.id in ("getattr", "hasattr", "setattr") and isinstance(name, ast.Constant)
    return str(name.value) if is_reader else None  # type: ignore[attr-defined]


def library_imports(source: str) -> list[Name]:
    """Full names of what is imported from transformers and huggingface_hub; "x.*" of a whole module x."""
    modules = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import))
    whole = {(node.lineno, alias.name) for node in modules for alias in node.names}
    found = {(line, f"{name}.*" if (line, name) in whole else name) for line, name, _ in imports(source)}
    return sorted(Name(line, name) for line, name in found if name.partition(".")[0] in LIBRARIES)


def use_of(name: str) -> Use | None:
    """Return the entry of an imported name, or None if it is not listed."""
    parent, _, last = name.rpartition(".")
    if parent in LIBRARIES and last != "*" and not is_private(last):
        return Use(True, "public names of the library")
    return LIBRARY_NAMES.get(name) or LIBRARY_NAMES.get(parent)


def library_attributes(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Private attributes that files share with a library: name -> file:line of its first use in each file.

    A private name is ours if our code both defines a method of that name and reads it.
    """
    ours: set[str] = set()
    places: dict[str, list[str]] = {}
    read_: set[str] = set()
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                ours.add(node.name)
            if isinstance(node, ast.Attribute) and not _is_super(node.value):
                read_.add(node.attr)
            for line, name in _private_attributes(node):
                places.setdefault(name, []).append(f"{file}:{line}")
    return {name: _firsts(found) for name, found in sorted(places.items()) if not (name in ours and name in read_)}


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _firsts(places: Iterable[str]) -> list[str]:
    first: dict[str, int] = {}
    for file, line in (place.split(":") for place in places):
        first[file] = min(int(line), first.get(file, int(line)))
    return [f"{file}:{line}" for file, line in sorted(first.items())]


def _private_attributes(node: ast.AST) -> Iterator[Name]:
    """x._name, getattr(x, "_name"), and the fields and methods of a class."""
    names: list[tuple[ast.AST, str]] = []
    if isinstance(node, ast.Attribute):
        names.append((node, node.attr))
    elif (name := _named_in_call(node)) is not None:
        names.append((node, name))
    elif isinstance(node, ast.ClassDef):
        for each in node.body:
            targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
            names += [(each, target.id) for target in targets if isinstance(target, ast.Name)]
            names += [(each, each.name)] if isinstance(each, ast.FunctionDef) else []
    yield from (Name(each.lineno, name) for each, name in names if is_private(name))  # type: ignore[attr-defined]


def problems(sources: Mapping[str, str]) -> list[str]:
    """Return descriptions of names that shipped files must not use. sources: file name -> source text."""
    found = []
    for file, source in sources.items():
        found += [f"{file}:{line}: {name} is a private name of torch" for line, name in private_torch_names(source)]
        found += [
            f"{file}:{line}: {name} is not listed in shipped.LIBRARY_NAMES"
            for line, name in library_imports(source)
            if use_of(name) is None
        ]
    attributes = library_attributes(sources).items()
    unlisted = [(name, places) for name, places in attributes if name not in LIBRARY_ATTRIBUTES]
    return found + [f"{places[0]}: {name} is not listed in shipped.LIBRARY_ATTRIBUTES" for name, places in unlisted]


def limits_exceeded(config_class: type[ScratchConfig]) -> list[str]:
    files = counted(shipped_files(config_class))
    sizes = (len(files), MOST_FILES, "files"), (sum(map(statement_count, files)), MOST_STATEMENTS, "statements")
    return [f"{family_of(config_class)}: {n} {what}, at most {most}" for n, most, what in sizes if n > most]


def all_sources() -> dict[str, str]:
    """Return the files that any family ships."""
    files = {path for config_class in CONFIG_CLASSES for path in shipped_files(config_class)}
    return {path.name: read(path) for path in sorted(files)}


def files_table() -> Iterator[str]:
    """Yield the table of statements: a column per family, a row per file."""
    shipped = {family_of(config_class): shipped_files(config_class) for config_class in CONFIG_CLASSES}
    yield f"{'statements of a folder':28}" + "".join(f"{family:>10}" for family in shipped)
    every = sorted({path for files in shipped.values() for path in files}, key=lambda path: path.name)
    for path in sorted(every, key=lambda path: path.name in PIPELINES):
        cells = (statement_count(path) if path in files else "-" for files in shipped.values())
        note = "   pipelines, not counted" if path.name in PIPELINES else ""
        yield f"  {path.name:26}" + "".join(f"{cell:>10}" for cell in cells) + note
    totals = {family: counted(files) for family, files in shipped.items()}
    yield f"{'files':28}" + "".join(f"{len(files):10}" for files in totals.values()) + f"   at most {MOST_FILES}"
    sums = "".join(f"{sum(map(statement_count, files)):10,}" for files in totals.values())
    yield f"{'statements':28}{sums}   at most {MOST_STATEMENTS:,}"
    lines = "".join(f"{sum(map(line_count, files)):10,}" for files in totals.values())
    yield f"{'lines':28}{lines}"


def uses_table(title: str, rows: Mapping[str, Use | None]) -> Iterator[str]:
    """Yield documented names by page, then the undocumented ones with their reasons."""
    yield from ("", title)
    pages: dict[str, list[str]] = {}
    for name, use in sorted(rows.items()):
        if use is not None and use.documented:
            pages.setdefault(use.reason, []).append(name)
    for page, names in pages.items():
        yield from fill(f"{page}: {', '.join(names)}", WIDTH, initial_indent="  ", subsequent_indent="    ").split("\n")
    yield "  Not documented:"
    for name, use in sorted(rows.items()):
        if use is None or not use.documented:
            yield f"    {name}: {'NOT LISTED' if use is None else use.reason}"


def report() -> str:
    sources = all_sources()
    names = {name for source in sources.values() for _, name in library_imports(source)}
    attributes = library_attributes(sources)
    private = [f"  {file}:{line} {name}" for file in sources for line, name in private_torch_names(sources[file])]
    lines = [*files_table(), "", "Private names of torch", *(private or ["  none"])]
    lines += uses_table("Imports from transformers and huggingface_hub", {name: use_of(name) for name in names})
    rows = {name: LIBRARY_ATTRIBUTES.get(name) for name in attributes}
    return "\n".join([*lines, *uses_table("Private attributes shared with their classes", rows)])


def main() -> int:
    print(report())
    wrong = [each for config_class in CONFIG_CLASSES for each in limits_exceeded(config_class)] + problems(
        all_sources()
    )
    print("\n" + "\n".join(["Wrong:", *(f"  {each}" for each in wrong)] if wrong else ["Nothing is wrong."]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
