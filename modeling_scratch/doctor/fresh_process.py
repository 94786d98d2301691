# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Load a folder as a program does that has imported nothing yet, and write its tensors beside its weights.

python fresh_process.py FOLDER MODULE CLASS

MODULE is transformers for a class whose code is in the folder, and is trusted; CLASS is then that of an Auto class.
"""

import sys
from functools import reduce
from importlib import import_module

from safetensors.torch import save_file

FILE = "tensors.safetensors"

if __name__ == "__main__":
    folder, module, name = sys.argv[1:]
    maker = reduce(getattr, name.split("."), import_module(module))
    model = maker.from_pretrained(folder, **({"trust_remote_code": True} if module == "transformers" else {}))
    named = (*model.named_parameters(remove_duplicate=False), *model.named_buffers())
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in named}, f"{folder}/{FILE}")
