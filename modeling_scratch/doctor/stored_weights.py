# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checks of what is stored: the weights and the config that the object holds, and what saving and loading keep."""

import contextlib
import copy
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from ..tasks import FILL, TRANSLATE, WRITE
from . import fresh_process as program
from .comparing import differing, named_tensors, require_close, run, tensors_in, values
from .findings import FallsShort, check, listed, only_if, require, tried
from .subject import CLASSIFIES, Subject

OF_LOADING = {"transformers_version", "_name_or_path", "architectures", "dtype", "torch_dtype"}
MOST_KEYS = 40  # that are dropped in turn
INITIALISED = (
    "Register every weight as a parameter or a buffer, initialise it in `_init_weights` by functions of torch.nn.init "
    "alone, which keep what was loaded, and end `__init__` with `post_init()`. Save the model itself, and not what "
    "torch.compile or DistributedDataParallel made of it, and compute nothing from weights in `__init__`."
)
REGISTERED = "Register the config and each class with its Auto class, or name all of them in config.auto_map."


@check("Hand **kwargs to `super().__init__`, keep arguments under their own names, and copy lists.", link="46620")
def config_fields(subject: Subject) -> None:
    """No field of the config changes when it is saved or a model is made."""
    config = copy.deepcopy(subject.config)
    before = _fields(config)
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):  # of fields that are required
        new, other = (vars(type(config)()) for _ in range(2))
        shared = [name for name, each in new.items() if isinstance(each, list | dict) and each is other.get(name)]
        require(not shared, f"All new configs share one {listed(shared)}: a change of one changes the others.")
    with saved(config) as folder:
        loaded = type(config).from_pretrained(folder)
    model: Any = subject.model
    with contextlib.suppress(Exception), torch.device("meta"):  # if it cannot be made, `round_trip` tells
        model = type(subject.model)(config)
    states = {"After loading, fields of config.json differ": loaded}
    states["Making the model changes its config, at each loading anew"] = config
    for when, other in states.items():
        after = _fields(other)
        names = [name for name in sorted(before) if before[name] != after.get(name)]
        changes = [f"{name} was {before[name]!r:.40} and is {after.get(name)!r:.40}" for name in names[:3]]
        require(not names, f"{when}: {'; '.join(changes)}.")
    made, held = ({(name, each.shape) for name, each in named_tensors(one).items()} for one in (model, subject.model))
    others = {name for name, _ in made ^ held}
    what = "Made anew of its config, it has other weights: making it has changed the config, or does not read it"
    require(not others, f"{what} ({listed(others)}).")


def _fields(config: Any) -> dict[str, Any]:
    """Return all fields as JSON has them, those of attributes, too."""
    plain = bool | int | float | str | None
    attributes = {name: value for name, value in vars(config).items() if name[0] != "_" and isinstance(value, plain)}
    found = json.loads(json.dumps({**attributes, **config.to_dict()}, default=str))
    return {name: value for name, value in found.items() if name not in OF_LOADING}


@check("Use nn.ModuleList, nn.ModuleDict or nn.ParameterList, or register the tensor.")
def registered(subject: Subject) -> None:
    """Every tensor is a parameter or a buffer.

    The optimizer, the file and the device know only those that the module lists.
    """
    models: dict[str, nn.Module] = {"": subject.model}
    with contextlib.suppress(Exception):  # `round_trip` tells
        models[" of a loaded model"], _ = load(subject, subject.model)
    for when, model in models.items():
        known = {id(each) for each in (*model.parameters(), *model.buffers())}
        found = [
            f"{type(module).__name__}.{name}"
            for module in model.modules()
            for name, value in vars(module).items()
            if name not in ("_parameters", "_buffers", "_modules")
            if any(id(tensor) not in known for tensor in tensors_in(value))
        ]
        what = f"Neither parameters() nor buffers() lists {listed(found)}{when}"
        require(not found, f"{what}: it is not trained, saved or moved with the model.")


@check(
    "Make each layer anew: `nn.ModuleList(Layer(config) for _ in range(n))`. Weights that are not finite need a "
    "smaller learning rate, or training without float16, and the file has to be made again."
)
def own_weights(subject: Subject) -> None:
    """Each layer has weights of its own, and all are finite."""
    named = dict(subject.model.named_parameters())
    found = [name for name, each in named.items() if not each.isfinite().all()]
    require(not found, f"{len(found)} weights are NaN or infinite: {listed(found)}.")
    for name, module in subject.model.named_modules():
        if isinstance(module, nn.ModuleList):
            count = len({id(each) for each in module})
            require(count == len(module), f"The {len(module)} entries of {name} are {count} module.")
    seen: dict[Any, str] = {}
    for name, weight in named.items():
        tensor = weight.detach()
        rows = tensor.flatten(0, -2) if tensor.ndim > 1 and weight.requires_grad else tensor[:0]
        if not subject.folder and (rows != rows[:1]).any():  # else it is a constant, or a table such as Mamba's
            twin = seen.setdefault((tensor.shape, *tensor.flatten()[:8].tolist(), float(tensor.sum())), name)
            require(twin == name, f"{name} and {twin} are two weights that begin with equal values.")


@contextlib.contextmanager
def saved(part: Any) -> Iterator[Path]:
    """Save a model as Trainer does, or a config, into a folder that is deleted afterwards."""
    given = {"state_dict": part.state_dict()} if isinstance(part, PreTrainedModel) else {}
    with tempfile.TemporaryDirectory() as folder:
        part.save_pretrained(folder, **given)
        yield Path(folder)


def load(subject: Subject, source: Any, **options: Any) -> tuple[PreTrainedModel, dict[str, set[str]]]:
    """Load a folder, or what a model saves, by the subject's class. Return the missing and the unexpected keys, too."""
    if isinstance(source, PreTrainedModel):
        with saved(source) as folder:
            return load(subject, folder, **options)
    torch.manual_seed(1)
    mode = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("warn")  # what nobody initialises is NaN, and not what was in the memory
    try:
        made: Any = type(subject.model).from_pretrained(source, output_loading_info=True, **options)
    finally:
        torch.set_deterministic_debug_mode(mode)
    model, info = made
    return model.eval(), {what: set(info[what.replace(" ", "_")]) for what in ("missing keys", "unexpected keys")}


def _check_equal(found: dict[str, Tensor], wanted: dict[str, Tensor], where: str) -> None:
    names = differing(found, wanted)
    require(not names, f"{where}, {len(names)} tensors are not as they were: {listed(names)}.")


@check("Declare `_tied_weights_keys = {tied: source}`.", link="41038")
def ties(subject: Subject) -> None:
    """Tied weights stay tied."""
    declared, model = getattr(subject.model, "_tied_weights_keys", None), subject.redrawn
    pairs, embeddings = _shared_names(model), (model.get_input_embeddings(), model.get_output_embeddings())
    table, output = (getattr(each, "weight", None) for each in embeddings)
    if getattr(subject.text_config, "tie_word_embeddings", False) and None not in (table, output):
        is_one = table is output or table.shape != output.shape
        require(is_one, "config.tie_word_embeddings is true, but input and output embeddings are two weights.")
    only_if(declared or pairs, "No weights are tied.")
    is_table = declared is None or isinstance(declared, dict)
    require(is_table, "_tied_weights_keys is a list; transformers 5 takes {tied: source}.")
    again = _shared_names(load(subject, model)[0])
    lost = [" and ".join(sorted(group)) for group in pairs if not any(group <= other for other in again)]
    require(not lost, f"Tied weights are two after loading: {listed(lost)}.")


def _shared_names(model: nn.Module) -> list[set[str]]:
    """Return the groups of names that are one parameter."""
    groups: dict[int, set[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), set()).add(name)
    return [group for group in groups.values() if len(group) > 1]


@check(INITIALISED, link="46620")
def round_trip(subject: Subject) -> None:
    """A saved model loads as it was, bit for bit; a folder's file has every weight, and no other."""
    model, batch = subject.redrawn, subject.batch()
    before = {name: tensor.clone() for name, tensor in named_tensors(model).items()}
    # No file says with which attention to compute.
    loaded, report = load(subject, model, attn_implementation=model.config._attn_implementation)
    for each in [report] + ([load(subject, subject.folder)[1]] if subject.folder else []):
        for what, names in each.items():
            require(not names, f"The file loads with {len(names)} {what}: {listed(names)}.")
    _check_equal(named_tensors(model), before, "After saving")
    _check_equal(named_tensors(loaded), before, "After loading")
    subject.same("In a loaded model", values(run(loaded, batch)), batch, tolerance=1e-6)
    with tried("Made without memory, as large models are, `__init__`"), torch.device("meta"):
        type(subject.model)(copy.deepcopy(subject.config))


@check("Set base_model_prefix to the name of the attribute that holds the base model.")
def base_weights(subject: Subject) -> None:
    """A head loads the file of its base."""
    parts = [(name, part) for name, part in subject.redrawn.named_children() if isinstance(part, PreTrainedModel)]
    only_if(len(parts) == 1, "The model has no part that is a base model.")
    ((name, base),) = parts
    _, report = load(subject, base)
    lost = [key for key in report["missing keys"] if key.startswith(f"{name}.")]
    what = f"From the file of {type(base).__name__}, {len(lost)} of its weights are not read"
    prefix = subject.model.base_model_prefix
    require(not lost, f"{what}: base_model_prefix is {prefix!r}, and the base is self.{name}.")


@check("Register the class, and compute buffers that are not saved in `forward`.", link="24737")
def fresh_process(subject: Subject) -> None:
    """A fresh process, which has imported nothing, loads the same tensors."""
    model_class = type(subject.model)
    module, name = model_class.__module__, model_class.__qualname__
    file = Path(str(inspect.getsourcefile(model_class))).resolve()
    root = str(file.parents[module.count(".") + (file.name == "__init__.py")])  # in which Python finds the module
    with saved(subject.redrawn) as folder:
        if subject.trusts_code and subject.auto_map:
            module, name, root = "transformers", (*subject.makers, "AutoModel")[0], ""
        only_if("<locals>" not in name and module != "__main__", "No other process can import the class.")
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        source = Path(program.__file__).read_text(encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", source, str(folder), module, name], timeout=120, cwd="/", text=True,
            env=os.environ | {"PYTHONPATH": path}, capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise FallsShort(f"It cannot be loaded there: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        _check_equal(load_file(folder / program.FILE), named_tensors(subject.redrawn), "There")


@check("Initialise in `_init_weights`, by functions of torch.nn.init, which keep what was loaded.", link="46620")
def missing_keys(subject: Subject) -> None:
    """A key that is missing is reported, and changes no other.

    Drop each key of the file in turn, one of those that differ only in numbers. Some are converted: the file's names
    can differ from those of the model.
    """
    wanted = named_tensors(subject.redrawn)
    with saved(subject.redrawn) as folder:
        path = folder / "model.safetensors"
        only_if(path.is_file(), "The weights are in several files.")
        stored = load_file(path)
        kinds = {re.sub(r"\d+", "*", name): name for name in reversed(stored)}
        for name in list(kinds.values())[:MOST_KEYS]:
            save_file({key: tensor for key, tensor in stored.items() if key != name}, path, {"format": "pt"})
            try:
                loaded, report = load(subject, folder)
            except Exception:  # an error reports it, too
                continue
            found, missing, without = named_tensors(loaded), report["missing keys"], f"Without {name} in the file"
            lost = wanted.keys() & differing(found, wanted)
            require(missing or not lost, f"{without}, loading does not say that it is missing.")
            is_finite = all(found[key].isfinite().all() for key in missing & found.keys())
            require(is_finite, f"{without}, it is not initialised.")
            shared = {wanted[key].data_ptr() for key in missing & wanted.keys()}
            others = [key for key in lost - missing if wanted[key].data_ptr() not in shared]
            require(not others, f"{without}, others are not as they were saved: {listed(others)}.")


@check(REGISTERED, link="15224")
def auto_classes(subject: Subject) -> None:
    """`AutoModel` and the Auto class of the head load it."""
    with saved(subject.redrawn) as folder:
        auto_map = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("auto_map", {})
        is_known = subject.config.model_type in transformers.CONFIG_MAPPING
        require(auto_map or is_known, "No Auto class loads it: its config is not registered, and it has no auto_map.")
        named = {name for name in auto_map if hasattr(transformers, name)} - {"AutoTokenizer"}
        for name in sorted({"AutoConfig", "AutoModel"} | named):
            with tried(f"{name}.from_pretrained"):
                getattr(transformers, name).from_pretrained(folder, trust_remote_code=subject.trusts_code)


@check("Define `get_input_embeddings` and `get_output_embeddings`, and read config.vocab_size.")
def resized_embeddings(subject: Subject) -> None:
    """The vocabulary can grow, and the model with it is saved."""
    model = copy.deepcopy(subject.redrawn)
    table: Any = model.get_input_embeddings()
    number, size = len(table.weight), len(table.weight) + 3
    what = f"get_input_embeddings returns a table of {number} rows; the vocabulary has {subject.vocab_size} tokens."
    require(number >= subject.vocab_size, what)
    tied, after = _shared_names(model), f"After resize_token_embeddings({size})"
    model.resize_token_embeddings(size, mean_resizing=False)
    found = model.config.get_text_config().vocab_size
    require(found == size, f"{after}, config.vocab_size is {found}.")
    require(_shared_names(model) == tied, f"{after}, weights that were tied are two, or two are one.")
    batch, wanted = subject.batch(), subject.answers(subject.batch())
    answers = values(run(model, subject.labelled(batch)))
    is_wider = subject.head in (FILL, WRITE, TRANSLATE)
    require(not is_wider or answers.shape[-1] == size, f"{after}, there are {answers.shape[-1]} logits.")
    what = f"{after}, the answers to earlier tokens differ by {{}}."
    require_close(answers[..., : wanted.shape[-1]], wanted, what)
    batch["input_ids"][0, 1] = size - 1
    run(model, subject.labelled(batch))
    with tried(f"{after}, loading what was saved"):
        load(subject, model)


@check("Read config.num_labels where the head is made, and initialise it in `_init_weights`.", CLASSIFIES)
def resized_head(subject: Subject) -> None:
    """The head can be replaced by one of another size."""
    labels, before = subject.config.num_labels + 2, named_tensors(subject.redrawn)
    loaded, _ = load(subject, subject.redrawn, num_labels=labels, ignore_mismatched_sizes=True)
    answer = values(run(loaded, subject.batch()))
    require(answer.shape[-1] == labels, f"With num_labels={labels} there are {answer.shape[-1]} logits.")
    for name, tensor in named_tensors(loaded).items():
        if tensor.shape != before[name].shape:
            require(tensor.isfinite().all() and tensor.abs().max() < 10, f"{name} is not initialised.")
            require(tensor.ndim < 2 or tensor.std() > 0, f"{name} is constant.")
