# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load-test a server and compare every answer with the pipeline's, to detect lost or mixed-up answers.

    modeling-scratch load-test --model runs/demo --requests 1000 --clients 32
    modeling-scratch load-test --model runs/en-de --input sources.txt --requests 200 --seconds 60

Each request has one text. Three modes are timed, each for at most --seconds: the pipeline in this process, one text
at a time; a server without batching; and a batching server. Exit code 1: lost or wrong answers;
2: a request is rejected.
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
