# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The pipeline that finds answers in a context, which transformers 5 left out, for scratch models and native ones."""

from collections.abc import Iterator
from typing import Any

import torch
from transformers.pipelines.base import ChunkPipeline


class QuestionAnsweringPipeline(ChunkPipeline):
    """pipe(question=..., context=...) -> {"score", "start", "end", "answer"}, the answer a piece of the context.

    start and end count characters: context[start:end] is the answer. A list of questions or contexts, or of
    dictionaries with both, gives a list. top_k above 1 gives a list of the best answers of each. A context that is
    longer than max_seq_len tokens is read in windows that overlap by doc_stride tokens.
    """

    _load_tokenizer = True  # type: ignore[assignment]

    def __call__(self, inputs: Any = None, *, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        if inputs is None:
            inputs = _pair_up(question, context)
        return super().__call__(inputs, **kwargs)

    def _sanitize_parameters(
        self,
        top_k: int | None = None,
        max_answer_len: int | None = None,
        handle_impossible_answer: bool | None = None,
        align_to_words: bool | None = None,
        **windows: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        top_k = windows.pop("topk", top_k)
        unknown = windows.keys() - {"doc_stride", "max_seq_len", "max_question_len"}
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))}: no argument of question answering.")
        for name, value in {"top_k": top_k, "max_answer_len": max_answer_len, **windows}.items():
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: has to be at least 1.")
        answers = {
            "top_k": top_k, "max_answer_len": max_answer_len, "handle_impossible_answer": handle_impossible_answer,
            "align_to_words": align_to_words,
        }  # fmt: skip
        return windows, {}, {name: value for name, value in answers.items() if value is not None}

    def preprocess(
        self, inputs: Any, max_seq_len: int = 384, doc_stride: int | None = None, max_question_len: int = 64
    ) -> Iterator[dict[str, Any]]:
        """One window of the context after the other, each behind the question."""
        question, context = _question_and_context(inputs)
        max_seq_len = min(max_seq_len, self.tokenizer.model_max_length)
        short = self.tokenizer(question, truncation=True, max_length=max_question_len, add_special_tokens=False)
        room = max_seq_len - len(short["input_ids"]) - self.tokenizer.num_special_tokens_to_add(pair=True)
        doc_stride = min(128, room // 2) if doc_stride is None else doc_stride
        if doc_stride >= room:
            raise ValueError(
                f"max_seq_len={max_seq_len}: the question leaves {max(room, 0)} tokens for the context, and windows "
                f"overlap by doc_stride={doc_stride}; raise the one or lower the other (or max_question_len)."
            )
        ends = [end for _, end in short.encodings[0].offsets]
        encoded = self.tokenizer(
            question[: max(ends, default=0)], context, truncation="only_second", max_length=max_seq_len,
            stride=doc_stride, return_overflowing_tokens=True,
        )  # fmt: skip
        for number, encoding in enumerate(encoded.encodings):
            names = [name for name in self.tokenizer.model_input_names if name in encoded]
            tensors = {name: torch.tensor([encoded[name][number]]) for name in names}
            is_last = number == len(encoded.encodings) - 1
            yield {**tensors, "encoding": encoding, "context": context, "is_last": is_last}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        meta = {name: model_inputs.pop(name) for name in ("encoding", "context", "is_last")}
        outputs = self.model(**model_inputs)
        return {"start": outputs.start_logits.float(), "end": outputs.end_logits.float(), **meta}

    def postprocess(
        self,
        model_outputs: list[dict[str, Any]],
        top_k: int = 1,
        max_answer_len: int = 15,
        handle_impossible_answer: bool = False,
        align_to_words: bool = True,
    ) -> Any:
        context = model_outputs[0]["context"]
        found: dict[tuple[int, int], float] = {}
        no_answer = 1.0
        for window in model_outputs:
            spans, null = self._best_spans(window, top_k, max_answer_len)
            no_answer = min(no_answer, null)
            for first, last, score in spans:
                place = _characters(window["encoding"], first, last, context, align_to_words)
                found[place] = max(score, found.get(place, 0.0))
        if handle_impossible_answer:
            found[0, 0] = no_answer
        best = sorted(found.items(), key=lambda item: -item[1])[:top_k]
        answers = [
            {"score": score, "start": start, "end": end, "answer": context[start:end]} for (start, end), score in best
        ]
        return answers[0] if top_k == 1 else answers

    def _best_spans(
        self, window: dict[str, Any], top_k: int, longest: int
    ) -> tuple[list[tuple[int, int, float]], float]:
        """The best (first token, last token, probability) in the context of a window, and that of no answer."""
        encoding = window["encoding"]
        size, left = len(encoding.ids), self.tokenizer.padding_side == "left"
        in_context = torch.tensor([sequence == 1 for sequence in encoding.sequence_ids])
        is_null = torch.tensor(encoding.ids) == (-1 if (cls := self.tokenizer.cls_token_id) is None else cls)
        logits = [window[name][0, -size:] if left else window[name][0, :size] for name in ("start", "end")]
        start, end = (x.masked_fill(~(in_context | is_null), float("-inf")).softmax(-1) for x in logits)
        null = float((start * end)[is_null].sum())
        joint = (start * in_context)[:, None] * (end * in_context)[None]
        joint = joint.triu().tril(longest - 1).flatten()  # an end before its start, or too far from it
        scores, places = joint.topk(min(top_k, int(in_context.sum())))
        return [(place // size, place % size, score) for place, score in zip(places.tolist(), scores.tolist())], null


def _pair_up(questions: Any, contexts: Any) -> Any:
    """Questions and contexts as dictionaries of one each; a single one goes with all of the others."""
    if questions is None or contexts is None:
        raise ValueError("Give question and context, or dictionaries that hold both.")
    if isinstance(questions, str) and isinstance(contexts, str):
        return {"question": questions, "context": contexts}
    size = max(len(texts) for texts in (questions, contexts) if not isinstance(texts, str))
    columns = [[texts] * size if isinstance(texts, str) else list(texts) for texts in (questions, contexts)]
    if len(columns[0]) != len(columns[1]):
        raise ValueError(f"{len(columns[0])} questions and {len(columns[1])} contexts: give as many of each.")
    return [{"question": question, "context": context} for question, context in zip(*columns)]


def _question_and_context(example: Any) -> tuple[str, str]:
    texts = []
    for name in ("question", "context"):
        text = example.get(name) if isinstance(example, dict) else getattr(example, name, None)
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name}: {str(text)[:40]!r} is no text; both a question and a context are needed.")
        texts.append(text)
    return texts[0], texts[1]


def _characters(encoding: Any, first: int, last: int, context: str, align_to_words: bool) -> tuple[int, int]:
    """Tokens first to last of a window as a place in the context, white space at its ends left out."""
    start, end = encoding.offsets[first][0], encoding.offsets[last][1]
    words = encoding.token_to_word(first), encoding.token_to_word(last)
    if align_to_words and None not in words:
        start = encoding.word_to_chars(words[0], 1)[0]
        end = encoding.word_to_chars(words[1], 1)[1]
    text = context[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())


# Task: the pipeline, and the Auto class whose models it serves.
ENCODER_PIPELINES = {"extractive-question-answering": (QuestionAnsweringPipeline, "AutoModelForQuestionAnswering")}

__all__ = ["QuestionAnsweringPipeline"]
