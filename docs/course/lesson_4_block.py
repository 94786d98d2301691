# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lesson 4: block and residuals. `modeling-scratch lesson 4` makes the notebook; this file is its source."""

# %% [markdown] slide
# # 4. The block and its residual stream
#
# A Transformer is a stack of blocks, all built alike. Each has two parts:
#
# - **attention** moves information between tokens,
# - the **feed-forward layer** works on each token alone.
#
# Neither replaces what it reads. Each computes an *update*, and adds it:
#
# $$x \leftarrow x + \mathrm{Attention}(\mathrm{norm}(x)), \qquad x \leftarrow x + \mathrm{FFN}(\mathrm{norm}(x))$$
#
# What runs from the first block to the last is the **residual stream**: `hidden_size` numbers for each token. The
# embeddings write the first version of it, every part reads it and adds to it, and the head reads the last version.
# %% [markdown] teacher
# 15 minutes: stream and norm 3, residual connection 3, feed-forward 3, block and parameters 3, the experiment 3.
#
# Draw the stream as a vertical line on the board, with the parts as side roads that leave it and come back. Ask before
# the experiment: what happens to the tokens of a stack of 24 blocks that only average, again and again?
# %%
import os

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from modeling_scratch import ScratchEncoderForTokenClassification, course, presets, textbook
from modeling_scratch.configuration_scratch import ScratchEncoderConfig
from modeling_scratch.layers import NORM_POSITIONS, FeedForward, PreNorm, Residual
from modeling_scratch.stack import Stack

STEPS = int(os.environ.get("NOTEBOOK_STEPS", "100"))  # of the training at the end

# %% [markdown] slide
# ## A norm brings each token to a common scale
#
# The stream grows with every addition. So each part reads it through a norm. The layer norm (2017, BERT, GPT-2)
# subtracts the mean and divides by the standard deviation. RMSNorm (Zhang and Sennrich 2019; Llama) only divides, by
# the root of the mean square:
#
# $$\mathrm{RMSNorm}(x) = \frac{x}{\sqrt{\mathrm{mean}(x^2) + \epsilon}} \cdot g$$
#
# The mean is over the features of *one* token. So a norm moves nothing between tokens, and padding cannot disturb it.


# %% exercise rms_norm
# The weight is g, one number for each feature. `keepdim=True` keeps the last axis, so that the shapes fit.
def rms_norm(x, weight, eps):
    """x (B, T, hidden), weight (hidden,) -> (B, T, hidden)."""
    # solution
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight
    # end solution


course.check("rms_norm", rms_norm)

# %% [markdown] slide
# ## Where the norm stands
#
# | | equation | models |
# | --- | --- | --- |
# | post-norm | norm(x + f(x)) | Vaswani et al. 2017, BERT, BART |
# | pre-norm | x + f(norm(x)) | GPT-2, Llama |
#
# With post-norm, every norm on the way rescales the whole stream. With pre-norm, the sum from the first block to the
# last is never touched, so its gradient reaches the embeddings unscaled. The price: the stream leaves the last block
# unnormalised, and the stack needs one more norm at its end.


# %% exercise pre_norm
# `norm` and `part` are functions; part is attention or the feed-forward layer.
def pre_norm(x, norm, part):
    # solution
    return x + part(norm(x))
    # end solution


course.check("pre_norm", pre_norm)

# %% [markdown]
# The book has one small class for each row of the table, and a dictionary that the config's field `norm_position`
# chooses from. `before` prepares what the part reads, and `after` adds the update. The standard deviation of the stream
# shows the difference: post-norm sets it to 1, and with pre-norm it grows.
# %%
torch.manual_seed(0)
config = ScratchEncoderConfig(hidden_size=32, num_attention_heads=4, intermediate_size=128, hidden_dropout=0.0)
x, part = torch.randn(2, 6, 32), torch.tanh  # any part will do
for residual in (PreNorm(config), Residual(config)):
    spread = residual.after(x, part(residual.before(x))).std()
    print(f"{type(residual).__name__}: standard deviation {spread:.2f}")
print("values of norm_position:", *NORM_POSITIONS)

# %% [markdown] slide
# ## The feed-forward layer, and its gate
#
# Each token alone is widened from `hidden_size` (d_model) to `intermediate_size` (d_ff), usually four times as many
# features, then narrowed again:
#
# $$\mathrm{FFN}(x) = \mathrm{act}(x W_{up})\, W_{down}$$
#
# Without the activation, both matrices would collapse into one. ReLU (2017) became GELU (BERT, GPT-2). Llama multiplies
# by a **gate** (SwiGLU, Shazeer 2020), which opens or closes each of the d_ff features, depending on the token:
#
# $$(\mathrm{SiLU}(x W_{gate}) * x W_{up})\, W_{down}$$


# %% exercise gated_feed_forward
# `F.silu` is x * sigmoid(x); `*` multiplies feature by feature.
def gated_feed_forward(x, w_gate, w_up, w_down):
    """x (T, hidden), w_gate and w_up (hidden, inner), w_down (inner, hidden) -> (T, hidden)."""
    # solution
    return (F.silu(x @ w_gate) * (x @ w_up)) @ w_down
    # end solution


course.check("gated_feed_forward", gated_feed_forward)

# %% [markdown]
# The gate is a third matrix. To keep the number of parameters, Llama makes d_ff smaller: 8/3 of d_model in place of 4.
# %%
for act, inner in (("gelu", 4 * 768), ("swiglu", 8 * 768 // 3)):
    layer = FeedForward(ScratchEncoderConfig(hidden_size=768, intermediate_size=inner, hidden_act=act, mlp_bias=False))
    print(f"{act:7} d_ff = {inner}: {sum(weight.numel() for weight in layer.parameters()):,} parameters")

# %% [markdown] slide
# ## The block
#
# Now put both parts together. In `modeling_scratch/stack.py`, a `Block` holds
#
# - `attention`, which returns the update *and* the weights of the heads,
# - `attention_residual.norm`,
# - `feed_forward`,
# - `feed_forward_residual.norm`.


# %% exercise pre_norm_block
# The feed-forward layer reads what attention has left in the stream. `block.attention(...)[0]` is the update.
def pre_norm_block(x, block):
    """x (B, T, hidden), block: a Block with pre-norm -> (B, T, hidden)."""
    # solution
    x = x + block.attention(block.attention_residual.norm(x))[0]
    return x + block.feed_forward(block.feed_forward_residual.norm(x))
    # end solution


course.check("pre_norm_block", pre_norm_block)

# %% [markdown] slide
# ## Where the parameters are
#
# In a block, two thirds are in the feed-forward layer, one third in attention. The number of heads changes nothing:
# they share the same matrices.


# %% exercise parameters_of_block
# Layer norms have a weight and a bias, linear layers have biases. Attention has four matrices, of d_model x d_model.
def parameters_of_block(d_model, d_ff):
    """The number of parameters of a block as in GPT-2."""
    # solution
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)
    norms = 2 * (d_model + d_model)
    return attention + feed_forward + norms
    # end solution


course.check("parameters_of_block", parameters_of_block)

# %% [markdown]
# With d_ff = 4 d_model, that is about 12 d_model². GPT-2 has 12 blocks of d_model = 768, which makes 85 of its 124
# million parameters; most others are its table of tokens.
# %% [markdown] slide
# ## Why depth needs the residual connection
#
# Take it away: let each part *replace* what it reads, f(norm(x)). A mean of means of means is the same for every token
# (Dong et al. 2021). After some blocks, all tokens point in one direction, and what told them apart is lost, for the
# head and for the gradient.


# %%
class WithoutResidual(PreNorm):
    """f(norm(x)): what was read is lost."""

    def after(self, residual, update):
        return update


def without_residuals(stack, config):
    for block in stack.layers:
        block.attention_residual = WithoutResidual(config)
        block.feed_forward_residual = WithoutResidual(config)


def likeness(x, norm_position, has_residuals, layers=24):
    """After each block, the mean cosine of two tokens."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 128, "hidden_dropout": 0.0}
    config = ScratchEncoderConfig(norm_position=norm_position, attn_implementation="eager", **sizes)
    stack = Stack(config, layers)
    if not has_residuals:
        without_residuals(stack, config)
    found = []
    for block in stack.layers:
        x = block(x)
        tokens = F.normalize(x[0], dim=-1)  # (T, hidden)
        found.append((tokens @ tokens.T).mean().item())
    return found


x = torch.randn(1, 16, 32)
for name, position, has_residuals in (("pre", "pre", True), ("post", "post", True), ("no residual", "pre", False)):
    found = likeness(x, position, has_residuals)
    plt.plot(range(1, 25), found, marker=".", label=name)
    print(f"{name:12} after 2, 6 and 24 blocks: {found[1]:.3f}, {found[5]:.3f}, {found[-1]:.3f}")
plt.xlabel("block")
plt.ylabel("mean cosine of two tokens")
plt.ylim(0, 1.05)
plt.legend()
plt.show()

# %% [markdown]
# With the connection, tokens become alike slowly; without it, in two blocks.
#
# Now train: ten blocks learn to reverse eight digits, once with and once without the connection. Every output digit
# has to be fetched from another position. `textbook()` makes the model run the formulas of the book's files, so that
# our change counts.


# %%
def accuracy_after(steps, has_residuals, layers=10):
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": layers, "num_attention_heads": 4, "intermediate_size": 64}
    config = presets.vaswani(ScratchEncoderConfig, vocab_size=10, num_labels=10, hidden_dropout=0.0,
                             norm_position="pre", initializer_range=0.1, **sizes)  # fmt: skip
    model = ScratchEncoderForTokenClassification(config)
    if not has_residuals:
        without_residuals(model.model.stack, config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with textbook():
        for _ in range(steps):
            digits = torch.randint(10, (64, 8))
            outputs = model(digits, labels=digits.flip(1))
            optimizer.zero_grad()
            outputs.loss.backward()
            optimizer.step()
    return (outputs.logits.argmax(-1) == digits.flip(1)).float().mean().item()


accuracies = [accuracy_after(STEPS, has_residuals) for has_residuals in (True, False)]
print("with residuals {:.0%} of the digits are right, without {:.0%}; guessing: 10%".format(*accuracies))

# %% [markdown] slide
# ## What to keep
#
# - Parts add to the residual stream; none replaces it. Without this, tokens become alike, and depth learns nothing.
# - Attention moves information between tokens. The feed-forward layer, with two thirds of the parameters, does not.
# - Post-norm normalises the stream, pre-norm what a part reads. Deep pre-norm stacks train more easily.
#
# Read on: `modeling_scratch/layers.py` and `modeling_scratch/stack.py`, which you
# can now read from top to bottom.
# %% [markdown] teacher
# **Questions that come.**
#
# - *Why does post-norm work at all in BERT?* With 12 blocks and a learning rate that warms up (lesson 5), it does. The
#   gradients of its last blocks are large at first, those of pre-norm are not (Xiong et al. 2020).
# - *Could the norm alone keep tokens apart?* No: it works on each token alone, and tokens that are equal stay equal.
# - *Where is dropout?* On each update, before it is added: `Residual.dropout` in `layers.py`.
# - *Why is SwiGLU better?* Shazeer gives no reason ("divine benevolence"). It is a measured gain at equal parameters.
