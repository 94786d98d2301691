# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every switch of the architecture: the fields first, then their checks.

BERT, GPT-2, BART, Marian and Llama are one architecture (Vaswani et al. 2017) with independent
switches. The defaults are the base model of the 2017 paper without its embedding_scale; presets.py
holds the settings of the literature.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import transformers
from huggingface_hub.dataclasses import strict
from transformers.utils.versions import require_version

require_version("transformers>=5.17")  # older ones load these models with random weights

LayerType = Literal["full_attention", "sliding_attention"]
ProblemType = Literal["regression", "single_label_classification", "multi_label_classification"]
ROPE_TYPES = ("default", "linear", "dynamic", "llama3", "yarn")


@strict
class ScratchConfig(transformers.PreTrainedConfig):
    """What the three families share.

    Sizes count features, ids are rows of the vocabulary, dropouts are probabilities. The symbols
    are those of Vaswani et al. 2017.
    """

    # Size.
    vocab_size: int = 32_000
    hidden_size: int = 512  # d_model, the width of the residual stream
    num_hidden_layers: int = 6  # N
    num_attention_heads: int = 8  # h
    num_key_value_heads: int | None = None  # fewer share keys and values; None: h
    head_dim: int | None = None  # d_k and d_v; None: d_model / h
    intermediate_size: int = 2048  # d_ff, the width of the feed-forward layer

    # The block.
    hidden_act: Literal[
        "relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "geglu_tanh", "swiglu"
    ] = "relu"  # the ...glu are gated: act(x W_gate) * (x W_up)
    norm_type: Literal["layer_norm", "rms_norm"] = "layer_norm"
    # "post": norm(x + f(x)); "pre": x + f(norm(x)); for the others see layers.py.
    norm_position: Literal["pre", "post", "output", "sandwich"] = "post"
    norm_eps: float | int = 1e-5
    query_key_norm: bool = False  # normalise each head's queries and keys
    # "parallel": x + attention(norm(x)) + f(norm(x)).
    block_type: Literal["sequential", "parallel"] = "sequential"
    final_norm: bool | None = None  # after the last block; None: unless norm_position is "post"
    first_norm: bool = True  # around the first attention; ModernBERT lacks it
    # T5's activations overflow float16: W_down and the residual stream are in float32, sums clamped.
    float16_guards: bool = False
    # Gemma in half precision: weights of norms are in float32, the embedding_scale is rounded.
    float32_norms: bool = False

    # Positions.
    position_type: Literal[
        "none", "learned", "sinusoidal", "sinusoidal_halves", "rotary", "alibi", "relative"
    ] = "sinusoidal"  # "sinusoidal_halves": sines, then cosines (Marian)
    relative_attention_num_buckets: int = 32  # of "relative" positions (T5)
    relative_attention_max_distance: int = 128
    position_offset: int = 0  # the row of "learned" positions where they start
    max_position_embeddings: int = 512  # of "learned"; "dynamic" rope scales beyond it
    # Which tokens advance positions: "real" ones, by the mask; "all", padding too; or those that are
    # "not_pad_token_id" (RoBERTa).
    counted_tokens: Literal["real", "all", "not_pad_token_id"] = "real"
    rope_parameters: dict[str, Any] | None = None  # of "rotary"; None: theta 10000, unscaled

    # Windows: a causal token sees this many, itself included; others, as many on each side.
    sliding_window: int | None = None
    layer_types: list[LayerType] | None = None  # one per layer; None: all have the window
    local_rope_theta: float | int | None = None  # of layers with a window; None: as the others

    # Embeddings.
    embedding_size: int | None = None  # of tokens, factorised (ALBERT, ELECTRA); None: d_model
    output_embedding_size: int | None = None  # of a language-model head; None: embedding_size
    positions_after_projection: bool = False  # which widens the tokens alone, then
    embedding_norm: bool = False  # normalise their sum
    embedding_scale: bool = False  # multiply them by sqrt(d_model)
    type_vocab_size: int = 0  # token types (BERT); 0: none
    tie_word_embeddings: bool = True

    # Biases of linear layers, dropout, initialisation.
    attention_bias: bool = True
    mlp_bias: bool = True
    hidden_dropout: float | int = 0.1  # P_drop, of residual connections and embeddings
    attention_dropout: float | int = 0.0
    activation_dropout: float | int = 0.0
    initializer_range: float | int = 0.02

    # Heads and special tokens.
    problem_type: ProblemType | None = None
    pad_token_id: int | None = 0
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None

    _auto_class: ClassVar[str] = "AutoConfig"
    # Auto class: file and class of this family. A saved folder has all, whichever head was saved.
    auto_classes: ClassVar[dict[str, str]] = {}
    # Trainer gathers none of these in an evaluation: they would not fit into memory.
    keys_to_ignore_at_inference: ClassVar[list[str]] = [
        "past_key_values",
        "hidden_states",
        "attentions",
        "cross_attentions",
        "decoder_hidden_states",
        "decoder_attentions",
        "encoder_last_hidden_state",
        "encoder_hidden_states",
        "encoder_attentions",
    ]

    # Tensor parallelism: heads and features by column, what projects back by row.
    base_model_tp_plan: ClassVar[dict[str, str]] = {
        "stack.layers.*.attention.q_proj": "colwise",
        "stack.layers.*.attention.k_proj": "colwise",
        "stack.layers.*.attention.v_proj": "colwise",
        "stack.layers.*.attention.o_proj": "rowwise",
        "stack.layers.*.cross_attention.q_proj": "colwise",
        "stack.layers.*.cross_attention.k_proj": "colwise",
        "stack.layers.*.cross_attention.v_proj": "colwise",
        "stack.layers.*.cross_attention.o_proj": "rowwise",
        "stack.layers.*.feed_forward.gate_proj": "colwise",
        "stack.layers.*.feed_forward.up_proj": "colwise",
        "stack.layers.*.feed_forward.down_proj": "rowwise",
    }

    # A field that is None takes the value of another one.
    same_as: ClassVar[dict[str, str]] = {
        "num_key_value_heads": "num_attention_heads",
        "embedding_size": "hidden_size",
        "output_embedding_size": "embedding_size",
    }

    def __post_init__(self, **kwargs: Any) -> None:
        for name, other in self.same_as.items():
            if getattr(self, name) is None:
                setattr(self, name, getattr(self, other))
        if self.head_dim is None and self.num_attention_heads > 0:
            require(
                self.hidden_size % self.num_attention_heads == 0,
                f"hidden_size={self.hidden_size} is no multiple of "
                f"num_attention_heads={self.num_attention_heads}: set head_dim.",
            )
            self.head_dim = self.hidden_size // self.num_attention_heads
        if self.id2label is None and self.label2id is not None:
            self.id2label = {int(number): str(name) for name, number in self.label2id.items()}
        super().__post_init__(**kwargs)
        if self.label2id is None:
            self.label2id = {str(name): int(number) for number, name in self.id2label.items()}
        if self.position_type in ("alibi", "relative"):
            # The bias is that of all heads, so each process computes them all.
            self.base_model_tp_plan = {  # type: ignore[misc]
                layer: way
                for layer, way in self.base_model_tp_plan.items()
                if ".attention." not in layer
            }
        if self.position_type != "rotary":
            self.rope_parameters = None  # which the base class fills in for every model

    def validate_architecture(self) -> None:
        """Raise ValueError with the field, the value and the choices.

        The base class calls it on every new config.
        """
        for name, least in AT_LEAST.items():
            value = getattr(self, name, None)
            require(
                value is None or value >= least,
                f"{name}={value}: has to be at least {least}.",
            )
        rules = RULES + RULES_OF_ENCODER_DECODERS if self.is_encoder_decoder else RULES
        for holds, message in rules:
            require(holds(self), message.format(c=self))

    def attention_types(self, num_layers: int) -> list[LayerType]:
        """The type of each layer: layer_types, or the same for all."""
        if self.sliding_window is None:
            return ["full_attention"] * num_layers
        return self.layer_types or ["sliding_attention"] * num_layers


@strict
class ScratchEncoderConfig(ScratchConfig):
    """A bidirectional encoder (BERT and kin)."""

    # What a text's vector is: its first real token, the mean or the maximum over its real tokens.
    classifier_pooling: Literal["first", "mean", "max"] = "first"
    # The activation of a hidden layer before the last one (BERT "tanh"); None: no hidden layer.
    classifier_activation: Literal["tanh", "relu", "gelu"] | None = None
    classifier_norm: bool = False  # normalise a text's vector
    classifier_dropout: float | int | None = None  # before the last layer; None: hidden_dropout
    qa_dropout: float | int = 0.0  # before the last layer of an answer head (DistilBERT)
    # With labels, only labelled tokens go through the masked-language-model head, whose work
    # outweighs the stack's in small models; its logits are then (labelled tokens, V).
    sparse_prediction: bool = False
    pooler: bool = False  # the base model alone also gives tanh(x_first W), as BERT's does

    model_type = "scratch_encoder"
    auto_classes: ClassVar[dict[str, str]] = {
        "AutoModel": "modeling_encoder.ScratchEncoderModel",
        "AutoModelForMaskedLM": "modeling_encoder.ScratchEncoderForMaskedLM",
        "AutoModelForSequenceClassification": (
            "modeling_encoder.ScratchEncoderForSequenceClassification"
        ),
        "AutoModelForTokenClassification": (
            "modeling_encoder.ScratchEncoderForTokenClassification"
        ),
        "AutoModelForQuestionAnswering": "modeling_encoder.ScratchEncoderForQuestionAnswering",
    }


@strict
class ScratchDecoderConfig(ScratchConfig):
    """A causal decoder (GPT-2, Llama)."""

    use_cache: bool = True  # in evaluation, a pass returns keys and values for the next one
    lm_head_bias: bool = False  # the language-model head adds a bias to each logit

    model_type = "scratch_decoder"
    # The table of tokens by row, which for a tied head is by column of its logits.
    base_model_tp_plan: ClassVar[dict[str, str]] = {
        **ScratchConfig.base_model_tp_plan,
        "embeddings.tokens": "embedding_rowwise",
    }
    # The names of the same sizes in an encoder-decoder.
    attribute_map: ClassVar = {
        "decoder_layers": "num_hidden_layers",
        "decoder_vocab_size": "vocab_size",
    }
    auto_classes: ClassVar[dict[str, str]] = {
        "AutoModel": "modeling_decoder.ScratchDecoderModel",
        "AutoModelForCausalLM": "modeling_decoder.ScratchDecoderForCausalLM",
        "AutoModelForSequenceClassification": (
            "modeling_decoder.ScratchDecoderForSequenceClassification"
        ),
        # `transformers serve` asks for this one first.
        "AutoModelForDecision": "modeling_decoder.ScratchDecoderForCausalLM",
    }


@strict
class ScratchSeq2SeqConfig(ScratchConfig):
    """An encoder and a decoder that attends to it (Vaswani et al. 2017; BART, Marian)."""

    is_encoder_decoder: bool = True
    decoder_layers: int | None = None  # N of the decoder; None: as many as the encoder
    decoder_vocab_size: int | None = None  # None: as the encoder's
    share_encoder_decoder_embeddings: bool = True  # one table of tokens; False: two
    decoder_start_token_id: int | None = None  # read first, before the labels shifted right
    use_cache: bool = True
    lm_head_bias: bool = False
    sparse_prediction: bool = False  # as in ScratchEncoderConfig, in training

    model_type = "scratch_seq2seq"
    base_model_tp_plan: ClassVar[dict[str, str]] = ScratchDecoderConfig.base_model_tp_plan
    auto_classes: ClassVar[dict[str, str]] = {
        "AutoModel": "modeling_seq2seq.ScratchSeq2SeqModel",
        "AutoModelForSeq2SeqLM": "modeling_seq2seq.ScratchSeq2SeqForConditionalGeneration",
    }

    same_as: ClassVar[dict[str, str]] = {
        **ScratchConfig.same_as,
        "decoder_layers": "num_hidden_layers",
        "decoder_vocab_size": "vocab_size",
    }


# --- checks ---------------------------------------------------------------------------------------


AT_LEAST = {
    "vocab_size": 1,
    "decoder_vocab_size": 1,
    "hidden_size": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 1,
    "intermediate_size": 1,
    "max_position_embeddings": 1,
    "embedding_size": 1,
    "output_embedding_size": 1,
    "sliding_window": 1,
    "local_rope_theta": 1,
    "num_hidden_layers": 0,
    "decoder_layers": 0,
    "type_vocab_size": 0,
    "position_offset": 0,
    "norm_eps": 0,
    "initializer_range": 0,
}

# What has to hold of a config c, and what is said otherwise.
RULES: list[tuple[Callable[[Any], bool], str]] = [
    (
        lambda c: c.num_attention_heads % c.num_key_value_heads == 0,
        "num_key_value_heads={c.num_key_value_heads} does not divide "
        "num_attention_heads={c.num_attention_heads}.",
    ),
    (
        lambda c: c.output_embedding_size == c.embedding_size or not c.tie_word_embeddings,
        "output_embedding_size={c.output_embedding_size} differs from "
        "embedding_size={c.embedding_size}: set tie_word_embeddings=False.",
    ),
    (
        lambda c: is_row(c.pad_token_id, c.vocab_size),
        "pad_token_id={c.pad_token_id} is no row of vocab_size={c.vocab_size} rows.",
    ),
    (
        lambda c: "sliding_attention" not in (c.layer_types or []) or c.sliding_window,
        "layer_types has sliding_attention: set sliding_window.",
    ),
    (
        lambda c: (
            not c.position_type.startswith("sinusoidal")
            or (c.hidden_size if c.positions_after_projection else c.embedding_size) % 2 == 0
        ),
        "embedding_size={c.embedding_size}, or with positions_after_projection "
        "hidden_size={c.hidden_size}, is odd: sinusoidal positions pair sines with cosines.",
    ),
    (
        lambda c: (
            c.relative_attention_num_buckets
            in range(4, 2 * c.relative_attention_max_distance, 4)
        ),
        "relative_attention_num_buckets={c.relative_attention_num_buckets}: has to be a multiple of "
        "4, less than twice relative_attention_max_distance={c.relative_attention_max_distance}.",
    ),
    (
        lambda c: c.position_type != "rotary" or c.rope_parameters["rope_type"] in ROPE_TYPES,
        f"rope_parameters={{c.rope_parameters}}: rope_type is one of {', '.join(ROPE_TYPES)}.",
    ),
    (
        lambda c: (
            c.position_type != "rotary"
            or int(c.head_dim * c.rope_parameters.get("partial_rotary_factor", 1.0))
            in range(2, c.head_dim + 1, 2)
        ),
        "head_dim={c.head_dim}, rope_parameters={c.rope_parameters}: the features that rotate are "
        "odd, no pairs, or more than there are.",
    ),
]
RULES_OF_ENCODER_DECODERS: list[tuple[Callable[[Any], bool], str]] = [
    (
        lambda c: c.block_type == "sequential",
        "block_type={c.block_type!r}: not in encoder-decoders; leave it out.",
    ),
    (
        lambda c: c.layer_types is None or c.decoder_layers == c.num_hidden_layers,
        "layer_types are those of both stacks, but decoder_layers={c.decoder_layers} differs "
        "from num_hidden_layers={c.num_hidden_layers}.",
    ),
    (
        lambda c: (
            not c.share_encoder_decoder_embeddings or c.decoder_vocab_size == c.vocab_size
        ),
        "decoder_vocab_size={c.decoder_vocab_size} differs from vocab_size={c.vocab_size}: "
        "set share_encoder_decoder_embeddings=False.",
    ),
    (
        lambda c: is_row(c.decoder_start_token_id, c.decoder_vocab_size),
        "decoder_start_token_id={c.decoder_start_token_id} is no row of a vocabulary of "
        "{c.decoder_vocab_size}.",
    ),
    (
        lambda c: is_row(c.pad_token_id, c.decoder_vocab_size),
        "pad_token_id={c.pad_token_id} is no row of a vocabulary of {c.decoder_vocab_size}.",
    ),
]


def is_row(token: int | None, rows: int) -> bool:
    return token is None or 0 <= token < rows


def require(holds: Any, message: str) -> None:
    if not holds:
        raise ValueError(message)
