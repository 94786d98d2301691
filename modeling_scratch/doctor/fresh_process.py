# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load a folder as a program does that has imported nothing yet, and print the digests of its tensors as JSON.

python fresh_process.py '{"folder": "...", "class": ["module", "Name"]}'

class: null for one whose code is in the folder, and is trusted.
"""

import hashlib
import importlib
import json
import sys
from functools import reduce

import torch
import transformers


def load(folder: str, reference: list[str] | None) -> transformers.PreTrainedModel:
    if reference:
        module, name = reference
        return reduce(getattr, name.split("."), importlib.import_module(module)).from_pretrained(folder)
    config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=True)
    maker = next((name for name in config.auto_map if config.architectures[0] in config.auto_map[name]), "AutoModel")
    return getattr(transformers, maker).from_pretrained(folder, trust_remote_code=True)


def tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return parameters and buffers by name, those that are not saved, too."""
    named = (*model.named_parameters(remove_duplicate=False), *model.named_buffers())
    return {name: tensor.detach() for name, tensor in named}


def digest(tensor: torch.Tensor) -> str:
    content = tensor.cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return hashlib.sha256(f"{tuple(tensor.shape)} {tensor.dtype}".encode() + content).hexdigest()


def digests(model: torch.nn.Module) -> dict[str, str]:
    return {name: digest(tensor) for name, tensor in tensors(model).items()}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    model = load(job["folder"], job["class"])
    print(json.dumps(digests(model)))
