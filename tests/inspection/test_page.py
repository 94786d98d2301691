# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page in a real browser: all parts, recomputation, keyboard, hostile text, size."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import draw_explain
import pytest
import torch
from browser import violations
from shared import lively
from test_explanation import CLASSES, model_of
from toy_text import toy_tokenizer

from modeling_scratch import (
    ScratchDecoderForCausalLM,
    ScratchEncoderForSequenceClassification,
    ScratchSeq2SeqForConditionalGeneration,
    explain,
    fast,
    presets,
)
from modeling_scratch.inspection.page import page as write_page
from modeling_scratch.inspection.page import rendered
from modeling_scratch.lab.breaks import broken
from modeling_scratch.utils.errors import DataError

pytestmark = pytest.mark.browser

HOSTILE = "\U0001f600 </script><img onerror=x> good {{script}}"
LABELS = {0: "<b>bad</b>", 1: "good"}
TOKENIZER = toy_tokenizer()
SIZES: dict[str, Any] = {
    "vocab_size": len(TOKENIZER), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 24, "hidden_dropout": 0.0,
}  # fmt: skip
PARTS = ["tokens", "pass", "attention", "lens", "answer", "words", "change"]


@pytest.fixture(scope="module")
def classifier() -> Any:
    return classifier_of(SIZES)


def classifier_of(sizes: dict[str, Any]) -> Any:
    labels = {"id2label": LABELS, "label2id": {name: number for number, name in LABELS.items()}}
    return lively(ScratchEncoderForSequenceClassification(presets.demo(**sizes, **labels)))


@pytest.fixture(scope="module")
def explained(classifier: Any) -> dict[str, Any]:
    return explain(classifier, TOKENIZER, [HOSTILE, "a bad film"]).to_dict()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, classifier: Any, explained: dict[str, Any]) -> Path:
    """Pages of a classifier, a decoder and an encoder-decoder."""
    folder = tmp_path_factory.mktemp("pages")
    write_page(explained, classifier, folder / "classifier.html")
    one = {**SIZES, "num_hidden_layers": 1}
    small = classifier_of({**one, "num_attention_heads": 2})
    explain(small, TOKENIZER, ["good", "bad"]).save(folder / "small.html")
    decoder = lively(ScratchDecoderForCausalLM(presets.gpt2(**one, max_position_embeddings=64)))
    explain(decoder, TOKENIZER, "a good film").save(folder / "decoder.html")
    starts = {"decoder_start_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    seq2seq = lively(ScratchSeq2SeqForConditionalGeneration(presets.captions(**one, **starts)))
    explain(seq2seq, TOKENIZER, "a slow film", targets="a good film").save(folder / "seq2seq.html")
    pair = explain(classifier, TOKENIZER, "a good film", text_pairs="bad and slow")
    pair.save(folder / "pair.html")
    for name, model in (("decoder", decoder), ("seq2seq", seq2seq)):
        model.save_pretrained(folder / name)
    return folder


def opened(page: Any, path: Path) -> Any:
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    return page


def test_every_part_opens_and_each_tensor_has_its_formula(page: Any, folder: Path) -> None:
    """Nothing of a decoder is said of an encoder, and a detail has the formula that it is for."""
    opened(page, folder / "classifier.html")
    assert page.eval_on_selector_all("section.part", "parts => parts.map(part => part.id)") == PARTS
    assert page.is_visible("details.step:has(.name:text-is('weights')) [role=grid]")  # open at first
    step = page.locator("details.step:not(.minor)", has=page.locator("summary .name:text-is('scores')")).first
    step.locator("summary").first.click()
    assert step.locator("summary math").text_content() == "Si=QiKiTdk+M"
    assert step.locator(".chosen").all_text_contents() == ["QiKiTdk+M"]
    page.check("#pass-all")
    open_pass(page)
    page.evaluate("() => document.querySelectorAll('.head-button, .piece').forEach(each => each.click())")
    assert page.locator(".step [role=grid]").count() > 100
    assert "cached ones" not in page.inner_text("#pass")
    assert not {"before", "after"} & set(page.locator(".step .name").all_inner_texts())
    assert page.locator(".step.minor .formula.whole .chosen").count() > 20
    assert_nothing_overflows(page)
    open_pass(opened(page, folder / "seq2seq.html"))
    assert_nothing_overflows(page)


def open_pass(page: Any) -> None:
    """Open every layer, then every tensor."""
    for kind in ("block", "step"):
        page.evaluate(f"() => document.querySelectorAll('details.{kind}').forEach(each => {{ each.open = true; }})")
        page.wait_for_function(f"() => ![...document.querySelectorAll('.{kind} > :empty:not(summary)')].length")


WIDE_IS_MARKED = """() => [...document.querySelectorAll("main *, header *")]
    .filter(each => ["auto", "scroll"].includes(getComputedStyle(each).overflowX) || each.matches(".formula"))
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .every(each => each.nextElementSibling?.matches(".wider:not([hidden])"))"""


def assert_nothing_overflows(page: Any) -> None:
    """What scrolls sideways by itself has a line below it that says so."""
    for width in (360, 900, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.wait_for_function(WIDE_IS_MARKED)


OPEN = """() => {
    document.querySelectorAll('details:not(.step)').forEach(each => { each.open = true; });
    document.querySelector('#change .token').click();
}"""


@pytest.mark.parametrize(
    "name",
    ["small", *(pytest.param(each, marks=pytest.mark.slow) for each in ("classifier", "decoder", "seq2seq"))],
)
def test_the_page_is_accessible(page: Any, folder: Path, name: str) -> None:
    opened(page, folder / f"{name}.html")
    page.evaluate(OPEN)
    page.locator("details.step:not(.minor) > summary").nth(3).click()
    page.click("#change [role=switch] >> nth=0")
    assert violations(page, in_full=name != "small") == []


@pytest.mark.parametrize("model_class", CLASSES, ids=lambda cls: cls.__name__)
def test_a_page_of_every_class_has_an_answer(page: Any, tmp_path: Path, model_class: Any) -> None:
    model = model_of(model_class, norm_position="pre")
    content = explain(model, TOKENIZER, "a [MASK] film").to_dict()
    for weights in (model, None):
        write_page(content, weights, tmp_path / "page.html")
        opened(page, tmp_path / "page.html")
        assert page.inner_text("#answer .conclusion")
        assert page.locator("header .verdict.good").count() == (weights is model)
        assert float(page.get_attribute("html", "data-difference") or 0) < 1e-4
        assert page.locator("[role=switch]").count() > 0 or weights is None
        assert ("computes nothing anew" in page.inner_text("header .verdict")) == (weights is None)


def test_heads_and_parts_are_switched_off_and_on_again(page: Any, folder: Path, classifier: Any) -> None:
    """The logits are those of PyTorch with the same part broken."""
    opened(page, folder / "classifier.html")
    before, ids = shown_logits(page), [int(text) for text in page.locator("#change .tokens .id").all_inner_texts()]
    switches = [page.locator("#change [role=switch]", has_text=name) for name in ("scaling", "softmax")]
    with ExitStack() as both:
        for name, switch in zip(("scaling", "softmax_axis"), switches):
            both.enter_context(broken(classifier, name))
            switch.click()
            assert shown_logits(page) == pytest.approx(logits_of(classifier, input_ids=ids), rel=1e-3, abs=1e-4)
            assert "→" in page.inner_text(".change-bar")
    for switch in switches:
        switch.click()
    assert shown_logits(page) == before
    page.click('#change [role=switch][aria-label="Layer 2: Head 3"]')  # test_forward_js.py tells the logits
    assert shown_logits(page) != before
    assert page.locator("#attention .head-view h3 small").count() == 1
    page.click(".change-bar button")
    assert (shown_logits(page), page.inner_text(".change-bar")) == (before, "")
    assert page.get_attribute('[aria-label="Layer 2: Head 3"]', "aria-checked") == "true"
    for kind, has_mask in (("classifier", 0), ("decoder", 1)):
        opened(page, folder / f"{kind}.html")
        assert page.locator("#change [role=switch]", has_text="Causal mask").count() == has_mask
    for slider, value in (("topk", "3"), ("temperature", "0.5")):
        page.fill(f"#slider-{slider}", value)
    kept = (torch.tensor(shown_logits(page)[-len(TOKENIZER) :]).topk(3).values / 0.5).softmax(-1)
    shares = page.locator(".next-token .value").all_inner_texts()
    assert [float(share.rstrip("%")) for share in shares[:3]] == pytest.approx((100 * kept).tolist(), abs=0.51)
    assert {*shares[3:]} == {"cut"}


def type_text(page: Any, *parts: str) -> None:
    for number, part in enumerate(parts):
        page.locator(".typing input").nth(number).fill(part)
    page.click(".typing button")
    page.wait_for_selector(".typing button:enabled")


def logits_of(model: Any, **inputs: Any) -> list[float]:
    with torch.no_grad(), fast.disabled():
        return model(**{name: torch.tensor([ids]) for name, ids in inputs.items()}).logits[0].flatten().tolist()


def shown_logits(page: Any) -> list[float]:
    return page.eval_on_selector("#change .outcome", "place => [...place.logits]")


def test_a_new_text_is_computed_as_pytorch_does(page: Any, folder: Path, classifier: Any) -> None:
    opened(page, folder / "classifier.html")
    text = "What a very slow FILM , naïve and 🏳️‍🌈 good"
    type_text(page, text)
    assert page.inner_text("h1") == text
    assert page.inner_text("#announcement") == f"The answer: {page.inner_text('#answer .conclusion')}"
    ids = TOKENIZER(text)["input_ids"]
    assert [int(each) for each in page.locator("#tokens .tokens .id").all_inner_texts()] == ids
    assert shown_logits(page) == pytest.approx(logits_of(classifier, input_ids=ids), abs=1e-4)
    best = int(torch.tensor(shown_logits(page)).argmax())
    assert page.inner_text("#answer .conclusion").startswith(LABELS[best])
    assert page.locator("#attention .query").count() == len(ids)
    page.click("details.block >> nth=1 >> summary >> nth=0")
    page.locator("details.block >> nth=1 >> details.step >> nth=0").wait_for(state="attached", timeout=5_000)
    assert page.locator("details.block >> nth=1 >> details.step").count() > 10
    assert "need the gradients of PyTorch" in page.inner_text("#words")
    page.locator("#change .tokens button").nth(1).click()  # swap a token, and remove the next one
    page.fill("#change input[type=search]", "good")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.innerText").startswith("good")
    page.locator("#change .tokens button").nth(2).click()
    page.click("#change .edit .action")
    changed = [ids[0], TOKENIZER.convert_tokens_to_ids("good"), *ids[3:]]
    assert shown_logits(page) == pytest.approx(logits_of(classifier, input_ids=changed), abs=1e-4)
    page.click("header .choices >> text=2. a bad film")
    assert page.locator("#words .said").count() == 3


def test_a_new_pair_is_read_as_a_pair_and_what_cannot_be_read_is_said(page: Any, folder: Path, classifier: Any) -> None:
    opened(page, folder / "pair.html")
    type_text(page, "a slow film", "is it bad ?")
    ids = TOKENIZER("a slow film", "is it bad ?")["input_ids"]
    assert shown_logits(page) == pytest.approx(logits_of(classifier, input_ids=ids), abs=1e-4)
    opened(page, folder / "classifier.html")
    for text, problem in (("  ", "empty"), ("a film " * 40, "82 tokens")):
        type_text(page, text)
        assert problem in page.inner_text(".typing .problem")
    assert page.inner_text("h1") == HOSTILE


def test_a_new_text_is_continued_and_translated(page: Any, folder: Path) -> None:
    opened(page, folder / "decoder.html")
    type_text(page, "not good at all")
    model = ScratchDecoderForCausalLM.from_pretrained(folder / "decoder").eval()
    ids = TOKENIZER("not good at all")["input_ids"][:-1]
    assert shown_logits(page) == pytest.approx(logits_of(model, input_ids=ids), abs=1e-4)
    opened(page, folder / "seq2seq.html")
    type_text(page, "a moving film")
    seq2seq = ScratchSeq2SeqForConditionalGeneration.from_pretrained(folder / "seq2seq").eval()
    source = TOKENIZER("a moving film")["input_ids"]
    with fast.disabled():
        made = seq2seq.generate(torch.tensor([source]), num_beams=1, do_sample=False, max_new_tokens=48)[0].tolist()
    read = page.locator("#tokens .tokens").nth(1).locator(".id").all_inner_texts()
    assert [int(each) for each in read] == made[: len(read)]
    expected = logits_of(seq2seq, input_ids=source, decoder_input_ids=made[: len(read)])
    assert shown_logits(page) == pytest.approx(expected, abs=1e-4)


FOCUS = """() => {
    const at = document.activeElement, around = at.closest("section, header, nav");
    return [around?.id || around?.tagName, at.getAttribute("role") ?? at.tagName];
}"""
UNREACHABLE = """() => [...document.querySelectorAll("button[tabindex='-1'], [role=button][tabindex='-1']")]
    .filter(button => ![...button.parentElement.children].some(other => other.tabIndex === 0)).length"""


def test_the_keyboard_reaches_everything(page: Any, folder: Path) -> None:
    """Each button is a stop, or one of a group with arrow keys of which one is; space flips a switch."""
    opened(page, folder / "classifier.html")
    seen = []
    while len(seen) < 150 and (not seen or seen[-1][1] != "BODY"):
        page.keyboard.press("Tab")
        seen.append(tuple(page.evaluate(FOCUS)))
    assert {"HEADER", "NAV", *PARTS} - {"lens", "answer", "words"} <= {place for place, _ in seen}
    assert {"radio", "switch", "gridcell", "button", "BUTTON", "SUMMARY", "A", "INPUT"} <= {kind for _, kind in seen}
    assert page.evaluate(UNREACHABLE) == 0
    cell = page.locator("#attention [role=gridcell]").first
    cell.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    assert cell.get_attribute("aria-colindex") == page.get_attribute("#attention [role=grid]", "aria-colcount")
    assert page.locator("#attention .readout").inner_text() == cell.get_attribute("aria-label")
    switch = page.locator("#change [role=switch]").first
    switch.focus()
    page.keyboard.press("Space")
    assert switch.get_attribute("aria-checked") == "false"


def test_text_and_labels_are_never_markup(page: Any, folder: Path) -> None:
    opened(page, folder / "classifier.html")
    assert page.inner_text("h1") == HOSTILE
    assert page.title().startswith(HOSTILE[:60])
    assert page.locator("#words .said").all_inner_texts() == HOSTILE.split()  # Python counts an emoji as one letter
    assert page.locator("img, main b").count() == 0
    assert "<b>bad</b>" in page.inner_text("#answer")


def test_weights_of_another_model_are_noticed_and_rounding_is_not(
    page: Any, tmp_path: Path, classifier: Any, explained: dict[str, Any]
) -> None:
    other = lively(ScratchEncoderForSequenceClassification(classifier.config))
    with torch.no_grad():
        other.classifier.out_proj.bias += 0.001
    write_page(explained, other, tmp_path / "page.html")
    assert "was edited" in opened(page, tmp_path / "page.html").inner_text(".verdict.bad >> nth=0")
    model = model_of(CLASSES[1])  # a masked language model, with logits that differ by more in float32
    with torch.no_grad():
        model.lm_head.decoder.weight *= 30
    explain(model, TOKENIZER, "a [MASK] film").save(tmp_path / "page.html")
    assert opened(page, tmp_path / "page.html").locator("header .verdict.good").count() == 1
    assert float(page.get_attribute("html", "data-difference")) > 1e-4


def test_a_million_parameters_stay_below_5_mb(tmp_path: Path, explained: dict[str, Any]) -> None:
    model = lively(ScratchEncoderForSequenceClassification(presets.tutorial(vocab_size=14_000)))
    assert sum(parameter.numel() for parameter in model.parameters()) > 990_000
    assert len(rendered(explained, model)) < 5_000_000
    with pytest.raises(DataError, match="none"):  # the place that cannot be written is named
        write_page(explained, None, tmp_path / "none" / "page.html")


@pytest.mark.slow
def test_each_part_is_drawn(page: Any, folder: Path, tmp_path: Path) -> None:
    draw_explain.draw(page, folder / "classifier.html", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"explain-{part}.png" for part in ("page", *draw_explain.PARTS)
    }
