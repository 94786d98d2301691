# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Label the words of texts: entities, such as names, or classes of words, such as parts of speech."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import DataCollatorForTokenClassification, EvalPrediction, PreTrainedTokenizerBase

from ..data.tagged_sentences import (
    OUTSIDE,
    Sentence,
    TaggedData,
    TaggedDataArguments,
    inside,
    labels_of_parts,
    load_tagged,
    parts_of,
    words_of_tokens,
)
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, model_with_head, tokenizer_of_head
from ..utils.errors import DataError, one_line
from ..utils.markdown import excerpt
from ..utils.options import option
from .answerer import record_settings
from .base import Curve, Encoded, Task, Training
from .card import EXAMPLES, Card, Use, scores_table, shares_table
from .tag_answers import PIPELINE, Tagger, TaggerPage

IGNORED = -100  # the label of a token without one
BASELINE = "most frequent label of the word"
Labels = Sequence[Sequence[str]]  # of the words of each sentence


@dataclass
class TaggerModelArguments(HeadModelArguments):
    """The model to train: a preset from scratch or a checkpoint to fine-tune."""

    lowercase: bool = option(False, "Lower-case the text in a new tokenizer.")
    label_all_tokens: bool = option(
        True, "Train on all tokens of a word, of which a pipeline reads each; False: the first."
    )


@dataclass
class TaggerTrainingArguments(HeadTrainingArguments):
    output_dir: str | None = option("runs/tagger", "The folder for the model and all results.")


# Words and tokens


def encode_sentences(
    sentences: Sequence[Sentence],
    tokenizer: PreTrainedTokenizerBase,
    label_names: Sequence[str],
    labels_all: bool = False,
) -> Encoded:
    """Tokenise the words with blanks between them, as a text is read later, and label the first token of each word.

    lost: the words without a token: those beyond the limit, and those that the tokenizer drops. labels_all: label the
    other tokens of a word as well, in BIO as inside. Raises `DataError` for a token of several words, which could have
    one label only.
    """
    if not tokenizer.is_fast:
        raise DataError("the tokenizer gives no offsets, which words are found by; use a fast tokenizer")
    masks = {"return_offsets_mapping": True, "return_special_tokens_mask": True}
    try:
        batch = tokenizer([sentence.text for sentence in sentences], truncation=True, **masks)
    except Exception as error:  # of tokenizers: of no type of its own
        raise DataError(f"the tokenizer cannot read the sentences: {one_line(error)}") from error
    id_of = {name: number for number, name in enumerate(label_names)}
    labels, lost = [], 0
    for sentence, offsets, special in zip(sentences, batch.pop("offset_mapping"), batch.pop("special_tokens_mask")):
        try:
            words = words_of_tokens(sentence.text, sentence.spans, offsets, special)
        except ValueError as error:
            raise DataError(f"{sentence.where(0)}: {error}; use another tokenizer (--tokenizer_kind)") from error
        labels.append(_token_labels(sentence, words, id_of, labels_all))
        lost += len(sentence.words) - len({*words} - {None})
    return Encoded.of({**batch, "labels": labels}, lost)


def _token_labels(
    sentence: Sentence, words: Sequence[int | None], id_of: dict[str, int], labels_all: bool
) -> list[int]:
    labels = []
    for before, word in zip([None, *words], words):
        label = None if word is None else sentence.labels[word]
        if label is not None and word == before:
            label = inside(label) if labels_all else None
        labels.append(IGNORED if label is None else id_of.get(label, IGNORED))
    return labels


# Scores


def without_logits(outputs: Any, labels: Tensor) -> Tensor:
    """Return a number of each row of a batch: evaluations ask the answerer, also for the windows of long sentences."""
    return labels[:, 0]


def read_labels(training: Training, split: str) -> list[list[str]]:
    """Return what `predict` answers to a split: the labels of the parts of its texts, or of its words.

    A word that is not read has the most frequent label.
    """
    data, sentences = training.data, training.data.splits[split]
    lines = training.answerer.lines([(0, one.text, {}) for one in sentences])
    answers = [line[training.answerer.column] for line in lines]
    found = [[((one["start"], one["end"]), one["label"]) for one in answer] for answer in answers]
    if data.are_entities:
        spans = [[(span, f"B-{label}") for span, label in each] for each in found]
        return [labels_of_parts(one.text, each) for one, each in zip(sentences, spans)]
    otherwise = FrequentLabels(data.splits["train"]).otherwise
    labels = [{start: label for (start, _), label in each} for each in found]
    return [[each.get(start) or otherwise for start, _ in one.spans] for one, each in zip(sentences, labels)]


def given_labels(data: TaggedData, split: str, labels: Labels | None = None) -> list[list[str]]:
    """Return the labels of the words of a split, or others for its words, in the form of `read_labels`."""
    sentences = data.splits[split]
    labels = [one.labels for one in sentences] if labels is None else labels
    if not data.are_entities:
        return [*map(list, labels)]
    return [labels_of_parts(one.text, zip(one.spans, each)) for one, each in zip(sentences, labels)]


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
    """Return the scores, those of the baseline, and the first sentences, without selection."""
    from ..report.predictions import TAGS
    from ..report.significance import verdict_of
    from ..report.tag_scores import TAG_METRICS, score_labels, sentence_counts, sentence_interval

    sentences, are_names, gold = data.splits[split], data.are_entities, given_labels(data, split)
    model, other = (
        {**score_labels(gold, labels, are_names), "interval_95": sentence_interval(gold, labels, are_names)}
        for labels in (predicted, baseline)
    )
    values, others = (sentence_counts(gold, labels, are_names) for labels in (predicted, baseline))
    score, answers = TAG_METRICS[TAGS[not are_names]].score, [*chain.from_iterable(predicted)]
    return {
        "split": split,
        "sentences": len(sentences),
        "words": sum(len(one.words) for one in sentences),
        "are_entities": are_names,
        **verdict_of(score, values, {BASELINE: others}, answers),
        **model,
        "baselines": [{"name": BASELINE, **other}],
        "notes": [],
        "examples": [
            {"text": excerpt(one.text), "labels": _marked(one, given), "answer": _marked(one, labels)}
            for one, given, labels in zip(sentences[:EXAMPLES], gold, predicted)
        ],
    }


def _marked(sentence: Sentence, labels: Sequence[str]) -> str:
    """Return a sentence with word/label for each label but O."""
    words = sentence.words
    if len(labels) != len(words):
        words = tuple(sentence.text[start:end] for start, end in parts_of(sentence.text))
    return excerpt(" ".join(word if label == OUTSIDE else f"{word}/{label}" for word, label in zip(words, labels)))


class TagCard(Card):
    def evaluated(self, evaluation: Mapping[str, Any]) -> str:
        words = f" with {evaluation['words']:,} words" if "words" in evaluation else ""
        return f"{super().evaluated(evaluation)}{words}"

    def definitions(self, evaluation: Mapping[str, Any]) -> dict[str, str]:
        f1 = "F1 of entities (seqeval)" if evaluation["are_entities"] else "macro F1"
        return {"accuracy": "accuracy of words", "f1": f1}

    def tables(self, evaluation: Mapping[str, Any]) -> list[str]:
        names, average = evaluation["are_entities"], {"precision": "precision", "recall": "recall"}
        f1, accuracy = {"f1": "F1 of entities" if names else "macro F1"}, {"accuracy": "accuracy of words"}
        first, last = ({**average, **f1}, accuracy) if names else (accuracy, {**average, **f1})
        rows = {name: {**scores, "number": int(scores["number"])} for name, scores in evaluation["labels"].items()}
        of_labels = shares_table("entity" if names else "label", rows, {**average, "f1": "F1", "number": "number"})
        return [scores_table(evaluation, {**first, "interval_95": "95 % interval", **last}), of_labels]


class Tagging(Task):
    name, refusal, explained = "tag", "the model labels words", "tagging"
    answering, page = Tagger, TaggerPage
    card = TagCard(
        "A tagger, which labels the words of a text: {labels}.",
        Use(PIPELINE, PIPELINE, "AutoModelForTokenClassification", {"aggregation_strategy": "simple"}),
        unit="sentences",
    )
    arguments = TaggerModelArguments, TaggedDataArguments, TaggerTrainingArguments
    scores = "accuracy", "precision", "recall", "f1"
    curve = Curve("loss (nats per labelled token)", "eval_f1", "F1 on validation")
    read = staticmethod(load_tagged)

    def build_tokenizer(self, options: TaggerModelArguments, data: TaggedData, checkpoint: str | None) -> Any:
        prefix = {"add_prefix_space": True} if options.tokenizer_kind == "byte_bpe" else {}
        return tokenizer_of_head(options, data, checkpoint, **prefix)

    def build_model(self, options: TaggerModelArguments, data: TaggedData, tokenizer: Any) -> Any:
        model = model_with_head(options, tokenizer, data.label_names, "ForTokenClassification")
        if not options.label_all_tokens:
            record_settings(model.config, PIPELINE, aggregation_strategy="first")  # no other token of a word is trained
        return model

    def answerer(self, training: Training) -> Tagger:
        arguments = training.arguments
        return Tagger(training.model, training.tokenizer, arguments.eval_batch_size, arguments.device)

    def encode(self, training: Training, split: str) -> Encoded:
        data, tokenizer, is_train = training.data, training.tokenizer, split == "train"
        labels_all = is_train and training.options.label_all_tokens
        encoded = encode_sentences(data.splits[split], tokenizer, data.label_names, labels_all)
        if data.are_entities and not is_train:  # those of long texts are found in windows
            encoded = encoded._replace(lost=0)
        what = f"words beyond {tokenizer.model_max_length} tokens (--max_length) or without a token"
        used = "not trained on" if is_train else "scored as the most frequent label"
        return encoded._replace(notes=[f"{split}: {encoded.lost:,} {what} are {used}"] if encoded.lost else [])

    def trainer(self, training: Training) -> dict[str, Any]:
        collator = DataCollatorForTokenClassification(training.tokenizer)
        return {"data_collator": collator, "preprocess_logits_for_metrics": without_logits}

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        from ..report.tag_scores import score_labels

        data = training.data

        def compute(prediction: EvalPrediction) -> dict[str, float]:
            training.encoded[split].parts[:] = labels = read_labels(training, split)
            scores = score_labels(given_labels(data, split), labels, data.are_entities)
            return {name: scores[name] for name in self.scores}

        return compute

    def record(self, training: Training) -> dict[str, Any]:
        return {"labels": training.data.label_names}

    def evaluate(self, training: Training, split: str, predicted: Any) -> dict[str, Any]:
        """Score the entities that `predict` finds in the sentences, or the labels of words: the last that were read."""
        from ..report.predictions import TAGS, Predictions

        data, encoded, baseline = training.data, training.encoded[split], FrequentLabels(training.data.splits["train"])
        about = TAGS[not data.are_entities], split, str(data.digests()[split]), data.label_names, data.texts(split)
        kept = Predictions.of_lists(*about, given_labels(data, split), encoded.parts)
        kept.save(Path(training.arguments.output_dir))
        other = given_labels(data, split, baseline.predict(data.splits[split]))
        evaluation = evaluate_tagging(data, split, encoded.parts, other)
        if encoded.lost:
            evaluation["notes"] = [f"{encoded.lost:,} words were not read and count as {baseline.otherwise}."]
        return evaluation


TASK = Tagging()
