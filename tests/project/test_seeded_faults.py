# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The table of seeded faults follows the code: each of them can be planted, and has tests that can see it."""

import ast
from collections import Counter

from seeded_faults import FAULTS, ROOT, changed, files_for


def test_each_fragment_occurs_once_in_its_definition_and_the_fault_is_still_python() -> None:
    """Where code has moved into another definition, or was written anew: say the same slip in today's words."""
    out_of_date = []
    for fault in FAULTS:
        try:
            ast.parse(changed(fault), fault.name)
        except ValueError as error:
            out_of_date.append(str(error))
    assert out_of_date == []


def test_each_fault_is_one_of_its_own_and_has_tests() -> None:
    written = (ROOT / "tests" / "seeded_faults.txt").read_text(encoding="utf-8")
    assert written.count("\n# ") == len(FAULTS)  # each has all of its parts
    assert [name for name, count in Counter(fault.name for fault in FAULTS).items() if count > 1] == []
    assert [fault.name for fault in FAULTS if fault.old == fault.new or not files_for(fault.subject)] == []
