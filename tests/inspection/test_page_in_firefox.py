# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page in a second browser: it opens, computes, and is used with mouse and keyboard as in Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from firefox import FIREFOXES, Tab, firefox, opened_firefox
from test_page import TOKENIZER, classifier, explained, folder, logits_of  # noqa: F401, fixtures

pytestmark = [pytest.mark.browser, pytest.mark.slow]
READY = """new Promise(resolve => {
    const look = () => document.documentElement.dataset.ready ? resolve(true) : setTimeout(look, 20);
    look();
})"""
LOGITS = "[...document.querySelector('#change .outcome').logits]"
RIGHT = "\ue014"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    pytest.importorskip("websockets.sync.client", reason="needs websockets")
    if firefox() is None:
        pytest.skip(f"no Firefox: neither {' nor '.join(FIREFOXES)} is on PATH")
    with opened_firefox(tmp_path_factory.mktemp("profile")) as tab:
        yield tab
    assert tab.errors == []


@pytest.mark.parametrize("name", ["classifier", "decoder", "seq2seq"])
def test_the_page_computes_what_pytorch_recorded(tab: Tab, folder: Path, name: str) -> None:  # noqa: F811
    tab.open(folder / f"{name}.html")
    tab.run(READY)
    assert float(tab.run("document.documentElement.dataset.difference")) < 1e-4
    assert tab.run("document.querySelectorAll('header .verdict.good').length") == 1


def test_every_part_opens(tab: Tab, folder: Path) -> None:  # noqa: F811
    tab.open(folder / "classifier.html")
    tab.run(READY)
    opening = (
        "new Promise(done => { document.querySelectorAll('KIND').forEach(e => e.open = true); setTimeout(done); })"
    )
    tab.run(opening.replace("KIND", "details.block"))
    tab.run(opening.replace("KIND", "details.step"))
    assert tab.run("document.querySelectorAll('.step [role=grid]').length") > 20
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert tab.run(wide) == 0


def test_keys_reach_a_switch_and_it_changes_the_answer(tab: Tab, folder: Path) -> None:  # noqa: F811
    tab.open(folder / "classifier.html")
    tab.run(READY)
    before = tab.run(LOGITS)
    tab.run("document.querySelector('#change [role=switch]').focus()")
    tab.press(RIGHT)
    assert tab.run("document.activeElement.getAttribute('aria-label')") == "Layer 1: Head 2"
    tab.run("document.activeElement.click()")
    assert tab.run("document.activeElement.getAttribute('aria-checked')") == "false"
    assert tab.run(LOGITS) != before
    assert "→" in tab.run("document.querySelector('.change-bar').innerText")
    tab.run("document.querySelector('.change-bar button').click()")
    assert tab.run(LOGITS) == before


def test_a_new_text_is_computed_as_pytorch_does(tab: Tab, folder: Path, classifier: object) -> None:  # noqa: F811
    text = "What a very slow FILM , naïve and 🏳️‍🌈 good"
    tab.open(folder / "classifier.html")
    tab.run(READY)
    tab.run(f"document.querySelector('.typing input').value = {text!r}")
    tab.run("document.querySelector('.typing button').click()")
    ids = TOKENIZER(text)["input_ids"]
    assert tab.run(LOGITS) == pytest.approx(logits_of(classifier, input_ids=ids), abs=1e-4)
