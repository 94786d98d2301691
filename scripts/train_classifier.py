# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a text classifier and its tokenizer from scratch, or fine-tune a checkpoint, and evaluate it honestly.

    make train                                  # on the reviews that come with the project, with settings for them
    python scripts/train_classifier.py --data_dir my_reviews --output_dir runs/mine
    python scripts/train_classifier.py --dataset_name sst2 --output_dir runs/sst2 --preset tutorial --num_train_epochs 4

Every argument of transformers.TrainingArguments is taken, too. The output folder holds the model, the tokenizer, the
whole configuration of the run (run_config.json), its scores (all_results.json, evaluation.json, results.md), the
pictures of its confusion matrix and learning curve, and a model card of all that (README.md).

With --search_trials 20 it searches, on validation, for the arguments to train with, and prints them; the same command
goes on with a search that was stopped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import demo_reviews
from checkpoints import checkpoint_to_resume
from classification_metrics import ClassificationMetrics
from classifier_model import ModelArguments, build_model, build_tokenizer, encode_splits
from classifier_report import Judge
from command_line import run_program
from datasets import DatasetDict
from early_stopping import early_stopping, save_where_judged
from flat_batches import FlatTraining
from layerwise_decay import LayerwiseDecay, check_layer_decay
from run_arguments import RunArguments
from run_folder import check, check_unchanged, claim, train_and_save, write_run
from run_lock import alone
from run_summary import summary
from search import (
    TRIED,
    TrialTrainer,
    check_search,
    goes_on,
    keep_no_weights,
    search,
    space_of,
    unchangeable,
    with_dropout,
)
from sharing import SharingTrainer, share
from text_data import DataArguments, ReviewData, load_splits
from text_files import DataError
from torch import Tensor
from transformers import (
    DataCollatorWithPadding,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    pipeline,
    set_seed,
)
from weight_average import WeightAverage

AnyTrainer = TypeVar("AnyTrainer", bound=Trainer)
SENTENCES = (
    "This thriller is gripping from start to finish.",
    "I had expected a masterpiece, but this film is dull.",
    "I cannot agree that this drama is a yawn.",
)


@dataclass
class ClassifierTrainingArguments(RunArguments, TrainingArguments):
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
    layer_decay: float = field(
        default=1.0,
        metadata={"help": "What the learning rate is multiplied by from a layer to the one below; 1: nothing."},
    )
    flat_batches: bool | None = field(
        default=None,
        metadata={"help": "Train on batches without padding; not given: on a CUDA device (CPUs pack by themselves)."},
    )
    search_trials: int = field(
        default=0, metadata={"help": "Train so many times to find good arguments on validation; 0: train once."}
    )
    search_over: list[str] = field(
        default_factory=lambda: list(TRIED), metadata={"help": f"What is searched for: {', '.join(TRIED)}."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_layer_decay(self.layer_decay)
        check_search(self)


class ClassifierTrainer(FlatTraining, LayerwiseDecay, SharingTrainer):
    """Trainer of the main job."""


def main(arguments: Sequence[str] | None = None) -> None:
    run_program(train, (ModelArguments, DataArguments, ClassifierTrainingArguments), __doc__, arguments)


@alone
def train(
    model_arguments: ModelArguments, data_arguments: DataArguments, arguments: ClassifierTrainingArguments
) -> None:
    """Read, tokenise, train, judge, save; what can be wrong with the input is found before the training starts."""
    output = Path(arguments.output_dir or "")
    checkpoint = checkpoint_to_resume(arguments)
    groups = {"model": model_arguments, "data": data_arguments, "training": arguments}
    if checkpoint:
        check_unchanged(output, groups)
    elif goes_on(arguments):
        check_unchanged(output, groups, unchangeable(arguments))
    elif arguments.should_save:
        check(output, arguments.overwrite, inputs_of(model_arguments, data_arguments))
    set_seed(arguments.seed)
    data = load_demo(data_arguments) if data_arguments.uses_demo else load_splits(data_arguments)
    print(data.describe())
    tokenizer = build_tokenizer(model_arguments, list(data.splits["train"]["text"]), checkpoint)
    model = build_model(model_arguments, tokenizer, data.label_names)
    splits, truncations = encode_splits(data.splits, tokenizer, model.config)
    print("\n".join(truncations))
    if arguments.search_trials:
        return print(search_arguments(groups, data, tokenizer, splits))
    choose_epoch_on_validation(arguments, data)
    judge = Judge(data, arguments.seed, judges=arguments.should_save)
    if arguments.should_save:
        if not checkpoint:
            claim(output)
        rows = {split: len(dataset) for split, dataset in data.splits.items()}
        notes = [*data.notes, *data.warnings, *truncations]
        write_run(output, "scripts/train_classifier.py", groups, notes, labels=data.label_names, rows=rows)
    trainer = build_trainer(ClassifierTrainer, tokenizer, splits, judge.metrics, arguments, model=model)
    train_and_save(trainer, checkpoint, evaluates=judge.split == "test")  # else the judge predicts on validation
    print(judge.report(trainer, splits))
    share(trainer, judge.texts)
    if arguments.should_save:
        sentences = SENTENCES if data_arguments.uses_demo else judge.texts[:3]
        print(classify(output, sentences, model_arguments.trust_remote_code))
        print(f"\n{summary(trainer, checkpoint)}")


def build_trainer(
    trainer_class: type[AnyTrainer],
    tokenizer: PreTrainedTokenizerBase,
    splits: DatasetDict,
    metrics: ClassificationMetrics,
    arguments: ClassifierTrainingArguments,
    **model: Any,
) -> AnyTrainer:
    """model: `model=`, or `model_init=`, as Trainer takes them."""
    average: list[TrainerCallback] = [WeightAverage(arguments.ema_decay)] if arguments.ema_decay else []
    return trainer_class(
        args=arguments,
        **model,
        data_collator=DataCollatorWithPadding(tokenizer),
        train_dataset=splits["train"],
        eval_dataset=splits["validation"],
        processing_class=tokenizer,
        compute_metrics=metrics,
        preprocess_logits_for_metrics=first_output,
        callbacks=[*average, *early_stopping(arguments.early_stopping_patience)],
    )


def search_arguments(
    groups: Mapping[str, Any], data: ReviewData, tokenizer: PreTrainedTokenizerBase, splits: DatasetDict
) -> str:
    """Trials of the same run with other arguments, each as a run of its own would be; nothing is judged on test."""
    arguments, output = groups["training"], Path(groups["training"].output_dir)
    if not goes_on(arguments):
        claim(output)
    write_run(output, "scripts/train_classifier.py", groups, data.notes, labels=data.label_names)
    space, overrides = space_of(arguments), groups["model"].config_overrides

    def model_of(trial: Any) -> PreTrainedModel:
        changed = with_dropout(overrides, space.suggest(trial)) if trial else overrides
        set_seed(arguments.seed)
        model = build_model(replace(groups["model"], config_overrides=changed), tokenizer, data.label_names)
        set_seed(arguments.seed)  # as Trainer does when it is given a model
        return model

    keep_no_weights(arguments)
    metrics = ClassificationMetrics(data.label_names)
    trainer = build_trainer(TrialTrainer, tokenizer, splits, metrics, arguments, model_init=model_of)
    return search(trainer, space, overrides)


def inputs_of(model_arguments: ModelArguments, data_arguments: DataArguments) -> list[str | None]:
    return [
        model_arguments.model_name_or_path,
        model_arguments.tokenizer_name_or_path,
        data_arguments.data_dir,
        data_arguments.train_file,
        data_arguments.validation_file,
        data_arguments.test_file,
    ]


def load_demo(arguments: DataArguments) -> ReviewData:
    """The reviews that come with the project, as many of them as are asked for."""
    limits = {"train": arguments.max_train_samples}
    splits = {
        split: rows[: limits.get(split, arguments.max_eval_samples)]
        for split, rows in demo_reviews.demo_splits().items()
    }
    notes = ["written by the grammar of scripts/demo_reviews.py"]
    return ReviewData.from_pairs(splits, list(demo_reviews.LABEL_NAMES), notes, [])


def choose_epoch_on_validation(arguments: ClassifierTrainingArguments, data: ReviewData) -> None:
    """Keep the epoch that is best on validation, but only where another split is left to judge it on.

    An average of the weights is made of all epochs: then there is nothing to choose.
    """
    if arguments.load_best_model_at_end and (arguments.ema_decay or "test" not in data.splits):
        raise DataError("--load_best_model_at_end needs --ema_decay 0, and a test split to judge what was chosen on")
    if "test" in data.splits and not arguments.ema_decay and arguments.eval_strategy == arguments.save_strategy != "no":
        arguments.load_best_model_at_end = True
        save_where_judged(arguments)
        arguments.metric_for_best_model, arguments.greater_is_better = "accuracy", True
    if arguments.early_stopping_patience and not arguments.load_best_model_at_end:
        chosen_at = arguments.eval_strategy == arguments.save_strategy != "no"
        needs = {
            "--ema_decay 0": not arguments.ema_decay,
            "a test split to judge what was chosen on": "test" in data.splits,
            "an evaluation with each checkpoint (--eval_strategy and --save_strategy)": chosen_at,
        }
        unmet = " and ".join(what for what, is_met in needs.items() if not is_met)
        raise DataError(f"--early_stopping_patience needs {unmet}")


def first_output(outputs: Any, _: Tensor) -> Tensor:
    """The logits, of models that answer with more than these."""
    return outputs[0] if isinstance(outputs, tuple) else outputs


def classify(output: Path, sentences: Sequence[str], trust_remote_code: bool) -> str:
    """What the saved folder says of a few texts, through an ordinary pipeline."""
    task: Any = "sentiment-analysis"
    classifier = pipeline(task, model=str(output), trust_remote_code=trust_remote_code)
    answers = classifier(list(sentences), truncation=True)
    rows = [f"{answer['label']:>10} {answer['score']:.3f}  {text[:80]}" for text, answer in zip(sentences, answers)]
    return "\n".join(["", f"pipeline({task!r}, model={str(output)!r})", *rows])


if __name__ == "__main__":
    main()
