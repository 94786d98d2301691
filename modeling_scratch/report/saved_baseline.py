# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Keep the linear model of a report with the run, where it is the model to use."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bridges.model_sources import LINEAR_MODEL, LINEAR_WEIGHTS
from ..run.layout import LINEAR

if TYPE_CHECKING:  # what lists the files of a model imports this file, and should not wait for scikit-learn
    from ..data.labelled_texts import ReviewData
    from ..inference.linear_models import LinearWeights

SAVE_LINEAR_MODEL = (
    "Save the linear model that the report compares with, in the folder linear. By default if it is significantly "
    "better."
)


def keep_linear(arguments: Any, is_worse: bool, name: str, weights: "LinearWeights", data: "ReviewData") -> str | None:
    """Save the linear model if --save_linear_model asks for it, and return the sentence for the report.

    is_worse: whether the trained model is significantly worse. name: of the linear model.
    """
    delete_linear(Path(arguments.output_dir))
    if not (is_worse if arguments.save_linear_model is None else arguments.save_linear_model):
        return None
    weights.save(Path(arguments.output_dir) / LINEAR, name, data.problem_type, data.label_names, data.has_pairs)
    advice = f"Use {name} instead" if is_worse else f"{name} is saved, too"
    return f"{advice}: the folder `{LINEAR}` of this run has it, for `modeling-scratch predict --model`."


def delete_linear(run: Path) -> None:
    """Delete the linear model in the folder of a run, which can be one of other texts. Other files in it stay."""
    folder = run / LINEAR
    for name in (LINEAR_MODEL, LINEAR_WEIGHTS):  # without the first, the folder is no model
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):  # none, or not empty
        folder.rmdir()
