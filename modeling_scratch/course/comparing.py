# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a check is, and how most of them find a mistake: the answer does what a function does that makes it."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor

Find = Callable[[Any], str | None]
LONGEST_VALUE = 60  # characters of an argument in a hint
FEW = 16  # numbers of a tensor that a hint shows one by one


@dataclass(frozen=True)
class Check:
    """find: from the answer to the hint that names its mistake, None for a right one, which shows `shows`."""

    find: Find
    shows: str


def random(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, always the same, whatever a notebook has drawn."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class SameAs:
    """The answer is a function that returns what `right` returns, for the arguments of each of `tries`.

    mistakes: hint: a function that makes this mistake. The first that returns what the answer returns, names it.
    otherwise: the hint where there is none, as for a property that does not hold. tries makes new arguments at each
    call, since an answer may change its own.
    """

    right: Callable[..., Any]
    tries: Callable[[], Iterable[tuple[Any, ...]]]
    mistakes: Mapping[str, Callable[..., Any]]
    otherwise: Find = lambda answer: None
    tolerance: float = 1e-5

    def __call__(self, answer: Any) -> str | None:
        if not callable(answer):
            return f"it is {article(answer)}: hand over the function itself, without parentheses after its name."
        given, expected = self.results(answer), self.results(self.right)
        if same(given, expected, self.tolerance):
            return None
        for hint, wrong in self.mistakes.items():
            if same(given, self.results(wrong), self.tolerance):
                return hint
        has_right_form = all(unlike(*pair) is None for pair in zip(given, expected))
        if has_right_form and (hint := self.otherwise(answer)):
            return hint
        cases = zip(self.tries(), given, expected)
        arguments, found, wanted = next(case for case in cases if not same(*case[1:], self.tolerance))
        return f"{difference(found, wanted, self.tolerance)} It was called with {described(answer, arguments)}."

    def results(self, function: Callable[..., Any]) -> list[Any]:
        return [function(*arguments) for arguments in self.tries()]


@dataclass(frozen=True)
class EqualTo:
    """The answer is a value. mistakes: hint: the value to which this mistake leads."""

    right: Any
    mistakes: Mapping[str, Any]
    tolerance: float = 1e-3

    def __call__(self, answer: Any) -> str | None:
        if same(answer, self.right, self.tolerance):
            return None
        named = (hint for hint, wrong in self.mistakes.items() if same(answer, wrong, self.tolerance))
        # The right value is not told: it is what the exercise asks for.
        return next(named, "") or unlike(answer, self.right) or f"{short(answer)} is not the value."


def same(found: Any, wanted: Any, tolerance: float) -> bool:
    """Whether two results are equal: numbers and tensors up to rounding, lists and tuples item by item."""
    if isinstance(wanted, Tensor):
        if unlike(found, wanted):
            return False
        return torch.allclose(found.double(), wanted.double(), atol=tolerance, rtol=tolerance, equal_nan=True)
    if isinstance(wanted, list | tuple):
        is_sequence = isinstance(found, list | tuple) and len(found) == len(wanted)
        return is_sequence and all(same(*pair, tolerance) for pair in zip(found, wanted))
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        number = found.item() if isinstance(found, Tensor) and found.numel() == 1 else found
        return isinstance(number, Real) and math.isclose(number, wanted, rel_tol=tolerance, abs_tol=tolerance)
    return type(found) is type(wanted) and found == wanted


def difference(found: Any, wanted: Any, tolerance: float) -> str:
    """In words, how a result differs from the one that was expected."""
    if text := unlike(found, wanted):
        return text
    if isinstance(wanted, Tensor):
        where = (~torch.isclose(found.double(), wanted.double(), tolerance, tolerance)).nonzero()[0].tolist()
        place = f" at {where}" if where else ""
        return f"the value{place} is {number(found[tuple(where)])}, expected {number(wanted[tuple(where)])}."
    if isinstance(wanted, list | tuple):
        unequal = (n for n, pair in enumerate(zip(found, wanted), 1) if not same(*pair, tolerance))
        n = next(unequal)
        return f"of item {n}, {difference(found[n - 1], wanted[n - 1], tolerance)}"
    return f"the result is {short(found)}, expected {short(wanted)}."


def unlike(found: Any, wanted: Any) -> str | None:
    """In words, how a result differs in its type or shape."""
    if found is None:
        return "the result is None: is a `return` missing, or does `...` still stand there?"
    if found is ...:
        return "`...` still stands there: replace it by your code."
    if isinstance(wanted, int | float) and isinstance(found, Real):  # NumPy's numbers, too
        return None
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return None if len(found) == len(wanted) else f"it has {len(found)} items, expected {len(wanted)}."
    if type(found) is not type(wanted):
        return f"the result is {article(found)}, expected {article(wanted)}."
    if isinstance(wanted, Tensor) and found.shape != wanted.shape:
        return f"its shape is {tuple(found.shape)}, expected {tuple(wanted.shape)}."
    if isinstance(wanted, Tensor) and numeric_type(found) != numeric_type(wanted):
        return f"it is a tensor of {found.dtype}, expected {wanted.dtype}."
    return None


def numeric_type(tensor: Tensor) -> str:
    """Whether a tensor has truth values, integers or real numbers."""
    if tensor.dtype == torch.bool:
        return "bool"
    return "real" if tensor.is_floating_point() else "integer"


def described(function: Any, arguments: Sequence[Any]) -> str:
    """ "query (2, 4, 8), scaling 0.5": the arguments of a call, with the names that the function gives them."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    names += ["argument"] * (len(arguments) - len(names))
    return ", ".join(f"{name} {short(value)}" for name, value in zip(names, arguments))


def short(value: Any) -> str:
    if isinstance(value, Tensor) and value.numel() > FEW:
        return f"of shape {tuple(value.shape)}"
    if isinstance(value, float):  # NumPy's, too
        return f"{value:.6g}"
    text = re.sub(r"\n\s*", " ", repr(value))  # of a tensor
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def number(value: Tensor) -> str:
    return f"{value.item():.6g}" if value.is_floating_point() else str(value.item())


def article(value: Any) -> str:
    """ "a Tensor of shape (2, 3)", "a list"."""
    name = type(value).__name__
    shape = f" of shape {tuple(value.shape)}" if isinstance(value, Tensor) else ""
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}{shape}"
