# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The one trainer: which private methods of transformers.Trainer it overrides, and that the library still has them."""

import inspect

import pytest
from transformers import Trainer

from modeling_scratch.run.captured_trainer import CapturedTrainer
from modeling_scratch.run.trainer import RunTrainer

# The parameters of the library's methods, if the override does not pass all on, and the reason in their source.
OVERRIDDEN: dict[str, tuple[list[str] | None, str]] = {
    "_finalize_training": (["trial", "num_train_samples", "start_time"], "self._load_best_model()"),
    "_get_eval_sampler": (["eval_dataset"], "return LengthGroupedSampler("),
    "_get_train_sampler": (["train_dataset"], "return LengthGroupedSampler("),
    "_run_epoch": (None, "for update_step in range(num_update_steps_trained,"),
    "_save": (["output_dir", "state_dict"], "torch.save(self.args,"),
    "_save_checkpoint": (["model", "trial"], "rotate_checkpoints("),
}


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_the_library_has_what_is_overridden_calls_it_and_gives_the_reason(name: str) -> None:
    """A method that the library renames would be one that nobody calls, and a run that is not resumed exactly."""
    method, (parameters, reason) = getattr(Trainer, name, None), OVERRIDDEN[name]
    assert callable(method), "renamed by transformers"
    assert f"self.{name}" in inspect.getsource(Trainer), "no longer called"
    assert parameters in (None, list(inspect.signature(method).parameters)[1:])
    assert reason in inspect.getsource(method), "written anew: is the override still needed?"


def test_no_other_private_method_is_overridden_all_in_one_file_and_each_says_why() -> None:
    bases = [each for each in RunTrainer.__mro__ if each.__module__.startswith("modeling_scratch.")]
    assert bases == [RunTrainer, CapturedTrainer]
    private = [(name, each) for each in bases for name in vars(each) if name.startswith("_") and name[:2] != "__"]
    assert {name: each for name, each in private if hasattr(Trainer, name)} == dict.fromkeys(OVERRIDDEN, RunTrainer)
    assert all(getattr(RunTrainer, name).__doc__ for name in OVERRIDDEN)


def test_trainer_clips_by_accelerate_whose_public_method_is_captured() -> None:
    source = inspect.getsource(Trainer._clip_grad_norm)
    assert "self.accelerator.clip_grad_norm_(model.parameters(), self.args.max_grad_norm)" in source
