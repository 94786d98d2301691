# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Train a translation model: arguments, tokenizers, model, data and evaluation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import datasets
import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import (
    AutoModelForSeq2SeqLM,
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
)

from tokenization import KINDS, special_token_ids

from .. import presets
from ..bridges.model_sources import (
    ALLOW_SPECIAL_TOKENS,
    Tokenizers,
    ask_for_mask,
    load_body,
    load_tokenizers,
    position_limit,
    preset_config,
    read_special_tokens,
)
from ..data.bpe_dropout import BpeDropout, RespelledPairs, word_numbers
from ..data.translation_pairs import TranslationData, TranslationDataArguments, load_pairs
from ..evaluation.pretraining import token_losses, token_metrics
from ..evaluation.translation import report_translation, score_translations
from ..inference.generation import SearchArguments
from ..inference.text_generators import Translator
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError
from .arguments import RunArguments, checking_arguments
from .callbacks import early_stopping, save_where_judged
from .checkpoints import average_weights, last_checkpoints, load_weights
from .distributed import check_whole
from .r_drop import R_DROP, RDropTraining, check_r_drop
from .run import Run, summary
from .run_folder import alone
from .trainer import SharingTrainer, TokenLoss, forget_last_call, share


def choose_weights(trainer: Trainer, translator: Translator, data: TranslationData) -> str:
    """Load the better of best checkpoint and average of the last ones on validation; return its description."""
    arguments, model = trainer.args, translator.model
    best = trainer.state.best_model_checkpoint
    name = f"{Path(best).name}, the best by greedy validation BLEU" if best else "last weights"
    checkpoints = last_checkpoints(Path(arguments.output_dir or ""), getattr(arguments, "average_checkpoints", 1))
    if len(checkpoints) < 2:
        return name
    candidates = {
        name: {key: weight.detach().clone() for key, weight in model.state_dict().items()},
        f"average of the last {len(checkpoints)} checkpoints": average_weights(checkpoints),
    }
    scores = {}
    for candidate, weights in candidates.items():
        load_weights(model, weights)
        translations = [translation.text for translation in translator.translate(data.sources("validation"))]
        scores[candidate] = score_translations(translations, data.targets("validation"), data.are_tokens)[0].value
        print(f"validation BLEU {scores[candidate]:.2f}, beam {translator.generation['num_beams']}: {candidate}")
    chosen = max(scores, key=scores.__getitem__)
    load_weights(model, candidates[chosen])
    return chosen


PROGRAM = "scripts/train_translation.py"
DEFAULT_PRESET = "captions"

# Generation settings of a checkpoint that the run's own would contradict.
SEARCH = (
    *("do_sample", "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff"),
    *("num_beams", "early_stopping", "length_penalty", "num_return_sequences"),
)


@dataclass
class TranslationModelArguments:
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    preset: str | None = field(
        default=None,
        metadata={
            "help": f"The configuration of a new model: {', '.join(presets.SEQ2SEQS)} (default: {DEFAULT_PRESET})."
        },
    )
    config_overrides: str | None = field(
        default=None, metadata={"help": "Changes to the preset, e.g. hidden_size=256,decoder_layers=2."}
    )
    model_name_or_path: str | None = field(
        default=None, metadata={"help": "A checkpoint to fine-tune, instead of a new model."}
    )
    tokenizer_kind: Literal["wordlevel", "words", "bpe", "byte_bpe"] = field(
        default="byte_bpe", metadata={"help": "The kind of new tokenizers; byte_bpe is lossless."}
    )
    vocab_size: int = field(default=6_000, metadata={"help": "The maximum vocabulary size of a new tokenizer."})
    separate_vocabularies: bool = field(
        default=False,
        metadata={"help": "Use one vocabulary of vocab_size tokens per language, instead of a shared one."},
    )
    max_length: int = field(
        default=128,
        metadata={"help": "The maximum number of tokens; longer training pairs are dropped, longer sources truncated."},
    )
    bpe_dropout: float = field(
        default=0.0,
        metadata={
            "help": "The probability with which training skips a merge of byte-pair encoding, so that a word has many "
            "spellings."
        },
    )
    allow_special_tokens: bool = field(default=False, metadata={"help": ALLOW_SPECIAL_TOKENS})
    trust_remote_code: bool = field(default=False, metadata={"help": "Allow the checkpoint's own code to run."})

    def __post_init__(self) -> None:
        new = [name for name in ("preset", "config_overrides", "separate_vocabularies") if getattr(self, name)]
        if self.model_name_or_path and new:
            raise DataError(f"--{', --'.join(new)}: for new models only, not for --model_name_or_path")
        if self.max_length < 4:
            raise DataError(f"--max_length {self.max_length}: must be at least 4")
        if not 0 <= self.bpe_dropout < 1:
            raise DataError(f"--bpe_dropout {self.bpe_dropout}: must be at least 0 and below 1")


def build_tokenizers(arguments: TranslationModelArguments, data: TranslationData, checkpoint: str | None) -> Tokenizers:
    """Return the source and target tokenizers, which may be the same object: the checkpoint's, or new ones.

    checkpoint: the one that this run resumes from. New tokenizers are trained on the train split only.
    """
    if name := checkpoint or arguments.model_name_or_path:
        tokenizers = load_tokenizers(name, arguments.trust_remote_code)
    elif arguments.separate_vocabularies:
        tokenizers = _train(arguments, data.sources("train")), _train(arguments, data.targets("train"))
    else:
        tokenizers = (_train(arguments, data.sources("train") + data.targets("train")),) * 2
    for each in tokenizers:  # a run that an earlier version started goes on as it read its texts
        read_special_tokens(each, not each.split_special_tokens if checkpoint else arguments.allow_special_tokens)
    return tokenizers


def _train(arguments: TranslationModelArguments, texts: list[str]) -> PreTrainedTokenizerBase:
    options = {"add_prefix_space": True} if arguments.tokenizer_kind == "byte_bpe" else {}
    length = {"model_max_length": arguments.max_length, "length": len(texts)}
    try:
        return KINDS[arguments.tokenizer_kind](texts, arguments.vocab_size, style="marian", **options, **length)
    except ValueError as error:
        raise DataError(f"cannot train a tokenizer: {error}") from error


def build_model(arguments: TranslationModelArguments, tokenizers: Tokenizers) -> PreTrainedModel:
    """Build a model from the preset or load the checkpoint. It must have positions for max_length tokens."""
    if name := arguments.model_name_or_path:
        model = load_body(AutoModelForSeq2SeqLM, name, arguments.trust_remote_code, dtype=torch.float32)
        model.generation_config.update(**dict.fromkeys(SEARCH))
    else:
        model = _new_model(arguments, *tokenizers)
    ask_for_mask(tokenizers[0], model)
    limit = position_limit(model.config)
    if limit is not None and arguments.max_length > limit:
        raise DataError(f"--max_length {arguments.max_length}: the model has positions for only {limit} tokens")
    return model


def _new_model(
    arguments: TranslationModelArguments, source: PreTrainedTokenizerBase, target: PreTrainedTokenizerBase
) -> PreTrainedModel:
    settings = {
        "vocab_size": len(source),
        "decoder_vocab_size": len(target),
        "share_encoder_decoder_embeddings": source is target,
        "max_position_embeddings": arguments.max_length,
        "sparse_prediction": True,
        **special_token_ids(target),
    }
    preset = arguments.preset or DEFAULT_PRESET
    return ScratchSeq2SeqForConditionalGeneration(
        preset_config(presets.SEQ2SEQS, preset, arguments.config_overrides, **settings)
    )


def encode_pairs(
    data: TranslationData, split: str, tokenizers: Tokenizers, max_length: int, with_words: bool = False
) -> datasets.Dataset:
    """Tokenise a split into input_ids and labels. Too long pairs are dropped from train and truncated elsewhere.

    with_words: add the word of each token, as input_words and label_words.
    """
    options = {"truncation": split != "train", "max_length": max_length, "verbose": False}
    sides = tokenizers[0](data.sources(split), **options), tokenizers[1](text_target=data.targets(split), **options)
    pairs = list(zip(*(side["input_ids"] for side in sides)))
    fitting = [row for row, pair in enumerate(pairs) if max(map(len, pair)) <= max_length]
    if len(fitting) < len(pairs):
        print(f"{split}: {len(pairs) - len(fitting):,} pairs exceed --max_length {max_length} and were dropped")
    if not fitting:
        raise DataError(f"{split}: all pairs exceed {max_length} tokens; raise --max_length")
    columns: dict[str, Any] = dict(zip(("input_ids", "labels"), zip(*(pairs[row] for row in fitting))))
    if with_words:
        for name, side in zip(("input_words", "label_words"), sides):
            columns[name] = [word_numbers(side, row) for row in fitting]
    return datasets.Dataset.from_dict(columns)


@dataclass
class TranslationTrainingArguments(RunArguments, Seq2SeqTrainingArguments):
    """transformers.Seq2SeqTrainingArguments with the defaults of Vaswani et al. 2017, 5.3 and 5.4."""

    output_dir: str | None = field(
        default="runs/translation", metadata={"help": "The folder for the model and all results."}
    )
    learning_rate: float = field(
        default=0.0, metadata={"help": "The peak learning rate; 0: the paper's, (hidden_size * warmup_steps)^-0.5."}
    )
    lr_scheduler_type: str = field(
        default="inverse_sqrt", metadata={"help": "The learning rate schedule after warm-up."}
    )
    warmup_steps: float = field(default=800, metadata={"help": "Warm-up steps; below 1, a fraction of all steps."})
    adam_beta2: float = field(default=0.98, metadata={"help": "Adam's beta2."})
    adam_epsilon: float = field(default=1e-9, metadata={"help": "Adam's epsilon."})
    label_smoothing_factor: float = field(default=0.1, metadata={"help": "The label smoothing of the training loss."})
    r_drop: float = field(default=0.0, metadata={"help": R_DROP})
    num_train_epochs: float = field(default=30.0, metadata={"help": "The number of training epochs."})
    per_device_train_batch_size: int = field(default=128, metadata={"help": "Training pairs per step and device."})
    per_device_eval_batch_size: int = field(default=128, metadata={"help": "Texts per batch when translating."})
    train_sampling_strategy: str = field(
        default="group_by_length", metadata={"help": "How training batches are sampled."}
    )
    eval_strategy: str = field(default="epoch", metadata={"help": "When to evaluate."})
    save_strategy: str = field(default="epoch", metadata={"help": "When to save a checkpoint."})
    logging_steps: float = field(default=100, metadata={"help": "Steps between log entries."})
    average_checkpoints: int = field(
        default=10,
        metadata={"help": "Average the last checkpoints, if this improves validation BLEU; 1: no averaging."},
    )
    num_beams: int = field(default=5, metadata={"help": "The beam size of the final translations."})
    length_penalty: float = field(
        default=1.0,
        metadata={"help": "The exponent on the length in beam search; larger values favour longer translations."},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_r_drop(self.r_drop)
        if self.average_checkpoints < 1 or self.num_beams < 1:
            raise DataError("--average_checkpoints and --num_beams must be at least 1")
        SearchArguments(num_beams=self.num_beams)  # applies the same checks
        self.load_best_model_at_end = (
            self.eval_strategy == self.save_strategy != "no" and self.load_best_model_at_end is not False
        )
        if self.load_best_model_at_end:
            save_where_judged(self)
            if self.names_best_metric and self.metric_for_best_model not in ("bleu", "eval_bleu"):
                raise DataError(f"--metric_for_best_model {self.metric_for_best_model}: must be bleu")
            self.metric_for_best_model, self.greater_is_better = "bleu", True
        if self.early_stopping_patience and not self.load_best_model_at_end:
            raise DataError(
                "--early_stopping_patience requires an evaluation with each checkpoint (--eval_strategy), one to keep"
            )
        self.save_total_limit = self.save_total_limit or self.average_checkpoints + 1  # the best may be an older one

    @property
    def beam_search(self) -> dict[str, Any]:
        """The model.generate arguments of the final translations."""
        length_penalty = self.length_penalty if self.num_beams > 1 else None  # only for beam search
        return {"num_beams": self.num_beams, "length_penalty": length_penalty, "do_sample": False}


class LabelSmoothing(Trainer):
    """Trainer whose model smooths the labels of its loss, so that `sparse_prediction` computes no logits for padding.

    Padding is a third of the target tokens where batches are grouped by the lengths of their sources.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_smoother = None  # that of Trainer takes the labels from the model

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        smoothing = self.args.label_smoothing_factor if model.training else 0.0
        smooths: Any = partial(model, smoothing=smoothing)
        return super().compute_loss(smooths, inputs, *args, **kwargs)


class TranslationTrainer(RDropTraining, LabelSmoothing, TokenLoss, SharingTrainer, Seq2SeqTrainer):
    """Seq2SeqTrainer whose evaluation also scores greedy translations of the validation split."""

    args: TranslationTrainingArguments

    def __init__(
        self,
        *args: Any,
        translator: Translator,
        data: TranslationData,
        respell: Callable[..., RespelledPairs] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.translator, self.data, self.respell = translator, data, respell

    def train_collator(self) -> Any:
        collator = super().train_collator()
        return self.respell(collator) if self.respell else collator

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        metrics = super().evaluate(*args, **kwargs)
        translations = [translation.text for translation in self.translator.translate(self.data.sources("validation"))]
        bleu, chrf, *_ = score_translations(translations, self.data.targets("validation"), self.data.are_tokens)
        scores = {"eval_bleu": bleu.value, "eval_chrf": chrf.value}
        self.log(scores)
        return {**metrics, **scores}

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        """Save a complete checkpoint, including a separate target tokenizer."""
        super()._save(output_dir, state_dict)
        target = self.translator.target_tokenizer
        if self.args.should_save and target is not self.processing_class:
            forget_last_call(target)
            target.save_pretrained(Path(output_dir or self.args.output_dir or "") / TARGET_FOLDER)


@alone
def train(
    model_arguments: TranslationModelArguments,
    data_arguments: TranslationDataArguments,
    arguments: TranslationTrainingArguments,
) -> None:
    """Run the training: read, tokenise, train, choose weights on validation, evaluate on test, save."""
    inputs = inputs_of(model_arguments, data_arguments)
    run = Run.open(PROGRAM, model_arguments, data_arguments, arguments, inputs)
    train_and_judge(run, start(run, *read(run)))


def read(run: Run) -> tuple[TranslationData, Tokenizers]:
    """Read and check the pairs of a run, and return them with its tokenizers."""
    data = load_pairs(run.groups["data"])
    run.check_data(data.digests())
    return data, build_tokenizers(run.groups["model"], data, run.checkpoint)


def start(run: Run, data: TranslationData, tokenizers: Tokenizers) -> TranslationTrainer:
    """Tokenise, build the model and its trainer, and start the run."""
    model_arguments, arguments = run.groups["model"], run.groups["training"]
    model, length = build_model(model_arguments, tokenizers), model_arguments.max_length
    greedy: dict[str, Any] = {"max_new_tokens": length, "num_beams": 1, "do_sample": False}
    translator = Translator(model, *tokenizers, length, arguments.eval_batch_size, **greedy)
    data.notes.extend(cut_sources(translator, data))
    print(data.describe())
    respell = respelling(model_arguments, tokenizers, arguments)
    encoded = {"train": encode_pairs(data, "train", tokenizers, length, with_words=respell is not None)}
    encoded["validation"] = encode_pairs(data, "validation", tokenizers, length)
    arguments.learning_rate = arguments.learning_rate or paper_learning_rate(
        model.config.hidden_size, arguments, len(encoded["train"])
    )
    print(f"{model.num_parameters():,} parameters, peak learning rate {arguments.learning_rate:.2g}")
    rows = {split: len(pairs) for split, pairs in data.splits.items()}
    trainer = build_trainer(translator, arguments, encoded, data, respell)
    check_whole(trainer, "translation")  # each process translates on its own
    run.start(trainer, data.notes, columns=data.columns, rows=rows)
    return trainer


@checking_arguments()
def build_trainer(
    translator: Translator,
    arguments: TranslationTrainingArguments,
    encoded: Mapping[str, Dataset],
    data: TranslationData,
    respell: Callable[..., RespelledPairs] | None = None,
) -> TranslationTrainer:
    model, tokenizer = translator.model, translator.tokenizer
    return TranslationTrainer(
        model,
        arguments,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        train_dataset=encoded["train"],
        eval_dataset=encoded["validation"],
        processing_class=tokenizer,
        compute_metrics=token_metrics,
        preprocess_logits_for_metrics=token_losses,
        callbacks=early_stopping(arguments.early_stopping_patience),
        translator=translator,
        data=data,
        respell=respell,
    )


def respelling(
    model_arguments: TranslationModelArguments, tokenizers: Tokenizers, arguments: TranslationTrainingArguments
) -> Callable[..., RespelledPairs] | None:
    """Return the function that makes a collator of pairs into one of pairs that are spelt anew, or None."""
    if not (probability := model_arguments.bpe_dropout):
        return None
    arguments.remove_unused_columns = False  # the words of the tokens
    source, target = (BpeDropout(tokenizer, probability) for tokenizer in tokenizers)
    length, seed = model_arguments.max_length, arguments.seed
    return partial(RespelledPairs, source=source, target=target, max_length=length, seed=seed)


def train_and_judge(run: Run, trainer: TranslationTrainer) -> None:
    """Train, choose the weights, save them with their generation settings, and evaluate them."""
    arguments, translator = trainer.args, trainer.translator
    result = trainer.train(resume_from_checkpoint=run.checkpoint)
    trainer.save_metrics("train", result.metrics)
    trainer.save_state()
    translator.generation |= arguments.beam_search
    weights = choose_weights(trainer, translator, trainer.data)
    translator.model.generation_config.update(**translator.generation)
    run.save(trainer)
    if run.is_main:
        print(report_translation(trainer, translator, trainer.data, weights, is_resumed=run.checkpoint is not None))
    share(trainer, trainer.data.sources(list(trainer.data.splits)[-1]))
    if run.is_main:
        print(summary(trainer, run.checkpoint))


def cut_sources(translator: Translator, data: TranslationData) -> list[str]:
    """Return a note for each evaluation split with truncated sources."""
    counts = {split: translator.count_cut(data.sources(split)) for split in data.splits if split != "train"}
    return [
        f"{split}: {count:,} sources exceed --max_length {translator.limit} and are truncated before translation"
        for split, count in counts.items()
        if count
    ]


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
