# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Compare a copy of a model with the record of the one that was trained: file by file, tensor by tensor.

    python scripts/verify.py runs/demo
    python scripts/verify.py user/name --revision main

Exit status: 0 the same model, 1 another one, 2 cannot tell.
"""

import sys

from modeling_scratch.sharing.verification import main
from modeling_scratch.utils.command_line import quiet_libraries

if __name__ == "__main__":
    quiet_libraries()
    sys.exit(main())
