# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is made of a lesson's source: notebooks for students and teachers, slides, and the command that writes them."""

import json
import re
from pathlib import Path
from typing import Any

import lesson
import nbformat
import pytest
from browser import violations
from run_notebooks import ROOT, executed
from shared import refused

from modeling_scratch.course.building import Cell, notebook, notebooks, read_lesson, sources
from modeling_scratch.course.slides import slides, write_pdf
from modeling_scratch.utils.errors import DataError

SOURCE = '''"""For readers of the file."""

# %% [markdown] slide
# # A title
#
# A row: $x_i = \\sqrt{d}$, and `code`.
# %% [markdown] teacher
# Ask first.
# %% exercise padded
# The task.
def padded(texts, pad_id):
    # solution
    return 1 + 1
    # end solution
# %% exercise by_hand
# solution
by_hand = 8.81
# end solution
# %% [markdown] slide
# ![Masks](../pictures/figures-masks.png)
'''
# The space between the content of a slide and its upper or lower edge, whichever is less.
ROOM = """slide => {
    const all = [...slide.querySelectorAll("h1, h2, p, li, table, pre, img")].filter(part => !part.closest("aside"));
    const [frame, ...boxes] = [slide, ...all].map(part => part.getBoundingClientRect());
    return Math.min(...boxes.map(box => Math.min(box.top - frame.top, frame.bottom - box.bottom)));
}"""


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    path = tmp_path / "lesson_1_name.py"
    path.write_text(SOURCE, encoding="utf-8")
    return read_lesson(path)


def text_of(made: dict[str, Any]) -> str:
    return "\n".join(cell["source"] for cell in made["cells"])


def test_a_student_gets_no_solution_and_no_notes(cells: list[Cell]) -> None:
    student, teacher = (notebook(cells, is_teacher) for is_teacher in (False, True))
    for made in (student, teacher):
        nbformat.validate(nbformat.from_dict(made))
        assert made["cells"][-1]["attachments"]["figures-masks.png"]["image/png"].startswith("iVBORw0KGgo")
        assert "solution\n" not in text_of(made)
    assert "    ...  # your code here\n" in text_of(student)
    assert "by_hand = ...  # your code here\n" in text_of(student)
    hidden = "return 1 + 1", "8.81", "Ask first.", "For readers"
    assert [part for part in hidden if part in text_of(student)] == []
    assert [part for part in hidden if part in text_of(teacher)] == [*hidden[:3]]


def test_a_cell_of_an_unknown_role_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lesson.py"
    for header in ("# %% [markdown] slides", "# %% exercise", "# %% [markdown] exercise padded", "# %% slide"):
        path.write_text(f"# %%\n1\n{header}\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"lesson\.py:3: no such cell"):
            read_lesson(path)


def test_slides_need_no_other_file(cells: list[Cell]) -> None:
    page = slides(cells)
    assert page.count("<section") == 2
    assert "<title>A title</title>" in page
    assert '<img class="formula"' in page
    assert 'alt="x_i = \\sqrt{d}"' in page
    assert "<aside><p>Ask first.</p>" in page
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []
    assert page == slides(cells)


def test_the_command_keeps_the_answers_of_a_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"{sources()[2].stem}.ipynb"
    lesson.main(["2", "--output_dir", str(tmp_path)])
    assert f"jupyter lab {path}" in capsys.readouterr().out
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    fresh = path.read_text(encoding="utf-8")
    path.write_text("answers", encoding="utf-8")
    lesson.main(["2", "--teacher", "--output_dir", str(tmp_path)])
    assert path.read_text(encoding="utf-8") == "answers"
    assert "--overwrite replaces it" in capsys.readouterr().out
    assert path.with_stem(f"{path.stem}_teacher").exists()
    lesson.main(["2", "--overwrite", "--output_dir", str(tmp_path)])
    assert path.read_text(encoding="utf-8") == fresh
    refused(capsys, lesson.main, ["9"], "9: no such lesson")


def test_a_notebook_of_the_documentation_loses_its_solutions(tmp_path: Path) -> None:
    for name in notebooks():
        lesson.main([name, "--output_dir", str(tmp_path)])
        made = json.loads((tmp_path / f"{name}.ipynb").read_text(encoding="utf-8"))
        source = json.loads((ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
        solutions = re.findall(
            r"# >>>\n(.*?)\n *# <<<", "\n".join("".join(c["source"]) for c in source["cells"]), re.DOTALL
        )
        assert len(made["cells"]) == len(source["cells"])
        assert text_of(made).count("# your code here") >= len(solutions) > 0
        assert [text for text in solutions if text in text_of(made)] == []
        assert [cell for cell in made["cells"] if cell.get("outputs")] == []


@pytest.mark.slow
@pytest.mark.parametrize("source", sources().values(), ids=lambda path: path.stem)
@pytest.mark.parametrize("is_teacher", [False, True])
def test_a_notebook_runs(source: Path, is_teacher: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The teacher's from top to bottom. A student's answers are missing: each check says so, and raises nothing."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = notebook(read_lesson(source), is_teacher)
    if not is_teacher:
        used = ("import ", "course.check(")
        made["cells"] = [cell for cell in made["cells"] if any(part in cell["source"] for part in used)]
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps(made), encoding="utf-8")
    ran = executed(path, tmp_path)
    printed = "".join(output.get("text", "") for cell in ran.cells for output in cell.get("outputs", ()))
    checks = text_of(made).count("course.check(")
    assert printed.count(" is right. ") == checks * is_teacher
    assert printed.count(" is not right yet: ") == checks * (not is_teacher)


@pytest.mark.browser
def test_slides_in_a_browser(page: Any, tmp_path: Path) -> None:
    """No slide is higher than the window, keys move, and the PDF has a page for each slide."""
    for path in sources().values():
        written = tmp_path / f"{path.stem}.html"
        written.write_text(slides(read_lesson(path)), encoding="utf-8")
        page.set_viewport_size({"width": 1400, "height": 800})
        page.goto(written.as_uri())
        rooms = page.eval_on_selector_all("section", f"slides => slides.map({ROOM})")
        assert min(rooms) >= 0
        page.keyboard.press("ArrowRight")
        page.wait_for_function("Math.abs(document.querySelectorAll('section')[1].getBoundingClientRect().top) < 2")
        page.keyboard.press("n")
        page.wait_for_selector("aside", state="visible")
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
    assert write_pdf(written, tmp_path / "slides.pdf")
    assert (tmp_path / "slides.pdf").read_bytes().count(b"/Type /Page\n") == len(rooms)
