# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a translator and its vocabulary from scratch, or a checkpoint further, and score it with sacreBLEU.

    python scripts/train_translation.py --data_dir multi30k --source_column en --target_column de \
        --output_dir runs/en-de
    python scripts/train_translation.py --train_file train.en train.de --test_file test.en test.de \
        --output_dir runs/lines --separate_vocabularies

Every argument of transformers.Seq2SeqTrainingArguments is taken, too. Checkpoints are chosen by BLEU on validation;
test, where there is one, is translated once, at the end. The output folder holds the model, its tokenizers, the
configuration of the run, its scores with their signatures, the translations, the learning curve and a model card of
all that (README.md).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkpoints import checkpoint_to_resume
from command_line import run_program
from early_stopping import early_stopping, save_where_judged
from run_arguments import RunArguments
from run_folder import check, check_unchanged, claim, write_run
from run_lock import alone
from run_summary import summary
from several_processes import check_whole
from sharing import SharingTrainer, forget_last_call, share
from text_files import DataError
from torch import Tensor
from torch.utils.data import Dataset
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)
from translation import Translator
from translation_data import TranslationData, TranslationDataArguments, load_pairs
from translation_metrics import score_translations
from translation_model import (
    TranslationModelArguments,
    build_model,
    build_tokenizers,
    encode_pairs,
)
from translation_report import choose_weights, report

from modeling_scratch.heads import cross_entropy
from modeling_scratch.pipelines import TARGET_FOLDER


@dataclass
class TranslationTrainingArguments(RunArguments, Seq2SeqTrainingArguments):
    """transformers.Seq2SeqTrainingArguments with the defaults of Vaswani et al. 2017, 5.3 and 5.4."""

    output_dir: str | None = field(default="runs/translation", metadata={"help": "Where everything is saved."})
    learning_rate: float = field(
        default=0.0, metadata={"help": "The peak learning rate; 0: the paper's, (hidden_size * warmup_steps)^-0.5."}
    )
    lr_scheduler_type: str = field(default="inverse_sqrt", metadata={"help": "How the rate falls after warm-up."})
    warmup_steps: float = field(default=800, metadata={"help": "Steps of warm-up; below 1: a share of all."})
    adam_beta2: float = field(default=0.98, metadata={"help": "As in the paper."})
    adam_epsilon: float = field(default=1e-9, metadata={"help": "As in the paper."})
    label_smoothing_factor: float = field(default=0.1, metadata={"help": "The share spread over all tokens."})
    num_train_epochs: float = field(default=30.0, metadata={"help": "Passes over the training pairs."})
    per_device_train_batch_size: int = field(default=128, metadata={"help": "Pairs a step, on each device."})
    per_device_eval_batch_size: int = field(default=128, metadata={"help": "Texts a batch when translating."})
    train_sampling_strategy: str = field(default="group_by_length", metadata={"help": "How batches are drawn."})
    eval_strategy: str = field(default="epoch", metadata={"help": "When to evaluate."})
    save_strategy: str = field(default="epoch", metadata={"help": "When to save a checkpoint."})
    logging_steps: float = field(default=100, metadata={"help": "Steps between two points of the learning curve."})
    average_checkpoints: int = field(
        default=10,
        metadata={"help": "Average the weights of so many last checkpoints, if validation likes it; 1: none."},
    )
    num_beams: int = field(default=5, metadata={"help": "The beam of the final translations."})
    length_penalty: float = field(default=1.0, metadata={"help": "Above 1 favours longer translations."})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average_checkpoints < 1 or self.num_beams < 1:
            raise DataError("--average_checkpoints and --num_beams have to be at least 1")
        if self.eval_strategy == self.save_strategy != "no":
            self.load_best_model_at_end = True
            save_where_judged(self)
            self.metric_for_best_model, self.greater_is_better = "bleu", True
        if self.early_stopping_patience and not self.load_best_model_at_end:
            raise DataError("--early_stopping_patience needs an evaluation with each checkpoint (--eval_strategy)")
        self.save_total_limit = self.save_total_limit or self.average_checkpoints + 1  # the best may be an older one

    @property
    def beam_search(self) -> dict[str, Any]:
        """What the final translations are made with, as arguments of model.generate."""
        length_penalty = self.length_penalty if self.num_beams > 1 else None  # only beams know one
        return {"num_beams": self.num_beams, "length_penalty": length_penalty, "do_sample": False}


class TranslationTrainer(SharingTrainer, Seq2SeqTrainer):
    """Seq2SeqTrainer whose evaluation also translates the validation split, greedily, and scores the texts."""

    args: TranslationTrainingArguments

    def __init__(self, *args: Any, translator: Translator, data: TranslationData, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.translator, self.data = translator, data

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        metrics = super().evaluate(*args, **kwargs)
        translations = [translation.text for translation in self.translator.translate(self.data.sources("validation"))]
        bleu, chrf, _ = score_translations(translations, self.data.targets("validation"))
        found = {"eval_bleu": bleu.value, "eval_chrf": chrf.value}
        self.log(found)
        return {**metrics, **found}

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        """A checkpoint is as whole as the model at the end: with a target vocabulary of its own, where there is one."""
        super()._save(output_dir, state_dict)
        target = self.translator.target_tokenizer
        if self.args.should_save and target is not self.processing_class:
            forget_last_call(target)
            target.save_pretrained(Path(output_dir or self.args.output_dir or "") / TARGET_FOLDER)


def main(arguments: Sequence[str] | None = None) -> None:
    groups = TranslationModelArguments, TranslationDataArguments, TranslationTrainingArguments
    run_program(train, groups, __doc__, arguments)


@alone
def train(
    model_arguments: TranslationModelArguments,
    data_arguments: TranslationDataArguments,
    arguments: TranslationTrainingArguments,
) -> None:
    """Read, tokenise, train, choose on validation, judge on test, save."""
    output = Path(arguments.output_dir or "")
    groups = {"model": model_arguments, "data": data_arguments, "training": arguments}
    checkpoint = checkpoint_to_resume(arguments)
    if checkpoint is not None:
        check_unchanged(output, groups)
    elif arguments.should_save:
        check(output, arguments.overwrite, inputs_of(model_arguments, data_arguments))
    set_seed(arguments.seed)
    data = load_pairs(data_arguments)
    tokenizers = build_tokenizers(model_arguments, data, checkpoint)
    model, length = build_model(model_arguments, tokenizers), model_arguments.max_length
    greedy: dict[str, Any] = {"max_new_tokens": length, "num_beams": 1, "do_sample": False}
    translator = Translator(model, *tokenizers, length, arguments.eval_batch_size, **greedy)
    data.notes.extend(cut_sources(translator, data))
    print(data.describe())
    encoded = {split: encode_pairs(data, split, tokenizers, length) for split in ("train", "validation")}
    arguments.learning_rate = arguments.learning_rate or paper_learning_rate(
        model.config.hidden_size, arguments, len(encoded["train"])
    )
    print(f"{model.num_parameters():,} parameters, peak learning rate {arguments.learning_rate:.2g}")
    if arguments.should_save:
        if checkpoint is None:
            claim(output)
        record_run(output, groups, data)
    run(build_trainer(translator, arguments, encoded, data), checkpoint)


def record_run(output: Path, groups: Mapping[str, Any], data: TranslationData) -> None:
    rows = {split: len(pairs) for split, pairs in data.splits.items()}
    write_run(output, "scripts/train_translation.py", groups, columns=data.columns, rows=rows, notes=data.notes)


def build_trainer(
    translator: Translator,
    arguments: TranslationTrainingArguments,
    encoded: Mapping[str, Dataset],
    data: TranslationData,
) -> TranslationTrainer:
    model, tokenizer = translator.model, translator.tokenizer
    return TranslationTrainer(
        model,
        arguments,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        train_dataset=encoded["train"],
        eval_dataset=encoded["validation"],
        processing_class=tokenizer,
        compute_loss_func=smoothed_loss(model, arguments.label_smoothing_factor),
        callbacks=early_stopping(arguments.early_stopping_patience),
        translator=translator,
        data=data,
    )


def run(trainer: TranslationTrainer, checkpoint: str | None) -> None:
    """Train, choose the weights, save them with the search that they are judged with, and judge them."""
    check_whole(trainer, "translation")  # it is translated by each process alone
    arguments, translator = trainer.args, trainer.translator
    result = trainer.train(resume_from_checkpoint=checkpoint)
    trainer.save_metrics("train", result.metrics)
    trainer.save_state()
    translator.generation |= arguments.beam_search
    weights = choose_weights(trainer, translator, trainer.data)
    translator.model.generation_config.update(**translator.generation)
    trainer.save_model(_internal_call=True)  # pushed, where that is wanted, once the scores are there
    if arguments.should_save:
        print(report(trainer, translator, trainer.data, weights, is_resumed=checkpoint is not None))
    share(trainer, trainer.data.sources(list(trainer.data.splits)[-1]))
    if arguments.should_save:
        print(summary(trainer, checkpoint))


def cut_sources(translator: Translator, data: TranslationData) -> list[str]:
    """A note for each split with sources that are judged though they are not read whole."""
    counts = {split: translator.count_cut(data.sources(split)) for split in data.splits if split != "train"}
    return [
        f"{split}: {count:,} sources are longer than --max_length {translator.limit} and cut before they are translated"
        for split, count in counts.items()
        if count
    ]


def smoothed_loss(model: PreTrainedModel, label_smoothing: float) -> Callable[..., Tensor]:
    """Label smoothing in training; evaluation reports the plain loss, whose exp is the perplexity."""

    def loss(outputs: Any, labels: Tensor, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        if outputs["logits"].ndim == 2:  # of the labelled tokens alone
            labels = labels[labels != -100]
        return cross_entropy(outputs["logits"], labels, num_items_in_batch, label_smoothing if model.training else 0.0)

    return loss


def inputs_of(model_arguments: TranslationModelArguments, data: TranslationDataArguments) -> list[str | None]:
    files = [name for names in (data.train_file, data.validation_file, data.test_file) for name in names or ()]
    return [model_arguments.model_name_or_path, data.data_dir, *files]


def paper_learning_rate(hidden_size: int, arguments: TranslationTrainingArguments, pairs: int) -> float:
    """hidden_size^-0.5 * warmup^-0.5, the peak of Vaswani et al. 2017, equation 3."""
    steps = arguments.max_steps
    if steps <= 0:
        batch = arguments.train_batch_size * arguments.gradient_accumulation_steps * arguments.world_size
        steps = round(arguments.num_train_epochs * -(-pairs // batch))
    return (hidden_size * max(1, arguments.get_warmup_steps(steps))) ** -0.5


if __name__ == "__main__":
    main()
