# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program `modeling-scratch export`: write a model for another runtime, and compare it with PyTorch there."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoConfig

import modeling_scratch

from ..bridges.configs import FAMILIES
from ..bridges.model_sources import check_loaded, load_checkpoint, load_tokenizers, read_special_tokens
from ..fast import disabled
from ..utils.errors import DataError, one_line
from ..utils.files import complete_folder
from ..utils.options import REQUIRED, option
from .checking import largest_difference
from .folder import write_companions
from .formats import FORMATS, check_installed, longest_text
from .gguf_files import MODULES, export_gguf
from .graphs import Graph, graphs_of, trace

GGUF = "gguf"


@dataclass
class ExportArguments:
    """The model, the format and the folder."""

    format: Literal["onnx", "openvino", "executorch", "gguf"] = option(REQUIRED, "The runtime's format.")
    model: str = option(
        REQUIRED, "A scratch model or a native checkpoint, with its tokenizer: a folder or a name on the Hub."
    )
    output_dir: str = option(REQUIRED, "The output folder, which must not exist or be empty.")


def export(arguments: ExportArguments) -> None:
    """Write to a temporary folder, compare in the runtime, then rename the folder. Raises `DataError`."""
    name, output = arguments.format, Path(arguments.output_dir)
    check_installed(name, MODULES if name == GGUF else FORMATS[name].modules)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise DataError(f"--output_dir {output}: exists already; choose another name or delete it first")
    model, tokenizers = load_to_export(arguments.model)
    with complete_folder(output) as folder:
        if name == GGUF:
            lines = export_gguf(model, tokenizers[0], folder)
        else:
            graphs = graphs_for(name, model)
            lines = list(write_graphs(graphs, name, folder, model.config))
            write_companions(model, tokenizers, graphs, folder, name, lines)
    print("\n".join([*lines, f"saved {output}"]))


def load_to_export(name: str) -> tuple[Any, tuple[Any, Any]]:
    """Load a model in float32 with eager attention, and its tokenizers. Raises `DataError`."""
    config = load_checkpoint(AutoConfig, name, False)
    try:
        if config.model_type in FAMILIES:
            model: Any = modeling_scratch.load_pretrained(name, dtype=torch.float32)
        else:
            own = getattr(modeling_scratch, (config.architectures or [""])[0], None)
            if own is None or not config.model_type.startswith("scratch_"):
                raise ValueError(f"config.json names no class of this package or of {', '.join(sorted(FAMILIES))}")
            model, info = load_checkpoint(own, name, False, output_loading_info=True, dtype=torch.float32)
            check_loaded(model, info, "not a trained model")
    except (OSError, ValueError) as error:
        raise DataError(f"--model {name}: {one_line(error)}") from error
    model.set_attn_implementation("eager")  # its masks are finite: no runtime computes 0/0 at padding
    tokenizers = load_tokenizers(name)
    for tokenizer in tokenizers:
        read_special_tokens(tokenizer, None)
    return model.eval(), tokenizers


def graphs_for(name: str, model: Any) -> tuple[Graph, ...]:
    """Return the graphs of a model in a format. Raises `DataError` for a model that its runtime cannot hold."""
    graphs = graphs_of(model)
    if FORMATS[name].longest is None:
        return graphs
    if not isinstance(model.config, modeling_scratch.ScratchEncoderConfig):
        raise DataError(f"--format {name}: only for encoders, not for {type(model).__name__}; use onnx or openvino")
    return tuple(graph.one_text() for graph in graphs)


def write_graphs(graphs: tuple[Graph, ...], name: str, folder: Path, config: Any) -> Iterator[str]:
    """Write and compare each graph; yield a line that says how far it is from PyTorch."""
    kind, limit = FORMATS[name], longest_text(name, config)
    window = config.sliding_window
    for graph in graphs:
        path = folder / f"{graph.name}{kind.suffix}"
        print(f"tracing {path.name}", file=sys.stderr)
        try:
            with torch.no_grad(), disabled():
                kind.write(trace(graph, limit if kind.longest else None), graph, path)
        except Exception as error:  # exporters raise types of their own
            raise DataError(f"{path.name} cannot be written: {one_line(error)[:300]}") from error
        difference = largest_difference(graph, kind.load(path), kind.tolerance, limit, window)
        size = sum(file.stat().st_size for file in folder.glob(f"{graph.name}.*"))  # OpenVINO's weights are beside
        yield f"{path.name}: {difference:.1e} from PyTorch, {size / 1e6:.2f} MB"
