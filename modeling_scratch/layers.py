# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The small parts: RMSNorm, the residual connection in its four forms, and the feed-forward layer.

Shapes: everything here works on the last axis alone: (..., hidden) stands for (B, T, hidden).
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from .configuration_scratch import ScratchConfig


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019), the division in float32."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, hidden_states: Tensor) -> Tensor:
        normed = nn.functional.rms_norm(hidden_states.float(), self.weight.shape, eps=self.eps)
        if self.weight.dtype.itemsize == 2:  # as Llama and T5: rounded before the product
            return self.weight * normed.to(self.weight.dtype)
        return (self.weight * normed).to(hidden_states.dtype)  # float32_norms: rounded after it


NORMS = {"layer_norm": nn.LayerNorm, "rms_norm": RMSNorm}


def make_norm(config: ScratchConfig, size: int, is_there: bool = True) -> nn.Module:
    """The norm of the config over the last axis, of this size; the identity where there is none."""
    if not is_there:
        return nn.Identity()
    return NORMS[config.norm_type](size, eps=config.norm_eps)


def make_projection(size: int, features: int) -> nn.Module:
    """x W + b, (..., size) -> (..., features); the identity where the sizes are the same."""
    if size == features:
        return nn.Identity()
    return nn.Linear(size, features)


class Residual(nn.Module):
    """norm(x + f(x)), the residual connection around f (Vaswani et al. 2017, 3.1; BERT, BART, Marian)."""

    def __init__(self, config: ScratchConfig) -> None:
        super().__init__()
        self.norm = make_norm(config, config.hidden_size)
        self.dropout = nn.Dropout(config.hidden_dropout)
        self.float16_guards = config.float16_guards

    def before(self, residual: Tensor) -> Tensor:
        """x -> what f reads."""
        return residual

    def after(self, residual: Tensor, update: Tensor) -> Tensor:
        """x, f(...) -> what the next part reads."""
        return self.norm(residual + self.dropout(update))


class PreNorm(Residual):
    """x + f(norm(x)) (Baevski and Auli 2019; GPT-2, Llama)."""

    def before(self, residual: Tensor) -> Tensor:
        return self.norm(residual)

    def after(self, residual: Tensor, update: Tensor) -> Tensor:
        total = residual + self.dropout(update)
        if self.float16_guards:  # infinite values become finite, so that the next norm is, too
            limit = torch.finfo(total.dtype).max - 1000  # T5's in float16, 64504
            total = total.clamp(-limit, limit)
        return total


class OutputNorm(Residual):
    """x + norm(f(x)) (Liu et al. 2022, Swin V2; OLMo 2)."""

    def after(self, residual: Tensor, update: Tensor) -> Tensor:
        return residual + self.dropout(self.norm(update))


class SandwichNorm(PreNorm):
    """x + norm_2(f(norm_1(x))) (Ding et al. 2021, CogView; Gemma 2)."""

    def __init__(self, config: ScratchConfig) -> None:
        super().__init__(config)
        self.output_norm = make_norm(config, config.hidden_size)

    def after(self, residual: Tensor, update: Tensor) -> Tensor:
        return residual + self.dropout(self.output_norm(update))


NORM_POSITIONS: dict[str, type[Residual]] = {
    "post": Residual,
    "pre": PreNorm,
    "output": OutputNorm,
    "sandwich": SandwichNorm,
}

# name: (function, gated?)
ACTIVATIONS: dict[str, tuple[Callable[..., Tensor], bool]] = {
    "relu": (nn.functional.relu, False),
    "gelu": (nn.functional.gelu, False),
    "gelu_tanh": (partial(nn.functional.gelu, approximate="tanh"), False),
    "silu": (nn.functional.silu, False),
    "reglu": (nn.functional.relu, True),
    "geglu": (nn.functional.gelu, True),
    "geglu_tanh": (partial(nn.functional.gelu, approximate="tanh"), True),
    "swiglu": (nn.functional.silu, True),
}


class FeedForward(nn.Module):
    """act(x W_up) W_down (Vaswani et al. 2017, 3.3), or gated: (act(x W_gate) * x W_up) W_down (Shazeer 2020)."""

    def __init__(self, config: ScratchConfig) -> None:
        super().__init__()
        self.activation, gated = ACTIVATIONS[config.hidden_act]
        outer, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.gate_proj = nn.Linear(outer, inner, bias) if gated else None
        self.up_proj = nn.Linear(outer, inner, bias)
        self.down_proj = nn.Linear(inner, outer, bias)
        self.dropout = nn.Dropout(config.activation_dropout)
        self.float16_guards = config.float16_guards

    def forward(self, hidden_states: Tensor) -> Tensor:
        features = self.up_proj(hidden_states)
        if self.gate_proj is None:
            features = self.activation(features)
        else:
            features = self.activation(self.gate_proj(hidden_states)) * features
        features = self.dropout(features)
        if self.float16_guards and self.down_proj.weight.is_floating_point():
            features = features.to(self.down_proj.weight.dtype)  # float32, unless quantised
        return self.down_proj(features)
