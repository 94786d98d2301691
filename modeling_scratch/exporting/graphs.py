# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model as graphs of named tensors, with the keys and values of a decoder's cache among them.

An encoder is one graph. A decoder takes the cache of the tokens before and returns that of all tokens, so that a client
generates token by token. An encoder-decoder is two graphs: the encoder also computes the keys and values that the
decoder attends to. Names are those of Hugging Face's exporters: the output present.X is the next input
past_key_values.X.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache

from ..modeling_decoder import ScratchDecoderForCausalLM
from ..stack import ScratchDecoderModel

Axes = tuple[str | int, ...]
Named = dict[str, Tensor]

TEXT: Axes = ("batch", "length")
PAST, PRESENT = "past_key_values", "present"
EXAMPLE = {"batch": 3, "length": 5, "past": 4, "total": 9, "source": 6}
OTHER = {"batch": 2, "length": 7, "past": 8, "total": 15, "source": 10}  # each size is another one


@dataclass(frozen=True)
class Port:
    """A tensor that goes into a graph or comes out of it.

    axes: sizes, or the names of those that vary. rows: of the table that integers are rows of; 0: float32 numbers.
    """

    name: str
    axes: Axes
    rows: int = 0


@dataclass(frozen=True)
class Graph:
    """A function of tensors, with the name of its file."""

    name: str
    module: nn.Module
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def has_cache(self) -> bool:
        return any("past" in port.axes for port in self.inputs)

    def one_text(self) -> "Graph":
        """Return the graph with batches of one text."""
        one, other = (
            tuple(replace(port, axes=tuple(1 if axis == "batch" else axis for axis in port.axes)) for port in ports)
            for ports in (self.inputs, self.outputs)
        )
        return replace(self, inputs=one, outputs=other)

    def draw(self, sizes: dict[str, int], generator: torch.Generator) -> list[Tensor]:
        """Return random inputs of these sizes, without padding."""
        return [_draw(port, [sizes.get(str(axis), axis) for axis in port.axes], generator) for port in self.inputs]


def _draw(port: Port, shape: list[Any], generator: torch.Generator) -> Tensor:
    if port.name.endswith("mask"):
        return torch.ones(shape, dtype=torch.long)
    if port.rows:  # mostly low ids, which are frequent tokens
        return (torch.rand(shape, generator=generator) ** 3 * port.rows).long()
    return torch.randn(shape, generator=generator)


class Function(nn.Module):
    """A model as a function of tensors alone, in the order of their names."""

    def __init__(self, model: nn.Module, function: Callable[[Any, Named], Named], ports: Iterable[Port]) -> None:
        super().__init__()
        self.model, self.function, self.names = model, function, [port.name for port in ports]

    def named(self, *tensors: Tensor) -> Named:
        return self.function(self.model, dict(zip(self.names, tensors)))

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.named(*tensors).values())


def graphs_of(model: Any) -> tuple[Graph, ...]:
    """Return the graphs of a scratch model in evaluation mode, one or two."""
    config = model.config
    if config.is_encoder_decoder:
        return _encoder(model), _decoder(model)
    inputs = [Port("input_ids", TEXT, config.vocab_size), Port("attention_mask", TEXT, 2)]
    if isinstance(model, ScratchDecoderModel | ScratchDecoderForCausalLM):
        inputs[1] = Port("attention_mask", ("batch", "total"), 2)  # of the cached tokens and the new ones
        return (_graph("model", model, _continue, [*inputs, *_cache(config, config.num_hidden_layers, "past")]),)
    if config.type_vocab_size:
        inputs.append(Port("token_type_ids", TEXT, config.type_vocab_size))
    return (_graph("model", model, _read, inputs),)


def _graph(name: str, model: nn.Module, function: Callable[[Any, Named], Named], inputs: Sequence[Port]) -> Graph:
    """Find the outputs of a graph in those of two batches: an axis has a name if its size is another one."""
    module = Function(model, function, inputs).eval()
    graph, generator = Graph(name, module, tuple(inputs), ()), torch.Generator().manual_seed(0)
    with torch.no_grad():
        first, second = (module.named(*graph.draw(sizes, generator)) for sizes in (EXAMPLE, OTHER))
    named = {(EXAMPLE[axis], OTHER[axis]): axis for axis in EXAMPLE}
    outputs = [
        Port(port, tuple(named.get(sizes, sizes[0]) for sizes in zip(tensor.shape, second[port].shape)))
        for port, tensor in first.items()
    ]
    return replace(graph, outputs=tuple(outputs))


def _read(model: Any, given: Named) -> Named:
    found = model(**given, return_dict=True)
    return {name: value for name, value in found.items() if isinstance(value, Tensor)}


def _cache(config: Any, layers: int, axis: str, part: str = "") -> list[Port]:
    """Return the keys and values that a graph takes, layer by layer."""
    axes = ("batch", config.num_key_value_heads, axis, config.head_dim)
    return [Port(f"{PAST}.{layer}.{part}{kind}", axes) for layer in range(layers) for kind in ("key", "value")]


def _pairs(given: Named, part: str = "") -> list[tuple[Tensor, Tensor]]:
    """Return the keys and values among named tensors, layer by layer."""
    found = [tensor for name, tensor in given.items() if name.startswith(PAST) and part in name]
    return list(zip(found[::2], found[1::2]))


def _tensors(cache: Any, part: str = "") -> Named:
    """Return the keys and values of a cache, under the names of outputs."""
    pairs = enumerate((layer.keys, layer.values) for layer in cache.layers)
    kinds = "key", "value"
    return {f"{PRESENT}.{layer}.{part}{kind}": each for layer, pair in pairs for kind, each in zip(kinds, pair)}


def _first(found: Any) -> Named:
    """Return the logits, or the states of a model without a head."""
    name = next(iter(found))
    return {name: found[name]}


def _continue(model: Any, given: Named) -> Named:
    """A decoder."""
    cache = DynamicCache(_pairs(given))
    read = {name: given[name] for name in ("input_ids", "attention_mask")}
    found = model(**read, past_key_values=cache, use_cache=True, return_dict=True)
    return {**_first(found), **_tensors(found.past_key_values)}


def _encoder(model: Any) -> Graph:
    """The encoder of an encoder-decoder, with the keys and values of each cross-attention."""
    text = ("batch", "source")
    inputs = [Port("input_ids", text, model.config.vocab_size), Port("attention_mask", text, 2)]
    return _graph("encoder", model, _encode, inputs)


def _encode(model: Any, given: Named) -> Named:
    base = getattr(model, "model", model)
    states = base.encoder(**given, return_dict=True).last_hidden_state
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    first = torch.zeros_like(given["input_ids"][:, :1])  # what the decoder attends to depends on no token of its own
    base.decoder(
        first, encoder_hidden_states=states, encoder_attention_mask=given["attention_mask"], past_key_values=cache,
        use_cache=True,
    )  # fmt: skip
    return {"last_hidden_state": states, **_tensors(cache.cross_attention_cache, "encoder.")}


def _decoder(model: Any) -> Graph:
    """The decoder of an encoder-decoder, whose own tokens are all real."""
    config = model.config
    inputs = [
        Port("input_ids", TEXT, config.decoder_vocab_size),
        Port("encoder_attention_mask", ("batch", "source"), 2),
        *_cache(config, config.decoder_layers, "past", "decoder."),
        *_cache(config, config.decoder_layers, "source", "encoder."),
    ]
    return _graph("decoder", model, _decode, inputs)


def _decode(model: Any, given: Named) -> Named:
    cross: Any = DynamicCache(_pairs(given, ".encoder."))
    cache = EncoderDecoderCache(DynamicCache(_pairs(given, ".decoder.")), cross)
    mask = given["encoder_attention_mask"]
    states = cross.layers[0].keys.new_zeros((*mask.shape, model.config.hidden_size))  # only its shape is read
    found = model(
        attention_mask=mask, decoder_input_ids=given["input_ids"], encoder_outputs=(states,), past_key_values=cache,
        use_cache=True, return_dict=True,
    )  # fmt: skip
    return {**_first(found), **_tensors(found.past_key_values.self_attention_cache, "decoder.")}


def trace(graph: Graph, longest: int | None = None) -> torch.export.ExportedProgram:
    """Trace a graph with every named axis free. Searches in sorted keys become steps that every runtime has.

    longest: the largest size of an axis, for a runtime that plans its memory; None: any.
    """
    example, auto = graph.draw(EXAMPLE, torch.Generator().manual_seed(0)), torch.export.Dim.AUTO
    free: Any = auto if longest is None else auto(max=longest)
    axes = tuple({n: free for n, axis in enumerate(port.axes) if axis in EXAMPLE} for port in graph.inputs)
    program = torch.export.export(graph.module, tuple(example), dynamic_shapes=(axes,), strict=False)
    return program.run_decompositions({torch.ops.aten.searchsorted.Tensor: _search})


def _search(keys: Tensor, values: Tensor, **_: Any) -> Tensor:
    """torch.searchsorted of rising keys (N,): the number of keys below each value, by bisection."""
    found = torch.zeros_like(values)
    for bit in reversed(range(len(keys).bit_length())):
        further = found + 2**bit
        is_below = (further <= len(keys)) & (keys[(further - 1).clamp(max=len(keys) - 1)] < values)
        found = torch.where(is_below, further, found)
    return found
