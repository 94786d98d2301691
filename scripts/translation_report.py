# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The end of a translation run: which weights are kept, and what they are worth on validation and test."""

from collections.abc import Sequence
from pathlib import Path

import torch
from card_text import excerpt
from checkpoint_average import average_weights, last_checkpoints, load_weights
from plots import translation_curve_png
from run_folder import write_json, write_text
from text_generation import Generated
from transformers import Trainer
from translation import Translator
from translation_data import TranslationData
from translation_metrics import as_metrics, score_table, score_translations

EXAMPLES = 5


def choose_weights(trainer: Trainer, translator: Translator, data: TranslationData) -> str:
    """Load what is best on validation: the best checkpoint, or the average of the last ones; say which."""
    arguments, model = trainer.args, translator.model
    best = Path(trainer.state.best_model_checkpoint or "the last")
    name = f"{best.name}, the best by greedy validation BLEU" if trainer.state.best_model_checkpoint else "last weights"
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
        scores[candidate] = score_translations(translations, data.targets("validation"))[0].value
        print(f"validation BLEU {scores[candidate]:.2f}, beam {translator.generation['num_beams']}: {candidate}")
    chosen = max(scores, key=scores.__getitem__)
    load_weights(model, candidates[chosen])
    return chosen


def report(trainer: Trainer, translator: Translator, data: TranslationData, weights: str, is_resumed: bool) -> str:
    """The tables to print; they, every score, all translations and the learning curve go to the folder of the run."""
    output = Path(trainer.args.output_dir or "")
    tables, scores, examples = [], {}, []
    for split in [split for split in data.splits if split != "train"]:
        translations = translator.translate(data.sources(split))
        scores[split] = score_translations([translation.text for translation in translations], data.targets(split))
        what = f"{split}: {len(translations):,} texts, {weights}, beam {translator.generation['num_beams']}"
        what += _what_was_cut(translator, data.sources(split), translations)
        tables.append(score_table(scores[split], what))
        lines = [" ".join(translation.text.split()) + "\n" for translation in translations]
        write_text(output / f"{split}.translations.txt", "".join(lines))
        examples = _examples(data, split, translations)  # those of the last split, the one to judge on, are kept
    text = "\n\n".join(tables) + "\n"
    seconds = sum(entry.get("train_runtime", 0) for entry in trainer.state.log_history)
    since = " since it was resumed" if is_resumed else ""  # what came before is not known
    time = f"{seconds / 60:.1f} minutes of training{since}, validation included, on {torch.get_num_threads()} threads"
    write_text(output / "results.md", f"{text}\n{time}\n")
    metrics = {split: as_metrics(found) for split, found in scores.items()}
    write_json(output / "evaluation.json", {"weights": weights, **metrics, "examples": examples})
    translation_curve_png(trainer.state.log_history, output / "learning_curve.png")
    return "\n" + text


def _examples(data: TranslationData, split: str, translations: Sequence[Generated]) -> list[dict[str, str]]:
    """The first of the split: nobody has chosen them."""
    rows = zip(data.splits[split][:EXAMPLES], translations)
    return [
        {"source": excerpt(source), "translation": excerpt(translation.text), "reference": excerpt(target)}
        for (source, target), translation in rows
    ]


def _what_was_cut(translator: Translator, sources: Sequence[str], translations: Sequence[Generated]) -> str:
    told = ""
    if cut := translator.count_cut(sources):
        told += f"; {cut:,} sources are longer than {translator.limit} tokens and were cut"
    if cut := sum(translation.is_cut for translation in translations):
        limit = translator.generation["max_new_tokens"]
        told += f"; {cut:,} translations found no end and were cut at {limit} tokens"
    return told
