# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The faults that seeded_faults.py plants outside of the textbook and its engine, and the tests to begin with."""

from typing import NamedTuple


class Fault(NamedTuple):
    """In a definition, old turns into new.

    definition: the qualified name of a function, a method, a class or a constant, such as "Inputs.positions" or
    "SPLIT_NAMES", in any file of modeling_scratch. old: occurs once in all definitions of this name. subject: the entry
    of FIRST with the tests that run; code may move without it. what: says the fault in words.
    """

    name: str
    subject: str
    definition: str
    old: str
    new: str
    what: str


DATA = (
    Fault(
        "short_records_pass", "data/tables", "_read_records",
        "if len(fields) != len(header):", "if len(fields) > len(header):",
        "CSV: a record with too few fields loses its last columns in silence",
    ),
    Fault(
        "quotes_of_a_tsv_count", "data/tables", "quoting_of_tsv",
        "literal.total() > enclosing.total()", "literal.total() < enclosing.total()",
        "TSV: a quote at the beginning of a field takes in the lines behind it",
    ),
    Fault(
        "mark_before_json", "data/text_files", "text_lines",
        'else "utf-8-sig"', 'else "utf-8"',
        "JSON lines: a byte order mark is a part of the first line",
    ),
    Fault(
        "one_row_group_counted", "data/tables", "_read_parquet",
        "sum(group.total_byte_size for group in groups)", "max(group.total_byte_size for group in groups)",
        "Parquet: a file may declare any content, if it does so in many row groups",
    ),
    Fault(
        "links_not_followed", "data/tables", "refuse_links_out",
        "if not any(path.resolve().is_relative_to(home)", "if not any(path.absolute().is_relative_to(home)",
        "a link in a data folder brings in a file from outside of it",
    ),
    Fault(
        "leading_zeros_lost", "data/columns", "INTEGER",
        'INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")', 'INTEGER = re.compile(r"-?[0-9]{1,18}")',
        'the labels "7" and "007" become one class',
    ),
    Fault(
        "missing_shard_unseen", "data/splits", "_only_candidate",
        'len(files) != int(shards)', 'len(files) > int(shards)',
        "a split of which a shard is missing is read as if it were whole",
    ),
    Fault(
        "dev_is_test", "data/splits", "SPLIT_NAMES",
        '"dev": "validation"', '"dev": "test"',
        "the file dev is taken for the test split",
    ),
    Fault(
        "longer_side_cut", "data/translation_pairs", "LinePairs.rows",
        "enumerate(zip_longest(*map(self.form.lines, ", "enumerate(zip(*map(self.form.lines, ",
        "of two files of unequal length the end of the longer one is left out in silence",
    ),
    Fault(
        "split_seed_of_pairs_dropped", "data/held_out", "stratified_order",
        "random.Random(seed)", "random.Random(0)",
        "translation: the same pairs are held out whatever --split_seed says",
    ),
    Fault(
        "sample_is_the_beginning", "data/held_out", "sampled",
        "stratified_order(strata(items), arguments.split_seed)[:limit]", "range(limit)",
        "--max_train_samples takes the first rows, of whatever classes they are",
    ),
    Fault(
        "held_out_and_trained_on", "data/documents", "hold_out",
        "[text for text in documents if text not in held_out]", "documents",
        "the documents that are held out are trained on as well",
    ),
    Fault(
        "noise_of_the_row_behind", "data/packed_documents", "NumberedRows.number",
        "return self._epoch * len(self) + row", "return self._epoch + row",
        "a row is masked in one epoch as the row behind it was in the last",
    ),
    Fault(
        "word_goes_on_across_rows", "data/packed_documents", "make_row",
        '"word_starts": words[:-1] | (token_indices == 0)', '"word_starts": words[:-1]',
        "the end of a word at the beginning of a row counts as a part of the last word of another row",
    ),
    Fault(
        "shuffled_text_predicted", "data/collators", "Denoise.__call__",
        "for side in (noisy, texts)", "for side in (noisy, noisy)",
        "infilling: the decoder predicts what the encoder reads",
    ),
    Fault(
        "padding_predicted", "data/collators", "Denoise.__call__",
        '"labels": pad_sequence(targets, batch_first=True, padding_value=IGNORED)',
        '"labels": pad_sequence(targets, batch_first=True, padding_value=self.pad_token_id)',
        "denoising: the padding of labels is predicted, and counts in the loss",
    ),
)  # fmt: skip

TRAINING = (
    Fault(
        "sealed_before_the_disk", "run/checkpoints", "seal",
        "        flush(path)", "        pass",
        "a checkpoint is sealed whose files have not reached the disk",
    ),
    Fault(
        "steps_sorted_as_text", "run/checkpoints", "checkpoints_in",
        "key=step_of)  # not 004", "key=lambda path: path.name)",
        "the last checkpoint of a run is checkpoint-900 and not checkpoint-1000",
    ),
    Fault(
        "same_step_deleted", "run/checkpoints", "set_aside",
        "step_of(other) >= step_of(checkpoint)", "step_of(other) > step_of(checkpoint)",
        "a run that went back deletes its earlier checkpoint of the same step",
    ),
    Fault(
        "first_checkpoints_averaged", "run/checkpoints", "last_checkpoints",
        "if is_regular(checkpoint)][-number:]", "if is_regular(checkpoint)][:number]",
        "the oldest checkpoints are averaged, not the newest",
    ),
    Fault(
        "averaged_in_half_precision", "run/checkpoints", "average_weights",
        "total[name] + weight.float() if name in total else weight.float()",
        "total[name] + weight if name in total else weight",
        "weights of 16 bits are added up in 16 bits",
    ),
    Fault(
        "one_sound_weight_suffices", "run/trainer", "RunTrainer._save",
        "if not all(bool(torch.isfinite(weight).all())", "if not any(bool(torch.isfinite(weight).all())",
        "weights are saved of which some are no numbers",
    ),
    Fault(
        "lengths_grouped_alike", "run/resuming", "LengthGroups.__iter__",
        "manual_seed(self.seed + self.epoch)", "manual_seed(self.seed)",
        "grouped by length, all epochs have the same batches",
    ),
    Fault(
        "a_stop_seals_nothing_extra", "run/trainer", "RunTrainer.finish_checkpoint",
        "seal(checkpoint, self.is_extra)", "seal(checkpoint)",
        "a checkpoint that a stop has left is taken for one of those that are averaged",
    ),
    Fault(
        "the_best_evaluation_counts", "run/callbacks", "evaluations_since_best",
        "return len(values) - 1 - values.index(", "return len(values) - values.index(",
        "early stopping: the best evaluation counts as one without progress",
    ),
    Fault(
        "average_keeps_the_start", "run/callbacks", "WeightAverage.on_step_end",
        "decay = min(self.decay,", "decay = max(self.decay,",
        "the average of weights starts with the full decay, and keeps the weights that were drawn",
    ),
    Fault(
        "lowest_layer_learns_fastest", "run/optimizers", "depths",
        "name: count - number for name, number", "name: number + 1 for name, number",
        "layerwise decay upside down",
    ),
    Fault(
        "highest_loss_of_equals", "run/search", "_report",
        '(-row[metric], row["loss"])', '(-row[metric], -row["loss"])',
        "search: of trials of equal accuracy the one with the highest loss comes first",
    ),
    Fault(
        "inputs_inside_overwritten", "run/run_folder", "check",
        "if folder.resolve() in (Path(name).resolve(), *Path(name).resolve().parents):",
        "if folder.resolve() == Path(name).resolve():",
        "--overwrite deletes a folder in which the data of the new run lie",
    ),
    Fault(
        "resumed_run_empties_its_folder", "run/life_cycle", "Run.record",
        "if not self.continues:", "if True:",
        "a run that goes on deletes the checkpoints that it goes on from",
    ),
    Fault(
        "negative_numbers", "run/arguments", "RunArguments.__post_init__",
        "check_numbers(self)", "pass",
        "--early_stopping_patience -1 is accepted",
    ),
    Fault(
        "special_tokens_masked", "run/objectives", "make_collator",
        "ordinary[tokenizer.all_special_ids] = False", "ordinary[tokenizer.mask_token_id] = False",
        "masked language models are to predict the tokens that begin and end a document",
    ),
    Fault(
        "evaluated_texts_are_pretrained_on", "data/unlabelled", "load_corpus",
        "[text for text in texts if normalised(text) not in evaluated]", "list(texts)",
        "a text that equals a validation or test text is pretrained on",
    ),
    Fault(
        "choices_of_the_user_do_not_count", "run/defaults", "complete",
        "if getattr(training, name) is None:", "if True:",
        "the table of defaults replaces what the user gives",
    ),
    Fault(
        "chosen_on_test", "run/train", "make_trainer",
        'eval_dataset=rows["validation"]', 'eval_dataset=rows.get("test", rows["validation"])',
        "the epoch is chosen on the test split",
    ),
)  # fmt: skip

INFERENCE = (
    Fault(
        "answers_in_the_order_of_batches", "inference/batches", "in_batches",
        "in zip(batch, run(", "in zip(sorted(batch), run(",
        "the answers of a batch go to other texts of it",
    ),
    Fault(
        "several_labels_share_one", "inference/answers", "to_scores",
        "logits = logits.sigmoid()", "logits = logits.softmax(-1)",
        "scores of labels that do not exclude each other add up to 1",
    ),
    Fault(
        "seed_0_is_none", "inference/generation", "generate",
        "if arguments.seed is not None:", "if arguments.seed:",
        "with --seed 0 each call draws another text",
    ),
    Fault(
        "texts_of_prompts_mixed_up", "inference/text_generators", "TextGenerator.run",
        "new[i * each + j]", "new[j * len(batch) + i]",
        "of several texts for each prompt some are those of other prompts",
    ),
    Fault(
        "last_position_unused", "inference/text_generators", "Continuer.room",
        "self.limit + 1 - length", "self.limit - length",
        "a decoder stops one token before its positions end",
    ),
    Fault(
        "first_end_alone", "inference/text_generators", "TextGenerator._answer",
        "if token in ends), None)", "if token in ends[:1]), None)",
        "of several tokens that end a text the first one counts: others, and what is behind them, are shown",
    ),
)  # fmt: skip

EVALUATION = (
    Fault(
        "micro_for_macro", "report/metrics", "macro_of_means",
        "return ratio(ratio(2 * both, either).sum(-1), (either > 0).sum(-1))",
        "return ratio(2 * both.sum(-1), either.sum(-1))",
        "macro F1 is micro F1: rare classes hardly count",
    ),
    Fault(
        "interval_of_ninety", "report/significance", "percentile_interval",
        "[0.025, 0.975]", "[0.05, 0.95]",
        "an interval of 95 % covers 90 %",
    ),
    Fault(
        "all_wrong_is_uncertain_alone", "report/significance", "_interval",
        "if low == high and score.is_share:", "if low == high == 0 and score.is_share:",
        "where all answers are right the interval is one point",
    ),
    Fault(
        "six_texts_decide", "report/significance", "verdict",
        "if examples < FEW_EXAMPLES:", "if examples < 6:",
        "six texts name the model to use",
    ),
    Fault(
        "baseline_has_seen_the_test", "report/baselines", "_train",
        "counts = vectorizer.fit_transform(texts)",
        "counts = vectorizer.fit_transform([*texts, *eval_texts])[: len(texts)]",
        "words and their frequencies of the baselines are those of the test split as well",
    ),
    Fault(
        "triples_for_all", "report/baselines", "_train",
        "lengths <= model.longest", "lengths <= vectorizer.ngram_range[1]",
        "TF-IDF reads 3-grams, which are for NB-SVM",
    ),
    Fault(
        "repeated_words_count", "report/baselines", "_presence",
        "return Binarizer()", "return TfidfTransformer(norm=None, use_idf=False)",
        "NB-SVM counts a word as often as a text has it",
    ),
    Fault(
        "weakest_baseline", "report/verdicts", "strongest",
        "return max(baselines, key=", "return min(baselines, key=",
        "the verdict is on the weakest baseline",
    ),
    Fault(
        "evaluated_on_validation", "report/report_files", "evaluated_split",
        'return "test" if "test" in splits else "validation"', 'return "validation"',
        "a model is judged on the split that its epoch was chosen on",
    ),
    Fault(
        "references_for_translations", "report/translation", "score_translations",
        "metric.corpus_score(list(translations), [list(references)])",
        "metric.corpus_score(list(references), [list(translations)])",
        "BLEU: the brevity penalty falls on long translations",
    ),
    Fault(
        "bytes_are_characters", "report/pretraining", "token_metrics",
        '"bits_per_byte": bits / text.bytes', '"bits_per_byte": bits / text.characters',
        "bits per byte are those per character",
    ),
)  # fmt: skip

SHARING = (
    Fault(
        "paths_in_lists_stay", "sharing/run_record", "without_paths",
        "if isinstance(value, list | tuple):", "if isinstance(value, tuple):",
        "run_config.json shows the absolute paths of a list of files",
    ),
    Fault(
        "edited_card_replaced", "sharing/model_card", "_is_ours",
        'return bool(mark) and digest == f"{text_digest(text)} -->\\n"', "return bool(mark)",
        "a card that somebody has edited is written over",
    ),
    Fault(
        "new_files_are_recorded", "sharing/verification", "differing_files",
        "for name in sorted(wanted.keys() | found.keys())", "for name in sorted(wanted.keys())",
        "a file of code that is not in verify.json counts as recorded",
    ),
    Fault(
        "all_else_deleted_there", "sharing/hub", "Repository._commit",
        "for name in there - upload.files.keys() if upload.is_stale(name))", "for name in there - upload.files.keys())",
        "a push deletes whatever else is in the repository",
    ),
)  # fmt: skip

SERVING = (
    Fault(
        "options_share_a_batch", "serving/batches", "Batcher._take",
        "(job.options == batch[0].options and padded <= self.max_tokens)", "padded <= self.max_tokens",
        "texts are translated with the beam of another request",
    ),
    Fault(
        "queue_one_shorter", "serving/batches", "Batcher.answer",
        "self.depth + len(jobs) > self.max_waiting", "self.depth + len(jobs) >= self.max_waiting",
        "a queue refuses a text for which it has room",
    ),
    Fault(
        "pieces_measured_alone", "serving/app", "LimitedRequest._read",
        "if len(body) > max_bytes:", "if len(piece) > max_bytes:",
        "a body that comes in small pieces may be of any length",
    ),
    Fault(
        "deadline_starts_anew", "serving/app", "Service._answers",
        "seconds = max(deadline - time.monotonic(), 0)", "seconds = self.limits.timeout",
        "a request whose body takes long may take twice as long as --timeout says",
    ),
    Fault(
        "cut_beyond_the_positions", "inference/text_generators", "Translator.limit",
        "position_limit(self.model.config) or NO_LIMIT", "NO_LIMIT",
        "texts are not cut where the positions of the model end, and fail",
    ),
)  # fmt: skip

TASKS = (
    Fault(
        "further_tokens_begin", "tasks/tag", "_token_labels",
        "label = inside(label) if labels_all else None", "label = label if labels_all else None",
        "each token of a name begins another entity",
    ),
    Fault(
        "equal_to_the_baseline", "tasks/card", "headline",
        "if evaluation[score] > baselines[best][score]", "if evaluation[score] >= baselines[best][score]",
        "a tagger as good as the most frequent label of a word is not called so",
    ),
    Fault(
        "first_tokens_not_recorded", "tasks/tag_answers", "Tagger.settings",
        '"first" if recorded == "first" else "simple"', '"simple"',
        "a pipeline reads tokens that were never trained",
    ),
    Fault(
        "unread_words_lost", "tasks/tag", "read_labels",
        "or otherwise for start, _ in one.spans", "or gold for (start, _), gold in zip(one.spans, one.labels)",
        "words that the model does not read count as right",
    ),
    Fault(
        "half_an_answer_is_labelled", "tasks/answer", "token_span",
        "if begins and ends else None", "if begins or ends else None",
        "a window with a part of an answer is trained to have all of it",
    ),
    Fault(
        "no_answer_in_the_context", "tasks/answer", "no_answer",
        "one == token and side != 1", "one == token and side == 1",
        "the token that stands for no answer is looked for in the context",
    ),
    Fault(
        "silence_not_allowed", "tasks/answer", "QuestionAnswering.build_model",
        '"handle_impossible_answer": data.has_unanswerable', '"handle_impossible_answer": False',
        "a model that was trained to give no answer always gives one",
    ),
    Fault(
        "worst_weights", "tasks/translate", "choose_weights",
        "else max", "else min",
        "the weights with the lower BLEU are saved",
    ),
    Fault(
        "search_not_saved", "tasks/translate", "Translating.settle",
        "translator.generation |= training.arguments.beam_search", "pass",
        "the final translations are greedy, whatever --num_beams says",
    ),
    Fault(
        "long_pairs_trained", "tasks/translation_model", "encode_pairs",
        '"truncation": split != "train"', '"truncation": split == "train"',
        "pairs of train are cut in place of dropped",
    ),
    Fault(
        "rate_grows_with_width", "tasks/translation_model", "TranslationTrainingArguments.paper_rate",
        "max(1, self.get_warmup_steps(steps))) ** -0.5", "max(1, self.get_warmup_steps(steps))) ** 0.5",
        "the paper's learning rate upside down",
    ),
    Fault(
        "empty_texts_shift_answers", "inference/batches", "in_batches",
        "answers[read[number][0]] = answer", "answers[number] = answer",
        "behind an empty text, each text has the answer to the next one",
    ),
    Fault(
        "head_before_task", "tasks/__init__", "action_in",
        "(name := recorded.get(RECORDED)) in PROGRAMS.values()", "(name := recorded.get(RECORDED)) in HEADS",
        "a model whose configuration names its task does what its head does for others",
    ),
    Fault(
        "scores_of_validation", "run/train", "finish",
        "trainer.compute_metrics = task.metrics(training, split)", "pass",
        "the answers to the test split are compared with those of validation",
    ),
    Fault(
        "notes_not_recorded", "run/train", "start",
        "run.start(trainer, [*of_data, *notes],", "run.start(trainer, notes,",
        "the record and the card do not say how the data were prepared",
    ),
    Fault(
        "weights_settled_too_late", "run/life_cycle", "Run.train",
        "if settle:", "if not settle:",
        "the weights are saved before they are chosen",
    ),
    Fault(
        "predictions_pushed", "run/layout", "ENTRIES",
        '"compare", "predictions")', '"compare", "predictions", is_shared=True)',
        "a push uploads digests of the texts, which tell who has them",
    ),
    Fault(
        "overwriting_leaves_translations", "run/layout", "ENTRIES",
        'Entry(TRANSLATIONS.format("*"),', 'Entry(TRANSLATIONS,',
        "the translations of a run that is replaced stay in the folder",
    ),
)  # fmt: skip

COURSE = (
    Fault(
        "shapes_unchecked", "course/comparing", "unlike",
        "found.shape != wanted.shape", "found.numel() != wanted.numel()",
        "a check compares answers with exchanged axes value by value, or fails",
    ),
    Fault(
        "solutions_handed_out", "course/building", "as_json",
        r'r"\2" if is_teacher else placeholder', r'r"\2"',
        "a student's notebook has the solutions",
    ),
    Fault(
        "answers_replaced", "course/lessons", "write_lessons",
        "path.exists() and not arguments.overwrite", "path.is_dir()",
        "opening a lesson again replaces the notebook with the student's answers",
    ),
)  # fmt: skip

ROOMS = DATA + TRAINING + INFERENCE + EVALUATION + SHARING + SERVING + TASKS + COURSE

# The test files of a room run for each of its faults, if need be; those first that say most about the subject.
FIRST = {
    "data/tables": ("tables", "hostile_files"),
    "data/text_files": ("tables",),
    "data/columns": ("text_columns",),
    "data/splits": ("text_sources",),
    "data/translation_pairs": ("translation_data",),
    "data/held_out": ("held_out", "text_data"),
    "data/documents": ("documents",),
    "data/unlabelled": ("self_pretraining",),
    "data/packed_documents": ("packed_documents", "noise", "pretrain"),
    "data/collators": ("noise", "packed_documents"),
    "run/checkpoints": ("faults", "translate", "train_classifier"),
    "run/resuming": ("training_options", "faults", "resume"),
    "run/callbacks": ("weight_average", "training_options"),
    "run/trainer": ("faults", "resume"),
    "run/optimizers": ("training_options",),
    "run/search": ("training_options",),
    "run/run_folder": ("train_classifier", "pretrain", "faults"),
    "run/life_cycle": ("train_classifier", "resume"),
    "run/arguments": ("train_classifier", "training_options"),
    "run/objectives": ("pretrain",),
    "run/defaults": ("defaults",),
    "inference/answers": ("predict",),
    "inference/generation": ("generate",),
    "inference/text_generators": ("translation", "generate"),
    "report/metrics": ("metrics",),
    "report/significance": ("significance",),
    "report/verdicts": ("verdicts",),
    "report/baselines": ("baseline",),
    "report/report_files": ("train_classifier",),
    "report/translation": ("translation_metrics",),
    "report/pretraining": ("pretrain",),
    "sharing/run_record": ("pretrain", "model_card"),
    "sharing/model_card": ("model_card",),
    "sharing/verification": ("verification",),
    "sharing/hub": ("push_to_hub",),
    "serving/batches": ("serving_batches", "serve"),
    "serving/app": ("serve",),
    "tasks/tag": ("tag",),
    "tasks/tag_answers": ("tag",),
    "tasks/card": ("tag",),
    "tasks/answer": ("answer_windows", "answer"),
    "tasks/translate": ("translate",),
    "tasks/translation_model": ("translate",),
    "inference/batches": ("tag", "predict"),
    "tasks/__init__": ("a_sixth_task",),
    "run/train": ("every_task", "answer", "translate", "model_card", "temperature"),
    "run/layout": ("layout", "push_to_hub"),
    "course/comparing": ("checks",),
    "course/building": ("lessons",),
    "course/lessons": ("lessons",),
}
