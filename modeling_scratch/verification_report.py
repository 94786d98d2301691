# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What was found about a copy of a model, in plain words, and what follows from it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from .verification_record import RECORD, WEIGHTS, is_one_of


class Verdict(IntEnum):
    """The exit status of the program."""

    SAME = 0
    DIFFERENT = 1
    CANNOT_TELL = 2


@dataclass
class FileResult:
    """status: same, rewritten (JSON that says the same), changed, missing, or extra."""

    name: str
    status: str
    detail: str = ""

    @property
    def matters(self) -> bool:
        """Weights are compared tensor by tensor: in which files they lie does not matter."""
        return self.status in ("changed", "missing", "extra") and not is_one_of(self.name, WEIGHTS)


@dataclass
class InputResult:
    """A text or random ids: the largest difference of its logits, inf where they have another shape."""

    name: str
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance


@dataclass
class Report:
    """differences make it another model, problems leave it open, remarks do neither."""

    where: str
    record_sha256: str = ""
    files: list[FileResult] = field(default_factory=list)
    inputs: list[InputResult] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        if self.differences or any(f.matters for f in self.files) or not all(i.agrees for i in self.inputs):
            return Verdict.DIFFERENT
        return Verdict.CANNOT_TELL if self.problems else Verdict.SAME

    def __str__(self) -> str:
        return "\n".join([f"{self.where}  (sha256 of {RECORD}: {self.record_sha256 or 'none'})", *self._lines()])

    def _lines(self) -> Iterator[str]:
        width = max((len(_plain(file.name)) for file in self.files), default=0)
        yield from (f"  {_plain(file.name):{width}}  {file.status}{file.detail}" for file in self.files)
        for entry in self.inputs:
            verb = "agree" if entry.agrees else "DIFFER"
            yield f"  {entry.name}: logits {verb}, by {entry.difference:.2g} at most (tolerance {entry.tolerance:.2g})"
        yield from (f"  {line}" for line in (*self.remarks, *self.differences, *self.problems))
        yield self._conclusion()

    def _conclusion(self) -> str:
        agree = bool(self.inputs) and all(entry.agrees for entry in self.inputs)
        changed = [_plain(file.name) for file in self.files if file.status != "same"]
        if self.verdict is Verdict.CANNOT_TELL:
            return "Cannot tell whether this is the model that was trained."
        if self.verdict is Verdict.DIFFERENT:
            return "This is NOT the model that was trained" + (", though every logit agrees." if agree else ".")
        if changed:
            return f"This is the model that was trained: {', '.join(changed)} differs, but every logit agrees."
        return "This is the model that was trained: every file is the same, and every logit agrees."


def _plain(name: str) -> str:
    """Whatever a file is called, it cannot take over the terminal."""
    return ascii(name)[1:-1]
