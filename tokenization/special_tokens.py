# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Special tokens: which ones a style of model has, with which ids, and where they stand around a text."""

from collections.abc import Mapping
from dataclasses import dataclass

from tokenizers import AddedToken, Tokenizer, processors
from transformers import PreTrainedTokenizerBase

CONFIG_FIELDS = ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id")


@dataclass(frozen=True)
class SpecialTokens:
    """One style: `roles` maps an attribute of the tokenizer to its token, in the order of the ids.

    In the templates `$A` and `$B` are the texts, and `:1` marks what has token type 1 instead of 0.
    """

    roles: Mapping[str, str]
    single: str
    pair: str

    @property
    def tokens(self) -> list[AddedToken]:
        """The distinct tokens by id; the mask takes the place of the space before it too, as it stands for a word."""
        mask = self.roles.get("mask_token")
        return [
            AddedToken(token, special=True, normalized=False, lstrip=token == mask)
            for token in dict.fromkeys(self.roles.values())
        ]

    def post_processor(self, tokenizer: Tokenizer) -> processors.TemplateProcessing:
        """The templates, with the ids that `tokenizer` gives to the tokens."""
        ids = [(token.content, tokenizer.token_to_id(token.content)) for token in self.tokens]
        return processors.TemplateProcessing(single=self.single, pair=self.pair, special_tokens=ids)


_ROBERTA = SpecialTokens(
    {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>",
     "cls_token": "<s>", "sep_token": "</s>"},
    single="<s> $A </s>", pair="<s> $A </s> </s> $B:1 </s>:1",
)  # fmt: skip

STYLES: dict[str, SpecialTokens] = {
    "bert": SpecialTokens(
        {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
         "mask_token": "[MASK]"},
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
    ),
    "roberta": _ROBERTA,
    # Labels begin with <s>, so the decoder starts from </s>, as in BART.
    "bart": SpecialTokens({**_ROBERTA.roles, "decoder_start_token": "</s>"}, _ROBERTA.single, _ROBERTA.pair),
    # Nothing is added to a text, and padding is a token of its own: a padded loss must not lose the end of the text.
    "gpt": SpecialTokens(
        {"pad_token": "<|pad|>", "bos_token": "<|bos|>", "eos_token": "<|eos|>", "unk_token": "<|unk|>"},
        single="$A", pair="$A $B:1",
    ),
    # There is no token of beginning: the decoder starts from padding, as in Marian and T5.
    "marian": SpecialTokens(
        {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "decoder_start_token": "<pad>"},
        single="$A </s>", pair="$A </s> $B:1 </s>:1",
    ),
}  # fmt: skip


def choose_style(style: str, model_max_length: int) -> SpecialTokens:
    """The row of `style`; raises ValueError where there is none, or a pair of texts has no room in the length."""
    if style not in STYLES:
        raise ValueError(f"style={style!r}: the choices are {', '.join(STYLES)}.")
    added = sum(not part.startswith("$") for part in STYLES[style].pair.split())
    if model_max_length <= added:
        need = f"more than the {added} tokens that style {style!r} adds to a pair of texts"
        raise ValueError(f"model_max_length={model_max_length}: has to be {need}.")
    return STYLES[style]


def special_token_ids(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """The fields of a model's config that have to agree with the tokenizer: `Config(**special_token_ids(tokenizer))`.

    `pad_token_id`, `bos_token_id`, `eos_token_id`, and for the sequence-to-sequence styles `decoder_start_token_id`;
    a token that the tokenizer does not have is left out.

    >>> from tokenization import special_token_ids, train_wordlevel_tokenizer
    >>> special_token_ids(train_wordlevel_tokenizer(["a film"], vocab_size=100, show_progress=False))["pad_token_id"]
    0
    """
    ids = {field: getattr(tokenizer, field, None) for field in CONFIG_FIELDS}
    return {field: token_id for field, token_id in ids.items() if token_id is not None}
