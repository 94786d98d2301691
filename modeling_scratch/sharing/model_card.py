# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The sections of a model card that every kind of run has: what it is, its data, its training, its limits, its use."""

import math
from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers import Seq2SeqTrainingArguments

from ..pipelines import TARGET_FOLDER
from ..utils.files import write_text
from ..utils.markdown import escaped, table
from . import model_card as card_sections
from .card_run import Run, Snippets
from .run_record import changed_settings

LONGEST_QUESTION = 40  # characters of a text to try the model on: few, as the most tokens that it reads may be, too
ENDLESS = 10**20  # tokenizers say with a larger model_max_length that they know none
PURPOSES = {
    "train_classifier": "A text classifier: it gives each text one of the labels {labels}.",
    "train_translation": "A translator: from the language of the column {source} to that of the column {target}.",
    "mlm": "An encoder that was pretrained to fill in masked tokens, to be fine-tuned.",
    "clm": "A decoder that was pretrained to predict the next token: it goes on with texts and obeys no instructions.",
    "denoising": "An encoder-decoder that was pretrained to restore damaged texts, to be fine-tuned.",
}

SIZES = {  # of config.json
    "num_hidden_layers": "layers",
    "decoder_layers": "layers of a decoder",
    "hidden_size": "hidden size",
    "num_attention_heads": "heads",
    "vocab_size": "tokens in the vocabulary",
}

NEW = {"preset": "preset", "config_overrides": "changes to the preset"}  # of run_config.json, of a new model alone
SETTINGS = {  # of run_config.json
    "objective": "objective",
    "learning_rate": "peak learning rate",
    "lr_scheduler_type": "schedule",
    "warmup_steps": "warm-up: steps, or below 1 a share of all",
    "per_device_train_batch_size": "batch on each device",
    "gradient_accumulation_steps": "batches a step",
    "optim": "optimizer",
    "adam_beta1": "β₁",
    "adam_beta2": "β₂",
    "weight_decay": "weight decay",
    "max_grad_norm": "largest norm of gradients",
    "label_smoothing_factor": "label smoothing",
    "ema_decay": "decay of the average of the weights",
    "layer_decay": "decay of the learning rate from a layer to the one below",
    "bf16": "bfloat16",
    "fp16": "float16",
    "num_beams": "beam",
    "seed": "seed",
}

# What run_config.json has besides is an argument of our own: it is told, too, but for those that do not say how a model
# is trained, or that a tokenizer which is not new leaves without effect.
LIBRARY = {field.name for field in fields(Seq2SeqTrainingArguments)} | {"train_batch_size", "eval_batch_size"}
OTHERS = {
    "overwrite", "search_trials", "search_over", "model_name_or_path", "trust_remote_code",
    "tokenizer_name_or_path", "tokenizer_kind", "vocab_size", "lowercase",
}  # fmt: skip

NEUTRAL = {"layer_decay": 1, "average_checkpoints": 1, "length_penalty": 1}  # values that are as good as none


def what_it_is(run: Run) -> str:
    labels = ", ".join(map(escaped, run.record.get("labels", ())))
    source, target = map(escaped, run.record.get("columns", ("", "")))
    sizes = [f"{what}: {run.config[key]:,}" for key, what in SIZES.items() if run.config.get(key)]
    origin = f"Trained further from {escaped(run.starts_from)}" if run.starts_from else "Trained from scratch"
    if run.base_model:
        origin = f"Trained further from [{escaped(run.base_model)}](https://huggingface.co/{run.base_model})"
    architecture = ", ".join(escaped(one) for one in run.config["architectures"])
    return "\n\n".join(
        [
            PURPOSES[run.kind].format(labels=labels, source=source, target=target),
            f"{origin}: {architecture}, {run.count_parameters():,} parameters ({'; '.join(sizes)}).",
        ]
    )


def data(run: Run) -> str:
    name = escaped(run.data_name)
    if run.dataset:
        name = f"[{name}](https://huggingface.co/datasets/{run.dataset[0]})"
    rows = [[split, f"{count:,}"] for split, count in run.record.get("rows", {}).items()]
    sizes = [table(["split", "rows"], rows)] if rows else []
    notes = "\n".join(f"- {escaped(note)}" for note in run.record["notes"])
    return "\n\n".join([f"Trained on {name}.", *sizes, *([notes] if notes else [])])


def training(run: Run) -> str:
    settings = {**run.record["model"], **run.record["training"]}
    own = [key for key in settings if key not in LIBRARY | OTHERS | NEW.keys() | SETTINGS.keys()]
    rows = _rows({**SETTINGS, **{key: key.replace("_", " ") for key in own}}, settings)
    if run.starts_from is None:
        rows = _rows(NEW, settings) + rows
    if run.state:
        rows = [["steps", f"{run.state['global_step']:,}"], ["epochs", f"{run.state['epoch']:.4g}"], *rows]
    if "train_runtime" in run.times:
        since = ", since it was last resumed" if "training_before_it_was_resumed" in run.record else ""
        rows.append(["time, evaluations included", duration(run.times["train_runtime"]) + since])
    if before := changed_settings(run.record):
        rows.append(["before it was resumed", escaped(before)])
    versions = ", ".join(f"{name} {number}" for name, number in run.record["environment"].items())
    rows += [["hardware", run.record["hardware"]], ["versions", versions]]
    curve = "![Learning curve](learning_curve.png)\n\n" if run.evaluation else ""
    return f"{curve}{table(['', ''], rows)}\n\nAll settings are in [run_config.json](run_config.json)."


def _rows(names: Mapping[str, str], settings: Mapping[str, Any]) -> list[list[Any]]:
    """What each setting is, and its value; those that have no effect are left out."""
    values = [(key, what, settings.get(key)) for key, what in names.items()]
    return [[what, value] for key, what, value in values if value not in (None, "None", "", False, NEUTRAL.get(key))]


def duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min" if hours < 2 else f"{hours:.1f} h"


def limits(run: Run) -> str:
    splits = " and ".join(dict.fromkeys(metric.split for metric in run.results.metrics))
    lines = [f"Its scores are of the {splits} split of {escaped(run.data_name)}, and of no other texts."]
    lines = lines if splits else []
    chooses = run.record["training"]["load_best_model_at_end"]
    if chooses and run.state.get("best_model_checkpoint"):
        lines.append("Its weights are those that were best on the validation split.")
    elif chooses and run.state.get("best_global_step"):
        lines.append("Its weights are not those that were best on the validation split: these were lost.")
    elif splits == "validation":
        lines.append("That split was also looked at while it was trained.")
    if run.kind == "train_classifier":
        lines.append("It knows no other labels, and gives one of its own to a text that has none.")
    if run.record["model"].get("lowercase") and run.has_new_tokenizer:
        lines.append("Its vocabulary does not tell capitals from small letters.")
    if (length := run.tokenizer.get("model_max_length", ENDLESS)) < ENDLESS:
        lines.append(f"It reads {length:,} tokens of a text at most.")
    lines.append("It may have learned the errors and prejudices of its training texts.")
    return "\n".join(f"- {line}" for line in lines)


def loading(run: Run) -> str:
    target = TARGET_FOLDER if (run.folder / TARGET_FOLDER).is_dir() else None
    text = run.results.example[:LONGEST_QUESTION].rstrip()
    snippets = Snippets(run.use, run.name, text.split(" ")[0] if run.kind == "clm" else text, target)
    return snippets.of_remote_code() if "auto_map" in run.config else snippets.of_native_code()


CARD_FILE = "README.md"
MARK = "\n<!-- Made of the run by modeling-scratch; once you edit it, it stays as it is. "


def write_card(folder: Path, name: str | None = None, is_finished: bool = True, **told: Any) -> bool:
    """Write the card of the run in a folder; False where somebody has edited the one there, which then stays.

    name: the model's on the Hub, if not the folder's. is_finished: the scores in the folder are those of its weights.
    told: metadata that no run knows, such as license and language.
    """
    path = folder / CARD_FILE
    if path.is_file() and not _is_ours(path.read_text(encoding="utf-8")):
        return False
    text = str(make_card(Run.read(folder, name, is_finished), **told))
    write_text(path, f"{text}{MARK}{_digest(text)} -->\n")
    return True


def _is_ours(content: str) -> bool:
    text, mark, digest = content.rpartition(MARK)
    return bool(mark) and digest == f"{_digest(text)} -->\n"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def make_card(run: Run, **told: Any) -> ModelCard:
    """Metadata and text; its metadata are valid for the Hub."""
    sections = {
        "": card_sections.what_it_is(run),
        "Results": run.results.text or "It is still in training: there are no scores of it yet.",
        "Data": card_sections.data(run),
        "Training": card_sections.training(run),
        "Limits": card_sections.limits(run),
        "How to load it": card_sections.loading(run),
    }
    text = [f"## {title}\n\n{section}" if title else section for title, section in sections.items()]
    page = "\n\n".join([f"# {escaped(run.name.rpartition('/')[2])}", *text])
    return ModelCard(f"---\n{metadata(run, **told).to_yaml()}\n---\n\n{page}\n")


def metadata(run: Run, tags: str | list[str] | None = None, **told: Any) -> ModelCardData:
    metrics = [metric for metric in run.results.metrics if math.isfinite(metric.value)]
    more = [tags] if isinstance(tags, str) else tags or []
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=run.use.tag,
        tags=["modeling-scratch", run.config["model_type"], *more],
        base_model=run.base_model,
        datasets=[run.dataset[0]] if run.dataset else None,
        metrics=list(dict.fromkeys(metric.id for metric in metrics)) or None,
        model_name=run.name.rpartition("/")[2] if metrics else None,
        eval_results=[_eval_result(run, *metric) for metric in metrics] or None,
        **told,
    )


def _eval_result(run: Run, metric: str, value: float, name: str, split: str) -> EvalResult:
    dataset, config = run.dataset or ("local", None)
    return EvalResult(
        task_type=run.use.tag or "text2text-generation",
        dataset_type=dataset,
        dataset_name=run.data_name,
        dataset_config=config,
        dataset_split=split,
        metric_type=metric,
        metric_value=value,
        metric_name=name,
    )
