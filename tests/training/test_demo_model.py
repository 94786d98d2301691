# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The model of `make train`: right about plain sentences of a visitor, and by the order of words."""

from pathlib import Path
from typing import Any

import pytest
import torch
import train_classifier
from transformers import AutoModelForSequenceClassification, AutoTokenizer

pytestmark = pytest.mark.slow

FLAGSHIP = "The acting is gripping, but this film bores."
SENTENCES = [line.split(" ", 1) for line in Path(__file__).with_name("plain_reviews.txt").read_text().splitlines()]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("demo") / "run"
    train_classifier.main(f"--output_dir {folder} --use_cpu --report_to none".split())
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def positive(text: str, has_order: bool = True) -> float:
        inputs = tokenizer(text, return_tensors="pt")
        if not has_order:
            inputs["position_ids"] = torch.zeros_like(inputs["input_ids"])
        with torch.no_grad():
            return model(**inputs).logits.softmax(-1)[0, 1].item()

    return positive


def test_plain_sentences_of_a_visitor_are_understood(demo: Any) -> None:
    """At least 95 % of sentences that were written by hand, as plain as "This film is terrible."."""
    wrong = [(sign, text) for sign, text in SENTENCES if (demo(text) > 0.5) != (sign == "+")]
    assert len(SENTENCES) >= 200
    assert len(wrong) <= 0.05 * len(SENTENCES), wrong


def test_the_answer_to_the_sentence_of_the_readme_depends_on_the_order_of_words(demo: Any) -> None:
    reversed_opinions = "The acting bores, but this film is gripping."
    assert demo(FLAGSHIP) < 0.05 < 0.95 < demo(reversed_opinions)
    without_order = [demo(text, has_order=False) for text in (FLAGSHIP, reversed_opinions)]
    assert without_order[0] == pytest.approx(without_order[1], abs=0.05), "a bag of words cannot tell them apart"
