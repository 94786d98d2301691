# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the doctor says of a folder and its verify.json."""

from pathlib import Path

from modeling_scratch.doctor.findings import Finding, Verdict
from modeling_scratch.doctor.folders import examine_folder
from modeling_scratch.verify import CHECKS


def findings(folder: Path) -> dict[str, Finding]:
    """The comparison with the record, loading, and a check of what was loaded, in this process."""
    checks = [*CHECKS, "own_weights"]
    job = {"folder": str(folder), "is_trusted": False, "tokenizer": None, "checks": checks}
    return {found.check: found for found in examine_folder(job)}


def is_as_recorded(folder: Path) -> bool:
    return {each.verdict for each in findings(folder).values()} == {Verdict.HOLDS}
