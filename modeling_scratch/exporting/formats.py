# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The formats of graphs: how each is written, and how its runtime runs it. Their packages are imported on first use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from torch.export import ExportedProgram

from ..bridges.model_sources import position_limit
from ..utils.errors import DataError
from .checking import Run
from .graphs import Graph


@dataclass(frozen=True)
class Format:
    """A format of one file a graph.

    modules: what has to be installed, by the extra of the same name as the format. tolerance: of the outputs, relative
    to the largest. longest: the longest text, for a runtime that plans its memory and reads one text at a time.
    """

    suffix: str
    modules: tuple[str, ...]
    tolerance: float
    write: Callable[[ExportedProgram, Graph, Path], None]
    load: Callable[[Path], Run]
    longest: int | None = None


def check_installed(name: str, modules: Sequence[str]) -> None:
    """Raise `DataError` that names the extra of a format whose packages are missing."""
    if missing := [module for module in modules if find_spec(module) is None]:
        raise DataError(f"--format {name}: it needs {', '.join(missing)}: pip install 'modeling-scratch[{name}]'")


def _write_onnx(program: ExportedProgram, graph: Graph, path: Path) -> None:
    import onnx_ir
    import torch

    names: dict[str, Any] = {
        "input_names": [port.name for port in graph.inputs],
        "output_names": [port.name for port in graph.outputs],
    }
    written = torch.onnx.export(program, verbose=False, **names)
    for node in written.model.graph.all_nodes():  # which say in which file of which user each stood
        node.metadata_props.clear()
        node.doc_string = None
    values = (*written.model.graph.inputs, *written.model.graph.outputs)
    for port, value in zip((*graph.inputs, *graph.outputs), values, strict=True):
        value.metadata_props.clear()
        value.shape = onnx_ir.Shape(port.axes)
    written.save(path)


def _load_onnx(path: Path) -> Run:
    from onnxruntime import InferenceSession

    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def _write_openvino(program: ExportedProgram, graph: Graph, path: Path) -> None:
    import openvino

    beside = path.with_suffix(".onnx")  # its reader of ONNX knows the cache's operators, that of torch does not
    _write_onnx(program, graph, beside)
    openvino.save_model(openvino.convert_model(beside), path, compress_to_fp16=False)
    for file in beside.parent.glob(f"{beside.name}*"):
        file.unlink()


def _load_openvino(path: Path) -> Run:
    from openvino import Core

    compiled = Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(inputs: dict[str, np.ndarray]) -> Sequence[np.ndarray]:
        found = compiled(inputs)
        return [found[port] for port in compiled.outputs]

    return run


def _write_executorch(program: ExportedProgram, graph: Graph, path: Path) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)


def _load_executorch(path: Path) -> Run:
    import torch
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(path).load_method("forward")

    def run(inputs: dict[str, np.ndarray]) -> Sequence[np.ndarray]:
        found = method.execute([torch.from_numpy(each) for each in inputs.values()])
        return [each.numpy().copy() for each in found]  # the next outputs go to the same memory

    return run


FORMATS = {
    "onnx": Format(".onnx", ("onnx", "onnxscript", "onnxruntime"), 1e-5, _write_onnx, _load_onnx),
    "openvino": Format(".xml", ("onnx", "onnxscript", "openvino"), 1e-5, _write_openvino, _load_openvino),
    "executorch": Format(".pte", ("executorch", "torchao"), 1e-5, _write_executorch, _load_executorch, longest=512),
}


def longest_text(name: str, config: Any) -> int | None:
    """Return the tokens of the longest text that a model reads in a format; None: any."""
    return min((size for size in (position_limit(config), FORMATS[name].longest) if size is not None), default=None)
