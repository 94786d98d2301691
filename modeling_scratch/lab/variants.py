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
FAR = 2  # a size that is adjusted by a larger factor makes a model of other proportions
FAR_NOTE = "WARNING: so different a size may be what differs; compare with --match_parameters False"
Factors = Mapping[str, Sequence[str]]  # the values of each field, the base's first


def parse_factors(given: Sequence[str]) -> dict[str, list[str]]:
    """Parse "norm_position=pre,post" of each --vary. Raises `DataError` if a field or a value is repeated or alone."""
    example = "give a field and at least two values, as in norm_position=pre,post"
    factors: dict[str, list[str]] = {}
    for text in given:
        name, _, listed = text.partition("=")
        name, values = name.strip(), [value.strip() for value in listed.split(",")]
        values = [PYTHON_NAMES.get(value, value) for value in values]
        if not name or not all(values):
            raise DataError(f"--vary {text}: {example}")
        if len(values) < 2:
            base = {"true": "false", "false": "true"}.get(values[0], "BASE")
            raise DataError(f"--vary {text}: name the value of the base first, as in {name}={base},{values[0]}")
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
    note: str = ""

    @property
    def name(self) -> str:
        return ",".join(f"{name}={self.values[name]}" for name in self.changed) or BASE

    @property
    def overrides(self) -> list[str]:
        """The config overrides, behind those of all variants."""
        sized = [f"{SIZE}={self.size}"] if self.size is not None else []
        return [*(f"{name}={value}" for name, value in self.values.items()), *sized]

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

    def of_size(variant: Variant, size: int | None, note: str = "") -> Variant:
        chosen = replace(variant, size=size, note=note)
        return replace(chosen, parameters=measured(tuple(chosen.overrides))[0])

    def matched(variant: Variant) -> Variant:
        plain, target = of_size(variant, None), measured(tuple(variants[0].overrides))[0]
        if not matches or plain.parameters == target:
            return plain
        if SIZE in variant.values:
            return of_size(variant, None, f"not adjusted, as {SIZE} is varied itself")
        size = measured(tuple(plain.overrides))[1]
        step = of_size(variant, size + 1).parameters - plain.parameters
        fitting = size + round((target - plain.parameters) / step) if step else 0
        if fitting < 1:
            return of_size(variant, None, f"not adjusted, as no {SIZE} gives as many parameters as the base")
        if fitting == size:
            return plain
        is_far = not size / FAR <= fitting <= size * FAR
        return of_size(variant, fitting, f"{SIZE} {size} -> {fitting}" + (f" ({FAR_NOTE})" if is_far else ""))

    return [matched(variant) for variant in variants]
