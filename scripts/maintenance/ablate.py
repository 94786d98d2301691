# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a classifier with and without each ingredient of the recipes, and write a table of what each brings.

python scripts/maintenance/ablate.py sst2_folder --seeds 0 1 2 --output_dir runs/ablation

Each run has a folder of its own. Repeat the command to continue after an interruption: finished runs are kept. The
table is in ablation.md. A difference is that of the mean over the seeds, and its interval is Student's t of the pairs.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from compare_sizes import train_once

from modeling_scratch.evaluation.recipe_plots import RecipeRun, read_recipe_run
from modeling_scratch.lab.report import interval
from modeling_scratch.lab.statistics import paired_difference
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.files import write_text
from modeling_scratch.utils.markdown import percent, table

BASE = "recipe minutes"
# Options after those of the recipe, which replace its choices.
INGREDIENTS = {
    BASE: "",
    "without the linear part": "--linear_part False",
    "without n-grams": "--config_overrides ngram_vocab_size=0",
    "without blocks": "--config_overrides num_hidden_layers=0",
    "two blocks": "--config_overrides num_hidden_layers=2",
    "the preset reviews: two post-norm blocks": "--preset reviews --learning_rate 5e-4 --embedding_learning_rate 5e-4 "
    "--linear_part False --sparse_embeddings False --max_grad_norm 1",
    "post-norm, without the linear part": "--config_overrides norm_position=post",
    "one rate for embeddings and blocks": "--embedding_learning_rate 2e-3",
    "dropout 0.1": "--config_overrides hidden_dropout=0.1",
    "an average of the weights, decay 0.99": "--ema_decay 0.99",
    "tables by AdamW": "--sparse_embeddings False --max_grad_norm 1",
    "ALiBi positions": "--config_overrides position_type=alibi",
    "attention to 8 tokens": "--config_overrides sliding_window=8",
    "label smoothing 0.1": "--label_smoothing_factor 0.1",
    "masked tokens first, 1 minute, without n-grams and the linear part": "--pretraining_minutes 1",
    "bfloat16": "--precision auto",
    "R-Drop, α = 1": "--r_drop 1",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("data", help="A folder with train, validation and test, of which no text is used elsewhere.")
    parser.add_argument("--only", nargs="+", choices=INGREDIENTS, default=list(INGREDIENTS), metavar="INGREDIENT")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--options", default="", help="Further options of all runs.")
    parser.add_argument("--output_dir", required=True)
    given = parser.parse_args(arguments)
    names = [BASE, *(name for name in given.only if name != BASE)]
    try:
        found = {
            name: {seed: measured(given, number, name, seed) for seed in given.seeds}
            for number, name in enumerate(INGREDIENTS)
            if name in names
        }
    except DataError as error:
        parser.exit(2, f"error: {error}\n")
    text = ablation_table(found)
    write_text(Path(given.output_dir) / "ablation.md", f"{text}\n")
    print(text)


def measured(given: Namespace, number: int, name: str, seed: int) -> RecipeRun:
    """Train, unless the run is finished."""
    folder = Path(given.output_dir, f"{number:02d}-{seed}")
    same = f"--recipe minutes --seed {seed} --disable_tqdm True {given.options}".split()
    train_once(["--data_dir", given.data, *same, *INGREDIENTS[name].split()], folder)
    return read_recipe_run(folder)


def ablation_table(found: Mapping[str, Mapping[int, RecipeRun]]) -> str:
    """Return the rows as Markdown: mean accuracy, difference to the first row with its 95 % interval, and minutes."""
    scores = {name: {seed: run.evaluation["accuracy"] for seed, run in runs.items()} for name, runs in found.items()}
    base = next(iter(found))
    rows = []
    for name, runs in found.items():
        difference = "" if name == base else interval("accuracy", paired_difference(scores[name], scores[base]))
        minutes = fmean(run.minutes for run in runs.values())
        rows.append([name, percent(fmean(scores[name].values())), difference, f"{minutes:.1f}"])
    return table(["", "accuracy", "difference", "minutes"], rows)


if __name__ == "__main__":
    main()
