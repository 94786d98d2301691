# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a check is, and what the doctor says of a model: one finding for each check, and all of them as text or JSON."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from itertools import groupby
from typing import Any, NamedTuple

import torch

from ..utils.errors import first_few, one_line
from .roots import root_of

SEVERAL = 3  # checks in a row that fall short for the same reason are told one by one
LONGEST = 300  # characters of an error that are told


class Verdict(str, Enum):
    HOLDS = "holds"
    FALLS_SHORT = "falls short"
    DOES_NOT_APPLY = "does not apply"


class FallsShort(Exception):  # noqa: N818  # the verdict
    """Raised by a check, with what was found and where."""


class DoesNotApply(Exception):  # noqa: N818  # the verdict
    """Raised by a check, with the reason."""


def require(holds: object, what: str) -> None:
    """Raises `FallsShort`, with what was found, unless the condition holds."""
    if not holds:
        raise FallsShort(what)


def only_if(applies: object, reason: str) -> None:
    """Raises `DoesNotApply`, with the reason, unless the condition holds."""
    if not applies:
        raise DoesNotApply(reason)


@contextmanager
def tried(what: str) -> Iterator[None]:
    """Name what was tried in the finding of an error."""
    try:
        yield
    except FallsShort:
        raise
    except Exception as error:  # of the model or the library: any
        raise FallsShort(f"{what} fails: {told(error)}") from error


def told(error: BaseException) -> str:
    """Return the type of an error and its message, as one line."""
    return f"{type(error).__name__}: {one_line(error)[:LONGEST]}"


def _printable(line: str) -> str:
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def listed(names: Collection[str]) -> str:
    """Return the first three names, in alphabetical order."""
    return first_few(sorted(names), 3)


class Need(NamedTuple):
    """A condition on the subject of a check, and the reason why the check does not apply without it."""

    holds: Callable[[Any], object]
    reason: str


@dataclass(frozen=True)
class Check:
    """A property of models: the function that raises `FallsShort` without it, the remedy, and a thread about it."""

    run: Callable[[Any], None]
    mend: str
    link: str
    needs: tuple[Need, ...]

    @property
    def name(self) -> str:
        return self.run.__name__

    @property
    def says(self) -> str:
        """What holds, in a sentence without its full stop."""
        return str(self.run.__doc__).partition("\n")[0].removesuffix(".")

    def finding(self, verdict: Verdict, what: str = "") -> "Finding":
        remedy = (self.mend, self.link) if verdict is Verdict.FALLS_SHORT else ()
        return Finding(self.name, self.says, verdict, what, *remedy)

    def examine(self, subject: Any) -> "Finding":
        """Run the check. An error that it raises is a finding, too."""
        try:
            for need in self.needs:
                only_if(need.holds(subject), need.reason)
            with torch.random.fork_rng(devices=[]):
                self.run(subject)
        except DoesNotApply as reason:
            return self.finding(Verdict.DOES_NOT_APPLY, str(reason))
        except FallsShort as fault:
            return self.finding(Verdict.FALLS_SHORT, str(fault))
        except Exception as error:  # of the model that is examined: any
            return self.finding(Verdict.FALLS_SHORT, f"It raises {told(error)}")
        return self.finding(Verdict.HOLDS)


def check(mend: str, *needs: Need, link: str = "") -> Callable[[Callable[[Any], None]], Check]:
    """Make a function of a `Subject` into the check of its name. The first line of its docstring says what holds.

    mend: the remedy. link: of a thread, or the number of an issue of transformers.
    """
    issue = f"https://github.com/huggingface/transformers/issues/{link}"
    return lambda run: Check(run, mend, issue if link.isdecimal() else link, needs)


@dataclass(frozen=True)
class Finding:
    """follows: the check from whose fault this one may follow."""

    check: str
    says: str
    verdict: Verdict
    what: str = ""
    mend: str = ""
    link: str = ""
    follows: str = ""

    @property
    def error(self) -> str:
        """The error that was raised, as `told` of it; empty if there was none."""
        before = next((each for each in ("It raises ", " fails: ") if each in self.what), "")
        return self.what.partition(before)[2] if before else ""


@dataclass
class Diagnosis:
    """The findings of a model, in the order of the checks; behind a fault is what may follow from it."""

    model: str
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        reasons = Counter(each.what for each in self.of(Verdict.FALLS_SHORT))  # one of most checks is the root itself
        most = max(SEVERAL, (len(self.findings) - 1) // 2)
        fallen = {each.check for each in self.of(Verdict.FALLS_SHORT) if reasons[each.what] <= most}
        first: dict[str, str] = {}  # check of an error
        alike = {
            each.check: first.setdefault(each.error or each.check, each.check)
            for each in self.findings
            if each.check in fallen
        }
        roots = {name: root_of(one, set(alike.values())) for name, one in alike.items()}
        found, self.findings = self.findings, []
        for each in found:
            if roots.get(each.check, each.check) == each.check:
                self.findings.append(each)
                below = [one for one in found if one is not each and roots.get(one.check) == each.check]
                self.findings += [replace(one, follows=each.check) for one in below]

    @property
    def faults(self) -> list[Finding]:
        """What falls short, but for what may follow from another fault."""
        return [each for each in self.of(Verdict.FALLS_SHORT) if not each.follows]

    def __getitem__(self, check: str) -> Finding:
        return next(finding for finding in self.findings if finding.check == check)

    def of(self, verdict: Verdict) -> list[Finding]:
        return [finding for finding in self.findings if finding.verdict is verdict]

    @property
    def is_sound(self) -> bool:
        return not self.of(Verdict.FALLS_SHORT)

    def __str__(self) -> str:
        """Return the lines to show; names of files cannot bring control sequences of the terminal along."""
        return "\n".join(_printable(line) for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield self.model
        width = max((len(finding.check) for finding in self.findings), default=0)
        for finding, *others in self._groups():
            if others:
                checks = ", ".join(each.check for each in (finding, *others))
                if finding.verdict is Verdict.DOES_NOT_APPLY:
                    yield f"  {len(others) + 1} checks  {finding.verdict.value} (--format json says why): {checks}"
                    continue
                yield f"  {len(others) + 1} checks  {finding.verdict.value}: {finding.what}"
                yield f"    {checks}"
                if finding.mend and not finding.follows and all(each.follows == finding.check for each in others):
                    yield f"    To mend {finding.check}: {finding.mend}"
                continue
            yield f"  {finding.check:{width}}  {finding.verdict.value}: {finding.says}"
            if finding.what:
                yield f"  {'':{width}}    {finding.what}"
            if finding.follows:
                yield f"  {'':{width}}    This may follow from {finding.follows}: mend that first."
            elif finding.verdict is Verdict.FALLS_SHORT:
                yield f"  {'':{width}}    To mend it: {finding.mend}" + (f" ({finding.link})" if finding.link else "")
        counts = ", ".join(f"{verdict.value}: {len(self.of(verdict))}" for verdict in Verdict)
        yield f"{len(self.findings)} checks ({counts})."

    def _groups(self) -> Iterator[list[Finding]]:
        """Yield each finding alone, but together those that fall short for one reason, such as a failed load.

        Many that do not apply are together, too, and last.
        """
        silent = self.of(Verdict.DOES_NOT_APPLY)
        told = [each for each in self.findings if each not in silent] if len(silent) > SEVERAL else self.findings
        for (verdict, _), found in groupby(told, lambda each: (each.verdict, each.what)):
            group = list(found)
            is_joint = verdict is Verdict.FALLS_SHORT and len(group) > SEVERAL
            yield from [group] if is_joint else ([each] for each in group)
        if told is not self.findings:
            yield silent

    def to_json(self) -> str:
        return json.dumps({"model": self.model, "findings": [asdict(finding) for finding in self.findings]}, indent=2)
