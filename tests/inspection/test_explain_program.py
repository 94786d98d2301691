# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The program writes a page from any saved folder, and refuses what it cannot explain in one line."""

import base64
import gzip
import re
from pathlib import Path

import pytest
from explain import main
from model_cases import CAUSAL_LM, TEXTS
from shared import redraw, refused
from toy_text import toy_tokenizer
from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertModel

TEXT = "a moving film"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved classifier."""
    path = tmp_path_factory.mktemp("saved")
    TEXTS.model().save_pretrained(path)
    toy_tokenizer().save_pretrained(path)
    return path


def test_a_saved_folder_becomes_a_page(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, words = tmp_path / "page.html", folder / "words.txt"
    words.write_text("a\nmoving\nscript\nscripted", encoding="utf-8")
    main(["--model", str(folder), "--text", TEXT, "--text", "not good </script>", "--output", str(page)])
    words.unlink()
    printed = capsys.readouterr()
    assert printed.out.startswith(f"saved {page}: ")
    for told in ("text 1: the model has not seen: film\n", "text 2: the model has not seen: not, good\n"):
        assert told in printed.err
    content = page.read_text(encoding="utf-8")
    assert content.startswith("<!DOCTYPE html>")
    assert "film" in content
    data = [gzip.decompress(base64.b64decode(each)).decode() for each in re.findall(r">([\w+/=]{200,})<", content)]
    assert len(data) == 2  # the explanation and the weights
    assert "moving" in data[0]
    assert "scripted" not in data[0]  # words of the training texts are there as hashes
    assert [word for word in (str(folder), str(tmp_path), str(Path.home())) if word in "".join([content, *data])] == []
    assert [path.name for path in tmp_path.iterdir()] == [page.name]


def test_a_native_checkpoint_becomes_a_page(tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    redraw(BertForMaskedLM(BertConfig(vocab_size=len(toy_tokenizer()), **sizes))).save_pretrained(tmp_path)
    toy_tokenizer().save_pretrained(tmp_path)
    main(["--model", str(tmp_path), "--output", str(tmp_path / "page.html"), "--text", "a [MASK] film"])
    assert (tmp_path / "page.html").is_file()


def test_what_cannot_be_explained_is_refused(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page, pairs, other, bare = (tmp_path / name for name in ("page.html", "pairs", "other", "bare"))
    pairs.mkdir()
    (pairs / "run_config.json").write_text('{"data": {"text_column": ["premise", "hypothesis"]}}')
    DistilBertModel(DistilBertConfig(vocab_size=9, dim=8, n_layers=1, n_heads=2, hidden_dim=8)).save_pretrained(other)
    (other / "config.json").write_text('{"model_type": "gpt_neo", "architectures": ["GPTNeoModel"]}')
    CAUSAL_LM.model().save_pretrained(bare)
    cases: list[tuple[Path, list[object], tuple[str, ...]]] = [
        (folder, [], ("--text",)),
        (folder, ["--text", TEXT, "--language", "de"], ("--language is retired", "in English")),
        (folder, ["--text", TEXT, "--label", "good"], ("--label is retired", "lesson 5")),
        (folder, ["--text", TEXT, "--output", tmp_path / "page.pdf"], ("--output", ".html")),
        (folder, ["--text", TEXT, "--text_pair", "a", "b"], ("2 text_pairs of 1 texts",)),
        (tmp_path / "nothing", ["--text", TEXT], ("folder not found",)),
        (pairs, ["--text", TEXT], ("premise and hypothesis", "--text_pair")),
        (other, ["--text", TEXT], ("GPTNeoModel is no model of this package", "bert")),
        (bare, ["--text", TEXT], ("no tokenizer; save",)),
    ]
    for model, arguments, pieces in cases:
        refused(capfd, main, ["--output", page, "--model", model, *arguments], *pieces)
        assert not page.exists()
