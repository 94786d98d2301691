# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Trainer and PEFT as they are: one step however it is cut, and LoRA (Hu et al. 2021), trained here, used elsewhere."""

import gc
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from fresh_process import run_fresh
from model_cases import CAUSAL_LM, DECODER_TEXTS, MASKED_LM, SEQ2SEQ_LM, SPANS, TEXTS, TOKENS, Case
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from toy_text import REVIEWS, toy_tokenizer
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, Trainer, TrainingArguments

from modeling_scratch import fast

Columns = dict[str, Any]


def reviews(case: Case = TEXTS, count: int = len(REVIEWS), **columns: list) -> Dataset:
    """Reviews with labels for this head, and columns that no model takes; columns replaces some."""
    encoded = toy_tokenizer()([text for text, _ in REVIEWS[:count]])
    ids = encoded["input_ids"]
    labels: Columns = {
        MASKED_LM: lambda: {"labels": [[i if i % 3 else -100 for i in row] for row in ids]},
        TEXTS: lambda: {"label": [label for _, label in REVIEWS[:count]]},
        TOKENS: lambda: {"labels": [[-100, *(i % 3 for i in row[1:-1]), -100] for row in ids]},
        DECODER_TEXTS: lambda: {"label": [label for _, label in REVIEWS[:count]]},
        CAUSAL_LM: lambda: {"labels": ids},
        SEQ2SEQ_LM: lambda: {"labels": [[*row[1:], *row[1:3]] for row in ids]},
        SPANS: lambda: {"start_positions": [1] * count, "end_positions": [len(row) - 2 for row in ids]},
    }[case]()
    noise = {"text": [text for text, _ in REVIEWS[:count]], "idx": list(range(count))}
    return Dataset.from_dict({**encoded, **noise, **labels, **columns})


def trainer(model: PreTrainedModel, folder: Path, dataset: Dataset | None = None, **arguments: Any) -> Trainer:
    """One step of plain gradient descent over all of the data, in order, unless the arguments say otherwise."""
    tokenizer = toy_tokenizer()
    # The one collator of the library that pads labels of tokens and of targets where there are some.
    collator = DataCollatorForSeq2Seq(tokenizer, model) if "labels" in (dataset or {}).column_names else None
    settings = {
        "output_dir": str(folder), "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "optim": "sgd",
        "learning_rate": 0.5, "lr_scheduler_type": "constant", "max_steps": 1, "per_device_train_batch_size": 8,
        "max_grad_norm": 0.0, "train_sampling_strategy": "sequential", "logging_steps": 1,
    }  # fmt: skip
    return Trainer(
        model=model, args=TrainingArguments(**{**settings, **arguments}), train_dataset=dataset,
        processing_class=tokenizer, data_collator=collator,
    )  # fmt: skip


STEPS = {
    "texts, the last batch smaller": (TEXTS, 7, {}, {}),
    "masked tokens": (MASKED_LM, 8, {}, {}),
    "spans": (SPANS, 8, {}, {}),
    "next tokens": (CAUSAL_LM, 8, {}, {}),
    "targets": (SEQ2SEQ_LM, 8, {}, {}),
    "several labels": (TEXTS, 7, {"label": [[1.0, 0.0, 1.0]] * 7}, {"problem_type": "multi_label_classification"}),
    "numbers": (TEXTS, 7, {"label": [0.5, -1.0, 2.0, 3.5, 0.0, 1.0, -2.0]}, {"num_labels": 1}),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_the_same_however_it_is_cut(name: str, tmp_path: Path) -> None:
    """1 x 8 and 4 x 2 texts of different lengths and numbers of labels, the second by the textbook."""
    case, count, columns, settings = STEPS[name]
    models, data = [case.model(**settings) for _ in range(3)], reviews(case, count, **columns)
    trainer(models[0], tmp_path, data).train()
    with fast.disabled():
        trainer(models[1], tmp_path, data, per_device_train_batch_size=2, gradient_accumulation_steps=4).train()
    whole, pairs, start = (model.state_dict() for model in models)
    torch.testing.assert_close(pairs, whole, atol=1e-5, rtol=1e-5)
    assert not all(torch.equal(value, start[key]) for key, value in whole.items())


# LoRA

QUERIES_AND_VALUES = ["q_proj", "v_proj"]
TASKS: dict[Case, tuple[str, str, Any]] = {
    TEXTS: ("AutoModelForSequenceClassification", "SEQ_CLS", "all-linear"),
    TOKENS: ("AutoModelForTokenClassification", "TOKEN_CLS", QUERIES_AND_VALUES),
    SPANS: ("AutoModelForQuestionAnswering", "QUESTION_ANS", QUERIES_AND_VALUES),
    DECODER_TEXTS: ("AutoModelForSequenceClassification", "SEQ_CLS", QUERIES_AND_VALUES),
    CAUSAL_LM: ("AutoModelForCausalLM", "CAUSAL_LM", "all-linear"),
    SEQ2SEQ_LM: ("AutoModelForSeq2SeqLM", "SEQ_2_SEQ_LM", "all-linear"),
}
HEADS = {TEXTS: "classifier", TOKENS: "classifier", SPANS: "qa_outputs", DECODER_TEXTS: "score"}

LOAD = """
import peft
from safetensors.torch import load_file

def first(outputs):
    return (outputs.logits if "logits" in outputs else outputs.start_logits).tolist()

def answers_of(where, *rows):
    return [answers(*row) for row in rows]

@torch.no_grad()
def answers(auto_class, base, adapter, merged):
    batch, trust = load_file(base + "/batch"), {"trust_remote_code": True}
    auto = getattr(transformers, auto_class)
    model = peft.PeftModel.from_pretrained(auto.from_pretrained(base, **trust), adapter)
    by_task = getattr(peft, auto_class.replace("AutoModel", "AutoPeftModel")).from_pretrained(adapter, **trust)
    by_folder = auto.from_pretrained(adapter, **trust)
    models = {"base": auto.from_pretrained(base, **trust), "adapted": model, "by task": by_task, "by folder": by_folder}
    found = {name: first(one(**batch)) for name, one in models.items()}
    made = generated(model, batch)
    united = model.merge_and_unload()
    united.save_pretrained(merged)
    again = auto.from_pretrained(merged, **trust)
    assert generated(again, batch) == made
    modules = sorted({type(one).__module__.partition(".")[0] for one in (united, again, by_folder)})
    return {**found, "merged": first(united(**batch)), "saved": first(again(**batch)), "modules": modules}

def generated(model, batch):
    if model.can_generate():
        inputs = {name: value for name, value in batch.items() if not name.startswith("decoder")}
        return model.generate(**inputs, max_new_tokens=3, do_sample=False).tolist()
"""


def prepare(case: Case, top: Path) -> list[str]:
    """base/, its batch and what the adapted model says; the adapter in run/checkpoint-2."""
    settings = {"classifier_activation": "tanh"} if case is TEXTS else {}
    case.model(**settings).save_pretrained(top / "base")
    save_file(case.inputs(), top / "base" / "batch")
    auto_class, task, targets = TASKS[case]
    torch.manual_seed(0)
    config = LoraConfig(task_type=task, r=2, target_modules=targets)
    model = get_peft_model(case.model_class.from_pretrained(top / "base"), config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:  # zero at first, which would hide half of what training does
                parameter.normal_(std=0.3)
    steps = {"max_steps": 2, "save_strategy": "steps", "save_steps": 2, "optim": "adamw_torch", "learning_rate": 0.1}
    made = trainer(model, top / "run", reviews(case), **steps, gradient_checkpointing=case is CAUSAL_LM)
    made.train()
    assert made.evaluate(reviews(case))["eval_loss"] > 0
    with torch.no_grad(), fast.disabled():  # where the package is unknown, the textbook computes
        outputs = model.eval()(**case.inputs())
    save_file({"logits": outputs.get("logits", outputs.get("start_logits")).contiguous()}, top / "expected")
    return [auto_class, str(top / "base"), str(top / "run" / "checkpoint-2"), str(top / "merged")]


COMMON, OTHERS = (TEXTS, CAUSAL_LM), (SEQ2SEQ_LM, TOKENS, SPANS, DECODER_TEXTS)


@pytest.mark.parametrize("cases", [COMMON, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["common", "others"])
def test_an_adapter_is_loaded_and_merged_where_only_the_folder_is(cases: tuple[Case, ...], tmp_path: Path) -> None:
    """New heads are trained whole; a folder of an adapter needs no code; a merged model has the names of its class."""
    gc.freeze()  # Trainer collects garbage at each run: leave out what the imports made
    folders = [tmp_path / case.model_class.__name__ for case in cases]
    rows = [prepare(case, folder) for case, folder in zip(cases, folders)]
    (answers,) = run_fresh(LOAD, [("there", "answers_of", *rows)])
    for case, folder, found in zip(cases, folders, answers, strict=True):
        expected = load_file(folder / "expected")["logits"]
        assert found.pop("modules") == ["transformers_modules"]
        logits = {name: torch.tensor(value) for name, value in found.items()}
        assert not torch.allclose(logits["base"], expected, atol=0.1)
        for name in "adapted", "by task", "by folder":
            assert torch.equal(logits[name], expected), name
        torch.testing.assert_close(logits["merged"], expected, atol=1e-5, rtol=1e-5)
        assert torch.equal(logits["merged"], logits["saved"])

        adapter = folder / "run" / "checkpoint-2"
        assert not list(adapter.glob("*.py"))
        whole = {name for name in load_file(adapter / "adapter_model.safetensors") if "lora" not in name}
        assert {name.split(".")[2] for name in whole} == ({HEADS[case]} if case in HEADS else set())
        merged, base = (load_file(folder / name / "model.safetensors") for name in ("merged", "base"))
        assert merged.keys() == base.keys()
