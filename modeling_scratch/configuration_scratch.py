# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Every switch of the architecture, with its type, its choices and its checks.

BERT, GPT-2, BART, Marian and Llama are one architecture (Vaswani et al. 2017) with independent switches. The defaults
are the base model of the 2017 paper without its embedding_scale; presets.py holds the settings of the literature.
"""

from typing import Any, ClassVar, Literal

from huggingface_hub.dataclasses import strict
from transformers import __version__, configuration_utils, logging

TESTED = (5, 17), (5, 23)  # the oldest and the newest minor version of transformers that this code was tested with
if (_minor := tuple(map(int, __version__.split(".")[:2]))) < TESTED[0]:
    raise ImportError("transformers {} is too old for this model, which needs {}.{}.".format(__version__, *TESTED[0]))
if _minor > TESTED[1]:
    text = "transformers {} is newer than {}.{}, up to which this model was tested.".format(__version__, *TESTED[1])
    logging.get_logger().warning_once(text)

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "geglu_tanh", "swiglu"]
NormType = Literal["layer_norm", "rms_norm"]
NormPosition = Literal["pre", "post", "output", "sandwich"]
BlockType = Literal["sequential", "parallel"]
PositionType = Literal["none", "learned", "sinusoidal", "sinusoidal_halves", "rotary", "alibi", "relative"]
LayerType = Literal["full_attention", "sliding_attention"]
Pooling = Literal["first", "mean", "max"]
ProblemType = Literal["regression", "single_label_classification", "multi_label_classification"]
NGRAM_BITS = 21  # of a token id in the key of three tokens
ROPE_TYPES = ("default", "linear", "dynamic", "llama3", "yarn")

# How tensor parallelism shards a block: projections into heads and features by column, projections back by row. A
# model uses the entries whose layers it has.
_ATTENTION_PLAN = {"q_proj": "colwise", "k_proj": "colwise", "v_proj": "colwise", "o_proj": "rowwise"}
_FEED_FORWARD_PLAN = {"gate_proj": "colwise", "up_proj": "colwise", "down_proj": "rowwise"}
_PARTS = ("attention", _ATTENTION_PLAN), ("cross_attention", _ATTENTION_PLAN), ("feed_forward", _FEED_FORWARD_PLAN)
STACK_PLAN = {f"stack.layers.*.{part}.{layer}": way for part, plan in _PARTS for layer, way in plan.items()}
# The embedding table by row, which for a tied head is by column of its logits.
DECODER_PLAN = {"embeddings.tokens": "embedding_rowwise", **STACK_PLAN}

_AT_LEAST_1 = (
    "vocab_size", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
    "max_position_embeddings", "embedding_size", "output_embedding_size", "sliding_window", "local_rope_theta",
)  # fmt: skip
_AT_LEAST_0 = (
    "num_hidden_layers", "type_vocab_size", "position_offset", "norm_eps", "initializer_range", "ngram_vocab_size",
)  # fmt: skip


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


@strict
class ScratchConfig(configuration_utils.PreTrainedConfig):
    """What the three families share. Sizes count features, ids are rows of the vocabulary, dropouts are probabilities.

    - hidden_size, intermediate_size: width of the residual stream and of the feed-forward layer.
    - num_key_value_heads: fewer than num_attention_heads share keys and values (grouped-query); None: as many.
    - head_dim: features of one head; None: hidden_size / num_attention_heads.
    - hidden_act: the ...glu names are gated: act(x W_gate) * (x W_up).
    - norm_position: "post" is norm(x + f(x)) (2017), "pre" is x + f(norm(x)), "output" is x + norm(f(x)), "sandwich" is
      x + norm(f(norm(x))).
    - block_type: whether the feed-forward layer reads what attention wrote, or both read the same ("parallel").
    - query_key_norm: normalise each head's queries and keys.
    - final_norm: one more norm after the last block; None: unless norm_position is "post".
    - first_norm: a norm around the first attention, which ModernBERT lacks, as its embeddings are normalised.
    - position_type: "sinusoidal" interleaves sines and cosines (2017), "sinusoidal_halves" puts them side by side
      (Marian); "learned" is the only one with a limit, max_position_embeddings, and starts at row position_offset;
      "alibi" and "relative" (T5) add a bias to the scores.
    - relative_attention_num_buckets, relative_attention_max_distance: of "relative" positions.
    - rope_parameters: of "rotary" positions, else None; by default {"rope_theta": 10000.0, "rope_type": "default"}.
    - sliding_window: a causal token sees this many, itself included, a bidirectional one as many on each side; in the
      layers that layer_types calls "sliding_attention", None: in all. Their rope_theta is local_rope_theta if given.
    - embedding_size: width of the token embeddings where it is not hidden_size (factorised, ALBERT and ELECTRA).
    - positions_after_projection: add positions and types to embeddings that are hidden_size wide already.
    - output_embedding_size: width of the table of a language-model head; None: embedding_size.
    - embedding_scale: multiply embeddings by sqrt(hidden_size); embedding_norm: normalise their sum.
    """

    # Trainer does not gather these in an evaluation: for a whole data set they would not fit into memory.
    keys_to_ignore_at_inference: ClassVar[list[str]] = [
        "past_key_values", "hidden_states", "attentions", "cross_attentions", "decoder_hidden_states",
        "decoder_attentions", "encoder_last_hidden_state", "encoder_hidden_states", "encoder_attentions",
    ]  # fmt: skip

    # Auto class: file and class of this family. All of them go into a saved folder, whichever head was saved.
    auto_classes: ClassVar[dict[str, str]] = {}

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
    query_key_norm: bool = False
    block_type: BlockType = "sequential"
    final_norm: bool | None = None
    first_norm: bool = True
    position_type: PositionType = "sinusoidal"
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    position_offset: int = 0
    max_position_embeddings: int = 512
    rope_parameters: dict[str, Any] | None = None
    sliding_window: int | None = None
    layer_types: list[LayerType] | None = None
    local_rope_theta: float | int | None = None
    embedding_size: int | None = None
    output_embedding_size: int | None = None
    positions_after_projection: bool = False
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
        if self.head_dim is None and (heads := self.num_attention_heads) > 0:
            message = f"hidden_size={self.hidden_size} is no multiple of num_attention_heads={heads}: set head_dim."
            _require(self.hidden_size % heads == 0, message)
            self.head_dim = self.hidden_size // heads
        if self.embedding_size is None:
            self.embedding_size = self.hidden_size
        if self.output_embedding_size is None:
            self.output_embedding_size = self.embedding_size
        if self.id2label is None and self.label2id is not None:
            self.id2label = {int(number): str(name) for name, number in self.label2id.items()}
        super().__post_init__(**kwargs)
        if self.label2id is None:
            self.label2id = {str(name): int(number) for number, name in self.id2label.items()}
        if self.position_type != "rotary":
            self.rope_parameters = None  # the base class fills them in for every model that has the field

    def validate_architecture(self) -> None:
        """Raise ValueError with the field, the value and the choices; the base class calls it on every new config."""
        for names, least in (_AT_LEAST_1, 1), (_AT_LEAST_0, 0):
            for name in names:
                value = getattr(self, name, None)
                _require(value is None or value >= least, f"{name}={value}: has to be at least {least}.")
        for name in ("hidden_dropout", "attention_dropout", "activation_dropout", "classifier_dropout"):
            value = getattr(self, name, None) or 0
            _require(0 <= value < 1, f"{name}={value}: has to be in [0, 1).")
        heads, key_heads = self.num_attention_heads, self.num_key_value_heads
        message = f"num_key_value_heads={key_heads} does not divide num_attention_heads={heads}."
        _require(heads % key_heads == 0, message)
        size, own = self.embedding_size, self.output_embedding_size
        message = f"output_embedding_size={own} differs from embedding_size={size}: set tie_word_embeddings=False."
        _require(own == size or not self.tie_word_embeddings, message)
        token, rows = self.pad_token_id, self.vocab_size
        _require(token is None or 0 <= token < rows, f"pad_token_id={token} is no row of vocab_size={rows} rows.")
        fits = rows < 2**NGRAM_BITS or not getattr(self, "ngram_vocab_size", 0)
        _require(fits, f"vocab_size={rows}: n-grams need less than {2**NGRAM_BITS}.")
        self._check_positions()

    def attention_types(self, num_layers: int) -> list[LayerType]:
        """The type of each layer: layer_types, or the same for all."""
        same: LayerType = "full_attention" if self.sliding_window is None else "sliding_attention"
        return self.layer_types or [same] * num_layers

    def _check_positions(self) -> None:
        lacks_window = "sliding_attention" in (self.layer_types or []) and self.sliding_window is None
        _require(not lacks_window, "layer_types has sliding_attention: set sliding_window.")
        buckets, furthest = self.relative_attention_num_buckets, self.relative_attention_max_distance
        message = f"relative_attention_num_buckets={buckets}: has to be a multiple of 4, "
        message += f"less than twice relative_attention_max_distance={furthest}."
        _require(buckets >= 4 and buckets % 4 == 0 and furthest > buckets // 2, message)
        if self.position_type == "rotary":
            rope_type, choices = self.rope_parameters["rope_type"], ", ".join(ROPE_TYPES)
            _require(rope_type in ROPE_TYPES, f"rope_parameters['rope_type']={rope_type!r}: the choices are {choices}.")
            share, theta = (self.rope_parameters.get(name, 1.0) for name in ("partial_rotary_factor", "rope_theta"))
            rotated = int(self.head_dim * share)
            message = f"head_dim={self.head_dim}, rope_parameters={self.rope_parameters}: {rotated} features rotate, "
            message += "which are odd, no pairs, or more than there are; or rope_theta is not positive."
            _require(theta > 0 and 0 < share <= 1 and rotated >= 2 and rotated % 2 == 0, message)
        name = "hidden_size" if self.positions_after_projection else "embedding_size"
        even = not self.position_type.startswith("sinusoidal") or getattr(self, name) % 2 == 0
        _require(even, f"{name}={getattr(self, name)} is odd: sinusoidal positions pair sines with cosines.")


@strict
class ScratchEncoderConfig(ScratchConfig):
    """A bidirectional encoder (BERT and kin).

    - classifier_pooling: what a text's vector is: its first real token, the mean or the maximum over its real tokens.
    - classifier_activation: a hidden layer of this activation before the last one (BERT "tanh"); None: no hidden layer.
    - classifier_norm: normalise a text's vector. classifier_dropout: before the last layer; None: hidden_dropout.
    - sparse_prediction: with labels, only the labelled tokens go through the masked-language-model head, whose work
      outweighs the stack's in small models; its logits are then (labelled tokens, V).
    - ngram_vocab_size: how many frequent pairs and triples of tokens have embeddings of their own, see NGrams; 0: none.
    - pooler: the base model alone also gives tanh(x_first W), as BERT's and RoBERTa's do.
    """

    model_type = "scratch_encoder"
    base_model_tp_plan: ClassVar[dict[str, str]] = STACK_PLAN
    auto_classes: ClassVar[dict[str, str]] = {
        "AutoModel": "modeling_encoder.ScratchEncoderModel",
        "AutoModelForMaskedLM": "modeling_encoder.ScratchEncoderForMaskedLM",
        "AutoModelForSequenceClassification": "modeling_encoder.ScratchEncoderForSequenceClassification",
        "AutoModelForTokenClassification": "modeling_encoder.ScratchEncoderForTokenClassification",
        "AutoModelForQuestionAnswering": "modeling_encoder.ScratchEncoderForQuestionAnswering",
    }
    _auto_class: ClassVar[str] = "AutoConfig"

    classifier_pooling: Pooling = "first"
    classifier_activation: Literal["tanh", "relu", "gelu"] | None = None
    classifier_norm: bool = False
    classifier_dropout: float | int | None = None
    sparse_prediction: bool = False
    ngram_vocab_size: int = 0
    pooler: bool = False


@strict
class ScratchDecoderConfig(ScratchConfig):
    """A causal decoder (GPT-2, Llama).

    - use_cache: whether a forward pass in evaluation returns keys and values for the next one.
    - lm_head_bias: whether the language-model head adds a bias to each logit.
    """

    model_type = "scratch_decoder"
    base_model_tp_plan: ClassVar[dict[str, str]] = DECODER_PLAN
    auto_classes: ClassVar[dict[str, str]] = {
        "AutoModel": "modeling_decoder.ScratchDecoderModel",
        "AutoModelForCausalLM": "modeling_decoder.ScratchDecoderForCausalLM",
        "AutoModelForSequenceClassification": "modeling_decoder.ScratchDecoderForSequenceClassification",
        "AutoModelForDecision": "modeling_decoder.ScratchDecoderForCausalLM",  # `transformers serve` asks for it first
    }
    # The names of the same sizes in an encoder-decoder.
    attribute_map: ClassVar = {"decoder_layers": "num_hidden_layers", "decoder_vocab_size": "vocab_size"}
    _auto_class: ClassVar[str] = "AutoConfig"

    use_cache: bool = True
    lm_head_bias: bool = False


@strict
class ScratchSeq2SeqConfig(ScratchConfig):
    """An encoder and a decoder that attends to it (Vaswani et al. 2017; BART, Marian).

    - num_hidden_layers: blocks of the encoder; decoder_layers: of the decoder; None: as many.
    - share_encoder_decoder_embeddings: one table; False: two, the decoder's of decoder_vocab_size rows (None: as many).
    - tie_word_embeddings: the language-model head is the decoder's table.
    - decoder_start_token_id: the first token that the decoder reads, before the labels shifted right.
    - use_cache, lm_head_bias: as in ScratchDecoderConfig; sparse_prediction: as in ScratchEncoderConfig, in training.
    """

    model_type = "scratch_seq2seq"
    base_model_tp_plan: ClassVar[dict[str, str]] = DECODER_PLAN  # of each side
    auto_classes: ClassVar[dict[str, str]] = {
        "AutoModel": "modeling_seq2seq.ScratchSeq2SeqModel",
        "AutoModelForSeq2SeqLM": "modeling_seq2seq.ScratchSeq2SeqForConditionalGeneration",
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
        for name in ("sliding_window", "layer_types", "local_rope_theta", "block_type"):
            value = getattr(self, name)
            _require(value in (None, "sequential"), f"{name}={value!r}: not in encoder-decoders; leave it out.")
        super().validate_architecture()
        layers, rows = self.decoder_layers, self.decoder_vocab_size
        sizes = f"decoder_layers={layers}, decoder_vocab_size={rows}"
        _require(layers >= 0 and rows >= 1, f"{sizes}: have to be at least 0 and 1.")
        _require(
            not self.share_encoder_decoder_embeddings or rows == self.vocab_size,
            f"decoder_vocab_size={rows} differs from vocab_size={self.vocab_size}: "
            "set share_encoder_decoder_embeddings=False.",
        )
        for name in ("decoder_start_token_id", "pad_token_id"):
            token = getattr(self, name)
            _require(token is None or 0 <= token < rows, f"{name}={token} is no row of a vocabulary of {rows}.")


__all__ = ["ScratchConfig", "ScratchDecoderConfig", "ScratchEncoderConfig", "ScratchSeq2SeqConfig"]
