# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Read checkpoints from disk or the Hub one tensor at a time, from safetensors only."""

from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers.utils import cached_file

from ..utils.errors import CheckpointError
from ..utils.files import read_json

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"

PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "consolidated.00.pth")


class WeightFiles:
    """The tensors of a checkpoint by name, read on demand and not cached.

    - name_or_path: a folder, or a repository of the Hub.
    - options: where in it, and how to download: those of `cached_file`.
    """

    def __init__(self, name_or_path: str, **options: Any) -> None:
        self.name, self.options = str(name_or_path), options
        single = self._find(WEIGHTS)
        index = None if single else self._find(INDEX)  # beside a single file, a left-over of earlier shards
        if single:
            self.files = dict.fromkeys(_names(Path(single)), Path(single))
        elif index:
            self.files = self._indexed(Path(index))
        elif pickle := next(filter(self._find, PICKLES), None):
            fault = f"contains only {pickle}, a pickle that can execute arbitrary code, and no {WEIGHTS}"
            raise CheckpointError(f"{self.name}: {fault}: use a safetensors revision, or convert it if you trust it")
        else:
            raise CheckpointError(f"{self.name}: contains neither {WEIGHTS} nor {INDEX}")

    def read(self, name: str) -> Tensor:
        """Return a copy of a tensor. The file is reopened each time, so that its memory map is released."""
        try:
            with safe_open(self.files[name], "pt") as file:
                return file.get_tensor(name).clone()
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{self.files[name]}: {name} cannot be read: {error}") from error

    def _find(self, file: str) -> str | None:
        return cached_file(self.name, file, **self.options, _raise_exceptions_for_missing_entries=False)

    def _indexed(self, index: Path) -> dict[str, Path]:
        try:
            shards = read_json(index)["weight_map"]
            listed = {str(name): str(shard) for name, shard in shards.items()}
        except (ValueError, KeyError, AttributeError, OSError) as error:
            raise CheckpointError(f"{index}: not a safetensors index with a weight_map: {error!r}") from error
        paths: dict[str, Path] = {}
        for shard in sorted(set(listed.values())):
            found = self._find(shard) if Path(shard).name == shard else None  # never outside the checkpoint
            if found is None:
                raise CheckpointError(f"{index} names {shard}, which is missing: copy the whole checkpoint")
            paths[shard] = Path(found)
        present = {(name, shard) for shard, path in paths.items() for name in _names(path)}
        if wrong := sorted(set(listed.items()) ^ present):
            raise CheckpointError(f"{index} and its files disagree about {wrong[0][0]} in {wrong[0][1]}")
        return {name: paths[shard] for name, shard in listed.items()}


def _names(file: Path) -> list[str]:
    try:
        with safe_open(file, "pt") as opened:
            return list(opened.keys())
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} is not a complete safetensors file (truncated or damaged): {error}") from error
