# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train classifiers on few and on many texts of data sets, and draw their scores against the number of texts.

python scripts/maintenance/compare_sizes.py --panel SST-2 sst2_folder --rows 200 1500 --output_dir runs/sizes

Each run has a folder of its own. Repeat the command to continue after an interruption: finished runs are kept. The
table is in sizes.md and the plot in sizes.png.
"""

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path

from size_plots import METRICS, Scores, read_scores, size_png, size_table

from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.files import write_json, write_text

PROGRAM = Path(__file__).resolve().parents[1] / "train_classifier.py"
NEW, CHECKPOINT = "Transformer", "fine-tuned checkpoint"
CHECKPOINT_BATCH, CHECKPOINT_STEPS = 16, 200  # at least so many steps, in two epochs or more
METRIC = f"The score of a panel, one of {', '.join(METRICS)}; by default accuracy."
FINE_TUNING = (
    f"--config_overrides classifier_pooling=mean --per_device_train_batch_size {CHECKPOINT_BATCH} --learning_rate 1e-4 "
    "--max_length 256 --precision auto --ema_decay 0"
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--panel", nargs=2, action="append", required=True, metavar=("TITLE", "FOLDER"))
    parser.add_argument("--metric", nargs=2, action="append", default=[], metavar=("TITLE", "NAME"), help=METRIC)
    parser.add_argument("--rows", type=int, nargs="+", required=True, help="Numbers of training texts.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="Each draws its own texts.")
    parser.add_argument("--max_eval_samples", type=int, default=2_000, help="Texts of each other split.")
    parser.add_argument("--checkpoint", help="A pretrained encoder to fine-tune on the same texts.")
    parser.add_argument("--draw_only", action="store_true", help="Train nothing; show the runs that are finished.")
    parser.add_argument("--output_dir", required=True)
    given = parser.parse_args(arguments)
    metrics = dict(given.metric)
    try:
        check_metrics(metrics, [title for title, _ in given.panel])
        panels = {title: measure(title, folder, given, metrics.get(title)) for title, folder in given.panel}
    except DataError as error:
        parser.exit(2, f"error: {error}\n")
    text = "\n\n".join(f"{title}\n\n{size_table(scores)}" for title, scores in panels.items())
    write_text(Path(given.output_dir) / "sizes.md", f"{text}\n")
    size_png(panels, Path(given.output_dir) / "sizes.png", metrics)
    print(text)


def check_metrics(metrics: Mapping[str, str], titles: Sequence[str]) -> None:
    for title, name in metrics.items():
        if title not in titles or name not in METRICS:
            raise DataError(f"--metric {title} {name}: give the title of a panel and one of {', '.join(METRICS)}")


def measure(title: str, data: str, given: Namespace, metric: str | None = None) -> Scores:
    """Run what is not finished for one data set, and return the scores."""
    runs: dict[str, list[Path]] = {}
    for name, folder, options in planned(title, data, given):
        if not given.draw_only:
            train_once(options, folder)
        runs.setdefault(name, []).extend([folder] * is_finished(folder))
    if not any(runs.values()):
        raise DataError(f"{title}: no run is finished in {given.output_dir}")
    return read_scores({name: folders for name, folders in runs.items() if folders}, metric or "accuracy")


def planned(title: str, data: str, given: Namespace) -> Iterator[tuple[str, Path, list[str]]]:
    """Yield (name of the model, folder, options) of each run."""
    for rows in given.rows:
        for seed in given.seeds:
            texts = f"--max_train_samples {rows} --max_eval_samples {given.max_eval_samples}"
            same = ["--data_dir", data, *f"{texts} --split_seed {seed} --seed {seed} --disable_tqdm True".split()]
            folder = Path(given.output_dir, title)
            yield NEW, folder / f"new-{rows}-{seed}", same
            if given.checkpoint:
                epochs = max(2, ceil(CHECKPOINT_STEPS * CHECKPOINT_BATCH / rows))
                start = ["--model_name_or_path", given.checkpoint, "--num_train_epochs", str(epochs)]
                yield CHECKPOINT, folder / f"checkpoint-{rows}-{seed}", [*same, *start, *FINE_TUNING.split()]


def is_finished(folder: Path) -> bool:
    return (folder / "verify.json").is_file()  # written at the end of a run


def train_once(options: Sequence[str], folder: Path) -> None:
    """Train, unless the run is finished. Raises `DataError` for the folder of a run with other options."""
    planned_options = folder.with_name(f"{folder.name}.options.json")
    if planned_options.is_file() and json.loads(planned_options.read_text(encoding="utf-8")) != options:
        raise DataError(f"{folder} is a run with other options; choose another --output_dir")
    if not is_finished(folder):
        planned_options.parent.mkdir(parents=True, exist_ok=True)
        write_json(planned_options, options)
        train([*options, "--output_dir", str(folder), "--overwrite"], folder)


def train(options: Sequence[str], folder: Path) -> None:
    """Train in a process of its own. Raises `DataError` if it fails; its output is in a file beside the folder."""
    log = folder.with_name(f"{folder.name}.log")
    print(f"{folder}", flush=True)
    with log.open("w", encoding="utf-8") as handle:
        ended = subprocess.run([sys.executable, str(PROGRAM), *options], stdout=handle, stderr=subprocess.STDOUT)
    if ended.returncode:
        raise DataError(f"the run of {folder} failed: see {log}")


if __name__ == "__main__":
    main()
