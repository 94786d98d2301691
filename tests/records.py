# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the doctor says of a folder and its verify.json."""

from pathlib import Path

from modeling_scratch.doctor.findings import Finding, Verdict
from modeling_scratch.doctor.folders import examine_folder
from modeling_scratch.sharing.verification import is_recorded
from modeling_scratch.verify import CHECKS


def findings(folder: Path, is_trusted: bool = False) -> dict[str, Finding]:
    """Those of the two checks, in this process, and of loading."""
    job = {"folder": str(folder), "is_trusted": is_trusted, "tokenizer": None, "checks": CHECKS}
    return {found.check: found for found in examine_folder(job)}


def verified(folder: Path, trust_remote_code: bool) -> dict[str, Finding]:
    """As `verify` does, in this process."""
    return findings(folder, trust_remote_code and is_recorded(folder))


def is_as_recorded(folder: Path) -> bool:
    found = findings(folder)
    return found.keys() == {*CHECKS, "loading"} and {each.verdict for each in found.values()} == {Verdict.HOLDS}
