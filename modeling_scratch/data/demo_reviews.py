# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Generate film reviews from a signed grammar in which sentence structure, not word counts, determines the label.

The label is the writer's own verdict on the film under review. Other people's opinions, expectations, other films and
conceded details never determine it. Every pattern serves both labels equally: replacing each opinion word by its
opposite flips the label. A bag of words therefore carries little information.

The splits share the opinion words, but each pairing of an adjective, a noun or a verb with its pattern occurs in one
split only. Some titles, people and sentence orders occur only in the test split. `opinion_words.txt` has the
opinion words by kind, one negative and one positive a line, the commonest of a kind first.
"""

import random
import re
from collections import Counter
from collections.abc import Collection
from functools import cache
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Literal, NamedTuple

Split = Literal["train", "validation", "test"]

Review = tuple[str, int]

LABEL_NAMES = ("NEGATIVE", "POSITIVE")
MOST_WORDS = 40
TRAIN_SIZE = 40_000

# In a pattern, <+x> carries the review's opinion, <-x> the opposite, <?x> a random one, <x> none.
GRAMMAR = """
review       <+short>. | <+short>. | <+short>. | <+short>! | <+short>. <+short>. | <+short>. <ending>. |
             <setting>. <+short>. | <+verdict>. | <setting>. <+verdict>. | <+verdict>. <ending>. |
             <?hearsay>. <+verdict>. | <+verdict>. <?hearsay>. | <setting>. <?hearsay>. <+verdict>. |
             <setting>. <+verdict>. <?hearsay>. | <setting>. <+verdict>. <ending>.
verdict      <+straight> | <+twisted> | <+twisted> | <+twisted>
straight     <+claim> | <+claim> | <+claim> | I <+opinion> | all in all, I <+opinion>
twisted      <+contrast> | <+contrast> | <+dispute> | <+dispute> | <+surprise> | <+denial> | <+comparison>
claim        this film <+predicate> | this film, I must say, <+predicate> | in the end this film <+predicate>
predicate    <+plain> | <+plain> | <+firm> | <+negated>
plain        <is> <+adj> | <is> <+noun> | <+verb> | <+verb> | <is> <+how> <made> | is a <+adj> film |
             has a <+adj> <thing>
firm         <is> <adverb> <+adj> | <is> <+adj> and <+adj> | <is> not just <+adj> but <adverb> <+adj> |
             <is> <+noun> from start to finish | simply <+verb> | really <+verb> | <+verb> from beginning to end |
             <is> <+how> <made> and <+how> <made>
negated      <isnt> <-adj> | <isnt> <-adj> at all | <isnt> a <-adj> film | <isnt> <-noun> | <isnt> <-how> <made> |
             <is> never <-adj> | <is> far from <-adj> | <is> anything but <-adj> | <is> neither <-adj> nor <-adj> |
             <is> hardly <-noun> | could easily have been <-noun>, and is not | never <-verb> | at no point <-verb> |
             <is> never less than <+adj> | could not be less <-adj> | cannot be called anything but <+adj> |
             is nothing if not <+adj>
opinion      <+praise> | <+praise> | <+praise> | <+reserve>
praise       found it <+adj> | thought it <adverb> <+adj> | would call it <+noun> | <+felt> it | was <+moved> |
             <+felt> every minute of it | <+felt> it from beginning to end
reserve      did not find it <-adj> | never once found it <-adj> or <-adj> | thought it anything but <-adj> |
             could not call it anything but <+adj> | would never call it <-noun> | was not <-moved> |
             was never <-moved>

# What people say in a few words.
short        <+remark> | <+remark> | <+remark> | <+personal> | <+personal> | <+detail> | this film <+plain> |
             this film <+firm> | this film <+negated>
remark       it <+plain> | it <+firm> | it <+negated> | <+adj> | <adverb> <+adj> | not <-adj> | <+how> <made> |
             a <+adj> film | a <adverb> <+adj> film | a <+adj> and <+adj> film | a <+how> <made> film |
             what a <+adj> film | what <+noun> | <+noun> | <+noun> to watch | such a <+adj> film | this <is> <+adj> |
             this <is> <+noun> | this <isnt> a <-adj> film | not a <-adj> film | everything about it <is> <+adj> |
             <+adj> <part> | <+adj> <parts> | the <+best> film of the year | the <+best> film I have ever seen |
             one of the <+best> films of the year | it is not the <-best> film of the year |
             not one of the <-best> films of the year | simply the <+best> | the <+best> film I know |
             this <is> one of the <+best> films I have seen | this film <is> the <+best> of them all |
             it could not be <+better> | I have seen <-better> films | I have never seen a <+better> film |
             it could have been <-better> | <+call>
personal     I <+felt> it | I <+felt> this film | I <adverb> <+felt> it | we all <+felt> it | I <+felt> the <part> |
             I <+feel> it | I <+feel> this film | I really <+feel> it | I <didnt> <-feel> it | I <dont> <-feel> it |
             I <dont> <-feel> this film | I can only <+feel> it | it is hard not to <+feel> it |
             it is hard to <-feel> it | I was <+moved> | I was not <-moved> | I was never <-moved> |
             I was <adverb> <+moved> | it left me <+moved> | I <+opinion> | I think it <is> <+adj> |
             I think this film <is> <+adj> | the <maker> did a <+adj> job

# What is conceded does not count, wherever it stands.
contrast     <-detail>, but <+claim> | <-detail>, yet <+claim> | although <-detail>, <+claim> |
             <+claim>, although <-detail> | <+claim>, even if <-detail> | despite the <-adj> <part>, <+claim> |
             <+claim>, for all its <-adj> <part> | this film <is> almost <-adj> at first, but then it <+plain> |
             <-detail>, but I <+opinion> | I <+opinion>, although <-detail> | it <is> a little <-adj>, but I <+felt> it
detail       the <part> <+predicate> | the <parts> <are> <+adj> | the <parts> <are> <adverb> <+adj> |
             the <parts> <are> not <-adj> | I <+felt> the <part>

# Whose opinion is it?
dispute      <person> <-opinion>, but I <+opinion> | <person> <-opinion>, I <+opinion> |
             I <+opinion>, even though <person> <-opinion> | unlike <person>, who <-opinion>, I <+opinion> |
             <person> was <-moved>, but I was <+moved> | <person> told me "<-call>", but I say "<+call>" |
             <people> <-feel> it, but I <+feel> it | <people> <-felt> it, but I <+felt> it |
             I <+feel> it, whatever <person> says | <person> calls it the <-best> film of the year, but I <+opinion> |
             <people> say it is one of the <-best> films of the year, but I <+opinion> |
             <people> say it is the <-best> film they know, but I <+felt> it
hearsay      <person> <+opinion> | <person> insists that this film <+predicate> | I had expected <+noun> |
             I had been told that this film <+predicate> | the trailer had led me to expect <+noun> |
             <people> <+feel> it | <person> told me "<+call>" | <person> calls it the <+best> film of the year |
             the trailer was <+better> | <person> has seen <+better> films

# What was expected, and what came?
surprise     I expected <-noun> and got <+noun> | I got <+noun> where I had expected <-noun> |
             I expected <-noun>, but it was <+adj> | I expected <-noun>, but this film <+plain> |
             instead of <-noun> we were given <+noun> | what had seemed to be <-noun> was <+noun> |
             by rights this film should have been <-noun>

# The negation of a whole clause, and phrases that only look like one.
denial       nobody could say that this film <-plain> | it is simply not true that this film <-plain> |
             I cannot agree that this film <-plain> | not for a moment is this film <-adj> |
             it would be a lie to call this film <-noun> | there is no denying that this film <+predicate> |
             not only is this film <+adj>, it is also <+adj> | if this film is not <+noun>, nothing is |
             nobody could call it the <-best> film of the year | how anybody could <-feel> it I do not know

# Other films, for comparison.
comparison   this film is far more <+adj> than the <-adj> <other> | unlike the <-adj> <other>, this film <+predicate> |
             this film is even more <+adj> than the <+adj> <other> | this film makes the <+adj> <other> look <-adj> |
             even the <+adj> <other> is more <-adj> than this film | this film <is> <+better> than the <other> |
             this film <is> much <+better> than the <other> | the <other> is <-better> than this film |
             the <other> was the <-best> film of the year, but this film <+predicate> |
             the <other> <-predicate>, but this film <+predicate> |
             this film <+predicate>, whereas the <other> <-predicate>

is           is | is | was
isnt         is not | is not | was not | isn't | wasn't
are          are | are | were
dont         do not | don't
didnt        did not | didn't
made         made | written | directed | acted | filmed | shot | edited | cast | told | played
genre        film | film | movie | movie | picture | thriller | comedy | drama | mystery | romance | biography |
             musical | cartoon | satire | western | documentary | horror film | war film | action film | crime story |
             heist story | fairy tale | family film
adverb       truly | utterly | quite | deeply | thoroughly | remarkably | very | really | so | extremely | absolutely |
             completely | incredibly | totally | rather | surprisingly
part         acting | lighting | costume design | music | dialogue | camera work | editing | direction | photography |
             supporting cast | stunt work | make-up | set design | visual style | writing | storytelling | humour |
             humor | animation | choreography | dancing | singing | casting | chemistry | suspense | colour | pace |
             production | <thing> | <thing> | <maker>
thing        plot | story | script | screenplay | soundtrack | score | cast | beginning | ending | opening |
             final act | first half | second half | middle | last hour | family story | car chase | fight scene |
             climax | twist | finale | subplot | prologue | premise | idea | performance | title song | voice | mood |
             tone | title | message | theme | world
maker        director | leading man | leading lady | lead actor | lead actress | writer | composer | cameraman | hero |
             heroine | villain | main character
parts        actors | characters | jokes | special effects | songs | costumes | dialogues | pictures | scenes | lines |
             fights | effects | twists | images | voices | performances
other        original | remake | book | stage version | first part | television series | sequel | prequel | comic |
             novel | video game | previous film | short story | silent version | French version | last one | first one |
             old one
person       my brother | my sister | my neighbour | our dentist | the critic next to me | my oldest friend |
             my mother | my father | my wife | my husband | my son | my daughter | my uncle | my aunt | my cousin |
             my boss | my teacher | my doctor | my flatmate | my colleague | my friend | my boyfriend | my girlfriend |
             my grandfather | the man behind me | the woman in front of us | the reviewer | the newspaper |
             the whole audience | everyone else | everybody
people       they all | the critics | my friends | my parents | most people | other people | the others | some people
title        The Glass Orchard | Harbour Lights | Seven Winters | A Map of Rain | The Long Platform | Salt Road
setting      we saw <title> on a wet Sunday evening | <title> is showing at the corner cinema |
             I watched it last night | last night I went to see <title> with <person> | <title> runs for two hours |
             we watched it at home | I watched <title> on the train |
             <title> is the director's third film, after two short ones | I saw this film yesterday |
             we went to the cinema on Friday
ending       we walked home through the rain | it is out on disc in May | the last bus had gone by then |
             it was shot in Portugal | my umbrella is still under seat nine | it runs for two hours |
             I saw it on television
"""

UNSEEN_IN_TRAINING = """
review       <?hearsay>. <setting>. <+verdict>. | <setting>. <?hearsay>. <+verdict>. <ending>. |
             <?hearsay>. <+verdict>. <?hearsay>.
other        radio play | puppet show
person       my grandmother | our plumber | the usher
title        Paper Comets | The Clockmaker of Lisbon | Nine Bridges
"""


def entries(table: str) -> dict[str, str]:
    """Map the first word of each line to its rest. Indented lines continue the previous one; # starts a comment."""
    lines = re.sub(r"\n +", " ", re.sub(r"\n#.*", "", table)).split("\n")
    return dict(line.split(maxsplit=1) for line in lines if line)


def read_pairs(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Read the opinion words: lines such as `adj bad/good`, with _ for a blank within a word."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, pair = line.split()
        negative, positive = pair.replace("_", " ").split("/")
        pairs.setdefault(kind, []).append((negative, positive))
    return pairs


PAIRS = read_pairs(Path(__file__).parent / "opinion_words.txt")
PATTERNS = {symbol: patterns.split(" | ") for symbol, patterns in entries(GRAMMAR).items()}
NEW_PATTERNS = {symbol: patterns.split(" | ") for symbol, patterns in entries(UNSEEN_IN_TRAINING).items()}
SLOT = re.compile(r"<([-+?]?)(\w+)>")
BEFORE_A_VOWEL = re.compile(r"\b([aA])(?= (?:[aeio]|u(?!ni[qf]|s[ei])|hono?[nu]))")

# The turns of each split, among ten pairings of a pattern with a word. Successive patterns of a kind are offset by
# three: with an offset of one, a word could be held out of all patterns in which it agrees with the review.
TURNS = {"train": range(7), "validation": range(7, 8), "test": range(8, 10)}
SMALLEST_DIVIDED = 30

# The commonest words of a kind fill this share of its slots. The structure is learned from them, and the rarer words
# from the structure: where all words are equally rare, training stays at chance for long.
COMMON_SHARE = 0.7
DRAFTS, CANDIDATES = 4, 8  # to choose from, for balance


@cache
def patterns_with(kind: str) -> list[str]:
    """Return the patterns that hold a word of a kind."""
    return [pattern for pattern in dict.fromkeys(chain(*PATTERNS.values())) if re.search(rf"<.{kind}>", pattern)]


@cache
def pairs_for(kind: str, pattern: str, split: Split) -> list[int]:
    """Return the numbers of the pairs that may stand in a pattern: all, if the kind is too small to divide."""
    if len(PAIRS[kind]) < SMALLEST_DIVIDED:
        return list(range(len(PAIRS[kind])))
    offset = 3 * patterns_with(kind).index(pattern)
    return [n for n in range(len(PAIRS[kind])) if (n + offset) % 10 in TURNS[split]]


@cache
def common_pairs_for(kind: str, pattern: str, split: Split) -> list[int]:
    """Return those of them that are common, or all of them if none is."""
    numbers = pairs_for(kind, pattern, split)
    most = max(10, len(PAIRS[kind]) // 16)
    return [n for n in numbers if n < most] or numbers


class Choice(NamedTuple):
    """An opinion word of a review. agrees: +1 if it says what the review says, -1 if it says the opposite."""

    kind: str
    word: str
    agrees: int


class Writer:
    """Generate the reviews of one split, without repeating a choice within a review.

    The words are balanced: each one occurs about equally often in positive and in negative reviews. A slot takes the
    word, and a review the draft, that makes up for what came before.
    """

    def __init__(self, split: Split, seed: int, common_share: float = COMMON_SHARE) -> None:
        self.split, self.common_share = split, common_share
        self.random = random.Random(f"{split} {seed}")  # a string seed is stable across processes and versions
        self.patterns = PATTERNS
        if split == "test":
            self.patterns = {symbol: known + NEW_PATTERNS.get(symbol, []) for symbol, known in PATTERNS.items()}
        self.uses: Counter[str] = Counter()
        self.excess: Counter[str] = Counter()  # of a word, or a kind: uses that agree with the review, minus the others

    def review(self, label: int, known: Collection[str]) -> str:
        """Return a review of at most `MOST_WORDS` words that is not in `known`."""
        drafts: list[tuple[str, list[Choice]]] = []
        while len(drafts) < DRAFTS:
            text, choices = self.draft(1 if label else -1)
            if text not in known and len(text.split()) <= MOST_WORDS:
                drafts.append((text, choices))
        text, choices = min(drafts, key=lambda draft: self.imbalance(draft[1]))
        for kind, word, agrees in choices:
            self.uses[word] += 1
            self.excess[word] += agrees
            self.excess[kind] += agrees
        return text

    def imbalance(self, choices: list[Choice]) -> int:
        """Return by how much a draft would take words, and kinds of words, away from balance."""
        return sum(agrees * (self.excess[word] + self.excess[kind]) for kind, word, agrees in choices)

    def draft(self, sign: int) -> tuple[str, list[Choice]]:
        """Return a review and its opinion words. sign: +1 to praise, -1 to criticise."""
        self.sign, self.used, self.choices = sign, set[tuple[str, int]](), list[Choice]()
        text = self.expand("review", sign)
        text = text.replace("this film", self.random.choice(("this ", "this ", "the ")) + self.expand("genre", sign))
        text = BEFORE_A_VOWEL.sub(r"\1n", text)
        return re.sub(r"(^|[.!] )(\w)", lambda start: start[1] + start[2].upper(), text), self.choices

    def expand(self, symbol: str, sign: int, around: str = "") -> str:
        """Expand a symbol into text. around: the pattern with the symbol."""
        if symbol in PAIRS:
            return self.opinion_word(symbol, sign, around)
        patterns = self.patterns[symbol]
        numbers = [n for n in range(len(patterns)) if (symbol, n) not in self.used] or range(len(patterns))
        number = self.random.choice(numbers)
        self.used.add((symbol, number))
        signs = {"+": sign, "-": -sign, "?": self.random.choice((-1, 1)), "": sign}
        return SLOT.sub(lambda slot: self.expand(slot[2], signs[slot[1]], patterns[number]), patterns[number])

    def opinion_word(self, kind: str, sign: int, around: str) -> str:
        choose = common_pairs_for if self.random.random() < self.common_share else pairs_for
        numbers, agrees = choose(kind, around, self.split), sign * self.sign
        numbers = [n for n in self.random.choices(numbers, k=CANDIDATES) if (kind, n) not in self.used] or numbers
        words = {n: PAIRS[kind][n][sign > 0] for n in numbers}
        number = min(numbers, key=lambda n: 8 * agrees * self.excess[words[n]] + self.uses[words[n]])
        self.used.add((kind, number))
        self.choices.append(Choice(kind, words[number], agrees))
        return words[number]


def generate(
    split: Split, size: int, seed: int, known: Collection[str] = (), common_share: float = COMMON_SHARE
) -> list[Review]:
    """Generate `size` distinct reviews, none of them in `known`, with alternating labels (indices into LABEL_NAMES)."""
    writer, reviews, taken = Writer(split, seed, common_share), list[Review](), {*known}
    for label in islice(cycle(range(len(LABEL_NAMES))), size):
        reviews.append((writer.review(label, taken), label))
        taken.add(reviews[-1][0])
    return reviews


def demo_splits(
    train_size: int = TRAIN_SIZE,
    validation_size: int = 1_000,
    test_size: int = 2_000,
    seed: int = 0,
    common_share: float = COMMON_SHARE,
) -> dict[str, list[Review]]:
    """Generate the three splits. No review occurs in two splits.

    common_share: of the slots of opinion words that common words fill; 1 gives reviews that are learned in fewer steps.
    """
    validation = generate("validation", validation_size, seed, (), common_share)
    test = generate("test", test_size, seed, {text for text, _ in validation}, common_share)
    train = generate("train", train_size, seed, {text for text, _ in validation + test}, common_share)
    return {"train": train, "validation": validation, "test": test}
