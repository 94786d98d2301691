# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Recipes: one run of several stages, which never reads the texts that it is evaluated on, and resumes exactly."""

import json
import random
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import draw_recipes
import matplotlib.image
import pytest
import train_classifier
from processes import Ended, at_call, in_child, refusal
from test_killed_at_random import SEED, die_at
from test_resume import KILL, TERM
from test_train_classifier import write_reviews
from text_samples import write
from transformers import AutoTokenizer

from modeling_scratch.data.labelled_texts import ReviewData
from modeling_scratch.data.unlabelled import load_corpus
from modeling_scratch.evaluation.recipe_plots import read_recipe_run
from modeling_scratch.sharing.push import files_to_upload
from modeling_scratch.sharing.verification import Verdict, verify
from modeling_scratch.training import resumable as survival
from modeling_scratch.training import stages, teachers
from modeling_scratch.training.encoder_models import build_tokenizer
from modeling_scratch.training.recipes import (
    LEAST_WORDS,
    MASKED_EPOCHS,
    RECIPES,
    RecipeArguments,
    Speeds,
    TextSizes,
    choose,
    schedule,
)
from modeling_scratch.training.run import Run

TINY = "--config_overrides hidden_size=8,intermediate_size=8,num_hidden_layers=1,num_attention_heads=2"
STAGE = "--teachers 2 --pretraining_steps 4 --pretraining_batch_size 8 --pretraining_block_size 16"
OPTIONS = f"--report_to none --use_cpu --disable_tqdm True --num_train_epochs 2 --learning_rate 2e-2 {TINY} {STAGE}"
HELD_OUT = {"validation": "a zebra of a film", "test": "an okapi of a story"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews, and unlabelled texts among which those of validation and test are hidden."""
    folder = tmp_path_factory.mktemp("data") / "reviews"
    folder.mkdir()
    for seed, split in enumerate(("train", *HELD_OUT)):
        path = write_reviews(folder / f"{split}.csv", 60 if split == "train" else 20, 1_000 * seed)
        if split in HELD_OUT:
            path.write_text(f"{path.read_text()}{HELD_OUT[split]},1\n")
    copies = [text for text in HELD_OUT.values() for text in (text, text.upper(), text.replace(" ", "  \t"))]
    write(folder / "unsupervised.csv", {"text": [*copies, *(f"a quiet film {number}" for number in range(30))]})
    (folder.parent / "more.txt").write_text("\n".join([*copies, "a loud film", "a loud story"]))
    return folder


def run(data: Path, output: Path, *before: Callable[[], None], extra: str = "") -> Ended:
    more = data.parent / "more.txt"
    arguments = f"--data_dir {data} --unlabelled_file {more} --output_dir {output} --recipe hour {OPTIONS} {extra}"
    return in_child(*before, lambda: train_classifier.main(arguments.split()))


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One finished run, for all tests that only look at it."""
    output = tmp_path_factory.mktemp("finished") / "run"
    ended = run(data, output)
    assert ended.status == 0, ended.text
    return output


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_reports_what_each_stage_read_and_reached(finished: Path) -> None:
    rows = {row["name"]: row for row in read(finished / "evaluation.json")["stages"]}
    assert list(rows) == ["tokenizer", "pretraining", "teacher 1", "teacher 2", "fine-tuning"]
    assert [row["steps"] for row in rows.values()][1:] == [4, 8, 12, 12]  # with 60 texts, then with 32 others as well
    assert [row["read"].split()[0] for row in rows.values()][2:] == ["60", "92", "92"]
    assert "loss " in rows["pretraining"]["result"]
    accuracy = read(finished / "all_results.json")["eval_accuracy"]
    assert f"{accuracy:.2%}"[:-1] in rows["fine-tuning"]["result"]
    for page in "results.md", "README.md":
        assert "loss " in (finished / page).read_text(encoding="utf-8"), page


def test_records_the_whole_run_and_that_of_the_stage(finished: Path) -> None:
    record, stage = read(finished / "run_config.json"), read(finished / "pretraining" / "run_config.json")
    assert record["recipe"]["recipe"] == "hour"
    assert record["training"]["learning_rate"] == 2e-2
    assert record["recipe_choices"]["pretraining"]["max_steps"] == stage["training"]["max_steps"] == 4
    assert not any("before" in key for key in (*record, *stage))
    config = read(finished / "config.json")
    assert (config["hidden_size"], config["position_type"], config["classifier_pooling"]) == (8, "rotary", "mean")
    assert read(finished / "pretraining" / "config.json")["hidden_dropout"] == 0
    assert (finished / "tokenizer.json").read_bytes() == (finished / "pretraining" / "tokenizer.json").read_bytes()


def test_never_pretrains_on_texts_of_validation_and_test(data: Path, finished: Path) -> None:
    vocabulary = AutoTokenizer.from_pretrained(finished / "pretraining").get_vocab()
    assert {"quiet", "loud"} <= vocabulary.keys()
    assert not {"zebra", "okapi"} & vocabulary.keys()
    notes = read(finished / "pretraining" / "run_config.json")["notes"]
    assert [note.split("; ")[1].split()[0] for note in notes if "removed" in note] == ["0", "6", "6"]
    arguments = stages.DataArguments(data_dir=str(data))
    loaded = stages.classification.load_splits(arguments)
    corpus = load_corpus(loaded, arguments, [str(data.parent / "more.txt")])
    assert not [text for text in corpus.texts if "zebra" in text.lower() or "okapi" in text.lower()]
    assert len(corpus.texts) == 60 + 30 + 2


def test_a_picture_shows_minutes_against_accuracy(finished: Path, tmp_path: Path, capsys) -> None:
    read_run = read_recipe_run(finished)
    rows = {row["name"]: row["minutes"] for row in read(finished / "evaluation.json")["stages"]}
    minutes = [minute for minute, _ in read_run.curve]
    assert len(minutes) == 6  # two epochs of each teacher and of the classifier
    assert minutes == sorted(minutes)
    assert minutes[0] > rows["tokenizer"] + rows["pretraining"]
    assert minutes[-1] == pytest.approx(sum(rows.values()), rel=1e-3)
    assert read_run.curve[-1][1] == read(finished / "all_results.json")["eval_accuracy"]
    draw_recipes.main([str(tmp_path / "recipes.png"), "--panel", "reviews", str(finished), str(finished)])
    assert matplotlib.image.imread(tmp_path / "recipes.png").shape[0] > 300
    arguments = [str(tmp_path / "none.png"), "--panel", "reviews", str(finished / "pretraining")]
    assert "not the folder of a finished run with --recipe" in refusal(capsys, draw_recipes.main, arguments)
    assert not (tmp_path / "none.png").exists()


def test_the_stage_is_neither_verified_nor_pushed(finished: Path) -> None:
    assert verify(finished).verdict is Verdict.SAME
    assert not [name for name in files_to_upload(finished) if name.startswith(("pretraining", "teacher"))]


seal = partial(at_call, survival, "seal")  # 4 checkpoints of pretraining, then 2 of each teacher and of fine-tuning
FAULTS = {
    "killed in pretraining before a checkpoint": (seal(1, KILL), -9),
    "killed in pretraining": (seal(3, KILL), -9),
    "SIGTERM in pretraining": (seal(2, TERM), 143),
    "killed while the pretrained model is saved": (at_call(survival, "_move_all", 1, KILL), -9),
    "killed after pretraining": (at_call(stages, "pretraining_stage", 1, KILL), -9),
    "killed in a teacher before a checkpoint": (seal(5, KILL), -9),
    "killed in a teacher": (seal(6, KILL), -9),
    "killed while a teacher is saved": (at_call(survival, "_move_all", 2, KILL), -9),
    "killed while a teacher's labels are saved": (at_call(teachers, "save_file", 1, KILL), -9),
    "killed after a teacher": (at_call(teachers, "fine_tuning_stage", 2, KILL), -9),
    "killed in fine-tuning before a checkpoint": (seal(9, KILL), -9),
    "killed in fine-tuning": (seal(10, KILL), -9),
    "killed while the classifier is saved": (at_call(survival, "_move_all", 4, KILL), -9),
}
QUICK = "killed in pretraining", "killed while a teacher's labels are saved"
CASES = [pytest.param(fault, marks=[] if fault in QUICK else pytest.mark.slow) for fault in FAULTS]


@pytest.mark.parametrize("fault", CASES)
def test_a_resumed_run_ends_with_the_same_weights(fault: str, data: Path, tmp_path: Path, finished: Path) -> None:
    patch, status = FAULTS[fault]
    ended = run(data, tmp_path / "run", patch)
    assert ended.status == status, ended.text
    before = times(tmp_path / "run" / "pretraining")
    ended = run(data, tmp_path / "run", extra="--resume_from_checkpoint last")
    assert ended.status == 0, ended.text
    models = (f"{folder}model.safetensors" for folder in ("", "pretraining/", "teacher-1/", "teacher-2/"))
    for name in *models, "teacher-2/labels.safetensors", "tokenizer.json":
        assert (tmp_path / "run" / name).read_bytes() == (finished / name).read_bytes(), name
    assert read(tmp_path / "run" / "run_config.json")["recipe_choices"]["options"]["num_train_epochs"] == 2
    assert not list(tmp_path.glob("run/**/.unfinished*"))
    if "fine-tuning" in fault or "classifier" in fault:
        assert times(tmp_path / "run" / "pretraining") == before


@pytest.mark.slow
@pytest.mark.parametrize("part", [random.Random(SEED).random() for _ in range(8)])
def test_a_run_that_is_killed_anywhere_can_be_finished(
    part: float, data: Path, tmp_path: Path, finished: Path, file_events: int
) -> None:
    ended = run(data, tmp_path / "run", die_at(moment := 1 + int(part * file_events), tmp_path / "run", tmp_path / "n"))
    print(f"file event {moment} of {file_events}")
    assert ended.status == -9, ended.text
    for extra in "--resume_from_checkpoint last", "", "--overwrite":
        ended = run(data, tmp_path / "run", extra=extra)
        if ended.status == 0:
            break
        assert ended.status == 2, ended.text
    assert extra != "--overwrite"
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == (finished / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def file_events(data: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """The number of file events of a run."""
    folder = tmp_path_factory.mktemp("counted")
    ended = run(data, folder / "run", die_at(0, folder / "run", folder / "n"))
    assert ended.status == 0, ended.text
    return (folder / "n").stat().st_size


def test_a_resumed_run_uses_the_recorded_numbers(data: Path, tmp_path: Path) -> None:
    measured = "--pretraining_minutes 0.01 --num_train_epochs 1"
    options = f"--report_to none --use_cpu --disable_tqdm True {TINY} --pretraining_block_size 16 {measured}"
    arguments = f"--data_dir {data} --output_dir {tmp_path / 'run'} --recipe night {options}".split()
    ended = in_child(seal(1, KILL), lambda: train_classifier.main(arguments))
    assert ended.status == -9, ended.text
    before = read(tmp_path / "run" / "run_config.json")["recipe_choices"]
    ended = in_child(lambda: train_classifier.main([*arguments, "--resume_from_checkpoint", "last"]))
    assert ended.status == 0, ended.text
    assert read(tmp_path / "run" / "run_config.json")["recipe_choices"] == before
    steps = read(tmp_path / "run" / "pretraining" / "trainer_state.json")["global_step"]
    assert steps == before["pretraining"]["max_steps"]


def test_labels_of_a_teacher_are_made_anew_if_damaged_and_refused_for_other_texts(
    data: Path, finished: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    labels = folder / "teacher-2" / "labels.safetensors"
    labels.write_bytes(labels.read_bytes()[:50])
    ended = run(data, folder, extra="--resume_from_checkpoint last")
    assert ended.status == 0, ended.text
    for name in "model.safetensors", "teacher-2/labels.safetensors":
        assert (folder / name).read_bytes() == (finished / name).read_bytes(), name
    assert [row["name"] for row in read(folder / "run_config.json")["finished_stages"]] == [
        "tokenizer", "pretraining", "teacher 1", "teacher 2",
    ]  # fmt: skip
    other = shutil.copytree(data.parent, tmp_path / "other")
    texts = other / "reviews" / "unsupervised.csv"
    texts.write_text(texts.read_text().replace("a quiet film 7", "a quiet film 70"))
    ended = run(other / "reviews", folder, extra="--resume_from_checkpoint last")
    assert (ended.status, "restore" in ended.text) == (2, True), ended.text


def test_overwrite_replaces_all_stages(data: Path, finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    ended = run(data, folder, extra="--overwrite --adam_beta1 1.5")
    assert (ended.status, times(folder).keys()) == (2, times(finished).keys()), ended.text
    plain = f"--data_dir {data} --output_dir {folder} --report_to none --use_cpu {TINY} --max_steps 1".split()
    plain += ["--recipe", "minutes"]
    ended = in_child(lambda: train_classifier.main([*plain, "--overwrite"]))
    assert ended.status == 0, ended.text
    assert not [*folder.glob("pretraining"), *folder.glob("teacher-*")]
    (folder / "pretraining").mkdir()  # of somebody else: this recipe has no pretraining
    (folder / "pretraining" / "notes.txt").touch()
    ended = in_child(lambda: train_classifier.main([*plain, "--overwrite"]))
    assert ended.status == 0, ended.text
    assert (folder / "pretraining" / "notes.txt").is_file()


REFUSED = {
    "--recipe hour --model_name_or_path runs/other": "--model_name_or_path",
    "--recipe hour --search_trials 2": "--search_trials",
    "--recipe hour --push_to_hub True": "modeling-scratch push",
    "--recipe hour --resume_from_checkpoint last": "--recipe",
    "--recipe hour --pretraining_steps 2 --pretraining_minutes 1": "mutually exclusive",
    "--recipe hour --pretraining_minutes -1": "at least 0",
    "--recipe hour --unlabelled_file missing.csv": "missing.csv",
    "--recipe hour --teachers -1": "at least 0",
    "--recipe hour --teachers 1 --pretraining_minutes 0": "there is no pretraining",
    "--teachers 1": "requires --recipe",
    "--pretraining_steps 2": "requires --recipe",
    "--recipe hour --adam_beta1 1.5": "beta",
}


@pytest.mark.parametrize("options", REFUSED)
def test_refuses(options: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = f"--data_dir {data} --output_dir {tmp_path / 'run'} --use_cpu --report_to none {options}".split()
    assert REFUSED[options] in refusal(capsys, train_classifier.main, arguments)
    assert not (tmp_path / "run").exists()


def test_a_damaged_or_foreign_record_is_refused(data: Path, finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    for change in {"trust_remote_code": "True"}, {"vocab_size": ["8", "--overwrite"]}:
        record = read(finished / "run_config.json")
        record["recipe_choices"]["options"] |= change
        (folder / "run_config.json").write_text(json.dumps(record))
        ended = run(data, folder, extra="--resume_from_checkpoint last")
        assert (ended.status, "is damaged" in ended.text) == (2, True), ended.text


def sizes(words: int, length: int = 200) -> TextSizes:
    return TextSizes(max(1, words // length), words, 6 * words)


@pytest.mark.parametrize("recipe", RECIPES)
def test_models_grow_with_the_text_up_to_the_width_of_the_recipe(recipe: str) -> None:
    arguments = RecipeArguments(recipe)
    chosen = [choose(arguments, sizes(10**power)) for power in range(3, 9)]
    widths = [int(each.options["config_overrides"].split(",")[0].split("=")[1]) for each in chosen]
    assert widths == sorted(widths)
    assert widths[-1] == RECIPES[recipe].context_width
    assert not chosen[0].pretraining
    assert chosen[-1].pretraining["objective"] == "context"
    short = choose(arguments, sizes(10**8, length=9)).pretraining
    assert short.get("objective") == (None if recipe == "minutes" else "mlm")
    with_reviews = choose(arguments, sizes(10**8), sizes(10**6, length=9))
    assert with_reviews.pretraining["objective"] == "context"
    assert with_reviews.options["per_device_train_batch_size"] == 64


@pytest.mark.parametrize("texts", [50, 200, 1_500, 5_000, 15_000])
@pytest.mark.parametrize("length", [9, 200])
def test_few_texts_are_read_often_enough_in_small_batches(texts: int, length: int) -> None:
    arguments = RecipeArguments("minutes")
    chosen = choose(arguments, TextSizes(texts, texts * length, 6 * texts * length))
    assert not chosen.pretraining
    planned = schedule(chosen, arguments, Speeds(0.1, 1), None).options
    steps = planned["num_train_epochs"] * texts / planned["per_device_train_batch_size"]
    assert steps >= 300 or planned["num_train_epochs"] == 30
    assert planned["num_train_epochs"] <= 30
    assert planned["min_frequency"] == 1
    assert int(planned["config_overrides"].partition("ngram_vocab_size=")[2]) == min(100_000, 2 * texts * length // 5)
    assert planned["linear_part"] is True


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("texts", [50, 200, 1_500, 4_000, 22_000, 10**6])
@pytest.mark.parametrize("length", [9, 200])
def test_few_labels_are_read_as_often_after_pretraining(recipe: str, texts: int, length: int) -> None:
    """And many are not read more often than without: 300 steps are a part of an epoch of them."""
    labelled = TextSizes(texts, texts * length, 6 * texts * length)
    chosen = choose(RecipeArguments(recipe), sizes(10**8), labelled)
    assert chosen.pretraining["objective"] == "context"
    epochs, batch = (chosen.options[name] for name in ("num_train_epochs", "per_device_train_batch_size"))
    assert epochs * texts / batch >= 300 or epochs == 30
    assert epochs == (2 if length > 9 else 3) or (epochs - 1) * texts / batch < 300


def test_the_number_of_blocks_is_tried_on_few_texts_alone() -> None:
    arguments = RecipeArguments("minutes")
    assert choose(arguments, TextSizes(4_999, 50_000, 250_000)).tries_depth
    for others in TextSizes(5_000, 50_000, 250_000), TextSizes(500, 5_000, 25_000, are_pairs=True), sizes(10**8):
        assert not choose(arguments, others).tries_depth


def test_held_out_texts_choose_the_number_of_blocks(tmp_path: Path) -> None:
    """The row of the report and the saved model agree; a number that is given is not tried."""
    table = write_reviews(tmp_path / "reviews.csv", 60, 0)
    small = TINY.replace("num_hidden_layers=1,", "")
    arguments = f"--train_file {table} --recipe minutes --max_steps 4 --report_to none --use_cpu --disable_tqdm True"

    def trained(name: str, overrides: str) -> tuple[dict, dict]:
        folder = tmp_path / name
        ended = in_child(
            lambda: train_classifier.main([*arguments.split(), *overrides.split(), "--output_dir", str(folder)])
        )
        assert ended.status == 0, ended.text
        return read(folder / "config.json"), {row["name"]: row for row in read(folder / "evaluation.json")["stages"]}

    config, rows = trained("tried", small)
    assert rows["number of blocks"]["read"] == "48 texts, 3 folds"
    of_blocks = re.findall(r"([\d.]+) % with (\d) block", rows["number of blocks"]["result"])
    scores = {int(depth): float(accuracy) for accuracy, depth in of_blocks}
    assert scores.keys() == {0, 1}
    assert config["num_hidden_layers"] == int(scores[1] > scores[0])
    has_no_blocks = config["num_hidden_layers"] == 0
    for file in ("results.md", "README.md"):
        assert ("has no blocks" in (tmp_path / "tried" / file).read_text()) == has_no_blocks
    config, rows = trained("none", TINY.replace("num_hidden_layers=1", "num_hidden_layers=0"))
    assert "has no blocks" in (tmp_path / "none" / "results.md").read_text()
    assert "heads: " not in (tmp_path / "none" / "README.md").read_text()
    config, rows = trained("given", TINY.replace("num_hidden_layers=1", "num_hidden_layers=2"))
    assert config["num_hidden_layers"] == 2
    assert "number of blocks" not in rows


def test_a_trial_that_would_take_most_of_the_minutes_is_left_out(tmp_path: Path) -> None:
    """No model is built: the run has none."""
    arguments = RecipeArguments("minutes")
    choices = choose(arguments, TextSizes(50, 500, 2_500))
    model, training = stages.with_choices(choices, ["--output_dir", str(tmp_path), "--use_cpu"])
    run = Run("scripts/train_classifier.py", {"recipe": arguments, "model": model, "training": training}, None)
    texts = ReviewData.from_pairs({"train": [(f"film {n}", n % 2) for n in range(50)]}, ["bad", "good"], [], [])
    tokenizer = build_tokenizer(model, texts.texts("train"))
    found, rows = stages.try_depth(run, texts, tokenizer, choices, Speeds(60, 1), [])
    assert not rows
    assert "not tried, as this would take" in found.reasons[-1]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("speed", [0.01, 1, 100])
@pytest.mark.parametrize("length", [9, 200])
def test_large_data_fills_the_time_and_small_data_does_not(recipe: str, speed: float, length: int) -> None:
    arguments, budget = RecipeArguments(recipe), RECIPES[recipe].minutes * 60
    chosen = choose(arguments, sizes(10**8, length))
    most_epochs = RECIPES[recipe].passes if chosen.pretraining.get("objective") == "context" else MASKED_EPOCHS
    for epoch_steps in 10, 1_000_000:
        speeds = Speeds(epoch_steps * speed, epoch_steps, speed, epoch_steps, 10 * speed)
        planned = schedule(chosen, arguments, speeds, None)
        epochs, steps = planned.options["num_train_epochs"], planned.pretraining.get("max_steps", 0)
        seconds = epochs * epoch_steps * speed + (steps * speed + 10 * speed if steps else 0)
        assert seconds <= budget * 1.25 or steps == 1, planned.reasons
        assert epochs <= chosen.options["num_train_epochs"]
        assert steps <= most_epochs * epoch_steps
        if epoch_steps * speed > budget:
            assert seconds > budget * 0.75, planned.reasons


def test_the_documentation_has_the_numbers_of_the_recipes() -> None:
    text = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
    for name, each in RECIPES.items():
        numbers = f"{each.minutes:g} | {each.pretraining_share:.0%} | {each.width}".replace("%", " %")
        passes = f"{each.passes} pass{'es' * (each.passes > 1)}"
        of_long = f"{each.context_width} wide, {each.ngrams:,} n-grams, {passes} | {each.teachers}"
        assert f"| `{name}` | {numbers} | {of_long} |" in text
    assert f"less than {LEAST_WORDS:,} words" in text


def test_teachers_keep_to_the_time_or_are_left_out() -> None:
    arguments, labelled, to_label = RecipeArguments("hour"), sizes(10**6), sizes(3 * 10**6)
    chosen = choose(arguments, sizes(10**7), labelled, to_label)
    assert chosen.teachers == RECIPES["hour"].teachers == 1
    for epoch in 10, 100, 200:
        planned = schedule(chosen, arguments, Speeds(epoch, 1_000, 0.1, 1_000), None, labelled, to_label)
        assert planned.teachers == 1
        epochs = planned.options["num_train_epochs"]
        assert epochs >= 1
        assert epochs * epoch * (1 + 4) + planned.pretraining["max_steps"] * 0.1 <= 3_600
    planned = schedule(chosen, arguments, Speeds(1_000, 1_000, 0.1, 1_000), None, labelled, to_label)
    assert planned.teachers == 0
    assert planned.options["num_train_epochs"] >= 1
    assert any("no teachers" in reason for reason in planned.reasons)
    asked = RecipeArguments("hour", teachers=1)
    planned = schedule(chosen, asked, Speeds(1_000, 1_000, 0.1, 1_000), None, labelled, to_label)
    assert planned.teachers == 1
    assert 0 < planned.options["num_train_epochs"] < 1


@pytest.mark.parametrize(("words", "teachers"), [(10**4, 0), (10**6, 1)])
def test_few_unlabelled_texts_have_no_teacher(words: int, teachers: int) -> None:
    assert choose(RecipeArguments("hour"), sizes(10**7), sizes(10**6), sizes(words)).teachers == teachers


def test_a_long_pretraining_leaves_time_for_fine_tuning() -> None:
    arguments = RecipeArguments("hour", pretraining_minutes=600)
    planned = schedule(choose(arguments, sizes(10**7)), arguments, Speeds(600, 100, 1, 10**6), None)
    assert planned.options["num_train_epochs"] >= 1
    assert planned.pretraining["max_steps"] == 600 * 60


def test_options_for_the_stage_replace_the_choices_of_the_recipe() -> None:
    given = {"learning_rate": 2e-3, "batch_size": 7, "block_size": 48}
    arguments = RecipeArguments("night", pretraining_minutes=3, **{f"pretraining_{key}": given[key] for key in given})
    stage = choose(arguments, sizes(10**7)).pretraining
    assert (stage["learning_rate"], stage["per_device_train_batch_size"], stage["block_size"]) == tuple(given.values())
    assert not choose(RecipeArguments("night", pretraining_minutes=0), sizes(10**7)).pretraining
