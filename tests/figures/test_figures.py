# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Figures show what the code computes, and their files are the same whenever the same is drawn."""

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

from modeling_scratch import ScratchDecoderModel, ScratchEncoderConfig, presets
from modeling_scratch.figures.masks import Mask, masks
from modeling_scratch.figures.models import small_model
from modeling_scratch.figures.positions import learned_positions, position_biases, rotary_angles
from modeling_scratch.stack import ScratchEncoderModel

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


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_command_writes_the_same_bytes_again(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for folder in ("first", "second"):
        figures.main(["position-biases", "--preset", "bart", "--output_dir", str(tmp_path / folder)])
    assert len(capsys.readouterr().out.splitlines()) == 2
    first = files(tmp_path / "first")
    assert first == files(tmp_path / "second")
    assert set(first) == {"position-biases.png", "position-biases.svg"}
    with Image.open(tmp_path / "first" / "position-biases.png") as image:
        image.load()
        assert image.width == 1_200
    words = [element.text for element in ElementTree.fromstring(first["position-biases.svg"]).iter(SVG_TEXT)]
    assert any("random weights" in str(line) for line in words)


def test_errors_name_what_is_wrong(tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    MambaConfig(architectures=["MambaModel"]).save_pretrained(tmp_path / "mamba")
    (tmp_path / "file").write_text("")

    def fails(arguments: list[object], *pieces: str) -> None:
        refused(capfd, figures.main, [*arguments, "--output_dir", tmp_path / "figures"], *pieces)

    fails(
        ["postions"],
        "no such figure; the choices are positions, position-biases, masks, speed-history (did you mean positions?)",
    )
    fails(["speed-history"], "speed-history: name the file of lines of benchmark --json with --history")
    fails(["masks", "--model", tmp_path / "none"], "none: folder not found")
    fails(["masks", "--model", empty], "empty cannot be loaded")
    fails(["masks", "--model", tmp_path / "mamba"], "MambaModel is no model of this package")
    fails(["masks", "--preset", "berd"], "argument --preset: invalid choice: 'berd'")
    fails(["masks", "--text", "word"], "--text is retired: the page of")
    assert not list(tmp_path.glob("figures/*"))
    refused(capfd, figures.main, ["masks", "--output_dir", tmp_path / "file"], "File exists")
