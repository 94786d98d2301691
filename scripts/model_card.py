# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The model card of a run, README.md in its folder: made of what the other files there say, and of nothing else."""

import math
from hashlib import sha256
from pathlib import Path
from typing import Any

import card_sections
from card_run import Run
from card_text import escaped
from huggingface_hub import EvalResult, ModelCard, ModelCardData
from run_folder import write_text

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
