# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""How a saved model is loaded, as programs that run as they stand in its card."""

import json
import shlex
from typing import NamedTuple


class Use(NamedTuple):
    """What a kind of model is for: the Hub's tag, a pipeline, the class to load it with, and what answers there."""

    tag: str | None
    pipeline: str
    auto_class: str
    answer: str


PROBABILITIES = 'model(**tokenizer(text, truncation=True, return_tensors="pt")).logits.softmax(-1)'
LIKELY_TOKENS = 'tokenizer.decode(model(**tokenizer(text, return_tensors="pt")).logits[0].argmax(-1))'
CONTINUED = 'tokenizer.decode(model.generate(**tokenizer(text, return_tensors="pt"))[0], skip_special_tokens=True)'
REWRITTEN = CONTINUED.replace("text, ", "text, truncation=True, ")

USES = {
    "train_classifier": Use(
        "text-classification", "text-classification", "AutoModelForSequenceClassification", PROBABILITIES
    ),
    "train_translation": Use("translation", "seq2seq-translation", "AutoModelForSeq2SeqLM", REWRITTEN),
    "mlm": Use("fill-mask", "fill-mask", "AutoModelForMaskedLM", LIKELY_TOKENS),
    "clm": Use("text-generation", "text-generation", "AutoModelForCausalLM", CONTINUED),
    "denoising": Use(None, "seq2seq-generation", "AutoModelForSeq2SeqLM", REWRITTEN),
}


class Snippets(NamedTuple):
    """Programs for one model. text: what they ask it; target_folder: of the tokenizer of its answers, if apart."""

    use: Use
    name: str
    text: str
    target_folder: str | None = None

    def of_remote_code(self) -> str:
        """A model that brings its code along, and that the package knows, too."""
        trust = "trust_remote_code=True"
        return "\n\n".join(
            [
                f"In a pipeline, with the code that the model brings along; {self._where()}:",
                self.pipeline(trust),
                "The model itself, with that code:",
                self.model(trust),
                "The model itself where modeling-scratch is installed, without the code that it brings:",
                self.model("", "import modeling_scratch  # registers its classes\n"),
                "There, too, to see whether what was loaded answers as it did where it was trained:",
                f"```bash\npython -m modeling_scratch.verify {shlex.quote(self.name)}\n```",
            ]
        )

    def of_native_code(self) -> str:
        """A model of a class that transformers has."""
        ours = "import modeling_scratch  # registers the pipeline\n" if self.use.pipeline.startswith("seq2seq") else ""
        return "\n\n".join(
            [f"In a pipeline; {self._where()}:", self.pipeline("", ours), "The model itself:", self.model("")]
        )

    def _where(self) -> str:
        return f"{_quoted(self.name)} is the path of this folder, or its name on the Hub"

    def pipeline(self, trust: str, imports: str = "") -> str:
        arguments = ", ".join(filter(None, [f"model={_quoted(self.name)}", trust]))
        lines = [
            "from transformers import pipeline",
            *_lines_of(imports),
            "",
            f"pipe = pipeline({_quoted(self.use.pipeline)}, {arguments})",
            f"print(pipe({self._question('pipe.tokenizer')}))",
        ]
        return _program(lines)

    def model(self, trust: str, imports: str = "") -> str:
        arguments = ", ".join(filter(None, [_quoted(self.name), trust]))
        answer, target = self.use.answer, []
        if self.target_folder:
            target = [f"target = AutoTokenizer.from_pretrained({arguments}, subfolder={_quoted(self.target_folder)})"]
            answer = answer.replace("tokenizer.decode", "target.decode", 1)
        lines = [
            f"from transformers import {self.use.auto_class}, AutoTokenizer",
            *_lines_of(imports),
            "",
            f"tokenizer = AutoTokenizer.from_pretrained({arguments})",
            *target,
            f"model = {self.use.auto_class}.from_pretrained({arguments})",
            f"text = {self._question('tokenizer')}",
            f"print({answer})",
        ]
        return _program(lines)

    def _question(self, tokenizer: str) -> str:
        """As Python: of a model that fills masks, with one at its end."""
        mask = f' + " " + {tokenizer}.mask_token' if self.use.pipeline == "fill-mask" else ""
        return _quoted(self.text) + mask


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lines_of(imports: str) -> list[str]:
    return ["", *imports.splitlines()] if imports else []


def _program(lines: list[str]) -> str:
    return "\n".join(["```python", *lines, "```"])
