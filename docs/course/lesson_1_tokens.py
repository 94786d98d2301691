# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lesson 1: tokens and embeddings. `modeling-scratch lesson 1` makes the notebook; this file is its source."""

# %% [markdown] slide
# # 1. Tokens and embeddings
#
# A Transformer computes with numbers. How does a text become numbers, and what do the numbers mean?
#
# 1. A **tokenizer** cuts the text into tokens and numbers them.
# 2. A **batch** puts texts of different lengths into one table.
# 3. An **embedding** gives each token a vector, and each position another.
# 4. **Training** moves tokens that are used alike close to each other.
# %% [markdown]
# In an exercise, replace `...` with your code and run the cell. `course.check` says whether you are right. If not, it
# names the mistake. Cells further down use your functions, so keep to the order.
#
# | letter | is the number of |
# | --- | --- |
# | B | texts in a batch |
# | T | tokens in a text, with padding |
# | V | tokens in the vocabulary |
# | d_model | features of a token |
# %% [markdown] teacher
# 15 minutes: 2 for this page, 10 for the exercises in pairs, 3 for the last cell together. Ask before you start:
# *what does a model see when it reads "cat"?* Most answer with letters or with a meaning. It sees one number, which
# says neither.
# %%
import math
from collections import Counter
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from modeling_scratch import ScratchEncoderConfig, course, presets
from modeling_scratch.data.demo_reviews import generate
from modeling_scratch.embeddings import Embeddings
from modeling_scratch.positions import sinusoidal
from tokenization import train_bpe_tokenizer, train_wordlevel_tokenizer

reviews = [text.lower() for text, _ in generate("train", 2000, seed=0)]
print(reviews[0], reviews[1], reviews[2], sep="\n")


# %% [markdown] slide
# ## Words become ids
#
# The vocabulary is a dictionary from words to ids.
#
# | word | [UNK] | the | film | bores |
# | --- | --- | --- | --- | --- |
# | id | 1 | 2 | 3 | 4 |
#
# - "The film bores" is `[2, 3, 4]`.
# - "The film fizzles" is `[2, 3, 1]`. A word that the vocabulary lacks becomes the *unknown token*.
# - The model cannot tell one unknown word from another.
# %% exercise ids_of
# Lowercase the text, and split it at white space. Return the list of ids, with vocabulary["[UNK]"] for unknown words.
def ids_of(text, vocabulary):
    # solution
    return [vocabulary.get(word, vocabulary["[UNK]"]) for word in text.lower().split()]
    # end solution


course.check("ids_of", ids_of)

# %% [markdown]
# The tokenizers of this project do the same. They also separate punctuation, and add tokens for the start and the end
# of a text.
# %%
words = train_wordlevel_tokenizer(reviews, vocab_size=600, show_progress=False)
for text in ("this film is gripping.", "this film is quizzical."):
    print(words.convert_ids_to_tokens(words(text)["input_ids"]))


# %% [markdown] slide
# ## Pieces of words
#
# *Byte-pair encoding* leaves no word unknown. Start from letters, and repeat: merge the commonest pair of neighbours
# into one token (Sennrich et al. 2016).
#
# | word | count | at the start | after the first merge |
# | --- | --- | --- | --- |
# | low | 5 | l o w | **lo** w |
# | lot | 3 | l o t | **lo** t |
# | wow | 2 | w o w | w o w |
#
# Frequent words end up as one token, rare words as several.
# %% exercise commonest_pair
# words maps each word, a tuple of symbols, to its count in the text. Which pair of neighbours is the commonest?
def commonest_pair(words):
    """{("l", "o", "w"): 5, ...} -> ("l", "o")."""
    # solution
    counts = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts.most_common(1)[0][0]
    # end solution


course.check("commonest_pair", commonest_pair)

# %% [markdown]
# A vocabulary of 600 pieces, learned from the same reviews. The word that was unknown above is now several pieces.
# %%
pieces = train_bpe_tokenizer(reviews, vocab_size=600, show_progress=False)
for text in ("this film is gripping.", "this film is quizzical."):
    print([pieces.decode([token]) for token in pieces(text)["input_ids"]])


# %% [markdown] slide
# ## A batch is a table
#
# | text | `input_ids` | `attention_mask` |
# | --- | --- | --- |
# | the film bores . | 2 3 4 5 | 1 1 1 1 |
# | it bores [PAD] [PAD] | 6 4 0 0 | 1 1 0 0 |
#
# - `input_ids` (B, T): short texts are filled up with the *padding token*, here id 0.
# - `attention_mask` (B, T): 1 at real tokens, 0 at padding. Lesson 3 shows how attention uses it.
# %% exercise padded
# Append pad_id to the shorter texts. The mask has 1 at real tokens and 0 at padding.
def padded(texts, pad_id):
    """Lists of ids -> two tensors of integers (B, T): ids and mask."""
    # solution
    length = max(len(text) for text in texts)
    ids = torch.tensor([text + [pad_id] * (length - len(text)) for text in texts])
    mask = torch.tensor([[1] * len(text) + [0] * (length - len(text)) for text in texts])
    return ids, mask
    # end solution


course.check("padded", padded)


# %% [markdown] slide
# ## A token becomes a vector
#
# The embedding of token $t$ is row $t$ of a table $E$ with V rows and $d_{model}$ columns:
#
# $$x = E_t = \mathrm{onehot}(t)\, E$$
#
# - The ids have no order: token 7 is not "between" 6 and 8. The vectors carry what the model knows.
# - The table starts random. It is trained like every other weight.
# %% exercise embedded
# Look up rows by a product of matrices. For a table of V rows, F.one_hot(ids, V) has a 1 at each token's id. It holds
# integers: .float() makes them real numbers.
def embedded(ids, table):
    """ids (B, T), table (V, d_model) -> (B, T, d_model)."""
    # solution
    one_hot = F.one_hot(ids, len(table)).float()  # (B, T, V)
    return one_hot @ table
    # end solution


course.check("embedded", embedded)

# %% [markdown]
# `nn.Embedding` gives the same result without the product. It copies the rows.
# %%
table = nn.Embedding(10, 4)
ids = torch.tensor([[3, 1, 3], [0, 9, 2]])
print("same:", torch.allclose(table(ids), F.one_hot(ids, 10).float() @ table.weight))


# %% [markdown] slide
# ## Plus a position
#
# Attention does not know the order of the tokens (lesson 3 proves it). So each token's vector also says where it
# stands:
#
# $$x_p = \sqrt{d_{model}}\; E_{t_p} + P_p \qquad \text{(Vaswani et al. 2017, 3.4 and 3.5)}$$
#
# $P$ has one row for each position: 0, 1, 2, ... The factor makes the small values of $E$ as large as those of $P$,
# which range from -1 to 1.
# %% [markdown] teacher
# BERT and GPT-2 leave the factor out and learn P, too. Llama adds nothing here and turns queries and keys instead
# (lesson 3). A good question: *why add the two, instead of concatenating them?* In many dimensions, random directions
# hardly overlap. The model can learn to read either part.
# %% exercise embeddings
# Write the equation. positions has a row for each position, the first for position 0.
def embeddings(ids, table, positions):
    """ids (B, T), table (V, d_model), positions (T, d_model) -> (B, T, d_model)."""
    # solution
    return math.sqrt(table.shape[1]) * table[ids] + positions
    # end solution


course.check("embeddings", embeddings)

# %% [markdown]
# The check compared your function with `modeling_scratch/embeddings.py`. Here is the same comparison, step by step:
# %%
config = presets.vaswani(ScratchEncoderConfig, hidden_size=8, num_attention_heads=2)
book = Embeddings(config, vocab_size=10).eval()
positions = torch.arange(3)
mine = embeddings(ids, book.tokens.weight, sinusoidal(positions, 8))
print(f"largest difference: {(mine - book(ids, positions[None])).abs().max():.0e}")


# %% [markdown] slide
# ## What training does to the table
#
# Train a table to predict the word before and the word after each word, in 2,000 film reviews. Nothing tells it what
# a word means.
#
# - "comedy" and "thriller" stand in the same places, so they get similar vectors.
# - Similar means: a small angle between them,
#
# $$\cos(a, b) = \frac{a \cdot b}{|a|\,|b|}$$
# %% [markdown]
# The next cell counts the neighbours of each word, and trains a table of 16 features to predict them. You need not
# read it in detail: lesson 5 is about training.
# %%
V = len(words)
counts = torch.zeros(V, 2 * V)  # how often a word has each word before it, and after it
for text in reviews:
    ids = torch.tensor(words(text, add_special_tokens=False)["input_ids"])
    one = torch.ones(len(ids) - 1)
    counts.index_put_((ids[1:], ids[:-1]), one, accumulate=True)
    counts.index_put_((ids[:-1], V + ids[1:]), one, accumulate=True)

torch.manual_seed(0)
table, output = nn.Embedding(V, 16), nn.Linear(16, 2 * V)
nn.init.normal_(table.weight, std=0.1)
optimizer = torch.optim.Adam([*table.parameters(), *output.parameters()], lr=0.1)
for _ in range(60):
    logits = output(table.weight).unflatten(-1, (2, V))
    loss = -(counts * logits.log_softmax(-1).flatten(1)).sum() / counts.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}, of guessing {math.log(V):.2f}")

for name in ("friend", "comedy", "loved", "boring"):
    similar = F.cosine_similarity(table.weight[words.convert_tokens_to_ids(name)], table.weight).topk(7)
    print(f"{name:7}", words.convert_ids_to_tokens(similar.indices.tolist())[1:])

# %% [markdown]
# Opinions that are *opposite* also become similar, since they stand in the same places: beside "loved" and "boring" are
# words of praise and words of blame. The vector of a word alone does not say what a review means. That takes the
# context of the word, the subject of lesson 2.
#
# Read on: `modeling_scratch/embeddings.py`, about 80 lines, and `tokenization/`.
# %% [markdown] teacher
# To discuss: which words would be similar if the window were a whole review? What does the table say about a word
# that occurs once? Answer to both: similarity follows use. With a wide window, topics count more than grammar. A
# word that occurs once is like whatever stands in its one place.
