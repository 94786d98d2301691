# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The library's pipelines, from the object and from its folder, one text or many, and the package's own by name."""

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
from transformers import Pipeline, PreTrainedTokenizerFast, TextIteratorStreamer, pipeline

from modeling_scratch.pipelines import SEQ2SEQ_PIPELINES
from modeling_scratch.question_answering import ENCODER_PIPELINES
from tokenization import special_token_ids, train_bpe_tokenizer

REVIEW_TEXTS = [text for text, _ in REVIEWS]
MASKED_TEXTS = ["a [MASK] film", "[MASK]", "the film is slow , [MASK] and long", "what a [MASK] good film by Anna Berg"]


def named(*labels: str) -> dict[str, Any]:
    """The labels of a config, in their order."""
    return {
        "num_labels": len(labels), "id2label": dict(enumerate(labels)),
        "label2id": {name: i for i, name in enumerate(labels)},
    }  # fmt: skip


SENTIMENT = named("NEGATIVE", "POSITIVE")
ENTAILMENT = named("contradiction", "entailment")
ENTITIES = named("O", "B-PER", "I-PER", "B-LOC", "I-LOC")

# task: class, settings of its config, texts, arguments of the call
TASKS: dict[str, tuple[Case, dict, list[str], dict]] = {
    "text-classification": (TEXTS, SENTIMENT, REVIEW_TEXTS, {"top_k": None}),
    "token-classification": (TOKENS, ENTITIES, REVIEW_TEXTS, {"ignore_labels": []}),
    "ner": (TOKENS, ENTITIES, REVIEW_TEXTS, {"aggregation_strategy": "simple"}),
    "fill-mask": (MASKED_LM, {}, MASKED_TEXTS, {"top_k": 3}),
    "feature-extraction": (ENCODER, {}, REVIEW_TEXTS, {}),
    "zero-shot-classification": (
        TEXTS,
        ENTAILMENT,
        REVIEW_TEXTS,
        {"candidate_labels": ["good", "moving", "slow film"]},
    ),
}


def serve(task: str, folder: Path | None = None, **settings: Any) -> Pipeline:
    """The pipeline of a task, made without a warning: a class that is not registered is warned about."""
    case, config, *_ = TASKS[task]
    model, tokenizer = case.model(**{**config, **settings}), toy_tokenizer()
    arguments: dict[str, Any] = {"model": model, "tokenizer": tokenizer}
    if folder is not None:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        arguments = {"model": str(folder)}
    with library_messages() as messages, warnings.catch_warnings():
        warnings.simplefilter("error")
        made = pipeline(task, **arguments, device="cpu")
    assert not [message for message in messages if "support" in message]
    assert type(made.model) is case.model_class
    return made


@pytest.mark.parametrize("task", TASKS)
def test_many_texts_at_once_get_the_answers_of_one_by_one(task: str, tmp_path: Path) -> None:
    """Of a folder: texts of different lengths, in batches of three, padded, and packed where that saves work."""
    _, _, texts, arguments = TASKS[task]
    served = serve(task, tmp_path)
    together, alone = list(served(texts, batch_size=3, **arguments)), [served(text, **arguments) for text in texts]
    if task == "feature-extraction":
        together = [[rows[0][: len(own[0])]] for rows, own in zip(together, alone)]  # those of padding come along
        states = served.model(**toy_tokenizer()(texts[0], return_tensors="pt")).last_hidden_state
        torch.testing.assert_close(torch.tensor(alone[0]), states, atol=1e-6, rtol=0)
    assert_same_answers(together, alone)


# Decoders

PROMPTS = ["once upon a time", "a", "the green field and the old dog"]
CHAT = [{"role": "user", "content": "tell me of the dog"}]
TEMPLATE = "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}"
OPTIONS = {"max_new_tokens": 6, "do_sample": False, "no_repeat_ngram_size": 1}


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    return train_bpe_tokenizer(PROMPTS * 3, 300, style="gpt", padding_side="left", show_progress=False)


def test_texts_and_chats_go_on_as_generate_goes_on(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    ids = {"vocab_size": len(tokenizer), **special_token_ids(tokenizer)}
    model = lively(CAUSAL_LM.model(**ids, norm_position="pre", position_type="rotary", use_cache=True))
    tokenizer.chat_template = TEMPLATE
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
    prompt = tokenizer.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    assert write(CHAT, **OPTIONS)[0]["generated_text"][-1] == {"role": "assistant", "content": continuation(prompt)}


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
