# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate film reviews from a signed grammar in which sentence structure, not word counts, determines the label.

The label is the writer's own verdict on the film under review. Other people's opinions, expectations, other films and
conceded details never determine it. Every pattern serves both labels equally: replacing each opinion word by its
opposite flips the label. A bag of words therefore carries little information.

The splits share the opinion words, but each pairing of a word with its pattern occurs in one split only. Some titles,
genres, people and sentence orders occur only in the test split.
"""

import random
import re
from itertools import chain
from typing import Literal

Split = Literal["train", "validation", "test"]

Review = tuple[str, int]

LABEL_NAMES = ("NEGATIVE", "POSITIVE")
WORDS_OF_A_REVIEW = range(8, 41)

# Opinion words by kind, negative/positive.
OPINIONS = """
adj     boring/gripping dull/exciting tedious/absorbing clumsy/graceful predictable/inventive stupid/clever stale/fresh
        lifeless/lively messy/elegant shallow/thoughtful annoying/charming tiresome/engaging dreary/delightful
        sloppy/polished monotonous/captivating forgettable/memorable disappointing/satisfying exhausting/rewarding
        lazy/inspired grating/touching bland/vivid pretentious/sincere feeble/powerful hollow/moving crude/subtle
noun    a_chore/a_treat a_bore/a_delight a_drag/a_joy an_ordeal/a_pleasure a_disaster/a_triumph a_failure/a_success
        a_dud/a_gem a_letdown/a_winner a_yawn/a_thrill a_mess/a_marvel a_flop/a_hit a_slog/a_feast a_wreck/a_wonder
        a_disappointment/a_revelation a_burden/a_blessing
verb    disappoints/delights annoys/charms bores/thrills stumbles/succeeds plods/sparkles drags/shines limps/dazzles
        irritates/entertains sinks/soars flops/works offends/pleases falters/excels grates/enchants fizzles/sizzles
felt    hated/loved disliked/enjoyed loathed/adored despised/admired detested/cherished regretted/relished
        resented/treasured mocked/praised endured/savoured cursed/applauded
"""

# In a pattern, <+x> carries the review's opinion, <-x> the opposite, <?x> a random one, <x> none.
GRAMMAR = """
review       <+verdict>. | <setting>. <+verdict>. | <setting>. <+verdict>. | <+verdict>. <ending>. |
             <?hearsay>. <+verdict>. | <+verdict>. <?hearsay>. | <setting>. <?hearsay>. <+verdict>. |
             <setting>. <+verdict>. <?hearsay>. | <setting>. <+verdict>. <ending>.
verdict      <+straight> | <+twisted>
straight     <+claim> | <+claim> | <+claim> | I <+opinion> | all in all, I <+opinion>
twisted      <+contrast> | <+contrast> | <+dispute> | <+surprise> | <+denial> | <+comparison>
claim        this film <+predicate> | this film, I must say, <+predicate> | in the end this film <+predicate>
predicate    <+plain> | <+plain> | <+firm> | <+negated>
plain        is <+adj> | is <+noun> | <+verb>
firm         is <adverb> <+adj> | is <+adj> and <+adj> | is not just <+adj> but <adverb> <+adj> |
             is <+noun> from start to finish | simply <+verb> | <+verb> to the very end
negated      is not <-adj> | is never <-adj> | is far from <-adj> | is anything but <-adj> |
             is neither <-adj> nor <-adj> | is hardly <-noun> | could easily have been <-noun>, and is not |
             never <-verb> | at no point <-verb> | is never less than <+adj> | could not be less <-adj> |
             cannot be called anything but <+adj> | is nothing if not <+adj>
opinion      <+praise> | <+praise> | <+praise> | <+reserve>
praise       found it <+adj> | thought it <adverb> <+adj> | would call it <+noun> | <+felt> it |
             <+felt> every minute of it | <+felt> it from beginning to end
reserve      did not find it <-adj> | never once found it <-adj> or <-adj> | thought it anything but <-adj> |
             could not call it anything but <+adj> | would never call it <-noun>

# What is conceded does not count, wherever it stands.
contrast     <-detail>, but <+claim> | <-detail>, yet <+claim> | although <-detail>, <+claim> |
             <+claim>, although <-detail> | <+claim>, even if <-detail> | despite the <-adj> <part>, <+claim> |
             <+claim>, for all its <-adj> <part> | this film is almost <-adj> at first, but then it <+plain>
detail       the <part> <+predicate>

# Whose opinion is it?
dispute      <person> <-opinion>, but I <+opinion> | <person> <-opinion>, I <+opinion> |
             I <+opinion>, even though <person> <-opinion> | unlike <person>, who <-opinion>, I <+opinion>
hearsay      <person> <+opinion> | <person> insists that this film <+predicate> | I had expected <+noun> |
             I had been told that this film <+predicate> | the trailer had led me to expect <+noun>

# What was expected, and what came?
surprise     I expected <-noun> and got <+noun> | I got <+noun> where I had expected <-noun> |
             instead of <-noun> we were given <+noun> | what had looked like <-noun> was <+noun> |
             by rights this film should have been <-noun>

# The negation of a whole clause, and phrases that only look like one.
denial       nobody could say that this film <-plain> | it is simply not true that this film <-plain> |
             I cannot agree that this film <-plain> | not for a moment is this film <-adj> |
             it would be a lie to call this film <-noun> | there is no denying that this film <+predicate> |
             not only is this film <+adj>, it is also <+adj> | if this film is not <+noun>, nothing is

# Other films, for comparison.
comparison   this film is far more <+adj> than the <-adj> <other> | unlike the <-adj> <other>, this film <+predicate> |
             this film is even more <+adj> than the <+adj> <other> | this film makes the <+adj> <other> look <-adj> |
             even the <+adj> <other> is more <-adj> than this film |
             the <other> <-predicate>, but this film <+predicate> |
             this film <+predicate>, whereas the <other> <-predicate>

genre        film | movie | picture | thriller | comedy | drama | mystery | romance
adverb       truly | utterly | quite | deeply | thoroughly | remarkably
part         acting | music | dialogue | camera work | plot | editing | opening | final act | leading man
other        original | book | stage version | first part | television series
person       my brother | my sister | my neighbour | our dentist | the critic next to me | my best friend
title        The Glass Orchard | Harbour Lights | Seven Winters | A Map of Rain | The Long Platform | Salt Road
setting      we saw <title> on a wet Sunday evening | <title> is showing at the corner cinema |
             last night I went to see <title> with <person> | <title> runs for two hours |
             I watched <title> on the train | <title> is the director's third film, after two short ones
ending       we walked home through the rain | it is out on disc in May | the last bus had gone by then |
             it was shot in Portugal | my umbrella is still under seat nine
"""

UNSEEN_IN_TRAINING = """
review       <?hearsay>. <setting>. <+verdict>. | <setting>. <?hearsay>. <+verdict>. <ending>. |
             <?hearsay>. <+verdict>. <?hearsay>.
part         lighting | costume design
other        radio play | remake
person       my grandmother | our plumber | the usher
genre        western | heist story | documentary
title        Paper Comets | The Clockmaker of Lisbon | Nine Bridges
"""


def entries(table: str) -> dict[str, str]:
    """Map the first word of each line to its rest. Indented lines continue the previous one; # starts a comment."""
    lines = re.sub(r"\n +", " ", re.sub(r"\n#.*", "", table)).split("\n")
    return dict(line.split(maxsplit=1) for line in lines if line)


PAIRS = {
    kind: [pair.replace("_", " ").split("/") for pair in pairs.split()] for kind, pairs in entries(OPINIONS).items()
}

PATTERNS = {symbol: patterns.split(" | ") for symbol, patterns in entries(GRAMMAR).items()}
NEW_PATTERNS = {symbol: patterns.split(" | ") for symbol, patterns in entries(UNSEEN_IN_TRAINING).items()}
NUMBERS = {pattern: number for number, pattern in enumerate(chain(*PATTERNS.values()))}
SLOT = re.compile(r"<([-+?]?)(\w+)>")

# The turns of each split, among ten pairings of a pattern with a word. Successive patterns are offset by three:
# with an offset of one, a word could be held out of all patterns of its kind.
TURNS = {"train": range(7), "validation": range(7, 8), "test": range(8, 10)}


class Writer:
    """Generate the reviews of one split, without repeating a choice within a review."""

    def __init__(self, split: Split, seed: int) -> None:
        self.split = split
        self.random = random.Random(f"{split} {seed}")  # a string seed is stable across processes and versions
        self.patterns = PATTERNS
        if split == "test":
            self.patterns = {symbol: known + NEW_PATTERNS.get(symbol, []) for symbol, known in PATTERNS.items()}
        self.used: set[tuple[str, int]] = set()

    def review(self, label: int) -> str:
        self.used.clear()
        sign = 1 if label else -1
        text = self.expand("review", sign).replace("this film", "this " + self.expand("genre", sign))
        return re.sub(r"(^|\. )(\w)", lambda start: start[1] + start[2].upper(), text)

    def expand(self, symbol: str, sign: int, around: str = "") -> str:
        """Expand a symbol into text. sign: +1 to praise, -1 to criticise; around: the pattern with the symbol."""
        if symbol in PAIRS:
            turns = [(n + 3 * NUMBERS[around]) % 10 for n in range(len(PAIRS[symbol]))]
            number = self.pick(symbol, [n for n, turn in enumerate(turns) if turn in TURNS[self.split]])
            return PAIRS[symbol][number][sign > 0]
        patterns = self.patterns[symbol]
        pattern = patterns[self.pick(symbol, list(range(len(patterns))))]
        signs = {"+": sign, "-": -sign, "?": self.random.choice((-1, 1)), "": sign}
        return SLOT.sub(lambda slot: self.expand(slot[2], signs[slot[1]], pattern), pattern)

    def pick(self, symbol: str, numbers: list[int]) -> int:
        number = self.random.choice([n for n in numbers if (symbol, n) not in self.used] or numbers)
        self.used.add((symbol, number))
        return number


def generate(split: Split, size: int, seed: int) -> list[Review]:
    """Generate `size` distinct reviews with alternating labels (indices into LABEL_NAMES)."""
    writer, reviews = Writer(split, seed), dict[str, int]()
    while len(reviews) < size:
        label = len(reviews) % 2
        text = writer.review(label)
        if len(text.split()) in WORDS_OF_A_REVIEW:
            reviews.setdefault(text, label)
    return list(reviews.items())


def demo_splits(
    train_size: int = 20_000, validation_size: int = 1_000, test_size: int = 2_000, seed: int = 0
) -> dict[str, list[Review]]:
    """Generate the three splits. No review occurs in two splits."""
    sizes: dict[Split, int] = {"train": train_size, "validation": validation_size, "test": test_size}
    return {split: generate(split, size, seed) for split, size in sizes.items()}
