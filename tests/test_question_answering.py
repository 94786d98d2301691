# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answers found in a context: the best span over all windows, and exactly where it stands."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import redraw, run_without_package
from transformers import BertConfig, BertForQuestionAnswering, PreTrainedTokenizerFast, pipeline

from modeling_scratch import ScratchEncoderConfig, ScratchEncoderForQuestionAnswering
from modeling_scratch.pipelines import QuestionAnsweringPipeline
from tokenization import train_bpe_tokenizer, train_wordlevel_tokenizer

CONTEXT = "In the year 1889 the tower was built by Gustave Eiffel , 300 metres high , in Paris near the river ."
LONG = " ".join(f"{CONTEXT} Naïve “crêpes” cost {n} € ." for n in range(6))
QUESTIONS = ["who built the tower ?", "how high is it ?", "what costs 3 € ?"]
CORPUS = [LONG, *QUESTIONS] * 3

TOKENIZERS: dict[str, Any] = {
    "bert": lambda: train_bpe_tokenizer(CORPUS, 400, style="bert", token_type_ids=True, show_progress=False),
    "bytes_roberta": lambda: train_bpe_tokenizer(CORPUS, 400, style="roberta", show_progress=False),
    "end_of_word": lambda: train_bpe_tokenizer(CORPUS, 300, byte_level=False, style="bert", show_progress=False),
    "no_special_tokens": lambda: train_bpe_tokenizer(CORPUS, 400, style="gpt", show_progress=False),
    "words_left": lambda: train_wordlevel_tokenizer(CORPUS, 300, padding_side="left", show_progress=False),
}
WINDOWS = {"max_seq_len": 48, "doc_stride": 16}


def build(tokenizer: PreTrainedTokenizerFast) -> ScratchEncoderForQuestionAnswering:
    config = ScratchEncoderConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        type_vocab_size=2, position_type="rotary", pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return redraw(ScratchEncoderForQuestionAnswering(config), 0.5).eval()


@pytest.fixture(scope="module", params=TOKENIZERS)
def serve(request: pytest.FixtureRequest) -> QuestionAnsweringPipeline:
    tokenizer = TOKENIZERS[request.param]()
    found = pipeline("extractive-question-answering", model=build(tokenizer), tokenizer=tokenizer)
    assert type(found) is QuestionAnsweringPipeline
    return found


def brute_force(serve: Any, question: str, context: str, longest: int) -> dict[tuple[int, int], float]:
    """(first character, last character): probability, of every span of tokens in every window, one by one."""
    spans: dict[tuple[int, int], float] = {}
    encoded = serve.tokenizer(
        question, context, truncation="only_second", max_length=WINDOWS["max_seq_len"], stride=WINDOWS["doc_stride"],
        return_overflowing_tokens=True,
    )  # fmt: skip
    for encoding in encoded.encodings:
        names = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask}
        if "token_type_ids" in serve.tokenizer.model_input_names:
            names["token_type_ids"] = encoding.type_ids
        output = serve.model(**{name: torch.tensor([value]) for name, value in names.items()})
        allowed = [i for i, s in enumerate(encoding.sequence_ids) if s == 1]
        with_null = allowed + [i for i, token in enumerate(encoding.ids) if token == serve.tokenizer.cls_token_id]
        start, end = (x[0, with_null].softmax(-1).tolist() for x in (output.start_logits, output.end_logits))
        for i, first in enumerate(allowed):
            for j, last in enumerate(allowed[i : i + longest], i):
                place = encoding.offsets[first][0], encoding.offsets[last][1]
                text = context[slice(*place)]
                place = place[0] + len(text) - len(text.lstrip()), place[1] - len(text) + len(text.rstrip())
                spans[place] = max(spans.get(place, 0.0), start[i] * end[j])
    return spans


@pytest.mark.parametrize("context", [CONTEXT, LONG], ids=["one_window", "windows"])
@torch.no_grad()
def test_finds_the_most_probable_span_of_all_windows(serve: QuestionAnsweringPipeline, context: str) -> None:
    for question in QUESTIONS:
        spans = brute_force(serve, question, context, longest=6)
        options = {"max_answer_len": 6, "align_to_words": False, **WINDOWS}
        best = sorted(spans.items(), key=lambda item: -item[1])[:3]
        answer = serve(question=question, context=context, **options)
        assert (answer["start"], answer["end"]) == best[0][0]
        assert answer["score"] == pytest.approx(best[0][1], rel=1e-4)
        answers = serve(question=question, context=context, top_k=3, **options)
        assert [found["score"] for found in answers] == pytest.approx([score for _, score in best], rel=1e-4)
        for found in answers:
            assert found["answer"] == context[found["start"] : found["end"]] == found["answer"].strip() != ""


@torch.no_grad()
def test_batches_answer_as_one_by_one(serve: QuestionAnsweringPipeline) -> None:
    examples = [{"question": question, "context": context} for question in QUESTIONS for context in (CONTEXT, LONG)]
    single = [serve(example, **WINDOWS) for example in examples]
    for batch_size in (1, 4):
        batch = serve(examples, batch_size=batch_size, **WINDOWS)
        assert [(a["start"], a["end"]) for a in batch] == [(a["start"], a["end"]) for a in single]
        assert [a["score"] for a in batch] == pytest.approx([a["score"] for a in single], rel=1e-4)
    pairs = serve(question=QUESTIONS, context=LONG, **WINDOWS)
    assert [a["answer"] for a in pairs] == [a["answer"] for a in single[1::2]]


def test_an_answer_is_made_of_whole_words(serve: QuestionAnsweringPipeline) -> None:
    for question in QUESTIONS:
        answer = serve(question=question, context=LONG, **WINDOWS)
        assert LONG[: answer["start"]].endswith((" ", "“", "")), answer
        before, after = LONG[answer["start"] - 1 : answer["start"]], LONG[answer["end"] : answer["end"] + 1]
        assert not (before + answer["answer"][0]).isalnum() or not before
        assert not (answer["answer"][-1] + after).isalnum() or not after


def test_no_answer_is_one_of_the_answers_where_it_is_asked_for(serve: QuestionAnsweringPipeline) -> None:
    answers = serve(question=QUESTIONS[0], context=LONG, top_k=10_000, handle_impossible_answer=True, **WINDOWS)
    empty = [answer for answer in answers if answer["answer"] == ""]
    assert [(answer["start"], answer["end"]) for answer in empty] == [(0, 0)]
    assert 0 <= empty[0]["score"] <= 1
    assert len({(answer["start"], answer["end"]) for answer in answers}) == len(answers)


@torch.no_grad()
def test_native_models_are_served_too() -> None:
    tokenizer = TOKENIZERS["bert"]()
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
    bert = redraw(BertForQuestionAnswering(BertConfig(vocab_size=len(tokenizer), **sizes)), 0.5).eval()
    serve = pipeline("extractive-question-answering", model=bert, tokenizer=tokenizer)
    best = max(brute_force(serve, QUESTIONS[0], LONG, longest=15).items(), key=lambda item: item[1])
    answer = serve(question=QUESTIONS[0], context=LONG, align_to_words=False, **WINDOWS)
    assert ((answer["start"], answer["end"]), answer["score"]) == (best[0], pytest.approx(best[1], rel=1e-4))


SERVE = """
import json, sys
from transformers import pipeline
serve = pipeline("extractive-question-answering", model=sys.argv[1], trust_remote_code=True)
print(json.dumps(serve(question=sys.argv[2], context=sys.argv[3], max_seq_len=48, doc_stride=16)))
"""


def test_a_saved_folder_serves_where_the_package_is_not_installed(tmp_path: Path) -> None:
    tokenizer = TOKENIZERS["bert"]()
    model = build(tokenizer)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    environment = {"HF_MODULES_CACHE": str(tmp_path / "modules")}
    found = json.loads(run_without_package(SERVE, str(tmp_path), QUESTIONS[0], LONG, **environment).splitlines()[-1])
    expected = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer)(
        question=QUESTIONS[0], context=LONG, **WINDOWS
    )
    assert found.pop("score") == pytest.approx(expected.pop("score"), rel=1e-4)
    assert found == expected


def test_what_cannot_be_is_refused(serve: QuestionAnsweringPipeline) -> None:
    faults: list[tuple[dict, str]] = [
        ({"question": "who ?", "context": " "}, "context: ' ' is no text"),
        ({"question": "", "context": CONTEXT}, "question: '' is no text"),
        ({"question": "who ?"}, "Give question and context"),
        ({"question": ["a", "b"], "context": [CONTEXT]}, "2 questions and 1 contexts"),
        ({"question": "who ?", "context": CONTEXT, "top_k": 0}, "top_k=0"),
        ({"question": "who ?", "context": CONTEXT, "stride": 3}, "stride: no argument"),
        ({"question": "who ?", "context": CONTEXT, "max_seq_len": 30, "doc_stride": 30}, "doc_stride=30"),
        ({"inputs": {"question": "who ?"}}, "context: 'None' is no text"),
    ]
    for arguments, message in faults:
        with pytest.raises(ValueError, match=message):
            serve(**arguments)
