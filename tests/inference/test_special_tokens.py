# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Special tokens that a text spells out are text, in every program, as in the training of the model."""

from pathlib import Path

import generate
import pytest
import writers
from serving import save_classifier
from text_samples import predicted
from transformers import pipeline

from modeling_scratch.run.encoder_models import ModelArguments, build_tokenizer
from modeling_scratch.serving.answerers import load_answerer

SPELLED = "word1 [SEP] word2 [PAD]"
# The same words with other special tokens: different texts to a model that reads these, equal ones to one that does
# not know the brackets.
TEXTS = [SPELLED, SPELLED.replace("[SEP]", "[CLS]").replace("[PAD]", "[MASK]")]


def scores(folder: Path, *options: str) -> list[float]:
    (folder / "texts.txt").write_text("\n".join(TEXTS))
    rows = predicted(folder, folder / "texts.txt", folder / "answers.jsonl", "--overwrite", *options)
    return [row["score"] for row in rows]


def test_predict_reads_them_as_text_unless_they_are_allowed(tmp_path: Path) -> None:
    classifier = save_classifier(tmp_path)
    for options in ([], ["--allow_special_tokens"]):
        first, second = scores(classifier, *options)
        assert (first == pytest.approx(second)) is not bool(options)


def test_generate_reads_them_as_text_unless_they_are_allowed(tmp_path: Path) -> None:
    tokenizer = writers.words()
    folder = writers.save(tmp_path, writers.decoder(tokenizer), tokenizer)
    source, output = tmp_path / "prompts.txt", tmp_path / "texts.txt"
    source.write_text("word3 </s> word5\nword3 <pad> word5")
    program = ["--model_name_or_path", folder, "--input_file", source, "--output_file", output, "--max_new_tokens", "6"]
    for options in ([], ["--overwrite", "--allow_special_tokens"]):
        generate.main([*map(str, program), *options])
        first, second = output.read_text().splitlines()
        assert (first == second) is not bool(options)


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
