# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Convert a native checkpoint to a scratch one, or export a scratch one as native, and verify the result.

    modeling-scratch convert --input bert-base-uncased --output_dir runs/bert
    modeling-scratch convert --input runs/mine --output_dir runs/mine-bert

The input determines the direction. The result is reloaded and compared with the source on random tokens, with
and without padding. The output folder appears only if the outputs agree.
"""

from modeling_scratch.bridges.verified_conversion import ConversionArguments, convert
from modeling_scratch.utils.command_line import main_of

main = main_of(convert, ConversionArguments, __doc__)

if __name__ == "__main__":
    main()
