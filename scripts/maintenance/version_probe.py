# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Save tiny models with their answers, or compare what saved models answer here: version_matrix.py runs it elsewhere.

python scripts/maintenance/version_probe.py save FOLDER
python scripts/maintenance/version_probe.py read FOLDER

The package is on the path of Python. `read` takes the code of the folder first, without the package, then the package.
It prints JSON: the versions and, of `read`, the largest difference of each answer of each model, or its error.
"""

import json
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

TEXTS = ["a good film , not a bad one", "not good at all", "this film is a good deal too long , but never bad"]
ANSWERS = "answers.safetensors"
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
DRY = {"hidden_dropout": 0.0, "attention_dropout": 0.0}
HEADS = {
    "encoder, classes of texts": "AutoModelForSequenceClassification",
    "encoder, classes of words": "AutoModelForTokenClassification",
    "encoder, answers in texts": "AutoModelForQuestionAnswering",
    "encoder, masked words": "AutoModelForMaskedLM",
    "decoder, text": "AutoModelForCausalLM",
    "decoder, classes of texts": "AutoModelForSequenceClassification",
    "encoder-decoder, translation": "AutoModelForSeq2SeqLM",
}
# Switches whose masks, biases and caches are made by functions of transformers.
ROWS: dict[str, dict[str, Any]] = {
    "ALiBi, sandwich norm": {"position_type": "alibi", "norm_position": "sandwich"},
    "relative positions, query-key norm": {
        "position_type": "relative", "relative_attention_num_buckets": 8, "relative_attention_max_distance": 8,
        "query_key_norm": True,
    },
    "sliding window, parallel blocks": {
        "position_type": "rotary", "sliding_window": 3, "layer_types": ["full_attention", "sliding_attention"],
        "local_rope_theta": 100.0, "block_type": "parallel", "norm_position": "pre",
    },
}  # fmt: skip
FAMILIES = {"encoder": "masked words", "decoder": "text", "encoder-decoder": "translation"}
NO_SEQ2SEQ = "sliding window, parallel blocks"
HEADS |= {
    f"{family}, {row}": HEADS[f"{family}, {head}"]
    for row in ROWS
    for family, head in FAMILIES.items()
    if (family, row) != ("encoder-decoder", NO_SEQ2SEQ)
}


def models(vocab_size: int) -> Iterator[tuple[str, Any]]:
    """Yield a model of each head and of each row, all of whose weights are far from where training starts."""
    from modeling_scratch import presets

    tokens = {"vocab_size": vocab_size, "pad_token_id": 0, "eos_token_id": 3, **SIZES, **DRY}
    labels = {"num_labels": 3, "problem_type": "single_label_classification"}
    make: dict[str, Callable[..., Any]] = {
        "encoder": partial(presets.bert, **tokens, **labels),
        "decoder": partial(presets.llama, **tokens, **labels, num_key_value_heads=2),
        "encoder-decoder": partial(presets.marian, **tokens, decoder_start_token_id=2),
    }
    torch.manual_seed(0)
    for name, auto_class in HEADS.items():
        family, _, row = name.partition(", ")
        model = getattr(transformers, auto_class).from_config(make[family](**ROWS.get(row, {})))
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        yield name, model.eval()


def answers(model: Any, tokenizer: Any) -> dict[str, Tensor]:
    """Return token ids, outputs, generated ids, and the outputs after a step of Trainer."""
    batch = dict(tokenizer(TEXTS, padding=True, return_tensors="pt"))
    ids = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    inputs = {**ids, "decoder_input_ids": ids["input_ids"].flip(1)} if model.config.is_encoder_decoder else ids
    found = {"tokens": ids["input_ids"], "outputs": outputs(model, inputs)}
    if model.can_generate():
        beams = 2 if model.config.is_encoder_decoder else 1
        found["generated"] = model.generate(**ids, max_new_tokens=8, min_new_tokens=8, do_sample=False, num_beams=beams)
    train_a_step(model, inputs)
    return {**found, "after a step": outputs(model, inputs)}


@torch.no_grad()
def outputs(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    """Return all logits at real tokens, flattened."""
    found = model.eval()(**inputs)
    logits = [value for name, value in found.items() if name.endswith("logits")]
    per_token = logits[0].shape[:2] == inputs["attention_mask"].shape and not model.config.is_encoder_decoder
    real = inputs["attention_mask"].bool() if per_token else ...
    return torch.cat([value[real].flatten() for value in logits])


def train_a_step(model: Any, inputs: dict[str, Tensor]) -> None:
    rows = [{name: value[row] for name, value in (inputs | labels(model, inputs)).items()} for row in range(len(TEXTS))]
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=1, per_device_train_batch_size=len(TEXTS), optim="sgd", learning_rate=0.1, use_cpu=True,
            save_strategy="no", report_to="none", disable_tqdm=True, lr_scheduler_type="constant",
        )  # fmt: skip
        transformers.Trainer(model, arguments, train_dataset=rows).train()


def labels(model: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    ids, mask = inputs["input_ids"], inputs["attention_mask"].bool()
    kind = type(model).__name__.rpartition("For")[2]
    if kind == "QuestionAnswering":
        return {"start_positions": torch.tensor([1, 0, 2]), "end_positions": torch.tensor([2, 1, 3])}
    if kind == "SequenceClassification":
        return {"labels": torch.tensor([2, 0, 1])}
    return {"labels": torch.where(mask, ids % 3 if kind == "TokenClassification" else ids, -100)}


def save(folder: Path) -> None:
    """Save each model, its tokenizer and its answers into a folder of its own."""
    from tokenization import train_wordlevel_tokenizer

    tokenizer = train_wordlevel_tokenizer(TEXTS, vocab_size=64, show_progress=False)
    for name, model in models(len(tokenizer)):
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        save_file(
            {key: value.contiguous() for key, value in answers(model, tokenizer).items()}, folder / name / ANSWERS
        )


def read(folder: Path) -> dict[str, Any]:
    """Return {code: {model: {answer: difference}, or error}}, or {code: error}: the folders' own code, the package."""
    hidden = "modeling_scratch", "tokenization"
    blocked: Any = dict.fromkeys(hidden)  # an import of these fails
    sys.modules.update(blocked)
    found: dict[str, Any] = {"own code": compared(folder, {"trust_remote_code": True})}
    for name in hidden:
        del sys.modules[name]
    try:
        import_module(hidden[0])
        return {**found, "package": compared(folder, {})}
    except ImportError as error:
        return {**found, "package": shown(error)}


def compared(folder: Path, trust: dict[str, bool]) -> dict[str, Any]:
    return {name: differences(folder / name, auto_class, trust) for name, auto_class in HEADS.items()}


def shown(error: Exception) -> str:
    text = re.sub(r" \([^()]*[/\\][^()]*\)", "", " ".join(str(error).split()))  # paths of this machine
    return f"{type(error).__name__}: {text[:200]}"


def differences(folder: Path, auto_class: str, trust: dict[str, bool]) -> dict[str, float] | str:
    """inf: another shape, or other ids."""
    try:
        wanted = load_file(folder / ANSWERS)
        model = getattr(transformers, auto_class).from_pretrained(folder, **trust).eval()
        found = answers(model, transformers.AutoTokenizer.from_pretrained(folder, **trust))
    except Exception as error:  # which the table shows
        return shown(error)
    return {name: difference(found[name], value) for name, value in wanted.items()}


def difference(found: Tensor, wanted: Tensor) -> float:
    if found.shape != wanted.shape:
        return float("inf")
    if found.is_floating_point():
        return float((found - wanted).abs().max().nan_to_num(nan=float("inf")))
    return 0.0 if torch.equal(found, wanted) else float("inf")


def main(action: str, folder: str) -> None:
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    try:
        found: Any = {"save": save, "read": read}[action](Path(folder))
    except ImportError as error:  # of the package
        found = shown(error)
    versions = {
        "transformers": transformers.__version__, "torch": torch.__version__, "python": platform.python_version(),
    }  # fmt: skip
    print("\n" + json.dumps({"versions": versions, "found": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
