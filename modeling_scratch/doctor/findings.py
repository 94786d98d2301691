# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a check is, and what the doctor says of a model: one finding for each check, and all of them as text or JSON."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from textwrap import wrap
from typing import Any

import torch

from ..utils.errors import counted, first_few, one_line

LONGEST = 300  # characters of an error that are told
WIDTH = 120  # of the lines of a diagnosis


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
    except (FallsShort, DoesNotApply):
        raise
    except Exception as error:  # of the model or the library: any
        raise FallsShort(f"{what} fails: {told(error)}") from error


def told(error: BaseException) -> str:
    """Return the type of an error and its message, as one line."""
    return f"{type(error).__name__}: {one_line(error)[:LONGEST]}"


def listed(names: Collection[str]) -> str:
    """Return the first three names, in alphabetical order."""
    return first_few(sorted(names), 3)


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


# A condition on the subject of a check, and the reason why the check does not apply without it.
Need = tuple[Callable[[Any], object], str]


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

    def finding(self, verdict: Verdict, what: str = "") -> Finding:
        remedy = (self.mend, self.link) if verdict is Verdict.FALLS_SHORT else ()
        return Finding(self.name, self.says, verdict, what, *remedy)

    def examine(self, subject: Any) -> Finding:
        """Run the check. An error that it raises is a finding, too."""
        try:
            for holds, why in self.needs:
                only_if(holds(subject), why)
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


LOADED = "round_trip fresh_process missing_keys auto_classes ties resized_head pipelines"
LABELLED = "loss accumulation label_smoothing"
TRAINED = "training_mode gradient_checkpointing accumulation every_gradient half_precision"
PADDED = f"padding_left mask_gap mask_dtypes cache generation {TRAINED}"
ANSWERS = (
    f"batch_equals_single {PADDED} one_graph attention_backends embeddings_as_inputs default_ids "
    "tuples recording_changes_nothing labels_change_nothing stateless leaves_inputs causality round_trip "
    "hidden_states encoder_outputs"
)
# A check: those that can follow from it. Of several that explain one, the first counts; none explains an earlier one.
ROOTS = {
    "repeats": f"{ANSWERS} device shortest_and_longest attention_weights every_gradient "
    f"evaluation_outputs {LABELLED} resized_embeddings",
    "config_fields": f"{LOADED} {ANSWERS} base_weights device every_gradient resized_embeddings attention_weights",
    "registered": f"{LOADED} device {TRAINED}",
    "own_weights": f"{LOADED} cache generation {TRAINED} base_weights attention_weights hidden_states",
    "base_weights": "ties resized_embeddings embeddings_as_inputs every_gradient generation leaves_inputs loss",
    "device": "half_precision one_graph round_trip",
    "ties": f"{LOADED} resized_embeddings",
    "stateless": f"{ANSWERS} {TRAINED} loss",
    "round_trip": f"{LOADED} half_precision",
    "missing_keys": "resized_head",
    "shortest_and_longest": "batch_equals_single padding_left tuples accumulation loss half_precision",
    "causality": "batch_equals_single padding_left cache generation mask_gap labels_alone",
    "mask_dtypes": "one_graph cache",
    "batch_equals_single": f"{PADDED} attention_backends attention_weights",
    "padding_left": PADDED,
    "attention_backends": "half_precision",
    "hidden_states": "attention_weights tuples recording_changes_nothing",
    "encoder_outputs": "cache generation",
    "cache": "generation evaluation_outputs one_graph",
    "labels_change_nothing": f"{LABELLED} tuples resized_embeddings",
    "resized_embeddings": "embeddings_as_inputs generation leaves_inputs loss",
    "embeddings_as_inputs": "generation leaves_inputs loss",
    "leaves_inputs": f"{LABELLED} {TRAINED} one_graph",
    "labels_alone": "loss",
    "resized_head": "accumulation loss",
    "loss": LABELLED,
    "training_mode": "gradient_checkpointing every_gradient",
}


def root_of(name: str, fallen: Collection[str]) -> str:
    """Return the check from whose fault this one may follow, of those that fall short; itself if there is none."""
    for root, following in ROOTS.items():
        if root == name:  # what is later follows from it
            break
        if root in fallen and name in following.split():
            return root_of(root, fallen)
    return name


@dataclass
class Diagnosis:
    """The findings of a model, in the order of the checks; behind a fault is what may follow from it."""

    model: str
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        fallen = self.of(Verdict.FALLS_SHORT)
        reasons, most = Counter(each.what for each in fallen), max(3, (len(self.findings) - 1) // 2)
        own = [each for each in fallen if reasons[each.what] <= most]  # a reason of most checks is the root itself
        # Of checks with one error, the first explains the others.
        raised = {each.check: re.search(r"(?:It raises|fails:) (.*)", each.what) for each in own}
        errors = {name: found[1] if found else name for name, found in raised.items()}
        first = {error: name for name, error in reversed(errors.items())}
        roots = {name: root_of(first[error], first.values()) for name, error in errors.items()}
        follows = {name: root for name, root in roots.items() if root != name}
        places = {each.check: place for place, each in enumerate(self.findings)}
        found = [replace(each, follows=follows.get(each.check, "")) for each in self.findings]
        self.findings = sorted(found, key=lambda each: (places[each.follows or each.check], bool(each.follows)))

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
        lines = (line if line.isprintable() else ascii(line)[1:-1] for line in self._lines())
        return "\n".join(line for whole in lines for line in wrap(whole, WIDTH, subsequent_indent="    "))

    def _lines(self) -> Iterator[str]:
        """Yield what is said of each fault, and together what is said of several checks for the same reason."""
        yield self.model
        groups: dict[Any, list[Finding]] = {}
        for each in self.of(Verdict.FALLS_SHORT) + self.of(Verdict.DOES_NOT_APPLY) + self.of(Verdict.HOLDS):
            groups.setdefault((each.verdict, each.what, each.follows), []).append(each)
        for (verdict, what, follows), group in groups.items():
            names, one = ", ".join(each.check for each in group), group[0]
            if verdict is not Verdict.FALLS_SHORT:
                yield f"  {verdict.value}: {names}" + (f": {what}" if what else "")
                continue
            yield f"  {verdict.value}: {names}" + (f": {one.says}" if len(group) == 1 else "")
            yield f"    {what}"
            remedy = f"To mend it: {one.mend}" + (f" ({one.link})" if one.link else "")
            yield f"    This may follow from {follows}: mend that first." if follows else f"    {remedy}"
        counts = ", ".join(f"{verdict.value}: {len(self.of(verdict))}" for verdict in Verdict)
        yield f"{counted(len(self.findings), 'check')} ({counts})."

    def to_json(self) -> str:
        return json.dumps({"model": self.model, "findings": [asdict(finding) for finding in self.findings]}, indent=2)
