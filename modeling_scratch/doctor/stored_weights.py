# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of what the object holds: its weights, and the fields of its config. Other faults follow from these."""

import contextlib
import copy
import json
import tempfile
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from .files import FOLDER
from .findings import check, listed, require
from .fresh_process import tensors
from .loading import load, saved
from .subject import Subject, attention

OF_LOADING = {"transformers_version", "_name_or_path", "architectures", "dtype", "torch_dtype"}


@check("Hand **kwargs to `super().__init__`, keep arguments under their own names, and copy lists.", link="46620")
def config_fields(subject: Subject) -> None:
    """No field of the config changes when it is saved or a model is made."""
    config = copy.deepcopy(subject.config)
    before = _fields(config)
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        after = _fields(type(config).from_pretrained(folder))
    _check_defaults(type(config))
    lost = _changes(before, after)
    require(not lost, f"{len(lost)} fields of config.json differ after loading: {'; '.join(lost[:3])}.")
    model = None
    with contextlib.suppress(Exception), torch.device("meta"):  # if it cannot be made, `meta_device` tells
        model = type(subject.model)(config)
    changed = _changes(before, _fields(config))
    require(not changed, f"Making the model changes its config, at each loading anew: {'; '.join(changed[:3])}.")
    if model is not None:
        _check_shapes(model, subject.model)


def _check_shapes(found: nn.Module, wanted: nn.Module) -> None:
    """Check that a model made anew of a config has the weights of the one that holds it."""
    shapes = ({name: each.shape for name, each in tensors(model).items()} for model in (found, wanted))
    differing = [name for name, _ in set.symmetric_difference(*(set(each.items()) for each in shapes))]
    what = "Made anew of its config, it has other weights: making the model has changed the config, or does not read it"
    require(not differing, f"{what} ({listed(set(differing))}).")


def _check_defaults(config_class: Any) -> None:
    """Check that new configs own what can be changed."""
    try:
        first, second = (vars(config_class()) for _ in range(2))
    except Exception:  # it has fields that are required
        return
    shared = [name for name, each in first.items() if isinstance(each, list | dict) and each is second.get(name)]
    require(not shared, f"All new configs share one {listed(shared)}: a change of one changes the others.")


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        f"{name} was {before.get(name)!r:.40} and is {after.get(name)!r:.40}"
        for name in sorted(before)
        if before.get(name) != after.get(name)
    ]


def _fields(config: Any) -> dict[str, Any]:
    """Return all fields as JSON has them, those of attributes, too."""
    attributes = {name: value for name, value in vars(config).items() if name[0] != "_" and _is_json(value)}
    found = json.loads(json.dumps({**attributes, **config.to_dict()}, default=str))
    return {name: value for name, value in found.items() if name not in OF_LOADING}


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


@check("Use nn.ModuleList, nn.ModuleDict or nn.ParameterList, or register the tensor.")
def registered(subject: Subject) -> None:
    """Every tensor is a parameter or a buffer.

    The optimizer, the file and the device know only those that the module lists.
    """
    _check_held(subject.model, "")
    loaded: Any = subject.model
    with contextlib.suppress(Exception), saved(subject.model) as folder:  # `round_trip` tells
        loaded, _ = load(subject, folder)
    _check_held(loaded, " of a loaded model")


def _check_held(model: nn.Module, when: str) -> None:
    known = {id(each) for each in (*model.parameters(), *model.buffers())}
    found = [
        f"{type(module).__name__}.{name}"
        for module in model.modules()
        for name, value in vars(module).items()
        if name not in ("_parameters", "_buffers", "_modules")
        if any(id(tensor) not in known for tensor in _tensors(value))
    ]
    what = f"Neither parameters() nor buffers() lists {listed(found)}{when}"
    require(not found, f"{what}: it is not trained, saved or moved with the model.")


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from (*value.parameters(), *value.buffers())
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors(each)


@check("Make each layer anew: `nn.ModuleList(Layer(config) for _ in range(n))`.")
def own_weights(subject: Subject) -> None:
    """Each layer has weights of its own."""
    for name, module in subject.model.named_modules():
        if isinstance(module, nn.ModuleList):
            count = len({id(each) for each in module})
            require(count == len(module), f"The {len(module)} entries of {name} are {count} module.")
    seen: dict[Any, str] = {}
    trained = [] if subject.folder else [each for each in subject.model.named_parameters() if each[1].requires_grad]
    for name, weight in trained:
        tensor = weight.detach()
        rows = tensor.flatten(0, -2) if tensor.ndim > 1 else tensor[:0]
        if (rows != rows[:1]).any():  # else it is a constant, or a table such as Mamba's
            twin = seen.setdefault((tensor.shape, *tensor.flatten()[:8].tolist(), float(tensor.sum())), name)
            require(twin == name, f"{name} and {twin} are two weights that begin with equal values.")


@check("Train with a smaller learning rate or without float16; the file has to be made again.")
def finite_weights(subject: Subject) -> None:
    """All weights are finite."""
    found = [name for name, each in subject.model.named_parameters() if not each.isfinite().all()]
    require(not found, f"{len(found)} weights are NaN or infinite: {listed(found)}.")


@check("Save the model itself, and not what torch.compile or DistributedDataParallel made of it.", FOLDER)
def weights_are_read(subject: Subject) -> None:
    """The folder's file has every weight of the model, and no other."""
    assert subject.folder
    _, report = load(subject, subject.folder)
    for what, names in report.items():
        require(not names, f"The folder loads with {len(names)} {what}: {listed(names)}.")


@check("Register it as a buffer, or make it on the device of what it meets.")
def device(subject: Subject) -> None:
    """Every tensor goes where the model goes.

    The meta device stands for another device. What it cannot do, such as reading a value, is no fault here.
    """
    batch = {name: value.to("meta") for name, value in subject.batch().items()}
    without = {name: value for name, value in batch.items() if name != "attention_mask"}  # which some look into
    for each in (batch, without):
        mode = DevicesMet()
        with contextlib.suppress(Exception), torch.no_grad(), attention(subject, "eager"), mode:
            model: Any = subject.redrawn
            model.to("meta")(**each, return_dict=True)  # fails where it reads what no meta tensor has
        require(not mode.found, f"On another device, a tensor stays on the CPU: {mode.found} gets it.")


class DevicesMet(TorchDispatchMode):
    """Meanwhile the first function that gets tensors of the CPU and of the meta device is found."""

    def __init__(self) -> None:
        super().__init__()
        self.found = ""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        devices = {each.device.type for each in _tensors([*args, *(kwargs or {}).values()]) if each.ndim}
        if len(devices) > 1 and "copy" not in name and not name.startswith("index"):  # CPU tensors index others
            self.found = self.found or name
        return function(*args, **(kwargs or {}))
