# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Recipes: the sizes and the stages of a classifier's training, for a number of minutes and the texts at hand.

All numbers are in the tables below. A choice is an option of train-classifier, or of its pretraining stage. Those of
the user replace it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Any, Literal

from ..bridges.model_sources import with_override
from ..data.ngrams import LEAST_COUNT
from ..data.text_pairs import parts_of
from ..utils.errors import DataError
from .progress import duration


@dataclass(frozen=True)
class Recipe:
    """What a number of minutes of training, all stages together, permits.

    pretraining_share: of the minutes. width: the largest hidden size. context_width, ngrams, passes: those of the
    objective `context`: the hidden size, the number of n-grams, and the epochs.
    pretrains_others: whether to pretrain on masked tokens where texts are short or few, which takes an hour to help.
    teachers: their number, where there are enough unlabelled texts. taught_epochs: of fine-tuning with teachers, at
    most, if these are more than without.
    """

    minutes: float
    pretraining_share: float
    width: int
    context_width: int
    ngrams: int
    passes: int
    pretrains_others: bool = True
    teachers: int = 0
    taught_epochs: int = 0


RECIPES = {
    "minutes": Recipe(10, 0.5, width=64, context_width=64, ngrams=200_000, passes=1, pretrains_others=False),
    "hour": Recipe(60, 0.7, width=128, context_width=128, ngrams=400_000, passes=2, teachers=1),
    "night": Recipe(240, 0.8, width=256, context_width=128, ngrams=400_000, passes=2, teachers=2, taught_epochs=3),
}

# Hidden size: layers, heads, and the least number of words to train on.
MODELS = {64: (2, 4, 0), 128: (4, 4, 200_000), 256: (4, 4, 2_000_000)}
IN_PRETRAINING = "hidden_dropout=0.0"
SPARSE = {"sparse_embeddings": True, "max_grad_norm": 0.0}


@dataclass(frozen=True)
class Way:
    """How to pretrain and fine-tune: changes to the config, options of the stage (if any) and of train-classifier.

    epochs: of fine-tuning on labels, at most: more of them overfit.
    """

    model: str
    stage: dict[str, Any]
    fine_tuning: dict[str, Any]
    epochs: int


MEAN = (
    "norm_position=pre,position_type=rotary,hidden_act=gelu,classifier_pooling=mean,hidden_dropout=0.3,"
    "final_norm=false,classifier_norm=true,num_hidden_layers=1"
)
CONTEXT = Way(
    with_override(MEAN, "hidden_dropout", 0.0),
    {"objective": "context", "learning_rate": 3e-3, "adam_beta2": 0.999, "weight_decay": 0.0, **SPARSE,
     "lr_scheduler_type": "constant_with_warmup", "warmup_steps": 0.03, "block_size": 52,
     "per_device_train_batch_size": 256},
    {"learning_rate": 3e-3, "layer_decay": 0.03, "embedding_learning_rate": 1e-3, "weight_decay": 0.0,
     "warmup_steps": 0, "ema_decay": 0.0, "linear_part": True, **SPARSE},
    epochs=2,
)  # fmt: skip
WAYS = {
    # Long texts: the embeddings of words and n-grams learn which passages belong together.
    "context": CONTEXT,
    # Short texts to classify, and long ones to pretrain on.
    "context_of_others": replace(
        CONTEXT,
        model=MEAN,
        stage={**CONTEXT.stage, "block_size": 34},
        fine_tuning={**CONTEXT.fine_tuning, "learning_rate": 2e-3, "layer_decay": 0.3, "embedding_learning_rate": 3e-4},
        epochs=3,
    ),
    # Short texts alone, which have no neighbouring passages.
    "mlm": Way(
        "norm_position=pre,position_type=rotary,hidden_act=gelu,classifier_pooling=mean,hidden_dropout=0.1",
        {"objective": "mlm", "learning_rate": 1e-3, "adam_beta2": 0.98, "mask_fraction": 0.3},
        {"learning_rate": 3e-4, "embedding_learning_rate": 1e-3},
        epochs=5,
    ),
    # Labels alone: one block, whose residual connection starts as a mean of embeddings.
    "none": Way(MEAN, {}, {"learning_rate": 2e-3, "embedding_learning_rate": 3e-4, "linear_part": True}, epochs=3),
    # Few texts: higher rates for few steps.
    "few": Way(
        MEAN,
        {},
        {"learning_rate": 3e-3, "embedding_learning_rate": 3e-3, "min_frequency": 1, "linear_part": True},
        epochs=4,
    ),
    # Pairs of texts, of any number: at least two blocks and little dropout, to relate words of both.
    "pairs": Way(
        "norm_position=pre,position_type=rotary,hidden_act=gelu,classifier_pooling=mean,hidden_dropout=0.1",
        {},
        {"learning_rate": 3e-3, "min_frequency": 1},
        epochs=4,
    ),
}  # fmt: skip
FEW_TEXTS = 20_000  # to learn from, without pretraining
TRIED_TEXTS = 5_000  # with as many, one block scores at least as high as none
FEW_NGRAMS = 100_000  # without pretraining
FEW_STEPS, FEW_TEXTS_EPOCHS = 300, 30  # at least so many steps, but at most so many epochs
MASKED_EPOCHS = 40  # of pretraining by masked tokens, at most: more of them overfit
LEAST_WORDS = 50_000  # with fewer, there is no pretraining stage
CONTEXT_WORDS = 5_000_000  # with fewer, an epoch of passages has too few steps
LONG_TEXT = 64  # words, on average
LONG: dict[str, Any] = {"per_device_train_batch_size": 32, "max_length": 1024}
SHORT: dict[str, Any] = {"per_device_train_batch_size": 64, "max_length": 512}
VOCABULARY, SMALL_VOCABULARY = 30_000, 16_000
LARGE_VOCABULARY_WORDS = 1_000_000  # words to train on, for the larger vocabulary
ROW_TOKENS, SHORT_ROW_TOKENS, TOKENS_PER_STEP = 256, 128, 8_192
LONGEST_WORD = 15  # characters a word, on average: longer ones are no words between blanks, as in Chinese
LEAST_TAUGHT = 0.5  # the least number of unlabelled words per labelled word for teachers to help
# The time of a teacher's predictions and of its linear model, in training epochs of the same texts.
LABELLING = 1.5
LEAST_FINE_TUNING = 0.2  # of the recipe's minutes, however long the pretraining is
AVERAGED_STEPS, EMA_DECAY = 2_000, 0.999  # with fewer steps, there is no average of the weights


@dataclass
class RecipeArguments:
    """A recipe, and the pretraining stage that it adds."""

    recipe: Literal["minutes", "hour", "night"] | None = field(
        default=None,
        metadata={
            "help": "Choose the sizes for the time and the texts, and pretrain on the texts first: 10 minutes, an hour "
            "or four hours of training. Other options replace its choices."
        },
    )
    unlabelled_file: list[str] | None = field(
        default=None,
        metadata={
            "help": "Files of unlabelled texts to pretrain on and for teachers to label: txt (lines), csv, tsv, jsonl, "
            "parquet."
        },
    )
    pretraining_minutes: float | None = field(
        default=None, metadata={"help": "The minutes of pretraining; 0: none. By default, the recipe's share."}
    )
    pretraining_steps: int | None = field(
        default=None, metadata={"help": "The steps of pretraining, instead of its minutes; 0: none."}
    )
    pretraining_learning_rate: float | None = field(
        default=None, metadata={"help": "The peak learning rate of pretraining."}
    )
    pretraining_batch_size: int | None = field(default=None, metadata={"help": "Rows per step of pretraining."})
    pretraining_block_size: int | None = field(default=None, metadata={"help": "Tokens per row of pretraining."})

    teachers: int | None = field(
        default=None,
        metadata={
            "help": "The number of teachers, each of which labels the unlabelled texts for the next one; 0: none. By "
            "default, that of the recipe."
        },
    )

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None and name != "recipe"}
        if self.recipe is None:
            if given:
                raise DataError(f"--{next(iter(given))} requires --recipe")
            return
        for name in ("pretraining_minutes", "pretraining_steps", "teachers"):
            if given.get(name, 0) < 0:
                raise DataError(f"--{name} {given[name]}: must be at least 0")
        for name in ("pretraining_learning_rate", "pretraining_batch_size", "pretraining_block_size"):
            if given.get(name, 1) <= 0:
                raise DataError(f"--{name} {given[name]}: must be above 0")
        if len(given.keys() & {"pretraining_minutes", "pretraining_steps"}) > 1:
            raise DataError("--pretraining_minutes and --pretraining_steps are mutually exclusive; give only one")

    @property
    def chosen(self) -> Recipe:
        return RECIPES[self.recipe or "minutes"]


@dataclass(frozen=True)
class TextSizes:
    """The number of texts, or pairs, to train on, of their words (between white space), and of their characters."""

    texts: int
    words: int
    characters: int
    are_pairs: bool = False

    @classmethod
    def of(cls, texts: Sequence[str]) -> "TextSizes":
        parts = [part for text in texts for part in parts_of(text)]
        words = sum(len(part.split()) for part in parts)
        return cls(len(texts), max(1, words), sum(map(len, parts)), are_pairs=len(parts) > len(texts))

    @property
    def are_long(self) -> bool:
        return self.words >= LONG_TEXT * self.texts

    @property
    def have_passages(self) -> bool:
        """Whether there are enough texts with several passages."""
        return self.are_long and self.words >= CONTEXT_WORDS

    @property
    def have_words(self) -> bool:
        """Whether white space separates words."""
        return self.characters <= LONGEST_WORD * self.words


@dataclass(frozen=True)
class Choices:
    """options: of train-classifier, by name. pretraining: those of the stage; {} without one. reasons: to print.

    teachers: the number of classifiers that are trained before the last one. tries_depth: whether a trial chooses the
    number of blocks.
    """

    options: dict[str, Any]
    pretraining: dict[str, Any]
    reasons: list[str]
    teachers: int = 0
    tries_depth: bool = False

    def with_depth(self, depth: int, reason: str) -> "Choices":
        """Return the choices with the number of blocks that a trial gave."""
        overrides = with_override(self.options["config_overrides"], "num_hidden_layers", depth)
        return replace(self, options={**self.options, "config_overrides": overrides}, reasons=[*self.reasons, reason])

    def to_record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_record(cls, record: Any) -> "Choices":
        """Read what `to_record` gave. Raises ValueError, LookupError or TypeError for anything else."""
        parts = record["options"], record["pretraining"]
        are_known = parts[0].keys() <= OPTIONS and parts[1].keys() <= STAGE_OPTIONS
        are_plain = all(isinstance(value, str | int | float) for part in parts for value in part.values())
        if not (are_known and are_plain and parts[1].get("objective", "mlm") in ("context", "mlm")):
            raise ValueError("not what a recipe chooses")
        teachers = int(record.get("teachers", 0))  # earlier versions had none
        return cls(dict(parts[0]), dict(parts[1]), list(map(str, record["reasons"])), teachers)


# What a recipe can choose: nothing else is read from the record of a run.
OPTIONS = {
    "preset", "config_overrides", "tokenizer_kind", "vocab_size", "max_length", "learning_rate", "ema_decay",
    "embedding_learning_rate", "layer_decay", "sparse_embeddings", "max_grad_norm", "weight_decay", "warmup_steps",
    "per_device_train_batch_size", "num_train_epochs", "min_frequency", "linear_part",
}  # fmt: skip
STAGE_OPTIONS = {
    *(name for way in WAYS.values() for name in way.stage), "block_size", "per_device_train_batch_size", "max_steps",
}  # fmt: skip


def choose(
    arguments: RecipeArguments, sizes: TextSizes, labelled: TextSizes | None = None, to_label: TextSizes | None = None
) -> Choices:
    """Choose the sizes. `schedule` chooses the number of steps later, and may lower that of the epochs.

    sizes: those of the texts to pretrain on. labelled: those of the texts to fine-tune on, where these are not all.
    to_label: those of the texts that teachers label.
    """
    recipe, labelled = arguments.chosen, labelled or sizes
    name = _way(arguments, sizes, labelled)
    way = WAYS[name]
    ngrams = _ngrams(recipe, name, labelled)
    model, width = _model(recipe, way, sizes, ngrams, is_context=name.startswith("context"))
    options = {
        "preset": "reviews",
        "config_overrides": model,
        "tokenizer_kind": "words" if sizes.have_words else "bpe",
        "vocab_size": VOCABULARY if sizes.have_words and sizes.words >= LARGE_VOCABULARY_WORDS else SMALL_VOCABULARY,
        **(LONG if labelled.are_long else SHORT),
        **way.fine_tuning,
        "num_train_epochs": way.epochs,
    }
    steps = way.epochs * labelled.texts / options["per_device_train_batch_size"]
    are_few = steps < FEW_STEPS if way.stage else labelled.texts < FEW_TEXTS
    options |= (_few_steps(labelled.texts, way.epochs) if are_few else {}) | (SPARSE if ngrams else {})
    what = "pairs" if sizes.are_pairs else "texts"
    reasons = [
        f"recipe {arguments.recipe}, at most {recipe.minutes:g} minutes: {sizes.texts:,} {what} of "
        f"{sizes.words / sizes.texts:,.0f} words on average",
        f"hidden size: {width}, for {sizes.words:,} words",
        f"tokenizer: {options['tokenizer_kind']}, at most {options['vocab_size']:,} tokens",
        "options of the command line replace these choices",
    ]
    if not way.stage:  # the vocabulary is that of the labelled texts
        return Choices(options, {}, reasons, tries_depth=name == "few" and labelled.texts < TRIED_TEXTS)
    if teachers := _teachers(arguments, labelled, to_label):
        options["num_train_epochs"] = max(options["num_train_epochs"], recipe.taught_epochs)
    return Choices(options, _stage(arguments, sizes, way.stage), reasons, teachers)


def _way(arguments: RecipeArguments, sizes: TextSizes, labelled: TextSizes) -> str:
    """Return the name of the way to pretrain and fine-tune."""
    if labelled.are_pairs:
        return "pairs"
    if not _pretrains(arguments.chosen, arguments, sizes):
        return "few" if labelled.texts < FEW_TEXTS else "none"
    if not sizes.have_passages:
        return "mlm"
    return "context" if labelled.are_long else "context_of_others"


def _ngrams(recipe: Recipe, way: str, labelled: TextSizes) -> int:
    """Return the number of n-grams, at most as many as can be frequent; 0: none."""
    if way in ("few", "none"):
        return min(FEW_NGRAMS, 2 * labelled.words // LEAST_COUNT)
    return recipe.ngrams if way.startswith("context") else 0


def _few_steps(texts: int, epochs: int) -> dict[str, Any]:
    """Return small batches for few texts, and the epochs that make enough steps of them."""
    batch = 16 if texts < 2_000 else 32
    return {
        "per_device_train_batch_size": batch,
        "num_train_epochs": min(FEW_TEXTS_EPOCHS, max(epochs, ceil(FEW_STEPS * batch / texts))),
    }


def _model(recipe: Recipe, way: Way, sizes: TextSizes, ngrams: int, is_context: bool) -> tuple[str, int]:
    """Return the changes to the preset, and the hidden size among them."""
    widest = recipe.context_width if is_context else recipe.width
    width = max(size for size, (*_, least) in MODELS.items() if size <= widest and sizes.words >= least)
    layers, heads, _ = MODELS[width]
    changes = [
        f"hidden_size={width},num_hidden_layers={layers},num_attention_heads={heads},intermediate_size={4 * width}",
        way.model,
        f"ngram_vocab_size={ngrams}" if ngrams else "",
    ]
    return ",".join(filter(None, changes)), width


def _teachers(arguments: RecipeArguments, labelled: TextSizes, to_label: TextSizes | None) -> int:
    if not to_label or not to_label.texts:
        return 0
    if arguments.teachers is not None:
        return arguments.teachers
    return arguments.chosen.teachers if to_label.words >= LEAST_TAUGHT * labelled.words else 0


def _pretrains(recipe: Recipe, arguments: RecipeArguments, sizes: TextSizes) -> bool:
    if arguments.pretraining_steps is not None or arguments.pretraining_minutes is not None:
        return bool(arguments.pretraining_steps or arguments.pretraining_minutes)
    return sizes.words >= LEAST_WORDS and (sizes.have_passages or recipe.pretrains_others)


def _stage(arguments: RecipeArguments, sizes: TextSizes, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the options of the pretraining stage, apart from its steps."""
    rows = ROW_TOKENS if sizes.are_long else SHORT_ROW_TOKENS
    block_size = arguments.pretraining_block_size or chosen.get("block_size", rows)
    batch_size = chosen.get("per_device_train_batch_size", max(1, TOKENS_PER_STEP // block_size))
    return {
        **chosen,
        "learning_rate": arguments.pretraining_learning_rate or chosen["learning_rate"],
        "block_size": block_size,
        "per_device_train_batch_size": arguments.pretraining_batch_size or batch_size,
    }


@dataclass(frozen=True)
class Speeds:
    """Measured times in seconds, and the lengths of epochs in steps; of pretraining 0 without this stage.

    fine_tuning_epoch: of all classifiers, if there are teachers. fine_tuning_epoch_steps: of the last one.
    labelling: the time of all teachers' predictions. trial: that of the number of blocks.
    """

    fine_tuning_epoch: float
    fine_tuning_epoch_steps: int
    pretraining_step: float = 0.0
    pretraining_epoch_steps: float = 0.0
    pretraining_evaluations: float = 0.0
    labelling: float = 0.0
    trial: float = 0.0

    def with_teachers(self, teachers: int, labelled: TextSizes, to_label: TextSizes) -> "Speeds":
        """Return the speeds if all classifiers but the first learn from the pseudo-labelled texts as well."""
        if not teachers:
            return self
        ratio = to_label.words / labelled.words
        return replace(
            self,
            fine_tuning_epoch=self.fine_tuning_epoch * (1 + teachers * (1 + ratio)),
            fine_tuning_epoch_steps=ceil(self.fine_tuning_epoch_steps * (1 + to_label.texts / labelled.texts)),
            labelling=self.fine_tuning_epoch * teachers * ratio * LABELLING,
        )


def schedule(
    choices: Choices,
    arguments: RecipeArguments,
    speeds: Speeds,
    given_epochs: float | None,
    labelled: TextSizes | None = None,
    to_label: TextSizes | None = None,
) -> Choices:
    """Choose the epochs of fine-tuning and the steps of pretraining, so that both keep to the minutes.

    Teachers are left out if there is no time for an epoch with them. speeds: without teachers. given_epochs: those that
    the user gave. labelled, to_label: as for `choose`.
    """
    if labelled and to_label and choices.teachers:
        taught = speeds.with_teachers(choices.teachers, labelled, to_label)
        is_asked = given_epochs is not None or arguments.teachers is not None
        if not is_asked and _fine_tuning_seconds(choices, arguments, taught) < taught.fine_tuning_epoch:
            reasons = [*choices.reasons, "no teachers: there is no time for an epoch with them"]
            choices = replace(choices, teachers=0, reasons=reasons)
        else:
            speeds = taught
    affordable = _fine_tuning_seconds(choices, arguments, speeds) / speeds.fine_tuning_epoch
    epochs = given_epochs or _epochs(choices.options["num_train_epochs"], affordable)
    fine_tuning = epochs * speeds.fine_tuning_epoch + speeds.labelling
    options, stage = {**choices.options, "num_train_epochs": epochs}, choices.pretraining
    if "ema_decay" not in options:
        options["ema_decay"] = EMA_DECAY if epochs * speeds.fine_tuning_epoch_steps >= AVERAGED_STEPS else 0
    turns = f" of {choices.teachers + 1} classifiers in turn" if choices.teachers else ""
    reasons = [f"fine-tuning{turns}: {epochs:g} epochs, about {duration(fine_tuning)}"]
    if stage:
        given = arguments.pretraining_minutes
        seconds = arguments.chosen.minutes * 60 - fine_tuning if given is None else given * 60
        affordable_steps = (seconds - speeds.pretraining_evaluations) / speeds.pretraining_step
        steps = min(affordable_steps, _most_steps(choices, arguments, speeds))
        stage = {**stage, "max_steps": arguments.pretraining_steps or max(1, int(steps))}
        reasons.insert(0, _of_stage(stage, speeds))
    return replace(choices, options=options, pretraining=stage, reasons=[*choices.reasons, *reasons])


def _fine_tuning_seconds(choices: Choices, arguments: RecipeArguments, speeds: Speeds) -> float:
    """Return the time that pretraining and labelling leave to the epochs of fine-tuning."""
    whole = arguments.chosen.minutes * 60
    left = whole - speeds.trial - _pretraining_minutes(choices, arguments, speeds) * 60 - speeds.labelling
    return max(left, LEAST_FINE_TUNING * whole)


def _most_steps(choices: Choices, arguments: RecipeArguments, speeds: Speeds) -> float:
    passes = arguments.chosen.passes if choices.pretraining.get("objective") == "context" else MASKED_EPOCHS
    return passes * speeds.pretraining_epoch_steps


def _pretraining_minutes(choices: Choices, arguments: RecipeArguments, speeds: Speeds) -> float:
    """Return the minutes that fine-tuning leaves to pretraining, if it can use them."""
    if not choices.pretraining:
        return 0
    if arguments.pretraining_steps:
        return (arguments.pretraining_steps * speeds.pretraining_step + speeds.pretraining_evaluations) / 60
    if arguments.pretraining_minutes is not None:
        return arguments.pretraining_minutes
    steps = _most_steps(choices, arguments, speeds)
    useful = (steps * speeds.pretraining_step + speeds.pretraining_evaluations) / 60
    return min(arguments.chosen.minutes * arguments.chosen.pretraining_share, useful)


def _epochs(most: int, affordable: float) -> float:
    """Return whole epochs, or a part of one if there is no time for more."""
    return float(min(most, int(affordable))) if affordable >= 1 else float(f"{affordable:.3g}")


def _of_stage(stage: Mapping[str, Any], speeds: Speeds) -> str:
    steps = stage["max_steps"]
    seconds = steps * speeds.pretraining_step + speeds.pretraining_evaluations
    return (
        f"pretraining: {steps:,} steps of {stage['per_device_train_batch_size']} rows of {stage['block_size']} tokens, "
        f"{steps / speeds.pretraining_epoch_steps:.3g} epochs, about {duration(seconds)}"
    )
