# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The model that is examined: its kind, batches that it takes, and what checks need of it.

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
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from ..tasks import ANSWER, CLASSIFY, FILL, TAG, TRANSLATE, WRITE, action_of_class
from .comparing import TOLERANCE, Batch, redraw, require_close, run, values, without
from .findings import Need, only_if, tried

OTHER_HEADS = "ForMultipleChoice", "ForNextSentencePrediction", "ForPreTraining"  # with other inputs or outputs
BASE = "base"  # without a loss
LENGTH, NEW_TOKENS = 9, 4
SPECIAL = "pad", "bos", "eos", "sep", "cls", "mask", "unk", "decoder_start"


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
        self.text_config: Any = self.config.get_text_config()
        self.name = type(self.model).__name__
        self.signature = inspect.signature(self.model.forward).parameters
        self.parameters = _with_inherited(type(self.model))
        self.is_seq2seq = bool(self.config.is_encoder_decoder)
        # Of the names of what a decoder reads and returns, which those of an encoder-decoder have.
        self.prefix = "decoder_" if self.is_seq2seq else ""
        self.read_name = f"{self.prefix}input_ids"
        self.permutes = self.reads("perm_mask")  # which says what a token sees, as in XLNet: without one, all others
        self.vocab_size: int = self.text_config.vocab_size
        self.pad_token_id: int = getattr(self.config, "pad_token_id", None) or 0
        only_if(self.model.main_input_name == "input_ids", f"The model reads {self.model.main_input_name}, not text.")
        ends = (*OTHER_HEADS, *(("ForSequenceClassification", "ForQuestionAnswering") if self.is_seq2seq else ()))
        only_if(not self.name.endswith(ends), f"There are no checks of {self.name}.")

    def reads(self, name: str) -> bool:
        """Return whether `forward` names this argument, or hands it on to that of the class from which it derives."""
        return name in self.parameters

    @property
    def auto_map(self) -> dict[str, Any]:
        """Auto class: the code that config.json names for it. Saving sets it for a registered class."""
        return getattr(self.config, "auto_map", None) or {}

    @property
    def makers(self) -> list[str]:
        """The Auto classes that make this class by code of its own."""
        return [auto for auto, path in self.auto_map.items() if str(path).rpartition(".")[2] == self.name]

    @property
    def trusts_code(self) -> bool:
        """Whether code that config.json names may run: of a model in memory, only what is not downloaded for it."""
        return self.is_trusted or (self.folder is None and "--" not in str(self.auto_map))

    @cached_property
    def head(self) -> str:
        """What the model does, by the Auto class that makes it, or by its name, its arguments and its logits."""
        known = filter(None, map(action_of_class, (*self.makers, self.name)))
        if action := next(known, None):
            return FILL if action == WRITE and self.permutes else action
        if not self.reads("labels"):
            return BASE
        if self.model.can_generate():
            return TRANSLATE if self.is_seq2seq else WRITE
        shape = run(self.redrawn, self.batch())["logits"].shape
        return CLASSIFY if len(shape) == 2 else TAG if shape[-1] == self.config.num_labels else FILL

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
    def is_decoder(self) -> bool:
        """Whether the model reads from left to right, without an encoder."""
        return self.is_causal and not self.is_seq2seq

    @property
    def pads_left(self) -> bool:
        """Whether texts are padded on the left: of decoders, to generate; of encoders, only if the tokenizer does."""
        return self.is_decoder or getattr(self.tokenizer, "padding_side", "right") == "left"

    @cached_property
    def redrawn(self) -> PreTrainedModel:
        """A copy with parameters far from where initialisation puts them, which hides faults."""
        model = redraw(copy.deepcopy(self.model))
        if getattr(model.config, "pad_token_id", None) is None:
            model.config.pad_token_id = self.pad_token_id  # its absence is a finding of its own
        return model

    @cached_property
    def limit(self) -> int:
        """How many tokens have positions; 0 if more than are tried, or the config does not say."""
        found = getattr(self.text_config, "max_position_embeddings", None) or 0
        tables = [module for name, module in self.model.named_modules() if "position" in name]
        begins_later = any(getattr(table, "padding_idx", None) is not None for table in tables)  # as in RoBERTa
        return found - (self.pad_token_id + 1) * begins_later if 0 < found <= 1024 else 0

    @cached_property
    def length(self) -> int:
        """Of texts: `LENGTH`, or less for a model that has fewer positions for them and for what it writes."""
        return max(2, min(self.limit - NEW_TOKENS, LENGTH)) if self.limit else LENGTH

    @property
    def shorter(self) -> int:
        """The length of a text that is padded."""
        return (self.length + 1) // 2

    # Batches

    def ids(self, length: int | None = None, seed: int = 0) -> Tensor:
        """Token ids of one text (T,), none of them special."""
        special = [getattr(self.config, f"{name}_token_id", None) for name in SPECIAL]
        kept = {id for ids in special for id in (ids if isinstance(ids, list) else [ids])}
        allowed = torch.tensor([id for id in range(min(self.vocab_size, 1000)) if id not in kept])
        generator = torch.Generator().manual_seed(seed)
        return allowed[torch.randint(len(allowed), (length or self.length,), generator=generator)]

    def batch(self, texts: Sequence[Tensor] | None = None, side: str = "right") -> Batch:
        """Texts as `forward` takes them, padded on this side; by default, two of equal length.

        The decoder of an encoder-decoder reads the same number of tokens for each text, which are never padded.
        """
        texts = [self.ids(seed=0), self.ids(seed=1)] if texts is None else texts
        batch = {
            "input_ids": pad_sequence([*texts], True, self.pad_token_id, side),
            "attention_mask": pad_sequence([torch.ones_like(text) for text in texts], True, 0, side),
        }
        if self.is_seq2seq:
            targets = [self.ids(min(7, self.length), seed=100 + int(text[0])) for text in texts]
            batch["decoder_input_ids"] = torch.stack(targets)
        return {name: value for name, value in batch.items() if self.reads(name)}

    def padded_batch(self, side: str = "right") -> Batch:
        """A text, and a shorter one that is padded on this side."""
        return self.batch([self.ids(), self.ids(self.shorter, seed=1)], side)

    def longest_batch(self) -> Batch:
        """One text of as many tokens as the model has positions."""
        batch = self.batch([self.ids(self.limit or 4 * LENGTH)])
        return batch | {name: batch["input_ids"] for name in batch if name == "decoder_input_ids"}

    @property
    def batches(self) -> tuple[Batch, Batch]:
        """Without padding, for which fused attention has a path of its own, and with padding."""
        return self.batch(), self.padded_batch()

    def changed(self, batch: Batch, columns: Any, name: str = "input_ids") -> Batch:
        """A batch with other tokens in these columns."""
        one, other = self.ids(2, seed=11)
        ids = batch[name].clone()
        ids[:, columns] = torch.where(ids[:, columns] == one, other, one)
        return {**batch, name: ids}

    def labels(self, batch: Batch) -> Batch:
        """Labels that go with a batch, some of tokens ignored (-100); none for a model without a loss."""
        ids = batch["input_ids"]
        rows, columns = torch.arange(len(ids))[:, None], torch.arange(ids.shape[1])
        if self.head == BASE:
            return {}
        if self.head == CLASSIFY:
            return {"labels": self.text_labels(len(ids), self.config.problem_type)}
        if self.head == ANSWER:
            starts = rows[:, 0] % 3
            return {"start_positions": starts, "end_positions": (starts + 2).clamp(max=ids.shape[1] - 1)}
        if self.head == TRANSLATE:
            ids = batch["decoder_input_ids"].flip(1)
            return {"labels": ids.masked_fill(torch.arange(ids.shape[1]) >= 5 - rows, -100)}
        counts = columns > rows if self.head == TAG else columns < 7 - 2 * rows
        ids = ids % self.config.num_labels if self.head == TAG else ids
        return {"labels": torch.where(counts & batch.get("attention_mask", counts).bool(), ids, -100)}

    def text_labels(self, texts: int, kind: str | None) -> Tensor:
        """One label per text, of this problem_type; None: of the one that the number of labels stands for."""
        classes = self.config.num_labels
        if kind == "multi_label_classification":
            return 0.1 + 0.8 * ((torch.arange(texts)[:, None] + torch.arange(classes)) % 2)  # soft labels
        if kind == "regression" or (kind is None and classes == 1):
            values = torch.arange(texts).float() / 2 - 0.3
            return values if classes == 1 else values[:, None].expand(texts, classes)
        return (torch.arange(texts) + 1) % classes

    def labelled(self, batch: Batch | None = None) -> Batch:
        """A batch with its labels; by default, of four texts, of which one is padded."""
        if batch is None:
            third = self.length if self.head == ANSWER else self.shorter  # where padding is no place of an answer
            lengths = self.length, self.length, third, self.length
            batch = self.batch([self.ids(length, seed=seed) for seed, length in enumerate(lengths)])
        return {**batch, **self.labels(batch)}

    @torch.no_grad()
    def encoded(self, batch: Batch, model: Any = None) -> Batch:
        """A batch with what the encoder returns in place of its ids."""
        mask = {name: value.clone() for name, value in batch.items() if name == "attention_mask"}
        encoder = (model or self.redrawn).get_encoder()
        return {**without(batch, "input_ids"), "encoder_outputs": encoder(batch["input_ids"], return_dict=True, **mask)}

    @torch.no_grad()
    def embedded(self, batch: Batch, side: str = "") -> Batch:
        """A batch with the embeddings of its ids in their place."""
        table: Any = self.redrawn.get_input_embeddings()
        name = f"{side}input_ids"
        return {**without(batch, name), f"{side}inputs_embeds": table(batch[name])}

    # Answers

    def answers(self, batch: Batch | Tensor) -> Tensor:
        """What the redrawn model answers to a batch. Answers are returned as they are."""
        return batch if isinstance(batch, Tensor) else values(run(self.redrawn, batch))

    def real(self, batch: Batch) -> Any:
        """Return the index of the answers to a batch that are not those to padding."""
        of_tokens = self.head != CLASSIFY and not self.is_seq2seq and "attention_mask" in batch
        return batch["attention_mask"].bool() if of_tokens else slice(None)

    def same(
        self, when: str, found: Batch | Tensor, wanted: Batch | Tensor, at: Any = None, tolerance: float = TOLERANCE
    ) -> None:
        """Raises `FallsShort` where answers differ by more than the tolerance, or there are none.

        found, wanted: batches, or answers. when: what is other for `found`, as the first words of a sentence.
        at: the index of what is compared; by default, real tokens.
        """
        if at is None:
            at = slice(None) if isinstance(wanted, Tensor) else self.real(wanted)
        with tried(f"{when}, `forward`"):
            answers = self.answers(found)
        require_close(answers[at], self.answers(wanted)[at], f"{when}, the answers differ by {{}}.", tolerance)

    @property
    def backends(self) -> list[str]:
        """The attention backends that the model says it has."""
        return ["eager", "sdpa"] if getattr(self.model, "_supports_sdpa", False) else ["eager"]

    @contextmanager
    def attending(self, backend: str) -> Iterator[None]:
        """Meanwhile the redrawn model is a copy that attends by another backend."""
        before = self.redrawn
        if before._can_set_attn_implementation():
            other = copy.deepcopy(before)
            other.set_attn_implementation(backend)
        else:  # such as Falcon, which reads it when it is made
            other = type(before)._from_config(copy.deepcopy(before.config), attn_implementation=backend)
            other.load_state_dict(before.state_dict())
        self.redrawn = other.eval()
        try:
            yield
        finally:
            self.redrawn = before


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


def reads(name: str) -> Need:
    """Return the need of an argument of `forward`."""
    return lambda subject: subject.reads(name), f"`forward` has no argument {name}."


# What checks need of a subject: a check whose needs it does not meet does not apply.
MASKED = reads("attention_mask")
SEQ2SEQ: Need = (lambda subject: subject.is_seq2seq, "The model has no encoder and decoder.")
TOKENIZER: Need = (lambda subject: subject.tokenizer is not None, "No tokenizer was given.")
GENERATES: Need = (lambda subject: subject.is_causal and subject.model.can_generate(), "The model does not generate.")
LOSS: Need = (lambda subject: subject.head != BASE, "The model has no loss.")
CLASSIFIES: Need = (lambda subject: subject.head in (CLASSIFY, TAG), "The model has no labels.")
TAGS: Need = (lambda subject: subject.head == TAG, "The model tags no words.")
OF_TOKENS: Need = (lambda subject: subject.head != CLASSIFY, "The classifier has one answer for a text.")
PADS_LEFT: Need = (lambda subject: subject.pads_left, "Neither the model nor its tokenizer pads on the left.")
CAUSAL: Need = (lambda subject: subject.is_causal, "The model reads in both directions.")
