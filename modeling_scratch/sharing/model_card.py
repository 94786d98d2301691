# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Model cards: description, use, results, limits, data and training of a run."""

import json
import math
import shlex
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from ..bridges.model_limits import NO_LIMIT
from ..data.text_pairs import column_names
from ..run.layout import CARD, CURVE, RECORD
from ..utils.errors import duration
from ..utils.files import text_digest, write_text
from ..utils.markdown import as_python, bullets, escaped, folded, table
from .card_run import Run
from .run_record import BEFORE

SIZES = {  # of config.json
    "num_hidden_layers": "layers",
    "decoder_layers": "decoder layers",
    "hidden_size": "hidden size",
    "num_attention_heads": "heads",
    "vocab_size": "vocabulary size",
}

# The settings of run_config.json that are told.
SETTINGS = (
    "objective", "max_length", "block_size", "separate_vocabularies", "learning_rate", "lr_scheduler_type",
    "warmup_steps", "per_device_train_batch_size", "gradient_accumulation_steps", "optim", "adam_beta1", "adam_beta2",
    "weight_decay", "max_grad_norm", "label_smoothing_factor", "class_weights", "ema_decay",
    "num_beams", "bf16", "fp16", "seed",
)  # fmt: skip
TEXT, PAIR = "This is an example.", ("What is this?", "This is an example.")
OURS = "seq2seq", "extractive"  # the starts of pipelines that this package registers, or the model brings along


def what_it_is(run: Run) -> str:
    labels = ", ".join(map(escaped, run.record.get("labels", ())))
    source, target = map(escaped, run.record.get("columns", ("", "")))
    purpose = run.card.purpose.format(labels=labels, source=source, target=target)
    sizes = "; ".join(f"{name}: {run.config[key]:,}" for key, name in SIZES.items() if run.config.get(key))
    origin = "Trained from scratch"
    if name := run.record["model"]["model_name_or_path"]:
        origin = f"Fine-tuned from {escaped(Path(name).name or name)}"
    if run.base_model:
        origin = f"Fine-tuned from [{escaped(run.base_model)}](https://huggingface.co/{run.base_model})"
    architecture = ", ".join(escaped(one) for one in run.config["architectures"])
    return f"{purpose}\n\n{origin}: {architecture}, {run.count_parameters():,} parameters ({sizes})."


def use(run: Run) -> str:
    """Return the program of a pipeline, with the model's own code if it has any, and how to verify a copy."""
    name, trust = as_python(run.name), ["trust_remote_code=True"] if "auto_map" in run.config else []
    options = [f"{option}={as_python(value)}" for option, value in run.use.options.items()]
    arguments = ", ".join([as_python(run.use.pipeline), f"model={name}", *options, *trust])
    asked = run.use.given.format(text=as_python(TEXT), tokenizer="pipe.tokenizer")
    if "question" in run.use.fields or len(column_names(run.record["data"].get("text_column"))) == 2:
        asked = json.dumps(dict(zip(run.use.fields, PAIR)))
    lines = ["from transformers import pipeline", "", f"pipe = pipeline({arguments})", f"print(pipe({asked}))"]
    if run.use.pipeline.startswith(OURS) and not trust:
        lines[1:1] = ["", "import modeling_scratch  # registers the pipeline"]
    program = "\n".join(["```python", *lines, "```"])
    with_code = ", with the model's own code" if trust else ""
    text = f"In a pipeline{with_code}; {name} is the path of this folder or its name on the Hub:\n\n{program}"
    if not trust:
        return text
    return (
        f"{text}\n\nWith modeling-scratch installed, `import modeling_scratch` registers the classes in place of "
        "`trust_remote_code=True`, and this compares the files of a copy with those recorded after training:\n\n"
        f"```bash\nmodeling-scratch doctor {shlex.quote(run.name)} --checks recorded_files\n```"
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
    rows = [[key, settings[key]] for key in SETTINGS if settings.get(key) not in (None, "None", "", False)]
    if run.state:
        rows = [["steps", f"{run.state['global_step']:,}"], ["epochs", f"{run.state['epoch']:.4g}"], *rows]
    if seconds := [entry["train_runtime"] for entry in run.state.get("log_history", ()) if "train_runtime" in entry]:
        since = ", since the last resumption" if BEFORE in run.record else ""
        rows.append(["time, including evaluations", duration(seconds[-1]) + since])
    versions = ", ".join(f"{name} {number}" for name, number in run.record["environment"].items())
    rows += [["hardware", run.record["hardware"]], ["versions", versions]]
    picture = [f"![Learning curve]({CURVE})"] if run.evaluation else []
    return "\n\n".join([*picture, table(["", ""], rows), f"All settings are in [{RECORD}]({RECORD})."])


def limits(run: Run) -> str:
    splits = " and ".join(dict.fromkeys(metric.split for metric in run.metrics))
    lines = [f"The scores apply to the {splits} split of {escaped(run.data_name)} only."] if splits else []
    lines += run.card.limits
    if len(columns := column_names(run.record["data"].get("text_column"))) == 2:
        names = " and ".join(map(escaped, columns))
        lines.append(f"It reads pairs of texts, in this order: {names} (column names of the training data).")
    if run.card.reads:
        lines.append(run.card.reads)
    elif (length := run.tokenizer.get("model_max_length", NO_LIMIT)) < NO_LIMIT:
        lines.append(f"It reads at most {length:,} tokens per text.")
    lines.append("It may reproduce errors and biases of its training texts.")
    return bullets(lines)


MARK = "\n<!-- Made of the run by modeling-scratch; once you edit it, it stays as it is. "


def write_card(folder: Path, name: str | None = None, **extra: Any) -> bool:
    """Write the model card of a run. Return False, without writing, if the existing card was edited.

    name: the model's on the Hub, if not the folder's. extra: metadata that the run does not record, such as license and
    language.
    """
    path = folder / CARD
    if path.is_file():
        text, mark, digest = path.read_text(encoding="utf-8").rpartition(MARK)
        if not mark or digest != f"{text_digest(text)} -->\n":
            return False
    text = str(make_card(Run.read(folder, name), **extra))
    write_text(path, f"{text}{MARK}{text_digest(text)} -->\n")
    return True


def make_card(run: Run, **extra: Any) -> ModelCard:
    """Build the card with metadata for the Hub."""
    sections = {
        "": what_it_is(run),
        "Use": use(run),
        "Results": run.results or ("" if run.evaluation else "Training is in progress; there are no scores yet."),
        "Limits": limits(run),
        "Data": data(run),
        "Training": training(run),
    }
    text = [f"## {title}\n\n{section}" if title else section for title, section in sections.items() if section]
    page = "\n\n".join([f"# {escaped(run.name.rpartition('/')[2])}", *text])
    return ModelCard(f"---\n{metadata(run, **extra).to_yaml()}\n---\n\n{page}\n")


def metadata(run: Run, tags: str | list[str] | None = None, **extra: Any) -> ModelCardData:
    metrics = [metric for metric in run.metrics if math.isfinite(metric.value)]
    more = [tags] if isinstance(tags, str) else tags or []
    dataset, config = run.dataset or ("local", None)
    of_data: Any = {"dataset_type": dataset, "dataset_name": run.data_name, "dataset_config": config}
    of_data["task_type"] = run.use.tag or "text2text-generation"
    results = [
        EvalResult(metric_type=metric, metric_value=value, metric_name=name, dataset_split=split, **of_data)
        for metric, value, name, split in metrics
    ]
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=run.use.tag,
        tags=["modeling-scratch", run.config["model_type"], *more],
        base_model=run.base_model,
        datasets=[run.dataset[0]] if run.dataset else None,
        metrics=list(dict.fromkeys(metric.id for metric in metrics)) or None,
        model_name=run.name.rpartition("/")[2] if metrics else None,
        eval_results=results or None,
        **extra,
    )
