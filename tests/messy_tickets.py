# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""A table of support tickets as they come: blanks, emoji, repeats, typos in labels, gaps and conflicts.

python tests/messy_tickets.py tickets.csv
"""

import csv
import random
from argparse import ArgumentParser
from pathlib import Path

WORDS = {
    "billing": ["invoice", "charged", "refund", "payment", "receipt"],
    "login": ["password", "account", "locked", "sign-in", "code"],
    "shipping": ["parcel", "delivery", "late", "courier", "address"],
    "Bücher": ["Seite", "Einband", "Buch", "Kapitel", "Ausgabe"],
}
TYPOS = {
    "billing": ["Billing", "Biling", "billling", " billing "],
    "login": ["log in", "Login", "loign"],
    "shipping": ["Shipping", "shiping"],
    "Bücher": ["bücher", "Bu\u0308cher"],
}
SLIPS = {"Biling": "billing", "billling": "billing", "loign": "login", "shiping": "shipping"}  # of letters
FILLERS = ["please", "help", "again", "my", "the", "since", "Monday", "😡", "🙏🏽", "doesn't;", "work,", '"now"', "…"]
JOINTS = [" ", "  ", "\t", "\n", "\u00a0"]


def ticket(rng: random.Random, label: str) -> str:
    """A text with at least two words of its label; one in a hundred is very long."""
    length = 900 if rng.random() < 0.01 else rng.randint(2, 14)
    words = [*rng.choices(WORDS[label], k=2), *rng.choices(WORDS[label] + FILLERS, k=length)]
    rng.shuffle(words)
    return "".join(word + rng.choices(JOINTS, [30, 1, 1, 1, 1])[0] for word in words)


def messy(rng: random.Random, text: str, label: str) -> tuple[str, str]:
    """The text and its label as somebody has typed them."""
    draw = rng.random()
    if draw < 0.02:
        return rng.choice(["", " ", "\u200b"]), label
    if draw < 0.04:
        return text, ""
    if draw < 0.07:
        return text, rng.choice(TYPOS[label])
    if draw < 0.09:
        return f"  {text.upper()} ", label
    return text, label


def write_tickets(path: Path, rows: int = 1_500, seed: int = 0) -> Path:
    """Write a table with semicolons. Some texts are repeated, some of them with another label."""
    rng = random.Random(seed)
    labels = rng.choices(list(WORDS), [8, 6, 4, 2], k=rows)
    tickets = [(ticket(rng, label), label) for label in labels]
    for row in range(50, rows, 25):
        text, label = tickets[row - rng.randint(1, 50)]
        tickets[row] = text, rng.choice([label, label, *WORDS])
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, delimiter=";")
        writer.writerow(["ticket_id", "date", "text", "label"])
        for row, (text, label) in enumerate(tickets, 1):
            writer.writerow([f"T-{row:05}", f"2024-{row % 12 + 1:02}-{row % 28 + 1:02}", *messy(rng, text, label)])
    return path


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path", type=Path, help="The CSV file to write.")
    write_tickets(parser.parse_args().path)
