# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Model cards: description, use, results, limits, data and training of a run."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from transformers import Seq2SeqTrainingArguments

from ..bridges.model_limits import NO_LIMIT
from ..data.text_pairs import column_names
from ..report.report_files import NO_BLOCKS
from ..run.layout import CARD, CURVE, RECORD
from ..utils.errors import duration
from ..utils.files import text_digest, write_text
from ..utils.markdown import bullets, escaped, folded, table
from .card_programs import use
from .card_run import Run
from .run_record import BEFORE, changed_settings

SIZES = {  # of config.json
    "num_hidden_layers": "layers",
    "decoder_layers": "decoder layers",
    "hidden_size": "hidden size",
    "num_attention_heads": "heads",
    "vocab_size": "vocabulary size",
}

# The settings of run_config.json that are told: these of the libraries, and all arguments of our own, but for those
# that do not say how a model is trained, or that a tokenizer which is not new leaves without effect.
SETTINGS = (
    "learning_rate", "lr_scheduler_type", "warmup_steps", "per_device_train_batch_size", "gradient_accumulation_steps",
    "optim", "adam_beta1", "adam_beta2", "weight_decay", "max_grad_norm", "label_smoothing_factor", "bf16",
    "fp16", "seed",
)  # fmt: skip
LIBRARY = {field.name for field in fields(Seq2SeqTrainingArguments)} | {"train_batch_size", "eval_batch_size"}
OTHERS = {
    "overwrite", "search_trials", "search_over", "model_name_or_path", "trust_remote_code", "allow_special_tokens",
    "tokenizer_name_or_path", "tokenizer_kind", "vocab_size", "lowercase", "texts_in_card", "save_linear_model",
}  # fmt: skip

OF_NEW_MODELS = {"preset", "config_overrides"}
NEUTRAL = {"layer_decay": 1, "average_checkpoints": 1, "length_penalty": 1}  # values without effect


def what_it_is(run: Run) -> str:
    labels = ", ".join(map(escaped, run.record.get("labels", ())))
    source, target = map(escaped, run.record.get("columns", ("", "")))
    has_blocks = run.config.get("num_hidden_layers") != 0
    shown = [key for key in SIZES if run.config.get(key) and (has_blocks or key != "num_attention_heads")]
    sizes = [f"{SIZES[key]}: {run.config[key]:,}" for key in shown]
    origin = f"Fine-tuned from {escaped(run.starts_from)}" if run.starts_from else "Trained from scratch"
    if run.base_model:
        origin = f"Fine-tuned from [{escaped(run.base_model)}](https://huggingface.co/{run.base_model})"
    purpose = run.card.purpose
    architecture = ", ".join(escaped(one) for one in run.config["architectures"])
    return "\n\n".join(
        [
            purpose.format(labels=labels, source=source, target=target),
            f"{origin}: {architecture}, {run.count_parameters():,} parameters ({'; '.join(sizes)}).",
            *([] if has_blocks else [NO_BLOCKS]),
        ]
    )


def data(run: Run) -> str:
    name = escaped(run.data_name)
    if run.dataset:
        name = f"[{name}](https://huggingface.co/datasets/{run.dataset[0]})"
    rows = [[split, f"{count:,}"] for split, count in run.record.get("rows", {}).items()]
    sizes = [table(["split", "rows"], rows)] if rows else []
    notes = bullets([escaped(note) for note in run.record["notes"]])
    return "\n\n".join([f"Trained on {name}.", *sizes, *([folded("What the run noted", notes)] if notes else [])])


def training(run: Run) -> str:
    settings = {**run.record["model"], **run.record["training"]}
    left_out = OTHERS | (LIBRARY - {*SETTINGS}) | (OF_NEW_MODELS if run.starts_from else set())
    rows = [
        [key, value]
        for key, value in settings.items()
        if key not in left_out and value not in (None, "None", "", False, NEUTRAL.get(key))
    ]
    if run.state:
        rows = [["steps", f"{run.state['global_step']:,}"], ["epochs", f"{run.state['epoch']:.4g}"], *rows]
    if seconds := [entry["train_runtime"] for entry in run.state.get("log_history", ()) if "train_runtime" in entry]:
        since = ", since the last resumption" if BEFORE in run.record else ""
        rows.append(["time, including evaluations", duration(seconds[-1]) + since])
    if before := changed_settings(run.record):
        rows.append(["before resuming", escaped(before)])
    versions = ", ".join(f"{name} {number}" for name, number in run.record["environment"].items())
    rows += [["hardware", run.record["hardware"]], ["versions", versions]]
    return "\n\n".join(
        [
            *([f"![Learning curve]({CURVE})"] if run.evaluation else []),
            table(["", ""], rows),
            f"All settings are in [{RECORD}]({RECORD}).",
        ]
    )


def limits(run: Run) -> str:
    splits = " and ".join(dict.fromkeys(metric.split for metric in run.results.metrics))
    lines = [f"The scores apply to the {splits} split of {escaped(run.data_name)} only."]
    lines = lines if splits else []
    chooses = run.record["training"]["load_best_model_at_end"]
    if chooses and run.state.get("best_model_checkpoint"):
        lines.append("The weights are those of the best checkpoint on the validation split.")
    elif chooses and run.state.get("best_global_step"):
        lines.append("The weights are not those of the best checkpoint on the validation split, which was lost.")
    elif splits == "validation":
        lines.append("This split was also evaluated during training.")
    lines += run.card.limits
    if len(columns := column_names(run.record["data"].get("text_column"))) == 2:
        names = " and ".join(map(escaped, columns))
        lines.append(f"It reads pairs of texts, in this order: {names} (column names of the training data).")
    if run.record["model"].get("lowercase") and run.has_new_tokenizer:
        lines.append("Its vocabulary is lower-cased.")
    if run.card.reads:
        lines.append(run.card.reads)
    elif (length := run.tokenizer.get("model_max_length", NO_LIMIT)) < NO_LIMIT:
        lines.append(f"It reads at most {length:,} tokens per text.")
    lines.append("It may reproduce errors and biases of its training texts.")
    return bullets(lines)


MARK = "\n<!-- Made of the run by modeling-scratch; once you edit it, it stays as it is. "


def write_card(folder: Path, name: str | None = None, is_finished: bool = True, **extra: Any) -> bool:
    """Write the model card of a run. Return False, without writing, if the existing card was edited.

    name: the model's on the Hub, if not the folder's. is_finished: the scores in the folder are those of its weights.
    extra: metadata that the run does not record, such as license and language.
    """
    path = folder / CARD
    if path.is_file() and not _is_ours(path.read_text(encoding="utf-8")):
        return False
    text = str(make_card(Run.read(folder, name, is_finished), **extra))
    write_text(path, f"{text}{MARK}{text_digest(text)} -->\n")
    return True


def _is_ours(content: str) -> bool:
    text, mark, digest = content.rpartition(MARK)
    return bool(mark) and digest == f"{text_digest(text)} -->\n"


def make_card(run: Run, **extra: Any) -> ModelCard:
    """Build the card with metadata for the Hub."""
    sections = {
        "": what_it_is(run),
        "Use": use(run),
        "Results": run.results.text or "Training is in progress; there are no scores yet.",
        "Limits": limits(run),
        "Data": data(run),
        "Training": training(run),
    }
    text = [f"## {title}\n\n{section}" if title else section for title, section in sections.items()]
    page = "\n\n".join([f"# {escaped(run.name.rpartition('/')[2])}", *text])
    return ModelCard(f"---\n{metadata(run, **extra).to_yaml()}\n---\n\n{page}\n")


def metadata(run: Run, tags: str | list[str] | None = None, **extra: Any) -> ModelCardData:
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
        **extra,
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
