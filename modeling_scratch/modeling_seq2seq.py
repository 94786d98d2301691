# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The encoder-decoder family: an encoder, a decoder that attends to it, and the head that generates.

Shapes: B batch, S length of the source, T length of the target, M tokens with a label, V vocabulary of the decoder.
"""

from typing import Any

from torch import Tensor, nn
from transformers import Cache, GenerationMixin
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput
from transformers.utils import ModelOutput, can_return_tuple

from .configuration_scratch import ScratchSeq2SeqConfig
from .heads import cross_entropy, labelled_tokens, select_tokens
from .layers import make_projection
from .modeling_base import ScratchPreTrainedModel
from .pipelines import SEQ2SEQ_PIPELINES
from .stack import ScratchDecoderModel, ScratchEncoderModel


class ScratchSeq2SeqPreTrainedModel(ScratchPreTrainedModel):
    config: ScratchSeq2SeqConfig
    _supports_attention_backend = False  # vLLM's backend of transformers takes one stack

    def resize_token_embeddings(
        self,
        new_num_tokens: int | None = None,
        pad_to_multiple_of: int | None = None,
        mean_resizing: bool = True,
    ) -> nn.Embedding:
        """As PreTrainedModel's, for one shared vocabulary; of two it would not know which."""
        is_one = self.config.share_encoder_decoder_embeddings
        is_same = new_num_tokens in (None, self.config.vocab_size) and not pad_to_multiple_of
        if not is_one and not is_same:
            raise ValueError(
                "share_encoder_decoder_embeddings=False: two vocabularies cannot be resized as one. Resize those of a "
                "new model by vocab_size and decoder_vocab_size in its config."
            )
        embeddings = super().resize_token_embeddings(
            new_num_tokens, pad_to_multiple_of, mean_resizing
        )
        if is_one:
            self.config.decoder_vocab_size = self.config.vocab_size
        return embeddings


class ScratchSeq2SeqModel(ScratchSeq2SeqPreTrainedModel):
    """An encoder and a decoder that attends to its output (Vaswani et al. 2017, figure 1)."""

    _tied_weights_keys = {
        "decoder.embeddings.tokens.weight": "encoder.embeddings.tokens.weight"
    }

    def __init__(self, config: ScratchSeq2SeqConfig) -> None:
        super().__init__(config)
        self.encoder = ScratchEncoderModel(config, add_pooling_layer=False)
        self.decoder = ScratchDecoderModel(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.embeddings.tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.set_input_embeddings(value)
        if self.config.share_encoder_decoder_embeddings:
            self.decoder.set_input_embeddings(value)

    def get_expanded_tied_weights_keys(self, all_submodels: bool = False) -> dict[str, str]:
        """One table for both vocabularies, whether the head is tied to it or not."""
        if not self.config.share_encoder_decoder_embeddings:
            return {}
        return dict(self._tied_weights_keys)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        decoder_position_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        use_cache: bool | None = None,
        token_indices: Tensor | None = None,
        position_ids: Tensor | None = None,
        **kwargs: Any,
    ) -> Seq2SeqModelOutput:
        """input_ids (B, S) with attention_mask (B, S), decoder_input_ids (B, T)
        -> last_hidden_state (B, T, hidden).

        encoder_outputs, where they are given, spare the encoder its work; the masks have 1 at real
        tokens; token_type_ids (B, S) are those of the source. token_indices: see ScratchDecoderModel.
        """
        refuse_packed(position_ids, kwargs)
        if encoder_outputs is None:
            texts = input_ids, attention_mask, token_type_ids, None, inputs_embeds
            encoder_outputs = self.encoder(*texts, return_dict=True, **kwargs)
        elif not isinstance(encoder_outputs, ModelOutput):
            encoder_outputs = BaseModelOutput(*encoder_outputs)
        encoder_states = encoder_outputs.last_hidden_state
        outputs = self.decoder(
            decoder_input_ids,
            decoder_attention_mask,
            decoder_position_ids,
            past_key_values,
            decoder_inputs_embeds,
            encoder_hidden_states=encoder_states,
            encoder_attention_mask=attention_mask,
            use_cache=use_cache,
            token_indices=token_indices,
            return_dict=True,
            **kwargs,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=outputs.last_hidden_state,
            past_key_values=outputs.past_key_values,
            decoder_hidden_states=outputs.hidden_states,
            decoder_attentions=outputs.attentions,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=encoder_states,
            encoder_hidden_states=encoder_outputs.get("hidden_states"),
            encoder_attentions=encoder_outputs.get("attentions"),
        )


def refuse_packed(position_ids: Tensor | None, kwargs: dict[str, Any]) -> None:
    """Raises ValueError for a packed batch."""
    if position_ids is not None or "cu_seq_lens_q" in kwargs:
        raise ValueError(
            "An encoder-decoder takes padded batches with masks, not packed ones (position_ids, "
            "cu_seq_lens_q)."
        )


class ScratchSeq2SeqForConditionalGeneration(ScratchSeq2SeqPreTrainedModel, GenerationMixin):
    """p(next target token | source) = softmax(x E^T + b), E the decoder's table if tied (Vaswani et al. 2017, 3.4)."""

    pipelines = SEQ2SEQ_PIPELINES
    _tp_plan = {"lm_head": "colwise_gather_output"}

    def __init__(self, config: ScratchSeq2SeqConfig) -> None:
        super().__init__(config)
        self.model = ScratchSeq2SeqModel(config)
        # The sizes differ where embeddings are factorised.
        self.projection = make_projection(config.hidden_size, config.output_embedding_size)
        self.lm_head = nn.Linear(
            config.output_embedding_size, config.decoder_vocab_size, bias=config.lm_head_bias
        )
        source = "encoder" if config.share_encoder_decoder_embeddings else "decoder"
        self._tied_weights_keys = {"lm_head.weight": f"model.{source}.embeddings.tokens.weight"}
        self.post_init()

    def _prepare_generation_config(self, *args: Any, **kwargs: Any) -> Any:
        """Without prefill_chunk_size, by which generate would cut the source's mask."""
        config, others = super()._prepare_generation_config(*args, **kwargs)  # type: ignore[misc]
        config.prefill_chunk_size = None  # the encoder reads the source at once
        return config, others

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """The decoder's input for labels (B, T): the same tokens, shifted one position to the right."""
        start, pad = self.config.decoder_start_token_id, self.config.pad_token_id
        if start is None or pad is None:
            raise ValueError(
                f"decoder_start_token_id={start}, pad_token_id={pad}: set both in the config to train on labels "
                "(tokenization.special_token_ids says what a tokenizer calls them)."
            )
        shifted = nn.functional.pad(labels[:, :-1].long(), (1, 0), value=start)
        return shifted.masked_fill(shifted == -100, pad)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: BaseModelOutput | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        decoder_position_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        smoothing: float = 0.0,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        """labels (B, T): the target's tokens with its end, -100 at padding; logits (B, T, V).

        Only the decoder's input is shifted: position t reads label t - 1 and predicts label t. With
        config.sparse_prediction, in training, logits are (labels, V), only at positions with a label. smoothing: the
        label_smoothing of cross_entropy, by another name, as Trainer takes an argument with "label" for labels.
        """
        token_indices = None
        if labels is not None:
            use_cache = bool(use_cache)
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
            if self.training and self.config.sparse_prediction:
                token_indices, labels = labelled_tokens(labels)
        outputs = self.model(
            input_ids,
            attention_mask,
            decoder_input_ids,
            decoder_attention_mask,
            encoder_outputs,
            past_key_values,
            inputs_embeds,
            decoder_inputs_embeds,
            decoder_position_ids,
            token_type_ids,
            use_cache,
            token_indices=token_indices,
            return_dict=True,
            **kwargs,
        )
        hidden_states = outputs.last_hidden_state
        if token_indices is not None:
            hidden_states = select_tokens(hidden_states, token_indices)  # (M, hidden)
        logits = self.lm_head(self.projection(hidden_states))
        loss = cross_entropy(logits, labels, num_items_in_batch, smoothing)
        fields = {name: value for name, value in outputs.items() if name != "last_hidden_state"}
        return Seq2SeqLMOutput(loss=loss, logits=logits, **fields)
