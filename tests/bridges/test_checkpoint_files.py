# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Checkpoints that are damaged, mislabelled or too large: clear errors, nothing half-written, no second copy."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from native_models import Native
from safetensors.torch import load_file, save_file
from shared import redraw
from transformers import Gemma2Config, ModernBertForSequenceClassification, ModernBertForTokenClassification, OPTConfig

from modeling_scratch import (
    ScratchEncoderForMaskedLM,
    ScratchEncoderForSequenceClassification,
    ScratchEncoderModel,
    export_pretrained,
    load_pretrained,
)
from modeling_scratch.utils.errors import CheckpointError
from modeling_scratch.utils.files import complete_folder

MASKED_LM = Native("bert", "ScratchEncoderForMaskedLM")
Damage = Callable[[Path], object]
BASE = "bert.encoder.layer.0.attention.self.query.weight"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    MASKED_LM.model().save_pretrained(folder)
    assert isinstance(load_pretrained(folder), ScratchEncoderForMaskedLM)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "bert"))


def change_weights(folder: Path, change: Callable[[dict], Any]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def change_config(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))


def cut(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])


def pickle_alone(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def another_family(folder: Path) -> None:
    (folder / "config.json").unlink()
    Native("gpt2", "ScratchDecoderForCausalLM").config(architectures=["GPT2LMHeadModel"]).save_pretrained(folder)


def weights(**changed: Any) -> Damage:
    """Weights that are added or changed; None: that are missing."""

    def change(found: dict) -> None:
        found.update(changed)
        for name in [name for name, weight in changed.items() if weight is None]:
            del found[name]

    return partial(change_weights, change=change)


def config(**changes: Any) -> Damage:
    return partial(change_config, **changes)


def index_of(*entry: str) -> Damage:
    return partial(index, content=json.dumps({"weight_map": dict([entry])}))


def index(folder: Path, content: str) -> None:
    """An index, and the weights as its only shard."""
    (folder / INDEX).write_text(content)
    (folder / "model.safetensors").rename(folder / "shard.safetensors")


INDEX = "model.safetensors.index.json"
DAMAGES: dict[str, tuple[Damage, str]] = {
    "cut": (cut, "not a complete safetensors file"),
    "pickle alone": (pickle_alone, r"pytorch_model\.bin, a pickle"),
    "one missing": (weights(**{BASE: None}), "missing weights for model.stack.layers.0.attention.q_proj.weight"),
    "one unknown": (
        weights(**{"bert.encoder.layer.9.extra.weight": torch.ones(1)}),
        "unexpected weights for bert with this config: bert.encoder.layer.9.extra.weight",
    ),
    "one layer more": (config(num_hidden_layers=1), "bert.encoder.layer.1"),
    "another shape": (
        weights(**{BASE: torch.ones(3, 24)}), r"query.weight has shape \(3, 24\), but the config implies \(24, 24\)"
    ),
    "another family": (another_family, "unexpected weights for gpt2"),
    "copies that differ": (
        weights(**{"cls.predictions.decoder.weight": torch.ones(50, 24)}),
        "cls.predictions.decoder.weight differs from a copy",
    ),
    "no bridge": (
        lambda folder: OPTConfig().save_pretrained(folder),
        "model_type 'opt' cannot be converted: convertible families: bert",
    ),
    "softcapping": (
        lambda folder: Gemma2Config().save_pretrained(folder), "'gemma2' cannot be converted: it squashes scores"
    ),
    "relative attention": (config(position_embedding_type="relative_key"), "position_embedding_type='relative_key'"),
    "a decoder": (config(is_decoder=True), "is_decoder=True cannot be converted"),
    "unknown head": (config(architectures=["BertForMultipleChoice"]), "no counterpart; choose a model_class"),
    "quantised": (config(quantization_config={"quant_method": "fp8"}), "quantization_config"),
    "no file of the index": (index_of(BASE, "model-00001-of-00002.safetensors"), "00002.safetensors, which is missing"),
    "index of other names": (index_of("no.such.weight", "shard.safetensors"), "disagree about"),
    "index that leads away": (index_of(BASE, "../bert/shard.safetensors"), "shard.safetensors, which is missing"),
    "damaged index": (partial(index, content="[1, 2"), "not a safetensors index"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_wrong_with_a_checkpoint_is_said(folder: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    damage(folder)
    with pytest.raises(CheckpointError, match=message):
        load_pretrained(folder)


def test_an_index_that_earlier_shards_left_behind_is_not_read(folder: Path, tmp_path: Path) -> None:
    """As save_pretrained leaves it, which removes the shards alone."""
    model = load_pretrained(folder)
    MASKED_LM.model().save_pretrained(tmp_path / "twice", max_shard_size="10KB")
    shutil.copy(folder / "model.safetensors", tmp_path / "twice")
    again = load_pretrained(tmp_path / "twice")
    assert all(map(torch.equal, again.parameters(), model.parameters()))


@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_the_dead_copy_of_an_untied_head_is_left_out(model_type: str, tmp_path: Path) -> None:
    """Training without tied weights changes the bias of the decoder alone."""
    theirs = redraw(Native(model_type, "ScratchEncoderForMaskedLM").model(tie_word_embeddings=False)).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    ours = load_pretrained(tmp_path / "theirs")
    ids = torch.randint(3, 50, (2, 9), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(ours(ids).logits, theirs(ids).logits, atol=1e-5, rtol=0)
    export_pretrained(ours, tmp_path / "back")
    back = type(theirs).from_pretrained(tmp_path / "back")
    torch.testing.assert_close(back(ids).logits, theirs(ids).logits, atol=1e-5, rtol=0)


EARLIER: dict[str, tuple[Native, Damage]] = {
    "bart, versions of its layers": (
        Native("bart", "ScratchSeq2SeqForConditionalGeneration"), weights(**{"model.encoder.version": torch.ones(1)})
    ),
    "gpt2, triangles of its masks": (
        Native("gpt2", "ScratchDecoderForCausalLM"), weights(**{"transformer.h.0.attn.bias": torch.ones(1, 1, 8, 8)})
    ),
    "llama, without padding": (Native("llama", "ScratchDecoderForCausalLM"), config(pad_token_id=-1)),
}  # fmt: skip


@pytest.mark.parametrize("name", EARLIER)
def test_what_earlier_versions_wrote_is_read_as_native_classes_read_it(name: str, tmp_path: Path) -> None:
    native, change = EARLIER[name]
    native.model().save_pretrained(tmp_path)
    change(tmp_path)
    theirs, texts = native.model_class.from_pretrained(tmp_path), native.texts()[0]
    torch.testing.assert_close(load_pretrained(tmp_path)(**texts)[0], theirs(**texts)[0], atol=1e-5, rtol=0)


def test_arguments_of_from_pretrained_reach_the_weights(folder: Path) -> None:
    inner = shutil.copytree(folder, folder / "inner")
    change_weights(inner, lambda found: found.update({BASE: torch.full((24, 24), 0.5)}))
    options = {"local_files_only": True, "torch_dtype": "bfloat16", "attn_implementation": "eager"}
    model = load_pretrained(folder, subfolder="inner", **options)
    assert model.config._attn_implementation == "eager"
    assert torch.equal(model.model.stack.layers[0].attention.q_proj.weight, torch.full((24, 24), 0.5).bfloat16())
    assert model.dtype == model.config.dtype == torch.bfloat16
    with pytest.raises(CheckpointError, match="dtype='bloat16': not a dtype"):
        load_pretrained(folder, dtype="bloat16")


DEFAULT = {"rope_type": "default", "rope_theta": 1e4}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
LONGROPE = {"rope_type": "longrope", "rope_theta": 1e4, "factor": 2.0, "short_factor": [1.0], "long_factor": [1.0]}


@pytest.mark.parametrize(
    ("model_type", "head", "field", "value"),
    [
        ("gemma3_text", "ScratchDecoderModel", "rope_parameters", {"sliding_attention": LINEAR}),
        ("modernbert", "ScratchEncoderForMaskedLM", "classifier_bias", True),
        ("modernbert", "ScratchEncoderForMaskedLM", "classifier_activation", "silu"),
        ("mpt", "ScratchDecoderModel", "attn_config", {"clip_qkv": 8.0}),
        ("bert", "ScratchEncoderModel", "hidden_act", "mish"),
        ("llama", "ScratchDecoderModel", "rope_parameters", LONGROPE),
        ("llama", "ScratchDecoderModel", "rope_parameters", {**DEFAULT, "partial_rotary_factor": 0.5}),
        ("roberta", "ScratchEncoderForMaskedLM", "hidden_act", "relu"),  # its head has an activation of its own
        ("electra", "ScratchEncoderForMaskedLM", "hidden_act", "relu"),
    ],
)
def test_options_that_cannot_be_carried_over_are_named(
    model_type: str, head: str, field: str, value: Any, tmp_path: Path
) -> None:
    Native(model_type, head).model(**{field: value}).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=field.replace("rope_parameters", "rope_(parameters|theta)")):
        load_pretrained(tmp_path)
    if value == "relu":
        assert load_pretrained(tmp_path, ScratchEncoderModel).config.hidden_act == "relu"


def test_what_the_user_knows_to_be_harmless_can_be_said(tmp_path: Path) -> None:
    """As the error says, also of a field of a config in the config."""
    native = Native("gpt2", "ScratchDecoderModel")
    native.model_class(native.config(scale_attn_weights=False)).save_pretrained(tmp_path)
    assert load_pretrained(tmp_path, scale_attn_weights=True).config.position_type == "learned"
    with pytest.raises(CheckpointError, match="no_such_field: not a field of GPT2Config and ScratchDecoderConfig"):
        load_pretrained(tmp_path, scale_attn_weights=True, no_such_field=1)
    Native("mpt", "ScratchDecoderModel").model(attn_config={"clip_qkv": 8.0}).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match=r"load_pretrained\(..., attn_config=\{'clip_qkv': None\}\)"):
        load_pretrained(tmp_path)
    assert load_pretrained(tmp_path, attn_config={"clip_qkv": None}).config.position_type == "alibi"


@pytest.mark.parametrize("native_class", [ModernBertForSequenceClassification, ModernBertForTokenClassification])
def test_a_classifier_of_modernbert_gives_its_body_alone(native_class: type, tmp_path: Path) -> None:
    native = Native("modernbert", "ScratchEncoderModel")
    classifier = redraw(native_class(native.config())).eval()
    classifier.save_pretrained(tmp_path / "theirs")
    for model_class in (None, ScratchEncoderForSequenceClassification):
        with pytest.raises(CheckpointError, match=r"tion has no counterpart: .* ends with a norm.*EncoderModel"):
            load_pretrained(tmp_path / "theirs", model_class)
    body = load_pretrained(tmp_path / "theirs", ScratchEncoderModel)
    ids = native.texts()[0]["input_ids"]
    torch.testing.assert_close(body(ids)[0], classifier.model(ids)[0], atol=1e-5, rtol=0)
    body.save_pretrained(tmp_path / "ours")
    ours = ScratchEncoderForSequenceClassification.from_pretrained(tmp_path / "ours")
    torch.testing.assert_close(ours.model(ids)[0], body(ids)[0])


def test_another_head_takes_the_body_and_what_fits_of_the_old_head(folder: Path, tmp_path: Path) -> None:
    """BERT's pooler, too, is the first layer of a classifier, and of nothing else here."""
    classifier = load_pretrained(folder, ScratchEncoderForSequenceClassification, num_labels=5)
    body = load_pretrained(folder).model.state_dict()
    assert all(torch.equal(weight, body[name]) for name, weight in classifier.model.state_dict().items())
    assert classifier.classifier.out_proj.weight.shape == (5, 24)
    assert 0 < classifier.classifier.dense.weight.std() < 0.05  # drawn as the config says
    base = Native("bert", "ScratchEncoderModel").model()
    base.save_pretrained(tmp_path / "base")
    pooled = load_pretrained(tmp_path / "base", ScratchEncoderForSequenceClassification)
    assert torch.equal(pooled.classifier.dense.weight, base.pooler.dense.weight)
    old = Native("bert", "ScratchEncoderForSequenceClassification").model()
    old.save_pretrained(tmp_path / "old")
    with pytest.raises(CheckpointError, match=r"classifier.(weight|bias) has shape .3.* implies .7"):
        load_pretrained(tmp_path / "old", num_labels=7)
    assert load_pretrained(tmp_path / "old", num_labels=7, ignore_mismatched_sizes=True).num_labels == 7


def test_an_old_checkpoint_with_its_old_names_loads(folder: Path) -> None:
    """The first BERT called the parts of a norm gamma and beta, and stored its positions."""
    model = load_pretrained(folder)

    def rename(weights: dict) -> None:
        for name in [name for name in weights if "LayerNorm" in name]:
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            weights[old] = weights.pop(name)
        weights["bert.embeddings.position_ids"] = torch.arange(16)[None]
        weights["cls.seq_relationship.weight"] = torch.ones(2, 24)

    change_weights(folder, rename)
    change_config(folder, architectures=["BertForPreTraining"])
    again = load_pretrained(folder)
    assert all(torch.equal(weight, again.state_dict()[name]) for name, weight in model.state_dict().items())


# Writing


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), complete_folder(tmp_path / "new") as beside:
        (beside / "half").write_text("written") and (beside / "no such folder" / "other").write_text("")
    assert list(tmp_path.iterdir()) == []
    with complete_folder(tmp_path / "deep" / "new") as beside:
        (beside / "whole").write_text("written")
    assert [path.name for path in tmp_path.rglob("*")] == ["deep", "new", "whole"]
    with pytest.raises(FileExistsError, match="already exists"), complete_folder(tmp_path / "deep" / "new"):
        pass


# Memory

MEASURE = """
import os, resource, sys, torch
from modeling_scratch import load_pretrained
import transformers
if sys.argv[1] == "warm":
    load_pretrained(sys.argv[2])
def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = resident()
model = load_pretrained(sys.argv[3])
size = sum(weight.numel() * weight.element_size() for weight in {id(w): w for w in model.parameters()}.values())
print((resident() - before) / size, size)
"""


@pytest.mark.slow
@pytest.mark.parametrize("shard", ["10GB", "20MB"], ids=["whole", "sharded"])
def test_loading_takes_the_memory_of_the_model_and_little_more(shard: str, tmp_path: Path) -> None:
    """At most 1.3 times, measured as the largest resident size of a process."""
    small = Native("gpt2", "ScratchDecoderForCausalLM")
    small.model().save_pretrained(tmp_path / "small")
    large = small.model_class(small.config(n_embd=512, n_layer=16, n_inner=2048, vocab_size=20_000))
    large.save_pretrained(tmp_path / "large", max_shard_size=shard)
    assert (len(list((tmp_path / "large").glob("*.safetensors"))) > 1) == (shard == "20MB")
    command = [sys.executable, "-c", MEASURE, "warm", str(tmp_path / "small"), str(tmp_path / "large")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ratio, size = map(float, output.split())
    assert size > 200e6
    assert ratio <= 1.3
