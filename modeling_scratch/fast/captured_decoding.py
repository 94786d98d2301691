# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Greedy search and sampling by captured steps: on a CUDA device, the forward pass of a token is one graph.

The graph reads and writes tensors that stay in place: a static cache, its mask, the positions. A model keeps its last
graph, and later calls of about the same size replay it.

Shapes: B texts, T tokens of a prompt, S the room of the cache, V vocabulary.
"""

import weakref
from collections.abc import Hashable
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, LogitsProcessorList, StaticCache, StoppingCriteriaList
from transformers.generation import GenerationMode

from .beam_search import end_tokens
from .captured import CaptureError, Replayed
from .hooks import OUR_PACKAGE, has_foreign_hooks

LEAST_TOKENS = 32  # with fewer new ones, the first call takes longer than it saves
ROOM = 64  # S is a multiple of it
UNSEEN_ENDS = 8  # greedy search looks only so often whether all texts have ended, as each look waits for the device
SHARE = 0.25  # of the free memory, for the static cache
GRAPHED = "torch", "transformers", OUR_PACKAGE  # no adapters or quantised layers, which have switches of their own
MODES = GenerationMode.GREEDY_SEARCH, GenerationMode.SAMPLE
# Arguments that are read between two tokens, or that give the prompt another form.
OTHERS = "inputs_embeds", "token_type_ids", "stopping_criteria", "max_time", "stop_strings"

_lock = Lock()  # of the kept decoders, and as no other thread may draw random numbers during a capture
_kept: weakref.WeakKeyDictionary[nn.Module, "Decoder"] = weakref.WeakKeyDictionary()


def decodes_captured(model: Any, config: GenerationConfig, prompt: Any, kwargs: dict[str, Any]) -> bool:
    """Whether captured steps support this plain call of generate (see is_plain_call), and pay."""
    settings = {**config.to_dict(), **kwargs}
    new = config.max_new_tokens or config.max_length or 0
    if model.device.type != "cuda" or getattr(prompt, "ndim", 0) != 2 or new < LEAST_TOKENS:
        return False
    if any(settings.get(name) is not None for name in OTHERS) or config.get_generation_mode() not in MODES:
        return False
    if config.use_cache is False or config.compile_config or config.cache_implementation not in (None, "static"):
        return False
    longest = prompt.shape[1] + new
    if longest > model.config.max_position_embeddings or not _has_plain_weights(model):
        return False  # past the last position, the plain way raises an error and a graph cannot
    needed = _cache_bytes(model, len(prompt) * (config.num_return_sequences or 1) * longest)
    return needed < SHARE * torch.cuda.mem_get_info(model.device)[0]


def _has_plain_weights(model: Any) -> bool:
    """Whether a graph computes what the model does: full attention, nobody looks inside, no adapters, one device."""
    config = model.config
    if model.training or config.is_encoder_decoder or config._attn_implementation not in ("eager", "sdpa"):
        return False
    known = all(type(module).__module__.partition(".")[0] in GRAPHED for module in model.modules())
    one_device = len({weight.device for weight in model.parameters()}) == 1
    windows = "sliding_attention" in config.attention_types(config.num_hidden_layers)
    return known and one_device and not windows and not has_foreign_hooks(model)


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
    with _lock:
        decoder = _take_decoder(model, len(input_ids), generation_config.max_length)
        logits = decoder.read_prompt(model, input_ids, inputs)
        tokens = _write(decoder, input_ids, logits, logits_processor, generation_config)
        _kept[model] = decoder
    return tokens


def _write(
    decoder: "Decoder", input_ids: Any, logits: Any, process: LogitsProcessorList, config: GenerationConfig
) -> Tensor:
    """input_ids (B, T) and the logits (B, V) of the next token -> (B, longest)."""
    texts, prompt = input_ids.shape
    pad = config.pad_token_id if config.pad_token_id is not None else 0
    tokens = input_ids.new_full((texts, config.max_length), pad)
    tokens[:, :prompt] = input_ids
    is_open, lengths = tokens.new_ones(texts, dtype=torch.bool), tokens.new_full((texts,), prompt)
    ends = tokens.new_tensor(end_tokens(config))
    for length in range(prompt, config.max_length):
        scores: Tensor = process(tokens[:, :length], logits)
        chosen = torch.multinomial(scores.softmax(-1), 1)[:, 0] if config.do_sample else scores.argmax(-1)
        tokens[:, length] = torch.where(is_open, chosen, pad)
        lengths += is_open
        is_open &= ~torch.isin(chosen, ends)
        looks = config.do_sample or (length - prompt) % UNSEEN_ENDS == 0  # random numbers stop where the texts do
        if length + 1 == config.max_length or (len(ends) and looks and not is_open.any()):
            break
        logits = decoder.read_token(tokens[:, length])
    return tokens[:, : int(lengths.max())]


def _take_decoder(model: nn.Module, texts: int, tokens: int) -> "Decoder":
    """The decoder of an earlier call, if it fits."""
    decoder, state = _kept.pop(model, None), _state_of(model)
    if decoder is None or not decoder.fits(state, texts, tokens):
        decoder = Decoder(model, state, texts, -(-tokens // ROOM) * ROOM)
    return decoder


def _state_of(model: nn.Module) -> Hashable:
    """What a graph has as constants: where the weights lie, and the settings of modules and of the caller."""
    modules, config = list(model.modules()), vars(model.config)
    values = [*config.values(), *(value for module in modules for value in vars(module).values())]
    settings = [value for value in values if isinstance(value, (bool, int, float, str))]
    weights = [weight.data_ptr() for weight in (*model.parameters(), *model.buffers())]
    modes = torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
    return *map(type, modules), *settings, *weights, *modes


class Decoder:
    """The logits of the next token, (B, V), of texts that grow in a static cache."""

    def __init__(self, model: Any, state: Hashable, texts: int, room: int) -> None:
        self.state, self.room = state, room
        self.cache = StaticCache(model.config, room)
        self.mask = torch.zeros(texts, 1, 1, room, dtype=torch.bool, device=model.device)
        self.positions = torch.zeros(texts, 1, dtype=torch.long, device=model.device)
        self.last = torch.zeros(1, dtype=torch.long, device=model.device)  # the index of the last token in the cache
        owner: Any = weakref.proxy(model)  # a model that nobody else holds is freed, and its decoder with it
        self.step = Replayed(owner, lambda batch: self._read(owner, **batch))
        self.is_captured = True

    def fits(self, state: Hashable, texts: int, tokens: int) -> bool:
        is_large_enough = len(self.mask) == texts and tokens <= self.room <= 4 * max(tokens, ROOM)
        return is_large_enough and self.is_captured and self.state == state

    def read_prompt(self, model: Any, input_ids: Tensor, inputs: dict[str, Any]) -> Tensor:
        """input_ids (B, T), and their attention_mask (None without padding) and position_ids."""
        length, mask = input_ids.shape[1], inputs.get("attention_mask")
        self.cache.reset()
        self.mask.zero_()
        self.mask[:, 0, 0, :length] = True if mask is None else mask
        self.positions.copy_(inputs["position_ids"][:, -1:])
        self.last.fill_(length - 1)
        inputs = {**inputs, "past_key_values": self.cache}
        read = model.prepare_inputs_for_generation(input_ids, is_first_iteration=True, **inputs)
        return model(**read, return_dict=True).logits[:, -1].float()

    def read_token(self, tokens: Tensor) -> Tensor:
        """tokens (B,): one more of each text."""
        batch = {"input_ids": tokens[:, None]}
        try:
            return self.step(batch) if self.is_captured else self.step.compute(batch)
        except CaptureError:
            self.is_captured = False  # code that waits for the device
            return self.step.compute(batch)

    def _read(self, model: Any, input_ids: Tensor) -> Tensor:
        self.last += 1
        self.positions += 1
        self.mask.index_fill_(3, self.last, True)
        given = {"attention_mask": self.mask, "position_ids": self.positions, "past_key_values": self.cache}
        outputs = model(input_ids, **given, use_cache=True, return_dict=True)
        return outputs.logits[:, -1].float()
