# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Continue prompts and translate sources, in input order."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import transformers
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

from ..bridges.model_limits import MOST_PENALTY
from ..bridges.model_sources import (
    ALLOW_SPECIAL_TOKENS,
    check_loaded,
    load_checkpoint,
    load_tokenizers,
    read_special_tokens,
)
from ..data.columns import NumberedText, is_missing
from ..data.tables import READERS, TableArguments
from ..data.text_files import format_of
from ..pipelines import DEFAULT_NEW_TOKENS
from ..tasks import action_of, named
from ..utils.errors import DataError, first_few
from ..utils.files import MAX_FILE_SIZE, MAX_FILE_SIZE_HELP, check_inputs, check_output, open_output
from ..utils.options import REQUIRED, option
from .batches import failing_on
from .compiled import COMPILE_HELP, compile_generation
from .loading import check_tokenizer, loading_errors, move
from .rows import read_sources, read_text_lines
from .text_generators import Continuer, Generated, TextGenerator, Translator

SAMPLING = ("temperature", "top_k", "top_p")
LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "max_new_tokens": (lambda value: 1 <= value <= 1_000_000, "from 1 to 1,000,000"),
    "num_beams": (lambda value: 1 <= value <= 1_000, "from 1 to 1,000"),
    "num_return_sequences": (lambda value: 1 <= value <= 1_000, "from 1 to 1,000"),
    "temperature": (lambda value: value >= 1e-5, "at least 0.00001; for greedy decoding use --do_sample False"),
    "top_k": (lambda value: value >= 0, "at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "above 0 and at most 1"),
    "repetition_penalty": (lambda value: 0 < value < math.inf, "above 0"),
    "length_penalty": (lambda value: abs(value) <= MOST_PENALTY, f"from {-MOST_PENALTY} to {MOST_PENALTY}"),
}


@dataclass
class SearchArguments:
    """Generation settings; the checkpoint's generation_config.json provides the defaults."""

    max_new_tokens: int | None = option(
        None, f"The maximum number of new tokens; by default the checkpoint's, else {DEFAULT_NEW_TOKENS}."
    )
    do_sample: bool | None = option(
        None, f"Sample tokens; implied by --{', --'.join(SAMPLING)}.", nargs="?", const=True
    )
    temperature: float | None = option(None, "The sampling temperature; below 1 favours likely tokens.")
    top_k: int | None = option(None, "Sample from this many most likely tokens; 0: from all.")
    top_p: float | None = option(None, "Sample from the most likely tokens with this total probability.")
    repetition_penalty: float | None = option(None, "Above 1, penalise repeated tokens.")
    num_beams: int | None = option(None, "The beam size; 1: no beam search.")
    length_penalty: float | None = option(
        None, "The exponent on the length in beam search; larger values favour longer texts."
    )
    num_return_sequences: int | None = option(None, "Texts per input.")

    def __post_init__(self) -> None:
        for name, (fits, limits) in LIMITS.items():
            if (value := getattr(self, name)) is not None and not fits(value):
                raise DataError(f"--{name} {value}: must be {limits}")
        given = [f"--{name}" for name in SAMPLING if getattr(self, name) is not None]
        if given and self.do_sample is False:
            raise DataError(f"{', '.join(given)}: requires sampling, which --do_sample False disables")
        if given:
            self.do_sample = True

    def given(self) -> dict[str, Any]:
        """Return the given settings as arguments of model.generate."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def load_generator(name: str, arguments: Any, search: SearchArguments | None = None) -> TextGenerator:
    """Load a text generator. Raises `DataError` for a checkpoint without trained generation head or tokenizer.

    arguments: of a program, with `trust_remote_code`, `allow_special_tokens`, `device` and `batch_size`.
    """
    trusts = arguments.trust_remote_code
    config = load_checkpoint(AutoConfig, name, trusts)
    action = action_of(config)
    if action and (advice := named(action).not_generated):  # a generation class would load it with random weights
        raise DataError(f"{config.architectures[0]} does not generate texts; {advice}")
    auto_class = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model, info = load_checkpoint(auto_class, name, trusts, output_loading_info=True)
    check_loaded(model, info, "no trained generation head")
    source, target = tokenizers = load_tokenizers(name, trusts)
    for tokenizer in tokenizers:
        check_tokenizer(tokenizer)
    read_special_tokens(source, arguments.allow_special_tokens or None)
    move(model.eval(), arguments.device)
    options: dict[str, Any] = {"batch_size": arguments.batch_size, **(search.given() if search else {})}
    generator: TextGenerator = Continuer(model, source, **options)
    if model.config.is_encoder_decoder:
        generator = Translator(model, source, target, **options)
    of_checkpoint = {name: generator.setting(name, 1) for name in ("num_beams", "num_return_sequences")}
    SearchArguments(**of_checkpoint, max_new_tokens=generator.max_new_tokens)  # which checks them
    generator.generation["max_new_tokens"] = generator.max_new_tokens
    model.generation_config.max_length = None  # it would conflict with max_new_tokens
    return generator


BATCHES_AT_A_TIME = 16  # sorted by length and written together


@dataclass
class GeneratorInput:
    """The model and the input of a generation run."""

    model_name_or_path: str = option(REQUIRED, "A generative model with its tokenizer: a folder or a name on the Hub.")
    prompt: str | None = option(None, "A text to continue or translate; the output is streamed.")
    input_file: str = option("-", "A csv, tsv, jsonl or parquet file, or one text per line; -: standard input.")
    max_file_size: float = option(MAX_FILE_SIZE, MAX_FILE_SIZE_HELP)


@dataclass
class GenerateArguments(TableArguments, GeneratorInput):
    """A generation run: what it reads, what it writes, and how the model computes it."""

    RETIRED = {"--truncate": "leave it out: sources that are too long are truncated, and counted"}
    text_column: str | None = option(None, "The text column; by default that of the model's training.")
    stop: list[str] | None = option(None, "End a text before the first of these strings.")
    output_file: str = option("-", "The output file; -: standard output.")
    format: Literal["lines", "jsonl"] | None = option(
        None, "The output format; by default jsonl for a .jsonl file, else lines."
    )
    overwrite: bool = option(False, "Replace the output file.")
    batch_size: int = option(32, "Texts per batch.")
    seed: int | None = option(None, "The sampling seed; results are reproducible for equal seed, input and batch size.")
    device: str | None = option(None, "cpu, cuda, cuda:1, ...; by default an available accelerator.")
    compile: bool = option(False, COMPILE_HELP)
    allow_special_tokens: bool = option(False, ALLOW_SPECIAL_TOKENS)
    trust_remote_code: bool = option(False, "Allow the checkpoint's own code to run.")
    no_progress: bool = option(False, "Disable the progress bar, which is shown only on a terminal.")

    def __post_init__(self) -> None:
        reads_stdin = self.input_file == "-" and self.prompt is None
        faults = {
            "--prompt and --input_file are mutually exclusive": self.prompt is not None and self.input_file != "-",
            "--prompt: the text is empty": self.prompt == "",
            "--prompt: not valid UTF-8": any("\ud800" <= character <= "\udfff" for character in self.prompt or ""),
            f"--text_column {self.text_column}: requires a table ({', '.join(READERS)})": (
                self.text_column and not self.is_table
            ),
            "--stop: a string is empty": "" in (self.stop or ()),
            f"--batch_size {self.batch_size}: must be at least 1": self.batch_size < 1,
            f"--seed {self.seed}: must be from 0 to {2**32 - 1:,}": not 0 <= (self.seed or 0) < 2**32,
            "--input_file -: standard input is closed; name a file or give --prompt": sys.stdin is None and reads_stdin,
        }
        if fault := next((fault for fault, is_given in faults.items() if is_given), None):
            raise DataError(fault)
        check_inputs([self.input_file], self.max_file_size)
        check_output("--output_file", self.output_file, self.input_file, self.overwrite)

    @property
    def is_table(self) -> bool:
        return format_of(Path(self.input_file)) in READERS

    def where(self, rows: Sequence[int]) -> str:
        """Return "row 3" or "line 1, 2, 3, 4, 5, ..."."""
        return f"{'row' if self.is_table else 'line'} {first_few(list(map(str, rows)), 5)}"


def generate(arguments: GenerateArguments, search: SearchArguments) -> None:
    """Generate texts for every input. Raises `DataError` for an invalid input or model."""
    rows = list(read_input(arguments))
    with loading_errors("--model_name_or_path", arguments.model_name_or_path):
        generator = load_generator(arguments.model_name_or_path, arguments, search)
    generator.model.generation_config.forced_eos_token_id = None  # it would hide that a text was cut
    if arguments.compile:
        compile_generation(generator.model)
    generator.stop = tuple(arguments.stop or ())
    if arguments.seed is not None:
        transformers.set_seed(arguments.seed)
    check_texts(rows, generator, arguments)
    with failing_on("(--batch_size, --max_new_tokens)"), open_output(arguments.output_file) as handle:
        is_shown = arguments.prompt is not None and arguments.output_file == "-" and arguments.format is None
        written = show(rows[0][1], generator, handle) if is_shown else write_answers(rows, generator, handle, arguments)
    # A translation has an end. What continues a text need not: it is told only where it has less than was asked for.
    most = math.inf if isinstance(generator, Translator) else generator.max_new_tokens - 1
    if cut := [answer for answer in written if answer.cut_after and answer.cut_after <= most]:
        lengths = first_few([str(length) for length in sorted({answer.cut_after for answer in cut})], 5)
        told = f"have no end token and were cut at {lengths} tokens (--max_new_tokens, or the last position)"
        print(f"{len(cut):,} of {len(written):,} texts {told}", file=sys.stderr)


def read_input(arguments: GenerateArguments) -> Iterator[NumberedText]:
    """Stream `(row, text)`; a missing text is "". Raises `DataError` or OSError for unreadable input."""
    if arguments.prompt is not None:
        yield 1, arguments.prompt
    elif arguments.is_table:
        path = Path(arguments.input_file)
        yield from read_sources(path, arguments.text_column, arguments.model_name_or_path, arguments.form)
    else:
        for row, text in read_text_lines("--input_file", arguments.input_file, arguments.form):
            yield row, "" if is_missing(text) else text


def check_texts(rows: Sequence[NumberedText], generator: TextGenerator, arguments: GenerateArguments) -> None:
    """Raise `DataError` for the first prompt of a decoder that exceeds its positions.

    Print which sources are truncated, and which texts have tokens that the model does not know.
    """
    limit, unknown = generator.limit, generator.tokenizer.unk_token_id
    if limit is None and unknown is None:
        return
    cut, unseen = list[int](), list[int]()
    for (row, _), tokens in zip(rows, generator.encode_all([text for _, text in rows])):
        if limit is not None and len(tokens) > limit:
            cut.append(row)
        if unknown in tokens[:limit]:
            unseen.append(row)
        if cut and not isinstance(generator, Translator):
            where = f"--input_file {arguments.input_file}, {arguments.where(cut)}"
            where = where if arguments.prompt is None else "--prompt"
            raise DataError(f"{where}: {len(tokens)} tokens exceed the model's limit of {limit}; shorten it")
    unknown_to_it = "texts have words or characters that the model does not know"
    for what, found in {f"texts truncated to {limit} tokens": cut, unknown_to_it: unseen}.items():
        if found:
            print(f"{len(found):,} {what}: {arguments.where(found)}", file=sys.stderr)


def write_answers(
    rows: Sequence[NumberedText], generator: TextGenerator, handle: TextIO, arguments: GenerateArguments
) -> list[Generated]:
    """Write one line per generated text in the output format. Return the texts of non-empty inputs."""
    written: list[Generated] = []
    source = "source" if isinstance(generator, Translator) else "prompt"
    inferred = "jsonl" if arguments.output_file.lower().endswith(".jsonl") else "lines"
    is_jsonl = (arguments.format or inferred) == "jsonl"
    size = BATCHES_AT_A_TIME * generator.batch_size
    with tqdm(total=len(rows), unit=" texts", disable=arguments.no_progress or None) as bar:
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            for (row, text), answers in zip(chunk, generator.generate([text for _, text in chunk])):
                for answer in answers:
                    record = {"row": row, source: text, "text": answer.text, "cut": answer.cut_after is not None}
                    line = " ".join(answer.text.splitlines())
                    handle.write((json.dumps(record, ensure_ascii=False) if is_jsonl else line) + "\n")
                written += answers if text else []
            handle.flush()
            bar.update(len(chunk))
    if empty := sum(not text for _, text in rows):
        print(f"empty inputs, answered by empty lines: {empty:,}", file=sys.stderr)
    return written


def show(text: str, generator: TextGenerator, handle: TextIO) -> list[Generated]:
    """Write the answers to one text, separated by empty lines."""

    def write(piece: str) -> None:
        handle.write(piece)
        handle.flush()

    prompt = "" if isinstance(generator, Translator) else text
    if generator.can_stream:
        write(prompt)
        answers = [generator.stream(text, write)]
        write("\n")
    else:
        answers = generator.generate([text])[0]
        write("\n".join(prompt + answer.text + "\n" for answer in answers))
    return answers
