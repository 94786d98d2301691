# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Measure the effect of a switch of the architecture: equal parameters, equal tokens, several seeds.

    modeling-scratch lab --task demo --vary norm_position=post,pre --output_dir runs/lab
    modeling-scratch lab --task plays --data_dir input.txt --vary hidden_act=swiglu,gelu \
        --vary norm_type=rms_norm,layer_norm --seeds 3 --output_dir runs/lab-plays

The first value of each --vary is the base. The output folder holds each run, learning curves, report.md and
lab.json. Repeating the command continues a lab that was stopped.
"""

from modeling_scratch.lab.command import LabArguments, run_lab
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(run_lab, LabArguments, __doc__)

if __name__ == "__main__":
    quiet_libraries("tokenization")
    main()
