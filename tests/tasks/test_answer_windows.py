# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Windows of contexts and their labels: each answer is found where it is labelled, in any text, and padding is none."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from text_samples import fault

from modeling_scratch import ScratchEncoderForQuestionAnswering, presets
from modeling_scratch.data.questions import Answer, Question
from modeling_scratch.tasks.answer import encode_questions
from modeling_scratch.tasks.answerer import record_settings
from modeling_scratch.tasks.reader import PIPELINE, Reader
from tokenization import KINDS, special_token_ids

LENGTH = 40
WORDS = ("tower", "Eiffel", "1889", "naïve", "“crêpes”", "日本語", "🗼", "e\u0301", "\u200bx", "ﬁn", "İ", "3,50")
ASKED = "who built the tower?"
CORPUS = [f"{ASKED} {' '.join(WORDS[:8])}"] * 4


def reader_of(kind: str, **options: Any) -> Reader:
    sizes = {"byte_bpe": 300, "wordlevel": 40, "words": 40, "bpe": 80}
    tokenizer = KINDS[kind](
        CORPUS, sizes[kind], style="bert", token_type_ids=True, model_max_length=LENGTH, show_progress=False, **options
    )
    width = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = presets.demo(vocab_size=len(tokenizer), type_vocab_size=2, **width, **special_token_ids(tokenizer))
    record_settings(config, PIPELINE, max_answer_len=LENGTH, handle_impossible_answer=True)
    return Reader(ScratchEncoderForQuestionAnswering(config), tokenizer)


READERS = {
    "byte_bpe": reader_of("byte_bpe"),
    "cased": reader_of("byte_bpe", lowercase=False, add_prefix_space=True),
    "wordlevel": reader_of("wordlevel"),
}
TEXTS = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)),
    min_size=1, max_size=60,
)  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck), derandomize=True)
@given(words=TEXTS, data=st.data())
def test_labels_cover_the_answer_in_any_text(kind: str, words: list[str], data: Any) -> None:
    """In each window with a label, the tokens cover the answer, and no further token; elsewhere, it is no answer."""
    reader, context = READERS[kind], f"x{' '.join(words)}y"
    first = data.draw(st.integers(0, len(context) - 1))
    answer = Answer(context[first : data.draw(st.integers(first + 1, min(first + 9, len(context))))], first)
    encoded = encode_questions([Question(ASKED, context, (answer,))], reader)
    windows, covered = reader.windows(ASKED, context), 0
    for row, window in zip(encoded.rows, windows):
        encoding = window["encoding"]
        assert row["input_ids"] == encoding.ids
        start, end = row["start_positions"], row["end_positions"]
        if (start, end) == (0, 0):
            assert encoding.ids[0] == reader.pipe.tokenizer.cls_token_id
            continue
        covered += 1
        assert {encoding.sequence_ids[index] for index in (start, end)} == {1}
        for index in (start, end):
            assert max(encoding.offsets[index][0], answer.start) < min(encoding.offsets[index][1], answer.end)
        for index in (start - 1, end + 1):
            if encoding.sequence_ids[index] == 1:
                low, high = encoding.offsets[index]
                assert high <= answer.start or low >= answer.end or low == high
    text = [index for window in windows for index, side in enumerate(window["encoding"].sequence_ids) if side == 1]
    assert len(text) == 0 or covered or encoded.lost == 1
    assert encoded.lost == (covered == 0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_only_windows_with_all_of_an_answer_have_a_label(side: str) -> None:
    """On either side of truncation: on the left, the first window is the end of the context."""
    reader, words = reader_of("wordlevel"), ["tower", "Eiffel", "1889"] * 30
    reader.pipe.tokenizer.truncation_side = side
    starts = [len(" ".join(words[:number])) + bool(number) for number in range(0, 84, 5)]
    context = " ".join(words)
    answers = [Answer(" ".join(context[start:].split()[:6]), start) for start in starts]
    encoded = encode_questions([Question(ASKED, context, (answer,)) for answer in answers], reader)
    assert encoded.lost == 0
    windows = [(answer, window) for answer in answers for window in reader.windows(ASKED, context)]
    labelled = 0
    for row, (answer, window) in zip(encoded.rows, windows, strict=True):
        if (places := (row["start_positions"], row["end_positions"])) != (0, 0):
            (start, _), (_, end) = (window["encoding"].offsets[place] for place in places)
            assert context[start:end] == answer.text
            labelled += 1
    assert len(answers) <= labelled < len(windows)


def test_an_answer_longer_than_the_overlap_can_be_in_no_window() -> None:
    reader, context = READERS["wordlevel"], " ".join(["tower"] * 100)
    questions = [Question(ASKED, context, (Answer(context, 0),)), Question(ASKED, "tower", (Answer("tower", 0),))]
    encoded = encode_questions(questions, reader)
    assert encoded.lost == 1
    assert set(encoded.rows["start_positions"][:-1]) == {0}


def test_a_question_without_room_is_refused() -> None:
    with fault("squad.json, data[3]: the question leaves no room for its context; shorten it, or raise --max_length"):
        encode_questions([Question("tower " * 60, "tower", where="squad.json, data[3]")], READERS["wordlevel"])
