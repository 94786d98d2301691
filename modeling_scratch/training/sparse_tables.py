# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Embedding tables whose rows learn only in the steps that read them, beside layers that learn in every step."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn, optim
from transformers import Trainer

from ..utils.errors import DataError

SPARSE_EMBEDDINGS = (
    "Train the tables of n-grams, and of tokens where no head shares them, by torch.optim.SparseAdam: only the rows "
    "that a step reads change, without weight decay."
)


class AdamWithSparseTables(optim.Optimizer):
    """One optimizer of two: for the layers, and torch.optim.SparseAdam for the tables.

    AdamW moves a row in each of the steps after the one that read it, by the momentum of that one reading. A row that
    is rarely read moves ten times as far as it does here, and remembers single texts.
    """

    def __init__(self, layers: optim.Optimizer, tables: optim.SparseAdam) -> None:
        self.parts = layers, tables
        super().__init__([group for part in self.parts for group in part.param_groups], {})
        self._share()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._share()

    def _share(self) -> None:
        """Give the parts this optimizer's groups and state, of which a checkpoint is made."""
        groups = iter(self.param_groups)
        for part in self.parts:
            part.state, part.param_groups = self.state, [next(groups) for _ in part.param_groups]

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        if closure is not None:
            raise ValueError("closure: two optimizers cannot evaluate one loss; call backward() before step().")
        for part in self.parts:
            part.step()
        return None


class SparseTables(Trainer):
    """Trainer whose `sparse_embeddings` says that the tables of tokens and n-grams are such tables."""

    def create_optimizer(self, model: nn.Module | None = None) -> optim.Optimizer:
        if self.optimizer is not None or not getattr(self.args, "sparse_embeddings", False):
            return super().create_optimizer(model)
        if self.args.world_size > 1 or self.args.n_gpu > 1:
            raise DataError("--sparse_embeddings runs in one process, on one device")
        whole: Any = self.model if model is None else model
        tables = sparse_tables(whole)
        for table in tables:
            table.sparse = True
        layers = super().create_optimizer(model)
        if "betas" not in layers.defaults:
            raise DataError(f"--sparse_embeddings requires a kind of Adam, not --optim {self.args.optim}")
        weights, groups = {table.weight for table in tables}, []
        for group in layers.param_groups:
            rows = [weight for weight in group["params"] if weight in weights]
            group["params"] = [weight for weight in group["params"] if weight not in weights]
            groups += [{"params": rows, **{name: group[name] for name in ("lr", "betas", "eps")}}] if rows else []
        layers.param_groups = [group for group in layers.param_groups if group["params"]]
        self.optimizer = AdamWithSparseTables(layers, optim.SparseAdam(groups)) if groups else layers
        return self.optimizer

    def _clip_grad_norm(self, model: nn.Module) -> Tensor:
        """Clip the gradients of the layers. The steps of the tables do not depend on the size of a gradient."""
        if not has_sparse_gradients(model):
            return super()._clip_grad_norm(model)
        return self.accelerator.clip_grad_norm_(dense_weights(model), self.args.max_grad_norm)

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        if grad_norm is None and has_sparse_gradients(model):
            grad_norm = self.accelerator.clip_grad_norm_(dense_weights(model), float("inf"))
        return super()._get_grad_norm(model, grad_norm)


def sparse_tables(model: Any) -> list[nn.Embedding]:
    """Return the tables of tokens and n-grams that no other layer shares, such as a tied head."""
    holders = [module for module in model.modules() if isinstance(getattr(module, "weight", None), nn.Parameter)]
    shares = Counter(module.weight for module in holders)
    ngrams = getattr(getattr(model.base_model, "embeddings", None), "ngrams", None)
    tables = [model.get_input_embeddings(), *([ngrams.table] if ngrams is not None else [])]
    return [table for table in tables if shares[table.weight] == 1]


def has_sparse_gradients(model: nn.Module) -> bool:
    return any(weight.grad is not None and weight.grad.is_sparse for weight in model.parameters())


def dense_weights(model: nn.Module) -> list[nn.Parameter]:
    return [weight for weight in model.parameters() if weight.grad is not None and not weight.grad.is_sparse]
