# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The one trainer: which private methods of transformers.Trainer it overrides, and that the library still has them."""

import inspect

from transformers import Trainer

from modeling_scratch.run.captured_trainer import CapturedTrainer
from modeling_scratch.run.pushing import Sharing
from modeling_scratch.run.trainer import RunTrainer

OVERRIDDEN = {"_finalize_training", "_get_train_sampler", "_run_epoch", "_save", "_save_checkpoint"}
PARAMETERS = {
    "_finalize_training": ["trial", "num_train_samples", "start_time"],
    "_get_train_sampler": ["train_dataset"],
    "_save": ["output_dir", "state_dict"],
    "_save_checkpoint": ["model", "trial"],
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_the_library_has_what_is_overridden_and_calls_it() -> None:
    """A method that the library renames would be one that nobody calls, and a run that is not resumed exactly."""
    source = inspect.getsource(Trainer)
    for name in OVERRIDDEN:
        assert callable(getattr(Trainer, name, None)), f"{name}: renamed by transformers"
        assert f"self.{name}" in source, f"{name}: no longer called"
    for name, parameters in PARAMETERS.items():
        assert list(inspect.signature(getattr(Trainer, name)).parameters)[1:] == parameters, name


def test_no_other_private_method_is_overridden_and_each_says_why() -> None:
    bases = [each for each in RunTrainer.__mro__ if each.__module__.startswith("modeling_scratch.")]
    assert bases == [RunTrainer, Sharing, CapturedTrainer]
    taken = {name: each for each in bases for name in vars(each) if is_private(name) and hasattr(Trainer, name)}
    assert taken == dict.fromkeys(OVERRIDDEN, RunTrainer)
    assert all(getattr(RunTrainer, name).__doc__ for name in taken)
