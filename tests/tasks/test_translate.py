# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The translation job end to end on a small language of its own: word for word, with the words in reverse order."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
import train_translation
from model_cases import TINY
from shared import redraw
from text_samples import fault, predicted
from torch.nn.functional import cross_entropy
from transformers import AutoModelForSeq2SeqLM, MBartTokenizer

from modeling_scratch import ScratchSeq2SeqConfig, ScratchSeq2SeqForConditionalGeneration
from modeling_scratch.bridges.model_sources import load_tokenizers
from modeling_scratch.data.translation_pairs import TranslationData
from modeling_scratch.inference.text_generators import Translator
from modeling_scratch.pipelines import TARGET_FOLDER
from modeling_scratch.report.translation import score_translations
from modeling_scratch.run.checkpoints import checkpoints_in, step_of
from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.tasks.translation_model import TranslationTrainingArguments, encode_pairs

LEXICON = {"one": "eins", "two": "zwei", "red": "rot", "dog": "Hund", "cat": "Katze", "runs": "läuft", "sees": "sieht"}
SIZES = "hidden_size=32,num_hidden_layers=1,num_attention_heads=2,intermediate_size=48,hidden_dropout=0.0"
FAST = f"""--config_overrides {SIZES} --tokenizer_kind wordlevel --vocab_size 60 --learning_rate 1e-2 --warmup_steps 10
--num_train_epochs 10 --per_device_train_batch_size 20 --num_beams 2 --max_length 12
--report_to none --use_cpu --source_column en --target_column de"""


ROWS = {"train": 400, "validation": 12, "test": 12}


def write_split(folder: Path, split: str, rows: int, seed: int) -> None:
    generator = random.Random(seed)
    lines = [generator.choices(list(LEXICON), k=generator.randint(1, 4)) for _ in range(rows)]
    (folder / f"{split}.en").write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    turned = [" ".join(LEXICON[word] for word in reversed(line)) for line in lines]
    (folder / f"{split}.de").write_text("".join(line + "\n" for line in turned), encoding="utf-8")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    for seed, (split, rows) in enumerate(ROWS.items()):
        write_split(folder, split, rows, seed)
    return folder


SEPARATE = "--separate_vocabularies --num_train_epochs 3 --metric_for_best_model loss"


def train(data: Path, output: Path, extra: str = "") -> None:
    train_translation.main(f"--data_dir {data} --output_dir {output} {FAST} {extra}".split())


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, for all tests that only look at it."""
    output = tmp_path_factory.mktemp("one") / "run"
    train(data, output, "--num_train_epochs 6 --per_device_eval_batch_size 5")
    return output


@pytest.fixture(scope="module")
def two_vocabularies(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("two") / "run"
    train(data, output, SEPARATE)
    return output


def test_learns_and_keeps_its_translations(run: Path, data: Path) -> None:
    """Its translations are of their own sentences and not of others. BLEU of so few words may be 0: chrF tells it."""
    bleu, chrf, *_ = json.loads((run / "evaluation.json").read_text())["test"]
    first, *others = (data / "test.de").read_text().splitlines()
    of_others = score_translations((run / "test.translations.txt").read_text().splitlines(), [*others, first])
    assert chrf["value"] > 3 * of_others[1].value
    assert "nrefs:1" in bleu["signature"]
    verdict, *rest = (run / "results.md").read_text().splitlines()
    assert "BLEU on test is" in verdict
    assert f"test: {ROWS['test']} texts, checkpoint-" in "\n".join(rest)
    assert "on validation, beam 2" in "\n".join(rest)


@pytest.mark.parametrize("which", ["run", "two_vocabularies"])
def test_the_saved_folder_translates_as_the_run_did(which: str, request, data: Path, tmp_path: Path) -> None:
    folder = request.getfixturevalue(which)
    tokenizers, model = load_tokenizers(str(folder)), AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert (tokenizers[0] is tokenizers[1]) == model.config.share_encoder_decoder_embeddings == (which == "run")
    sources = (data / "test.en").read_text().splitlines()
    texts = [translation.text for translation in Translator(model, *tokenizers).translate(sources)]
    assert texts == (folder / "test.translations.txt").read_text().splitlines()
    answers = predicted(folder, data / "test.en", tmp_path / "out.jsonl")
    assert [answer["translation"] for answer in answers] == texts


def test_a_checkpoint_has_both_vocabularies(two_vocabularies: Path, tmp_path: Path) -> None:
    """A target that is missing is an error, not the source's."""
    final = load_tokenizers(str(two_vocabularies))
    assert not set(final[0].get_vocab()) & set(final[1].get_vocab()) - set(final[0].all_special_tokens)
    found = load_tokenizers(str(checkpoints_in(two_vocabularies)[-1]))
    assert [tokenizer.get_vocab() for tokenizer in found] == [tokenizer.get_vocab() for tokenizer in final]
    shutil.copytree(two_vocabularies, tmp_path / "run", ignore=shutil.ignore_patterns(TARGET_FOLDER))
    with fault("separate vocabulary", f"{TARGET_FOLDER}/ holds no tokenizer"):
        load_tokenizers(str(tmp_path / "run"))


def test_a_tokenizer_of_both_languages_writes_targets_as_targets() -> None:
    """mBART's marks the language of each side. Pairs that are too long are dropped from train alone."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁one", "▁eins"]
    tokenizer = MBartTokenizer(vocab=[(piece, 0.0) for piece in pieces], src_lang="en_XX", tgt_lang="de_DE")
    data = TranslationData({"train": [("one", "eins")]}, ("en", "de"), [])
    pair = encode_pairs(data, "train", (tokenizer, tokenizer), 8).rows[0]
    assert tokenizer.convert_ids_to_tokens(pair["input_ids"]) == ["▁one", "</s>", "en_XX"]
    assert tokenizer.convert_ids_to_tokens(pair["labels"]) == ["▁eins", "</s>", "de_DE"]
    pairs = [("one", "eins"), ("one " * 9, "eins")]
    long = TranslationData({"train": pairs, "test": pairs}, ("en", "de"), [])
    dropped, cut = (encode_pairs(long, split, (tokenizer, tokenizer), 8) for split in ("train", "test"))
    assert [*map(len, dropped.rows["input_ids"]), *map(len, cut.rows["input_ids"])] == [3, 3, 8]
    assert (dropped.notes, cut.notes) == (["train: 1 pairs exceed --max_length 8 and were dropped"], [])


@pytest.mark.parametrize(("which", "metric"), [("run", "bleu"), ("two_vocabularies", "loss")])
def test_the_best_of_validation_is_kept(which: str, metric: str, request) -> None:
    run = request.getfixturevalue(which)
    state = json.loads((run / "trainer_state.json").read_text())
    key, best_of = f"eval_{metric}", min if metric == "loss" else max
    scores = {entry["step"]: entry[key] for entry in reversed(state["log_history"]) if key in entry}
    assert len(set(scores.values())) > 1
    best = run / f"checkpoint-{best_of(scores, key=scores.__getitem__)}"
    assert state["best_model_checkpoint"] == best.name
    assert json.loads((run / "evaluation.json").read_text())["weights"].startswith(f"{best.name}, the best")
    assert (run / "model.safetensors").read_bytes() == (best / "model.safetensors").read_bytes()


def test_the_loss_of_validation_is_a_mean_over_tokens(run: Path, data: Path) -> None:
    """Whatever the batches are."""
    checkpoint = checkpoints_in(run)[-1]
    model, (source, target) = AutoModelForSeq2SeqLM.from_pretrained(checkpoint), load_tokenizers(str(checkpoint))
    texts, losses = [(data / f"validation.{side}").read_text().splitlines() for side in ("en", "de")], list[float]()
    for read, written in zip(*texts, strict=True):
        labels = target(written, return_tensors="pt")["input_ids"]
        logits = model(**source(read, return_tensors="pt"), labels=labels).logits
        losses += cross_entropy(logits[0], labels[0], reduction="none").tolist()
    history = json.loads((run / "trainer_state.json").read_text())["log_history"]
    (found,) = (each["eval_loss"] for each in history if each["step"] == step_of(checkpoint) and "eval_loss" in each)
    assert found == pytest.approx(sum(losses) / len(losses), abs=1e-4)


def test_the_rate_is_that_of_equation_3_of_the_paper() -> None:
    arguments = TranslationTrainingArguments(max_steps=300, warmup_steps=100, report_to="none")
    assert arguments.paper_rate(512, 0) == pytest.approx(512**-0.5 * 100**-0.5)
    assert arguments.lr_scheduler_type == "inverse_sqrt"


@pytest.mark.parametrize("sparse", [False, True])
def test_a_smoothed_loss_counts_tokens_and_no_padding(tmp_path: Path, sparse: bool) -> None:
    fields = {**TINY, "sparse_prediction": sparse, "decoder_start_token_id": 1}
    model = redraw(ScratchSeq2SeqForConditionalGeneration(ScratchSeq2SeqConfig(**fields))).train()
    arguments = TranslationTrainingArguments(str(tmp_path), use_cpu=True, report_to=[], eval_strategy="no")
    trainer = RunTrainer(model, arguments, smooths_in_model=True)
    labels = torch.tensor([[5, 6, 7, 2], [8, 2, -100, -100]])
    inputs = {"input_ids": labels.clamp(min=1), "labels": labels}
    inputs["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(labels)  # as the collator does
    found = trainer.compute_loss(model, inputs, num_items_in_batch=torch.tensor(6))
    logits = model.eval()(**{**inputs, "labels": None}).logits.flatten(0, 1)
    torch.testing.assert_close(found, cross_entropy(logits, labels.flatten(), label_smoothing=0.1))
    nothing = {**inputs, "labels": torch.full_like(labels, -100)}
    assert trainer.compute_loss(model.train(), nothing, num_items_in_batch=torch.tensor(0)).item() == 0


def test_a_checkpoints_own_search_decides_nothing(run: Path, data: Path, tmp_path: Path) -> None:
    """Its validation is greedy all the same, and what is saved in the end is the search of this run."""
    start, output = shutil.copytree(run, tmp_path / "start"), tmp_path / "run"
    drawn = {"do_sample": True, "temperature": 100.0, "num_beams": 5, "length_penalty": 3.0, "num_return_sequences": 3}
    search = json.loads((start / "generation_config.json").read_text()) | drawn
    (start / "generation_config.json").write_text(json.dumps(search))
    options = FAST.replace(f"--config_overrides {SIZES}", f"--model_name_or_path {start}")
    train_translation.main(
        f"--data_dir {data} --output_dir {output} {options} --learning_rate 1e-30 --max_steps 1 --save_strategy no "
        "--num_beams 1 --length_penalty 0.6".split()
    )
    state = json.loads((output / "trainer_state.json").read_text())
    found = [entry["eval_bleu"] for entry in state["log_history"] if "eval_bleu" in entry]
    sources, references = ((data / f"validation.{ending}").read_text().splitlines() for ending in ("en", "de"))
    model = AutoModelForSeq2SeqLM.from_pretrained(run)
    greedy = Translator(model, load_tokenizers(str(start))[0], max_new_tokens=12, num_beams=1)
    texts = [translation.text for translation in greedy.translate(sources)]
    assert found == [score_translations(texts, references)[0].value]
    saved = json.loads((output / "generation_config.json").read_text())
    assert (saved["num_beams"], saved["do_sample"]) == (1, False)
    assert not {"temperature", "length_penalty", "num_return_sequences"} & set(saved)


def test_sources_that_are_judged_but_not_read_whole_are_counted(data: Path, tmp_path: Path) -> None:
    """Four words and the end of the text are five tokens."""
    train(data, tmp_path / "run", "--max_length 4 --max_steps 1 --eval_strategy no --save_strategy no")
    notes = json.loads((tmp_path / "run" / "run_config.json").read_text())["notes"]
    for split in ("validation", "test"):
        long = sum(len(line.split()) == 4 for line in (data / f"{split}.en").read_text().splitlines())
        assert long
        assert f"{split}: {long} sources exceed --max_length 4 and are truncated before translation" in notes
