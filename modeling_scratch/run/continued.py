# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What may differ in a run that goes on: not what decides the rows of a step, the model, and the optimizer's state."""

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from transformers import TrainingArguments

from ..sharing.run_record import DIGESTS, read_run, settings_of
from ..utils.errors import DataError
from ..utils.retired_options import refuse_retired
from .layout import RECORD
from .resuming import rows_a_step

# They determine the state of the optimizer.
OPTIMIZER = (
    *("layer_decay", "optim", "optim_args", "optim_target_modules", "learning_rate", "lr_scheduler_type"),
    *("weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon"),
)
# They determine which rows a step reads, and thus where a run continues, which is counted in steps.
ORDER = ("seed", "data_seed", "train_sampling_strategy", "dataloader_drop_last")
MICRO_BATCH = ("per_device_train_batch_size", "gradient_accumulation_steps")
ROWS_A_STEP = "rows_a_step"  # in the record of a run


def check_arguments(folder: Path, groups: Mapping[str, Any], has_checkpoint: bool) -> None:
    """Raise `DataError` if a continued run has other arguments than its record, or would skip or repeat rows.

    The rows of a step may be divided otherwise between devices and micro-batches, unless incomplete ones are dropped.
    """
    training: TrainingArguments = groups["training"]
    if not has_checkpoint:
        return check_unchanged(folder, groups, ())
    fixed = [*OPTIMIZER, *ORDER, *MICRO_BATCH * training.dataloader_drop_last]
    if not training.learning_rate:  # that of the run, which a paper's rule gives
        fixed.remove("learning_rate")
    check_unchanged(folder, groups, fixed)
    record, now = read_run(folder), rows_a_step(training)
    first, second = (record.get("training", {}).get(name, getattr(training, name)) for name in MICRO_BATCH)
    of_earlier_versions = first * second * max(1, training.n_gpu) * training.world_size
    if (before := record.get(ROWS_A_STEP, of_earlier_versions)) != now:
        raise DataError(
            f"cannot continue the run in {folder}: a step was {before:,} rows and is {now:,}, so that rows would be "
            "skipped or read twice; restore --per_device_train_batch_size × --gradient_accumulation_steps × devices"
        )


def check_unchanged(folder: Path, groups: Mapping[str, Any], fixed: Collection[str]) -> None:
    """Raise `DataError` if the arguments of a continued run differ from its recorded ones.

    groups: the argument dataclasses under their names in run_config.json, as for `write_run`. Of the group "training",
    only the `fixed` arguments are compared.
    """
    record = read_run(folder, groups)
    for group in groups.keys() - {"training"}:
        for name, value in record[group].items():
            refuse_retired(f"--{name} {value}")
    changes = [
        f"--{name} was {record[group][name]!r} and is {value!r}"
        for group, arguments in groups.items()
        for name, value in settings_of(arguments).items()
        if (group != "training" or name in fixed) and not _agree(record.get(group, {}).get(name, value), value)
    ]
    if changes:
        raise DataError(
            f"cannot continue the run in {folder}: {'; '.join(changes)}; restore these arguments, "
            "or choose another --output_dir for a new run"
        )


def check_same_data(folder: Path, digests: Mapping[str, str | None]) -> None:
    """Raise `DataError` if a continued run would read other rows, or rows in another order, than those recorded."""
    recorded = read_run(folder).get(DIGESTS, {})
    if not recorded:
        reason = f"have no digests in {folder / RECORD}"
        print(f"the training data {reason}: whether they have changed is not known", file=sys.stderr)
    changed = [split for split in {**recorded, **digests} if recorded.get(split) != digests.get(split)]
    if recorded and changed:
        raise DataError(
            f"cannot continue the run in {folder}: the rows of {' and '.join(changed)}, or their order, are not those "
            "that it was started with; restore the data, or choose another --output_dir for a new run"
        )


def _agree(old: Any, new: Any) -> bool:
    """Compare values as recorded: of an absolute path, the record keeps only the last component."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_agree, old, new))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or old == Path(new).name or Path(old).name == new
    return old == new
