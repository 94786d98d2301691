# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program on a card that loads the model of a run and asks it."""

import json
import shlex

from ..data.text_pairs import TextPair, of_parts, parts_of
from ..utils.markdown import as_python
from .card_run import Run

LONGEST_QUESTION = 40  # characters of the example input; short, as the model's limit may be small
OURS = "seq2seq", "extractive"  # the starts of pipelines that this package registers, or the model brings along


def use(run: Run) -> str:
    """Return the program of a pipeline, with the model's own code if it has any, and the command that verifies it."""
    text, trust, name = _example(run), _trust(run), as_python(run.name)
    options = [f"{option}={as_python(value)}" for option, value in run.use.options.items()]
    arguments = ", ".join([as_python(run.use.pipeline), f"model={name}", *options, *trust])
    asked = run.use.given.format(text=as_python(text), tokenizer="pipe.tokenizer")
    if isinstance(text, TextPair):
        asked = json.dumps(dict(zip(run.use.fields, text.parts)), ensure_ascii=False)
    lines = ["from transformers import pipeline", "", f"pipe = pipeline({arguments})", f"print(pipe({asked}))"]
    if run.use.pipeline.startswith(OURS) and not trust:
        lines[1:1] = ["", "import modeling_scratch  # registers the pipeline"]
    with_code = ", with the model's own code" if trust else ""
    program = "\n".join(["```python", *lines, "```"])
    page = f"In a pipeline{with_code}; {name} is the path of this folder or its name on the Hub:\n\n{program}"
    if not trust:
        return page
    return (
        f"{page}\n\nWith modeling-scratch installed, `import modeling_scratch` registers the classes in place of "
        "`trust_remote_code=True`, and this compares the files and the answers of a copy with those recorded after "
        f"training:\n\n```bash\nmodeling-scratch doctor {shlex.quote(run.name)} --checks recorded_files "
        "recorded_answers\n```"
    )


def _trust(run: Run) -> list[str]:
    return ["trust_remote_code=True"] if "auto_map" in run.config else []


def _example(run: Run) -> str:
    """Return an input of a few words."""
    texts = [_first_words(text) for text in parts_of(run.results.example)]
    return texts[0].split(" ")[0] if run.use.is_prompt else of_parts(texts)


def _first_words(text: str) -> str:
    """Return the whole words within LONGEST_QUESTION characters, or a piece of the first word."""
    start = text[: LONGEST_QUESTION + 1]
    words, space, _ = start.rpartition(" ")
    return (words if space and len(text) > LONGEST_QUESTION else start[:LONGEST_QUESTION]).rstrip()
