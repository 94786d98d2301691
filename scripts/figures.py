# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Draw the figures of tutorials from the code and from models: positions, masks and others.

    modeling-scratch figures masks positions
    modeling-scratch figures positions position-biases --model runs/demo

Each figure is written as NAME.png and NAME.svg.
"""

from modeling_scratch.figures.command import FiguresArguments, draw_figures
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(draw_figures, FiguresArguments, __doc__, first="--names")

if __name__ == "__main__":
    quiet_libraries("tokenization")
    main()
