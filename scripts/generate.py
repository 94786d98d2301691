# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write with any decoder or encoder-decoder: prompts are continued, sources translated, in the order they came.

    python scripts/generate.py --model_name_or_path runs/shakespeare --prompt "ROMEO:" --temperature 0.8 --seed 1
    python scripts/generate.py --model_name_or_path runs/en-de --input_file source.en --output_file target.de
    echo "A dog runs." | python scripts/generate.py --model_name_or_path runs/en-de

What the model makes of a text is its translation, or the continuation of a prompt without the prompt itself. A line of
input becomes a line of output (num_return_sequences lines), in which line breaks are spaces; a line without text stays
one. JSON lines keep everything: `row` (1 for the first of the input), `prompt` or `source`, `text`, and `cut`, whether
the text has no end. With --prompt, or typed line by line, a text is shown as it is written, behind its prompt.

All of the input is read and checked before anything is written; a file is there once it is complete.
"""

import signal
import sys
from collections.abc import Sequence

from modeling_scratch.inference.generation import GenerateArguments, SearchArguments, generate
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(generate, (GenerateArguments, SearchArguments), __doc__, arguments)


if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
