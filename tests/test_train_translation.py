# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The translation job end to end on a small language of its own: word for word, with the words in reverse order."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
import train_translation
from checkpoint_average import average_weights, last_checkpoints
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM
from translation import Translator
from translation_model import load_tokenizers

LEXICON = {"one": "eins", "two": "zwei", "red": "rot", "dog": "Hund", "cat": "Katze", "runs": "läuft", "sees": "sieht"}
SIZES = "hidden_size=32,num_hidden_layers=1,num_attention_heads=2,intermediate_size=48,hidden_dropout=0.0"
FAST = f"""--config_overrides {SIZES} --tokenizer_kind wordlevel --vocab_size 60 --learning_rate 1e-2 --warmup_steps 10
--num_train_epochs 6 --per_device_train_batch_size 20 --average_checkpoints 3 --num_beams 2 --max_length 12
--report_to none --use_cpu --source_column en --target_column de"""


def write_split(folder: Path, split: str, rows: int, seed: int) -> None:
    generator = random.Random(seed)
    lines = [generator.choices(list(LEXICON), k=generator.randint(1, 4)) for _ in range(rows)]
    (folder / f"{split}.en").write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    turned = [" ".join(LEXICON[word] for word in reversed(line)) for line in lines]
    (folder / f"{split}.de").write_text("".join(line + "\n" for line in turned), encoding="utf-8")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    for seed, (split, rows) in enumerate({"train": 400, "validation": 30, "test": 30}.items()):
        write_split(folder, split, rows, seed)
    return folder


def train(data: Path, output: Path, extra: str = "") -> None:
    train_translation.main(f"--data_dir {data} --output_dir {output} {FAST} {extra}".split())


@pytest.fixture(scope="module")
def one_vocabulary(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("one") / "run"
    train(data, output)
    return output


@pytest.fixture(scope="module")
def two_vocabularies(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("two") / "run"
    train(data, output, "--separate_vocabularies")
    return output


@pytest.fixture(params=["one_vocabulary", "two_vocabularies"])
def run(request: pytest.FixtureRequest) -> Path:
    """Finished runs, for all tests that only look at them."""
    return request.getfixturevalue(request.param)


def test_learns_and_leaves_everything_that_was_promised(run: Path) -> None:
    evaluation = json.loads((run / "evaluation.json").read_text())
    assert evaluation["test"][0]["value"] > 60
    assert "nrefs:1" in evaluation["test"][0]["signature"]
    results = (run / "results.md").read_text()
    assert "beam 2" in results
    assert "test: 30 texts" in results
    assert len((run / "test.translations.txt").read_text().splitlines()) == 30
    assert (run / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads((run / "run_config.json").read_text())
    assert record["rows"] == {"train": 400, "validation": 30, "test": 30}
    assert not (run / "training_args.bin").exists()


def test_the_saved_folder_translates_as_the_run_did(run: Path, data: Path) -> None:
    tokenizers = load_tokenizers(str(run))
    model = AutoModelForSeq2SeqLM.from_pretrained(run)
    assert (tokenizers[0] is tokenizers[1]) == model.config.share_encoder_decoder_embeddings
    sources = (data / "test.en").read_text().splitlines()
    texts = [translation.text for translation in Translator(model, *tokenizers).translate(sources)]
    assert texts == (run / "test.translations.txt").read_text().splitlines()


def test_the_best_of_validation_is_kept(run: Path) -> None:
    """The folder holds either the best checkpoint's weights or the mean of the last ones, as evaluation.json says."""
    checkpoints = last_checkpoints(run, 3)
    assert len(checkpoints) == 3
    mean, saved = average_weights(checkpoints), load_file(run / "model.safetensors")
    each = [load_file(path / "model.safetensors") for path in checkpoints]
    for name, weight in mean.items():
        torch.testing.assert_close(weight, torch.stack([weights[name] for weights in each]).mean(0))
    says = json.loads((run / "evaluation.json").read_text())["weights"]
    best = json.loads((run / "trainer_state.json").read_text())["best_model_checkpoint"]
    expected = mean if says.startswith("average") else load_file(Path(best) / "model.safetensors")
    for name, weight in saved.items():
        torch.testing.assert_close(weight, expected[name])


def test_a_stopped_run_is_resumed_to_the_same_weights(one_vocabulary: Path, data: Path, tmp_path: Path) -> None:
    shutil.copytree(one_vocabulary, tmp_path / "run")
    last = last_checkpoints(tmp_path / "run", 1)[0]
    shutil.rmtree(last)
    train(data, tmp_path / "run", "--resume_from_checkpoint last")
    expected, found = (load_file(folder / "model.safetensors") for folder in (one_vocabulary / last.name, last))
    for name, weight in expected.items():
        assert torch.equal(weight, found[name]), name


def refused(capsys: pytest.CaptureFixture, data: Path, output: Path, extra: str) -> str:
    with pytest.raises(SystemExit) as exit_:
        train(data, output, extra)
    assert exit_.value.code == 2
    return capsys.readouterr().err.strip().splitlines()[-1]


def test_what_cannot_be_is_refused_before_anything_is_written(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    output = tmp_path / "run"
    assert "longer than 4 tokens" in refused(
        capsys, data, output, "--max_length 4 --tokenizer_kind byte_bpe --vocab_size 259"
    )
    assert "--preset bert: the choices are" in refused(capsys, data, output, "--preset bert")
    assert "--average_checkpoints and --num_beams" in refused(capsys, data, output, "--num_beams 0")
    assert not output.exists()
