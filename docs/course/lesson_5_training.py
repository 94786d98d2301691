# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Lesson 5: training, and what it learns. `modeling-scratch lesson 5` makes the notebook; this file is its source."""

# %% [markdown] slide
# # 5. Training, and what it learns
#
# A new model guesses. Training repeats four steps thousands of times:
#
# 1. predict: logits for a batch,
# 2. measure: the **loss**, one number that says how wrong the logits are,
# 3. `backward()`: the gradient of the loss, one number for each parameter,
# 4. a step of the **optimizer**: each parameter moves a little against its gradient.
#
# You write the loss and the optimizer. Then you train a Transformer of one layer in seconds, see it
# learn by heart, and look at what its attention has found.
# %% [markdown] teacher
# 15 minutes: loss 4, optimizer 4, learning rate 1, overfitting 3, attention 3. The trainings take some seconds each.
#
# Ask first: the model has ten classes and knows nothing. Which loss does it print in its first step? (2.30. If a
# training starts with another one, something is wrong before it begins.)
# %%
import math
import os

import matplotlib.pyplot as plt
import torch

from modeling_scratch import ScratchEncoderForTokenClassification, course, presets
from modeling_scratch.configuration_scratch import ScratchEncoderConfig
from modeling_scratch.heads import cross_entropy as book_cross_entropy

STEPS = int(os.environ.get("NOTEBOOK_STEPS", "400"))  # of each training

# %% [markdown] slide
# ## The loss: cross-entropy
#
# The softmax turns logits into probabilities. The loss is the surprise at the right answer, averaged over the labels:
#
# $$L = -\frac{1}{N} \sum_{n=1}^{N} \log p_n(\mathrm{label}_n), \qquad p_n = \mathrm{softmax}(\mathrm{logits}_n)$$
#
# - p = 1 costs nothing, p = 0.5 costs 0.69, p = 0.01 costs 4.6.
# - A label of -100 is ignored: it marks padding, or a token that was not masked. It counts neither in the sum nor in N.


# %% exercise cross_entropy
# `logits.log_softmax(-1)` is log p. It subtracts the largest logit first: exp(1000) alone would overflow.
def cross_entropy(logits, labels):
    """logits (N, C), labels (N,), some of them -100 -> one number, a tensor without axes."""
    # solution
    counts = labels != -100
    log_p = logits[counts].log_softmax(-1)  # (labels that count, C)
    return -log_p[torch.arange(len(log_p)), labels[counts]].mean()
    # end solution


course.check("cross_entropy", cross_entropy)


# %% exercise loss_of_guessing
# What is the loss of a model that gives every class the same probability? `math.log` is the natural logarithm.
def loss_of_guessing(classes):
    # solution
    return math.log(classes)
    # end solution


course.check("loss_of_guessing", loss_of_guessing)

# %% [markdown]
# All models of the book compute this loss by `cross_entropy` of `modeling_scratch/heads.py`: a
# classifier over its labels, a decoder over the vocabulary.
# %%
print(f"ten classes, equal logits: {book_cross_entropy(torch.zeros(5, 10), torch.arange(5)):.4f}")

# %% [markdown] slide
# ## The optimizer: AdamW
#
# Gradients differ by orders of magnitude from parameter to parameter. Adam (Kingma and Ba 2015) divides each by its own
# usual size. With the running means m of the gradient g and v of its square, and after t steps:
#
# $$m \leftarrow 0.9\,m + 0.1\,g, \qquad v \leftarrow 0.999\,v + 0.001\,g^2$$
#
# $$\hat m = m \,/\, (1 - 0.9^t), \qquad \hat v = v \,/\, (1 - 0.999^t)$$
#
# $$w \leftarrow w - \eta \lambda w - \eta \,\frac{\hat m}{\sqrt{\hat v} + 10^{-8}}$$
#
# m and v start at 0, so they are too small at first: the hats correct this. The W (Loshchilov and Hutter 2019) is the
# decay λ, which pulls the weight itself towards 0 and does not pass through m and v.


# %% exercise adamw_step
# One step. `step` is t, 1 in the first step; `rate` is η, `decay` is λ.
def adamw_step(weight, gradient, mean, square, step, rate, decay):
    """Tensors of one shape: weight w, gradient g, mean m, square v -> the new weight, mean and square."""
    # solution
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    corrected_mean, corrected_square = mean / (1 - 0.9**step), square / (1 - 0.999**step)
    weight = weight - rate * decay * weight - rate * corrected_mean / (corrected_square.sqrt() + 1e-8)
    return weight, mean, square
    # end solution


course.check("adamw_step", adamw_step)

# %% [markdown]
# The first step is g / |g| times the rate: each parameter moves by the same distance, however small its gradient. So
# the learning rate is about the distance that a weight moves in a step. At first, m and v come from few gradients, and
# steps of this length go too far.
# %% [markdown] slide
# ## The learning rate: warm up, then decay
#
# - **Warm-up**: from 0 to the peak in the first steps, until m and v are estimates of many batches.
# - **Decay**: back to 0, so that the last steps refine what the first ones found.
#
# Linear in both is common; the default of `Trainer` is linear decay, without warm-up. Vaswani et al. 2017 let it fall
# with 1 / √step.
# %% [markdown]
# ## Train
#
# The task: reverse eight digits. Label t is digit 7 - t. No digit tells the label of its own position, so attention has
# to fetch it. There are 100 million inputs.


# %%
def new_model():
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 128}
    config = presets.vaswani(ScratchEncoderConfig, vocab_size=10, num_labels=10, hidden_dropout=0.0, **sizes)
    return ScratchEncoderForTokenClassification(config)


def digits(count, seed):
    return torch.randint(10, (count, 8), generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def loss_and_accuracy(model, rows):
    outputs = model(rows, labels=rows.flip(1))
    return outputs.loss.item(), (outputs.logits.argmax(-1) == rows.flip(1)).float().mean().item()


def train(model, batches, held_out, peak=3e-3):
    """Train, and note at every tenth step the loss of the batch and of held-out rows: (step, training, validation)."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(step / (0.1 * STEPS), (STEPS - step) / (0.9 * STEPS))
    )
    log = []
    for step, rows in zip(range(STEPS + 1), batches):
        loss = model(rows, labels=rows.flip(1)).loss
        if step % 10 == 0:
            log.append((step, loss.item(), loss_and_accuracy(model, held_out)[0]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return log


held_out = digits(500, seed=1)
model = new_model()
print(f"before: loss {loss_and_accuracy(model, held_out)[0]:.2f}, guessing {math.log(10):.2f}")
log_of_many = train(model, (digits(64, seed) for seed in range(2, STEPS + 3)), held_out)
print("after:  loss {:.4f}, {:.1%} of the held-out digits are right".format(*loss_and_accuracy(model, held_out)))

# %% [markdown] slide
# ## Overfitting: learning by heart
#
# The same model, the same number of steps, but only 16 different rows, again and again. Its training loss falls to 0 as
# well. On rows that it has not seen, its loss is above that of guessing: it is often wrong, and *sure*. It has learned
# the rows, not the task.
#
# So scores are measured on texts that were not trained on, and checkpoints are chosen by them:
#
# - **training** texts change the weights,
# - **validation** texts choose the checkpoint and the settings,
# - **test** texts are read once, at the end.
# %%
few = digits(16, seed=2)
memoriser = new_model()
log_of_few = train(memoriser, (few for _ in range(STEPS + 1)), held_out)
print("the 16 rows:   loss {:.4f}, {:.1%} right".format(*loss_and_accuracy(memoriser, few)))
print("held-out rows: loss {:.4f}, {:.1%} right".format(*loss_and_accuracy(memoriser, held_out)))

figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for axis, log, title in zip(axes, (log_of_many, log_of_few), ("new rows in each step", "the same 16 rows")):
    steps, training, validation = zip(*log)
    axis.plot(steps, training, ":", label="training")
    axis.plot(steps, validation, label="validation")
    axis.set(title=title, xlabel="step", ylabel="loss")
axes[0].legend()
plt.show()


# %% exercise best_checkpoint
# A checkpoint was saved after each epoch. Which one would you use? The index counts from 0.
def best_checkpoint(training_losses, validation_losses):
    """Two lists of one length -> an index."""
    # solution
    return validation_losses.index(min(validation_losses))
    # end solution


course.check("best_checkpoint", best_checkpoint)

# %% [markdown] slide
# ## What attention has learned
#
# To write the label of position t, the model has to read position 7 - t. Nobody has told it so.
# %% [markdown]
# Look at the weights of both heads, a row for each query:
# %%
row = digits(1, seed=0)
weights = model(row, output_attentions=True).attentions[0][0].detach()  # (H, T, S)
figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
for head, axis in enumerate(axes):
    axis.imshow(weights[head].numpy(), cmap="Blues", vmin=0, vmax=1)
    axis.set(title=f"head {head + 1}", xlabel="key", ylabel="query")
plt.show()

# %% [markdown]
# A picture convinces too easily, so measure: how much of its attention does a head give to the position that it needs?


# %% exercise attention_on
# `keys[t]` is the position that query t should read. Average over the queries, for each head.
def attention_on(weights, keys):
    """weights (H, T, S), keys (T,) -> (H,)."""
    # solution
    queries = torch.arange(len(keys))
    return weights[:, queries, keys].mean(-1)
    # end solution


course.check("attention_on", attention_on)

# %%
mirrored = torch.arange(7, -1, -1)
for name, trained in (("untrained", new_model()), ("trained", model), ("by heart", memoriser)):
    weights = trained(held_out, output_attentions=True).attentions[0].detach()  # (B, H, T, S)
    on_mirror = attention_on(weights.mean(0), mirrored)
    print(f"{name:10}", *(f"head {head + 1}: {share:.0%}" for head, share in enumerate(on_mirror)))

# %% [markdown] slide
# ## Weights are a hint, an intervention is a test
#
# Attention weights say what a head *reads*, not what the answer *depends on*. So change one digit, and see which
# answers change. If the model has learned the task, digit 0 moves answer 7, and no other one.
# %%
changed = held_out.clone()
changed[:, 0] = (changed[:, 0] + 5) % 10
for name, trained in (("trained", model), ("by heart", memoriser)):
    with torch.no_grad():
        moved = trained(held_out).logits.argmax(-1) != trained(changed).logits.argmax(-1)  # (B, T)
    print(f"{name:10} answers that moved, by position:", *(f"{share:.0%}" for share in moved.float().mean(0)))

# %% [markdown] slide
# ## What to keep
#
# - The loss is -log p(label). Before training it is log C; if not, look for the mistake now.
# - AdamW moves each weight by about the learning rate. Warm up, then decay.
# - A training loss shows nothing about new texts. Choose by validation, report the test.
# - Attention learns where to look because the loss asks for it. Check what it shows by an intervention.
#
# On a model of reviews, `modeling-scratch explain` shows this for one text: its attention, and what changes if a
# word is deleted.
# %% [markdown] teacher
# **Questions that come.**
#
# - *Which learning rate?* Try three, a factor of 3 apart, on the validation texts. New small models take 1e-3 to 3e-3,
#   fine-tuning of a pretrained one 1e-5 to 5e-5.
# - *What helps against overfitting?* More rows first, then dropout, weight decay, fewer steps. Here 2,000 rows are
#   enough; let them try `digits(2000, seed=2)` in batches.
# - *Why two heads, if one is enough?* Nothing asks them to share the work. Whether a second head matters is an
#   intervention again: `modeling-scratch explain` switches heads off.
# - *Does the loss of a decoder differ?* No: its labels are the next tokens (`next_tokens` in `modeling_decoder.py`).
