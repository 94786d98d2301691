# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Names of earlier versions, which the cards of saved models have: the doctor verifies copies."""

import os
import sys
from typing import TYPE_CHECKING

from .sharing.verification import write_verification

if TYPE_CHECKING:
    from .doctor import Diagnosis

__all__ = ["main", "verify", "write_verification"]

CHECKS = ("recorded_files",)


def verify(folder: str | os.PathLike, trust_remote_code: bool = False, revision: str | None = None) -> "Diagnosis":
    """Compare a folder, or a repository of the Hub, with its verify.json. No code of the folder runs."""
    from .doctor import check_folder
    from .doctor.diagnosis import folder_of

    return check_folder(folder_of(os.fspath(folder), revision), trust_remote_code, only=CHECKS)


def main() -> int:
    name = next((each for each in sys.argv[1:] if not each.startswith("-")), "FOLDER")
    print(f"verify is retired: use modeling-scratch doctor {name} --checks {' '.join(CHECKS)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
