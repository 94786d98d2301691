# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The workloads: what users train, ask and generate, done by Hugging Face's model and by ours of the same function."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from benchmark_models import (
    TEXTS,
    TextBatches,
    bert,
    check_equal,
    gpt2,
    linear_shapes,
    marian,
    pair,
    read_texts,
    step_flops,
    training_step,
)
from benchmark_timing import Comparison, growth, peak_memory
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2LMHeadModel,
    MarianMTModel,
    pipeline,
)

from tokenization import train_bpe_tokenizer


@dataclass
class Size:
    """What is compared: an encoder of 4 layers, 256 wide, 4 heads, if nothing else is said."""

    width: int = field(default=256, metadata={"help": "Features of a token; a head has 64."})
    layers: int = field(default=4, metadata={"help": "Blocks, on each side of an encoder-decoder."})
    vocab_size: int = field(default=16_000, metadata={"help": "Tokens of the vocabulary."})
    rounds: int = field(default=15, metadata={"help": "How often each side runs."})
    data_folder: Path | None = field(
        default=None, metadata={"help": "Holds sst2/train.parquet and imdb/train.parquet; else texts are invented."}
    )


BATCH_SIZES = {"sst2": 64, "imdb": 16}


def train(name: str, size: Size) -> Iterator[Comparison]:
    """Training steps of a classifier, in Trainer's default order and grouped by length, the same batches for both."""
    texts, source = read_texts(size.data_folder, name, BATCH_SIZES[name] * 60)
    batches = TextBatches(texts, TEXTS[name][1], BATCH_SIZES[name], size.vocab_size)
    peer, ours = pair(BertForSequenceClassification, bert(size.vocab_size, size.width, size.layers))
    check_equal(peer, ours, batches.draw(1, grouped=False)[0])
    steps = training_step(peer), training_step(ours)
    for setting, grouped in (("random order", False), ("grouped by length", True)):
        drawn = batches.draw(size.rounds, grouped)
        yield Comparison(
            f"train-{name}", f"{setting}, {source}", partial(_run, steps[0], drawn), partial(_run, steps[1], drawn),
            tokens=[int(batch["attention_mask"].sum()) for batch in drawn],
            flops=list(step_flops(drawn, size.width, size.layers, spared=False)),
            computed=list(step_flops(drawn, size.width, size.layers, spared=True)),
            shapes=linear_shapes(size.width, size.layers),
        )  # fmt: skip


def _run(step: Callable[[Any], Any], batches: list[Any], number: int) -> None:
    step(batches[number])


def padding(size: Size) -> Iterator[Comparison]:
    """Our own step on the batches of train-sst2, and on the same with twice the padding: the ratio is to be 1."""
    texts, source = read_texts(size.data_folder, "sst2", BATCH_SIZES["sst2"] * 60)
    batches = TextBatches(texts, TEXTS["sst2"][1], BATCH_SIZES["sst2"], size.vocab_size)
    _, ours = pair(BertForSequenceClassification, bert(size.vocab_size, size.width, size.layers))
    step, drawn = training_step(ours), batches.draw(size.rounds, grouped=False)
    wider = [
        {
            name: value if value.ndim == 1 else torch.cat((value, torch.zeros_like(value)), 1)
            for name, value in b.items()
        }
        for b in drawn
    ]
    tokens = [int(batch["attention_mask"].sum()) for batch in drawn]
    setting = f"twice the padding against once, ours both, {source}"
    yield Comparison("padding", setting, partial(_run, step, wider), partial(_run, step, drawn), tokens)


def mlm(size: Size) -> Iterator[Comparison]:
    """Training steps of a masked language model on full rows of 128, 15 % of the tokens hidden, batches of 32."""
    peer, ours = pair(BertForMaskedLM, bert(size.vocab_size, size.width, size.layers), sparse_prediction=True)
    generator = torch.Generator().manual_seed(0)
    batches = []
    for _ in range(size.rounds):
        ids = torch.randint(5, size.vocab_size, (32, 128), generator=generator)
        labels = ids.masked_fill(torch.rand(ids.shape, generator=generator) > 0.15, -100)
        batches.append({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels})
    check_equal(peer, ours, batches[0], rows=batches[0]["labels"] != -100)
    jobs = [partial(_run, training_step(model), batches) for model in (peer, ours)]
    yield Comparison("mlm", "32 full rows of 128", jobs[0], jobs[1], tokens=[32 * 128] * size.rounds)


def infer(name: str, size: Size) -> Iterator[Comparison]:
    """`pipeline("text-classification")` over texts in the order they come, 32 at a time."""
    texts, source = read_texts(size.data_folder, name, 32 * (20 if name == "sst2" else 4))
    batches = TextBatches(texts, TEXTS[name][1], 32, size.vocab_size)
    models_of_both = pair(BertForSequenceClassification, bert(size.vocab_size, size.width, size.layers))
    batches.tokenizer.model_max_length = TEXTS[name][1]
    task: Any = "text-classification"
    tokenizer: Any = batches.tokenizer
    classify = [pipeline(task, model=m, tokenizer=tokenizer) for m in models_of_both]
    expected, found = (one(texts, batch_size=32, truncation=True) for one in classify)
    if any(abs(a["score"] - b["score"]) > 1e-3 for a, b in zip(expected, found)):
        raise AssertionError("the two pipelines answer differently")

    def job(one: Any, _: int) -> None:
        one(texts, batch_size=32, truncation=True)

    tokens = [sum(map(len, batches.ids))] * max(3, size.rounds // 3)
    peer, ours = (partial(job, one) for one in classify)
    yield Comparison(f"infer-{name}", f"pipeline, {source}", peer, ours, tokens)


def generate(size: Size) -> Iterator[Comparison]:
    """Greedy generation of 64 tokens from prompts of 24, one and eight at a time."""
    models_of_both = pair(GPT2LMHeadModel, gpt2(size.vocab_size, size.width, size.layers))
    for rows in (1, 8):
        prompt = torch.randint(5, size.vocab_size, (rows, 24), generator=torch.Generator().manual_seed(0))
        yield _generation("generate-gpt2", f"batch {rows}, greedy", models_of_both, prompt, 64, size)


def translate(size: Size) -> Iterator[Comparison]:
    """Beams of 4, 24 tokens each, for 32 sources of 24 tokens at once."""
    models_of_both = pair(MarianMTModel, marian(size.vocab_size, size.width, size.layers))
    source = torch.randint(5, size.vocab_size, (32, 24), generator=torch.Generator().manual_seed(0))
    yield _generation("translate-marian", "batch 32, beam 4", models_of_both, source, 24, size, num_beams=4)


def _generation(
    name: str, setting: str, both: tuple[Any, Any], ids: torch.Tensor, new: int, size: Size, **options: Any
) -> Comparison:
    options |= {"max_new_tokens": new, "min_new_tokens": new, "do_sample": False, "pad_token_id": 0}
    mask = torch.ones_like(ids)

    def job(model: Any, _: int) -> Any:
        return model.generate(ids, attention_mask=mask, **options)

    if not torch.equal(*(job(model, 0) for model in both)):
        raise AssertionError(f"{name}: the two models generate different tokens")
    tokens = [len(ids) * new] * max(3, size.rounds // 3)
    return Comparison(name, setting, partial(job, both[0]), partial(job, both[1]), tokens)


def tokenizer_train(size: Size) -> Iterator[Comparison]:
    """A vocabulary of byte pairs, beside the tokenizers library's own trainer on the same texts."""
    texts, source = read_texts(size.data_folder, "sst2", 10_000)

    def library(_: int) -> None:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=4000, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator(texts, trainer)

    def ours(_: int) -> None:
        train_bpe_tokenizer(texts, vocab_size=4000)

    tokens = [sum(len(text.split()) for text in texts)] * max(3, size.rounds // 3)
    yield Comparison("tokenizer-train", f"4,000 byte pairs, {source}", library, ours, tokens=tokens)


def load(size: Size) -> Comparison:
    """from_pretrained of a saved classifier."""
    both = pair(BertForSequenceClassification, bert(size.vocab_size, size.width, size.layers))
    folders = [TemporaryDirectory() for _ in both]
    for model, folder in zip(both, folders):
        model.save_pretrained(folder.name)

    def job(side: int, _: int) -> None:
        type(both[side]).from_pretrained(folders[side].name)

    return Comparison(
        "load", "from_pretrained", partial(job, 0), partial(job, 1), tokens=[0] * max(3, size.rounds // 3)
    )


def memory(size: Size) -> dict[str, Any]:
    """Peak memory of training steps of train-imdb in a fresh process for each side, above the model at rest."""
    peer, ours = (peak_memory(_training_growth, size, side) for side in (0, 1))
    row = {"workload": "memory", "setting": "train-imdb, random order", "peer_mib": peer, "ours_mib": ours}
    return row | {"ratio": ours / peer}


def _training_growth(size: Size, side: int) -> float:
    texts, _ = read_texts(size.data_folder, "imdb", BATCH_SIZES["imdb"] * 20)
    batches = TextBatches(texts, TEXTS["imdb"][1], BATCH_SIZES["imdb"], size.vocab_size)
    step = training_step(pair(BertForSequenceClassification, bert(size.vocab_size, size.width, size.layers))[side])
    short = {name: value[:1, :4] if value.ndim == 2 else value[:1] for name, value in batches.draw(1, False)[0].items()}
    drawn = batches.draw(4, grouped=False)
    return growth(lambda: step(short), lambda: [step(batch) for batch in drawn])


WORKLOADS: dict[str, Callable[[Size], Iterator[Comparison]]] = {
    "train-sst2": partial(train, "sst2"),
    "train-imdb": partial(train, "imdb"),
    "padding": padding,
    "mlm": mlm,
    "infer-sst2": partial(infer, "sst2"),
    "infer-imdb": partial(infer, "imdb"),
    "generate-gpt2": generate,
    "translate-marian": translate,
    "tokenizer-train": tokenizer_train,
}
