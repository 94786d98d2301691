# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The parts equal their equations, written out once more; two stacks are torch's own Transformer, gradients, too."""

import inspect
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CAUSAL_LM,
    MASK,
    SEQ2SEQ,
    SEQ2SEQ_LM,
    TEXTS,
    TINY,
    Case,
    assert_close,
    backends,
    draw_ids,
    engines,
    parametrize_cases,
    tiny,
)
from shared import lively, redraw
from torch import Tensor, nn
from toy_text import toy_tokenizer

from modeling_scratch import ScratchSeq2SeqConfig, attention, fast, textbook
from modeling_scratch.attention import eager_attention
from modeling_scratch.embeddings import Embeddings
from modeling_scratch.fast.attention import eager_attention as attend_without_repeats
from modeling_scratch.layers import ACTIVATIONS, NORM_POSITIONS, FeedForward, RMSNorm
from modeling_scratch.stack import Stack

STATES, UPDATE = torch.randn(2, 2, 5, TINY["hidden_size"], generator=torch.Generator().manual_seed(1)) * 2

FORMULAS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: x.clamp(min=0),
    "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + torch.exp(-x)),
}
GATES = {"reglu": "relu", "geglu": "gelu", "geglu_tanh": "gelu_tanh", "swiglu": "silu"}


def linear(layer: nn.Linear, states: Tensor) -> Tensor:
    return states @ layer.weight.T + (0 if layer.bias is None else layer.bias)


def normal(norm: Any, states: Tensor) -> Tensor:
    return F.layer_norm(states, states.shape[-1:], norm.weight, norm.bias, norm.eps)


def assert_equal_draws(found: Callable[[], Tensor], expected: Callable[[], Tensor]) -> None:
    """Both drop the same elements: dropout stands where it stands in the formula."""
    outputs = []
    for each in found, expected:
        torch.manual_seed(0)
        outputs.append(each())
    assert_close(*outputs)


@pytest.mark.parametrize("eps", [1e-5, 1])
def test_rms_norm(eps: float) -> None:
    """In float16, in which the square of 300 is infinite, too."""
    norm = redraw(RMSNorm(TINY["hidden_size"], eps))
    mean_square = STATES.double().pow(2).mean(-1, keepdim=True)
    assert_close(norm(STATES), (STATES / (mean_square + eps).sqrt() * norm.weight).float())
    large = (STATES * 300).half()
    exact = large.double() / large.double().pow(2).mean(-1, keepdim=True).sqrt() * norm.weight
    torch.testing.assert_close(norm.half()(large), exact.half(), atol=1e-3, rtol=2e-3)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no_bias"])
@pytest.mark.parametrize("name", [*FORMULAS, *GATES])
def test_feed_forward(name: str, bias: bool) -> None:
    layer: Any = redraw(FeedForward(tiny(hidden_act=name, mlp_bias=bias, activation_dropout=0.5))).train()
    activation, inner = FORMULAS[GATES.get(name, name)], linear(layer.up_proj, STATES)
    inner = activation(linear(layer.gate_proj, STATES)) * inner if name in GATES else activation(inner)
    assert_equal_draws(lambda: layer(STATES), lambda: linear(layer.down_proj, F.dropout(inner, 0.5)))
    assert_close(layer.eval()(STATES), linear(layer.down_proj, inner))
    assert all((projection.bias is not None) == bias for projection in layer.children() if hasattr(projection, "bias"))


RESIDUALS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "post": lambda part, update: normal(part.norm, STATES + F.dropout(update, 0.5)),
    "pre": lambda part, update: STATES + F.dropout(update, 0.5),
    "output": lambda part, update: STATES + F.dropout(normal(part.norm, update), 0.5),
    "sandwich": lambda part, update: STATES + F.dropout(normal(part.output_norm, update), 0.5),
}


@pytest.mark.parametrize("name", NORM_POSITIONS)
def test_dropout_falls_on_the_update_and_never_on_the_residual(name: str) -> None:
    part: Any = redraw(NORM_POSITIONS[name](tiny(norm_position=name, hidden_dropout=0.5))).train()
    assert_equal_draws(lambda: part.after(STATES, UPDATE), lambda: RESIDUALS[name](part, UPDATE))


def test_embeddings_are_summed_normalised_dropped_and_projected() -> None:
    settings = {"embedding_size": 6, "embedding_norm": True, "position_type": "learned", "type_vocab_size": 2}
    layer: Any = redraw(Embeddings(tiny(**settings, hidden_dropout=0.5), TINY["vocab_size"])).train()
    ids = draw_ids()
    total = layer.tokens.weight[ids] + layer.positions.weight[: ids.shape[1]] + layer.token_types.weight[0]
    assert_equal_draws(
        lambda: layer(ids, torch.arange(ids.shape[1])[None]),
        lambda: linear(layer.projection, F.dropout(normal(layer.norm, total), 0.5)),
    )


@pytest.mark.parametrize("final_norm", [None, True, False])
@pytest.mark.parametrize("norm_position", ["pre", "post", "output"])
def test_a_final_norm_stands_where_the_last_block_ends_in_none(norm_position: str, final_norm: bool | None) -> None:
    stack: Any = redraw(Stack(tiny(norm_position=norm_position, final_norm=final_norm), 2)).eval()
    expected = stack.layers[1](stack.layers[0](STATES))
    if final_norm or (final_norm is None and norm_position != "post"):
        expected = normal(stack.norm, expected)
    assert_close(stack(STATES, {"full_attention": (None, None, None)}), expected)


@pytest.mark.parametrize("attend", [eager_attention, attend_without_repeats], ids=["textbook", "fast"])
def test_a_row_without_a_visible_key_is_finite_in_float16(attend: Any) -> None:
    """Its scores and the mask together are below the range of float16."""
    query, key = (torch.full((1, 1, 2, 4), value, dtype=torch.float16) for value in (6.0, -6.0))
    mask = torch.tensor([[True, True], [False, False]])[None, None]
    layer = Stack(tiny(num_key_value_heads=4), 1).layers[0].attention.eval()
    output, _ = attend(layer, query, key, query, mask, scaling=1.0)
    assert_close(output, torch.full_like(output, 6.0))


# The Transformer of torch. Ours: torch's, which hold query, key and value in one.
TORCH_NAMES = {
    "stack.": "",
    "cross_attention.q_proj.": "multihead_attn.in_proj_", "cross_attention.o_proj": "multihead_attn.out_proj",
    "attention.q_proj.": "self_attn.in_proj_", "attention.o_proj": "self_attn.out_proj",
    "cross_attention_residual.norm": "norm2", "attention_residual.norm": "norm1",
    "feed_forward.up_proj": "linear1", "feed_forward.down_proj": "linear2",
}  # fmt: skip
TARGET_MASK = (torch.arange(7) < torch.tensor([7, 2, 5])[:, None]).long()


def renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """What ours have in their stacks, under torch's names; the last norm of a decoder's block is its third."""
    found = {}
    for name, weight in weights.items():
        if "stack." not in name or "k_proj" in name or "v_proj" in name:
            continue
        if "q_proj" in name:
            weight = torch.cat([weights[name.replace("q_proj", one)] for one in ("q_proj", "k_proj", "v_proj")])
        last = "norm3" if name.startswith("decoder.") else "norm2"
        for ours, theirs in {**TORCH_NAMES, "feed_forward_residual.norm": last}.items():
            name = name.replace(ours, theirs)
        found[name] = weight
    return found


def transformer_of_torch(config: Any) -> nn.Transformer:
    """It would end in a norm even where every block does."""
    other = nn.Transformer(
        config.hidden_size, config.num_attention_heads, config.num_hidden_layers, config.decoder_layers,
        config.intermediate_size, dropout=0.0, activation=config.hidden_act, layer_norm_eps=config.norm_eps,
        batch_first=True, norm_first=config.norm_position == "pre",
    )  # fmt: skip
    if config.norm_position == "post":
        other.encoder.norm = other.decoder.norm = None
    other.encoder.enable_nested_tensor = False
    return other


@engines
@backends
@pytest.mark.parametrize(("norm_position", "hidden_act"), [("post", "relu"), ("pre", "gelu")])
def test_it_is_the_transformer_of_torch(norm_position: str, hidden_act: str, backend: str) -> None:
    """The base model of 2017, with padding on both sides and no look ahead: states, and gradients of all weights."""
    settings = {"norm_position": norm_position, "hidden_act": hidden_act, "decoder_layers": 3}
    model = SEQ2SEQ.model(**settings, embedding_scale=True, attn_implementation=backend)
    other = transformer_of_torch(model.config)
    other.load_state_dict(renamed(model.state_dict()))
    ids, target_ids, real = draw_ids(1), draw_ids(2)[:, :7], TARGET_MASK.bool()
    expected = other(
        model.encoder.embeddings(ids, MASK.cumsum(-1) - 1).detach(),
        model.decoder.embeddings(target_ids, torch.arange(7)[None]).detach(),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(7).bool(),
        src_key_padding_mask=MASK == 0, tgt_key_padding_mask=~real, memory_key_padding_mask=MASK == 0,
    )[real]  # fmt: skip
    found = model(ids, MASK, target_ids, TARGET_MASK).last_hidden_state[real]
    assert_close(found, expected)
    found.square().mean().backward()
    expected.square().mean().backward()
    gradients = renamed({name: parameter.grad for name, parameter in model.named_parameters()})
    assert gradients.keys() == dict(other.named_parameters()).keys()
    for name, parameter in other.named_parameters():
        assert_close(gradients[name], parameter.grad)


def test_what_a_config_leaves_out_is_what_torch_takes_for_its_transformer() -> None:
    """Both are the base model of 2017; configs that were saved without a field count on it."""
    torchs = {name: each.default for name, each in inspect.signature(nn.Transformer).parameters.items()}
    config = ScratchSeq2SeqConfig()
    assert ACTIVATIONS[config.hidden_act] == (torchs["activation"], False)
    assert (config.norm_position == "pre") == torchs["norm_first"]
    for ours, theirs in (
        ("hidden_size", "d_model"), ("num_attention_heads", "nhead"), ("num_key_value_heads", "nhead"),
        ("num_hidden_layers", "num_encoder_layers"), ("decoder_layers", "num_decoder_layers"),
        ("intermediate_size", "dim_feedforward"), ("hidden_dropout", "dropout"), ("norm_eps", "layer_norm_eps"),
        ("attention_bias", "bias"), ("mlp_bias", "bias"),
    ):  # fmt: skip
        assert getattr(config, ours) == torchs[theirs], ours


# The formulas of the files run when a reader asks for it: an edit has its effect


@parametrize_cases((TEXTS, CAUSAL_LM, SEQ2SEQ_LM))
def test_the_formula_runs_whatever_backend_the_config_names(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = lively(case.model(attn_implementation="sdpa"))
    batch = {name: value for name, value in case.inputs().items() if "mask" not in name}
    expected = model(**batch).logits
    with textbook():
        torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=1e-5)
        monkeypatch.setattr(
            attention, "eager_attention", lambda *args, scaling, **kwargs: eager_attention(*args, scaling=0.0, **kwargs)
        )
        edited = model(**batch).logits
        with fast.disabled():
            assert torch.equal(model(**batch).logits, edited)
    assert (edited - expected).abs().max() > 1e-3
    torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_a_command_runs_an_edited_file(tmp_path: Path) -> None:
    """A student's edit, `* 0` for `* scaling`, in a copy of the package: with --textbook, the answer is another."""
    for name in "modeling_scratch", "tokenization", "scripts":
        source = Path(__file__).parents[2] / name
        shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "modeling_scratch_cli").symlink_to("scripts")
    lively(TEXTS.model(vocab_size=len(toy_tokenizer()))).save_pretrained(tmp_path / "model")
    toy_tokenizer().save_pretrained(tmp_path / "model")
    (tmp_path / "texts.txt").write_text("a good film\n")
    path = tmp_path / "modeling_scratch" / "attention.py"
    before, formula, after = path.read_text(encoding="utf-8").partition("key.transpose(-2, -1) * scaling")
    path.write_text(before + formula.replace("scaling", "0") + after, encoding="utf-8")
    scores = []
    for option in [], ["--textbook"]:
        command = ["-m", "modeling_scratch_cli", "predict", "--model", "model", "--input", "texts.txt"]
        done = subprocess.run(
            [sys.executable, *command, *option], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        scores.append(json.loads(done.stdout)["score"])
    assert abs(scores[0] - scores[1]) > 1e-3
