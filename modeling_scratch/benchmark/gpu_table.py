# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A Markdown table of throughput relative to the Hugging Face classes on a CUDA device, with the conditions."""

import platform
import shutil
import subprocess
from collections.abc import Sequence
from datetime import date
from typing import Any

import torch
import transformers

from ..utils.errors import DataError
from ..utils.markdown import table

# What is measured, in the order of the table; memory is a ratio of bytes, the others of rates.
GPU_WORKLOADS = (
    "train-sst2",
    "train-imdb",
    "mlm",
    "train-marian",
    "infer-sst2",
    "generate-gpt2",
    "translate-marian",
    "memory",
)
COLUMNS = "workload", "setting", "ours", "Hugging Face", "ratio", "middle half"
NO_DEVICE = "no CUDA device: run this on a machine with an NVIDIA GPU and a CUDA build of torch"


def check_device() -> None:
    """Raise `DataError` where torch has no CUDA device."""
    if not torch.cuda.is_available():
        raise DataError(NO_DEVICE)


def driver_version() -> str:
    """The version of NVIDIA's driver, as nvidia-smi tells it; "unknown" where it cannot be asked."""
    if (program := shutil.which("nvidia-smi")) is None:
        return "unknown"
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "unknown"
    return asked.stdout.strip().partition("\n")[0] or "unknown"


def gpu_conditions(dtype: str) -> dict[str, str]:
    """What the figures depend on, by name."""
    capability = ".".join(map(str, torch.cuda.get_device_capability()))
    return {
        "device": f"{torch.cuda.get_device_name()} (compute capability {capability})",
        "driver": driver_version(),
        "CUDA of torch": str(torch.version.cuda),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "Python": platform.python_version(),
        "precision": dtype,
        "date": str(date.today()),
    }


def gpu_table(rows: Sequence[dict[str, Any]], conditions: dict[str, str]) -> str:
    """Return the page: the conditions, what a ratio means, and a row per measurement."""
    lines = [f"- {name}: {value}" for name, value in conditions.items()]
    meaning = (
        "Rates are of real tokens. The ratio is ours divided by that of the Hugging Face class with the same weights: "
        "above 1, modeling-scratch is faster. For memory, below 1 is less. Our classifiers train on packed batches."
    )
    return "\n".join([*lines, "", meaning, "", table(COLUMNS, list(map(_cells, rows))), ""])


def _cells(row: dict[str, Any]) -> list[str]:
    digits = 3 if row["unit"] == "s" else 0
    sides = [f"{row[side]:,.{digits}f} {row['unit']}" for side in ("ours", "peer")]
    low, high = row["ratio_range"]
    return [row["workload"], row["setting"], *sides, f"{row['ratio']:.2f}", f"{low:.2f}–{high:.2f}"]
