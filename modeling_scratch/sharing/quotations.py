# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What in the folder of a run quotes texts of its data. A push uploads it only where --texts_in_card allows it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..report.report_files import examples_of
from ..run.layout import EVALUATION, RESULTS, VERIFICATION
from .run_record import read_run
from .verification import TEXTS, read_record

QUOTING = (EVALUATION, RESULTS, VERIFICATION)


def may_quote(record: Mapping[str, Any]) -> bool:
    """Return whether files that are uploaded may quote texts of the data: the run had --texts_in_card.

    record: as `read_run` returns it. Without one, the folder is not that of a run, and its owner decides.
    """
    training = record.get("training")
    return not record or (isinstance(training, Mapping) and training.get("texts_in_card") is True)


def quoting_files(folder: Path) -> list[str]:
    """Return the names of results that quote texts which the run may not quote, as earlier versions wrote them.

    Raises `DataError` if run_config.json or verify.json is damaged.
    """
    if may_quote(read_run(folder)):
        return []
    found: list[str] = []
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        evaluation = json.loads((folder / EVALUATION).read_text(encoding="utf-8"))
        found += [EVALUATION, RESULTS] if examples_of(evaluation) else []
    texts = {entry["text"] for entry in read_record(folder).get("inputs", ())}
    return [*found, VERIFICATION] if texts - {None, *TEXTS} else found
