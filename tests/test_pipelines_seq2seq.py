# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Text to text pipelines: what they answer is what `generate` gives, for scratch models and for native ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import lively, run_without_package
from transformers import BartConfig, BartForConditionalGeneration, Pipeline, PreTrainedTokenizerFast, pipeline

from modeling_scratch import ScratchSeq2SeqConfig, ScratchSeq2SeqForConditionalGeneration
from modeling_scratch.pipelines import SummarizationPipeline, Text2TextGenerationPipeline, TranslationPipeline
from tokenization import special_token_ids, train_bpe_tokenizer

TEXTS = ["a dog runs over the green field", "snow", "two people sit at a table and read the news of the day"]
TASKS = {
    "seq2seq-generation": (Text2TextGenerationPipeline, "generated"),
    "seq2seq-summarization": (SummarizationPipeline, "summary"),
    "seq2seq-translation": (TranslationPipeline, "translation"),
}
SIZES = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24,
    "norm_position": "pre",
}  # fmt: skip
every_task = pytest.mark.parametrize("task", TASKS)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_bpe_tokenizer(TEXTS * 3, 300, style="marian", model_max_length=64, show_progress=False)


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast) -> ScratchSeq2SeqForConditionalGeneration:
    ids = {"vocab_size": len(tokenizer), **special_token_ids(tokenizer)}
    return lively(ScratchSeq2SeqForConditionalGeneration(ScratchSeq2SeqConfig(**SIZES, **ids)))


@pytest.fixture(scope="module")
def bart(tokenizer: PreTrainedTokenizerFast) -> BartForConditionalGeneration:
    sizes = {
        "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 80,
    }  # fmt: skip
    ids = {"vocab_size": len(tokenizer), "bos_token_id": None, "forced_eos_token_id": None}
    return lively(BartForConditionalGeneration(BartConfig(**sizes, **ids, **special_token_ids(tokenizer))))


def expected(model: Any, tokenizer: PreTrainedTokenizerFast, text: str, **options: Any) -> list[str]:
    outputs = model.generate(**tokenizer(text, return_tensors="pt", return_token_type_ids=False), **options)
    return [answer.strip() for answer in tokenizer.batch_decode(outputs, skip_special_tokens=True)]


OPTIONS = {"max_new_tokens": 8, "do_sample": False, "no_repeat_ngram_size": 1}


@every_task
@pytest.mark.parametrize("family", ["model", "bart"])
def test_answers_are_those_of_generate(
    task: str, family: str, tokenizer: PreTrainedTokenizerFast, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(family)
    name = f"{TASKS[task][1]}_text"
    serve = pipeline(task, model=model, tokenizer=tokenizer)
    assert type(serve) is TASKS[task][0]
    answers = [expected(model, tokenizer, text, num_beams=3, **OPTIONS)[0] for text in TEXTS]
    assert len(set(answers)) == len(TEXTS)
    assert serve(TEXTS[0], num_beams=3, **OPTIONS) == [{name: answers[0]}]
    for batch_size in (1, 2, 3):
        found = serve(TEXTS, num_beams=3, batch_size=batch_size, **OPTIONS)
        assert found == [{name: answer} for answer in answers]
    stream = serve((text for text in TEXTS), num_beams=3, **OPTIONS)
    assert [answer[0][name] for answer in stream] == answers


def test_n_best_come_best_first_with_the_scores_of_the_beam(
    model: ScratchSeq2SeqForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> None:
    options = {"num_beams": 4, "num_return_sequences": 3, **OPTIONS}
    serve = TranslationPipeline(model=model, tokenizer=tokenizer)
    found = serve(TEXTS, return_scores=True, **options)
    for text, answers in zip(TEXTS, found):
        inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        output = model.generate(**inputs, return_dict_in_generate=True, output_scores=True, **options)
        assert [answer["score"] for answer in answers] == output.sequences_scores.tolist()
        assert [answer["translation_text"] for answer in answers] == expected(model, tokenizer, text, **options)
        assert sorted(answers, key=lambda answer: -answer["score"]) == answers


def test_the_score_of_a_greedy_answer_is_its_log_probability_per_token(
    model: ScratchSeq2SeqForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> None:
    serve = Text2TextGenerationPipeline(model=model, tokenizer=tokenizer)
    options = {"max_new_tokens": 6, "do_sample": False}
    for text, answer in zip(TEXTS, serve(TEXTS, batch_size=3, return_scores=True, return_tensors=True, **options)):
        target = answer["generated_token_ids"][None]
        inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        logits = model(**inputs, decoder_input_ids=target[:, :-1]).logits.log_softmax(-1)
        by_hand = logits.gather(-1, target[:, 1:, None]).mean()
        assert answer["score"] == pytest.approx(by_hand.item(), abs=1e-5)


@pytest.fixture
def folder(model: ScratchSeq2SeqForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> Path:
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


SERVE = """
import json, sys
from transformers import pipeline
serve = pipeline(sys.argv[2], model=sys.argv[1], trust_remote_code=True)
print(json.dumps(serve(json.loads(sys.argv[3]), max_new_tokens=8, do_sample=False, no_repeat_ngram_size=1)))
serve.model.save_pretrained(sys.argv[4])
serve.tokenizer.save_pretrained(sys.argv[4])
"""


def test_a_saved_folder_serves_where_the_package_is_not_installed(
    folder: Path, model: ScratchSeq2SeqForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    """And so does what is saved there again."""
    again = str(tmp_path / "again")
    wanted = [{"translation_text": expected(model, tokenizer, text, **OPTIONS)[0]} for text in TEXTS]
    environment = {"HF_MODULES_CACHE": str(tmp_path / "modules")}
    for place in (str(folder), again):
        arguments = place, "seq2seq-translation", json.dumps(TEXTS), again
        assert json.loads(run_without_package(SERVE, *arguments, **environment).splitlines()[-1]) == wanted
    config = json.loads((Path(again) / "config.json").read_text())
    assert config["custom_pipelines"].keys() == TASKS.keys()
    assert config["custom_pipelines"]["seq2seq-translation"] == {
        "impl": "pipelines.TranslationPipeline",
        "pt": ["AutoModelForSeq2SeqLM"],
    }


def test_a_decoder_with_a_vocabulary_of_its_own_is_decoded_by_its_own_tokenizer(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    target = train_bpe_tokenizer(["der die das Hund Schnee"] * 5, 280, style="marian", show_progress=False)
    config = ScratchSeq2SeqConfig(
        **SIZES, vocab_size=len(tokenizer), decoder_vocab_size=len(target), share_encoder_decoder_embeddings=False,
        **special_token_ids(target),
    )  # fmt: skip
    model = lively(ScratchSeq2SeqForConditionalGeneration(config))
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    target.save_pretrained(tmp_path / "target_tokenizer")
    ids = model.generate(**tokenizer(TEXTS[0], return_tensors="pt", return_token_type_ids=False), **OPTIONS)
    wanted = [{"translation_text": target.decode(ids[0], skip_special_tokens=True).strip()}]
    assert pipeline("seq2seq-translation", model=str(tmp_path), trust_remote_code=True)(TEXTS[0], **OPTIONS) == wanted
    given = TranslationPipeline(model=model, tokenizer=tokenizer, target_tokenizer=target)
    assert given(TEXTS[0], **OPTIONS) == wanted


def test_settings_of_a_task_come_from_the_config_as_t5_has_them(
    tokenizer: PreTrainedTokenizerFast, bart: BartForConditionalGeneration
) -> None:
    prefix = "dog: "
    bart.config.task_specific_params = {
        "translation_en_to_de": {"prefix": prefix, "num_beams": 3, "max_new_tokens": 5},
        "summarization": {"prefix": prefix},
    }
    try:
        translate = TranslationPipeline(model=bart, tokenizer=tokenizer, do_sample=False)
        wanted = expected(bart, tokenizer, prefix + TEXTS[0], num_beams=3, max_new_tokens=5, do_sample=False)
        assert translate(TEXTS[0], src_lang="en", tgt_lang="de") == [{"translation_text": wanted[0]}]
        assert (
            translate(TEXTS[0], **OPTIONS)[0]["translation_text"] == expected(bart, tokenizer, TEXTS[0], **OPTIONS)[0]
        )
        summarize = SummarizationPipeline(model=bart, tokenizer=tokenizer)
        wanted = expected(bart, tokenizer, prefix + TEXTS[0], **OPTIONS)
        assert summarize(TEXTS[0], **OPTIONS) == [{"summary_text": wanted[0]}]
    finally:
        del bart.config.task_specific_params


def test_what_cannot_be_is_refused(
    model: ScratchSeq2SeqForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> None:
    serve: Pipeline = Text2TextGenerationPipeline(model=model, tokenizer=tokenizer)
    with pytest.raises(ValueError, match="int '3' is no text"):
        serve(3)
    with pytest.raises(ValueError, match="exclude each other"):
        serve("a", return_text=True, return_tensors=True)
    with pytest.raises(ValueError, match="no_such_option"):
        serve("a", no_such_option=1)
    assert serve([], **OPTIONS) == []
