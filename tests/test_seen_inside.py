# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What others see and put inside of a model, in batches with padding: hooks, noise, adapters, prefixes, their masks."""

import pytest
import torch
from model_cases import CAUSAL_LM, DECODER_TEXTS, MASKED_LM, SEQ2SEQ_LM, SPANS, TEXTS, TOKENS, Case
from peft import LoraConfig, PrefixTuningConfig, get_peft_model
from torch import Tensor
from transformers.integrations.neftune import neftune_post_forward_hook

from modeling_scratch import ScratchDecoderModel, ScratchEncoderModel

every_head = pytest.mark.parametrize(
    "case", [TEXTS, MASKED_LM, TOKENS, SPANS, CAUSAL_LM, DECODER_TEXTS], ids=lambda case: case.model_class.__name__
)


@every_head
def test_hooks_inside_see_texts_as_they_came(case: Case) -> None:
    model = case.model(sparse_prediction=True) if case is MASKED_LM else case.model()
    batch = case.batch()
    expected = model(**batch)
    seen: list[Tensor] = []
    for block in model.base_model.stack.layers:
        block.register_forward_hook(lambda module, inputs, output: seen.append(output))
    found = model(**batch)
    assert [tuple(states.shape[:2]) for states in seen] == [tuple(batch["input_ids"].shape)] * len(seen)
    torch.testing.assert_close(found.loss, expected.loss)


def test_the_hooks_of_the_library_change_no_layout() -> None:
    """They stay once hidden states were asked for; batches are packed again when these no longer are."""
    model = TEXTS.model(classifier_pooling="mean")
    batch = TEXTS.inputs()
    model(**batch, output_hidden_states=True)
    shapes: list[tuple[int, ...]] = []
    layer = model.model.stack.layers[0].feed_forward
    forward = layer.forward
    layer.forward = lambda states: shapes.append(tuple(states.shape)) or forward(states)
    model(**batch)
    assert shapes[0][0] == 1


@pytest.mark.parametrize("model_class", [ScratchEncoderModel, ScratchDecoderModel])
def test_noise_on_embeddings_is_that_of_the_padded_batch(model_class: type) -> None:
    """NEFTune: uniform in +- alpha / sqrt(T d), T the length of the batch's rows, however many texts it holds."""
    case = TEXTS if model_class is ScratchEncoderModel else CAUSAL_LM
    model = case.model().base_model.train()
    seen: list[Tensor] = []
    table = model.get_input_embeddings()
    table.neftune_noise_alpha = 5.0
    table.register_forward_hook(neftune_post_forward_hook)
    table.register_forward_hook(lambda module, inputs, output: seen.append(output))
    batch = {name: case.inputs()[name] for name in ("input_ids", "attention_mask")}
    states = model(**batch).last_hidden_state
    assert states.shape[:2] == batch["input_ids"].shape
    assert seen[0].shape == (*batch["input_ids"].shape, table.embedding_dim)
    limit = 5.0 / (batch["input_ids"].shape[1] * table.embedding_dim) ** 0.5
    noise = (seen[0] - table.weight[batch["input_ids"]]).abs()
    assert 0.9 * limit < noise.max() <= limit + 1e-6


@pytest.mark.parametrize("case", [TEXTS, TOKENS, DECODER_TEXTS], ids=lambda case: case.model_class.__name__)
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
@pytest.mark.parametrize("case", [TEXTS, SPANS, CAUSAL_LM], ids=lambda case: case.model_class.__name__)
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
