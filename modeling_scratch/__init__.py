# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""From-scratch Transformers that Hugging Face loads, trains, serves and shares. Importing registers them."""

import transformers
from transformers.pipelines import PIPELINE_REGISTRY

from . import presets
from .configuration_scratch import ScratchConfig, ScratchDecoderConfig, ScratchEncoderConfig, ScratchSeq2SeqConfig
from .conversion import (
    convert_config,
    convert_state_dict,
    export_config,
    export_pretrained,
    export_state_dict,
    load_pretrained,
)
from .modeling_decoder import ScratchDecoderForCausalLM, ScratchDecoderForSequenceClassification, ScratchDecoderModel
from .modeling_encoder import (
    ScratchEncoderForMaskedLM,
    ScratchEncoderForQuestionAnswering,
    ScratchEncoderForSequenceClassification,
    ScratchEncoderForTokenClassification,
    ScratchEncoderModel,
)
from .modeling_seq2seq import ScratchSeq2SeqForConditionalGeneration, ScratchSeq2SeqModel
from .text_classification import SortingTextClassificationPipeline

__version__ = "0.1.0"

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
    "export_config",
    "export_pretrained",
    "export_state_dict",
    "load_pretrained",
    "presets",
]

for _config_class, _base_class in (
    (ScratchEncoderConfig, ScratchEncoderModel),
    (ScratchDecoderConfig, ScratchDecoderModel),
    (ScratchSeq2SeqConfig, ScratchSeq2SeqModel),
):
    transformers.AutoConfig.register(_config_class.model_type, _config_class, exist_ok=True)
    for _auto_class, _name in _base_class.auto_classes.items():
        if hasattr(transformers, _auto_class):  # older versions lack some
            getattr(transformers, _auto_class).register(_config_class, globals()[_name], exist_ok=True)
    for _task, (_pipeline, _auto_class) in _base_class.pipelines.items():
        if _task not in PIPELINE_REGISTRY.supported_tasks:
            PIPELINE_REGISTRY.register_pipeline(_task, _pipeline, pt_model=getattr(transformers, _auto_class))

# Lists of texts in a better order, for these models alone; a pipeline of the user's own stays.
_classification = PIPELINE_REGISTRY.supported_tasks["text-classification"]
if "transformers.pipelines.text_classification.TextClassificationPipeline" in str(_classification["impl"]):
    _classification["impl"] = SortingTextClassificationPipeline
