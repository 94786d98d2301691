# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Windows of contexts and their labels: each answer is found where it is labelled, in any text, and padding is none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from text_samples import fault

from modeling_scratch import ScratchEncoderForQuestionAnswering, presets
from modeling_scratch.data.questions import Answer, Question
from modeling_scratch.tasks.answer_windows import AnswerMetrics, encode_questions
from modeling_scratch.tasks.answerer import record_settings
from modeling_scratch.tasks.reader import PIPELINE, Reader
from modeling_scratch.utils.errors import DataError
from tokenization import KINDS, special_token_ids

LENGTH = 40
WORDS = ("tower", "Eiffel", "1889", "naïve", "“crêpes”", "日本語", "🗼", "e\u0301", "\u200bx", "ﬁn", "İ", "3,50")
ASKED = "who built the tower?"
CORPUS = [f"{ASKED} {' '.join(WORDS[:8])}"] * 4
SURE = 30.0


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
    **{kind: reader_of(kind) for kind in ("bpe", "wordlevel", "words")},
}
TEXTS = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)),
    min_size=1, max_size=60,
)  # fmt: skip


def labelled(encoded: Any) -> list[np.ndarray]:
    """Logits of a model that is sure of the labels, padded as Trainer pads them."""
    longest = max(map(len, encoded.rows["input_ids"])) + 3
    sides = []
    for name in ("start_positions", "end_positions"):
        logits = np.full((len(encoded.rows), longest), -100.0, dtype=np.float32)
        for row, (ids, place) in enumerate(zip(encoded.rows["input_ids"], encoded.rows[name])):
            logits[row, : len(ids)] = 0.0
            logits[row, place] = SURE
        sides.append(logits)
    return sides


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck), derandomize=True)
@given(words=TEXTS, data=st.data())
def test_labels_cover_the_answer_in_any_text(kind: str, words: list[str], data: Any) -> None:
    """In each window with a label, the tokens cover the answer, and no further token; elsewhere, it is no answer."""
    reader, context = READERS[kind], f"x{' '.join(words)}y"
    first = data.draw(st.integers(0, len(context) - 1))
    answer = Answer(context[first : data.draw(st.integers(first + 1, min(first + 9, len(context))))], first)
    encoded = encode_questions([Question(ASKED, context, (answer,))], reader)
    windows, covered = encoded.parts[0], 0
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


@pytest.mark.parametrize("kind", READERS)
def test_every_answer_of_whole_words_is_found_where_it_is_labelled(kind: str) -> None:
    """From labels to text again, over all windows of a long context, in one padded batch of several questions."""
    reader, words = READERS[kind], [f"{WORDS[number % 8]}" for number in range(50)]
    context = " ".join(words)
    starts = [sum(len(word) + 1 for word in words[:number]) for number in range(len(words))]
    answers = [Answer(" ".join(words[number : number + 2]), starts[number]) for number in range(0, 49, 4)]
    questions = [Question(ASKED, context, (answer,)) for answer in answers]
    questions += [Question(ASKED, context), Question(ASKED, words[0], (Answer(words[0], 0),)), Question(ASKED, "x y")]
    encoded = encode_questions(questions, reader)
    assert len(encoded.rows) > 2 * len(answers)
    assert encoded.lost == 0
    found = AnswerMetrics(reader, questions, encoded.parts).answers(labelled(encoded))
    expected = [*(answer.text for answer in answers), "", words[0], ""]
    assert found[-3:] == expected[-3:]
    for one, right in zip(found, expected):
        assert one == right or kind == "words" or one.strip("“”") == right.strip("“”")


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
    windows = [(answer, window) for answer, each in zip(answers, encoded.parts) for window in each]
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


def test_nan_and_a_question_without_room_are_refused() -> None:
    reader = READERS["wordlevel"]
    questions = [Question(ASKED, "tower", (Answer("tower", 0),), where="squad.json, data[3]")]
    encoded = encode_questions(questions, reader)
    start, end = labelled(encoded)
    end[0, 1] = np.nan
    with pytest.raises(DataError, match="training has diverged"):
        AnswerMetrics(reader, questions, encoded.parts).answers((start, end))
    with fault("squad.json, data[3]: the question leaves no room for its context; shorten it, or raise --max_length"):
        encode_questions([questions[0]._replace(question="tower " * 60)], reader)
