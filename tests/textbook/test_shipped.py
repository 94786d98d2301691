# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What a saved folder ships: within its limits, what save_pretrained writes, and no private name of torch."""

import re
from pathlib import Path

import shipped
from model_cases import CAUSAL_LM, MASKED_LM, SEQ2SEQ_LM, SPANS, TEXTS, Case, parametrize_cases

from modeling_scratch import presets

FOLDER = shipped.FOLDER
README = (FOLDER / "README.md").read_text(encoding="utf-8")


# Documented in PyTorch's notes, "Extending PyTorch", by this name.
DOCUMENTED = {"torch.utils._python_dispatch.TorchDispatchMode"}


def all_files() -> dict[str, str]:
    return {str(path.relative_to(FOLDER)): shipped.read(path) for path in sorted(FOLDER.rglob("*.py"))}


@parametrize_cases((MASKED_LM, TEXTS, SPANS, CAUSAL_LM, SEQ2SEQ_LM))
def test_what_is_listed_is_what_a_folder_holds(case: Case, tmp_path: Path) -> None:
    case.model().save_pretrained(tmp_path)
    listed = shipped.shipped_files(case.model_class.config_class)
    assert sorted(path.name for path in tmp_path.glob("*.py")) == [path.name for path in listed]
    for path in listed:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_private_names_of_torch_stay_in_the_engine_with_their_reason() -> None:
    """Those of transformers, which versions rename, are not shipped either."""
    for file, source in all_files().items():
        if shipped.private_names(source, "torch", "F") - DOCUMENTED:
            assert Path(file).parts[0] == "fast", file
            assert re.search(r"private name|no public|not public", source), f"{file}: say why, beside the name"
        if Path(file).name == file:
            assert shipped.private_names(source, "transformers") == set(), file


def test_families_are_within_their_limits() -> None:
    families = [shipped.shipped_files(config_class) for config_class in shipped.CONFIG_CLASSES]
    for files in map(shipped.counted, families):
        assert len(files) <= 12
        assert sum(map(shipped.statement_count, files)) <= 1_200


def test_the_reading_order_names_every_counted_file_once_behind_those_that_it_imports() -> None:
    """All but the configuration, which stands above it; heads, pipelines and scaled angles are looked up."""
    order = re.findall(r"^\d+\. \[`(\w+)\.py`\]\(\1\.py\)", README, flags=re.MULTILINE)
    sources = [shipped.shipped_files(config_class) for config_class in shipped.CONFIG_CLASSES]
    files = {path.stem for each in sources for path in shipped.counted(each)}
    assert sorted(order) == sorted(files - {"configuration_scratch"})
    for number, file in enumerate(order):
        names = set(shipped.imported_siblings(shipped.read(FOLDER / f"{file}.py")))
        looked_up = {"configuration_scratch", "heads", "pipelines", "question_answering", "rope_scaling"}
        assert names <= {*order[:number], *looked_up}, file


def test_the_table_of_switches_is_what_presets_say() -> None:
    header, _, *rows = [line for line in README.partition("## Which switch")[2].splitlines() if line.startswith("|")]
    names = [re.sub(r"\W", "", cell) for cell in header.strip("|").split("|")[1:]]
    configs = [getattr(presets, name)() for name in names]
    assert len(rows) >= 8
    for row in rows:
        field, *values = (cell.strip(" `") for cell in row.strip("|").split("|"))
        found = [str(getattr(config, field)) for config in configs]
        assert values == found, field
