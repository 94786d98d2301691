# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""load_test.py: what it counts as lost or mixed up, and a run of it against real servers."""

import asyncio
import re
from typing import Any

import load_test
import pytest
import writers
from serving import save_classifier, save_translator, served
from transformers import HfArgumentParser

from modeling_scratch.serving import load_test as load_test_room
from modeling_scratch.serving.answerers import load_answerer
from modeling_scratch.serving.load_test import LoadArguments, Run
from modeling_scratch.serving.server import ServeArguments
from modeling_scratch.utils.errors import DataError


def test_lost_and_wrong_answers_are_counted(capsys):
    """Scores agree to rounding in any order."""
    good = [{"label": "good", "score": 0.7}, {"label": "bad", "score": 0.3}]
    same = [{"label": "bad", "score": 0.300009}, {"label": "good", "score": 0.699991}]
    other = [{"label": "good", "score": 0.70002}, {"label": "bad", "score": 0.3}]
    texts = [[{"translation_text": text}] for text in "ab"]
    answers = [good, None, other, same, good[:1], *texts]
    expected = [good, good, good, good, good, texts[0], texts[0]]
    assert Run("name", 2.0, [0.001, 0.002, 0.003, 0.004], answers).report(expected) == 4
    name, requests, rate, p50, _, lost, wrong = capsys.readouterr().out.split()
    assert (name, requests, rate, p50, lost, wrong) == ("name", "4", "2.0", "2.5", "1", "3")


def test_the_server_is_told_what_will_be_asked_of_it():
    options = load_test_room.server_options(LoadArguments(model="any", max_new_tokens=300, trust_remote_code=True))
    program: Any = ServeArguments
    (served,) = HfArgumentParser(program).parse_args_into_dataclasses(options)
    assert (served.model, served.max_new_tokens, served.trust_remote_code) == ("any", 300, True)


def test_a_refusal_is_no_lost_answer(tmp_path):
    arguments = LoadArguments(model="any", clients=2)
    with served(load_answerer(str(save_classifier(tmp_path)))) as client:
        url = f"{client.base_url}/classify"
        with pytest.raises(DataError, match=r"refuses .*top_k.*: 422, .*top_k: must be an integer from 1"):
            asyncio.run(load_test_room.call_server("name", url, ["a", "b", "c"], {"top_k": 0}, arguments))


@pytest.mark.slow
@pytest.mark.parametrize(("save", "from_file"), [(save_classifier, False), (save_translator, True)])
def test_no_answer_is_lost_or_mixed_up(save, from_file, tmp_path, capsys):
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(writers.text_of(length) for length in range(1, 20)), encoding="utf-8")
    arguments = ["--model", str(save(tmp_path / "model")), "--requests", "60", "--clients", "8", "--seconds", "60"]
    assert load_test.main([*arguments, *(["--input", str(texts)] if from_file else [])]) == 0
    rows = [re.split(r"\s\s+", line) for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(row[1], row[-2], row[-1]) for row in rows] == [("60", "0", "0")] * 3
