# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Captured steps: on a CUDA device, all kernels of a training step or of a forward pass as one graph for each shape.

A small step is over before the host has launched the next kernel; a graph is launched at once. On a CPU, all is eager.

    step = captured_step(model, optimizer, dtype=torch.bfloat16)
    for batch in batches:  # of static shapes, see static_shapes.py
        loss = step(batch)
        scheduler.step()
"""

import gc
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from .hooks import recomputes
from .static_shapes import MOST_SIZES

Batch = Mapping[str, Any]


class CaptureError(RuntimeError):
    """A capture failed. Nothing was computed; what it was meant for can be computed eagerly."""


class Replayed:
    """compute(batch) -> Tensor. On CUDA, a shape that comes a second time is captured, and replayed from then on.

    compute: runs a shape eagerly the first time, which loads and compiles kernels. It must not wait for the device.
    At most MOST_SIZES shapes are captured for training and for evaluation, in one pool of memory; others stay eager.
    A graph keeps the addresses of the weights: after `model.to`, `requires_grad_` or `add_param_group`, call forget().
    """

    def __init__(
        self, model: nn.Module, compute: Callable[[dict[str, Any]], Tensor], prepare: Callable[[], None] = lambda: None
    ) -> None:
        self.model, self.compute, self.prepare = model, compute, prepare
        self.device = next(model.parameters()).device
        self.graphs: dict[Hashable, Callable[[Batch], Tensor] | None] = {}  # None: met once
        if self.device.type == "cuda":
            self.stream, self.pool = torch.cuda.Stream(self.device), torch.cuda.graph_pool_handle()

    def __call__(self, batch: Batch) -> Tensor:
        """batch: tensors, pinned ones best, and what does not change with the shape. The result is the caller's own."""
        self.prepare()  # replays included
        if self.device.type != "cuda":
            return self.compute(_on_device(batch, self.device))
        kinds = ((value.shape, value.dtype) if isinstance(value, Tensor) else value for value in batch.values())
        shape = self.model.training, frozenset(zip(batch, kinds))
        replay = self.graphs.get(shape)
        if replay is None and shape in self.graphs and sum(map(bool, self.graphs.values())) < 2 * MOST_SIZES:
            replay = self.graphs[shape] = self._capture(batch)
        if replay is not None:
            return replay(batch)
        self.graphs[shape] = None
        return self._on_side_stream(batch)

    def forget(self) -> None:
        """Drop all graphs: shapes are captured anew."""
        self.graphs.clear()

    def _on_side_stream(self, batch: Batch) -> Tensor:
        """Compute on the stream of the captures: autograd binds what it accumulates into to the stream it meets."""
        here, on_device = torch.cuda.current_stream(self.device), _on_device(batch, self.device)
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            result = self.compute(on_device)
        here.wait_stream(self.stream)
        return result.clone()

    def _capture(self, batch: Batch) -> Callable[[Batch], Tensor]:
        here, device = torch.cuda.current_stream(self.device), torch.cuda.current_device()
        graph, held = torch.cuda.CUDAGraph(), _on_device(batch, self.device, copy=True)
        # thread_local: loaders that pin memory in other threads go on meanwhile.
        capture = torch.cuda.graph(graph, self.pool, self.stream, capture_error_mode="thread_local")
        try:
            with _undisturbed(), capture:
                result = self.compute(held)
        except RuntimeError as error:
            torch.cuda.set_stream(here)  # which torch leaves at the side stream, with its device
            torch.cuda.set_device(device)
            cause = error.__context__ or error  # the error of compute, not that of the capture's end
            raise CaptureError(str(cause)) from cause

        def replay(batch: Batch) -> Tensor:
            for name, value in held.items():
                if isinstance(value, Tensor):
                    value.copy_(batch[name], non_blocking=True)
            graph.replay()
            return result.clone()  # the next graph may write to the same memory

        return replay


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Collect garbage now, and none inside: a graph that is freed during a capture would end it with an error.

    Let cuBLAS allocate its workspaces in the memory of the graph: others may free those that it has outside, as
    torch.compile does before each of its own captures. There is no public name for it.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    torch._C._cuda_clearCublasWorkspaces()
    try:
        yield
    finally:
        torch._C._cuda_clearCublasWorkspaces()
        if was_enabled:
            gc.enable()


def _on_device(batch: Batch, device: torch.device, copy: bool = False) -> dict[str, Any]:
    return {
        name: value.to(device, non_blocking=True, copy=copy) if isinstance(value, Tensor) else value
        for name, value in batch.items()
    }


def own_loss(model: Any, batch: dict[str, Any]) -> Tensor:
    """The model's loss. Raises ValueError for whole numbers as labels of a regression: -100 would be one of them."""
    labels = batch.get("labels")
    if getattr(model.config, "num_labels", None) == 1 and labels is not None and not labels.is_floating_point():
        raise ValueError("labels: those of a model with one output have to be floats.")
    return model(**batch).loss


def captured_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    loss: Callable[[Any, dict[str, Any]], Tensor] = own_loss,
    max_norm: float | None = 1.0,
    dtype: torch.dtype | None = None,
    compiled: bool = False,
) -> Replayed:
    """Return a training step, batch -> loss: forward, backward, clipping to max_norm, optimizer step.

    Dropout draws new numbers at each replay. dtype: of autocast. compiled: torch.compile on each block, on CUDA. A step
    begins without gradients, whoever made them, and leaves none. Schedulers change the learning rate between steps.

    Raises ValueError for what cannot be captured on a CUDA device: the optimizer, float16 (which needs a gradient
    scaler), or gradient checkpointing (which copies the state of random numbers).
    """
    device = next(model.parameters()).device
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    with_gradients, rates = {*model.parameters(), *weights}, DeviceRates(optimizer, device)

    def drop_gradients() -> None:
        for weight in with_gradients:
            weight.grad = None

    def prepare() -> None:
        drop_gradients()
        rates.refresh()

    def step(batch: dict[str, Any]) -> Tensor:
        with autocast(device, dtype):
            value = loss(model, batch)
        value.backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(weights, max_norm)
        rates.step()
        drop_gradients()
        return value.detach()

    steps = Replayed(model, step, prepare)
    # A restored state has new tensors, and the graphs update those of before.
    optimizer.register_load_state_dict_post_hook(lambda _: steps.forget())
    if device.type == "cuda":
        if dtype is torch.float16:
            raise ValueError("dtype=torch.float16 needs a gradient scaler, which a captured step lacks: use bfloat16.")
        if recomputes(model.modules()):
            raise ValueError("Gradient checkpointing copies the state of random numbers: it cannot be captured.")
        if compiled:
            compile_blocks(model)
    return steps


def captured_forward(model: Any, *, dtype: torch.dtype | None = None, compiled: bool = False) -> Replayed:
    """Return a forward pass without gradients, batch -> logits. dtype, compiled: as of captured_step."""
    device = next(model.parameters()).device

    @torch.no_grad()
    def forward(batch: dict[str, Any]) -> Tensor:
        with autocast(device, dtype):
            return model(**batch).logits

    if compiled and device.type == "cuda":
        compile_blocks(model)
    return Replayed(model, forward)


def autocast(device: torch.device, dtype: torch.dtype | None) -> AbstractContextManager:
    """Mixed precision without the cache of casts, whose tensors would outlive the graph that wrote them."""
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype, cache_enabled=False)


class DeviceRates:
    """The learning rates of an optimizer as tensors on its device, which replays read; others see numbers.

    Raises ValueError for an optimizer that cannot be captured on a CUDA device.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
        if device.type == "cuda" and any("capturable" not in group for group in optimizer.param_groups):
            raise ValueError(f"{type(optimizer).__name__} cannot be captured in a CUDA graph; torch.optim.AdamW can.")
        self.optimizer, self.device, self.rates = optimizer, device, list[Tensor]()
        self.update = MethodType(type(optimizer).step, optimizer)

    def refresh(self) -> None:
        """Copy the numbers of now to the device: before each step, replayed or not."""
        groups = self.optimizer.param_groups
        self.rates += [torch.zeros((), device=self.device) for _ in groups[len(self.rates) :]]
        for group, rate in zip(groups, self.rates):
            rate.fill_(group["lr"])

    def step(self) -> None:
        """Take the optimizer's step with the rates on the device."""
        if self.device.type != "cuda":
            self.update()
            return
        groups = self.optimizer.param_groups
        before = [(group["lr"], group["capturable"]) for group in groups]
        for state in self.optimizer.state.values():  # restored ones can be on the host
            if "step" in state:
                state["step"] = torch.as_tensor(state["step"], dtype=torch.float32, device=self.device)
        try:
            for group, rate in zip(groups, self.rates):
                group.update(lr=rate, capturable=True)
            self.update()
        finally:
            for group, (rate, capturable) in zip(groups, before):
                group.update(lr=rate, capturable=capturable)


def copy_all(targets: list[Tensor], sources: list[Tensor]) -> None:
    """Copy tensors of one device by few kernels; torch has no public name for it."""
    torch._foreach_copy_(targets, sources)


def compile_blocks(model: nn.Module) -> None:
    """Compile each block; their code is the same, so one graph serves them all, for any number of tokens."""
    for module in model.modules():
        if isinstance(module, GradientCheckpointingLayer):
            module.compile(dynamic=True)
