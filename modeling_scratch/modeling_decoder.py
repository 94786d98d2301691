# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The decoder family: heads that predict the next token, or classify a text, on a causal base model.

Shapes: B batch, T length, V vocabulary, C labels.
"""

from typing import Any

from torch import Tensor, nn
from transformers import Cache, GenerationMixin
from transformers.modeling_outputs import (
    CausalLMOutputWithPast,
    SequenceClassifierOutputWithPast,
)
from transformers.utils import can_return_tuple

from .configuration_scratch import ScratchDecoderConfig
from .heads import classification_loss, cross_entropy, pooled_output
from .inputs import Inputs
from .layers import make_projection
from .stack import ScratchDecoderModel, ScratchDecoderPreTrainedModel


def next_tokens(labels: Tensor, inputs: Inputs) -> Tensor:
    """The label of each position (B, T): the next token of its text.

    -100 at padding, and at the end of a text or segment.
    """
    real = inputs.real_tokens()
    labels = nn.functional.pad(labels[:, 1:].long(), (0, 1), value=-100)
    is_pair = real & nn.functional.pad(
        real[:, 1:], (0, 1)
    )  # this token and the next one are real
    labels = labels.masked_fill(~is_pair.to(labels.device), -100)
    if inputs.segment_ids is not None:
        is_last = inputs.segment_ids.diff(append=inputs.segment_ids[:, -1:]) != 0  # (B, T)
        labels = labels.masked_fill(is_last.to(labels.device), -100)
    return labels


class ScratchDecoderForCausalLM(ScratchDecoderPreTrainedModel, GenerationMixin):
    """p(next token) = softmax(x E^T), E the token embeddings where tied (Radford et al. 2018, 3.1)."""

    _tied_weights_keys = {"lm_head.weight": "model.embeddings.tokens.weight"}
    _tp_plan = {"lm_head": "colwise_gather_output"}

    def __init__(self, config: ScratchDecoderConfig) -> None:
        super().__init__(config)
        self.model = ScratchDecoderModel(config)
        # The sizes differ where embeddings are factorised.
        self.projection = make_projection(config.hidden_size, config.output_embedding_size)
        self.lm_head = nn.Linear(
            config.output_embedding_size, config.vocab_size, bias=config.lm_head_bias
        )
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | Tensor = 0,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> CausalLMOutputWithPast:
        """labels (B, T): the input_ids, -100 where nothing is predicted; logits (B, T, V).

        The model shifts labels by one position; it uses shift_labels unchanged.
        logits_to_keep: the number of last positions, or their indices; 0: all.
        """
        # No named argument: Trainer would take it for a label column, and batches without it for
        # unlabelled ones.
        shift_labels = kwargs.pop("shift_labels", None)
        if use_cache is None and labels is not None:
            use_cache = False
        inputs = Inputs(
            input_ids=input_ids,
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            position_ids=position_ids,
            token_type_ids=token_type_ids,
            cu_seq_lens=kwargs.get("cu_seq_lens_q"),
            past_key_values=past_key_values,
        )
        kwargs |= {"past_key_values": past_key_values, "use_cache": use_cache}
        outputs = self.model(inputs=inputs, return_dict=True, **kwargs)
        is_count = isinstance(logits_to_keep, int)
        # slice(0, None), all, for 0.
        kept: Any = slice(-logits_to_keep, None) if is_count else logits_to_keep
        logits = self.lm_head(self.projection(outputs.last_hidden_state[:, kept]))  # (B, T, V)
        if labels is not None and shift_labels is None:
            shift_labels = next_tokens(labels, inputs)
        if shift_labels is not None:
            shift_labels = shift_labels[:, kept]
        loss = cross_entropy(logits, shift_labels, num_items_in_batch)
        return CausalLMOutputWithPast(
            loss, logits, outputs.past_key_values, outputs.hidden_states, outputs.attentions
        )


class ScratchDecoderForSequenceClassification(ScratchDecoderPreTrainedModel):
    """One answer per text, read off its last real token (Radford et al. 2018, 3.2)."""

    def __init__(self, config: ScratchDecoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ScratchDecoderModel(config)
        self.score = nn.Linear(config.hidden_size, config.num_labels, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        use_cache: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutputWithPast:
        """labels (B,) of class numbers, (B, C) of 0.0 and 1.0, or (B,) of numbers where C is 1; logits (B, C).

        Without attention_mask, the last token that is no pad_token_id is read; padding on the left needs a mask, as
        attention sees it. Where segments stand one after another (see Inputs), each is a text: labels and logits have
        one row a segment.
        """
        if use_cache is None and labels is not None:
            use_cache = False
        inputs = Inputs(
            input_ids=input_ids,
            inputs_embeds=inputs_embeds,
            attention_mask=attention_mask,
            position_ids=position_ids,
            token_type_ids=token_type_ids,
            cu_seq_lens=kwargs.get("cu_seq_lens_q"),
            past_key_values=past_key_values,
        )
        pooled, outputs = pooled_output(
            self.model,
            inputs,
            "last",
            past_key_values=past_key_values,
            use_cache=use_cache,
            **kwargs,
        )
        logits = self.score(pooled)
        return SequenceClassifierOutputWithPast(
            loss=classification_loss(self.config, logits, labels, num_items_in_batch),
            logits=logits,
            past_key_values=outputs.past_key_values,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
