# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""One real training step on a copy of the model: loss, gradients, and what the step changes.

Dropout is off, so that what changes is due to the step alone. The copy has float32 weights, all of them trainable: in
float16, AdamW's epsilon is 0.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ..inference.answers import names_of
from ..utils.errors import DataError
from .answers import Target, score
from .recorder import as_textbook
from .subjects import CLASSIFICATION, GENERATION, MULTI, NEXT, REGRESSION, TAGGING, Subject

RATE = 1e-3
MOST_PARAMETERS = 200_000_000  # a copy, its gradients and the optimizer's states take four times the memory


def training_step(subject: Subject, target: Target, output: Any, label: str | None = None) -> dict[str, Any] | None:
    """Return the step towards a label, by default the least likely one of a classifier, from which it learns most.

    Loss and probability before and after, and the norms of each parameter, its gradient and its update. None for a
    model that is too large.
    """
    if sum(parameter.numel() for parameter in subject.model.parameters()) > MOST_PARAMETERS:
        subject.notes.append(f"no training step: the model has more than {MOST_PARAMETERS:,} parameters")
        return None
    labels, name = labels_of(subject, output.logits[0], label)
    model = copy.deepcopy(subject.model).float().requires_grad_(True)
    for table in (each for each in model.modules() if isinstance(each, nn.Embedding)):
        table.sparse = False  # AdamW takes no sparse gradients
    before = {each: parameter.detach().clone() for each, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    with as_textbook(model):
        answer_before, loss_before = _answer(subject, target, model), _loss(subject, model, labels)
        loss_before.backward()
        optimizer.step()
        return {
            "label": name,
            "optimizer": "AdamW",
            "rate": RATE,
            "loss_before": loss_before.item(),
            "loss_after": _loss(subject, model, labels).item(),
            "answer_before": answer_before,
            "answer_after": _answer(subject, target, model),
            "parameters": [_change(each, parameter, before[each]) for each, parameter in model.named_parameters()],
        }


def _loss(subject: Subject, model: Any, labels: Tensor) -> Tensor:
    with torch.enable_grad():
        return model(**subject.batch(), labels=labels).loss


@torch.no_grad()
def _answer(subject: Subject, target: Target, model: Any) -> float:
    """Its probability; without labels, with which a model may compute the logits of masked tokens alone."""
    return target.probability(score(subject, model(**subject.batch()).logits.float(), target))


def _change(name: str, parameter: Tensor, before: Tensor) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(parameter.shape),
        "norm": 0.0 if parameter.grad is None else parameter.grad.norm().item(),
        "weight_norm": before.norm().item(),
        "change": (parameter.detach() - before).norm().item(),
    }


def labels_of(subject: Subject, logits: Tensor, label: str | None) -> tuple[Tensor, str]:
    """Return the labels of a step, given or chosen, and their description. Raises `DataError`.

    By default a classifier's least likely label, the number above that of a regression, a decoder's own next tokens,
    the masked token, the target, or what the model answers.
    """
    names, best = names_of(subject.model.config), logits.argmax(-1).tolist()
    if subject.task == CLASSIFICATION:
        if label is not None and label not in names:
            raise DataError(f"--label {label}: not a label of the model, which has {', '.join(names[:20])}")
        index = int(logits.argmin()) if label is None else names.index(label)
        return subject.tensor([index]), names[index]
    if label is not None:
        raise DataError("--label: only for a classifier of one label a text")
    if subject.task == NEXT:
        return subject.tensor([subject.text.ids]), "the text's own next tokens"
    if subject.task == GENERATION:
        return subject.tensor([subject.target_ids]), "the output"
    if subject.task == REGRESSION:
        numbers = logits.float() + 1
        return numbers[None], ", ".join(f"{each:g}" for each in numbers.tolist())
    if subject.task == MULTI:
        wanted = logits >= 0
        return wanted[None].float(), ", ".join(name for name, is_wanted in zip(names, wanted) if is_wanted)
    if subject.task == TAGGING:
        tags = [-100 if added else tag for tag, added in zip(best, subject.text.special)]
        return subject.tensor([tags]), "the model's own tags"
    hidden = {place: best[place] if subject.hidden is None else subject.hidden for place in subject.masked_positions()}
    labels = subject.tensor([[hidden.get(place, -100) for place in range(len(best))]])
    return labels, " ".join(map(str, subject.tokenizer.convert_ids_to_tokens(list(hidden.values()))))
