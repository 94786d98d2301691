# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""`python -m modeling_scratch.verify runs/demo`, the command that cards of saved models name."""

import sys

from transformers.utils import logging

from .sharing.verification import main, verify, write_verification

__all__ = ["main", "verify", "write_verification"]

if __name__ == "__main__":
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    sys.exit(main())
