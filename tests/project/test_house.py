# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What keeps the project readable and its models portable, checked in the source itself. ruff checks the rest."""

import ast
import sys
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

from shipped import CONFIG_CLASSES, shipped_files

ROOT = Path(__file__).resolve().parents[2]
COPYRIGHT = "# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0."

TEXTBOOK = {path.stem for family in CONFIG_CLASSES for path in shipped_files(family)}
# Rooms from the ground up: each imports from rooms of earlier lines, none from its own line or a later one.
FLOORS = (
    {"utils"},
    {"textbook"},
    {"names"},
    {"registration"},
    {"fast", "bridges"},
    {"data"},
    {"inference", "captured steps"},
    {"what a task is"},
    {"report", "inspection", "serving"},
    {"sharing"},
    {"demo", "doctor", "run"},
    {"benchmark", "training"},
    {"figures", "exporting"},
    {"lab", "each task", "course"},
)
# Tasks are reached by their names alone: what imports one of their modules would know its name.
ROOMS = {"tasks": "names", "run.layout": "names", "run.captured_trainer": "captured steps"}
ROOMS |= dict.fromkeys(("tasks.base", "tasks.answerer", "tasks.card", "tasks.page", "tasks.requests"), "what a task is")
# The files of modeling_scratch/ itself that no model ships.
NOT_SHIPPED = {
    "__init__", "pipelines", "presets", "question_answering", "verify",
}  # fmt: skip
SHIPPED_MAY_USE = {*sys.stdlib_module_names, "torch", "transformers", "huggingface_hub"}
LONGEST_FUNCTION = 30
KEPT = ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


PACKAGE = ROOT / "modeling_scratch"
MODEL_FILES = python_files("modeling_scratch")
SHIPPED = [path for path in MODEL_FILES if path.parent == PACKAGE and path.stem in TEXTBOOK]
PACKAGES = python_files("modeling_scratch", "tokenization")
EVERYTHING = python_files("modeling_scratch", "tokenization", "scripts", "tests")
SCRIPTS, TESTS = ({folder, *(path.stem for path in python_files(folder))} for folder in ("scripts", "tests"))


def violations(files: list[Path], find: Callable[[Path], Collection[str]]) -> dict[str, Collection[str]]:
    """File: what is found there that must not be."""
    return {str(path.relative_to(ROOT)): found for path in files if (found := find(path))}


@cache
def nodes(path: Path) -> list[ast.AST]:
    """The imports and functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return [node for node in ast.walk(tree) if isinstance(node, KEPT)]


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
    left = {name: siblings(path) & names.keys() for name, path in names.items()}
    while ready := {name for name, imports in left.items() if not imports}:
        left = {name: imports - ready for name, imports in left.items() if name not in ready}
    assert left == {}


def room_of(module: str) -> str:
    """ "data.rows" -> "data", "attention" -> "textbook", "tasks.tag" -> "each task"."""
    module = module.removesuffix(".py").removesuffix(".__init__")
    room = "each task" if module.startswith("tasks.") else module.partition(".")[0]
    if module in ROOMS:
        return ROOMS[module]
    return room if any(room in floor for floor in FLOORS) else "textbook"


def climbing(path: Path) -> set[str]:
    """The rooms that a file imports from, neither its own nor on the floors below."""
    room = room_of(".".join(path.relative_to(PACKAGE).parts))
    floor = next(number for number, rooms in enumerate(FLOORS) if room in rooms)
    return {room_of(name) for name in siblings(path)} - set().union(*FLOORS[:floor]) - {room}


def test_no_import_climbs() -> None:
    rooms = {room_of(".".join(path.relative_to(PACKAGE).parts)) for path in MODEL_FILES}
    assert rooms == set().union(*FLOORS)
    assert {path.stem for path in PACKAGE.glob("*.py")} - TEXTBOOK <= NOT_SHIPPED
    whole = PACKAGE / "__init__.py", PACKAGE / "verify.py"
    assert violations([path for path in MODEL_FILES if path not in whole], climbing) == {}
    tables = [PACKAGE / "bridges" / f"{name}.py" for name in ("tables", "encoders", "decoders", "encoder_decoders")]
    allowed = {"configuration_scratch", "bridges.tables", "utils.field_names"}
    assert violations([PACKAGE / "presets.py", *tables], lambda path: siblings(path) - allowed) == {}
    assert violations(python_files("tokenization"), lambda path: roots(path) & {"modeling_scratch"}) == {}
    assert violations(PACKAGES, lambda path: roots(path) & (SCRIPTS | TESTS)) == {}
    assert violations(python_files("scripts"), lambda path: roots(path) & TESTS) == {}


def test_shipped_files_import_in_the_way_the_hub_follows() -> None:
    """`from .x import y` of a flat sibling: other forms are not copied along, and fail where the model is loaded."""

    def strays(path: Path) -> list[str]:
        relative = [node for node in nodes(path) if isinstance(node, ast.ImportFrom) and node.level]
        return [ast.unparse(node) for node in relative if node.level > 1 or node.module not in TEXTBOOK]

    assert violations(SHIPPED, strays) == {}
    assert violations(SHIPPED, lambda path: roots(path) - SHIPPED_MAY_USE) == {}


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Lines of a body, without its docstring, comments and blank lines."""
    first = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not first:
        return 0
    body = lines[first[0].lineno - 1 : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in body)


def test_functions_are_read_at_a_glance() -> None:
    def long(path: Path) -> list[str]:
        lines = path.read_text(encoding="utf-8").splitlines()
        functions = [node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        return [function.name for function in functions if code_lines(function, lines) > LONGEST_FUNCTION]

    assert violations(PACKAGES, long) == {}


def test_every_file_says_whose_it_is() -> None:
    first_lines = {path: path.read_text(encoding="utf-8").partition("\n")[0] for path in EVERYTHING}
    assert [path for path, line in first_lines.items() if line != COPYRIGHT] == []
