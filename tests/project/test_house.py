# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What keeps the project readable and its models portable, checked in the source itself."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from modeling_scratch.shipped import CONFIG_CLASSES, shipped_files

ROOT = Path(__file__).resolve().parents[2]
COPYRIGHT = "# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0."

TEXTBOOK = {path.stem for family in CONFIG_CLASSES for path in shipped_files(family)}
# Rooms from the ground up: each imports from rooms of earlier lines, none from its own line or a later one.
FLOORS = (
    {"utils"},
    {"textbook"},
    {"fast", "bridges"},
    {"data"},
    {"inference"},
    {"evaluation", "serving"},
    {"sharing"},
    {"training"},
    {"benchmark"},
)
# The files of modeling_scratch/ itself that no model ships.
NOT_SHIPPED = {
    "__init__", "drawing", "field_names", "installed_configs", "pipelines", "presets", "question_answering", "shipped",
    "verify",
}  # fmt: skip
SHIPPED_MAY_USE = {*sys.stdlib_module_names, "torch", "transformers", "huggingface_hub"}
LONGEST_FUNCTION = 30
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


PACKAGE = ROOT / "modeling_scratch"
MODEL_FILES = python_files("modeling_scratch")
SHIPPED = [path for path in MODEL_FILES if path.parent == PACKAGE and path.stem in TEXTBOOK]
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
    """The modules of the package that a file imports, as "attention" or "fast.engine"."""
    here, found = path.relative_to(PACKAGE).parent.parts, set()
    for name in imported_modules(path):
        up = len(name) - len(name.lstrip("."))
        if up:
            found.add(".".join((*here[: len(here) + 1 - up], name.lstrip("."))))
    return found


def roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported_modules(path) if not name.startswith(".")}


def test_no_import_comes_back() -> None:
    """Files of the package can be put in a row in which each imports from those before it alone."""
    names = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in MODEL_FILES}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    left = {name: siblings(path) & names.keys() - {name} for name, path in names.items()}
    while ready := {name for name, imports in left.items() if not imports}:
        left = {name: imports - ready for name, imports in left.items() if name not in ready}
    assert left == {}


def room_of(module: str) -> str:
    """ "data.rows" -> "data", "attention" -> "textbook"."""
    room = module.partition(".")[0]
    return room if any(room in floor for floor in FLOORS) else "textbook"


def test_every_room_has_a_floor() -> None:
    rooms = {path.parent.name for path in MODEL_FILES if path.parent != PACKAGE}
    assert {"textbook", *rooms} == set.union(*FLOORS)
    assert {path.stem for path in PACKAGE.glob("*.py")} - TEXTBOOK <= NOT_SHIPPED


@each([path for path in MODEL_FILES if path.parent != PACKAGE or path.stem not in ("__init__", "verify")])
def test_no_import_climbs(path: Path) -> None:
    """A room imports from the floors below it, and from its own files."""
    room = room_of(".".join(path.relative_to(PACKAGE).parts))
    floor = next(number for number, rooms in enumerate(FLOORS) if room in rooms)
    below = set.union(set(), *FLOORS[:floor])
    assert {room_of(name) for name in siblings(path)} <= {*below, room}


@each([PACKAGE / "presets.py", *(PACKAGE / "bridges" / f"{name}.py" for name in ("tables", "encoders", "decoders"))])
def test_presets_and_tables_import_no_model(path: Path) -> None:
    assert {name.rpartition(".")[2] for name in siblings(path)} <= {"configuration_scratch", "field_names", "tables"}


@each(SHIPPED)
def test_shipped_files_import_in_the_way_the_hub_follows(path: Path) -> None:
    """`from .x import y` of a flat sibling: other forms are not copied along, and fail where the model is loaded."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert node.level == 1, ast.unparse(node)
            assert node.module and "." not in node.module, ast.unparse(node)  # noqa: PT018
            assert node.module in TEXTBOOK, ast.unparse(node)
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
def test_functions_are_read_at_a_glance(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
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
