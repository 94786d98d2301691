# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a classifier by a recipe: pretrain on its own texts, label the unlabelled ones by teachers, then fine-tune.

All is one resumable run in one folder. Each earlier stage is a run in a folder inside. The record of the whole run
holds what the recipe chose, and the stages that are finished. It is written before the first stage.
"""

import re
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase, set_seed

from ..bridges.model_sources import WITHOUT_WEIGHTS, override_parts
from ..data.documents import Documents
from ..data.labelled_texts import ReviewData
from ..data.splits import DataArguments
from ..data.unlabelled import Corpus, load_corpus
from ..evaluation.classification import Judge
from ..evaluation.judges import KIND_JUDGES
from ..evaluation.stages import Stage, pretraining_stage
from ..sharing.model_files import PRETRAINING
from ..sharing.run_record import RECIPE, RUN_FILE, read_run
from ..utils.command_line import parsed
from ..utils.errors import DataError, counted
from . import classification, pretraining
from .checkpoints import delete_checkpoints, has_checkpoint, step_of
from .classification import ClassifierTrainingArguments, list_of_parts, types_of
from .depth import choose_depth, folds_of, texts_trained_on
from .encoder_models import ModelArguments, build_tokenizer
from .encoder_training import inputs_of
from .objectives import PretrainingModelArguments, check_special_tokens
from .pretraining import PretrainingArguments
from .progress import duration
from .recipes import IN_PRETRAINING, Choices, RecipeArguments, Speeds, TextSizes, choose, schedule
from .run import Run
from .run_folder import alone, check_unchanged
from .soft_labels import PseudoLabelled
from .speed import measure_fine_tuning, measure_pretraining
from .teachers import folder_of, label_linearly, read_labels, texts_to_label, train_teacher

ARGUMENTS = (ModelArguments, DataArguments, RecipeArguments, ClassifierTrainingArguments)
ARCHITECTURE = re.compile("--preset(=|$)")
DEPTH = re.compile("--preset(=|$)|num_hidden_layers=")
TRIAL_SHARE = 0.5  # of the minutes of a recipe, at most, for the trial of the number of blocks
EPOCHS = re.compile("--(num.train.epochs|max.steps)(=|$)")
FINISHED = "finished_stages"
MODEL_OPTIONS = "objective", "block_size", "mask_fraction"  # of pretraining
# Of fine-tuning, also for pretraining.
SHARED = (
    "seed", "use_cpu", "bf16", "fp16", "tf32", "report_to", "disable_tqdm", "full_determinism", "torch_compile",
    "dataloader_num_workers",
)  # fmt: skip


@alone
def train(
    given: Sequence[str],
    model_arguments: ModelArguments,
    data_arguments: DataArguments,
    recipe_arguments: RecipeArguments,
    arguments: ClassifierTrainingArguments,
) -> None:
    """Run the training, with a recipe if the arguments name one. given: the command line, which `parsed` reads."""
    if recipe_arguments.recipe is None:
        if takes_recipe(model_arguments, data_arguments, arguments):
            print("No recipe: options that are not given have their defaults; --recipe minutes fits them to the texts.")
        return classification.train_once(model_arguments, data_arguments, arguments)
    check_combination(model_arguments, data_arguments, recipe_arguments, arguments)
    recorded = recorded_choices(arguments, recipe_arguments)
    if recorded:
        model_arguments, arguments = with_choices(recorded, given)
    run = open_run(model_arguments, data_arguments, recipe_arguments, arguments)
    data = classification.load_data(run)
    classification.check_kind(data.problem_type, arguments)
    if data.problem_type in KIND_JUDGES and recipe_arguments.teachers:
        raise DataError(f"--teachers label texts with one class, and the task is {data.problem_type}: remove it")
    judge: Any = classification.make_judge(run, data)
    if recorded:
        run.noted = {name: read_run(run.folder)[name] for name in (RECIPE, FINISHED)}
    added = before_fine_tuning(run, data, judge, recorded, given)
    others = score_baseline_with(added, data, judge) if added else {}
    set_seed(run.groups["training"].seed)  # a run that resumes between the stages starts here
    stages = [Stage(**stage) for stage in run.noted[FINISHED]]
    classification.train_on(run, data, fine_tuned(run), judge, stages, added, others)


def takes_recipe(
    model_arguments: ModelArguments, data_arguments: DataArguments, arguments: ClassifierTrainingArguments
) -> bool:
    """Return whether a run without a recipe could have one."""
    is_single = arguments.world_size == 1 and arguments.n_gpu <= 1
    is_new = not (arguments.resume_from_checkpoint or data_arguments.uses_demo)
    return is_single and is_new and not any(excluded(model_arguments, arguments).values())


def excluded(model_arguments: ModelArguments, arguments: ClassifierTrainingArguments) -> dict[str, Any]:
    """Return the values of the options that no recipe takes, by name."""
    return {
        "--model_name_or_path": model_arguments.model_name_or_path,
        "--search_trials": arguments.search_trials,
        "--push_to_hub": arguments.push_to_hub,
    }


def score_baseline_with(added: PseudoLabelled, data: ReviewData, judge: Judge) -> dict[str, np.ndarray]:
    """Return the predictions of the best baseline if it learns from the same pseudo-labels, under its name."""
    predictions = label_linearly(judge.best_baseline, data, added, judge.texts).argmax(-1)
    return {f"{judge.best_baseline.name} with the same unlabelled texts": predictions}


def check_combination(
    model_arguments: ModelArguments,
    data_arguments: DataArguments,
    recipe_arguments: RecipeArguments,
    arguments: ClassifierTrainingArguments,
) -> None:
    of_pretraining = (name for name, value in vars(recipe_arguments).items() if value is not None and name != "recipe")
    if data_arguments.has_pairs and (option := next(of_pretraining, None)):
        raise DataError(f"--{option}: a recipe does not pretrain for pairs of texts (--text_column); leave it out")
    for option, value in excluded(model_arguments, arguments).items():
        if value:
            after = ", or push the finished run by `modeling-scratch push`" if option == "--push_to_hub" else ""
            remedy = f"leave --recipe out (make train RECIPE=){after}"
            raise DataError(f"--recipe trains a new model once, and excludes {option}: {remedy}")
    if arguments.class_weights and recipe_arguments.teachers:
        raise DataError("--teachers excludes --class_weights, which would count twice: leave one of them out")
    if arguments.world_size > 1 or arguments.n_gpu > 1:
        raise DataError("--recipe runs in one process, on one device (CUDA_VISIBLE_DEVICES=0)")


def recorded_choices(arguments: ClassifierTrainingArguments, recipe_arguments: RecipeArguments) -> Choices | None:
    """Return what the recipe chose for the run that is to be resumed; None for a new run."""
    if not arguments.resume_from_checkpoint or arguments.resume_from_checkpoint.lower() == "false":
        return None
    folder = Path(arguments.output_dir or "")
    record = read_run(folder)
    if RECIPE not in record:
        raise DataError(
            f"--resume_from_checkpoint: {folder} holds no run that was started with --recipe: leave --recipe out "
            "(make train RECIPE=)"
        )
    check_unchanged(folder, {"recipe": recipe_arguments}, ())
    try:
        [Stage(**stage) for stage in record[FINISHED]]
        return Choices.of_record(record[RECIPE])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{folder / RUN_FILE} is damaged: restore it from a copy, or use --overwrite") from error


def with_choices(choices: Choices, given: Sequence[str]) -> tuple[ModelArguments, ClassifierTrainingArguments]:
    """Return the arguments of the command line after those that the recipe chose; the last of two counts."""
    options = dict(choices.options)
    if any(map(ARCHITECTURE.match, given)):
        options = {name: value for name, value in options.items() if name not in ("preset", "config_overrides")}
    overrides = options.pop("config_overrides", None)
    model_arguments, _, _, arguments = parsed(
        ARGUMENTS, [*(f"--{name}={value}" for name, value in options.items()), *given]
    )
    both = ",".join(filter(None, [overrides, model_arguments.config_overrides])) or None
    return replace(model_arguments, config_overrides=both), arguments


def open_run(
    model_arguments: ModelArguments,
    data_arguments: DataArguments,
    recipe_arguments: RecipeArguments,
    arguments: ClassifierTrainingArguments,
) -> Run:
    """Open the run. Without a checkpoint of fine-tuning, a resumed one continues with an earlier stage."""
    fixed = None
    if (arguments.resume_from_checkpoint or "").lower() in ("last", "true") and not has_checkpoint(arguments):
        arguments, fixed = copy(arguments), ()
        arguments.resume_from_checkpoint = None
    inputs = [*inputs_of(model_arguments, data_arguments), *(recipe_arguments.unlabelled_file or ())]
    run = Run.open(classification.PROGRAM, model_arguments, data_arguments, arguments, inputs, fixed)
    run.groups["recipe"] = recipe_arguments
    return run


def before_fine_tuning(
    run: Run, data: ReviewData, judge: Judge, choices: Choices | None, given: Sequence[str]
) -> PseudoLabelled | None:
    """Choose and record, if the run is new, and run the stages that are not finished. Return what teachers labelled."""
    groups = run.groups
    if choices and not choices.teachers and (run.checkpoint or has_finished(run, "pretraining")):
        return None
    corpus = load_corpus(data, groups["data"], groups["recipe"].unlabelled_file or ())
    # Weights of classes would count twice in what teachers label, whose probabilities they have shifted.
    has_teachers = data.problem_type not in KIND_JUDGES and not groups["training"].class_weights
    texts = [] if not has_teachers else texts_to_label(corpus, data, groups["training"].seed)
    if choices is None:
        choices = start(run, data, corpus, texts, given)
    else:
        classification.keep_best_epoch(groups["training"], data)
    print(*choices.reasons, sep="\n")
    if choices.pretraining and not has_finished(run, "pretraining"):
        finish(run, data, pretrain(run, corpus, choices))
    return train_teachers(run, data, judge, texts, choices.teachers)


def has_finished(run: Run, stage: str) -> bool:
    return any(finished["name"] == stage for finished in run.noted[FINISHED])


def finish(run: Run, data: ReviewData, stage: Stage) -> None:
    """Record a finished stage."""
    others = [finished for finished in run.noted[FINISHED] if finished["name"] != stage.name]
    run.noted[FINISHED] = [*others, asdict(stage)]
    run.record(data.notes)


def train_teachers(
    run: Run, data: ReviewData, judge: Judge, texts: Sequence[str], teachers: int
) -> PseudoLabelled | None:
    """Train the teachers that are not finished, and return the labels that the last one gave the texts, if any."""
    added = None
    for number in range(1, teachers + 1):
        labelled = read_labels(run, number, texts) if has_finished(run, f"teacher {number}") else None
        if labelled is None:
            finish(run, data, train_teacher(run, number, data, judge.best_baseline, fine_tuned(run), texts, added))
            labelled = read_labels(run, number, texts)
        delete_checkpoints(folder_of(run, number))  # nothing resumes from them
        added = labelled
    return added


def checked(choices: Choices, arguments: RecipeArguments) -> Choices:
    """Return the choices. Raises `DataError` for arguments that they leave without effect."""
    if arguments.unlabelled_file and not choices.pretraining:
        raise DataError("--unlabelled_file: this recipe has no pretraining for these texts; give --pretraining_minutes")
    if arguments.teachers and not choices.teachers:
        raise DataError(
            "--teachers: there is no pretraining (--pretraining_minutes), or no unlabelled text (--unlabelled_file) as "
            "long as the labelled ones"
        )
    return choices


def start(run: Run, data: ReviewData, corpus: Corpus, texts: Sequence[str], given: Sequence[str]) -> Choices:
    """Choose for a new run, measure the speed, and claim the folder. Nothing is written before.

    texts: those that teachers would label.
    """
    groups = run.groups
    labelled = TextSizes.of(data.texts("train"))
    to_label = TextSizes.of(texts)
    choices = checked(choose(groups["recipe"], TextSizes.of(corpus.texts), labelled, to_label), groups["recipe"])
    groups["model"], groups["training"] = with_choices(choices, given)
    begun = time.perf_counter()
    documents = corpus.documents(groups["training"].seed)
    read = list(documents.train if choices.pretraining else data.texts("train"))
    tokenizer = build_tokenizer(groups["model"], list_of_parts(read), **types_of(data))
    minutes = (time.perf_counter() - begun) / 60
    learned = Stage("tokenizer", counted(len(read), "text"), 0, minutes, f"{len(tokenizer):,} tokens")
    speeds = measure(run, data, documents, tokenizer, choices)
    tried: list[Stage] = []
    if choices.tries_depth and not any(map(DEPTH.search, given)):
        choices, tried = try_depth(run, data, tokenizer, choices, speeds, given)
        taken = sum(stage.minutes for stage in tried) * 60
        speeds = replace(measure(run, data, documents, tokenizer, choices), trial=taken)
    given_epochs = None
    if any(map(EPOCHS.match, given)):
        given_epochs = epochs_of(groups["training"], speeds.with_teachers(choices.teachers, labelled, to_label))
    choices = schedule(choices, groups["recipe"], speeds, given_epochs, labelled, to_label)
    groups["model"], groups["training"] = with_choices(choices, given)
    classification.keep_best_epoch(groups["training"], data)
    run.noted = {RECIPE: choices.to_record(), FINISHED: list(map(asdict, [learned, *tried]))}
    run.record(data.notes)
    return choices


def try_depth(
    run: Run,
    data: ReviewData,
    tokenizer: PreTrainedTokenizerBase,
    choices: Choices,
    speeds: Speeds,
    given: Sequence[str],
) -> tuple[Choices, list[Stage]]:
    """Return the choices with the number of blocks that held-out texts choose, and the row of the report.

    speeds: of the choices. There is no trial, and no row, if it would take too much of the minutes of the recipe.
    """
    arguments, limit = run.groups["training"], TRIAL_SHARE * run.groups["recipe"].chosen.minutes
    folds = list(folds_of(data, arguments.seed))
    epochs = epochs_of(arguments, speeds) * texts_trained_on(folds) / len(data.splits["train"])
    seconds = epochs * speeds.fine_tuning_epoch
    if seconds > limit * 60:
        reason = f"number of blocks: not tried, as this would take {duration(seconds)}"
        return replace(choices, reasons=[*choices.reasons, reason]), []
    print(f"trying the number of blocks on held-out texts of train: about {duration(seconds)}")
    depth, stage = choose_depth(run, data, folds, tokenizer)
    choices = choices.with_depth(depth, f"{stage.name}: {depth} ({stage.result})")
    run.groups["model"], run.groups["training"] = with_choices(choices, given)
    return choices, [stage]


def epochs_of(arguments: ClassifierTrainingArguments, speeds: Speeds) -> float:
    if arguments.max_steps > 0:
        return arguments.max_steps / speeds.fine_tuning_epoch_steps
    return arguments.num_train_epochs


def measure(
    run: Run, data: ReviewData, documents: Documents, tokenizer: PreTrainedTokenizerBase, choices: Choices
) -> Speeds:
    """Measure both stages. Raises `DataError` for arguments with which one of them could not train."""
    groups = run.groups
    speeds = measure_fine_tuning(groups["model"], groups["training"], data, tokenizer)
    if not choices.pretraining:
        return speeds
    model_arguments, arguments = stage_arguments(groups, choices.pretraining)
    check_special_tokens(tokenizer, model_arguments)
    step, epoch, evaluations = measure_pretraining(model_arguments, arguments, documents, tokenizer)
    return replace(speeds, pretraining_step=step, pretraining_epoch_steps=epoch, pretraining_evaluations=evaluations)


def stage_arguments(
    groups: Mapping[str, Any], chosen: Mapping[str, Any]
) -> tuple[PretrainingModelArguments, PretrainingArguments]:
    """Return the arguments of the pretraining stage: those that the recipe chose, and those of the whole run."""
    whole, training = groups["model"], groups["training"]
    overrides = [whole.config_overrides, IN_PRETRAINING]
    if whole.max_length is not None:
        overrides.append(f"max_position_embeddings={max(whole.max_length, chosen['block_size'])}")
    of_model = {"objective": "mlm", **{name: chosen[name] for name in MODEL_OPTIONS if name in chosen}}
    model = PretrainingModelArguments(
        preset=whole.preset,
        config_overrides=",".join(filter(None, overrides)),
        tokenizer_kind=whole.tokenizer_kind,
        vocab_size=whole.vocab_size,
        lowercase=whole.lowercase,
        **of_model,
    )
    options = {name: value for name, value in chosen.items() if name not in of_model}
    shared = {name: getattr(training, name) for name in SHARED}
    return model, PretrainingArguments(output_dir=str(Path(training.output_dir, PRETRAINING)), **options, **shared)


def pretrain(run: Run, corpus: Corpus, choices: Choices) -> Stage:
    """Run the pretraining stage, or what is left of it, and return its row of the report."""
    model_arguments, arguments = stage_arguments(run.groups, choices.pretraining)
    documents = corpus.documents(arguments.seed)
    since, tokens_of_row = run_stage(run, documents, model_arguments, arguments)
    tokens = round(tokens_of_row * arguments.train_batch_size * arguments.max_steps)
    read = f"{counted(len(list(documents.train)), 'text')}, {tokens:,} tokens in all"
    return pretraining_stage(Path(arguments.output_dir or ""), read, since)


def run_stage(
    run: Run, documents: Documents, model_arguments: PretrainingModelArguments, arguments: PretrainingArguments
) -> tuple[int, float]:
    """Start or resume the pretraining, and return the step that it resumed at, and the mean length of its rows."""
    stage = Run.open_stage(pretraining.PROGRAM, model_arguments, run.groups["data"], arguments)
    stage.check_data(documents.digests())
    print("", documents.describe(), sep="\n")
    tokenizer = build_tokenizer(run.groups["model"], list(documents.train), stage.checkpoint)
    data = pretraining.pretrain_on(stage, documents, tokenizer)
    return step_of(stage.checkpoint), data.tokens_per_row


def fine_tuned(run: Run) -> ModelArguments:
    """Return the arguments of the model to fine-tune: the pretrained one, where there is one."""
    whole = run.groups["model"]
    if not run.noted[RECIPE]["pretraining"]:
        return whole
    parts = override_parts(whole.config_overrides)
    kept = [part for part in parts if part.partition("=")[0].strip().endswith(WITHOUT_WEIGHTS)]
    folder, overrides = str(run.folder / PRETRAINING), ",".join(kept) or None
    return replace(whole, model_name_or_path=folder, tokenizer_name_or_path=None, config_overrides=overrides)
