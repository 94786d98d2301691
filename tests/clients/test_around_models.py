# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Libraries that evaluate, embed, constrain and distribute models."""

import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from client_pairs import LABEL, REVIEWS, TEXTS, WRITE, Pair, assert_same, client, folders, losses, pair, steps
from datasets import Dataset
from together import together

WRITERS = pytest.mark.parametrize("model_type", ["gpt2", "llama"])


@client("lm-eval", "GPT-2, Llama")
@WRITERS
def test_lm_eval(model_type: str, tmp_path: Path) -> None:
    """HFLM: log-likelihoods, rolling ones and generated texts"""
    hflm = import_module("lm_eval.models.huggingface").HFLM
    instance = import_module("lm_eval.api.instance").Instance
    models = pair(model_type, WRITE)
    found = []
    for model in models:
        judged = hflm(pretrained=model, tokenizer=models.tokenizer, batch_size=2, max_length=32)
        likely = [instance("loglikelihood", {}, (text, " good"), i) for i, text in enumerate(TEXTS)]
        rolling = [instance("loglikelihood_rolling", {}, (text,), i) for i, text in enumerate(TEXTS)]
        until = {"until": ["bad"], "max_gen_toks": 6, "do_sample": False}
        write = [instance("generate_until", {}, (text, dict(until)), i) for i, text in enumerate(TEXTS)]
        scores = [score for score, _ in judged.loglikelihood(likely)], judged.loglikelihood_rolling(rolling)
        found.append((torch.tensor(scores), judged.generate_until(write)))
    assert_same(found[1][0], found[0][0])
    assert found[1][1] == found[0][1]


ZERO = {"gradient_accumulation_steps": "auto", "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}


def trained_by_zero(rank: int, stage: int, size: int, models: Pair, head: str, folder: str) -> None:
    """Write the loss of each step of both models; stage 0 is Trainer alone."""
    os.environ["DS_ACCELERATOR"] = "cpu"
    rows = Dataset.from_list([{**models.tokenizer(text), "label": label} for text, label in REVIEWS])
    collate = None if head == LABEL else transformers.DataCollatorForLanguageModeling(models.tokenizer, mlm=False)
    rows = rows if head == LABEL else rows.remove_columns("label")
    found = []
    models.theirs.accepts_loss_kwargs = head != LABEL  # else Trainer takes BERT's mean over a process for a part of one
    for model in models:
        settings = {"deepspeed": {**ZERO, "zero_optimization": {"stage": stage}}} if stage else {}
        arguments = transformers.TrainingArguments(**steps(Path(folder), per_device_train_batch_size=size, **settings))
        trainer = transformers.Trainer(
            model, arguments, train_dataset=rows, data_collator=collate, processing_class=models.tokenizer
        )
        found.append(losses(trainer).tolist())
    if rank == 0:
        (Path(folder) / f"{stage}.json").write_text(json.dumps(found))


@client("deepspeed", "BERT, Llama", needs="accelerate")
@pytest.mark.parametrize("stage", [2, 3], ids=["ZeRO-2", "ZeRO-3"])
@pytest.mark.parametrize(("model_type", "head"), [("bert", LABEL), ("llama", WRITE)])
def test_deepspeed(model_type: str, head: str, stage: int, tmp_path: Path) -> None:
    """ZeRO-2 and ZeRO-3 by Trainer, two processes on a CPU: loss of each step, also that of one process without it"""
    together(1, trained_by_zero, 0, 4, pair(model_type, head), head, str(tmp_path))
    together(2, trained_by_zero, stage, 2, pair(model_type, head), head, str(tmp_path))
    alone, shared = (torch.tensor(json.loads((tmp_path / f"{name}.json").read_text())) for name in (0, stage))
    assert alone.std(dim=1).min() > 0.01
    assert_same(shared, alone[0].expand(2, -1), atol=1e-3)


PATTERN = r" (good|bad) (film|end)"


@client("xgrammar", "GPT-2, Llama")
@WRITERS
def test_xgrammar(model_type: str) -> None:
    """A regular expression as LogitsProcessor of `generate`: texts"""
    xgrammar = import_module("xgrammar")
    models = pair(model_type, WRITE)
    tokens = xgrammar.TokenizerInfo.from_huggingface(models.tokenizer, vocab_size=models.ours.config.vocab_size)
    grammar = xgrammar.GrammarCompiler(tokens).compile_regex(PATTERN)
    process = import_module("xgrammar.contrib.hf").LogitsProcessor
    batch = models.tokenizer(TEXTS[:3], padding=True, return_tensors="pt", padding_side="left")
    batch.pop("token_type_ids", None)
    found = []
    for model in models:
        ids = model.generate(**batch, max_new_tokens=16, do_sample=False, logits_processor=[process(grammar)])
        found.append(models.tokenizer.batch_decode(ids[:, batch["input_ids"].shape[1] :], skip_special_tokens=True))
    assert found[1] == found[0]
    assert all(re.fullmatch(PATTERN, text) for text in found[1])


@client("transformers", "Llama")
def test_continuous_batching() -> None:
    """`generate_batch`, continuous batching with paged attention: texts, also those of `generate`"""
    models = pair("llama", WRITE)
    config = transformers.GenerationConfig(
        max_new_tokens=6, do_sample=False, eos_token_id=models.tokenizer.eos_token_id, pad_token_id=0
    )
    pages = transformers.ContinuousBatchingConfig(num_blocks=16, max_batch_tokens=32)  # else it takes all the memory
    prompts = models.tokenizer(TEXTS[:4]).input_ids
    found = []
    for model in models:
        alone = [model.generate(torch.tensor([ids]), generation_config=config)[0, len(ids) :] for ids in prompts]
        outputs = model.generate_batch(prompts, config, pages)
        texts = {tuple(output.prompt_ids): output.generated_tokens for output in outputs.values()}
        found.append([texts[tuple(ids)] for ids in prompts])
        assert found[-1] == [ids.tolist() for ids in alone]
    assert found[1] == found[0]


def embedders(top: Path, pooling: str = "mean") -> list[Any]:
    """Sentence Transformers on the native model and on ours, which are loaded by name."""
    library = import_module("sentence_transformers")
    parts = import_module("sentence_transformers.models")
    found = []
    for folder in folders(pair("bert", "ScratchEncoderModel"), top):
        words = parts.Transformer(folder)
        pooled = parts.Pooling(words.get_word_embedding_dimension(), pooling)
        found.append(library.SentenceTransformer(modules=[words, pooled], device="cpu"))
    return found


@client("sentence-transformers", "BERT")
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_embeddings(pooling: str, tmp_path: Path) -> None:
    """Embeddings of texts of several lengths, by mean, first token and maximum"""
    theirs, ours = (model.encode(TEXTS, convert_to_tensor=True) for model in embedders(tmp_path, pooling))
    assert_same(ours, theirs)


@client("sentence-transformers", "BERT", needs="accelerate")
def test_training_on_pairs(tmp_path: Path) -> None:
    """SentenceTransformerTrainer with MultipleNegativesRankingLoss: loss of each step, and embeddings after them"""
    library = import_module("sentence_transformers")
    kinds = import_module("sentence_transformers.losses")
    rows = Dataset.from_dict({"anchor": TEXTS, "positive": TEXTS[1:] + TEXTS[:1]})
    found = []
    for model in embedders(tmp_path):
        arguments = library.SentenceTransformerTrainingArguments(**steps(tmp_path / "run"))
        loss = kinds.MultipleNegativesRankingLoss(model)
        trainer = library.SentenceTransformerTrainer(model, args=arguments, train_dataset=rows, loss=loss)
        found.append((losses(trainer), model.encode(TEXTS, convert_to_tensor=True)))
    assert_same(found[1], found[0], atol=5e-4)
