# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write texts that small models learn in minutes: sentence pairs for a translator, film reviews for a writer.

    python docs/examples/live_texts.py FOLDER

FOLDER gets train.en, train.de, test.en, test.de and reviews.txt. The German of a pair asks for what attention is good
at: the article and the adjective agree with a noun's gender and case, and the verb goes second, or to the end.
No pair is in both splits, and no English sentence twice. A line of reviews.txt is three reviews of one opinion.
"""

import random
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from modeling_scratch.data.demo_reviews import generate

PAIRS = {"train": 24_000, "test": 500}
REVIEWS, REVIEWS_A_LINE = 36_000, 3

# English/German, and the gender of German: m, f or n. `_` stands for a blank.
PERSONS = """
man/Mann/m woman/Frau/f child/Kind/n girl/Mädchen/n boy/Junge/m teacher/Lehrer/m doctor/Ärztin/f friend/Freund/m
sister/Schwester/f brother/Bruder/m mother/Mutter/f father/Vater/m neighbour/Nachbarin/f student/Schülerin/f
dog/Hund/m cat/Katze/f horse/Pferd/n bird/Vogel/m
"""
TEXTS = "book/Buch/n letter/Brief/m newspaper/Zeitung/f poem/Gedicht/n story/Geschichte/f"
GOODS = """
car/Auto/n bicycle/Fahrrad/n table/Tisch/m lamp/Lampe/f key/Schlüssel/m cup/Tasse/f apple/Apfel/m bread/Brot/n
flower/Blume/f picture/Bild/n coat/Mantel/m bag/Tasche/f
"""
PLACES = "house/Haus/n garden/Garten/m door/Tür/f city/Stadt/f street/Straße/f village/Dorf/n river/Fluss/m"
NAMES = "Anna Paul Maria Felix"
ADJECTIVES = """
old/alt small/klein big/groß good/gut beautiful/schön famous/berühmt strange/seltsam quiet/ruhig young/jung
friendly/freundlich tired/müde
"""
OF_THINGS = """
old/alt small/klein big/groß good/gut beautiful/schön famous/berühmt strange/seltsam new/neu red/rot white/weiß
long/lang
"""
# English: present, past, participle, infinitive. German: present, participle, infinitive.
VERBS = """
sees/saw/seen/see/sieht/gesehen/sehen finds/found/found/find/findet/gefunden/finden
loves/loved/loved/love/liebt/geliebt/lieben looks_for/looked_for/looked_for/look_for/sucht/gesucht/suchen
paints/painted/painted/paint/malt/gemalt/malen knows/knew/known/know/kennt/gekannt/kennen
forgets/forgot/forgotten/forget/vergisst/vergessen/vergessen
"""
OF_READING = """
reads/read/read/read/liest/gelesen/lesen writes/wrote/written/write/schreibt/geschrieben/schreiben
"""
OF_TRADE = """
buys/bought/bought/buy/kauft/gekauft/kaufen sells/sold/sold/sell/verkauft/verkauft/verkaufen
takes/took/taken/take/nimmt/genommen/nehmen brings/brought/brought/bring/bringt/gebracht/bringen
"""
OBJECTS = {VERBS: TEXTS + GOODS + PLACES, OF_READING: TEXTS, OF_TRADE: TEXTS + GOODS}
MODALS = "can/kann must/muss wants_to/will may/darf"
TIMES = "today/heute sometimes/manchmal often/oft here/hier"
LINKS = "because/weil although/obwohl while/während"
TELLS = "says/sagt thinks/denkt believes/glaubt hopes/hofft"

# German in the cases of subject (0) and object (1): by gender, endings of articles and of the adjectives behind them.
THE = {"m": ("der", "den"), "f": ("die", "die"), "n": ("das", "das")}
AFTER_THE = {"m": ("e", "en"), "f": ("e", "e"), "n": ("e", "e")}
STEMS = {"a": "ein", "my": "mein", "her": "ihr", "his": "sein"}
EIN = {"m": ("", "en"), "f": ("e", "e"), "n": ("", "")}
AFTER_EIN = {"m": ("er", "en"), "f": ("e", "e"), "n": ("es", "es")}
PRONOUNS = (("he", "er"), ("she", "sie")), (("him", "ihn"), ("her", "sie"))


class Pair(NamedTuple):
    """A phrase in English and in German."""

    en: str
    de: str


class Clause(NamedTuple):
    """A clause by its parts: the subject, the verb that changes its place, the rest, and what stands at the end."""

    en: str
    asked: str  # the English question
    subject: str
    verb: str
    rest: str
    last: str

    @property
    def statement(self) -> str:
        return " ".join(filter(None, (self.subject, self.verb, self.rest, self.last)))

    @property
    def turned(self) -> str:
        """With the verb before the subject."""
        return " ".join(filter(None, (self.verb, self.subject, self.rest, self.last)))

    @property
    def subordinate(self) -> str:
        """With the verb at the end."""
        return " ".join(filter(None, (self.subject, self.rest, self.last, self.verb)))


class Translated:
    """Draws sentences of a small grammar, each with its translation."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def word(self, table: str) -> list[str]:
        return self.random.choice(table.split()).replace("_", " ").split("/")

    def one_in(self, count: int) -> bool:
        return self.random.randrange(count) == 0

    def person(self, case: int) -> Pair:
        """case: 0 of a subject, 1 of an object."""
        if self.one_in(6):
            return Pair(*self.random.choice(PRONOUNS[case]))
        if self.one_in(6):
            return Pair(*self.word(NAMES) * 2)
        return self.phrase(PERSONS, ADJECTIVES, case)

    def phrase(self, nouns: str, adjectives: str, case: int) -> Pair:
        """A noun with an article and, in half of the cases, an adjective."""
        noun, nomen, gender = self.word(nouns)
        if case and gender == "m" and nomen.endswith("e"):  # der Junge, den Jungen
            nomen += "n"
        article = self.random.choice(("the", "the", "the", *STEMS))
        endings, artikel = AFTER_THE, THE[gender][case]
        if article != "the":
            endings, artikel = AFTER_EIN, STEMS[article] + EIN[gender][case]
        words, worte = [noun], [artikel, nomen]
        if self.one_in(2):
            adjective, adjektiv = self.word(adjectives)
            words, worte = [adjective, noun], [artikel, adjektiv.removesuffix("e") + endings[gender][case], nomen]
        if article == "a" and words[0][0] in "aeiou":
            article = "an"
        return Pair(" ".join((article, *words)), " ".join(worte))

    def clause(self) -> Clause:
        verbs = self.random.choice((VERBS, VERBS, OF_READING, OF_TRADE))
        is_person = verbs is VERBS and self.one_in(2)
        who = self.person(0)
        what = self.person(1) if is_person else self.phrase(OBJECTS[verbs], OF_THINGS, 1)
        present, past, participle, infinitive, sieht, gesehen, sehen = self.word(verbs)
        modal, kann = self.word(MODALS)
        asked = f"does {who.en} want to" if modal == "wants to" else f"{modal} {who.en}"
        # "nicht" follows the object, and "ein" becomes "kein".
        nothing, nicht = (f"k{what.de}", "") if what.de.startswith("ein") else (what.de, "nicht")
        not_seen = f"{nicht} {gesehen}".strip()
        en, question, verb, rest, last = self.random.choice((
            (f"{who.en} {present}", f"does {who.en} {infinitive}", sieht, what.de, ""),
            (f"{who.en} does not {infinitive}", f"does {who.en} not {infinitive}", sieht, nothing, nicht),
            (f"{who.en} has {participle}", f"has {who.en} {participle}", "hat", what.de, gesehen),
            (f"{who.en} {past}", f"did {who.en} {infinitive}", "hat", what.de, gesehen),
            (f"{who.en} has not {participle}", f"has {who.en} not {participle}", "hat", nothing, not_seen),
            (f"{who.en} did not {infinitive}", f"did {who.en} not {infinitive}", "hat", nothing, not_seen),
            (f"{who.en} {modal} {infinitive}", f"{asked} {infinitive}", kann, what.de, sehen),
        ))  # fmt: skip
        return Clause(f"{en} {what.en}", f"{question} {what.en}", who.de, verb, rest, last)

    def sentence(self) -> Pair:
        one, other, teller = self.clause(), self.clause(), self.person(0)
        (time, zeit), (link, weil), (tells, sagt) = map(self.word, (TIMES, LINKS, TELLS))
        en, de = self.random.choice((
            (f"{one.en}.", f"{one.statement}."),
            (f"{one.en}.", f"{one.statement}."),
            (f"{one.asked}?", f"{one.turned}?"),
            (f"{time} {one.en}.", f"{zeit} {one.turned}."),
            (f"{one.en} {link} {other.en}.", f"{one.statement}, {weil} {other.subordinate}."),
            (f"{teller.en} {tells} that {one.en}.", f"{teller.de} {sagt}, dass {one.subordinate}."),
        ))  # fmt: skip
        if self.one_in(5):  # as people type
            return Pair(en[:-1], de[:-1])
        return Pair(en[0].upper() + en[1:], de[0].upper() + de[1:])

    def different(self) -> Iterator[Pair]:
        """Sentences without end, none twice."""
        known = set[str]()
        while True:
            if (pair := self.sentence()).en not in known:
                known.add(pair.en)
                yield pair


def lines_of_reviews(count: int) -> Iterator[str]:
    """Reviews of films, several of one opinion a line."""
    reviews = generate("train", count, seed=0)
    for label in (0, 1):
        texts = [text for text, found in reviews if found == label]
        yield from (" ".join(texts[i : i + REVIEWS_A_LINE]) for i in range(0, len(texts), REVIEWS_A_LINE))


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pairs = Translated(seed=0).different()
    for split, count in PAIRS.items():
        found = [next(pairs) for _ in range(count)]
        for language in Pair._fields:
            lines = [f"{getattr(pair, language)}\n" for pair in found]
            (folder / f"{split}.{language}").write_text("".join(lines), encoding="utf-8")
    (folder / "reviews.txt").write_text("".join(f"{line}\n" for line in lines_of_reviews(REVIEWS)), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("folder", type=Path, help="Where the texts go.")
    write(parser.parse_args(arguments).folder)


if __name__ == "__main__":
    main()
