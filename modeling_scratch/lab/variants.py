# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The variants of a lab: what each changes, whether a config takes it, and the size that makes parameters equal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from transformers import PreTrainedModel

from ..bridges.model_sources import PYTHON_NAMES, parse_value, preset_config
from ..configuration_scratch import ScratchConfig
from ..utils.errors import DataError, one_line

SIZE = "intermediate_size"  # what is adjusted
BASE = "base"
FAR = 2  # a size that is adjusted by a larger factor makes a model of other proportions
FAR_NOTE = "WARNING: so different a size may be what differs; compare with --match_parameters False"
Factors = Mapping[str, Sequence[str]]  # the values of each field, the base's first


def parse_factors(given: Sequence[str]) -> dict[str, list[str]]:
    """Parse "norm_position=pre,post" of each --vary. Raises `DataError` if a field or a value is repeated or alone."""
    factors: dict[str, list[str]] = {}
    for text in given:
        name, _, listed = text.partition("=")
        name, values = name.strip(), [value.strip() for value in listed.split(",")]
        values = [PYTHON_NAMES.get(value, value) for value in values]
        if not name or not all(values):
            raise DataError(f"--vary {text}: give a field and at least two values, as in norm_position=pre,post")
        if len(values) < 2:
            base = {"true": "false", "false": "true"}.get(values[0], "BASE")
            raise DataError(
                f"--vary {text}: one value has nothing to be compared with; name that of the base first, as in "
                f"{name}={base},{values[0]}"
            )
        if name in factors:
            raise DataError(f"--vary {text}: {name} is already varied; join the values into one list")
        if len({_key(value) for value in values}) < len(values):
            raise DataError(f"--vary {text}: a value is given twice")
        factors[name] = values
    if not factors:
        raise DataError("--vary is missing: give a field and at least two values, as in norm_position=pre,post")
    return factors


def _key(text: str) -> tuple[bool, str]:
    """Return what is equal for two spellings of a value, such as 0 and 0.0."""
    value = parse_value(text)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number, repr(float(value)) if is_number else str(value)


@dataclass(frozen=True)
class Variant:
    """One configuration: the value of each varied field, and the size that was adjusted for it, if any."""

    values: Mapping[str, str]
    changed: Sequence[str] = ()  # the field that differs from the base
    parameters: int = 0
    size: int | None = None  # None: that of the preset
    note: str = ""

    @property
    def name(self) -> str:
        return ",".join(f"{name}={self.values[name]}" for name in self.changed) or BASE

    @property
    def overrides(self) -> list[str]:
        """The config overrides, behind those of all variants."""
        sized = [f"{SIZE}={self.size}"] if self.size is not None else []
        return [*(f"{name}={value}" for name, value in self.values.items()), *sized]


def plan_variants(factors: Factors) -> list[Variant]:
    """Return the base, and one variant for each other value of each factor."""
    base = {name: values[0] for name, values in factors.items()}
    others = [(name, value) for name, values in factors.items() for value in values[1:]]
    return [Variant(base), *(Variant({**base, name: value}, [name]) for name, value in others)]


def check_variants(
    table: Mapping[str, Callable[..., ScratchConfig]],
    preset: str,
    base: str | None,
    factors: Factors,
    variants: Sequence[Variant],
) -> None:
    """Raise a one-line `DataError`, with the choices, for a field or a value that the config class does not take."""
    preset_config(table, preset, base)
    alone = [f"{name}={value}" for name, values in factors.items() for value in values]
    whole = [",".join(filter(None, [base, *variant.overrides])) for variant in variants]
    for overrides in (*alone, *whole):
        try:
            preset_config(table, preset, overrides)
        except DataError as error:
            raise DataError(one_line(error).replace("--config_overrides", "--vary", 1)) from error


@dataclass
class Matching:
    """Counts parameters, and finds the intermediate_size with which a variant has as many as the base.

    build: returns a model with given overrides; it is called without memory for the weights.
    """

    build: Callable[[Sequence[str]], PreTrainedModel]
    matches: bool
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, overrides: Sequence[str]) -> int:
        key = ",".join(overrides)
        if key not in self.counts:
            with torch.device("meta"):
                model: Any = self.build(overrides)
            model.tie_weights()
            self.counts[key] = sum(weight.numel() for weight in model.parameters())
        return self.counts[key]

    def sized(self, variants: Sequence[Variant]) -> list[Variant]:
        """Return the variants with their parameters, after adjusting intermediate_size to the base's number."""
        target = self.count(variants[0].overrides)
        return [self._sized(variant, target) for variant in variants]

    def _sized(self, variant: Variant, target: int) -> Variant:
        def sized(size: int | None, note: str = "") -> Variant:
            chosen = replace(variant, size=size, note=note)
            return replace(chosen, parameters=self.count(chosen.overrides))

        plain = sized(None)
        if not self.matches or plain.parameters == target:
            return plain
        if SIZE in variant.values:
            return sized(None, f"not adjusted, as {SIZE} is varied itself")
        with torch.device("meta"):
            size = self.build(plain.overrides).config.intermediate_size
        step = sized(size + 1).parameters - plain.parameters
        fitting = size + round((target - plain.parameters) / step) if step else 0
        if fitting < 1:
            return sized(None, f"not adjusted, as no {SIZE} gives as many parameters as the base")
        if fitting == size:
            return plain
        is_far = not size / FAR <= fitting <= size * FAR
        return sized(fitting, f"{SIZE} {size} -> {fitting}" + (f" ({FAR_NOTE})" if is_far else ""))
