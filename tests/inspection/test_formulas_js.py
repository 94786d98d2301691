# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The page's formulas: those of the papers for every switch, and the part of them that a tensor is."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

from model_cases import CASES, CAUSAL_LM, MASKED_LM, SEQ2SEQ_LM, SWITCHES, TEXTS, Case
from test_forward_js import of_page

Formulas = dict[str, list[list[str]]]  # name: the lines of its formula, and what is marked in that of its part
LAYER = "model.decoder.stack.layers.1"
SCORES = "QiKiTdk+M"


def formulas(*models: tuple[Case, dict[str, Any]]) -> list[Formulas]:
    described = [
        {"class": case.model_class.__name__, "config": case.config(**settings).to_dict()} for case, settings in models
    ]
    harness = Path(__file__).with_name("formulas_of_model.js").read_text(encoding="utf-8")
    scripts = ["forward", "tokenize", "view", "formulas", "view-pass"]
    return of_page(scripts, f"{json.dumps(described)}.map(formulasOfModel)", before=harness)


def test_a_tensor_is_marked_in_the_formula_of_its_part() -> None:
    """Scores, then softmax, of the model of 2017; no letter stands for nothing."""
    (found,) = formulas((SEQ2SEQ_LM, {}))
    assert found[f"{LAYER}.attention.scores"] == [[f"Si={SCORES}", "Mts=−∞⇔s>t"], [SCORES]]
    assert found[f"{LAYER}.attention.weights"] == [["Ai=softmax(Si)"], [f"softmax({SCORES})"]]
    assert found[f"{LAYER}.attention.k_proj"] == [["K=XWK+bK"], ["KiT"]]
    assert found[f"{LAYER}.cross_attention.k_proj"] == [["K=XencWK+bK"], ["KiT"]]
    assert found[f"{LAYER}.cross_attention.scores"] == [[f"Si={SCORES}"], [SCORES]]
    assert found[f"{LAYER}.feed_forward.activation"] == [["H=ReLU(U)"], ["H", "ReLU(XWup+bup)"]]
    after = "LayerNorm(X+MultiHead(X,Xenc))"
    assert found[f"{LAYER}.cross_attention_residual.after"] == [
        [f"X←{after}", "LayerNorm(x)=γ⊙x−μσ2+ε+β"],
        [after],
    ]
    assert found["model.embeddings.positions"][0][:2] == ["PE(t)", "PE(t,2j)=sin(t100002j/d)"]


def test_formulas_follow_the_switches() -> None:
    names = ("pre-rotary-grouped", "alibi-sandwich", "relative-query_key_norm", "local-parallel", "learned-token_types")
    grouped, alibi, relative, local, learned = formulas(*((CAUSAL_LM, SWITCHES[name]) for name in names))
    assert grouped[f"{LAYER}.attention.scores"][0][0] == "Si=QiK⌈i/2⌉Tdk+M"
    assert grouped[f"{LAYER}.attention.key"][0] == ["[K1,…,K2]=K"]
    assert grouped[f"{LAYER}.attention.query_rotated"][0][2] == "θj=10000−2j/4"
    assert grouped[f"{LAYER}.feed_forward.activation"][1] == ["H", "SiLU(XWgate)⊙XWup"]
    assert grouped[f"{LAYER}.feed_forward_residual.after"] == [["X←X+FFN(RMSNorm(X))"], ["X+FFN(RMSNorm(X))"]]
    assert grouped[f"{LAYER}.feed_forward_residual.before"][1] == ["RMSNorm(X)"]
    assert alibi[f"{LAYER}.attention.scores"][0] == ["Si=QiKiTdk+Bi+M", "Bits=−2−8i/h|t−s|", "Mts=−∞⇔s>t"]
    assert alibi[f"{LAYER}.feed_forward_residual.after"][1] == ["X+LayerNorm2(FFN(LayerNorm1(X)))"]
    assert relative[f"{LAYER}.attention.scores"][0][1] == "Bits=bi[bucket(s−t)]"
    assert relative[f"{LAYER}.attention.q_norm"][0][0] == "Qi←RMSNorm(Qi)"
    assert local[f"{LAYER}.attention.scores"][0][1] == "Mts=−∞⇔s>t∨t−s≥3"
    assert local[f"{LAYER}.attention.query_rotated"][0][2] == "θj=100−2j/4"
    both = "X+MultiHead(LayerNorm(X))+FFN(LayerNorm(X))"
    assert local[f"{LAYER}.attention_residual.after"][1] == [both]
    first = f"{LAYER[:-1]}0.attention_residual.after"
    assert local[first][1] == ["X+MultiHead(X)+FFN(X)"]
    assert learned["model.embeddings.norm"][1] == ["LayerNorm(E[xt]+S[st]+P[t])"]


def test_every_class_and_switch_has_its_formulas() -> None:
    models = list(zip(CASES, cycle(SWITCHES.values())))
    for (case, switches), found in zip(models, formulas(*models), strict=True):
        lines = [(name, line) for name, (own, marked) in found.items() for line in (*own, *marked)]
        assert not {name for name, line in lines if any(bad in line for bad in ("undefined", "null", "NaN"))}
        assert found[f"{LAYER}.attention_residual.after"][1], switches
        assert found["logits"][0] or case.model_class.__name__.endswith("Model")
    untied, bert, texts = formulas((CAUSAL_LM, SWITCHES["untied-wide_heads"]), (MASKED_LM, {}), (TEXTS, {}))
    assert untied["logits"][0] == ["logits=XWlm"]
    assert bert["logits"][0] == ["logits=LayerNorm(ReLU(XW+b))ET+b"]
    assert texts["logits"][0] == ["logits=xWC+bC"]
