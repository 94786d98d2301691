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

from ..utils.errors import DataError

Axes = tuple[str | int, ...]
Named = dict[str, Tensor]

TEXT: Axes = ("batch", "length")
PAST, PRESENT = "past_key_values", "present"
EXAMPLE = {"batch": 3, "length": 5, "past": 4, "total": 9, "source": 6}


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

    def __init__(self, model: nn.Module, function: Callable[..., Sequence[Tensor]], ports: Iterable[Port]) -> None:
        super().__init__()
        self.model, self.function, self.names = model, function, [port.name for port in ports]

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.function(self.model, dict(zip(self.names, tensors))))


def graphs_of(model: Any) -> tuple[Graph, ...]:
    """Return the graphs of a scratch model in evaluation mode, one or two. Raises `DataError` for an unknown head."""
    if model.config.is_encoder_decoder:
        return _encoder(model), _decoder(model)
    if type(model).__name__ in ("ScratchDecoderForCausalLM", "ScratchDecoderModel"):
        return (_cached(model),)
    outputs = _outputs(model)
    inputs = [Port("input_ids", TEXT, model.config.vocab_size), Port("attention_mask", TEXT, 2)]
    if model.config.type_vocab_size:
        inputs.append(Port("token_type_ids", TEXT, model.config.type_vocab_size))
    names = [port.name for port in outputs]

    def read(model: Any, given: Named) -> Sequence[Tensor]:
        found = model(**given, return_dict=True)
        return [found[name] for name in names]

    return (_graph("model", model, read, inputs, outputs),)


def _graph(name: str, model: nn.Module, function: Callable, inputs: Sequence[Port], outputs: Sequence[Port]) -> Graph:
    return Graph(name, Function(model, function, inputs).eval(), tuple(inputs), tuple(outputs))


def _outputs(model: Any) -> list[Port]:
    """Return what the head of a model gives."""
    config, name = model.config, type(model).__name__
    if name.endswith("ForSequenceClassification"):
        return [Port("logits", ("batch", config.num_labels))]
    if name.endswith("ForTokenClassification"):
        return [Port("logits", (*TEXT, config.num_labels))]
    if name.endswith("ForQuestionAnswering"):
        return [Port("start_logits", TEXT), Port("end_logits", TEXT)]
    if name.endswith(("ForMaskedLM", "ForCausalLM", "ForConditionalGeneration")):
        return [Port("logits", (*TEXT, getattr(config, "decoder_vocab_size", config.vocab_size)))]
    if name.endswith("Model"):
        pooled = [Port("pooler_output", ("batch", config.hidden_size))] if getattr(model, "pooler", None) else []
        return [Port("last_hidden_state", (*TEXT, config.hidden_size)), *pooled]
    raise DataError(f"{name}: a head that the export does not know")


def _cache(config: Any, layers: int, name: str, axis: str, part: str = "") -> list[Port]:
    """Return the keys and values of a cache, layer by layer."""
    axes = ("batch", config.num_key_value_heads, axis, config.head_dim)
    return [Port(f"{name}.{layer}.{part}{kind}", axes) for layer in range(layers) for kind in ("key", "value")]


def _pairs(given: Named, part: str = "") -> list[tuple[Tensor, Tensor]]:
    """Return the keys and values among named tensors, layer by layer."""
    found = [tensor for name, tensor in given.items() if name.startswith(PAST) and part in name]
    return list(zip(found[::2], found[1::2]))


def _tensors(cache: Any) -> list[Tensor]:
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def _cached(model: Any) -> Graph:
    """A decoder: attention_mask covers the cached tokens and the new ones."""
    config = model.config
    inputs = [
        Port("input_ids", TEXT, config.vocab_size),
        Port("attention_mask", ("batch", "total"), 2),
        *_cache(config, config.num_hidden_layers, PAST, "past"),
    ]
    outputs = [*_outputs(model), *_cache(config, config.num_hidden_layers, PRESENT, "total")]
    return _graph("model", model, _continue, inputs, outputs)


def _continue(model: Any, given: Named) -> Sequence[Tensor]:
    cache = DynamicCache(_pairs(given))
    read = {name: given[name] for name in ("input_ids", "attention_mask")}
    found = model(**read, past_key_values=cache, use_cache=True, return_dict=True)
    return [found[0], *_tensors(found.past_key_values)]


def _encoder(model: Any) -> Graph:
    """The encoder of an encoder-decoder, with the keys and values of each cross-attention."""
    config = model.config
    text = ("batch", "source")
    inputs = [Port("input_ids", text, config.vocab_size), Port("attention_mask", text, 2)]
    states = Port("last_hidden_state", (*text, config.hidden_size))
    cross = _cache(config, config.decoder_layers, PRESENT, "source", "encoder.")
    return _graph("encoder", model, _encode, inputs, [states, *cross])


def _encode(model: Any, given: Named) -> Sequence[Tensor]:
    base = getattr(model, "model", model)
    states = base.encoder(**given, return_dict=True).last_hidden_state
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    first = torch.zeros_like(given["input_ids"][:, :1])  # what the decoder attends to depends on no token of its own
    base.decoder(
        first, encoder_hidden_states=states, encoder_attention_mask=given["attention_mask"], past_key_values=cache,
        use_cache=True,
    )  # fmt: skip
    return [states, *_tensors(cache.cross_attention_cache)]


def _decoder(model: Any) -> Graph:
    """The decoder of an encoder-decoder, whose own tokens are all real."""
    config = model.config
    inputs = [
        Port("input_ids", TEXT, config.decoder_vocab_size),
        Port("encoder_attention_mask", ("batch", "source"), 2),
        *_cache(config, config.decoder_layers, PAST, "past", "decoder."),
        *_cache(config, config.decoder_layers, PAST, "source", "encoder."),
    ]
    outputs = [*_outputs(model), *_cache(config, config.decoder_layers, PRESENT, "total", "decoder.")]
    return _graph("decoder", model, _decode, inputs, outputs)


def _decode(model: Any, given: Named) -> Sequence[Tensor]:
    cross: Any = DynamicCache(_pairs(given, ".encoder."))
    cache = EncoderDecoderCache(DynamicCache(_pairs(given, ".decoder.")), cross)
    mask = given["encoder_attention_mask"]
    states = cross.layers[0].keys.new_zeros((*mask.shape, model.config.hidden_size))  # only its shape is read
    found = model(
        attention_mask=mask, decoder_input_ids=given["input_ids"], encoder_outputs=(states,), past_key_values=cache,
        use_cache=True, return_dict=True,
    )  # fmt: skip
    return [found[0], *_tensors(found.past_key_values.self_attention_cache)]


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
