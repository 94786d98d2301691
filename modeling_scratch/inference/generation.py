# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Prompts continued and sources translated, in the order of the input."""

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

import torch
import transformers
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.hf_argparser import HfArg

import modeling_scratch  # noqa: F401  its models become known to the Auto classes

from ..bridges.model_sources import Tokenizers, check_folder, load_checkpoint, load_tokenizers
from ..data.columns import is_missing, read_lines, read_texts
from ..data.rows import READERS
from ..utils.errors import DataError
from ..utils.files import check_output, open_output
from .text_generators import DEFAULT_NEW_TOKENS, Continuer, Generated, TextGenerator, Translator

# Heads that a class for generation would load, too, and answer at random or without looking back.
OTHER_HEADS = {
    "ForSequenceClassification": "classify with it: modeling-scratch predict",
    "ForTokenClassification": "it labels tokens",
    "ForQuestionAnswering": "it finds answers in texts",
    "ForMaskedLM": "it fills gaps; pretrain a decoder: modeling-scratch pretrain --objective clm",
}

SAMPLING = ("temperature", "top_k", "top_p")
LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "max_new_tokens": (lambda value: value >= 1, "at least 1"),
    "num_beams": (lambda value: value >= 1, "at least 1"),
    "num_return_sequences": (lambda value: value >= 1, "at least 1"),
    "temperature": (lambda value: value > 0, "above 0; to take the likeliest token always, --do_sample False"),
    "top_k": (lambda value: value >= 0, "at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "above 0 and at most 1"),
    "repetition_penalty": (lambda value: value > 0, "above 0"),
}


@dataclass
class SearchArguments:
    """How texts are searched for; what is not given is as generation_config.json of the checkpoint says."""

    max_new_tokens: int | None = field(
        default=None,
        metadata={"help": f"The longest text; {DEFAULT_NEW_TOKENS} tokens where the checkpoint says nothing either."},
    )
    do_sample: bool | None = field(
        default=None,
        metadata={"help": f"Draw tokens; --{', --'.join(SAMPLING)} say so, too.", "nargs": "?", "const": True},
    )
    temperature: float | None = field(default=None, metadata={"help": "Below 1 draws likely tokens more often."})
    top_k: int | None = field(default=None, metadata={"help": "Draw from so many likeliest tokens; 0: from all."})
    top_p: float | None = field(default=None, metadata={"help": "Draw from the likeliest tokens of this share."})
    repetition_penalty: float | None = field(default=None, metadata={"help": "Above 1 avoids what was said."})
    num_beams: int | None = field(default=None, metadata={"help": "Texts that a beam search follows; 1: no beam."})
    length_penalty: float | None = field(default=None, metadata={"help": "Of beams: above 1 favours longer texts."})
    num_return_sequences: int | None = field(default=None, metadata={"help": "Texts for each line of the input."})

    def __post_init__(self) -> None:
        for name, (fits, limits) in LIMITS.items():
            if (value := getattr(self, name)) is not None and not fits(value):
                raise DataError(f"--{name} {value}: has to be {limits}")
        said = [f"--{name}" for name in SAMPLING if getattr(self, name) is not None]
        if said and self.do_sample is False:
            raise DataError(f"{', '.join(said)}: says how to draw tokens, and --do_sample False not to")
        if said:
            self.do_sample = True

    def given(self) -> dict[str, Any]:
        """As arguments of model.generate."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def load_generator(
    name: str, search: SearchArguments, batch_size: int, device: str | None, trust_remote_code: bool
) -> TextGenerator:
    """Raises `DataError` for a checkpoint that cannot write, or would write at random."""
    check_folder(name, "--model_name_or_path")
    try:
        model, tokenizers = _load(name, trust_remote_code)
    except DataError:
        raise
    except Exception as error:  # from files, network, configuration or code: the libraries' own are open-ended
        raise DataError(f"--model_name_or_path {name}: {textwrap.shorten(str(error), 240)}") from error
    _move(model.eval(), device)
    generator: TextGenerator
    if model.config.is_encoder_decoder:
        generator = Translator(model, *tokenizers, batch_size=batch_size, **search.given())
    else:
        generator = Continuer(model, tokenizers[0], batch_size, **search.given())
    generator.generation["max_new_tokens"] = generator.max_new_tokens
    # Two limits would be one too many, and an end that is forced would hide that there was none.
    model.generation_config.max_length = model.generation_config.forced_eos_token_id = None
    _check_number_of_texts(generator)
    return generator


def _move(model: Any, device: str | None) -> None:
    """To the device, or to an accelerator where there is one."""
    place = device or torch.accelerator.current_accelerator(check_available=True) or "cpu"
    try:
        model.to(place)
    except Exception as error:  # from the name, or from drivers: not only a RuntimeError
        raise DataError(f"--device {place}: {textwrap.shorten(str(error), 240)}") from error


def _load(name: str, trust_remote_code: bool) -> tuple[Any, Tokenizers]:
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    architecture = (config.architectures or [""])[0]
    for head, advice in OTHER_HEADS.items():
        if architecture.endswith(head):
            raise DataError(f"--model_name_or_path {name}: {architecture} does not write texts; {advice}")
    auto_class = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model, info = load_checkpoint(auto_class, name, trust_remote_code, output_loading_info=True)
    if missing := sorted(info["missing_keys"]):
        raise DataError(f"--model_name_or_path {name}: nothing is trained to write, it has no {', '.join(missing[:3])}")
    tokenizers = load_tokenizers(name, trust_remote_code)
    for tokenizer in tokenizers:
        if len(tokenizer) <= len(tokenizer.all_special_tokens):  # what some families make up where there is no file
            raise DataError(f"--model_name_or_path {name}: there is no tokenizer in it")
    return model, tokenizers


def _check_number_of_texts(generator: TextGenerator) -> None:
    texts, beams = (generator.setting(name, 1) for name in ("num_return_sequences", "num_beams"))
    if texts > beams and (beams > 1 or not generator.setting("do_sample", False)):
        raise DataError(f"--num_return_sequences {texts}: goes with --do_sample, or with --num_beams {texts} or more")


BATCHES_AT_A_TIME = 16  # are sorted by length together, and then written

Row = tuple[int, str]

option: Any = HfArg  # its own type is that of a field, not of the field's value


@dataclass
class GenerateArguments:
    """What is written, with what, and where it goes."""

    model_name_or_path: str = option(help="A folder or a name on the Hub: a model that writes, and its tokenizer.")
    prompt: str | None = option(default=None, help="One text to continue or to translate, shown as it is written.")
    input_file: str = option(default="-", help="csv, tsv, jsonl, parquet, or text with a line each; -: standard input.")
    text_column: str | None = option(default=None, help="What holds the text; found by itself where only one can.")
    output_file: str = option(default="-", help="The file to write; -: standard output.")
    format: Literal["lines", "jsonl"] | None = option(default=None, help="Lines, but for a file named .jsonl.")
    overwrite: bool = option(default=False, help="Replace the output file.")
    truncate: bool = option(default=False, help="Cut sources that are too long for the model, instead of stopping.")
    batch_size: int = option(default=32, help="Texts that go through the model at a time.")
    seed: int | None = option(
        default=None, help="Of what is drawn: the same seed, input and batch_size, the same text."
    )
    device: str | None = option(default=None, help="cpu, cuda, cuda:1, ...; an accelerator where there is one.")
    trust_remote_code: bool = option(default=False, help="Run the code that a checkpoint brings along.")
    no_progress: bool = option(default=False, help="No progress bar; without a terminal there is none.")

    def __post_init__(self) -> None:
        if self.prompt is not None and self.input_file != "-":
            raise DataError("--prompt and --input_file are given, but there is one input; drop the other")
        if self.prompt == "":
            raise DataError("--prompt: there is no text in it")
        if self.prompt and any("\ud800" <= character <= "\udfff" for character in self.prompt):
            raise DataError("--prompt: this is not UTF-8, as which a terminal has to send it")
        if self.text_column and not self.is_table:
            raise DataError(f"--text_column {self.text_column}: goes with a table, {', '.join(READERS)}")
        if self.batch_size < 1:
            raise DataError(f"--batch_size {self.batch_size}: has to be at least 1")
        if sys.stdin is None and self.input_file == "-" and self.prompt is None:
            raise DataError("--input_file -: standard input is closed; name a file, or give --prompt")
        if sys.stdout is None and self.output_file == "-":
            raise DataError("--output_file -: standard output is closed; name a file")
        check_output("--output_file", self.output_file, self.input_file, self.overwrite)

    @property
    def is_table(self) -> bool:
        return Path(self.input_file).suffix.lower() in READERS

    @property
    def is_jsonl(self) -> bool:
        return self.format == "jsonl" or (self.format is None and self.output_file.lower().endswith(".jsonl"))

    @property
    def is_conversation(self) -> bool:
        """Whether texts come one at a time and are shown at once."""
        typed = self.input_file == "-" and sys.stdin.isatty()
        return self.output_file == "-" and self.format is None and (self.prompt is not None or typed)


def generate(arguments: GenerateArguments, search: SearchArguments) -> None:
    """Write what the model makes of every text; raises `DataError` for what is wrong with them or with the model."""
    rows = None if arguments.is_conversation else list(read_input(arguments))
    generator = load_generator(
        arguments.model_name_or_path, search, arguments.batch_size, arguments.device, arguments.trust_remote_code
    )
    if arguments.truncate and not isinstance(generator, Translator):
        raise DataError("--truncate: is for the sources of an encoder-decoder; shorten the prompts of a decoder")
    if arguments.seed is not None:
        transformers.set_seed(arguments.seed)
    with open_output(arguments.output_file) as handle:
        if rows is None:
            written = converse(read_input(arguments), generator, handle, arguments)
        else:
            check_lengths(rows, generator, arguments)
            written = write_answers(rows, generator, handle, arguments)
    report(written, generator)


def read_input(arguments: GenerateArguments) -> Iterator[Row]:
    """Stream `(row, text)`, a missing text being ""; raises `DataError` or OSError for what cannot be read."""
    if arguments.prompt is not None:
        yield 1, arguments.prompt
    elif arguments.is_table:
        yield from read_texts(Path(arguments.input_file), arguments.text_column)
    else:
        stdin = arguments.input_file == "-"
        with sys.stdin.buffer if stdin else Path(arguments.input_file).open("rb") as handle:
            for row, text in read_lines(handle, f"--input_file {arguments.input_file}"):
                yield row, "" if is_missing(text) else text


def check_lengths(rows: Sequence[Row], generator: TextGenerator, arguments: GenerateArguments) -> None:
    """Raises `DataError` for the first text that the model cannot read whole, or says what --truncate will cut."""
    limit = generator.limit
    lengths = map(len, generator.encode([text for _, text in rows], truncation=False))
    long = [(row, length) for (row, _), length in zip(rows, lengths) if limit is not None and length > limit]
    if not long:
        return
    unit = "row" if arguments.is_table else "line"
    if arguments.truncate:
        told = ", ".join(str(row) for row, _ in long[:5]) + (", ..." if len(long) > 5 else "")
        print(f"{len(long):,} texts are longer than {limit} tokens and cut there: {unit} {told}", file=sys.stderr)
        return
    row, length = long[0]
    where = "--prompt" if arguments.prompt is not None else f"--input_file {arguments.input_file}, {unit} {row}"
    advice = "split it, or have it cut with --truncate" if isinstance(generator, Translator) else "shorten it"
    raise DataError(f"{where}: {length} tokens, but the model reads {limit}; {advice}")


def write_answers(
    rows: Sequence[Row], generator: TextGenerator, handle: TextIO, arguments: GenerateArguments
) -> list[Generated]:
    """A line for each text, as --format says; returns what was written of texts that are not empty."""
    written: list[Generated] = []
    source = "source" if isinstance(generator, Translator) else "prompt"
    size = BATCHES_AT_A_TIME * generator.batch_size
    with tqdm(total=len(rows), unit=" texts", disable=arguments.no_progress or None) as bar:
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            for (row, text), answers in zip(some, run_model(generator.generate, [text for _, text in some])):
                for answer in answers:
                    record = {"row": row, source: text, "text": answer.text, "cut": answer.is_cut}
                    line = json.dumps(record, ensure_ascii=False) if arguments.is_jsonl else one_line(answer.text)
                    handle.write(line + "\n")
                written += answers if text else []
            handle.flush()
            bar.update(len(some))
    if empty := sum(not text for _, text in rows):
        print(f"lines without a text, left so: {empty:,}", file=sys.stderr)
    return written


def one_line(text: str) -> str:
    return " ".join(text.splitlines())


def converse(
    rows: Iterable[Row], generator: TextGenerator, handle: TextIO, arguments: GenerateArguments
) -> list[Generated]:
    """Show what becomes of each text as soon as it comes, behind its prompt, and word by word where no beam is left."""
    shown: list[Generated] = []
    if arguments.prompt is None:
        print("Type a text and press return; Ctrl-D ends.", file=sys.stderr)
    for row, text in rows:
        try:
            check_lengths([(row, text)], generator, arguments)
        except DataError as error:
            if arguments.prompt is not None:
                raise
            print(error, file=sys.stderr)  # who types can type another line
            continue
        answers = show(text, generator, handle)
        shown += answers if text else []
    return shown


def show(text: str, generator: TextGenerator, handle: TextIO) -> list[Generated]:
    """Several texts have an empty line between them."""

    def write(piece: str) -> None:
        handle.write(piece)
        handle.flush()

    prompt = "" if isinstance(generator, Translator) else text
    if generator.can_stream:
        write(prompt)
        answers = [run_model(generator.stream, text, write)]
        write("\n")
    else:
        answers = run_model(generator.generate, [text])[0]
        write("\n".join(prompt + answer.text + "\n" for answer in answers))
    return answers


def run_model(function: Any, *arguments: Any) -> Any:
    """function(*arguments), whose errors are those of settings that the model cannot take, or of too little memory."""
    try:
        return function(*arguments)
    except (RuntimeError, IndexError, ValueError) as error:
        fault = textwrap.shorten(str(error), 240)
        raise DataError(f"the model fails (--batch_size, --max_new_tokens): {fault}") from error


def report(written: Sequence[Generated], generator: TextGenerator) -> None:
    """Say on standard error how many texts have no end, and where they were cut."""
    limit = generator.max_new_tokens
    cuts = Counter(answer.cut_after == limit for answer in written if answer.is_cut)
    end = f"{len(written):,} texts found no end and were cut"
    if cuts[True]:
        print(f"{cuts[True]:,} of {end} at {limit} tokens (--max_new_tokens)", file=sys.stderr)
    if cuts[False]:
        print(f"{cuts[False]:,} of {end} where the model's positions end", file=sys.stderr)
