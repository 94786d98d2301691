# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The model that generate.py writes with, of whichever family a checkpoint is, and how it is to write."""

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from continuation import Continuer
from model_sources import check_folder, load_checkpoint
from text_files import DataError
from text_generation import DEFAULT_NEW_TOKENS, TextGenerator
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM
from translation import Translator
from translation_model import Tokenizers, load_tokenizers

import modeling_scratch  # noqa: F401  its models become known to the Auto classes

# Heads that a class for generation would load, too, and answer at random or without looking back.
OTHER_HEADS = {
    "ForSequenceClassification": "classify with it: scripts/predict.py",
    "ForTokenClassification": "it labels tokens",
    "ForQuestionAnswering": "it finds answers in texts",
    "ForMaskedLM": "it fills gaps; pretrain a decoder with scripts/pretrain.py --objective clm",
}
SAMPLING = ("temperature", "top_k", "top_p")
LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "max_new_tokens": (lambda value: value >= 1, "at least 1"),
    "num_beams": (lambda value: value >= 1, "at least 1"),
    "num_return_sequences": (lambda value: value >= 1, "at least 1"),
    "temperature": (lambda value: value > 0, "above 0; to take the likeliest token always, --do_sample False"),
    "top_k": (lambda value: value >= 0, "at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "above 0 and at most 1"),
    "repetition_penalty": (lambda value: value > 0, "above 0"),
}


@dataclass
class SearchArguments:
    """How texts are searched for; what is not given is as generation_config.json of the checkpoint says."""

    max_new_tokens: int | None = field(
        default=None,
        metadata={"help": f"The longest text; {DEFAULT_NEW_TOKENS} tokens where the checkpoint says nothing either."},
    )
    do_sample: bool | None = field(
        default=None,
        metadata={"help": f"Draw tokens; --{', --'.join(SAMPLING)} say so, too.", "nargs": "?", "const": True},
    )
    temperature: float | None = field(default=None, metadata={"help": "Below 1 draws likely tokens more often."})
    top_k: int | None = field(default=None, metadata={"help": "Draw from so many likeliest tokens; 0: from all."})
    top_p: float | None = field(default=None, metadata={"help": "Draw from the likeliest tokens of this share."})
    repetition_penalty: float | None = field(default=None, metadata={"help": "Above 1 avoids what was said."})
    num_beams: int | None = field(default=None, metadata={"help": "Texts that a beam search follows; 1: no beam."})
    length_penalty: float | None = field(default=None, metadata={"help": "Of beams: above 1 favours longer texts."})
    num_return_sequences: int | None = field(default=None, metadata={"help": "Texts for each line of the input."})

    def __post_init__(self) -> None:
        for name, (fits, limits) in LIMITS.items():
            if (value := getattr(self, name)) is not None and not fits(value):
                raise DataError(f"--{name} {value}: has to be {limits}")
        said = [f"--{name}" for name in SAMPLING if getattr(self, name) is not None]
        if said and self.do_sample is False:
            raise DataError(f"{', '.join(said)}: says how to draw tokens, and --do_sample False not to")
        if said:
            self.do_sample = True

    def given(self) -> dict[str, Any]:
        """As arguments of model.generate."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def load_generator(
    name: str, search: SearchArguments, batch_size: int, device: str | None, trust_remote_code: bool
) -> TextGenerator:
    """Raises `DataError` for a checkpoint that cannot write, or would write at random."""
    check_folder(name, "--model_name_or_path")
    try:
        model, tokenizers = _load(name, trust_remote_code)
    except DataError:
        raise
    except Exception as error:  # from files, network, configuration or code: the libraries' own are open-ended
        raise DataError(f"--model_name_or_path {name}: {textwrap.shorten(str(error), 240)}") from error
    _move(model.eval(), device)
    generator: TextGenerator
    if model.config.is_encoder_decoder:
        generator = Translator(model, *tokenizers, batch_size=batch_size, **search.given())
    else:
        generator = Continuer(model, tokenizers[0], batch_size, **search.given())
    generator.generation["max_new_tokens"] = generator.max_new_tokens
    # Two limits would be one too many, and an end that is forced would hide that there was none.
    model.generation_config.max_length = model.generation_config.forced_eos_token_id = None
    _check_number_of_texts(generator)
    return generator


def _move(model: Any, device: str | None) -> None:
    """To the device, or to an accelerator where there is one."""
    place = device or torch.accelerator.current_accelerator(check_available=True) or "cpu"
    try:
        model.to(place)
    except Exception as error:  # from the name, or from drivers: not only a RuntimeError
        raise DataError(f"--device {place}: {textwrap.shorten(str(error), 240)}") from error


def _load(name: str, trust_remote_code: bool) -> tuple[Any, Tokenizers]:
    config = load_checkpoint(AutoConfig, name, trust_remote_code)
    architecture = (config.architectures or [""])[0]
    for head, advice in OTHER_HEADS.items():
        if architecture.endswith(head):
            raise DataError(f"--model_name_or_path {name}: {architecture} does not write texts; {advice}")
    auto_class = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model, info = load_checkpoint(auto_class, name, trust_remote_code, output_loading_info=True)
    if missing := sorted(info["missing_keys"]):
        raise DataError(f"--model_name_or_path {name}: nothing is trained to write, it has no {', '.join(missing[:3])}")
    tokenizers = load_tokenizers(name, trust_remote_code)
    for tokenizer in tokenizers:
        if len(tokenizer) <= len(tokenizer.all_special_tokens):  # what some families make up where there is no file
            raise DataError(f"--model_name_or_path {name}: there is no tokenizer in it")
    return model, tokenizers


def _check_number_of_texts(generator: TextGenerator) -> None:
    texts, beams = (generator.setting(name, 1) for name in ("num_return_sequences", "num_beams"))
    if texts > beams and (beams > 1 or not generator.setting("do_sample", False)):
        raise DataError(f"--num_return_sequences {texts}: goes with --do_sample, or with --num_beams {texts} or more")
