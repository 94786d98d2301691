# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A saved model as others load it: its inputs, its outputs, and how far these may be apart elsewhere.

Shapes: R rows (positions, or texts), C columns (labels, tokens of the vocabulary, or features).
"""

import math
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.dynamic_module_utils import get_class_from_dynamic_module

import modeling_scratch

from ..bridges.model_limits import check_model_files
from ..bridges.model_sources import pretrained
from ..data.text_pairs import TextPair, parts_of
from ..pipelines import TARGET_FOLDER

MAX_LENGTH = 64  # tokens per example

FEW_COLUMNS, SPREAD_COLUMNS, TOP_COLUMNS = 32, 16, 5

ROUNDINGS, DEVIATIONS = 8, 4  # of a block into what the next one reads; how far out they are tolerated

Outputs = dict[str, Tensor]

Tokenizers = tuple[PreTrainedTokenizerBase, PreTrainedTokenizerBase]


# A copy, loaded


def load_model(
    folder: Path, trust_remote_code: bool = False, otherwise: type[PreTrainedModel] | None = None
) -> tuple[PreTrainedModel, dict[str, list[str]]]:
    """As its config.json names it, in the type it was saved in, in eval mode: of this package, of transformers, or of
    the folder's own code; raises ValueError for a class that is known nowhere, unless there is one to use `otherwise`.

    Return also the names of the tensors that are missing, "missing_keys", and that it does not read, "unexpected_keys".
    """
    check_model_files(Path(folder))
    maker: Any = otherwise and otherwise.config_class
    config = maker.from_pretrained(folder) if maker else pretrained(AutoConfig, folder, trust_remote_code)
    name = str((config.architectures or ["no class"])[0])
    known = getattr(modeling_scratch, name, None) or getattr(transformers, name, None)
    if known is not None and not isinstance(config, known.config_class):  # a config of the folder's code, with its rows
        known = None
    codes = (getattr(config, "auto_map", None) or {}).values()
    code = next((code for code in codes if isinstance(code, str) and code.endswith(f".{name}")), None)
    if known is None and trust_remote_code and code:
        known = get_class_from_dynamic_module(code, str(folder))
    known = known or otherwise
    if not (isinstance(known, type) and issubclass(known, PreTrainedModel)):
        raise ValueError(f"config.json names a model class that is not known here: {name!a}")
    made: Any = known.from_pretrained(folder, config=config, use_safetensors=True, output_loading_info=True)
    model, loading = made
    return model.eval(), {kind: sorted(loading[kind]) for kind in ("missing_keys", "unexpected_keys")}


def tokenizers_in(folder: Path, trust_remote_code: bool = False) -> Tokenizers:
    """Load the source and target tokenizers, often the same object."""
    source = pretrained(AutoTokenizer, folder, trust_remote_code)
    if not (folder / TARGET_FOLDER).is_dir():
        return source, source
    return source, pretrained(AutoTokenizer, folder, trust_remote_code, subfolder=TARGET_FOLDER)


def encode(text: str, pair: Tokenizers, model: PreTrainedModel, max_length: int) -> dict[str, list[int]]:
    """Tokenise a text, or a pair with its token types.

    Decoder inputs start with the start token and have the encoder's length.
    """
    source, target = pair
    encoded = source(*parts_of(text), truncation=True, max_length=max_length)
    names = ["input_ids", *(["token_type_ids"] if isinstance(text, TextPair) else [])]
    ids = {name: encoded[name] for name in names if name in encoded}
    if model.config.is_encoder_decoder:
        written = target(text_target=text, truncation=True, max_length=max_length)["input_ids"]
        ids["decoder_input_ids"] = [_start(model), *written][: len(ids["input_ids"])]
    return ids


def length_limit(model: PreTrainedModel) -> int:
    """Return the length of examples: small, and within the model's positions (RoBERTa reserves two)."""
    return max(2, min(MAX_LENGTH, getattr(model.config, "max_position_embeddings", 2 * MAX_LENGTH) - 2))


def example_ids(model: PreTrainedModel, seed: int) -> dict[str, list[int]]:
    """Draw random ids without padding; the last is the end token, if there is one."""
    config: Any = model.config
    if model.main_input_name != "input_ids":
        raise ValueError(f"{type(model).__name__} reads {model.main_input_name}, and there is a record for text alone.")
    table: Any = model.get_input_embeddings()
    vocabulary, length = table.weight.shape[0], length_limit(model)
    ids = _draw(vocabulary, config.pad_token_id, length, seed)
    if isinstance(config.eos_token_id, int):
        ids[-1] = config.eos_token_id
    if not config.is_encoder_decoder:
        return {"input_ids": ids}
    written = _draw(getattr(config, "decoder_vocab_size", vocabulary), config.pad_token_id, length - 1, seed + 1)
    return {"input_ids": ids, "decoder_input_ids": [_start(model), *written]}


def _draw(vocabulary: int, padding: int | None, length: int, seed: int) -> list[int]:
    drawn = torch.randint(vocabulary, (length,), generator=torch.Generator().manual_seed(seed)).tolist()
    return [(token + 1) % vocabulary if token == padding else token for token in drawn]


def _start(model: PreTrainedModel) -> int:
    config = model.config
    starts = (getattr(config, name, None) for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"))
    return next((token for token in starts if token is not None), 0)


@torch.no_grad()
def outputs_of(model: PreTrainedModel, ids: dict[str, list[int]]) -> Outputs:
    """Return all floating-point outputs by name, (R, C) float64: logits, or hidden states of a base model."""
    batch = {name: torch.tensor([row], device=model.device) for name, row in ids.items()}
    return {
        name: value.cpu().double().reshape(-1, value.shape[-1])
        for name, value in model(**batch, return_dict=True).items()
        if isinstance(value, Tensor) and value.is_floating_point() and value.ndim > 1
    }


def summarise(values: Tensor) -> dict[str, Any]:
    """Summarise the first, middle and last row of (R, C); wide rows by spaced and top columns, mean and std."""
    count, width = values.shape
    rows = []
    for place in sorted({0, count // 2, count - 1}):
        row = values[place]
        columns = list(range(width))
        if width > FEW_COLUMNS:
            spread = torch.linspace(0, width - 1, SPREAD_COLUMNS).long().tolist()
            columns = sorted({*spread, *row.topk(TOP_COLUMNS).indices.tolist()})
        mean, std = row.mean().item(), row.std(unbiased=False).item()
        rows.append({"row": place, "columns": columns, "values": row[columns].tolist(), "mean": mean, "std": std})
    return {"shape": [count, width], "rows": rows}


def difference(outputs: Outputs, recorded: dict[str, Any]) -> float:
    """Return the largest difference between outputs and their record; inf if names or shapes differ."""
    if outputs.keys() != recorded.keys():
        return math.inf
    largest = 0.0
    for name, summary in recorded.items():
        values = outputs[name]
        if list(values.shape) != summary["shape"]:
            return math.inf
        for expected in summary["rows"]:
            row = values[expected["row"]]
            found = torch.stack([*row[expected["columns"]], row.mean(), row.std(unbiased=False)])
            wanted = found.new_tensor([*expected["values"], expected["mean"], expected["std"]])
            largest = max(largest, (found - wanted).abs().nan_to_num(nan=math.inf).max().item())
    return largest


def tolerance(model: PreTrainedModel, recorded_dtype: torch.dtype, largest: float) -> float:
    """4 · eps/sqrt(12) · sqrt(8 · L · K) · largest logit: how far apart the same weights may be, computed elsewhere.

    L blocks round about 8 times each, by up to eps/2 (a standard deviation of eps/sqrt(12)) and independently of each
    other: their errors add up like sqrt(8 L), and 4 standard deviations hold for all logits. Sums of K products are
    done in float32 on every device, so that their order counts there (K: the hidden size) and not in bfloat16 and
    float16 (K = 1). Logits count as 1 at least: smaller ones can be what is left of larger terms. The coarser of both
    types decides.
    """
    eps = max(torch.finfo(model.dtype).eps, torch.finfo(recorded_dtype).eps)
    config = model.config
    blocks = getattr(config, "num_hidden_layers", 12) + getattr(config, "decoder_layers", 0)
    products = getattr(config, "hidden_size", 1024) if eps < 1e-5 else 1
    return DEVIATIONS * eps * math.sqrt(ROUNDINGS * max(blocks, 1) * products / 12) * max(1.0, largest)
