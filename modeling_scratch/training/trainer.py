# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The trainers of the programs: resumable, shared with card and record, with packed batches and layerwise rates."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from torch import nn, optim
from torch.utils.data import DataLoader
from transformers import Trainer
from transformers.trainer_utils import HubStrategy
from transformers.utils.hub import PushInProgress, hf_api

from ..configuration_scratch import ScratchDecoderConfig, ScratchEncoderConfig
from ..data.collators import FlatBatches
from ..sharing.model_card import CARD_FILE, write_card
from ..sharing.verification_record import write_verification
from ..utils.errors import DataError, attempt, one_line
from ..utils.markdown import excerpt
from .distributed import whole_model
from .resumable import SurvivingTrainer

FAMILIES = ScratchEncoderConfig.model_type, ScratchDecoderConfig.model_type


class FlatTraining(Trainer):
    """Trainer that trains on FlatBatches where its arguments say so, or nothing and the device gains by it.

    It evaluates padded batches: the loss of an evaluation is a mean over rows, and each text has to be one.
    """

    def get_train_dataloader(self) -> DataLoader:
        padding = self.data_collator
        self.data_collator = FlatBatches() if self._flattens() else padding
        try:
            return super().get_train_dataloader()
        finally:
            self.data_collator = padding

    def _flattens(self) -> bool:
        """On a CPU models pack by themselves. Raises `DataError` where it is wanted and cannot be."""
        arguments, model = self.args, cast(Any, self.model)
        wanted: bool | None = getattr(arguments, "flat_batches", None)
        obstacle = None
        if getattr(model.config, "model_type", None) not in FAMILIES:
            obstacle = f"{type(model).__name__} would take all texts of a batch for one"
        elif arguments.n_gpu > 1:
            obstacle = "DataParallel cuts batches by rows, and there is one: start it by accelerate launch or torchrun"
        if wanted and obstacle:
            raise DataError(f"--flat_batches True: {obstacle}")
        if wanted is not None or obstacle:
            return bool(wanted)
        in_halves = arguments.bf16 or arguments.fp16  # graphs of others attend by a mask of the whole row
        return arguments.device.type == "cuda" and (in_halves or not arguments.torch_compile)


VERIFIED_TEXTS = 3


class SharingTrainer(SurvivingTrainer):
    """Trainer that pushes whole models: with their code and the card of the run, and without pickled arguments."""

    push_in_progress: Any  # None where nothing is on its way; of the main process alone

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        forget_last_call(self.processing_class)
        super()._save(output_dir, state_dict)
        if self.args.should_save:  # run_config.json says the same, in the open and without tokens
            Path(output_dir or self.args.output_dir or "", "training_args.bin").unlink(missing_ok=True)

    def create_model_card(
        self,
        language: str | None = None,
        license: str | None = None,
        tags: str | list[str] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Of what Trainer's takes, what the run does not know itself."""
        if self.is_world_process_zero():
            attempt(CARD_FILE, self._write_card, language=language, license=license, tags=tags)

    def _write_card(self, **told: Any) -> None:
        folder = Path(self.args.output_dir or "")
        if not write_card(folder, self.hub_model_id, is_finished=not self.is_in_train, **told):
            print(f"{folder / CARD_FILE} was edited, and stays as it is")

    def _push_from_checkpoint(self, checkpoint_folder: str) -> None:
        """Trainer's sends the weights without their code, and its arguments as a pickle, with the token among them."""
        arguments, step = self.args, self.state.global_step
        job = getattr(self, "push_in_progress", None)
        waits = job is not None and not job.is_done() and not arguments.hub_always_push and arguments.world_size == 1
        if arguments.hub_strategy == HubStrategy.END or waits:
            return
        self._finish_current_push()
        message = f"Training in progress, step {step}"
        jobs: list[Any] = [self.push_to_hub(message, blocking=False)]
        if self.is_world_process_zero():
            jobs += self._push_whole_checkpoint(Path(checkpoint_folder), f"{message}, checkpoint")
            self.push_in_progress = PushInProgress(jobs)  # type: ignore[arg-type]  # a list, as Trainer gives it

    def _push_whole_checkpoint(self, folder: Path, message: str) -> list[Any]:
        """What training goes on from, too, where that is wanted."""
        names = {HubStrategy.CHECKPOINT: "last-checkpoint", HubStrategy.ALL_CHECKPOINTS: folder.name}
        if (name := names.get(HubStrategy(self.args.hub_strategy))) is None:
            return []
        upload = partial(hf_api().upload_folder, repo_id=self.hub_model_id or "", run_as_future=True)
        where = {"path_in_repo": name, "token": self.args.hub_token, "revision": self.args.hub_revision}
        return [upload(folder_path=folder, commit_message=message, **where)]


def forget_last_call(tokenizer: Any) -> None:
    """A fast tokenizer keeps the truncation and padding that it was called with last, and would save them."""
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        backend.no_truncation()
        backend.no_padding()


def share(trainer: SharingTrainer, texts: Sequence[str]) -> None:
    """The end of a run, when all else is in its folder; texts: some that the model was judged on.

    Raises `DataError` where what was to be pushed could not be.
    """
    folder = Path(trainer.args.output_dir or "")
    if trainer.is_world_process_zero():
        attempt("verify.json", _verify, trainer, folder, [excerpt(text) for text in texts[:VERIFIED_TEXTS]])
        trainer.create_model_card()
    if trainer.args.push_to_hub:
        try:
            commit = trainer.push_to_hub()
        except Exception as error:  # of network, client and server: open-ended
            again = f"modeling-scratch push --folder {folder} --repo_id {trainer.hub_model_id}"
            raise DataError(f"all is saved, but could not be pushed: {one_line(error)}; later: {again}") from error
        if trainer.is_world_process_zero():
            print(f"pushed: {commit.commit_url}")


def _verify(trainer: Trainer, folder: Path, texts: list[str]) -> None:
    model: Any = whole_model(trainer)
    tokenizer: Any = trainer.processing_class
    write_verification(model, tokenizer, folder, texts)


LAYER = re.compile(r"\.(\d+)\.")


class LayerwiseDecay(Trainer):
    """rate of a layer = learning_rate * layer_decay^depth (Howard and Ruder 2018, 3.2; depths as in Bao et al. 2021).

    With layer_decay = 1 it is Trainer, group by group.
    """

    def create_optimizer(self, model: nn.Module | None = None) -> optim.Optimizer:
        is_new, decay = self.optimizer is None, getattr(self.args, "layer_decay", 1.0)
        optimizer = super().create_optimizer(model)
        if is_new and decay != 1:
            whole: Any = self.model
            split_by_depth(optimizer, depths(whole if model is None else model, whole.base_model_prefix), decay)
        return optimizer


def check_layer_decay(decay: float) -> None:
    if not 0 < decay <= 1:
        raise DataError(f"--layer_decay {decay}: has to be above 0 and at most 1, such as 0.9")


def split_by_depth(optimizer: optim.Optimizer, depth_of: dict[nn.Parameter, int], decay: float) -> None:
    """Each group of the optimizer, which has taken no step yet, becomes one for each depth; the head's come first.

    The first rate is the one that Trainer logs.
    """
    groups = [
        {**group, "params": [weight for weight in group["params"] if depth_of[weight] == depth]}
        | {"lr": group["lr"] * decay**depth}
        for depth in sorted(set(depth_of.values()))
        for group in optimizer.param_groups
    ]
    optimizer.param_groups = [group for group in groups if group["params"]]


def depths(model: nn.Module, body: str) -> dict[nn.Parameter, int]:
    """How far each parameter is below the head: 0 the head and a last norm, 1 the top layer, ... the embeddings.

    body: the name under which the model with a head holds the one without. Raises `DataError` where that has no layers.
    """
    inside = {name: name.partition(f"{body}.")[2] for name, _ in model.named_parameters()}
    layers = {name: int(found[1]) for name, rest in inside.items() if (found := LAYER.search(f".{rest}"))}
    if not layers:
        raise DataError(f"--layer_decay: {type(model).__name__} has no layers that are numbered")
    count = max(layers.values()) + 1
    bottom = {name: count + 1 for name, rest in inside.items() if "embed" in rest and name not in layers}
    below = {**{name: count - number for name, number in layers.items()}, **bottom}
    return {weight: below.get(name, 0) for name, weight in model.named_parameters()}
