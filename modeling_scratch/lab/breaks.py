# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Break one part of a built model from outside, to see what the part is for.

    with broken(model, "scaling"):
        ...  # train the model, or ask it

The textbook has no switch for it: a break hooks a module or replaces an attribute, and takes both back at the end.

Shapes: B batch, T length, S keys, H heads, D head size.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import Attention, eager_attention
from ..embeddings import Embeddings
from ..layers import NORMS, Residual
from ..positions import POSITION_BIASES
from ..stack import StackModel

Undo = Callable[[], Any]


def scaling(module: nn.Module) -> Iterator[Undo]:
    """Q K^T in place of Q K^T / sqrt(D)."""
    if isinstance(module, Attention):
        yield replace(module, "scaling", 1.0)


def mask(module: nn.Module) -> Iterator[Undo]:
    """Every token sees what any token sees, and so what comes after itself; padding stays hidden."""

    def opened(attention: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden_states, attention_mask, *others = arguments
        return hidden_states, attention_mask.amax(dim=-2, keepdim=True), *others  # (B, 1, T, S) -> (B, 1, 1, S)

    if isinstance(module, Attention) and module.is_causal:
        yield module.register_forward_pre_hook(opened).remove


def residual(module: nn.Module) -> Iterator[Undo]:
    """f(x) in place of x + f(x)."""
    if isinstance(module, Residual):
        after: Any = module.after
        yield replace(module, "after", lambda states, update: after(torch.zeros_like(states), update))


def norm(module: nn.Module) -> Iterator[Undo]:
    """x in place of norm(x), wherever there is a norm."""
    if isinstance(module, tuple(NORMS.values())):
        yield module.register_forward_hook(lambda norm, arguments, output: arguments[0]).remove


def positions(module: nn.Module) -> Iterator[Undo]:
    """Positions add nothing to embeddings and scores, and turn neither queries nor keys."""

    def unturned(attention: nn.Module, arguments: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return arguments, {**named, "rotary": None, "position_bias": None}

    if isinstance(module, Embeddings) and module.positions is not None:
        yield module.positions.register_forward_hook(lambda table, ids, rows: torch.zeros_like(rows)).remove
    if isinstance(module, Embeddings) and module.sinusoid is not None:
        yield replace(module, "sinusoid", None)
    if isinstance(module, Attention) and module.config.position_type in ("rotary", *POSITION_BIASES):
        yield module.register_forward_pre_hook(unturned, with_kwargs=True).remove


def softmax_axis(module: nn.Module) -> Iterator[Undo]:
    """softmax(dim=-2): over the queries in place of the keys."""
    if isinstance(module, StackModel):
        yield attend_by(module, over_queries)


BREAKS: dict[str, Callable[[nn.Module], Iterator[Undo]]] = {
    each.__name__: each for each in (scaling, mask, residual, norm, positions, softmax_axis)
}


@contextmanager
def broken(model: nn.Module, name: str) -> Iterator[None]:
    """Break a part of a scratch model, one of BREAKS. Inside, the textbook computes with eager attention.

    Breaks can be nested. Raises ValueError for an unknown part, and for one that the model does not have.
    """
    if name not in BREAKS:
        raise ValueError(f"{name!r} cannot be broken: choose one of {', '.join(BREAKS)}")
    with ExitStack() as undone:
        for module in model.modules():
            if isinstance(module, StackModel):
                undone.callback(attend_by(module, eager_attention, is_default=True))
        undos = [undone.callback(undo) for module in model.modules() for undo in BREAKS[name](module)]
        if not undos:
            raise ValueError(f"{type(model).__name__} has no {name} that could be broken")
        yield


def replace(module: nn.Module, name: str, value: Any) -> Undo:
    """Set an attribute of a module. The undo sets the former one, or uncovers a method of the class."""
    own = vars(module)
    undo = partial(setattr, module, name, own[name]) if name in own else partial(delattr, module, name)
    setattr(module, name, value)
    return undo


def attend_by(base_model: nn.Module, attention_fn: Callable[..., Any], is_default: bool = False) -> Undo:
    """Let a base model attend by this function, whose masks are those of eager attention."""
    given = {"attention_fn": attention_fn}

    def attending(model: nn.Module, arguments: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return arguments, given | named if is_default else named | given

    return base_model.register_forward_pre_hook(attending, with_kwargs=True).remove


def over_queries(
    module: Attention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    position_bias: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    """eager_attention, but the weights of a key over all queries add up to 1, not those of a query over all keys."""
    key = key.repeat_interleave(module.num_key_value_groups, dim=1)  # (B, H, S, D)
    value = value.repeat_interleave(module.num_key_value_groups, dim=1)
    scores = query @ key.transpose(-2, -1) * scaling  # (B, H, T, S)
    for added in (position_bias, attention_mask):
        scores = scores if added is None else scores + added
    weights = scores.softmax(dim=-2)
    return (weights @ value).transpose(1, 2).contiguous(), weights  # (B, T, H, D)
