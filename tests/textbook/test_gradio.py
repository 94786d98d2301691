# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Gradio makes an interface of a pipeline by the library's own class, so that the import must not replace it."""

from fresh_process import run_fresh

# Every class and function of the libraries by its name, and the tasks of pipelines.
SNAPSHOT = """
def snapshot():
    import gradio.pipelines, gradio.pipelines_utils, transformers, transformers.generation, transformers.modeling_utils
    from transformers.pipelines import PIPELINE_REGISTRY
    places = [transformers, transformers.pipelines, transformers.generation, transformers.modeling_utils, gradio]
    places += [gradio.pipelines, gradio.pipelines_utils, gradio.Interface, transformers.PreTrainedModel]
    places.append(transformers.Pipeline)
    seen = {(str(place), name): value for place in places for name, value in list(vars(place).items())}
    tasks = {name: task["impl"] for name, task in PIPELINE_REGISTRY.supported_tasks.items()}
    return {name: value for name, value in seen.items() if callable(value)}, tasks

def changed(where):
    import importlib, sys
    before, tasks = snapshot()
    for name in HIDDEN:
        del sys.modules[name]
    importlib.import_module(HIDDEN[0])
    after, more = snapshot()
    others = [" ".join(name) for name, value in before.items() if after.get(name) is not value]
    others += [name for name in tasks if more[name] is not tasks[name]]
    return len(before), others, [*more.keys() - tasks.keys()]
"""


def test_the_import_replaces_nothing_of_gradio_and_transformers() -> None:
    """It only adds tasks."""
    ((seen, replaced, added),) = run_fresh(SNAPSHOT, [("there", "changed")])
    assert seen > 300
    assert replaced == []
    assert "seq2seq-translation" in added
