# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The base class of every scratch model, and a saved folder that loads anywhere."""

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel
from transformers.dynamic_module_utils import custom_object_save, get_relative_import_files

from .attention import Attention
from .configuration_scratch import ScratchConfig
from .embeddings import Inputs
from .engine import textbook_engine
from .heads import one_segment_a_row, pool, pooled_tokens
from .stack import Block

MaybeTensor = Tensor | None


class ScratchPreTrainedModel(PreTrainedModel):
    """Base class. Weights are drawn by Hugging Face's own rules: normal(0, initializer_range), biases 0, norms 1."""

    config: ScratchConfig
    base_model_prefix = "model"
    _input_embed_layer = "tokens"  # of model.embeddings
    supports_gradient_checkpointing = True
    _no_split_modules = ["Block", "ParallelBlock"]
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True
    _can_record_outputs = {"hidden_states": Block, "attentions": Attention}

    # What lies between a base model's inputs and its last hidden states; modeling_scratch.fast has another.
    engine: Callable[..., Tensor] = textbook_engine
    is_causal = False  # whether tokens see those before them only
    create_masks_for_generate = staticmethod(lambda attention_mask, **_: attention_mask)  # the engine makes masks of it
    # Task: pipeline and Auto class, for tasks that transformers has no pipeline for. Their code goes along, too.
    pipelines: Mapping[str, tuple[type, str]] = {}

    def post_init(self) -> None:
        """As PreTrainedModel's; the plan of tensor parallelism keeps only the layers that this model has."""
        super().post_init()
        names = {re.sub(r"\.\d+(?=\.|$)", ".*", name) for name, _ in self.named_modules()}
        if any(name.endswith("position_bias") for name in names):  # of all heads, so each process computes them all
            names = {name for name in names if ".attention." not in name}
        self._tp_plan = {name: way for name, way in (self._tp_plan or {}).items() if name in names}

    def is_asked_for(self, name: str, kwargs: Mapping[str, Any]) -> bool:
        """Whether this call, or the config where it does not say, asks for hidden states or attention weights."""
        return bool(kwargs.get(name, getattr(self.config, name)))

    def pooled(self, pooling: str, inputs: Inputs, mask: MaybeTensor, **kwargs: Any) -> tuple[Tensor, Any]:
        """One vector per text, (B, hidden) or one a segment (N, hidden), and what the base model gave for the inputs.

        mask (B, T): 1 at the tokens that count, None: all do.
        """
        lengths = inputs.segment_lengths()
        indices = pooled_tokens(inputs.shape, mask, lengths, pooling, inputs.device)
        outputs = self.model(
            input_ids=inputs.input_ids, attention_mask=inputs.attention_mask, position_ids=inputs.position_ids,
            inputs_embeds=inputs.inputs_embeds, token_type_ids=inputs.token_type_ids,
            token_indices=indices, return_dict=True, **kwargs,
        )  # fmt: skip
        hidden_states = outputs.last_hidden_state
        if lengths is not None and indices is not None:
            hidden_states, mask = hidden_states.flatten(0, 1).index_select(0, indices)[:, None], lengths[:, None] > 0
        elif lengths is not None:
            hidden_states, mask = one_segment_a_row(hidden_states, lengths, kwargs.get("max_length_q"))
        return pool(hidden_states, mask, pooling), outputs

    @classmethod
    def is_remote_code(cls) -> bool:
        return False  # wherever it was loaded from: save_pretrained brings the code along by itself

    def save_pretrained(self, save_directory: Any, is_main_process: bool = True, *args: Any, **kwargs: Any) -> None:
        """As PreTrainedModel's; the folder also holds the code, and loads with every Auto class of the family."""
        is_adapter = getattr(self, "_hf_peft_config_loaded", False)  # its base, which it names, has the code
        if is_main_process and not is_adapter:
            self.config.auto_map = {"AutoConfig": _reference(type(self.config)), **self.config.auto_classes}
            self.config.custom_pipelines = self._custom_pipelines()
            Path(save_directory).mkdir(parents=True, exist_ok=True)
            for cls in self._shipped():
                custom_object_save(cls, save_directory)
        super().save_pretrained(save_directory, is_main_process, *args, **kwargs)

    def _shipped(self) -> list[type]:
        """A class of each file of the family; what these files import goes along."""
        files = dict(reference.split(".") for reference in self.config.auto_classes.values())
        return [getattr(import_module(f".{file}", __package__), name) for file, name in files.items()]

    def _get_files_timestamps(self, working_dir: Any) -> dict[str, float]:
        """As PreTrainedModel's, which pushes what is newer; the code, saved before it looks, always goes along."""
        files = [sys.modules[cls.__module__].__file__ for cls in self._shipped()]
        code = {Path(path).name for file in files for path in (file, *get_relative_import_files(file))}
        return {name: time for name, time in super()._get_files_timestamps(working_dir).items() if name not in code}

    def _custom_pipelines(self) -> dict[str, Any]:
        """The pipelines that serve this head, and those a user has named; where no task is named, these are taken."""
        names = {cls.__name__ for cls in type(self).__mro__}
        of_others = {auto for auto, path in self.config.auto_classes.items() if path.partition(".")[2] not in names}
        named = getattr(self.config, "custom_pipelines", None) or {}
        kept = {task: entry for task, entry in named.items() if not of_others.issuperset(entry.get("pt") or [""])}
        ours = {task: {"impl": _reference(cls), "pt": [auto]} for task, (cls, auto) in self.pipelines.items()}
        return kept | ours


def _reference(cls: type) -> str:
    """ "file.Class", as configs name code."""
    return f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"
