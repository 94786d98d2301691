# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The formulas of the files run when a reader asks for it: an edit of eager_attention has its effect."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import CAUSAL_LM, SEQ2SEQ_LM, TEXTS, Case, parametrize_cases
from shared import lively
from torch import nn

from modeling_scratch import attention, fast, textbook

ROOT = Path(__file__).parents[2]
ATTENDING = (TEXTS, CAUSAL_LM, SEQ2SEQ_LM)


def unscaled(module: Any, query: Any, *args: Any, scaling: float, **kwargs: Any) -> Any:
    """eager_attention with an edit: the scores times 0."""
    return FORMULA(module, query, *args, scaling=0.0, **kwargs)


FORMULA = attention.eager_attention


@parametrize_cases(ATTENDING)
def test_the_formula_runs_whatever_backend_the_config_names(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    model: nn.Module = lively(case.model(attn_implementation="sdpa")).eval()
    batch = {name: value for name, value in case.inputs().items() if "mask" not in name}
    expected = model(**batch).logits
    with textbook():
        torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=1e-5)
        monkeypatch.setattr(attention, "eager_attention", unscaled)
        edited = model(**batch).logits
        with fast.disabled():
            assert torch.equal(model(**batch).logits, edited)
    assert (edited - expected).abs().max() > 1e-3
    torch.testing.assert_close(model(**batch).logits, expected, atol=1e-5, rtol=1e-5)


EDITED = "scores = query @ key.transpose(-2, -1) * scaling"


@pytest.mark.slow
def test_a_command_runs_an_edited_file(tmp_path: Path) -> None:
    """A student's edit, `* 0` for `* scaling`, in a copy of the package: with --textbook, the answer is another."""
    for name in "modeling_scratch", "tokenization", "scripts":
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    from toy_text import toy_tokenizer

    model, tokenizer = lively(TEXTS.model(vocab_size=len(toy_tokenizer()))), toy_tokenizer()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "texts.txt").write_text("a good film\n")
    path = tmp_path / "modeling_scratch" / "attention.py"
    source = path.read_text(encoding="utf-8")
    assert source.count(EDITED) == 1
    scores = []
    for code in source, source.replace(EDITED, EDITED.replace("* scaling", "* 0")):
        path.write_text(code, encoding="utf-8")
        for option in ([], ["--textbook"]):
            command = [sys.executable, "-c", "from modeling_scratch_cli.__main__ import main; main()", "predict"]
            files = ["--model", "model", "--input", "texts.txt", *option]
            environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
            (tmp_path / "modeling_scratch_cli").exists() or (tmp_path / "modeling_scratch_cli").symlink_to("scripts")
            done = subprocess.run(
                [*command, *files], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
            )
            scores.append(json.loads(done.stdout)["score"])
    whole, formula, unaware, edited = scores
    assert whole == pytest.approx(formula, abs=1e-5)
    assert unaware == pytest.approx(whole, abs=1e-5)
    assert abs(edited - whole) > 1e-3
