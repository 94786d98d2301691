# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""generate.py: a line for each line, whatever is in it; what was cut is said, and nothing is half done."""

import io
import json
import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import generate
import pytest
import transformers
import writers
from shared import refused
from text_samples import write
from writers import POSITIONS, text_of

from modeling_scratch import ScratchDecoderForSequenceClassification
from modeling_scratch.inference import generation as generate_room
from modeling_scratch.inference.text_generators import Continuer, Generated, Translator

PROMPTS = ["abc", "", "h", "a b c d e f g h", "ghgh ghg", "  ", "abc", "f" * POSITIONS, "cab " * 5]
SOURCES = [text_of(5), "", text_of(1), text_of(12), " ", text_of(3), text_of(5)]
NEW = 8
DECODER, TRANSLATOR = "decoder", "translator"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder, characters, words = tmp_path_factory.mktemp("models"), writers.characters(), writers.words()
    return {
        DECODER: writers.save(folder / DECODER, writers.decoder(characters), characters),
        TRANSLATOR: writers.save(folder / TRANSLATOR, writers.translator(words, words), words),
    }


def lines_of(family: str) -> list[str]:
    return PROMPTS if family == DECODER else SOURCES


def run(model: Path, texts: list[str], folder: Path, *options: str, name: str = "out.jsonl") -> Any:
    """The answers to these lines, as records, or as the lines of a file that is not .jsonl."""
    source, output = folder / "in.txt", folder / name
    source.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    program("--model_name_or_path", model, "--input_file", source, "--output_file", output, "--overwrite", *options)
    lines = output.read_bytes().decode().split("\n")
    assert lines.pop() == ""
    return [json.loads(line) for line in lines] if name.endswith(".jsonl") else lines


def program(*arguments: object) -> None:
    generate.main([str(argument) for argument in ("--device", "cpu", *arguments)])


@cache
def load(model: Path) -> tuple[Any, Any]:
    auto_classes = {DECODER: transformers.AutoModelForCausalLM, TRANSLATOR: transformers.AutoModelForSeq2SeqLM}
    return auto_classes[model.name].from_pretrained(model), transformers.AutoTokenizer.from_pretrained(model)


def alone(model: Path, text: str, new: int = NEW, **options: Any) -> str:
    """What the library's own loading and generation make of one text."""
    if not text.strip():
        return ""
    loaded, tokenizer = load(model)
    inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
    if model.name == DECODER:
        start = inputs["input_ids"].shape[1]
        new = min(new, POSITIONS + 1 - start)
    else:
        start = 1
    output = loaded.generate(**inputs, max_new_tokens=new, **options)[0, start:]
    return str(tokenizer.decode(output, skip_special_tokens=True))


# What is written, and where


@pytest.mark.parametrize(
    ("family", "options", "batch_size"), [(DECODER, {}, 3), (TRANSLATOR, {"num_beams": 3}, 32)], ids=["greedy", "beam"]
)
def test_batches_of_a_file_say_what_each_line_says_alone(folders, family, options, batch_size, tmp_path):
    texts = lines_of(family)
    flags = [flag for name, value in options.items() for flag in (f"--{name}", str(value))]
    found = run(folders[family], texts, tmp_path, "--max_new_tokens", str(NEW), "--batch_size", str(batch_size), *flags)
    assert [record["text"] for record in found] == [alone(folders[family], text, **options) for text in texts]
    assert [record["row"] for record in found] == list(range(1, len(texts) + 1))
    key = "prompt" if family == DECODER else "source"
    assert [record[key] for record in found] == [text if text.strip() else "" for text in texts]
    assert len({record["text"] for record in found}) > len(texts) // 2


def test_a_line_stays_a_line(folders, tmp_path, monkeypatch, capfd):
    """Whatever stands in it: decoders of characters write line breaks, which JSON keeps."""
    monkeypatch.setattr(generate_room, "BATCHES_AT_A_TIME", 1)
    options = "--max_new_tokens", "20", "--batch_size", "2"
    records = run(folders[DECODER], PROMPTS, tmp_path, *options)
    assert any("\n" in record["text"] for record in records)
    capfd.readouterr()
    lines = run(folders[DECODER], PROMPTS, tmp_path, *options, name="out.txt")
    assert lines == [record["text"].replace("\n", " ") for record in records]
    assert "empty inputs, answered by empty lines: 2" in capfd.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("".join(text + "\n" for text in PROMPTS).encode())))
    program("--model_name_or_path", folders[DECODER], *options, "--format", "jsonl")
    assert list(map(json.loads, capfd.readouterr().out.splitlines())) == records


@pytest.mark.parametrize(("family", "search"), [(DECODER, "--do_sample --seed 3"), (TRANSLATOR, "")])
def test_a_prompt_is_shown_as_a_file_has_it(folders, family, search, tmp_path, capfd):
    """A word at a time, behind the prompt where it is one."""
    text, options = lines_of(family)[3], ["--max_new_tokens", "20", *search.split()]
    record = run(folders[family], [text], tmp_path, *options)[0]
    capfd.readouterr()
    program("--model_name_or_path", folders[family], "--prompt", text, *options)
    assert capfd.readouterr().out == (text if family == DECODER else "") + record["text"] + "\n"


def test_several_texts_for_each_line(folders, tmp_path, capfd):
    model, texts = folders[DECODER], PROMPTS[:5]
    options = "--num_beams", "4", "--num_return_sequences", "2", "--max_new_tokens", "6"
    records = run(model, texts, tmp_path, *options)
    assert [record["row"] for record in records] == [row for row in range(1, len(texts) + 1) for _ in range(2)]
    best = run(model, texts, tmp_path, "--num_beams", "4", "--max_new_tokens", "6")
    assert records[::2] == best
    capfd.readouterr()
    program("--model_name_or_path", model, "--prompt", texts[0], *options)
    assert capfd.readouterr().out == "\n".join(texts[0] + record["text"] + "\n" for record in records[:2])


# Searches


def test_a_seed_decides_what_is_drawn(folders, tmp_path):
    def texts(*seed: str) -> list[str]:
        return run(folders[DECODER], PROMPTS[:3], tmp_path, "--top_p", "0.9", *seed, name="out.txt")

    assert texts("--seed", "0") == texts("--seed", "0")
    assert texts() != texts()


def test_what_is_not_said_is_as_the_checkpoint_says(tmp_path):
    characters = writers.characters()
    settings = {"num_beams": 3, "max_new_tokens": 5}
    model = writers.save(tmp_path / DECODER, writers.decoder(characters), characters, **settings)
    for options, search in (
        ([], {"new": 5}),
        (["--num_beams", "1", "--max_new_tokens", "9"], {"new": 9, "num_beams": 1}),
    ):
        records = run(model, PROMPTS, tmp_path, *options)
        assert [record["text"] for record in records] == [alone(model, text, **search) for text in PROMPTS]


# Limits


def test_a_decoder_stops_where_its_positions_end(folders, tmp_path, capfd):
    prompts = [("abcdefgh" * 3)[: POSITIONS - 6], "abc"]
    long, short = run(folders[DECODER], prompts, tmp_path, "--max_new_tokens", "9")
    assert (len(long["text"]), len(short["text"])) == (7, 9)
    assert "1 of 2 texts have no end token and were cut at 7 tokens" in capfd.readouterr().err  # 9 were asked for


def test_a_prompt_that_is_too_long_is_refused_before_anything_is_written(folders, tmp_path, capfd):
    prompts, length = [*PROMPTS, "a" * (POSITIONS + 1)], POSITIONS + 1
    source = write(tmp_path / "in.csv", {"text": prompts})
    source.with_suffix(".en").write_text("\n".join(prompts))
    arguments = ["--model_name_or_path", folders[DECODER], "--output_file", tmp_path / "out", "--input_file"]
    for path, unit in ((source, "row"), (source.with_suffix(".en"), "line")):
        piece = f"{path}, {unit} {len(prompts)}: {length} tokens exceed the model's limit of {POSITIONS}; shorten it"
        refused(capfd, generate.main, [*arguments, path], piece)
    refused(capfd, generate.main, [*arguments[:2], "--prompt", prompts[-1]], f"--prompt: {length} tokens")
    assert not (tmp_path / "out").exists()


def test_sources_that_are_cut_or_have_unknown_words_are_counted(folders, tmp_path, capfd):
    long = text_of(2 * POSITIONS)
    model, texts = folders[TRANSLATOR], [text_of(3), long, *[long] * 5, "Zebra", "", "a Zebra"]
    lines = run(model, texts, tmp_path, "--max_new_tokens", str(NEW), name="out.txt")
    assert lines[1] == alone(model, " ".join(long.split()[: POSITIONS - 1]))
    told = capfd.readouterr().err
    assert f"6 texts truncated to {POSITIONS} tokens: line 2, 3, 4, 5, 6, ..." in told
    assert "2 texts have words or characters that the model does not know: line 8, 10" in told


# The library's own models


def test_a_native_translator_does_not_feign_an_end(tmp_path):
    """Marian and BART would write an end as the last token that is allowed."""
    words = writers.words()
    config = transformers.BartConfig(
        vocab_size=len(words), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=POSITIONS,
        pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id, bos_token_id=words.eos_token_id,
        decoder_start_token_id=words.pad_token_id, forced_eos_token_id=words.eos_token_id,
    )  # fmt: skip
    bart = writers.lively(transformers.BartForConditionalGeneration(config), words)
    model = writers.save(tmp_path / TRANSLATOR, bart, words, max_length=6)
    sources = [source for source in SOURCES if source.strip()]
    records = run(model, sources, tmp_path)
    assert [record["cut"] for record in records] == [len(record["text"].split()) == 5 for record in records]
    assert any(record["cut"] for record in records)
    for record, source in zip(records, sources):
        assert record["text"] == alone(model, source, 6)  # five tokens, and the end that is forced


def test_a_prompt_goes_on_where_a_tokenizer_ends_texts() -> None:
    words = writers.words()
    model = writers.decoder(words)
    assert words("word3 word5")["input_ids"][-1] == words.eos_token_id
    continuer = Continuer(model, words, max_new_tokens=NEW)
    expected = model.generate(words("word3 word5", return_tensors="pt")["input_ids"][:, :2], max_new_tokens=NEW)[0]
    answer = continuer.generate(["word3 word5"])[0][0]
    assert answer.text == " " + words.decode(expected[2:], skip_special_tokens=True)
    pieces: list[str] = []
    assert continuer.stream("word3 word5", pieces.append) == answer
    assert "".join(pieces) == answer.text


# Translators


@pytest.fixture(scope="module")
def parts():
    """A model whose target language has a vocabulary of its own, and its tokenizers."""
    tokenizers = writers.words(), writers.words("target")
    return writers.translator(*tokenizers), *tokenizers


def translate(parts: Any, sources: list[str] = SOURCES, **options: Any) -> list[Any]:
    return Translator(*parts, **{"max_new_tokens": NEW, **options}).translate(sources)


def test_a_text_is_cut_where_it_found_no_end(parts):
    """One that ends does so at every limit from there on; one that does not is longer with a higher limit."""
    longest = translate(parts, max_new_tokens=POSITIONS)
    assert len({answer.cut_after is None for answer in longest}) == 2
    for limit in (1, 5):
        for answer, whole in zip(translate(parts, max_new_tokens=limit), longest):
            assert whole.text.startswith(answer.text)
            tokens = len(whole.text.split()) + (whole.cut_after is None)
            assert (answer.cut_after is not None) == (tokens > limit) or not whole.text
            assert answer.cut_after in (limit, None)
    assert translate(parts, max_new_tokens=10 * POSITIONS) == longest


def test_each_of_several_tokens_ends_a_text(parts):
    source, target = [text_of(5)], parts[2]
    words = translate(parts, source)[0].text.split()
    end = next(word for word in words if word != words[0])
    unused = next(word for word in writers.WORDS if f"target{word}" not in words)
    ends = target.convert_tokens_to_ids([f"target{unused}", end])
    assert translate(parts, source, eos_token_id=ends) == [Generated(" ".join(words[: words.index(end)]))]


def test_the_limit_is_the_tokenizers_or_that_of_the_positions():
    tokenizer, endless = writers.words(), writers.words()
    endless.model_max_length = 10**30
    limits = {}
    for kind in ("learned", "sinusoidal"):
        model = writers.translator(tokenizer, tokenizer, position_type=kind)
        limits[kind] = Translator(model, tokenizer).limit, Translator(model, endless).limit
    assert limits == {"learned": (POSITIONS, POSITIONS), "sinusoidal": (POSITIONS, None)}
    assert Translator(model, endless).generate([text_of(3 * POSITIONS)])[0][0].text


def test_special_tokens_are_text_unless_they_are_allowed(tmp_path: Path) -> None:
    tokenizer, prompts = writers.words(), ["word3 </s> word5", "word3 <pad> word5"]
    folder = writers.save(tmp_path / DECODER, writers.decoder(tokenizer), tokenizer)
    for options in ([], ["--allow_special_tokens"]):
        first, second = run(folder, prompts, tmp_path, "--max_new_tokens", "6", *options, name="out.txt")
        assert (first == second) is not bool(options)


# What is wrong is said


def test_arguments_that_cannot_work(folders, tmp_path, capfd):
    source = write(tmp_path / "in.csv", {"text": ["abc", "b c"], "number": [1, 2]})
    model = ["--model_name_or_path", folders[DECODER]]
    data = [*model, "--input_file", source]
    (tmp_path / "out").write_text("precious")
    for arguments, *pieces in (
        (["--model_name_or_path", tmp_path / "none", "--prompt", "a"], "none", "folder not found"),
        ([*model, "--text_column", "text", "--prompt", "a"], "--text_column", "requires a table"),
        ([*data, "--prompt", "a"], "--prompt and --input_file"),
        ([*model, "--prompt", ""], "--prompt: the text is empty"),
        ([*model, "--prompt", os.fsdecode(b"sch\xf6n")], "--prompt: not valid UTF-8"),
        ([*data, "--output_file", tmp_path / "out"], "out: file exists", "--overwrite"),
        ([*data, "--max_new_tokens", "0"], "--max_new_tokens 0"),
        ([*data, "--num_return_sequences", "2"], "num_return_sequences", "do_sample"),
        ([*data, "--num_return_sequences", "3", "--num_beams", "2"], "num_return_sequences", "num_beams"),
        ([*data, "--temperature", "0.5", "--do_sample", "False"], "--temperature", "--do_sample False"),
        ([*data, "--temperature", "0"], "--temperature 0.0: must be at least 0.00001", "--do_sample False"),
        ([*data, "--top_k", "-1"], "--top_k -1: must be at least 0"),
        ([*data, "--length_penalty", "nan"], "--length_penalty nan: must be from -10 to 10"),
        ([*data, "--seed", str(2**32)], f"--seed {2**32}: must be from 0 to"),
    ):
        refused(capfd, generate.main, arguments, *pieces)
    assert (tmp_path / "out").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out"]


def test_a_folder_that_would_write_at_random(tmp_path, capfd):
    characters = writers.characters()
    decoder = writers.decoder(characters)
    classifier = ScratchDecoderForSequenceClassification(decoder.config)
    bert = transformers.BertModel(transformers.BertConfig(vocab_size=20, hidden_size=12, num_hidden_layers=1))
    for name, model, piece in (
        ("classifier", classifier, "does not generate texts; use modeling-scratch predict"),
        ("encoder", bert, "no trained generation head"),
        ("damaged", decoder, "damaged"),
    ):
        folder = writers.save(tmp_path / name, model, characters)
        if name == "damaged":
            (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
        refused(capfd, generate.main, ["--model_name_or_path", folder, "--prompt", "a"], piece)


# Ends that come from outside


def test_a_reader_that_has_seen_enough(folders, monkeypatch, capfd):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(SystemExit) as caught:
            program("--model_name_or_path", folders[DECODER], "--prompt", PROMPTS[0])
    assert not caught.value.code
    assert "rror" not in capfd.readouterr().err


def test_a_text_ends_before_the_first_stop(folders, tmp_path):
    """Those of a batch end in different places; one without a stop is as without the option."""
    whole = run(folders[DECODER], PROMPTS, tmp_path, "--max_new_tokens", NEW)
    letter = next(text["text"][2] for text in whole if len(text["text"]) > 2)
    stopped = run(folders[DECODER], PROMPTS, tmp_path, "--max_new_tokens", NEW, "--stop", letter, "zz")
    assert [one["text"] for one in stopped] == [one["text"].partition(letter)[0] for one in whole]
    assert all(one["cut"] == (two["cut"] and letter not in two["text"]) for one, two in zip(stopped, whole))


@pytest.mark.parametrize("is_nested", [True, False])
def test_the_tables_of_the_training_are_read(folders, is_nested, tmp_path):
    """Two columns of texts, of which the record of the model names that of the sources."""
    model = shutil.copytree(folders[TRANSLATOR], tmp_path / "model")
    (model / "run_config.json").write_text(json.dumps({"columns": ["en", "de"], "data": {}}))
    rows = [{"de": "Hund", "en": text_of(number)} for number in (3, 5)]
    table = tmp_path / "in.jsonl"
    table.write_text("".join(json.dumps({"translation": row} if is_nested else row) + "\n" for row in rows))
    program("--model_name_or_path", model, "--input_file", table, "--output_file", tmp_path / "out.jsonl")
    found = [json.loads(line)["source"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [row["en"] for row in rows]
