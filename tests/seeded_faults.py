# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whether the tests see what would break: one fault at a time is written into a copy, and some test has to fail.

    python tests/seeded_faults.py                            all of them
    python tests/seeded_faults.py --only rotation_turns_back another_name
    python tests/seeded_faults.py --list

Each fault is one line that a slip of the hand could have made, and that would change an answer, a loss, a gradient or
a refusal for somebody. The tests of its file run until the first fails, those of the file itself first. A fault that
all of them pass LIVES: a test is missing. pytest does not collect this file, since it takes most of an hour on one
core, some of which shows that the copy passes without a fault. Those of the textbook and of its engine are here, and
those of the other rooms, whose own tests alone run for them, in seeded_faults_rooms.py.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from seeded_faults_rooms import FIRST as FIRST_IN_ROOMS
from seeded_faults_rooms import ROOMS, Fault

ROOT = Path(__file__).resolve().parents[1]
COPIED = "modeling_scratch", "tokenization", "scripts", "tests", "docs", "pyproject.toml", "setup.cfg", "README.md"
TIME_LIMIT = 1800  # seconds of all tests of a fault, on a machine that has other work too

TEXTBOOK = (
    Fault(
        "sines_for_cosines", "positions.py",
        "torch.stack((angles.sin(), angles.cos()), dim=-1)", "torch.stack((angles.cos(), angles.sin()), dim=-1)",
        "sinusoidal positions: sines and cosines swapped",
    ),
    Fault(
        "cache_without_positions", "positions.py",
        "torch.arange(shape[1], device=device)[None] + past", "torch.arange(shape[1], device=device)[None]",
        "without a mask, the tokens behind a cache count from 0 again",
    ),
    Fault(
        "rotation_turns_back", "positions.py",
        "torch.cat((-second, first), dim=-1)", "torch.cat((second, -first), dim=-1)",
        "rotary positions: the sign of the angle",
    ),
    Fault(
        "only_falls_restart", "positions.py",
        "prepend=position_ids[:, :1]) != 1", "prepend=position_ids[:, :1]) < 1",
        "a segment whose positions go on beyond those of the one before joins it",
    ),
    Fault(
        "yarn_divided_the_other_way", "positions.py",
        "return above / below", "return below / above",
        "YaRN: the quotient of the two temperatures upside down",
    ),
    Fault(
        "dynamic_length_is_last_position", "positions.py",
        "length = position_ids.max() + 1", "length = position_ids.max()",
        "dynamic rotary positions: the length of the text off by one",
    ),
    Fault(
        "dropout_on_the_residual", "layers.py",
        "return residual + self.dropout(update)", "return self.dropout(residual + update)",
        "pre-norm: dropout falls on the residual stream",
    ),
    Fault(
        "dropout_before_output_norm", "layers.py",
        "residual + self.dropout(self.norm(update))", "residual + self.norm(self.dropout(update))",
        "output norm: normalises what dropout left",
    ),
    Fault(
        "gate_and_features_swapped", "layers.py",
        "self.activation(self.gate_proj(hidden_states)) * features",
        "self.gate_proj(hidden_states) * self.activation(features)",
        "gated feed-forward: the activation on the wrong factor",
    ),
    Fault(
        "scaled_by_the_model", "attention.py",
        "self.scaling = config.head_dim**-0.5", "self.scaling = config.hidden_size**-0.5",
        "scores divided by the root of the width of the model, not of a head",
    ),
    Fault(
        "groups_tiled", "attention.py",
        "states.repeat_interleave(module.num_key_value_groups, dim=1)",
        "states.repeat(1, module.num_key_value_groups, 1, 1)",
        "grouped queries: heads far apart share keys instead of neighbours",
    ),
    Fault(
        "cached_memory_swapped", "attention.py",
        "return layer.keys, layer.values", "return layer.values, layer.keys",
        "cached cross-attention: keys and values swapped from the second step on",
    ),
    Fault(
        "cache_of_the_first_layer", "attention.py",
        "return cache.update(key, value, self.layer_idx)", "return cache.update(key, value, 0)",
        "all layers share the cache of the first",
    ),
    Fault(
        "attention_drops_in_evaluation", "attention.py",
        "self.config.attention_dropout if self.training else 0.0", "self.config.attention_dropout",
        "attention weights are dropped in evaluation, too",
    ),
    Fault(
        "values_are_turned", "attention.py",
        "self._heads(self.v_proj(hidden_states))", "self._heads(self.v_proj(hidden_states), rotary)",
        "rotary positions turn values as well",
    ),
    Fault(
        "position_offset_ignored", "embeddings.py",
        'position_ids + self.offset, "position_ids"', 'position_ids, "position_ids"',
        "learned positions start at row 0 whatever position_offset says",
    ),
    Fault(
        "short_first_segment_unseen", "embeddings.py",
        "if not starts[:, 1:].any():", "if not starts[:, 2:].any():",
        "a first segment of one token joins the second one",
    ),
    Fault(
        "embeddings_dropped_before_norm", "embeddings.py",
        "self.dropout(self.norm(embeddings))", "self.norm(self.dropout(embeddings))",
        "embeddings are normalised after dropout, so that their scale goes astray",
    ),
    Fault(
        "longest_text_refused", "embeddings.py",
        "int(position_ids.max()) + 1) > limit:", "int(position_ids.max()) + 1) >= limit:",
        "a padded text of exactly as many tokens as there are positions is refused",
    ),
    Fault(
        "output_norm_without_final_norm", "stack.py",
        'config.norm_position != "post"', 'config.norm_position == "pre"',
        "norm_position output: no final norm",
    ),
    Fault(
        "causal_memory", "stack.py",
        "self.cross_attention = Attention(config, layer_idx)",
        "self.cross_attention = Attention(config, layer_idx, is_causal)",
        "cross-attention is causal: target token t sees source tokens up to t",
    ),
    Fault(
        "segments_read_off_the_next", "heads.py",
        'ends - 1 if pooling == "last"', 'ends if pooling == "last"',
        "a packed text is read off the first token of the one after it",
    ),
    Fault(
        "items_of_the_step_ignored", "heads.py",
        "items = count if num_items_in_batch is None else num_items_in_batch", "items = count",
        "accumulated gradients are not those of one large batch",
    ),
    Fault(
        "loss_divided_by_all_tokens", "heads.py",
        "(labels != -100).sum(), num_items_in_batch", "labels.numel(), num_items_in_batch",
        "cross-entropy divided by all tokens, the unlabelled ones included",
    ),
    Fault(
        "maximum_with_zeros", "heads.py",
        "~mask.unsqueeze(-1), torch.finfo(hidden_states.dtype).min", "~mask.unsqueeze(-1), 0",
        "max pooling: padding counts as 0",
    ),
    Fault(
        "segment_one_token_longer", "heads.py",
        "columns < lengths", "columns <= lengths",
        "pooling of packed texts reads the first token of the next one as well",
    ),
    Fault(
        "segments_see_each_other", "engine.py",
        "create_causal_mask(*arguments, cache, and_mask_function=same_segment)",
        "create_causal_mask(*arguments, cache)",
        "texts of a packed row see those before them in a decoder",
    ),
    Fault(
        "cache_outgrows_positions", "engine.py",
        "longest=past + inputs.shape[1]", "longest=inputs.shape[1]",
        "a text that outgrows the learned positions with its cache is refused by no message",
    ),
    Fault(
        "packed_with_a_cache", "base_models.py",
        "if use_cache and past_key_values is None and inputs.segment_ids() is None:",
        "if use_cache and past_key_values is None:",
        "with use_cache packed texts get a cache, and see each other",
    ),
    Fault(
        "pooler_reads_padding", "base_models.py",
        'pool(hidden_states, attention_mask, "first")', "hidden_states[:, 0]",
        "the pooler reads padding where it stands on the left",
    ),
    Fault(
        "answer_at_the_end_ignored", "question_answering.py",
        "(labels <= last)", "(labels < last)",
        "answers that touch the last token of the batch do not count",
    ),
    Fault(
        "head_normalises_too_early", "modeling_encoder.py",
        "self.norm(self.activation(self.dense(hidden_states)))",
        "self.activation(self.norm(self.dense(hidden_states)))",
        "masked-language head: norm before the activation",
    ),
    Fault(
        "classifier_without_dropout", "modeling_encoder.py",
        "return self.out_proj(self.dropout(pooled))", "return self.out_proj(pooled)",
        "no dropout before the last layer of the classifier",
    ),
    Fault(
        "labels_not_shifted", "modeling_decoder.py",
        "F.pad(labels[..., 1:], (0, 1), value=-100)", "labels",
        "a decoder learns to repeat the token that it reads",
    ),
    Fault(
        "segment_predicts_the_next", "modeling_decoder.py",
        "labels = labels.masked_fill(restarts(inputs.position_ids, labels.shape), -100)", "labels = labels",
        "the last token of a packed text learns to predict the first one of the next",
    ),
    Fault(
        "first_label_counts", "modeling_decoder.py",
        "(labels[:, 1:] != -100)", "(labels != -100)",
        "accumulated steps: the share of predicted labels is of all labels, the first ones included",
    ),
    Fault(
        "mask_of_the_first_tokens", "modeling_decoder.py",
        "None if padding_mask(mask) is None else mask[:, -inputs.shape[1] :]",
        "None if padding_mask(mask) is None else mask[:, : inputs.shape[1]]",
        "classifying behind a cache, the mask of the cached tokens says which of the new ones are real",
    ),
    Fault(
        "shifted_to_the_left", "modeling_seq2seq.py",
        "F.pad(labels[..., :-1], (1, 0), value=start)", "F.pad(labels[..., 1:], (0, 1), value=start)",
        "the decoder reads the label after, not the one before",
    ),
    Fault(
        "memory_without_mask", "modeling_seq2seq.py",
        "encoder_states, attention_mask, use_cache=use_cache", "encoder_states, None, use_cache=use_cache",
        "the decoder attends to padding of the source",
    ),
    Fault(
        "default_of_norm_eps", "configuration_scratch.py",
        "norm_eps: float | int = 1e-5", "norm_eps: float | int = 1e-6",
        "another default: a saved config that leaves it out computes other numbers",
    ),
    Fault(
        "ngrams_across_texts", "embeddings.py",
        "(position_ids == positions + back)", "(position_ids != positions)",
        "pairs and triples of tokens of two texts, and of tokens with padding between them",
    ),
    Fault(
        "hidden_tokens_in_ngrams", "embeddings.py",
        "self.input_ids.masked_fill(~mask.bool(), pad_token_id)", "self.input_ids",
        "n-grams read tokens that the mask hides",
    ),
)  # fmt: skip

ENGINE = (
    Fault(
        "read_twice_added_twice", "fast/engine.py",
        "indices, states * first)", "indices, states)",
        "a token that two empty texts name is added twice",
    ),
    Fault(
        "one_token_of_a_decoder_sees_all", "fast/engine.py",
        "if indices is None or model.is_causal:", "if indices is None:",
        "of a decoder one token a text is read: it sees the tokens behind it",
    ),
    Fault(
        "rows_not_causal", "fast/engine.py",
        "allowed = allowed.tril() if is_causal else allowed", "allowed = allowed",
        "texts that share a row see their future",
    ),
    Fault(
        "tokens_before_left_out", "fast/engine.py",
        "read.flip(-1).cumsum(-1).flip(-1)", "read.cumsum(-1)",
        "without a mask a decoder leaves out the tokens before those that are read, not those behind",
    ),
    Fault(
        "longest_is_the_first", "engine.py",
        "longest = int(lengths.max())", "longest = int(lengths[0])",
        "kernels are told the length of the first text instead of the longest",
    ),
    Fault(
        "found_without_gaps", "fast/packing.py",
        "if self.real is None else self.real\n", "if self.real is None else torch.arange(len(self.real))\n",
        "wrong tokens where rows of a packed batch have gaps",
    ),
    Fault(
        "order_not_undone", "fast/packing.py",
        "index_select(0, order.argsort())", "index_select(0, order)",
        "the one token of each text comes back in another order",
    ),
    Fault(
        "packed_targets_see_padding", "fast/packing.py",
        "padded.transpose(1, 2), key, value, mask, **kwargs", "padded.transpose(1, 2), key, value, None, **kwargs",
        "packed targets attend to padding of the source",
    ),
    Fault(
        "a_text_falls_out", "fast/bin_packing.py",
        "_share_rows(texts[starts[count] :]", "_share_rows(texts[starts[count] + 1 :]",
        "the longest of the texts that share rows stands in none",
    ),
    Fault(
        "keys_not_turned", "fast/last_block.py",
        "key = key if rotary is None else rotate(key, *rotary)", "key = key",
        "in the last block queries are turned by their positions, and keys are not",
    ),
    Fault(
        "bias_of_values_lost", "fast/last_block.py",
        "F.pad(states, (0, 1), value=1.0)", "F.pad(states, (0, 1), value=0.0)",
        "in the last block the biases of keys and values are left out",
    ),
    Fault(
        "groups_tiled_in_the_last_block", "fast/last_block.py",
        "-1, attention.num_key_value_groups, -1, -1).flatten(0, 1)",
        "-1, attention.num_key_value_groups, -1, -1).transpose(0, 1).flatten(0, 1)",
        "in the last block heads far apart share keys instead of neighbours",
    ),
    Fault(
        "gradient_of_weights_not_turned", "fast/onednn.py",
        "times(states.mT, gradient.mT).mT.contiguous()", "times(states.mT, gradient.mT).contiguous()",
        "the gradient of a wide weight is transposed",
    ),
    Fault(
        "a_byte_more_dropped", "fast/dropout.py",
        "add_(steps - 128)", "add_(steps - 127)",
        "dropout: 1 in 256 elements more is dropped than is made up for",
    ),
    Fault(
        "kept_weights_not_scaled", "fast/attention.py",
        "weights * mask, value * scale_of(dropout)", "weights * mask, value",
        "attention dropout without 1 / (1 - p)",
    ),
    Fault(
        "length_penalty_upside_down", "fast/beam_search.py",
        "candidates.scores / new**config.length_penalty", "candidates.scores * new**config.length_penalty",
        "beam search: scores of texts that ended multiplied by length^penalty",
    ),
    Fault(
        "beams_stand_still", "fast/beam_search.py",
        "position_ids[:, -1:] + 1)", "position_ids[:, -1:])",
        "beam search: positions that were given stay at that of the prompt's end",
    ),
    Fault(
        "head_without_bias", "fast/generation.py",
        "if self.packed is None else self.packed, self.layer.bias)", "if self.packed is None else self.packed, None)",
        "generation leaves out the bias of the head",
    ),
    Fault(
        "frozen_layers_drop", "fast/forwards.py",
        "return dropout(states, self.layer.p, self.layer.training,", "return dropout(states, self.layer.p, True,",
        "dropout of a part that was set to evaluation while the rest trains",
    ),
    Fault(
        "kernel_not_causal", "fast/varlen.py",
        "dropout, module.is_causal, scaling)", "dropout, False, scaling)",
        "packed texts see their future on accelerators",
    ),
    Fault(
        "ngrams_of_the_packed_layout", "fast/engine.py",
        "return embeddings.ngrams is not None or has_hooks(embeddings.tokens)", "return has_hooks(embeddings.tokens)",
        "tokens on both sides of a hidden one are neighbours in the engine alone",
    ),
)  # fmt: skip

FAULTS = TEXTBOOK + ENGINE + ROOMS

# All of them run for each fault of the textbook and the engine, if need be; those first that say most about its file.
TESTS = (
    "layers", "attention", "positions", "embeddings", "stack", "heads", "engines", "modeling_encoder",
    "modeling_decoder", "modeling_seq2seq", "textbook", "configuration", "gradients", "packing", "presets",
    "generation", "dropout", "onednn", "bin_packing", "beam_search", "varlen", "conversion", "hf_behaviour",
    "seen_inside", "text_classification",
)  # fmt: skip
FIRST = {
    "positions.py": ("positions", "textbook", "embeddings", "packing", "modeling_decoder"),
    "layers.py": ("layers", "textbook"),
    "attention.py": ("attention", "modeling_decoder", "modeling_seq2seq"),
    "embeddings.py": ("embeddings", "ngrams", "textbook", "packing"),
    "stack.py": ("stack", "textbook"),
    "heads.py": ("heads", "packing", "modeling_decoder", "engines"),
    "engine.py": ("modeling_decoder", "packing"),
    "base_models.py": ("textbook", "modeling_decoder"),
    "modeling_encoder.py": ("heads", "textbook", "modeling_encoder"),
    "question_answering.py": ("heads", "question_answering"),
    "modeling_decoder.py": ("textbook", "modeling_decoder"),
    "modeling_seq2seq.py": ("modeling_seq2seq", "stack"),
    "configuration_scratch.py": ("configuration", "textbook", "presets"),
    "fast/engine.py": ("packing", "ngrams", "textbook", "varlen", "engines", "modeling_encoder"),
    "fast/packing.py": ("packing", "modeling_encoder", "modeling_seq2seq", "engines"),
    "fast/bin_packing.py": ("bin_packing", "packing"),
    "fast/last_block.py": ("textbook", "modeling_encoder", "engines"),
    "fast/onednn.py": ("onednn",),
    "fast/dropout.py": ("dropout", "textbook"),
    "fast/attention.py": ("dropout", "textbook"),
    "fast/beam_search.py": ("beam_search", "textbook", "generation"),
    "fast/generation.py": ("generation",),
    "fast/forwards.py": ("textbook", "dropout"),
    "fast/varlen.py": ("varlen",),
} | FIRST_IN_ROOMS


def files_for(file: str, without: Iterable[str]) -> list[str]:
    """The test files of a file of modeling_scratch, in the order in which they run: FIRST, then those of its room."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    paths = {path.stem.removeprefix("test_"): path.relative_to(ROOT).as_posix() for path in found}
    room = Path(file).parent.name
    of_room = [name for name, path in paths.items() if path.startswith(f"tests/{room}/")]
    others = of_room if file in FIRST_IN_ROOMS else TESTS
    return [paths[name] for name in dict.fromkeys((*FIRST[file], *others)) if name not in set(without)]


def changed(fault: Fault, folder: Path) -> str:
    """The text of the file with the fault; SystemExit where the table is out of date."""
    text = (folder / "modeling_scratch" / fault.file).read_text(encoding="utf-8")
    if (count := text.count(fault.old)) != 1:
        raise SystemExit(f"{fault.name}: {fault.old!r} occurs {count} times in {fault.file}, not once.")
    return text.replace(fault.old, fault.new)


def copy_to(folder: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build", "runs"))
        else:
            shutil.copy(source, folder / name)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Python in the copy, whose packages are the ones that are imported, wherever else they are installed."""
    own = {"PYTHONPATH": str(folder), "HF_MODULES_CACHE": str(folder / "remote_code")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def first_failure(folder: Path, tests: Sequence[str]) -> str | None:
    """The first test that fails; None: all pass. SystemExit where pytest could not run them."""
    for cache in (folder / "modeling_scratch").rglob("__pycache__"):
        shutil.rmtree(cache)
    try:
        process = run(folder, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    except subprocess.TimeoutExpired:
        return f"the limit of {TIME_LIMIT} s"
    if process.returncode == 0:
        return None
    if found := re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", process.stdout, re.MULTILINE):
        return found[1]
    raise SystemExit(f"pytest ended with {process.returncode}:\n{process.stdout[-2000:]}{process.stderr[-2000:]}")


def check_copy(folder: Path, faults: Sequence[Fault], without: Sequence[str]) -> None:
    """SystemExit where Python takes another package than that of the copy, or where a test fails without a fault."""
    where = run(folder, "-c", "import modeling_scratch; print(modeling_scratch.__file__)").stdout.strip()
    if Path(where).parent.resolve() != (folder / "modeling_scratch").resolve():
        raise SystemExit(f"The copy in {folder} is not what Python imports, but {where}.")
    tests = sorted({test for fault in faults for test in files_for(fault.file, without)})
    if failed := first_failure(folder, tests):
        raise SystemExit(f"Without a fault {failed} fails: leave its file out by --without.")


def try_out(fault: Fault, folder: Path, without: Sequence[str]) -> bool:
    """Whether a test fails with this fault in the copy, which is afterwards as it was; prints one line."""
    path = folder / "modeling_scratch" / fault.file
    before, start = path.read_text(encoding="utf-8"), time.monotonic()
    path.write_text(changed(fault, folder), encoding="utf-8")
    failed = first_failure(folder, files_for(fault.file, without))
    path.write_text(before, encoding="utf-8")
    verdict = "LIVES " if failed is None else "killed"
    print(
        f"{verdict} {time.monotonic() - start:4.0f} s  {fault.name} ({fault.file}): {failed or fault.what}", flush=True
    )
    return failed is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these faults")
    parser.add_argument("--without", nargs="+", default=[], metavar="TESTS", help="test files left out, as: packing")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a fault first")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    arguments = parser.parse_args()
    names = arguments.only or [fault.name for fault in FAULTS]
    if unknown := set(names) - {fault.name for fault in FAULTS}:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    faults = [fault for fault in FAULTS if fault.name in names]
    for fault in faults:
        changed(fault, ROOT)
        if arguments.list:
            print(f"{fault.name} ({fault.file}): {fault.what}")
    if arguments.list:
        return 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder)
        if not arguments.unchecked:
            check_copy(folder, faults, arguments.without)
        killed = [try_out(fault, folder, arguments.without) for fault in faults]
    print(f"{sum(killed)} of {len(faults)} killed in {time.monotonic() - start:.0f} s")
    return int(not all(killed))


if __name__ == "__main__":
    sys.exit(main())
