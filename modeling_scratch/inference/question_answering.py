# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Answer questions on contexts, as the pipeline does: windows of a context, batches of windows, and the best span."""

import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tqdm import tqdm
from transformers import AutoModelForQuestionAnswering, DataCollatorWithPadding, PreTrainedConfig

from ..bridges.model_sources import position_limit
from ..data.columns import is_missing, read_lines
from ..data.questions import Question, asked, file_rows
from ..data.rows import missing_column, parse_json
from ..data.tables import Row, delimiter_notes
from ..fast.text_classification import batches_by_length
from ..question_answering import QuestionAnsweringPipeline
from ..utils.errors import DataError
from ..utils.files import open_output
from .answers import ALL
from .arguments import PredictArguments, refuse
from .loading import load_head, set_length
from .pipeline_settings import recorded_settings
from .rows import check_input, in_chunks, row_writer, tell

TASK = "extractive-question-answering"
HEAD = "ForQuestionAnswering"
SETTINGS = {"max_answer_len": int, "handle_impossible_answer": bool}  # of the pipeline, which a configuration records
PARTS = "answer", "score", "start", "end"  # of an answer
Window = dict[str, Any]  # what the pipeline's preprocess yields, or its forward returns
Found = dict[str, Any]  # an answer of the pipeline


def settings_of(config: PreTrainedConfig) -> dict[str, Any]:
    """Return the recorded arguments that are valid."""
    found = recorded_settings(config, TASK)
    valid = {name: found[name] for name, kind in SETTINGS.items() if type(found.get(name)) is kind}
    return {name: value for name, value in valid.items() if name != "max_answer_len" or value > 0}


class Reader:
    """Finds answers with a model, a tokenizer, and the arguments of the pipeline in the model's configuration.

    Training, evaluation, prediction and the server use it, and so give the answers of
    `pipeline("extractive-question-answering", model, **settings_of(config))`. Raises `DataError` for a tokenizer
    without character offsets.
    """

    def __init__(
        self, model: Any, tokenizer: Any, device: Any = None, batch_size: int = 32, max_length: int | None = None
    ) -> None:
        """max_length: of a window, in tokens; by default that of the pipeline."""
        limit, most = tokenizer.model_max_length, position_limit(model.config)
        tokenizer.model_max_length = min(limit, most or limit)
        self.settings, self.batch_size = settings_of(model.config), batch_size
        self.length = {} if max_length is None else {"max_seq_len": max_length}
        place = model.device if device is None else device
        try:
            self.pipe = QuestionAnsweringPipeline(model=model, tokenizer=tokenizer, device=place, **self.settings)
        except ValueError as error:
            raise DataError(f"the tokenizer cannot be used: {error}") from error

    def windows(self, question: str, context: str) -> list[Window]:
        """Return the windows of a context, each after the question. Raises ValueError for a question too long."""
        return list(self.pipe.preprocess({"question": question, "context": context}, **self.length))

    def best(self, outputs: Sequence[Window], top_k: int = 1) -> list[Found]:
        """Return the best answers in the outputs for the windows of a context; none if it has no tokens."""
        outputs = [one for one in outputs if 1 in one["encoding"].sequence_ids]
        if not outputs:
            return []
        found = self.pipe.postprocess(outputs, top_k=top_k, **self.settings)
        return [found] if top_k == 1 else found

    def answer(self, asked: Sequence[Sequence[Window]], top_k: int = 1) -> list[list[Found]]:
        """Return the best answers to questions, of which each has windows. Windows of several share a batch."""
        windows = list(chain.from_iterable(asked))
        lengths = [len(window["encoding"].ids) for window in windows]
        outputs: dict[int, Window] = {}
        for batch in batches_by_length(lengths, self.batch_size, self.pipe.device):
            outputs |= zip(batch, self._read([windows[number] for number in batch]))
        every = iter([outputs[number] for number in range(len(windows))])
        return [self.best(list(islice(every, len(each))), top_k) for each in asked]

    def _read(self, windows: Sequence[Window]) -> Iterator[Window]:
        """Yield the logits of each window of a batch."""
        kept = [{name: window[name] for name in ("encoding", "context", "is_last")} for window in windows]
        features = [{name: window[name][0] for name in window.keys() - kept[0].keys()} for window in windows]
        batch = DataCollatorWithPadding(self.pipe.tokenizer)(features)
        outputs = self.pipe.forward({**batch, **kept[0]})
        for row, rest in enumerate(kept):
            start, end = (outputs[name][row : row + 1] for name in ("start", "end"))
            size = len(rest["encoding"].ids)
            real = slice(-size, None) if self.pipe.tokenizer.padding_side == "left" else slice(size)
            if not (start[:, real].isfinite().all() and end[:, real].isfinite().all()):
                raise DataError("the model returns NaN or infinity: its weights are damaged; train it again")
            yield {"start": start, "end": end, **rest}


# Files of questions


def answer_file(arguments: PredictArguments) -> None:
    """Answer every question of the input. Raises `DataError` for an invalid input or model."""
    top_k = check_options(arguments)
    check_input(arguments, read_questions)
    model, tokenizer = load_head(arguments, AutoModelForQuestionAnswering, "not trained to answer questions")
    set_length(arguments, tokenizer, model.config)
    print("".join(f"{note}\n" for note in notes_on(arguments)), end="", file=sys.stderr)
    reader, empty = Reader(model, tokenizer, None, arguments.batch_size, arguments.max_length), 0
    with open_output(arguments.output) as handle, tqdm(unit=" questions", disable=arguments.no_progress or None) as bar:
        write = row_writer(handle, arguments, answer_columns(arguments)[1:])
        for chunk in in_chunks(read_questions(arguments)):
            for (row, _, question, kept), found in zip(chunk, answer_all(reader, [each[2] for each in chunk], top_k)):
                best = found[0] if found else dict.fromkeys(PARTS)
                fields = {"id": question.id, "question": question.question, "context": question.context}
                write({**fields, **best, "top": found, **kept, "row": row})
                empty += not found
            bar.update(len(chunk))
            handle.flush()
    tell({"contexts without tokens, which get no answer": empty})


def notes_on(arguments: PredictArguments) -> list[str]:
    """Return what is said of a file: the delimiter that was found."""
    return [] if arguments.input == "-" else delimiter_notes([Path(arguments.input)], arguments.form)


def check_options(arguments: PredictArguments) -> int:
    """Return the number of answers. Raises `DataError` for options of classifiers."""
    given = {"--threshold": arguments.threshold is not None, "--explain": arguments.explain}
    given |= {"--text_column": bool(arguments.text_column), "--top_k all": arguments.top_k == ALL}
    refuse(given, "the model answers questions")
    arguments.check_answer(answer_columns(arguments))
    return int(arguments.top_k or 1)


def answer_columns(arguments: PredictArguments) -> list[str]:
    texts = ["question", "context"] if arguments.with_text else []
    return ["row", "id", *PARTS, *texts, *(["top"] if arguments.top_k else [])]


def read_questions(arguments: PredictArguments) -> Iterator[tuple[int, str, Question, Row]]:
    """Stream (row, its texts, question, kept columns). Raises `DataError` that names the entry and the field."""
    path, kept = Path(arguments.input), arguments.kept
    rows = _typed_rows(arguments) if arguments.input == "-" else file_rows(path, arguments.form)
    for number, where, values in rows:
        question = asked(values, where)
        for name in kept.values():
            if name not in values:
                raise missing_column(name, values, where)
        yield number, question.pair, question, {new: values[name] for new, name in kept.items()}


def _typed_rows(arguments: PredictArguments) -> Iterator[tuple[int, str, Row]]:
    """Stream the lines of standard input, each an object in JSON."""
    for number, line in read_lines(sys.stdin.buffer, "--input -", arguments.form):
        where = f"--input -, line {number}"
        if is_missing(line):
            continue
        try:
            values = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: invalid JSON: {error}; expected one object per line") from error
        if not isinstance(values, dict):
            raise DataError(f'{where}: expected an object with "question" and "context"')
        yield number, where, values


def answer_all(reader: Reader, questions: Sequence[Question], top_k: int) -> list[list[Found]]:
    """Return the best answers to each question. Raises `DataError` that names the entry of a question too long."""
    windows = []
    for each in questions:
        try:
            windows.append(reader.windows(each.question, each.context))
        except ValueError as error:
            raise DataError(f"{each.where}: {error}") from error
    return reader.answer(windows, top_k)
