# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checkpoints on disk or on the Hub, read one tensor at a time, from safetensors alone; and whole folders, written."""

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers.utils import cached_file

from ..utils.errors import CheckpointError

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"

PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "consolidated.00.pth")


class WeightFiles:
    """The tensors of a checkpoint by name. Only what is asked for is read, and nothing of it is kept.

    - name_or_path: a folder, or a repository of the Hub.
    - revision: of the repository.
    """

    def __init__(self, name_or_path: str, revision: str | None = None) -> None:
        self.name, self.revision = str(name_or_path), revision
        index = self._find(INDEX)
        single = None if index else self._find(WEIGHTS)
        if index:
            self.files = self._indexed(Path(index))
        elif single:
            self.files = dict.fromkeys(_names(Path(single)), Path(single))
        else:
            raise CheckpointError(f"{self.name}: {self._what_is_wrong()}")

    def read(self, name: str) -> Tensor:
        """A copy in memory. The file is opened anew, so that what was mapped of it goes back when it is closed."""
        try:
            with safe_open(self.files[name], "pt") as file:
                return file.get_tensor(name).clone()
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{self.files[name]}: {name} cannot be read: {error}") from error

    def _find(self, file: str) -> str | None:
        options = {"revision": self.revision, "_raise_exceptions_for_missing_entries": False}
        return cached_file(self.name, file, **options)

    def _indexed(self, index: Path) -> dict[str, Path]:
        try:
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
            listed = {str(name): str(shard) for name, shard in shards.items()}
        except (ValueError, KeyError, AttributeError, OSError) as error:
            raise CheckpointError(f"{index}: no index of safetensors, with a weight_map: {error!r}") from error
        paths: dict[str, Path] = {}
        for shard in sorted(set(listed.values())):
            found = self._find(shard) if Path(shard).name == shard else None  # never outside of the checkpoint
            if found is None:
                raise CheckpointError(f"{index} names {shard}, which is missing beside it: copy the whole checkpoint")
            paths[shard] = Path(found)
        present = {(name, shard) for shard, path in paths.items() for name in _names(path)}
        if wrong := sorted(set(listed.items()) ^ present):
            raise CheckpointError(f"{index} and its files disagree about {wrong[0][0]} in {wrong[0][1]}")
        return {name: paths[shard] for name, shard in listed.items()}

    def _what_is_wrong(self) -> str:
        for pickle in PICKLES:
            if self._find(pickle):
                return (
                    f"holds {pickle}, a pickle, which can run any code when it is read, and no {WEIGHTS}: "
                    "look for a safetensors revision of it, or convert it where you trust it"
                )
        return f"holds neither {WEIGHTS} nor {INDEX}"


def _names(file: Path) -> list[str]:
    try:
        with safe_open(file, "pt") as opened:
            return list(opened.keys())
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} is no whole safetensors file (cut off, or damaged?): {error}") from error
