# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The evaluation of pretraining: token-level losses, their meaning, training speed and a sample."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import EvalPrediction, PreTrainedTokenizerBase

from ..data.collators import Batch
from ..data.packed_documents import IGNORED, PackedRows, Pieces, TokenRow
from ..inference.text_generators import Continuer
from ..utils.errors import counted
from ..utils.markdown import excerpt, table

PROMPT_TOKENS = 8
SAMPLE_TOKENS = 250
PREDICTED = {
    "mlm": "masked tokens, the same at each evaluation",
    "clm": "all tokens except the first of each document, including its end",
    "denoising": "all tokens of the texts, given corrupted copies, the same at each evaluation",
}


class TextSize(NamedTuple):
    """The size of the validation text."""

    documents: int
    characters: int
    bytes: int

    def __str__(self) -> str:
        return f"{counted(self.documents, 'validation document')}, {self.characters:,} characters"

    @classmethod
    def of(cls, texts: Sequence[str]) -> "TextSize":
        return cls(len(texts), sum(map(len, texts)), sum(len(text.encode()) for text in texts))


@dataclass(frozen=True)
class PretrainingData:
    """Training and validation rows, and what their scores mean."""

    train: PackedRows | Pieces
    validation: PackedRows | Pieces
    collator: Callable[[Sequence[TokenRow]], Batch]
    tokens_per_row: float
    task: str
    longest: int  # tokens of a row
    text: TextSize
    is_whole_text: bool  # each token of the text is predicted exactly once: bits per character are defined
    notes: list[str]

    @property
    def label_name(self) -> str:
        """The batch key of the targets."""
        return "shift_labels" if self.task == "clm" else "labels"


def token_losses(outputs: Any, labels: Tensor) -> Tensor:
    """Return the sum of -log p(label) in nats and the number of labels per row: (B, T, V), (B, T) -> (B, 2).

    Logits may also be restricted to the labelled tokens: (labelled tokens, V).
    """
    logits = outputs[0] if isinstance(outputs, tuple) else outputs
    predicted = labels != IGNORED
    exact = torch.float32 if labels.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    losses = torch.zeros(labels.shape, dtype=exact, device=labels.device)
    logits = logits if logits.ndim == 2 else logits[predicted]
    losses[predicted] = F.cross_entropy(logits.float(), labels[predicted], reduction="none").to(exact)
    return torch.stack((losses.sum(-1), predicted.sum(-1)), dim=-1)


def token_metrics(prediction: EvalPrediction, text: TextSize | None = None) -> dict[str, float]:
    """Return mean loss and perplexity from the `token_losses` of all rows; per character and byte with `text`."""
    nats, tokens = np.asarray(prediction.predictions).sum(0).tolist()
    loss = nats / max(tokens, 1)
    perplexity = math.exp(min(loss, 700))  # avoids overflow
    metrics: dict[str, float] = {"token_loss": loss, "perplexity": perplexity, "predicted_tokens": int(tokens)}
    if text is not None:
        bits = nats / math.log(2)
        metrics |= {"bits_per_character": bits / text.characters, "bits_per_byte": bits / text.bytes}
    return metrics


def report_pretraining(
    history: Sequence[Mapping[str, Any]], data: PretrainingData, example: str, resumed_at: int
) -> tuple[str, dict[str, Any]]:
    """Return results.md and evaluation.json. history: the log. example: a validation text."""
    scores = {name.removeprefix("eval_"): value for name, value in history[-1].items()}
    number = f"mean over all {scores['predicted_tokens']:,} of them: {PREDICTED[data.task]}"
    meanings = {
        "loss": f"nats per predicted token, {number}",
        "perplexity": "exp(loss)",
        "bits_per_character": "total nats / ln 2 / number of characters; comparable across lossless tokenizers",
        "bits_per_byte": "the same per UTF-8 byte",
    }
    values = {name: {"value": scores[name], "meaning": told} for name, told in meanings.items() if name in scores}
    rows = [[name.replace("_", " "), f"{each['value']:.4f}", each["meaning"]] for name, each in values.items()]
    head = f"Evaluated on {data.text}, with a context of at most {data.longest} tokens."
    end = "\n".join([*data.notes, speed(history, data.tokens_per_row, resumed_at)])
    text = "\n\n".join([head, table(["score", "value", "definition"], rows), end])
    about = {"text": str(data.text), "context": data.longest}
    return f"{text}\n", {**about, "scores": values, "example": excerpt(example)}


def speed(history: Sequence[Mapping[str, Any]], tokens_per_row: float, resumed_at: int = 0) -> str:
    """Return training time without evaluations and token throughput, counted from the resumed step."""
    end = max(index for index, entry in enumerate(history) if "train_runtime" in entry)
    total, rows_per_second = history[end]["train_runtime"], history[end]["train_samples_per_second"]
    evaluating = sum(entry.get("eval_runtime", 0) for entry in history[:end] if entry["step"] > resumed_at)
    seconds, tokens = total - evaluating, rows_per_second * total * tokens_per_row
    since = f", since resuming at step {resumed_at:,}" if resumed_at else ""
    return (
        f"{seconds:.0f} s of training at {tokens / seconds:,.0f} tokens/s, {evaluating:.0f} s of "
        f"evaluation{since}; {counted(torch.get_num_threads(), 'thread')}"
    )


def write_sample(model: Any, tokenizer: PreTrainedTokenizerBase, document: str) -> str:
    """Sample a continuation of the first tokens of a document, as far as the positions of the model reach."""
    prompt = str(tokenizer.decode(tokenizer(document)["input_ids"][:PROMPT_TOKENS], skip_special_tokens=True))
    writer = Continuer(model, tokenizer, do_sample=True, max_new_tokens=SAMPLE_TOKENS)
    return prompt + writer.generate([prompt])[0][0].text
