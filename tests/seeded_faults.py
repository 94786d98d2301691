# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whether the tests see what would break: one fault at a time is written into a copy, and some test has to fail.

    python tests/seeded_faults.py                            all of them
    python tests/seeded_faults.py --only rotation_turns_back another_name
    python tests/seeded_faults.py --sample 10 --seed 3       those that CI writes
    python tests/seeded_faults.py --list

Each fault of seeded_faults.txt is one line that a slip of the hand could have made, and that would change an answer, a
loss, a gradient or a refusal for somebody. It is written as a change (-, +) of a fragment in a definition (@), wherever
in modeling_scratch that stands; test_seeded_faults.py fails where the fragment does not occur exactly once. A subject
(==) names the tests that run first; the other tests of its room follow, until the first fails. A fault that all of them
pass LIVES: a test is missing. pytest does not collect this file, since it takes most of an hour on one core, some of
which shows that the copy passes without a fault.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPIED = "modeling_scratch", "tokenization", "scripts", "tests", "docs", "pyproject.toml", "setup.cfg", "README.md"
BOOK_TESTS = "textbook", "fast", "bridges"  # folders of tests for a fault of the book or of its engine
TIME_LIMIT = 1800  # seconds of all tests of a fault, on a machine that has other work too


class Fault(NamedTuple):
    """In a definition, old turns into new. subject: the entry of FIRST with the tests that run. what: says it in words.

    definition: the qualified name of a function, a method, a class or a constant, such as "Inputs.positions" or
    "SPLIT_NAMES", in any file of modeling_scratch. old: occurs once in all definitions of this name.
    """

    subject: str
    name: str
    what: str
    definition: str
    old: str
    new: str


SUBJECT = re.compile(r"^== (.+?): (.+)$", re.MULTILINE)
FAULT = re.compile(r"^# (\w+): (.+)\n@ (.+)\n-(.+)\n\+(.+)$", re.MULTILINE)
_, *_PARTS = SUBJECT.split((ROOT / "tests" / "seeded_faults.txt").read_text(encoding="utf-8"))
FIRST = {subject: tests.split() for subject, tests in zip(_PARTS[::3], _PARTS[1::3])}
FAULTS = [Fault(subject, *found) for subject, text in zip(FIRST, _PARTS[2::3]) for found in FAULT.findall(text)]


class Place(NamedTuple):
    """A definition: a file of modeling_scratch, from the root, and its first and last line."""

    file: Path
    first: int
    last: int


def definitions(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Yield the qualified names of functions, methods, classes and constants, and their nodes."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((prefix + target.id, node) for target in targets if isinstance(target, ast.Name))
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, f"{prefix}{node.name}.")


@cache
def places() -> dict[str, list[Place]]:
    """The places of each definition of modeling_scratch."""
    found: dict[str, list[Place]] = {}
    for path in sorted((ROOT / "modeling_scratch").rglob("*.py")):
        for name, node in definitions(ast.parse(path.read_text(encoding="utf-8")).body):
            place = Place(path.relative_to(ROOT), node.lineno, node.end_lineno or node.lineno)
            found.setdefault(name, []).append(place)
    return found


def cut_out(place: Place) -> tuple[str, str, str]:
    """The text of a file before a definition, of the definition, and after it."""
    lines = (ROOT / place.file).read_text(encoding="utf-8").splitlines(keepends=True)
    pieces = lines[: place.first - 1], lines[place.first - 1 : place.last], lines[place.last :]
    before, source, after = map("".join, pieces)
    return before, source, after


def place_of(fault: Fault) -> Place:
    """The only definition of this name that has the fragment. ValueError: it occurs nowhere, or more than once."""
    counts = {place: cut_out(place)[1].count(fault.old) for place in places().get(fault.definition, [])}
    if (total := sum(counts.values())) != 1:
        raise ValueError(f"{fault.name}: {fault.old!r} occurs {total} times in {fault.definition}, not once.")
    return max(counts, key=lambda place: counts[place])


def changed(fault: Fault) -> str:
    """The text of the file with the fault."""
    before, source, after = cut_out(place_of(fault))
    return before + source.replace(fault.old, fault.new) + after


def files_for(subject: str) -> list[str]:
    """The test files of a subject, in the order in which they run: FIRST, then those of its room."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    paths = {path.stem.removeprefix("test_"): path.relative_to(ROOT) for path in found}
    room = subject.rpartition("/")[0]
    rooms = BOOK_TESTS if room in ("", "fast") else (room,)
    others = [name for name, path in paths.items() if path.parent.name in rooms]
    return [paths[name].as_posix() for name in dict.fromkeys((*FIRST[subject], *others))]


def copy_to(folder: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build", "runs"))
        else:
            shutil.copy(source, folder / name)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Python in the copy, whose packages are the ones that are imported, wherever else they are installed."""
    own = {"PYTHONPATH": str(folder), "HF_MODULES_CACHE": str(folder / "remote_code")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, **own}, capture_output=True, text=True,
        timeout=TIME_LIMIT, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def first_failure(folder: Path, tests: Sequence[str]) -> str | None:
    """The first test that fails; None: all pass. SystemExit where pytest could not run them."""
    for compiled in (folder / "modeling_scratch").rglob("__pycache__"):
        shutil.rmtree(compiled)
    try:
        process = run(folder, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    except subprocess.TimeoutExpired:
        return f"the limit of {TIME_LIMIT} s"
    if process.returncode == 0:
        return None
    if found := re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", process.stdout, re.MULTILINE):
        return found[1]
    raise SystemExit(f"pytest ended with {process.returncode}:\n{process.stdout[-2000:]}{process.stderr[-2000:]}")


def check_copy(folder: Path, tests: Iterable[str]) -> None:
    """SystemExit where Python takes another package than that of the copy, or a test fails without a fault."""
    where = run(folder, "-c", "import modeling_scratch; print(modeling_scratch.__file__)").stdout.strip()
    if Path(where).parent.resolve() != (folder / "modeling_scratch").resolve():
        raise SystemExit(f"The copy in {folder} is not what Python imports, but {where}.")
    if tests and (failed := first_failure(folder, sorted(set(tests)))):
        raise SystemExit(f"Without a fault {failed} fails.")


def try_out(fault: Fault, folder: Path) -> bool:
    """Whether a test fails with this fault in the copy, which is afterwards as it was; prints one line."""
    file, start = place_of(fault).file, time.monotonic()
    (folder / file).write_text(changed(fault), encoding="utf-8")
    failed = first_failure(folder, files_for(fault.subject))
    shutil.copy(ROOT / file, folder / file)
    verdict = "LIVES " if failed is None else "killed"
    print(f"{verdict} {time.monotonic() - start:4.0f} s  {fault.name} ({file}): {failed or fault.what}", flush=True)
    return failed is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[fault.name for fault in FAULTS])
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, drawn with --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a fault first")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    arguments, start = parser.parse_args(), time.monotonic()
    faults = [fault for fault in FAULTS if arguments.only is None or fault.name in arguments.only]
    if arguments.sample is not None:
        faults = random.Random(arguments.seed).sample(faults, min(arguments.sample, len(faults)))
    if arguments.list:
        for fault in faults:
            print(f"{fault.name} ({place_of(fault).file}, {fault.definition}): {fault.what}")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder)
        check_copy(folder, () if arguments.unchecked else chain.from_iterable(files_for(f.subject) for f in faults))
        killed = [try_out(fault, folder) for fault in faults]
    print(f"{sum(killed)} of {len(faults)} killed in {time.monotonic() - start:.0f} s")
    return int(not all(killed))


if __name__ == "__main__":
    sys.exit(main())
