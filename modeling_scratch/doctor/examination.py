# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Run the checks: of a model in memory, in this process; of a folder, in a child with limits of time and memory.

check(ScratchDecoderForCausalLM, config)     # or a model, and a tokenizer
check_folder("runs/demo")
"""

import json
import os
import resource
import selectors
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import torch
from transformers import AutoTokenizer, PreTrainedModel
from transformers.utils import logging

from ..sharing.model_files import all_files, named_code
from ..sharing.verification_outputs import load_model
from ..utils.errors import DataError, one_line
from .checks import CHECKS
from .findings import Check, Diagnosis, DoesNotApply, FallsShort, Finding, Verdict
from .subject import Subject

SECONDS = 60  # for each check
GIBIBYTES = 16  # of address space, for the child
FILES_ALONE = {"safe_weights", "code_is_there", "flat_code", "public_names", "known_version"}
NOT_TRUSTED = "The folder brings its own code, which runs with --trust_remote_code only."


def check(
    model: PreTrainedModel | type[PreTrainedModel],
    config: Any = None,
    tokenizer: Any = None,
    only: Collection[str] = (),
) -> Diagnosis:
    """Examine a model, or a class with a config, in this process. The model is not changed.

    tokenizer: for the checks that need one. only: names of the checks to run; by default, all.
    """
    subject = subject_of(model, config, tokenizer)
    return Diagnosis(subject.name, [examine(each, subject) for each in chosen(only)])


def subject_of(model: PreTrainedModel | type[PreTrainedModel], config: Any = None, tokenizer: Any = None) -> Subject:
    """Return the subject of a model, or of a new one of this class and config."""
    if isinstance(model, type):
        if config is None:
            raise DataError(f"{model.__name__}: a class needs a config; give one, or a model")
        torch.manual_seed(0)
        model = model(config)
    was_training = model.training
    subject = Subject(model.eval(), tokenizer)
    _ = subject.redrawn  # the copy that the checks work on
    model.train(was_training)
    return subject


def chosen(only: Collection[str] = ()) -> list[Check]:
    """Return the checks of these names; by default, all."""
    names = {each.name for each in CHECKS}
    if unknown := set(only) - names:
        raise DataError(f"{', '.join(sorted(unknown))}: no such check; there are {', '.join(sorted(names))}")
    return [each for each in CHECKS if not only or each.name in only]


def examine(each: Check, subject: Any) -> Finding:
    """Run one check. An error that it raises is a finding, too."""
    verdict, what = Verdict.HOLDS, ""
    try:
        with torch.random.fork_rng(devices=[]):
            each.examine(subject)
    except DoesNotApply as reason:
        verdict, what = Verdict.DOES_NOT_APPLY, str(reason)
    except FallsShort as found:
        verdict, what = Verdict.FALLS_SHORT, str(found)
    except Exception as error:  # of the model that is examined: any
        verdict, what = Verdict.FALLS_SHORT, f"It raises {type(error).__name__}: {one_line(error)[:300]}"
    return finding(each, verdict, what)


def finding(each: Check, verdict: Verdict, what: str = "") -> Finding:
    falls_short = verdict is Verdict.FALLS_SHORT
    return Finding(
        each.name, each.says, verdict, what, each.mend if falls_short else "", each.link if falls_short else ""
    )


def check_folder(
    folder: str | Path,
    is_trusted: bool = False,
    tokenizer: str | None = None,
    only: Collection[str] = (),
    seconds: float = SECONDS,
) -> Diagnosis:
    """Examine a saved model in a child process. Raises `DataError` for a folder without config.json.

    is_trusted: whether code that the folder brings may run, in the child. tokenizer: the folder of another tokenizer.
    seconds: for each check; one that takes longer falls short, and the others still run.
    """
    path = Path(folder)
    if not (path / "config.json").is_file():
        raise DataError(f"{folder}: no config.json; name the folder of a saved model")
    left, findings = chosen(only), []
    while left:
        job = {"folder": str(path.resolve()), "is_trusted": is_trusted, "tokenizer": tokenizer}
        found = list(_from_child(job, left, seconds))
        findings += found
        left = left[len(found) :]
    return Diagnosis(path.name, findings)


def _from_child(job: dict[str, Any], checks: Sequence[Check], seconds: float) -> Iterator[Finding]:
    """Yield findings until the child ends; that of the check at which it died or was stopped is the last."""
    names = [each.name for each in checks]
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, json.dumps({**job, "checks": names})],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert child.stdout
    try:
        for each in checks:
            line = _line(child.stdout, 2 * seconds if each is checks[0] else seconds)  # the first one waits for imports
            if line is None:
                yield finding(each, Verdict.FALLS_SHORT, f"It did not end within {seconds:g} seconds.")
                return
            if not line:
                status = child.wait()
                how = f"signal {-status}" if status < 0 else f"exit status {status}"
                yield finding(each, Verdict.FALLS_SHORT, f"The process that ran it died ({how}).")
                return
            answer = json.loads(line)
            yield Finding(**{**answer, "verdict": Verdict(answer["verdict"])})
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def _line(stream: IO[str], seconds: float) -> str | None:
    """Return the next line, or "" at the end; None if there is none in this time."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        return stream.readline() if selector.select(seconds) else None


def examine_folder(job: dict[str, Any]) -> Iterator[Finding]:
    """Yield the findings of a folder, in this process."""
    folder = Path(job["folder"])
    subject, why_not = _loaded(folder, job["is_trusted"], job["tokenizer"])
    for each in chosen(job["checks"]):
        if why_not is None or each.name in FILES_ALONE:
            yield examine(each, subject)
        else:
            yield finding(each, *why_not)


def _loaded(folder: Path, is_trusted: bool, tokenizer: str | None) -> tuple[Any, tuple[Verdict, str] | None]:
    """Return the subject; or the folder alone, and why the model cannot be examined."""
    alone = type("Folder", (), {"folder": folder})()
    try:
        model, _ = load_model(folder, is_trusted)
    except Exception as error:  # of files, and of code that the folder brings: any
        brings_code = not is_trusted and named_code(folder, all_files(folder))
        if brings_code:
            return alone, (Verdict.DOES_NOT_APPLY, NOT_TRUSTED)
        return alone, (Verdict.FALLS_SHORT, f"It cannot be loaded: {one_line(error)[:300]}")
    source = Path(tokenizer) if tokenizer else folder
    has_one = tokenizer or any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json"))
    found = AutoTokenizer.from_pretrained(source, trust_remote_code=is_trusted) if has_one else None
    return Subject(model.float(), found, folder, is_trusted), None


def main(job: dict[str, Any]) -> None:
    limit = GIBIBYTES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    torch.set_num_threads(max(1, min(2, os.cpu_count() or 1)))
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the model prints is no finding
    for found in examine_folder(job):
        print(json.dumps(asdict(found)), file=answers, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
