# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Count how often the host waits for an accelerator in one call of a model, beside the Hugging Face class.

python tests/measure_waits.py

It needs no accelerator: a stand-in counts the operators that make the host wait (tests/stand_in_device.py). It prints
a table in Markdown.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain
from typing import Any

import torch
import transformers
from stand_in_device import NAMES, stand_in
from transformers import BartConfig, BartForConditionalGeneration

import modeling_scratch
from modeling_scratch.benchmark.data import Batch, on_device, packed
from modeling_scratch.benchmark.models import CLASSIFIER, DECODER, Kind
from modeling_scratch.benchmark.settings import Settings
from modeling_scratch.bridges.conversion import convert_config
from modeling_scratch.utils.command_line import quiet_libraries
from modeling_scratch.utils.markdown import table

COLUMNS = "model", "batch", "call", "modeling-scratch", "Hugging Face"
LENGTHS = 9, 5, 7
SETTINGS = Settings(quick=True, attention_dropout=0.0)


def bart(settings: Settings) -> BartConfig:
    shape = settings.shape
    return BartConfig(
        vocab_size=shape.vocab_size, d_model=shape.width, encoder_layers=shape.layers, decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads, decoder_attention_heads=shape.heads, encoder_ffn_dim=shape.inner,
        decoder_ffn_dim=shape.inner, pad_token_id=0,
    )  # fmt: skip


KINDS = {
    "BERT": CLASSIFIER,
    "GPT-2": DECODER,
    "BART": Kind(BartForConditionalGeneration, "ScratchSeq2SeqForConditionalGeneration", bart),
}


def batches(name: str) -> dict[str, Batch]:
    """Three texts, padded, and packed into one row where one stack reads them."""
    rows = [list(range(5, 5 + length)) for length in LENGTHS]
    width = max(LENGTHS)
    padded = {
        "input_ids": torch.tensor([row + [0] * (width - len(row)) for row in rows]),
        "attention_mask": torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows]),
    }
    if name == "BERT":
        return {"padded": {**padded, "labels": torch.tensor([0, 1, 0])}, "packed": packed(rows)}
    padded["labels"] = padded["input_ids"].masked_fill(padded["attention_mask"] == 0, -100)
    if name == "BART":
        return {"padded": {**padded, "decoder_input_ids": padded["input_ids"]}}
    return {"padded": padded, "packed": {**packed(rows), "labels": torch.tensor([[*chain.from_iterable(rows)]])}}


def train(model: Any, batch: Batch) -> None:
    """Forward, backward, clipping and fused AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    model.train()(**batch).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def infer(model: Any, batch: Batch) -> None:
    with torch.inference_mode():
        model.eval()(**{name: value for name, value in batch.items() if name != "labels"})


CALLS = {"training": train, "inference": infer}


def waits(device: str, model: Any, batch: Batch, call: str) -> Counter[str]:
    """Of a second call; the first may set things up."""
    with stand_in(device) as counted:
        model, batch = model.to(device), on_device(batch, device)
        for _ in range(2):
            counted.waits.clear()
            CALLS[call](model, batch)
        return Counter(counted.waits)


def rows_of(device: str) -> Iterator[list[str]]:
    for name, kind in KINDS.items():
        native = kind.config(SETTINGS)
        native.problem_type = "single_label_classification"
        native.attn_pdrop = native.attention_dropout = 0.0  # the stand-in's kernels have no dropout
        for form, batch in batches(name).items():
            for call in CALLS:
                own_class = getattr(modeling_scratch, kind.ours)
                own = waits(device, own_class(convert_config(native)), batch, call)
                is_read_whole = name == "BERT" and form == "packed"
                theirs = None if is_read_whole else waits(device, kind.native(native), batch, call)
                yield [
                    name,
                    form,
                    call,
                    described(own),
                    "takes no packed texts" if theirs is None else described(theirs),
                ]


def described(found: Counter[str]) -> str:
    parts = [f"{count} × {name}" for name, count in sorted(found.items())]
    return f"{found.total()}: {', '.join(parts)}" if parts else "0"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--device", choices=NAMES, default="cuda", help="What the stand-in calls itself.")
    given = parser.parse_args(arguments)
    print(table(COLUMNS, list(rows_of(given.device))))
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(f"\n{date.today()}, a stand-in of {given.device}, {versions}")


if __name__ == "__main__":
    quiet_libraries()
    main()
