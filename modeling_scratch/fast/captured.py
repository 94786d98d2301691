# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Captured steps: on a CUDA device, all kernels of a training step or of a forward pass as one graph for each shape.

A small step is over before the host has launched the next kernel. A graph is launched as one. Elsewhere than on CUDA,
the same calls compute eagerly.

    step = captured_step(model, optimizer, dtype=torch.bfloat16)
    for batch in batches:  # of static shapes, see static_shapes.py
        loss = step(batch)
        scheduler.step()
"""

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer

from .static_shapes import MOST_SIZES

Batch = Mapping[str, Any]


class Replayed:
    """compute(batch) -> Tensor. On CUDA, a shape that comes a second time is captured, and replayed from then on.

    compute: runs a shape eagerly the first time, which loads and compiles kernels. It must not wait for the device.
    At most MOST_SIZES shapes are captured, in one pool of memory; others stay eager.
    """

    def __init__(self, compute: Callable[[dict[str, Any]], Tensor], device: torch.device) -> None:
        self.compute, self.device = compute, device
        self.graphs: dict[Hashable, _Graph | None] = {}  # None: met once
        if device.type == "cuda":
            self.stream, self.pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()

    def __call__(self, batch: Batch) -> Tensor:
        """batch: tensors, pinned ones best, and what does not change with the shape. The result is the caller's own."""
        if self.device.type != "cuda":
            return self.compute(_on_device(batch, self.device))
        shape = tuple((name, _shape(value)) for name, value in sorted(batch.items()))
        graph = self.graphs.get(shape)
        if graph is None and shape in self.graphs and sum(map(bool, self.graphs.values())) < MOST_SIZES:
            graph = self.graphs[shape] = self._capture(batch)
        if graph is not None:
            return graph.replay(batch)
        self.graphs[shape] = None
        return self._beside(batch)

    def _beside(self, batch: Batch) -> Tensor:
        """Compute on the stream of the captures: autograd binds what it accumulates into to the stream it meets."""
        here, on_device = torch.cuda.current_stream(self.device), _on_device(batch, self.device)
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            result = self.compute(on_device)
        here.wait_stream(self.stream)
        return result.clone()

    def _capture(self, batch: Batch) -> "_Graph":
        graph, held = torch.cuda.CUDAGraph(), _on_device(batch, self.device, copy=True)
        # thread_local: loaders that pin memory in other threads go on meanwhile.
        with torch.cuda.graph(graph, self.pool, self.stream, capture_error_mode="thread_local"):
            result = self.compute(held)
        return _Graph(graph, held, result)


class _Graph:
    """A captured computation, the tensors that it reads, and the one that it writes."""

    def __init__(self, graph: torch.cuda.CUDAGraph, held: dict[str, Any], result: Tensor) -> None:
        self.graph, self.held, self.result = graph, held, result

    def replay(self, batch: Batch) -> Tensor:
        for name, value in self.held.items():
            if isinstance(value, Tensor):
                value.copy_(batch[name], non_blocking=True)
        self.graph.replay()
        return self.result.clone()  # the next graph may write to the same memory


def _shape(value: Any) -> Hashable:
    return (value.shape, value.dtype) if isinstance(value, Tensor) else value


def _on_device(batch: Batch, device: torch.device, copy: bool = False) -> dict[str, Any]:
    return {
        name: value.to(device, non_blocking=True, copy=copy) if isinstance(value, Tensor) else value
        for name, value in batch.items()
    }


def own_loss(model: nn.Module, batch: dict[str, Any]) -> Tensor:
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

    The learning rate becomes a tensor, which schedulers change between steps. Dropout draws new numbers at each
    replay. dtype: of autocast. compiled: torch.compile on each block, on CUDA. Gradients are None afterwards.

    Raises ValueError for an optimizer that cannot be captured on a CUDA device.
    """
    device = next(model.parameters()).device
    if device.type == "cuda":
        make_capturable(optimizer, device)
    if compiled and device.type == "cuda":
        compile_blocks(model)
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]

    def step(batch: dict[str, Any]) -> Tensor:
        with autocast(device, dtype):
            value = loss(model, batch)
        value.backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(weights, max_norm)
        optimizer.step()
        optimizer.zero_grad()
        return value.detach()

    return Replayed(step, device)


def captured_forward(
    model: nn.Module,
    *,
    answer: Callable[[Any, dict[str, Any]], Tensor] = lambda model, batch: model(**batch).logits,
    dtype: torch.dtype | None = None,
    compiled: bool = False,
) -> Replayed:
    """Return a forward pass without gradients, batch -> logits. dtype, compiled: as of captured_step."""
    device = next(model.parameters()).device
    if compiled and device.type == "cuda":
        compile_blocks(model)

    @torch.no_grad()
    def forward(batch: dict[str, Any]) -> Tensor:
        with autocast(device, dtype):
            return answer(model, batch)

    return Replayed(forward, device)


def autocast(device: torch.device, dtype: torch.dtype | None) -> AbstractContextManager:
    """Mixed precision without the cache of casts, whose tensors would outlive the graph that wrote them."""
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype, cache_enabled=False)


def make_capturable(optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Keep an optimizer's numbers on the device: the rate, and the number of steps."""
    for group in optimizer.param_groups:
        if "capturable" not in group:
            raise ValueError(f"{type(optimizer).__name__} cannot be captured in a CUDA graph; torch.optim.AdamW can.")
        group["capturable"] = True
        group["lr"] = torch.as_tensor(group["lr"], dtype=torch.float32, device=device)
    for state in optimizer.state.values():
        if "step" in state:
            state["step"] = torch.as_tensor(state["step"], dtype=torch.float32, device=device)


def compile_blocks(model: nn.Module) -> None:
    """Compile each block; their code is the same, so one graph serves them all, for any number of tokens."""
    for module in model.modules():
        if isinstance(module, GradientCheckpointingLayer):
            module.compile(dynamic=True)
