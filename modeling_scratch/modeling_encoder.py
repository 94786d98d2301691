# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The encoder family: a bidirectional stack, and its heads for masked tokens, texts, tokens and answer spans.

Shapes: B batch, T length, V vocabulary, C labels. A batch that arrives packed is (1, tokens); see packing.py.
"""

from typing import Any

from torch import Tensor, nn
from transformers.modeling_outputs import (
    BaseModelOutput,
    MaskedLMOutput,
    QuestionAnsweringModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils import can_return_tuple
from transformers.utils.generic import merge_with_config_defaults
from transformers.utils.output_capturing import capture_outputs

from .configuration_scratch import ScratchConfig, ScratchEncoderConfig
from .embeddings import Embeddings
from .heads import (
    ClassificationHead,
    MaskedLMHead,
    classification_loss,
    classifier_dropout,
    cross_entropy,
    padding_mask,
    span_loss,
)
from .input_checks import checked_inputs
from .modeling_base import ScratchPreTrainedModel
from .packing import select
from .question_answering import ENCODER_PIPELINES
from .shortcuts import is_seen_inside
from .stack import Stack


class ScratchEncoderPreTrainedModel(ScratchPreTrainedModel):
    config: ScratchEncoderConfig
    auto_classes = {
        "AutoModel": "ScratchEncoderModel",
        "AutoModelForMaskedLM": "ScratchEncoderForMaskedLM",
        "AutoModelForSequenceClassification": "ScratchEncoderForSequenceClassification",
        "AutoModelForTokenClassification": "ScratchEncoderForTokenClassification",
        "AutoModelForQuestionAnswering": "ScratchEncoderForQuestionAnswering",
    }
    pipelines = ENCODER_PIPELINES


class ScratchEncoderModel(ScratchEncoderPreTrainedModel):
    """Embeddings and a bidirectional stack (Vaswani et al. 2017, 3.1; Devlin et al. 2019)."""

    def __init__(self, config: ScratchConfig) -> None:
        super().__init__(config)
        self.embeddings = Embeddings(config, config.vocab_size)
        self.stack = Stack(config, config.num_hidden_layers)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.embeddings.tokens = value

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput:
        """input_ids (B, T) or inputs_embeds (B, T, E), attention_mask (B, T) with 1 at real tokens -> (B, T, hidden).

        Without position_ids, positions count real tokens, so that padding on either side changes nothing.
        places (N,): which of the B * T tokens are read; the last block spares itself the others: (1, N, hidden).
        """
        inputs = checked_inputs(input_ids, inputs_embeds, attention_mask)
        position_ids, mask, packing = self._lay_out(inputs, attention_mask, position_ids, kwargs)
        if packing is not None:
            arguments = input_ids, position_ids, token_type_ids, inputs_embeds
            input_ids, position_ids, token_type_ids, inputs_embeds = self._pack(packing, *arguments)

        longest = kwargs.pop("longest", None)
        hidden_states = self.embeddings(input_ids, position_ids, token_type_ids, inputs_embeds, longest=longest)
        rotary = self._rotary(position_ids, hidden_states.dtype)
        hidden_states = self.stack(hidden_states, mask, rotary=rotary, packing=packing, **kwargs)
        return BaseModelOutput(self._unpack(hidden_states, packing, kwargs))


class ScratchEncoderForMaskedLM(ScratchEncoderPreTrainedModel):
    """Predicts the tokens that were hidden (Devlin et al. 2019, 3.1)."""

    _tied_weights_keys = {"lm_head.decoder.weight": "model.embeddings.tokens.weight"}

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.model = ScratchEncoderModel(config)
        self.lm_head = MaskedLMHead(config)
        self.post_init()

    def get_output_embeddings(self) -> nn.Linear:
        return self.lm_head.decoder

    def set_output_embeddings(self, value: nn.Linear) -> None:
        self.lm_head.decoder = value

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> MaskedLMOutput:
        """labels (B, T) hold the hidden tokens, -100 elsewhere; logits (B, T, V), see config.sparse_prediction."""
        places = None
        if labels is not None and self.config.sparse_prediction:
            places = (labels != -100).flatten().nonzero().flatten()
            labels = labels.flatten()[places]
        keeps_all = self._is_asked_for("output_hidden_states", kwargs) or is_seen_inside(self.model.stack)
        spared = None if keeps_all else places
        outputs = self.model(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds,
            places=spared, return_dict=True, **kwargs,
        )  # fmt: skip
        hidden_states = outputs.last_hidden_state if spared is not None else select(outputs.last_hidden_state, places)
        logits = self.lm_head(hidden_states if places is None else hidden_states[0])
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return MaskedLMOutput(loss, logits, outputs.hidden_states, outputs.attentions)


class ScratchEncoderForSequenceClassification(ScratchEncoderPreTrainedModel):
    """One answer a text: a label, several labels, or a number (config.problem_type)."""

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ScratchEncoderModel(config)
        self.classifier = ClassificationHead(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """labels (B,) of class numbers, (B, C) of 0.0 and 1.0, or (B,) of numbers where C is 1; logits (B, C).

        Of a batch that arrives packed, every sequence is a text: labels and logits have one row a sequence.
        """
        pooled, outputs = self._pooled(
            self.config.classifier_pooling, padding_mask(attention_mask), input_ids=input_ids,
            attention_mask=attention_mask, token_type_ids=token_type_ids, position_ids=position_ids,
            inputs_embeds=inputs_embeds, **kwargs,
        )  # fmt: skip
        logits = self.classifier(pooled)
        loss = None if labels is None else classification_loss(self.config, logits, labels, num_items_in_batch)
        return SequenceClassifierOutput(loss, logits, outputs.hidden_states, outputs.attentions)


class ScratchEncoderForTokenClassification(ScratchEncoderPreTrainedModel):
    """One label a token: names, parts of speech."""

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ScratchEncoderModel(config)
        self.dropout = classifier_dropout(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """labels (B, T), -100 where a token has none; logits (B, T, C)."""
        outputs = self.model(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, return_dict=True, **kwargs
        )
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        loss = None if labels is None else cross_entropy(logits, labels, num_items_in_batch)
        return TokenClassifierOutput(loss, logits, outputs.hidden_states, outputs.attentions)


class ScratchEncoderForQuestionAnswering(ScratchEncoderPreTrainedModel):
    """Where an answer starts and ends in its context (Devlin et al. 2019, 4.2)."""

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.model = ScratchEncoderModel(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> QuestionAnsweringModelOutput:
        """start_positions and end_positions (B,), ignored outside the text; start_logits and end_logits (B, T)."""
        outputs = self.model(
            input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds, return_dict=True, **kwargs
        )
        start_logits, end_logits = self.qa_outputs(outputs.last_hidden_state).unbind(-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            spans = start_logits, end_logits, start_positions, end_positions
            loss = span_loss(*spans, padding_mask(attention_mask), num_items_in_batch)
        return QuestionAnsweringModelOutput(loss, start_logits, end_logits, outputs.hidden_states, outputs.attentions)


__all__ = ["ScratchEncoderPreTrainedModel", *ScratchEncoderPreTrainedModel.auto_classes.values()]
