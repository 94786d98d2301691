# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every switch of the architecture, with its type, its choices and its checks.

BERT, GPT-2, BART, Marian and Llama are one architecture (Vaswani et al. 2017) with independent switches. The defaults
are the base model of the 2017 paper; presets.py holds the other settings of the literature.
"""

from typing import Any, ClassVar, Literal

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "swiglu"]
NormType = Literal["layer_norm", "rms_norm"]
NormPosition = Literal["pre", "post"]
PositionType = Literal["none", "learned", "sinusoidal", "sinusoidal_halves", "rotary"]
Pooling = Literal["first", "mean", "max"]
ProblemType = Literal["regression", "single_label_classification", "multi_label_classification"]
ROPE_TYPES = ("default", "linear", "dynamic", "llama3")

# How tensor parallelism shards one block: the projections into heads and features by column, those back by row.
_ATTENTION_PLAN = {"q_proj": "colwise", "k_proj": "colwise", "v_proj": "colwise", "o_proj": "rowwise"}
_FEED_FORWARD_PLAN = {"gate_proj": "colwise", "up_proj": "colwise", "down_proj": "rowwise"}


def _tensor_parallel_plan(stack: str, cross_attention: bool = False) -> dict[str, str]:
    parts = {"attention": _ATTENTION_PLAN, "feed_forward": _FEED_FORWARD_PLAN}
    if cross_attention:
        parts["cross_attention"] = _ATTENTION_PLAN
    return {f"{stack}.layers.*.{part}.{name}": way for part, plan in parts.items() for name, way in plan.items()}


@strict
class ScratchConfig(PreTrainedConfig):
    """What the three families share. Sizes count features, ids are rows of the vocabulary, dropouts are probabilities.

    - hidden_size, intermediate_size: width of the residual stream and of the feed-forward layer.
    - num_key_value_heads: fewer than num_attention_heads share keys and values (grouped-query); None: as many.
    - head_dim: features of one head; None: hidden_size / num_attention_heads.
    - hidden_act: the ...glu names are gated: act(x W_gate) * (x W_up).
    - norm_position: "post" is norm(x + f(x)) (2017), "pre" is x + f(norm(x)) with one more norm at the end.
    - position_type: "sinusoidal" interleaves sines and cosines (2017), "sinusoidal_halves" puts them side by side
      (Marian); "learned" is the only one with a limit, max_position_embeddings, and starts at row position_offset.
    - rope_parameters: Hugging Face's dictionary, {"rope_theta": 10000.0, "rope_type": "default"} where none is given.
    - embedding_size: width of the token embeddings where it is not hidden_size (factorised, ALBERT and ELECTRA).
    - embedding_scale: multiply embeddings by sqrt(hidden_size); embedding_norm: normalise their sum.
    """

    # What evaluation shall not gather over a whole data set: predictions alone fit into memory.
    keys_to_ignore_at_inference: ClassVar[list[str]] = [
        "past_key_values", "hidden_states", "attentions", "cross_attentions", "decoder_hidden_states",
        "decoder_attentions", "encoder_last_hidden_state", "encoder_hidden_states", "encoder_attentions",
    ]  # fmt: skip

    vocab_size: int = 32_000
    hidden_size: int = 512
    num_hidden_layers: int = 6
    num_attention_heads: int = 8
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int = 2048
    hidden_act: Activation = "relu"
    norm_type: NormType = "layer_norm"
    norm_position: NormPosition = "post"
    norm_eps: float | int = 1e-5
    position_type: PositionType = "sinusoidal"
    position_offset: int = 0
    max_position_embeddings: int = 512
    rope_parameters: dict[str, Any] | None = None
    embedding_size: int | None = None
    embedding_norm: bool = False
    embedding_scale: bool = False
    type_vocab_size: int = 0
    attention_bias: bool = True
    mlp_bias: bool = True
    hidden_dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    activation_dropout: float | int = 0.0
    initializer_range: float | int = 0.02
    tie_word_embeddings: bool = True
    problem_type: ProblemType | None = None
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        if self.num_key_value_heads is None:
            self.num_key_value_heads = self.num_attention_heads
        if self.head_dim is None and self.num_attention_heads > 0:
            self.head_dim = self._head_dim()
        if self.embedding_size is None:
            self.embedding_size = self.hidden_size
        if self.id2label is None and self.label2id is not None:
            self.id2label = {int(number): str(name) for name, number in self.label2id.items()}
        super().__post_init__(**kwargs)
        if self.label2id is None:
            self.label2id = {str(name): int(number) for number, name in self.id2label.items()}
        if self.position_type != "rotary":
            self.rope_parameters = None  # the base class fills them in for every model that has the field

    def _head_dim(self) -> int:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size={self.hidden_size} is no multiple of num_attention_heads={self.num_attention_heads}: "
                "change one of them, or set head_dim."
            )
        return self.hidden_size // self.num_attention_heads

    def validate_architecture(self) -> None:
        """Raise ValueError with the field, the value and the choices; the base class calls it on every new config."""
        self._check_sizes()
        self._check_probabilities()
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_key_value_heads={self.num_key_value_heads} does not divide "
                f"num_attention_heads={self.num_attention_heads}: each key head serves the same number of query heads."
            )
        if self.position_type == "rotary":
            self._check_rotary()
        if self.position_type.startswith("sinusoidal") and self.embedding_size % 2:
            raise ValueError(
                f"embedding_size={self.embedding_size} is odd: sinusoidal positions pair sines with cosines."
            )
        if self.pad_token_id is not None and not 0 <= self.pad_token_id < self.vocab_size:
            raise ValueError(
                f"pad_token_id={self.pad_token_id} is no row of a vocabulary of vocab_size={self.vocab_size}."
            )

    def _check_sizes(self) -> None:
        for name in ("vocab_size", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim",
                     "intermediate_size", "max_position_embeddings", "embedding_size"):  # fmt: skip
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: has to be at least 1.")
        for name in ("num_hidden_layers", "type_vocab_size", "position_offset", "norm_eps", "initializer_range"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}: has to be at least 0.")

    def _check_probabilities(self) -> None:
        for name in ("hidden_dropout", "attention_dropout", "activation_dropout", "classifier_dropout"):
            if not 0 <= (getattr(self, name, None) or 0) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: has to be in [0, 1).")

    def _check_rotary(self) -> None:
        if self.head_dim % 2:
            raise ValueError(f"head_dim={self.head_dim} is odd: rotary positions turn pairs of features.")
        if (rope_type := self.rope_parameters["rope_type"]) not in ROPE_TYPES:
            raise ValueError(f"rope_parameters['rope_type']={rope_type!r}: the choices are {', '.join(ROPE_TYPES)}.")
        if self.rope_parameters.get("partial_rotary_factor", 1.0) != 1.0:
            raise ValueError("rope_parameters['partial_rotary_factor']: only 1.0, all features of a head turn.")


@strict
class ScratchEncoderConfig(ScratchConfig):
    """A bidirectional encoder (BERT and kin).

    - classifier_pooling: what a text's vector is: its first real token, the mean or the maximum over its real tokens.
    - classifier_activation: a hidden layer of this activation before the last one (BERT "tanh"); None: no hidden layer.
    - classifier_dropout: before the last layer; None: hidden_dropout.
    - sparse_prediction: with labels, only the labelled tokens go through the masked-language-model head, whose work
      outweighs the stack's in small models; its logits are then (labelled tokens, V).
    """

    model_type = "scratch_encoder"
    base_model_tp_plan: ClassVar[dict[str, str]] = _tensor_parallel_plan("stack")
    _auto_class: ClassVar[str] = "AutoConfig"

    classifier_pooling: Pooling = "first"
    classifier_activation: Literal["tanh", "relu", "gelu"] | None = None
    classifier_dropout: float | int | None = None
    sparse_prediction: bool = False


@strict
class ScratchDecoderConfig(ScratchConfig):
    """A causal decoder (GPT-2, Llama).

    - use_cache: whether a forward pass in evaluation returns the keys and values that the next one can go on from.
    - lm_head_bias: whether the language-model head adds a bias to each logit.
    """

    model_type = "scratch_decoder"
    # The table of tokens by row: where it is tied, it is the head's, which is by column of what that gives.
    base_model_tp_plan: ClassVar[dict[str, str]] = {
        "embeddings.tokens": "embedding_rowwise",
        **_tensor_parallel_plan("stack"),
    }
    # A decoder alone, and that of an encoder-decoder, read their sizes under the same names.
    attribute_map: ClassVar[dict[str, str]] = {
        "decoder_layers": "num_hidden_layers",
        "decoder_vocab_size": "vocab_size",
    }
    _auto_class: ClassVar[str] = "AutoConfig"

    use_cache: bool = True
    lm_head_bias: bool = False


@strict
class ScratchSeq2SeqConfig(ScratchConfig):
    """An encoder and a decoder that attends to it (Vaswani et al. 2017; BART, Marian).

    - num_hidden_layers: blocks of the encoder; decoder_layers: of the decoder; None: as many.
    - share_encoder_decoder_embeddings: one table; False: two, the decoder's of decoder_vocab_size rows (None: as many).
    - tie_word_embeddings: the language-model head is the decoder's table.
    - decoder_start_token_id: the first token that the decoder reads; training shifts the labels to the right behind it.
    - use_cache, lm_head_bias: as in ScratchDecoderConfig; sparse_prediction: as in ScratchEncoderConfig, in training.
    """

    model_type = "scratch_seq2seq"
    base_model_tp_plan: ClassVar[dict[str, str]] = {
        **_tensor_parallel_plan("encoder.stack"),
        **_tensor_parallel_plan("decoder.stack", cross_attention=True),
    }
    _auto_class: ClassVar[str] = "AutoConfig"

    is_encoder_decoder: bool = True
    decoder_layers: int | None = None
    decoder_vocab_size: int | None = None
    share_encoder_decoder_embeddings: bool = True
    decoder_start_token_id: int | None = None
    use_cache: bool = True
    lm_head_bias: bool = False
    sparse_prediction: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.decoder_layers is None:
            self.decoder_layers = self.num_hidden_layers
        if self.decoder_vocab_size is None:
            self.decoder_vocab_size = self.vocab_size
        super().__post_init__(**kwargs)

    def validate_architecture(self) -> None:
        super().validate_architecture()
        if self.decoder_layers < 0 or self.decoder_vocab_size < 1:
            raise ValueError(
                f"decoder_layers={self.decoder_layers}, decoder_vocab_size={self.decoder_vocab_size}: "
                "have to be at least 0 and 1."
            )
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise ValueError(
                f"decoder_vocab_size={self.decoder_vocab_size} differs from vocab_size={self.vocab_size}: "
                "set share_encoder_decoder_embeddings=False."
            )
        for name in ("decoder_start_token_id", "pad_token_id"):
            token = getattr(self, name)
            if token is not None and not 0 <= token < self.decoder_vocab_size:
                raise ValueError(f"{name}={token} is no row of a vocabulary of {self.decoder_vocab_size}.")


__all__ = ["ScratchConfig", "ScratchDecoderConfig", "ScratchEncoderConfig", "ScratchSeq2SeqConfig"]
