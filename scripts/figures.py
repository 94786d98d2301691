# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Draw the figures of tutorials from the code, models and runs: positions, masks, attention, curves and others.

    modeling-scratch figures masks learning-rates
    modeling-scratch figures self-attention embeddings --model runs/demo --text "The acting is gripping."
    modeling-scratch figures learning-curves --runs runs/a runs/b --output_dir pictures

Each figure is written as NAME.png and NAME.svg. The names may also be given by --names.
"""

import sys
from collections.abc import Sequence

from modeling_scratch.figures.command import FiguresArguments, draw_figures
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and not given[0].startswith("-"):
        given.insert(0, "--names")
    run_program(draw_figures, FiguresArguments, __doc__, given)


if __name__ == "__main__":
    quiet_libraries("tokenization")
    main()
