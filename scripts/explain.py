# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write a page that shows texts going through a model: every tensor, its line of code, and the words that mattered.

    modeling-scratch explain --model runs/demo --text "This film bores." --output explain.html

The page is one HTML file that needs no network.
"""

import signal
import sys

from modeling_scratch.inspection.program import ExplainArguments, write_explanation
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(write_explanation, ExplainArguments, __doc__)

if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
