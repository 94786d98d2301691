# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Show a saved model in the browser: type a text, click, see the answer.

    modeling-scratch demo --model runs/demo

The page classifies, rates, tags, translates, writes, fills a mask or answers questions, whatever the model was trained
for, and its answers are those of the pipeline. It loads nothing from other hosts. By default, the server listens on the
local host only (--host). It stops on Ctrl-C, SIGTERM or SIGINT.
"""

import signal
import sys

from modeling_scratch.demo.app import DemoArguments, demo
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(demo, DemoArguments, __doc__)

if __name__ == "__main__":
    quiet_libraries("modeling_scratch")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    main()
