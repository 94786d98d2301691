# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A saved folder refuses a transformers older than its code was tested with, and warns once of a newer one."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest
from fresh_process import run_fresh
from model_cases import TEXTS
from transformers import __version__

from modeling_scratch.configuration_scratch import TESTED

ROOT = Path(__file__).resolve().parents[2]
OPEN = """
import logging

def opened(where, *folders):
    transformers.utils.logging.set_verbosity_warning()
    lines, handler = [], logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    transformers.utils.logging.add_handler(handler)
    for folder in folders:
        for auto_class in (transformers.AutoConfig, transformers.AutoModelForSequenceClassification):
            try:
                auto_class.from_pretrained(folder, trust_remote_code=True)
            except ImportError as error:
                lines.append(str(error))
    return [line for line in lines if "transformers" in line]
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders whose code states the range of others, beside one as it is saved."""
    ranges = {"as it is": TESTED, "of long ago": ((4, 9), (5, 0)), "to come": ((98, 0), (99, 10))}
    folders = {name: str(tmp_path_factory.mktemp("model") / name.replace(" ", "_")) for name in ranges}
    for name, folder in folders.items():
        TEXTS.model().save_pretrained(folder)
        path = Path(folder, "configuration_scratch.py")
        code, count = re.subn("(?m)^TESTED = .*", f"TESTED = {ranges[name]}", path.read_text(encoding="utf-8"))
        assert count == 1
        path.write_text(code, encoding="utf-8")
    return folders


def test_a_version_within_the_range_is_taken_in_silence(folders: dict[str, str]) -> None:
    assert run_fresh(OPEN, [("there", "opened", folders["as it is"])]) == [[]]


def test_an_older_version_is_refused_in_one_line_that_names_both(folders: dict[str, str]) -> None:
    (lines,) = run_fresh(OPEN, [("there", "opened", folders["to come"])])
    assert len(lines) == 2  # the config and the model
    assert set(lines) == {f"transformers {__version__} is too old for this model, which needs 98.0."}


def test_a_newer_version_is_warned_of_once(folders: dict[str, str]) -> None:
    (lines,) = run_fresh(OPEN, [("there", "opened", folders["of long ago"], folders["of long ago"])])
    assert lines == [f"transformers {__version__} is newer than 5.0, up to which this model was tested."]


def test_the_range_is_that_of_the_installation() -> None:
    """The oldest version that may be installed, and the one that the tests run with."""
    oldest, newest = ("{}.{}".format(*minor) for minor in TESTED)
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    assert f"\ntransformers>={oldest},<6" in setup["options"]["install_requires"]
    assert re.search(rf"(?m)^transformers=={newest}\.", (ROOT / "constraints.txt").read_text(encoding="utf-8"))
