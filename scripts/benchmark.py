# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What things cost beside what users would take instead, measured in turns.

python scripts/benchmark.py import
"""

import argparse
import statistics
import subprocess
import sys
import time

PEER = "from transformers import BertModel"
OURS = "import modeling_scratch"


def import_seconds(statement: str) -> float:
    """Wall time of a fresh process that runs one statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def benchmark_import(rounds: int) -> str:
    """Median seconds of both statements, and the median of the ratios of neighbours."""
    pairs = [(import_seconds(PEER), import_seconds(OURS)) for _ in range(rounds)]
    peer, ours = (statistics.median(seconds) for seconds in zip(*pairs))
    ratio = statistics.median(mine / theirs for theirs, mine in pairs)
    return f"{PEER}: {peer:.2f} s\n{OURS}: {ours:.2f} s\nratio: {ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("workload", choices=["import"])
    parser.add_argument("--rounds", type=int, default=7, help="How often each side runs.")
    arguments = parser.parse_args()
    print(benchmark_import(arguments.rounds))


if __name__ == "__main__":
    main()
