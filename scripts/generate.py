# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate texts with a decoder or encoder-decoder: continue prompts or translate sources, in input order.

    modeling-scratch generate --model_name_or_path runs/shakespeare --prompt "ROMEO:" --temperature 0.8 --seed 1
    modeling-scratch generate --model_name_or_path runs/en-de --input_file source.en --output_file target.de

Each input line gives num_return_sequences output lines, in which spaces replace line breaks; an empty line stays empty.
The whole input is read and checked before generation. The output file appears once it is complete.
"""

import signal
import sys

from modeling_scratch.inference.generation import GenerateArguments, SearchArguments, generate
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(generate, (GenerateArguments, SearchArguments), __doc__)

if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
