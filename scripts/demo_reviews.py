# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Film reviews from a little signed grammar: every opinion word may praise or damn, only the structure says which.

    python scripts/demo_reviews.py          # prints a few reviews of each split

The label is the writer's own verdict on the film under review. What others think, what was expected, what other films
are like and which detail is conceded never decide. Every pattern serves both labels equally: swapping each opinion word
for its opposite turns a review into one with the other label. Counting words tells little, reading them tells all.

The splits share their words of opinion, but a pairing of a word with a pattern around it belongs to one split only;
some titles, people, films and arrangements of sentences are met in the test split alone.
"""

import random
import re
from typing import Literal

Split = Literal["train", "validation", "test"]
Review = tuple[str, int]

LABEL_NAMES = ("NEGATIVE", "POSITIVE")
WORDS_OF_A_REVIEW = range(8, 41)

# Words of opinion, as "negative/positive".
OPINIONS = {
    "adj": "boring/gripping dull/exciting tedious/absorbing clumsy/graceful predictable/inventive stupid/clever "
    "lifeless/lively stale/fresh messy/elegant shallow/thoughtful annoying/charming tiresome/engaging dreary/delightful "
    "sloppy/polished monotonous/captivating forgettable/memorable disappointing/satisfying exhausting/rewarding "
    "lazy/inspired grating/touching bland/vivid pretentious/sincere feeble/powerful hollow/moving crude/subtle",
    "noun": "a_chore/a_treat a_bore/a_delight a_drag/a_joy an_ordeal/a_pleasure a_disaster/a_triumph a_failure/a_success "
    "a_dud/a_gem a_letdown/a_winner a_yawn/a_thrill a_mess/a_marvel a_flop/a_hit a_slog/a_feast a_wreck/a_wonder "
    "a_disappointment/a_revelation a_fiasco/a_masterpiece",
    "verb": "disappoint/delight annoy/charm bore/thrill stumble/succeed plod/sparkle drag/shine irritate/entertain "
    "grate/enchant sink/soar flop/work",
    "felt": "hated/loved disliked/enjoyed loathed/adored despised/admired detested/cherished regretted/relished "
    "resented/treasured mocked/praised endured/savoured cursed/applauded",
}
PAIRS = {kind: [pair.replace("_", " ").split("/") for pair in pairs.split()] for kind, pairs in OPINIONS.items()}

# In a pattern <+x> holds the opinion of the whole, <-x> the opposite opinion, <?x> either of them, <x> none at all.
GRAMMAR = {
    "review": (
        "<+verdict>.",
        "<+verdict>.",
        "<setting>. <+verdict>.",
        "<setting>. <+verdict>.",
        "<+verdict>. <ending>.",
        "<?hearsay>. <+verdict>.",
        "<+verdict>. <?hearsay>.",
        "<setting>. <?hearsay>. <+verdict>.",
        "<setting>. <+verdict>. <?hearsay>.",
    ),
    "verdict": (
        "<+claim>",
        "<+claim>",
        "<+claim>",
        "<+claim>",
        "I <+opinion>",
        "all in all, I <+opinion>",
        "<+contrast>",
        "<+contrast>",
        "<+dispute>",
        "<+surprise>",
        "<+denial>",
        "<+comparison>",
    ),
    "claim": ("<film> <+predicate>", "<film>, I must say, <+predicate>", "in the end <film> <+predicate>"),
    # What is conceded does not count, wherever it stands.
    "contrast": (
        "<-detail>, but <+claim>",
        "<-detail>, yet <+claim>",
        "although <-detail>, <+claim>",
        "<+claim>, although <-detail>",
        "<+claim>, even if <-detail>",
        "despite the <-adj> <part>, <+claim>",
        "<+claim>, for all its <-adj> <part>",
    ),
    "detail": ("the <part> <+predicate>",),
    # Whose opinion is it?
    "dispute": (
        "<person> <-opinion>, but I <+opinion>",
        "<person> <-opinion>, I <+opinion>",
        "I <+opinion>, even though <person> <-opinion>",
        "unlike <person>, who <-opinion>, I <+opinion>",
    ),
    # What was expected, and what came?
    "surprise": (
        "I expected <-noun> and got <+noun>",
        "I got <+noun> where I had expected <-noun>",
        "instead of <-noun> we were given <+noun>",
        "what had promised to be <-noun> was <+noun>",
    ),
    # Negation of a whole clause, and phrases that only look like it.
    "denial": (
        "nobody could say that <film> <-plain>",
        "it is simply not true that <film> <-plain>",
        "I cannot agree that <film> <-plain>",
        "there is no denying that <film> <+predicate>",
        "if <film> is not <+noun>, nothing is",
    ),
    "comparison": (
        "<film> is far more <+adj> than the <-adj> <other>",
        "<film> is nowhere near as <-adj> as the <other>",
        "<film> makes the <+adj> <other> look <-adj>",
        "the <other> <-predicate>, whereas <film> <+predicate>",
        "<film> <+predicate>, whereas the <other> <-predicate>",
    ),
    "hearsay": (
        "<person> <+opinion>",
        "<person> insists that <film> <+predicate>",
        "the poster had promised <+noun>",
        "I had been told that <film> <+predicate>",
        "I had expected <+noun>",
    ),
    "opinion": ("<+praise>", "<+praise>", "<+praise>", "<+reserve>"),
    "praise": (
        "found it <+adj>",
        "would call it <+noun>",
        "<+felt> it",
        "<+felt> every minute of it",
        "thought it <adverb> <+adj>",
    ),
    "reserve": (
        "did not find it <-adj>",
        "would never call it <-noun>",
        "never once found it <-adj> or <-adj>",
        "thought it anything but <-adj>",
        "could not have called it anything but <+adj>",
    ),
    "predicate": ("<+plain>",) * 5 + ("<+negated>",) * 2 + ("<+doubled>",),
    "plain": (
        "is <+adj>",
        "is <adverb> <+adj>",
        "is <+noun>",
        "<+verb>s",
        "<+verb>s and <+verb>s",
        "is <+adj> and <+adj>",
        "is not just <+adj> but <adverb> <+adj>",
    ),
    # Negated once, outright or by a hedge.
    "negated": (
        "is not <-adj>",
        "is never <-adj>",
        "does not <-verb>",
        "never <-verb>s",
        "is neither <-adj> nor <-adj>",
        "is anything but <-adj>",
        "is far from <-adj>",
        "is hardly <-noun>",
        "could easily have been <-noun>, and is not",
    ),
    "doubled": (
        "is never less than <+adj>",
        "could not be less <-adj>",
        "cannot be called anything but <+adj>",
        "never fails to <+verb>",
    ),
    "film": ("this film", "this one", "this movie"),
    "adverb": ("truly", "utterly", "quite", "deeply", "thoroughly", "remarkably"),
    "part": (
        "acting",
        "music",
        "dialogue",
        "camera work",
        "plot",
        "editing",
        "opening",
        "final act",
        "sound",
        "leading man",
    ),
    "other": ("original", "book", "stage version", "first part", "television series"),
    "person": ("my brother", "my sister", "my neighbour", "our dentist", "the critic next to me", "my best friend"),
    "title": (
        "The Glass Orchard",
        "Harbour Lights",
        "Seven Winters",
        "A Map of Rain",
        "The Long Platform",
        "Salt Road",
    ),
    "setting": (
        "we saw <title> on a wet Sunday evening",
        "<title> is showing at the corner cinema",
        "last night I went to see <title> with <person>",
        "<title> runs for two hours",
        "I watched <title> on the train",
        "<title> is the director's third film, after a western and a musical",
    ),
    "ending": (
        "we walked home through the rain",
        "it is out on disc in May",
        "the last bus had gone by then",
        "the running time is two hours",
        "it was shot in Portugal",
    ),
}
UNSEEN_IN_TRAINING = {
    "review": ("<?hearsay>. <setting>. <+verdict>. <?hearsay>.", "<setting>. <?hearsay>. <?hearsay>. <+verdict>."),
    "part": ("lighting", "costume design"),
    "other": ("radio play", "remake"),
    "person": ("my grandmother", "our plumber", "the usher"),
    "title": ("Paper Comets", "The Clockmaker of Lisbon", "Nine Bridges"),
}

SLOT = re.compile(r"<([-+?]?)(\w+)>")
FOLDS = {"train": (0, 1, 2), "validation": (3,), "test": (4,)}


class Writer:
    """Writes the reviews of one split: each choice falls on what the review at hand has not used yet."""

    def __init__(self, split: Split, seed: int) -> None:
        self.split = split
        self.random = random.Random(f"{split} {seed}")  # a string seeds alike on every Python version and hash seed
        self.used: set[tuple[str, int]] = set()

    def review(self, label: int) -> str:
        self.used.clear()
        text = self.expand("review", 2 * label - 1)
        return re.sub(r"(^|\. )(\w)", lambda start: start[1] + start[2].upper(), text)

    def expand(self, symbol: str, sign: int, pattern: int = 0) -> str:
        """A text for the symbol; sign is +1 to praise and -1 to damn, pattern the number of the pattern around it."""
        if symbol in PAIRS:
            pairs = PAIRS[symbol]
            mine = [n for n in range(len(pairs)) if (pattern + n) % 5 in FOLDS[self.split]]
            return pairs[self.pick(symbol, mine)][sign > 0]
        patterns = GRAMMAR[symbol] + (UNSEEN_IN_TRAINING.get(symbol, ()) if self.split == "test" else ())
        number = self.pick(symbol, list(range(len(patterns))))
        signs = {"+": sign, "-": -sign, "?": self.random.choice((-1, 1)), "": sign}
        return SLOT.sub(lambda slot: self.expand(slot[2], signs[slot[1]], number), patterns[number])

    def pick(self, symbol: str, numbers: list[int]) -> int:
        number = self.random.choice([n for n in numbers if (symbol, n) not in self.used] or numbers)
        self.used.add((symbol, number))
        return number


def generate(split: Split, size: int, seed: int) -> list[Review]:
    """`size` different reviews with their labels, indices into LABEL_NAMES; the labels alternate."""
    writer, reviews = Writer(split, seed), dict[str, int]()
    while len(reviews) < size:
        label = len(reviews) % 2
        text = writer.review(label)
        if len(text.split()) in WORDS_OF_A_REVIEW:
            reviews.setdefault(text, label)
    return list(reviews.items())


def demo_splits(
    train_size: int = 12000, validation_size: int = 1000, test_size: int = 2000, seed: int = 0
) -> dict[str, list[Review]]:
    """The three splits; no review of one occurs in another."""
    sizes: dict[Split, int] = {"train": train_size, "validation": validation_size, "test": test_size}
    return {split: generate(split, size, seed) for split, size in sizes.items()}


if __name__ == "__main__":
    for split, reviews in demo_splits(6, 4, 6).items():
        print(*(f"{split:10} {LABEL_NAMES[label]}  {text}" for text, label in reviews), sep="\n")
