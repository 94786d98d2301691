# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the textbook promises, and only one slip of the hand would break: each test names a line of it.

`python tests/seeded_faults.py` makes such slips, and says which of them no test sees.
"""

import inspect
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from model_cases import (
    CAUSAL_LM,
    DECODER,
    DECODER_TEXTS,
    ENCODER,
    MASK,
    TEXTS,
    TOKENS,
    Case,
    assert_close,
    backends,
    draw_ids,
    engines,
    low_thresholds,  # noqa: F401  (a fixture)
    parametrize_cases,
    tiny,
)
from shared import lively, redraw
from torch import Tensor, nn

from modeling_scratch import ScratchSeq2SeqConfig, fast
from modeling_scratch.embeddings import Embeddings
from modeling_scratch.layers import ACTIVATIONS, OutputNorm
from modeling_scratch.stack import Stack

IDS = draw_ids()
always = pytest.mark.usefixtures("low_thresholds")


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


@always
@engines
@backends
@parametrize_cases((ENCODER, DECODER))
def test_a_segment_starts_wherever_positions_do_not_go_on_by_one(case: Case, backend: str) -> None:
    """A first one may be short, and positions may leap ahead, as in a piece from the middle of a text."""
    model = case.model(position_type="learned", attn_implementation=backend)
    for starts, lengths in ([0, 0], [1, 8]), ([0, 0], [2, 7]), ([0, 7], [4, 5]):
        places = [torch.arange(start, start + length) for start, length in zip(starts, lengths)]
        found = model(IDS[:1], position_ids=torch.cat(places)[None]).last_hidden_state[0]
        pieces = zip(IDS[:1].split(lengths, dim=1), places)
        alone = [model(ids, position_ids=place[None]).last_hidden_state[0] for ids, place in pieces]
        assert_close(found, torch.cat(alone))


# Norms


@pytest.mark.parametrize("final_norm", [None, True, False])
@pytest.mark.parametrize("norm_position", ["pre", "post", "output"])
def test_a_final_norm_stands_where_the_last_block_ends_in_none(norm_position: str, final_norm: bool | None) -> None:
    config = tiny(norm_position=norm_position, final_norm=final_norm)
    stack: Any = redraw(Stack(config, 2)).eval()
    states = draw(2, 5, config.hidden_size)
    expected = stack.layers[1](stack.layers[0](states))
    if final_norm or (final_norm is None and norm_position != "post"):
        expected = F.layer_norm(expected, expected.shape[-1:], stack.norm.weight, stack.norm.bias, config.norm_eps)
    assert_close(stack(states, {"full_attention": (None, None, None)}), expected)


def test_what_a_config_leaves_out_is_what_torch_takes_for_its_transformer() -> None:
    """Both are the base model of 2017; configs that were saved without a field count on it."""
    torchs = {name: each.default for name, each in inspect.signature(nn.Transformer).parameters.items()}
    config = ScratchSeq2SeqConfig()
    assert config.hidden_size == torchs["d_model"]
    assert config.num_attention_heads == config.num_key_value_heads == torchs["nhead"]
    assert config.num_hidden_layers == torchs["num_encoder_layers"]
    assert config.decoder_layers == torchs["num_decoder_layers"]
    assert config.intermediate_size == torchs["dim_feedforward"]
    assert config.hidden_dropout == torchs["dropout"]
    assert ACTIVATIONS[config.hidden_act] == (torchs["activation"], False)
    assert config.norm_eps == torchs["layer_norm_eps"]
    assert (config.norm_position == "pre") == torchs["norm_first"]
    assert config.attention_bias == config.mlp_bias == torchs["bias"]


# Dropout: which numbers fall, and where they stand


def test_output_norm_drops_what_it_normalised() -> None:
    config = tiny(norm_position="output", hidden_dropout=0.5)
    residual: Any = redraw(OutputNorm(config)).train()
    states, update = draw(2, 4, 5, config.hidden_size)
    norm = F.layer_norm(update, update.shape[-1:], residual.norm.weight, residual.norm.bias, config.norm_eps)
    torch.manual_seed(0)
    expected = states + F.dropout(norm, 0.5)
    torch.manual_seed(0)
    assert_close(residual.after(states, update), expected)


def test_embeddings_are_dropped_behind_their_norm() -> None:
    config = tiny(position_type="none", embedding_norm=True, hidden_dropout=0.5)
    layer: Any = redraw(Embeddings(config, config.vocab_size)).train()
    rows = layer.tokens.weight[IDS]
    norm = F.layer_norm(rows, rows.shape[-1:], layer.norm.weight, layer.norm.bias, config.norm_eps)
    torch.manual_seed(0)
    expected = F.dropout(norm, 0.5)
    torch.manual_seed(0)
    assert_close(layer(IDS, torch.arange(9)[None]), expected)


@always
@engines
@parametrize_cases((TEXTS, TOKENS))
def test_classifiers_drop_what_their_last_layer_reads(case: Case) -> None:
    """The mean over many draws is what is said without dropout, since the last layer is linear."""
    model = case.model(classifier_dropout=0.5)
    inputs = {name: value[:1] for name, value in case.inputs().items()}  # of the text without padding
    with torch.no_grad():
        expected = model(**inputs).logits
        model.train()
        torch.manual_seed(0)
        draws = torch.stack([model(**inputs).logits for _ in range(100)])
    assert draws.std(0).min() > 0
    error = (draws.mean(0) - expected).abs() / (draws.std(0) / 10)
    assert error.mean() < 1.5  # in standard errors, whose mean is 0.8


@always
@engines
@parametrize_cases((TEXTS, CAUSAL_LM))
def test_parts_in_evaluation_drop_nothing_while_the_rest_trains(case: Case) -> None:
    """As who trains a head on frozen layers sets them: the model says what it says without dropout."""
    model = case.model(hidden_dropout=0.5, activation_dropout=0.5, attention_dropout=0.5)
    expected = model(**case.inputs())[0]
    model.training = True
    real = MASK.bool() if expected.shape[:2] == MASK.shape else slice(None)
    assert_close(model(**case.inputs())[0][real], expected[real])


# What is read


@always
@engines
@pytest.mark.parametrize(
    ("position_type", "norm_position"), [("rotary", "post"), ("learned", "pre"), ("none", "output")]
)
@parametrize_cases((ENCODER, DECODER))
def test_the_token_that_is_read_sees_what_it_always_sees(case: Case, position_type: str, norm_position: str) -> None:
    """One of each text, not the last one: in a decoder those behind it stay unseen. Two heads share their keys."""
    model = case.model(position_type=position_type, norm_position=norm_position, num_key_value_heads=2)
    for place, mask in (2, None), (4, MASK), (4, None):
        indices = torch.arange(len(IDS)) * IDS.shape[1] + place
        expected = model(IDS, mask).last_hidden_state[:, place]
        assert_close(model(IDS, mask, token_indices=indices).last_hidden_state[:, place], expected)


@always
@engines
def test_the_pooler_reads_the_first_real_token_of_each_text() -> None:
    """Padded or packed, also with a mask of what sees what."""
    model: Any = ENCODER.model(pooler=True)
    outputs = model(IDS, MASK)
    first = outputs.last_hidden_state[torch.arange(len(IDS)), torch.tensor([0, 0, 2])]  # the third begins with padding
    assert_close(outputs.pooler_output, (first @ model.pooler.dense.weight.T + model.pooler.dense.bias).tanh())
    packed = model(IDS[:1], position_ids=torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])).pooler_output
    assert_close(packed, torch.cat([model(part).pooler_output for part in (IDS[:1, :4], IDS[:1, 4:])]))
    read = model(IDS, MASK, token_indices=torch.tensor([3, 12, 21]))  # without those that the pooler reads
    assert_close(read.pooler_output, outputs.pooler_output)
    whole = torch.ones(len(IDS), 1, 9, 9, dtype=torch.bool)
    assert_close(model(IDS, whole).pooler_output, model(IDS).pooler_output)


@engines
def test_a_text_is_classified_from_a_cache_as_at_once() -> None:
    model = DECODER_TEXTS.model(use_cache=True)
    cache: Any = model(IDS[:, :4], MASK[:, :4]).past_key_values
    found = model(IDS[:, 4:], MASK, past_key_values=cache).logits
    assert_close(found, model(IDS, MASK, use_cache=False).logits)


def test_positions_that_were_given_go_on_while_a_text_is_written() -> None:
    """From 7 on, one more for each token; beams find what those of the library find."""
    model = lively(CAUSAL_LM.model(position_type="learned", use_cache=True))
    given = {"attention_mask": torch.ones_like(IDS), "position_ids": torch.arange(7, 16).expand(len(IDS), -1)}
    options: dict[str, Any] = {**given, "max_new_tokens": 6, "eos_token_id": None, "pad_token_id": 0}
    written = model.generate(IDS, **options)
    logits = model(written[:, :-1], position_ids=torch.arange(7, 21).expand(len(IDS), -1)).logits
    assert torch.equal(written[:, 9:], logits[:, 8:].argmax(-1))

    found = model.generate(IDS, num_beams=3, **options)
    with fast.disabled():
        assert torch.equal(found, model.generate(IDS, num_beams=3, **options))
    assert not torch.equal(found, model.generate(IDS, num_beams=3, **{**options, "position_ids": None}))
