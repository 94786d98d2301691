# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The library's pipelines, from the object and from its folder, and the package's own by name: text to text.

Those answer what `generate` gives, for scratch models and for native ones. Questions: see test_question_answering.py.
"""

import copy
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import (
    CAUSAL_LM,
    ENCODER,
    MASKED_LM,
    SEQ2SEQ_LM,
    SPANS,
    TEXTS,
    TOKENS,
    Case,
    assert_same_answers,
    library_messages,
)
from shared import lively
from toy_text import REVIEWS, toy_tokenizer
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    Pipeline,
    PreTrainedTokenizerFast,
    TextIteratorStreamer,
    pipeline,
)

from modeling_scratch.pipelines import (
    SEQ2SEQ_PIPELINES,
    SummarizationPipeline,
    Text2TextGenerationPipeline,
    TranslationPipeline,
)
from modeling_scratch.question_answering import ENCODER_PIPELINES
from tokenization import special_token_ids, train_bpe_tokenizer

REVIEW_TEXTS = [text for text, _ in REVIEWS]
MASKED_TEXTS = ["a [MASK] film", "[MASK]", "the film is slow , [MASK] and long", "what a [MASK] good film by Anna Berg"]


def named(*labels: str) -> dict[str, Any]:
    """The labels of a config, in their order."""
    return {"num_labels": len(labels), "id2label": dict(enumerate(labels))}


SENTIMENT, ENTAILMENT = named("NEGATIVE", "POSITIVE"), named("contradiction", "entailment")
ENTITIES = named("O", "B-PER", "I-PER", "B-LOC", "I-LOC")

# task: class, settings of its config, texts, arguments of the call
TASKS: dict[str, tuple[Case, dict, list[str], dict]] = {
    "text-classification": (TEXTS, SENTIMENT, REVIEW_TEXTS, {"top_k": None}),
    "token-classification": (TOKENS, ENTITIES, REVIEW_TEXTS, {"ignore_labels": []}),
    "ner": (TOKENS, ENTITIES, REVIEW_TEXTS, {"aggregation_strategy": "simple"}),
    "fill-mask": (MASKED_LM, {}, MASKED_TEXTS, {"top_k": 3}),
    "feature-extraction": (ENCODER, {}, REVIEW_TEXTS, {}),
    "zero-shot-classification": (TEXTS, ENTAILMENT, REVIEW_TEXTS, {"candidate_labels": ["good", "a slow film"]}),
}


@pytest.mark.parametrize("task", TASKS)
def test_many_texts_at_once_get_the_answers_of_one_by_one(task: str, tmp_path: Path) -> None:
    """Of a folder: texts of different lengths, in batches of three, padded, and packed where that saves work.

    Without a warning: a class that is not registered is warned about.
    """
    case, config, texts, arguments = TASKS[task]
    case.model(**config).save_pretrained(tmp_path)
    toy_tokenizer().save_pretrained(tmp_path)
    with library_messages() as messages, warnings.catch_warnings():
        warnings.simplefilter("error")
        served: Any = pipeline(task, model=str(tmp_path), device="cpu")
    assert not [message for message in messages if "support" in message]
    assert type(served.model) is case.model_class
    together, alone = list(served(texts, batch_size=3, **arguments)), [served(text, **arguments) for text in texts]
    if task == "feature-extraction":
        together = [[rows[0][: len(own[0])]] for rows, own in zip(together, alone)]  # those of padding come along
        states = served.model(**toy_tokenizer()(texts[0], return_tensors="pt")).last_hidden_state
        torch.testing.assert_close(torch.tensor(alone[0]), states, atol=1e-6, rtol=0)
    assert_same_answers(together, alone)


# Decoders

PROMPTS = ["once upon a time", "a", "the green field and the old dog"]
OPTIONS = {"max_new_tokens": 6, "do_sample": False, "no_repeat_ngram_size": 1}


def test_texts_go_on_as_generate_goes_on(tmp_path: Path) -> None:
    tokenizer = train_bpe_tokenizer(PROMPTS * 3, 300, style="gpt", padding_side="left", show_progress=False)
    ids = {"vocab_size": len(tokenizer), **special_token_ids(tokenizer)}
    model = lively(CAUSAL_LM.model(**ids, norm_position="pre", position_type="rotary", use_cache=True))
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    write: Any = pipeline("text-generation", model=str(tmp_path))

    def continuation(prompt: str) -> str:
        inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        ids = model.generate(**inputs, **OPTIONS)[0, inputs["input_ids"].shape[1] :]
        return tokenizer.decode(ids, skip_special_tokens=True)

    expected = [continuation(prompt) for prompt in PROMPTS]
    assert len(set(expected)) == len(PROMPTS)
    for batch_size in 1, 3:
        found = write(PROMPTS, batch_size=batch_size, return_full_text=False, **OPTIONS)
        assert [answers[0]["generated_text"] for answers in found] == expected
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
    write(PROMPTS[0], streamer=streamer, **OPTIONS)
    assert "".join(streamer) == expected[0]


# The package's own pipelines, for which nobody has to trust the folder's code where the package is

OWN = dict.fromkeys(ENCODER_PIPELINES, SPANS) | dict.fromkeys(SEQ2SEQ_PIPELINES, SEQ2SEQ_LM)
QUESTION = {"question": "who ?", "context": "what a good film by Anna Berg"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of each task, a folder whose model it serves."""
    tokenizer, top = toy_tokenizer(), tmp_path_factory.mktemp("folders")
    for case in SPANS, SEQ2SEQ_LM:
        case.model(vocab_size=len(tokenizer)).save_pretrained(top / case.model_class.__name__)
        tokenizer.save_pretrained(top / case.model_class.__name__)
    return {task: str(top / case.model_class.__name__) for task, case in OWN.items()}


@pytest.mark.parametrize(("task", "trust"), [*zip(OWN, (None, False, True, None), strict=True)])
def test_a_pipeline_of_the_package_is_found_by_its_name(folders: dict[str, str], task: str, trust: bool | None) -> None:
    serve: Any = pipeline(task, model=folders[task], trust_remote_code=trust)
    assert type(serve) is (ENCODER_PIPELINES | SEQ2SEQ_PIPELINES)[task][0]
    if task == "extractive-question-answering":  # the only one of its folder
        assert type(pipeline(model=folders[task])) is type(serve)
    answers = serve(**QUESTION) if task in ENCODER_PIPELINES else serve("a good film", max_new_tokens=3)
    assert answers


def test_code_of_others_needs_trust_whatever_its_task_is_called(folders: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(folders["extractive-question-answering"], tmp_path, dirs_exist_ok=True)
    config = json.loads((tmp_path / "config.json").read_text())
    for task in "extractive-question-answering", "reviews":
        config["custom_pipelines"] = {task: {"impl": "theirs.Pipeline", "pt": ["AutoModelForQuestionAnswering"]}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(ValueError, match="trust_remote_code"):
            pipeline(task, model=str(tmp_path))


def test_a_folder_names_the_pipelines_that_serve_its_head_and_those_of_its_user(tmp_path: Path) -> None:
    """Those that are named are taken where no task is: by a classifier, answers to questions would be."""
    config = SPANS.config()
    own = {"reviews": {"impl": "reviews.ReviewPipeline", "pt": ["AutoModelForSequenceClassification"]}}
    for case, named in (SPANS, {"extractive-question-answering"}), (TEXTS, {"reviews"}):
        case.model_class(config).save_pretrained(tmp_path)
        assert json.loads((tmp_path / "config.json").read_text())["custom_pipelines"].keys() == named
        config = case.model_class.from_pretrained(tmp_path).config
        config.custom_pipelines |= own


# Text to text

SOURCES = ["a dog runs over the green field", "snow", "two people sit at a table and read the news of the day"]
WRITERS = {
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
    return train_bpe_tokenizer(SOURCES * 3, 300, style="marian", model_max_length=64, show_progress=False)


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


@pytest.mark.parametrize(("task", "family"), [*zip(WRITERS, ("model", "bart", "model"))])
def test_answers_are_those_of_generate(
    task: str, family: str, tokenizer: PreTrainedTokenizerFast, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(family)
    name = f"{WRITERS[task][1]}_text"
    serve: Any = pipeline(task, model=model, tokenizer=tokenizer)
    assert type(serve) is WRITERS[task][0]
    answers = [expected(model, tokenizer, text, num_beams=3, **OPTIONS)[0] for text in SOURCES]
    assert len(set(answers)) == len(SOURCES)
    assert serve(SOURCES[0], num_beams=3, **OPTIONS) == [{name: answers[0]}]
    assert serve(SOURCES, num_beams=3, batch_size=3, **OPTIONS) == [{name: answer} for answer in answers]
    stream = serve((text for text in SOURCES), num_beams=3, **OPTIONS)
    assert [answer[0][name] for answer in stream] == answers


@pytest.mark.parametrize("ends_as_it_fills", [False, True])
def test_an_answer_ends_where_it_ends_alone(model: Any, tokenizer: Any, ends_as_it_fills: bool) -> None:
    """Nothing of what fills a batch is in its ids or its score, and the token that ends it is in both."""
    serve = Text2TextGenerationPipeline(model=model, tokenizer=tokenizer)
    options: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "return_scores": True, "return_tensors": True}
    end = int(serve(SOURCES[0], **options)[0]["generated_token_ids"][3])
    options |= {"eos_token_id": end, **({"pad_token_id": end} if ends_as_it_fills else {})}
    together, alone = serve(SOURCES, batch_size=3, **options), [serve(text, **options)[0] for text in SOURCES]
    assert together[0]["generated_token_ids"].tolist().index(end) == len(together[0]["generated_token_ids"]) - 1
    assert len(together[0]["generated_token_ids"]) < max(len(answer["generated_token_ids"]) for answer in together)
    for text, one, other in zip(SOURCES, together, alone):
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
        assert len(serve(SOURCES[1], return_tensors=True, **options)[0]["generated_token_ids"]) == 1 + limit
    limited = GenerationConfig(**{**own.to_diff_dict(), "max_new_tokens": 5})
    options = {"generation_config": limited, "return_scores": True, "return_tensors": True}
    with library_messages() as messages:
        (answer,) = TranslationPipeline(model=short, tokenizer=tokenizer)(SOURCES[1], **options)
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
    ids = model.generate(**encoded(tokenizer, SOURCES[0]), **OPTIONS)
    wanted = [{"translation_text": target.decode(ids[0], skip_special_tokens=True).strip()}]
    assert pipeline("seq2seq-translation", model=str(tmp_path), trust_remote_code=True)(SOURCES[0], **OPTIONS) == wanted
    given = TranslationPipeline(model=model, tokenizer=tokenizer, target_tokenizer=target)
    assert given(SOURCES[0], **OPTIONS) == wanted


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
        found = of_many_languages(SOURCES, batch_size=3, src_lang=source, tgt_lang=target, return_tensors=True)
        for text, answer in zip(SOURCES, found):
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
    assert again(SOURCES, **OPTIONS) == serve(SOURCES, **OPTIONS)


def test_settings_of_a_task_come_from_the_config_as_t5_has_them(tokenizer: Any, bart: Any) -> None:
    prefix = "dog: "
    bart.config.task_specific_params = {
        "translation_en_to_de": {"prefix": prefix, "num_beams": 3, "max_new_tokens": 5},
        "summarization": {"prefix": prefix},
    }
    try:
        translate = TranslationPipeline(model=bart, tokenizer=tokenizer, do_sample=False)
        wanted = expected(bart, tokenizer, prefix + SOURCES[0], num_beams=3, max_new_tokens=5, do_sample=False)
        assert translate(SOURCES[0], src_lang="en", tgt_lang="de") == [{"translation_text": wanted[0]}]
        assert (
            translate(SOURCES[0], **OPTIONS)[0]["translation_text"]
            == expected(bart, tokenizer, SOURCES[0], **OPTIONS)[0]
        )
        summarize = SummarizationPipeline(model=bart, tokenizer=tokenizer)
        wanted = expected(bart, tokenizer, prefix + SOURCES[0], **OPTIONS)
        assert summarize(SOURCES[0], **OPTIONS) == [{"summary_text": wanted[0]}]
    finally:
        del bart.config.task_specific_params


def test_what_cannot_be_is_refused(model: Any, tokenizer: Any) -> None:
    serve: Pipeline = Text2TextGenerationPipeline(model=model, tokenizer=tokenizer)
    bare = train_bpe_tokenizer(SOURCES, 270, style="gpt", show_progress=False)
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
