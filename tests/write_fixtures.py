# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write tests/fixtures/saved/NAME: what a version of the package saves, and computes, for later versions to load.

    PYTHONPATH=.:scripts:scripts/maintenance python tests/write_fixtures.py 0.3.0

The models have the configurations of those that earlier versions saved, and of NEW. test_earlier_versions.py loads all:

    models/NAME       config, weights, and what the model computes (expected.safetensors); expected.json with its class,
                      its Auto class and the names and shapes of its state dict
    code.tar.xz       the code that save_pretrained copied beside the weights: a folder for each family
    presets           the configuration of each preset
    tokenizers/KIND   a tokenizer of each kind, and the tokens of SENTENCES in tokenizers/expected.json
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
from model_cases import CASES, DECODER_TEXTS, SEQ2SEQ_LM, TEXTS
from safetensors.torch import load_file, save_file
from shared import lively
from torch import Tensor
from transformers import AutoConfig, PreTrainedModel

import modeling_scratch
import tokenization
from modeling_scratch import ScratchConfig, presets
from modeling_scratch.verify import write_verification

SAVED = Path(__file__).parent / "fixtures" / "saved"
RECORDED = "ScratchEncoderForSequenceClassification"
FAMILIES = {"encoder": "ScratchEncoder", "decoder": "ScratchDecoder", "seq2seq": "ScratchSeq2Seq"}
PRESETS = {"encoder": presets.ENCODERS, "decoder": presets.DECODERS, "seq2seq": presets.SEQ2SEQS}
# Switches that no saved model uses yet. The class and the name of a variant: its settings beside those of a test.
NEW: dict[str, dict[str, Any]] = {}
SENTENCES = (
    "the quick brown fox jumps over the lazy dog",
    "A film of its own , slow and moving : 1,234 times !",
    "naïve café, Straße, 東京 and 🙂",
)


def variants() -> dict[str, ScratchConfig]:
    """The configuration of each folder."""
    earlier = {folder.name: AutoConfig.from_pretrained(folder) for folder in sorted(SAVED.glob("*/models/*"))}
    classes = {case.model_class.__name__: case for case in CASES}
    return earlier | {name: classes[name.partition("-")[0]].config(**settings) for name, settings in NEW.items()}


def inputs_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """Three texts, and labels for the head."""
    case, config = next(case for case in CASES if case.model_class is type(model)), model.config
    inputs = case.batch()
    if config.type_vocab_size:
        inputs["token_type_ids"] = (torch.arange(9) > 3).long().expand(3, -1).contiguous()
    if case is SEQ2SEQ_LM:  # of two vocabularies, that of the decoder has fewer tokens
        inputs = {name: value for name, value in inputs.items() if not name.startswith("decoder")}
        inputs["labels"] = inputs["labels"].clamp(max=config.decoder_vocab_size - 1)
    if case in (TEXTS, DECODER_TEXTS):
        one = inputs["labels"]
        several = torch.nn.functional.one_hot(one, 3).float()
        kinds = {"multi_label_classification": several, "regression": one[:, None].float()}
        inputs["labels"] = kinds.get(config.problem_type, one)
    return inputs


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


def write_model(folder: Path, config: ScratchConfig) -> dict[str, bytes]:
    """Write the folder of a model without its code, which is returned: name of the file, content."""
    model = lively(getattr(modeling_scratch, folder.name.partition("-")[0])(config))
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
    for name, config in variants().items():
        family = next(family for family, prefix in FAMILIES.items() if name.startswith(prefix))
        code[family] = write_model(top / "models" / name, config)
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
            shutil.copyfile(write_verification(copy), folder / f"{str(dtype).removeprefix('torch.')}.json")


def write_presets(folder: Path) -> None:
    folder.mkdir()
    for family, table in PRESETS.items():
        for name, preset in table.items():
            preset().to_json_file(folder / f"{family}-{name}.json")


def write_tokenizers(folder: Path) -> None:
    """Train a tokenizer of each kind on SENTENCES."""
    tokens = {}
    for kind, train in tokenization.KINDS.items():
        tokenizer = train(SENTENCES, 300, min_frequency=1, show_progress=False)
        tokenizer.save_pretrained(folder / kind)
        tokens[kind] = {text: tokenizer(text)["input_ids"] for text in SENTENCES}
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
