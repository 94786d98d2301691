# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""The decoder family: a causal stack that predicts the next token, and its head for texts.

Shapes: B batch, T length, S length of the memory, V vocabulary, C labels. A batch that arrives packed is (1, tokens).
"""

from typing import Any

from torch import Tensor, nn
from transformers import Cache, DynamicCache, EncoderDecoderCache
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_outputs import (
    BaseModelOutputWithPastAndCrossAttentions,
    CausalLMOutputWithPast,
    SequenceClassifierOutputWithPast,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils import can_return_tuple, is_tracing
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

from .attention import Attention
from .configuration_scratch import ScratchDecoderConfig, ScratchSeq2SeqConfig
from .embeddings import Embeddings
from .generation import LMHead, WritingGenerationMixin
from .heads import classification_loss, cross_entropy, next_tokens, padding_mask, share_predicted
from .input_checks import check_mask, checked_inputs
from .modeling_base import ScratchPreTrainedModel
from .packed_input import packed_lengths
from .stack import Block, Stack


class ScratchDecoderPreTrainedModel(ScratchPreTrainedModel):
    config: ScratchDecoderConfig
    is_causal = True
    _skip_keys_device_placement = ["past_key_values"]
    _can_record_outputs = {
        "hidden_states": Block,
        "attentions": OutputRecorder(Attention, index=1, layer_name="attention"),
        "cross_attentions": OutputRecorder(Attention, index=1, layer_name="cross_attention"),
    }
    auto_classes = {
        "AutoModel": "ScratchDecoderModel",
        "AutoModelForCausalLM": "ScratchDecoderForCausalLM",
        "AutoModelForSequenceClassification": "ScratchDecoderForSequenceClassification",
        "AutoModelForDecision": "ScratchDecoderForCausalLM",  # what `transformers serve` asks for first
    }


class ScratchDecoderModel(ScratchDecoderPreTrainedModel):
    """Embeddings and a causal stack (Radford et al. 2018); in an encoder-decoder it also attends to the encoder."""

    def __init__(self, config: ScratchDecoderConfig | ScratchSeq2SeqConfig) -> None:
        super().__init__(config)
        has_memory = config.is_encoder_decoder
        self.side = "decoder_" if has_memory else ""  # how the names of the arguments begin
        self.embeddings = Embeddings(config, config.decoder_vocab_size, f"{self.side}input_ids")
        self.stack = Stack(config, config.decoder_layers, is_causal=True, cross_attention=has_memory)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.embeddings.tokens = value

    @capture_outputs
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Cache | None = None,
        inputs_embeds: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """input_ids (B, T) or inputs_embeds (B, T, E), behind the tokens of past_key_values -> (B, T, hidden).

        attention_mask (B, past + T) with 1 at real tokens; without position_ids, positions count these. In an
        encoder-decoder encoder_hidden_states (B, S, hidden) is what the encoder says, encoder_attention_mask (B, S).
        use_cache None: as the config says, in evaluation. places (N,): which of the B * T tokens are read; the last
        block of a decoder alone spares itself the others: (1, N, hidden).
        """
        inputs = checked_inputs(input_ids, inputs_embeds, attention_mask, past_key_values, self.side)
        if use_cache is None:
            use_cache = self.config.use_cache and not self.training
        if (
            use_cache
            and past_key_values is None
            and not self._may_be_packed(inputs, attention_mask, position_ids, kwargs)
        ):
            past_key_values = self._new_cache()
        if self.config.is_encoder_decoder and past_key_values is not None:
            past_key_values = self._with_room_for_memory(past_key_values)
        position_ids, mask, packing = self._lay_out(inputs, attention_mask, position_ids, kwargs, past_key_values)
        memory_mask = self._memory_mask(inputs, encoder_hidden_states, encoder_attention_mask, kwargs)
        if packing is not None:
            arguments = input_ids, position_ids, token_type_ids, inputs_embeds
            input_ids, position_ids, token_type_ids, inputs_embeds = self._pack(packing, *arguments)

        seen = 0 if past_key_values is None else past_key_values.get_seq_length()
        longest = kwargs.pop("longest", None)
        hidden_states = self.embeddings(input_ids, position_ids, token_type_ids, inputs_embeds, seen, longest)
        kwargs |= {"packing": packing, "rotary": self._rotary(position_ids, hidden_states.dtype)}
        masks = mask, encoder_hidden_states, memory_mask
        kwargs["num_layers"] = self.config.decoder_layers  # fewer, while a model drafts for itself
        hidden_states = self.stack(hidden_states, *masks, past_key_values=past_key_values, **kwargs)
        hidden_states = self._unpack(hidden_states, packing, kwargs)
        return BaseModelOutputWithPastAndCrossAttentions(hidden_states, past_key_values)

    def _may_be_packed(
        self, inputs: Tensor, attention_mask: Tensor | None, position_ids: Tensor | None, kwargs: dict[str, Any]
    ) -> bool:
        """Nobody can go on from a packed batch; in a traced graph, which cannot look, position_ids alone tell."""
        if is_tracing(inputs) and attention_mask is None and position_ids is not None:
            return True
        return packed_lengths(inputs.shape[:2], attention_mask, position_ids, kwargs) is not None

    def _with_room_for_memory(self, cache: Cache) -> Cache:
        """A plain cache holds the tokens of the decoder alone; what it attends to gets one beside it."""
        if isinstance(cache, EncoderDecoderCache):
            return cache
        return EncoderDecoderCache(cache, DynamicCache(config=self.config.get_text_config(decoder=True)))

    def _new_cache(self) -> Cache:
        if not self.config.is_encoder_decoder:
            return DynamicCache(config=self.config)
        decoder = self.config.get_text_config(decoder=True)
        return EncoderDecoderCache(DynamicCache(config=decoder), DynamicCache(config=decoder))

    def _memory_mask(
        self, inputs: Tensor, memory: Tensor | None, attention_mask: Tensor | None, kwargs: dict[str, Any]
    ) -> Any:
        if (memory is None) == self.config.is_encoder_decoder:
            raise ValueError("encoder_hidden_states go to the decoder of an encoder-decoder, and to no other.")
        if memory is None:
            return None
        check_mask(attention_mask, memory, "attention_mask", "what the encoder read")
        embeds, config = self._shape_only(inputs.shape[:2], inputs.device), self._mask_config(kwargs)
        return create_bidirectional_mask(config, embeds, attention_mask, encoder_hidden_states=memory)


class ScratchDecoderForCausalLM(ScratchDecoderPreTrainedModel, WritingGenerationMixin):
    """p(next token) = softmax(x E^T), E the token embeddings where tied (Radford et al. 2018, 3.1)."""

    _tied_weights_keys = {"lm_head.weight": "model.embeddings.tokens.weight"}
    _tp_plan = {"lm_head": "colwise_gather_output"}

    def __init__(self, config: ScratchDecoderConfig) -> None:
        super().__init__(config)
        self.model = ScratchDecoderModel(config)
        factorised = config.embedding_size != config.hidden_size
        self.projection = nn.Linear(config.hidden_size, config.embedding_size) if factorised else nn.Identity()
        self.lm_head = LMHead(config.embedding_size, config.vocab_size, bias=config.lm_head_bias)
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
        """labels (B, T) are the input_ids themselves, -100 where nothing is to be predicted; logits (B, T, V).

        They are shifted here, once; shift_labels are taken as they are.
        logits_to_keep: the last so many positions, or which ones; 0: all.
        """
        # Trainer, which looks for labels among the named arguments, would evaluate batches without this one unlabelled.
        shift_labels = kwargs.pop("shift_labels", None)
        outputs = self.model(
            input_ids, attention_mask, position_ids, past_key_values, inputs_embeds, token_type_ids=token_type_ids,
            use_cache=False if use_cache is None and labels is not None else use_cache, return_dict=True, **kwargs,
        )  # fmt: skip
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(self.projection(outputs.last_hidden_state[:, kept]))
        loss = None
        if labels is not None or shift_labels is not None:
            if shift_labels is None:
                shift_labels = next_tokens(labels, attention_mask, position_ids, kwargs)
                num_items_in_batch = share_predicted(num_items_in_batch, labels, shift_labels)
            loss = cross_entropy(logits, shift_labels[:, kept], num_items_in_batch)
        past_key_values = outputs.past_key_values
        return CausalLMOutputWithPast(loss, logits, past_key_values, outputs.hidden_states, outputs.attentions)


class ScratchDecoderForSequenceClassification(ScratchDecoderPreTrainedModel):
    """One answer a text, read off its last real token (Radford et al. 2018, 3.2)."""

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

        Without attention_mask, pad_token_id tells which tokens are real. Of a batch that arrives packed, every
        sequence is a text: labels and logits have one row a sequence.
        """
        length = checked_inputs(input_ids, inputs_embeds, attention_mask, past_key_values).shape[1]
        pooled, outputs = self._pooled(
            "last", self._real_tokens(input_ids, attention_mask, length), input_ids=input_ids,
            attention_mask=attention_mask, position_ids=position_ids, past_key_values=past_key_values,
            inputs_embeds=inputs_embeds, token_type_ids=token_type_ids,
            use_cache=False if use_cache is None and labels is not None else use_cache, **kwargs,
        )  # fmt: skip
        logits = self.score(pooled)
        loss = None if labels is None else classification_loss(self.config, logits, labels, num_items_in_batch)
        past_key_values = outputs.past_key_values
        return SequenceClassifierOutputWithPast(
            loss, logits, past_key_values, outputs.hidden_states, outputs.attentions
        )

    def _real_tokens(self, input_ids: Tensor | None, attention_mask: Tensor | None, length: int) -> Tensor | None:
        if attention_mask is None and input_ids is not None and self.config.pad_token_id is not None:
            return input_ids != self.config.pad_token_id
        return None if padding_mask(attention_mask) is None else attention_mask[:, -length:]


# Trainer smooths labels outside of the model, and shifts them for the causal classes that this table names.
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.setdefault(ScratchDecoderConfig.model_type, "ScratchDecoderForCausalLM")

__all__ = ["ScratchDecoderPreTrainedModel", *dict.fromkeys(ScratchDecoderPreTrainedModel.auto_classes.values())]
