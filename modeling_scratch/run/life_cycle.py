# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The life cycle of a training run: check, record, train, save, share and summarise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
from transformers import Trainer, set_seed

from ..sharing.hub import REPEAT, upload
from ..sharing.model_card import write_card
from ..sharing.run_record import DIGESTS, read_run, write_run
from ..sharing.verification import write_verification
from ..utils.errors import DataError, attempt, duration, one_line, times
from .arguments import checking_arguments
from .checkpoints import checkpoint_to_resume, has_checkpoint, step_of
from .layout import CARD, ENTRIES, RECORD, VERIFICATION
from .resuming import ROWS_A_STEP, check_arguments, rows_a_step
from .run_folder import check, claim, delete_set_aside, refuse_links


@dataclass
class Run:
    """One run of a program: `open` checks its folder, `start` records it there, `train` fills it."""

    program: str  # recorded as scripts/NAME.py
    groups: dict[str, Any]  # argument dataclasses: model, data, training
    checkpoint: str | None  # to resume from
    continues: bool = False  # from a checkpoint, or with a stage of it
    digests: Mapping[str, str | None] = field(default_factory=dict)  # of the rows of each split
    noted: dict[str, Any] = field(default_factory=dict)  # further entries of the record
    stages: list[Callable[[], Any]] = field(default_factory=list)  # before the training; each returns its row
    unlabelled: Sequence[str] = ()  # texts that they read
    wanted: Any = None  # options of the stages, as they are given
    fine_tuned: Any = None  # model arguments that the stages leave; None: those of the user

    @classmethod
    def open(
        cls, program: str, model: Any, data: Any, training: Any, inputs: Sequence[str] = (), goes_on: bool = False
    ) -> "Run":
        """Create the run. Raises `DataError` if its folder is not available or holds a run with other arguments.

        inputs: the run's input files, which must lie outside the folder. goes_on: whether the folder's run continues
        without a checkpoint.
        """
        run = cls(program, {"model": model, "data": data, "training": training}, checkpoint_to_resume(training))
        run.continues = run.checkpoint is not None or goes_on
        if run.continues:
            refuse_links(run.folder)
            check_arguments(run.folder, run.groups, run.checkpoint is not None)
        elif run.is_main:
            check(run.folder, training.overwrite, inputs)
        set_seed(training.seed)
        return run

    @classmethod
    def open_stage(cls, program: str, model: Any, data: Any, training: Any) -> "Run":
        """Create or continue the run of a stage, in a folder inside that of the whole run, which may be a new one."""
        training.resume_from_checkpoint = "last" if has_checkpoint(training) else None
        return cls.open(program, model, data, training, goes_on=(Path(training.output_dir) / RECORD).is_file())

    @property
    def folder(self) -> Path:
        return Path(self.groups["training"].output_dir or "")

    @property
    def resumed_at(self) -> int:
        """The step of the checkpoint; 0 for a new run."""
        return step_of(self.checkpoint)

    @property
    def options(self) -> Any:
        """The arguments of the model to train."""
        return self.fine_tuned or self.groups["model"]

    @property
    def is_main(self) -> bool:
        """Whether this process writes to the folder."""
        return self.groups["training"].should_save

    def check_data(self, digests: Mapping[str, str | None]) -> None:
        """Record the digests of the rows.

        Raises `DataError` if a continued run would read other rows, or rows in another order, than those recorded.
        """
        self.digests = digests
        recorded = read_run(self.folder).get(DIGESTS, {}) if self.continues else digests
        if changed := [split for split in {**recorded, **digests} if recorded.get(split) != digests.get(split)]:
            raise DataError(
                f"cannot continue the run in {self.folder}: the rows of {' and '.join(changed)}, or their order, are "
                "not those that it was started with; restore the data, or the version of this package that "
                "run_config.json names, as another may hold out other texts; or choose another --output_dir for a new "
                "run"
            )

    def record(self, notes: Sequence[str], **record: Any) -> None:
        """Claim the folder of a new run, and write run_config.json."""
        steps = {"resumed_at": self.resumed_at, ROWS_A_STEP: rows_a_step(self.groups["training"])}
        record |= {DIGESTS: self.digests, **steps, **self.noted}
        if self.is_main:
            if not self.continues:
                claim(self.folder)
            write_run(self.folder, self.program, self.groups, notes, **record)
        self.continues = True

    def train(self, trainer: Trainer, evaluates: bool = True, settle: Callable[[], object] | None = None) -> None:
        """Train, and save the model, its scores and its history; then delete the earlier run that it replaces.

        settle: chooses the weights before they are saved.
        """
        result = trainer.train(resume_from_checkpoint=self.checkpoint)
        if settle:
            settle()
        trainer.save_model(_internal_call=True)  # the push comes later, with the scores
        if self.is_main:
            delete_set_aside(self.folder)
        trainer.save_metrics("train", result.metrics)
        if evaluates:
            trainer.save_metrics("eval", trainer.evaluate())
        trainer.save_state()


def rehearse(trainer: Any) -> None:
    """Build what training needs and discard it. Raises `DataError` if the arguments do not permit it."""
    with checking_arguments(), torch.random.fork_rng(devices=[]):
        trainer.get_eval_dataloader()
        *_, steps = trainer.set_initial_training_values(trainer.args, trainer.get_train_dataloader())
        if not trainer.args.optim.endswith("layerwise"):  # these hook into the model
            trainer.create_optimizer_and_scheduler(steps)
            for rate_at in getattr(trainer.lr_scheduler, "lr_lambdas", ()):
                rate_at(steps)
    trainer.optimizer = trainer.lr_scheduler = None
    trainer.rehearse_saving()


def share(trainer: Trainer) -> None:
    """Write verification record and card, and push if requested. Raises `DataError` if the push fails."""
    if not trainer.is_world_process_zero():
        return
    arguments, name, folder = trainer.args, trainer.hub_model_id, Path(trainer.args.output_dir or "")

    def card() -> None:
        if not write_card(folder, name, tags=getattr(trainer.model, "model_tags", None)):
            print(f"{folder / CARD} was edited and is kept")

    attempt(VERIFICATION, write_verification, folder)
    attempt(CARD, card)
    if arguments.push_to_hub:
        try:
            token = arguments.hub_token or huggingface_hub.get_token() or ""
            where = name or "", token, bool(arguments.hub_private_repo), arguments.hub_revision
            print(f"pushed: {upload(folder, 'End of training', *where).commit_url}")
        except Exception as error:  # network, client, server: many types
            reason = one_line(error).removesuffix(f"; {REPEAT}")
            again = f"modeling-scratch push --folder {folder} --repo_id {name or ''}"
            raise DataError(f"the run is saved, but the push failed: {reason}; to retry: {again}") from error


def summary(trainer: Any, resumed_at: int) -> str:
    """Summarise the steps of this process, by a `RunTrainer`. resumed_at: the step that it began with."""
    state, output = trainer.state, Path(trainer.args.output_dir or "")
    steps, since = state.global_step - resumed_at, f" since step {resumed_at:,}" if resumed_at else ""
    seconds = next(entry["train_runtime"] for entry in reversed(state.log_history) if "train_runtime" in entry)
    rate = f", {steps / seconds:,.1f} per second" if steps else ""
    weights = sum(weight.numel() for weight in trainer.model.parameters())
    files = [f"{path.name} ({each.what})" for each in ENTRIES if each.what for path in sorted(output.glob(each.name))]
    return (
        f"{steps:,} steps{since} in {duration(seconds)}{rate}, evaluations and checkpoints included, "
        f"{trainer.seconds_for_data / seconds:.1%} of it waiting for data; "
        f"{times(state.epoch or 0, 'epoch')}, {weights:,} parameters\n"
        f"saved in {output}: the model and its tokenizer, {', '.join(files)}"
    )
