# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A model as ONNX graphs, written by the exporters of Transformers, and compared with PyTorch in ONNX Runtime.

An encoder is one graph, "model". So is a decoder, which reads the cache of the tokens before, and returns that of all
tokens. An encoder-decoder is two: "prefill" reads a text and the first token of the output, "decode" the next token.
"""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from ..bridges.model_sources import position_limit
from ..fast import disabled
from ..modeling_decoder import ScratchDecoderForCausalLM
from ..stack import ScratchDecoderModel
from ..utils.errors import DataError, one_line

Named = dict[str, Any]

ONNX = "onnx"
TOLERANCE = 1e-5  # relative to the largest value of an output, where that is above 1


class Sizes(NamedTuple):
    """A batch: texts, tokens of each, tokens in the cache, and the side on which the last text is padded."""

    batch: int
    length: int
    past: int
    padding: str | None = None

    def cut(self, limit: int | None) -> "Sizes":
        """Return the sizes of a batch that the model can read. limit: its longest text."""
        length = min(self.length, limit or self.length)
        return self._replace(length=length, past=min(self.past, (limit or self.past + length) - length))


TRACED = Sizes(3, 5, 4)
COMPARED = (
    Sizes(1, 1, 0), Sizes(1, 7, 0), Sizes(3, 9, 0, "right"), Sizes(3, 9, 0, "left"), Sizes(4, 1, 6, "left"),
    Sizes(2, 4, 12, "right"), Sizes(2, 50, 13, "right"),
)  # fmt: skip


def export_graphs(model: Any, folder: Path) -> list[str]:
    """Write the graphs of a model in float32 to a folder, and return lines that say how far each is from PyTorch.

    Raises `DataError` for a model that has no graph, and for a graph that answers otherwise.
    """
    from transformers.exporters import ExportedModel
    from transformers.exporters.auto import AutoExportConfig, AutoHfExporter

    graphs, limit, components = graphs_of(model), position_limit(model.config), {}
    config: Any = AutoExportConfig.from_dict({"export_format": ONNX, "dynamic": True})
    window = model.config.sliding_window
    beyond = [] if window is None else [Sizes(1, 3, window + 2), Sizes(1, window + 5, 0)]  # what a local layer sees
    traced, *compared = [each.cut(limit) for each in (TRACED, *COMPARED, *beyond)]
    for name, inputs in graphs.items():
        try:
            with torch.no_grad(), disabled():
                exported = AutoHfExporter.from_config(config).export(model, inputs(model, traced), config)
        except Exception as error:  # exporters raise types of their own
            raise DataError(f"{name} cannot be written: {one_line(error)[:300]}") from error
        components[name] = exported.components["model"]
        _forget_files(exported.program.graph)
    settings = model.generation_config if model.can_generate() else None
    ExportedModel(components, ONNX, model.config, settings).save_pretrained(folder)
    runners = ExportedModel.from_pretrained(folder, device="cpu").runners
    differences = {name: largest_difference(model, name, runners[name], compared) for name in graphs}
    return [f"{name}: {difference:.1e} from PyTorch" for name, difference in differences.items()]


def _forget_files(graph: Any) -> None:
    """Delete what says in which file of which user each node stood."""
    values = [*graph.inputs, *(value for node in graph.all_nodes() for value in node.outputs), *graph.outputs]
    for each in (*graph.all_nodes(), *values):
        each.metadata_props.clear()
        each.doc_string = None


def graphs_of(model: Any) -> dict[str, Callable[[Any, Sizes], Named]]:
    """Return what draws the inputs of each graph of a model, by name."""
    if model.config.is_encoder_decoder:
        return {"prefill": _first, "decode": _next}
    return {"model": _continued if isinstance(model, ScratchDecoderModel | ScratchDecoderForCausalLM) else _text}


def _text(model: Any, sizes: Sizes) -> Named:
    inputs = {"input_ids": _tokens(model.config.vocab_size, sizes), "attention_mask": _mask(sizes, sizes.length)}
    if getattr(model.config, "type_vocab_size", 0) and not model.config.is_encoder_decoder:
        inputs["token_type_ids"] = _tokens(model.config.type_vocab_size, sizes)
    return inputs


def _continued(model: Any, sizes: Sizes) -> Named:
    mask = _mask(sizes, sizes.past + sizes.length)  # of the cached tokens and the new ones
    cache = _cache(model.config, model.config.num_hidden_layers, sizes.batch, sizes.past)
    ids = _tokens(model.config.vocab_size, sizes)
    return {"input_ids": ids, "attention_mask": mask, "past_key_values": cache, "use_cache": True}


def _first(model: Any, sizes: Sizes) -> Named:
    first = _tokens(model.config.decoder_vocab_size, sizes._replace(length=1))
    return {**_text(model, sizes), "decoder_input_ids": first, "use_cache": True}


def _next(model: Any, sizes: Sizes) -> Named:
    config, batch = model.config, sizes.batch
    caches = [_cache(config, config.decoder_layers, batch, length) for length in (max(sizes.past, 1), sizes.length)]
    states = torch.zeros(batch, sizes.length, config.hidden_size)  # of which only the shape is read
    inputs = {**_first(model, sizes), "past_key_values": EncoderDecoderCache(*caches)}
    del inputs["input_ids"]
    return {**inputs, "encoder_outputs": BaseModelOutput(last_hidden_state=states)}


def _tokens(vocabulary: int, sizes: Sizes) -> Tensor:
    """Mostly low ids, which are frequent tokens."""
    drawn = torch.rand(sizes.batch, sizes.length, generator=torch.Generator().manual_seed(0))
    return (drawn**3 * vocabulary).long()


def _mask(sizes: Sizes, length: int) -> Tensor:
    """1 at real tokens; a third of the last text is padding."""
    mask, padding = torch.ones(sizes.batch, length, dtype=torch.long), length // 3
    if sizes.padding is not None and padding:
        mask[-1, slice(padding) if sizes.padding == "left" else slice(-padding, None)] = 0
    return mask


def _cache(config: Any, layers: int, batch: int, length: int) -> DynamicCache:
    shape, generator = (batch, config.num_key_value_heads, length, config.head_dim), torch.Generator().manual_seed(1)
    states = [tuple(torch.randn(shape, generator=generator) for _ in range(2)) for _ in range(layers)]
    return DynamicCache(states)


def largest_difference(model: Any, name: str, run: Callable[..., Any], compared: list[Sizes]) -> float:
    """Return the largest difference of a graph in its runtime from the model in PyTorch, over these batches.

    Raises `DataError` with the output and the batch for a difference above the tolerance, or a run that fails.
    """
    largest = 0.0
    for sizes in compared:
        inputs = graphs_of(model)[name](model, sizes)
        with torch.no_grad(), disabled():
            expected = dict(_tensors(model(**copy.deepcopy(inputs))))
        inputs.pop("use_cache", None)
        try:
            found = dict(_tensors(run(**inputs)))
        except Exception as error:  # runtimes raise types of their own
            raise DataError(f"{name}: the runtime fails with {sizes}: {one_line(error)[:300]}") from error
        for output, value in expected.items():
            difference = _difference(value, found.get(output))
            if not difference <= TOLERANCE:
                fault = f"{output} differs from PyTorch by {difference:.2g} (allowed: {TOLERANCE:g})"
                raise DataError(f"{name}: {fault} with {sizes}: the export is rejected")
            largest = max(largest, difference)
    return largest


def _tensors(outputs: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a model's outputs by name, those of a cache too."""
    for name, value in outputs.items():
        caches = [value.self_attention_cache, value.cross_attention_cache] if hasattr(value, "is_updated") else [value]
        if isinstance(value, Tensor):
            yield name, value
            continue
        for part, cache in enumerate(caches):
            for number, layer in enumerate(cache.layers):
                yield from ((f"{name}.{part}.{number}.{kind}", getattr(layer, kind)) for kind in ("keys", "values"))


def _difference(ours: Tensor, theirs: Tensor | None) -> float:
    """Return infinity for an output that is missing, or of another shape."""
    if theirs is None or ours.shape != theirs.shape:
        return float("inf")
    if not ours.numel():
        return 0.0
    return float((ours - theirs).abs().max() / ours.abs().max().clamp(min=1))
