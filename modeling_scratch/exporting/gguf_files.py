# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""GGUF files of decoders for llama.cpp, written by its library gguf and compared with PyTorch in llama.cpp itself.

llama.cpp has its own code for each family and each rule that splits texts, so a model is written only if a native
Llama or GPT-2 holds it and its tokenizer splits texts as GPT-2's does.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import torch

from ..bridges.conversion import export_model
from ..inference.text_generators import position_limit
from ..utils.errors import CheckpointError, DataError, one_line

MODULES = "gguf", "xllamacpp"
PRE_TOKENIZER = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
TRANSPOSED = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")  # of GPT-2: x W
TEXTS = "A", "The king's men, 12 of them,  came\n\nhome.", "Où est-il? 漢字 🙂"
NEW_TOKENS = 12
CONTEXT = 512
TOLERANCE = 1e-3  # of log probabilities; llama.cpp sums in another order


def export_gguf(model: Any, tokenizer: Any, folder: Path) -> list[str]:
    """Write model.gguf and compare it. Raises `DataError` for what llama.cpp cannot hold. Returns lines that say it."""
    if not type(model).__name__.endswith("ForCausalLM"):
        raise DataError(f"--format gguf: only for decoders that write, not for {type(model).__name__}")
    rules = _bpe(tokenizer)
    try:
        native = export_model(model)
    except CheckpointError as error:
        raise DataError(f"--format gguf: {error}") from error
    path = folder / "model.gguf"
    writer = _writer(native, path)
    _add_tokenizer(writer, tokenizer, rules, native.config.vocab_size)
    for name, tensor in _tensors(native):
        writer.add_tensor(name, np.ascontiguousarray(tensor.detach().float().numpy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    difference = compare(model, tokenizer, path)
    return [f"{path.name}: {difference:.1e} from PyTorch, {path.stat().st_size / 1e6:.2f} MB"]


def _bpe(tokenizer: Any) -> dict[str, Any]:
    """Return the BPE of a tokenizer. Raises `DataError` where llama.cpp would split a text in another way."""
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
    return bpe


def _writer(native: Any, path: Path) -> Any:
    """Return a writer with the sizes of a native model. Raises `DataError` for settings that llama.cpp fixes."""
    from gguf import GGUFWriter, LlamaFileType

    config, kind = native.config, native.config.model_type
    if kind not in ("llama", "gpt2"):
        raise DataError(f"--format gguf: {kind} is not written; what is: llama, gpt2")
    writer = GGUFWriter(path, kind)
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    if kind == "gpt2":
        _require(
            config.activation_function in ("gelu_new", "gelu_pytorch_tanh"), "activation", config.activation_function
        )
        writer.add_feed_forward_length(config.n_inner or 4 * config.hidden_size)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        return writer
    rope = config.rope_parameters
    _require(config.hidden_act == "silu", "activation", config.hidden_act)
    _require(
        rope["rope_type"] == "default" and rope.get("partial_rotary_factor", 1) == 1, "rope_type", rope["rope_type"]
    )
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    return writer


def _require(holds: bool, name: str, value: Any) -> None:
    if not holds:
        raise DataError(f"--format gguf: llama.cpp has no {name} {value!r} for this family")


def _add_tokenizer(writer: Any, tokenizer: Any, bpe: dict[str, Any], rows: int) -> None:
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
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in bpe["merges"]])
    for name in ("bos", "eos", "pad", "unk"):
        if (number := getattr(tokenizer, f"{name}_token_id")) is not None:
            getattr(writer, f"add_{name}_token_id")(number)
    added = tokenizer("")["input_ids"]
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    if added not in ([], [bos], [eos], [bos, eos]):
        raise DataError("--format gguf: llama.cpp adds no other tokens to a text than one at its start and its end")
    writer.add_add_bos_token(bos is not None and bos in added[:1])
    writer.add_add_eos_token(eos is not None and eos in added[-1:])


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


class LlamaCpp:
    """A file in llama.cpp, asked as its server is: the process serves it on a port of this machine."""

    def __init__(self, path: Path, threads: int | None = None) -> None:
        import xllamacpp

        options = xllamacpp.CommonParams()
        options.model.path, options.n_ctx, options.n_parallel, options.warmup = str(path), CONTEXT, 1, False
        options.cache_type_k = options.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        options.verbosity = -1
        if threads:
            options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
        self.server = xllamacpp.Server(options)

    def tokens(self, text: str) -> list[int]:
        return self._ask("tokenize", content=text, add_special=True, parse_special=False)["tokens"]

    def continued(self, ids: Sequence[int], count: int) -> list[int]:
        """Return `count` greedy tokens, or fewer if the text ends."""
        return self._ask("completion", prompt=list(ids), n_predict=count)["tokens"]

    def best(self, ids: Sequence[int]) -> tuple[int, float] | None:
        """Return the most likely next token with its log probability; None for a part of a character, or an end."""
        found = self._ask("completion", prompt=list(ids), n_predict=1, n_probs=1).get("completion_probabilities")
        return (found[0]["id"], found[0]["logprob"]) if found else None

    def _ask(self, route: str, **values: Any) -> dict[str, Any]:
        body = json.dumps({"temperature": 0, "return_tokens": True, **values}).encode()
        address = f"{self.server.listening_address}/{route}"
        with urlopen(Request(address, body, {"Content-Type": "application/json"}), timeout=600) as answer:
            return json.load(answer)


def compare(model: Any, tokenizer: Any, path: Path) -> float:
    """Return the largest difference of the log probabilities of greedy tokens. Raises `DataError` for other tokens."""
    try:
        runtime = LlamaCpp(path, 1)
    except Exception as error:  # of its own types
        raise DataError(f"{path.name}: llama.cpp cannot load it: {one_line(error)}") from error
    largest = 0.0
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        if (read := runtime.tokens(text)) != ids:
            raise DataError(
                f"{path.name}: llama.cpp reads {text!r} as tokens {read}, not {ids}: the export is rejected"
            )
        expected, scores = greedy(model, ids, NEW_TOKENS)
        if (found := runtime.continued(ids, NEW_TOKENS))[: len(expected)] != expected:
            raise DataError(
                f"{path.name}: llama.cpp continues {text!r} with {found}, not {expected}: the export is rejected"
            )
        bests = [runtime.best([*ids, *expected[:n]]) for n in range(len(expected))]
        largest = max(largest, *(abs(best[1] - score) for best, score in zip(bests, scores) if best), 0.0)
    if not largest <= TOLERANCE:
        raise DataError(f"{path.name}: log probabilities differ from PyTorch by {largest:.2g} (allowed: {TOLERANCE:g})")
    return largest


def greedy(model: Any, ids: Sequence[int], count: int) -> tuple[list[int], list[float]]:
    """Return at most `count` greedy tokens after a prompt, up to the end token, and their log probabilities."""
    end = model.generation_config.eos_token_id
    limit = position_limit(model.config) or len(ids) + count
    text, scores = list(ids), []
    with torch.no_grad():
        while len(text) < min(len(ids) + count, limit):
            best = model(torch.tensor([text]), use_cache=False).logits[0, -1].log_softmax(-1).max(-1)
            if int(best.indices) in (end if isinstance(end, list) else [end]):
                break
            text.append(int(best.indices))
            scores.append(float(best.values))
    return text[len(ids) :], scores
