# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Texts classified in files of any size, with the answers in the order of the input."""

import csv
import json
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import torch
import transformers
from torch import nn
from torch.ao.quantization import quantize_dynamic
from tqdm import tqdm
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding
from transformers.hf_argparser import HfArg

import modeling_scratch  # noqa: F401  its models become known to the Auto classes

from ..bridges.model_sources import check_folder
from ..data.columns import is_missing, read_lines, read_texts
from ..fast.text_classification import batches_by_length
from ..utils.errors import DataError
from ..utils.files import check_output, open_output

REDUCED = ("bfloat16", "int8")


def to_precision(model: Any, precision: str) -> Any:
    """The model with weights of this type, one of torch's or int8; it may be changed itself.

    Products of int8 round their inputs too, each by the range of its own; embeddings stay as they are. Raises
    `DataError` for a device without such products.
    """
    if precision != "int8":
        return model.to(getattr(torch, precision))
    if model.device.type != "cpu":
        raise DataError("--precision int8: is for CPUs; say --device cpu, or --precision bfloat16")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch advises another package for it
        return quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


# Texts are sorted by length within a chunk: enough of them to leave little padding, few enough for any memory.
CHUNK_TEXTS = 8_192
CHUNK_CHARACTERS = 2_000_000

Row = tuple[int, str]

option: Any = HfArg  # its own type is that of a field, not of the field's value


@dataclass
class PredictArguments:
    """What is classified, with what, and where the answers go."""

    model: str = option(help="A folder or a name on the Hub: a text classifier and its tokenizer.")
    input: str = option(default="-", help="csv, tsv, jsonl, parquet, or txt with a text a line; -: standard input.")
    output: str = option(default="-", help="The file to write, jsonl or csv; -: standard output.")
    format: Literal["jsonl", "csv"] | None = option(default=None, help="Of an output whose name does not tell; jsonl.")
    text_column: str | None = option(default=None, help="What holds the text; found by itself where only one can.")
    with_text: bool = option(default=False, help="Repeat the text in each answer.")
    overwrite: bool = option(default=False, help="Replace the output file.")
    batch_size: int = option(
        default=32,
        help="Texts at a time; on a CPU the tokens of so many of the longest, 2,048 at most, but a whole text.",
    )
    max_length: int | None = option(default=None, help="Tokens where a text is cut; the tokenizer's own if not given.")
    device: str | None = option(default=None, help="cpu, cuda, cuda:1, ...; an accelerator where there is one.")
    precision: Literal["float32", "bfloat16", "int8"] = option(
        default="float32", help="Fewer bits: on a CPU, worth it for large models."
    )
    trust_remote_code: bool = option(default=False, help="Run the code that a checkpoint brings along.")
    no_progress: bool = option(default=False, help="No progress bar; without a terminal there is none.")

    def __post_init__(self) -> None:
        output = Path(self.output)
        if self.format is None and self.output != "-" and output.suffix.lower() not in (".jsonl", ".csv"):
            raise DataError(f"--output {output}: name it .jsonl or .csv, or say which it is with --format")
        self.format = self.format or ("csv" if output.suffix.lower() == ".csv" else "jsonl")
        if self.batch_size < 1:
            raise DataError(f"--batch_size {self.batch_size}: has to be at least 1")
        check_output("--output", self.output, self.input, self.overwrite)


def predict(arguments: PredictArguments) -> None:
    """Answer every row of the input; raises `DataError` for what is wrong with it or with the model."""
    classifier = load_classifier(arguments)
    with open_output(arguments.output) as handle, tqdm(unit=" texts", disable=arguments.no_progress or None) as bar:
        write = answer_writer(handle, arguments)
        for chunk in in_chunks(read_input(arguments)):
            answers = classifier.classify([text for _, text in chunk], bar.update)
            for (row, text), (label, score) in zip(chunk, answers):
                write(row, label, score, text)
            handle.flush()
    if classifier.empty:
        print(f"rows without a text, so without label and score: {classifier.empty:,}", file=sys.stderr)
    if classifier.cut:
        print(f"texts longer than {classifier.limit} tokens, cut there: {classifier.cut:,}", file=sys.stderr)


def read_input(arguments: PredictArguments) -> Iterator[Row]:
    """Stream `(row, text)`, a missing text being ""; raises `DataError` or OSError for what cannot be read."""
    path = Path(arguments.input)
    if arguments.input != "-" and path.suffix.lower() != ".txt":
        yield from read_texts(path, arguments.text_column)
        return
    with sys.stdin.buffer if arguments.input == "-" else path.open("rb") as handle:
        for row, text in read_lines(handle, f"--input {arguments.input}"):
            yield row, "" if is_missing(text) else text


def in_chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """As many rows at a time as memory has room for, whether their texts are short or long."""
    chunk: list[Row] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        characters += len(row[1])
        if len(chunk) == CHUNK_TEXTS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


@dataclass
class Classifier:
    """Texts in, answers out; counts those that are empty, and those that are longer than `limit` tokens."""

    model: transformers.PreTrainedModel
    tokenizer: Any
    limit: int | None
    batch_size: int
    empty: int = 0
    cut: int = 0

    def classify(self, texts: list[str], progress: Callable[[int], object]) -> list[tuple]:
        """(label, score) of each text, (None, None) where there is none; batched by length, longest first."""
        answers: list[tuple] = [(None, None)] * len(texts)
        features = self._encode(texts)
        places = [place for place, text in enumerate(texts) if text and features[place]["input_ids"]]
        lengths = [len(features[place]["input_ids"]) for place in places]
        self.empty += len(texts) - len(places)
        progress(len(texts) - len(places))
        for chosen in batches_by_length(lengths, self.batch_size, self.model.device):
            batch = [places[number] for number in chosen]
            for place, answer in zip(batch, self._answer([features[place] for place in batch])):
                answers[place] = answer
            progress(len(batch))
        return answers

    def _encode(self, texts: list[str]) -> list[dict[str, list[int]]]:
        """What the model takes, for each text; cut at the limit, and counted where there is something to cut."""
        encoded = self.tokenizer(texts, truncation=self.limit is not None, max_length=self.limit, verbose=False)
        if encoded.encodings is not None:
            self.cut += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        elif self.limit is not None:  # a tokenizer written in Python does not tell
            self.cut += sum(len(ids) > self.limit for ids in self.tokenizer(texts, verbose=False)["input_ids"])
        return [dict(zip(encoded, values)) for values in zip(*encoded.values())]

    @torch.inference_mode()
    def _answer(self, features: list[dict[str, list[int]]]) -> list[tuple]:
        """Of one batch, its longest text first."""
        try:
            inputs = DataCollatorWithPadding(self.tokenizer)(features)
            logits = self.model(**{name: tensor.to(self.model.device) for name, tensor in inputs.items()}).logits
        except (RuntimeError, IndexError, ValueError) as error:
            size = f"{len(features)} texts of up to {len(features[0]['input_ids'])} tokens (--batch_size, --max_length)"
            raise DataError(f"the model fails on {size}: {textwrap.shorten(str(error), 240)}") from error
        if not logits.isfinite().all():
            raise DataError("the model answers NaN or infinity, so its weights are damaged; train it again")
        return to_answers(logits.float().cpu(), self.model.config)


def to_answers(logits: torch.Tensor, config: Any) -> list[tuple]:
    """(B, C) -> B pairs (label, score), as the head of this file describes them."""
    names = [config.id2label[label] for label in range(config.num_labels)]
    if config.problem_type == "multi_label_classification":
        return [(names, scores) for scores in logits.sigmoid().tolist()]
    if config.problem_type == "regression" or config.num_labels == 1:
        return [(names, numbers) if len(numbers) > 1 else (names[0], numbers[0]) for numbers in logits.tolist()]
    scores, labels = logits.softmax(-1).max(-1)
    return [(names[label], score) for label, score in zip(labels.tolist(), scores.tolist())]


def load_classifier(arguments: PredictArguments) -> Classifier:
    """Raises `DataError` for a checkpoint that cannot answer, or would answer at random."""
    name = arguments.model
    check_folder(name, "--model")
    trusts = arguments.trust_remote_code
    try:
        auto_class = AutoModelForSequenceClassification
        model, info = auto_class.from_pretrained(name, trust_remote_code=trusts, output_loading_info=True)
        if missing := sorted(info["missing_keys"]):
            raise DataError(f"this is no trained text classifier, it has no {', '.join(missing[:3])}")
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=trusts)
        if len(tokenizer) <= len(tokenizer.all_special_tokens):  # what some families make up where there is no file
            raise DataError("there is no tokenizer in it; save the one that it was trained with")
        model.to(arguments.device or torch.accelerator.current_accelerator(check_available=True) or "cpu").eval()
    except Exception as error:  # from files, network, configuration or code: the libraries' own are open-ended
        if any(Path(name).glob("checkpoint-*")) and not (Path(name) / "config.json").exists():
            raise DataError(
                f"--model {name}: its run is not finished; go on with it, or name a checkpoint-*"
            ) from error
        place = "" if Path(name).exists() else "there is no such folder, and as a name on the Hub: "
        raise DataError(f"--model {name}: {place}{textwrap.shorten(str(error), 240)}") from error
    model = to_precision(model, arguments.precision)
    limit = tokenizer.model_max_length if arguments.max_length is None else arguments.max_length
    if limit > 10**20:  # how tokenizers say that they know no limit
        limit = getattr(model.config, "max_position_embeddings", None)
    if limit is not None and limit <= (added := tokenizer.num_special_tokens_to_add()):
        raise DataError(f"--max_length {limit}: leaves no room for a text beside {added} special tokens")
    return Classifier(model, tokenizer, limit, arguments.batch_size)


def answer_writer(handle: TextIO, arguments: PredictArguments) -> Callable[..., object]:
    """A function of row, label, score and text: it writes a line of JSON, or a row of CSV in which a list is JSON."""
    columns = ["row", "label", "score", *(["text"] if arguments.with_text else [])]
    if arguments.format == "jsonl":
        return lambda *values: handle.write(json.dumps(dict(zip(columns, values)), ensure_ascii=False) + "\n")
    table = csv.writer(handle, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow(columns)
    return lambda *values: table.writerow(
        json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for _, value in zip(columns, values)
    )
