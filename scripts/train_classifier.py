# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier and its tokenizer from scratch, or fine-tune a checkpoint, and evaluate it honestly.

    python scripts/train_classifier.py                                            # the reviews that come with it
    python scripts/train_classifier.py --data_dir my_reviews --output_dir runs/mine
    python scripts/train_classifier.py --dataset_name sst2 --output_dir runs/sst2 --preset tutorial --num_train_epochs 4

Every argument of transformers.TrainingArguments is taken, too. The output folder holds the model, the tokenizer, the
whole configuration of the run (run_config.json), its scores (all_results.json, evaluation.json, results.md) and the
pictures of its confusion matrix and learning curve.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import demo_reviews
from classifier_model import ModelArguments, build_model, build_tokenizer, encode_splits
from classifier_report import Judge
from command_line import run_program
from run_folder import RUN_FILE, claim, environment, write_json
from text_data import DataArguments, ReviewData, load_splits
from text_files import DataError
from transformers import (
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    pipeline,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint
from weight_average import WeightAverage

SENTENCES = (
    "This thriller is gripping from start to finish.",
    "I had expected a masterpiece, but this film is dull.",
    "I cannot agree that this drama is a yawn.",
)


@dataclass
class ClassifierTrainingArguments(TrainingArguments):
    """transformers.TrainingArguments with defaults for small models on a CPU."""

    output_dir: str | None = field(default="runs/demo", metadata={"help": "Where everything is saved."})
    learning_rate: float = field(default=5e-4, metadata={"help": "The peak learning rate of AdamW."})
    weight_decay: float = field(default=0.01, metadata={"help": "Weight decay of all but biases and norms."})
    warmup_steps: float = field(default=0.1, metadata={"help": "Steps of warm-up; below 1: a share of all."})
    num_train_epochs: float = field(default=3.0, metadata={"help": "Passes over the training texts."})
    per_device_train_batch_size: int = field(default=64, metadata={"help": "Texts a step, on each device."})
    per_device_eval_batch_size: int = field(default=128, metadata={"help": "Texts a batch when evaluating."})
    eval_strategy: str = field(default="epoch", metadata={"help": "When to evaluate."})
    save_strategy: str = field(default="epoch", metadata={"help": "When to save a checkpoint."})
    save_total_limit: int | None = field(default=1, metadata={"help": "How many checkpoints to keep."})
    logging_steps: float = field(default=50, metadata={"help": "Steps between two points of the learning curve."})
    ema_decay: float = field(
        default=0.999,
        metadata={"help": "Decay of the moving average of the weights that is taken at the end; 0: none."},
    )
    overwrite: bool = field(default=False, metadata={"help": "Delete the run that the output folder holds."})


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(train, (ModelArguments, DataArguments, ClassifierTrainingArguments), __doc__, arguments)


def train(
    model_arguments: ModelArguments, data_arguments: DataArguments, arguments: ClassifierTrainingArguments
) -> None:
    """Read, tokenise, train, judge, save; what can be wrong with the input is found before the training starts."""
    output = Path(arguments.output_dir or "")
    claim(output, arguments.overwrite, bool(arguments.resume_from_checkpoint))
    set_seed(arguments.seed)
    data = load_demo() if data_arguments.uses_demo else load_splits(data_arguments)
    print(data.describe())
    tokenizer = build_tokenizer(model_arguments, list(data.splits["train"]["text"]))
    splits, truncations = encode_splits(data.splits, tokenizer)
    print("\n".join(truncations))
    model = build_model(model_arguments, tokenizer, data.label_names)
    choose_epoch_on_validation(arguments, data)
    groups = {"model": model_arguments, "data": data_arguments, "training": arguments}
    save_configuration(output, groups, data, truncations)
    judge = Judge(data, arguments.seed)

    trainer = Trainer(
        model,
        arguments,
        data_collator=DataCollatorWithPadding(tokenizer),
        train_dataset=splits["train"],
        eval_dataset=splits["validation"],
        processing_class=tokenizer,
        compute_metrics=judge.metrics,
        callbacks=[WeightAverage(arguments.ema_decay)] if arguments.ema_decay else [],
    )
    result = trainer.train(resume_from_checkpoint=checkpoint_to_resume(arguments))
    trainer.save_model()
    trainer.save_metrics("train", result.metrics)
    trainer.save_state()
    print(judge.report(trainer, splits))
    print(classify(output))


def load_demo() -> ReviewData:
    notes = ["written by the grammar of scripts/demo_reviews.py"]
    return ReviewData.from_pairs(demo_reviews.demo_splits(), list(demo_reviews.LABEL_NAMES), notes, [])


def choose_epoch_on_validation(arguments: ClassifierTrainingArguments, data: ReviewData) -> None:
    """Keep the epoch that is best on validation, but only where another split is left to judge it on.

    An average of the weights is made of all epochs: then there is nothing to choose.
    """
    if "test" in data.splits and not arguments.ema_decay and arguments.eval_strategy == arguments.save_strategy != "no":
        arguments.load_best_model_at_end = True
        arguments.metric_for_best_model, arguments.greater_is_better = "accuracy", True


def save_configuration(output: Path, groups: dict[str, Any], data: ReviewData, truncations: list[str]) -> None:
    """All arguments of the run, given or not, with what they were applied to and by which versions."""
    settings = {name: dataclasses.asdict(group) for name, group in groups.items() if name != "training"}
    settings["training"] = groups["training"].to_sanitized_dict()
    rows = {split: len(dataset) for split, dataset in data.splits.items()}
    notes = [*data.notes, *data.warnings, *truncations]
    record = {"labels": data.label_names, "rows": rows, "notes": notes, "environment": environment()}
    write_json(output / RUN_FILE, {"program": "scripts/train_classifier.py", **settings, **record})


def checkpoint_to_resume(arguments: TrainingArguments) -> str | None:
    wanted = arguments.resume_from_checkpoint
    if not wanted or wanted.lower() not in ("true", "last"):
        return wanted
    if (found := get_last_checkpoint(arguments.output_dir)) is None:
        raise DataError(f"--resume_from_checkpoint: there is no checkpoint in {arguments.output_dir}; leave it out")
    return found


def classify(output: Path) -> str:
    """What the saved folder says of three sentences, through an ordinary pipeline."""
    task: Any = "sentiment-analysis"
    answers = pipeline(task, model=str(output))(list(SENTENCES))
    lines = [f"{answer['label']:>10} {answer['score']:.3f}  {text}" for text, answer in zip(SENTENCES, answers)]
    return "\n".join(["", f"pipeline({task!r}, model={str(output)!r})", *lines])


if __name__ == "__main__":
    main()
