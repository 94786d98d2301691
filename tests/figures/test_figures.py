# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Figures show what the code computes, and their files are the same whenever the same is drawn."""

import math
from pathlib import Path
from xml.etree import ElementTree

import figures
import pytest
import torch
from model_cases import CAUSAL_LM
from PIL import Image
from shared import refused
from torch import Tensor
from transformers import MambaConfig

from modeling_scratch import (
    ScratchDecoderModel,
    ScratchEncoderConfig,
    ScratchEncoderForSequenceClassification,
    ScratchSeq2SeqForConditionalGeneration,
    presets,
)
from modeling_scratch.figures.architecture import architecture
from modeling_scratch.figures.learning_rates import schedule
from modeling_scratch.figures.masks import Mask, masks
from modeling_scratch.figures.models import HEADS, PRESETS, SMALL, small_model
from modeling_scratch.figures.parameters import count_parameters, short
from modeling_scratch.figures.positions import learned_positions, position_biases, rotary_angles
from modeling_scratch.stack import ScratchEncoderModel
from modeling_scratch.tasks.translation_model import TranslationTrainingArguments

SVG_TEXT = "{http://www.w3.org/2000/svg}text"
MASKS = masks()
SLOPES = {6: [2, 4, 6, 8, 1, 3], 8: [1, 2, 3, 4, 5, 6, 7, 8]}  # of ALiBi, 2^-n


def read(mask: Mask, embeddings: Tensor, encoder_states: Tensor) -> Tensor:
    """The hidden states (T, hidden) of one layer without positions that reads these vectors, always the same layer."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    options = {**sizes, "position_type": "none", "initializer_range": 0.5, "sliding_window": mask.sliding_window}
    torch.manual_seed(0)
    inputs = {"inputs_embeds": embeddings, "attention_mask": mask.inputs.attention_mask}
    if mask.encoder_mask is not None:
        decoder = ScratchDecoderModel(presets.vaswani(**options)).eval()
        states = {"encoder_hidden_states": encoder_states, "encoder_attention_mask": mask.encoder_mask}
        return decoder(**inputs, **states).last_hidden_state[0]
    inputs["position_ids"] = mask.inputs.position_ids
    if mask.is_causal:
        return ScratchDecoderModel(presets.gpt2(**options)).eval()(**inputs, use_cache=False).last_hidden_state[0]
    return ScratchEncoderModel(ScratchEncoderConfig(**options)).eval()(**inputs).last_hidden_state[0]


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask.title.replace("\n", " "))
@torch.no_grad()
def test_a_query_changes_with_the_keys_that_the_figure_shows(mask: Mask) -> None:
    queries, keys = mask.is_visible.shape
    given = torch.randn(1, queries, 16), torch.randn(1, keys, 16)
    before, is_cross = read(mask, *given), mask.encoder_mask is not None
    real = [row for row, word in enumerate(mask.queries) if word != "[PAD]"]
    for key in range(keys):
        other = [each.clone() for each in given]
        other[is_cross][0, key] *= -1
        changed = (read(mask, *other) - before).abs().amax(-1) > 1e-4
        rows = [row for row in real if is_cross or row != key]  # a token changes with itself past attention, too
        assert changed[rows].tolist() == mask.is_visible[rows, key].tolist()


@pytest.mark.parametrize("preset", PRESETS)
def test_parts_add_up_to_the_parameters_of_the_model(preset: str) -> None:
    config = PRESETS[preset](**SMALL)
    with torch.device("meta"):
        model = HEADS[config.model_type](config)
    model.tie_weights()
    counts = count_parameters(model)
    assert sum(counts.values()) == model.num_parameters()
    sides = 2 if config.is_encoder_decoder else 1
    matrices = 3 if config.hidden_act == "swiglu" else 2
    biases = SMALL["hidden_size"] + SMALL["intermediate_size"] if config.mlp_bias else 0
    layers = sides * SMALL["num_hidden_layers"]
    assert counts["feed-forward"] == layers * (matrices * SMALL["hidden_size"] * SMALL["intermediate_size"] + biases)
    assert bool(counts["cross-attention"]) == config.is_encoder_decoder


def test_counts_are_rounded_to_three_digits() -> None:
    counts = 999, 1_000, 999_499, 999_500, 999_999, 1_234_567, 7 * 10**9
    assert [*map(short, counts)] == ["999", "1 k", "999 k", "1 M", "1 M", "1.23 M", "7 G"]


def test_angles_and_tables_are_those_of_the_papers() -> None:
    angles, theta = rotary_angles(small_model("bert"), torch.arange(2))
    torch.testing.assert_close(angles[1], 10_000.0 ** (-torch.arange(32) / 32))
    assert theta == 10_000
    llama = small_model("llama")
    assert rotary_angles(llama, torch.arange(3))[0].shape == (3, llama.config.head_dim // 2)
    assert learned_positions(llama) is None
    roberta = small_model("roberta")
    assert torch.equal(
        learned_positions(roberta), roberta.model.embeddings.positions.weight[roberta.config.position_offset :]
    )


@pytest.mark.parametrize(("position_type", "heads"), [("alibi", 8), ("relative", 8), ("rotary", 6)])
def test_biases_have_a_line_for_each_head(position_type: str, heads: int) -> None:
    """Heads count from 1; six have the slopes of four, and two between them."""
    model = CAUSAL_LM.model(position_type=position_type, num_attention_heads=heads, hidden_size=8 * heads)
    linear, learned = position_biases(model).axes
    names = [line.get_label() for line in linear.lines]
    assert names == [f"head {head}: slope 2^-{step}" for head, step in enumerate(SLOPES[heads], 1)]
    for number, line in enumerate(linear.lines):
        assert line.get_ydata()[-1] / line.get_xdata()[-1] == pytest.approx(-(2.0 ** -SLOPES[heads][number]))
    if position_type == "relative":
        assert [line.get_label() for line in learned.lines] == [f"head {head}" for head in range(1, heads + 1)]


def test_the_paper_schedule_is_equation_3() -> None:
    arguments = TranslationTrainingArguments(max_steps=300, warmup_steps=100, report_to="none")
    rates = schedule(arguments, arguments.paper_rate(512, 0), 300)
    for step in (1, 50, 100, 101, 300):
        expected = 512**-0.5 * min(step**-0.5, step * 100**-1.5)
        assert math.isclose(rates[step], expected, rel_tol=1e-6)


def words_of(picture: str) -> list[str | None]:
    return [element.text for element in ElementTree.fromstring(picture).iter(SVG_TEXT)]


def test_an_architecture_is_read_off_the_modules() -> None:
    config = presets.captions(hidden_act="swiglu", norm_type="rms_norm", norm_position="output")
    drawn = words_of(architecture(ScratchSeq2SeqForConditionalGeneration(config), "mine"))
    words = {"mine, encoder", "mine, decoder", "OutputNorm", "x + norm(f(x))", "gate_proj", "RMSNorm"}
    assert words | {"encoder_hidden_states", "cross_attention_residual"} <= set(drawn)
    config = presets.bert(**SMALL, num_labels=3, classifier_norm=True, classifier_pooling="max")
    drawn = words_of(architecture(ScratchEncoderForSequenceClassification(config), "mine"))
    head = ["pooled", "max", "one vector a text", "classifier.norm", "LayerNorm", "classifier_norm=True"]
    assert "\n".join(head) in "\n".join(map(str, drawn))
    assert drawn[drawn.index("classifier.out_proj") :][:4] == ["classifier.out_proj", "64 → 3", "logits", "(B, 3)"]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_command_writes_the_same_bytes_again(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for folder in ("first", "second"):
        figures.main(["positions", "--preset", "bart", "--output_dir", str(tmp_path / folder)])
    assert len(capsys.readouterr().out.splitlines()) == 2
    first = files(tmp_path / "first")
    assert first == files(tmp_path / "second")
    assert set(first) == {"positions.png", "positions.svg"}
    with Image.open(tmp_path / "first" / "positions.png") as image:
        image.load()
        assert image.width == 1_200
    words = words_of(first["positions.svg"].decode())
    assert any("random weights" in str(line) for line in words)


def test_the_pictures_of_the_documentation_are_what_the_code_says(tmp_path: Path) -> None:
    shipped = Path(presets.__file__).with_name("block.svg")
    pictures = Path(__file__).parents[2] / "docs/pictures"
    for options, picture in ([], shipped), (["--preset", "llama"], pictures / "figures-architecture.svg"):
        figures.main(["architecture", *options, "--output_dir", str(tmp_path)])
        assert files(tmp_path) == {"architecture.svg": picture.read_bytes()}
    absent = {"cross_attention = None", "positions = None", "token_types = None", "stack.norm = Identity"}
    assert absent <= set(words_of(shipped.read_text(encoding="utf-8")))


def test_errors_name_what_is_wrong(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    MambaConfig(architectures=["MambaModel"]).save_pretrained(tmp_path / "mamba")
    (tmp_path / "file").write_text("")

    def fails(arguments: list[object], *pieces: str) -> None:
        refused(capfd, figures.main, [*arguments, "--output_dir", tmp_path / "figures"], *pieces)

    fails(["mask"], "mask: no such figure; did you mean masks?")
    fails(["masks", "--model", tmp_path / "none"], "none: folder not found")
    fails(["masks", "--model", empty], "empty cannot be loaded")
    fails(["masks", "--model", tmp_path / "mamba"], "MambaModel is no model of this package")
    fails(["masks", "--preset", "berd"], "--preset berd: the choices are")
    fails(["cross-attention"], "cross-attention is retired: the page of")
    fails(["masks", "--text", "word"], "--text is retired: the page of")
    fails(["embeddings"], "embeddings is retired: draw two principal components")
    fails(["learning-curves"], "learning-curves is retired: train with --report_to tensorboard")
    fails(["masks", "--words", "film"], "--words is retired")
    assert not list(tmp_path.glob("figures/*"))
    refused(capfd, figures.main, ["masks", "--output_dir", tmp_path / "file"], "not a folder")
