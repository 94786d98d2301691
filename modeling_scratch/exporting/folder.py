# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What lies beside an exported file: tokenizer, config, and a README with a program."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

from ..bridges.older_names import add_older_names
from ..pipelines import TARGET_FOLDER
from ..utils.files import write_json
from ..utils.markdown import table
from .formats import longest_text
from .graphs import Graph, Port

OF_CODE = ("auto_map", "custom_pipelines")  # of config.json: names of files that an exported folder lacks

OPEN = {
    "onnx": """from onnxruntime import InferenceSession


def load(name):
    session = InferenceSession(f"{name}.onnx")
    return lambda inputs: session.run(None, inputs)
""",
    "openvino": """from openvino import Core


def load(name):
    compiled = Core().compile_model(f"{name}.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda inputs: list(compiled(inputs).values())
""",
    "executorch": """import torch
from executorch.runtime import Runtime


def load(name):
    method = Runtime.get().load_program(f"{name}.pte").load_method("forward")
    return lambda inputs: [each.numpy() for each in method.execute([*map(torch.from_numpy, inputs.values())])]
""",
}
READ = Template("""import numpy as np
from tokenizers import Tokenizer
$open

ids = np.array([Tokenizer.from_file("tokenizer.json").encode("$text").ids])
outputs = load("model")({"input_ids": ids, "attention_mask": np.ones_like(ids)$types})
print(outputs[0].tolist())
""")
CONTINUE = Template("""import numpy as np
from tokenizers import Tokenizer
$open

tokenizer, run = Tokenizer.from_file("tokenizer.json"), load("model")
names = [f"{layer}.{kind}" for layer in range($layers) for kind in ("key", "value")]
cache = {f"past_key_values.{name}": np.zeros((1, $heads, 0, $size), np.float32) for name in names}
text = new = [token for token in tokenizer.encode("$text").ids if token not in $ends]
for _ in range(20):
    mask = np.ones((1, len(text)), np.int64)
    logits, *states = run({"input_ids": np.array([new]), "attention_mask": mask, **cache})
    cache = dict(zip(cache, states))
    new = [int(logits[0, -1].argmax())]
    if new[0] in $ends:
        break
    text = text + new
print(tokenizer.decode(text))
""")
TRANSLATE = Template("""import numpy as np
from tokenizers import Tokenizer
$open

ids = np.array([Tokenizer.from_file("tokenizer.json").encode("$text").ids])
mask, run = np.ones_like(ids), load("decoder")
kinds = [f"{part}.{kind}" for part in ("encoder", "decoder") for kind in ("key", "value")]
names = [f"{layer}.{kind}" for half in (kinds[:2], kinds[2:]) for layer in range($layers) for kind in half]
_, *states = load("encoder")({"input_ids": ids, "attention_mask": mask})
fixed = {f"past_key_values.{name}": each for name, each in zip(names, states)}
cache = {f"past_key_values.{name}": np.zeros((1, $heads, 0, $size), np.float32) for name in names[len(states) :]}
text = [$start]
for _ in range(20):
    logits, *states = run({"input_ids": np.array([text[-1:]]), "encoder_attention_mask": mask, **cache, **fixed})
    cache = dict(zip(cache, states))
    text.append(int(logits[0, -1].argmax()))
    if text[-1] in $ends:
        break
print(Tokenizer.from_file("$target").decode(text))
""")


def write_companions(
    model: Any, tokenizers: Sequence[Any], graphs: Sequence[Graph], folder: Path, kind: str, checks: Sequence[str]
) -> None:
    """Write all but the graphs. tokenizers: of the source and the target; checks: lines that say what was compared."""
    config = model.config
    values = {name: value for name, value in json.loads(config.to_json_string()).items() if name not in OF_CODE}
    write_json(folder / "config.json", {"architectures": [type(model).__name__], **values})
    if model.can_generate():
        model.generation_config.save_pretrained(folder)
    source, target = tokenizers
    source.save_pretrained(folder)
    if target is not source:
        target.save_pretrained(folder / TARGET_FOLDER)
    add_older_names(folder)
    text = "".join(_readme(model, target is source, graphs, kind, checks))
    (folder / "README.md").write_text(text, encoding="utf-8")


def _readme(model: Any, is_shared: bool, graphs: Sequence[Graph], kind: str, checks: Iterable[str]) -> Iterable[str]:
    yield f"# {type(model).__name__} for {kind}\n\n"
    yield "Exported by `modeling-scratch export`. Weights and outputs are float32. A mask is 1 at real tokens.\n"
    if limit := longest_text(kind, model.config):
        yield f"A text has at most {limit:,} tokens.\n"
    for graph in graphs:
        yield f"\n## {graph.name}\n\n"
        rows = [(way, *_row(port)) for way, ports in (("in", graph.inputs), ("out", graph.outputs)) for port in ports]
        yield table(("", "tensor", "type", "shape"), rows) + "\n"
    if any(graph.has_cache for graph in graphs):
        yield "\n`total` is `past + length`. The output `present.X` is the next input `past_key_values.X`.\n"
    yield "\nThe largest differences from PyTorch, relative to the largest output, over batches of several sizes with "
    yield "padding:\n\n"
    yield from (f"- {line}\n" for line in checks)
    yield f"\n## In Python\n\n```python\n{_program(model, is_shared, kind)}```\n"


def _row(port: Port) -> tuple[str, str, str]:
    return port.name, "int64" if port.rows else "float32", ", ".join(map(str, port.axes))


def _program(model: Any, is_shared: bool, kind: str) -> str:
    """Return a program that answers a text, or that writes one greedily."""
    config, opened = model.config, OPEN[kind]
    if not model.can_generate():
        types = ', "token_type_ids": np.zeros_like(ids)' if config.type_vocab_size and not model.is_causal else ""
        return READ.substitute(open=opened, text="A text.", types=types)
    end = model.generation_config.eos_token_id
    sizes = {
        "heads": config.num_key_value_heads,
        "size": config.head_dim,
        "ends": end if isinstance(end, list) else [end],
    }
    if not config.is_encoder_decoder:
        return CONTINUE.substitute(open=opened, text="A text", layers=config.num_hidden_layers, **sizes)
    target = "tokenizer.json" if is_shared else f"{TARGET_FOLDER}/tokenizer.json"
    return TRANSLATE.substitute(
        open=opened,
        text="A text.",
        layers=config.decoder_layers,
        start=config.decoder_start_token_id,
        target=target,
        **sizes,
    )
