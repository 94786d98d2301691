# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Which checks fall short because another one does: one fault has one finding, and what follows from it is below it."""

from collections.abc import Collection

LOADED = "round_trip fresh_process missing_keys auto_classes ties resized_head pipelines"
STEPS = "cache_is_all cache generation generation_is_forward"
LABELLED = "loss problem_types accumulation label_smoothing"
TRAINED = "training_mode gradient_checkpointing accumulation every_gradient half_precision"
PADDED = f"padding_right padding_left mask_gap mask_dtypes cache generation generation_is_forward {TRAINED}"
ANSWERS = (
    f"batch_equals_single {PADDED} {STEPS} one_graph attention_backends embeddings_as_inputs default_ids last_logits "
    "tuples recording_changes_nothing labels_change_nothing stateless leaves_inputs causality round_trip "
    "hidden_states encoder_outputs"
)
# A check: those that can follow from it. Of several that explain one, the first counts; none explains an earlier one.
ROOTS = {
    "repeats": f"{ANSWERS} device shortest_and_longest attention_weights logits_are_scores every_gradient "
    f"evaluation_outputs {LABELLED} resized_embeddings",
    "config_fields": f"{LOADED} {ANSWERS} base_weights device every_gradient resized_embeddings attention_weights",
    "registered": f"{LOADED} device {TRAINED}",
    "own_weights": f"{LOADED} {STEPS} {TRAINED} base_weights attention_weights hidden_states",
    "base_weights": "ties resized_embeddings embeddings_as_inputs every_gradient generation leaves_inputs loss",
    "device": "half_precision one_graph round_trip",
    "ties": f"{LOADED} resized_embeddings",
    "stateless": f"{ANSWERS} {TRAINED} loss problem_types",
    "round_trip": f"{LOADED} half_precision",
    "missing_keys": "resized_head",
    "shortest_and_longest": "batch_equals_single padding_right padding_left tuples accumulation problem_types "
    "half_precision",
    "logits_are_scores": "loss problem_types accumulation labels_change_nothing",
    "causality": f"padding_right padding_left {STEPS} mask_gap labels_alone",
    "mask_dtypes": "one_graph cache_is_all",
    "batch_equals_single": f"{PADDED} accumulation attention_weights",
    "padding_right": f"{PADDED} attention_backends",
    "padding_left": PADDED,
    "attention_backends": "half_precision",
    "hidden_states": "tuples recording_changes_nothing",
    "last_logits": STEPS,
    "encoder_outputs": STEPS,
    "cache_is_all": STEPS,
    "cache": f"{STEPS} evaluation_outputs one_graph",
    "generation_is_forward": "generation",
    "labels_change_nothing": f"{LABELLED} tuples resized_embeddings",
    "resized_embeddings": "embeddings_as_inputs generation leaves_inputs loss",
    "embeddings_as_inputs": "generation leaves_inputs loss",
    "leaves_inputs": f"{LABELLED} {TRAINED} one_graph",
    "labels_alone": "loss",
    "loss": LABELLED,
    "problem_types": "accumulation",
    "resized_head": "accumulation problem_types",
    "training_mode": "gradient_checkpointing every_gradient",
}


def root_of(name: str, fallen: Collection[str]) -> str:
    """Return the check from whose fault this one may follow, of those that fall short; itself if there is none."""
    for root, following in ROOTS.items():
        if root == name:  # what is later follows from it
            break
        if root in fallen and name in following.split():
            return root_of(root, fallen)
    return name
