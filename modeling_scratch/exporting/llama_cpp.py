# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""llama.cpp as a runtime, and the comparison of a file there with the model in PyTorch."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import torch

from ..bridges.model_sources import position_limit
from ..utils.errors import DataError, one_line

TEXTS = "A", "The king's men, 12 of them,  came\n\nhome.", "Où est-il? 漢字 🙂"
NEW_TOKENS = 12
CONTEXT = 512
TOLERANCE = 1e-3  # of log probabilities; llama.cpp sums in another order


class LlamaCpp:
    """A file in llama.cpp, asked as its server is: the process serves it on a local port, until `with` ends."""

    def __init__(self, path: Path) -> None:
        import xllamacpp

        options = xllamacpp.CommonParams()
        options.model.path, options.n_ctx, options.n_parallel, options.warmup = str(path), CONTEXT, 1, False
        options.cache_type_k = options.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        options.verbosity = -1
        options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
        self.server = xllamacpp.Server(options)

    def __enter__(self) -> "LlamaCpp":
        return self

    def __exit__(self, *error: object) -> None:
        del self.server  # which stops with its last reference: the library has no method for it

    def tokens(self, text: str) -> list[int]:
        return self._ask("tokenize", content=text, add_special=True, parse_special=False)["tokens"]

    def continued(self, ids: Sequence[int], count: int) -> list[int]:
        """Return `count` greedy tokens, or fewer if the text ends."""
        return self._ask("completion", prompt=list(ids), n_predict=count)["tokens"]

    def best(self, ids: Sequence[int]) -> tuple[int, float] | None:
        """Return the most likely next token with its log probability; None for a part of a character, or an end."""
        found = self._ask("completion", prompt=list(ids), n_predict=1, n_probs=1).get("completion_probabilities")
        return (found[0]["id"], found[0]["logprob"]) if found else None

    def _ask(self, route: str, **values: Any) -> dict[str, Any]:
        body = json.dumps({"temperature": 0, "return_tokens": True, **values}).encode()
        address = f"{self.server.listening_address}/{route}"
        with urlopen(Request(address, body, {"Content-Type": "application/json"}), timeout=600) as answer:
            return json.load(answer)


def compare(model: Any, tokenizer: Any, path: Path) -> float:
    """Return the largest difference of the log probabilities of greedy tokens.

    Raises `DataError` for a difference above the tolerance, and for other tokens, of a text or after it.
    """
    try:
        runtime = LlamaCpp(path)
    except Exception as error:  # of its own types
        raise DataError(f"{path.name}: llama.cpp cannot load it: {one_line(error)}") from error
    with runtime:
        largest = max(_difference(model, tokenizer, runtime, path, text) for text in TEXTS)
    if not largest <= TOLERANCE:
        raise DataError(f"{path.name}: log probabilities differ from PyTorch by {largest:.2g} (allowed: {TOLERANCE:g})")
    return largest


def _difference(model: Any, tokenizer: Any, runtime: LlamaCpp, path: Path, text: str) -> float:
    """Return the largest difference of a text's log probabilities. Raises `DataError` for other tokens."""
    ids = tokenizer(text)["input_ids"]
    _check(path, f"reads {text!r} as", runtime.tokens(text), ids)
    expected, scores = greedy(model, ids, NEW_TOKENS)
    found = runtime.continued(ids, NEW_TOKENS)[: len(expected)]
    _check(path, f"continues {text!r} with", found, expected)
    bests = [runtime.best([*ids, *expected[:n]]) for n in range(len(expected))]
    return max((abs(best[1] - score) for best, score in zip(bests, scores) if best), default=0.0)


def _check(path: Path, does: str, found: list[int], expected: list[int]) -> None:
    if found != expected:
        raise DataError(f"{path.name}: llama.cpp {does} tokens {found}, not {expected}: the export is rejected")


def greedy(model: Any, ids: Sequence[int], count: int) -> tuple[list[int], list[float]]:
    """Return at most `count` greedy tokens after a prompt, up to the end token, and their log probabilities."""
    end = model.generation_config.eos_token_id
    limit = position_limit(model.config) or len(ids) + count
    text, scores = list(ids), []
    with torch.no_grad():
        while len(text) < min(len(ids) + count, limit):
            best = model(torch.tensor([text]), use_cache=False).logits[0, -1].log_softmax(-1).max(-1)
            if int(best.indices) in (end if isinstance(end, list) else [end]):
                break
            text.append(int(best.indices))
            scores.append(float(best.values))
    return text[len(ids) :], scores
