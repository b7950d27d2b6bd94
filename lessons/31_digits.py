# %% [markdown]
# # Digits from nothing
#
# *Needs lesson 1.*
#
# **What does a network need to learn to read digits?** It needs pictures with their answers, a loss, and the gradient of the
# loss for each parameter. You write all of it with tensors and `backward`; `nn` and `optim` come at the end.
#
# After this lesson you can:
#
# - write a network, its loss and its training loop with tensors alone
# - explain why weights start as random numbers, and how large they should be
# - find the usual mistakes in a training loop, and a learning rate that is too large
# - replace your loop with `nn` and `optim`

# %%
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import lessons
import minigrad as torch
from minigrad import nn, optim
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
# `softmax` turns scores into probabilities: `exp` of each, divided by their sum. The loss is minus the logarithm of the
# probability of the right digit, on average over the pictures. For one picture with scores $s$ and the right digit $r$:
#
# $$-\log \frac{e^{s_r}}{\sum_j e^{s_j}} = \log \sum_j e^{s_j} - s_r$$
#
# A network that knows nothing gives each digit the probability 1/10, so its loss is about $\log 10$.


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
# ## A step
#
# A step goes against the gradient. It changes a parameter in place. It must not be recorded, because the update would become
# part of the parameter's history. minigrad raises an error that shows the right way.

# %%
batch = train[:32]
loss_of(parameters, batch).backward()
try:
    for p in parameters:
        p -= 0.2 * p.grad
except RuntimeError as e:
    print(e)
    assert "no_grad" in str(e)
else:
    raise AssertionError("a leaf that requires grad was changed while operations are recorded")

# %%
before = loss_of(parameters, batch).item()
with torch.no_grad():
    for p in parameters:
        p -= 0.2 * p.grad
after = loss_of(parameters, batch).item()
print(before, "->", after)
assert after < before

# %% [markdown]
# What does a second `backward` do to `grad`?

# %%
for p in parameters:
    p.grad = None
loss_of(parameters, batch).backward()
once = parameters[0].grad.clone()
loss_of(parameters, batch).backward()

lessons.predict(
    "The parameters have not changed. By what factor is grad larger after the second backward?",
    {
        1: "That would be true if backward replaced grad. It adds to it.",
        2: "backward adds the same gradient twice.",
        4: "Adding the same gradient once more doubles it.",
        0: "Only your code clears grad, with None or zero_grad.",
    },
    lambda: round((parameters[0].grad.norm() / once.norm()).item()),
)

# %%
assert parameters[0].grad.allclose(2 * once)

# %% [markdown]
# So clear `grad` before each step. Otherwise the step follows the sum of all past gradients.
#
# ## Training
#
# Train for twenty *epochs*: each goes through all pictures, 32 at a time, in a new order. Keep the losses and the norms of the
# gradients as plain numbers: a loss that you keep as a tensor holds its whole graph.


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
# Why is the *learning rate* 0.2? Here are the losses of three epochs for other rates. A small rate needs many steps. A large
# one overshoots, and the loss grows.


# %%
def losses_at(rate):
    fresh = [*layer(64, 32), *layer(32, 10)]
    return [descend(fresh, batch, rate) for batch in [*train.split(32)] * 3]


def curve(rate):
    figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
    axes.plot(losses_at(rate))
    axes.set(xlabel="step", ylabel="loss", yscale="log", ylim=(0.03, 100))
    return figure


assert np.mean(losses_at(0.02)[-45:]) > 1.5 and np.mean(losses_at(0.2)[-45:]) < 0.6 and min(losses_at(4.0)[5:]) > 2.3
lessons.slider(curve, alt="The loss over the steps", rate=[0.02, 0.2, 1.0, 4.0])

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
# ## The same with modules
#
# `nn.Linear` holds a weight and a bias, `nn.Sequential` calls one module after the other, and an optimizer knows the
# parameters: `zero_grad` clears their gradients, and `step` is the update under `no_grad`. Starting from the same numbers,
# they take the same steps. `nn.Linear` keeps its weight as `(outputs, inputs)`, hence the transpose.

# %%
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
with torch.no_grad():
    for p, own in zip(model.parameters(), parameters):
        p.copy_(own.mT if own.ndim == 2 else own)
optimizer = optim.SGD(model.parameters(), lr=0.2)

for batch in train.split(32):
    descend(parameters, batch)

    optimizer.zero_grad()
    F.cross_entropy(model(images[batch]), labels[batch]).backward()
    optimizer.step()

print("weights differ by at most", (model[0].weight - parameters[0].mT).abs().max().item())
assert model[0].weight.allclose(parameters[0].mT, atol=1e-5)

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
# ### 4. A repair
#
# This function should take `steps` steps of gradient descent on `loss()`, a function without arguments that computes the loss
# with the current parameters. It should return the loss before each step in a list of plain numbers. It runs, but the
# parameters do not change, and that is not the only mistake. Find all three.


# %%
def digit_training(loss, parameters, steps, rate):
    losses = []
    for _ in range(steps):
        now = loss()
        now.backward()
        for p in parameters:
            p = p - rate * p.grad
        losses.append(now)
    return losses


lessons.check("digit_training", digit_training)

# %% [markdown]
# ### 5. Momentum (at home)
#
# Write `digit_momentum(loss, parameters, steps, rate, momentum)`, which does the same with a *velocity* for each parameter. A
# velocity starts with zeros; each step multiplies it by `momentum`, adds the gradient, and subtracts `rate` times the velocity
# from the parameter.


# %%
def digit_momentum(loss, parameters, steps, rate, momentum): ...


lessons.check("digit_momentum", digit_momentum)

# %% [markdown]
# ## Summary
#
# - A step computes the loss of some pictures and its gradients, and moves each parameter against its gradient.
# - Weights start as random numbers: with zeros, most gradients are zero. Their size keeps `tanh` away from its flat ends.
# - Update under `no_grad`, clear `grad` before each backward, and keep losses as plain numbers.
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
# <summary>Why does a list of loss tensors fill the memory?</summary>
#
# Each loss holds its graph, and the graph holds the saved tensors of the step. `item()` returns a plain number without a graph.
#
# </details>
#
# <details markdown="1">
# <summary>The loss falls to zero in training, but one in five test pictures is read wrongly. What happened?</summary>
#
# The network has learned the training pictures by heart. More pictures or fewer parameters help; more steps do not.
#
# </details>
