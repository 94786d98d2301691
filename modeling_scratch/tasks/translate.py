# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Translate texts with an encoder-decoder."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import datasets
import torch
from torch import Tensor
from transformers import (
    AutoModelForSeq2SeqLM,
    DataCollatorForSeq2Seq,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Seq2SeqTrainingArguments,
)

from tokenization import KINDS, special_token_ids

from .. import presets
from ..bridges.model_sources import (
    ALLOW_SPECIAL_TOKENS,
    Tokenizers,
    ask_for_mask,
    check_folder,
    load_body,
    load_tokenizers,
    position_limit,
    preset_config,
    read_special_tokens,
)
from ..data.translation_pairs import TranslationData, TranslationDataArguments, load_pairs
from ..inference.arguments import PredictArguments
from ..inference.generation import SearchArguments, load_generating
from ..inference.loading import move
from ..inference.text_generators import Generated, Translator
from ..modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration
from ..pipelines import DEFAULT_NEW_TOKENS, TranslationPipeline
from ..run.arguments import RunArguments, save_where_evaluated
from ..run.layout import TRANSLATIONS
from ..run.losses import R_DROP, RDrop, Twice, check_r_drop
from ..tasks import TRANSLATE
from ..utils.errors import DataError
from ..utils.files import write_text
from ..utils.markdown import escaped, excerpt, quoted_rows, table
from .answerer import Answer, Job, OneTextAnswerer, response
from .base import Comparison, Curve, Encoded, FileRow, Metric, Report, Results, Space, Task, Training, Use
from .page import CUT, Component, GeneratorPage, slider
from .requests import AnyOption, Option, Schema, array, record

DEFAULT_PRESET = "captions"
EXAMPLES = 5
MOST_BEAMS = 8  # that a page can ask for
UNFINISHED = "The text has no end: it was cut at {limit:,} tokens."
# Generation settings of a checkpoint that the run's own would contradict.
SEARCH = (
    *("do_sample", "temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff"),
    *("num_beams", "early_stopping", "length_penalty", "num_return_sequences"),
)
MOST = {"num_beams": 1_000, "max_new_tokens": 1_000_000}  # of a file
GENERATION = {
    "num_beams": ("The number of beams.", 4),
    "max_new_tokens": ("The maximum number of tokens of a translation.", 32),
}


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
    allow_special_tokens: bool = field(default=False, metadata={"help": ALLOW_SPECIAL_TOKENS})
    trust_remote_code: bool = field(default=False, metadata={"help": "Allow the checkpoint's own code to run."})

    def __post_init__(self) -> None:
        new = [name for name in ("preset", "config_overrides", "separate_vocabularies") if getattr(self, name)]
        if self.model_name_or_path and new:
            raise DataError(f"--{', --'.join(new)}: for new models only, not for --model_name_or_path")
        if self.max_length < 4:
            raise DataError(f"--max_length {self.max_length}: must be at least 4")
        if self.model_name_or_path:
            check_folder(self.model_name_or_path, "--model_name_or_path")
        else:  # builds the config before the data are read
            preset_config(presets.SEQ2SEQS, self.preset or DEFAULT_PRESET, self.config_overrides)


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
            save_where_evaluated(self)
            if self.names_best_metric and self.metric_for_best_model not in ("bleu", "eval_bleu"):
                raise DataError(f"--metric_for_best_model {self.metric_for_best_model}: must be bleu")
            self.metric_for_best_model, self.greater_is_better = "bleu", True
        if self.early_stopping_patience and not self.load_best_model_at_end:
            raise DataError(
                "--early_stopping_patience requires an evaluation with each checkpoint (--eval_strategy), one to keep"
            )
        self.save_total_limit = self.save_total_limit or self.average_checkpoints + 1  # the best may be an older one

    def paper_rate(self, hidden_size: int, pairs: int) -> float:
        """hidden_size^-0.5 * warmup^-0.5, the peak of Vaswani et al. 2017, equation 3."""
        steps = self.max_steps
        if steps <= 0:
            batch = self.train_batch_size * self.gradient_accumulation_steps * self.world_size
            steps = round(self.num_train_epochs * -(-pairs // batch))
        return (hidden_size * max(1, self.get_warmup_steps(steps))) ** -0.5

    @property
    def beam_search(self) -> dict[str, Any]:
        """The model.generate arguments of the final translations."""
        length_penalty = self.length_penalty if self.num_beams > 1 else None  # only for beam search
        return {"num_beams": self.num_beams, "length_penalty": length_penalty, "do_sample": False}


# Tokenizers, model and data


def build_tokenizers(options: TranslationModelArguments, data: TranslationData, checkpoint: str | None) -> Tokenizers:
    """Return the source and target tokenizers, which may be the same object: the checkpoint's, or new ones.

    checkpoint: the one that this run resumes from. New tokenizers are trained on the train split only.
    """
    if name := checkpoint or options.model_name_or_path:
        tokenizers = load_tokenizers(name, options.trust_remote_code)
    elif options.separate_vocabularies:
        tokenizers = _train(options, data.sources("train")), _train(options, data.targets("train"))
    else:
        tokenizers = (_train(options, data.sources("train") + data.targets("train")),) * 2
    for each in tokenizers:  # a run that an earlier version started goes on as it read its texts
        read_special_tokens(each, not each.split_special_tokens if checkpoint else options.allow_special_tokens)
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


def encode_pairs(data: TranslationData, split: str, tokenizers: Tokenizers, max_length: int) -> Encoded:
    """Tokenise a split into input_ids and labels. Too long pairs are dropped from train and truncated elsewhere."""
    options = {"truncation": split != "train", "max_length": max_length, "verbose": False}
    sides = tokenizers[0](data.sources(split), **options), tokenizers[1](text_target=data.targets(split), **options)
    pairs = list(zip(*(side["input_ids"] for side in sides)))
    fitting = [row for row, pair in enumerate(pairs) if max(map(len, pair)) <= max_length]
    dropped = len(pairs) - len(fitting)
    notes = [f"{split}: {dropped:,} pairs exceed --max_length {max_length} and were dropped"] if dropped else []
    if not fitting:
        raise DataError(f"{split}: all pairs exceed {max_length} tokens; raise --max_length")
    columns: dict[str, Any] = dict(zip(("input_ids", "labels"), zip(*(pairs[row] for row in fitting))))
    return Encoded(datasets.Dataset.from_dict(columns), [], notes=notes)


# Weights and report


def choose_weights(trainer: Any, translator: Translator, data: TranslationData) -> str:
    """Load the better of best checkpoint and average of the last ones on validation; return its description."""
    from ..report.translation import score_translations
    from ..run.checkpoints import average_weights, last_checkpoints, load_weights

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


def _time(training: Training, trainer: Any) -> str:
    seconds = sum(entry.get("train_runtime", 0) for entry in trainer.state.log_history)
    since = " since resuming" if training.arguments.resume_from_checkpoint else ""  # the time before is not recorded
    minutes = f"{seconds / 60:.1f} minutes of training{since}, including validation"
    return f"{minutes}, on {torch.get_num_threads()} threads"


def _examples(data: TranslationData, split: str, translations: Sequence[Generated]) -> list[dict[str, str]]:
    """Return the first examples of the split, without selection."""
    rows = zip(data.splits[split][:EXAMPLES], translations)
    return [
        {"source": excerpt(source), "translation": excerpt(translation.text), "reference": excerpt(target)}
        for (source, target), translation in rows
    ]


def _truncations(translator: Translator, sources: Sequence[str], translations: Sequence[Generated]) -> str:
    notes = ""
    if cut := translator.count_cut(sources):
        notes += f"; {cut:,} sources were truncated to {translator.limit} tokens"
    if cut := sum(translation.is_cut for translation in translations):
        limit = translator.generation["max_new_tokens"]
        notes += f"; {cut:,} translations have no end token and were cut at {limit} tokens"
    return notes


# Answers


@dataclass
class Translation(OneTextAnswerer):
    """Translations. defaults: arguments of generate."""

    name: ClassVar[str] = TRANSLATE
    summary: ClassVar[str] = "Translate texts."

    @property
    def options(self) -> Mapping[str, AnyOption]:
        chosen = {name: (*GENERATION[name], most) for name, most in self.limits.items()}
        return {name: Option(told, min(value, most), 1, most) for name, (told, value, most) in chosen.items()}

    @property
    def answers(self) -> Schema:
        return response(array(record({"translation_text": {"type": "string"}})))

    @property
    def no_answer(self) -> Answer:
        return [{"translation_text": ""}]

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        job, generation = super()._encode(text, options), {**self.defaults, **options}
        tokens = job.tokens * generation.get("num_beams", 1)  # each beam occupies a row of the batch
        return replace(job, tokens=tokens, options=tuple(sorted(generation.items())))

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        return [self.pipe.postprocess(each) for each in self.outputs(jobs, **dict(jobs[0].options))]

    @property
    def counts(self) -> dict[str, int]:
        return {"texts truncated before translation": self.cut}

    def shape(self, answers: Sequence[Answer], is_list: bool, options: Mapping[str, Any]) -> Any:
        return [answer[0] for answer in answers] if is_list else answers[0]


def _defaults(model: Any, limits: Mapping[str, int]) -> dict[str, int]:
    """Return the generation options of the checkpoint or pipeline, within the server's limits."""
    settings = model.generation_config
    length = settings.max_new_tokens or (settings.max_length or 0) - 1  # max_length includes the start token
    if length < 1:
        positions = getattr(model.config, "max_position_embeddings", None)
        length = min(DEFAULT_NEW_TOKENS, positions or DEFAULT_NEW_TOKENS)
    defaults = {"num_beams": settings.num_beams or 1, "max_new_tokens": length}
    return {name: min(value, limits[name]) for name, value in defaults.items()} | {"num_return_sequences": 1}


class TranslatorPage(GeneratorPage):
    """Texts -> their translations."""

    @property
    def settings(self) -> list[Component]:  # type: ignore[override]
        beams = self.generator.setting("num_beams", 1)
        return [slider("Beams", 1, max(MOST_BEAMS, beams), beams, 1), self.length_slider]

    def answer(self, *values: Any) -> list[str]:
        """Return the translation, and a note about a text, or a translation, that was cut."""
        text, beams, longest = values
        translator: Any = self.with_settings(num_beams=beams, max_new_tokens=longest)
        translated = translator.translate([text])[0]
        notes = [CUT.format(limit=translator.limit)] if translator.count_cut([text]) else []
        notes += [UNFINISHED.format(limit=translated.cut_after)] if translated.is_cut else []
        return [translated.text, " ".join(notes)]


class Translating(Task):
    name, explained, not_generated = TRANSLATE, "generation", None
    lab = Comparison(presets.SEQ2SEQS, "loss", ("bleu",), "--average_checkpoints 1 --num_beams 1")
    arguments = TranslationModelArguments, TranslationDataArguments, TranslationTrainingArguments
    best_by, predicts, evaluates, samples = None, False, (), 0
    refusal, columns_of_answers = "the model translates", ("translation",)
    purpose = "A translation model from {source} to {target} (column names of the training data)."
    use = Use(
        "translation", "seq2seq-translation", "AutoModelForSeq2SeqLM",
        'tokenizer.decode(model.generate(**tokenizer(text, truncation=True, return_tensors="pt"))[0], '
        "skip_special_tokens=True)",
    )  # fmt: skip
    space = Space(
        "seq2seq-translation", 'pipe(text, truncation=True)[0]["translation_text"]', 'gr.Textbox(label="Answer")'
    )

    outputs = ("Textbox", {"label": "Answer", "lines": 5, "buttons": ["copy"]}), ("Markdown", {})
    read, build_tokenizer = staticmethod(load_pairs), staticmethod(build_tokenizers)

    def build_model(self, options: TranslationModelArguments, data: Any, tokenizer: Tokenizers) -> PreTrainedModel:
        return build_model(options, tokenizer)

    def answerer(self, training: Training) -> Translator:
        source, target = training.tokenizer
        length, batch_size = training.options.max_length, training.arguments.eval_batch_size
        greedy: dict[str, Any] = {"max_new_tokens": length, "num_beams": 1, "do_sample": False}
        return Translator(training.model, source, target, length, batch_size, **greedy)

    def encode(self, training: Training, split: str) -> Encoded:
        data, options, notes = training.data, training.options, list[str]()
        if split != "train" and (cut := training.answerer.count_cut(data.sources(split))):
            limit = f"--max_length {options.max_length}"
            notes = [f"{split}: {cut:,} sources exceed {limit} and are truncated before translation"]
        if split == "test":  # translated, not scored token by token
            return Encoded(None, [], notes=notes)
        encoded = encode_pairs(data, split, training.tokenizer, options.max_length)
        return encoded._replace(notes=[*encoded.notes, *notes])

    def collate(self, training: Training) -> Any:
        return DataCollatorForSeq2Seq(training.tokenizer[0], model=training.model)

    def kept_of(self, outputs: Any, labels: Tensor) -> Tensor:
        from ..report.pretraining import token_losses

        return token_losses(outputs, labels)

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        """Score the tokens, and greedy translations."""
        from ..report.pretraining import token_metrics
        from ..report.translation import score_translations

        data, translator = training.data, training.answerer

        def compute(prediction: EvalPrediction) -> dict[str, float]:
            texts = [translation.text for translation in translator.translate(data.sources(split))]
            bleu, chrf, *_ = score_translations(texts, data.targets(split), data.are_tokens)
            return {**token_metrics(prediction), "bleu": bleu.value, "chrf": chrf.value}

        return compute

    def trainer(self, training: Training) -> dict[str, Any]:
        arguments, model, pairs = training.arguments, training.model, len(training.encoded["train"].rows)
        peak = arguments.learning_rate or arguments.paper_rate(model.config.hidden_size, pairs)
        arguments.learning_rate = peak
        print(f"{model.num_parameters():,} parameters, peak learning rate {peak:.2g}")
        collator = self.collate(training)
        return {
            "target_tokenizer": training.tokenizer[1],
            "smooths_in_model": True,
            "train_collator": Twice(collator) if arguments.r_drop else collator,
            "added_loss": RDrop(arguments.r_drop) if arguments.r_drop else None,
            "whole_for": "translation",  # each process translates on its own
        }

    def settle(self, training: Training, trainer: Any) -> None:
        """Choose between the best checkpoint and the mean of the last, and record the search of the translations."""
        translator = training.answerer
        translator.generation |= training.arguments.beam_search
        training.weights = choose_weights(trainer, translator, training.data)
        translator.model.generation_config.update(**translator.generation)

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        """Report all translations of each split, which are also saved."""
        from ..report.translation import as_metrics, score_table, score_translations

        data, translator, output = training.data, training.answerer, Path(training.arguments.output_dir)
        tables, examples = list[str](), list[Any]()
        evaluation: dict[str, Any] = {"weights": training.weights}
        for each in [name for name in data.splits if name != "train"]:
            translations = translator.translate(data.sources(each))
            texts = [translation.text for translation in translations]
            scores = score_translations(texts, data.targets(each), data.are_tokens)
            evaluation[each] = as_metrics(scores)
            what = f"{each}: {len(texts):,} texts, {training.weights}, beam {translator.generation['num_beams']}"
            tables.append(score_table(scores, what + _truncations(translator, data.sources(each), translations)))
            write_text(output / TRANSLATIONS.format(each), "".join(" ".join(text.split()) + "\n" for text in texts))
            examples = _examples(data, each, translations)  # of the last split, the one for the final evaluation
        curve = Curve(
            "loss (nats per token; training: with smoothed labels)", "eval_bleu", "BLEU, validation, greedy", "{:.2f}"
        )
        text = "\n\n".join([*tables, _time(training, trainer)])
        return Report(f"{text}\n", {**evaluation, "examples": examples}, curve)

    def record(self, training: Training) -> dict[str, Any]:
        return {"columns": training.data.columns}

    def results(self, evaluation: Mapping[str, Any]) -> Results:
        """Report sacreBLEU's scores with signatures, and the first translations."""
        splits = [split for split in ("validation", "test") if split in evaluation]
        scores = [(split, score) for split in splits for score in evaluation[split]]
        metrics = [
            Metric(
                "chrf" if score["name"] == "chrF" else "sacrebleu", score["value"],
                f"{score['name']}: {score['meaning']}; {score['signature']}", split,
            )
            for split, score in scores
        ]  # fmt: skip
        rows = [
            [split, score["name"], f"{score['value']:.2f}", score["meaning"], score["signature"]]
            for split, score in scores
        ]
        names = ["source", "translation", "reference"]
        samples = [[sample[name] for name in names] for sample in evaluation["examples"]]
        text = [
            f"Weights: {escaped(evaluation['weights'])}.",
            table(["split", "score", "", "definition", "signature"], rows),
            *quoted_rows(f"The first texts of the {splits[-1]} split:", names, samples),
        ]
        return Results("\n\n".join(text), metrics, evaluation["examples"][0]["source"] if samples else "")

    def load(self, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> Translation:
        model, (source, target) = load_generating(arguments.model, arguments.trust_remote_code)
        ask_for_mask(source, model)
        move(model.eval(), arguments.device)
        pipe = TranslationPipeline(model=model, tokenizer=source, target_tokenizer=target, device=model.device)
        most = dict(limits or MOST)
        most["max_new_tokens"] = min(most["max_new_tokens"], position_limit(model.config) or most["max_new_tokens"])
        return Translation(pipe, most, _defaults(model, most), batch_size=arguments.batch_size)

    def page(self, arguments: PredictArguments) -> TranslatorPage:
        return TranslatorPage(self, arguments)

    def answer(self, answerer: Translation, rows: Sequence[FileRow]) -> Iterable[dict[str, Any]]:
        for line in super().answer(answerer, rows):
            yield {**line, "translation": line["translation"][0]["translation_text"]}


TASK = Translating()
