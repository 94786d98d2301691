# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lesson 3: heads, masks, positions. `modeling-scratch lesson 3` makes the notebook; this file is its source."""

# %% [markdown] slide
# # 3. Heads, masks, positions
#
# The attention of lesson 2 is one mean, over all tokens, in no order. Three things are missing:
#
# 1. **Heads**: a verb needs its subject *and* its object, so it needs two means.
# 2. **Masks**: padding must not count, and a language model must not see the word that it predicts.
# 3. **Positions**: "dog bites man" is not "man bites dog".
# %% [markdown]
# | letter | is the number of | here |
# | --- | --- | --- |
# | B | texts in a batch | 2 |
# | T | tokens in a text: queries | 6 |
# | S | keys; in self-attention, the same tokens | 6 |
# | H | heads | 4 |
# | D | features of a head, $d_k = d_{model} / H$ | 8 |
# %% [markdown] teacher
# 15 minutes: 4 for heads, 6 for masks, 5 for positions. The masks need most of the time. Draw the triangle, and ask
# who sees whom. If time is short, leave out the last exercise, *rotate*.
# %%
import torch
from torch import nn

from modeling_scratch import ScratchEncoderConfig, ScratchEncoderModel, course
from modeling_scratch.attention import Attention

B, T, H, D = 2, 6, 4, 8
torch.manual_seed(0)


def attention(query, key, value):
    """The formula of lesson 2: (..., T, D) and twice (..., S, D) -> (..., T, D)."""
    return (query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5).softmax(-1) @ value


# %% [markdown] slide
# ## Heads
#
# $$\mathrm{MultiHead}(X) = \mathrm{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_H)\, W_O$$
#
# $$\mathrm{head}_h = \mathrm{Attention}(X W_h^Q,\; X W_h^K,\; X W_h^V)$$
#
# - Each head has its own projections, to $D = d_{model} / H$ features. So H heads cost no more than one wide one.
# - The H projections are stored as one matrix, $d_{model} \times H D$. Its output is cut into heads afterwards:
#
# `(B, T, H * D) -> (B, T, H, D) -> (B, H, T, D)`
# %% exercise split_heads
# Cut the features into heads, and put the axis of the heads before that of the tokens.
def split_heads(x, heads):
    """x (B, T, H * D) -> (B, H, T, D)."""
    # solution
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)
    # end solution


course.check("split_heads", split_heads)

# %% [markdown]
# With the heads in front, the attention of lesson 2 runs as it is. The way back puts the heads side by side again.
# The whole layer in two lines, and its difference from the one of the book:
# %%
config = ScratchEncoderConfig(hidden_size=H * D, num_attention_heads=H, attn_implementation="eager")
layer = Attention(config, layer_idx=0).eval()
x = torch.randn(B, T, H * D)
with torch.no_grad():
    query, key, value = (split_heads(project(x), H) for project in (layer.q_proj, layer.k_proj, layer.v_proj))
    mine = layer.o_proj(attention(query, key, value).transpose(1, 2).flatten(2))
    print(tuple(query.shape), "->", tuple(mine.shape))
    print(f"largest difference: {(mine - layer(x)[0]).abs().max():.0e}")


# %% [markdown] slide
# ## The causal mask
#
# A language model predicts the next token, at all positions at once. Position $i$ may read the tokens 0 to $i$.
#
# | query \ key | the | film | is | good |
# | --- | --- | --- | --- | --- |
# | the | sees | | | |
# | film | sees | sees | | |
# | is | sees | sees | sees | |
# | good | sees | sees | sees | sees |
#
# The scores of the other pairs become $-\infty$ before the softmax. Then their weights are 0, and each row still sums
# to 1.
# %% exercise causal
# Which query (row) sees which key (column)? True where it does.
def causal(length):
    """-> booleans (T, T)."""
    # solution
    return torch.ones(length, length, dtype=torch.bool).tril()
    # end solution


course.check("causal", causal)


# %% exercise masked_attention
# The attention of lesson 2 with a mask. scores.masked_fill(hidden, number) writes a number where hidden is True.
def masked_attention(query, key, value, visible):
    """query (..., T, D), key and value (..., S, D), visible: booleans (..., T, S) -> (..., T, D)."""
    # solution
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    return scores.masked_fill(~visible, -torch.inf).softmax(-1) @ value
    # end solution


course.check("masked_attention", masked_attention)


# %% [markdown] slide
# ## Who sees whom
#
# ![Eight masks: padding, causal, left padding, packed segments, cross-attention, window](../pictures/figures-masks.png)
# %% [markdown] teacher
# The functions of the book drew this picture. The first two masks are those of the exercises. Packed segments put
# several short texts into one row, where padding would waste time. Windows bound the cost of long texts.
# %% [markdown]
# Padding is a matter of keys: no token may read it. What a padding token computes itself is never used. The mask gets
# an axis of 1 for the heads, which all see the same.
# %% exercise visible
# Combine both: a query sees a key that is real and not later than itself.
def visible(attention_mask):
    """attention_mask (B, S), 1 at real tokens, 0 at padding -> booleans (B, 1, T, S), where T = S."""
    # solution
    real = attention_mask.bool()[:, None, None, :]  # (B, 1, 1, S)
    return real & causal(attention_mask.shape[1])
    # end solution


course.check("visible", visible)

# %% [markdown]
# The proof that a mask works is that hidden tokens have no influence. Here the second text has two padding tokens. We
# change what stands there, and see where the output changes:
# %%
mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
before = masked_attention(query, key, value, visible(mask))
other_key, other_value = key.clone(), value.clone()
other_key[1, :, 4:], other_value[1, :, 4:] = 7.0, 7.0
after = masked_attention(query, other_key, other_value, visible(mask))
print(f"real tokens change by {(after - before)[1, :, :4].abs().max():.0e}")

# %% [markdown] slide
# ## Attention has no order
#
# Shuffle the tokens. The outputs are shuffled in the same way, and nothing else changes. To the softmax, "dog bites
# man" and "man bites dog" are the same set of keys.
#
# So the order has to be told:
#
# - **add** something to the embeddings: sinusoids (2017), or a learned table (BERT, GPT-2),
# - **turn** queries and keys: rotary positions (Llama),
# - **add** something to the scores: ALiBi, T5.
# %%
order = torch.tensor([3, 0, 5, 1, 4, 2])
shuffled = attention(query[:, :, order], key[:, :, order], value[:, :, order])
print(f"difference after shuffling: {(shuffled - attention(query, key, value)[:, :, order]).abs().max():.0e}")


# %% [markdown] slide
# ## Sinusoidal positions
#
# $$P_{p,\,2i} = \sin\left(p / 10000^{2i/d}\right) \qquad P_{p,\,2i+1} = \cos\left(p / 10000^{2i/d}\right)$$
#
# Each pair of features is the hand of a clock. The first one turns fast, the last one hardly moves. Together they
# tell the position, as the hands of a clock tell the time.
#
# ![Four heat maps: two kinds of sinusoids, rotary angles, and a learned table](../pictures/figures-positions.png)
# %% exercise sinusoidal
# Write section 3.5 of Vaswani et al. 2017. size is d, an even number; sines and cosines alternate.
def sinusoidal(length, size):
    """-> (T, d)."""
    # solution
    frequencies = 10_000.0 ** (-torch.arange(0, size, 2) / size)  # (d / 2,)
    angles = torch.arange(length)[:, None] * frequencies  # (T, d / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
    # end solution


course.check("sinusoidal", sinusoidal)


# %% [markdown] slide
# ## Rotary positions
#
# Turn each pair of features of a query and a key by the angle of that clock, $\alpha = p \cdot 10000^{-2i/D}$:
#
# $$x'_i = x_i \cos\alpha - x_{i+D/2} \sin\alpha \qquad x'_{i+D/2} = x_{i+D/2} \cos\alpha + x_i \sin\alpha$$
#
# - A turn keeps lengths. It changes the angle between a query and a key.
# - Both turn. So their dot product depends on the *distance* of their positions, not on the positions.
# %% exercise rotate
# Write both equations. states.chunk(2, dim=-1) gives the two halves of the features; the first token has position 0.
def rotate(states):
    """(..., T, D) -> (..., T, D)."""
    # solution
    length, size = states.shape[-2:]
    angles = torch.arange(length)[:, None] * 10_000.0 ** (-torch.arange(0, size, 2) / size)  # (T, D / 2)
    first, second = states.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    # end solution


course.check("rotate", rotate)

# %% [markdown]
# The same query at all positions, and the same key at all positions: the scores are equal along the diagonals.
# %%
same_query, same_key = torch.randn(2, 1, D).expand(2, T, D)
for row in (rotate(same_query) @ rotate(same_key).T).tolist():
    print("  ".join(f"{score:6.2f}" for score in row))

# %% [markdown]
# ## What it is worth
#
# Two encoders of the book, with random weights, read "dog bites man" and "man bites dog". Do they see a difference?
# %%
for kind in ("none", "rotary"):
    config = ScratchEncoderConfig(
        vocab_size=10, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, position_type=kind
    )
    torch.manual_seed(0)
    model = ScratchEncoderModel(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        one, other = (model(torch.tensor([ids])).last_hidden_state.mean(1) for ids in ([3, 4, 5], [5, 4, 3]))
    print(f"positions {kind:6}: the two texts differ by {(one - other).abs().max():.4f}")

# %% [markdown]
# Read on: `modeling_scratch/positions.py` for all kinds, `modeling_scratch/inputs.py` for the masks, and
# `modeling-scratch figures` for more pictures of both.
# %% [markdown] teacher
# To discuss: why does a decoder learn something about order even without positions? Its mask is not symmetric: the
# first token sees one key, the second one two. Why do all heads get the same mask? It says what may be known, not
# what is useful.
