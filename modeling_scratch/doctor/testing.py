# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The checks as tests of a model's author: derive a class, and say how the model is made.

class TestMyModel(ModelChecks):
    def make(self):
        return MyForCausalLM(MyConfig()), None  # the model, and its tokenizer if there is one
"""

from typing import Any

import pytest

from .examination import CHECKS, subject_of
from .findings import Check, Verdict
from .subject import Subject


class ModelChecks:
    """One test for each check; those that do not apply are skipped, with the reason. known: checks expected to fail."""

    known: tuple[str, ...] = ()
    subject: Subject

    def make(self) -> tuple[Any, Any]:
        """Return the model and its tokenizer, or None."""
        raise NotImplementedError("make() returns the model and its tokenizer, or None")

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_check(self, check: Check) -> None:
        found = check.examine(self._subject())
        if found.verdict is Verdict.DOES_NOT_APPLY:
            pytest.skip(found.what)
        if check.name in self.known:
            assert found.verdict is Verdict.FALLS_SHORT, f"{check.name} holds: take it out of `known`"
            pytest.xfail(found.what)
        assert found.verdict is Verdict.HOLDS, f"{found.says}: falls short. {found.what} To mend it: {found.mend}"

    @classmethod
    def _subject(cls) -> Subject:
        """Return the subject, made once for all checks of a class."""
        if "subject" not in vars(cls):
            model, tokenizer = cls().make()
            cls.subject = subject_of(model, tokenizer=tokenizer)
        return cls.subject
