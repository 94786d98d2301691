# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Pretraining objectives: models, tokenizers, rows of tokens and collators."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from modeling_scratch import (
    ScratchDecoderForCausalLM,
    ScratchEncoderForMaskedLM,
    ScratchSeq2SeqForConditionalGeneration,
)
from tokenization import special_token_ids

from .. import presets
from ..bridges.configs import FAMILIES
from ..bridges.model_sources import load_checkpoint, load_model, preset_config
from ..configuration_scratch import ScratchConfig
from ..data.collators import Batch, Denoise, MaskTokens, next_token_batch, sentence_ends
from ..data.documents import Documents
from ..data.packed_documents import (
    DocumentTokenizer,
    Frame,
    PackedRows,
    Pieces,
    TokenRow,
    template_frame,
)
from ..modeling_base import ScratchPreTrainedModel
from ..report.pretraining import PretrainingData, TextSize
from ..utils.errors import DataError
from ..utils.options import REQUIRED, option
from .encoder_models import check_folders, new_tokenizer


class Objective(NamedTuple):
    """What differs between objectives. needs: special tokens; masked: the fraction of the tokens, by default."""

    presets: Mapping[str, Callable[..., ScratchConfig]]
    preset: str
    auto_class: Any
    model_class: Callable[..., PreTrainedModel]
    style: str  # of the tokenizer
    needs: Sequence[str]
    masked: float = 0.0


OBJECTIVES = {
    "mlm": Objective(
        presets.ENCODERS, "reviews", AutoModelForMaskedLM, ScratchEncoderForMaskedLM, "bert",
        ("mask_token", "pad_token"), 0.15,
    ),
    "clm": Objective(
        presets.DECODERS, "characters", AutoModelForCausalLM, ScratchDecoderForCausalLM, "gpt", ("eos_token",)
    ),
    "denoising": Objective(
        presets.SEQ2SEQS, "captions", AutoModelForSeq2SeqLM, ScratchSeq2SeqForConditionalGeneration, "bart",
        ("mask_token", "pad_token", "eos_token"), 0.3,
    ),
}  # fmt: skip
PRESETS = "; ".join(f"{name}: {', '.join(objective.presets)}" for name, objective in OBJECTIVES.items())
LONGEST_BLOCK = 2**17  # the context of Llama 3.1


@dataclass
class PretrainingModelArguments:
    """The objective and the model to train: a preset from scratch or a checkpoint to continue."""

    objective: Literal["mlm", "clm", "denoising"] = option(
        REQUIRED, "Masked tokens (encoder), the next token (decoder) or denoising (encoder-decoder)."
    )
    preset: str | None = option(
        None,
        f"The configuration of a new model. {PRESETS}.",
        sorted({name for objective in OBJECTIVES.values() for name in objective.presets}),
    )
    config_overrides: str | None = option(None, "Changes to the preset, e.g. hidden_size=128,hidden_act=gelu.")
    model_name_or_path: str | None = option(None, "A checkpoint to continue training, instead of a new model.")
    tokenizer_name_or_path: str | None = option(None, "An existing tokenizer, instead of a new one.")
    tokenizer_kind: Literal["byte_bpe", "bpe", "wordlevel", "words", "character"] = option(
        "byte_bpe", "The kind of a new tokenizer; byte_bpe and character are lossless."
    )
    vocab_size: int = option(16_000, "The maximum vocabulary size of a new tokenizer.")
    lowercase: bool = option(False, "Lower-case the text in a new tokenizer.")
    block_size: int = option(128, "Tokens per row, the maximum context.")
    whole_word: bool = option(False, "mlm: mask whole words.")
    mask_fraction: float | None = option(
        None, "The fraction of tokens to mask; by default 0.15 for mlm, 0.3 for denoising."
    )
    trust_remote_code: bool = option(False, "Allow the checkpoint's own code to run.")

    def __post_init__(self) -> None:
        if self.model_name_or_path and (self.config_overrides or self.preset):
            raise DataError("--preset and --config_overrides apply to a new model, not to --model_name_or_path")
        check_folders(self)
        if not self.model_name_or_path:  # builds the config before the data are read
            preset_config(self.choice.presets, self.preset or self.choice.preset, self.config_overrides)
        if not 8 <= self.block_size <= LONGEST_BLOCK:
            raise DataError(f"--block_size {self.block_size}: must be at least 8, and at most {LONGEST_BLOCK:,}")
        if self.mask_fraction is not None and not 0 < self.mask_fraction < 1:
            raise DataError(f"--mask_fraction {self.mask_fraction}: must be between 0 and 1")
        if self.mask_fraction is not None and self.objective == "clm":
            raise DataError("--mask_fraction requires --objective mlm or denoising: clm masks no token")
        if self.whole_word and (self.objective != "mlm" or self.tokenizer_kind == "character"):
            raise DataError("--whole_word requires --objective mlm and a --tokenizer_kind other than character")

    @property
    def choice(self) -> Objective:
        return OBJECTIVES[self.objective]


def build_tokenizer(
    arguments: PretrainingModelArguments, texts: Sequence[str], resumed: str | None = None
) -> PreTrainedTokenizerBase:
    """Load the named or the checkpoint's tokenizer, or train a new one on `texts`, those of the train split.

    resumed: the checkpoint that this run resumes from; its tokenizer takes precedence.
    """
    if name := resumed or arguments.tokenizer_name_or_path or arguments.model_name_or_path:
        return load_checkpoint(AutoTokenizer, name, arguments.trust_remote_code)
    return new_tokenizer(arguments, texts, style=arguments.choice.style, lowercase=arguments.lowercase)


def build_model(arguments: PretrainingModelArguments, tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """Build a new model from the preset, or load the checkpoint and resize its embeddings to the tokenizer.

    The model has positions for block_size tokens. The tokenizer's model_max_length is set to the model's limit.
    """
    if arguments.model_name_or_path:
        objective, name = arguments.choice, arguments.model_name_or_path
        model: Any = load_model(objective.auto_class, objective.model_class.__name__, name, arguments.trust_remote_code)
        # Packed rows require a model that separates documents; denoising uses padded rows.
        if arguments.objective != "denoising" and not isinstance(model, ScratchPreTrainedModel):
            raise DataError(
                f"--model_name_or_path {name}: {type(model).__name__} would read the documents of a row as one; "
                f"convertible families: {', '.join(FAMILIES)}"
            )
        if len(tokenizer) > model.get_input_embeddings().num_embeddings:
            model.resize_token_embeddings(len(tokenizer))
    else:
        model = arguments.choice.model_class(_new_config(arguments, tokenizer))
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions is not None and arguments.block_size > positions:
        told = f"the model has positions for {positions} tokens (max_position_embeddings)"
        raise DataError(f"--block_size {arguments.block_size}: {told}")
    limit = tokenizer.model_max_length if positions is None else positions
    is_given = arguments.tokenizer_name_or_path or arguments.model_name_or_path
    tokenizer.model_max_length = min(tokenizer.model_max_length, limit) if is_given else limit
    return model


def _new_config(arguments: PretrainingModelArguments, tokenizer: PreTrainedTokenizerBase) -> ScratchConfig:
    """Build the config. Learned positions are limited to block_size; others keep a longer limit of the preset."""
    fixed: dict[str, Any] = {"vocab_size": len(tokenizer), **special_token_ids(tokenizer)}
    if arguments.objective == "mlm":
        fixed["sparse_prediction"] = True  # the head of a small model costs several times as much as its stack
    chosen = arguments.choice.presets, arguments.preset or arguments.choice.preset, arguments.config_overrides
    default, longest = preset_config(*chosen, **fixed), arguments.block_size
    if default.position_type != "learned":
        longest = max(longest, default.max_position_embeddings)
    return preset_config(*chosen, **fixed, max_position_embeddings=longest)


def prepare(
    arguments: PretrainingModelArguments, documents: Documents, tokenizer: PreTrainedTokenizerBase, seed: int
) -> PretrainingData:
    """Tokenise the documents into packed rows or, for an encoder-decoder, into pieces to be padded.

    Raises `DataError` if the tokenizer lacks a special token that the objective requires.
    """
    for token in arguments.choice.needs:
        if getattr(tokenizer, token) is None:
            raise DataError(f"the tokenizer has no {token}, which --objective {arguments.objective} requires")
    frame, longest = document_frame(tokenizer, arguments.objective), arguments.block_size
    is_denoising, splits = arguments.objective == "denoising", dict[str, Any]()
    to_tokens = DocumentTokenizer(tokenizer, ([], []) if is_denoising else frame, arguments.whole_word)
    for split, texts in (("validation", documents.validation), ("train", documents.train)):
        if is_denoising:
            splits[split] = Pieces(to_tokens(texts), longest=longest - sum(map(len, frame)))
        else:
            pad = tokenizer.pad_token_id or 0
            splits[split] = PackedRows(to_tokens(texts), block_size=longest, pad_token_id=pad)
    notes = [f"{split}: {splits[split]}, {_counts(splits[split].ids, tokenizer)}" for split in ("train", "validation")]
    collator, train = make_collator(arguments, tokenizer, frame, seed), splits["train"]
    return PretrainingData(
        train, splits["validation"], collator, train.tokens_per_row(), arguments.objective, longest,
        TextSize.of(documents.validation), arguments.objective == "clm" and bool(frame[0]), notes,
    )  # fmt: skip


def document_frame(tokenizer: PreTrainedTokenizerBase, objective: str) -> Frame:
    """Return the special tokens around a document: the tokenizer's template; for clm, bos (if any) and eos."""
    if objective != "clm":
        return template_frame(tokenizer)
    return [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else [], [tokenizer.eos_token_id]


def _counts(ids: np.ndarray, tokenizer: PreTrainedTokenizerBase) -> str:
    unknown = int((ids == tokenizer.unk_token_id).sum()) if tokenizer.unk_token_id is not None else 0
    return f"{len(ids):,} tokens" + (f", {unknown:,} of them unknown" if unknown else "")


def make_collator(
    arguments: PretrainingModelArguments, tokenizer: PreTrainedTokenizerBase, frame: Frame, seed: int
) -> Callable[[Sequence[TokenRow]], Batch]:
    """Return the collator of the objective."""
    if arguments.objective == "clm":
        return next_token_batch
    ordinary = np.ones(len(tokenizer), dtype=bool)
    ordinary[tokenizer.all_special_ids] = False
    fraction = arguments.mask_fraction or arguments.choice.masked
    if arguments.objective == "mlm":
        return MaskTokens(tokenizer.mask_token_id, ordinary, fraction, seed)
    ends = sentence_ends(tokenizer)
    return Denoise(tokenizer.mask_token_id, ends, fraction, frame, tokenizer.pad_token_id, seed)
