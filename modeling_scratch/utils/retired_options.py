# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Options of earlier versions, and what replaces them, for the command line, Python and --config_overrides."""

from collections.abc import Mapping

from .errors import DataError

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


def retired(name: str, of_command: Mapping[str, str] = {}) -> str | None:
    """Return the line that answers a retired option, or field of the config; None for any other name.

    of_command: options that one command alone had, and what replaces them.
    """
    if name.startswith("--"):  # the option alone: its value keeps its hyphens
        option, *value = name.split(" ", 1)
        name = " ".join([option.replace("-", "_").replace("__", "--", 1), *value])
    line = of_command.get(name) or RETIRED.get(name)
    return line and f"{name} is retired: {line}"


def refuse_retired(name: str) -> None:
    """Raise `DataError` for a retired name."""
    if line := retired(name):
        raise DataError(line)
