# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lesson 1: tokens and embeddings. `modeling-scratch lesson 1` makes the notebook; this file is its source."""

# %% [markdown] slide
# # 1. Tokens and embeddings
# %% [markdown] teacher
# Five minutes.
# %%
import torch

from modeling_scratch import course


# %% exercise padded
# Texts of a batch have different lengths. Append `pad_id` to the shorter ones.
# The mask has 1 at real tokens, 0 at padding.
def padded(texts, pad_id):
    """Lists of ids -> ids (B, T) and mask (B, T)."""
    # solution
    length = max(map(len, texts))
    ids = torch.tensor([text + [pad_id] * (length - len(text)) for text in texts])
    mask = torch.tensor([[1] * len(text) + [0] * (length - len(text)) for text in texts])
    return ids, mask
    # end solution


course.check("padded", padded)
