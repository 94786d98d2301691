# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Label the words of texts: entities, such as names, or classes of words, such as parts of speech."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from torch import Tensor
from transformers import (
    AutoModelForTokenClassification,
    DataCollatorForTokenClassification,
    EvalPrediction,
    PreTrainedTokenizerBase,
)

from ..data.tagged_sentences import (
    CONLL,
    OUTSIDE,
    Sentence,
    TaggedData,
    TaggedDataArguments,
    inside,
    load_tagged,
    words_of_tokens,
)
from ..inference.arguments import PredictArguments
from ..inference.loading import load_head, set_length
from ..run.arguments import HeadTrainingArguments
from ..run.encoder_models import HeadModelArguments, model_with_head, tokenizer_of_head
from ..run.layout import PREDICTIONS
from ..utils.errors import DataError, DivergedError, one_line
from ..utils.markdown import excerpt
from ..utils.options import option
from .base import (
    EXAMPLES,
    Curve,
    Encoded,
    Space,
    Task,
    Training,
    Use,
    headline,
    record_settings,
    scores_table,
    shares_table,
)
from .tag_answers import PIPELINE, Tagger, settings_of

IGNORED = -100  # the label of a token without one
DIVERGED = -1  # the prediction of NaN
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
    """Return the scores, those of the baseline, and the first sentences, without selection."""
    from ..report.tag_scores import score_labels, sentence_interval

    sentences, are_names = data.splits[split], data.are_entities
    gold = [sentence.labels for sentence in sentences]
    model, other = (
        {**score_labels(gold, labels, are_names), "interval_95": sentence_interval(gold, labels, are_names)}
        for labels in (predicted, baseline)
    )
    scores = {**model, "baselines": [{"name": BASELINE, **other}]}
    used = {label for labels in predicted for label in labels}
    constant = f"predicts {used.pop()} for every word" if len(used) == 1 else None
    decisive = ("f1", "F1 of entities") if are_names else ("accuracy", "accuracy")
    return {
        "split": split,
        "sentences": len(sentences),
        "words": sum(len(one.words) for one in sentences),
        "are_entities": are_names,
        "headline": headline(scores, *decisive, constant),
        **scores,
        "notes": [],
        "examples": [
            {"text": excerpt(one.text), "labels": _marked(one.words, one.labels), "answer": _marked(one.words, labels)}
            for one, labels in zip(sentences[:EXAMPLES], predicted)
        ],
    }


def _marked(words: Sequence[str], labels: Sequence[str]) -> str:
    """Return a sentence with word/label for each label but O."""
    return excerpt(" ".join(word if label == OUTSIDE else f"{word}/{label}" for word, label in zip(words, labels)))


class Tagging(Task):
    name = "tag"
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
    curve = Curve("loss (nats per labelled token)", "eval_f1", "F1 on validation")
    outputs = (("HighlightedText", {"label": "Answer", "show_legend": True}),)

    def build_tokenizer(self, options: TaggerModelArguments, data: TaggedData, checkpoint: str | None) -> Any:
        prefix = {"add_prefix_space": True} if options.tokenizer_kind == "byte_bpe" else {}
        return tokenizer_of_head(options, data, checkpoint, **prefix)

    def build_model(self, options: TaggerModelArguments, data: TaggedData, tokenizer: Any) -> Any:
        model = model_with_head(options, tokenizer, data.label_names, "ForTokenClassification")
        if not options.label_all_tokens:
            record_settings(model.config, PIPELINE, aggregation_strategy="first")  # no other token of a word is trained
        return model

    def encode(self, training: Training, split: str) -> Encoded:
        data, tokenizer, is_train = training.data, training.tokenizer, split == "train"
        sentences, labels_all = data.splits[split], is_train and training.options.label_all_tokens
        encoded = encode_sentences(sentences, tokenizer, data.label_names, labels_all)
        if not encoded.lost:
            return encoded
        note = (
            f"{split}: {encoded.lost:,} words beyond {tokenizer.model_max_length} tokens (--max_length) or without "
            f"a token are {'not trained on' if is_train else 'scored as the most frequent label'}"
        )
        return encoded._replace(notes=[note])

    def collate(self, training: Training) -> Any:
        return DataCollatorForTokenClassification(training.tokenizer)

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        return TaggerMetrics(training.data)

    def kept_of(self, outputs: Any, labels: Tensor) -> Tensor:
        """(B, T, labels) -> (B, T): the label of the greatest logit, `DIVERGED` where one is NaN."""
        logits: Tensor = outputs[0] if isinstance(outputs, tuple) else outputs
        return logits.argmax(-1).masked_fill(logits.isnan().any(-1), DIVERGED)

    def evaluate(self, training: Training, split: str, predicted: Any) -> dict[str, Any]:
        """Score the label of each word's first token; of words that are not read, the most frequent one."""
        from ..report.predictions import Predictions

        data, encoded = training.data, training.encoded[split]
        sentences, baseline = data.splits[split], FrequentLabels(data.splits["train"])
        labels = [[baseline.otherwise] * len(sentence.words) for sentence in sentences]
        for row, ids, firsts in zip(labels, np.asarray(predicted.predictions), encoded.parts):
            for word, token in firsts.items():
                row[word] = data.label_names[ids[token]]
        about = data.are_entities, split, str(data.digests()[split]), data.label_names, data.texts(split)
        kept = Predictions.of_tags(*about, [one.labels for one in sentences], labels)
        kept.save(Path(training.arguments.output_dir) / PREDICTIONS)
        evaluation = evaluate_tagging(data, split, labels, baseline.predict(sentences))
        if encoded.lost:
            evaluation["notes"] = [f"{encoded.lost:,} words were not read and count as {baseline.otherwise}."]
        return evaluation

    def evaluated(self, evaluation: Mapping[str, Any]) -> str:
        words = f" with {evaluation['words']:,} words" if "words" in evaluation else ""
        return f"{evaluation['sentences']:,} sentences{words}"

    def definitions(self, evaluation: Mapping[str, Any]) -> dict[str, str]:
        f1 = "F1 of entities (seqeval)" if evaluation["are_entities"] else "macro F1"
        return {"accuracy": "accuracy of words", "f1": f1}

    def tables(self, evaluation: Mapping[str, Any]) -> list[str]:
        names, average = evaluation["are_entities"], {"precision": "precision", "recall": "recall"}
        if names:
            heads = {**average, "f1": "F1 of entities", "interval_95": "95 % interval", "accuracy": "accuracy of words"}
        else:
            heads = {"accuracy": "accuracy of words", "interval_95": "95 % interval", **average, "f1": "macro F1"}
        rows = {name: {**scores, "number": int(scores["number"])} for name, scores in evaluation["labels"].items()}
        of_labels = shares_table("entity" if names else "label", rows, {**average, "f1": "F1", "number": "number"})
        return [scores_table(evaluation, heads), of_labels]

    def quoted(self, example: Mapping[str, Any]) -> dict[str, str]:
        return {"this model, as word/label": example["answer"], "the data": example["labels"]}

    def record(self, training: Training) -> dict[str, Any]:
        return {"labels": training.data.label_names}

    def settings(self, config: Any) -> dict[str, Any]:
        return settings_of(config)

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
