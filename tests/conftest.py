# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which process runs which tests, and what each of them needs. The one that hands tests out imports no library."""

from functools import cache
from typing import Any

import pytest

# Modules that keep what a process makes once. Their users run in one process, and so do the tests of each other file.
KEEPERS = "small_runs", "fresh_process"


def pytest_configure(config: pytest.Config) -> None:
    hands_out = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if not hands_out:
        config.pluginmanager.import_plugin("shared")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "load":  # another way was asked for
        return None
    from xdist.scheduler import LoadFileScheduling

    @cache
    def of_file(file: str) -> str:
        source = (config.rootpath / file).read_text(encoding="utf-8")
        return next((name for name in KEEPERS if f"from {name} import" in source), file)

    class ByKeeper(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return of_file(super()._split_scope(nodeid))

    return ByKeeper(config, log)
