# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Verify a copy of a model against the record of the trained one: files, tensors and outputs.

    modeling-scratch verify runs/demo
    modeling-scratch verify user/name --revision main

Exit status: 0 same model, 1 different model, 2 undetermined.
"""

import sys

from modeling_scratch.sharing.verification import main
from modeling_scratch.utils.command_line import quiet_libraries

if __name__ == "__main__":
    quiet_libraries()
    sys.exit(main())
