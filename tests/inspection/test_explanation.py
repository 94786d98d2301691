# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The analyses of an explanation hold what their definitions say, and leave the model as it was."""

import base64
import json
from collections.abc import Callable
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
from model_cases import NO_SEQ2SEQ, SWITCHES, TINY
from shared import lively
from text_samples import fault
from toy_text import toy_tokenizer

import modeling_scratch as scratch
from modeling_scratch import explain, fast
from modeling_scratch.inspection.explanation import Explanation
from modeling_scratch.inspection.trace import packed
from tokenization import train_wordlevel_tokenizer

TOKENIZER = toy_tokenizer()
TEXT, OTHER = "what a moving film from Paris", "what a bad film from Paris"
CLASSES = (
    scratch.ScratchEncoderModel,
    scratch.ScratchEncoderForMaskedLM,
    scratch.ScratchEncoderForSequenceClassification,
    scratch.ScratchEncoderForTokenClassification,
    scratch.ScratchEncoderForQuestionAnswering,
    scratch.ScratchDecoderForCausalLM,
    scratch.ScratchDecoderForSequenceClassification,
    scratch.ScratchSeq2SeqForConditionalGeneration,
)
SCORED = [each for each in CLASSES if each not in (CLASSES[0], CLASSES[4])]


def model_of(model_class: Any, **settings: Any) -> Any:
    """A small random model with the toy vocabulary."""
    config_class = model_class.config_class
    special = {"pad_token_id": 0, "decoder_start_token_id": 2, "eos_token_id": 3}
    given = {**TINY, "vocab_size": len(TOKENIZER), "num_hidden_layers": 1, **special, **settings}
    if "layer_types" in settings:
        given["layer_types"] = settings["layer_types"][-given["num_hidden_layers"] :]
    lacking = NO_SEQ2SEQ if config_class is scratch.ScratchSeq2SeqConfig else ()
    known = {name: given[name] for name in {*given} - {*lacking} if hasattr(config_class, name) or name in TINY}
    return lively(model_class(config_class(**known)))


def unpacked(array: dict[str, Any]) -> np.ndarray:
    """The array of `packed`, as the page reads it."""
    is_rounded = array["dtype"] == "bfloat16"
    dtype = np.dtype("uint16" if is_rounded else array["dtype"]).newbyteorder("<")
    values = np.frombuffer(base64.b64decode(array["data"]), dtype).reshape(array["shape"])
    return (values.astype(np.uint32) << 16).view(np.float32) if is_rounded else values


_found: dict[Any, tuple[Any, Explanation]] = {}


def explained(model_class: Any) -> tuple[Any, Explanation]:
    """A model and its explanation of both texts, made once."""
    if model_class not in _found:
        number = CLASSES.index(model_class)
        settings = list(SWITCHES.values())[number % len(SWITCHES)]
        model = model_of(model_class, **settings, **({"sparse_prediction": True} if number == 1 else {}))
        _found[model_class] = model, explain(model, TOKENIZER, [TEXT, OTHER], max_tokens=12)
    return _found[model_class]


def test_a_model_in_training_mode_is_explained_without_dropout() -> None:
    model = model_of(scratch.ScratchEncoderForSequenceClassification, hidden_dropout=0.5)
    expected = explain(model, TOKENIZER, TEXT).to_dict()
    assert explain(model.train(), TOKENIZER, TEXT).to_dict() == expected
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize("model_class", CLASSES, ids=lambda cls: cls.__name__)
def test_data_are_json_that_holds_the_recorded_tensors(model_class: Any) -> None:
    _, explanation = explained(model_class)
    data = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    for text, shown in zip(explanation.texts, data["texts"], strict=True):
        assert len(shown["trace"]["steps"]) == len(text.recording.steps)
        for step, found in zip(text.recording.steps, shown["trace"]["steps"]):
            assert found["code"] == step.code.text
            if found["values"] is not None:
                np.testing.assert_allclose(
                    unpacked(found["values"]).flatten(), step.tensor.float().flatten(), rtol=1e-6
                )
        steps = shown["trace"]["steps"]
        assert all(each["step"] < step["id"] for step in steps for each in step["inputs"] if "step" in each)


@pytest.mark.parametrize("model_class", SCORED, ids=lambda cls: cls.__name__)
def test_attributions_add_up_to_the_score(model_class: Any) -> None:
    for text in explained(model_class)[1].texts:
        found = text.attributions
        is_noted = any("integrated gradients are not exact" in note for note in text.notes)
        assert is_noted or found.sum == pytest.approx(found.difference, rel=0.011, abs=1.1e-4)
        assert found.sum == pytest.approx(sum(found.tokens))
        assert found.baseline + found.difference == pytest.approx(found.value, abs=1e-4)
        is_little = abs(found.difference) < abs(found.baseline)
        assert any("padding in place of the text has" in note for note in text.notes) == is_little


def test_a_pair_is_read_with_its_token_types_and_explained_word_by_word() -> None:
    tokenizer = train_wordlevel_tokenizer([TEXT, OTHER], 60, token_type_ids=True, show_progress=False)
    model = model_of(scratch.ScratchEncoderForSequenceClassification, vocab_size=len(tokenizer), type_vocab_size=2)
    first, second = "a bad film", "what a moving film"
    found = explain(model, tokenizer, first, text_pairs=second).texts[0]

    def logits(other: str) -> torch.Tensor:
        with torch.no_grad(), fast.disabled():
            return model(**tokenizer(first, other, return_tensors="pt")).logits[0]

    torch.testing.assert_close(found.recording.output.logits[0], logits(second))
    assert found.tokens.types == tokenizer(first, second)["token_type_ids"]
    assert found.tokens.parts == [first, second]
    words = [*first.split(), *second.split()]
    assert [found.text[each.start : each.end] for each in found.tokens.word_list] == words
    chances = logits(second).double().softmax(-1)
    assert found.attributions.value == pytest.approx(torch.logit(chances.max()).item(), abs=1e-4)
    assert len(found.attributions.words) == len(words)
    cut = explain(model, tokenizer, first, text_pairs=second, max_tokens=8).texts[0]
    assert len(cut.tokens.ids) == 8
    assert len(cut.attributions.words) == len(cut.tokens.word_list) == 5


def test_what_rotary_positions_turn_has_a_name() -> None:
    model = model_of(scratch.ScratchDecoderForCausalLM, position_type="rotary", num_key_value_heads=2)
    text = explain(model, TOKENIZER, TEXT).texts[0]
    steps, keys = text.recording.steps, text.trace["keys"]
    for part in ("query", "key"):
        path = f"model.stack.layers.0.attention.{part}"
        turned = steps[keys[f"{path}_rotated"]]
        assert torch.equal(turned.tensor.transpose(1, 2), steps[keys[path]].tensor)
        assert turned.code.file == "positions.py"


def test_texts_are_those_of_any_container() -> None:
    model, texts = model_of(CLASSES[2]), ["film"]
    table = pd.DataFrame({"id": [1], "text": texts}, index=[7])
    for each in (table, datasets.Dataset.from_pandas(table), np.array(texts)):
        assert [found.text for found in explain(model, TOKENIZER, each).texts] == texts


UNUSUAL: dict[str, Callable[[], Any]] = {
    "float16": lambda: model_of(CLASSES[2]).half(),
    "bfloat16": lambda: model_of(CLASSES[2]).bfloat16(),
    "frozen": lambda: model_of(CLASSES[2]).requires_grad_(False),
    "no padding token": lambda: model_of(CLASSES[6], pad_token_id=None),
    "decoder without layers": lambda: model_of(CLASSES[5], num_hidden_layers=0),
    "both without layers": lambda: model_of(CLASSES[7], num_hidden_layers=0),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_an_unusual_model_has_finite_analyses(kind: str) -> None:
    (text,) = explain(UNUSUAL[kind](), TOKENIZER, "bad film").texts
    assert np.isfinite(text.attributions.tokens).all()


def test_a_tagger_of_one_label_has_no_odds_and_an_unknown_token_is_shown_by_its_id() -> None:
    (text,) = explain(model_of(scratch.ScratchEncoderForTokenClassification, num_labels=1), TOKENIZER, TEXT).texts
    assert text.attributions is None
    assert any("no attributions" in note for note in text.notes)
    model = model_of(scratch.ScratchEncoderForMaskedLM, vocab_size=len(TOKENIZER) + 100)
    with torch.no_grad():
        model.lm_head.decoder.bias[-1] += 1e3
    (text,) = explain(model, TOKENIZER, "a [MASK] film").texts
    assert text.attributions.score == f"log-odds of {len(TOKENIZER) + 99}"


def test_texts_and_targets_are_truncated_to_what_the_model_reads() -> None:
    model = model_of(scratch.ScratchSeq2SeqForConditionalGeneration, position_type="learned", max_position_embeddings=8)
    (text,) = explain(model, TOKENIZER, 4 * TEXT, targets=4 * OTHER).texts
    assert len(text.tokens.ids) == len(text.target_tokens.ids) == 8
    assert sum("truncated to 8 tokens (the limit of the model)" in note for note in text.notes) == 2
    model, _ = explained(scratch.ScratchEncoderForSequenceClassification)
    found, whole = (explain(model, TOKENIZER, text, max_tokens=6).texts[0] for text in (f"{TEXT} {OTHER}", TEXT[:18]))
    assert (found.text, found.attributions) == (whole.text, whole.attributions)


def test_arrays_hold_a_tensor() -> None:
    values = torch.tensor([[-3.0, 0.5, 1.0], [-3e38, float("-inf"), 2.1]])
    assert unpacked(packed(values)).tolist() == values.tolist()
    np.testing.assert_allclose(unpacked(packed(values, is_rounded=True)), values, rtol=2**-8)


WRONG = (
    (2, {}, {"texts": "  "}, ("--text", "empty")),
    (2, {}, {"texts": []}, ("--text", "from 1 to 8")),
    (2, {}, {"texts": pd.DataFrame({"id": [1], "stars": [2]})}, ("texts", "no column 'text'")),
    (2, {}, {"texts": [TEXT, 7]}, ("texts: 7 is not a text",)),
    (4, {}, {"targets": 7}, ("targets: a int, and not a list",)),
    (2, {}, {"targets": "ein Film"}, ("--target", "encoder-decoder")),
    (2, {}, {"texts": [TEXT], "targets": ["a", "b"]}, ("2 targets of 1 texts",)),
    (2, {}, {"max_tokens": 2}, ("--max_tokens 2", "at least")),
    (5, {}, {"text_pairs": OTHER}, ("--text_pair: only for a classifier",)),
)


@pytest.mark.parametrize(("number", "settings", "arguments", "pieces"), WRONG)
def test_wrong_arguments_are_one_line(number: int, settings: dict, arguments: dict, pieces: tuple[str, ...]) -> None:
    with fault(*pieces):
        explain(model_of(CLASSES[number], **settings), TOKENIZER, **{"texts": TEXT, **arguments})
