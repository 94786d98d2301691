# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Each option of GenerationConfig, on a decoder and encoder-decoders: what native classes make of it, or refuse."""

import copy
from typing import Any

import pytest
import torch
from native_models import PAD, VOCAB, Native, converted
from shared import lively
from tokenizers import Tokenizer, models
from torch import Tensor
from transformers import CompileConfig, GenerationConfig, PreTrainedTokenizerFast

WRITES, TRANSLATES = "ScratchDecoderForCausalLM", "ScratchSeq2SeqForConditionalGeneration"
FAMILIES = {"gpt2": WRITES, "llama": WRITES, "bart": TRANSLATES, "t5": TRANSLATES}
PLAIN: dict[str, Any] = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": PAD, "eos_token_id": None}
SAMPLES, BEAMS = {"do_sample": True}, {"num_beams": 3}
ENDS = {"eos_token_id": list(range(4, 40, 2))}  # half of all tokens
NAMED = {"return_dict_in_generate": True}
DRAFTS = {"prompt_lookup_num_tokens": 3}
HELPED = {"assistant_model": True}  # the model itself
TOKENS = {"tokenizer": True}
SINGLE = {"assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit"}  # take one text
MARKS = {"greenlist_ratio": 0.5, "bias": 9.0, "hashing_key": 7, "seeding_scheme": "lefthash", "context_width": 1}

# The option first, then what it needs to have an effect.
OPTIONS: list[dict[str, Any]] = [
    {"max_length": 12, "max_new_tokens": None}, {"max_new_tokens": 3}, {"min_length": 12, **ENDS},
    {"min_new_tokens": 4, **ENDS}, {"early_stopping": True, **BEAMS, **ENDS}, {"max_time": 1e6},
    {"stop_strings": [f"t{number}" for number in range(4, 27)], **TOKENS}, SAMPLES, BEAMS, {"use_mtp": True},
    {"use_cache": False}, {"cache_implementation": "static"}, {"cache_implementation": "offloaded"},
    {"cache_implementation": "quantized"}, {"cache_config": {"nbits": 2}}, {"max_cache_len": 32},
    {"temperature": 3.0, **SAMPLES}, {"top_k": 2, **SAMPLES}, {"top_p": 0.2, **SAMPLES}, {"min_p": 0.5, **SAMPLES},
    {"top_h": 0.1, **SAMPLES}, {"typical_p": 0.2, **SAMPLES}, {"epsilon_cutoff": 0.1, **SAMPLES},
    {"eta_cutoff": 0.9, **SAMPLES}, {"repetition_penalty": 1.0e3}, {"encoder_repetition_penalty": 50.0},
    {"length_penalty": 9.0, **BEAMS, **ENDS}, {"no_repeat_ngram_size": 1},
    {"bad_words_ids": [[number] for number in range(4, 40)]},
    {"renormalize_logits": True, "top_k": 5, **SAMPLES, "output_scores": True, **NAMED},
    {"forced_bos_token_id": 7}, {"forced_eos_token_id": 8}, {"remove_invalid_values": True},
    {"exponential_decay_length_penalty": (1, 9.0), "eos_token_id": 8}, {"suppress_tokens": list(range(4, 40))},
    {"begin_suppress_tokens": list(range(4, 40))}, {"sequence_bias": [[[9], 1.0e3]]},
    {"token_healing": True, **TOKENS}, {"guidance_scale": 3.0}, {"watermarking_config": MARKS},
    {"num_return_sequences": 2, **BEAMS}, {"output_attentions": True, **NAMED}, {"output_hidden_states": True, **NAMED},
    {"output_scores": True, **NAMED}, {"output_logits": True, **NAMED}, NAMED, {"pad_token_id": 5, **ENDS},
    {"bos_token_id": 9}, ENDS, {"encoder_no_repeat_ngram_size": 1}, {"decoder_start_token_id": 11},
    {"is_assistant": True}, {"num_assistant_tokens": 2, **HELPED},
    {"num_assistant_tokens_schedule": "constant", **HELPED}, {"assistant_confidence_threshold": 0.9, **HELPED}, DRAFTS,
    {"max_matching_ngram_size": 1, **DRAFTS}, {"assistant_early_exit": 1}, {"assistant_lookbehind": 3, **HELPED},
    {"target_lookbehind": 3, **HELPED}, {"assistant_ensemble_weight": 0.5, **HELPED}, {"speculation_type": "mtp"},
    {"compile_config": CompileConfig()}, {"disable_compile": True}, {"continuous_batching_config": None},
    {"low_memory": True}, {"penalty_alpha": 0.6, "top_k": 4}, {"dola_layers": "low"}, {"diversity_penalty": 1.0},
    {"num_beam_groups": 2, **BEAMS}, {"constraints": []}, {"force_words_ids": [[9]], **BEAMS},
    {"prefill_chunk_size": 2},
    {"transformers_version": "5.0.0"},
]  # fmt: skip
# What native encoder-decoders compute from a decoder's tokens as a source.
REFUSED = {"guidance_scale": "guidance_scale, which gives neither, is for decoders"}

WORKS = {"assistant_early_exit": {"assistant_model": True}}  # native GPT-2 and T5 fail; drafts change no answer
SCALED = {("t5", "output_hidden_states")}  # the last states: what divides logits is in the weights of the last norm


def tokenizer() -> PreTrainedTokenizerFast:
    words = {"<unk>": 0, "<pad>": PAD, "abcdef": 2}  # the last is what stop_strings tries a vocabulary by
    words |= {f"t{number}": number for number in range(3, VOCAB)}
    tokens = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="<pad>", unk_token="<unk>", bos_token="t3")


def generated(model: Any, options: dict[str, Any]) -> Any:
    """What generate returns for two texts, as tensors and tuples, or the name of its error and what it says."""
    ids = torch.randint(4, VOCAB, (2, 9), generator=torch.Generator().manual_seed(3))
    if not SINGLE.isdisjoint(options):
        ids = ids[:1]
    options = {**PLAIN, "attention_mask": torch.ones_like(ids), **options}
    options |= {"assistant_model": model} if "assistant_model" in options else {}
    options |= {"tokenizer": tokenizer()} if "tokenizer" in options else {}
    torch.manual_seed(0)
    try:
        outputs = model.generate(ids, **options)
    except Exception as error:
        return type(error).__name__, str(error)
    if isinstance(outputs, Tensor):
        return outputs
    return {name: value for name, value in outputs.items() if not name.endswith("past_key_values")}


def test_every_option_is_here() -> None:
    """A new one of the library fails here first."""
    names = {name for name in vars(GenerationConfig()) if not name.startswith("_")}
    assert names - {next(iter(options)) for options in OPTIONS} == set()


@pytest.mark.parametrize(
    "model_type", [name if name == "gpt2" else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES]
)
@pytest.mark.filterwarnings("ignore")
@torch.no_grad()
def test_every_option_does_what_it_does_in_the_native_class(model_type: str) -> None:
    native = Native(model_type, FAMILIES[model_type])
    reference = lively(native.model_class(native.config(attn_implementation="eager"))).eval()
    models, different = (reference, converted(native, reference)), {}
    for options in OPTIONS:
        name = next(iter(options))
        expected, found = (generated(copy.deepcopy(each), options) for each in models)
        if name in REFUSED and native.is_seq2seq:
            assert REFUSED[name] in found[1]
        elif name in WORKS and is_error(expected):
            assert torch.equal(found, generated(reference, WORKS[name]))
        elif (model_type, name) not in SCALED:
            different[str(options)] = difference(found, expected)
    assert {options: said for options, said in different.items() if said} == {}


def difference(found: Any, expected: Any) -> str:
    try:
        if is_error(expected) or is_error(found):
            assert found[0] == expected[0]
        else:
            torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4)
    except AssertionError as error:
        return f"{error}: {found}, native: {expected}"
    return ""


def is_error(outcome: Any) -> bool:
    return isinstance(outcome, tuple)
