# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lesson 2: attention by hand. `modeling-scratch lesson 2` makes the notebook; this file is its source."""

# %% [markdown] slide
# # 2. Attention by hand
#
# "The film was **gripping**." "The film was **not** gripping."
#
# The embedding of *gripping* is the same in both. Its meaning is not: it depends on the other tokens.
#
# **Attention lets a token fetch what it needs from the others.** It is a weighted mean, and the weights are computed
# from the tokens themselves.
# %% [markdown] teacher
# 15 minutes: 3 at the board for the example with two keys, 10 for the exercises, 2 for the head that finds a
# negation. Let everybody compute the example on paper first. The commonest mistake in the exercises is the axis of
# the softmax; the second is scaling by the width of the model.
# %%
import math
from types import SimpleNamespace

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from modeling_scratch import ScratchEncoderConfig, course
from modeling_scratch.attention import Attention, eager_attention

# %% [markdown] slide
# ## Query, key, value
#
# Each token has three vectors:
#
# - its **query**: what it looks for,
# - its **key**: what it can be found by,
# - its **value**: what it gives to those who find it.
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# It is equation 1 of Vaswani et al. 2017. Read it from the inside: **scores** $Q K^\top$, scaled by $\sqrt{d_k}$;
# **weights**, by a softmax; the **mean** of the values.
# %% [markdown] slide
# ## One query, two keys
#
# $d_k = 4$, so that $\sqrt{d_k} = 2$.
#
# | | vector | score: dot product with the query | value |
# | --- | --- | --- | --- |
# | query | (1, 1, 1, 1) | | |
# | first key | (1, 1, 1, 1) | 4 | 10 |
# | second key | (1, 1, -1, -1) | 0 | 0 |
#
# 1. Scale the scores.
# 2. Raise $e$ to each: $e^2 = 7.39$, $e^1 = 2.72$, $e^0 = 1$.
# 3. Divide by the sum: these are the weights.
# 4. Take the weighted mean of the values.
# %% exercise by_hand
# On paper, or with a calculator: what is the output of attention for this query? Two decimals.
# solution
by_hand = 8.81
# end solution

course.check("by_hand", by_hand)


# %% [markdown] slide
# ## Softmax
#
# $$\mathrm{softmax}(s)_j = \frac{e^{s_j}}{\sum_k e^{s_k}}$$
#
# - All weights are positive, and a row sums to 1.
# - A constant added to a row changes nothing. So subtract the largest score of the row first: $e^{1000}$ is infinite
#   in a computer.
# %% exercise softmax
# Write it with exp and sum, without torch.softmax. scores has T rows, one for each query, and S columns, one for each
# key. The softmax runs over the last axis, the keys of one query. `keepdim=True` keeps this axis, so that shapes fit.
def softmax(scores):
    """scores (..., T, S) -> weights (..., T, S)."""
    # solution
    exponentials = (scores - scores.amax(-1, keepdim=True)).exp()
    return exponentials / exponentials.sum(-1, keepdim=True)
    # end solution


course.check("softmax", softmax)


# %% [markdown] slide
# ## All scores at once
#
# $Q$ has a row for each query, $K$ a row for each key. Then $Q K^\top$ has the score of query $i$ and key $j$ in row
# $i$, column $j$:
#
# `(T, d_k) @ (d_k, S) -> (T, S)`
#
# Axes in front of these, for texts and heads, stay as they are: `(B, H, T, d_k) @ (B, H, d_k, S) -> (B, H, T, S)`.
# %% exercise scores
# The scaled scores. key.transpose(-2, -1) exchanges the last two axes.
def scores(query, key):
    """query (..., T, d_k), key (..., S, d_k) -> (..., T, S)."""
    # solution
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    # end solution


course.check("scores", scores)

# %% [markdown] slide
# ## Why the division by $\sqrt{d_k}$
#
# Take a query and a key of $d_k$ independent features with mean 0 and variance 1. Their dot product is a sum of $d_k$
# terms of variance 1. Variances of independent terms add up, so its standard deviation is $\sqrt{d_k}$: 8 for 64
# features.
#
# Without the division, the scores of wide heads are large, and the softmax takes one key and drops all others. Then
# its gradient is almost 0, and the layer stops learning.
# %%
torch.manual_seed(0)
for size in (4, 64, 1024):
    query, keys = torch.randn(1000, 1, size), torch.randn(1000, 10, size)
    raw = query @ keys.transpose(-2, -1)  # (1000, 1, 10): ten keys for each query
    largest = [some.softmax(-1).amax(-1).mean().item() for some in (raw / math.sqrt(size), raw)]
    print(f"d_k {size:4}: largest weight {largest[0]:.2f} scaled, {largest[1]:.2f} not scaled")


# %% exercise attention
# Put the parts together. The axes in front, for texts and heads, need nothing extra.
def attention(query, key, value):
    """query (..., T, d_k), key and value (..., S, d_k) -> (..., T, d_k)."""
    # solution
    return softmax(scores(query, key)) @ value
    # end solution


course.check("attention", attention)

# %% [markdown]
# This is the whole formula. The one that runs in this project's models is `eager_attention` in
# `modeling_scratch/attention.py`. Your function gives the same numbers, and so does the fast kernel of PyTorch:
# %%
query, key, value = torch.randn(3, 2, 4, 6, 8)  # 2 texts, 4 heads, 6 tokens, 8 features
layer = SimpleNamespace(num_key_value_groups=1)  # all that the function reads of its layer: each head has its own keys
theirs, weights = eager_attention(layer, query, key, value, attention_mask=None, scaling=8**-0.5)
mine = attention(query, key, value)
print(f"book:  {(mine - theirs.transpose(1, 2)).abs().max():.0e}")
print(f"torch: {(mine - F.scaled_dot_product_attention(query, key, value)).abs().max():.0e}")


# %% [markdown] slide
# ## Self-attention
#
# Where do queries, keys and values come from? From the tokens themselves, by three matrices that are trained:
#
# $$Q = X W_Q \qquad K = X W_K \qquad V = X W_V$$
#
# - `X` (T, d_model) has the embeddings of lesson 1.
# - The matrices (d_model, d_k) pick what a token asks for, what it is found by, and what it gives.
# %% exercise self_attention
# Project x three times, then use your attention.
def self_attention(x, w_query, w_key, w_value):
    """x (B, T, d_model), the matrices (d_model, d_k) -> (B, T, d_k)."""
    # solution
    return attention(x @ w_query, x @ w_key, x @ w_value)
    # end solution


course.check("self_attention", self_attention)

# %% [markdown]
# The layer of the book has the same three matrices, stored as `nn.Linear`, which keeps them transposed, and one more
# for the output. With one head and without biases:
# %%
config = ScratchEncoderConfig(hidden_size=8, num_attention_heads=1, attention_bias=False, attn_implementation="eager")
layer = Attention(config, layer_idx=0).eval()
x = torch.randn(2, 5, 8)
mine = self_attention(x, layer.q_proj.weight.T, layer.k_proj.weight.T, layer.v_proj.weight.T) @ layer.o_proj.weight.T
print(f"largest difference: {(mine - layer(x)[0]).abs().max():.0e}")

# %% [markdown] slide
# ## A head made by hand
#
# Give each word three features: is it an opinion, is it a negation, and 1 for every word. A head that lets opinions
# look for negations:
#
# - query: "I look for a negation", 8 times the first feature,
# - key: "I am a negation", the second feature,
# - value: the second feature. The output says how much negation an opinion has found.
# %%
sentence = ["the", "film", "was", "not", "gripping", "but", "the", "music", "was"]
features = {"gripping": (1.0, 0.0, 1.0), "not": (0.0, 1.0, 1.0)}
x = torch.tensor([[features.get(word, (0.0, 0.0, 1.0)) for word in sentence]])  # (1, T, 3)
w_query, w_key, w_value = (
    torch.tensor([[number] for number in column]) for column in ((8.0, 0, 0), (0, 1.0, 0), (0, 1.0, 0))
)
output = self_attention(x, w_query, w_key, w_value)[0, :, 0]
for word, number in zip(sentence, output.tolist()):
    print(f"{word:9} found {number:.2f} of a negation")

# %%
weights = softmax(scores(x @ w_query, x @ w_key))[0]
plt.figure(figsize=(4.5, 3.6))
plt.imshow(weights.numpy(), cmap="Blues", vmin=0, vmax=1)
plt.xticks(range(len(sentence)), sentence, rotation=90)
plt.yticks(range(len(sentence)), sentence)
plt.xlabel("key")
plt.ylabel("query")
plt.tight_layout()

# %% [markdown]
# Only the row of *gripping* has a dark cell. All other queries are 0: their scores are equal, and their weights are 1
# divided by the number of tokens. A token that looks for nothing takes the plain mean.
#
# Training finds such matrices by itself, and less clear ones. Read on: `modeling_scratch/attention.py`. The
# notebook *A Transformer in an evening* builds the whole model around it.
# %% [markdown] teacher
# To discuss: what would happen with `w_query` of 0.8 in place of 8? The row gets pale: the size of the projections
# decides how sharp a head is. And with two negations in the sentence? Each gets about half of the weight, so the
# output stays near 1: a mean does not count.
