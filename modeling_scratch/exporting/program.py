# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program `modeling-scratch export`: write a model for another runtime, and compare it with PyTorch there."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import transformers
from packaging.version import Version
from transformers.utils import CONFIG_NAME

from ..bridges.model_sources import read_special_tokens
from ..bridges.older_names import add_older_names
from ..inspection.program import load_textbook, tokenizers_of
from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError
from ..utils.files import complete_folder, read_json, write_json
from ..utils.options import REQUIRED, option
from .graphs import export_graphs

OLDEST_LIBRARY, OLDEST_PYTHON = Version("5.23"), Version("3.11")  # with exporters that open what they write
LLAMA_CPP = "use `modeling-scratch convert --model_type llama` (or gpt2), then llama.cpp's convert_hf_to_gguf.py"
NEEDED = "onnx", "onnxscript", "onnxruntime"


@dataclass
class ExportArguments:
    """The model, the format and the folder."""

    format: Literal["onnx"] = option(REQUIRED, "The runtime's format.")
    model: str = option(
        REQUIRED, "A scratch model or a native checkpoint, with its tokenizer: a folder or a name on the Hub."
    )
    output_dir: str = option(REQUIRED, "The output folder, which must not exist or be empty.")

    RETIRED: ClassVar[Mapping[str, str]] = {
        "--format gguf": LLAMA_CPP,
        "--format openvino": "use --format onnx, which openvino.Core().read_model reads",
        "--format executorch": "use the exporter of Transformers, transformers.exporters, on the loaded model",
    }


def export(arguments: ExportArguments) -> None:
    """Write a model in float32 to a temporary folder, compare in the runtime, then rename the folder.

    Raises `DataError`, and FileExistsError for a folder that is there.
    """
    check_versions(transformers.__version__, platform.python_version())
    if missing := [module for module in NEEDED if find_spec(module) is None]:
        raise DataError(f"--format onnx: it needs {', '.join(missing)}: pip install 'modeling-scratch[onnx]'")
    with complete_folder(arguments.output_dir) as folder:
        model = load_textbook(arguments.model, dtype=torch.float32)
        model.set_attn_implementation("eager")  # its masks are finite: no runtime computes 0/0 at padding
        source, target = tokenizers = tokenizers_of(arguments.model)
        for tokenizer in tokenizers:
            read_special_tokens(tokenizer, None)
        lines = export_graphs(model, folder)
        describe(model, folder / CONFIG_NAME)
        source.save_pretrained(folder)
        if target is not source:
            target.save_pretrained(folder / TARGET_FOLDER)
        add_older_names(folder)
    print("\n".join([*lines, f"saved {arguments.output_dir}"]))


def describe(model: Any, path: Path) -> None:
    """Name the class of the model in config.json, and no code but that of the config: only its file is beside."""
    found = read_json(path)
    for name in ("auto_map", "custom_pipelines"):
        kept = {key: value for key, value in found.pop(name, {}).items() if key == "AutoConfig"}
        found |= {name: kept} if kept else {}
    write_json(path, {"architectures": [type(model).__name__], **found})


def check_versions(library: str, python: str) -> None:
    """Raise `DataError` for versions of Transformers or of Python that the exporters of Transformers do not run in."""
    if Version(library) < OLDEST_LIBRARY or Version(python) < OLDEST_PYTHON:
        needs = f"Transformers {OLDEST_LIBRARY} or later, and Python {OLDEST_PYTHON} or later"
        raise DataError(f"--format onnx: it needs {needs}; here are {library} and {python}")
