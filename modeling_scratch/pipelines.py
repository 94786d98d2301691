# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The text-to-text pipelines that transformers 5 removed: generation, summarization and translation.

They serve scratch models and native ones. `import modeling_scratch` registers them as "seq2seq-generation",
"seq2seq-summarization" and "seq2seq-translation", and that of question_answering.py as
"extractive-question-answering". A saved scratch model brings them along and names them, so that
`pipeline(task, model=folder, trust_remote_code=True)` finds them where this package is not installed.
"""

import copy
import re
from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer, Pipeline, PreTrainedTokenizerBase

DEFAULT_NEW_TOKENS = 256  # if neither the caller nor the model limits the length of an answer
# In the folder of a model whose decoder has its own vocabulary.
TARGET_FOLDER = "target_tokenizer"


class Text2TextGenerationPipeline(Pipeline):
    """pipe("text") -> [{"generated_text": ...}]; of a list of texts, a list of such dictionaries.

    Takes every argument of `model.generate`. With num_return_sequences above 1 each text has a list of answers, in the
    order of generate: best first from beam search, as drawn from sampling. return_scores=True adds "score", the
    log-probability of an answer per token (beam search: its own score, length_penalty applied); return_tensors=True
    gives token ids in place of text.
    """

    model: Any
    _load_tokenizer = True  # type: ignore[assignment]
    task_key = "text2text-generation"
    return_name = "generated"

    def __init__(
        self, *args: Any, target_tokenizer: PreTrainedTokenizerBase | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.target_tokenizer = target_tokenizer or self._find_target_tokenizer()

    def _find_target_tokenizer(self) -> PreTrainedTokenizerBase:
        is_one = getattr(self.model.config, "share_encoder_decoder_embeddings", True)
        if is_one or getattr(self.tokenizer, "separate_vocabs", False):
            return self.tokenizer
        name = self.model.name_or_path
        # `pipeline` does not say of which commit a class of the Hub is; the name of its module does.
        module = (
            type(self)
            .__module__.replace("_hyphen_", "-")
            .replace("_dot_", ".")
            .replace("._", ".")
        )
        commit = re.search(
            rf"\.{re.escape(name.replace('/', '.'))}\.([0-9a-f]{{40}})\.", module
        )
        revision = commit and commit[1]
        try:
            return AutoTokenizer.from_pretrained(
                name, subfolder=TARGET_FOLDER, revision=revision
            )
        except OSError as error:
            raise ValueError(
                f"The decoder has a vocabulary of its own, and there is no {TARGET_FOLDER} in {name!r}: "
                "keep its tokenizer there, or give target_tokenizer."
            ) from error

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
        return_tensors: bool = False,
        return_text: bool = False,
        return_scores: bool | None = None,
        clean_up_tokenization_spaces: bool | None = None,
        truncation: Any = None,
        src_lang: str | None = None,
        tgt_lang: str | None = None,
        **generate_kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if return_tensors and return_text:
            raise ValueError(
                "return_tensors and return_text exclude each other: ids or text, choose one."
            )
        languages = {"src_lang": src_lang, "tgt_lang": tgt_lang}
        return (
            _given(truncation=truncation, **languages),
            generate_kwargs | _given(return_scores=return_scores, **languages),
            _given(
                return_tensors=return_tensors or None,
                clean_up_tokenization_spaces=clean_up_tokenization_spaces,
            ),
        )

    def _task_settings(self, src_lang: Any = None, tgt_lang: Any = None) -> dict[str, Any]:
        """What the config says of this task, as T5's does: a prefix of every text, arguments of generate."""
        specific = getattr(self.model.config, "task_specific_params", None) or {}
        return dict(
            specific.get(self.task_key.format(src_lang=src_lang, tgt_lang=tgt_lang), {})
        )

    def preprocess(
        self, inputs: str, truncation: Any = False, **languages: str
    ) -> dict[str, Tensor]:
        if not isinstance(inputs, str):
            raise ValueError(
                f"{type(inputs).__name__} {str(inputs)[:40]!r} is no text: give a string, or a list of them."
            )
        prefix = getattr(self.model.config, "prefix", None) or ""
        prefix = self._task_settings(**languages).get("prefix", prefix)
        encoded = self._encode(prefix + inputs, truncation, languages)
        if not encoded["input_ids"].numel():
            raise ValueError(f"{inputs!r} gives no tokens: there is nothing to read.")
        encoded.pop("token_type_ids", None)  # a text to text model has no use for them
        return encoded

    def _encode(self, text: str, truncation: Any, languages: dict[str, str]) -> Any:
        tokenizer, options = self.tokenizer, {"return_tensors": "pt", "truncation": truncation}
        if not languages or not hasattr(tokenizer, "_build_translation_inputs"):
            return tokenizer(text, **options)  # languages choose the settings at most
        both = {"src_lang": None, "tgt_lang": None, **languages}
        encoded = tokenizer._build_translation_inputs(text, **options, **both)
        codes = (
            *tokenizer.prefix_tokens,
            *tokenizer.suffix_tokens,
            encoded.get("forced_bos_token_id"),
        )
        if tokenizer.unk_token_id in codes:
            raise ValueError(
                f"src_lang={both['src_lang']!r}, tgt_lang={both['tgt_lang']!r}: unknown to the tokenizer."
            )
        return encoded

    def _forward(
        self,
        model_inputs: Any,
        return_scores: bool = False,
        src_lang: str | None = None,
        tgt_lang: str | None = None,
        **generate_kwargs: Any,
    ) -> Any:
        generation = self._task_settings(src_lang, tgt_lang) | generate_kwargs
        generation.pop("prefix", None)
        added: dict[str, Any] = {}
        if all(
            self._setting(name, generation) is None for name in ("max_new_tokens", "max_length")
        ):
            positions = getattr(self.model.config, "max_position_embeddings", None)
            added["max_new_tokens"] = min(DEFAULT_NEW_TOKENS, positions or DEFAULT_NEW_TOKENS)
        if return_scores:
            added |= {"return_dict_in_generate": True, "output_scores": True}
        if generation.get("generation_config") is None:
            generation |= added
        else:  # the caller's own stays as it is
            generation["generation_config"] = copy.deepcopy(generation["generation_config"])
            generation["generation_config"].update(**added)
        output = self.model.generate(**(dict(model_inputs) | generation))
        sequences = output if isinstance(output, Tensor) else output.sequences
        is_written = self._is_written(sequences, generation)
        answers = {"sequences": sequences, "is_written": is_written}
        if return_scores:
            answers["scores"] = self._scores(output, is_written)
        texts = len(model_inputs["input_ids"])
        return {name: each.unflatten(0, (texts, -1)) for name, each in answers.items()}

    def _setting(self, name: str, generation: dict[str, Any]) -> Any:
        """What holds in a call of generate: the caller's word, that of its generation_config, or the model's."""
        if name in generation:
            return generation[name]
        configs = generation.get("generation_config"), self.model.generation_config
        values = (getattr(config, name, None) for config in configs)
        return next((value for value in values if value is not None), None)

    def _is_written(self, sequences: Tensor, generation: dict[str, Any]) -> Tensor:
        """(answers, T): True up to the end of each answer, False at what fills a batch."""
        end, pad = (
            self._setting(name, generation) for name in ("eos_token_id", "pad_token_id")
        )
        is_end = torch.isin(
            sequences, torch.tensor([] if end is None else end, device=sequences.device)
        )
        is_end[:, 0] = False  # some decoders start with the end token
        goes_on = (sequences != (-1 if pad is None else pad)).flip(-1).cumsum(-1).flip(-1) > 0
        goes_on[:, 0] = True  # others with the padding token
        return (is_end.cumsum(-1) - is_end.long() == 0) & (goes_on | is_end)

    def _scores(self, output: Any, is_written: Tensor) -> Tensor:
        """Log-probability per token of each answer, (answers,)."""
        if getattr(output, "sequences_scores", None) is not None:
            return output.sequences_scores
        # compute_transition_scores assumes the source vocabulary, which differs from the answer's.
        steps = torch.stack(output.scores, dim=1).log_softmax(-1)
        steps = steps.gather(-1, output.sequences[:, -steps.shape[1] :, None])[..., 0]
        is_written = is_written[:, -steps.shape[1] :]
        return steps.masked_fill(~is_written, 0).sum(-1) / is_written.sum(-1).clamp(min=1)

    def postprocess(
        self, model_outputs: Any, return_tensors: bool = False, **decoding: Any
    ) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        for ids, is_written in zip(
            model_outputs["sequences"][0], model_outputs["is_written"][0]
        ):
            if return_tensors:
                records.append({f"{self.return_name}_token_ids": ids[is_written]})
            else:
                text = self.target_tokenizer.decode(ids, skip_special_tokens=True, **decoding)
                records.append({f"{self.return_name}_text": str(text).strip()})
        if "scores" in model_outputs:
            for record, score in zip(records, model_outputs["scores"][0].tolist()):
                record["score"] = score
        return records


class SummarizationPipeline(Text2TextGenerationPipeline):
    """pipe("long text", min_length=.., max_length=..) -> [{"summary_text": ...}]."""

    task_key = "summarization"
    return_name = "summary"


class TranslationPipeline(Text2TextGenerationPipeline):
    """pipe("text") -> [{"translation_text": ...}]; src_lang and tgt_lang for models of several languages."""

    task_key = "translation_{src_lang}_to_{tgt_lang}"
    return_name = "translation"

    def __init__(self, *args: Any, task: str = "", **kwargs: Any) -> None:
        if languages := re.fullmatch("translation_(.+)_to_(.+)", task):
            kwargs = {"src_lang": languages[1], "tgt_lang": languages[2], **kwargs}
        super().__init__(*args, task=task, **kwargs)


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


# Task: the pipeline, and the Auto class whose models it serves.
SEQ2SEQ_PIPELINES = {
    "seq2seq-generation": (Text2TextGenerationPipeline, "AutoModelForSeq2SeqLM"),
    "seq2seq-summarization": (SummarizationPipeline, "AutoModelForSeq2SeqLM"),
    "seq2seq-translation": (TranslationPipeline, "AutoModelForSeq2SeqLM"),
}

__all__ = ["SummarizationPipeline", "Text2TextGenerationPipeline", "TranslationPipeline"]
