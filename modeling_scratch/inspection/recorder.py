# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Record every tensor that the textbook makes in a forward pass, and the line of code that made it.

Two observers run beside the model. `TorchFunctionMode` sees each call of torch: its inputs, its result, and the frames
that called it. `sys.settrace` follows the textbook's own functions line by line: it sees which variable a tensor is
bound to. Neither changes the model: no hooks, no wrappers, no replaced functions. Tensors that a library makes
(masks, caches) are recorded where the textbook binds them to a variable.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from .. import fast
from ..modeling_base import ScratchPreTrainedModel
from ..utils.errors import DataError

TORCH = str(Path(torch.__file__).parent)
UNINITIALISED = {"empty", "empty_like", "new_empty"}


class CodeLine(NamedTuple):
    """A statement: its file, first and last line, and text without indentation."""

    file: str
    line: int
    end: int
    text: str


@lru_cache(maxsize=64)
def code_lines(path: Path, changed: int) -> dict[int, CodeLine]:
    """Return the statement of each line of a file; of a compound statement, its head; of a lambda, its lines alone.

    changed: the time of the file's modification.
    """
    source = path.read_text(encoding="utf-8")
    lines, found = source.splitlines(), {}
    for node in ast.walk(ast.parse(source)):  # outer statements come first, so that inner ones replace them
        if isinstance(node, ast.stmt | ast.Lambda):
            body, last = getattr(node, "body", None), node.end_lineno or node.lineno
            end = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) else last
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            text = textwrap.dedent("\n".join(lines[node.lineno - 1 : end]))
            found.update(dict.fromkeys(range(first, end + 1), CodeLine(path.name, node.lineno, end, text)))
    return found


@dataclass
class Step:
    """One tensor: what made it from what, where, and what the code calls it.

    code: the line that made it. variable: the first that it was assigned to, None for a tensor inside an
    expression. names: dotted names: a module's path (its output), path.variable, path.method (what it returned), and
    path.input of a layer of torch. inputs: numbers of steps, and names of parameters.
    """

    number: int
    module: str
    op: str
    code: CodeLine
    tensor: Tensor
    inputs: list[int | str]
    variable: str | None = None
    names: list[str] = field(default_factory=list)


@dataclass
class Recording:
    """The output of a model, the paths of the modules that ran and the tensors that were made, in order."""

    output: Any
    modules: list[str]
    steps: list[Step]

    @cached_property
    def keys(self) -> dict[str, Step]:
        """The last step of each name."""
        return {name: step for step in self.steps for name in step.names}


@dataclass
class _Scope:
    """A running function of the textbook: the module that it works for, and the tensors its variables held.

    lines: the statements of its file; line: the one that runs.
    """

    frame: FrameType
    lines: dict[int, CodeLine]
    path: str
    is_method: bool
    line: int
    bound: dict[str, int] = field(default_factory=dict)

    @property
    def function(self) -> str:
        """Its name; "" of a lambda or comprehension."""
        name = self.frame.f_code.co_name
        return "" if name.startswith("<") else name


class Recorder(TorchFunctionMode):
    """Observes one forward pass; see `record`."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.paths = {id(module): path for path, module in model.named_modules()}
        stored = (*model.named_parameters(), *model.named_buffers())
        self.parameters = {id(tensor): name for name, tensor in stored}
        self.files = {str(path): code_lines(path, path.stat().st_mtime_ns) for path in textbook_files(model)}
        self.scopes: list[_Scope] = []
        self.modules: dict[str, None] = {}  # an ordered set
        self.steps: list[Step] = []
        self.made: dict[int, Step] = {}
        self.of_methods: set[str] = set()
        self.kept: list[Tensor] = []  # alive, so that no other tensor gets the identity of one in `made`

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.scopes or not any(tensors_in(result)):
            return result
        layer, frame = None, sys._getframe(1)
        while frame is not None and frame is not self.scopes[-1].frame:
            if not frame.f_code.co_filename.startswith(TORCH):  # another library has called torch
                return result
            layer = self._entered(frame) or layer
            frame = frame.f_back
        name = getattr(func, "__name__", str(func)).strip("_")
        self._see(name, [tensor for tensor, _ in tensors_in([args, kwargs or {}])], result, layer)
        return result

    def _entered(self, frame: FrameType) -> str | None:
        """Return the path of the module whose method a frame runs, if it is one; it is recorded the first time."""
        module = frame.f_locals.get("self")
        if not isinstance(module, nn.Module) or id(module) not in self.paths:
            return None
        path = self.paths[id(module)]
        self.modules.setdefault(path)
        return path

    def _see(self, op: str, inputs: list[Tensor], result: Any, layer: str | None) -> None:
        """Record what a call of torch returned, and its names if a layer called it."""
        known = [self.made[id(tensor)].number if id(tensor) in self.made else self.parameters.get(id(tensor))
                 for tensor in inputs]  # fmt: skip
        sources = [source for source in known if source is not None]
        for tensor, index in tensors_in(result):
            made = self.made.get(id(tensor))
            if made and made.tensor.dtype == tensor.dtype and torch.equal(made.tensor, tensor):
                continue  # dropout outside of training, for instance, returns its input
            step = self._add(tensor, op + index, sources, layer)
            if layer is not None:
                step.names.append(layer + index)
        if layer is not None and inputs and id(inputs[0]) in self.made:
            self.made[id(inputs[0])].names.append(f"{layer}.input")

    def _add(self, tensor: Tensor, op: str, inputs: list[int | str], layer: str | None = None) -> Step:
        scope = self.scopes[-1]
        module = scope.path if layer is None else layer
        step = Step(len(self.steps), module, op, scope.lines[scope.line], tensor.detach().clone(), inputs)
        self.steps.append(step)
        self.made[id(tensor)] = step
        self.kept.append(tensor)
        return step

    def follow(self, frame: FrameType, event: str, _: Any) -> Any:
        """The trace function: a call of the textbook opens a scope, whose lines are followed."""
        lines = self.files.get(frame.f_code.co_filename)
        if lines is None or event != "call":
            return None
        path = self._entered(frame)
        outer = self.scopes[-1].path if self.scopes else ""
        self.scopes.append(_Scope(frame, lines, outer if path is None else path, path is not None, frame.f_lineno))
        self._bind(is_argument=True)
        return self._follow_lines

    def _follow_lines(self, frame: FrameType, event: str, value: Any) -> Any:
        """Bind what the last line made; at the end, name what the function returns."""
        if event in ("line", "return"):
            self._bind()
            self.scopes[-1].line = frame.f_lineno
        if event == "return":
            scope = self.scopes.pop()
            is_forward = scope.is_method and scope.function == "forward"
            name = scope.path if is_forward else f"{scope.path}.{scope.function}".lstrip(".")
            for tensor, index in named_tensors(value) if scope.function else ():
                if (step := self.made.get(id(tensor))) is not None and name + index not in step.names:
                    step.names.append(name + index)
        return self._follow_lines

    def _bind(self, is_argument: bool = False) -> None:
        """Name the tensors that variables of the running function hold since its last line.

        A variable of a module's own method hides those of that name in the functions that it calls.
        """
        scope = self.scopes[-1]
        variables = scope.frame.f_locals.items() if scope.function else ()
        for variable, (tensor, index) in ((name, each) for name, value in variables for each in named_tensors(value)):
            name = variable + index
            if scope.bound.get(name) == id(tensor) or id(tensor) in self.parameters:
                continue
            scope.bound[name] = id(tensor)
            step = self.made.get(id(tensor))
            if step is None:  # another library made it
                step = self._add(tensor, "input" if is_argument else "call", [])
            if step.variable is None and step.op != "input" and not is_argument:
                step.variable = name
            dotted = f"{scope.path}.{name}".lstrip(".")
            if scope.is_method:
                self.of_methods.add(dotted)
            if (scope.is_method or dotted not in self.of_methods) and dotted not in step.names:
                step.names.append(dotted)


def tensors_in(value: Any) -> Iterator[tuple[Tensor, str]]:
    """Yield the tensors of a value with their index: "" of a tensor itself, "[0]" in a list or tuple."""
    if isinstance(value, Tensor):
        yield value, ""
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from ((tensor, f"[{number}]{index}") for tensor, index in tensors_in(each))
    elif type(value) is dict:
        yield from (found for each in value.values() for found in tensors_in(each))


def named_tensors(value: Any) -> Iterator[tuple[Tensor, str]]:
    """Yield what `tensors_in` does of a tensor, and of a list or tuple of nothing but tensors."""
    if isinstance(value, Tensor) or (isinstance(value, list | tuple) and all(isinstance(x, Tensor) for x in value)):
        yield from tensors_in(value)


def textbook_files(model: nn.Module) -> list[Path]:
    """Return the files beside that of the model's base class: the package's textbook, or that of a saved folder."""
    bases = [cls for cls in type(model).__mro__ if cls.__name__ == ScratchPreTrainedModel.__name__]
    if not bases:
        raise DataError(
            f"{type(model).__name__}: only scratch models are explained; modeling_scratch.load_pretrained converts "
            "native checkpoints"
        )
    beside = Path(inspect.getfile(bases[0])).parent.glob("*.py")
    return sorted({Path(inspect.getfile(type(model))), *beside})


@contextmanager
def as_textbook(model: nn.Module) -> Iterator[None]:
    """Run the textbook's own code in evaluation mode with eager attention, and restore all three at the end."""
    modes = {module: module.training for module in model.modules()}
    owners: list[Any] = [module for module in modes if hasattr(module, "config")]
    configs = {id(module.config): module.config for module in owners}
    backends = {key: config._attn_implementation for key, config in configs.items()}
    try:
        model.eval()
        for config in configs.values():
            config._attn_implementation = "eager"
        with fast.disabled():
            yield
    finally:
        for module, training in modes.items():
            module.training = training
        for key, config in configs.items():
            config._attn_implementation = backends[key]


def record(model: nn.Module, **inputs: Any) -> Recording:
    """Run model(**inputs) with the textbook's engine, and record every tensor that it makes.

    In evaluation mode, with eager attention and without gradients. Raises `DataError` for a model of another package.
    """
    recorder, tracer = Recorder(model), sys.gettrace()
    with as_textbook(model), torch.no_grad(), recorder:
        sys.settrace(recorder.follow)
        try:
            output = model(**inputs)
        finally:
            sys.settrace(tracer)
    return Recording(output, list(recorder.modules), recorder.steps)
