# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The benchmark program: the rows that are measured, their table and their picture."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

from ..evaluation.plots import BLUE, new_figure, write_png
from ..sharing.run_record import describe_hardware
from ..utils.files import write_json
from .answers import generate, infer, precisions, translate
from .programs import imports, load, tokenizer_train
from .settings import Settings
from .training import memory, mlm, overhead, padding, textbook, train, train_translator, without_onednn

WORKLOADS: dict[str, Callable[[Settings], Iterator[dict[str, Any]]]] = {
    "train-sst2": partial(train, "sst2"),
    "train-imdb": partial(train, "imdb"),
    "train-marian": train_translator,
    "memory": memory,
    "mlm": mlm,
    "infer-sst2": partial(infer, "sst2"),
    "infer-imdb": partial(infer, "imdb"),
    "generate-gpt2": generate,
    "translate-marian": translate,
    "tokenizer-train": tokenizer_train,
    "import": imports,
    "load": load,
    "padding": padding,
    "textbook": textbook,
    "overhead": overhead,
    "train-mkl": without_onednn,
    "precision": precisions,
}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "workload",
        nargs="+",
        choices=["all", *WORKLOADS],
        help="What to measure; precision needs --model and --data_folder.",
    )
    parser.add_argument("--rounds", type=int, default=7, help="How often each side runs.")
    parser.add_argument("--quick", action="store_true", help="Tiny sizes and two rounds, to see that it works.")
    parser.add_argument("--data_folder", type=Path, help="Holds sst2/, imdb/ and multi30k/; else texts are invented.")
    parser.add_argument("--model", help="A trained classifier, for precision: what fewer bits bring and cost it.")
    parser.add_argument("--threads", type=int, help="Of torch; as many as it takes by itself if not given.")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda: BERT base then, packed batches for ours.")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32", help="Of products.")
    parser.add_argument("--peak_tflops", type=float, help="Of the device, to say how much of it a step uses.")
    parser.add_argument("--attention", default="sdpa", help="The backend of both sides.")
    parser.add_argument("--batch_size", type=int, help="Texts a training step, in place of those of the workload.")
    parser.add_argument("--compile", action="store_true", help="Training steps under torch.compile, on both sides.")
    parser.add_argument("--dropout", type=float, default=0.1, help="Of the states, in training.")
    parser.add_argument("--attention_dropout", type=float, default=0.1, help="Of the attention weights, in training.")
    parser.add_argument("--seed", type=int, default=0, help="Of weights, texts and their order.")
    parser.add_argument("--json", type=Path, help="A file for all that was measured.")
    parser.add_argument("--plot", type=Path, help="A PNG file for a picture of the ratios.")
    found = parser.parse_args(arguments)
    _check(found, parser)
    return found


def _check(found: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    for option in ("json", "plot"):
        if (path := getattr(found, option)) is not None and not path.parent.is_dir():
            parser.error(f"--{option} {path}: there is no folder {path.parent}")
    if "precision" in found.workload and found.model is None:
        parser.error("precision needs --model, the folder of a trained text classifier")
    for name in ("rounds", "threads", "batch_size"):
        if (number := getattr(found, name)) is not None and number < 1:
            parser.error(f"--{name} {number}: has to be at least 1")


def run(found: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure, and print each row as it comes."""
    if found.threads:
        torch.set_num_threads(found.threads)
    given = {field.name: getattr(found, field.name) for field in fields(Settings)}
    settings = Settings(**given | {"rounds": min(found.rounds, 2) if found.quick else found.rounds})
    hardware = describe_hardware(torch.device(settings.device))
    print(f"{hardware}; torch {torch.__version__}, transformers {transformers.__version__}\n", flush=True)
    if found.quick:
        print("--quick: models of toy size, to see that all of it runs; these are no measurements.\n")
    print(HEADER, flush=True)
    rows = []
    for name in WORKLOADS if "all" in found.workload else dict.fromkeys(found.workload):
        for row in WORKLOADS[name](settings):
            rows.append(row)
            print(table_row(row), flush=True)
    if found.json:
        conditions = {key: value for key, value in asdict(settings).items() if key not in ("data_folder", "model")}
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        write_json(found.json, {"conditions": {**conditions, **versions, "hardware": hardware}, "rows": rows})
    if found.plot:
        write_plot(found.plot, hardware, rows)
    return rows


Row = dict[str, Any]

HEADER = """| workload | setting | ours | peer | ratio | middle half | of the rate of matrix products |
| --- | --- | ---: | ---: | ---: | ---: | ---: |"""


def table_row(row: Row) -> str:
    """A line of the table; of the rate: as the literature counts, and of what is really computed."""
    digits = 3 if row["unit"] == "s" else 0
    sides = [f"{row[side]:,.{digits}f} {row['unit']}" for side in ("ours", "peer")]
    low, high = row["ratio_range"]
    rates = [
        f"{row[f'of_{name}']:.2f} ({row[f'computed_of_{name}']:.2f} computed){of_what}"
        for name, of_what in (("products", ""), ("onednn", " of oneDNN's"))
        if f"of_{name}" in row
    ]
    rates += [f"{row['mfu']:.2f} of the peak"] if "mfu" in row else []
    cells = [row["workload"], row["setting"], *sides, f"{row['ratio']:.2f}", f"{low:.2f}–{high:.2f}", ", ".join(rates)]
    return f"| {' | '.join(cells)} |"


def write_plot(path: Path, hardware: str, rows: Sequence[Row]) -> None:
    """A bar for each rate beside a peer, how many times the peer's it is, with a line at 1."""
    rows = [row for row in rows if row["unit"].endswith("/s") and row["workload"] != "precision"]
    figure = new_figure(9, 0.55 * max(len(rows), 2) + 1.2)
    axes = figure.subplots()
    places = range(len(rows))
    errors = [[abs(row["ratio"] - row["ratio_range"][end]) for row in rows] for end in (0, 1)]
    axes.barh(places, [row["ratio"] for row in rows], xerr=errors, color=BLUE, ecolor="black")
    axes.set_yticks(places, [f"{row['workload']}\n{row['setting'].partition(', ')[2]}" for row in rows], fontsize=7)
    for place, row in zip(places, rows):
        axes.annotate(
            f"{row['ratio']:.2f}", (row["ratio_range"][1], place), (4, 0), textcoords="offset points", va="center"
        )
    axes.axvline(1, color="black", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel(f"real tokens a second, times those of Hugging Face's class ({hardware})")
    axes.spines[["top", "right"]].set_visible(False)
    write_png(figure, path)
