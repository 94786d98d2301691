# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Invented people, each in a few sentences, with questions on them. Some facts are asked for and not told.

Each kind of fact has several wordings, of sentences and of questions, and each text several towns and years: no word
alone tells the answer.
"""

import json
import random
from pathlib import Path
from typing import Any

FIRST = ("Anna", "Karl", "Ines", "Jorge", "Mina", "Piet", "Rosa", "Tariq")
LAST = ("Berg", "London", "Ross", "Vila", "Paris", "Okafor", "Stein", "Marsh")
VALUES = {
    "town": ("Porto", "Bergen", "New London", "Vila Nova", "Graz", "Lagos", "Turku", "San Marco"),
    "job": ("baker", "nurse", "bus driver", "teacher", "gardener", "clock maker", "pilot", "tailor"),
    "language": ("Spanish", "Finnish", "Arabic", "Dutch", "Welsh", "Polish"),
    "pet": ("an old dog", "two cats", "a grey parrot", "three hens", "a tortoise"),
    "year": tuple(map(str, range(1950, 2006))),
}
# Sentences, and questions by what they ask for.
FACTS: tuple[tuple[tuple[str, ...], dict[str, tuple[str, ...]]], ...] = (
    (
        ("{name} was born in {town} in {year}.", "{name} was born in {year} in {town}."),
        {
            "town": ("Where was {name} born?", "In which town was {name} born?"),
            "year": ("When was {name} born?", "In which year was {name} born?"),
        },
    ),
    (
        ("{name} works as a {job} in {town}.", "Since {year}, {name} has been a {job} in {town}."),
        {
            "job": ("What is the job of {name}?", "What does {name} work as?"),
            "town": ("Where does {name} work?", "In which town does {name} work?"),
        },
    ),
    (
        ("{name} moved to {town} and learned {language} there.", "In {year}, {name} began to learn {language}."),
        {"language": ("Which language did {name} learn?", "What did {name} learn?")},
    ),
    (
        ("At home, {name} has {pet}.", "{name} bought {pet} in {town}."),
        {"pet": ("Which animal does {name} have?", "Who lives with {name}?")},
    ),
)


def paragraphs(number: int, seed: int) -> list[dict[str, Any]]:
    """Paragraphs as in SQuAD 2.0: two or three sentences, questions on each, and questions without an answer."""
    generator = random.Random(seed)
    return [_paragraph(generator, f"{seed}-{index}") for index in range(number)]


def _paragraph(generator: random.Random, name: str) -> dict[str, Any]:
    person = f"{generator.choice(FIRST)} {generator.choice(LAST)}"
    facts = generator.sample(FACTS, len(FACTS))
    told = generator.randint(2, 3)
    context, entries = "", []
    for number, (sentences, questions) in enumerate(facts):
        values = {kind: generator.choice(each) for kind, each in VALUES.items()}
        sentence = generator.choice(sentences).format(name=person, **values) if number < told else ""
        for kind, wordings in questions.items():
            start = len(context) + sentence.find(values[kind])
            answers = [{"text": values[kind], "answer_start": start}] if sentence else []
            question = generator.choice(wordings).format(name=person)
            entry = {"id": f"{name}-{len(entries)}", "question": question, "answers": answers}
            entries.append({**entry, "is_impossible": not answers})
        context += f"{sentence} " if sentence else ""
    return {"context": context.rstrip(), "qas": entries}


def write_squad(path: Path, number: int, seed: int) -> Path:
    """Write a file in the nested format of SQuAD 2.0."""
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in paragraphs(number, seed))
    article = f'{{"title": "People", "paragraphs": [\n{lines}\n]}}'
    path.write_text(f'{{"version": "v2.0", "data": [{article}]}}\n', encoding="utf-8")
    return path
