# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Tagging end to end on a small grammar, the alignment of words and tokens, and the baseline."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import compare
import numpy
import pytest
import train_tokens
from processes import refusal
from seqeval.metrics.sequence_labeling import get_entities
from text_samples import fault, predicted, write
from tokenizers import Tokenizer, models, normalizers
from toy_names import sentences, write_conll
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer, PreTrainedTokenizerFast, pipeline

from modeling_scratch.data.tagged_sentences import Sentence, TaggedData
from modeling_scratch.inference.pieces import entities_of
from modeling_scratch.inference.seen_words import read_seen_words
from modeling_scratch.tasks.card import first_line
from modeling_scratch.tasks.tag import FrequentLabels, encode_sentences, evaluate_tagging
from modeling_scratch.tasks.tag_answers import Tagger
from tokenization import KINDS

SIZES = "hidden_size=32,num_hidden_layers=2,num_attention_heads=4,intermediate_size=64,hidden_dropout=0.0"
COMMON = "--report_to none --use_cpu --disable_tqdm True --learning_rate 1e-2"
FAST = f"{COMMON} --config_overrides {SIZES} --vocab_size 300 --num_train_epochs 8"
ROWS = {"train": 220, "validation": 30, "test": 40}
WORDS = ("Anna", "Ross-Vila", "lives", "in", "Porto", "Alto", "!?", "“Jörg”", "42nd", "\u200b", "New  York")
LABELS = ("B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O", "B-PER", "O", "O", "B-LOC")
SENTENCE = Sentence(WORDS, LABELS, "train.conll, line 1")
NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
BASELINE = "the baseline (most frequent label of the word)"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    for seed, (split, rows) in enumerate(ROWS.items()):
        write_conll(folder / f"{split}.conll", rows, seed)
    return folder


def train(data: Path, output: Path, options: str = FAST) -> None:
    train_tokens.main(f"--data_dir {data} --output_dir {output} {options}".split())


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, for all tests that only look at it."""
    output = tmp_path_factory.mktemp("one") / "run"
    train(data, output)
    return output


def test_learns_and_keeps_its_predictions(run: Path, capsys: pytest.CaptureFixture) -> None:
    """The baseline cannot tell a town from a last name."""
    evaluation, record = (json.loads((run / f"{name}.json").read_text()) for name in ("evaluation", "run_config"))
    assert evaluation["f1"] > 0.8 > 0.7 > evaluation["baselines"][0]["f1"]
    assert set(evaluation["labels"]) == {"PER", "LOC"}
    assert f"{ROWS['test']} sentences" in (run / "results.md").read_text()
    assert (record["rows"], record["labels"]) == (ROWS, NAMES)
    assert 'aggregation_strategy="simple"' in (run / "README.md").read_text()
    head, *lines = map(json.loads, (run / "predictions.jsonl").read_text(encoding="utf-8").splitlines())
    assert (head["problem_type"], len(lines)) == ("entities", ROWS["test"])
    assert ROWS["test"] / 2 < sum(line["label"] == line["prediction"] for line in lines)
    compare.main([str(run), str(run)])
    assert "The runs give the same answer to every text." in capsys.readouterr().out


def in_whole_words(text: str, found: list[dict[str, Any]]) -> list[tuple[int, int, str, float]]:
    """The entities of the pipeline up to the ends of their words, each of which is that of the first in it."""
    words, entities = [word.span() for word in re.finditer(r"\w+", text)], list[tuple[int, int, str, float]]()
    for one in found:
        start = min([one["start"], *(first for first, last in words if first < one["start"] < last)])
        end = max([one["end"], *(last for first, last in words if first < one["end"] < last)])
        taken = max([0, *(last for _, last, *_ in entities)])
        left = [at for at in range(max(start, taken), end) if start >= taken or text[at].isalnum()]
        left = [at for at in left if not text[left[0] : at + 1].isspace()]  # some tokens begin with a blank
        if left:
            entities.append((left[0], end, one["entity_group"], float(one["score"])))
    return entities


def test_predict_writes_the_entities_that_the_pipeline_finds(run: Path, tmp_path: Path, capfd: Any) -> None:
    texts = [" ".join(word for word, _ in sentence) for sentence in sentences(20, 2)]
    table = write(tmp_path / "in.csv", {"text": [*texts, "", "Zork lives in Porto ."], "label": range(22)})
    tagger: Any = pipeline("token-classification", model=str(run), aggregation_strategy="simple")
    for suffix in ".jsonl", ".csv":
        rows = predicted(run, table, tmp_path / f"out{suffix}", "--keep_columns", "label", "--with_text")
        assert [row["text"] for row in rows[:20]] == texts
        assert [int(row["label"]) for row in rows] == [*range(22)]
        entities = [row["entities"] if suffix == ".jsonl" else json.loads(row["entities"]) for row in rows]
        assert entities[20] == []
        for text, mine, theirs in zip(texts, entities, tagger(texts)):
            assert tagger(text.split(), is_split_into_words=True) == [theirs]  # as their text
            expected = in_whole_words(text, theirs)
            assert [(one["start"], one["end"], one["label"]) for one in mine] == [one[:3] for one in expected]
            assert [one["score"] for one in mine] == pytest.approx([score for *_, score in expected], abs=1e-5)
            assert all(str(one["score"]) == str(numpy.float32(one["score"])) for one in mine)  # no further digits
            assert all(text[one["start"] : one["end"]] == one["text"] for one in mine)
        assert rows[21].get("unknown_words") == (["Zork"] if suffix == ".jsonl" else None)
        assert "words that the model has not seen (Zork): 1" in capfd.readouterr().err
    [checkpoint] = run.glob("checkpoint-*")
    assert read_seen_words(str(checkpoint)) == read_seen_words(str(run)) > {"porto"}
    assert not read_seen_words(str(run / "another model"))


def test_predict_reads_the_files_that_a_tagger_is_trained_on(run: Path, tmp_path: Path) -> None:
    """CoNLL, and JSON lines with tokens: as their words with blanks between them."""
    kept = "--keep_columns", "id"
    write_conll(tmp_path / "in.conll", 8, 2)
    words = [[word for word, _ in sentence] for sentence in sentences(8, 2)]
    tags = [["O"] * len(each) for each in words]
    write(tmp_path / "tokens.jsonl", {"id": range(8), "tokens": words, "ner_tags": tags})
    write(tmp_path / "text.jsonl", {"id": range(8), "text": [" ".join(each) for each in words]})
    tokens, texts, conll = (
        predicted(run, tmp_path / name, tmp_path / f"of-{name}.jsonl", "--with_text", *options)
        for name, options in (("tokens.jsonl", kept), ("text.jsonl", kept), ("in.conll", ("--keep_columns", "0")))
    )
    assert tokens == texts
    assert [row.pop("0") for row in conll] == words
    assert conll == [{name: value for name, value in row.items() if name != "id"} for row in texts]


def test_predict_finds_the_entities_of_a_text_longer_than_the_model_reads(run: Path, tmp_path: Path) -> None:
    """In windows, as the pipeline does with a stride."""
    text = " ".join(word for sentence in sentences(40, 2) for word, _ in sentence)
    (tmp_path / "in.txt").write_text(f"{text}\n")
    [row] = predicted(run, tmp_path / "in.txt", tmp_path / "out.jsonl", "--max_length", "40")
    tokenizer = AutoTokenizer.from_pretrained(run, model_max_length=40)
    options: dict[str, Any] = {"aggregation_strategy": "simple", "stride": 10}
    tagger: Any = pipeline("token-classification", model=str(run), tokenizer=tokenizer, **options)
    expected = [one[:3] for one in in_whole_words(text, tagger(text))]
    assert [(one["start"], one["end"], one["label"]) for one in row["entities"]] == expected
    assert expected[-1][0] > 0.9 * len(text)


def test_predict_refuses_a_tagger_that_is_damaged_and_a_limit_without_room(run: Path, tmp_path: Path, capfd) -> None:
    (tmp_path / "in.txt").write_text("Anna lives in Porto .\n")
    damaged = shutil.copytree(run, tmp_path / "damaged")
    model = AutoModelForTokenClassification.from_pretrained(run)
    model.classifier.weight.data.fill_(float("nan"))
    model.save_pretrained(damaged)
    asked = tmp_path / "in.txt", tmp_path / "out.jsonl"
    assert "--max_length 2: must exceed" in refusal(capfd, predicted, run, *asked, "--max_length", "2")
    assert "its weights are damaged" in refusal(capfd, predicted, damaged, *asked)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_tagger_without_padding_token_pads_with_another(run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Anna lives in Porto .\nIt rained .\n")
    other = shutil.copytree(run, tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(run)
    tokenizer.pad_token, tokenizer.eos_token = None, "[SEP]"
    tokenizer.save_pretrained(other)
    found = [predicted(each, tmp_path / "in.txt", tmp_path / f"{each.name}.jsonl") for each in (run, other)]
    assert found[0] == found[1]


def test_the_f1_of_the_report_is_that_of_the_spans_of_predict(tmp_path: Path) -> None:
    """Also of words with hyphens and full stops, and of sentences that are read in windows. The card says how."""
    given: list[set[tuple[int, int, str]]] = []
    texts: list[str] = []
    for seed, (split, rows) in enumerate({"train": 120, "validation": 20, "test": 40}.items()):
        blocks, given, texts = [], [], []
        for sentence in sentences(rows, seed):
            words = [
                (f"{word}-Vi" if label == "I-PER" else "U.S." if word == "Paris" else word, label)
                for word, label in sentence
            ]
            blocks.append("".join(f"{word} {label}\n" for word, label in words))
            one = Sentence(*zip(*words), "")
            given.append({(one.spans[a][0], one.spans[b][1], kind) for kind, a, b in get_entities([*one.labels])})
            texts.append(one.text)
        (tmp_path / f"{split}.conll").write_text("\n".join(blocks))
    run, table = tmp_path / "run", write(tmp_path / "in.csv", {"text": texts})
    limit = "--max_length 8"
    train(tmp_path, run, f"{FAST} --num_train_epochs 3 --no_label_all_tokens {limit}")
    rows = [row["entities"] for row in predicted(run, table, tmp_path / "out.jsonl", *limit.split())]
    found = [{(one["start"], one["end"], one["label"]) for one in row} for row in rows]
    right = sum(len(a & b) for a, b in zip(given, found, strict=True))
    expected = 2 * right / sum(len(a) + len(b) for a, b in zip(given, found))
    evaluation = json.loads((run / "evaluation.json").read_text())
    assert 0 < expected == pytest.approx(evaluation["f1"])
    assert json.loads((run / "test_results.json").read_text())["test_f1"] == pytest.approx(expected)
    assert sum(row["number"] for row in evaluation["labels"].values()) == sum(map(len, given))
    assert 'aggregation_strategy="first"' in (run / "README.md").read_text()  # what the tokens were trained for
    assert Tagger.settings(AutoConfig.from_pretrained(run)) == {"aggregation_strategy": "first"}


def test_predict_labels_the_words_of_texts_with_a_tagger_of_classes(tmp_path: Path, capfd) -> None:
    sizes = "hidden_size=16,num_hidden_layers=1,num_attention_heads=2,intermediate_size=16"
    lines = ["the DET", "film NOUN", "ends VERB", "unexpectedly ADV", ". PUNCT"]
    for split in ROWS:
        (tmp_path / f"{split}.conll").write_text("\n\n".join(["\n".join(lines)] * 60) + "\n")
    run = tmp_path / "run"
    without = "--eval_strategy no --save_strategy no"
    options = f"{COMMON} --config_overrides {sizes} --vocab_size 270 --num_train_epochs 30 {without}"
    train(tmp_path, run, options)
    (tmp_path / "in.txt").write_text("the  film ends unexpectedly .\n\nthe film ends .\n")
    asked = run, tmp_path / "in.txt"
    first, empty, last = predicted(*asked, tmp_path / "out.jsonl")
    assert [(one["text"], one["label"]) for one in first["words"]] == [tuple(line.split()) for line in lines]
    assert [one["start"] for one in first["words"]] == [0, 5, 10, 15, 28]
    assert (empty["words"], len(last["words"])) == ([], 4)
    short = predicted(*asked, tmp_path / "short.jsonl", "--max_length", "6")
    assert short[0]["words"][-1]["label"] is None
    assert "texts truncated to 6 tokens, whose last words have no label: 2" in capfd.readouterr().err
    for option in ("--top_k", "2"), ("--threshold", "0.5"):
        assert "the model labels words" in refusal(capfd, predicted, *asked, tmp_path / "no.jsonl", *option)
    assert not (tmp_path / "no.jsonl").exists()


@pytest.mark.parametrize("kind", ["byte_bpe", "bpe", "wordlevel", "words"])
@pytest.mark.parametrize("prefix", [False, True])
def test_each_word_has_its_label_on_its_first_token(kind: str, prefix: bool) -> None:
    """The tokens of a word are those that the library finds, where it reads lists of words as texts.

    If all are labelled, further ones are inside of an entity.
    """
    options = {"add_prefix_space": prefix} if kind == "byte_bpe" else {}
    texts = [" ".join(WORDS[:8])] * 4
    tokenizer = KINDS[kind](texts, 290 if kind == "byte_bpe" else 60, style="bert", show_progress=False, **options)
    rows, _, lost, _ = encode_sentences([SENTENCE], tokenizer, NAMES)
    read = [word for word in range(len(WORDS)) if not lost or word != 9]  # that is an invisible character alone
    assert lost == len(WORDS) - len(read)
    assert rows[0]["input_ids"] == tokenizer(SENTENCE.text)["input_ids"]
    firsts = [index for index, label in enumerate(rows[0]["labels"]) if label >= 0]
    assert [NAMES[rows[0]["labels"][index]] for index in firsts] == [LABELS[word] for word in read]
    if kind != "byte_bpe" or prefix:
        of_lists = tokenizer(list(WORDS), is_split_into_words=True)
        assert of_lists["input_ids"] == rows[0]["input_ids"]
        assert firsts == [of_lists.word_ids().index(word) for word in read]
    every = encode_sentences([SENTENCE], tokenizer, NAMES, True).rows[0]["labels"]
    added = tokenizer(SENTENCE.text, return_special_tokens_mask=True)["special_tokens_mask"]
    expected, before = [], None
    for at, special in enumerate(added):
        before = NAMES[rows[0]["labels"][at]] if at in firsts else None if special else before.replace("B-", "I-")
        expected.append(before)
    assert [NAMES[label] if label >= 0 else None for label in every] == expected


def test_words_beyond_the_limit_are_counted_and_scored(data: Path, tmp_path: Path) -> None:
    """Those with classes: entities of long sentences are found in windows."""
    options = "--label_column 1 --max_length 6 --max_steps 1 --max_train_samples 16 --tokenizer_kind wordlevel"
    train(data, tmp_path / "run", f"{FAST} {options}")
    left = sum(max(0, len(sentence) - 4) for sentence in sentences(ROWS["test"], 2))
    assert f"{left:,} words were not read and count as X." in (tmp_path / "run" / "results.md").read_text()
    _, *lines = map(json.loads, (tmp_path / "run" / "predictions.jsonl").read_text().splitlines())
    assert {label for line in lines for label in line["prediction"][4:]} == {"X"}


def test_a_token_of_several_words_is_refused() -> None:
    backend = Tokenizer(
        models.Unigram([("<unk>", 0.0), ("NewYork", -1.0), *((letter, -9.0) for letter in "NewYork")], 0)
    )
    backend.normalizer = normalizers.Replace(" ", "")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    with fault("train.conll, line 1, word 1", "'New York' is one token of several words"):
        encode_sentences([Sentence(("New", "York"), ("O", "O"), "train.conll, line 1")], tokenizer, NAMES)


def test_the_baseline_is_the_most_frequent_label() -> None:
    train = [Sentence(("a", "b", "a"), ("X", "Y", "Z"), ""), Sentence(("a", "b"), ("Z", "Y"), "")]
    baseline = FrequentLabels([*train, Sentence(("c", "c"), ("Y", "Y"), "")])
    assert baseline.predict([Sentence(("a", "b", "new"), (), "")]) == [["Z", "Y", "Y"]]


def test_a_tagger_that_nobody_should_use_is_called_so() -> None:
    sentences = [Sentence(("Anna", "sees", "Berg"), ("B-PER", "O", "B-LOC"), "")] * 30
    data = TaggedData({"test": sentences}, ["O", "B-LOC", "B-PER"], True, [])
    right, half, none = ([labels] * 30 for labels in (["B-PER", "O", "B-LOC"], ["B-PER", "O", "O"], ["O", "O", "O"]))
    for found, baseline, told in (
        (none, none, "answers 'O' to everything: it has not learned"),
        (half, half, "Use either model, as there is no difference that these 30 texts can show"),
        (half, right, f"Use {BASELINE}: it is significantly better than the Transformer"),
        (right, half, f"Use the Transformer: it is significantly better than {BASELINE}"),
    ):
        assert told in first_line(evaluate_tagging(data, "test", found, baseline))


@pytest.mark.parametrize(
    ("text", "found", "expected"),
    [
        ("Karl lives in Berlin.", ["Be LOC", "l LOC", "in. PER"], ["Berlin LOC"]),
        ("Karl lives in Berlin.", ["arl PER", "Berlin LOC"], ["Karl PER", "Berlin LOC"]),
        ("at Saint-Tropez-les-Bains", ["Tropez LOC"], ["Tropez LOC"]),
        ("the A380s of 2020", ["80 MISC"], ["A380s MISC"]),
        ("我在北京工作", ["北京 LOC"], ["北京 LOC"]),  # no blanks, no end of a word
        ("東京タワーへ行く", ["東京 LOC", "タワー LOC"], ["東京 LOC", "タワー LOC"]),
        ("Zoë met Ana", ["o PER", "Ana PER"], ["Zoë PER", "Ana PER"]),
        ("in Berlin Mitte", ["Ber ORG", "lin_Mitte LOC"], ["Berlin ORG", "Mitte LOC"]),
        ("in Zu\u0308rich", ["Z LOC"], ["Zu\u0308rich LOC"]),
        ("मुंबई में", ["म LOC"], ["मुंबई LOC"]),
        ("Ana Ross-Vila met", ["Ana_Ross PER", "- LOC", "Vila PER"], ["Ana Ross-Vila PER"]),
        ("Ana Ross-Vila met", ["Ana_Ross PER", "Vila PER"], ["Ana Ross-Vila PER"]),
        ("Sean O'Neill's car", ["Sean_O PER", "Neill PER"], ["Sean O'Neill PER"]),
        ("a Paris-based firm", ["Paris LOC"], ["Paris LOC"]),
        ("Ana - Paris", ["Ana PER", "Paris LOC"], ["Ana PER", "Paris LOC"]),
        ("a\u00a0b", ["\u00a0 LOC"], []),  # a no-break space alone
        ("nothing", [], []),
    ],
)
def test_entities_end_where_their_words_end(text: str, found: list[str], expected: list[str]) -> None:
    groups, begin = [], 0
    for piece, label in (each.split(" ") for each in found):
        piece = piece.replace("_", " ")
        begin = text.index(piece, begin)
        end = begin + len(piece)
        groups.append({"start": begin, "end": end, "entity_group": label, "score": 0.5})
        begin = end
    pieces = entities_of(text, groups)
    assert [f"{piece['text']} {piece['label']}" for piece in pieces] == expected
    assert all(text[piece["start"] : piece["end"]] == piece["text"] for piece in pieces)
