# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Convert checkpoints, and verify the reloaded result against its source."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
import transformers
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel

import modeling_scratch

from ..pipelines import TARGET_FOLDER
from ..utils.errors import DataError
from ..utils.files import complete_folder
from ..utils.options import REQUIRED, option
from .configs import FAMILIES
from .conversion import export_model
from .model_sources import check_loaded, load_checkpoint
from .older_names import add_older_names

# The maximum difference relative to the largest output.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


@dataclass
class ConversionArguments:
    """The checkpoint to convert and its output folder."""

    input: str = option(REQUIRED, "A native or scratch checkpoint: a folder or a name on the Hub.")
    output_dir: str = option(REQUIRED, "The output folder, which must not exist or be empty.")
    model_class: str | None = option(None, "The scratch class for a native checkpoint, such as ScratchEncoderModel.")
    model_type: str | None = option(None, f"The native family to export to: {', '.join(FAMILIES)}.")
    max_shard_size: str = option("5GB", "The maximum size of a weight file.")

    RETIRED: ClassVar[Mapping[str, str]] = {"--text_file": "leave it out; random tokens are compared"}


def convert(arguments: ConversionArguments) -> None:
    """Load, write to a temporary folder, reload and compare, then rename the folder."""
    config = load_checkpoint(AutoConfig, arguments.input, False)
    try:
        with complete_folder(arguments.output_dir) as folder:
            source, written = _convert(config, arguments, folder)
            _copy_tokenizer(arguments.input, folder)
            if config.model_type.startswith("scratch_"):
                add_older_names(folder)
            for line in compare(source, written):
                print(line)
    except (ValueError, FileExistsError, SafetensorError) as error:  # the last for a full disk
        raise DataError(f"{arguments.input}: {error}") from error
    print(f"{arguments.output_dir}: {type(written).__name__}, equivalent to {type(source).__name__}")


def _convert(
    config: PreTrainedConfig, arguments: ConversionArguments, folder: Path
) -> tuple[PreTrainedModel, PreTrainedModel]:
    """Convert; return the source model and the reloaded result."""
    size = arguments.max_shard_size
    if config.model_type.startswith("scratch_"):
        if arguments.model_class is not None:
            raise DataError("--model_class applies to native checkpoints only")
        own_class = _own_class((config.architectures or [""])[0], f"{arguments.input}: config.json")
        ours, info = own_class.from_pretrained(arguments.input, output_loading_info=True)
        check_loaded(ours.eval(), info, "not a trained model")
        native = export_model(ours, arguments.model_type)
        native.save_pretrained(folder, max_shard_size=size)
        return ours, type(native).from_pretrained(folder).eval()
    if arguments.model_type is not None:
        raise DataError("--model_type applies to scratch checkpoints only")
    wanted = None if arguments.model_class is None else _own_class(arguments.model_class, "--model_class")
    ours = modeling_scratch.load_pretrained(arguments.input, wanted)
    ours.save_pretrained(folder, max_shard_size=size)
    head = FAMILIES[config.model_type].heads[type(ours).__name__]
    native = getattr(transformers, head.theirs).from_pretrained(arguments.input).eval()
    return native, type(ours).from_pretrained(folder).eval()


def _own_class(name: str, where: str) -> Any:
    if not hasattr(modeling_scratch, name):
        raise DataError(f"{where}: {name!r} is not a class of modeling_scratch")
    return getattr(modeling_scratch, name)


def _copy_tokenizer(name: str, folder: Path) -> None:
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        has_words = len(tokenizer) > len(tokenizer.all_special_tokens)  # some families make one without a file
    except (OSError, ValueError, KeyError):  # none, or a required library is not installed
        has_words = False
    if not has_words:
        print(f"{name}: no tokenizer; save the one used in training beside the result")
        return
    tokenizer.save_pretrained(folder)
    if (Path(name) / TARGET_FOLDER).is_dir():  # a translation model with two vocabularies
        AutoTokenizer.from_pretrained(Path(name) / TARGET_FOLDER).save_pretrained(folder / TARGET_FOLDER)


def compare(source: PreTrainedModel, written: Any) -> Iterator[str]:
    """Yield a line for each input: random tokens, without and with padding. Raises DataError if the outputs differ."""
    written = written.to(source.dtype)  # of a config.json that names another type than that of the weights
    for name, batch in _batches(source):
        with torch.inference_mode():
            first, second = (_answer(model, batch) for model in (source, written))
        difference, scale = (first - second).abs().max().item(), first.abs().max().item()
        tolerance = TOLERANCE.get(source.dtype, TOLERANCE[torch.float32])
        if not difference <= tolerance * max(scale, 1.0):
            fault = f"outputs differ by {difference:.3g} (largest output {scale:.3g})"
            raise DataError(f"{name}: {fault}: conversion rejected")
        yield f"{name}: maximum difference {difference:.2g}, largest output {scale:.3g}"


def _batches(model: PreTrainedModel) -> Iterator[tuple[str, dict[str, Tensor]]]:
    config = model.config
    vocabulary = min(config.vocab_size, getattr(config, "decoder_vocab_size", config.vocab_size))
    limits = (getattr(config, name, 64) for name in ("max_position_embeddings", "max_seq_len"))
    length = min(*limits, 64) - 4
    ids = torch.randint(vocabulary, (4, length), generator=torch.Generator().manual_seed(0))
    if config.pad_token_id is not None:
        ids = torch.where(ids == config.pad_token_id, (ids + 1) % vocabulary, ids)
    yield "random tokens", {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if config.pad_token_id is not None:
        mask = (torch.arange(length) < torch.tensor([[length], [length // 2], [3], [length - 1]])).long()
        padded = ids.masked_fill(mask == 0, config.pad_token_id)
        yield "random tokens with padding", {"input_ids": padded, "attention_mask": mask}


def _answer(model: PreTrainedModel, batch: dict[str, Tensor]) -> Tensor:
    """Return logits or hidden states in float32, without padding."""
    if model.config.is_encoder_decoder:
        vocabulary = getattr(model.config, "decoder_vocab_size", None) or model.config.vocab_size
        return model(**batch, decoder_input_ids=batch["input_ids"].flip(1) % vocabulary)[0].float()
    outputs, real = model(**batch), batch["attention_mask"].bool()
    if hasattr(outputs, "start_logits"):
        return torch.stack((outputs.start_logits, outputs.end_logits), dim=-1)[real].float()
    return (outputs[0][real] if outputs[0].ndim == 3 else outputs[0]).float()
