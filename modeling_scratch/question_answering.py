# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The pipeline of extractive question answering, which transformers 5 removed."""

from collections.abc import Iterator
from typing import Any

import torch
from transformers.pipelines.base import ChunkPipeline

# The arguments of a call, and the least value of each.
AT_LEAST = {
    "max_seq_len": 1,
    "doc_stride": 0,
    "max_question_len": 1,
    "top_k": 1,
    "max_answer_len": 1,
    "handle_impossible_answer": False,
    "align_to_words": False,
}
WINDOWS = "max_seq_len", "doc_stride", "max_question_len"


class QuestionAnsweringPipeline(ChunkPipeline):
    """pipe(question=..., context=...) -> {"score", "start", "end", "answer"}, the answer a piece of the context.

    start and end count characters: context[start:end] is the answer. A list of questions or contexts, or of
    dictionaries with both, gives a list. top_k above 1 gives a list of the best answers of each. A context that is
    longer than max_seq_len tokens is read in windows that overlap by doc_stride tokens.
    """

    _load_tokenizer = True  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not getattr(self.tokenizer, "is_fast", False):
            raise ValueError(
                f"{type(self.tokenizer).__name__} has no character offsets; use a fast tokenizer."
            )

    def __call__(
        self, inputs: Any = None, context: Any = None, *, question: Any = None, **kwargs: Any
    ) -> Any:
        """inputs: a dictionary with question and context, a list or generator of these; or pass both by name."""
        if inputs is None or context is not None:
            inputs = _pair_up(inputs if question is None else question, context)
        if isinstance(inputs, list) and not inputs:
            return []
        return super().__call__(inputs, **kwargs)

    def _sanitize_parameters(
        self, **arguments: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if "topk" in arguments:  # its name in transformers 4
            arguments["top_k"] = arguments.pop("topk")
        given = {name: value for name, value in arguments.items() if value is not None}
        if unknown := given.keys() - AT_LEAST.keys():
            raise ValueError(
                f"{', '.join(sorted(unknown))}: not an argument of question answering."
            )
        for name, value in given.items():
            if value < AT_LEAST[name]:
                raise ValueError(f"{name}={value}: has to be at least {AT_LEAST[name]}.")
        windows = {name: given.pop(name) for name in WINDOWS if name in given}
        return windows, {}, given

    def preprocess(
        self,
        inputs: Any,
        max_seq_len: int = 384,
        doc_stride: int | None = None,
        max_question_len: int = 64,
    ) -> Iterator[dict[str, Any]]:
        """Yield the windows of the context one by one, each after the question."""
        question, context = _question_and_context(inputs)
        has_table = getattr(self.model.config, "position_type", None) == "learned"
        limit = self.model.config.max_position_embeddings if has_table else max_seq_len
        max_seq_len = min(max_seq_len, self.tokenizer.model_max_length, limit)
        cut = self.tokenizer(
            question, add_special_tokens=False, truncation=True, max_length=max_question_len
        ).encodings[0]
        if cut.overflowing:
            question = question[min(cut.offsets)[0] : max(end for _, end in cut.offsets)]
        length = len(self.tokenizer(question, add_special_tokens=False)["input_ids"])
        room = max_seq_len - length - self.tokenizer.num_special_tokens_to_add(pair=True)
        doc_stride = max(0, min(128, room // 2)) if doc_stride is None else doc_stride
        if doc_stride >= room:
            raise ValueError(
                f"max_seq_len={max_seq_len}: the question leaves {max(room, 0)} tokens for the context, and windows "
                f"overlap by doc_stride={doc_stride}; raise the one or lower the other (or max_question_len)."
            )
        encoded = self.tokenizer(
            question,
            context,
            truncation="only_second",
            max_length=max_seq_len,
            stride=doc_stride,
            return_overflowing_tokens=True,
        )
        for number, encoding in enumerate(encoded.encodings):
            names = [name for name in self.tokenizer.model_input_names if name in encoded]
            tensors = {name: torch.tensor([encoded[name][number]]) for name in names}
            is_last = number == len(encoded.encodings) - 1
            yield {**tensors, "encoding": encoding, "context": context, "is_last": is_last}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        meta = {name: model_inputs.pop(name) for name in ("encoding", "context", "is_last")}
        outputs = self.model(**model_inputs)
        return {
            "start": outputs.start_logits.float(),
            "end": outputs.end_logits.float(),
            **meta,
        }

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
            spans, null = self._spans(window, max_answer_len)
            no_answer = min(no_answer, null)
            # Of this window; different token spans may align to the same words.
            best: dict[tuple[int, int], float] = {}
            for first, last, score in spans:
                best.setdefault(
                    _characters(window["encoding"], first, last, context, align_to_words), score
                )
                if len(best) == top_k:
                    break
            found |= {place: max(score, found.get(place, 0.0)) for place, score in best.items()}
        if handle_impossible_answer:
            found[0, 0] = no_answer
        if not found:
            raise ValueError(
                f"context: {context[:40]!r} gives no tokens that could be an answer."
            )
        ranked = sorted(found.items(), key=lambda item: -item[1])[:top_k]
        answers = [
            {"score": score, "start": start, "end": end, "answer": context[start:end]}
            for (start, end), score in ranked
        ]
        return answers[0] if top_k == 1 else answers

    def _spans(
        self, window: dict[str, Any], longest: int
    ) -> tuple[Iterator[tuple[int, int, float]], float]:
        """(first token, last token, probability) of the spans in a window, best first; the probability of no answer."""
        encoding, context = window["encoding"], window["context"]
        size, left = len(encoding.ids), self.tokenizer.padding_side == "left"
        in_context = torch.tensor([sequence == 1 for sequence in encoding.sequence_ids])
        is_text = in_context & torch.tensor(
            [bool(context[slice(*place)].strip()) for place in encoding.offsets]
        )
        is_null = (
            torch.tensor([token == self.tokenizer.cls_token_id for token in encoding.ids])
            & ~in_context
        )
        tokens = slice(-size, None) if left else slice(size)
        hidden = ~(in_context | is_null)
        start, end = (
            window[name][0, tokens].masked_fill(hidden, float("-inf")).log_softmax(-1)
            for name in ("start", "end")
        )  # (tokens,) each
        null = float((start + end)[is_null].exp().sum())
        # Excludes spans of white space, ends before starts, and spans that are too long. Impossible spans are left
        # out rather than scored 0, since possible ones may round to 0 as well.
        texts = is_text.cumsum(0)
        possible = (
            in_context[:, None]
            & in_context
            & (texts - texts[:, None] + is_text[:, None].int() > 0)
        )  # (tokens, tokens), first by last
        firsts, lasts = possible.triu().tril(longest - 1).nonzero(as_tuple=True)
        scores, order = (start[firsts] + end[lasts]).sort(descending=True, stable=True)
        return zip(firsts[order].tolist(), lasts[order].tolist(), scores.exp().tolist()), null


def _pair_up(questions: Any, contexts: Any) -> Any:
    """Pair questions with contexts, as dictionaries; a single one is paired with all of the others."""
    if questions is None or contexts is None:
        raise ValueError("Pass question and context, or dictionaries that contain both.")
    if isinstance(questions, str) and isinstance(contexts, str):
        return {"question": questions, "context": contexts}
    if isinstance(questions, str):
        return [{"question": questions, "context": context} for context in contexts]
    if isinstance(contexts, str):
        return [{"question": question, "context": contexts} for question in questions]
    questions, contexts = list(questions), list(contexts)
    if len(questions) != len(contexts):
        raise ValueError(
            f"{len(questions)} questions and {len(contexts)} contexts: their numbers have to be equal."
        )
    return [
        {"question": each, "context": context} for each, context in zip(questions, contexts)
    ]


def _question_and_context(example: Any) -> tuple[str, str]:
    texts = []
    for name in ("question", "context"):
        text = example.get(name) if isinstance(example, dict) else getattr(example, name, None)
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"{name}: {str(text)[:40]!r} is not a text; both a question and a context are required."
            )
        texts.append(text)
    return texts[0], texts[1]


def _characters(
    encoding: Any, first: int, last: int, context: str, align_to_words: bool
) -> tuple[int, int]:
    """The characters of the context that tokens first to last of a window cover, without surrounding white space."""
    start, end = encoding.offsets[first][0], encoding.offsets[last][1]
    if align_to_words:
        start, end = _word(encoding, first, context)[0], _word(encoding, last, context)[1]
    text = context[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())


def _word(encoding: Any, token: int, context: str) -> tuple[int, int]:
    """The characters of the word that a token belongs to: the tokenizer's word, or else adjacent letters and digits."""
    number = encoding.token_to_word(token)
    place = None if number is None else encoding.word_to_chars(number, 1)
    if place is not None and len(context[slice(*place)].split()) == 1:
        return place
    # The tokenizer does not split words, or treats the text as one word.
    start, end = encoding.offsets[token]
    while start > 0 and context[start - 1 : start + 1].isalnum():
        start -= 1
    while end < len(context) and context[end - 1 : end + 1].isalnum():
        end += 1
    return start, end


# Task: the pipeline, and the Auto class whose models it serves.
ENCODER_PIPELINES = {
    "extractive-question-answering": (
        QuestionAnsweringPipeline,
        "AutoModelForQuestionAnswering",
    )
}

__all__ = ["QuestionAnsweringPipeline"]
