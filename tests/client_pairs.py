# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What the tests of tests/clients share: a native model and its conversion, and the row that a test has in the docs."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from native_models import Native
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from modeling_scratch import load_pretrained
from tokenization import special_token_ids, train_bpe_tokenizer

REVIEWS = (
    ("a good film", 1), ("a bad film", 0), ("what a very good and moving film", 1), ("not good at all", 0),
    ("good", 1), ("a slow and bad film", 0), ("moving and warm from start to end", 1), ("slow, bad and long", 0),
)  # fmt: skip
TEXTS = [text for text, _ in REVIEWS]
STYLES = {"bert": "bert", "roberta": "roberta", "gpt2": "gpt", "llama": "gpt", "bart": "bart"}
LABEL = "ScratchEncoderForSequenceClassification"
WRITE = "ScratchDecoderForCausalLM"
TRANSLATE = "ScratchSeq2SeqForConditionalGeneration"
# Names of the same in the configs of several families.
NO_DROPOUT = dict.fromkeys(
    ("hidden_dropout_prob", "attention_probs_dropout_prob", "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropout",
     "attention_dropout", "activation_dropout", "classifier_dropout"), 0.0
)  # fmt: skip
LIMITS = dict.fromkeys(("max_position_embeddings", "n_positions"), 64)


def client(library: str, peer: str, result: str = "equal", needs: str = "") -> Callable:
    """Mark a test as a row of docs/experiments/clients.md: the first line of its docstring says what is compared.

    library: name on PyPI, as needs, another that has to be there. peer: the native models. result: what the test holds.
    """
    missing = [name for name in (library, *needs.split()) if not installed(name)]
    marks = (
        pytest.mark.slow,
        pytest.mark.filterwarnings("ignore"),
        pytest.mark.client(library, peer=peer, result=result),
        pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}"),
    )

    def marked(test: Any) -> Any:
        for mark in marks:
            test = mark(test)
        return test

    return marked


def installed(library: str) -> bool:
    try:
        return bool(version(library))
    except PackageNotFoundError:
        return False


@dataclass(frozen=True)
class Pair:
    """A native model and its conversion, with all weights drawn anew, and their tokenizer."""

    theirs: Any
    ours: Any
    tokenizer: PreTrainedTokenizerFast

    def __iter__(self) -> Iterator[Any]:
        """The models, the native one first."""
        return iter((self.theirs, self.ours))


@cache
def made(model_type: str, head: str, **changes: Any) -> Pair:
    style = STYLES[model_type]
    tokenizer = train_bpe_tokenizer(TEXTS * 20, 300, style=style, model_max_length=32, show_progress=False)
    ids = special_token_ids(tokenizer)
    settings = {"vocab_size": len(tokenizer), **ids, "num_labels": 2, **NO_DROPOUT, **LIMITS, **changes}
    native = Native(model_type, head)
    known = native.model_class.config_class().to_dict().keys() | {"num_labels", "pad_token_id"}
    model = native.model(**{name: value for name, value in settings.items() if name in known})
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return Pair(model, load_pretrained(folder).eval(), tokenizer)


def pair(model_type: str, head: str, padding_side: str = "right", **changes: Any) -> Pair:
    """A native model of this family and ours: copies, which a test may train. changes: of the native config."""
    models = copy.deepcopy(made(model_type, head, **changes))
    models.tokenizer.padding_side = padding_side
    return models


def folders(models: Pair, top: Path) -> list[str]:
    """Both saved with the tokenizer, for clients that load by name."""
    names = [str(top / "theirs"), str(top / "ours")]
    for model, name in zip(models, names):
        model.save_pretrained(name)
        models.tokenizer.save_pretrained(name)
    return names


def assert_same(found: Any, expected: Any, **tolerance: float) -> None:
    torch.testing.assert_close(found, expected, **({"atol": 1e-5, "rtol": 1e-4} | tolerance))


def losses(trainer: Any) -> Tensor:
    """Train, and return the loss of each logged step."""
    torch.manual_seed(0)
    trainer.train()
    found = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(found) > 1
    return torch.tensor(found)


def steps(folder: Path, **settings: Any) -> dict[str, Any]:
    """Arguments of a Trainer that takes three steps on the CPU and logs each."""
    return {
        "output_dir": str(folder), "max_steps": 3, "per_device_train_batch_size": 4, "logging_steps": 1,
        "learning_rate": 1e-3, "report_to": "none", "save_strategy": "no", "use_cpu": True, "disable_tqdm": True,
        "seed": 0, **settings,
    }  # fmt: skip
