# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Options of programs, as fields of dataclasses: how they are declared, built from values in Python, and retired."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .errors import DataError

REQUIRED = MISSING

# Options of earlier versions, and what replaces them
PRETRAIN = "use --pretrain_minutes"
BY_TEXTS = "the number of texts chooses the settings; leave it out; --pretrain_minutes pretrains first"
LINEAR = "the model has no linear part any more: --save_linear_model True saves the better linear model of the report"
INFILLING = "leave it out: --objective denoising masks spans and shuffles sentences, as BART does"
NO_TEACHERS = f"{PRETRAIN} and --unlabelled_file to learn from texts without labels"

RETIRED = {
    "--recipe": BY_TEXTS,
    "--pretraining_minutes": PRETRAIN,
    "--pretraining_steps": "use --pretrain_epochs or --pretrain_minutes",
    "--pretraining_learning_rate": "use `modeling-scratch pretrain`, then --model_name_or_path",
    "--pretraining_batch_size": "use `modeling-scratch pretrain`, then --model_name_or_path",
    "--pretraining_block_size": "use `modeling-scratch pretrain`, then --model_name_or_path",
    "--teachers": NO_TEACHERS,
    "--soft_labels": NO_TEACHERS,
    "--linear_part": LINEAR,
    "--mean_with_baseline": "the report compares with the linear model, and --save_linear_model True saves it",
    "--sparse_embeddings": "use --learning_rate, or --layer_decay when a checkpoint is fine-tuned",
    "--ngram_vocab_size": "use --tokenizer_kind and --vocab_size",
    "ngram_vocab_size": "use --tokenizer_kind and --vocab_size",
    "--plot": "append the line of --json to a history, and draw it with `modeling-scratch figures speed-history`",
    "--denoising": INFILLING,
    "--denoising span_corruption": INFILLING,
    "--objective context": "use --objective mlm",
    "--embedding_learning_rate": "use --learning_rate, or --layer_decay when a checkpoint is fine-tuned",
    "--average_checkpoints": "use --ema_decay 0.999, which averages the weights of all steps",
    "--evaluate_train": "leave it out; the learning curve has the loss of the training texts beside that of validation",
    "--moses_tokens": "tokenise the files before: sacremoses -l en tokenize < train.en > train.tok.en",
    "--flat_batches": "leave it out: batches are without padding on CUDA, and CPUs pack internally",
    "--search_over": "leave it out: a search varies the learning rate, the batch size and the number of epochs",
    "--texts_in_card": "uploads never quote your texts; write examples into the card, which then stays as it is",
    "--r_drop": "leave it out, or use more dropout: --config_overrides hidden_dropout=0.2",
    "--bpe_dropout": "use more dropout, which scores higher: --config_overrides hidden_dropout=0.2",
}


def option(default: Any, help: str, choices: Iterable[str] = (), **more: Any) -> Any:
    """Return a field of a dataclass of arguments. The field is annotated with the type of its value.

    default: `REQUIRED` for an option without one; a list is copied. choices: the values that a command line may give,
    if not all of the type. more: other arguments of `argparse.ArgumentParser.add_argument`.
    """
    metadata = {"help": help, **({"choices": [*choices]} if choices else {}), **more}
    if isinstance(default, list):
        return field(default_factory=lambda: [*default], metadata=metadata)
    return field(default=default, metadata=metadata)


def retired(name: str, of_command: Mapping[str, str] = {}) -> str | None:
    """Return the line that answers a retired option, or field of the config; None for any other name.

    of_command: options that one command alone had, and what replaces them.
    """
    if name.startswith("--"):  # the option alone: its value keeps its hyphens
        option, *value = name.split(" ", 1)
        name = " ".join([option.replace("-", "_").replace("__", "--", 1), *value])
    line = of_command.get(name) or RETIRED.get(name)
    return line and f"{name} is retired: {line}"


def check_names(kinds: Sequence[Any], names: Iterable[str]) -> None:
    """Raise `DataError` for a name that is no field of these dataclasses, the last of which says what is retired."""
    known = {each.name for kind in kinds for each in fields(kind)}
    for name in names:
        if line := retired(f"--{name}", kinds[-1].RETIRED):
            raise DataError(line)
        if name not in known:
            likely = get_close_matches(name, known, 1)
            raise DataError(f"no option {name!r}" + (f"; did you mean {likely[0]!r}?" if likely else ""))


def built(kinds: Sequence[type], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a dataclass of each kind. named: values of their fields; None: the default.

    Raises `DataError` for a value of another type than its field.
    """
    found = []
    for kind in kinds:
        hints, names = get_type_hints(kind), [each.name for each in fields(kind)]
        values = {name: _value(name, hints[name], named[name]) for name in names if named.get(name) is not None}
        found.append(kind(**values))
    return tuple(found)


def _value(name: str, hint: Any, value: Any) -> Any:
    """Return the value as the type of the field; of several types, the first is that of the command line."""
    if get_origin(hint) in (Union, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise DataError(f"{name}: invalid choice: {value!r} (choose from {', '.join(map(repr, get_args(hint)))})")
        return value
    if hint == list[str]:
        given = [f"{key}={each}" for key, each in value.items()] if isinstance(value, Mapping) else value
        return [str(each) for each in (given if isinstance(given, list | tuple) else [given])]
    if hint in (int, float):
        return _number(name, hint, value)
    if hint is bool and not isinstance(value, bool):
        raise DataError(f"{name}: invalid bool value: {value!r}")
    return str(value) if isinstance(value, Path) else value


def _number(name: str, kind: type, value: Any) -> Any:
    try:
        number = kind(value)
    except (ValueError, TypeError):
        number = None
    if number is None or isinstance(value, bool) or (kind is int and not isinstance(value, str) and number != value):
        raise DataError(f"{name}: invalid {kind.__name__} value: {value!r}")
    return number
