# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write tests/fixtures/saved/NAME: what a version of the package saves, and computes, for later versions to load.

    PYTHONPATH=. python tests/write_fixtures.py 0.3.0

An earlier version writes its own folders with its own code. Those of 0.1.0 were written by its last commit:

    mkdir /tmp/earlier && git archive 3678ec7^ modeling_scratch tokenization | tar x -C /tmp/earlier
    PYTHONPATH=/tmp/earlier python tests/write_fixtures.py 0.1.0

test_earlier_versions.py loads all of them:

    models/NAME       config, weights, and what the model computes (expected.safetensors); expected.json with its class,
                      its Auto class and the names and shapes of its state dict
    code.tar.xz       the code that save_pretrained copied beside the weights: a folder for each family
    presets           the configuration of each preset
    tokenizers/KIND   a tokenizer of each kind, and the tokens of TEXTS in tokenizers/expected.json
    records/TYPE.json the record, verify.json, of a model with weights of this type
"""

import argparse
import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel

import modeling_scratch
import tokenization
from modeling_scratch import presets
from modeling_scratch.verify import write_verification

SAVED = Path(__file__).parent / "fixtures" / "saved"
FAMILIES = {"encoder": "ScratchEncoder", "decoder": "ScratchDecoder", "seq2seq": "ScratchSeq2Seq"}
RECORDED = "ScratchEncoderForSequenceClassification"
Settings = dict[str, Any]

TINY: Settings = {
    "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 32, "num_labels": 3, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
CLASSES = (
    "ScratchEncoderModel", "ScratchEncoderForMaskedLM", "ScratchEncoderForSequenceClassification",
    "ScratchEncoderForTokenClassification", "ScratchEncoderForQuestionAnswering", "ScratchDecoderModel",
    "ScratchDecoderForCausalLM", "ScratchDecoderForSequenceClassification", "ScratchSeq2SeqModel",
    "ScratchSeq2SeqForConditionalGeneration",
)  # fmt: skip

# Class and name of the variant: settings. Together they use every switch.
LEARNED: Settings = {"position_type": "learned", "position_offset": 2, "embedding_norm": True, "hidden_act": "gelu"}
LLAMA: Settings = {
    "norm_position": "pre", "norm_type": "rms_norm", "norm_eps": 1e-6, "position_type": "rotary",
    "hidden_act": "swiglu", "num_key_value_heads": 2, "attention_bias": False, "mlp_bias": False,
}  # fmt: skip
SCALED: Settings = {"factor": 8.0, "original_max_position_embeddings": 16}
SINCE_0_1_0: dict[str, Settings] = {
    "ScratchEncoderForSequenceClassification-bert": {
        **LEARNED, "type_vocab_size": 2, "classifier_activation": "tanh", "classifier_dropout": 0.2,
    },
    "ScratchEncoderForSequenceClassification-mean": {**LLAMA, "classifier_pooling": "mean"},
    "ScratchEncoderForSequenceClassification-max": {
        "classifier_pooling": "max", "problem_type": "multi_label_classification", "hidden_act": "reglu",
    },
    "ScratchEncoderForSequenceClassification-regression": {"problem_type": "regression", "num_labels": 1},
    "ScratchEncoderForMaskedLM-factorised": {"embedding_size": 8, "position_type": "sinusoidal_halves"},
    "ScratchEncoderForMaskedLM-sparse": {"sparse_prediction": True, "position_type": "none", "hidden_act": "geglu"},
    "ScratchDecoderForCausalLM-gpt2": {**LEARNED, "norm_position": "pre", "hidden_act": "gelu_tanh"},
    "ScratchDecoderForCausalLM-llama": {**LLAMA, "tie_word_embeddings": False, "head_dim": 6, "lm_head_bias": True},
    "ScratchDecoderForCausalLM-linear": {**LLAMA, "rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "ScratchDecoderForCausalLM-dynamic": {
        **LLAMA, "max_position_embeddings": 6, "rope_parameters": {"rope_type": "dynamic", "factor": 2.0},
    },
    "ScratchDecoderForCausalLM-llama3": {
        **LLAMA, "pad_token_id": None,
        "rope_parameters": {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0, **SCALED},
    },
    "ScratchSeq2SeqForConditionalGeneration-bart": {**LEARNED, "initializer_range": 0.05},
    "ScratchSeq2SeqForConditionalGeneration-marian": {
        "position_type": "sinusoidal_halves", "embedding_scale": True, "lm_head_bias": True, "hidden_act": "silu",
        "sparse_prediction": True, "activation_dropout": 0.1, "attention_dropout": 0.1,
    },
    "ScratchSeq2SeqForConditionalGeneration-two_vocabularies": {
        **LLAMA, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 48, "decoder_layers": 1,
        "tie_word_embeddings": False, "hidden_dropout": 0.2,
    },
}  # fmt: skip
SINCE_0_2_0: dict[str, Settings] = {
    "ScratchEncoderModel-pooler": {**LEARNED, "pooler": True, "norm_position": "output"},
    "ScratchEncoderForSequenceClassification-normalised": {
        "classifier_norm": True, "classifier_activation": "gelu", "final_norm": True, "block_type": "parallel",
    },
    "ScratchEncoderForTokenClassification-alibi": {
        "position_type": "alibi", "norm_position": "sandwich", "hidden_act": "geglu_tanh",
    },
    "ScratchEncoderForQuestionAnswering-relative": {
        "position_type": "relative", "relative_attention_num_buckets": 8, "relative_attention_max_distance": 8,
        "query_key_norm": True, "norm_type": "rms_norm", "num_key_value_heads": 2,
    },
    "ScratchEncoderForMaskedLM-modernbert": {
        "position_type": "rotary", "sliding_window": 3, "layer_types": ["full_attention", "sliding_attention"],
        "local_rope_theta": 100.0, "norm_position": "pre", "first_norm": False, "embedding_norm": True,
    },
    "ScratchEncoderForMaskedLM-electra": {
        **LEARNED, "embedding_size": 8, "positions_after_projection": True, "output_embedding_size": 12,
        "tie_word_embeddings": False,
    },
    "ScratchDecoderForCausalLM-parallel": {
        "block_type": "parallel", "norm_position": "pre", "position_type": "rotary",
        "rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5},
    },
    "ScratchDecoderForCausalLM-gemma": {
        **LLAMA, "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"], "query_key_norm": True,
        "local_rope_theta": 100.0, "embedding_scale": True,
    },
    "ScratchDecoderForCausalLM-mistral": {**LLAMA, "sliding_window": 3},
    "ScratchDecoderForCausalLM-yarn": {**LLAMA, "rope_parameters": {"rope_type": "yarn", **SCALED}},
    "ScratchDecoderForCausalLM-alibi": {"position_type": "alibi", "norm_position": "pre", "use_cache": False},
    "ScratchDecoderForSequenceClassification-relative": {
        "position_type": "relative", "norm_position": "sandwich", "final_norm": False, "type_vocab_size": 2,
        "problem_type": "single_label_classification",
    },
    "ScratchSeq2SeqForConditionalGeneration-t5": {
        "position_type": "relative", "norm_position": "pre", "norm_type": "rms_norm", "hidden_act": "geglu_tanh",
        "attention_bias": False, "mlp_bias": False,
    },
    "ScratchSeq2SeqModel-factorised": {"embedding_size": 8, "positions_after_projection": True},
}  # fmt: skip

# None padded, padded on the right, padded on the left.
MASK = torch.tensor([[1] * 9, [1] * 5 + [0] * 4, [0] * 2 + [1] * 7])
TEXTS = (
    "the quick brown fox jumps over the lazy dog",
    "A film of its own , slow and moving : 1,234 times !",
    "naïve café, Straße, 東京 and 🙂",
)


def variants() -> dict[str, Settings]:
    """The settings of each folder that this version of the package can write."""
    later = {} if modeling_scratch.__version__ == "0.1.0" else SINCE_0_2_0
    return {**{name: {} for name in CLASSES}, **SINCE_0_1_0, **later}


def build(name: str, settings: Settings) -> PreTrainedModel:
    """A tiny model in evaluation mode; all its parameters are drawn, biases and norms too."""
    model_class = getattr(modeling_scratch, name.partition("-")[0])
    start = {"decoder_start_token_id": 1} if "Seq2Seq" in name else {}
    model = model_class(model_class.config_class(**{**TINY, **start, **settings})).eval()
    generator = torch.Generator().manual_seed(len(name))
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            is_scale = "norm" in key and key.endswith("weight")
            std = 0.5 if parameter.ndim > 1 else 0.2  # larger biases alone would say which token comes next
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * std + is_scale)
    return model


def inputs_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """Three texts, and labels for the head."""
    config, name = model.config, type(model).__name__
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(3, config.vocab_size, MASK.shape, generator=generator) * MASK
    inputs = {"input_ids": ids, "attention_mask": MASK}
    if config.type_vocab_size:
        inputs["token_type_ids"] = (torch.arange(MASK.shape[1]) > 3).long().expand(len(MASK), -1).contiguous()
    if name.endswith("Seq2SeqModel"):
        inputs["decoder_input_ids"] = ids.flip(1)
    return inputs | labels_of(name, ids, config)


def labels_of(name: str, ids: Tensor, config: Any) -> dict[str, Tensor]:
    """The labels of a head; none for a base model."""
    if name.endswith("ForMaskedLM"):
        return {"labels": torch.where((ids % 3 == 0) & MASK.bool(), ids, -100)}
    if name.endswith("ForCausalLM"):
        return {"labels": torch.where(MASK.bool(), ids, -100)}
    if name.endswith("ForConditionalGeneration"):
        return {"labels": torch.where(MASK.bool(), ids % config.decoder_vocab_size, -100)}
    if name.endswith("ForTokenClassification"):
        return {"labels": torch.where(MASK.bool(), ids % 3, -100)}
    if name.endswith("ForQuestionAnswering"):
        return {"start_positions": torch.tensor([1, 0, 4]), "end_positions": torch.tensor([3, 2, 8])}
    if name.endswith("ForSequenceClassification"):
        one = torch.tensor([2, 0, 1])
        several = torch.nn.functional.one_hot(one, 3).float()
        kinds = {"multi_label_classification": several, "regression": one[:, None].float()}
        return {"labels": kinds.get(config.problem_type, one)}
    return {}


def outputs_of(model: PreTrainedModel, inputs: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Tensors that the model computes, by name; of one that generates also what it writes, greedily and by beams."""
    with torch.no_grad():
        outputs = model(**inputs)
    yield from ((name, value) for name, value in outputs.items() if isinstance(value, Tensor))
    if model.can_generate():
        prompt = {name: inputs[name][[0, 2]] for name in ("input_ids", "attention_mask")}
        has_one_size = getattr(model.config, "decoder_vocab_size", None) in (None, model.config.vocab_size)
        for beams in (1, 2) if has_one_size else (1,):  # transformers 5.17 has no beams over another number of tokens
            yield f"generated_{beams}", model.generate(**prompt, num_beams=beams, do_sample=False, max_new_tokens=6)


def write_model(folder: Path, name: str, settings: Settings) -> dict[str, bytes]:
    """Write the folder of a model without its code, which is returned: name of the file, content."""
    model = build(name, settings)
    model.save_pretrained(folder)
    auto_map = json.loads((folder / "config.json").read_text(encoding="utf-8"))["auto_map"]
    class_name = type(model).__name__
    expected = {
        "class": class_name,
        "auto_class": next(auto for auto, path in auto_map.items() if path.endswith(f".{class_name}")),
        "state_dict": {key: str(tuple(value.shape)) for key, value in model.state_dict().items()},
    }
    write_json(folder / "expected.json", expected)
    write_tensors(folder / "expected.safetensors", model)
    code = {path.name: path.read_bytes() for path in sorted(folder.glob("*.py"))}
    for file in code:
        (folder / file).unlink()
    return code


def write_tensors(file: Path, model: PreTrainedModel) -> None:
    """Write inputs and outputs: computed in float64, so that they are those of any processor, rounded to float32."""
    inputs = inputs_of(model)
    outputs = dict(outputs_of(model.double(), inputs))
    rounded = {name: value.float() if value.is_floating_point() else value for name, value in outputs.items()}
    tensors = {f"inputs.{name}": value for name, value in inputs.items()} | rounded
    save_file({name: value.contiguous() for name, value in tensors.items()}, file)


def write_models(top: Path) -> None:
    """Write all models, and the code of each family once."""
    code: dict[str, dict[str, bytes]] = {}
    for name, settings in variants().items():
        family = next(family for family, prefix in FAMILIES.items() if name.startswith(prefix))
        code[family] = write_model(top / "models" / name, name, settings)
    with tarfile.open(top / "code.tar.xz", "w:xz") as archive:
        for family, files in code.items():
            for file, content in files.items():
                member = tarfile.TarInfo(f"{family}/{file}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def with_code(folder: Path, top: Path) -> Path:
    """A copy of the folder with the code that its version saved in it."""
    family = next(family for family, prefix in FAMILIES.items() if folder.name.startswith(prefix))
    with tarfile.open(folder.parents[1] / "code.tar.xz") as archive:
        archive.extractall(top, [member for member in archive if member.name.startswith(family)], filter="data")
    shutil.copytree(folder, top / family, dirs_exist_ok=True)
    return top / family


def recorded_copy(folder: Path, dtype: torch.dtype, top: Path) -> Path:
    """A copy with its code, and with weights of this type, of which there is a record."""
    copy = with_code(folder, top)
    for path in copy.glob("expected.*"):
        path.unlink()
    weights = {name: value.to(dtype) for name, value in load_file(folder / "model.safetensors").items()}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    write_json(copy / "config.json", {**config, "dtype": str(dtype).removeprefix("torch.")})
    return copy


def write_records(folder: Path) -> None:
    """Write verify.json of a model in each of two types."""
    folder.mkdir()
    for dtype in (torch.float32, torch.bfloat16):
        with TemporaryDirectory() as top:
            copy = recorded_copy(folder.parent / "models" / RECORDED, dtype, Path(top))
            model = getattr(modeling_scratch, RECORDED).from_pretrained(copy, dtype=dtype)
            shutil.copyfile(write_verification(model, None, copy), folder / f"{str(dtype).removeprefix('torch.')}.json")


def write_presets(folder: Path) -> None:
    folder.mkdir()
    tables = {"encoder": presets.ENCODERS, "decoder": presets.DECODERS, "seq2seq": presets.SEQ2SEQS}
    for family, table in tables.items():
        for name, preset in table.items():
            preset().to_json_file(folder / f"{family}-{name}.json")


def write_tokenizers(folder: Path) -> None:
    """Train a tokenizer of each kind on TEXTS."""
    tokens = {}
    for kind, train in tokenization.KINDS.items():
        tokenizer = train(TEXTS, 300, min_frequency=1, show_progress=False)
        tokenizer.save_pretrained(folder / kind)
        tokens[kind] = {text: tokenizer(text)["input_ids"] for text in TEXTS}
    write_json(folder / "expected.json", tokens)


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default=modeling_scratch.__version__, help="of the folder: the version")
    top = SAVED / parser.parse_args().name
    if top.exists():
        raise SystemExit(f"{top} exists: what a version has saved stays as it is. Delete the folder to write it again.")
    torch.set_num_threads(1)
    top.mkdir(parents=True)
    write_models(top)
    write_presets(top / "presets")
    write_tokenizers(top / "tokenizers")
    write_records(top / "records")
    size = sum(path.stat().st_size for path in top.rglob("*") if path.is_file())
    print(f"{top}: {len(variants())} models, {size:,} bytes, written by {modeling_scratch.__file__}")


if __name__ == "__main__":
    main()
