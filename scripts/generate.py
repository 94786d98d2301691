# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write with any decoder or encoder-decoder: prompts are continued, sources translated, in the order they came.

    python scripts/generate.py --model_name_or_path runs/shakespeare --prompt "ROMEO:" --temperature 0.8 --seed 1
    python scripts/generate.py --model_name_or_path runs/en-de --input_file source.en --output_file target.de
    echo "A dog runs." | python scripts/generate.py --model_name_or_path runs/en-de

What the model makes of a text is its translation, or the continuation of a prompt without the prompt itself. A line of
input becomes a line of output (num_return_sequences lines), in which line breaks are spaces; a line without text stays
one. JSON lines keep everything: `row` (1 for the first of the input), `prompt` or `source`, `text`, and `cut`, whether
the text has no end. With --prompt, or typed line by line, a text is shown as it is written, behind its prompt.

All of the input is read and checked before anything is written; a file is there once it is complete.
"""

import json
import signal
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import transformers
from command_line import quiet_libraries, run_program
from generation_model import SearchArguments, load_generator
from output_file import check_output, open_output
from text_columns import is_missing, read_lines, read_texts
from text_files import READERS, DataError
from text_generation import Generated, TextGenerator
from tqdm import tqdm
from transformers.hf_argparser import HfArg
from translation import Translator

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


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(generate, (GenerateArguments, SearchArguments), __doc__, arguments)


if __name__ == "__main__":
    quiet_libraries()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no half file stays behind
    main()
