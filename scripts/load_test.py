# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Put load on serve.py, and compare every answer with that of the pipeline: none may be lost, none mixed up.

    python scripts/load_test.py --model runs/demo --requests 1000 --clients 32
    python scripts/load_test.py --model runs/en-de --input sources.txt --requests 200 --seconds 60

Each request has one text. Three ways to answer them are timed, each for --seconds at most: the pipeline, called in this
process for one text after the other; the server that gives the model one text at a time; and the server as it is,
which batches what comes at the same time. Exit code 1 where an answer is lost or wrong, 2 where a request is refused.
"""

import sys
from collections.abc import Sequence

from modeling_scratch.serving.load_test import LoadArguments, put_load
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> int:
    run_program(put_load, LoadArguments, __doc__, arguments)
    return 0


if __name__ == "__main__":
    quiet_libraries("modeling_scratch")  # pipelines advise on lengths, text by text
    sys.exit(main())
