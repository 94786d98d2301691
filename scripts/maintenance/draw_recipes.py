# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Draw accuracy against minutes of training, from the folders of finished runs with --recipe.

python scripts/maintenance/draw_recipes.py recipes.png --panel IMDb runs/imdb-minutes runs/imdb-hour
"""

from argparse import ArgumentParser
from collections.abc import Sequence

from modeling_scratch.evaluation.recipe_plots import read_recipe_run, recipe_png
from modeling_scratch.utils.errors import DataError


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("output", help="The PNG file to write.")
    parser.add_argument(
        "--panel", nargs="+", action="append", required=True, metavar=("TITLE", "FOLDER"), help="A title and runs."
    )
    given = parser.parse_args(arguments)
    if lone := [title for title, *folders in given.panel if not folders]:
        parser.error(f"--panel {lone[0]}: name the folder of a run")
    try:
        recipe_png({title: list(map(read_recipe_run, folders)) for title, *folders in given.panel}, given.output)
    except DataError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
