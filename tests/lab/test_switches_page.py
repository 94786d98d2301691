# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page of switches: its cells are those of the labs, in the direction that a row asks for."""

import json
from pathlib import Path
from typing import Any

import write_lab_tables
from write_switches import END, PAGE, START, filled

PAGE_OF_TWO = f"""| switch | values | published | plays: loss | demo: accuracy |
| --- | --- | --- | --- | --- |
| `norm_position` | `post` against `pre` | a claim | old | old |
| `norm_type` | `rms_norm` against `layer_norm` (a note) | another claim | – | – |

{START}
old
{END}

The end.
"""


def lab(task: str, score: str, **comparison: Any) -> dict[str, Any]:
    found = {"score": score, "mean": 0.02, "low": 0.01, "high": 0.04, "verdict": "worse", **comparison}
    facts = {"tokens": "tokens: 10", "conditions": ["3 seeds"], "repeat": f"modeling-scratch lab --task {task}"}
    return {"command": {"task": task}, "comparisons": [found], **facts}


def test_cells_are_filled_in_the_direction_of_the_row() -> None:
    labs = [
        lab("plays", "loss", field="norm_position", value="post", first="pre"),
        lab("demo", "accuracy", field="norm_position", value="pre", first="post", verdict="better"),
    ]
    text = filled(PAGE_OF_TWO, labs)
    row = "| a claim | +0.0200 (+0.0100 to +0.0400); worse | -2.00 (-4.00 to -1.00); worse |"
    assert f"| `norm_position` | `post` against `pre` {row}" in text
    assert "| `norm_type` | `rms_norm` against `layer_norm` (a note) | another claim | – | – |" in text
    assert text.count("- 3 seeds") == 2
    assert text.endswith(f"{END}\n\nThe end.\n")
    assert filled(text, labs) == text


def test_the_page_has_a_table_to_fill() -> None:
    page = PAGE.read_text(encoding="utf-8")
    field = page.partition("| `norm_type` | ")[2].partition("|")[0]
    value, _, first = field.strip().replace("`", "").partition(" against ")
    text = filled(page, [lab("plays", "loss", field="norm_type", value=value, first=first)])
    assert "+0.0200 (+0.0100 to +0.0400); worse" in text


def test_the_page_of_the_lab_takes_the_tables_of_reports(tmp_path: Path) -> None:
    table = "| norm_position | accuracy |\n| --- | --- |\n| pre | 80.00 % |"
    record = lab("sst2", "accuracy") | {"conditions": ["hardware: 2 cores", "options: many"]}
    (tmp_path / "lab.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "report.md").write_text(f"# Lab\n\n- a line\n\n{table}\n\nThe end.\n", encoding="utf-8")
    section = write_lab_tables.section_of(tmp_path)
    assert table in section
    assert "modeling-scratch lab --task sst2" in section
    assert ("- hardware: 2 cores" in section, "options: many" in section) == (True, False)
    page = write_lab_tables.filled(f"before\n{write_lab_tables.START}\nold\n{write_lab_tables.END}\nafter", [section])
    assert (section in page, "old" in page, "after" in page) == (True, False, True)
    assert write_lab_tables.filled(page, [section]) == page
