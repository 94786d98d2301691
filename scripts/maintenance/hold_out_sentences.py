# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Hold out whole sentences of SST-2's train split, with all their phrases, to choose settings on.

python scripts/maintenance/hold_out_sentences.py sst2_folder sst2_dev --sentences 1500

Most rows of SST-2 are phrases of other rows. A sentence of at least eight words that is no phrase of another row is a
whole one. Of those that are drawn, a third is the validation split, and the others are the test split.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pandas as pd

LEAST_WORDS = 8
BETWEEN = " || "  # texts that are searched as one


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("folder", type=Path, help="It has train.parquet, with the columns sentence and label.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--sentences", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    rows = pd.read_parquet(given.folder / "train.parquet")
    splits = split(rows, given.sentences, given.seed)
    given.output.mkdir(parents=True)
    for name, part in splits.items():
        part.to_parquet(given.output / f"{name}.parquet")
        print(f"{name}: {len(part):,} rows")


def split(rows: pd.DataFrame, count: int, seed: int) -> dict[str, pd.DataFrame]:
    """Return train, without the chosen sentences and their phrases, validation and test."""
    texts = rows["sentence"].str.strip()
    chosen = Random(seed).sample(whole_sentences(texts), count)
    searched = BETWEEN.join(f" {text} " for text in chosen)
    is_part = texts.map(lambda text: f" {text} " in searched)
    held_out = rows[texts.isin(chosen)].drop_duplicates("sentence").sample(frac=1, random_state=seed)
    third = len(held_out) // 3
    return {"train": rows[~is_part], "validation": held_out[:third], "test": held_out[third:]}


def whole_sentences(texts: pd.Series) -> list[str]:
    """Return the texts with enough words that no other row contains, in the order of the rows."""
    different = list(dict.fromkeys(texts))
    searched = BETWEEN.join(different)
    return [text for text in different if len(text.split()) >= LEAST_WORDS and searched.count(text) == 1]


if __name__ == "__main__":
    main()
