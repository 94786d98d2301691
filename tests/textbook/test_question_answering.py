# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answers found in a context: the best span over all windows, and exactly where it stands."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from model_cases import SPANS
from shared import redraw
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast, pipeline

from modeling_scratch.question_answering import QuestionAnsweringPipeline
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


def build(tokenizer: PreTrainedTokenizerFast, **settings: Any) -> Any:
    ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    return redraw(SPANS.model(**{**ids, "type_vocab_size": 2, "position_type": "rotary", **settings}), 0.5)


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
                if not text.strip():
                    continue
                place = place[0] + len(text) - len(text.lstrip()), place[1] - len(text) + len(text.rstrip())
                spans[place] = max(spans.get(place, 0.0), start[i] * end[j])
    return spans


SPACES = "a tower  \n\n\n of iron"


@torch.no_grad()
def test_all_spans_of_all_windows_come_in_the_order_of_their_probability(serve: QuestionAnsweringPipeline) -> None:
    """Each once, and white space is no answer."""
    for question, context in product(QUESTIONS[1:], (CONTEXT, LONG, SPACES)):
        spans = brute_force(serve, question, context, longest=6)
        options = {"max_answer_len": 6, "align_to_words": False, **WINDOWS}
        answers = serve(question=question, context=context, top_k=10_000, **options)
        found = {(answer["start"], answer["end"]): answer["score"] for answer in answers}
        assert found == pytest.approx(spans, rel=1e-4)
        assert len(found) == len(answers)
        assert [answer["score"] for answer in answers] == sorted(found.values(), reverse=True)
        for answer in answers:
            assert answer["answer"] == context[answer["start"] : answer["end"]] == answer["answer"].strip() != ""


@torch.no_grad()
def test_batches_answer_as_one_by_one(serve: QuestionAnsweringPipeline) -> None:
    examples = [{"question": question, "context": context} for question in QUESTIONS[:2] for context in (CONTEXT, LONG)]
    single = [serve(example, **WINDOWS) for example in examples]
    batch = serve(examples, batch_size=4, **WINDOWS)
    assert [(a["start"], a["end"]) for a in batch] == [(a["start"], a["end"]) for a in single]
    assert [a["score"] for a in batch] == pytest.approx([a["score"] for a in single], rel=1e-4)
    assert set(single[0]["answer"].split()) <= set(CONTEXT.split())  # words are whole
    pairs = serve(question=QUESTIONS[:2], context=LONG, **WINDOWS)
    assert [a["answer"] for a in pairs] == [a["answer"] for a in single[1::2]]


def test_every_way_of_asking(serve: QuestionAnsweringPipeline) -> None:
    example = {"question": QUESTIONS[0], "context": CONTEXT}
    answer = serve(**example)
    for same in (example, SimpleNamespace(**example)):
        assert serve(same) == answer
    assert serve(QUESTIONS[0], CONTEXT) == serve(QUESTIONS[0], context=CONTEXT) == answer
    assert serve([example]) == list(serve(e for e in [example])) == [answer]
    assert serve(question=(q for q in QUESTIONS[:1]), context=CONTEXT) == [answer]
    assert serve([]) == serve(question=[], context=CONTEXT) == []
    assert serve(**example, doc_stride=0)["answer"] in CONTEXT
    # No answer is one of the answers where it is asked for.
    answers = serve(question=QUESTIONS[0], context=LONG, top_k=10_000, handle_impossible_answer=True, **WINDOWS)
    empty = [answer for answer in answers if answer["answer"] == ""]
    assert [(answer["start"], answer["end"]) for answer in empty] == [(0, 0)]
    assert 0 <= empty[0]["score"] <= 1


def test_what_cannot_be_is_refused(serve: QuestionAnsweringPipeline) -> None:
    faults: list[tuple[dict, str]] = [
        ({"question": "who ?", "context": " "}, "context: ' ' is not a text"),
        ({"question": "", "context": CONTEXT}, "question: '' is not a text"),
        ({"question": "who ?"}, "Pass question and context"),
        ({"question": ["a", "b"], "context": [CONTEXT]}, "2 questions and 1 contexts"),
        ({"question": "who ?", "context": CONTEXT, "top_k": 0}, "top_k=0"),
        ({"question": "who ?", "context": CONTEXT, "stride": 3}, "stride: not an argument"),
        ({"question": "who ?", "context": CONTEXT, "doc_stride": -1}, "doc_stride=-1: has to be at least 0"),
        ({"question": "who ?", "context": CONTEXT, "max_seq_len": 30, "doc_stride": 30}, "doc_stride=30"),
        ({"inputs": {"question": "who ?"}}, "context: 'None' is not a text"),
    ]
    for arguments, message in faults:
        with pytest.raises(ValueError, match=message):
            serve(**arguments)
    with pytest.raises(ValueError, match="ByT5Tokenizer has no character offsets"):
        QuestionAnsweringPipeline(model=serve.model, tokenizer=ByT5Tokenizer())
