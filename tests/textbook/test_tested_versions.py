# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A saved folder refuses a transformers older than its code was tested with, and warns once of a newer one."""

import re
from configparser import ConfigParser
from pathlib import Path

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


def test_an_older_version_is_refused_and_a_newer_one_warned_of_once(tmp_path: Path) -> None:
    """In one line that names both; a version within the range is taken in silence."""
    folders = {}
    for name, tested in {"as_it_is": TESTED, "of_long_ago": ((4, 9), (5, 0)), "to_come": ((98, 0), (99, 10))}.items():
        folders[name] = str(tmp_path / name)
        TEXTS.model().save_pretrained(folders[name])
        path = tmp_path / name / "configuration_scratch.py"
        code, count = re.subn("(?m)^TESTED = .*", f"TESTED = {tested}", path.read_text(encoding="utf-8"))
        assert count == 1
        path.write_text(code, encoding="utf-8")
    rows = [[folders["as_it_is"]], [folders["to_come"]], [folders["of_long_ago"]] * 2]
    silent, refused, warned = run_fresh(OPEN, [("there", "opened", *row) for row in rows])
    assert silent == []
    assert refused == [f"transformers {__version__} is too old for this model, which needs 98.0."] * 2  # config, model
    assert warned == [f"transformers {__version__} is newer than 5.0, up to which this model was tested."]


def test_the_range_is_that_of_the_installation() -> None:
    """The oldest version that may be installed, and the one that the tests run with."""
    oldest, newest = ("{}.{}".format(*minor) for minor in TESTED)
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    assert f"\ntransformers>={oldest},<6" in setup["options"]["install_requires"]
    assert re.search(rf"(?m)^transformers=={newest}\.", (ROOT / "constraints.txt").read_text(encoding="utf-8"))
