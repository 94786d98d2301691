# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The lab: what it refuses, what it makes equal, what it says of differences, and that a killed one goes on."""

import json
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lab import main
from processes import Ended, at_call, in_child, refusal, send
from scipy.stats import ttest_rel
from transformers import AutoModelForSequenceClassification, Trainer

from modeling_scratch import ScratchDecoderForCausalLM, ScratchEncoderForSequenceClassification, presets
from modeling_scratch.lab.report import Difference, Results, adjusted, paired_difference
from modeling_scratch.lab.variants import Variant, check_variants, parse_factors, plan_variants, sized

SIZES = "hidden_size=16,intermediate_size=24,num_hidden_layers=1,num_attention_heads=2"
SMALL = f"--config_overrides {SIZES} --max_steps 5"
CHEAP = ["--options", "--per_device_train_batch_size 8 --per_device_eval_batch_size 20"]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three of four have the label 1."""
    words = ("great", 1), ("warm", 1), ("fine", 1), ("dull", 0)
    rows = [f"a {word} film number {i},{label}" for i in range(20) for word, label in words]
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    return path


def run(task: Path, output: Path, options: str, *before: Any) -> Ended:
    given = ["--task", str(task), "--output_dir", str(output), *SMALL.split(), *CHEAP, *options.split()]
    return in_child(*before, partial(main, given))


def record(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "lab.json").read_text(encoding="utf-8"))


def results(folder: Path) -> list[Any]:
    """What two equal labs have in common."""
    found = record(folder)
    runs = [[run[name] for name in ("variant", "seed", "tokens", "scores")] for run in found["runs"]]
    return [runs, found["comparisons"], found["variants"]]


def test_differences_are_those_of_the_paired_t_test() -> None:
    scores, first = {0: 0.71, 1: 0.78, 2: 0.69, 3: 0.74}, {0: 0.70, 1: 0.73, 2: 0.70, 3: 0.69}
    expected = ttest_rel(list(scores.values()), list(first.values()))
    found, interval = paired_difference(scores, first), expected.confidence_interval(0.95)
    assert [found.low, found.high, found.p] == pytest.approx([interval.low, interval.high, expected.pvalue])
    assert paired_difference({0: 1.0}, {0: 0.5}) == Difference([0.5], 0.5)


@pytest.mark.parametrize(("step", "p"), [(0.1, 0.25), (-0.1, 0.25), (0.0, 1.0)])
def test_equal_differences_show_no_spread(step: float, p: float) -> None:
    """0.71 + 0.1 - 0.71 is not 0.1: a t test of such differences has p = 1e-31. Three equal signs have p = 2 / 8."""
    first = {0: 0.71, 1: 0.78, 2: 0.69}
    found = paired_difference({seed: score + step for seed, score in first.items()}, first)
    assert (found.low, found.high, found.p) == (None, None, p)


def outcome(score: float, tokens: int = 280, **scores: float) -> dict[str, Any]:
    named = {"accuracy": score, "loss": 1 - score, **scores}
    return {"scores": named, "curve": [[5, named]], "tokens": tokens, "epochs": 1.0}


VERDICTS = {
    "better": ([outcome(0.6), outcome(0.71), outcome(0.8)], "better"),
    "worse": ([outcome(0.4), outcome(0.51), outcome(0.6)], "worse"),
    "equal runs": ([outcome(0.5), outcome(0.6), outcome(0.7)], "no effect here"),
    "equal scores": ([outcome(0.5 + step, loss=0.4) for step in (0.0, 0.1, 0.2)], "the same difference with each seed"),
    "one step": ([outcome(0.6), outcome(0.7), outcome(0.8)], "the same difference with each seed"),
    "other tokens": ([outcome(0.6, 160), outcome(0.71, 160), outcome(0.8, 160)], "other tokens than the base"),
    "no score": ([outcome(0.6), outcome(float("nan")), outcome(0.8)], "failed"),
    "diverged": ([outcome(0.6), {"failed": "the loss is nan"}, outcome(0.8)], "failed"),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_verdicts(case: str) -> None:
    runs, expected = VERDICTS[case]
    factors = {"norm_position": ["post", "pre"]}
    base, other = variants = plan_variants(factors)
    of_base = {(base.name, seed): outcome(score) for seed, score in enumerate((0.5, 0.6, 0.7))}
    every = of_base | {(other.name, seed): run for seed, run in enumerate(runs)}
    found = Results(factors, variants, every, "accuracy", majority=0.55)
    assert (expected in found.verdict(other), found.verdict(base)) == (True, "first value")
    assert ("nothing learned" in found.verdict(other)) == (case == "worse")
    assert ("NOT EQUAL to those of the base: norm_position=pre" in found.tokens()) == (case == "other tokens")


def test_p_values_are_corrected_by_holm() -> None:
    """The example of R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")."""
    found = adjusted([Difference([], 0.0, p=p) for p in (0.01, 0.04, 0.03, 0.005)] + [Difference([], 0.0)])
    assert [each.adjusted_p for each in found] == pytest.approx([0.03, 0.06, 0.06, 0.02, None])


def test_variants_change_one_switch_with_values_as_in_python() -> None:
    factors = parse_factors(["hidden_act=gelu,relu,swiglu", "first_norm=True,False", "sliding_window=None,2"])
    variants = plan_variants(factors)
    names = ["base", "hidden_act=relu", "hidden_act=swiglu", "first_norm=false", "sliding_window=2"]
    assert [variant.name for variant in variants] == names
    check_variants({"demo": presets.demo}, "demo", "first_norm=False", variants)


@pytest.mark.parametrize(
    ("preset", "head", "vary"),
    [
        (presets.demo, ScratchEncoderForSequenceClassification, "hidden_act=gelu,swiglu,relu"),
        (presets.demo, ScratchEncoderForSequenceClassification, "position_type=rotary,learned,none"),
        (presets.plays, ScratchDecoderForCausalLM, "num_key_value_heads=4,1,2"),
        (presets.plays, ScratchDecoderForCausalLM, "num_hidden_layers=4,2,3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters_are_as_close_as_one_step_allows(preset: Any, head: Any, vary: str) -> None:
    """Against models that are really built, of this intermediate_size and of its two neighbours."""

    def build(overrides: Sequence[str]) -> Any:
        values = dict(part.split("=") for part in ("vocab_size=50", *overrides))
        return head(preset(**{name: value if value.isalpha() else int(value) for name, value in values.items()}))

    def count(variant: Variant, more: int = 0) -> int:
        size = variant.size or build([]).config.intermediate_size
        return build([*variant.overrides, f"intermediate_size={size + more}"]).num_parameters()

    base, *others = sized(plan_variants(parse_factors([vary])), build, True)
    assert (base.size, base.parameters) == (None, count(base))
    for variant in others:
        assert variant.parameters == count(variant)
        assert abs(count(variant) - base.parameters) == min(
            abs(count(variant, more) - base.parameters) for more in (-1, 0, 1)
        )


REFUSED = {
    "--vary norm_position=pre,sideways": "'norm_position' expected one of ('pre', 'post'",
    "--vary norm_positon=pre,post": "did you mean 'norm_position'?",
    "--vary norm_position=pre": "at least two values, that of the base first",
    "--vary norm_position=pre,pre": "given twice",
    "--vary hidden_dropout=0,0.0": "given twice",
    "--vary norm_position=pre,post --vary norm_position=post,pre": "given twice",
    "--vary vocab_size=10,20": "determined by the tokenizer",
    "--vary num_attention_heads=4,5": "num_attention_heads=5: set head_dim",
    "--vary norm_position=pre,post --seeds 0": "--seeds 0",
    "--vary norm_position=pre,post --grid": "--grid is retired",
    "--vary norm_position=pre,post --options=--seed=3": "the lab itself sets --seed",
    "--vary norm_position=pre,post --options='": "No closing quotation",
    "--vary norm_position=pre,post --data_dir somewhere": "leave --data_dir out",
    "--vary norm_position=pre,post --task sst2": "give --data_dir",
    "--vary norm_position=pre,post --task nowhere": "no such folder or file",
    "": "--vary is missing",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wrong_commands_are_refused_before_any_training(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    folder = tmp_path / "lab"
    assert REFUSED[options] in refusal(capsys, main, ["--task", "demo", "--output_dir", str(folder), *options.split()])
    assert not folder.exists()


def test_a_lab_of_one_seed(reviews: Path, tmp_path: Path) -> None:
    """It measures what it says is equal, is not repeated, and refuses another command in its folder."""
    folder, command = tmp_path / "lab", "--vary hidden_act=gelu,swiglu --seeds 1"
    ended = run(reviews, folder, command)
    assert ended.status == 0, ended.text
    assert "one seed shows no spread" in ended.text
    assert "the most frequent label alone has an accuracy of 75.00 %" in ended.text
    assert "WARNING: the base is no better than the most frequent label" in ended.text  # after five steps
    assert ended.text.count("first value; nothing learned") == 1
    assert ended.text.count("1 run left: about ") == 1
    found = record(folder)
    base, gated = found["runs"]
    assert base["tokens"] == gated["tokens"] > 0
    assert [each["parameters"] for each in found["variants"]] == [base["parameters"], gated["parameters"]]
    assert f"{base['epochs']:.1f} epochs" in ended.text
    model = AutoModelForSequenceClassification.from_pretrained(folder / "hidden_act=swiglu" / "seed-0")
    assert model.num_parameters() == gated["parameters"]
    assert (model.config.hidden_act, model.config.intermediate_size) == ("swiglu", found["variants"][1]["size"])
    assert found["comparisons"][0]["low"] is None
    again = run(reviews, folder, command)
    assert again.text.count("finished before") == 2
    more = run(reviews, folder, command.replace("--seeds 1", "--seeds 2"))
    assert (more.status, more.text.count("finished before")) == (0, 2), more.text
    assert "seeds 0 to 1, 4 runs" in (folder / "report.md").read_text(encoding="utf-8")
    assert "--seeds 2" in record(folder)["repeat"]
    refused = run(reviews, folder, f"{command} --score rouge")
    assert (refused.status, refused.text.count("finished before")) == (2, 1)
    assert "--score rouge: the scores of this task are accuracy" in refused.text
    other = run(reviews, folder, f"{command} --match_parameters False")
    assert other.status == 2
    assert "holds another lab: --match_parameters was True and is False" in other.text


@pytest.mark.slow
def test_a_killed_lab_goes_on_to_the_same_results(reviews: Path, tmp_path: Path) -> None:
    """Killed in the second run, after its first checkpoint. The first run is not repeated."""
    command = "--vary norm_position=post,pre --seeds 2"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run(reviews, whole, command).status == 0
    ended = run(reviews, killed, command, at_call(Trainer, "training_step", 5 + 4, send(signal.SIGKILL)))
    assert ended.status == -signal.SIGKILL, ended.text
    assert (killed / "base" / "seed-0.json").is_file()
    assert not (killed / "norm_position=pre" / "seed-0.json").exists()
    again = run(reviews, killed, command)
    assert again.status == 0, again.text
    assert again.text.count("finished before") == 1
    assert record(killed)["runs"][1]["resumed_at"] > 0
    assert results(killed) == results(whole)


def test_a_base_that_fails_ends_the_lab_before_others_are_trained(reviews: Path, tmp_path: Path) -> None:
    ended = run(reviews, tmp_path / "lab", "--vary initializer_range=1e38,0.02 --seeds 2")
    assert ended.status == 2
    assert "the base failed with seed 0 (the loss is" in ended.text
    assert not (tmp_path / "lab" / "initializer_range=0.02").exists()


@pytest.mark.slow
def test_numbers_are_compared_by_loss_and_translations_by_bleu(reviews: Path, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.csv"
    numbers.write_text(reviews.read_text(encoding="utf-8").replace(",1\n", ",1.5\n"), encoding="utf-8")
    ended = run(numbers, tmp_path / "numbers", "--vary norm_position=post,pre --seeds 1")
    assert record(tmp_path / "numbers")["comparisons"][0]["score"] == "loss", ended.text
    folder = tmp_path / "pairs"
    folder.mkdir()
    for split, rows in (("train", 60), ("validation", 10)):
        lines = [f"a dog runs over field {i}\tein Hund rennt über Feld {i}" for i in range(rows)]
        (folder / f"{split}.tsv").write_text("\n".join(["en\tde", *lines]) + "\n", encoding="utf-8")
    given = ["--task", "multi30k", "--data_dir", str(folder), "--output_dir", str(tmp_path / "lab"), *SMALL.split()]
    ended = in_child(partial(main, [*given, "--vary", "norm_position=pre,post", "--seeds", "2", "--score", "bleu"]))
    assert ended.status == 0, ended.text
    assert {"loss", "bleu"} <= record(tmp_path / "lab")["runs"][0]["scores"].keys()
