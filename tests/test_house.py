# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What keeps the project readable and its models portable, checked in the source itself."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COPYRIGHT = "# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0."

# Each file imports from those before it, never the other way round.
ORDER = [
    "configuration_scratch", "positions", "input_checks", "shortcuts", "products", "packed_input", "varlen",
    "row_filling", "packing", "dropout", "layers", "attention", "embeddings", "stack", "heads", "beam_search",
    "generation", "batch_layout", "modeling_base", "question_answering", "pipelines", "modeling_encoder",
    "modeling_decoder", "modeling_seq2seq", "text_classification", "presets", "checkpoint_files", "native_tables",
    "native_encoders", "native_decoders", "native_configs", "native_weights", "conversion", "__init__",
    "verification_outputs", "verification_record", "verification_report", "verify",
]  # fmt: skip
NOT_SHIPPED = set(ORDER[ORDER.index("text_classification") :])
WITHOUT_MODELS = set(ORDER[ORDER.index("presets") : ORDER.index("conversion")])
SHIPPED_MAY_USE = {*sys.stdlib_module_names, "torch", "transformers", "huggingface_hub"}
LONGEST_FILE, LONGEST_FUNCTION = 250, 30
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


MODEL_FILES = python_files("modeling_scratch")
SHIPPED = [path for path in MODEL_FILES if path.stem not in NOT_SHIPPED]
PACKAGES = python_files("modeling_scratch", "tokenization")
EVERYTHING = python_files("modeling_scratch", "tokenization", "scripts", "tests")


def each(files: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", files, ids=lambda path: str(path.relative_to(ROOT)))


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path)))


def imported_modules(path: Path) -> set[str]:
    """Every module that a file names in an import, relative ones with their dots."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            found |= {base} if node.module else {base + alias.name for alias in node.names}
    return found


def siblings(path: Path) -> set[str]:
    return {name[1:] for name in imported_modules(path) if name.startswith(".")}


def roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported_modules(path) if not name.startswith(".")}


@each(MODEL_FILES)
def test_imports_run_downward(path: Path) -> None:
    assert path.stem in ORDER, "a new file needs a place in ORDER"
    assert siblings(path) <= set(ORDER[: ORDER.index(path.stem)])


@each([path for path in MODEL_FILES if path.stem in WITHOUT_MODELS])
def test_presets_and_tables_know_the_configuration_alone(path: Path) -> None:
    assert siblings(path) <= {"configuration_scratch", *WITHOUT_MODELS}


@each(SHIPPED)
def test_shipped_files_import_in_the_way_the_hub_follows(path: Path) -> None:
    """`from .x import y` of a flat sibling: other forms are not copied along, and fail where the model is loaded."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert node.level == 1, ast.unparse(node)
            assert node.module and "." not in node.module, ast.unparse(node)  # noqa: PT018
            assert node.module not in NOT_SHIPPED, ast.unparse(node)
    assert roots(path) <= SHIPPED_MAY_USE


@each(PACKAGES)
def test_packages_import_no_scripts_and_no_tests(path: Path) -> None:
    assert not roots(path) & {"scripts", "tests", *(script.stem for script in python_files("scripts", "tests"))}


@each(python_files("scripts"))
def test_scripts_import_no_tests(path: Path) -> None:
    assert not roots(path) & {"tests", *(test.stem for test in python_files("tests"))}


@each(python_files("tokenization"))
def test_tokenizers_know_no_models(path: Path) -> None:
    assert not any("modeling_scratch" in name for name in imported_modules(path))


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Lines of a body, without its docstring, comments and blank lines."""
    first = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not first:
        return 0
    body = lines[first[0].lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in body)


@each(PACKAGES)
def test_files_are_read_in_one_sitting_and_functions_at_a_glance(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LONGEST_FILE
    functions = [node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {function.name: code_lines(function, lines) for function in functions}
    assert {name: count for name, count in long.items() if count > LONGEST_FUNCTION} == {}


@each(EVERYTHING)
def test_nothing_executes_data_or_edits_the_path(path: Path) -> None:
    assert not roots(path) & UNSAFE_MODULES
    found = {name for node in nodes(path) for name in used_names(node)}
    assert not found & {"eval()", "exec()", "compile()", "__import__()", "torch.load", "sys.path", "allow_pickle=True"}


def used_names(node: ast.AST) -> list[str]:
    """What a node calls, reads, imports or passes by name, as it would be written."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return [f"{node.func.id}()"]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [ast.unparse(node)] if isinstance(node, ast.Attribute | ast.keyword) else []


@each(EVERYTHING)
def test_every_file_says_whose_it_is(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        assert file.readline().rstrip("\n") == COPYRIGHT


@each(EVERYTHING)
def test_every_file_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
