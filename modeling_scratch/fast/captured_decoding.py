# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Greedy search and sampling by captured steps: on a CUDA device, the forward pass of a token is one graph.

The graph reads and writes tensors that stay in place: a static cache, its mask, the positions. A model keeps its last
graph, and later calls of about the same size replay it.

Shapes: B texts, T tokens of a prompt, S the room of the cache, V vocabulary.
"""

import weakref
from collections import defaultdict
from collections.abc import Hashable
from functools import partial
from threading import RLock
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, LogitsProcessorList, StaticCache, StoppingCriteriaList
from transformers.generation import GenerationMode, PrefixConstrainedLogitsProcessor

from .beam_search import end_tokens
from .captured import CaptureError, Replayed
from .hooks import OUR_PACKAGE, has_foreign_hooks, is_compiled, is_dense, is_transformed, parts

LEAST_TOKENS = 32  # with fewer new ones, the first call takes longer than it saves
ROOM = 64  # S is a multiple of it
UNSEEN_ENDS = 8  # greedy search looks only so often whether all texts have ended, as each look waits for the device
SHARE = 0.1  # of the free memory, for the static cache, which is kept
GRAPHED = "torch", "transformers", OUR_PACKAGE  # no adapters or quantised layers, which have switches of their own
MODES = GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE
# Settings that are read between two tokens, and the arguments that are no settings; others go to the model each time.
BETWEEN = "max_time", "stop_strings", "is_assistant"
ARGUMENTS = {
    "inputs", "input_ids", "attention_mask", "generation_config", "logits_processor", "prefix_allowed_tokens_fn",
    "negative_prompt_ids", "negative_prompt_attention_mask", "synced_gpus",
}  # fmt: skip
SETTINGS = bool, int, float, str, FunctionType, BuiltinFunctionType  # attributes of modules that a graph has inside

# Of a device, as no other thread may draw random numbers during a capture. Processors of logits may generate, too.
_locks: defaultdict[torch.device, RLock] = defaultdict(RLock)
kept: weakref.WeakKeyDictionary[nn.Module, "Decoder"] = weakref.WeakKeyDictionary()  # of the last call of a model


def forget() -> None:
    """Free what models keep. No other thread may be in a capture, which a graph that is freed would end."""
    for model, decoder in list(kept.items()):
        with _locks[decoder.mask.device]:
            kept.pop(model, None)


def decodes_captured(model: Any, config: GenerationConfig, prompt: Any, kwargs: dict[str, Any]) -> bool:
    """Whether captured steps support this plain call of generate (see is_plain_call), and pay."""
    if model.device.type != "cuda" or getattr(prompt, "device", None) != model.device or prompt.ndim != 2:
        return False
    settings, length = config.to_dict(), prompt.shape[1]
    others = kwargs.keys() - settings.keys() - ARGUMENTS
    if any(kwargs[name] is not None for name in others) or any(settings.get(name) for name in BETWEEN):
        return False
    if config.get_generation_mode() not in MODES or config.use_cache is False:
        return False
    if config.compile_config or config.cache_implementation not in (None, "static"):
        return False
    if torch.is_autocast_enabled("cuda") or is_transformed(prompt):  # a graph would cast all weights for each token
        return False
    longest = length + config.max_new_tokens if config.max_new_tokens else config.max_length or 0
    if not length + LEAST_TOKENS <= longest <= model.config.max_position_embeddings:
        return False  # past the last position, the plain way raises an error and a graph cannot
    needed = _cache_bytes(model, len(prompt) * (config.num_return_sequences or 1) * longest)
    return _has_plain_weights(model) and needed < SHARE * _free_bytes(model)


def _has_plain_weights(model: Any) -> bool:
    """Whether a graph computes what the model does: full attention, nobody looks inside, no adapters, one device."""
    config, modules, device = model.config, parts(model), model.device
    if model.training or config.is_encoder_decoder or config._attn_implementation not in ("eager", "sdpa"):
        return False
    known = all(kind.__module__.partition(".")[0] in GRAPHED for kind in set(map(type, modules)))
    plain = all(is_dense(weight) and weight.device == device for weight in _weights(modules, "_parameters"))
    windows = "sliding_attention" in config.attention_types(config.num_hidden_layers)
    return known and plain and not (windows or any(map(is_compiled, modules)) or has_foreign_hooks(model))


def _weights(modules: list[nn.Module], *kinds: str) -> list[Tensor]:
    found = (weight for module in modules for kind in kinds for weight in getattr(module, kind).values())
    return [weight for weight in found if weight is not None]


def _free_bytes(model: Any) -> int:
    """Of the device, with what torch keeps for later, and the cache that this one would replace."""
    device, decoder = model.device, kept.get(model)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    replaced = 0 if decoder is None else _cache_bytes(model, decoder.mask.numel())
    return torch.cuda.mem_get_info(device)[0] + unused + replaced


def _cache_bytes(model: Any, tokens: int) -> int:
    config = model.config
    return 2 * tokens * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * model.dtype.itemsize


def captured_decoding(
    model: Any,
    input_ids: Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    **inputs: Any,
) -> Tensor:
    """input_ids (B, T) -> (B, longest), the tokens of `generate` without it; on a CPU, step by step.

    For generate(custom_generate=captured_decoding), which prepares its arguments. Texts end at max_length or at an end
    token: of the stopping criteria, no other is read.
    """
    with _locks[model.device]:
        decoder, state = kept.pop(model, None), _state_of(model)
        texts, tokens = len(input_ids), generation_config.max_length
        if decoder is None or not decoder.fits(state, texts, tokens):
            decoder = Decoder(model, state, texts, -(-tokens // ROOM) * ROOM)
        logits = decoder.read_prompt(model, input_ids, inputs)
        answers = _write(decoder, input_ids, logits, logits_processor, generation_config)
        kept[model] = decoder
    return answers


def _write(
    decoder: "Decoder", input_ids: Any, logits: Any, process: LogitsProcessorList, config: GenerationConfig
) -> Tensor:
    """input_ids (B, T) and the logits (B, V) of the next token -> (B, longest)."""
    texts, prompt = input_ids.shape
    ends = end_tokens(config)
    pad = ends[0] if config.pad_token_id is None and ends else int(config.pad_token_id or 0)
    tokens = input_ids.new_full((texts, config.max_length), pad, dtype=torch.long)
    tokens[:, :prompt] = input_ids
    is_open, lengths = tokens.new_ones(texts, dtype=torch.bool), tokens.new_full((texts,), prompt)
    end_ids = tokens.new_tensor(ends)
    # Random numbers stop where the texts do, and so do functions of the caller.
    are_own = (type(each).__module__.startswith("transformers.") for each in process)
    call_back = (isinstance(each, PrefixConstrainedLogitsProcessor) for each in process)
    looks_often = config.do_sample or not all(are_own) or any(call_back)
    for length in range(prompt, config.max_length):
        scores: Tensor = process(tokens[:, :length].contiguous(), logits) if process else logits
        chosen = torch.multinomial(scores.softmax(-1), 1)[:, 0] if config.do_sample else scores.argmax(-1)
        tokens[:, length] = torch.where(is_open, chosen, pad)
        lengths += is_open
        is_open &= ~torch.isin(chosen, end_ids)
        looks = ends and (looks_often or (length - prompt) % UNSEEN_ENDS == 0)
        if length + 1 == config.max_length or (looks and not is_open.any()):
            break
        logits = decoder.read_token(tokens[:, length])
    return tokens[:, : int(lengths.max())]


def _state_of(model: Any) -> Hashable:
    """What a graph has as constants: where the weights lie, and the settings of modules and of the caller."""
    modules = parts(model)
    values = [value for module in modules for value in vars(module).values() if isinstance(value, SETTINGS)]
    places = [(weight.data_ptr(), weight.dtype) for weight in _weights(modules, "_parameters", "_buffers")]
    modes = torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cuda")
    products = torch.backends.cuda.matmul.fp32_precision
    return *map(type, modules), *values, *places, *modes, products, repr(vars(model.config))


class Decoder:
    """The logits of the next token, (B, V), of texts that grow in a static cache."""

    def __init__(self, model: Any, state: Hashable, texts: int, room: int) -> None:
        self.state, self.room = state, room
        self.cache = StaticCache(model.config, room)
        self.mask = torch.zeros(texts, 1, 1, room, dtype=torch.bool, device=model.device)
        self.positions = torch.zeros(texts, 1, dtype=torch.long, device=model.device)
        self.last = torch.zeros(1, dtype=torch.long, device=model.device)  # the index of the last token in the cache
        owner: Any = weakref.proxy(model)  # a model that nobody else holds is freed, and its decoder with it
        inputs = {"attention_mask": self.mask, "position_ids": self.positions, "past_key_values": self.cache}
        read = partial(_read, owner, self.last, inputs)
        self.step = Replayed(owner, lambda batch: read(**batch))
        self.is_captured = not torch.is_autocast_enabled("cuda")  # which frees the weights that it has cast

    def fits(self, state: Hashable, texts: int, tokens: int) -> bool:
        is_large_enough = len(self.mask) == texts and tokens <= self.room <= 4 * max(tokens, ROOM)
        return is_large_enough and self.is_captured and self.state == state

    def read_prompt(self, model: Any, input_ids: Tensor, inputs: dict[str, Any]) -> Tensor:
        """input_ids (B, T), and their attention_mask (None without padding) and position_ids."""
        length, mask = input_ids.shape[1], inputs.get("attention_mask")
        self.cache.reset()
        inputs = {**inputs, "past_key_values": self.cache}
        read = model.prepare_inputs_for_generation(input_ids, is_first_iteration=True, **inputs)
        logits = model(**read, return_dict=True).logits[:, -1].float()
        self.mask.zero_()
        self.mask[:, 0, 0, :length] = True if mask is None else mask
        self.positions.copy_(inputs["position_ids"][:, -1:])
        self.last.fill_(length - 1)
        return logits

    def read_token(self, tokens: Tensor) -> Tensor:
        """tokens (B,): one more of each text."""
        batch = {"input_ids": tokens[:, None]}
        try:
            return self.step(batch) if self.is_captured else self.step.compute(batch)
        except CaptureError:
            self.is_captured = False  # code that waits for the device
            return self.step.compute(batch)


def _read(model: Any, last: Tensor, inputs: dict[str, Any], input_ids: Tensor) -> Tensor:
    """input_ids (B, 1) -> (B, V). No method of Decoder, which a cycle of references would keep."""
    last += 1
    inputs["position_ids"].add_(1)
    inputs["attention_mask"].index_fill_(3, last, True)
    return model(input_ids, **inputs, use_cache=True, return_dict=True).logits[:, -1].float()
