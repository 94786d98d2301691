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
from ..tasks import action_of, named
from ..tasks.base import Space
from ..utils.errors import DataError
from ..utils.markdown import escaped
from .card_summary import Summary, read_summary
from .model_card import CARD_FILE
from .model_files import model_files, named_code

APP, REQUIREMENTS, MODEL_FOLDER = "app.py", "requirements.txt", "model"
PINNED = ("gradio", "torch", "transformers", "tokenizers", "safetensors", "numpy")

CODE = Template('''\
"""A page that asks a model. It needs gradio, torch and transformers. Made by modeling-scratch."""

$imports
LONGEST = 100_000  # characters of a text

pipe = pipeline("$task", model=$model$options)


def $action($arguments):
    for each in [$texts]:
        if not each.strip():
            raise gr.Error("the text is empty; write a text", print_exception=False)
        if len(each) > LONGEST:
            raise gr.Error(f"{len(each):,} characters; the maximum is {LONGEST:,}", print_exception=False)
    return $answer


page = gr.Interface(
    $action,
    inputs=[
        $inputs,
    ],
    outputs=$output,
    title=$title,
    description=$description,
    examples=$examples,
    cache_examples=False,
    submit_btn="$button",
    flagging_mode="never",
    analytics_enabled=False,
    api_name="$action",
)
page.queue(max_size=64)

if __name__ == "__main__":
    page.launch(theme=gr.themes.Default(font=("system-ui", "sans-serif")))
''')
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
    page = named(action).space_of(config, bool(columns))
    versions = {name: version(name).partition("+")[0] for name in PINNED}  # builds such as +cpu are not on PyPI
    return {
        APP: app(action, page, card, _model(config, repo_id, revision), columns),
        REQUIREMENTS: "".join(f"{name}=={number}\n" for name, number in versions.items()),
        CARD_FILE: readme(card, repo_id, versions["gradio"]),
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
    names = [name.replace("_", " ").capitalize() for name in columns or page.fields]
    boxes = [f"gr.Textbox(label={name!r}, lines=5)" for name in names]
    examples = [[*texts, *[None] * len(page.settings)] for texts in card.examples if len(texts) == len(boxes)]
    return CODE.substitute(
        imports=("from pathlib import Path\n\n" if model.startswith(BESIDE) else "") + IMPORTS,
        task=page.task,
        model=model,
        options=page.options,
        action=action,
        arguments=", ".join([*page.fields, *(name for name, _ in page.settings)]),
        texts=", ".join(page.fields),
        answer=page.answer,
        inputs=",\n        ".join([*boxes, *(component for _, component in page.settings)]),
        output=page.output,
        title=repr(escape(card.title, quote=False)),  # Gradio puts it into HTML as it is
        description=repr(card.description or None),
        examples=repr(examples or None),
        button=action.capitalize(),
    )


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
