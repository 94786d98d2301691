# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Record and verify the files of a saved model, by names that earlier model cards use."""

import os
import sys
from typing import TYPE_CHECKING

from .sharing.verification import write_verification

if TYPE_CHECKING:
    from .doctor import Diagnosis

__all__ = ["main", "verify", "write_verification"]

CHECKS = ("recorded_files",)


def verify(folder: str | os.PathLike, trust_remote_code: bool = False, revision: str | None = None) -> "Diagnosis":
    """Compare a folder, or a repository on the Hub, with its verify.json. None of its code runs."""
    from .doctor import check_folder
    from .doctor.diagnosis import folder_of

    return check_folder(folder_of(os.fspath(folder), revision), trust_remote_code, only=CHECKS)


def main() -> int:
    """Name the command that verifies a copy."""
    name = next((each for each in sys.argv[1:] if not each.startswith("-")), "FOLDER")
    command = f"modeling-scratch doctor {name} --checks {' '.join(CHECKS)}"
    print(f"verify: it is retired: use {command}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
