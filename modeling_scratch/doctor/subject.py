# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The model that is examined: its kind, and batches that it takes.

Shapes: B batch, T length, C classes.
"""

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import PreTrainedModel

from ..tasks import ANSWER, CLASSIFY, FILL, TAG, TRANSLATE, WRITE, action_of_class
from .findings import FallsShort, Need, only_if, require

Batch = dict[str, Tensor]

OTHER_HEADS = "ForMultipleChoice", "ForNextSentencePrediction", "ForPreTraining"  # with other inputs or outputs
BASE = "base"  # without a loss
LENGTH, SHORTER = 9, 5
NEW_TOKENS = 4
SPECIAL = "pad", "bos", "eos", "sep", "cls", "mask", "unk", "decoder_start"
TOLERANCE = 1e-4  # relative to the largest value, in float32


@dataclass
class Subject:
    """model: in evaluation mode, in float32, on the CPU. is_trusted: whether code of the folder may run.

    Raises `DoesNotApply` for a model that the checks have no inputs for.
    """

    model: PreTrainedModel
    tokenizer: Any = None
    folder: Path | None = None
    is_trusted: bool = False

    def __post_init__(self) -> None:
        self.config: Any = self.model.config
        self.name = type(self.model).__name__
        self.signature = inspect.signature(self.model.forward).parameters
        self.parameters = _with_inherited(type(self.model))
        only_if(self.model.main_input_name == "input_ids", f"The model reads {self.model.main_input_name}, not text.")
        classifies = self.is_seq2seq and self.name.endswith(("ForSequenceClassification", "ForQuestionAnswering"))
        only_if(not classifies and not self.name.endswith(OTHER_HEADS), f"There are no checks of {self.name}.")

    def reads(self, name: str) -> bool:
        """Return whether `forward` names this argument, or hands it on to that of the class from which it derives."""
        return name in self.parameters

    @property
    def trusts_code(self) -> bool:
        """Whether code that config.json names may run: of a model in memory, only what is not downloaded for it."""
        return self.is_trusted or (self.folder is None and "--" not in str(self.auto_map))

    @property
    def auto_map(self) -> dict[str, Any]:
        """Auto class: the code that config.json names for it."""
        return getattr(self.config, "auto_map", None) or {}

    @property
    def is_seq2seq(self) -> bool:
        return bool(self.config.is_encoder_decoder)

    @property
    def prefix(self) -> str:
        """Of the names of what a decoder reads and returns, which those of an encoder-decoder have."""
        return "decoder_" if self.is_seq2seq else ""

    @cached_property
    def head(self) -> str:
        """What the model does, by the Auto class that makes it, or by its name, its arguments and its logits."""
        makers = [auto for auto, path in self.auto_map.items() if str(path).rpartition(".")[2] == self.name]
        known = filter(None, map(action_of_class, (*makers, self.name)))
        if action := next(known, None):
            return FILL if action == WRITE and self.permutes else action
        if not self.reads("labels"):
            return BASE
        if self.model.can_generate():
            return TRANSLATE if self.is_seq2seq else WRITE
        shape = run(self.redrawn, self.batch())["logits"].shape
        return CLASSIFY if len(shape) == 2 else TAG if shape[-1] == self.config.num_labels else FILL

    @property
    def permutes(self) -> bool:
        """Whether a mask of permutations says what a token sees, as in XLNet: without one, all others."""
        return self.reads("perm_mask")

    @cached_property
    def is_causal(self) -> bool:
        """Whether the model reads from left to right (of an encoder-decoder: its decoder)."""
        if self.permutes:
            return False
        if self.is_seq2seq or self.model.can_generate() or getattr(self.config, "is_decoder", False):
            return True
        writes, fills = (
            name in self.auto_map or type(self.config) in getattr(transformers, name)._model_mapping
            for name in ("AutoModelForCausalLM", "AutoModelForMaskedLM")
        )
        return writes and not fills

    @property
    def pads_left(self) -> bool:
        """Whether texts are padded on the left: of decoders, to generate; of encoders, only if the tokenizer does."""
        is_decoder = self.is_causal and not self.is_seq2seq
        return is_decoder or getattr(self.tokenizer, "padding_side", "right") == "left"

    @cached_property
    def redrawn(self) -> PreTrainedModel:
        """A copy with parameters far from where initialisation puts them, which hides faults."""
        model = redraw(copy.deepcopy(self.model))
        if getattr(model.config, "pad_token_id", None) is None:
            model.config.pad_token_id = self.pad_token_id  # its absence is a finding of its own
        return model

    @property
    def vocab_size(self) -> int:
        return self.config.get_text_config().vocab_size

    @property
    def special_ids(self) -> set[int]:
        found = (getattr(self.config, f"{name}_token_id", None) for name in SPECIAL)
        return {id for ids in found for id in (ids if isinstance(ids, list) else [ids]) if id is not None}

    @property
    def pad_token_id(self) -> int:
        pad = getattr(self.config, "pad_token_id", None)
        return 0 if pad is None else pad

    @cached_property
    def counts_from_padding(self) -> bool:
        """Whether positions begin after the id of padding, as those of RoBERTa."""
        tables = ((name, module) for name, module in self.model.named_modules() if "position" in name)
        return any(getattr(module, "padding_idx", None) is not None for _, module in tables)

    @property
    def limit(self) -> int:
        """How many tokens have positions; 0 if more than are tried, or the config does not say."""
        found = getattr(self.config.get_text_config(), "max_position_embeddings", None) or 0
        before = self.pad_token_id + 1 if self.counts_from_padding else 0
        return found - before if 0 < found <= 1024 else 0

    @cached_property
    def length(self) -> int:
        """Of texts: `LENGTH`, or less for a model that has fewer positions for them and for what it writes."""
        return max(2, min(self.limit - NEW_TOKENS, LENGTH)) if self.limit else LENGTH

    @property
    def shorter(self) -> int:
        """The length of a text that is padded, and of what is read before a cache is used."""
        return SHORTER if self.length == LENGTH else (self.length + 1) // 2

    @property
    def first_step(self) -> int:
        return self.shorter - (self.length == LENGTH)

    def longest_batch(self) -> Batch:
        """One text of as many tokens as the model has positions."""
        batch = self.batch([self.ids(self.limit or 4 * LENGTH)])
        return batch | {name: batch["input_ids"] for name in batch if name == "decoder_input_ids"}

    def ids(self, length: int | None = None, seed: int = 0) -> Tensor:
        """Token ids of one text (T,), none of them special."""
        length = length or self.length
        allowed = torch.tensor([id for id in range(min(self.vocab_size, 1000)) if id not in self.special_ids])
        return allowed[torch.randint(len(allowed), (length,), generator=torch.Generator().manual_seed(seed))]

    def others(self, ids: Tensor) -> Tensor:
        """Another token for each."""
        one, other = self.ids(2, seed=11)
        return torch.where(ids == one, other, one)

    def batch(self, texts: Sequence[Tensor] | None = None, side: str = "right") -> Batch:
        """Texts as `forward` takes them, padded on this side; by default, two of equal length.

        The decoder of an encoder-decoder reads the same number of tokens for each text, which are never padded.
        """
        texts = [self.ids(seed=0), self.ids(seed=1)] if texts is None else texts
        longest = max(map(len, texts))
        batch = {
            "input_ids": torch.stack([_padded(text, longest, self.pad_token_id, side) for text in texts]),
            "attention_mask": torch.stack([_padded(torch.ones_like(text), longest, 0, side) for text in texts]),
        }
        if self.is_seq2seq:
            batch["decoder_input_ids"] = torch.stack(
                [self.ids(min(7, self.length), seed=100 + int(text[0])) for text in texts]
            )
        return {name: value for name, value in batch.items() if self.reads(name)}

    def padded_batch(self, side: str = "right") -> Batch:
        """A text, and a shorter one that is padded on this side."""
        return self.batch([self.ids(), self.ids(self.shorter, seed=1)], side)

    def labels(self, batch: Batch) -> Batch:
        """Labels that go with a batch, some of tokens ignored (-100); none for a model without a loss."""
        ids = batch["input_ids"]
        rows, columns = torch.arange(len(ids)), torch.arange(ids.shape[1])
        if self.head == CLASSIFY:
            return {"labels": self.text_labels(len(ids), self.config.problem_type)}
        if self.head == TAG:
            return {"labels": self._of_tokens(batch, columns > rows[:, None], ids % self.config.num_labels)}
        if self.head == ANSWER:
            return {"start_positions": rows % 3, "end_positions": (rows % 3 + 2).clamp(max=ids.shape[1] - 1)}
        if self.head == TRANSLATE:
            targets = batch["decoder_input_ids"].flip(1)
            return {"labels": torch.where(torch.arange(targets.shape[1]) < 5 - rows[:, None], targets, -100)}
        if self.head in (FILL, WRITE):
            return {"labels": self._of_tokens(batch, columns < 7 - 2 * rows[:, None], ids)}
        return {}

    @staticmethod
    def _of_tokens(batch: Batch, chosen: Tensor, labels: Tensor) -> Tensor:
        """Return the labels of chosen tokens that are no padding."""
        return torch.where(chosen & batch.get("attention_mask", chosen).bool(), labels, -100)

    def real(self, batch: Batch) -> Any:
        """Return the index of the answers to a batch that are not those to padding."""
        of_tokens = self.head != CLASSIFY and not self.is_seq2seq and "attention_mask" in batch
        return batch["attention_mask"].bool() if of_tokens else slice(None)

    def text_labels(self, texts: int, kind: str | None) -> Tensor:
        """One label per text, of this problem_type; None: of the one that the number of labels stands for."""
        classes = self.config.num_labels
        if kind == "multi_label_classification":
            return 0.1 + 0.8 * ((torch.arange(texts)[:, None] + torch.arange(classes)) % 2)  # soft labels
        if kind == "regression" or (kind is None and classes == 1):
            values = torch.arange(texts).float() / 2 - 0.3
            return values if classes == 1 else values[:, None].expand(texts, classes)
        return (torch.arange(texts) + 1) % classes

    def answers(self, batch: Batch, **options: Any) -> Tensor:
        """What the redrawn model answers to a batch."""
        return values(run(self.redrawn, batch, **options))

    def alone(self, batch: Batch, row: int) -> Batch:
        """One row of a batch, without its padding."""
        kept = batch["attention_mask"][row].bool() if "attention_mask" in batch else slice(None)
        one = {name: value[row : row + 1] for name, value in batch.items()}
        return one | {name: one[name][:, kept] for name in ("input_ids", "attention_mask") if name in one}


def reads(name: str) -> Need:
    """Return the need of an argument of `forward`."""
    return Need(lambda subject: subject.reads(name), f"`forward` has no argument {name}.")


# What checks need of a subject.
MASKED = reads("attention_mask")
SEQ2SEQ = Need(lambda subject: subject.is_seq2seq, "The model has no encoder and decoder.")
TOKENIZER = Need(lambda subject: subject.tokenizer is not None, "No tokenizer was given.")
GENERATES = Need(lambda subject: subject.is_causal and subject.model.can_generate(), "The model does not generate.")
LOSS = Need(lambda subject: subject.head != BASE, "The model has no loss.")
CLASSIFIES = Need(lambda subject: subject.head in (CLASSIFY, TAG), "The model has no labels.")
CLASSIFIES_TEXTS = Need(lambda subject: subject.head == CLASSIFY, "The model does not classify texts.")
TAGS = Need(lambda subject: subject.head == TAG, "The model tags no words.")
OF_TOKENS = Need(lambda subject: subject.head != CLASSIFY, "The classifier has one answer for a text.")
CAUSAL = Need(lambda subject: subject.is_causal, "The model reads in both directions.")


def takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Return whether **kwargs is among the parameters."""
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())


def _with_inherited(model_class: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of `forward`, and of those of its bases to which **kwargs hands arguments on."""
    found: dict[str, inspect.Parameter] = {}
    for forward in (vars(base)["forward"] for base in model_class.__mro__ if "forward" in vars(base)):
        own = inspect.signature(forward).parameters
        found |= own
        if not takes_any(own):
            break
    return found


def _padded(values: Tensor, length: int, filler: int, side: str) -> Tensor:
    missing = length - len(values)
    return torch.nn.functional.pad(values, (missing, 0) if side == "left" else (0, missing), value=filler)


@torch.no_grad()
def run(model: PreTrainedModel, batch: Batch, **options: Any) -> Any:
    """Return the outputs of a batch by name. The model may write into its inputs: they are copies."""
    own = {name: value.clone() if torch.is_tensor(value) else value for name, value in batch.items()}
    return model(**own, return_dict=True, **options)


@torch.no_grad()
def encoded(model: Any, batch: Batch) -> dict[str, Any]:
    """Return a batch with what the encoder returns in place of its ids."""
    mask = {name: value.clone() for name, value in batch.items() if name == "attention_mask"}
    given = {name: value for name, value in batch.items() if name != "input_ids"}
    return given | {"encoder_outputs": model.get_encoder()(batch["input_ids"], return_dict=True, **mask)}


@torch.no_grad()
def embedded(subject: Subject, batch: Batch, side: str = "") -> Batch:
    """Return a batch with the embeddings of its ids in their place."""
    table: Any = subject.redrawn.get_input_embeddings()
    others = {name: value for name, value in batch.items() if name != f"{side}input_ids"}
    return {**others, f"{side}inputs_embeds": table(batch[f"{side}input_ids"])}


def values(outputs: Any) -> Tensor:
    """Return what a model answers with: logits, or those of starts and ends (B, T, 2), or hidden states."""
    if "start_logits" in outputs:
        return torch.stack((outputs.start_logits, outputs.end_logits), dim=-1)
    for name in ("logits", "last_hidden_state"):
        found = getattr(outputs, name, outputs.get(name))
        if found is not None:
            return found
    raise FallsShort("`forward` returns no logits, so that there is nothing to evaluate.")


def distance(found: Tensor, wanted: Tensor) -> float:
    """Return the largest difference, relative to the largest wanted value; infinite if shapes differ or one is NaN."""
    if found.shape != wanted.shape:
        return float("inf")
    found, wanted = found.detach().float(), wanted.detach().float()
    apart = (found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-6)
    return float(apart.nan_to_num(float("inf")))


def require_close(found: Tensor, wanted: Tensor, what: str, tolerance: float = TOLERANCE) -> None:
    """Raises `FallsShort` for tensors that differ by their `distance`. what: a format for it."""
    apart = distance(found, wanted)
    require(apart < tolerance, what.format(f"{apart:.2g}"))


@torch.no_grad()
def redraw(model: PreTrainedModel, seed: int = 0) -> PreTrainedModel:
    """Draw all parameters that are saved anew, in place, and return the model.

    Matrices are drawn by their width, vectors around their values.
    """
    generator = torch.Generator().manual_seed(seed)
    computed = getattr(model, "_keys_to_ignore_on_save", None) or ()  # such as sinusoidal positions
    for parameter in (parameter for name, parameter in model.named_parameters() if name not in computed):
        noise = torch.randn(parameter.shape, generator=generator).to(parameter)
        if parameter.ndim < 2:
            parameter.add_(0.2 * noise)
        else:
            parameter.copy_(noise * 1.5 / max(parameter.shape[-1], 1) ** 0.5)
    return model.eval()


@contextmanager
def attention(subject: Subject, backend: str) -> Iterator[None]:
    """Meanwhile the redrawn model is a copy that attends by another backend."""
    before = subject.redrawn
    if before._can_set_attn_implementation():
        other = copy.deepcopy(before)
        other.set_attn_implementation(backend)
    else:  # such as Falcon, which reads it when it is made
        other = type(before)._from_config(copy.deepcopy(before.config), attn_implementation=backend)
        other.load_state_dict(before.state_dict())
    subject.redrawn = other.eval()
    try:
        yield
    finally:
        subject.redrawn = before
