# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Cards of real runs: every figure is the run's, hostile text stays text, their programs run, pushes hold them."""

import csv
import html
import json
import platform
import re
import runpy
import shutil
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pretrain
import push_to_hub
import pytest
import torch
import train_classifier
import train_tokens
import train_translation
import transformers
from hub_server import TOKEN
from huggingface_hub import ModelCard
from test_pretrain import CHARACTERS, MASKED, prose
from test_translate import FAST as FAST_TRANSLATION
from test_translate import write_split
from toy_names import write_conll

import modeling_scratch
from modeling_scratch.data.splits import DataArguments
from modeling_scratch.run.layout import CARD
from modeling_scratch.run.life_cycle import share
from modeling_scratch.run.objectives import PretrainingModelArguments
from modeling_scratch.run.run_folder import LOCK_FILE
from modeling_scratch.run.trainer import RunTrainer
from modeling_scratch.sharing.card_run import Run
from modeling_scratch.sharing.model_card import make_card, write_card
from modeling_scratch.sharing.run_record import describe_hardware, write_run
from modeling_scratch.utils.errors import DataError
from modeling_scratch.utils.markdown import LONGEST, escaped, excerpt, table

FAST = "--report_to none --use_cpu --disable_tqdm True --learning_rate 2e-2 --per_device_train_batch_size 16"
SMALL = "--config_overrides hidden_size=16,intermediate_size=32,num_hidden_layers=1"
HOSTILE = [
    "a | b | c", "<script>alert(1)</script>", "[link](http://bad)", "![](x.png)", "**bold** __x__ _y_", "`code` ```",
    "two\nlines\n\n# title", "$x^2$ \\(y\\)", "&#124; &lt;b&gt;", "~~gone~~", "\u202etfel", "long " * 4_000, "| --- |",
]  # fmt: skip
LABELS = ["bad|<b>", "good*`"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def write_reviews(path: Path, rows: int, flipped: int = 0) -> None:
    """Of which the last few bad ones are called good."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for number in range(rows):
            word, label = (("dull", 0), ("great", 1))[number % 2]
            label = 1 if number >= rows - 2 * flipped else label
            writer.writerow([f"{word} {number + rows} {HOSTILE[number % len(HOSTILE)]}", label])


@pytest.fixture(scope="module")
def classifier(root, hub):
    data = root / "hostile_reviews"
    data.mkdir()
    for split, rows, flipped in (("train", 96, 0), ("validation", 12, 0), ("test", 52, 6)):
        write_reviews(data / f"{split}.csv", rows, flipped)
    options = f"--data_dir {data} {FAST} {SMALL} --num_train_epochs 3 --max_length 24 --class_names".split()
    pushed = f"--output_dir {root / 'reviews'} --push_to_hub --hub_model_id user/pushed --hub_private_repo True"
    pushed += f" --save_strategy steps --save_steps 9 --save_linear_model True --hub_token {TOKEN}"
    train_classifier.main([*options, *LABELS, *pushed.split()])
    return root / "reviews"


@pytest.fixture(scope="module")
def translator(root):
    data = root / "pairs"
    data.mkdir()
    for split, rows in {"train": 40, "validation": 6, "test": 8}.items():
        write_split(data, split, rows, rows)
    options = f"--data_dir {data} --output_dir {root / 'en-de'} --separate_vocabularies {FAST_TRANSLATION}"
    train_translation.main([*options.split(), "--num_train_epochs", "2"])
    return root / "en-de"


@pytest.fixture(scope="module")
def tagger(root):
    file = write_conll(root / "names.conll", 60, 0)
    train_tokens.main(f"--train_file {file} --output_dir {root / 'names'} {FAST} --num_train_epochs 1".split())
    return root / "names"


def pretrained(root: Path, name: str, options: str) -> Path:
    (root / "texts.txt").write_text("\n".join(prose(100)))
    pretrain.main(f"{options} --train_file {root}/texts.txt --output_dir {root / name} {FAST} --max_steps 2".split())
    return root / name


@pytest.fixture(scope="module")
def decoder(root):
    return pretrained(root, "plays", CHARACTERS)


@pytest.fixture(scope="module")
def encoder(root):
    return pretrained(root, "encoder", f"{MASKED} --document line")


@pytest.fixture(params=["classifier", "tagger", "translator", "decoder", "encoder"])
def run(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def copied(decoder, tmp_path):
    return Path(shutil.copytree(decoder, tmp_path / "run"))


def trainer_of(folder: Path, repository: str = "") -> RunTrainer:
    """Of a run that has ended; it pushes to the repository, if there is one."""
    arguments = transformers.TrainingArguments(
        str(folder), report_to="none", use_cpu=True, push_to_hub=bool(repository), hub_model_id=repository or None
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return RunTrainer(transformers.AutoModelForCausalLM.from_pretrained(folder), arguments, processing_class=tokenizer)


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def rows_of(section: str) -> list[list[str]]:
    """The cells of all tables of a page, as they are shown, without heads."""
    tables = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[html.unescape(cell) for cell in line[2:-2].split(" | ")] for line in tables]
    return [row for row, following in zip(cells, [*cells[1:], []]) if following[:1] != ["---"] and row[0] != "---"]


def section(folder: Path, title: str) -> str:
    return (folder / CARD).read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_metadata_are_valid_for_the_hub(run, hub):
    """And its metrics are those of the evaluation."""
    card, name = ModelCard.load(run / CARD), "pushed" if run.name == "reviews" else run.name
    card.validate()
    assert "POST /api/validate-yaml" in hub.requests
    assert (card.data.library_name, card.data.model_name) == ("transformers", name)
    assert "license" not in card.data.to_dict()
    assert {result.dataset_type for result in card.data.eval_results} == {"local"}
    assert f"\n# {name}\n" in card.text
    evaluation, results = read(run / "evaluation.json"), read(run / "all_results.json")
    found = {(result.metric_type, result.dataset_split): result for result in card.data.eval_results}
    if "weights" in evaluation:
        for split in ("validation", "test"):
            bleu, chrf, lower = evaluation[split]
            assert found["chrf", split].metric_value == chrf["value"]
            assert found["sacrebleu", split].metric_value in (bleu["value"], lower["value"])
            assert chrf["signature"] in found["chrf", split].metric_name
    elif "accuracy" in evaluation:
        for metric in ("accuracy", "f1_macro" if run.name == "reviews" else "f1"):
            assert found[metric, "test"].metric_value == pytest.approx(evaluation[metric])
            assert evaluation[metric] == results[f"test_{metric}"]
    else:
        assert found["perplexity", "validation"].metric_value == results["eval_perplexity"]


def test_tables_show_the_figures_of_the_evaluation(classifier):
    evaluation, rows = read(classifier / "evaluation.json"), rows_of(section(classifier, "Results"))
    assert evaluation["accuracy"] < 1
    assert [row[0] for row in rows[1:3]] == [each["name"] for each in evaluation["baselines"]]
    for row, each in zip(rows, [evaluation, *evaluation["baselines"]]):
        for cell, score in zip(row[1:], each["scores"].values()):
            value, low, high = (f"{share:.2%}" for share in (score["value"], *score["interval_95"]))
            assert cell.replace(" %", "%") == f"{value} ({low} to {high})"


def test_text_stays_text():
    for text in HOSTILE:
        row = table(["a", "b"], [[text, 1]]).splitlines()[-1]
        assert row == f"| {escaped(text)} | 1 |"
        assert not re.search(r"[<>\\`*\[\]~$]|\|.*\|.*\||\b_|_\b", row[2:-6])
        assert "\u202e" not in row
        assert len(html.unescape(escaped(excerpt(text)))) <= LONGEST
        if len(text) < LONGEST and "\u202e" not in text:
            assert html.unescape(row[2:-6]) == " ".join(text.split())
    assert excerpt("a\ud800b\0c").encode() == b"abc"


def test_a_card_says_what_the_run_does(run):
    record, state, page = read(run / "run_config.json"), read(run / "trainer_state.json"), (run / CARD).read_text()
    rows = dict(row for row in rows_of(section(run, "Training")) if len(row) == 2)
    assert rows["steps"] == f"{state['global_step']:,}"
    assert float(rows["learning_rate"]) == record["training"]["learning_rate"]
    assert rows["hardware"] == record["hardware"] == describe_hardware(torch.device("cpu"))
    assert f"torch {version('torch')}" in rows["versions"]
    model = transformers.AutoConfig.from_pretrained(run)
    assert f"hidden size: {model.hidden_size}" in page
    trained = getattr(modeling_scratch, model.architectures[0]).from_pretrained(run)
    assert f"{trained.num_parameters():,} parameters" in page
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)  # a program may hold a text with a link
    links = re.findall(r"\]\(([^)]+)\)", prose)
    assert "learning_curve.png" in links
    assert ("confusion_matrix.png" in links) == (run.name == "reviews")
    assert [link for link in links if not (run / link).is_file()] == []
    for split, rows_of_split in record.get("rows", {}).items():
        assert [split, f"{rows_of_split:,}"] in rows_of(section(run, "Data"))
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert titles == ["Use", "Results", "Limits", "Data", "Training"]
    report = (run / "results.md").read_text(encoding="utf-8").strip()
    assert section(run, "Results").strip().removesuffix("![Predictions](confusion_matrix.png)").strip() == report
    assert "pipeline(" in section(run, "Use")
    for note in record["notes"]:
        assert f"- {escaped(note)}" in section(run, "Data")
    for secret in (str(run.parent), TOKEN, Path.home().name + "/", platform.node()):
        assert secret not in page


def run_program_of(card, folder):
    [program] = re.findall(r"```python\n(.*?)\n```", str(card), re.DOTALL)
    (folder / "program.py").write_text(program, encoding="utf-8")
    runpy.run_path(str(folder / "program.py"))


def test_the_program_of_a_card_runs_as_it_stands(run, root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(root)
    card = str(make_card(Run.read(run, run.name)))
    run_program_of(card, tmp_path)
    assert capsys.readouterr().out
    assert f"\nmodeling-scratch doctor {run.name} --checks recorded_files\n" in card


def test_a_model_of_the_library_brings_no_code(classifier, root, monkeypatch):
    """Nor does its card ask to trust any; of settings it names those alone that had a say."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(classifier)
    sizes = {"hidden_size": 16, "embedding_size": 8, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.AlbertConfig(vocab_size=len(tokenizer), num_hidden_layers=1, **sizes)
    transformers.AlbertForSequenceClassification(config).save_pretrained(root / "albert")
    tokenizer.save_pretrained(root / "albert")
    options = (
        f"--data_dir {root / 'hostile_reviews'} --output_dir {root / 'tuned'} --model_name_or_path {root / 'albert'}"
    )
    train_classifier.main(f"{options} {FAST} --max_steps 1 --eval_strategy no --save_strategy no".split())
    card = make_card(Run.read(root / "tuned", None))
    assert "Fine-tuned from albert: AlbertForSequenceClassification, " in card.text
    assert not re.search("trust_remote_code|preset|lower-cased", card.text)
    monkeypatch.chdir(root)
    run_program_of(card, root)


def test_pushes_hold_the_card_and_the_code_and_no_pickle(classifier, hub):
    """Nor predictions, as whoever has the texts could find them in the digests, nor what quotes texts."""
    repository, files = hub.repositories["user/pushed"], hub.files("user/pushed")
    assert files[CARD] == (classifier / CARD).read_bytes()
    assert b"model-index" in files[CARD]
    assert b'"user/pushed"' in files[CARD]
    assert {"confusion_matrix.png", "evaluation.json", "attention.py", "tokenizer.json"} <= set(files)
    kept = {"predictions.jsonl", "misclassified.csv", "examples.jsonl", "linear/linear.json"}
    assert [name for name in kept if not (classifier / name).is_file()] == []
    for commit in repository.commits.values():
        assert not {*kept, LOCK_FILE, "training_args.bin", "linear/weights.safetensors"} & commit.files.keys()
        assert not any(secret in file.content for file in commit.files.values()
                       for secret in (TOKEN.encode(), str(classifier.parents[1]).encode()))  # fmt: skip
    assert (repository.private, hub.messages("user/pushed")[-1]) == (True, "End of training")


def test_a_card_is_written_anew_until_somebody_has_edited_it(copied):
    card = copied / CARD
    assert write_card(copied, "me/mine", license="mit", language="en", tags="tiny")
    found = ModelCard.load(card).data
    assert (found.license, found.language, found.model_name) == ("mit", "en", "mine")
    assert found.tags == ["modeling-scratch", "scratch_decoder", "tiny"]
    edited = card.read_text().replace("## Limits", "## Limits\n\nDo not ask it about the sea.")
    card.write_text(edited)
    assert not write_card(copied, "me/mine")
    assert card.read_text() == edited


def test_names_on_the_hub_are_links_and_paths_are_none(decoder, copied, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    for name, is_on_the_hub in (("someone/base", True), (str(tmp_path / "here"), False), ("here", False)):
        model = PretrainingModelArguments(objective="clm", tokenizer_kind="character", model_name_or_path=name)
        write_run(tmp_path / "here", "scripts/pretrain.py", {"model": model, "data": DataArguments("imdb")}, [])
        record = read(tmp_path / "here" / "run_config.json")
        (tmp_path / "here" / "run_config.json").unlink()
        settings = read(decoder / "run_config.json") | {key: record[key] for key in ("model", "data", "on_the_hub")}
        (copied / "run_config.json").write_text(json.dumps(settings))
        card = make_card(Run.read(copied, None))
        assert card.data.base_model == (name if is_on_the_hub else None)
        assert card.data.datasets == ["stanfordnlp/imdb"]
        assert card.data.eval_results[0].dataset_type == "stanfordnlp/imdb"
        assert (f"(https://huggingface.co/{name})" in card.text) == is_on_the_hub
        assert str(tmp_path) not in str(card)


def test_a_run_survives_a_card_that_cannot_be_made(copied, capsys):
    (copied / "run_config.json").write_text("{}")
    (copied / CARD).unlink()
    share(trainer_of(copied))
    assert "WARNING: README.md could not be written: " in capsys.readouterr().err
    assert not (copied / CARD).exists()


def test_what_is_pushed_is_what_was_verified(copied, hub):
    """Though the tokenizer was called in other ways before, after, and between what is saved and what is pushed.

    A push that fails says how to repeat it.
    """
    trainer = trainer_of(copied, "user/verified")
    trainer.processing_class(["the cat", "sees"], padding=True)
    trainer.save_model(_internal_call=True)
    trainer.processing_class("the cat sees", truncation=True, max_length=5)
    hub.answers = {"receive_commit": [403]}
    told = r"the run is saved.*modeling-scratch push --folder .*run --repo_id user/verified"
    with pytest.raises(DataError, match=told):
        share(trainer)
    share(trainer)
    pushed = hub.files("user/verified")
    recorded = json.loads(pushed["verify.json"])["files"]
    assert {name: file["sha256"] for name, file in recorded.items()} == {
        name: sha256(pushed[name]).hexdigest() for name in recorded
    }
    said = json.loads(pushed["tokenizer.json"])
    assert (said["truncation"], said["padding"]) == (None, None)
    push_to_hub.main(["--folder", str(copied), "--repo_id", "user/again"])
    assert b'model="user/again"' in hub.files("user/again")["README.md"]
