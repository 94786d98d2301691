# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What things cost beside what users would take instead: both in one process, in turns, of equal function.

    python scripts/benchmark.py import
    python scripts/benchmark.py all --data_folder data --json benchmark.json --plot benchmark.png
    python scripts/benchmark.py train-sst2 train-imdb --rounds 30

The peer is Hugging Face's own class with the same weights, attention by sdpa and dropout 0.1; before anything is timed,
both have to give the same logits, labels or tokens. A ratio above 1 says that ours is faster.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

PEER = "from transformers import BertModel"
OURS = "import modeling_scratch"
ALONE = ("import", "load", "memory")


def import_seconds(statement: str) -> float:
    """Wall time of a fresh process that runs one statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def benchmark_import(rounds: int) -> dict[str, Any]:
    """Median seconds of both statements, and the median of the ratios of neighbours."""
    pairs = [(import_seconds(PEER), import_seconds(OURS)) for _ in range(rounds)]
    peer, ours = (statistics.median(seconds) for seconds in zip(*pairs))
    ratio = statistics.median(theirs / mine for theirs, mine in pairs)
    row = {"workload": "import", "setting": f"{PEER}; {OURS}", "peer_seconds": peer, "ours_seconds": ours}
    return row | {"ratio": ratio}


def run(names: Sequence[str], size: Any) -> Iterator[dict[str, Any]]:
    """The rows of the table, as they come."""
    if "import" in names:
        yield benchmark_import(min(size.rounds, 7))
    if set(names) == {"import"}:
        return
    from benchmark_timing import measure
    from benchmark_workloads import WORKLOADS, load, memory

    for name in names:
        for comparison in WORKLOADS.get(name, lambda _: ())(size):
            yield measure(comparison)
    if "load" in names:
        yield measure(load(size))
    if "memory" in names:
        yield memory(size)


def as_table_row(row: dict[str, Any]) -> str:
    unit, digits = ("mib", 0) if "peer_mib" in row else ("seconds", 4)
    cells = [row["workload"], row["setting"], *(f"{row[f'{side}_{unit}']:.{digits}f}" for side in ("peer", "ours"))]
    cells += [f"{row['ratio']:.2f}", f"{row['tokens_per_second']:,.0f}" if "tokens_per_second" in row else ""]
    cells += [f"{row[name]:.2f}" if name in row else "" for name in ("fraction", "computed_fraction")]
    return f"| {' | '.join(cells)} |"


HEADER = """| workload | setting | peer | ours | ratio | tokens/s of ours | of the product rate | computed |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def plot(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Ratios as bars, with a line at 1."""
    from matplotlib.figure import Figure

    rows = [row for row in rows if row["workload"] not in ("memory", "padding", "import")]
    labels = [f"{row['workload']}\n{row['setting'].split(',')[0]}" for row in rows]
    figure = Figure(figsize=(8, 0.5 * len(rows) + 1), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(labels, [row["ratio"] for row in rows], color="tab:blue")
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.axvline(1, color="black", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel("times as fast as Hugging Face's class of the same function")
    figure.savefig(path, dpi=150)


def parse(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, Any]:
    """What to measure, and the Size of it; `import` alone needs nothing that takes time to import."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("workload", nargs="+", help=f"all, {', '.join(ALONE)}, or a name that --help lists below")
    parser.add_argument("--rounds", type=int, default=15, help="How often each side runs.")
    parser.add_argument("--data_folder", type=Path, help="Holds sst2/train.parquet and imdb/train.parquet.")
    parser.add_argument("--quick", action="store_true", help="Small models and two rounds, to see that it works.")
    parser.add_argument("--threads", type=int, help="Threads of torch; all cores if not given.")
    parser.add_argument("--json", type=Path, help="Where the rows are written, too.")
    parser.add_argument("--plot", type=Path, help="Where a picture of the ratios is written.")
    found = parser.parse_args(arguments)
    if found.workload == ["import"]:
        return found, argparse.Namespace(rounds=found.rounds)
    import torch
    from benchmark_workloads import WORKLOADS, Size

    known = [*ALONE, *WORKLOADS]
    names = known if "all" in found.workload else found.workload
    if unknown := set(names) - set(known):
        parser.error(f"there is no workload {', '.join(sorted(unknown))}; there are all, {', '.join(known)}")
    found.workload = names
    torch.set_num_threads(found.threads or torch.get_num_threads())
    small = {"width": 64, "layers": 2, "vocab_size": 500, "rounds": 2} if found.quick else {"rounds": found.rounds}
    return found, Size(data_folder=found.data_folder, **small)


def main(arguments: Sequence[str] | None = None) -> None:
    found, size = parse(arguments)
    print(HEADER, flush=True)
    rows = []
    for row in run(found.workload, size):
        rows.append(row)
        print(as_table_row(row), flush=True)
    if found.json:
        settings = {one.name: str(getattr(size, one.name)) for one in fields(size)} if hasattr(size, "width") else {}
        found.json.write_text(json.dumps({"settings": settings, "rows": rows}, indent=2) + "\n", encoding="utf-8")
    if found.plot:
        plot(rows, found.plot)


if __name__ == "__main__":
    main()
