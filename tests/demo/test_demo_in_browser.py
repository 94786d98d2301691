# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A person types and clicks, and sees the answer of the pipeline, or what is wrong, in a browser that is offline."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from demos import SAVE, demo_of
from transformers import pipeline

pytestmark = pytest.mark.browser
TEXT = "a slow and bad film by Anna Berg"
CARD = "# Films\n\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = SAVE["labels"](tmp_path_factory.mktemp("films"))
    (folder / "README.md").write_text(f"---\nwidget:\n- text: {TEXT}\n---\n{CARD}", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with demo_of(folder, max_characters=200) as (url, _):
        yield url


def test_a_person_asks_a_classifier(page: Any, url: str, folder: Path) -> None:
    from playwright.sync_api import expect

    best = pipeline("text-classification", model=str(folder))(TEXT)[0]
    page.goto(url)
    expect(page.get_by_role("heading", name="Films")).to_be_visible()
    assert page.title() == "Films"
    page.get_by_role("button", name=TEXT).click()  # an example
    expect(page.get_by_label("Text", exact=True)).to_have_value(TEXT)
    page.get_by_role("button", name="Classify").click()
    expect(page.get_by_test_id("label-output-value")).to_have_text(best["label"])
    expect(page.get_by_text(f"Probability: {best['score']:.4f}.")).to_be_visible()
    assert str(folder.parent) not in page.content()
