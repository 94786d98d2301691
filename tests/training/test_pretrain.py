# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretraining end to end on small texts: what it learns, writes and refuses, and what its checkpoints are good for."""

import json
import math
import random
import shutil
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pretrain
import pytest
import torch
from native_models import Native
from processes import refusal
from text_samples import fault, write
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
)
from uploads import uploaded_texts

from modeling_scratch.run.objectives import (
    PretrainingModelArguments,
    build_model,
    build_tokenizer,
    make_collator,
)

FAST = "--report_to none --use_cpu --disable_tqdm True --learning_rate 1e-2 --per_device_train_batch_size 8"
SMALL = "--config_overrides hidden_size=16,num_hidden_layers=1,num_attention_heads=2,intermediate_size=32"
CHARACTERS = f"--objective clm --tokenizer_kind character --block_size 32 {SMALL}"
MASKED = f"--objective mlm --tokenizer_kind wordlevel --block_size 32 {SMALL}"
DENOISING = f"--objective denoising --tokenizer_kind byte_bpe --vocab_size 300 --block_size 32 {SMALL}"
SUBJECTS, VERBS, OBJECTS = (["the cat", "a dog", "my aunt"], ["sees", "likes"], ["a film.", "the séa.", "one book."])


def prose(sentences: int, seed: int = 0) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(map(generator.choice, (SUBJECTS, VERBS, OBJECTS))) for _ in range(sentences)]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "long.txt").write_text("\n".join(prose(200)))
    write(folder / "many.csv", {"text": [f"{text} {number}" for number, text in enumerate(prose(150))]})
    return folder


def run(output: Path, options: str) -> Path:
    pretrain.main(f"--output_dir {output} {FAST} {options}".split())
    return output


@pytest.fixture(scope="module")
def decoder(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What its run prints stands beside it."""
    folder = tmp_path_factory.mktemp("decoder")
    with (folder / "printed").open("w") as file, redirect_stdout(file):
        return run(folder / "run", f"{CHARACTERS} --train_file {texts / 'long.txt'} --max_steps 40 --ema_decay 0.9")


@pytest.fixture(scope="module")
def encoder(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    return run(folder / "run", f"{MASKED} --train_file {texts / 'many.csv'} --whole_word --max_steps 6 --eval_steps 3")


def results(folder: Path) -> dict:
    return json.loads((folder / "all_results.json").read_text())


def exact_loss(folder: Path, text: str) -> float:
    """-mean log p of the text and its end, in blocks as they are evaluated, computed the plain way."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = torch.tensor([tokenizer.bos_token_id, *tokenizer(text)["input_ids"], tokenizer.eos_token_id])
    nats = 0.0
    for start in range(0, len(ids) - 1, 32):
        block, following = ids[start : start + 32], ids[start + 1 : start + 33]
        with torch.no_grad():
            log = model(block[None]).logits[0].log_softmax(-1)
        nats -= float(log[torch.arange(len(following)), following].double().sum())
    return nats / (len(ids) - 1)


def entropy_of_characters(text: str) -> float:
    """-sum p log p of the frequencies of the characters, in nats."""
    return -sum(number / len(text) * math.log(number / len(text)) for number in Counter(text).values())


def test_a_decoder_learns_and_its_loss_is_that_of_every_character(decoder: Path, texts: Path) -> None:
    found, text = results(decoder), (texts / "long.txt").read_text()
    held_out = text[int(0.9 * len(text)) :]
    assert found["eval_loss"] == pytest.approx(exact_loss(decoder, held_out), rel=1e-5)
    assert found["eval_loss"] < entropy_of_characters(held_out), "no model that ignores the context scores higher"
    assert found["eval_perplexity"] == pytest.approx(math.exp(found["eval_loss"]))
    assert found["eval_predicted_tokens"] == len(held_out) + 1
    bits, size = found["eval_loss"] * (len(held_out) + 1) / math.log(2), len(held_out.encode())
    assert found["eval_bits_per_character"] == pytest.approx(bits / len(held_out))
    assert found["eval_bits_per_byte"] == pytest.approx(bits / size)
    assert size > len(held_out)


def test_a_run_leaves_everything_that_was_promised(decoder: Path, texts: Path) -> None:
    written = (decoder / "run_config.json").read_text()
    record = json.loads(written)
    assert (record["model"]["objective"], record["data"]["train_file"]) == ("clm", ["long.txt"])
    assert any("never opened" in note for note in record["notes"])
    assert not [folder for folder in (texts, decoder.parent) if str(folder) in written]
    assert (decoder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert all(unit in (decoder / "results.md").read_text() for unit in ("bits per character", "tokens/s"))
    tokenizer, model = AutoTokenizer.from_pretrained(decoder), AutoModelForCausalLM.from_pretrained(decoder)
    assert tokenizer.model_max_length == model.config.max_position_embeddings == 32
    printed, text = (decoder.parent / "printed").read_text(), (texts / "long.txt").read_text()
    assert printed.partition("a sample:\n")[2].startswith(text[int(0.9 * len(text)) :][:7])
    *_, steps, saved = printed.strip().splitlines()
    share = json.loads((decoder / "train_results.json").read_text())["train_data_share"]
    assert f"{share:.1%} of it waiting for data" in steps
    assert saved.startswith(f"saved in {decoder}: the model and its tokenizer, README.md (card), ")
    assert not (decoder / "training_args.bin").exists()
    assert not uploaded_texts(decoder)


@pytest.mark.parametrize(("options", "stop"), [(MASKED, 5), (DENOISING, 12)], ids=["mlm", "denoising"])
def test_what_reads_noise_learns_and_goes_on_where_it_was(texts: Path, tmp_path: Path, options: str, stop: int) -> None:
    """In the middle of a later pass over the text, with dropout, and with noise and an order that differ each pass."""
    options += f" --train_file {texts / 'many.csv'} --max_steps {stop + 3} --ema_decay 0.5 --eval_on_start True"
    options += f" --per_device_train_batch_size 16 --eval_steps {stop} --save_steps {stop} --save_total_limit 5"
    whole = run(tmp_path / "whole", options)
    history = json.loads((whole / "trainer_state.json").read_text())["log_history"]
    losses = [entry["eval_loss"] for entry in history if "eval_loss" in entry]
    assert losses[-1] < losses[0]
    stopped = shutil.copytree(whole, tmp_path / "stopped")
    shutil.rmtree(stopped / f"checkpoint-{stop + 3}", ignore_errors=True)
    run(stopped, f"{options} --save_strategy no --resume_from_checkpoint last")
    assert (stopped / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    if "denoising" in options:
        tokenizer, model = AutoTokenizer.from_pretrained(whole), AutoModelForSeq2SeqLM.from_pretrained(whole)
        assert model.config.vocab_size == len(tokenizer)
        assert "bits" not in (whole / "results.md").read_text()


def test_a_run_goes_on_with_its_own_tokenizer_and_arguments(
    decoder: Path, texts: Path, tmp_path: Path, capsys, caplog
) -> None:
    """Also where it was stopped while it wrote a checkpoint."""
    output, text = shutil.copytree(decoder, tmp_path / "run"), texts / "long.txt"
    options = f"{CHARACTERS} --train_file {text} --ema_decay 0.9 --resume_from_checkpoint"
    (output / "checkpoint-999").mkdir()
    shutil.copy(output / "trainer_state.json", output / "checkpoint-999")

    run(output, f"{options} last --max_steps 42 --save_strategy no")
    [told] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("resuming with changed setti")]
    assert "max_steps 40, " in told
    assert "resume_from_checkpoint" not in told
    assert "missing keys" not in caplog.text  # of tables that two modules share
    assert (output / "tokenizer.json").read_bytes() == (decoder / "tokenizer.json").read_bytes()
    assert "since resuming at step 40;" in (output / "results.md").read_text()
    record = json.loads((output / "run_config.json").read_text())
    assert [earlier["max_steps"] for earlier in record["training_before_it_was_resumed"]] == [40]


def small_arguments(objective: str = "clm", **options: Any) -> PretrainingModelArguments:
    kind = {"tokenizer_kind": "character"} if objective != "denoising" else {}
    return PretrainingModelArguments(objective=objective, **kind, config_overrides=SMALL.split()[1], **options)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_documents_of_a_row_are_apart_for_a_native_checkpoint(family: str, tmp_path: Path) -> None:
    native = Native(family, "ScratchEncoderForMaskedLM")
    original = native.model()
    original.save_pretrained(tmp_path)
    tokenizer = build_tokenizer(small_arguments("mlm"), ["ab"])
    arguments = PretrainingModelArguments(objective="mlm", model_name_or_path=str(tmp_path), block_size=14)
    model = build_model(arguments, tokenizer)
    assert model.training
    texts = [text["input_ids"] for text in native.texts()]
    positions = torch.cat([torch.arange(text.shape[1]) for text in texts])[None]
    with torch.no_grad():
        packed = model.eval()(input_ids=torch.cat(texts, dim=1), position_ids=positions).logits
        alone = torch.cat([original(text).logits for text in texts], dim=1)
    torch.testing.assert_close(packed, alone, atol=1e-5, rtol=0)


def test_a_native_checkpoint_that_cannot_keep_documents_apart_is_refused(tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=50, **sizes)).save_pretrained(tmp_path / "neox")
    Native("bert", "ScratchEncoderForMaskedLM").model().save_pretrained(tmp_path / "bert")
    tokenizer = build_tokenizer(small_arguments(), ["ab"])
    for name, said in (("neox", "GPTNeoXForCausalLM"), ("bert", "bert has no")):
        arguments = PretrainingModelArguments(objective="clm", model_name_or_path=str(tmp_path / name), block_size=8)
        with fault("--model_name_or_path", said):
            build_model(arguments, tokenizer)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--data_dir {texts}", ["no train file", "to train on all of its texts: --train_file", "*.txt"]),
        (f"{MASKED} --preset gpt2", ["gpt2", "reviews", "bert"]),
        (f"{CHARACTERS} --streaming", ["--streaming is retired"]),
        (f"{CHARACTERS} --whole_word", ["--whole_word"]),
        (f"{CHARACTERS} --block_size 100000000", ["--block_size 100000000", "at most 131,072"]),
        (f"{CHARACTERS} --label_smoothing_factor 0.1", ["--label_smoothing_factor"]),
        (f"{CHARACTERS} --mask_fraction 0.3", ["--mask_fraction", "clm"]),
        (f"{DENOISING} --denoising span_corruption", ["--denoising is retired"]),
        ("--objective mlm --tokenizer_name_or_path {decoder}", ["mask_token"]),
        ("--objective clm --tokenizer_name_or_path {encoder}", ["eos_token"]),
        ("--objective clm --model_name_or_path {decoder} --block_size 128", ["--block_size 128", "32"]),
        ("--objective clm --model_name_or_path {decoder} --preset characters", ["--preset"]),
    ],
    ids=lambda value: " ".join(value.split()[-2:]) if isinstance(value, str) else "",
)
def test_what_cannot_be_trained_ends_in_one_clear_line(
    decoder: Path, encoder: Path, texts: Path, tmp_path: Path, capsys, options: str, said: list[str]
) -> None:
    options = options.format(decoder=decoder, encoder=encoder, texts=texts)
    if "--data_dir" not in options:
        options = f"--train_file {texts / 'many.csv'} {options}"
    message = refusal(capsys, run, tmp_path / "run", options if "--objective" in options else f"{MASKED} {options}")
    assert [part for part in said if part not in message] == []
    assert not (tmp_path / "run").exists()


def test_special_tokens_are_never_predicted(encoder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    masks: Any = make_collator(PretrainingModelArguments("mlm"), tokenizer, ([], []), seed=0)
    assert (~masks.ordinary).nonzero()[0].tolist() == sorted(tokenizer.all_special_ids)
