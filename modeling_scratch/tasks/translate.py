# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Translate texts with an encoder-decoder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transformers import DataCollatorForSeq2Seq, EvalPrediction

from .. import presets
from ..data.translation_pairs import TranslationDataArguments, load_pairs
from ..inference.text_generators import Translator
from ..report.report_files import deciding_metric
from ..run.layout import TRANSLATIONS
from ..utils.files import write_text
from ..utils.markdown import excerpt
from .base import Comparison, Curve, Encoded, Report, Task, Training
from .card import EXAMPLES, Card, Metric, Use
from .translation_answers import Translation, TranslatorPage
from .translation_model import (
    TranslationModelArguments,
    TranslationTrainingArguments,
    build_model,
    build_tokenizers,
    encode_pairs,
)

FEW_PAIRS = 5_000
FEW = (
    "WARNING: train has {:,} pairs; a new model hardly learns to translate from fewer than several thousand: "
    "find more, or fine-tune a translator (--model_name_or_path)"
)


def verdict(split: str, bleu: float, copied: float) -> str:
    """Return what the report says first. copied: the BLEU of the sources themselves."""
    if bleu > copied:
        return f"**Use the Transformer: its BLEU on {split} is {bleu:.2f}, and that of copied sources {copied:.2f}.**"
    return (
        f"**The Transformer has not learned: its BLEU on {split} is {bleu:.2f}, that of copied sources {copied:.2f}.**"
    )


class TranslationCard(Card):
    def metrics(self, evaluation: Mapping[str, Any]) -> list[Metric]:
        """Return sacreBLEU's scores with signatures."""
        return [
            Metric(
                "chrf" if score["name"] == "chrF" else "sacrebleu", score["value"],
                f"{score['name']}: {score['meaning']}; {score['signature']}", split,
            )
            for split in ("validation", "test")
            for score in evaluation.get(split, ())
        ]  # fmt: skip


class Translating(Task):
    name, refusal, explained, not_generated = "translate", "the model translates", "generation", None
    answering, page = Translation, TranslatorPage
    card = TranslationCard(
        "A translation model from {source} to {target} (column names of the training data).",
        Use("translation", "seq2seq-translation", "AutoModelForSeq2SeqLM"),
    )
    arguments = TranslationModelArguments, TranslationDataArguments, TranslationTrainingArguments
    scores = "bleu", "chrf", "perplexity"
    best_by, predicts, evaluates = ("bleu", True), False, ()
    curve = Curve(
        "loss (nats per token; training: with smoothed labels)", "eval_bleu", "BLEU, validation, greedy", is_share=False
    )
    lab = Comparison(presets.SEQ2SEQS, "loss", ("bleu",), "--num_beams 1")
    read, build_tokenizer = staticmethod(load_pairs), staticmethod(build_tokenizers)

    def build_model(self, options: TranslationModelArguments, data: Any, tokenizer: Any) -> Any:
        return build_model(options, tokenizer)

    def answerer(self, training: Training) -> Translator:
        source, target = training.tokenizer
        length, batch_size = training.options.max_length, training.arguments.eval_batch_size
        greedy: dict[str, Any] = {"max_new_tokens": length, "num_beams": 1, "do_sample": False}
        return Translator(training.model, source, target, length, batch_size, **greedy)

    def encode(self, training: Training, split: str) -> Encoded:
        data, options, notes = training.data, training.options, list[str]()
        longest = options.max_length
        if split != "train":
            cut = sum(len(tokens) > longest for tokens in training.answerer.encode_all(data.sources(split)))
            told = f"{split}: {cut:,} sources exceed --max_length {longest} and are truncated before translation"
            notes = [told] if cut else []
        if split == "test":  # translated, not scored token by token
            return Encoded(None, [], notes=notes)
        encoded = encode_pairs(data, split, training.tokenizer, longest)
        if split == "train" and len(encoded.rows) < FEW_PAIRS and not options.model_name_or_path:
            notes.append(FEW.format(len(encoded.rows)))
        return encoded._replace(notes=[*encoded.notes, *notes])

    def metrics(self, training: Training, split: str) -> Callable[..., dict[str, float]]:
        """Score the tokens, and greedy translations."""
        from ..report.pretraining import token_metrics
        from ..report.translation import score_translations

        data, translator = training.data, training.answerer

        def compute(prediction: EvalPrediction) -> dict[str, float]:
            texts = [translation.text for translation in translator.translate(data.sources(split))]
            bleu, chrf, *_ = score_translations(texts, data.targets(split))
            return {**token_metrics(prediction), "bleu": bleu.value, "chrf": chrf.value}

        return compute

    def trainer(self, training: Training) -> dict[str, Any]:
        from ..report.pretraining import token_losses

        arguments, model, pairs = training.arguments, training.model, len(training.encoded["train"].rows)
        peak = arguments.learning_rate or arguments.paper_rate(model.config.hidden_size, pairs)
        arguments.learning_rate = peak
        print(f"{model.num_parameters():,} parameters, peak learning rate {peak:.2g}")
        return {
            "data_collator": DataCollatorForSeq2Seq(training.tokenizer[0], model=model),
            "preprocess_logits_for_metrics": token_losses,
            "target_tokenizer": training.tokenizer[1],
            "smooths_in_model": True,
        }

    def settle(self, training: Training, trainer: Any) -> None:
        """Say which weights these are, and record the search of the translations."""
        translator, training.weights = training.answerer, "last weights"
        translator.generation |= training.arguments.beam_search
        if trainer.average is not None:
            training.weights = "average of the weights"
        elif best := trainer.state.best_model_checkpoint:
            metric = deciding_metric(trainer.args).removeprefix("eval_")
            training.weights = f"{Path(best).name}, the best by {metric} on validation"
        translator.model.generation_config.update(**translator.generation)

    def report(self, training: Training, trainer: Any, split: str, predicted: Any) -> Report:
        """Report all translations of each split, which are also saved."""
        from ..report.translation import score_table, score_translations

        data, translator, output = training.data, training.answerer, Path(training.arguments.output_dir)
        evaluation: dict[str, Any] = {"weights": training.weights, "examples": []}
        tables, limit = list[str](), translator.generation["max_new_tokens"]
        for each in sorted(data.splits.keys() - {"train"}, key=split.__eq__):
            translations = translator.translate(data.sources(each))
            texts = [translation.text for translation in translations]
            scores = score_translations(texts, data.targets(each))
            what = f"{each}: {len(texts):,} texts, {training.weights}, beam {translator.generation['num_beams']}"
            if cut := sum(translation.cut_after is not None for translation in translations):
                what += f"; {cut:,} translations have no end token and were cut at {limit} tokens"
            tables.append(score_table(scores, what))
            write_text(output / TRANSLATIONS.format(each), "".join(" ".join(text.split()) + "\n" for text in texts))
            evaluation[each] = [score._asdict() for score in scores]
            evaluation["examples"] = [
                {"source": excerpt(source), "translation": excerpt(text), "reference": excerpt(target)}
                for (source, target), text in zip(data.splits[each][:EXAMPLES], texts)
            ]
        copied, *_ = score_translations(data.sources(split), data.targets(split))  # the last
        return Report("\n\n".join([verdict(split, scores[0].value, copied.value), *tables]) + "\n", evaluation)

    def record(self, training: Training) -> dict[str, Any]:
        return {"columns": training.data.columns}


TASK = Translating()
