# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Run the tests that Transformers has for all its models on the models of this package.

python scripts/maintenance/common_tests.py                          # those of the installed version, by pip
python scripts/maintenance/common_tests.py --archive transformers-5.23.0.tar.gz -k "generate and Decoder"

They need `pip install parameterized`, and come with the source distribution of Transformers, which stays in a
temporary folder. It has no tests of generation and export; a .tar.gz of the repository has. tests/common_families.py
says what is tested, and which tests are expected to fail, for a reason. The exit status is that of pytest.
"""

import os
import subprocess
import sys
import tarfile
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ROOT / "tests" / "common_families.py"
ARE_OTHERS = "tests/models/", "tests/quantization/", "tests/pipelines/"
# What the common tests import and the source distribution lacks: a class without tests, and values of a config.
STAND_INS = {
    "generation/test_utils.py": "class GenerationTesterMixin:\n    pass\n",
    "exporters/test_export.py": "class ExportTesterMixin:\n    pass\n",
    "utils/test_configuration_utils.py": "config_common_kwargs = {'output_attentions': True, 'dtype': 'float16'}\n",
}


def fetch(folder: Path) -> Path:
    """Download the source distribution of the installed Transformers, and return its path."""
    name = f"transformers=={version('transformers')}"
    options = ["--no-deps", "--no-binary", "transformers", "--quiet", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", name, *options], check=True)
    return next(folder.glob("transformers-*.tar.gz"))


def extract(archive: Path, folder: Path) -> None:
    """Write the common tests to folder/tests, and ours beside them."""
    with tarfile.open(archive) as files:
        for member in files:
            member.name = member.name.partition("/")[2]  # without the folder of the version
            is_test = member.name.startswith("tests/") and member.name.endswith(".py")
            if is_test and not member.name.startswith(ARE_OTHERS):
                files.extract(member, folder, filter="data")
    tests = folder / "tests"
    for name, text in {"__init__.py": "", **STAND_INS}.items():
        if not (tests / name).exists():
            (tests / name).parent.mkdir(exist_ok=True)
            (tests / name).write_text(text)
    (tests / "test_families.py").write_bytes(FAMILIES.read_bytes())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them without network, and return the exit status of pytest."""
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--archive", type=Path, help="A source distribution; by default pip downloads it.")
    given, options = parser.parse_known_args(arguments)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "tests/test_families.py", "-q", "-rf", "--tb=short"]
    with TemporaryDirectory() as name:
        extract(given.archive or fetch(Path(name)), Path(name))
        environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
        return subprocess.run([*command, "-p", "no:cacheprovider", *options], cwd=name, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
