# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Options of data sets that contradict each other, or that no data could fit, are refused before a file is read."""

from typing import Any

import pytest
from text_samples import fault

from modeling_scratch.data.documents import DocumentArguments
from modeling_scratch.data.questions import QuestionDataArguments
from modeling_scratch.data.splits import DataArguments, SplitArguments
from modeling_scratch.data.tagged_sentences import TaggedDataArguments
from modeling_scratch.data.translation_pairs import TranslationDataArguments

SPLIT_ARGUMENTS = DataArguments, QuestionDataArguments, TaggedDataArguments, TranslationDataArguments
FILES: dict[str, Any] = {"train_file": ["a.csv"]}

SHARED: list[tuple[dict[str, Any], str]] = [
    ({"data_dir": "a", "train_file": "b"}, "--data_dir and --train_file are mutually exclusive"),
    ({"dataset_name": "a", "data_dir": "b"}, "--dataset_name and --data_dir are mutually exclusive"),
    ({"data_dir": "a", "validation_file": "b"}, "--data_dir and --train_file are mutually exclusive"),
    ({"test_file": "a"}, "--validation_file and --test_file require --train_file"),
    ({"data_dir": "a", "dataset_config_name": "sst2"}, "--dataset_config_name requires --dataset_name"),
    ({"data_dir": "a", "validation_fraction": 0.0}, "--validation_fraction 0.0: must be between 0 and 0.5"),
    ({"data_dir": "a", "validation_fraction": 0.5}, "--validation_fraction 0.5: must be between 0 and 0.5"),
    ({"data_dir": "a", "max_train_samples": -150}, "--max_train_samples -150: must be at least 1"),
    ({"data_dir": "a", "max_eval_samples": 0}, "--max_eval_samples 0: must be at least 1"),
    ({"data_dir": "a", "max_file_size": 0}, "--max_file_size 0: must be above 0"),
]


@pytest.mark.parametrize("kind", SPLIT_ARGUMENTS)
@pytest.mark.parametrize(("arguments", "message"), SHARED)
def test_options_of_splits_that_contradict_are_refused(kind: type, arguments: dict, message: str) -> None:
    with fault(message):
        kind(**arguments)


@pytest.mark.parametrize("kind", [SplitArguments, *SPLIT_ARGUMENTS[1:]])
def test_a_source_is_asked_for(kind: type) -> None:
    with fault("no data source; give one of --train_file, --data_dir and --dataset_name"):
        kind()


OWN: list[tuple[type, dict[str, Any], str]] = [
    (DataArguments, {"label_separator": ""}, "--label_separator: is empty"),
    (DataArguments, {"label_separator": "|", "problem_type": "regression"}, "--label_separator: regression has one"),
    (DataArguments, {"text_column": ["a", "a"]}, "--text_column a a"),
    (DataArguments, {"text_column": ["a", "b", "c"]}, "--text_column a b c"),
    (DataArguments, {"encoding": "nothing"}, "--encoding nothing: unknown"),
    (TaggedDataArguments, {"train_file": "a", "encoding": "nothing"}, "--encoding nothing: unknown"),
    *((DataArguments, {"delimiter": wrong}, "must be one character") for wrong in ("", ";;", '"', "x", "\n")),
    *((DataArguments, {"label_map": [pair]}, "source=target") for pair in ("a", "=a", "a= ", "a=b=c")),
    (DataArguments, {"label_map": ["none.csv"]}, "none.csv: file not found"),
    (DataArguments, {"label_map": ["a=b", "a=c"]}, "'a' is already read as 'b'"),
    (TranslationDataArguments, FILES | {"source_column": "a"}, "must be given together"),
    (TranslationDataArguments, FILES | {"source_column": "a", "target_column": "a"}, "and differ"),
    (DocumentArguments, {}, "exactly one of"),
    (DocumentArguments, FILES | {"data_dir": "b"}, "exactly one of"),
    (DocumentArguments, {"data_dir": "b", "validation_file": ["c"]}, "--validation_file requires --train_file"),
    (DocumentArguments, {"data_dir": "b", "validation_fraction": 0.0}, "--validation_fraction 0.0"),
    (DocumentArguments, {"data_dir": "b", "max_validation_documents": 0}, "--max_validation_documents 0"),
]


@pytest.mark.parametrize(("kind", "arguments", "message"), OWN, ids=range(len(OWN)))
def test_options_that_do_not_fit_are_refused(kind: type, arguments: dict, message: str) -> None:
    with fault(message):
        kind(**arguments)
