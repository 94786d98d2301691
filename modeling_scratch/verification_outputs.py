# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a model is and answers, in numbers that a copy of it can be compared by.

Shapes: R rows (positions, or texts), C columns (labels, tokens of the vocabulary, or features).
"""

import hashlib
import math
import platform
from typing import Any

import tokenizers
import torch
import transformers
from torch import Tensor
from transformers import PreTrainedModel

import modeling_scratch

FEW_COLUMNS, SPREAD_COLUMNS, TOP_COLUMNS = 32, 16, 5
ROUNDINGS, DEVIATIONS = 8, 4  # of a block into what the next one reads; how far out they are tolerated

Outputs = dict[str, Tensor]



def describe_model(model: PreTrainedModel) -> dict[str, Any]:
    """Everything about a model that needs no input."""
    labels = model.config.id2label or {}
    return {
        "model_class": type(model).__name__,
        "dtype": str(model.dtype).removeprefix("torch."),
        "parameters": model.num_parameters(),
        "labels": [str(labels[index]) for index in sorted(labels)],
        "tensors": {name: _tensor_digest(tensor) for name, tensor in model.state_dict().items()},
    }


def versions() -> dict[str, str]:
    """Of what computes the outputs."""
    modules = {"torch": torch, "transformers": transformers, "tokenizers": tokenizers}
    known = {name: str(vars(module)["__version__"]) for name, module in modules.items()}
    return {"python": platform.python_version(), **known, "modeling_scratch": modeling_scratch.__version__}


def _tensor_digest(tensor: Tensor) -> str:
    """Of values, type and shape: 64 bits of a SHA-256 tell tensors apart, the files have all of theirs."""
    digest = hashlib.sha256(f"{tensor.dtype} {list(tensor.shape)} ".encode())
    digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


@torch.no_grad()
def outputs_of(model: PreTrainedModel, ids: dict[str, list[int]]) -> Outputs:
    """Every output of floating point by its name, (R, C) float64: logits, or the hidden states of a base model."""
    batch = {name: torch.tensor([row], device=model.device) for name, row in ids.items()}
    return {
        name: value.cpu().double().reshape(-1, value.shape[-1])
        for name, value in model(**batch, return_dict=True).items()
        if isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1
    }


def summarise(values: Tensor) -> dict[str, Any]:
    """The first, middle and last row (R, C); of a wide one, columns spread evenly, the largest, and mean and std."""
    count, width = values.shape
    rows = []
    for place in sorted({0, count // 2, count - 1}):
        row = values[place]
        columns = list(range(width))
        if width > FEW_COLUMNS:
            spread = torch.linspace(0, width - 1, SPREAD_COLUMNS).long().tolist()
            columns = sorted({*spread, *row.topk(TOP_COLUMNS).indices.tolist()})
        mean, std = row.mean().item(), row.std(unbiased=False).item()
        rows.append({"row": place, "columns": columns, "values": row[columns].tolist(), "mean": mean, "std": std})
    return {"shape": [count, width], "rows": rows}


def difference(outputs: Outputs, recorded: dict[str, Any]) -> float:
    """The largest between outputs and what was recorded of them; infinite where they are of another kind or shape."""
    if outputs.keys() != recorded.keys():
        return math.inf
    largest = 0.0
    for name, summary in recorded.items():
        values = outputs[name]
        if list(values.shape) != summary["shape"]:
            return math.inf
        for expected in summary["rows"]:
            row = values[expected["row"]]
            found = torch.stack([*row[expected["columns"]], row.mean(), row.std(unbiased=False)])
            wanted = found.new_tensor([*expected["values"], expected["mean"], expected["std"]])
            largest = max(largest, (found - wanted).abs().nan_to_num(nan=math.inf).max().item())
    return largest


def tolerance(model: PreTrainedModel, recorded_dtype: torch.dtype, largest: float) -> float:
    """4 · eps/2 · sqrt(8 · L · K) · largest logit: how far apart the same weights may be, computed elsewhere.

    L blocks round about 8 times each, by eps/2 at most and independently of each other: their errors add up like
    sqrt(8 L), and 4 standard deviations hold for all logits. Sums of K products are done in float32 on every device,
    so that their order counts there (K: the hidden size) and not in bfloat16 and float16 (K = 1). Logits count as 1 at
    least: smaller ones can be what is left of larger terms. The coarser of both types decides.
    """
    eps = max(torch.finfo(model.dtype).eps, torch.finfo(recorded_dtype).eps)
    config = model.config
    blocks = getattr(config, "num_hidden_layers", 12) + getattr(config, "decoder_layers", 0)
    products = getattr(config, "hidden_size", 1024) if eps < 1e-5 else 1
    return DEVIATIONS * eps / 2 * math.sqrt(ROUNDINGS * max(blocks, 1) * products) * max(1.0, largest)
