# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The encoder family: heads for masked tokens, texts, tokens and answer spans on a bidirectional base model.

Shapes: B batch, T length, M masked tokens, V vocabulary, C labels.
"""

from typing import Any

from torch import Tensor, nn
from transformers import Cache
from transformers.modeling_outputs import (
    MaskedLMOutput,
    QuestionAnsweringModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.utils import can_return_tuple

from .configuration_scratch import ScratchEncoderConfig
from .heads import (
    classification_loss,
    cross_entropy,
    labelled_tokens,
    pooled_output,
    select_tokens,
    span_loss,
)
from .inputs import Inputs
from .layers import ACTIVATIONS, make_norm
from .question_answering import ENCODER_PIPELINES
from .stack import ScratchEncoderModel, ScratchEncoderPreTrainedModel

HEAD_ACTIVATIONS: dict[str | None, Any] = {
    "tanh": nn.functional.tanh,
    "relu": nn.functional.relu,
    "gelu": nn.functional.gelu,
}


def make_dropout(config: ScratchEncoderConfig) -> nn.Dropout:
    """The dropout before a classifier's last layer."""
    own = config.classifier_dropout
    return nn.Dropout(config.hidden_dropout if own is None else own)


class ClassificationHead(nn.Module):
    """act(norm(x) W) W_C; without W and norm where the config has none of them. (B, hidden) -> (B, C)."""

    weight = None  # PEFT hands this on when it merges, of heads of one layer

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.norm = make_norm(config, size, config.classifier_norm)
        self.activation = HEAD_ACTIVATIONS.get(config.classifier_activation)
        self.dense = nn.Linear(size, size) if self.activation else None
        self.dropout = make_dropout(config)
        self.out_proj = nn.Linear(size, config.num_labels)

    def forward(self, pooled: Tensor) -> Tensor:
        pooled = self.norm(pooled)
        if self.dense is not None:
            pooled = self.activation(self.dense(pooled))
        return self.out_proj(self.dropout(pooled))


class MaskedLMHead(nn.Module):
    """norm(act(x W)) E^T + b, E the token embeddings where tied (Devlin et al. 2019). (B, T, hidden) -> (B, T, V)."""

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__()
        self.activation, _ = ACTIVATIONS[config.hidden_act]
        size = config.output_embedding_size
        self.dense = nn.Linear(config.hidden_size, size)
        self.norm = make_norm(config, size)
        self.decoder = nn.Linear(size, config.vocab_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        return self.decoder(self.norm(self.activation(self.dense(hidden_states))))


class ScratchEncoderForMaskedLM(ScratchEncoderPreTrainedModel):
    """Predicts masked tokens (Devlin et al. 2019, 3.1)."""

    _tied_weights_keys = {"lm_head.decoder.weight": "model.embeddings.tokens.weight"}

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.model = ScratchEncoderModel(config, add_pooling_layer=False)
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
        """labels (B, T): ids of the masked tokens, -100 elsewhere; logits (B, T, V), see config.sparse_prediction."""
        token_indices = None
        if labels is not None and self.config.sparse_prediction:
            token_indices, labels = labelled_tokens(labels)
        outputs = self.model(
            input_ids,
            attention_mask,
            token_type_ids,
            position_ids,
            inputs_embeds,
            token_indices=token_indices,
            return_dict=True,
            **kwargs,
        )
        hidden_states = outputs.last_hidden_state
        if token_indices is not None:
            hidden_states = select_tokens(hidden_states, token_indices)  # (M, hidden)
        logits = self.lm_head(hidden_states)
        return MaskedLMOutput(
            loss=cross_entropy(logits, labels, num_items_in_batch),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )


class ScratchEncoderForSequenceClassification(ScratchEncoderPreTrainedModel):
    """One answer per text: a label, several labels, or a number (config.problem_type)."""

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ScratchEncoderModel(config, add_pooling_layer=False)
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
        past_key_values: Cache | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """labels (B,) of class numbers, (B, C) of 0.0 and 1.0, or (B,) of numbers where C is 1; logits (B, C).

        Where segments stand one after another (see Inputs), each is a text: one row a segment.
        """
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
            self.config.classifier_pooling,
            past_key_values=past_key_values,
            **kwargs,
        )
        logits = self.classifier(pooled)
        return SequenceClassifierOutput(
            loss=classification_loss(self.config, logits, labels, num_items_in_batch),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )


class ScratchEncoderForTokenClassification(ScratchEncoderPreTrainedModel):
    """One label a token: names, parts of speech."""

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ScratchEncoderModel(config, add_pooling_layer=False)
        self.dropout = make_dropout(config)
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
            input_ids,
            attention_mask,
            token_type_ids,
            position_ids,
            inputs_embeds,
            return_dict=True,
            **kwargs,
        )
        logits = self.classifier(self.dropout(outputs.last_hidden_state))
        return TokenClassifierOutput(
            loss=cross_entropy(logits, labels, num_items_in_batch),
            logits=logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )


class ScratchEncoderForQuestionAnswering(ScratchEncoderPreTrainedModel):
    """Where an answer starts and ends in its context (Devlin et al. 2019, 4.2)."""

    pipelines = ENCODER_PIPELINES

    def __init__(self, config: ScratchEncoderConfig) -> None:
        super().__init__(config)
        self.model = ScratchEncoderModel(config, add_pooling_layer=False)
        self.dropout = nn.Dropout(config.qa_dropout)
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
            input_ids,
            attention_mask,
            token_type_ids,
            position_ids,
            inputs_embeds,
            return_dict=True,
            **kwargs,
        )
        hidden_states = self.dropout(outputs.last_hidden_state)
        start_logits, end_logits = self.qa_outputs(hidden_states).unbind(-1)  # (B, T) each
        return QuestionAnsweringModelOutput(
            loss=span_loss(
                start_logits,
                end_logits,
                start_positions,
                end_positions,
                attention_mask,
                num_items_in_batch,
            ),
            start_logits=start_logits,
            end_logits=end_logits,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )
