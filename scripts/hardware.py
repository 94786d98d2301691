# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a run computes on, in words that name no machine."""

import os
import platform
from pathlib import Path

import torch

CPU_INFO = Path("/proc/cpuinfo")  # of Linux; elsewhere the kind of processor has to do


def describe_hardware(device: torch.device, processes: int = 1) -> str:
    """Such as "2 × NVIDIA H200, AMD EPYC with 16 cores" or "AMD EPYC with 2 cores, 1 thread"."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cpu = f"{_cpu_name()} with {_counted(cores, 'core')}"
    if device.type == "cpu":
        return f"{cpu}, {_counted(torch.get_num_threads(), 'thread')}" + _each(processes)
    accelerator = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper()
    return (f"{processes} × " if processes > 1 else "") + f"{accelerator}, {cpu}"


def _cpu_name() -> str:
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.is_file() else []
    names = (value for key, _, value in (line.partition(":") for line in lines) if key.strip() == "model name")
    return " ".join(next(names, platform.processor() or platform.machine()).split())


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _each(processes: int) -> str:
    return f" in each of {processes} processes" if processes > 1 else ""
