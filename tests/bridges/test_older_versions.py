# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Exported folders name what version 4 of Transformers reads, and compute the same there.

MODELING_SCRATCH_TRANSFORMERS_4: a Python that has it (`pip install transformers==4.57.* torch`).
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from native_models import NATIVES, Native
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoTokenizer

import modeling_scratch
from modeling_scratch import export_pretrained, load_pretrained
from tokenization import KINDS

OLDER = os.environ.get("MODELING_SCRATCH_TRANSFORMERS_4", "")
# FOLDER: prints the tokens of a text, or what a model answers to batches.
READ = """
import json, sys, torch, transformers
from pathlib import Path
from safetensors.torch import load_file, save_file
folder = sys.argv[1]
if folder.endswith("tokenizer"):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    print(json.dumps([tokenizer("a film<x> b")["input_ids"], tokenizer.additional_special_tokens]))
else:
    config = json.load(open(f"{folder}/config.json"))
    model = getattr(transformers, config["architectures"][0]).from_pretrained(folder).eval()
    with torch.no_grad():
        found = {path.name: model(**load_file(path))[0].contiguous() for path in Path(folder).glob("batch-*")}
    save_file(found, f"{folder}/found")
"""
YARN = {"rope_type": "yarn", "rope_theta": 300.0, "factor": 2.0, "original_max_position_embeddings": 8}
LLAMA = Native("llama", "ScratchDecoderForCausalLM")


def by_version_4(test: Any) -> Any:
    return pytest.mark.slow(pytest.mark.skipif(not OLDER, reason="needs MODELING_SCRATCH_TRANSFORMERS_4")(test))


def exported(native: Native, folder: Path, **changes: Any) -> Any:
    """A native model, whose conversion is exported again to a folder."""
    model = native.model(**changes)
    model.save_pretrained(folder / "native")
    ours = load_pretrained(folder / "native", getattr(modeling_scratch, native.head))
    export_pretrained(ours, folder / "exported", model_type=native.model_type)
    return model


def tokenizer_folder(folder: Path) -> Path:
    tokenizer = KINDS["words"](["a film", "b film"] * 5, vocab_size=40, min_frequency=1, show_progress=False)
    tokenizer.add_special_tokens({"extra_special_tokens": ["<x>"]})
    ours = load_pretrained(folder / "native")
    export_pretrained(ours, folder / "tokenizer", tokenizer)
    return folder / "tokenizer"


SCALING = {name: value for name, value in YARN.items() if name != "rope_theta"}
POSITIONS: dict[str, dict[str, Any]] = {
    "mistral": {"rope_theta": 500.0},
    "phi": {"rope_theta": 500.0, "partial_rotary_factor": 0.67},
    "gemma3_text": {"rope_theta": 1e6, "rope_local_base_freq": 10_000.0},
    "modernbert": {"global_rope_theta": 500.0, "local_rope_theta": 50.0, "global_attn_every_n_layers": 2},
    "llama": {"rope_theta": 300.0, "rope_scaling": SCALING},
}


@pytest.mark.parametrize("model_type", POSITIONS)
def test_positions_have_the_names_of_both_versions(model_type: str, tmp_path: Path) -> None:
    expected = POSITIONS[model_type]
    native = next(each for each in NATIVES if each.model_type == model_type)
    model = exported(native, tmp_path, **({"rope_parameters": YARN} if model_type == "llama" else {}))
    written = json.loads((tmp_path / "exported" / "config.json").read_text())
    assert expected.items() <= written.items()
    found = AutoConfig.from_pretrained(tmp_path / "exported").rope_parameters
    assert model.config.rope_parameters.items() <= found.items()


def test_tokenizers_have_names_of_both_versions(tmp_path: Path) -> None:
    exported(LLAMA, tmp_path)
    folder = tokenizer_folder(tmp_path)
    written = json.loads((folder / "tokenizer_config.json").read_text())
    assert (written["tokenizer_class"], written["additional_special_tokens"]) == ("PreTrainedTokenizerFast", ["<x>"])
    assert "extra_special_tokens" not in written
    assert AutoTokenizer.from_pretrained(folder).extra_special_tokens == ["<x>"]


def read_by_version_4(folder: Path) -> str:
    command = [OLDER, "-c", READ, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@by_version_4
@pytest.mark.parametrize("native", NATIVES, ids=str)
def test_version_4_computes_the_same(native: Native, tmp_path: Path) -> None:
    model, batches = exported(native, tmp_path), [*native.texts(), native.batch("right")]
    for number, batch in enumerate(batches):
        tensors = {name: value.contiguous() for name, value in batch.items()}
        save_file(tensors, tmp_path / "exported" / f"batch-{number}")
    read_by_version_4(tmp_path / "exported")
    answers = load_file(tmp_path / "exported" / "found")
    with torch.no_grad():
        for number, batch in enumerate(batches):
            answer = answers[f"batch-{number}"]
            expected, mask = model(**batch)[0], batch.get("attention_mask")
            if mask is not None and mask.shape == expected.shape[:2]:  # at padding, nobody reads what is there
                expected, answer = expected[mask.bool()], answer[mask.bool()]
            torch.testing.assert_close(answer, expected, rtol=1e-4, atol=1e-5)


@by_version_4
def test_version_4_reads_the_tokenizer(tmp_path: Path) -> None:
    exported(LLAMA, tmp_path)
    folder = tokenizer_folder(tmp_path)
    ids = AutoTokenizer.from_pretrained(folder)("a film<x> b")["input_ids"]
    assert json.loads(read_by_version_4(folder)) == [ids, ["<x>"]]


@by_version_4
def test_version_4_is_told_which_version_our_classes_need(tmp_path: Path) -> None:
    LLAMA.model().save_pretrained(tmp_path / "native")
    load_pretrained(tmp_path / "native").save_pretrained(tmp_path / "ours")
    code = f"import transformers; transformers.AutoConfig.from_pretrained('{tmp_path}/ours', trust_remote_code=True)"
    ended = subprocess.run([OLDER, "-c", code], capture_output=True, text=True)
    assert "transformers>=5.17 is required" in ended.stderr
