# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The files of a Hub Space that shows a model: app.py, requirements.txt and README.md.

The app needs Gradio, PyTorch and Transformers, and not this package: a saved model brings its own code along. The model
is that of a repository on the Hub, or files of the Space.
"""

import platform
from html import escape
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

from huggingface_hub import SpaceCardData
from transformers import AutoConfig

from ..data.text_pairs import pair_columns
from ..run.layout import CARD
from ..tasks import action_of, named
from ..tasks.page import FONTS, LONGEST, MOST_WAITING, Component, Space, boxes_of, label_of
from ..utils.errors import DataError
from ..utils.markdown import escaped
from .card_summary import Summary, read_summary
from .model_files import model_files, named_code

APP, REQUIREMENTS, MODEL_FOLDER = "app.py", "requirements.txt", "model"
PINNED = ("gradio", "torch", "transformers", "tokenizers", "safetensors", "numpy")

TEMPLATE = Path(__file__).with_name("space_app.txt")  # of app.py
IMPORTS = "import gradio as gr\nfrom transformers import pipeline\n"
BESIDE = f'str(Path(__file__).with_name("{MODEL_FOLDER}"))'


def space_files(folder: Path, repo_id: str | None, revision: str | None = None) -> dict[str, str]:
    """Return the names and the texts of the files that make a Space of a model.

    repo_id, revision: of the model on the Hub; without, it is in `MODEL_FOLDER` of the Space. Raises `DataError` for a
    model without a head that answers texts.
    """
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    action, card, columns = action_of(config), read_summary(str(folder), is_public=True), pair_columns(str(folder))
    if action is None:
        raise DataError(f"--space: {folder} has no head that answers texts; train one first")
    _check_code_is_own(folder)
    task = named(action)
    page = task.page.space_of(task, config, bool(columns))
    versions = {name: version(name).partition("+")[0] for name in PINNED}  # builds such as +cpu are not on PyPI
    return {
        APP: app(action, page, card, _model(config, repo_id, revision), columns),
        REQUIREMENTS: "".join(f"{name}=={number}\n" for name, number in versions.items()),
        CARD: readme(card, repo_id, versions["gradio"]),
    }


def _check_code_is_own(folder: Path) -> None:
    """Raise `DataError` for code of another repository: the app would run what its owner writes there later."""
    foreign = [name for name in named_code(folder, model_files(folder)) if "--" in name]
    if foreign:
        raise DataError(f"--space: the model runs code of another repository ({foreign[0]}); copy it into {folder}")


def _model(config: Any, repo_id: str | None, revision: str | None) -> str:
    """Return the arguments of the pipeline that name the model."""
    trusts = ", trust_remote_code=True" if getattr(config, "auto_map", None) else ""
    return (repr(repo_id) if repo_id else BESIDE) + (f", revision={revision!r}" if revision else "") + trusts


def app(action: str, page: Space, card: Summary, model: str, columns: tuple[str, ...]) -> str:
    """Return the text of app.py. columns: the names of a pair of texts, for the labels of their boxes."""
    boxes, settings = boxes_of(columns or page.fields), page.settings
    examples = [[*texts, *[None] * len(settings)] for texts in card.examples if len(texts) == len(boxes)]
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        imports=("from pathlib import Path\n\n" if model.startswith(BESIDE) else "") + IMPORTS,
        task=page.task,
        model=model,
        options=page.options,
        action=action,
        arguments=", ".join([*page.fields, *settings]),
        texts=", ".join(page.fields),
        answer=page.answer,
        inputs=",\n        ".join(map(_source, [*boxes, *settings.values()])),
        output=_source(page.output),
        title=repr(escape(card.title, quote=False)),  # Gradio puts it into HTML as it is
        description=repr(card.description or None),
        examples=repr(examples or None),
        button=label_of(action),
        longest=f"{LONGEST:_}",
        waiting=MOST_WAITING,
        fonts=FONTS,
    )


def _source(component: Component) -> str:
    """Return a component as Python code."""
    name, arguments = component
    return f"gr.{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def readme(card: Summary, repo_id: str | None, gradio: str) -> str:
    """Return the text of the Space's README.md, whose metadata configure it."""
    major, minor, _ = platform.python_version_tuple()
    data = SpaceCardData(
        title=card.title,
        sdk="gradio",
        sdk_version=gradio,
        python_version=f"{major}.{minor}",
        app_file=APP,
        models=[repo_id] if repo_id else None,
        tags=["modeling-scratch"],
    )
    return f"---\n{data.to_yaml()}\n---\n\n# {escaped(card.title)}\n\n{card.description}\n"
