# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a check is, and how it finds a mistake: the answer is what a function or a value is that makes it."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch
from torch import Tensor

LONGEST_VALUE = 60  # characters of an argument in a hint


def random(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, always the same, whatever a notebook has drawn."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class Check:
    """The answer is equal to the value `right`, or it is a function that returns what `right` returns.

    tries: the arguments of each call, new ones each time, since an answer may change its own; None where the answer is
    a value. mistakes: hint: a function or value that makes this mistake; the first that is equal to the answer names
    it. shows: what a right answer shows. otherwise: the hint where no mistake has one, as for a property that does not
    hold.
    """

    right: Any
    tries: Callable[[], Iterable[tuple[Any, ...]]] | None
    mistakes: Mapping[str, Any]
    shows: str
    otherwise: Callable[[Any], str | None] = lambda answer: None
    tolerance: float = 1e-5

    def find(self, answer: Any) -> str | None:
        """Return the hint that names the mistake of an answer; None for a right one."""
        if self.tries and not callable(answer):
            return f"it is {article(answer)}: hand over the function itself, without parentheses after its name."
        given, expected = self.results(answer), self.results(self.right)
        if difference(given, expected, self.tolerance) is None:
            return None
        for hint, wrong in self.mistakes.items():
            if difference(given, self.results(wrong), self.tolerance) is None:
                return hint
        if all(unlike(*pair) is None for pair in zip(given, expected)) and (hint := self.otherwise(answer)):
            return hint
        if self.tries is None:  # the right value is not told: it is what the exercise asks for
            return unlike(answer, self.right) or f"{short(answer)} is not the value."
        for arguments, found, wanted in zip(self.tries(), given, expected):
            if text := difference(found, wanted, self.tolerance):
                return f"{text} It was called with {described(answer, arguments)}."
        return None

    def results(self, answer: Any) -> list[Any]:
        return [answer] if self.tries is None else [answer(*arguments) for arguments in self.tries()]


def difference(found: Any, wanted: Any, tolerance: float) -> str | None:
    """In words, how a result differs from the one that was expected, beyond rounding; None where it does not."""
    number = found.item() if isinstance(found, Tensor) and found.numel() == 1 else found
    if isinstance(wanted, int | float) and not isinstance(wanted, bool) and isinstance(number, Real):
        is_equal = math.isclose(number, wanted, rel_tol=tolerance, abs_tol=tolerance)
        return None if is_equal else unlike(found, wanted) or f"the result is {short(found)}, expected {short(wanted)}."
    if found is wanted:
        return None
    if text := unlike(found, wanted):
        return text
    if isinstance(wanted, Tensor):
        wrong = ~torch.isclose(found.double(), wanted.double(), tolerance, tolerance, equal_nan=True)
        for where in wrong.nonzero().tolist():
            values = (short(each[tuple(where)].item()) for each in (found, wanted))
            return f"the value{f' at {where}' if where else ''} is {', expected '.join(values)}."
        return None
    if isinstance(wanted, list | tuple):
        texts = (difference(*pair, tolerance) for pair in zip(found, wanted))
        return next((f"item {number}: {text}" for number, text in enumerate(texts, 1) if text), None)
    is_equal = type(found) is type(wanted) and found == wanted
    return None if is_equal else f"the result is {short(found)}, expected {short(wanted)}."


def unlike(found: Any, wanted: Any) -> str | None:
    """In words, how a result differs in its type or shape."""
    if found is None:
        return "the result is None: is a `return` missing, or is `...` still there?"
    if found is ...:
        return "`...` is still there: replace it with your code."
    if isinstance(wanted, int | float) and isinstance(found, Real):  # NumPy's numbers, too
        return None
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return None if len(found) == len(wanted) else f"its length is {len(found)}, expected {len(wanted)}."
    if type(found) is not type(wanted):
        return f"the result is {article(found)}, expected {article(wanted)}."
    if isinstance(wanted, Tensor) and found.shape != wanted.shape:
        return f"its shape is {tuple(found.shape)}, expected {tuple(wanted.shape)}."
    if isinstance(wanted, Tensor) and kind(found) != kind(wanted):
        return f"it is a tensor of {found.dtype}, expected {wanted.dtype}."
    return None


def kind(tensor: Tensor) -> tuple[bool, bool]:
    """Whether a tensor has truth values, and whether real numbers; else it has integers."""
    return tensor.dtype == torch.bool, tensor.is_floating_point()


def described(function: Any, arguments: Sequence[Any]) -> str:
    """The arguments of a call, by the names that the function gives them, where it names them."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of a function in C
        names = []
    names += ["argument"] * (len(arguments) - len(names))
    return ", ".join(f"{name} {short(value)}" for name, value in zip(names, arguments))


def short(value: Any) -> str:
    if isinstance(value, Tensor) and value.numel() > 16:  # more than a hint shows one by one
        return f"of shape {tuple(value.shape)}"
    if isinstance(value, float):  # NumPy's, too
        return f"{value:.6g}"
    text = re.sub(r"\n\s*", " ", repr(value))  # of a tensor
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def article(value: Any) -> str:
    """ "a Tensor of shape (2, 3)", "a list"."""
    name = type(value).__name__
    shape = f" of shape {tuple(value.shape)}" if isinstance(value, Tensor) else ""
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}{shape}"
