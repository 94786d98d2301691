# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""All checks, in the order in which they run: files, loading, tokenizer, forward pass, training, use."""

from . import files, invariances, loading, losses, tokens_and_labels, use
from .findings import Check

ISSUES = "https://github.com/huggingface/transformers/issues"
POSITIONS = "Count positions from attention_mask: `(attention_mask.cumsum(-1) - 1).clamp(min=0)`."

CHECKS = (
    Check(
        "safe_weights", "The weights are in safetensors", files.safe_weights,
        "Save it with `save_pretrained` of transformers 5, and delete the other files.",
        "https://huggingface.co/docs/safetensors",
    ),
    Check(
        "code_is_there", "The code that the folder names is in it", files.code_is_there,
        "Call `register_for_auto_class` of each class before `save_pretrained`.", f"{ISSUES}/29714",
    ),
    Check(
        "flat_code", "The folder's code consists of files beside each other", files.flat_code,
        "Write `from .file import name`, and keep the files in one folder.", f"{ISSUES}/29251",
    ),
    Check(
        "public_names", "The folder's code uses public names of torch and transformers", files.public_names,
        "Use the public function, or copy the few lines that are needed.", f"{ISSUES}/43498",
    ),
    Check(
        "known_version", "This version of transformers is not older than the folder, and has its major version",
        files.known_version,
        "Load it with the version that config.json names, and compare the answers.", f"{ISSUES}/46620",
    ),
    Check(
        "round_trip", "A saved model loads as it was, bit for bit", loading.round_trip,
        "Register every weight as a parameter or a buffer; let `_init_weights` use torch.nn.init only; end `__init__` "
        "with `post_init()`.", f"{ISSUES}/46620",
    ),
    Check(
        "fresh_process", "A fresh process loads the same tensors", loading.fresh_process,
        "Register the class, and compute buffers that are not saved in `forward`.", f"{ISSUES}/24737",
    ),
    Check(
        "auto_classes", "The Auto classes load it", loading.auto_classes,
        "Register the config and each class with its Auto class, or name all of them in config.auto_map.",
        f"{ISSUES}/15224",
    ),
    Check(
        "missing_keys", "A key that is missing is reported, and changes no other", loading.missing_keys,
        "Initialise in `_init_weights`, by functions of torch.nn.init, which keep what was loaded.", f"{ISSUES}/46620",
    ),
    Check(
        "ties", "Tied weights stay tied", loading.ties,
        "Declare `_tied_weights_keys = {tied: source}`.", f"{ISSUES}/41038",
    ),
    Check(
        "meta_device", "It can be made without memory and then loaded", loading.meta_device,
        "Keep buffers out of the model, or create them in `_init_weights` also; compute nothing from weights in "
        "`__init__`.",
    ),
    Check(
        "resized_embeddings", "The vocabulary can grow", loading.resized_embeddings,
        "Define `get_input_embeddings` and `get_output_embeddings`, and read config.vocab_size.",
    ),
    Check(
        "resized_head", "The head can be replaced by one of another size", loading.resized_head,
        "Read config.num_labels where the head is made, and initialise it in `_init_weights`.",
    ),
    Check(
        "padding_token", "There is a padding token", tokens_and_labels.padding_token,
        "Set tokenizer.pad_token and config.pad_token_id.", f"{ISSUES}/2210",
    ),
    Check(
        "special_tokens", "Config and tokenizer name the same special tokens", tokens_and_labels.special_tokens,
        "Set the ids of the config from the tokenizer, in one place.", f"{ISSUES}/2210",
    ),
    Check(
        "finite_length", "The tokenizer truncates to what the model reads", tokens_and_labels.finite_length,
        "Set tokenizer.model_max_length to config.max_position_embeddings.",
    ),
    Check(
        "label_names", "The labels have names", tokens_and_labels.label_names,
        "Set config.id2label and config.label2id from the data.", f"{ISSUES}/10449",
    ),
    Check(
        "words_and_texts", "Words have the tokens that they have in a text", tokens_and_labels.words_and_texts,
        "Set add_prefix_space=True for byte-level BPE.",
    ),
    Check(
        "repeats", "Evaluation repeats", invariances.repeats,
        "Draw random numbers in training mode only (`if self.training`).",
    ),
    Check(
        "batch_equals_single", "A text has the same answer in a batch and alone", invariances.batch_equals_single,
        "Let no operation mix the rows of a batch, such as a norm over the batch.",
    ),
    Check(
        "padding_right", "Padding on the right changes nothing", invariances.padding_right,
        "Add the mask to the scores of each attention, and leave padding out of what is pooled.", f"{ISSUES}/26569",
    ),
    Check(
        "padding_left", "Padding on the left changes nothing", invariances.padding_left, POSITIONS, f"{ISSUES}/29419",
    ),
    Check(
        "causality", "No token sees a later one", invariances.causality,
        "Make the mask by `transformers.masking_utils.create_causal_mask` for each backend.", f"{ISSUES}/48748",
    ),
    Check(
        "sees_both_sides", "A token sees those after it", invariances.sees_both_sides,
        "Make the mask by `transformers.masking_utils.create_bidirectional_mask`.",
    ),
    Check(
        "cache", "With a cache, a token has the same answer as without", invariances.cache,
        "Use the classes of `transformers.cache_utils`, and count positions from the cache's length.",
        f"{ISSUES}/43679",
    ),
    Check(
        "attention_backends", "Eager and fused attention agree", invariances.attention_backends,
        "Hand scale, mask and biases to each backend, and set `_supports_sdpa` only if they agree.",
    ),
    Check(
        "attention_weights", "Attention weights can be had", invariances.attention_weights,
        "Return (output, weights) from attention, and declare `_can_record_outputs`.",
    ),
    Check(
        "hidden_states", "Hidden states can be had", invariances.hidden_states, "Declare `_can_record_outputs`.",
    ),
    Check(
        "bfloat16", "It computes in bfloat16", invariances.bfloat16,
        "Make constants in the dtype of what they meet; use torch.finfo(dtype).min for masks.",
    ),
    Check(
        "loss", "The loss is that of its logits and labels", losses.loss,
        "Causal models shift labels by one; encoder-decoders do not; -100 is ignored.", f"{ISSUES}/17960",
    ),
    Check(
        "problem_types", "config.problem_type chooses the loss", losses.problem_types,
        "Use squared error, cross-entropy and binary cross-entropy for the three types.",
    ),
    Check(
        "every_gradient", "Every parameter gets a gradient", losses.every_gradient,
        "Leave out the parts that a head does not use: distributed training waits for their gradients.",
        "https://github.com/pytorch/pytorch/issues/43259",
    ),
    Check(
        "accumulation", "Accumulated gradients are those of one large batch", losses.accumulation,
        "Divide the summed loss by num_items_in_batch, or set `accepts_loss_kwargs = False`.", f"{ISSUES}/47688",
    ),
    Check(
        "label_smoothing", "Label smoothing shifts the labels", losses.label_smoothing,
        "Add the class to MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, or give Trainer a compute_loss_func.", f"{ISSUES}/17960",
    ),
    Check(
        "gradient_checkpointing", "Gradient checkpointing changes no gradient", losses.gradient_checkpointing,
        "Derive the blocks from GradientCheckpointingLayer, or set supports_gradient_checkpointing = False.",
    ),
    Check(
        "evaluation_outputs", "Evaluation gathers logits alone", losses.evaluation_outputs,
        "Name the other outputs in config.keys_to_ignore_at_inference.", f"{ISSUES}/8476",
    ),
    Check(
        "named_arguments", "`forward` names its inputs", losses.named_arguments,
        "Name every input; set tokenizer.model_input_names to what the model takes.", f"{ISSUES}/29458",
    ),
    Check(
        "generation", "Greedy search writes the same with and without a cache", use.generation,
        "Use the classes of `transformers.cache_utils`; override nothing of prepare_inputs_for_generation.",
        f"{ISSUES}/43280",
    ),
    Check(
        "generation_padded", "A prompt is continued in a batch as it is alone", use.generation_padded,
        POSITIONS, f"{ISSUES}/29419",
    ),
    Check(
        "beam_search", "Beam search writes the same with and without a cache", use.beam_search,
        "Use the classes of `transformers.cache_utils`, which reorder their rows.", f"{ISSUES}/43280",
    ),
    Check(
        "pipelines", "The pipeline of its task takes it", use.pipelines,
        "Register the class with its Auto class.", "https://github.com/IBM/fastfit/issues/15",
    ),
    Check("export", "torch.export takes it", use.export, "Let no Python value depend on what tensors hold."),
    Check(
        "one_graph", "torch.compile sees one graph", use.one_graph,
        "Let no Python value depend on what tensors hold.",
    ),
)  # fmt: skip
