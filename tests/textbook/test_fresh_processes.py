# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Folders in fresh processes, by their own code alone: every Auto class opens them, and saves them.

There, a folder refuses a transformers older than its code was tested with.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from fresh_process import home, run_fresh
from hub_server import hub_of_this_process
from model_cases import CASES, CAUSAL_LM, MASKED_LM, SEQ2SEQ_LM, TEXTS, Case, names_of_auto_classes
from safetensors.torch import load_file
from toy_text import REVIEWS, toy_tokenizer
from transformers import Trainer, TrainingArguments, __version__

import modeling_scratch as scratch

COMMON: dict[str, Case] = {"run/checkpoint-1": TEXTS, "half": CAUSAL_LM, "untied_seq2seq": SEQ2SEQ_LM}
OTHERS: dict[str, Case] = {
    **{case.model_class.__name__: case for case in CASES}, "untied_encoder": MASKED_LM, "own_class": TEXTS,
}  # fmt: skip

MATRIX = """
from safetensors.torch import load_file

def bare(weights):
    return {name.removeprefix("model."): value for name, value in weights.items()}

def load(auto_class, folder, **kwargs):
    return getattr(transformers, auto_class).from_pretrained(folder, trust_remote_code=True, **kwargs)

def open_folder(where, folder):
    assert transformers.AutoTokenizer.from_pretrained(folder)("a good film").input_ids[0] == 2
    config = load("AutoConfig", folder)
    weights = {}
    for file in Path(folder).glob("*.safetensors"):
        weights |= bare(load_file(file))
    names = [name for name in config.auto_map if name != "AutoConfig" and hasattr(transformers, name)]
    return {name: look(name, folder, weights) for name in names}

def look(auto_class, folder, weights):
    model, info = load(auto_class, folder, output_loading_info=True)
    with torch.device("meta"):
        empty = getattr(transformers, auto_class).from_config(load("AutoConfig", folder), trust_remote_code=True)
    assert all(parameter.is_meta for parameter in empty.parameters()) and not model.training
    values = bare(model.state_dict())
    assert all(value.isfinite().all() for value in values.values())
    assert empty.state_dict().keys() == model.state_dict().keys() and not info["mismatched_keys"]
    assert not info["error_msgs"]
    return {
        "class": f"{type(model).__module__}.{type(model).__name__}", "missing": sorted(info["missing_keys"]),
        "equal": sorted(name for name in values.keys() & weights.keys() if values[name].equal(weights[name])),
    }
"""


class OwnClass(scratch.ScratchEncoderForSequenceClassification):
    """What a user makes of a class: its folder is one of the family all the same."""


def train(folder: Path) -> None:
    """One step of Trainer, which leaves folder/checkpoint-1, a classifier."""
    ids = toy_tokenizer()([text for text, _ in REVIEWS], padding=True)
    arguments = TrainingArguments(str(folder), max_steps=1, save_steps=1, use_cpu=True, disable_tqdm=True)
    data = Dataset.from_dict({**ids, "labels": [label for _, label in REVIEWS]})
    Trainer(TEXTS.model(), arguments, train_dataset=data, processing_class=toy_tokenizer()).train()


def settings_of(name: str) -> dict[str, Any]:
    return {"tie_word_embeddings": False} if name.startswith("untied") else {}


def write(name: str, case: Case, top: Path) -> None:
    model = OwnClass(case.config()) if name == "own_class" else case.model(**settings_of(name))
    if name.endswith("checkpoint-1"):
        train((top / name).parent)
    else:
        sizes = {"max_shard_size": "4KB"} if name == "half" else {}
        (model.bfloat16() if name == "half" else model).save_pretrained(top / name, **sizes)
    toy_tokenizer().save_pretrained(top / name)


@pytest.mark.parametrize("folders", [COMMON, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["common", "others"])
def test_every_auto_class_opens_every_folder(folders: dict[str, Case], tmp_path: Path) -> None:
    """All weights that the reader shares with the folder, bit for bit; the rest, and no other, is reported missing."""
    for name, case in folders.items():
        write(name, case, tmp_path)
    found = run_fresh(MATRIX, [("there", "open_folder", str(tmp_path / name)) for name in folders])
    for (name, case), answers in zip(folders.items(), found, strict=True):
        auto_classes = names_of_auto_classes(case.model_class)
        assert answers.keys() == auto_classes.keys()
        files = (tmp_path / name).glob("*.safetensors")  # names in a base model and in a head differ by a prefix
        saved = {weight.removeprefix("model.") for file in files for weight in load_file(file)}
        for auto_class, answer in answers.items():
            module, _, class_name = answer["class"].rpartition(".")
            assert class_name == auto_classes[auto_class]
            assert module.startswith("transformers_modules.")
            reader = getattr(scratch, class_name)(case.config(**settings_of(name)))
            bare = {weight.removeprefix("model."): weight for weight in reader.state_dict()}
            assert set(answer["equal"]) == bare.keys() & saved
            missing = {weight for short, weight in bare.items() if short not in saved}
            assert set(answer["missing"]) == missing - reader.all_tied_weights_keys.keys()


SAVE = """
def save_again(where, source, folder):
    transformers.AutoModelForSeq2SeqLM.from_pretrained(source, trust_remote_code=True).save_pretrained(folder)
"""


def test_a_pushed_model_saved_again_without_the_package_is_the_same(tmp_path: Path) -> None:
    """All of the code goes along, and refers to no repository that it was loaded from."""
    token, commit = "hf_" + "t" * 34, 40 * "a"
    with hub_of_this_process(token, tmp_path / "home") as server:
        SEQ2SEQ_LM.model().save_pretrained(tmp_path / "first", push_to_hub=True, repo_id="user/7a-v1.5")
        pushed = server.files("user/7a-v1.5", "main")
    assert "modeling_seq2seq.py" in pushed

    repository = Path(home()) / "hub" / "models--user--7a-v1.5"  # as the cache of the Hub holds it
    snapshot = repository / "snapshots" / commit
    files = {repository / "refs" / "main": commit.encode(), **{snapshot / name: each for name, each in pushed.items()}}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    run_fresh(SAVE, [("there", "save_again", "user/7a-v1.5", str(tmp_path / "second"))])
    again = {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    assert {name: pushed[name] for name in again} == again
    assert {name for name in pushed if name.endswith(".py")} <= again.keys()


OPEN = """
def opened(where, folder):
    messages = []
    for auto_class in (transformers.AutoConfig, transformers.AutoModelForSequenceClassification):
        try:
            auto_class.from_pretrained(folder, trust_remote_code=True)
        except ImportError as error:
            messages.append(str(error))
    return messages
"""


def test_an_older_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    TEXTS.model().save_pretrained(tmp_path)
    path = tmp_path / "configuration_scratch.py"
    code, count = re.subn(r"transformers>=[\d.]+", "transformers>=98.0", path.read_text(encoding="utf-8"))
    assert count == 1
    path.write_text(code, encoding="utf-8")
    (messages,) = run_fresh(OPEN, [("there", "opened", str(tmp_path))])
    assert len(messages) == 2  # the config and the model
    for message in messages:
        assert message.startswith("transformers>=98.0 is required")
        assert f"transformers=={__version__}" in message
