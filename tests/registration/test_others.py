# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What importing the package changes of other libraries: registrations, and rows of two tables, which can be undone."""

from fresh_process import run_fresh

PROGRAM = """
import peft.utils.constants
from torch import nn
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

CLASSES = nn.Module, nn.Linear, nn.Dropout, PreTrainedModel, PreTrainedConfig, GenerationMixin, transformers.BertModel

def tables():
    found = {name: dict(table) for name, table in vars(peft.utils.constants).items() if name.endswith("_MAPPING")}
    return {**found, "causal classes": dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)}

def added(before):
    return {name: sorted(table.keys() - before[name].keys()) for name, table in tables().items()}

def imported(where):
    methods, before = [dict(vars(each)) for each in CLASSES], tables()
    for name in HIDDEN:
        del sys.modules[name]
    import modeling_scratch
    assert [dict(vars(each)) for each in CLASSES] == methods
    with_rows = added(before)
    modeling_scratch.fast.disable()
    modeling_scratch.ScratchDecoderConfig()
    without = added(before)
    modeling_scratch.fast.enable()
    return with_rows, without, added(before)
"""


def test_importing_adds_rows_to_two_tables_that_disabling_takes_out() -> None:
    ((with_rows, without, again),) = run_fresh(PROGRAM, [("there", "imported")])
    assert with_rows.pop("causal classes") == ["scratch_decoder"]
    types = ["scratch_decoder", "scratch_encoder", "scratch_seq2seq"]
    assert with_rows["TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING"] == types
    assert {tuple(rows) for rows in with_rows.values()} <= {(), tuple(types)}
    assert not any(without.values())
    assert again.pop("causal classes") == ["scratch_decoder"]
    assert again == with_rows
