# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trainers with packed batches, layer-wise learning rates, and pushes that include code, card and record."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from huggingface_hub.utils import filter_repo_objects
from torch import nn, optim
from torch.utils.data import DataLoader
from transformers import Trainer
from transformers.trainer_utils import EvalLoopOutput, HubStrategy
from transformers.utils.hub import PushInProgress, hf_api

from ..configuration_scratch import ScratchDecoderConfig, ScratchEncoderConfig
from ..data.collators import FlatBatches
from ..data.text_pairs import shortened
from ..report.report_files import quotes_texts
from ..sharing.leaks import check_contents
from ..sharing.model_card import CARD_FILE, write_card
from ..sharing.quotations import quoting_files
from ..sharing.verification_record import write_verification
from ..utils.errors import DataError, attempt, one_line
from .distributed import whole_model
from .layout import NOT_PUSHED
from .progress import print_lines
from .resumable import ResumableTrainer

FLAT_MODEL_TYPES = ScratchEncoderConfig.model_type, ScratchDecoderConfig.model_type


class WholeEvaluation(Trainer):
    """Trainer that evaluates on every row, as `dataloader_drop_last` applies to training, and keeps the weights."""

    def train_collator(self) -> Any:
        """Return the collator of training batches; a subclass may have another one for them."""
        return self.data_collator

    def get_train_dataloader(self) -> DataLoader:
        collator = self.data_collator
        self.data_collator = self.train_collator()
        try:
            return super().get_train_dataloader()
        finally:
            self.data_collator = collator

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> EvalLoopOutput:
        """Restore the weights, which Trainer rounds with --bf16_full_eval and --fp16_full_eval."""
        if self.is_in_train or not (self.args.bf16_full_eval or self.args.fp16_full_eval):
            return super().evaluation_loop(*args, **kwargs)
        model: Any = self.model
        weights = [(weight, weight.data) for weight in model.parameters()]
        buffers = [(part, name, value) for part in model.modules() for name, value in part.named_buffers(recurse=False)]
        try:
            return super().evaluation_loop(*args, **kwargs)
        finally:
            for weight, value in weights:
                weight.data = value
            for part, name, value in buffers:
                setattr(part, name, value)

    def get_eval_dataloader(self, *args: Any, **kwargs: Any) -> DataLoader:
        with self._every_row():
            return super().get_eval_dataloader(*args, **kwargs)

    def get_test_dataloader(self, *args: Any, **kwargs: Any) -> DataLoader:
        with self._every_row():
            return super().get_test_dataloader(*args, **kwargs)

    @contextmanager
    def _every_row(self) -> Iterator[None]:
        drops, self.args.dataloader_drop_last = self.args.dataloader_drop_last, False
        try:
            yield
        finally:
            self.args.dataloader_drop_last = drops


class FlatTraining(WholeEvaluation):
    """Trainer that trains on `FlatBatches` if `flat_batches` is True, or unset on a device that benefits.

    Evaluation uses padded batches, as its loss is a mean over rows and each text must be one row.
    """

    def train_collator(self) -> Any:
        return FlatBatches() if self._flattens() else super().train_collator()

    def _flattens(self) -> bool:
        """Return whether to flatten (on a CPU, models pack internally). Raises `DataError` if it is unsupported."""
        arguments, model = self.args, cast(Any, self.model)
        requested: bool | None = getattr(arguments, "flat_batches", None)
        obstacle = None
        if getattr(model.config, "model_type", None) not in FLAT_MODEL_TYPES:
            obstacle = f"{type(model).__name__} would read all texts of a batch as one"
        elif arguments.n_gpu > 1:
            obstacle = "DataParallel splits batches by rows, and there is only one: use accelerate launch or torchrun"
        if requested and obstacle:
            raise DataError(f"--flat_batches True: {obstacle}")
        if requested is not None or obstacle:
            return bool(requested)
        is_half = arguments.bf16 or arguments.fp16  # compiled float32 graphs would mask attention over the whole row
        return arguments.device.type == "cuda" and (is_half or not arguments.torch_compile)


class TokenLoss(Trainer):
    """Trainer whose evaluation loss is the mean over all tokens, as `token_metrics` computes it.

    Trainer's own is a mean of the means of batches.
    """

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> EvalLoopOutput:
        output = super().evaluation_loop(*args, **kwargs)
        metrics = output.metrics or {}
        metrics["eval_loss"] = metrics.pop("eval_token_loss")
        return output


VERIFIED_TEXTS = 3


class SharingTrainer(WholeEvaluation, ResumableTrainer):
    """Trainer that pushes complete models with their code and model card, without pickled arguments."""

    push_in_progress: Any  # None if no push is running; set only in the main process

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        print_lines(self)

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        forget_last_call(self.processing_class)
        super()._save(output_dir, state_dict)
        if self.args.should_save:  # run_config.json records the same, readable and without tokens
            Path(output_dir or self.args.output_dir or "", "training_args.bin").unlink(missing_ok=True)

    def create_model_card(
        self,
        language: str | None = None,
        license: str | None = None,
        tags: str | list[str] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Write the card. Of Trainer's arguments, it takes those that the run does not know."""
        if self.is_world_process_zero():
            attempt(CARD_FILE, self._write_card, language=language, license=license, tags=tags)

    def push_to_hub(
        self,
        commit_message: str | None = "End of training",
        blocking: bool = True,
        token: str | None = None,
        revision: str | None = None,
        private: bool | None = None,
        **card: Any,
    ) -> Any:
        """Push the folder as Trainer does, without what `not_pushed` names.

        Raises `DataError` if a file is a link out of the folder, or contains a secret.
        """
        arguments, folder = self.args, Path(self.args.output_dir or "")
        self.callback_handler.on_push_begin(arguments, self.state, self.control)
        token = arguments.hub_token if token is None else token
        if self.hub_model_id is None:
            self.init_hf_repo(token=token, private=private)
        self.save_model(_internal_call=True)
        if not self.is_world_process_zero():
            return None
        self.create_model_card(**{"tags": getattr(self.model, "model_tags", None), **card})
        check_contents(folder, _pushed(folder), token or "")
        self._finish_current_push()
        upload = partial(hf_api().upload_folder, run_as_future=not blocking, ignore_patterns=not_pushed(folder))
        where = {"repo_id": self.hub_model_id or "", "revision": revision or arguments.hub_revision, "token": token}
        return upload(folder_path=folder, commit_message=commit_message, **where)

    def _write_card(self, **metadata: Any) -> None:
        folder = Path(self.args.output_dir or "")
        if not write_card(folder, self.hub_model_id, is_finished=not self.is_in_train, **metadata):
            print(f"{folder / CARD_FILE} was edited and is kept")

    def _push_from_checkpoint(self, checkpoint_folder: str) -> None:
        """Replace Trainer's push, which omits the models' code and includes pickled arguments with the token."""
        arguments, step = self.args, self.state.global_step
        job = getattr(self, "push_in_progress", None)
        waits = job is not None and not job.is_done() and not arguments.hub_always_push and arguments.world_size == 1
        if arguments.hub_strategy == HubStrategy.END or waits:
            return
        self._finish_current_push()
        message = f"Training in progress, step {step}"
        try:
            jobs: list[Any] = [self.push_to_hub(message, blocking=False)]
        except DataError as error:  # training goes on, and the push at its end reports it again
            print(f"WARNING: step {step} was not pushed: {error}", file=sys.stderr)
            return
        if self.is_world_process_zero():
            jobs += self._push_whole_checkpoint(Path(checkpoint_folder), f"{message}, checkpoint")
            self.push_in_progress = PushInProgress(jobs)  # type: ignore[arg-type]  # a list, as in Trainer

    def _push_whole_checkpoint(self, folder: Path, message: str) -> list[Any]:
        """Upload the checkpoint itself, if the hub strategy includes it."""
        names = {HubStrategy.CHECKPOINT: "last-checkpoint", HubStrategy.ALL_CHECKPOINTS: folder.name}
        if (name := names.get(HubStrategy(self.args.hub_strategy))) is None:
            return []
        upload = partial(hf_api().upload_folder, repo_id=self.hub_model_id or "", run_as_future=True)
        where = {"path_in_repo": name, "token": self.args.hub_token, "revision": self.args.hub_revision}
        return [upload(folder_path=folder, commit_message=message, **where)]


def not_pushed(folder: Path) -> list[str]:
    """Return the patterns of files that a push leaves out."""
    return [*NOT_PUSHED, *quoting_files(folder)]


def _pushed(folder: Path) -> list[str]:
    """Return the names of the files that Trainer uploads."""
    names = [path.relative_to(folder).as_posix() for path in folder.glob("**/*") if path.is_file()]
    return list(filter_repo_objects(names, ignore_patterns=not_pushed(folder)))


def forget_last_call(tokenizer: Any) -> None:
    """Reset the truncation and padding of a fast tokenizer's last call, which it would otherwise save."""
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        backend.no_truncation()
        backend.no_padding()


def share(trainer: SharingTrainer, texts: Sequence[str]) -> None:
    """Write verification record and card, and push if requested, at the end of a run.

    texts: evaluation texts, which the record has if it may quote them, or else sentences that are the same everywhere.
    Raises `DataError` if the push fails.
    """
    folder = Path(trainer.args.output_dir or "")
    quoted = [*map(shortened, texts[:VERIFIED_TEXTS])] if quotes_texts(trainer.args) else None
    if trainer.is_world_process_zero():
        attempt("verify.json", _verify, trainer, folder, quoted)
        trainer.create_model_card()
    if trainer.args.push_to_hub:
        try:
            commit = trainer.push_to_hub()
        except Exception as error:  # network, client, server: many types
            again = f"modeling-scratch push --folder {folder} --repo_id {trainer.hub_model_id}"
            raise DataError(f"the run is saved, but the push failed: {one_line(error)}; to retry: {again}") from error
        if trainer.is_world_process_zero():
            print(f"pushed: {commit.commit_url}")


def _verify(trainer: Trainer, folder: Path, texts: list[str] | None) -> None:
    model: Any = whole_model(trainer)
    tokenizer: Any = trainer.processing_class
    write_verification(model, tokenizer, folder, texts)


LAYER = re.compile(r"\.(\d+)\.")


class RatesByDepth(Trainer):
    """rate of a layer = learning_rate * layer_decay^depth (Howard and Ruder 2018, 3.2; depths as in Bao et al. 2021).

    The embeddings have embedding_learning_rate where it is given: a row of the table learns from the few texts with its
    token, a layer from all. Without either, the parameter groups are those of Trainer.
    """

    def create_optimizer(self, model: nn.Module | None = None) -> optim.Optimizer:
        is_new, optimizer = self.optimizer is None, super().create_optimizer(model)
        decay: float = getattr(self.args, "layer_decay", None) or 1
        embedding_rate: float | None = getattr(self.args, "embedding_learning_rate", None)
        if is_new and (decay != 1 or embedding_rate is not None):
            whole: Any = self.model
            depth_of = depths(whole if model is None else model, whole.base_model_prefix)
            bottom = max(depth_of.values())
            if decay != 1 and bottom < 2:
                raise DataError(f"--layer_decay: {type(whole).__name__} has no numbered layers")
            split_by_depth(optimizer, depth_of)
            for group in optimizer.param_groups:
                depth = depth_of[group["params"][0]]
                is_given = depth == bottom and embedding_rate is not None
                group["lr"] = embedding_rate if is_given else group["lr"] * decay**depth
        return optimizer


def split_by_depth(optimizer: optim.Optimizer, depth_of: dict[nn.Parameter, int]) -> None:
    """Split each parameter group of a fresh optimizer by depth. The head's groups come first.

    Trainer logs the first group's rate.
    """
    groups = [
        {**group, "params": [weight for weight in group["params"] if depth_of[weight] == depth]}
        for depth in sorted(set(depth_of.values()))
        for group in optimizer.param_groups
    ]
    optimizer.param_groups = [group for group in groups if group["params"]]


def depths(model: nn.Module, body: str) -> dict[nn.Parameter, int]:
    """Return each parameter's depth: 0 for the head and final norm, 1 for the top layer, ..., last the embeddings.

    body: the attribute name of the base model. Its embeddings are those by type or by name, with norms and projections
    that are named after them.
    """
    inside = {name: name.partition(f"{body}.")[2] for name, _ in model.named_parameters()}
    layers = {name: int(match[1]) for name, rest in inside.items() if (match := LAYER.search(f".{rest}"))}
    count = max(layers.values(), default=-1) + 1
    tables = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, nn.Embedding)}
    beside = {name for name, rest in inside.items() if "embed" in rest or (rest and name in tables)}
    bottom = dict.fromkeys(beside - layers.keys(), count + 1)
    below = {**{name: count - number for name, number in layers.items()}, **bottom}
    return {weight: below.get(name, 0) for name, weight in model.named_parameters()}
