# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Examine small models of the package's classes and of the library's, and print what was found in Markdown.

python scripts/maintenance/examine_classes.py                   # the table of docs/experiments/results.md
python scripts/maintenance/examine_classes.py --checks          # the list of checks
python scripts/maintenance/examine_classes.py --only LlamaForCausalLM
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import transformers

import modeling_scratch
from modeling_scratch.doctor import Verdict, check
from modeling_scratch.doctor.checks import CHECKS
from modeling_scratch.utils.command_line import quiet_libraries
from modeling_scratch.utils.markdown import table

IDS = {"vocab_size": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32, **IDS,
}  # fmt: skip
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32, **IDS}
T5 = {"d_model": 16, "d_kv": 4, "num_layers": 2, "num_heads": 4, "d_ff": 24, "decoder_start_token_id": 0, **IDS}
BART = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 32, "decoder_start_token_id": 2, **IDS,
}  # fmt: skip
MODERN_BERT = {**SIZES, "cls_token_id": 1, "sep_token_id": 2}
OURS = {name: SIZES for name in modeling_scratch.__all__ if name.startswith("Scratch") and not name.endswith("Config")}
ROTARY = {"position_type": "rotary", "norm_position": "pre", "norm_type": "rms_norm", "hidden_act": "swiglu"}
RELATIVE = {"position_type": "relative", "relative_attention_num_buckets": 8, "relative_attention_max_distance": 8}
LOCAL = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4, "local_rope_theta": 100.0}
PARTIAL = {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}}
# A class, and after the colon what is set otherwise than by default.
VARIANTS: dict[str, dict[str, Any]] = {
    "ScratchEncoderForMaskedLM:alibi,sandwich": {**SIZES, "position_type": "alibi", "norm_position": "sandwich"},
    "ScratchEncoderForMaskedLM:local,no_first_norm": {**SIZES, **ROTARY, **LOCAL, "first_norm": False},
    "ScratchDecoderForCausalLM:local,query_key_norm": {**SIZES, **ROTARY, **LOCAL, "query_key_norm": True},
    "ScratchDecoderForCausalLM:parallel,partial_rotary": {**SIZES, **ROTARY, **PARTIAL, "block_type": "parallel"},
    "ScratchSeq2SeqForConditionalGeneration:relative": {**SIZES, **RELATIVE, "decoder_start_token_id": 1},
}
THEIRS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": SIZES,
    "BertForSequenceClassification": SIZES,
    "GPT2LMHeadModel": GPT2,
    "BartForConditionalGeneration": BART,
    "T5ForConditionalGeneration": T5,
    "LlamaForCausalLM": {**SIZES, "num_key_value_heads": 2},
    "ModernBertForMaskedLM": MODERN_BERT,
}
ROWS = {**OURS, **VARIANTS, **THEIRS}


def class_of(name: str) -> Any:
    """Return the class of a row, ours or the library's."""
    name = name.partition(":")[0]
    return getattr(modeling_scratch, name, None) or getattr(transformers, name)


def examined(name: str, settings: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return a row, of the class, the counts of verdicts and the seconds, and a list of what falls short."""
    model_class = class_of(name)
    start = time.perf_counter()
    diagnosis = check(model_class, model_class.config_class(**settings))
    seconds = time.perf_counter() - start
    counts = [str(len(diagnosis.of(verdict))) for verdict in Verdict]
    short = [f"- `{name}`, {found.check}: {found.what}" for found in diagnosis.of(Verdict.FALLS_SHORT)]
    return [name, *counts, f"{seconds:.0f}"], short


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checks", action="store_true", help="list the checks")
    parser.add_argument("--only", nargs="+", choices=list(ROWS), help="classes; by default, all")
    options = parser.parse_args(arguments)
    if options.checks:
        print(table(["check", "what holds"], [[each.name, each.says] for each in CHECKS]))
        return
    rows, short = [], []
    for name, settings in ROWS.items():
        if not options.only or name in options.only:
            print(name, file=sys.stderr)
            row, found = examined(name, settings)
            rows.append(row)
            short += found
    print(table(["class", *(verdict.value for verdict in Verdict), "seconds"], rows))
    if short:
        print("", "What falls short:", "", *short, sep="\n")


if __name__ == "__main__":
    quiet_libraries()
    main()
