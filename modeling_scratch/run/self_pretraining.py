# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Self-pretraining: predict masked words of the texts at hand first, then fine-tune on the labels.

1. The corpus is the training texts and the unlabelled ones, without every validation and test text (`load_corpus`).
2. The minutes become a number of steps, which a few timed steps tell. The record of the whole run keeps it.
3. Masked words are predicted (Devlin et al. 2019, section 3.1) by a run in the folder `pretraining` of the whole run.
4. Fine-tuning starts from that folder.

Resuming continues the stage that was interrupted, with the recorded number of steps.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformers import PreTrainedTokenizerBase, TrainingArguments

from ..bridges.model_sources import WITHOUT_WEIGHTS, override_parts, with_override
from ..data.documents import Documents, load_corpus
from ..report.report_files import pretraining_stage
from ..sharing.run_record import SELF_PRETRAINING, read_run
from ..tasks import PRETRAIN, named
from ..utils.errors import DataError, counted, duration
from ..utils.options import option
from .arguments import choose_epoch, inputs_of
from .checkpoints import has_checkpoint, resumes
from .encoder_models import ModelArguments, build_tokenizer, preset_of
from .layout import PRETRAINING
from .life_cycle import Run
from .resuming import check_unchanged
from .run_folder import has_pretraining
from .train import carry_out, make_trainer, prepared

ROW_TOKENS, ROWS = 256, 32  # of a step
MASKED = 0.25  # of the tokens: a small model learns faster from more of them (Wettig et al. 2023)
LEARNING_RATE = 2e-3
MOST_EPOCHS = 40  # more of them overfit
TIMED_STEPS = 5
EVALUATIONS = 0.05  # of the time of the steps
# Arguments of the whole run that hold for pretraining as well.
SHARED = (
    "seed", "use_cpu", "bf16", "fp16", "tf32", "report_to", "disable_tqdm", "full_determinism", "torch_compile",
    "dataloader_num_workers",
)  # fmt: skip


@dataclass
class SelfPretrainingArguments:
    """Whether, how long, and on which further texts a classifier is pretrained before it is fine-tuned."""

    pretrain_minutes: float | None = option(
        None,
        "Pretrain on masked words of the training texts and of --unlabelled_file for this many minutes, then "
        "fine-tune. 0: no pretraining.",
    )
    pretrain_epochs: float | None = option(None, "Pretrain for this many passes over these texts, instead of minutes.")
    unlabelled_file: list[str] | None = option(
        None, "Files of texts without labels to pretrain on: txt (lines), csv, tsv, jsonl, parquet."
    )

    def __post_init__(self) -> None:
        for name in ("pretrain_minutes", "pretrain_epochs"):
            if (getattr(self, name) or 0) < 0:
                raise DataError(f"--{name} {getattr(self, name)}: must be at least 0")
        if self.pretrain_minutes is not None and self.pretrain_epochs is not None:
            raise DataError("--pretrain_minutes and --pretrain_epochs exclude each other; give only one")

    @property
    def is_asked_for(self) -> bool:
        return bool(self.pretrain_minutes or self.pretrain_epochs)


def check_combination(model: ModelArguments, data: Any, options: SelfPretrainingArguments, training: Any) -> None:
    """Raise `DataError` for arguments that exclude self-pretraining."""
    if options.unlabelled_file and not (options.is_asked_for or resumes(training)):  # the record has the length
        raise DataError("--unlabelled_file: there is no pretraining to read these texts; give --pretrain_minutes")
    excluded = {
        "--model_name_or_path": model.model_name_or_path,
        "--search_trials": training.search_trials,
        "--push_to_hub (push the finished run by `modeling-scratch push`)": training.push_to_hub,
        "pairs of texts (--text_column)": data.has_pairs,
        "several processes or devices": training.world_size > 1 or training.n_gpu > 1,
    }
    given = [option for option, value in excluded.items() if value]
    if given and (options.is_asked_for or options.unlabelled_file):
        raise DataError(f"--pretrain_minutes trains a new model first, and excludes {given[0]}: leave one of them out")


def open_run(program: str, model: ModelArguments, data: Any, options: SelfPretrainingArguments, arguments: Any) -> Run:
    """Open the run. One that was stopped before its fine-tuning had a checkpoint continues with its pretraining."""
    is_last = (arguments.resume_from_checkpoint or "").lower() in ("last", "true")
    folder = Path(arguments.output_dir or "")
    goes_on = is_last and has_pretraining(folder) and not has_checkpoint(arguments)
    if goes_on:
        arguments = copy(arguments)
        arguments.resume_from_checkpoint = None
    run = Run.open(program, model, data, arguments, inputs_of(model, data, options), goes_on)
    run.wanted = as_recorded(run, options) if run.continues else options
    return run


def as_recorded(run: Run, options: SelfPretrainingArguments) -> SelfPretrainingArguments:
    """Return what a resumed run was started with. Raises `DataError` for other options."""
    record = read_run(run.folder)
    if recorded := record.get(SELF_PRETRAINING):
        run.noted[SELF_PRETRAINING] = recorded
        if not options.is_asked_for:
            earlier = record["pretraining"]
            options = replace(options, **{name: earlier[name] for name in ("pretrain_minutes", "pretrain_epochs")})
        check_unchanged(run.folder, {"pretraining": options}, ())
    elif options.is_asked_for or options.unlabelled_file:
        raise DataError(
            f"--pretrain_minutes, --unlabelled_file: the run in {run.folder} was started without it; leave it out"
        )
    return options


def corpus_of(run: Run, data: Any) -> Documents | None:
    """Return the texts to pretrain on; None if the run has no pretraining."""
    if not run.wanted.is_asked_for:
        return None
    if not run.continues and (run.folder / PRETRAINING).exists() and not has_pretraining(run.folder):
        raise DataError(f"--output_dir {run.folder}: {PRETRAINING} in it is not of a run; choose another folder")
    run.groups["pretraining"] = run.wanted
    return load_corpus(data, run.groups["data"], run.wanted.unlabelled_file or (), run.groups["training"].seed)


def pretrain(run: Run, documents: Documents, notes: Sequence[str]) -> dict[str, Any]:
    """Run the pretraining, or what is left of it, and return its `stage_of` the report. notes: on the labelled data."""
    recorded, tokenizer = run.noted.get(SELF_PRETRAINING) or {}, None
    if not recorded.get("finished"):
        if not recorded:
            tokenizer = build_tokenizer(run.groups["model"], list(documents.train))
            recorded = run.noted[SELF_PRETRAINING] = {"steps": _steps(run, documents, tokenizer), "finished": None}
            run.record(notes)
        recorded["finished"] = _run_stage(run, documents, recorded["steps"], tokenizer)
        run.record(notes)
    whole: ModelArguments = run.groups["model"]
    parts = override_parts(whole.config_overrides)
    kept = [part for part in parts if part.partition("=")[0].strip().endswith(WITHOUT_WEIGHTS)]
    # The stage had no dropout: the preset's is put back.
    overrides = with_override(",".join(kept) or None, "hidden_dropout", preset_of(whole).hidden_dropout)
    path = str(run.folder / PRETRAINING)
    run.fine_tuned = replace(whole, model_name_or_path=path, tokenizer_name_or_path=None, config_overrides=overrides)
    return recorded["finished"]


def _arguments(run: Run, steps: int) -> tuple[Any, Any]:
    """Return the arguments of the stage. Masked words are noise enough: there is no dropout."""
    whole, training = run.groups["model"], run.groups["training"]
    overrides = with_override(whole.config_overrides, "hidden_dropout", 0.0)
    if whole.max_length is not None:
        overrides = with_override(overrides, "max_position_embeddings", max(whole.max_length, ROW_TOKENS))
    model_arguments, _, training_arguments = named(PRETRAIN).arguments
    model = model_arguments(
        "mlm", whole.preset, overrides, block_size=ROW_TOKENS, mask_fraction=MASKED, vocab_size=whole.vocab_size
    )
    return model, training_arguments(
        output_dir=str(run.folder / PRETRAINING),
        max_steps=steps,
        learning_rate=LEARNING_RATE,
        per_device_train_batch_size=ROWS,
        **{name: getattr(training, name) for name in SHARED},
    )


def _run_stage(run: Run, documents: Any, steps: int, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, Any]:
    """tokenizer: of a new run; None: a resumed one, which has it in its stage's checkpoint or trains it again."""
    task, (model, arguments) = named(PRETRAIN), _arguments(run, steps)
    stage = Run.open_stage(f"scripts/{task.program}.py", model, run.groups["data"], arguments)
    stage.check_data(documents.digests())
    print("", documents.describe(), sep="\n")
    texts = list(documents.train)
    if tokenizer is None or stage.checkpoint:
        tokenizer = build_tokenizer(run.groups["model"], texts, stage.checkpoint)
    choose_epoch(task, arguments, documents)
    carry_out(task, stage, documents, tokenizer)
    return pretraining_stage(run.folder / PRETRAINING, f"{len(texts):,}", stage.resumed_at)


def _steps(run: Run, documents: Any, tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the number of steps, by time at most MOST_EPOCHS, and say it. A few steps are timed, once warm."""
    options: SelfPretrainingArguments = run.groups["pretraining"]
    task, (model, arguments) = named(PRETRAIN), _arguments(run, TIMED_STEPS)
    with discarded(arguments) as copied:
        copied.eval_strategy = copied.save_strategy = copied.logging_strategy = "no"
        training = prepared(task, model, copied, documents, tokenizer)
        trainer = make_trainer(task, training, keeps_checkpoints=False)
        trainer.train()
        time = trainer.train().metrics["train_runtime"]
    an_epoch = max(1, ceil(len(training.encoded["train"].rows) / arguments.train_batch_size))
    seconds = (1 + EVALUATIONS) * time / TIMED_STEPS
    wanted = options.pretrain_epochs and options.pretrain_epochs * an_epoch
    in_time = min((options.pretrain_minutes or 0) * 60 / seconds, MOST_EPOCHS * an_epoch)
    steps = max(1, round(wanted or in_time))
    print(
        f"pretraining on masked words: {counted(steps, 'step')}, {steps / an_epoch:.2g} times all texts, about "
        f"{duration(steps * seconds)}"
    )
    return steps


@contextmanager
def discarded(arguments: TrainingArguments) -> Iterator[Any]:
    """Yield a copy of the arguments for a trainer that writes and reports nowhere."""
    arguments = copy(arguments)
    with TemporaryDirectory() as folder:
        arguments.output_dir = folder
        arguments.report_to, arguments.resume_from_checkpoint = [], None
        yield arguments
