# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A stand-in for an accelerator that is not at hand: tensors in the CPU's memory that call themselves cuda, mps or xpu.

    with stand_in("cuda") as device:
        model.to("cuda")(**batch)
        print(device.waits)

Code takes its branches for the device, with real numbers. A CPU tensor among tensors of the device raises the error
that CUDA raises. `waits` counts, by operator, how often the host waits for the device. Random numbers of the device
come from a stream of its own. It shows nothing about speed, memory, rounding, streams or kernels of the device.

It registers a backend of torch, experimental in torch 2.13, for the rest of the process and before the first backward
pass: use it in a process of its own. Where an operator of the backward pass raises an error, torch ends the process.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import accelerate.utils.imports
import torch
import torch._dynamo  # which looks at the functions of torch.cuda when it is imported: before they are replaced
import transformers.utils.import_utils
from stand_in_kernels import KERNELS
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAMES = "cuda", "mps", "xpu"
# What the device is to the C++ of torch, which has no kernels for those names in a build for CPUs.
REGISTERED = "standin"
# Operators whose result has a size or a value that the host needs.
WAITING = {
    "_local_scalar_dense": "item", "nonzero": "nonzero", "masked_select": "masked_select", "equal": "equal",
    "_unique2": "unique", "unique_dim": "unique", "unique_consecutive": "unique", "bincount": "bincount",
}  # fmt: skip
COPIES = "_to_copy", "copy_"
CREATING = "tensor", "as_tensor", "new_tensor"
INDEXING = "index", "index_put", "index_put_", "_index_put_impl_"
# What autocast computes in its dtype, and what in float32, by the names of torch's functions (a part of its lists).
LOWERED = {
    "linear", "matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "baddbmm", "addmm", "einsum",
    "scaled_dot_product_attention",
}  # fmt: skip
RAISED = {
    "exp", "log", "pow", "__pow__", "rsqrt", "reciprocal", "softmax", "log_softmax", "logsumexp", "cumsum", "sum",
    "norm",
    "layer_norm", "cross_entropy", "nll_loss", "mse_loss", "kl_div", "binary_cross_entropy_with_logits",
}  # fmt: skip


class StandIn:
    """A device of a name. waits: operator: how often the host waited. random_state: of its random numbers."""

    def __init__(self, name: str) -> None:
        self.device = torch.device(name, 0)
        self.waits: Counter[str] = Counter()
        self.random_state = torch.Generator().manual_seed(0).get_state()
        self.pinned: set[int] = set()  # addresses of pinned memory

    def is_named(self, device: Any) -> bool:
        """Whether this is the device meant, by its own name or by the registered one."""
        if isinstance(device, str):
            device = device.partition(":")[0]
            return device in (self.device.type, REGISTERED)
        return isinstance(device, torch.device) and device.type in (self.device.type, REGISTERED)

    def on_device(self, host: Tensor) -> "DeviceTensor":
        if self.device.type == "mps" and host.dtype == torch.float64:
            raise TypeError(
                "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
            )
        return DeviceTensor(host, self)

    def run(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run an operator on the host's tensors, and wrap what is on the device."""
        name, to = function.overloadpacket.__name__, kwargs.get("device")
        if name in ("_pin_memory", "is_pinned"):
            return self._pinned(name, args[0])
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        is_here = any(isinstance(tensor, DeviceTensor) for tensor in tensors)
        goes_here = self.is_named(to) or (to is None and is_here)
        if is_here or goes_here:
            self._count(name, args, kwargs, goes_here)
        if is_here and name not in COPIES:
            self._check(name, args, tensors)
        kwargs = {**kwargs, "device": torch.device("cpu")} if self.is_named(to) else kwargs
        with self.own_randomness() if goes_here else nullcontext():
            compute = KERNELS.get(name, function)
            result = compute(*tree_map(_host, args), **tree_map(_host, kwargs))
        return self._wrapped(result, tensors, goes_here)

    def _wrapped(self, result: Any, tensors: list[Tensor], goes_here: bool) -> Any:
        """What an operator changed in place or filled is the caller's own tensor."""
        given = {id(_host(tensor)): tensor for tensor in tensors}

        def wrap(value: Any) -> Any:
            if not isinstance(value, Tensor) or id(value) not in given:
                return self.on_device(value) if goes_here and isinstance(value, Tensor) else value
            own = given[id(value)]
            if own.shape != value.shape:
                raise NotImplementedError("a stand-in's tensor cannot change its shape in place")
            return own

        return tree_map(wrap, result)

    def _count(self, name: str, args: tuple, kwargs: dict[str, Any], goes_here: bool) -> None:
        if name in WAITING:
            self.waits[WAITING[name]] += 1
        elif name in INDEXING:
            indices = [index for index in args[1] if index is not None]
            self.waits["boolean index"] += any(index.dtype in (torch.bool, torch.uint8) for index in indices)
            self.waits["copy to the device"] += any(index.dim() and not _is_here(index) for index in indices)
        elif name == "repeat_interleave":
            self.waits["repeat_interleave"] += kwargs.get("output_size") is None
        elif name in COPIES:
            self._count_copy(name, args, kwargs, goes_here)
        self.waits += Counter()  # without zeros

    def _count_copy(self, name: str, args: tuple, kwargs: dict[str, Any], goes_here: bool) -> None:
        source = args[1] if name == "copy_" else args[0]
        if not source.numel():
            return
        goes_here = _is_here(args[0]) if name == "copy_" else goes_here
        is_deferred = kwargs.get("non_blocking") or (name == "copy_" and len(args) > 2 and args[2])
        if goes_here and not _is_here(source) and not (is_deferred and source.data_ptr() in self.pinned):
            self.waits["copy to the device"] += 1
        elif _is_here(source) and not goes_here and not is_deferred:
            self.waits["copy to the host"] += 1

    def _check(self, name: str, args: tuple, tensors: list[Tensor]) -> None:
        """Raise the error of CUDA for a CPU tensor that is no single number; it may be an index."""
        indices = {id(index) for index in args[1]} if name in INDEXING else set()
        for tensor in tensors:
            if not _is_here(tensor) and tensor.dim() and id(tensor) not in indices:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, {self.device} and "
                    f"cpu! (a CPU tensor {tuple(tensor.shape)} for {name})"
                )

    def _pinned(self, name: str, host: Tensor) -> Any:
        if name == "is_pinned":
            return host.data_ptr() in self.pinned
        copied = host.clone()
        self.pinned.add(copied.data_ptr())
        return copied

    @contextmanager
    def own_randomness(self) -> Iterator[None]:
        """Draw from the device's stream: what the host draws afterwards does not depend on it."""
        of_host = torch.get_rng_state()
        torch.set_rng_state(self.random_state)
        try:
            yield
        finally:
            self.random_state = torch.get_rng_state()
            torch.set_rng_state(of_host)

    def seed(self, seed: int) -> None:
        self.random_state = torch.Generator().manual_seed(seed).get_state()

    def set_random_state(self, state: Tensor, device: Any = None) -> None:
        self.random_state = state.clone()

    def synchronize(self, device: Any = None) -> None:
        self.waits["synchronize"] += 1


class DeviceTensor(Tensor):
    """A tensor that says it is on the device, and shares the memory of a tensor on the host."""

    host: Tensor
    stand_in: StandIn
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, host: Tensor, stand_in: StandIn) -> "DeviceTensor":
        device = stand_in.device
        made = torch.Tensor._make_subclass(cls, host, False, dispatch_device=True, device_for_backend_keys=device)
        made.host, made.stand_in = host, stand_in
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        if function is torch.ops.prim.device.default:  # for C++; Python reads the property
            return torch.device(REGISTERED, 0)
        stand_in = next(leaf.stand_in for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, DeviceTensor))
        return stand_in.run(function, args, kwargs or {})

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.stand_in.device

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return self.stand_in.device.type == "cuda"

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __deepcopy__(self, memo: dict) -> Tensor:
        copied = self.detach().clone().requires_grad_(self.requires_grad)
        copied.__dict__.update({"_is_param": True} if isinstance(self, torch.nn.Parameter) else {})
        return memo.setdefault(id(self), copied)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.host.detach().__reduce_ex__(protocol)  # saved files hold tensors of the CPU

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{self.host!r} on {self.device}"


def _is_here(value: Any) -> bool:
    return isinstance(value, DeviceTensor)


def _host(value: Any) -> Any:
    return value.host if isinstance(value, DeviceTensor) else value


class Operators(TorchDispatchMode):
    """Sends every operator to the stand-in: it makes the tensors that are asked for on the device."""

    def __init__(self, stand_in: StandIn) -> None:
        super().__init__()
        self.stand_in = stand_in

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if function is torch.ops.prim.device.default:
            return torch.device(REGISTERED, 0)
        if torch.is_inference_mode_enabled():  # where composite operators arrive whole
            with self:
                result = function.decompose(*args, **(kwargs or {}))
            if result is not NotImplemented:
                return result
        return self.stand_in.run(function, args, kwargs or {})


class DeviceNames(TorchFunctionMode):
    """Hands the registered name to torch where its functions are given the device's name; casts where autocast would.

    torch's own autocast looks for devices of its names in C++, where this one has another.
    """

    def __init__(self, stand_in: StandIn) -> None:
        super().__init__()
        self.stand_in = stand_in

    def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if function is torch.device:
            return function(*args, **(kwargs or {}))
        kwargs = {name: self._registered(value) for name, value in (kwargs or {}).items()}
        name, kind = getattr(function, "__name__", ""), self.stand_in.device.type
        if name in LOWERED | RAISED and torch.is_autocast_enabled(kind):
            dtype = torch.get_autocast_dtype(kind) if name in LOWERED else torch.float32
            args, kwargs = tree_map(lambda value: _cast(value, dtype), (args, kwargs))
        if name in ("__getitem__", "__setitem__") and _is_here(args[0]):
            args = (args[0], _indices(args[1], self.stand_in), *args[2:])
        is_new_here = name == "new_tensor" and _is_here(args[0])
        if name in CREATING and (is_new_here or self.stand_in.is_named(kwargs.get("device"))):
            return self._created(function, args, kwargs)
        return function(*map(self._registered, args), **kwargs)

    def _created(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Tensor:
        """A tensor of Python's numbers, which torch makes in C++ beyond any mode: on the host, then copied."""
        host = function(*map(_host, args), **{**kwargs, "device": "cpu"})
        return host.to(torch.device(REGISTERED, 0))

    def _registered(self, value: Any) -> Any:
        is_place = isinstance(value, torch.device) or (isinstance(value, str) and value.startswith(NAMES))
        return torch.device(REGISTERED, 0) if is_place and self.stand_in.is_named(value) else value


def _indices(index: Any, stand_in: StandIn) -> Any:
    """Lists in an index as tensors, which torch would copy to the device beyond any mode."""
    if isinstance(index, tuple):
        return tuple(_indices(each, stand_in) for each in index)
    if not isinstance(index, list):
        return index
    stand_in.waits["copy to the device"] += 1
    return stand_in.on_device(torch.tensor(index))


def _cast(value: Any, dtype: torch.dtype) -> Any:
    is_cast = isinstance(value, DeviceTensor) and value.is_floating_point() and value.dtype != torch.float64
    return value.to(dtype) if is_cast else value


class Event:
    """A mark in the device's queue of work, which is empty at any time."""

    def __init__(self, stand_in: StandIn) -> None:
        self.stand_in = stand_in

    def record(self, stream: Any = None) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        """Only the device waits."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        self.stand_in.waits["event"] += 1


def _answers(device: StandIn) -> dict[str, Callable[..., Any]]:
    """What the functions of torch.cuda, torch.mps and torch.xpu say; each has some of them."""

    def nothing(*_: Any, **__: Any) -> None:
        pass

    answers: dict[str, Callable[..., Any]] = {
        **dict.fromkeys(["_lazy_init", "set_device", "empty_cache", "reset_peak_memory_stats", "_lazy_call"], nothing),
        **dict.fromkeys(["is_available", "is_built", "is_initialized", "is_bf16_supported"], lambda *_, **__: True),
        **dict.fromkeys(["manual_seed", "manual_seed_all"], device.seed),
        **dict.fromkeys(["current_allocated_memory", "memory_allocated", "current_device"], lambda *_: 0),
        **dict.fromkeys(["_exchange_device", "_maybe_exchange_device"], lambda *_: 0),
        **dict.fromkeys(["max_memory_allocated", "memory_reserved", "max_memory_reserved"], lambda *_: 0),
        "device_count": lambda: 1,
        "get_device_name": lambda *_: "stand-in",
        "get_device_capability": lambda *_: (8, 0),
        "get_rng_state": lambda *_: device.random_state.clone(),
        "set_rng_state": device.set_random_state,
        "get_rng_state_all": lambda: [device.random_state.clone()],
        "set_rng_state_all": lambda states: device.set_random_state(states[0]),
        "synchronize": device.synchronize,
    }
    return answers


def _forget_answers() -> None:
    """Let accelerate and transformers ask again which devices there are."""
    for module in (accelerate.utils.imports, transformers.utils.import_utils):
        for name in ("is_torch_mps_available", "is_torch_xpu_available", "is_torch_cuda_available", "is_xpu_available"):
            getattr(getattr(module, name, None), "cache_clear", lambda: None)()


@contextmanager
def stand_in(name: str = "cuda") -> Iterator[StandIn]:
    """Within this context, torch has a device of this name. Raises ValueError for other names than `NAMES`."""
    if name not in NAMES:
        raise ValueError(f"{name!r}: a stand-in has one of the names {', '.join(NAMES)}")
    if not hasattr(torch, REGISTERED):
        _setup_privateuseone_for_python_backend(REGISTERED)
    device = StandIn(name)
    with ExitStack() as stack:
        for module in {"cuda": [torch.cuda], "mps": [torch.mps, torch.backends.mps], "xpu": [torch.xpu]}[name]:
            answers: dict[str, Any] = {key: answer for key, answer in _answers(device).items() if hasattr(module, key)}
            stack.enter_context(patch.multiple(module, **answers))
        named: dict[str, Any] = {
            "current_accelerator": lambda check_available=False: device.device,
            "synchronize": device.synchronize,
        }
        stack.enter_context(patch.multiple(torch.accelerator, **named))
        stack.enter_context(patch.object(torch, "Event", lambda *_, **__: Event(device)))
        swaps = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)  # Module.to keeps parameters, and so their ties
        stack.callback(torch.__future__.set_swap_module_params_on_conversion, swaps)
        # transformers would read weights in threads, which have no modes.
        stack.enter_context(patch.dict(os.environ, HF_DEACTIVATE_ASYNC_LOAD="1"))
        stack.callback(_forget_answers)
        _forget_answers()
        stack.enter_context(DeviceNames(device))
        stack.enter_context(Operators(device))
        yield device
