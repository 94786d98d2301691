# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Text to text pipelines: what they answer is what `generate` gives, for scratch models and for native ones."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import SEQ2SEQ_LM, library_messages
from shared import lively
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    Pipeline,
    PreTrainedTokenizerFast,
    pipeline,
)

from modeling_scratch.pipelines import SummarizationPipeline, Text2TextGenerationPipeline, TranslationPipeline
from tokenization import special_token_ids, train_bpe_tokenizer

TEXTS = ["a dog runs over the green field", "snow", "two people sit at a table and read the news of the day"]
TASKS = {
    "seq2seq-generation": (Text2TextGenerationPipeline, "generated"),
    "seq2seq-summarization": (SummarizationPipeline, "summary"),
    "seq2seq-translation": (TranslationPipeline, "translation"),
}
SIZES = {"num_hidden_layers": 1, "num_attention_heads": 2, "norm_position": "pre", "use_cache": True}
BART_SIZES = {
    "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 80,
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_bpe_tokenizer(TEXTS * 3, 300, style="marian", model_max_length=64, show_progress=False)


def build(tokenizer: PreTrainedTokenizerFast, **settings: Any) -> Any:
    ids = {"vocab_size": len(tokenizer), **special_token_ids(tokenizer)}
    return lively(SEQ2SEQ_LM.model(**{**SIZES, **ids, **settings}))


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast) -> Any:
    return build(tokenizer)


@pytest.fixture(scope="module")
def bart(tokenizer: PreTrainedTokenizerFast) -> BartForConditionalGeneration:
    ids = {"vocab_size": len(tokenizer), "bos_token_id": None, "forced_eos_token_id": None}
    return lively(BartForConditionalGeneration(BartConfig(**BART_SIZES, **ids, **special_token_ids(tokenizer))))


def encoded(tokenizer: PreTrainedTokenizerFast, text: str) -> Any:
    return tokenizer(text, return_tensors="pt", return_token_type_ids=False)


def expected(model: Any, tokenizer: PreTrainedTokenizerFast, text: str, **options: Any) -> list[str]:
    outputs = model.generate(**encoded(tokenizer, text), **options)
    return [answer.strip() for answer in tokenizer.batch_decode(outputs, skip_special_tokens=True)]


OPTIONS = {"max_new_tokens": 8, "do_sample": False, "no_repeat_ngram_size": 1}


@pytest.mark.parametrize(("task", "family"), [*zip(TASKS, ("model", "bart", "model"))])
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
    assert serve(TEXTS, num_beams=3, batch_size=3, **OPTIONS) == [{name: answer} for answer in answers]
    stream = serve((text for text in TEXTS), num_beams=3, **OPTIONS)
    assert [answer[0][name] for answer in stream] == answers


@pytest.mark.parametrize("ends_as_it_fills", [False, True])
def test_an_answer_ends_where_it_ends_alone(model: Any, tokenizer: Any, ends_as_it_fills: bool) -> None:
    """Nothing of what fills a batch is in its ids or its score, and the token that ends it is in both."""
    serve = Text2TextGenerationPipeline(model=model, tokenizer=tokenizer)
    options: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "return_scores": True, "return_tensors": True}
    end = int(serve(TEXTS[0], **options)[0]["generated_token_ids"][3])
    options |= {"eos_token_id": end, **({"pad_token_id": end} if ends_as_it_fills else {})}
    together, alone = serve(TEXTS, batch_size=3, **options), [serve(text, **options)[0] for text in TEXTS]
    assert together[0]["generated_token_ids"].tolist().index(end) == len(together[0]["generated_token_ids"]) - 1
    assert len(together[0]["generated_token_ids"]) < max(len(answer["generated_token_ids"]) for answer in together)
    for text, one, other in zip(TEXTS, together, alone):
        ids = one["generated_token_ids"]
        assert ids.tolist() == other["generated_token_ids"].tolist()
        inputs = encoded(tokenizer, text)
        logits = model(**inputs, decoder_input_ids=ids[None, :-1]).logits.log_softmax(-1)
        by_hand = logits.gather(-1, ids[None, 1:, None]).mean().item()
        assert [one["score"], other["score"]] == pytest.approx([by_hand] * 2, abs=1e-5)


def test_an_answer_of_which_nobody_says_the_length_ends_where_the_positions_end(tokenizer: Any) -> None:
    limit = 32
    short = build(tokenizer, position_type="learned", max_position_embeddings=limit)
    serve = Text2TextGenerationPipeline(model=short, tokenizer=tokenizer, do_sample=False, eos_token_id=None)
    own = GenerationConfig(**{**short.generation_config.to_diff_dict(), "num_beams": 2})
    for options in {}, {"generation_config": own}:
        assert len(serve(TEXTS[1], return_tensors=True, **options)[0]["generated_token_ids"]) == 1 + limit
    limited = GenerationConfig(**{**own.to_diff_dict(), "max_new_tokens": 5})
    options = {"generation_config": limited, "return_scores": True, "return_tensors": True}
    with library_messages() as messages:
        (answer,) = TranslationPipeline(model=short, tokenizer=tokenizer)(TEXTS[1], **options)
    assert len(answer["translation_token_ids"]) <= 6
    assert answer["score"] < 0
    assert not [message for message in messages if "generation_config" in message]
    assert limited.output_scores is not True  # the user's own stays as it was


def with_two_vocabularies(
    folder: Path, tokenizer: PreTrainedTokenizerFast, german: str
) -> tuple[Any, PreTrainedTokenizerFast]:
    """A model of that folder, and the tokenizer of what it writes."""
    target = train_bpe_tokenizer([german] * 5, 280, style="marian", show_progress=False)
    own = {"decoder_vocab_size": len(target), "share_encoder_decoder_embeddings": False, **special_token_ids(target)}
    model = build(tokenizer, **own)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    target.save_pretrained(folder / "target_tokenizer")
    return model, target


def test_a_decoder_with_a_vocabulary_of_its_own_is_decoded_by_its_own_tokenizer(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    model, target = with_two_vocabularies(tmp_path, tokenizer, "der die das Hund Schnee")
    ids = model.generate(**encoded(tokenizer, TEXTS[0]), **OPTIONS)
    wanted = [{"translation_text": target.decode(ids[0], skip_special_tokens=True).strip()}]
    assert pipeline("seq2seq-translation", model=str(tmp_path), trust_remote_code=True)(TEXTS[0], **OPTIONS) == wanted
    given = TranslationPipeline(model=model, tokenizer=tokenizer, target_tokenizer=target)
    assert given(TEXTS[0], **OPTIONS) == wanted


@pytest.fixture(scope="module")
def of_many_languages() -> TranslationPipeline:
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    tokenizer = MBartTokenizer(vocab=vocabulary + [(letter, -3.0) for letter in "abcdefghijklmnopqrstuvwxyz"])
    ids = {"decoder_start_token_id": tokenizer.eos_token_id, "forced_eos_token_id": None}
    mbart = lively(MBartForConditionalGeneration(MBartConfig(**BART_SIZES, **ids, vocab_size=len(tokenizer))))
    return TranslationPipeline(model=mbart, tokenizer=tokenizer, max_new_tokens=6, do_sample=False)


def test_languages_are_named_in_the_text_and_in_the_answer(of_many_languages: TranslationPipeline) -> None:
    """As the tokenizer has them: the source's code behind its text, the target's before its answer."""
    tokenizer, model = of_many_languages.tokenizer, of_many_languages.model
    answers = {}
    for source, target in ("en_XX", "de_DE"), ("fr_XX", "de_DE"), ("en_XX", "ro_RO"):
        codes = tokenizer.convert_tokens_to_ids([source, target])
        found = of_many_languages(TEXTS, batch_size=3, src_lang=source, tgt_lang=target, return_tensors=True)
        for text, answer in zip(TEXTS, found):
            plain = tokenizer(text, add_special_tokens=False)["input_ids"]
            inputs = torch.tensor([[*plain, tokenizer.eos_token_id, codes[0]]])
            ids = model.generate(input_ids=inputs, forced_bos_token_id=codes[1], max_new_tokens=6, do_sample=False)[0]
            assert answer["translation_token_ids"].tolist() == ids[: len(answer["translation_token_ids"])].tolist()
            assert answer["translation_token_ids"][1] == codes[1]
        answers[source, target] = str(found)
    assert len(set(answers.values())) == 3


def test_a_native_model_that_a_pipeline_saves_brings_the_pipeline_along(
    bart: Any, tokenizer: Any, tmp_path: Path
) -> None:
    serve: Any = pipeline("seq2seq-translation", model=copy.deepcopy(bart), tokenizer=tokenizer)
    serve.save_pretrained(tmp_path)
    assert "pipelines.py" in {path.name for path in tmp_path.iterdir()}
    again: Any = pipeline("seq2seq-translation", model=str(tmp_path), trust_remote_code=True)
    assert type(again).__module__.startswith("transformers_modules")
    assert again(TEXTS, **OPTIONS) == serve(TEXTS, **OPTIONS)


def test_settings_of_a_task_come_from_the_config_as_t5_has_them(tokenizer: Any, bart: Any) -> None:
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


def test_what_cannot_be_is_refused(model: Any, tokenizer: Any) -> None:
    serve: Pipeline = Text2TextGenerationPipeline(model=model, tokenizer=tokenizer)
    bare = train_bpe_tokenizer(TEXTS, 270, style="gpt", show_progress=False)
    for options, fault in (
        ({"inputs": 3}, "int '3' is no text"),
        ({"return_text": True, "return_tensors": True}, "exclude each other"),
        ({"no_such_option": 1}, "no_such_option"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
    ):
        with pytest.raises(ValueError, match=fault):
            serve(**{"inputs": "a", **options})
    assert serve([], **OPTIONS) == []
    with pytest.raises(ValueError, match="'' gives no tokens"):
        Text2TextGenerationPipeline(model=model, tokenizer=bare)("", **OPTIONS)
    two = SEQ2SEQ_LM.model(decoder_vocab_size=30, share_encoder_decoder_embeddings=False)
    with pytest.raises(ValueError, match="give target_tokenizer"):
        Text2TextGenerationPipeline(model=two, tokenizer=tokenizer)
