# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The site as a visitor opens it, from its files; and the sentence pairs that its translator learns."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import build_site
import pytest
from browser import violations
from build_site import LIVE, described
from demos import SAVE
from transformers import AutoTokenizer

from modeling_scratch import ScratchDecoderForCausalLM, fast
from modeling_scratch.inspection.weights import ROWS
from modeling_scratch.utils.files import write_text

CARD = "---\nwidget:\n- text: {}\n- text: {}\n---\n# Toys <of> mine\n"
TEXTS = {"classifier": ("a good film", "not good"), "translator": ("word1 word2", "word3"), "writer": ("abc", "de")}
SECRET = "a film that nobody else has seen"
MODELS = {"classifier": "labels", "translator": "translator", "writer": "writer"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of tiny models that say in their cards what can be tried."""
    root = tmp_path_factory.mktemp("site")
    folders = {name: SAVE[kind](root / name) for name, kind in MODELS.items()}
    for name, folder in folders.items():
        (folder / "README.md").write_text(CARD.format(*TEXTS[name]), encoding="utf-8")
    build_site.build(root / "site", [described(live, str(folders[live.name])) for live in LIVE], has_course=False)
    return root / "site"


def ask(page: Any, site: Path, name: str, text: str) -> None:
    """Type a text on the start page, which leads to the live page."""
    page.goto((site / "index.html").as_uri())
    page.fill(f"form[data-page='live/{name}.html'] input", text)
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("h1") == text
    assert urlsplit(page.url).query == ""  # which a server would be sent


@pytest.mark.browser
def test_the_classifier_answers_what_is_typed(page: Any, site: Path) -> None:
    ask(page, site, "classifier", "a very slow zebra & film")
    assert page.inner_text(".path li:last-child .step-value").partition(",")[0] in ("bad", "good")
    assert "zebra" in page.inner_text("header .note")
    assert page.locator("header .verdict.good").count() == 1
    page.click("text=All pages")
    page.click("text=not good")
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("h1") == "not good"
    page.click("nav a >> nth=1")
    assert page.inner_text("h1") == "not good"
    page.evaluate("location.hash = 'text=a%20%2B%20film'")
    page.wait_for_selector("h1:text-is('a + film')")
    page.goto((site / "live" / "classifier.html").as_uri() + "#tokens")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.inner_text("h1") == "a good film"


@pytest.mark.browser
def test_the_translator_shows_its_translation_under_the_text(page: Any, site: Path) -> None:
    ask(page, site, "translator", "word5 word6")
    assert page.inner_text("header .target") == f"→ {page.inner_text('#answer .conclusion')}"
    assert page.inner_text("header .target").startswith("→ word")


@pytest.mark.browser
def test_the_writer_goes_on_with_the_text(page: Any, site: Path) -> None:
    ask(page, site, "writer", "abc")
    page.wait_for_selector(".writing button:enabled")
    assert page.inner_text(".writing .target").startswith("→ abc")
    page.fill("#slider-topk", "1")
    page.click(".writing button")
    page.wait_for_selector(".writing button:enabled")
    folder = site.parent / "writer"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), ScratchDecoderForCausalLM.from_pretrained(folder)
    model.generation_config.update(no_repeat_ngram_size=0, suppress_tokens=None)
    ids = tokenizer("abc", add_special_tokens=False, return_tensors="pt").input_ids
    with fast.disabled():
        written = model.eval().generate(ids, do_sample=False, max_length=24)[0]
    expected = tokenizer.decode(written, skip_special_tokens=True).strip()
    assert page.text_content(".writing .target") == f"→ {expected}"


@pytest.mark.browser
def test_the_start_page_fits_and_is_accessible(page: Any, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    assert "Toys <of> mine" in page.inner_text(".card >> nth=0")
    pages = page.eval_on_selector_all("a[href^=docs]", "links => links.map(link => link.getAttribute('href'))")
    assert [name for name in pages if not (build_site.ROOT / name).with_suffix(".md").is_file()] == []
    for width in (360, 390, 1400):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert violations(page) == []


def private(folder: Path) -> Path:
    """The folder of a model, with the results of a run on texts of a user."""
    rows = [{"text": f"{SECRET} {number}", "label": "bad", "predicted": "good"} for number in range(4)]
    write_text(folder / "examples.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


@pytest.mark.parametrize("allowed", [False, True])
def test_texts_of_a_run_are_there_only_if_its_card_has_them(
    tmp_path: Path, allowed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = private(SAVE["labels"](tmp_path / "mine"))
    if allowed:
        write_text(folder / "README.md", f"---\nwidget:\n- text: {SECRET}\n---\n")
    build_site.build(tmp_path / "site", [described(LIVE[0], str(folder))], has_course=False)
    live, start = (tmp_path / "site" / name for name in ("live/classifier.html", "index.html"))
    packed = re.search('id="explanation"[^>]*>([^<]+)<', live.read_text(encoding="utf-8"))
    explanation = gzip.decompress(base64.b64decode(packed[1] if packed else "")).decode()
    assert [SECRET in text for text in (start.read_text(encoding="utf-8"), explanation)] == [allowed] * 2
    assert (f"--classifier {folder}: no texts to try" in capsys.readouterr().err) != allowed


@pytest.mark.parametrize(
    ("name", "reason"), [("pairs", "pairs of texts"), ("row", "not every hidden_act"), ("tokenizer", "(Strip)")]
)
def test_a_model_whose_page_does_not_compute_is_refused(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = SAVE["pairs" if name == "pairs" else "labels"](tmp_path / name)
    if name == "row":
        monkeypatch.setitem(ROWS, "hidden_act", {"relu"})
    if name == "tokenizer":
        parts = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        parts["normalizer"] = {"type": "Strip", "strip_left": True, "strip_right": True}
        write_text(folder / "tokenizer.json", json.dumps(parts))
    with pytest.raises(SystemExit):
        build_site.main([str(tmp_path / "site"), "--classifier", str(folder)])
    message = capsys.readouterr().err
    assert f"--classifier {folder}: " in message
    assert reason in message
