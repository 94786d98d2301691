# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Names of version 4 of Transformers in a native folder, which other libraries still read, beside those of version 5.

Version 4 refuses a tokenizer of another class, and takes the defaults for rotary positions that it does not find.
"""

import json
from pathlib import Path
from typing import Any

from ..utils.files import write_json

TOKENIZERS = {"TokenizersBackend": "PreTrainedTokenizerFast"}
# Model type: what layers without and with a window call their rotary base.
BASES = {"gemma3_text": ("rope_theta", "rope_local_base_freq"), "modernbert": ("global_rope_theta", "local_rope_theta")}


def add_older_names(folder: Path) -> None:
    """Change the config and the tokenizer of a saved folder; both versions then load the same."""
    for name, change in (("config.json", _with_positions), ("tokenizer_config.json", _tokenizer)):
        for path in folder.rglob(name):  # a target tokenizer has a folder of its own
            write_json(path, change(json.loads(path.read_bytes())))


def _tokenizer(config: dict[str, Any]) -> dict[str, Any]:
    extra = config.pop("extra_special_tokens", None)
    if isinstance(extra, list):
        config["additional_special_tokens"] = extra
    elif extra is not None:  # by name, as version 4 has them
        config["extra_special_tokens"] = extra
    name = config.get("tokenizer_class")
    return {**config, "tokenizer_class": TOKENIZERS.get(name, name)}


def _with_positions(config: dict[str, Any]) -> dict[str, Any]:
    rope = config.get("rope_parameters")
    if not rope or config["model_type"].startswith("scratch_"):  # version 4 has no model of ours
        return config
    whole, local = BASES.get(config["model_type"], ("rope_theta", None))
    if local is not None:
        config[local] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
        if config["model_type"] == "modernbert":
            config.update(_every_n_layers(config["layer_types"]))
    config[whole] = rope["rope_theta"]
    if (factor := rope.get("partial_rotary_factor")) is not None:
        config["partial_rotary_factor"] = factor
    if rope["rope_type"] != "default":
        config["rope_scaling"] = {name: value for name, value in rope.items() if name != "rope_theta"}
    return config


def _every_n_layers(layer_types: list[str]) -> dict[str, int]:
    """How version 4 tells layers without a window, if they are every nth."""
    whole = [kind == "full_attention" for kind in layer_types]
    for n in range(1, len(whole) + 1):
        if whole == [index % n == 0 for index in range(len(whole))]:
            return {"global_attn_every_n_layers": n}
    return {}
