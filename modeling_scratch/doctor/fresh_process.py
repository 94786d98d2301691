# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load a folder as a program does that has imported nothing yet, and print the digests of its tensors as JSON.

python fresh_process.py '{"folder": "...", "class": ["module", "file", "Name"] or null, "is_trusted": false}'
"""

import hashlib
import importlib.util
import json
import sys
from functools import reduce
from types import ModuleType
from typing import Any

import torch
import transformers


def load(job: dict[str, Any]) -> transformers.PreTrainedModel:
    if job["class"]:
        module, file, name = job["class"]
        return reduce(getattr, name.split("."), find(module, file)).from_pretrained(job["folder"])
    config = transformers.AutoConfig.from_pretrained(job["folder"], trust_remote_code=job["is_trusted"])
    maker = next((name for name in config.auto_map if config.architectures[0] in config.auto_map[name]), "AutoModel")
    return getattr(transformers, maker).from_pretrained(job["folder"], trust_remote_code=job["is_trusted"])


def find(module: str, file: str) -> ModuleType:
    """Import a module, from its file if it is in no package that is installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        spec = importlib.util.spec_from_file_location(module, file)
        found = importlib.util.module_from_spec(spec)
        sys.modules[module] = found
        spec.loader.exec_module(found)
        return found


def digest(tensor: torch.Tensor) -> str:
    content = tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return hashlib.sha256(f"{tuple(tensor.shape)} {tensor.dtype}".encode() + content).hexdigest()


if __name__ == "__main__":
    model = load(json.loads(sys.argv[1]))
    tensors = (*model.named_parameters(remove_duplicate=False), *model.named_buffers())
    print(json.dumps({name: digest(tensor) for name, tensor in tensors}))
