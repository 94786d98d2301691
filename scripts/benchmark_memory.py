# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The memory that training steps take, each side in a fresh process, above what the loaded model takes."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from benchmark_data import Batch, on_device
from benchmark_models import CLASSIFIER, make_ours, make_peer, training_step
from benchmark_settings import Settings
from text_files import DataError

STATUS = Path("/proc/self/status")


def peak_memory(side: str, settings: Settings, batches: Sequence[Batch], recomputes: bool = False) -> dict[str, float]:
    """MiB: "all" of gradients, the optimiser's states and what steps hold in between, "activations", the last alone.

    recomputes: with gradient checkpointing, where a block keeps what it is given and computes the rest again.

    On a CPU that is the memory of the process, which Linux alone tells without what a process inherits of its parent's
    peak, as ru_maxrss does; raises DataError elsewhere.
    """
    if settings.device == "cpu" and not STATUS.is_file():
        raise DataError(f"memory: there is no {STATUS} on this system; leave this workload out")
    batches = [on_device(batch, "cpu") for batch in batches]
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        return fresh.submit(_growth, side, settings, batches, recomputes, torch.get_num_threads()).result()


def _growth(
    side: str, settings: Settings, batches: Sequence[Batch], recomputes: bool, threads: int
) -> dict[str, float]:
    torch.set_num_threads(threads)
    model = (make_ours if side == "ours" else make_peer)(CLASSIFIER, settings)
    if recomputes:
        model.gradient_checkpointing_enable()
    step = training_step(model, settings)
    before = _memory(settings, "VmRSS")
    for batch in batches:
        step(on_device(batch, settings.device))
    everything = _memory(settings, "VmHWM") - before
    kept = 3 * sum(weight.numel() * weight.element_size() for weight in model.parameters()) / 2**20  # Adam: two
    return {"all": everything, "activations": everything - kept}


def _memory(settings: Settings, name: str) -> float:
    """MiB of this process now (VmRSS), or at its peak (VmHWM)."""
    if settings.device != "cpu":
        count = torch.cuda.memory_allocated if name == "VmRSS" else torch.cuda.max_memory_allocated
        return count() / 2**20
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 2**10
