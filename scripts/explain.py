# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write a page that shows texts going through a model: every tensor, the code that made it, and why the answer.

    modeling-scratch explain --model runs/demo --text "This film bores." --output explain.html
    modeling-scratch explain --model runs/demo --text "It is great." --text "It is dull." --output pair.html

The page is one HTML file that needs no network. For each text, it shows the steps of the tokenizer, all tensors of the
real forward pass with their lines of code, attention, what each layer would answer, a training step, and which words
mattered.
"""

import signal
import sys
from collections.abc import Sequence

from modeling_scratch.inspection.program import ExplainArguments, write_explanation
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(write_explanation, ExplainArguments, __doc__, arguments)


if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
