# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What is said to a reader of an explanation, in the two languages of the page."""

from typing import Any

SENTENCES = {
    # What was changed in a text.
    "option": ("--max_tokens", "--max_tokens"),
    "model": ("the limit of the model", "die Grenze des Modells"),
    "truncated": ("the text is truncated to {} tokens ({})", "der Text ist auf {} Token gekürzt ({})"),
    "target truncated": ("the target is truncated to {} tokens ({})", "das Ziel ist auf {} Token gekürzt ({})"),
    "no end": (
        "the output has no end within {} tokens ({})",
        "die Ausgabe hat nach {} Token kein Ende ({})",
    ),
    "unseen": ("the model has not seen: {}", "das Modell kennt nicht: {}"),
    "masked": ("the text has no {}: it stands for {!r} here", "der Text hat kein {}: hier steht es für {!r}"),
    # What is explained.
    "label": ("log-odds of {}", "Log-Odds von {}"),
    "tag": ("log-odds of {} at token {}", "Log-Odds von {} bei Token {}"),
    "next token": ("log-odds of {} as the next token", "Log-Odds von {} als nächstem Token"),
    "logit": ("logit of {} less the mean of the others", "Logit von {} abzüglich des Mittels der anderen"),
    "number": ("number of {}", "Zahl von {}"),
    "output": (
        "mean log-probability of the output's tokens",
        "mittlere Log-Wahrscheinlichkeit der Token der Ausgabe",
    ),
    # The labels of a training step.
    "next tokens": ("the text's own next tokens", "die nächsten Token des Textes"),
    "the output": ("the output", "die Ausgabe"),
    "own tags": ("the model's own tags", "die eigenen Tags des Modells"),
    # What is left out, and why.
    "no answer": (
        "{} has no single answer: no attributions and no training step",
        "{} hat keine einzelne Antwort: keine Beiträge der Wörter und kein Trainingsschritt",
    ),
    "no step": (
        "no training step: the model has more than {:,} parameters",
        "kein Trainingsschritt: Das Modell hat mehr als {:,} Parameter",
    ),
    "no error": (
        "the training step changes nothing: the model's own answer has no error; give --label",
        "der Trainingsschritt ändert nichts: Die Antwort des Modells hat keinen Fehler; --label gibt eine andere vor",
    ),
    "no sum": (
        "what adds up to the answer is left out: the parts miss it by {:.2g}",
        "woraus sich die Antwort zusammensetzt, fehlt: Die Teile verfehlen sie um {:.2g}",
    ),
    "inexact": (
        "integrated gradients are not exact: in {} steps they add up to {:.4g} of {:.4g}",
        "integrierte Gradienten sind nicht genau: In {} Schritten ergeben sie {:.4g} von {:.4g}",
    ),
    "baseline": (
        "integrated gradients explain {:.2f} of the score of {:.2f}: padding in place of the text has {:.2f} already",
        "integrierte Gradienten erklären {:.2f} des Wertes von {:.2f}: Padding an Stelle des Textes hat schon {:.2f}",
    ),
    "slow tokenizer": (
        "the tokenizer is a slow one, which tells neither its steps nor positions in the text",
        "der Tokenizer ist ein langsamer, der weder seine Schritte noch Stellen im Text nennt",
    ),
    "no pieces": (
        "the steps of the tokenizer are left out: a replay of its file gives other tokens",
        "die Schritte des Tokenizers fehlen: Eine Wiederholung nach seiner Datei gibt andere Token",
    ),
    "thinned": (
        "{:,} numbers: tensors are shown as 256 levels, of long axes every few entries",
        "{:,} Zahlen: Tensoren haben hier 256 Stufen, von langen Achsen stehen nur einige Einträge da",
    ),
}


class Note(str):
    """A sentence in English, which has its German beside it."""

    german: str

    def __new__(cls, english: str, german: str) -> "Note":
        note = super().__new__(cls, english)
        note.german = german
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # for copies
        return str(self), self.german


def note(name: str, *values: Any) -> Note:
    """Return a sentence of the table with these values, of which notes are in the language of the sentence."""
    english, german = SENTENCES[name]
    return Note(english.format(*values), german.format(*(getattr(value, "german", value) for value in values)))
