# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Text streamed from Parquet shards to several processes: each document is read once, also where the run is resumed."""

import json
from collections import Counter
from pathlib import Path

import pytest
import torch
from text_samples import write
from together import program, together
from transformers import AutoTokenizer, Trainer

DOCUMENTS, SHARDS = 240, 3  # two fill a row
ROWS_A_STEP = 12
STEPS = DOCUMENTS // 2 // ROWS_A_STEP
SIZES = "hidden_size=16,intermediate_size=32,num_hidden_layers=1,num_attention_heads=2,hidden_dropout=0.0"
OPTIONS = (
    "--objective clm --tokenizer_kind character --block_size 16 --streaming --report_to none --use_cpu --seed 3 "
    f"--disable_tqdm True --logging_steps 1 --eval_strategy no --config_overrides {SIZES}"
)


def name(number: int) -> str:
    """Six letters, which a beginning and an end make a half of a row."""
    return f"{number:06}".translate({ord(str(digit)): letter for digit, letter in enumerate("abcdefghij")})


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The option that names them, in no order."""
    folder, size = tmp_path_factory.mktemp("shards"), DOCUMENTS // SHARDS
    for shard in range(SHARDS):
        numbers = range(shard * size, (shard + 1) * size)
        write(folder / f"train-{shard:05}-of-{SHARDS:05}.parquet", {"text": list(map(name, numbers))})
    write(folder / "validation.parquet", {"text": ["a small", "j large", "abcdef"]})
    return f"--data_dir {folder}"


def recorded(rank: int, folder: str, options: str) -> None:
    """Pretraining, and a file of the rows that this process took its steps with."""
    seen, step = [], Trainer.training_step

    def training_step(trainer: Trainer, model: torch.nn.Module, inputs: dict, *rest: object) -> torch.Tensor:
        seen.extend(inputs["input_ids"].tolist())
        return step(trainer, model, inputs, *rest)

    Trainer.training_step = training_step
    program(rank, "pretrain", options)
    Path(folder).mkdir(exist_ok=True)
    (Path(folder) / f"{rank}.json").write_text(json.dumps(seen))


def stream(processes: int, output: Path, seen: Path, options: str) -> None:
    batch = f"--per_device_train_batch_size {ROWS_A_STEP // processes}"
    together(processes, recorded, str(seen), f"{OPTIONS} {batch} --output_dir {output} {options}")


def documents(output: Path, *seen: Path) -> list[list[str]]:
    """What each process has read, in each of several runs."""
    tokenizer = AutoTokenizer.from_pretrained(output)
    read = [json.loads(path.read_text()) for folder in seen for path in sorted(folder.iterdir())]
    texts = [torch.tensor(rows).reshape(-1, 8) for rows in read]
    return [tokenizer.batch_decode(ids, skip_special_tokens=True) for ids in texts]


def check_once(read: list[list[str]]) -> None:
    assert all(read)
    assert Counter(text for texts in read for text in texts) == Counter(map(name, range(DOCUMENTS)))


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 2), (1, 2), (2, 3), (3, 1)])
def test_each_document_is_read_once(shards: str, tmp_path: Path, before: int, after: int) -> None:
    """Stopped in the middle of the second shard, resumed by as many processes or others."""
    output, stopped = tmp_path / "run", STEPS // 2
    stream(before, output, tmp_path / "first", f"{shards} --max_steps {stopped} --save_steps {stopped}")
    stream(after, output, tmp_path / "rest", f"{shards} --max_steps {STEPS} --resume_from_checkpoint last")
    read = documents(output, tmp_path / "first", tmp_path / "rest")
    assert len(read) == before + after
    assert sum(map(len, read[:before])) == stopped * ROWS_A_STEP * 2
    check_once(read)
