# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lesson 6: a real checkpoint and your own data. `modeling-scratch lesson 6` makes the notebook; this is its source."""

# %% [markdown] slide
# # 6. A real checkpoint, and your own data
#
# What you have built is what people download. A checkpoint is a folder:
#
# | file | holds |
# | --- | --- |
# | `config.json` | the switches and the sizes |
# | `model.safetensors` | the weights, each with a name |
# | `tokenizer.json` | from text to ids, and back |
#
# First you read such a folder: its switches, its names, its numbers. Then you train a classifier on a table of your
# own, and ask whether it was worth it.
# %% [markdown] teacher
# 15 minutes: config and names 4, layout and parity 4, tokenizer 2, own table 5. The training takes half a minute, so
# start it before you explain McNemar's test.
#
# The course runs without a network, so a cell writes a small BERT with random weights into "tiny-bert". If you have a
# network, write `FOLDER = "bert-base-uncased"` in place of `FOLDER = "tiny-bert"` in the next cell. The cells on
# switches, parity and unknown tokens then read that checkpoint; the trainings do not.
# %%
import os
import random
import re
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import torch
from scipy.stats import binomtest
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertModel,
    logging,
    pipeline,
)

from modeling_scratch import convert_config, course, export_pretrained, load_pretrained
from modeling_scratch.bridges.decoders import GPT2
from modeling_scratch.bridges.encoders import BERT
from modeling_scratch.training import train_classifier
from tokenization import train_bpe_tokenizer, train_wordlevel_tokenizer

logging.disable_progress_bar()
FOLDER = "tiny-bert"  # the checkpoint that is read: a folder, or a name on the Hub
STEPS = int(os.environ.get("NOTEBOOK_STEPS", "-1"))  # of each training; -1: as many as the epochs have

# %% [markdown]
# The texts of this lesson are complaints of hotel guests. Each praises one thing and complains about another. It has to
# go to the kitchen or to housekeeping. For texts of your own, `rows` is a DataFrame, or the path of a CSV file.
# %%
KITCHEN = ["breakfast", "soup", "coffee", "dinner", "bread", "salad"]
ROOM = ["bed", "shower", "carpet", "window", "pillow", "towel"]
GOOD = ["wonderful", "perfect", "lovely", "excellent", "superb", "great"]
BAD = ["cold", "dirty", "awful", "stale", "horrible", "poor"]
HOW = ["really", "truly", "rather", "quite", "simply", "always"]


def complaint(label):
    nouns = {"kitchen": random.choice(KITCHEN), "room": random.choice(ROOM)}
    opinions = {name: random.choice(BAD if name == label else GOOD) for name in nouns}
    first, second = random.sample(list(nouns), 2)
    clauses = [f"the {nouns[name]} was {random.choice(HOW)} {opinions[name]}" for name in (first, second)]
    return f"{clauses[0]}, {random.choice(['but', 'and', 'while'])} {clauses[1]}."


random.seed(0)
rows = list({complaint(label): label for _ in range(1500) for label in ("kitchen", "room")}.items())
print(f"{len(rows)} rows, such as", *rows[:2], sep="\n")

# %%
of_pieces = train_bpe_tokenizer([text for text, _ in rows], vocab_size=400, show_progress=False)
torch.manual_seed(0)
tiny = BertModel(
    BertConfig(
        vocab_size=len(of_pieces), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256,
        max_position_embeddings=64, initializer_range=0.1, pad_token_id=of_pieces.pad_token_id,
    )
)  # fmt: skip
tiny.save_pretrained("tiny-bert")
of_pieces.save_pretrained("tiny-bert")

native = BertModel.from_pretrained(FOLDER).eval()
tokenizer = AutoTokenizer.from_pretrained(FOLDER)

# %% [markdown] slide
# ## The switches
#
# BERT, GPT-2 and Llama are one architecture with different switches. `convert_config` reads those of a native
# `config.json`, and refuses what it does not know: a field that is dropped in silence is a wrong number later.


# %% exercise bert_switches
# From lessons 1 to 4: which values make the Transformer of 2017 a BERT?
#   norm_position    "pre" or "post"
#   position_type    "sinusoidal", "learned" or "rotary"
#   hidden_act       "relu", "gelu" or "swiglu"
#   embedding_norm   True: the sum of the embeddings is normalised
#   type_vocab_size  how many kinds of sentences it tells apart; 0: none
# solution
switches = {
    "norm_position": "post",
    "position_type": "learned",
    "hidden_act": "gelu",
    "embedding_norm": True,
    "type_vocab_size": 2,
}
# end solution
course.check("bert_switches", switches)

# %%
config = convert_config(native.config)
print({name: getattr(config, name) for name in ("norm_position", "position_type", "hidden_act", "embedding_norm")})

# %% [markdown] slide
# ## The names
#
# The same matrices have other names. A **bridge** is a table with a row for each: the native name, and the book's.
# After `encoder.layer.{}.` in BERT and `stack.layers.{}.` here, `{}` being the number of the layer:
#
# | BERT | the book |
# | --- | --- |
# | `attention.self.query` | `attention.q_proj` |
# | `attention.self.key` | `attention.k_proj` |
# | `attention.self.value` | `attention.v_proj` |
#
# Read from left to right it converts, from right to left it exports. Every weight has to be found: one that is left
# over, or missing, is an error.


# %% exercise our_name
# Layers may have two digits. `re.search(r"\.(\d+)\.", name)` finds their number, or None.
def our_name(name, rows):
    """A native name such as "encoder.layer.1.output.dense.bias", and rows (native, ours) -> our name."""
    # solution
    module, _, kind = name.rpartition(".")  # kind: weight or bias
    layer = re.search(r"\.(\d+)\.", module)
    number = layer[1] if layer else ""
    for theirs, ours in rows:
        if theirs.format(number) == module:
            return f"{ours.format(number)}.{kind}"
    # end solution


course.check("our_name", our_name)

# %%
for row in BERT.rows[:6]:
    print(f"{row.theirs:40} {' + '.join(row.ours)}")

# %% [markdown] slide
# ## The layout
#
# Names are not everything. `nn.Linear` computes $x W^\top$ and stores W as (outputs, inputs). GPT-2 computes $x W$, and
# keeps the matrices of queries, keys and values side by side in one, `c_attn`, of shape (hidden, 3 hidden). A wrong
# transposition of a square matrix has the right shape, and raises no error.


# %% exercise split_c_attn
# Give the three matrices in the layout of nn.Linear.
def split_c_attn(weight):
    """(hidden, 3 * hidden) -> query, key, value, each (hidden, hidden)."""
    # solution
    query, key, value = weight.T.chunk(3)
    return query, key, value
    # end solution


course.check("split_c_attn", split_c_attn)

# %%
(row,) = (row for row in GPT2.rows if "c_attn" in row.theirs)
print(row)

# %% [markdown] slide
# ## Parity: the only proof
#
# The shapes fit and the loss falls. That proves nothing: training hides a wrong epsilon, a missing bias, a swapped
# norm. Compare the numbers.
#
# - Redraw **all** parameters. Biases start at 0 and norms at 1, which would hide a mistake in their use.
# - Use a batch with padding, and compare the real tokens only.
# - float32 has 7 digits: 1e-5 of the largest output is rounding, 1e-3 is a mistake.


# %% exercise parity
def parity(ours, theirs, mask):
    """Hidden states (B, T, hidden), mask (B, T), 1 at real tokens -> the largest difference, a tensor without axes."""
    # solution
    return (ours - theirs).abs()[mask.bool()].max()
    # end solution


course.check("parity", parity)

# %%
with torch.no_grad():
    for parameter in native.parameters():
        parameter.copy_(0.3 * torch.randn(parameter.shape))
native.save_pretrained("redrawn")
model = load_pretrained("redrawn")  # the same Block as in lesson 4
batch = tokenizer(["the bed was cold", "the soup was awful, the towel perfect."], padding=True, return_tensors="pt")
with torch.no_grad():
    ours, theirs = (each(**batch).last_hidden_state for each in (model, native))
difference = parity(ours, theirs, batch["attention_mask"])
print(f"{type(native).__name__} and {type(model).__name__}: largest difference {difference:.0e}")
assert difference < 1e-5 * theirs.abs().max()

# %% [markdown]
# And back, by the same table: `export_pretrained` writes a BERT of Hugging Face, which anybody can load without this
# package.
# %%
exported = tempfile.mkdtemp()
export_pretrained(model, exported, tokenizer)
back = BertModel.from_pretrained(exported).state_dict()
print("the same weights:", all(torch.equal(weight, back[name]) for name, weight in native.state_dict().items()))

# %% [markdown] slide
# ## The tokenizer belongs to the checkpoint
#
# Row 17 of the embeddings is the token that *this* tokenizer calls 17. Another tokenizer gives ids that fit, and a
# meaningless answer. So load both from the same folder.
#
# A tokenizer of words turns each word that it lacks into `[UNK]`: "the stew was vile" becomes "the [UNK] was [UNK]",
# and the model answers all the same. Check it on your texts, first of all.

# %%
of_words = train_wordlevel_tokenizer([text for text, _ in rows], vocab_size=42, show_progress=False)
for each in (of_words, tokenizer):
    print([each.decode([token]) for token in each("the stew was vile", add_special_tokens=False)["input_ids"]])

# %% [markdown] slide
# ## Your own table
#
# One call trains on the rows. It holds out a tenth for validation and a tenth for the test, trains **two linear
# models** on the same rows, and writes a report with all of them.
#
# - A linear model counts words, and sequences of two or three. On many real tables that is as good, and much cheaper.
# - Here, every text has both departments and both opinions. Only their *order* tells where the complaint goes.
#
# The last 300 rows are kept for a second question, so no model sees them before.
# %%
options = {"report_to": "none", "disable_tqdm": True, "overwrite": True, "ema_decay": 0, "max_steps": STEPS}
with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # its own lines; it takes half a minute
    report = train_classifier(
        rows[:-300], output_dir="runs/complaints", preset="demo", num_train_epochs=6, learning_rate=2e-3,
        per_device_train_batch_size=64, **options,
    )  # fmt: skip
print(report.text.partition("The weights are")[0])

# %% [markdown] slide
# ## Is it better, or lucky?
#
# Two models were tested on the same texts. Texts that both get right, or both wrong, do not tell them apart. Of the
# others, only the first model gets b right, and only the second gets c right. If the models were equally good, each of
# these would be a coin toss. **McNemar's test** computes the probability that b + c tosses are at least as uneven as
# b : c.


# %% exercise p_value
# `binomtest(b, b + c).pvalue` is this probability, for both sides.
def p_value(first_is_right, second_is_right):
    """Two lists of True and False, for the same texts -> a probability."""
    # solution
    pairs = list(zip(first_is_right, second_is_right))
    b, c = pairs.count((True, False)), pairs.count((False, True))
    return binomtest(b, b + c).pvalue
    # end solution


course.check("p_value", p_value)

# %% [markdown] slide
# ## Few rows: start from a checkpoint
#
# Now the hotel asks another question: who was *praised*? You have 100 labelled rows, too few to train from random
# weights. The trained model already knows which opinion belongs to which noun, so it only has to learn what to make of
# it.
#
# `model_name_or_path` names the checkpoint: this folder, or with a network "bert-base-uncased". Smaller steps keep what
# it knows.
# %%
PRAISED = {"kitchen": "room", "room": "kitchen"}
praise = [(text, PRAISED[label]) for text, label in rows]
tables = {"train": praise[:100], "test": praise[-300:]}
with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
    tuned = train_classifier(
        tables, output_dir="runs/praise", model_name_or_path=str(report.folder), num_train_epochs=40,
        learning_rate=5e-4, per_device_train_batch_size=16, **options,
    )  # fmt: skip
print(tuned.text.partition("The weights are")[0])

# %% [markdown]
# ## Use it, share it
#
# The folder is an ordinary checkpoint: Auto classes and pipelines load it.
# %%
folder = str(report.folder)
texts = [
    "the bread was truly superb, while the bed was rather dirty.",
    "the bed was truly superb, but the bread was rather dirty.",
]
for text, answer in zip(texts, pipeline("text-classification", model=folder, device="cpu")(texts)):
    print(f"{answer['label']:8} {answer['score']:.3f}  {text}")

model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
batch = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
print(type(model).__name__, [model.config.id2label[label] for label in model(**batch).logits.argmax(-1).tolist()])

# %% [markdown] slide
# ## What to keep
#
# - A checkpoint is switches, named matrices and a tokenizer. A bridge is a table; parity proves it.
# - Train a linear model beside yours, on the same rows. Report the difference with its test.
# - Few rows: start from a checkpoint. One that has read books, such as "bert-base-uncased", knows words that your rows
#   lack.
#
# Read on: `docs/own-data.md` and `docs/native-checkpoints.md`.
# %% [markdown] teacher
# **Questions that come.**
#
# - *Is 0 suspicious?* No: both models call the same kernels in the same order here. With others, expect about 1e-7, as
#   float32 rounds each addition.
# - *My table has 200 rows.* Then the linear model is hard to beat from random weights; fine-tune a pretrained one.
# - *The p-value is 0.3. Are they equal?* No: these texts cannot tell them apart. More test texts could.
# - *May I try five settings and report the best?* On the validation texts, yes. On the test texts, no.
