# %% [markdown]
# # Digits from nothing
#
# *Needs lessons 42 and 43.*
#
# **What does a network need to learn to read digits?** It needs pictures with their answers, a loss, and parameters that start
# with the right size. You write all of it with tensors and `backward`.
#
# After this lesson you can:
#
# - train a network on pictures, and test it on others
# - explain why weights start as random numbers, and how large they should be
# - compute a loss that works for large scores

# %%
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import lessons
import minigrad as torch
from minigrad.nn import functional as F
from viz import draw
from viz.training import TrainingFilm

# %% [markdown]
# A network with two layers, its loss, and the first step of its training.


# %%
pixels, written = load_digits(return_X_y=True)
images, labels = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(written)


def layer(inputs, outputs):
    weight = torch.randn(inputs, outputs) / inputs**0.5
    return weight.requires_grad_(), torch.zeros(outputs, requires_grad=True)


def network(pictures, w1, b1, w2, b2):
    hidden = (pictures @ w1 + b1).tanh()
    return hidden @ w2 + b2


def loss_of(parameters, batch):
    return F.cross_entropy(network(images[batch], *parameters), labels[batch])


def training_step(w1, b1, w2, b2):
    return loss_of((w1, b1, w2, b2), slice(32))


draw(training_step, *layer(64, 32), *layer(32, 10), passes=("forward", "backward"))

# %% [markdown]
# This is one step for 32 pictures. The four gradients at the end say how to change the four parameters.
#
# ## The pictures
#
# scikit-learn includes 1797 handwritten digits of 8 by 8 pixels. Divided by 16, all pixels are between 0 and 1.

# %%
assert images.shape == (1797, 64) and images.min() == 0 and images.max() == 1


# %% alt="Ten pictures of 8 by 8 pixels, with the digits 0 to 9 written by hand"
def show(pictures, titles):
    _, places = plt.subplots(1, len(pictures), figsize=(len(pictures), 1.5), layout="constrained")
    for axes, picture, title in zip(places, pictures, titles):
        axes.imshow(picture.reshape(8, 8).numpy(), cmap="gray_r")
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()


show(images[:10], labels[:10].tolist())

# %% [markdown]
# A network can learn pictures by heart. Only pictures that it has not seen in training show if it can read, so set a random
# fifth aside.

# %%
torch.manual_seed(0)
order = torch.randperm(len(images))
test, train = order[: len(order) // 5], order[len(order) // 5 :]
print(len(train), "to train on,", len(test), "to test on")

# %% [markdown]
# ## The network
#
# The network has 64 inputs, 32 hidden units, and a score for each digit. Each layer multiplies by a matrix and adds a vector,
# with `tanh` between the two layers. A hidden unit adds up 64 products. So `layer` divides the weights by the square root of
# 64, which keeps the sums where `tanh` is not yet flat.

# %%
parameters = [*layer(64, 32), *layer(32, 10)]
scores = network(images[train], *parameters)
print(scores.shape, sum(p.numel() for p in parameters), "numbers to learn")
assert sum(p.numel() for p in parameters) == 64 * 32 + 32 + 32 * 10 + 10

sums = images[train] @ parameters[0]
slope, slope_undivided = [1 - (one.tanh() ** 2).mean().item() for one in (sums, 64**0.5 * sums)]
print(f"mean slope of tanh: {slope:.2f}, with weights that were not divided: {slope_undivided:.2f}")
assert slope > 0.7 and slope_undivided < 0.4

# %% [markdown]
# Why do the weights not start as zeros?

# %%
zeros = [torch.zeros(p.shape, requires_grad=True) for p in parameters]


def vanished():
    """Return the names of the parameters whose gradient is zero, or none."""
    gradients = torch.autograd.grad(loss_of(zeros, train), zeros)
    return ", ".join(name for name, g in zip(("w1", "b1", "w2", "b2"), gradients) if not g.any()) or "none"


lessons.predict(
    "All four parameters start as zeros. Which gradients are zero in the first step?",
    {
        "w1, b1, w2, b2": "The scores are wrong, and b2 is added to them, so the loss sends a gradient to b2.",
        "w1, b1, w2": "The gradient of w2 is multiplied by the hidden units, the others by w2. All of these are zeros.",
        "w1, b1": "These two are zero because of w2. But w2's gradient is multiplied by the hidden units, which are tanh(0) = 0.",
        "none": "A product sends each factor the gradient times the other factor. Here many of these factors are zero.",
    },
    vanished,
)

# %%
assert vanished() == "w1, b1, w2"

# %% [markdown]
# So only `b2` learns, which has nothing to do with the picture.
#
# ## The loss
#
# The loss is the mean cross entropy of lesson 42: $\log \sum_j e^{s_j} - s_r$ for a picture with scores $s$ and the right digit
# $r$. A network that knows nothing gives each digit the probability 1/10, so its loss is about $\log 10$.


# %%
def loss_by_hand(scores, labels):
    right = scores[torch.arange(len(labels)), labels]
    return (scores.exp().sum(1).log() - right).mean()


first_loss = loss_by_hand(scores, labels[train])
print(first_loss.item(), "where log 10 is", np.log(10))
assert abs(first_loss.item() - np.log(10)) < 0.5
assert first_loss.allclose(F.cross_entropy(scores, labels[train]))

# %% [markdown]
# `cross_entropy` does this in one operation, and works even where `exp` overflows.

# %%
huge = torch.tensor([[1000.0, 0.0]])
assert loss_by_hand(huge, torch.tensor([1])).item() == np.inf
assert F.cross_entropy(huge, torch.tensor([1])).item() == 1000.0

# %% [markdown]
# ## Training
#
# Train for twenty *epochs*: each goes through all pictures, 32 at a time, in a new order. `descend` is
# the loop of lesson 43.


# %%
def descend(parameters, batch, rate=0.2):
    for p in parameters:
        p.grad = None
    loss = loss_of(parameters, batch)
    loss.backward()
    with torch.no_grad():
        for p in parameters:
            p -= rate * p.grad
    return loss.item()


def accuracy(pictures, labels):
    with torch.no_grad():
        return (network(pictures, *parameters).argmax(1) == labels).float().mean().item()


losses, norms = [], {"w1": [], "b1": [], "w2": [], "b2": []}
for epoch in range(20):
    for batch in train[torch.randperm(len(train))].split(32):
        losses.append(descend(parameters, batch))
        for name, p in zip(norms, parameters):
            norms[name].append(p.grad.norm().item())
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2}  loss {np.mean(losses[-45:]):.3f}  test {accuracy(images[test], labels[test]):.1%}")
assert accuracy(images[test], labels[test]) > 0.93

# %% [markdown]
# Each bar is the running mean of the norm of one parameter's gradient, and the mark is the norm at this step. They shrink with
# the loss.

# %%
assert np.mean(norms["w1"][-45:]) < np.mean(norms["w1"][:45]) and np.mean(losses[-45:]) < 0.2 < 1 < losses[0]
TrainingFilm(norms)

# %% [markdown]
# ## Pictures it cannot read
#
# Some of the pictures that the network gets wrong are hard for people, too. The title gives the right digit and the network's
# answer.

# %% alt="Test pictures that the network reads wrongly, each with the right digit and the network's answer"
guesses = network(images[test], *parameters).argmax(1)
wrong = test[guesses != labels[test]]
print(len(wrong), "of", len(test), "are read wrongly")
assert 0 < len(wrong) < 0.07 * len(test)
show(images[wrong[:8]], [f"{labels[i]}, not {guesses[test == i].item()}" for i in wrong[:8].tolist()])

# %% [markdown]
# ## Exercises
#
# ### 1. A surprise
#
# For a picture of a 3, the network gives the 3 a probability of $1/4$ and the 5 a probability of $3/4$. Compute the
# loss of this picture.

# %%
digit_surprise = ...

lessons.check("digit_surprise", digit_surprise)

# %% [markdown]
# ### 2. Fewer zeros
#
# Only `w2` starts as zeros, and the rest as in the lesson. Which gradients are zero in the first step? Give a list of names
# from `w1`, `b1`, `w2`, `b2`.

# %%
digit_zeros = ...

lessons.check("digit_zeros", digit_zeros)

# %% [markdown]
# ### 3. A loss for large scores
#
# Write `digit_loss(scores, labels)`, which returns the same number as `loss_by_hand` but also works for scores of 1000. Adding
# the same number to all scores of a picture changes no probability.


# %%
def digit_loss(scores, labels): ...


lessons.check("digit_loss", digit_loss)

# %% [markdown]
# ## Summary
#
# - Weights start as random numbers: with zeros, most gradients are zero. Their size keeps `tanh` away from its flat ends.
# - The loss of a network that knows nothing is $\log 10$ for ten digits.
# - Only pictures outside the training set show if the network can read.
#
# ## Questions
#
# <details markdown="1">
# <summary>With ten digits, the loss stays at about 2.3. What does that say about the network?</summary>
#
# It gives each digit the probability 1/10: $\log 10 \approx 2.3$. It has learned nothing, as if it did not see the pictures.
#
# </details>
#
# <details markdown="1">
# <summary>The loss falls to zero in training, but one in five test pictures is read wrongly. What happened?</summary>
#
# The network has learned the training pictures by heart. More pictures or fewer parameters help; more steps do not.
#
# </details>
