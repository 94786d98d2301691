# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A folder that is not trusted runs nothing of another repository; the import replaces nothing of other libraries."""

import json
from pathlib import Path
from typing import Any

import pytest
from fresh_process import run_fresh
from model_cases import CAUSAL_LM, SEQ2SEQ_LM, TEXTS, Case
from native_models import NATIVES
from transformers import AutoConfig, AutoModel, AutoTokenizer

from modeling_scratch import load_pretrained
from modeling_scratch.sharing.model_files import all_files, named_code

STRANGER = "stranger/kernel"
KERNELS = [
    ("attn_implementation", STRANGER), ("attn_implementation", f"paged|{STRANGER}"), ("_attn_implementation", STRANGER),
    ("attn_implementation", f"{STRANGER}@main:attend"), ("attn_implementation", {"": STRANGER}),
]  # fmt: skip


def saved(case: Case, folder: Path) -> Path:
    case.model().save_pretrained(folder)
    return folder


def changed(folder: Path, **fields: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    return folder


@pytest.mark.parametrize("case", [TEXTS, CAUSAL_LM, SEQ2SEQ_LM], ids=["texts", "causal_lm", "seq2seq_lm"])
@pytest.mark.parametrize(("field", "value"), KERNELS)
def test_a_kernel_of_a_stranger_is_refused_by_name(case: Case, field: str, value: Any, tmp_path: Path) -> None:
    folder = changed(saved(case, tmp_path), **{field: value})
    for load in AutoConfig, AutoModel, case.model_class:
        with pytest.raises(ValueError, match=f"{field}=.*{STRANGER}.*another repository"):
            load.from_pretrained(folder)
    assert [name for name in named_code(folder, all_files(folder)) if name.endswith(f"--{field}")]


def test_a_native_folder_is_refused_alike_and_an_argument_replaces_what_it_names(tmp_path: Path) -> None:
    NATIVES[0].model_class(NATIVES[0].config()).save_pretrained(tmp_path / "native")
    folder = changed(tmp_path / "native", attn_implementation=STRANGER)
    with pytest.raises(ValueError, match=STRANGER):
        load_pretrained(folder)
    ours = changed(saved(TEXTS, tmp_path / "ours"), attn_implementation=STRANGER)
    for load, each in ((load_pretrained, folder), (TEXTS.model_class.from_pretrained, ours)):
        assert load(each, attn_implementation="eager").config._attn_implementation == "eager"


# Other fields of config.json that can name a place, as a stranger would write them: nothing is fetched.
@pytest.mark.parametrize(
    "fields",
    [
        {"_name_or_path": "stranger/model"}, {"name_or_path": "stranger/model"}, {"use_kernels": True},
        {"_attn_implementation_internal": STRANGER}, {"kernel_config": {"RMSNorm": f"{STRANGER}:Norm"}},
        {"tokenizer_class": "stranger.Tokenizer"}, {"auto_map": {"AutoModel": "stranger/model--code.Model"}},
    ],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_other_names_of_places_have_no_effect(fields: dict[str, Any], tmp_path: Path) -> None:
    model = AutoModel.from_pretrained(changed(saved(TEXTS, tmp_path), **fields), trust_remote_code=False)
    assert type(model).__module__.startswith("modeling_scratch")
    assert model.config._attn_implementation == "sdpa"


def test_the_code_of_a_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = saved(TEXTS, tmp_path)
    stranger = {"tokenizer_class": "Words", "auto_map": {"AutoTokenizer": ["stranger/model--code.Words", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(stranger))
    with pytest.raises(ValueError, match="trust_remote_code"):
        AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


# The import: it adds tasks of pipelines, and rows to tables of two libraries, which can be undone

PROGRAM = """
import gradio.pipelines, gradio.pipelines_utils, peft.utils.constants
import transformers.generation, transformers.modeling_utils
from torch import nn
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.pipelines import PIPELINE_REGISTRY

PLACES = [
    nn.Module, nn.Linear, nn.Dropout, transformers, transformers.pipelines, transformers.generation,
    transformers.modeling_utils, transformers.PreTrainedModel, transformers.PreTrainedConfig,
    transformers.GenerationMixin, transformers.BertModel, transformers.Pipeline, gradio, gradio.pipelines,
    gradio.pipelines_utils, gradio.Interface,
]

def named():
    seen = {(str(place), name): value for place in PLACES for name, value in list(vars(place).items())}
    tasks = {("task", name): task["impl"] for name, task in PIPELINE_REGISTRY.supported_tasks.items()}
    return {name: value for name, value in seen.items() if callable(value)} | tasks

def tables():
    found = {name: dict(table) for name, table in vars(peft.utils.constants).items() if name.endswith("_MAPPING")}
    return {**found, "causal classes": dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)}

def added(before):
    return {name: sorted(table.keys() - before[name].keys()) for name, table in tables().items()}

def imported(where):
    before, rows = named(), tables()
    for name in HIDDEN:
        del sys.modules[name]
    import modeling_scratch
    after, found = named(), [added(rows)]
    replaced = [" ".join(name) for name, value in before.items() if after.get(name) is not value]
    for change in modeling_scratch.fast.disable, modeling_scratch.fast.enable:
        change()
        modeling_scratch.ScratchDecoderConfig()
        found.append(added(rows))
    return len(before), replaced, [name for place, name in after.keys() - before.keys() if place == "task"], found
"""


def test_the_import_replaces_nothing_of_other_libraries() -> None:
    ((seen, replaced, tasks, (added, disabled, enabled)),) = run_fresh(PROGRAM, [("there", "imported")])
    assert seen > 300
    assert replaced == []
    assert "seq2seq-translation" in tasks
    types = ["scratch_decoder", "scratch_encoder", "scratch_seq2seq"]
    assert added["TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING"] == types
    assert added["causal classes"] == types[:1]
    assert {tuple(rows) for rows in added.values()} <= {(), tuple(types), tuple(types[:1])}
    assert not any(disabled.values())
    assert enabled == added
