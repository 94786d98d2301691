# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Special tokens that a text spells out are text, in every program, as in the training of the model."""

import json
from pathlib import Path
from typing import Any

import generate
import predict
import pytest
import writers
from serving import save_classifier
from transformers import AutoTokenizer, pipeline

from modeling_scratch.run.encoder_models import ModelArguments, build_tokenizer
from modeling_scratch.serving.answerers import load_answerer
from tokenization import train_wordlevel_tokenizer

SPELLED = "word1 [SEP] word2 [PAD]"
# The same words with other special tokens: different texts to a model that reads these, equal ones to one that does
# not know the brackets.
TEXTS = [SPELLED, SPELLED.replace("[SEP]", "[CLS]").replace("[PAD]", "[MASK]")]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("classifier"))


def scores(folder: Path, *options: str) -> list[float]:
    source, output = folder / "texts.txt", folder / "answers.jsonl"
    source.write_text("\n".join(TEXTS))
    program = ["--model", folder, "--input", source, "--output", output, "--overwrite", *options]
    predict.main(list(map(str, program)))
    return [json.loads(line)["score"] for line in output.read_text().splitlines()]


def test_predict_reads_them_as_text_unless_they_are_allowed(classifier: Path) -> None:
    first, second = scores(classifier)
    assert first == pytest.approx(second)
    first, second = scores(classifier, "--allow_special_tokens")
    assert first != pytest.approx(second)


def test_generate_reads_them_as_text_unless_they_are_allowed(tmp_path: Path) -> None:
    tokenizer = writers.words()
    folder = writers.save(tmp_path, writers.decoder(tokenizer), tokenizer)
    written = []
    source, output = tmp_path / "prompts.txt", tmp_path / "texts.txt"
    source.write_text("word3 </s> word5\nword3 <pad> word5")
    for options in ([], ["--overwrite", "--allow_special_tokens"]):
        program = ["--model_name_or_path", folder, "--input_file", source, "--output_file", output]
        generate.main([*map(str, program), "--max_new_tokens", "6", *options])
        first, second = output.read_text().splitlines()
        written.append(first == second)
    assert written == [True, False], output.read_text()


@pytest.mark.parametrize("allowed", [False, True])
def test_predict_reads_a_text_as_the_training_of_its_model_did(tmp_path: Path, allowed: bool) -> None:
    """Without a word of whom the folder goes to: a plain pipeline reads it that way, too."""
    save_classifier(tmp_path)
    tokenizer = build_tokenizer(ModelArguments(allow_special_tokens=allowed, max_length=24), [*writers.WORDS * 2])
    tokenizer.save_pretrained(tmp_path)
    assert tokenizer(SPELLED)["input_ids"].count(tokenizer.sep_token_id) == (2 if allowed else 1)
    (job,) = load_answerer(str(tmp_path)).encode([SPELLED], {})
    assert job.features["input_ids"] == tokenizer(SPELLED)["input_ids"]
    classify = pipeline("text-classification", str(tmp_path), device="cpu")
    assert scores(tmp_path) == pytest.approx([answer["score"] for answer in classify(TEXTS)], abs=1e-5)


def test_a_run_of_an_earlier_version_goes_on_as_it_read_its_texts(tmp_path: Path) -> None:
    tokenizer: Any = train_wordlevel_tokenizer(["great film"], 20, show_progress=False)
    tokenizer.save_pretrained(tmp_path)
    ids = tokenizer("great [SEP] film")["input_ids"]
    resumed = build_tokenizer(ModelArguments(), [], str(tmp_path))
    assert resumed("great [SEP] film")["input_ids"] == ids
    resumed.save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)("great [SEP] film")["input_ids"] == ids
    assert build_tokenizer(ModelArguments(tokenizer_name_or_path=str(tmp_path)), [])("great [SEP]")["input_ids"] != ids
