# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A linear model in coordinates of the embeddings: what it adds to the logits, and that no block touches it."""

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import train_classifier
from conftest import redraw
from datasets import Dataset
from model_cases import tiny
from sklearn.metrics import recall_score
from text_samples import write
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from modeling_scratch import ScratchEncoderForSequenceClassification
from modeling_scratch.data.ngrams import count_features, fill_ngrams
from modeling_scratch.data.packed_documents import starts_of
from modeling_scratch.evaluation.linear_part import LinearPart
from modeling_scratch.inference.loading import to_precision
from modeling_scratch.training.classification import ClassifierTrainer, ClassifierTrainingArguments
from modeling_scratch.training.linear_part import ReservedCoordinates, add_linear_part, fit, mix, obstacle

PLAIN: dict[str, Any] = {
    "norm_position": "pre", "final_norm": False, "position_type": "rotary", "classifier_pooling": "mean",
    "ngram_vocab_size": 50,
}  # fmt: skip
SIZES = "hidden_size=16,intermediate_size=32,num_attention_heads=2,num_hidden_layers=1,ngram_vocab_size=100"
OVERRIDES = f"{SIZES},norm_position=pre,final_norm=false,position_type=rotary,classifier_pooling=mean"
SMALL = (
    "--linear_part True --num_train_epochs 2 --per_device_train_batch_size 16 --ema_decay 0 --report_to none "
    "--use_cpu --disable_tqdm True --no_calibrate"
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts whose class is whether "not" stands before "good", among other words."""
    folder, generator = tmp_path_factory.mktemp("data"), random.Random(0)
    for split, count in {"train": 240, "validation": 120, "test": 60}.items():
        rows: dict[str, list[Any]] = {"text": [], "label": []}
        for number in range(count):
            words = generator.choices(("the", "film", "story", "is", "not", "quite", "here"), k=6)
            rows["text"].append(" ".join([*words, "not" if number % 2 else "very", "good"]))
            rows["label"].append(number % 2)
        write(folder / f"{split}.csv", rows)
    return folder


def train(data: Path, output: Path, *extra: str) -> Path:
    arguments = f"--data_dir {data} --output_dir {output} --config_overrides {OVERRIDES} {SMALL}".split()
    train_classifier.main([*arguments, *extra])
    return output


def load(folder: Path) -> Any:
    return AutoModelForSequenceClassification.from_pretrained(folder).eval()


def add(
    folder: Path,
    texts: list[list[int]],
    labels: list[int],
    bias: float = 0.0,
    change: Callable[[Any], object] = id,
    metric: str = "accuracy",
) -> tuple[Any, LinearPart]:
    """Add the linear part of these token ids, of which pairs may have embeddings, to a model that is not trained."""
    model = redraw(ScratchEncoderForSequenceClassification(tiny(**PLAIN, num_labels=2)))
    fill_ngrams(model, np.concatenate(texts).astype(int), starts_of(np.array(list(map(len, texts)))), [])
    model.classifier.out_proj.bias.data.fill_(bias)
    change(model)
    rows = Dataset.from_dict({"input_ids": texts, "label": labels})
    arguments = ClassifierTrainingArguments(str(folder), report_to="none", use_cpu=True, disable_tqdm=True)
    trainer = ClassifierTrainer(model, arguments, collated, train_dataset=rows, eval_dataset=rows)
    trainer.reserve(metric=metric)
    assert trainer.reserved
    return model.eval(), add_linear_part(trainer, trainer.reserved)


def collated(batch: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    longest = max(1, *(len(row["input_ids"]) for row in batch))
    ids = [row["input_ids"] + [0] * (longest - len(row["input_ids"])) for row in batch]
    masks = [[int(place < len(row["input_ids"])) for place in range(longest)] for row in batch]
    columns = {"input_ids": ids, "attention_mask": masks, "labels": [row["label"] for row in batch]}
    return {name: torch.tensor(values) for name, values in columns.items()}


def logits(model: Any, texts: list[str], tokenizer: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(**tokenizer(texts, padding=True, return_tensors="pt")).logits


@pytest.mark.parametrize("options", [["--sparse_embeddings", "True"], ["--ema_decay", "0.9"]])
def test_the_logits_are_those_of_the_encoder_plus_a_mean_of_weights(
    data: Path, tmp_path: Path, options: list[str]
) -> None:
    run = train(data, tmp_path / "run", *options)
    model, tokenizer, texts = load(run), AutoTokenizer.from_pretrained(run), ["not good here", "the film is very good"]
    whole, embeddings, chosen = logits(model, texts, tokenizer), model.model.embeddings, slice(14, 16)
    added = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            read = embeddings.embed_tokens(ids, torch.arange(ids.shape[1])[None])[0, :, chosen].mean(0)
            added.append(model.classifier.out_proj.weight[:, chosen] @ read)
    assert torch.stack(added).abs().min() > 0.1
    with torch.no_grad():
        for table in (embeddings.tokens, embeddings.ngrams.table):
            table.weight[:, chosen] = 0
    # Norms of the block see the coordinates in their statistics.
    torch.testing.assert_close(whole, logits(model, texts, tokenizer) + torch.stack(added), atol=1e-2, rtol=5e-3)


def test_it_knows_what_word_pairs_tell_where_the_encoder_has_learned_nothing(data: Path, tmp_path: Path) -> None:
    run = train(data, tmp_path / "run", "--learning_rate", "1e-9", "--evaluate_train", "True")
    record = json.loads((run / "evaluation.json").read_text())
    part = record["linear_part"]
    assert part["texts"] == 240
    assert part["features"] > 20
    assert part["before"] < 0.7 < 0.99 < part["after"] == record["accuracy"] == 1
    for page in "results.md", "README.md":
        assert "100.00 % with it" in (run / page).read_text(), page


@pytest.mark.parametrize("precision", ["int8", "bfloat16"])
def test_answers_of_lower_precision_keep_it(data: Path, tmp_path: Path, precision: str) -> None:
    run = train(data, tmp_path / "run", "--learning_rate", "1e-9")
    tokenizer, texts = AutoTokenizer.from_pretrained(run), ["the film is not good", "the story is quite very good"]
    expected, found = logits(load(run), texts, tokenizer), logits(to_precision(load(run), precision), texts, tokenizer)
    torch.testing.assert_close(found.float(), expected, atol=0.05 * float(expected.std()), rtol=0)


def test_a_run_that_is_resumed_at_its_end_has_the_same_weights(data: Path, tmp_path: Path) -> None:
    run = train(data, tmp_path / "run")
    before = (run / "model.safetensors").read_bytes()
    train(data, run, "--resume_from_checkpoint", "last")
    assert (run / "model.safetensors").read_bytes() == before


def test_a_resumed_run_cannot_add_it(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its coordinates are trained, and the moments of the optimizer would go on to move them."""
    run = train(data, tmp_path / "run", "--linear_part", "False")
    with pytest.raises(SystemExit):
        train(data, run, "--resume_from_checkpoint", "last")
    assert "--linear_part was False and is True" in capsys.readouterr().err


def test_where_the_report_is_about_validation_nothing_is_fitted_there(data: Path, tmp_path: Path) -> None:
    found = []
    for name, flip in ("as it is", False), ("flipped", True):
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        (folder / "train.csv").write_bytes((data / "train.csv").read_bytes())
        with (data / "validation.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        labels = [int(row["label"]) ^ flip for row in rows]
        write(folder / "validation.csv", {"text": [row["text"] for row in rows], "label": labels})
        run = train(folder, folder / "run", "--load_best_model_at_end", "False")
        part = json.loads((run / "evaluation.json").read_text())["linear_part"]
        assert (part["share"], part["is_fitted"]) == (0.5, False)
        found.append((run / "model.safetensors").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("weights", ["", "--class_weights balanced"])
def test_a_recipe_has_it_in_the_table_of_stages(data: Path, tmp_path: Path, weights: str) -> None:
    sizes = "num_hidden_layers=1,hidden_size=16,intermediate_size=16"
    options = f"--recipe minutes --num_train_epochs 1 --report_to none --use_cpu --config_overrides {sizes} {weights}"
    train_classifier.main([*f"--data_dir {data} --output_dir {tmp_path / 'run'} {options}".split()])
    record = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    row = record["stages"][-1]
    assert row["name"] == "linear part"
    assert row["read"].startswith("240 texts")
    assert record["linear_part"]["after"] == 1
    assert record["linear_part"]["metric"] == ("macro F1" if weights else "accuracy")
    assert ("weights_of_classes" in json.loads((tmp_path / "run" / "run_config.json").read_text())) == bool(weights)


def test_it_is_left_out_where_it_would_lower_the_score_that_decides(tmp_path: Path) -> None:
    """The encoder finds all texts of the rare class, and more. The likeliest mixture never answers with that class."""

    def knows_a_token(model: Any) -> None:
        for weight in model.model.stack.layers.parameters():
            weight.data.zero_()
        model.model.embeddings.tokens.weight.data[5:7, 0] = torch.tensor([9.0, -9.0])
        model.classifier.out_proj.weight.data.zero_()
        model.classifier.out_proj.weight.data[:, 0] = torch.tensor([-1.0, 1.0])

    texts, labels = [[5]] * 200 + [[6]] * 800, [1] * 80 + [0] * 920
    model, part = add(tmp_path, texts, labels, change=knows_a_token, metric="f1_macro")
    assert "with one, macro F1 on validation is" in str(part.obstacle)
    assert not model.model.embeddings.tokens.weight[:, -2:].any()
    found = model(torch.tensor([[5], [6]])).logits.argmax(-1)
    assert found.tolist() == [1, 0]
    assert add(tmp_path, texts, labels, change=knows_a_token)[1].obstacle is None, "its accuracy is higher"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"norm_position": "post"}, "norm_position=pre"),
        ({"final_norm": True}, "final_norm=false"),
        ({"first_norm": False}, "first_norm=true"),
        ({"position_type": "learned"}, "mean pooling does not return"),
        ({"classifier_pooling": "first"}, "mean pooling"),
        ({"num_labels": 9}, "9 classes are too many"),
        ({"problem_type": "regression", "num_labels": 1}, "one class each"),
    ],
)
def test_models_that_cannot_have_one_say_why(change: dict[str, Any], reason: str) -> None:
    assert obstacle(ScratchEncoderForSequenceClassification(tiny(**{**PLAIN, "num_labels": 3}))) is None
    assert reason in str(obstacle(ScratchEncoderForSequenceClassification(tiny(**{**PLAIN, **change}))))


def test_a_run_without_one_reports_the_reason(data: Path, tmp_path: Path) -> None:
    run = train(data, tmp_path / "run", "--config_overrides", f"{SIZES},norm_position=post")
    assert "no linear part: mean pooling" in (run / "results.md").read_text()


def test_no_block_reads_or_writes_the_reserved_coordinates() -> None:
    model = redraw(ScratchEncoderForSequenceClassification(tiny(**PLAIN, num_labels=3, num_hidden_layers=2))).eval()
    chosen = ReservedCoordinates(model).chosen
    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        for residual in model.model.stack.layers:  # their statistics see the coordinates, but not what they scale
            residual.attention_residual.norm.eps = residual.feed_forward_residual.norm.eps = 0.0
        before = model.model(ids).last_hidden_state
        assert not before[..., chosen].any()
        model.model.embeddings.tokens.weight[:, chosen] = small = 1e-4 * torch.randn(
            len(model.model.embeddings.tokens.weight), 3
        )
        after = model.model(ids).last_hidden_state
    torch.testing.assert_close(after[..., chosen], small[ids], atol=1e-9, rtol=0)
    torch.testing.assert_close(after[..., : chosen.start], before[..., : chosen.start], atol=1e-3, rtol=1e-3)


def test_texts_without_tokens_have_no_linear_part_of_their_own(tmp_path: Path) -> None:
    texts = [[], *([[5, 6]] * 20), *([[7, 8]] * 20)]
    _, part = add(tmp_path, texts, [0] * 21 + [1] * 20)
    assert part.after >= 40 / 41


def test_tokens_need_not_tell_where_their_order_does(tmp_path: Path) -> None:
    """All ratios of tokens are 0, and those of pairs are not."""
    model, part = add(tmp_path, [[5, 6], [6, 5]] * 20, [0, 1] * 20)
    assert part.after == 1
    assert all(weight.isfinite().all() for weight in model.parameters())
    assert model.model.embeddings.ngrams.table.weight[:, -2:].abs().max() < 10


def test_texts_that_are_all_alike_leave_weights_finite(tmp_path: Path) -> None:
    model, part = add(tmp_path, [[5, 6]] * 40, [0, 1] * 20)
    assert part.after == 0.5
    assert all(weight.isfinite().all() for weight in model.parameters())


def test_logits_that_are_no_numbers_are_the_reason_why_there_is_none(tmp_path: Path) -> None:
    _, part = add(tmp_path, [[5, 6], [7, 8]] * 20, [0, 1] * 20, bias=float("inf"))
    assert part.obstacle == "some logits of the validation split are not finite"


def test_features_are_counts_of_tokens_and_of_known_ngrams_within_a_text() -> None:
    def key(*tokens: int) -> int:
        return sum((token + 1) << 21 * back for back, token in enumerate(reversed(tokens)))

    keys = np.array(sorted([key(5, 6), key(6, 5), key(5, 6, 5)]))
    found = count_features([[5, 6, 5, 6], [6], [5]], 8, keys).toarray()
    ngrams = {key(5, 6): 2, key(6, 5): 1, key(5, 6, 5): 1}
    assert found[0].tolist() == [0, 0, 0, 0, 0, 2, 2, 0, *(ngrams[each] for each in keys)]
    assert found[1:, 5:7].tolist() == [[0, 1], [1, 0]]
    assert not found[1:, 8:].any()


def test_weights_of_classes_add_up_to_zero_and_a_class_without_texts_has_none() -> None:
    features = count_features([[1, 2], [1, 3], [2, 2], [3, 3]] * 5, 4, np.empty(0, np.int64))
    weights = fit(features, np.array([0, 0, 1, 2] * 5), 4, [1.0])[1.0]
    np.testing.assert_allclose(weights.sum(0), 0, atol=1e-9)
    assert (features @ weights.T).argmax(-1).tolist() == [0, 0, 1, 2] * 5


def test_a_mixture_prefers_what_is_right_and_few_texts_keep_both_parts() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(2, size=400)
    good, bad = (np.eye(2)[labels] * size + generator.normal(size=(400, 2)) for size in (3, 0))
    found = mix(bad, good, labels)
    few = mix(bad[:4], good[:4], labels[:4])
    assert 0.2 < few.share < 0.8
    assert found.share > 0.8


def test_weighted_classes_are_told_and_mixed_as_if_their_texts_were_more() -> None:
    """Nine of ten texts are of one class, and what they read tells the classes apart in part only."""
    generator = np.random.default_rng(0)
    labels = (np.arange(600) % 10 == 0).astype(int)
    texts = [generator.choice(4, p=(0.4, 0.3, 0.2, 0.1)[:: 1 - 2 * label], size=3).tolist() for label in labels]
    features, weights = count_features(texts, 4, np.empty(0, np.int64)), np.array([1, 9]) * 10 / 18
    nothing, recalls = np.zeros((600, 2)), []
    for of in None, weights:
        linear = features @ fit(features, labels, 2, [1.0], of)[1.0].T / 3
        mixed = mix(nothing, linear, labels, of).of(nothing, linear)
        recalls.append(recall_score(labels, mixed.argmax(-1)))
    assert recalls[0] < 0.3 < 0.6 < recalls[1]
