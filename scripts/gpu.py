# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Check, measure and train on a GPU in a quarter of an hour, with no network and no data set library.

python scripts/gpu.py --prepare data --tokens runs/gpu-tokens.xz    # where the data sets are: IMDb and SST-2 as ids
python scripts/gpu.py --tokens runs/gpu-tokens.xz                   # on the machine with the GPU; or: make gpu
python scripts/gpu.py --rehearse                                    # tiny sizes on a CPU

The parts run in order of worth, each within a time limit. Results are written as soon as they are known. A second call
with the same --output goes on where the first one stopped. --overwrite begins anew. Exit status 1: a part failed.
"""

import math
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path

import transformers

from modeling_scratch.benchmark.gpu_parts import PARTS, has_failed, run_parts
from modeling_scratch.benchmark.gpu_tokens import prepare_tokens
from modeling_scratch.utils.errors import DataError


def minutes(text: str) -> float:
    if not 0 < (number := float(text)) < math.inf:
        raise ArgumentTypeError(f"{text}: has to be above 0")
    return number


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="Some of the parts.")
    parser.add_argument("--minutes", type=minutes, default=14.0, help="How long the call may take.")
    parser.add_argument("--output", type=Path, help="The folder of the results; runs/gpu or runs/gpu-rehearsal.")
    parser.add_argument("--overwrite", action="store_true", help="Forget what earlier calls found of these parts.")
    parser.add_argument("--tokens", type=Path, default=Path("runs/gpu-tokens.xz"), help="The file of token ids.")
    parser.add_argument("--prepare", type=Path, help="Write --tokens from imdb/ and sst2/ in this folder, and end.")
    parser.add_argument("--rehearse", action="store_true", help="Every part with tiny sizes, on a CPU.")
    given = parser.parse_args(arguments)
    output = given.output or Path("runs/gpu-rehearsal" if given.rehearse else "runs/gpu")
    try:
        if given.prepare is not None:
            given.tokens.parent.mkdir(parents=True, exist_ok=True)
            prepare_tokens(given.prepare, given.tokens)
            return
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the part that runs, too
        found = run_parts(given.only, output, given.tokens, given.minutes, given.rehearse, given.overwrite)
        sys.exit(int(has_failed(found, given.only)))
    except KeyboardInterrupt:
        print(f"\ngpu.py: interrupted; {output} has what is known, and the same command resumes", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except (DataError, OSError) as error:
        print(f"gpu.py: error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    main()
