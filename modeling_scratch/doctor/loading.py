# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of saving and loading: what comes back, in this process and in a fresh one."""

import copy
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel

from ..tasks import FILL, TRANSLATE, WRITE
from .findings import FallsShort, check, listed, only_if, require, tried
from .fresh_process import digests, tensors
from .subject import CLASSIFIES, Subject, distance, require_close, run, values

MOST_KEYS = 40  # that are dropped in turn
FRESH = Path(__file__).with_name("fresh_process.py")
SECONDS = 120


@contextmanager
def saved(model: PreTrainedModel) -> Iterator[Path]:
    """Save a model into a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        yield Path(folder)


@check(
    "Register every weight as a parameter or a buffer, initialise it in `_init_weights` by functions of torch.nn.init "
    "alone, and end `__init__` with `post_init()`.", link="46620",
)  # fmt: skip
def round_trip(subject: Subject) -> None:
    """A saved model loads as it was, bit for bit."""
    before = digests(subject.redrawn)
    with saved(subject.redrawn) as folder:
        loaded, report = load(subject, folder)
        for what, names in report.items():
            require(not names, f"A saved model loads with {what}: {listed(names)}.")
        differing = _differing(digests(subject.redrawn), before)
        require(not differing, f"Saving changes {len(differing)} tensors of the model: {listed(differing)}.")
        differing = _differing(digests(loaded), before)
        require(not differing, f"{len(differing)} tensors are not as they were saved: {listed(differing)}.")


@check("Set base_model_prefix to the name of the attribute that holds the base model.")
def base_weights(subject: Subject) -> None:
    """A head loads the file of its base."""
    parts = [(name, part) for name, part in subject.redrawn.named_children() if isinstance(part, PreTrainedModel)]
    only_if(len(parts) == 1, "The model has no part that is a base model.")
    ((name, base),) = parts
    with saved(base) as folder:
        _, report = load(subject, folder)
    lost = [key for key in report["missing keys"] if key.startswith(f"{name}.")]
    what = f"From the file of {type(base).__name__}, {len(lost)} of its weights are not read"
    prefix = subject.model.base_model_prefix
    require(not lost, f"{what}: base_model_prefix is {prefix!r}, and the base is self.{name}.")


@check("Register the class, and compute buffers that are not saved in `forward`.", link="24737")
def fresh_process(subject: Subject) -> None:
    """A fresh process loads the same tensors.

    In a process that has imported nothing, as another machine would load it.
    """
    model_class = type(subject.model)
    is_local = "<locals>" in model_class.__qualname__ or model_class.__module__ == "__main__"
    with saved(subject.redrawn) as folder:
        by_code = subject.trusts_code and bool(subject.auto_map)  # which saving sets for a registered class
        only_if(by_code or not is_local, "No other process can import the class.")
        name = None if by_code else [model_class.__module__, model_class.__qualname__]
        places = [] if by_code else [_root_of(model_class)]
        path = os.pathsep.join(filter(None, [*places, os.environ.get("PYTHONPATH")]))
        job = json.dumps({"folder": str(folder), "class": name})
        done = subprocess.run(
            [sys.executable, "-c", FRESH.read_text(encoding="utf-8"), job], timeout=SECONDS, cwd="/",
            env=os.environ | {"PYTHONPATH": path}, capture_output=True, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        if done.returncode:
            raise FallsShort(f"It cannot be loaded there: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        found = json.loads(done.stdout.splitlines()[-1])
    differing = _differing(found, digests(subject.redrawn))
    require(not differing, f"{len(differing)} tensors differ there: {listed(differing)}.")


def _root_of(model_class: type) -> str:
    """Return the folder in which Python finds the module of a class."""
    file = Path(str(inspect.getsourcefile(model_class))).resolve()
    return str(file.parents[model_class.__module__.count(".") + (file.name == "__init__.py")])


@check("Initialise in `_init_weights`, by functions of torch.nn.init, which keep what was loaded.", link="46620")
def missing_keys(subject: Subject) -> None:
    """A key that is missing is reported, and changes no other.

    Drop each key of the file in turn, one of those that differ only in numbers.
    """
    model = subject.redrawn
    with saved(model) as folder:
        path = folder / "model.safetensors"
        only_if(path.is_file(), "The weights are in several files.")
        stored = load_file(path)
        kinds: dict[str, str] = {}
        for name in stored:
            kinds.setdefault(re.sub(r"\d+", "*", name), name)
        for name in list(kinds.values())[:MOST_KEYS]:
            save_file({key: tensor for key, tensor in stored.items() if key != name}, path, {"format": "pt"})
            _check_without(subject, folder, name)


def _check_without(subject: Subject, folder: Path, name: str) -> None:
    """name: of the file, which can differ from that of the model, as some names are converted."""
    try:
        loaded, report = load(subject, folder)
    except Exception:  # an error reports it, too
        return
    found, wanted, missing = tensors(loaded), tensors(subject.redrawn), report["missing keys"]
    lost = wanted.keys() & _differing(digests(loaded), digests(subject.redrawn))
    require(missing or not lost, f"Without {name} in the file, loading does not say that it is missing.")
    is_finite = all(found[key].isfinite().all() for key in missing & found.keys())
    require(is_finite, f"Without {name} in the file, it is not initialised.")
    shared = {wanted[key].data_ptr() for key in missing & wanted.keys()}
    others = [key for key in lost if key not in missing and wanted[key].data_ptr() not in shared]
    require(not others, f"Without {name} in the file, others are not as they were saved: {listed(others)}.")


@check("Register the config and each class with its Auto class, or name all of them in config.auto_map.", link="15224")
def auto_classes(subject: Subject) -> None:
    """The Auto classes load it.

    `AutoModel` and the Auto class of the head load the folder of a head.
    """
    with saved(subject.redrawn) as folder:
        auto_map = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("auto_map", {})
        is_known = subject.config.model_type in transformers.CONFIG_MAPPING
        require(auto_map or is_known, "No Auto class loads it: its config is not registered, and it has no auto_map.")
        named = {name for name in auto_map if hasattr(transformers, name)} - {"AutoTokenizer"}
        for name in sorted({"AutoConfig", "AutoModel"} | named):
            with tried(f"{name}.from_pretrained"):
                getattr(transformers, name).from_pretrained(folder, trust_remote_code=subject.trusts_code)


@check("Declare `_tied_weights_keys = {tied: source}`.", link="41038")
def ties(subject: Subject) -> None:
    """Tied weights stay tied."""
    declared = getattr(subject.model, "_tied_weights_keys", None)
    model = copy.deepcopy(subject.redrawn)
    pairs = _shared_names(model)
    _check_said(subject)
    only_if(declared or pairs, "No weights are tied.")
    is_table = declared is None or isinstance(declared, dict)
    require(is_table, "_tied_weights_keys is a list; transformers 5 takes {tied: source}.")
    with saved(model) as first:
        loaded, _ = load(subject, first)
        again = _shared_names(loaded)
        lost = [" and ".join(sorted(group)) for group in pairs if not any(group <= other for other in again)]
        require(not lost, f"Tied weights are two after loading: {listed(lost)}.")
        with saved(loaded) as second:
            files = [(folder / "model.safetensors") for folder in (first, second)]
            only_if(all(file.is_file() for file in files), "The weights are in several files.")
            require(files[0].read_bytes() == files[1].read_bytes(), "Saved, loaded and saved again, the file differs.")


def _check_said(subject: Subject) -> None:
    """Check that a config that says so ties the embeddings of inputs and outputs."""
    model, config = subject.redrawn, subject.config.get_text_config()
    inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()
    tables = [getattr(each, "weight", None) for each in (inputs, outputs)]
    if getattr(config, "tie_word_embeddings", False) and None not in tables and tables[0].shape == tables[1].shape:
        require(
            tables[0] is tables[1],
            "config.tie_word_embeddings is true, but input and output embeddings are two weights.",
        )


def _shared_names(model: nn.Module) -> list[set[str]]:
    """Return the groups of names that are one parameter."""
    groups: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), set()).add(name)
    return [group for group in groups.values() if len(group) > 1]


@check("Create buffers in `_init_weights`, too, and compute nothing from weights in `__init__`.")
def meta_device(subject: Subject) -> None:
    """It can be made without memory and then loaded.

    A model that was made without memory, as large ones are, computes as the saved one.
    """
    with torch.device("meta"):
        type(subject.model)(copy.deepcopy(subject.config))
    with saved(subject.redrawn) as folder:  # no file says with which attention to compute
        loaded, _ = load(subject, folder, attn_implementation=subject.redrawn.config._attn_implementation)
    on_meta = [name for name, tensor in tensors(loaded).items() if tensor.is_meta]
    require(not on_meta, f"After loading, tensors are still on the meta device: {listed(on_meta)}.")
    apart = distance(values(run(loaded, subject.batch())), subject.answers(subject.batch()))
    require(apart < 1e-6, f"A loaded model answers {apart:.2g} away from the saved one.")


@check("Define `get_input_embeddings` and `get_output_embeddings`, and read config.vocab_size.")
def resized_embeddings(subject: Subject) -> None:
    """The vocabulary can grow."""
    model = copy.deepcopy(subject.redrawn)
    table: Any = model.get_input_embeddings()
    rows, size = len(table.weight), len(table.weight) + 3
    what = f"get_input_embeddings returns a table of {rows} rows; the vocabulary has {subject.vocab_size} tokens."
    require(rows >= subject.vocab_size, what)
    tied = _shared_names(model)
    model.resize_token_embeddings(size, mean_resizing=False)
    found = model.config.get_text_config().vocab_size
    after = f"After resize_token_embeddings({size})"
    require(found == size, f"{after}, config.vocab_size is {found}.")
    require(_shared_names(model) == tied, f"{after}, weights that were tied are two, or two are one.")
    batch, width = subject.batch(), subject.answers(subject.batch()).shape[-1]
    found = values(run(model, {**batch, **subject.labels(batch)}))
    is_wider = subject.head in (FILL, WRITE, TRANSLATE)
    require(not is_wider or found.shape[-1] == size, f"{after}, there are {found.shape[-1]} logits.")
    require_close(found[..., :width], subject.answers(batch), f"{after}, the answers to earlier tokens differ by {{}}.")
    batch["input_ids"][0, 1] = size - 1
    run(model, {**batch, **subject.labels(batch)})


@check("Read config.num_labels where the head is made, and initialise it in `_init_weights`.", CLASSIFIES)
def resized_head(subject: Subject) -> None:
    """The head can be replaced by one of another size."""
    labels = subject.config.num_labels + 2
    with saved(subject.redrawn) as folder:
        loaded, _ = load(subject, folder, num_labels=labels, ignore_mismatched_sizes=True)
    answer = values(run(loaded, subject.batch()))
    require(answer.shape[-1] == labels, f"With num_labels={labels} there are {answer.shape[-1]} logits.")
    before = tensors(subject.redrawn)
    for name, tensor in tensors(loaded).items():
        if tensor.shape == before[name].shape:
            continue
        require(tensor.isfinite().all() and tensor.abs().max() < 10, f"{name} is not initialised.")
        require(tensor.ndim < 2 or tensor.std() > 0, f"{name} is constant.")


def load(subject: Subject, folder: Path, **options: Any) -> tuple[PreTrainedModel, dict[str, set[str]]]:
    """Load by the model's own class. Return what loading reports: missing, unexpected and mismatched keys."""
    torch.manual_seed(1)
    mode = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("warn")  # what nobody initialises is NaN, and not what was in the memory
    try:
        made: Any = type(subject.model).from_pretrained(folder, output_loading_info=True, **options)
    finally:
        torch.set_deterministic_debug_mode(mode)
    model, info = made
    kinds = {"missing keys": "missing_keys", "unexpected keys": "unexpected_keys"}
    return model.eval(), {what: set(info[key]) for what, key in kinds.items()}


def _differing(found: dict[str, str], wanted: dict[str, str]) -> set[str]:
    """Return the names of tensors whose digests are not equal."""
    return {name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)}
