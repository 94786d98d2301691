# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Label the words of texts: entities, such as names, or classes of words, such as parts of speech."""

import copy
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
from torch import Tensor
from transformers import (
    AutoModelForTokenClassification,
    DataCollatorForTokenClassification,
    EvalPrediction,
    PreTrainedTokenizerBase,
    TokenClassificationPipeline,
)

from ..bridges.model_limits import NO_LIMIT
from ..bridges.model_sources import with_padding
from ..data.tagged_sentences import (
    CONLL,
    OUTSIDE,
    Sentence,
    TaggedData,
    TaggedDataArguments,
    are_entities,
    inside,
    load_tagged,
    words_of_tokens,
)
from ..inference.arguments import PredictArguments
from ..inference.loading import load_head, set_length
from ..inference.pieces import entities_of, words_of
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, build_model, build_tokenizer, limit_length
from ..run.layout import PREDICTIONS
from ..tasks import TAG
from ..utils.errors import DataError, DivergedError, counted, one_line
from ..utils.markdown import escaped, excerpt, percent, quoted_rows, table
from .answerer import Answer, Answerer, Job, response
from .base import (
    LONGER_OR_PRETRAINED,
    Curve,
    Encoded,
    Metric,
    Report,
    Results,
    Space,
    Task,
    Training,
    Use,
    record_settings,
    recorded_settings,
)
from .requests import Schema, array, one_or_several, record

PIPELINE = "token-classification"
IGNORED = -100  # the label of a token without one
DIVERGED = -1  # the prediction of NaN
CHECKED_SENTENCES = 100
EXAMPLES = 5
OVERLAP = 1 / 4  # of neighbouring windows of a text that is too long for one
BASELINE = "most frequent label of the word"
Labels = Sequence[Sequence[str]]  # of the words of each sentence


@dataclass
class TaggerModelArguments(HeadModelArguments):
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    lowercase: bool = field(default=False, metadata={"help": "Lower-case the text in a new tokenizer."})
    label_all_tokens: bool = field(
        default=True,
        metadata={"help": "Train on all tokens of a word, of which a pipeline reads each; False: the first."},
    )


@dataclass
class TaggerTrainingArguments(HeadTrainingArguments):
    """transformers.TrainingArguments with defaults for small taggers on a CPU."""

    output_dir: str | None = field(
        default="runs/tagger", metadata={"help": "The folder for the model and all results."}
    )
    per_device_train_batch_size: int = field(default=16, metadata={"help": "Training sentences per step and device."})
    per_device_eval_batch_size: int = field(default=128, metadata={"help": "Sentences per evaluation batch."})


# Words and tokens


def encode_sentences(
    sentences: Sequence[Sentence],
    tokenizer: PreTrainedTokenizerBase,
    label_names: Sequence[str],
    labels_all: bool = False,
) -> Encoded:
    """Tokenise the words with blanks between them, as a text is read later, and label the first token of each word.

    parts: the index of the first token of each word that has one. lost: the words without a token: those beyond the
    limit, and those that the tokenizer drops. labels_all: label the other tokens of a word as well, in BIO as inside.
    Raises `DataError` for a token of several words, which could have one label only.
    """
    if not tokenizer.is_fast:
        raise DataError("the tokenizer gives no offsets, which words are found by; use a fast tokenizer")
    try:
        batch = tokenizer(
            [sentence.text for sentence in sentences],
            truncation=True,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
    except Exception as error:  # of tokenizers: of no type of its own
        raise DataError(f"the tokenizer cannot read the sentences: {one_line(error)}") from error
    id_of = {name: number for number, name in enumerate(label_names)}
    labels, firsts = [], []
    for sentence, offsets, special in zip(sentences, batch.pop("offset_mapping"), batch.pop("special_tokens_mask")):
        try:
            words = words_of_tokens(sentence.text, sentence.spans, offsets, special)
        except ValueError as error:
            raise DataError(f"{sentence.where(0)}: {error}; use another tokenizer (--tokenizer_kind)") from error
        labels.append(_token_labels(sentence, words, id_of, labels_all))
        firsts.append({word: words.index(word) for word in dict.fromkeys(words) if word is not None})
    lost = sum(len(sentence.words) - len(found) for sentence, found in zip(sentences, firsts))
    return Encoded(datasets.Dataset.from_dict({**batch, "labels": labels}), firsts, lost)


def _token_labels(
    sentence: Sentence, words: Sequence[int | None], id_of: dict[str, int], labels_all: bool
) -> list[int]:
    labels, before = [], None
    for word in words:
        label = None if word is None else sentence.labels[word]
        if label is not None and word == before:
            label = inside(label) if labels_all else None
        labels.append(IGNORED if label is None else id_of.get(label, IGNORED))
        before = word
    return labels


def check_use(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sentence]) -> list[str]:
    """Return a note if the tokenizer tokenises words in a list differently from words in a text, which training does.

    Byte-level tokenizers without add_prefix_space do: in a list, no word has a blank before it.
    """
    for sentence in sentences:
        try:
            ids = tokenizer(list(sentence.words), is_split_into_words=True, verbose=False)["input_ids"]
        except Exception:  # the library refuses some of these tokenizers
            ids = None
        if ids != tokenizer(sentence.text, verbose=False)["input_ids"]:
            return [
                "the tokenizer splits a list of words differently from a text (no add_prefix_space); the model is "
                "trained on texts: join words with blanks, without is_split_into_words"
            ]
    return []


# Scores


class TaggerMetrics:
    """compute_metrics for Trainer: scores of the words that have a token with a label."""

    def __init__(self, data: TaggedData) -> None:
        self.names, self.are_entities = data.label_names, data.are_entities

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """predictions and label_ids (rows, tokens) are label ids. Raises `DataError` if training has diverged."""
        from ..report.tag_scores import score_labels

        found, given = np.asarray(prediction.predictions), np.asarray(prediction.label_ids)
        if (found[given != IGNORED] == DIVERGED).any():
            raise DivergedError("the logits are NaN: training has diverged. Lower the learning rate or warm up longer")
        scores = score_labels(self._names(given, given), self._names(found, given), self.are_entities)
        return {name: scores[name] for name in ("accuracy", "precision", "recall", "f1")}

    def _names(self, ids: np.ndarray, given: np.ndarray) -> list[list[str]]:
        """Return the names of the ids where there is a label."""
        return [[self.names[number] for number in row[there != IGNORED]] for row, there in zip(ids, given)]


class FrequentLabels:
    """The baseline: the most frequent label of a word in train; of unknown words, the most frequent label."""

    def __init__(self, train: Sequence[Sentence]) -> None:
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence in train:
            for word, label in zip(sentence.words, sentence.labels):
                counts[word][label] += 1
        self.label_of = {word: labels.most_common(1)[0][0] for word, labels in counts.items()}
        self.otherwise = sum(counts.values(), Counter[str]()).most_common(1)[0][0]

    def predict(self, sentences: Sequence[Sentence]) -> list[list[str]]:
        return [[self.label_of.get(word, self.otherwise) for word in sentence.words] for sentence in sentences]


def evaluate_tagging(data: TaggedData, split: str, predicted: Labels, baseline: Labels) -> dict[str, Any]:
    """Return the scores and the first sentences, without selection."""
    from ..report.tag_scores import score_labels, sentence_interval

    sentences, are_names = data.splits[split], data.are_entities
    gold = [sentence.labels for sentence in sentences]
    model, other = (
        {**score_labels(gold, labels, are_names), "interval_95": sentence_interval(gold, labels, are_names)}
        for labels in (predicted, baseline)
    )
    return {
        "split": split,
        "sentences": len(sentences),
        "are_entities": are_names,
        "headline": headline(predicted, model, other, are_names),
        **model,
        "baseline": {"name": BASELINE, **other},
        "examples": [
            {"text": excerpt(one.text), "labels": _marked(one.words, one.labels), "answer": _marked(one.words, labels)}
            for one, labels in zip(sentences[:EXAMPLES], predicted)
        ],
    }


def headline(predicted: Labels, model: dict[str, Any], baseline: dict[str, Any], are_names: bool) -> str | None:
    """Return what a report says first of a tagger that nobody should use, or None."""
    if len(used := {label for labels in predicted for label in labels}) == 1:
        return f"The Transformer predicts {used.pop()} for every word: it has not learned."
    name, score = ("F1 of entities", "f1") if are_names else ("accuracy", "accuracy")
    if model[score] > baseline[score] or model[score] == 1:
        return None
    values = " and ".join(percent(scores[score]) for scores in (model, baseline))
    return f"The Transformer is no better than the {BASELINE}: {name} {values}."


def _marked(words: Sequence[str], labels: Sequence[str]) -> str:
    """Return a sentence with word/label for each label but O."""
    return excerpt(" ".join(word if label == OUTSIDE else f"{word}/{label}" for word, label in zip(words, labels)))


def tagging_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of the model and of the baseline in Markdown."""
    rows = {"Transformer": evaluation, evaluation["baseline"]["name"]: evaluation["baseline"]}
    averages = [[percent(scores[name]) for name in ("precision", "recall", "f1")] for scores in rows.values()]
    accuracies = [percent(scores["accuracy"]) for scores in rows.values()]
    intervals = [" to ".join(map(percent, scores["interval_95"])) for scores in rows.values()]
    if evaluation["are_entities"]:
        heads = ["precision", "recall", "F1 of entities", "95 % interval", "accuracy of words"]
        cells = [[*average, *rest] for average, *rest in zip(averages, intervals, accuracies)]
    else:
        heads = ["accuracy of words", "95 % interval", "macro precision", "macro recall", "macro F1"]
        cells = [[*rest, *average] for average, *rest in zip(averages, accuracies, intervals)]
    return table(["", *heads], [[name, *cell] for name, cell in zip(rows, cells)])


def label_table(evaluation: Mapping[str, Any]) -> str:
    """Return the scores of each type of entity, or of each class, in Markdown."""
    what = "entity" if evaluation["are_entities"] else "label"
    rows = [
        [name, *(percent(scores[key]) for key in ("precision", "recall", "f1")), f"{int(scores['number']):,}"]
        for name, scores in evaluation["labels"].items()
    ]
    return table([what, "precision", "recall", "F1", "number"], rows)


# Answers


class FinitePipeline(TokenClassificationPipeline):
    """Raises `DataError` for logits that are no numbers, of which the most likely label would be the first."""

    def _forward(self, model_inputs: Any) -> Any:  # type: ignore[override]  # as in the library's own pipeline
        outputs = super()._forward(model_inputs)
        if not outputs["logits"].isfinite().all():
            raise DataError("the model returns NaN or infinity: its weights are damaged; train it again")
        return outputs


class Tagger(Answerer):
    """Finds the entities of texts, or labels their words by the label of each word's first token.

    White space separates words. Entities of a long text are found in overlapping windows. Words without a token, such
    as those beyond the tokenizer's limit, have the label None. Raises `DataError` for a slow tokenizer.
    """

    name: ClassVar[str] = TAG
    summary: ClassVar[str] = "Find the entities of texts, or label their words. start and end count characters."

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32) -> None:
        if not tokenizer.is_fast:
            raise DataError("a slow tokenizer has no character offsets; use a fast one")
        self.limit = with_padding(tokenizer, "--model").model_max_length
        self.finds_entities = are_entities(model.config.label2id)
        options: dict[str, Any] = {"ignore_labels": []}
        if self.finds_entities:
            options = TASK.settings(model.config)
            options |= {"stride": int(OVERLAP * self.limit)} if self.limit < NO_LIMIT else {}
        pipe = FinitePipeline(model=model, tokenizer=tokenizer, device=model.device, **options)
        super().__init__(pipe, batch_size=batch_size)

    @cached_property
    def counter(self) -> Any:
        """A copy of the tokenizer, as the pipeline changes how its own truncates while the model runs."""
        return copy.deepcopy(self.pipe.tokenizer)

    @property
    def answers(self) -> Schema:
        kinds = {"text": "string", "label": "string", "score": "number", "start": "integer", "end": "integer"}
        fields: dict[str, Schema] = {name: {"type": kind} for name, kind in kinds.items()}
        for name in ("label", "score"):  # words beyond the limit have none
            fields[name] = {"anyOf": [fields[name], {"enum": [None]}]}
        return response(one_or_several(array(record(fields))))

    def _encode(self, text: Any, options: Mapping[str, Any]) -> Job:
        length = len(ids := self.counter(text, verbose=False)["input_ids"])
        is_cut = length > self.limit and not self.finds_entities  # these are found in windows, which cut nothing
        return Job({"input_ids": ids, "text": text}, min(length, self.limit), is_cut)

    def run(self, jobs: Sequence[Job]) -> list[Answer]:
        texts = [job.features["text"] for job in jobs]
        try:
            found: Any = self.pipe(texts, batch_size=len(texts))
        except (RuntimeError, IndexError, ValueError) as error:
            what = f"the model fails on {counted(len(texts), 'text')} (--batch_size, --max_length)"
            raise DataError(f"{what}: {textwrap.shorten(str(error), 240)}") from error
        pieces_of = entities_of if self.finds_entities else words_of
        return [pieces_of(text, each) for text, each in zip(texts, found)]

    @property
    def counts(self) -> dict[str, int]:
        what = "entities" if self.finds_entities else "words"
        return {
            f"rows without text, which get no {what}": self.empty,
            f"texts truncated to {self.limit} tokens, whose last words have no label": self.cut,
        }


class Tagging(Task):
    name = TAG
    arguments = TaggerModelArguments, TaggedDataArguments, TaggerTrainingArguments
    purpose = "A tagger, which labels the words of a text: {labels}."
    use = Use(
        PIPELINE, PIPELINE, "AutoModelForTokenClassification",
        "[model.config.id2label[i] for i in "
        'model(**tokenizer(text, return_tensors="pt")).logits[0].argmax(-1).tolist()]',
        {"aggregation_strategy": "simple"},
    )  # fmt: skip
    space = Space(
        PIPELINE, '{"text": text, "entities": pipe(text)}', 'gr.HighlightedText(label="Answer", show_legend=True)'
    )
    keeps_predictions = True
    files = frozenset(CONLL) - {".txt", ".tsv"}  # formats of no table
    keys = rb'"(tokens|words)"\s*:\s*\['
    refusal, read = "the model labels words", staticmethod(load_tagged)
    columns_of_answers, explained = ("entities", "words"), "tagging"
    outputs = (("HighlightedText", {"label": "Answer", "show_legend": True}),)

    def build_tokenizer(self, options: TaggerModelArguments, data: TaggedData, checkpoint: str | None) -> Any:
        prefix = {"add_prefix_space": True} if options.tokenizer_kind == "byte_bpe" else {}
        return build_tokenizer(options, data.texts("train"), checkpoint, **prefix)

    def build_model(self, options: TaggerModelArguments, data: TaggedData, tokenizer: Any) -> Any:
        model = build_model(options, tokenizer, data.label_names, "ForTokenClassification", problem_type=None)
        limit_length(tokenizer, model.config)
        if not options.label_all_tokens:
            record_settings(model.config, PIPELINE, aggregation_strategy="first")  # no other token of a word is trained
        return model

    def encode(self, training: Training, split: str) -> Encoded:
        data, tokenizer, is_train = training.data, training.tokenizer, split == "train"
        sentences, labels_all = data.splits[split], is_train and training.options.label_all_tokens
        encoded = encode_sentences(sentences, tokenizer, data.label_names, labels_all)
        notes = check_use(tokenizer, sentences[:CHECKED_SENTENCES]) if is_train else []
        if encoded.lost:
            notes.append(
                f"{split}: {encoded.lost:,} words beyond {tokenizer.model_max_length} tokens (--max_length) or without "
                f"a token are {'not trained on' if is_train else 'scored as the most frequent label'}"
            )
        return encoded._replace(notes=notes)

    def collate(self, training: Training) -> Any:
        return DataCollatorForTokenClassification(training.tokenizer)

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        return TaggerMetrics(training.data)

    def kept_of(self, outputs: Any, labels: Tensor) -> Tensor:
        """(B, T, labels) -> (B, T): the label of the greatest logit, `DIVERGED` where one is NaN."""
        logits: Tensor = outputs[0] if isinstance(outputs, tuple) else outputs
        return logits.argmax(-1).masked_fill(logits.isnan().any(-1), DIVERGED)

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        from ..report.predictions import Predictions

        data, encoded = training.data, training.encoded[split]
        sentences, baseline = data.splits[split], FrequentLabels(data.splits["train"])
        labels = [[baseline.otherwise] * len(sentence.words) for sentence in sentences]
        for row, ids, firsts in zip(labels, np.asarray(predicted.predictions), encoded.parts):
            for word, token in firsts.items():
                row[word] = data.label_names[ids[token]]
        evaluation = evaluate_tagging(data, split, labels, baseline.predict(sentences))
        about = data.are_entities, split, str(data.digests()[split]), data.label_names, data.texts(split)
        kept = Predictions.of_tags(*about, [one.labels for one in sentences], labels)
        kept.save(Path(training.arguments.output_dir) / PREDICTIONS)
        text = [f"{line} {LONGER_OR_PRETRAINED}"] if (line := evaluation["headline"]) else []
        words = sum(len(one.words) for one in sentences)
        text.append(f"{len(sentences):,} sentences with {words:,} words of the {split} split")
        text += [tagging_table(evaluation), label_table(evaluation)]
        text += [f"{encoded.lost:,} words were not read and count as {baseline.otherwise}."] if encoded.lost else []
        name = "F1 of entities, validation" if data.are_entities else "macro F1, validation"
        curve = Curve("loss (nats per labelled token)", "eval_f1", name)
        return Report("\n\n".join(text) + "\n", evaluation, curve)

    def record(self, training: Training) -> dict[str, Any]:
        return {"labels": training.data.label_names}

    def results(self, evaluation: Mapping[str, Any]) -> Results:
        split, baseline, is_bio = evaluation["split"], evaluation["baseline"], evaluation["are_entities"]
        names = {"accuracy": "accuracy of words", "f1": "F1 of entities (seqeval)" if is_bio else "macro F1"}
        metrics = [
            Metric(key, evaluation[key], f"{name}; {baseline['name']}: {percent(baseline[key])}", split)
            for key, name in names.items()
        ]
        samples = [[example["answer"], example["labels"]] for example in evaluation["examples"]]
        title = f"The first sentences of the {split} split, as word/label:"
        text = [
            *([f"**{escaped(evaluation['headline'])}**"] if evaluation["headline"] else []),
            f"On the {evaluation['sentences']:,} sentences of the {split} split, for this model and a baseline:",
            tagging_table(evaluation),
            label_table(evaluation),
            *quoted_rows(title, ["this model", "the data"], samples),
        ]
        return Results("\n\n".join(text), metrics, next((each["text"] for each in evaluation["examples"]), ""))

    def settings(self, config: Any) -> dict[str, Any]:
        """Make entities of tokens by first tokens, if the model was trained on these alone."""
        recorded = recorded_settings(config, PIPELINE).get("aggregation_strategy")
        return {"aggregation_strategy": "first" if recorded == "first" else "simple"}

    def sample(self, pipe: Any, *texts: str) -> str:
        found = [f"{texts[0][one['start'] : one['end']]} ({one['entity_group']})" for one in pipe(texts[0])]
        return ", ".join(found) or "(nothing)"

    def load(self, arguments: PredictArguments, limits: Mapping[str, int] | None = None) -> Tagger:
        model, tokenizer = load_head(arguments, AutoModelForTokenClassification, "not a trained tagger")
        set_length(arguments, tokenizer, model.config)
        return Tagger(model, tokenizer, arguments.batch_size)

    def column(self, answerer: Tagger) -> str:
        return self.columns_of_answers[not answerer.finds_entities]

    def shown(self, answer: Any, *texts: str) -> list[Any]:
        labelled = [{**each, "entity": each["label"]} for each in answer if each["label"] is not None]
        return [{"text": texts[0], "entities": labelled}]


TASK = Tagging()
