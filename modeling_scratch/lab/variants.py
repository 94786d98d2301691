# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The variants of a lab: what each changes, whether a config takes it, and the size that makes parameters equal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from transformers import PreTrainedModel

from ..bridges.model_sources import PYTHON_NAMES, parse_value, preset_config
from ..configuration_scratch import ScratchConfig
from ..utils.errors import DataError, counted, one_line

SIZE = "intermediate_size"  # what is adjusted
BASE = "base"
Factors = Mapping[str, Sequence[str]]  # the values of each field, the base's first


def parse_factors(given: Sequence[str]) -> dict[str, list[str]]:
    """Parse "norm_position=pre,post" of each --vary. Raises `DataError` if a field or a value is repeated or alone."""
    example = "give a field and at least two values, that of the base first, as in norm_position=pre,post"
    factors: dict[str, list[str]] = {}
    for text in given:
        name, _, listed = text.partition("=")
        name, values = name.strip(), [value.strip() for value in listed.split(",")]
        values = [PYTHON_NAMES.get(value, value) for value in values]
        if not name or not all(values) or len(values) < 2:
            raise DataError(f"--vary {text}: {example}")
        different = {(isinstance(value, bool), value) for value in map(parse_value, values)}  # 0 and 0.0 are equal
        if name in factors or len(different) < len(values):
            raise DataError(f"--vary {text}: a field or a value is given twice; join the values into one list")
        factors[name] = values
    if not factors:
        raise DataError(f"--vary is missing: {example}")
    return factors


@dataclass(frozen=True)
class Variant:
    """One configuration: the value of each varied field, and the size that was adjusted for it, if any."""

    values: Mapping[str, str]
    changed: Sequence[str] = ()  # the field that differs from the base
    parameters: int = 0
    size: int | None = None  # None: that of the preset
    note: str = ""  # on the size

    @property
    def name(self) -> str:
        return ",".join(f"{name}={self.values[name]}" for name in self.changed) or BASE

    @property
    def overrides(self) -> tuple[str, ...]:
        """The config overrides, behind those of all variants."""
        sized = [f"{SIZE}={self.size}"] if self.size is not None else []
        return (*(f"{name}={value}" for name, value in self.values.items()), *sized)

    def size_note(self, base: "Variant") -> str:
        """Return what was adjusted, and the remaining difference in parameters."""
        more = self.parameters - base.parameters
        difference = f"{counted(abs(more), 'parameter')} {'more' if more > 0 else 'fewer'} than the base"
        return "; ".join(filter(None, [self.note, difference if more else "as many parameters as the base"]))


def plan_variants(factors: Factors) -> list[Variant]:
    """Return the base, and one variant for each other value of each factor."""
    base = {name: values[0] for name, values in factors.items()}
    others = [(name, value) for name, values in factors.items() for value in values[1:]]
    return [Variant(base), *(Variant({**base, name: value}, [name]) for name, value in others)]


def check_variants(
    table: Mapping[str, Callable[..., ScratchConfig]],
    preset: str,
    base: str | None,
    variants: Sequence[Variant],
) -> None:
    """Raise a one-line `DataError`, with the choices, for a field or a value that the config class does not take."""
    preset_config(table, preset, base)
    for variant in variants:
        try:
            preset_config(table, preset, ",".join(filter(None, [base, *variant.overrides])))
        except DataError as error:
            raise DataError(one_line(error).replace("--config_overrides", "--vary", 1)) from error


def sized(
    variants: Sequence[Variant], build: Callable[[Sequence[str]], PreTrainedModel], matches: bool
) -> list[Variant]:
    """Return the variants with their parameters.

    matches: adjust intermediate_size, so that each has as many parameters as the base, which is the first.
    build: returns a model with given overrides; it is called without memory for the weights.
    """

    @cache
    def measured(overrides: tuple[str, ...]) -> tuple[int, int]:
        """The parameters, and the intermediate_size."""
        with torch.device("meta"):
            model: Any = build(overrides)
        model.tie_weights()
        return sum(weight.numel() for weight in model.parameters()), model.config.intermediate_size

    target = measured(variants[0].overrides)[0]

    def fitting(variant: Variant) -> tuple[int | None, str]:
        """The intermediate_size, None for its own, and a note."""
        parameters, size = measured(variant.overrides)
        if not matches or parameters == target:
            return None, ""
        if SIZE in variant.values:
            return None, f"not adjusted, as {SIZE} is varied itself"
        step = measured(replace(variant, size=size + 1).overrides)[0] - parameters
        found = size + round((target - parameters) / step) if step else 0
        if found < 1:
            return None, f"not adjusted, as no {SIZE} gives as many parameters as the base"
        note = f"{SIZE} {size} -> {found}"
        note += ", which may count for more than the switch" if not size / 4 < found < size * 4 else ""
        return (None, "") if found == size else (found, note)

    chosen = [replace(each, size=size, note=note) for each, (size, note) in zip(variants, map(fitting, variants))]
    return [replace(each, parameters=measured(each.overrides)[0]) for each in chosen]
