# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trainer with captured steps: on a CUDA device, a step is a few CUDA graphs instead of thousands of launches.

    trainer = CapturedTrainer(model=model, args=arguments, train_dataset=dataset, processing_class=tokenizer)
    trainer.train()

The forward and the backward pass are one graph for each static size of packed batches, clipping is another, and so is
the optimizer's step. All that Trainer does between them is done as ever: accumulation, callbacks, logs, checkpoints.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import (
    DataCollatorWithFlattening,
    DataCollatorWithPadding,
    Trainer,
    default_data_collator,
)
from transformers.trainer_utils import TrainOutput
from transformers.training_args import OptimizerNames
from transformers.utils import logging

from ..configuration_scratch import ScratchDecoderConfig, ScratchEncoderConfig
from ..data.collators import FlatBatches
from ..fast.captured import CaptureError, DeviceRates, Replayed, compile_blocks, copy_all
from ..fast.hooks import recomputes
from ..fast.static_shapes import Size, choose_sizes, fill
from ..utils.errors import one_line

logger = logging.get_logger(__name__)

PACKED_MODEL_TYPES = ScratchEncoderConfig.model_type, ScratchDecoderConfig.model_type
FEWEST_STEPS = 200  # updates: a run of fewer ends before its captures have paid for themselves
SIZES = 4
SAMPLED_TEXTS = 20_000  # from whose lengths the sizes are chosen
BEGINS, SHARE, TRAINED, NUM_ITEMS = CONDITIONS = "begins", "batches of an update", "trained weights", "num_items"
NOT_FUSED = "only fused optimizers (optim=adamw_torch_fused) have all on the device"
PADDING = DataCollatorWithPadding, FlatBatches


class CapturedTrainer(Trainer):
    """Trainer whose steps are captured where device, model and settings allow it.

    captured: None: on a CUDA device, with bf16, in a run of FEWEST_STEPS updates or more. True: always; on other
    devices, the same static batches are trained on eagerly. False: never. The log names a setting that prevents it.
    compiled: also `torch.compile` each block, which pays after thousands of steps.

    While steps are captured, a loss that is not finite is logged as it is (as with `logging_nan_inf_filter=False`): to
    look at each loss, the host would wait for the device at each step.
    """

    train_collator: Callable[[Any], Any] | None = None  # where it is not that of evaluation
    skips_padding = False  # whether a compute_loss that replaces Trainer's leaves out labels of -100

    def __init__(self, *args: Any, captured: bool | None = None, compiled: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.captured, self.compiled = captured, compiled
        self.replays: Replays | None = None
        self.filters_losses = self.args.logging_nan_inf_filter

    def train(self, *args: Any, **kwargs: Any) -> TrainOutput:
        try:
            return super().train(*args, **kwargs)
        finally:
            self.stop_replays()

    def get_train_dataloader(self) -> DataLoader:
        """The batches of Trainer; where steps are captured, packed ones of static sizes."""
        self.stop_replays()
        given = self.data_collator
        self.data_collator = self.train_collator or given
        try:
            if self._captures():
                self.replays = Replays(self)
                self.args.logging_nan_inf_filter = False
                self.accelerator.dataloader_config.non_blocking = True  # a copy waits for no step
                self.data_collator = self._static_collator()
            return super().get_train_dataloader()
        finally:
            self.data_collator = given

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        optimizer = super().create_optimizer(model)
        if self.replays is not None:
            if all(group.get("fused") and "capturable" in group for group in optimizer.param_groups):
                self.replays.capture_updates(optimizer)
            else:
                self.stop_replays(NOT_FUSED)
        return optimizer

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        if self.replays is None:
            return super().training_step(model, inputs, num_items_in_batch)
        return self.replays.passes(model, inputs, num_items_in_batch, super().training_step)

    def stop_replays(self, reason: str | None = None) -> None:
        """Train without graphs from here on, and free their memory."""
        if reason is not None:
            logger.warning("Steps are not captured as CUDA graphs: %s.", reason)
        if self.replays is not None:
            self.replays.end()
            self.replays = None
            self.args.logging_nan_inf_filter = self.filters_losses

    def _captures(self) -> bool:
        """Return whether steps are captured. What prevents it is in the log, as a warning where it was asked for."""
        if self.captured is False or not (self.args.device.type == "cuda" or self.captured):
            return False
        obstacles = [reason for reason, prevents in self._obstacles().items() if prevents] or self._obstacles_of_data()
        if obstacles:
            level = logger.warning if self.captured else logger.info
            level("Steps are not captured as CUDA graphs: %s.", obstacles[0])
        return not obstacles

    def _obstacles(self) -> dict[str, bool]:
        """Return the settings with which steps cannot be captured, and whether each is given."""
        arguments, model = self.args, cast(Any, self.model)
        is_own = self.optimizer is not None or self.optimizer_cls_and_kwargs is not None
        is_fused = is_own or OptimizerNames(arguments.optim) is OptimizerNames.ADAMW_TORCH_FUSED
        has_loss = type(self).compute_loss is not Trainer.compute_loss and not self.skips_padding
        is_half = arguments.bf16 or getattr(model, "dtype", None) is torch.bfloat16
        model_type = getattr(getattr(model, "config", None), "model_type", None)
        return {
            f"{type(model).__name__} takes no packed batches": model_type not in PACKED_MODEL_TYPES,
            "several devices take part": arguments.world_size > 1 or arguments.n_gpu > 1,
            "deepspeed or fsdp is set": bool(arguments.deepspeed or arguments.fsdp),
            "fp16 needs a gradient scaler, bf16 none": arguments.fp16,
            "gradient checkpointing copies the state of random numbers": (
                arguments.gradient_checkpointing or recomputes(model.modules())
            ),
            "torch_compile compiles the whole model": arguments.torch_compile,
            "torch_empty_cache_steps is set": arguments.torch_empty_cache_steps is not None,
            NOT_FUSED: not is_fused,
            "a loss function of your own may read the padding": self.compute_loss_func is not None or has_loss,
            "float32 has no attention kernel for packed texts, bf16 has": self.captured is None and not is_half,
        }

    def _obstacles_of_data(self) -> list[str]:
        """Return what of the training data prevents captures, at most one of them."""
        arguments, rows = self.args, cast(Any, self.train_dataset)
        if not hasattr(rows, "__len__") or not len(rows):
            return ["the training data has no length"]
        if self._packing_collator() is None:
            return ["rows with these labels and this collator are not packed"]
        texts, updates = arguments.train_batch_size * arguments.gradient_accumulation_steps, arguments.max_steps
        if updates <= 0:
            updates = int(arguments.num_train_epochs * -(-len(rows) // texts))
        return [f"{updates} updates are too few"] if self.captured is None and updates < FEWEST_STEPS else []

    def _packing_collator(self) -> Callable[..., Any] | None:
        """The collator that packs what Trainer's would pad: class numbers, one a text, or next tokens; else None."""
        config, row = cast(Any, self.model).config, cast(Any, self.train_dataset)[0]
        is_plain = type(self.data_collator) in PADDING or self.data_collator is default_data_collator
        has_classes = config.num_labels > 1 and config.problem_type in (None, "single_label_classification")
        label = row.get("labels", row.get("label")) if isinstance(row, Mapping) else None
        if is_plain and has_classes and isinstance(label, (int, np.integer)):
            return FlatBatches()
        predicts_next = config.model_type == ScratchDecoderConfig.model_type
        if type(self.data_collator) is DataCollatorWithFlattening and predicts_next:
            return DataCollatorWithFlattening(return_flash_attn_kwargs=True)
        return None

    def _static_collator(self) -> "StaticBatches":
        rows, config = cast(Any, self.train_dataset), cast(Any, self.model).config
        numbers = np.random.default_rng(0).permutation(len(rows))[:SAMPLED_TEXTS]
        lengths = [len(rows[int(number)]["input_ids"]) for number in numbers]
        sizes = choose_sizes(lengths, self.args.train_batch_size, SIZES)
        return StaticBatches(cast(Any, self._packing_collator()), sizes, config.pad_token_id or 0)


@dataclass(frozen=True)
class StaticBatches:
    """Packed batches of a collator, filled up to static sizes."""

    collator: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]]
    sizes: Sequence[Size]
    pad_token_id: int

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return fill(self.collator(rows), self.sizes, self.pad_token_id)


class Replays:
    """The graphs of a run: of the passes for each size, of clipping, and of updates.

    The gradients lie in buffers which all graphs share. A pass that begins an update overwrites them, another adds.
    """

    def __init__(self, trainer: CapturedTrainer) -> None:
        self.trainer, self.model = trainer, cast(Any, trainer.model)
        self.weights = list(self.model.parameters())  # to walk through the modules at each step takes the host long
        self.buffers: dict[nn.Parameter, Tensor] = {}
        self.graphs: dict[str, Replayed] = {}
        self.clips_eagerly = trainer.accelerator.clip_grad_norm_
        self._capture_clipping(trainer.accelerator)
        if trainer.compiled and trainer.args.device.type == "cuda":
            compile_blocks(self.model)

    def passes(self, model: nn.Module, inputs: Mapping[str, Any], num_items: Any, step: Callable) -> Tensor:
        """Return the loss of step(model, inputs, num_items), Trainer's own, which leaves the gradients."""

        def compute(batch: dict[str, Any]) -> Tensor:
            inputs = {name: value for name, value in batch.items() if name not in CONDITIONS}
            self._begin(batch[BEGINS])
            loss = step(model, inputs, batch[NUM_ITEMS])
            self._keep()
            return loss

        if not self.model.training:
            self.model.train()
        begins = all(weight.grad is None for weight in self.buffers)
        trained = tuple(weight.requires_grad for weight in self.weights)
        conditions = begins, self.trainer.current_gradient_accumulation_steps, trained, num_items
        try:
            loss = self._replayed("passes", compute, {**inputs, **dict(zip(CONDITIONS, conditions))})
        except CaptureError as error:
            self._begin(begins)
            self._give_up(error)
            return step(model, inputs, num_items)
        self._attach()
        return loss

    def _capture_clipping(self, accelerator: Any) -> None:
        """Let accelerator.clip_grad_norm_ replay, by which Trainer clips between the backward pass and the update."""
        eagerly = self.clips_eagerly

        def clip(parameters: Iterable[nn.Parameter], max_norm: float, *options: Any) -> Tensor:
            if max_norm == math.inf or options:  # Trainer asks for the norm alone, or it is not Trainer
                return eagerly(parameters, max_norm, *options)
            settings = {"max_norm": max_norm, TRAINED: self._with_gradients()}
            try:
                return self._replayed("clipping", lambda given: eagerly(self.weights, given["max_norm"]), settings)
            except CaptureError as error:
                self._give_up(error)
                return eagerly(parameters, max_norm)

        accelerator.clip_grad_norm_ = clip

    def capture_updates(self, optimizer: torch.optim.Optimizer) -> None:
        """Let optimizer.step replay, as schedulers let it count."""
        optimizer = getattr(optimizer, "optimizer", optimizer)  # Accelerate's has it inside
        rates = DeviceRates(optimizer, self.trainer.args.device)

        def compute(_: dict[str, Any]) -> Tensor:
            rates.step()
            return rates.rates[0]

        def step(optimizer: torch.optim.Optimizer, closure: None = None) -> None:
            if self.trainer.replays is not self:
                return rates.update()
            rates.refresh()
            # What a graph has as constants: all of a parameter group but its rate and the parameters.
            groups = optimizer.param_groups
            settings = str([{name: group[name] for name in group if name not in ("params", "lr")} for group in groups])
            try:
                self._replayed("updates", compute, {"settings": settings, TRAINED: self._with_gradients()})
            except CaptureError as error:
                self._give_up(error)
                rates.update()

        def restored(_: torch.optim.Optimizer) -> None:
            self.graphs.pop("updates", None)  # it updates the state of before

        optimizer.step = MethodType(step, optimizer)  # type: ignore[method-assign]
        optimizer.register_load_state_dict_post_hook(restored)

    def end(self) -> None:
        """Free the graphs and the buffers. Gradients that an update still needs stay with their weights."""
        self.trainer.accelerator.clip_grad_norm_ = self.clips_eagerly
        self.graphs.clear()
        self.buffers.clear()

    def _replayed(self, name: str, compute: Callable[[dict[str, Any]], Tensor], batch: Mapping[str, Any]) -> Tensor:
        if name not in self.graphs:
            self.graphs[name] = Replayed(self.model, compute)
        return self.graphs[name](batch)

    def _give_up(self, error: CaptureError) -> None:
        self.trainer.stop_replays(f"a capture failed ({one_line(error)})")

    def _with_gradients(self) -> tuple[bool, ...]:
        return tuple(weight.grad is not None for weight in self.weights)

    def _begin(self, begins: bool) -> None:
        """Leave no gradients where an update begins, and else those of the passes before."""
        if begins:
            self.model.zero_grad()
        else:
            self._attach()

    def _attach(self) -> None:
        for weight, buffer in self.buffers.items():
            weight.grad = buffer if weight.requires_grad else None

    def _keep(self) -> None:
        """Copy the gradients of a backward pass to their buffers, where they are not there already."""
        found = [weight for weight in self.weights if weight.grad is not None]
        for weight in found:
            if weight not in self.buffers:
                self.buffers[weight] = torch.empty_like(weight)
        if moved := [weight for weight in found if weight.grad is not self.buffers[weight]]:
            gradients = [cast(Tensor, weight.grad) for weight in moved]
            copy_all([self.buffers[weight] for weight in moved], gradients)
