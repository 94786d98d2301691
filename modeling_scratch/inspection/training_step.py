# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One real training step on a copy of the model: loss, gradients, and what the step changes.

Dropout is off, so that what changes is due to the step alone. The copy has float32 weights, all of them trainable: in
float16, AdamW's epsilon is 0.
"""

import copy
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..inference.answers import names_of
from ..utils.errors import DataError
from .answers import Target, score
from .recorder import as_textbook
from .subjects import CLASSIFICATION, GENERATION, MASKED, MULTI, NEXT, REGRESSION, TAGGING, Subject

RATE = 1e-3
MOST_PARAMETERS = 200_000_000  # a copy, its gradients and the optimizer's states take four times the memory


def training_step(subject: Subject, target: Target, output: Any, label: str | None = None) -> dict[str, Any] | None:
    """Return the step towards a label, by default the least likely one of a classifier, from which it learns most.

    Loss and probability before and after, the norms of each parameter's gradient and update, and those of the
    gradients of the embeddings' and each block's output, per token. None for a model that is too large.
    """
    if sum(parameter.numel() for parameter in subject.model.parameters()) > MOST_PARAMETERS:
        subject.notes.append(f"no training step: the model has more than {MOST_PARAMETERS:,} parameters")
        return None
    labels, name = labels_of(subject, output, label)
    return {"label": name, "optimizer": "AdamW", "rate": RATE, **_step(subject, target, labels)}


def _step(subject: Subject, target: Target, labels: Tensor) -> dict[str, Any]:
    model = copy.deepcopy(subject.model).float().requires_grad_(True)
    for table in (each for each in model.modules() if isinstance(each, nn.Embedding)):
        table.sparse = False  # AdamW takes no sparse gradients
    inputs = {**subject.inputs, "labels": labels}
    before = {each: parameter.detach().clone() for each, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    probability_before = _probability(subject, target, model)
    outputs = _kept_outputs(model)
    with as_textbook(model), torch.enable_grad():
        first = model(**inputs)
        first.loss.backward()
        gradients = [
            {"path": path, "per_token": [] if states.grad is None else states.grad[0].norm(dim=-1).tolist()}
            for path, states in outputs.items()
        ]
        optimizer.step()
        with torch.no_grad():
            second = model(**inputs)
    return {
        "loss_before": first.loss.item(),
        "loss_after": second.loss.item(),
        "answer_before": probability_before,
        "answer_after": _probability(subject, target, model),
        "parameters": [_change(each, parameter, before[each]) for each, parameter in model.named_parameters()],
        "outputs": gradients,
    }


def labels_of(subject: Subject, output: Any, label: str | None) -> tuple[Tensor, str]:
    """Return the labels of a step, given or chosen, and their description. Raises `DataError`.

    By default a classifier's least likely label, the number above that of a regression, a decoder's own next tokens,
    the masked token, the target, or what the model answers.
    """
    if label is not None and subject.task != CLASSIFICATION:
        raise DataError("--label: only for a classifier of one label a text")
    logits = output.logits[0]
    if subject.task == NEXT:
        return subject.tensor([subject.text.ids]), "the text's own next tokens"
    if subject.task == GENERATION:
        return subject.tensor([subject.target_ids]), "the output"
    if subject.task in (TAGGING, MASKED):
        return _token_labels(subject, logits.argmax(-1).tolist())
    names = names_of(subject.model.config)
    if subject.task == REGRESSION:
        numbers = (logits.float() + 1).tolist()
        return subject.tensor([numbers]), ", ".join(f"{each:g}" for each in numbers)
    if subject.task == MULTI:
        wanted = logits >= 0
        return wanted[None].float(), ", ".join(name for name, is_wanted in zip(names, wanted) if is_wanted)
    if label is not None and label not in names:
        raise DataError(f"--label {label}: not a label of the model, which has {', '.join(names[:20])}")
    index = int(logits.argmin()) if label is None else names.index(label)
    return subject.tensor([index]), names[index]


def _token_labels(subject: Subject, best: list[int]) -> tuple[Tensor, str]:
    """The tags that the model gives, or the token that a mask stands for."""
    if subject.task == TAGGING:
        tags = [-100 if added else tag for tag, added in zip(best, subject.text.special)]
        return subject.tensor([tags]), "the model's own tags"
    positions = subject.masked_positions(subject.text.ids)
    hidden = subject.hidden
    rows = [(token if hidden is None else hidden) if n in positions else -100 for n, token in enumerate(best)]
    named = subject.tokenizer.convert_ids_to_tokens([rows[position] for position in positions])
    return subject.tensor([rows]), " ".join(map(str, named))


def stream_names(model: Any) -> list[str]:
    """Return the paths of the embeddings and of each block of the base model whose output the head reads."""
    path, base = "" if model.base_model is model else f"{model.base_model_prefix}.", model.base_model
    if hasattr(base, "decoder"):
        path, base = f"{path}decoder.", base.decoder
    blocks = [f"stack.layers.{number}" for number in range(len(base.stack.layers))]
    return [f"{path}{name}" for name in ("embeddings", *blocks)]


def _kept_outputs(model: Any) -> dict[str, Tensor]:
    """The outputs of the embeddings and of each block, by path, of the passes to come, which keep their gradients."""
    found: dict[str, Tensor] = {}

    def keep(name: str, output: Tensor) -> None:
        if output.requires_grad:
            output.retain_grad()
            found[name] = output

    for name in stream_names(model):
        hook = partial(lambda name, _, __, output: keep(name, output), name)
        model.get_submodule(name).register_forward_hook(hook)
    return found


def _change(name: str, parameter: Tensor, before: Tensor) -> dict[str, Any]:
    gradient = parameter.grad
    return {
        "name": name,
        "shape": list(parameter.shape),
        "norm": 0.0 if gradient is None else gradient.norm().item(),
        "weight_norm": before.norm().item(),
        "change": (parameter.detach() - before).norm().item(),
    }


@torch.no_grad()
def _probability(subject: Subject, target: Target, model: Any) -> float:
    """Of the answer; without labels, with which a model may compute the logits of masked tokens alone."""
    with as_textbook(model):
        logits = model(**subject.inputs).logits.float()
    return target.probability(score(subject, logits, target, [target.position]).item())
