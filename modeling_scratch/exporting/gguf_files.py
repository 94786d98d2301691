# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""GGUF files of decoders for llama.cpp, written by its library gguf.

llama.cpp has its own code for each family and each rule that splits texts, so a model is written only if a native
Llama or GPT-2 holds it and its tokenizer splits texts as GPT-2's does.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..bridges.conversion import export_model
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..utils.errors import CheckpointError, DataError
from .llama_cpp import compare

PRE_TOKENIZER = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
TRANSPOSED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")  # of GPT-2: x W


def export_gguf(model: Any, tokenizer: Any, folder: Path) -> list[str]:
    """Write model.gguf and compare it. Raises `DataError` for what llama.cpp cannot hold. Returns lines that say it."""
    if not isinstance(model, ScratchDecoderForCausalLM):
        raise DataError(f"--format gguf: only for decoders that write, not for {type(model).__name__}")
    merges = _merges(tokenizer)
    try:
        native = export_model(model)
    except CheckpointError as error:
        raise DataError(f"--format gguf: {error}") from error
    path = folder / "model.gguf"
    _write(path, native, tokenizer, merges)
    difference = compare(model, tokenizer, path)
    return [f"{path.name}: {difference:.1e} from PyTorch, {path.stat().st_size / 1e6:.2f} MB"]


def _merges(tokenizer: Any) -> list[str]:
    """Return the merges of a byte-level BPE. Raises `DataError` where llama.cpp would split a text in another way."""
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    bpe, splitter = rules["model"], rules["pre_tokenizer"] or {}
    if bpe["type"] != "BPE" or {name: splitter.get(name) for name in PRE_TOKENIZER} != PRE_TOKENIZER:
        found = f"{bpe['type']} after {splitter.get('type', 'no pre-tokenizer')}"
        raise DataError(
            f"--format gguf: llama.cpp has no pre-tokenizer for this tokenizer ({found}); what is exported: byte-level "
            "BPE with GPT-2's rule, as train-tokenizer --tokenizer_kind byte_bpe makes it"
        )
    if rules["normalizer"] is not None:
        raise DataError("--format gguf: llama.cpp does not normalise texts; train the tokenizer without")
    return [pair if isinstance(pair, str) else " ".join(pair) for pair in bpe["merges"]]


def _add_sizes(writer: Any, config: Any) -> None:
    """Write what llama.cpp reads of a native config. Raises `DataError` for settings that llama.cpp fixes."""
    if config.model_type not in SIZES:
        raise DataError(f"--format gguf: {config.model_type} is not written; what is: {', '.join(SIZES)}")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    SIZES[config.model_type](writer, config)


def _add_sizes_of_llama(writer: Any, config: Any) -> None:
    rope = config.rope_parameters
    _require(config.hidden_act == "silu", "activation", config.hidden_act)
    _require(rope["rope_type"] == "default", "rope_type", rope["rope_type"])
    share = rope.get("partial_rotary_factor", 1)
    _require(share == 1, "partial_rotary_factor", share)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)


def _add_sizes_of_gpt2(writer: Any, config: Any) -> None:
    activation = config.activation_function
    _require(activation in ("gelu_new", "gelu_pytorch_tanh"), "activation", activation)
    writer.add_feed_forward_length(config.n_inner or 4 * config.hidden_size)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)


SIZES = {"llama": _add_sizes_of_llama, "gpt2": _add_sizes_of_gpt2}


def _require(holds: bool, name: str, value: Any) -> None:
    if not holds:
        raise DataError(f"--format gguf: llama.cpp has no {name} {value!r} for this family")


def _add_vocabulary(writer: Any, tokenizer: Any, rows: int) -> None:
    """Write the tokens of an embedding table of so many rows, and the ids of special ones."""
    from gguf import TokenType

    tokens = {number: token for token, number in tokenizer.get_vocab().items()}
    special = set(tokenizer.all_special_ids)
    kinds = [
        TokenType.UNUSED if n not in tokens else TokenType.CONTROL if n in special else TokenType.NORMAL
        for n in range(rows)
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([tokens.get(number, f"[unused{number}]") for number in range(rows)])
    writer.add_token_types(kinds)
    for name in ("bos", "eos", "pad", "unk"):
        if (number := getattr(tokenizer, f"{name}_token_id")) is not None:
            getattr(writer, f"add_{name}_token_id")(number)


def _add_start_and_end(writer: Any, tokenizer: Any) -> None:
    """Write whether each text starts with BOS and ends with EOS. Raises `DataError` for other added tokens."""
    added = tokenizer("")["input_ids"]
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    if added not in ([], [bos], [eos], [bos, eos]):
        raise DataError("--format gguf: llama.cpp adds no other tokens to a text than one at its start and its end")
    writer.add_add_bos_token(bos is not None and bos in added[:1])
    writer.add_add_eos_token(eos is not None and eos in added[-1:])


def _write(path: Path, native: Any, tokenizer: Any, merges: list[str]) -> None:
    """Write a native model's sizes, its tokenizer, and its weights in float32. Raises `DataError` before the file."""
    from gguf import GGUFWriter, LlamaFileType

    writer = GGUFWriter(path, native.config.model_type)
    writer.add_file_type(LlamaFileType.ALL_F32)
    _add_sizes(writer, native.config)
    _add_vocabulary(writer, tokenizer, native.config.vocab_size)
    _add_start_and_end(writer, tokenizer)
    writer.add_token_merges(merges)
    for name, tensor in _tensors(native):
        writer.add_tensor(name, np.ascontiguousarray(tensor.detach().float().numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(native: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the weights under llama.cpp's names, in its layout."""
    from gguf import MODEL_ARCH, get_tensor_name_map

    config = native.config
    is_llama = config.model_type == "llama"
    names = get_tensor_name_map(MODEL_ARCH.LLAMA if is_llama else MODEL_ARCH.GPT2, config.num_hidden_layers)
    for ours, tensor in native.state_dict().items():
        if ours == "lm_head.weight" and config.tie_word_embeddings:
            continue
        theirs = names.get_name(ours, try_suffixes=(".weight", ".bias"))
        if theirs is None:
            raise DataError(f"--format gguf: llama.cpp has no place for {ours}")
        if is_llama and ".q_proj." in ours:
            tensor = _interleaved(tensor, config.num_attention_heads)
        elif is_llama and ".k_proj." in ours:
            tensor = _interleaved(tensor, config.num_key_value_heads)
        yield theirs, tensor.T if not is_llama and ours.endswith(TRANSPOSED) else tensor


def _interleaved(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Rotary pairs (i, i + D/2) of each head's rows become (2i, 2i + 1)."""
    return tensor.unflatten(0, (heads, 2, -1)).transpose(1, 2).reshape(tensor.shape)
