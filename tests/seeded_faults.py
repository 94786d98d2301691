# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Whether the tests see what would break: one fault at a time is written into a copy, and some test has to fail.

    python tests/seeded_faults.py                            all of them
    python tests/seeded_faults.py --only rotation_turns_back another_name
    python tests/seeded_faults.py --sample 10 --seed 1       ten of textbook and engine, against their first tests
    python tests/seeded_faults.py --list

Each fault is one line that a slip of the hand could have made, and that would change an answer, a loss, a gradient or
a refusal for somebody. It names a definition and a fragment of its source, wherever in modeling_scratch that stands;
test_seeded_faults.py fails where one does not occur exactly once. The tests of its subject run until the first fails.
A fault that all of them pass LIVES: a test is missing. pytest does not collect this file, since it takes most of an
hour on one core, some of which shows that the copy passes without a fault. The faults of the textbook and of its engine
are here, and those of the other rooms, whose own tests alone run for them, in seeded_faults_rooms.py.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from seeded_faults_rooms import FIRST as FIRST_IN_ROOMS
from seeded_faults_rooms import ROOMS, Fault

ROOT = Path(__file__).resolve().parents[1]
COPIED = "modeling_scratch", "tokenization", "scripts", "tests", "docs", "pyproject.toml", "setup.cfg", "README.md"
TIME_LIMIT = 1800  # seconds of all tests of a fault, on a machine that has other work too

TEXTBOOK = (
    Fault(
        "sines_for_cosines", "positions", "sinusoidal",
        "torch.stack((angles.sin(), angles.cos()), dim=-1)", "torch.stack((angles.cos(), angles.sin()), dim=-1)",
        "sinusoidal positions: sines and cosines swapped",
    ),
    Fault(
        "cache_without_positions", "positions", "positions_from_mask",
        "torch.arange(shape[1], device=device)[None] + past", "torch.arange(shape[1], device=device)[None]",
        "without a mask, the tokens behind a cache count from 0 again",
    ),
    Fault(
        "rotation_turns_back", "positions", "rotate",
        "torch.cat((-second, first), dim=-1)", "torch.cat((second, -first), dim=-1)",
        "rotary positions: the sign of the angle",
    ),
    Fault(
        "only_falls_restart", "positions", "restarts",
        "prepend=position_ids[:, :1]) != 1", "prepend=position_ids[:, :1]) < 1",
        "a segment whose positions go on beyond those of the one before joins it",
    ),
    Fault(
        "yarn_divided_the_other_way", "rope_scaling", "yarn_attention_factor",
        "return above / below", "return below / above",
        "YaRN: the quotient of the two temperatures upside down",
    ),
    Fault(
        "dynamic_length_is_last_position", "positions", "rotary",
        "length = position_ids.max() + 1", "length = position_ids.max()",
        "dynamic rotary positions: the length of the text off by one",
    ),
    Fault(
        "dropout_on_the_residual", "layers", "PreNorm.after",
        "residual + self.dropout(update)", "self.dropout(residual + update)",
        "pre-norm: dropout falls on the residual stream",
    ),
    Fault(
        "dropout_before_output_norm", "layers", "OutputNorm.after",
        "residual + self.dropout(self.norm(update))", "residual + self.norm(self.dropout(update))",
        "output norm: normalises what dropout left",
    ),
    Fault(
        "gate_and_features_swapped", "layers", "FeedForward.forward",
        "self.activation(self.gate_proj(hidden_states)) * features",
        "self.gate_proj(hidden_states) * self.activation(features)",
        "gated feed-forward: the activation on the wrong factor",
    ),
    Fault(
        "scaled_by_the_model", "attention", "Attention.__init__",
        "self.scaling = config.head_dim**-0.5", "self.scaling = config.hidden_size**-0.5",
        "scores divided by the root of the width of the model, not of a head",
    ),
    Fault(
        "groups_tiled", "attention", "eager_attention",
        "key.repeat_interleave(groups, dim=1)", "key.repeat(1, groups, 1, 1)",
        "grouped queries: heads far apart share keys instead of neighbours",
    ),
    Fault(
        "cached_memory_swapped", "attention", "Attention._key_value",
        "return layer.keys, layer.values", "return layer.values, layer.keys",
        "cached cross-attention: keys and values swapped from the second step on",
    ),
    Fault(
        "cache_of_the_first_layer", "attention", "Attention._key_value",
        "self_attention_cache(cache).update(key, value, self.layer_idx)",
        "self_attention_cache(cache).update(key, value, 0)",
        "all layers share the cache of the first",
    ),
    Fault(
        "attention_drops_in_evaluation", "attention", "Attention.forward",
        "self.config.attention_dropout if self.training else 0.0", "self.config.attention_dropout",
        "attention weights are dropped in evaluation, too",
    ),
    Fault(
        "values_are_turned", "attention", "Attention._key_value",
        "self.v_proj(source).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)",
        "self._heads(self.v_proj(source), nn.Identity(), rotary)",
        "rotary positions turn values as well",
    ),
    Fault(
        "position_offset_ignored", "embeddings", "Embeddings.forward",
        "rows = position_ids + self.offset", "rows = position_ids",
        "learned positions start at row 0 whatever position_offset says",
    ),
    Fault(
        "short_first_segment_unseen", "inputs", "Inputs._find_segments",
        "starts[:, 1:].any()", "starts[:, 2:].any()",
        "a first segment of one token joins the second one",
    ),
    Fault(
        "embeddings_dropped_before_norm", "embeddings", "Embeddings.forward",
        "self.dropout(self.norm(embeddings))", "self.norm(self.dropout(embeddings))",
        "embeddings are normalised after dropout, so that their scale goes astray",
    ),
    Fault(
        "longest_text_refused", "embeddings", "Embeddings.check_length",
        "if length > limit:", "if length >= limit:",
        "a padded text of exactly as many tokens as there are positions is refused",
    ),
    Fault(
        "output_norm_without_final_norm", "stack", "Stack.__init__",
        'config.norm_position != "post"', 'config.norm_position == "pre"',
        "norm_position output: no final norm",
    ),
    Fault(
        "causal_memory", "stack", "Block.__init__",
        "Attention(config, layer_idx, is_cross=True)", "Attention(config, layer_idx, is_causal, is_cross=True)",
        "cross-attention is causal: target token t sees source tokens up to t",
    ),
    Fault(
        "segments_read_off_the_next", "heads", "pooled_tokens",
        "else ends - 1", "else ends",
        "a packed text is read off the first token of the one after it",
    ),
    Fault(
        "items_of_the_step_ignored", "heads", "mean_loss",
        "items = count if num_items_in_batch is None else num_items_in_batch", "items = count",
        "accumulated gradients are not those of one large batch",
    ),
    Fault(
        "loss_divided_by_all_tokens", "heads", "cross_entropy",
        "(labels != -100).sum(), num_items_in_batch", "labels.numel(), num_items_in_batch",
        "cross-entropy divided by all tokens, the unlabelled ones included",
    ),
    Fault(
        "maximum_with_zeros", "heads", "_max",
        "~mask[..., None], least", "~mask[..., None], 0",
        "max pooling: padding counts as 0",
    ),
    Fault(
        "segment_one_token_longer", "heads", "one_segment_a_row",
        "columns < lengths", "columns <= lengths",
        "pooling of packed texts reads the first token of the next one as well",
    ),
    Fault(
        "segments_see_each_other", "inputs", "self_attention_mask",
        'if segment_ids is not None:', 'if segment_ids is not None and not is_causal:',
        "texts of a packed row see those before them in a decoder",
    ),
    Fault(
        "cache_outgrows_positions", "stack", "StackModel.textbook_engine",
        "longest=inputs.past + inputs.shape[1]", "longest=inputs.shape[1]",
        "a text that outgrows the learned positions with its cache is refused by no message",
    ),
    Fault(
        "packed_with_a_cache", "stack", "ScratchDecoderModel._cache",
        "if use_cache and cache is None and inputs.segment_ids() is None:", "if use_cache and cache is None:",
        "with use_cache packed texts get a cache, and see each other",
    ),
    Fault(
        "pooler_reads_padding", "stack", "ScratchEncoderModel.forward",
        "pooled_tokens(inputs, real,", "pooled_tokens(inputs, None,",
        "the pooler reads padding where it stands on the left",
    ),
    Fault(
        "answer_at_the_end_ignored", "heads", "span_loss",
        "labels = positions.view(-1).masked_fill(~is_answer.any(-1), -100)",
        "labels = positions.view(-1).masked_fill(~is_answer[:, :-1].any(-1), -100)",
        "answers that touch the last token of the batch do not count",
    ),
    Fault(
        "head_normalises_too_early", "modeling_encoder", "MaskedLMHead.forward",
        "self.norm(self.activation(self.dense(hidden_states)))",
        "self.activation(self.norm(self.dense(hidden_states)))",
        "masked-language head: norm before the activation",
    ),
    Fault(
        "classifier_without_dropout", "modeling_encoder", "ClassificationHead.forward",
        "return self.out_proj(self.dropout(pooled))", "return self.out_proj(pooled)",
        "no dropout before the last layer of the classifier",
    ),
    Fault(
        "labels_not_shifted", "modeling_decoder", "next_tokens",
        "F.pad(labels[:, 1:], (0, 1), value=-100)", "labels",
        "a decoder learns to repeat the token that it reads",
    ),
    Fault(
        "segment_predicts_the_next", "modeling_decoder", "next_tokens",
        "if segment_ids is not None:", "if False:",
        "the last token of a packed text learns to predict the first one of the next",
    ),
    Fault(
        "mask_of_the_first_tokens", "inputs", "Inputs.real_tokens",
        "self.attention_mask[:, -self.shape[1] :]", "self.attention_mask[:, : self.shape[1]]",
        "classifying behind a cache, the mask of the cached tokens says which of the new ones are real",
    ),
    Fault(
        "shifted_to_the_left", "modeling_seq2seq",
        "ScratchSeq2SeqForConditionalGeneration.prepare_decoder_input_ids_from_labels",
        "F.pad(labels[:, :-1].long(), (1, 0), value=start)", "F.pad(labels[:, 1:], (0, 1), value=start)",
        "the decoder reads the label after, not the one before",
    ),
    Fault(
        "memory_without_mask", "modeling_seq2seq", "ScratchSeq2SeqModel.forward",
        "encoder_attention_mask=attention_mask", "encoder_attention_mask=None",
        "the decoder attends to padding of the source",
    ),
    Fault(
        "default_of_norm_eps", "configuration_scratch", "ScratchConfig.norm_eps",
        "norm_eps: float | int = 1e-5", "norm_eps: float | int = 1e-6",
        "another default: a saved config that leaves it out computes other numbers",
    ),
)  # fmt: skip

ENGINE = (
    Fault(
        "read_twice_added_twice", "fast/engine", "_put_back",
        "indices, states * first)", "indices, states)",
        "a token that two empty texts name is added twice",
    ),
    Fault(
        "one_token_of_a_decoder_sees_all", "fast/engine", "_reads_one_a_text",
        "if indices is None or model.is_causal or indices.device", "if indices is None or indices.device",
        "of a decoder one token a text is read: it sees the tokens behind it",
    ),
    Fault(
        "rows_not_causal", "fast/engine", "_group_mask",
        "allowed = allowed.tril() if is_causal else allowed", "allowed = allowed",
        "texts that share a row see their future",
    ),
    Fault(
        "tokens_before_left_out", "fast/engine", "_real_tokens",
        "read.flip(-1).cumsum(-1).flip(-1)", "read.cumsum(-1)",
        "without a mask a decoder leaves out the tokens before those that are read, not those behind",
    ),
    Fault(
        "longest_is_the_first", "inputs", "segment_bounds",
        "int(lengths.max())", "int(lengths[0])",
        "kernels are told the length of the first text instead of the longest",
    ),
    Fault(
        "found_without_gaps", "fast/packing", "Packing.packed_indices",
        "if self.real is None else self.real\n", "if self.real is None else torch.arange(len(self.real))\n",
        "wrong tokens where rows of a packed batch have gaps",
    ),
    Fault(
        "order_not_undone", "fast/packing", "Packing.attend_once",
        "index_select(0, order.argsort())", "index_select(0, order)",
        "the one token of each text comes back in another order",
    ),
    Fault(
        "packed_targets_see_padding", "fast/packing", "Packing._attend_to_encoder",
        "padded.transpose(1, 2), key, value, mask, **kwargs", "padded.transpose(1, 2), key, value, None, **kwargs",
        "packed targets attend to padding of the source",
    ),
    Fault(
        "a_text_falls_out", "fast/bin_packing", "arrange",
        "_share_rows(texts[starts[count] :]", "_share_rows(texts[starts[count] + 1 :]",
        "the longest of the texts that share rows stands in none",
    ),
    Fault(
        "keys_not_turned", "fast/last_block", "attend_once",
        "key = key if rotary is None else rotate(key, *rotary)", "key = key",
        "in the last block queries are turned by their positions, and keys are not",
    ),
    Fault(
        "bias_of_values_lost", "fast/last_block", "_attend_to_states",
        "F.pad(states, (0, 1), value=1.0)", "F.pad(states, (0, 1), value=0.0)",
        "in the last block the biases of keys and values are left out",
    ),
    Fault(
        "groups_tiled_in_the_last_block", "fast/last_block", "_weight_of_heads",
        "-1, attention.num_key_value_groups, -1, -1).flatten(0, 1)",
        "-1, attention.num_key_value_groups, -1, -1).transpose(0, 1).flatten(0, 1)",
        "in the last block heads far apart share keys instead of neighbours",
    ),
    Fault(
        "gradient_of_weights_not_turned", "fast/onednn", "_grad_weight",
        "times(states.mT, gradient.mT).mT.contiguous()", "times(states.mT, gradient.mT).contiguous()",
        "the gradient of a wide weight is transposed",
    ),
    Fault(
        "a_byte_more_dropped", "fast/dropout", "keep_mask",
        "add_(steps - 128)", "add_(steps - 127)",
        "dropout: 1 in 256 elements more is dropped than is made up for",
    ),
    Fault(
        "kept_weights_not_scaled", "fast/attention", "eager_attention",
        "weights * mask, value * scale_of(dropout)", "weights * mask, value",
        "attention dropout without 1 / (1 - p)",
    ),
    Fault(
        "length_penalty_upside_down", "fast/beam_search", "_finish",
        "candidates.scores / new**config.length_penalty", "candidates.scores * new**config.length_penalty",
        "beam search: scores of texts that ended multiplied by length^penalty",
    ),
    Fault(
        "beams_stand_still", "fast/beam_search", "_one_token_more",
        "position_ids[:, -1:] + 1)", "position_ids[:, -1:])",
        "beam search: positions that were given stay at that of the prompt's end",
    ),
    Fault(
        "head_without_bias", "fast/generation", "FewRows.__call__",
        "if self.packed is None else self.packed, self.layer.bias)", "if self.packed is None else self.packed, None)",
        "generation leaves out the bias of the head",
    ),
    Fault(
        "frozen_layers_drop", "fast/forwards", "FastDropout.__call__",
        "return dropout(states, self.layer.p, self.layer.training,", "return dropout(states, self.layer.p, True,",
        "dropout of a part that was set to evaluation while the rest trains",
    ),
    Fault(
        "kernel_not_causal", "fast/varlen", "varlen_attention",
        "dropout, module.is_causal, scaling)", "dropout, False, scaling)",
        "packed texts see their future on accelerators",
    ),
)  # fmt: skip

FAULTS = TEXTBOOK + ENGINE + ROOMS

# All of them run for a fault of the textbook or the engine, if need be; FIRST those that say most about its subject.
TESTS = (
    "layers", "attention", "positions", "embeddings", "stack", "heads", "engines", "modeling_encoder",
    "modeling_decoder", "modeling_seq2seq", "textbook", "configuration", "gradients", "packing", "presets",
    "generation", "dropout", "onednn", "bin_packing", "beam_search", "varlen", "conversion", "hf_behaviour",
    "engines_beside_tools", "text_classification",
)  # fmt: skip
FIRST = {
    "positions": ("positions", "textbook", "embeddings", "packing", "modeling_decoder"),
    "layers": ("layers", "textbook"),
    "attention": ("attention", "modeling_decoder", "modeling_seq2seq", "dropout"),
    "embeddings": ("embeddings", "textbook", "packing", "conversion"),
    "stack": ("stack", "textbook", "modeling_decoder"),
    "heads": ("heads", "packing", "modeling_decoder", "engines"),
    "inputs": ("embeddings", "textbook", "packing", "modeling_decoder", "varlen"),
    "rope_scaling": ("positions", "textbook"),
    "modeling_encoder": ("heads", "textbook", "modeling_encoder", "conversion"),
    "modeling_decoder": ("textbook", "modeling_decoder"),
    "modeling_seq2seq": ("modeling_seq2seq", "stack"),
    "configuration_scratch": ("configuration", "textbook", "presets"),
    "fast/engine": ("packing", "textbook", "varlen", "engines", "modeling_encoder"),
    "fast/packing": ("packing", "modeling_encoder", "modeling_seq2seq", "engines"),
    "fast/bin_packing": ("bin_packing", "packing"),
    "fast/last_block": ("textbook", "modeling_encoder", "engines"),
    "fast/onednn": ("onednn",),
    "fast/dropout": ("dropout", "textbook"),
    "fast/attention": ("dropout", "textbook"),
    "fast/beam_search": ("beam_search", "textbook", "generation"),
    "fast/generation": ("generation",),
    "fast/forwards": ("textbook", "dropout"),
    "fast/varlen": ("varlen",),
} | FIRST_IN_ROOMS


class Place(NamedTuple):
    """A definition: a file of modeling_scratch, from the root, and its first and last line."""

    file: Path
    first: int
    last: int


def definitions(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Yield the qualified names of functions, methods, classes and constants, and their nodes."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((prefix + target.id, node) for target in targets if isinstance(target, ast.Name))
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, f"{prefix}{node.name}.")


@cache
def places() -> dict[str, list[Place]]:
    """The places of each definition of modeling_scratch."""
    found: dict[str, list[Place]] = {}
    for path in sorted((ROOT / "modeling_scratch").rglob("*.py")):
        for name, node in definitions(ast.parse(path.read_text(encoding="utf-8")).body):
            place = Place(path.relative_to(ROOT), node.lineno, node.end_lineno or node.lineno)
            found.setdefault(name, []).append(place)
    return found


def cut_out(place: Place) -> tuple[str, str, str]:
    """The text of a file before a definition, of the definition, and after it."""
    lines = (ROOT / place.file).read_text(encoding="utf-8").splitlines(keepends=True)
    pieces = lines[: place.first - 1], lines[place.first - 1 : place.last], lines[place.last :]
    before, source, after = map("".join, pieces)
    return before, source, after


def place_of(fault: Fault) -> Place:
    """The only definition of this name that has the fragment. ValueError: it occurs nowhere, or more than once."""
    counts = {place: cut_out(place)[1].count(fault.old) for place in places().get(fault.definition, [])}
    if (total := sum(counts.values())) != 1:
        raise ValueError(f"{fault.name}: {fault.old!r} occurs {total} times in {fault.definition}, not once.")
    return max(counts, key=lambda place: counts[place])


def changed(fault: Fault) -> str:
    """The text of the file with the fault."""
    before, source, after = cut_out(place_of(fault))
    return before + source.replace(fault.old, fault.new) + after


def files_for(subject: str, without: Iterable[str] = (), first_alone: bool = False) -> list[str]:
    """The test files of a subject, in the order in which they run: FIRST, then those of its room."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    paths = {path.stem.removeprefix("test_"): path.relative_to(ROOT).as_posix() for path in found}
    room = subject.rpartition("/")[0]
    of_room = [name for name, path in paths.items() if path.startswith(f"tests/{room}/")]
    others = of_room if subject in FIRST_IN_ROOMS else TESTS
    names = dict.fromkeys((*FIRST[subject], *(() if first_alone else others)))
    return [paths[name] for name in names if name not in set(without)]


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
    for compiled in (folder / "modeling_scratch").rglob("__pycache__"):
        shutil.rmtree(compiled)
    try:
        process = run(folder, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    except subprocess.TimeoutExpired:
        return f"the limit of {TIME_LIMIT} s"
    if process.returncode == 0:
        return None
    if found := re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", process.stdout, re.MULTILINE):
        return found[1]
    raise SystemExit(f"pytest ended with {process.returncode}:\n{process.stdout[-2000:]}{process.stderr[-2000:]}")


def check_copy(folder: Path) -> None:
    """SystemExit where Python takes another package than that of the copy."""
    where = run(folder, "-c", "import modeling_scratch; print(modeling_scratch.__file__)").stdout.strip()
    if Path(where).parent.resolve() != (folder / "modeling_scratch").resolve():
        raise SystemExit(f"The copy in {folder} is not what Python imports, but {where}.")


def check_tests(folder: Path, tests: Iterable[str]) -> None:
    """SystemExit where a test fails without a fault."""
    if failed := first_failure(folder, sorted(set(tests))):
        raise SystemExit(f"Without a fault {failed} fails: leave its file out by --without.")


def try_out(fault: Fault, folder: Path, tests: Sequence[str]) -> bool:
    """Whether a test fails with this fault in the copy, which is afterwards as it was; prints one line."""
    file, start = place_of(fault).file, time.monotonic()
    (folder / file).write_text(changed(fault), encoding="utf-8")
    failed = first_failure(folder, tests)
    shutil.copy(ROOT / file, folder / file)
    verdict = "LIVES " if failed is None else "killed"
    print(f"{verdict} {time.monotonic() - start:4.0f} s  {fault.name} ({file}): {failed or fault.what}", flush=True)
    return failed is not None


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[fault.name for fault in FAULTS])
    parser.add_argument("--sample", type=int, metavar="N", help="N faults of textbook and engine, FIRST tests alone")
    parser.add_argument("--seed", type=int, default=0, help="which faults are in the sample")
    parser.add_argument("--without", nargs="+", default=[], metavar="TESTS", help="test files left out, as: packing")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a fault first")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    return parser.parse_args()


def main() -> int:
    arguments, start = parse_arguments(), time.monotonic()
    faults = [fault for fault in FAULTS if arguments.only is None or fault.name in arguments.only]
    if arguments.sample:
        faults = random.Random(arguments.seed).sample(TEXTBOOK + ENGINE, arguments.sample)
    if arguments.list:
        for fault in faults:
            print(f"{fault.name} ({place_of(fault).file}, {fault.definition}): {fault.what}")
        return 0
    tests = {fault.name: files_for(fault.subject, arguments.without, bool(arguments.sample)) for fault in faults}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder)
        check_copy(folder)
        if not arguments.unchecked:
            check_tests(folder, chain.from_iterable(tests.values()))
        killed = [try_out(fault, folder, tests[fault.name]) for fault in faults]
    print(f"{sum(killed)} of {len(faults)} killed in {time.monotonic() - start:.0f} s")
    return int(not all(killed))


if __name__ == "__main__":
    sys.exit(main())
