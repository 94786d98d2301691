# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The table of seeded faults follows the code: each of them can be planted, and has tests that can see it."""

import ast
from collections import Counter

import seeded_faults
from seeded_faults import FAULTS


def out_of_date() -> list[str]:
    found = []
    for fault in FAULTS:
        try:
            seeded_faults.place_of(fault)
        except ValueError as error:
            found.append(str(error))
    return found


def test_each_fragment_occurs_once_in_its_definition() -> None:
    """Where code has moved into another definition, or was written anew: say the same slip in today's words."""
    assert out_of_date() == []


def test_each_fault_is_one_of_its_own_and_still_python() -> None:
    assert [name for name, count in Counter(fault.name for fault in FAULTS).items() if count > 1] == []
    assert [fault.name for fault in FAULTS if fault.old == fault.new] == []
    for fault in FAULTS:
        ast.parse(seeded_faults.changed(fault), fault.name)
