# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Measure exported folders beside PyTorch: sizes on disk, and milliseconds a call on one thread, in turn.

python scripts/maintenance/measure_export.py runs/demo runs/demo-onnx runs/plays runs/plays-onnx

It prints a table in Markdown. A classifier and an encoder read 1 text and 8 texts of 64 tokens, a decoder reads one
token after 64 cached ones. PyTorch is the model with its engine, as it is used. The times are the fastest of many.
"""

import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from modeling_scratch.exporting.formats import FORMATS, Format
from modeling_scratch.exporting.graphs import Graph, graphs_of
from modeling_scratch.exporting.llama_cpp import LlamaCpp
from modeling_scratch.exporting.program import load_to_export
from modeling_scratch.utils.command_line import quiet_libraries
from modeling_scratch.utils.markdown import table

COLUMNS = "model", "file", "MB", "weights in PyTorch (MB)", "call", "PyTorch (ms)", "runtime (ms)"
STEP = {"batch": 1, "length": 1, "past": 64, "total": 65, "source": 64}
READ = {"batch": 1, "length": 64, "past": 0, "total": 64, "source": 64}
SIZES = {"1 text of 64 tokens": READ, "8 texts of 64 tokens": {**READ, "batch": 8}}
PROMPT, NEW_TOKENS = [5] * 64, 16


def fastest(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Return the milliseconds of each call, the least of many rounds in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[number] = min(best[number], 1e3 * (time.perf_counter() - start))
    return best


def graph_calls(graph: Graph, kind: Format, folder: Path) -> dict[str, list[Callable[[], Any]]]:
    """Return the calls of PyTorch and of the runtime, by what one call reads."""
    run = kind.load(folder / f"{graph.name}{kind.suffix}", 1)
    is_step = any("past" in port.axes for port in graph.inputs)
    sizes = {"1 token after 64": STEP} if is_step else SIZES
    return {what: pair_of_calls(graph, run, size) for what, size in sizes.items()}


def pair_of_calls(graph: Graph, run: Callable[[Any], Any], size: dict[str, int]) -> list[Callable[[], Any]]:
    inputs = graph.draw(size, torch.Generator().manual_seed(0))
    named = {port.name: tensor.numpy() for port, tensor in zip(graph.inputs, inputs)}
    return [lambda: graph.module(*inputs), lambda: run(named)]


def gguf_calls(model: Any, folder: Path) -> dict[str, list[Callable[[], Any]]]:
    runtime, prompt = LlamaCpp(folder / "model.gguf", 1), torch.tensor([PROMPT])
    options = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS, "do_sample": False}
    calls = [lambda: model.generate(prompt, **options), lambda: runtime.continued(PROMPT, NEW_TOKENS)]
    return {f"{NEW_TOKENS} tokens after {len(PROMPT)}": calls}


def measure(name: str, folder: Path, rounds: int) -> list[list[str]]:
    """Return a row for each file of a folder."""
    model, _ = load_to_export(name)
    model.set_attn_implementation("sdpa")
    weights = sum(file.stat().st_size for file in Path(name).glob("*.safetensors")) / 1e6
    found = [(kind, graph) for kind in FORMATS.values() for graph in graphs_of(model)]
    present = [(kind, graph) for kind, graph in found if (folder / f"{graph.name}{kind.suffix}").exists()]
    timed = {f"{graph.name}{kind.suffix}": graph_calls(graph, kind, folder) for kind, graph in present}
    if (folder / "model.gguf").exists():
        timed = {"model.gguf": gguf_calls(model, folder)}
    rows = []
    for file, calls_of_sizes in timed.items():
        size = sum(each.stat().st_size for each in folder.glob(f"{Path(file).stem}.*")) / 1e6
        for what, calls in calls_of_sizes.items():
            times = [f"{each:.1f}" for each in fastest(calls, rounds)]
            rows.append([Path(name).name, file, f"{size:.1f}", f"{weights:.1f}", what, *times])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("pairs", nargs="+", metavar="MODEL FOLDER", help="Models, each with an exported folder.")
    parser.add_argument("--rounds", type=int, default=30, help="How often each call is timed.")
    given = parser.parse_args(arguments)
    if len(given.pairs) % 2:
        parser.error(f"{given.pairs[-1]}: name a folder after each model")
    quiet_libraries()
    torch.set_num_threads(1)
    pairs = zip(given.pairs[::2], map(Path, given.pairs[1::2]))
    with torch.inference_mode():
        rows = [row for name, folder in pairs for row in measure(name, folder, given.rounds)]
    print(table(COLUMNS, rows))


if __name__ == "__main__":
    main()
