# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""From-scratch Transformers that Hugging Face loads, trains, serves and shares. Importing registers them.

>>> import torch
>>> from modeling_scratch import ScratchDecoderForCausalLM, ScratchEncoderForSequenceClassification, presets
>>> ids = torch.tensor([[5, 6, 7]])
>>> sizes = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
>>> classifier = ScratchEncoderForSequenceClassification(presets.bert(**sizes, num_labels=3))
>>> classifier(ids).logits.shape
torch.Size([1, 3])
>>> writer = ScratchDecoderForCausalLM(presets.llama(**sizes, num_key_value_heads=2, pad_token_id=0)).eval()
>>> writer.generate(ids, min_new_tokens=4, max_new_tokens=4, do_sample=False).shape
torch.Size([1, 7])
"""

import os
from typing import Any

import transformers
from transformers.pipelines import PIPELINE_REGISTRY

from . import configuration_scratch as configuration_scratch  # first: it refuses versions that are too old
from . import fast, presets
from .bridges.conversion import (
    convert_config,
    convert_state_dict,
    export_config,
    export_pretrained,
    export_state_dict,
    load_pretrained,
)
from .configuration_scratch import ScratchConfig, ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig
from .fast import textbook
from .modeling_decoder import ScratchDecoderForCausalLM, ScratchDecoderForSequenceClassification
from .modeling_encoder import (
    ScratchEncoderForMaskedLM,
    ScratchEncoderForQuestionAnswering,
    ScratchEncoderForSequenceClassification,
    ScratchEncoderForTokenClassification,
)
from .modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration, ScratchSeq2SeqModel
from .registration.configs import PIPELINES, from_dict, post_init
from .stack import ScratchDecoderModel, ScratchEncoderModel

__version__ = "0.2.0"

__all__ = [
    "ScratchConfig",
    "ScratchDecoderConfig",
    "ScratchDecoderForCausalLM",
    "ScratchDecoderForSequenceClassification",
    "ScratchDecoderModel",
    "ScratchEncoderConfig",
    "ScratchEncoderForMaskedLM",
    "ScratchEncoderForQuestionAnswering",
    "ScratchEncoderForSequenceClassification",
    "ScratchEncoderForTokenClassification",
    "ScratchEncoderModel",
    "ScratchSeq2SeqConfig",
    "ScratchSeq2SeqForConditionalGeneration",
    "ScratchSeq2SeqModel",
    "convert_config",
    "convert_state_dict",
    "explain",
    "export_config",
    "export_pretrained",
    "export_state_dict",
    "fast",
    "load_pretrained",
    "presets",
    "textbook",
]

for _config_class in (ScratchEncoderConfig, ScratchDecoderConfig, ScratchSeq2SeqConfig):
    transformers.AutoConfig.register(_config_class.model_type, _config_class, exist_ok=True)
    for _auto_class, _reference in _config_class.auto_classes.items():
        if hasattr(transformers, _auto_class):  # older versions lack some
            _model_class = globals()[_reference.partition(".")[2]]
            getattr(transformers, _auto_class).register(_config_class, _model_class, exist_ok=True)

for _task, (_pipeline, _auto_class) in PIPELINES.items():
    if _task not in PIPELINE_REGISTRY.supported_tasks:
        PIPELINE_REGISTRY.register_pipeline(_task, _pipeline, pt_model=getattr(transformers, _auto_class))

ScratchConfig.from_dict = classmethod(from_dict)  # type: ignore[method-assign, assignment]
ScratchConfig.__post_init__ = post_init  # type: ignore[method-assign, assignment]
fast.enable()
if os.environ.get("MODELING_SCRATCH_TEXTBOOK") == "1":  # of `modeling-scratch NAME --textbook`
    _for_the_whole_process = textbook()
    _for_the_whole_process.__enter__()


def __getattr__(name: str) -> Any:
    """Import `explain` when it is asked for: nothing else needs it."""
    if name != "explain":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .inspection.explanation import explain

    return explain
