# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What others put inside of a model, in batches with padding: noise, adapters, prefixes, their masks."""

import pytest
import torch
from model_cases import (
    CAUSAL_LM,
    DECODER,
    DECODER_TEXTS,
    ENCODER,
    SEQ2SEQ_LM,
    SPANS,
    TEXTS,
    TOKENS,
    Case,
    low_thresholds,  # noqa: F401  (a fixture)
    parametrize_cases,
)
from peft import LoraConfig, PrefixTuningConfig, get_peft_model
from transformers.integrations.neftune import neftune_post_forward_hook

pytestmark = pytest.mark.usefixtures("low_thresholds")


@parametrize_cases((ENCODER, DECODER))
def test_noise_on_embeddings_is_that_of_the_padded_batch(case: Case) -> None:
    """NEFTune: uniform in +- alpha / sqrt(T d), T the length of the batch's rows, however many texts it holds."""
    model = case.model(num_hidden_layers=0, position_type="none").train()  # hidden states are the embeddings
    table = model.get_input_embeddings()
    table.neftune_noise_alpha = 5.0
    table.register_forward_hook(neftune_post_forward_hook)
    batch = case.inputs()
    states, real = model(**batch).last_hidden_state, batch["attention_mask"] == 1
    assert (states[~real] == 0).all()  # noise keeps no batch from being packed
    limit = 5.0 / (batch["input_ids"].shape[1] * table.embedding_dim) ** 0.5
    noise = (states - table.weight[batch["input_ids"]])[real].abs()
    assert 0.9 * limit < noise.max() <= limit + 1e-6


@parametrize_cases((TEXTS, TOKENS, DECODER_TEXTS))
def test_each_text_of_a_batch_has_its_own_adapter(case: Case) -> None:
    torch.manual_seed(0)
    options = {"target_modules": ["v_proj", "o_proj", "up_proj"], "init_lora_weights": False}
    model = get_peft_model(case.model(), LoraConfig(**options), adapter_name="one")
    model.add_adapter("two", LoraConfig(**options))
    model.eval()
    inputs = case.inputs()
    expected = []
    for name in ("one", "two"):
        model.set_adapter(name)
        expected.append(model(**inputs).logits)
    found = model(**inputs, adapter_names=["one", "two", "two"]).logits
    real = inputs["attention_mask"].bool()
    for row, chosen in enumerate((0, 1, 1)):
        keep = real[row] if case is TOKENS else ...
        torch.testing.assert_close(found[row][keep], expected[chosen][row][keep], atol=1e-5, rtol=1e-4)


def test_a_prefix_is_trained_as_it_is_judged() -> None:
    """With a cache that is given, targets stand behind what it holds, in training as in evaluation."""
    torch.manual_seed(0)
    config = PrefixTuningConfig(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=5)
    model = get_peft_model(SEQ2SEQ_LM.model(), config)
    batch = {name: value for name, value in SEQ2SEQ_LM.batch().items() if not name.startswith("decoder")}
    losses = [model.train(training)(**batch).loss for training in (False, True)]
    torch.testing.assert_close(losses[1], losses[0])


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@parametrize_cases((TEXTS, SPANS, CAUSAL_LM))
def test_a_mask_of_what_sees_what_says_the_same_as_that_of_padding(case: Case, dropout: float) -> None:
    """Boolean (B, 1, T, T), whichever attention it goes through: training with dropout takes the plain one."""
    model = case.model(attention_dropout=dropout, position_type="rotary")
    batch = {name: value[:1] for name, value in case.batch().items()}  # of the first text, which is not padded
    length = batch["input_ids"].shape[1]
    seen = torch.ones(1, 1, length, length, dtype=torch.bool)
    seen = seen.tril() if case is CAUSAL_LM else seen
    answers = []
    for mask in (batch["attention_mask"], seen):
        torch.manual_seed(0)
        inputs = {**batch, "attention_mask": mask, "output_hidden_states": True}  # the same layout, the same draws
        answers.append(model.train(bool(dropout))(**inputs).loss)
    torch.testing.assert_close(answers[1], answers[0])
