# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Classify the texts of files of any size, in input order."""

import sys
import textwrap
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

import torch
import transformers
from torch import nn
from torch.ao.quantization import quantize_dynamic
from tqdm import tqdm
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
)

import modeling_scratch  # noqa: F401  registers its models with the Auto classes

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import (
    ALLOW_SPECIAL_TOKENS,
    ask_for_mask,
    check_folder,
    check_loaded,
    is_linear,
    read_special_tokens,
)
from ..data.columns import KeptText, find_text_columns, is_missing, read_kept_texts, read_lines
from ..data.rows import READERS
from ..data.tables import DELIMITER_HELP, ENCODING_HELP, SHEET_HELP, Row, TableForm, delimiter_notes
from ..data.text_files import format_of, open_bytes, unknown_format
from ..data.text_pairs import (
    TEXT_COLUMN_HELP,
    TextColumns,
    as_fields,
    as_recorded,
    check_single,
    column_names,
    text_lists,
    trained_columns,
)
from ..fast.text_classification import batches_by_length
from ..utils.command_line import option
from ..utils.errors import DataError
from ..utils.files import MAX_FILE_SIZE, MAX_FILE_SIZE_HELP, check_inputs, check_output, open_output
from .actions import TAG, action_of
from .answers import ALL, MULTI_LABEL, PLAIN, Choice, csv_writer, gives_numbers, json_writer, names_of, to_answers
from .explanations import MOST_WORDS, contributions, has_more_words, with_and_without
from .linear_models import LinearClassifier, load_linear

AnyRow = TypeVar("AnyRow", bound=tuple[Any, ...])
REDUCED = ("bfloat16", "int8")


def to_precision(model: Any, precision: str) -> Any:
    """Convert the model's weights to a torch dtype or int8, possibly in place.

    int8 uses dynamic quantisation of the linear layers of the base model, including their inputs. The head reads one
    vector per text, and the columns of a linear part in it are far larger than the others. Raises `DataError` for int8
    on a device other than a CPU.
    """
    if precision != "int8":
        return model.to(getattr(torch, precision))
    if model.device.type != "cpu":
        raise DataError("--precision int8 is only supported on CPUs; use --device cpu or --precision bfloat16")
    inside = set(model.base_model.modules())
    names = {name for name, layer in model.named_modules() if isinstance(layer, nn.Linear) and layer in inside}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's deprecation notice for another package
        return quantize_dynamic(model, names, dtype=torch.qint8)


def check_is_free(name: str, new: str, taken: Collection[str]) -> None:
    """Raise `DataError` for a column to keep whose new name the output has already."""
    if new in taken:
        raise DataError(f"--keep_columns {name}: the output has a column {new!r}; name yours {name}=my_{new}")


# Texts are sorted by length within a chunk. Its size is a compromise between padding and memory.
CHUNK_TEXTS = 8_192
CHUNK_CHARACTERS = 2_000_000


@dataclass
class PredictArguments:
    """The model, input and output of a prediction run."""

    model: str = option(
        help="A text classifier, a tagger, or a model that answers questions: a folder or a name on the Hub."
    )
    input: str = option(
        default="-",
        help="A csv, tsv, jsonl, json, parquet or xlsx file, or txt with one text per line; -: standard input.",
    )
    max_file_size: float = option(default=MAX_FILE_SIZE, help=MAX_FILE_SIZE_HELP)
    output: str = option(default="-", help="The output file, jsonl or csv; -: standard output.")
    format: Literal["jsonl", "csv"] | None = option(
        default=None, help="The output format; inferred from the file name, else jsonl."
    )
    delimiter: str | None = option(default=None, help=DELIMITER_HELP)
    sheet: str | None = option(default=None, help=SHEET_HELP)
    encoding: str | None = option(default=None, help=ENCODING_HELP)
    text_column: TextColumns = field(default=None, metadata={"help": TEXT_COLUMN_HELP})
    keep_columns: list[str] | None = field(
        default=None,
        metadata={"help": "Columns of the table to copy to the output: NAME, or NAME=NEW to give one another name."},
    )
    with_text: bool = option(default=False, help="Include the text in each output row.")
    top_k: str | None = option(
        default=None, help="Add this many of the most likely classes with their probabilities; all: every class."
    )
    threshold: float | None = option(
        default=None, help="The lowest probability of a label; below, a text has none. By default, all have one."
    )
    explain: bool = option(
        default=False,
        help=f"Add how much the first {MOST_WORDS} words of each text contribute to its answer; a pass for each word.",
    )
    overwrite: bool = option(default=False, help="Replace the output file.")
    batch_size: int = option(
        default=32,
        help="Texts per batch; on a CPU, batches are further limited to 2,048 tokens, but hold at least one text.",
    )
    max_length: int | None = option(default=None, help="The maximum number of tokens; the tokenizer's by default.")
    device: str | None = option(default=None, help="cpu, cuda, cuda:1, ...; by default an available accelerator.")
    precision: Literal["float32", "bfloat16", "int8"] = option(
        default="float32", help="The precision of the weights; on a CPU, lower precision pays off for large models."
    )
    allow_special_tokens: bool = option(default=False, help=ALLOW_SPECIAL_TOKENS)
    trust_remote_code: bool = option(default=False, help="Allow the checkpoint's own code to run.")
    no_progress: bool = option(default=False, help="Disable the progress bar, which is shown only on a terminal.")

    def __post_init__(self) -> None:
        output = Path(self.output)
        if self.format is None and self.output != "-" and output.suffix.lower() not in (".jsonl", ".csv"):
            raise DataError(f"--output {output}: unknown format; use the suffix .jsonl or .csv, or set --format")
        self.format = self.format or ("csv" if output.suffix.lower() == ".csv" else "jsonl")
        self.choice = Choice(self.top_k, self.threshold)
        if self.batch_size < 1:
            raise DataError(f"--batch_size {self.batch_size}: must be at least 1")
        check_inputs([self.input], self.max_file_size)
        self.text_column = as_recorded(self.text_column)
        if (names := column_names(self.text_column)) and not self.is_table:
            raise DataError(f"--text_column {' '.join(names)}: requires a table ({', '.join(READERS)})")
        self._check_pairs()
        self.form = TableForm(self.delimiter, self.sheet, self.encoding)
        self._check_kept()
        check_output("--output", self.output, self.input, self.overwrite)

    def _check_pairs(self) -> None:
        if self.explain and self.has_pairs:
            raise DataError("--explain: leaves out words of one text, and the texts are pairs (--text_column)")

    def name_columns(self) -> None:
        """Name the text columns of a table if nobody has: those that the model was trained on, or the one of texts.

        Print them, and the delimiter. Raises `DataError` for a file of another format, or without such a column.
        """
        path = Path(self.input)
        if not self.is_table:
            return
        if path.is_file() and format_of(path) not in READERS:
            raise unknown_format(path, [".txt", *READERS])
        notes = delimiter_notes([path], self.form)
        if not self.text_column:
            names = find_text_columns(path, self.form, trained_columns(self.model))
            self.text_column = as_recorded(list(names))
            self._check_pairs()
            notes.append(f"text column{'s' * (len(names) > 1)}: {' and '.join(map(repr, names))}")
        print("".join(f"{note}\n" for note in notes), end="", file=sys.stderr)

    def check_model(self, config: Any) -> None:
        """Raise `DataError` if the model cannot give what the arguments ask for."""
        self.choice.check(config)
        if self.explain and (gives_numbers(config) or config.problem_type == MULTI_LABEL):
            raise DataError("--explain: the model does not choose one of several labels")

    def _check_kept(self) -> None:
        taken = list(self.answer_columns)
        for given in self.keep_columns or ():
            if not self.is_table:
                raise DataError(f"--keep_columns {given}: requires a table ({', '.join(READERS)})")
            name, new = _renamed(given)
            if not (name and new):
                raise DataError(f"--keep_columns {given}: write NAME=NEW, with the name of a column and its new name")
            check_is_free(name, new, taken)
            taken.append(new)

    @property
    def kept(self) -> dict[str, str]:
        """The columns to copy, by their names in the output."""
        return {new: name for name, new in map(_renamed, self.keep_columns or ())}

    @property
    def has_pairs(self) -> bool:
        return len(column_names(self.text_column)) == 2

    @property
    def answer_columns(self) -> list[str]:
        optional = {
            "text": self.with_text,
            "text_pair": self.with_text and self.has_pairs,
            "words": self.explain,
            "top": self.top_k,
        }
        return ["row", "label", "score", *(name for name, is_given in optional.items() if is_given)]

    @property
    def is_table(self) -> bool:
        return self.input != "-" and format_of(Path(self.input)) != ".txt"


def _renamed(given: str) -> tuple[str, str]:
    """Return the name of a column and its name in the output: "name" or "name=new"."""
    name, equals, new = given.rpartition("=")
    return (name, new) if equals else (given, given)


def predict(arguments: PredictArguments) -> None:
    """Classify every row of the input. Raises `DataError` for an invalid input or model."""
    arguments.name_columns()
    if not arguments.has_pairs:
        check_single(arguments.model, "name the columns of both in a table: --text_column premise hypothesis")
    check_input(arguments)
    classifier, unsure, long = load_any(arguments), 0, 0
    with open_output(arguments.output) as handle, tqdm(unit=" texts", disable=arguments.no_progress or None) as bar:
        write = answer_writer(handle, arguments, names_of(classifier.model.config))
        for chunk in in_chunks(read_input(arguments)):
            texts = [text for _, text, _ in chunk]
            answers = classifier.classify(texts, uncounted if arguments.explain else bar.update)
            words = explain(classifier, texts, bar.update) if arguments.explain else [None] * len(texts)
            for (row, text, kept), (label, score, *top), each in zip(chunk, answers, words):
                answer = {"label": label, "score": score, "words": each, "top": top[0] if top else None}
                write({**answer, "text_pair": "", **as_fields(text), **kept, "row": row})
                unsure += label in (None, []) and score is not None
                long += arguments.explain and has_more_words(text)
            handle.flush()
    counts = {
        "texts without a label, as none reaches --threshold": unsure,
        f"texts of which only the first {MOST_WORDS} words are explained": long,
        "rows without text, output without label and score": classifier.empty,
        f"texts truncated to {classifier.limit} tokens": classifier.cut,
        "texts of which at least half the tokens are unknown to the model": classifier.unknown,
    }
    tell(counts)


def tell(counts: Mapping[str, int]) -> None:
    """Print the counts that are not 0 on standard error."""
    for what, count in counts.items():
        if count:
            print(f"{what}: {count:,}", file=sys.stderr)


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raise `DataError` for the first option that is given."""
    if name := next((name for name, given in options.items() if given), None):
        raise DataError(f"{name}: {why}; leave it out")


def check_input(arguments: PredictArguments) -> None:
    """Read a file to its end: a row that cannot be read must not cost hours of predictions.

    Raises `DataError` or OSError, as `read_input` does.
    """
    if Path(arguments.input).is_file():
        deque(read_input(arguments), maxlen=0)


def read_input(arguments: PredictArguments) -> Iterator[KeptText]:
    """Stream `(row, text, kept columns)`; a missing text is "". Raises `DataError` or OSError for unreadable input."""
    path = Path(arguments.input)
    if arguments.is_table:
        yield from read_kept_texts(path, arguments.text_column, arguments.kept, arguments.form)
        return
    with sys.stdin.buffer if arguments.input == "-" else open_bytes(path) as handle:
        for row, text in read_lines(handle, f"--input {arguments.input}", arguments.form):
            yield row, "" if is_missing(text) else text, {}


def in_chunks(rows: Iterable[AnyRow]) -> Iterator[list[AnyRow]]:
    """Yield chunks of rows (number, text, ...), limited in their number and their total characters."""
    chunk: list[AnyRow] = []
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
    """Classifies texts; counts empty texts, those truncated to `limit` tokens, and those mostly of unknown tokens."""

    model: transformers.PreTrainedModel
    tokenizer: Any
    limit: int | None
    batch_size: int
    choice: Choice = PLAIN
    empty: int = 0
    cut: int = 0
    unknown: int = 0

    def classify(self, texts: list[str], progress: Callable[[int], object]) -> list[tuple]:
        """Return what `to_answers` does for each text, None for empty ones. Batched by length, longest first."""
        answers: list[tuple] = [(None,) * (2 if self.choice.top_k is None else 3)] * len(texts)
        features = self._encode(texts)
        indices = [index for index, text in enumerate(texts) if not is_missing(text) and features[index]["input_ids"]]
        lengths = [len(features[index]["input_ids"]) for index in indices]
        self.empty += len(texts) - len(indices)
        progress(len(texts) - len(indices))
        for chosen in batches_by_length(lengths, self.batch_size, self.model.device):
            batch = [indices[number] for number in chosen]
            for index, answer in zip(batch, self._answer([features[index] for index in batch])):
                answers[index] = answer
            progress(len(batch))
        return answers

    def _encode(self, texts: list[str]) -> list[dict[str, list[int]]]:
        """Tokenise the texts, truncated to the limit, and count truncations."""
        lists = text_lists(texts)
        encoded = self.tokenizer(*lists, truncation=self.limit is not None, max_length=self.limit, verbose=False)
        if encoded.encodings is not None:
            self.cut += sum(bool(encoding.overflowing) for encoding in encoded.encodings)
        elif self.limit is not None:  # slow tokenizers do not report truncation
            self.cut += sum(len(ids) > self.limit for ids in self.tokenizer(*lists, verbose=False)["input_ids"])
        self.unknown += sum(map(self._is_unknown, encoded["input_ids"]))
        return [dict(zip(encoded, values)) for values in zip(*encoded.values())]

    def _is_unknown(self, ids: list[int]) -> bool:
        """Return whether at least half of the tokens, special ones aside, are the unknown token."""
        unknown = ids.count(self.tokenizer.unk_token_id)
        others = sum(id not in self.tokenizer.all_special_ids for id in ids) if unknown else 0
        return unknown > 0 and unknown >= others

    @torch.inference_mode()
    def _answer(self, features: list[dict[str, list[int]]]) -> list[tuple]:
        """Return the answers to one batch, whose first text is the longest."""
        try:
            inputs = DataCollatorWithPadding(self.tokenizer)(features)
            logits = self.model(**{name: tensor.to(self.model.device) for name, tensor in inputs.items()}).logits
        except (RuntimeError, IndexError, ValueError) as error:
            size = f"{len(features)} texts of up to {len(features[0]['input_ids'])} tokens (--batch_size, --max_length)"
            raise DataError(f"the model fails on {size}: {textwrap.shorten(str(error), 240)}") from error
        if not logits.isfinite().all():
            raise DataError("the model returns NaN or infinity: its weights are damaged; train it again")
        return to_answers(logits.float().cpu(), self.model.config, self.choice)


def uncounted(texts: int) -> None:
    """Show no progress."""


def explain(
    classifier: Classifier | LinearClassifier, texts: list[str], progress: Callable[[int], object]
) -> list[list[dict[str, Any]] | None]:
    """Return the contributions of the words of each text, None for empty texts. Batches hold words of several texts."""
    every = replace(classifier, choice=Choice(ALL), empty=0, cut=0, unknown=0)
    variants = (
        (number, each) for number, text in enumerate(texts) if not is_missing(text) for each in with_and_without(text)
    )
    labels: dict[int, str | None] = {}
    kept: list[list[float | None]] = [[] for _ in texts]
    progress(sum(map(is_missing, texts)))
    for chunk in in_chunks(variants):
        progress(len({number for number, _ in chunk} - labels.keys()))
        for (number, _), (*_, top) in zip(chunk, every.classify([text for _, text in chunk], uncounted)):
            scores = {each["label"]: each["score"] for each in top or ()}
            label = labels.setdefault(number, top[0]["label"] if top else None)  # the text comes before its variants
            kept[number].append(scores.get(label))
    return [contributions(text, scores) if scores else None for text, scores in zip(texts, kept)]


def load_head(
    arguments: PredictArguments, auto_class: Any, untrained: str, check: Callable[[Any], object] | None = None
) -> tuple[Any, Any]:
    """Load a model and its tokenizer. Raises `DataError` for a checkpoint without trained head or tokenizer.

    untrained: the words for a model without trained head. check: raises an error for a configuration that does not fit.
    """
    name, trusts = arguments.model, arguments.trust_remote_code
    check_folder(name, "--model")
    try:
        model, info = auto_class.from_pretrained(name, trust_remote_code=trusts, output_loading_info=True)
        if action_of(model.config) == TAG and auto_class is not AutoModelForTokenClassification:
            raise DataError("it labels words, not texts; use `modeling-scratch predict`")
        check_loaded(model, info, untrained)
        if check:
            check(model.config)
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=trusts)
        if len(tokenizer) <= len(
            tokenizer.all_special_tokens
        ):  # the fallback of some families without a tokenizer file
            raise DataError("no tokenizer; save the one used in training")
        model.to(arguments.device or torch.accelerator.current_accelerator(check_available=True) or "cpu").eval()
    except Exception as error:  # files, network, configuration, code: libraries raise many types
        if any(Path(name).glob("checkpoint-*")) and not (Path(name) / "config.json").exists():
            raise DataError(
                f"--model {name}: the run is unfinished; resume it or name a checkpoint-* folder"
            ) from error
        place = "" if Path(name).exists() else "folder not found, and as a name on the Hub: "
        raise DataError(f"--model {name}: {place}{textwrap.shorten(str(error), 240)}") from error
    read_special_tokens(tokenizer, arguments.allow_special_tokens or None)
    ask_for_mask(tokenizer, model)
    return to_precision(model, arguments.precision), tokenizer


def linear_classifier(arguments: PredictArguments) -> LinearClassifier:
    """Load a linear model. Raises `DataError` if it is damaged, or cannot do what the arguments ask for."""
    name, classifier = f"--model {arguments.model}", load_linear(arguments.model)
    if arguments.max_length is not None or arguments.precision != "float32":
        raise DataError(f"{name}: a linear model, on which --max_length and --precision have no effect; remove them")
    if classifier.has_pairs != arguments.has_pairs:
        reads = "pairs of texts; name the columns of both" if classifier.has_pairs else "single texts; name one column"
        raise DataError(f"{name}: reads {reads} (--text_column)")
    arguments.check_model(classifier.model.config)
    return replace(classifier, choice=arguments.choice)


def load_classifier(arguments: PredictArguments) -> Classifier:
    """Load a classifier. Raises `DataError` as `load_head` does."""
    what = "not a trained text classifier"
    model, tokenizer = load_head(arguments, AutoModelForSequenceClassification, what, arguments.check_model)
    limit = tokenizer.model_max_length if arguments.max_length is None else arguments.max_length
    if limit > NO_LIMIT:
        limit = getattr(model.config, "max_position_embeddings", None)
    if limit is not None and limit <= (added := tokenizer.num_special_tokens_to_add(arguments.has_pairs)):
        raise DataError(f"--max_length {limit}: must exceed the {added} special tokens")
    return Classifier(model, tokenizer, limit, arguments.batch_size, arguments.choice)


def load_any(arguments: PredictArguments) -> Classifier | LinearClassifier:
    """Load a linear model if the folder holds one, or else a classifier."""
    return linear_classifier(arguments) if is_linear(arguments.model) else load_classifier(arguments)


def row_writer(handle: TextIO, arguments: PredictArguments, answer: Sequence[str]) -> Callable[[Row], object]:
    """Return a function that writes the columns of an answer as a line of JSON or CSV, the kept ones behind its row."""
    columns = ["row", *arguments.kept, *answer]
    write = json_writer(handle, columns) if arguments.format == "jsonl" else csv_writer(handle, columns)
    return lambda line: write([line[name] for name in columns])


def answer_writer(handle: TextIO, arguments: PredictArguments, names: list[str]) -> Callable[[Row], object]:
    """Return a function that writes an answer as a line of JSON or CSV, the kept columns behind its row.

    Missing numbers become null. names: of the classes.
    """
    row, *answer = arguments.answer_columns
    columns = [row, *arguments.kept, *answer]
    if arguments.format == "jsonl":
        write = json_writer(handle, columns)
    else:
        write = csv_writer(handle, columns, arguments.choice, names)

    def values(line: Row) -> list[Any]:
        return [None if isinstance(line[name], float) and is_missing(line[name]) else line[name] for name in columns]

    return lambda line: write(values(line))
