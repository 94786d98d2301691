# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""PEFT's methods with its defaults, on all families."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from client_pairs import LABEL, TEXTS, TRANSLATE, WRITE, Pair, assert_same, client, pair
from peft import (
    AdaLoraConfig,
    BOFTConfig,
    HRAConfig,
    IA3Config,
    LNTuningConfig,
    LoHaConfig,
    LoKrConfig,
    LoraConfig,
    OFTConfig,
    PeftConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptTuningConfig,
    VeraConfig,
    get_peft_model,
)
from torch import Tensor

FAMILIES = [
    pytest.param("llama", WRITE, "CAUSAL_LM", id="Llama"),
    pytest.param("bart", TRANSLATE, "SEQ_2_SEQ_LM", id="BART"),
    pytest.param("bert", "ScratchEncoderForTokenClassification", "TOKEN_CLS", id="BERT"),
]
ENCODER_HEADS = {
    LABEL: "SEQ_CLS", "ScratchEncoderForTokenClassification": "TOKEN_CLS",
    "ScratchEncoderForQuestionAnswering": "QUESTION_ANS",
}  # fmt: skip
# Methods that make the same vectors for both, drawn in the same order.
PROMPTS = {"prefix tuning": PrefixTuningConfig, "prompt tuning": PromptTuningConfig}


def batch(models: Pair) -> dict[str, Tensor]:
    found = dict(models.tokenizer(TEXTS[:4], padding=True, return_tensors="pt"))
    if models.ours.config.is_encoder_decoder:
        found |= {f"decoder_{name}": value for name, value in found.items()}
    return found


def adapted(model: Any, config: PeftConfig) -> Any:
    torch.manual_seed(0)
    return get_peft_model(copy.deepcopy(model), copy.deepcopy(config)).eval()


@torch.no_grad()
def draw_adapters(model: Any) -> None:
    """Equal ones, whatever the layers are called and in which order they stand in a block."""
    draws = {layer: torch.Generator().manual_seed(seed) for seed, layer in enumerate("qv")}
    for name, weight in model.named_parameters():
        if "lora" in name:
            layer = name.split(".")[-4]  # as in q_proj.lora_A.default.weight
            weight.copy_(torch.randn(weight.shape, generator=draws[layer[0]]) * 0.3)


def real(logits: Tensor, models: Pair) -> Tensor:
    """Those at real tokens of the text, which stands behind the prompts."""
    mask = batch(models)["attention_mask"]
    return logits[:, -mask.shape[1] :][mask.bool()]


@client("peft", "Llama, BART, BERT")
@pytest.mark.parametrize(("model_type", "head", "task"), FAMILIES)
def test_lora_finds_its_layers(model_type: str, head: str, task: str) -> None:
    """LoRA without `target_modules`: logits with all adapters drawn, and merged"""
    models = pair(model_type, head)
    found = []
    for model in models:
        tuned = adapted(model, LoraConfig(task_type=task, r=2))
        draw_adapters(tuned)
        with torch.no_grad():
            logits = tuned(**batch(models)).logits
            assert_same(tuned.merge_and_unload()(**batch(models)).logits, logits)
        found.append(real(logits, models))
    assert_same(found[1], found[0])


@client("peft", "GPT-2, Llama, BART")
@pytest.mark.parametrize("method", PROMPTS)
@pytest.mark.parametrize(
    ("model_type", "head", "task"), [("gpt2", WRITE, "CAUSAL_LM"), *(case.values for case in FAMILIES[:2])]
)
def test_prompts_are_read(model_type: str, head: str, task: str, method: str) -> None:
    """Prefix tuning and prompt tuning: logits behind virtual tokens"""
    # BART's scaled table gives scaled vectors, beside which a prompt is not scaled.
    models = pair(model_type, head, **({"scale_embedding": False} if model_type == "bart" else {}))
    config = PROMPTS[method](task_type=task, num_virtual_tokens=3)
    with torch.no_grad():
        found = [real(adapted(model, config)(**batch(models)).logits, models) for model in models]
        unchanged = real(models.ours(**batch(models)).logits, models)
    assert not torch.allclose(found[0], unchanged, atol=1e-2)
    assert_same(found[1], found[0])


@client("peft", "BERT")
@pytest.mark.parametrize("head", ENCODER_HEADS)
def test_an_encoder_reads_a_prefix(head: str, tmp_path: Path) -> None:
    """Prefix tuning of an encoder: losses of three steps and logits after them, also of the adapter that was saved"""
    models = pair("bert", head)
    found = []
    for model in models:
        tuned = adapted(model, PrefixTuningConfig(task_type=ENCODER_HEADS[head], num_virtual_tokens=3)).train()
        for name, weight in tuned.named_parameters():  # dense: there the pooler, which is not trained
            weight.requires_grad_(weight.requires_grad and "dense" not in name)
        optimizer = torch.optim.SGD([weight for weight in tuned.parameters() if weight.requires_grad], 0.5)
        given, losses = batch(models), []
        for _ in range(3):
            losses.append(tuned(**given, **labels(head, given)).loss)
            losses[-1].backward()
            optimizer.step()
            optimizer.zero_grad()
        tuned.save_pretrained(tmp_path)
        loaded = PeftModel.from_pretrained(copy.deepcopy(model), tmp_path)
        with torch.no_grad():
            answers = [first(one.eval()(**given), given) for one in (tuned, loaded, model)]
        assert_same(answers[1], answers[0])
        assert not torch.allclose(answers[2], answers[0], atol=1e-2)
        found.append((torch.stack(losses).detach(), answers[0]))
    assert_same(found[1], found[0])


def labels(head: str, given: dict[str, Tensor]) -> dict[str, Tensor]:
    if head.endswith("QuestionAnswering"):
        return {"start_positions": torch.tensor([1, 1, 2, 0]), "end_positions": torch.tensor([2, 3, 2, 1])}
    if head.endswith("ForTokenClassification"):
        return {"labels": (given["input_ids"] % 2).masked_fill(given["attention_mask"] == 0, -100)}
    return {"labels": torch.tensor([0, 1, 1, 0])}


def first(outputs: Any, given: dict[str, Tensor]) -> Tensor:
    """Logits of texts, or of real tokens."""
    logits = outputs.logits if "logits" in outputs else outputs.start_logits
    mask = given["attention_mask"].bool()
    return logits[mask] if logits.shape[:2] == mask.shape else logits


MERGED = {
    "IA3": IA3Config(), "VeRA": VeraConfig(r=2), "LoHa": LoHaConfig(r=2), "LoKr": LoKrConfig(r=2),
    "OFT": OFTConfig(oft_block_size=8), "BOFT": BOFTConfig(boft_block_size=8), "HRA": HRAConfig(r=2),
    "AdaLoRA": AdaLoraConfig(init_r=4, target_r=2, total_step=10, tinit=1, tfinal=1), "LN tuning": LNTuningConfig(),
}  # fmt: skip


@client("peft", "RoBERTa", "those of RoBERTa fail: PEFT replaces a head by one layer")
@pytest.mark.parametrize("method", MERGED)
def test_heads_of_several_layers_are_trained_saved_and_merged(method: str, tmp_path: Path) -> None:
    """IA3, VeRA, LoHa, LoKr, OFT, BOFT, HRA, AdaLoRA, LN tuning on a head of several layers: saved, loaded, merged"""
    models = pair("roberta", LABEL)
    config = copy.deepcopy(MERGED[method])
    config.task_type = "SEQ_CLS"
    tuned, inputs = adapted(models.ours, config).train(), batch(models)
    optimizer = torch.optim.SGD([weight for weight in tuned.parameters() if weight.requires_grad], 0.1)
    for _ in range(3):
        tuned(**inputs, labels=torch.tensor([0, 1, 1, 0])).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    names = models.ours.state_dict().keys()
    with torch.no_grad():
        logits = tuned.eval()(**inputs).logits
        assert not torch.allclose(logits, models.ours(**inputs).logits, atol=1e-3)
        tuned.save_pretrained(tmp_path)
        loaded = PeftModel.from_pretrained(copy.deepcopy(models.ours), tmp_path).eval()
        assert_same(loaded(**inputs).logits, logits)
        merged = tuned.merge_and_unload()
    assert_same(merged(**inputs).logits, logits)
    if method != "LN tuning":  # PEFT leaves its copies of the head
        assert merged.state_dict().keys() == names
