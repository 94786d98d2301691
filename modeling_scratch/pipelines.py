# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The pipelines from text to text that transformers 5 left out: generation, summaries and translations.

They serve scratch models and native ones. `import modeling_scratch` registers them as "seq2seq-generation",
"seq2seq-summarization" and "seq2seq-translation", and that of question_answering.py as
"extractive-question-answering". A saved scratch model brings them along and names them, so that
`pipeline(task, model=folder, trust_remote_code=True)` finds them anywhere.
"""

from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer, Pipeline, PreTrainedTokenizerBase
from transformers.utils import logging

from .question_answering import QuestionAnsweringPipeline

logger = logging.get_logger(__name__)

DEFAULT_NEW_TOKENS = 256  # where neither the caller nor the model says how long an answer may be
TARGET_FOLDER = "target_tokenizer"  # beside a model whose decoder has a vocabulary of its own


class Text2TextGenerationPipeline(Pipeline):
    """pipe("text") -> [{"generated_text": ...}]; of a list of texts, a list of such dictionaries.

    Takes every argument of `model.generate`. With num_return_sequences above 1 each text has a list of answers, best
    first. return_scores=True adds "score", the log-probability of an answer per token (beam search: its own score,
    length_penalty applied); return_tensors=True gives token ids in place of text.
    """

    model: Any
    _load_tokenizer = True  # type: ignore[assignment]
    task_key = "text2text-generation"
    return_name = "generated"

    def __init__(self, *args: Any, target_tokenizer: PreTrainedTokenizerBase | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.target_tokenizer = target_tokenizer or self._find_target_tokenizer()

    def _find_target_tokenizer(self) -> PreTrainedTokenizerBase:
        separate = getattr(self.model.config, "share_encoder_decoder_embeddings", True) is False
        if not separate or getattr(self.tokenizer, "separate_vocabs", False):
            return self.tokenizer
        return AutoTokenizer.from_pretrained(self.model.name_or_path, subfolder=TARGET_FOLDER)

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        """inputs: a text, a list of texts, or a generator or data set of them."""
        if isinstance(inputs, list) and not inputs:
            return []
        answers = super().__call__(inputs, **kwargs)
        if isinstance(inputs, list) and all(len(answer) == 1 for answer in answers):
            return [answer[0] for answer in answers]
        return answers

    def _sanitize_parameters(
        self,
        return_tensors: bool | None = None,
        return_text: bool | None = None,
        return_scores: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        truncation: Any = None,
        src_lang: str | None = None,
        tgt_lang: str | None = None,
        **generate_kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if return_tensors and return_text:
            raise ValueError("return_tensors and return_text exclude each other: ids or text, choose one.")
        languages = {"src_lang": src_lang, "tgt_lang": tgt_lang}
        given = {name: value for name, value in languages.items() if value is not None}
        preprocess: dict[str, Any] = given if truncation is None else {**given, "truncation": truncation}
        forward = {**generate_kwargs, "return_scores": True} if return_scores else dict(generate_kwargs)
        forward |= {"languages": given} if given else {}
        postprocess = {
            "return_tensors": True if return_tensors else None,
            "clean_up_tokenization_spaces": clean_up_tokenization_spaces,
        }
        return preprocess, forward, {name: value for name, value in postprocess.items() if value is not None}

    def _task_settings(self, languages: dict[str, str]) -> dict[str, Any]:
        """What the config says of this task, as T5's does: a prefix of every text, arguments of generate."""
        specific = getattr(self.model.config, "task_specific_params", None) or {}
        return dict(specific.get(self.task_key.format(**languages) if languages else self.task_key, {}))

    def preprocess(self, inputs: str, truncation: Any = False, **languages: str) -> dict[str, Tensor]:
        if not isinstance(inputs, str):
            raise ValueError(
                f"{type(inputs).__name__} {str(inputs)[:40]!r} is no text: give a string, or a list of them."
            )
        prefix = self._task_settings(languages).get("prefix", getattr(self.model.config, "prefix", None) or "")
        encoded = self._encode(prefix + inputs, truncation, languages)
        encoded.pop("token_type_ids", None)  # a text to text model has no use for them
        return encoded

    def _encode(self, text: str, truncation: Any, languages: dict[str, str]) -> Any:
        if languages and not hasattr(self.tokenizer, "_build_translation_inputs"):
            languages = {}  # a tokenizer without codes of languages: they only choose the task's settings
        if not languages:
            return self.tokenizer(text, return_tensors="pt", truncation=truncation)
        return self.tokenizer._build_translation_inputs(text, return_tensors="pt", truncation=truncation, **languages)

    def _forward(
        self,
        model_inputs: Any,
        return_scores: bool = False,
        languages: dict[str, str] | None = None,
        **generate_kwargs: Any,
    ) -> Any:
        settings = {key: value for key, value in self._task_settings(languages or {}).items() if key != "prefix"}
        generate_kwargs = {**settings, **generate_kwargs}
        if not self._says_length(generate_kwargs):
            generate_kwargs["max_new_tokens"] = DEFAULT_NEW_TOKENS
        if return_scores:
            generate_kwargs |= {"return_dict_in_generate": True, "output_scores": True}
        self.check_inputs(model_inputs["input_ids"].shape[1], generate_kwargs)
        output = self.model.generate(**model_inputs, **generate_kwargs)
        sequences = output if isinstance(output, Tensor) else output.sequences
        shape = model_inputs["input_ids"].shape[0], -1
        answers = {"sequences": sequences.unflatten(0, shape)}
        return {**answers, "scores": self._scores(output).unflatten(0, shape)} if return_scores else answers

    def _says_length(self, generation: dict[str, Any]) -> bool:
        """Whether the caller or the model says how long an answer may be."""
        of_model = self.model.generation_config
        of_caller = {"max_length", "max_new_tokens", "generation_config"} & generation.keys()
        return bool(of_caller or of_model.max_length or of_model.max_new_tokens)

    def _scores(self, output: Any) -> Tensor:
        """Log-probability per token of each answer, (answers,)."""
        if getattr(output, "sequences_scores", None) is not None:
            return output.sequences_scores
        steps = self.model.compute_transition_scores(output.sequences, output.scores, normalize_logits=True)
        is_written = steps.isfinite() & (output.sequences[:, -steps.shape[1] :] != self.target_tokenizer.pad_token_id)
        return steps.masked_fill(~is_written, 0).sum(-1) / is_written.sum(-1).clamp(min=1)

    def check_inputs(self, length: int, generation: dict[str, Any]) -> None:
        """Warn of lengths in tokens that cannot be meant."""

    def postprocess(self, model_outputs: Any, return_tensors: bool = False, **decoding: Any) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        for ids in model_outputs["sequences"][0]:
            if return_tensors:
                records.append({f"{self.return_name}_token_ids": ids})
            else:
                text = str(self.target_tokenizer.decode(ids, skip_special_tokens=True, **decoding))
                records.append({f"{self.return_name}_text": text.strip()})
        for record, score in zip(records, model_outputs.get("scores", torch.empty(1, 0))[0].tolist()):
            record["score"] = score
        return records


class SummarizationPipeline(Text2TextGenerationPipeline):
    """pipe("long text", min_length=.., max_length=..) -> [{"summary_text": ...}]."""

    task_key = "summarization"
    return_name = "summary"

    def check_inputs(self, length: int, generation: dict[str, Any]) -> None:
        shortest, longest = generation.get("min_length") or 0, generation.get("max_length") or 0
        if longest and shortest > longest:
            logger.warning(f"min_length={shortest} is more than max_length={longest}: no summary can be both.")
        if longest and length < longest // 2:
            logger.warning(f"A text of {length} tokens, and its summary may have max_length={longest}: set fewer.")


class TranslationPipeline(Text2TextGenerationPipeline):
    """pipe("text") -> [{"translation_text": ...}]; src_lang and tgt_lang for models of several languages."""

    task_key = "translation_{src_lang}_to_{tgt_lang}"
    return_name = "translation"

    def check_inputs(self, length: int, generation: dict[str, Any]) -> None:
        if length > 0.9 * (generation.get("max_length") or float("inf")):
            logger.warning(f"A text of {length} tokens, and max_length={generation['max_length']}: set more.")


# Task: the pipeline, and the Auto class whose models it serves.
SEQ2SEQ_PIPELINES = {
    "seq2seq-generation": (Text2TextGenerationPipeline, "AutoModelForSeq2SeqLM"),
    "seq2seq-summarization": (SummarizationPipeline, "AutoModelForSeq2SeqLM"),
    "seq2seq-translation": (TranslationPipeline, "AutoModelForSeq2SeqLM"),
}

__all__ = [
    "QuestionAnsweringPipeline",
    "SummarizationPipeline",
    "Text2TextGenerationPipeline",
    "TranslationPipeline",
]
