# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trainer with captured steps: on a CUDA device, a step is a few CUDA graphs instead of thousands of launches.

    trainer = CapturedTrainer(model=model, args=arguments, train_dataset=dataset, processing_class=tokenizer)
    trainer.train()

The forward and the backward pass are one graph for each static size of packed batches, clipping is another, and so is
the optimizer's step. All that Trainer does between them is done as ever: accumulation, callbacks, logs, checkpoints.
"""

from collections.abc import Callable, Mapping, Sequence
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
from transformers.training_args import OptimizerNames
from transformers.utils import logging

from ..configuration_scratch import ScratchDecoderConfig, ScratchEncoderConfig
from ..data.collators import FlatBatches
from ..fast.captured import DeviceRates, Replayed, compile_blocks, copy_all
from ..fast.hooks import recomputes
from ..fast.static_shapes import Size, choose_sizes, fill
from ..utils.errors import one_line

logger = logging.get_logger(__name__)

PACKED_MODEL_TYPES = ScratchEncoderConfig.model_type, ScratchDecoderConfig.model_type
FEWEST_STEPS = 200  # updates: a run of fewer ends before its captures have paid for themselves
SIZES = 4
SAMPLED_TEXTS = 20_000  # from whose lengths the sizes are chosen
BEGINS, SHARE, NUM_ITEMS = "begins an update", "batches of an update", "num_items_in_batch"


class CapturedTrainer(Trainer):
    """Trainer whose steps are captured where device, model and settings allow it.

    captured: None: on a CUDA device, with bf16, in a run of FEWEST_STEPS updates or more. True: always; on other
    devices, the same static batches are trained on eagerly. False: never. The log names a setting that prevents it.
    compiled: also `torch.compile` each block, which pays after thousands of steps.

    While steps are captured, a loss that is not finite is logged as it is (as with `logging_nan_inf_filter=False`): to
    look at each loss, the host would wait for the device at each step.
    """

    def __init__(self, *args: Any, captured: bool | None = None, compiled: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.captured, self.compiled = captured, compiled
        self.replays: Replays | None = None
        self.filters_losses = self.args.logging_nan_inf_filter

    def get_train_dataloader(self) -> DataLoader:
        """The batches of Trainer; where steps are captured, packed ones of static sizes."""
        self.replays = Replays(self) if self._captures() else None
        self.args.logging_nan_inf_filter = self.filters_losses and self.replays is None
        if self.replays is None:
            return super().get_train_dataloader()
        self.accelerator.dataloader_config.non_blocking = True  # a copy waits for no step
        given, self.data_collator = self.data_collator, self._static_collator()
        try:
            return super().get_train_dataloader()
        finally:
            self.data_collator = given

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        optimizer = super().create_optimizer(model)
        if self.replays is not None:
            self.replays.capture_updates(optimizer)
        return optimizer

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        if self.replays is None:
            return super().training_step(model, inputs, num_items_in_batch)
        return self.replays.passes(model, inputs, num_items_in_batch, super().training_step)

    def _clip_grad_norm(self, model: nn.Module) -> Any:
        """Private in Trainer, as nothing public lies between the backward pass and the optimizer's step."""
        if self.replays is None:
            return super()._clip_grad_norm(model)
        return self.replays.clip(model, super()._clip_grad_norm)

    def _captures(self) -> bool:
        """Return whether steps are captured; log what prevents it, unless nobody would expect it."""
        on_cuda = self.args.device.type == "cuda"
        if self.captured is False or not (on_cuda or self.captured):
            return False
        if (obstacle := self._obstacle()) is not None:
            logger.warning("Steps are not captured as CUDA graphs: %s.", obstacle)
        return obstacle is None

    def _obstacle(self) -> str | None:
        """The first setting with which steps cannot be captured, or do not pay; None: none does."""
        arguments, model, updates = self.args, cast(Any, self.model), self._updates()
        obstacles = {
            f"{type(model).__name__} takes no packed batches": model.config.model_type not in PACKED_MODEL_TYPES,
            "several devices take part": arguments.world_size > 1 or arguments.n_gpu > 1,
            "deepspeed or fsdp is set": bool(arguments.deepspeed or arguments.fsdp),
            "fp16 needs a gradient scaler, bf16 none": arguments.fp16,
            "gradient checkpointing copies the state of random numbers": recomputes(model.modules())
            or arguments.gradient_checkpointing,
            "torch_compile compiles the whole model": arguments.torch_compile,
            "torch_empty_cache_steps is set": arguments.torch_empty_cache_steps is not None,
            "only fused optimizers (optim=adamw_torch_fused) have all on the device": not self._is_fused(),
            "compute_loss_func may read the padding": self.compute_loss_func is not None,
            "the training data has no length": updates is None,
            "rows with these labels and this collator are not packed": self._packing_collator() is None,
            "float32 has no attention kernel for packed texts, bf16 has": self.captured is None and not self._is_half(),
            f"{updates} updates are too few": self.captured is None and (updates or 0) < FEWEST_STEPS,
        }
        return next((name for name, is_met in obstacles.items() if is_met), None)

    def _updates(self) -> int | None:
        """How many updates a run has at most; None: unknown."""
        arguments = self.args
        if not hasattr(self.train_dataset, "__len__"):
            return None
        texts = arguments.train_batch_size * arguments.gradient_accumulation_steps
        planned = int(arguments.num_train_epochs * -(-len(cast(Any, self.train_dataset)) // texts))
        return arguments.max_steps if arguments.max_steps > 0 else planned

    def _is_half(self) -> bool:
        return self.args.bf16 or cast(Any, self.model).dtype is torch.bfloat16

    def _is_fused(self) -> bool:
        if self.optimizer is None:
            return OptimizerNames(self.args.optim) is OptimizerNames.ADAMW_TORCH_FUSED
        return all(group.get("fused") for group in self.optimizer.param_groups)

    def _packing_collator(self) -> Callable[..., Any] | None:
        """The collator that packs what Trainer's would pad: class numbers, one a text, or next tokens; else None."""
        collator, rows = self.data_collator, cast(Any, self.train_dataset)
        pads = isinstance(collator, (DataCollatorWithPadding, FlatBatches)) or collator is default_data_collator
        if pads and isinstance(rows[0].get("labels", rows[0].get("label")), (int, np.integer)):
            return FlatBatches()
        predicts_next = cast(Any, self.model).config.model_type == ScratchDecoderConfig.model_type
        if isinstance(collator, DataCollatorWithFlattening) and predicts_next:
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
        self.buffers: dict[nn.Parameter, Tensor] = {}
        self.graphs: dict[str, Replayed] = {}
        if trainer.compiled and trainer.args.device.type == "cuda":
            compile_blocks(self.model)

    def passes(self, model: nn.Module, inputs: Mapping[str, Any], num_items: Any, step: Callable) -> Tensor:
        """Return the loss of step(model, inputs, num_items), Trainer's own, which leaves the gradients."""

        def compute(batch: dict[str, Any]) -> Tensor:
            inputs = {name: value for name, value in batch.items() if name not in (BEGINS, SHARE, NUM_ITEMS)}
            if batch[BEGINS]:
                self.model.zero_grad()
            else:
                self._attach()
            loss = step(model, inputs, batch[NUM_ITEMS])
            self._keep()
            return loss

        self.model.train()
        begins = all(weight.grad is None for weight in self.buffers)
        share = self.trainer.current_gradient_accumulation_steps
        try:
            loss = self._replayed("passes", compute)({**inputs, BEGINS: begins, SHARE: share, NUM_ITEMS: num_items})
        except RuntimeError as error:  # of a capture, or one that comes again
            logger.warning("Steps are not captured as CUDA graphs: %s. Training goes on without.", one_line(error))
            self.trainer.replays = None
            self.model.zero_grad() if begins else self._attach()
            return step(model, inputs, num_items)
        self._attach()
        return loss

    def clip(self, model: nn.Module, clip: Callable[[nn.Module], Tensor]) -> Tensor:
        """Return the norm of the gradients, which clip(model), Trainer's own, scales down."""
        return self._replayed("clipping", lambda _: clip(model))({})

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
            self._replayed("updates", compute)({"settings": str([*map(_settings, optimizer.param_groups)])})

        def restored(_: torch.optim.Optimizer) -> None:
            self.graphs.pop("updates", None)  # it updates the state of before

        optimizer.step = MethodType(step, optimizer)  # type: ignore[method-assign]
        optimizer.register_load_state_dict_post_hook(restored)

    def _replayed(self, name: str, compute: Callable[[dict[str, Any]], Tensor]) -> Replayed:
        if name not in self.graphs:
            self.graphs[name] = Replayed(self.model, compute)
        return self.graphs[name]

    def _attach(self) -> None:
        for weight, buffer in self.buffers.items():
            weight.grad = buffer

    def _keep(self) -> None:
        """Copy the gradients of a backward pass to their buffers, where they are not there already."""
        found = [weight for weight in self.model.parameters() if weight.grad is not None]
        for weight in found:
            if weight not in self.buffers:
                self.buffers[weight] = torch.empty_like(weight)
        if moved := [weight for weight in found if weight.grad is not self.buffers[weight]]:
            gradients = [cast(Tensor, weight.grad) for weight in moved]
            copy_all([self.buffers[weight] for weight in moved], gradients)


def _settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """What a graph has as constants: all of a parameter group but its rate and the parameters."""
    return {name: value for name, value in group.items() if name not in ("params", "lr")}
