# %% [markdown]
# # The training loop
#
# *Needs lessons 1 and 42.*
#
# **Four lines train every network. What does each of them do, and what happens without it?** You write them with tensors and
# `backward`, see what the forgotten one does, and find them again in `optim`.
#
# After this lesson you can:
#
# - write a training loop with tensors alone,
# - find the usual mistakes in a training loop, and a learning rate that is too large,
# - replace your loop with `nn` and `optim`.

# %% alt="Two half circles of points that reach into each other, one orange and one blue"
import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch

angles = np.linspace(0, np.pi, 100)
circles = [np.c_[np.cos(angles), np.sin(angles)], np.c_[1 - np.cos(angles), 0.4 - np.sin(angles)]]
noise = np.random.default_rng(0).normal(0, 0.1, (200, 2))
points, labels = torch.tensor(np.concatenate(circles) + noise).float(), torch.tensor([0] * 100 + [1] * 100)
_ = plt.figure(figsize=(5, 2.5), layout="constrained")
_ = plt.scatter(*points.numpy().T, c=labels.numpy(), cmap="coolwarm", s=12)

# %% [markdown]
# The network shall tell the two kinds of points apart. It has two numbers as input, 16 hidden units and two scores. Weights
# start as random numbers; lesson 31 says why.

# %%
from minigrad.nn import functional as F
from viz import draw


def fresh():
    """Return new parameters."""
    torch.manual_seed(0)
    parameters = torch.randn(2, 16), torch.zeros(16), torch.randn(16, 2) / 4, torch.zeros(2)
    return [p.requires_grad_() for p in parameters]


def network(points, w1, b1, w2, b2):
    return (points @ w1 + b1).tanh() @ w2 + b2


def loss_of(w1, b1, w2, b2):
    return F.cross_entropy(network(points, w1, b1, w2, b2), labels)


parameters = fresh()
draw(loss_of, *parameters, passes=("forward", "backward"))

# %% [markdown]
# ## Forward and backward
#
# The first line computes the loss, and the second one the gradient of each parameter. A gradient says in which direction the
# loss grows. The third line is a step in the other direction. It changes a parameter in place, and must not be recorded: the
# update would become part of the parameter's history. minigrad raises an error that shows the right way.

# %%
loss = loss_of(*parameters)
loss.backward()
try:
    for p in parameters:
        p -= 0.5 * p.grad
except RuntimeError as e:
    print(e)
    assert "no_grad" in str(e)
else:
    raise AssertionError("a leaf that requires grad was changed while operations are recorded")

# %%
with torch.no_grad():
    for p in parameters:
        p -= 0.5 * p.grad
print(loss.item(), "->", loss_of(*parameters).item())
assert loss_of(*parameters).item() < loss.item()

# %% [markdown]
# ## The line that is forgotten
#
# What does a second `backward` do to `grad`?

# %%
for p in parameters:
    p.grad = None
loss_of(*parameters).backward()
once = parameters[0].grad.clone()
loss_of(*parameters).backward()

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

# %% [markdown]
# Paths add up (lesson 1), and the second backward is one more path. So clear `grad` before each step: the fourth line.
# Otherwise the step follows the sum of all past gradients.
#
# ## The loop
#
# Keep the losses as plain numbers: a loss that you keep as a tensor holds its whole graph.


# %%
def trained(rate, steps):
    """Return the parameters after some steps, and the loss before each."""
    parameters, losses = fresh(), []
    for _ in range(steps):
        for p in parameters:
            p.grad = None
        loss = loss_of(*parameters)
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p -= rate * p.grad
        losses.append(loss.item())
    return parameters, losses


parameters, losses = trained(0.5, 300)
right = (network(points, *parameters).argmax(1) == labels).float().mean().item()
print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}, {right:.0%} of the points are right")
assert losses[-1] < 0.15 < losses[0] and right > 0.95

# %% [markdown]
# The *learning rate* is the factor of the step. Here are the losses for other rates. A small rate needs many steps. A large one
# overshoots: the loss jumps and does not settle.


# %%
def curve(rate):
    figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
    axes.plot(trained(rate, 100)[1])
    axes.set(xlabel="step", ylabel="loss", yscale="log", ylim=(0.05, 200))
    return figure


assert max(trained(20.0, 100)[1]) > 10 > 1 > max(losses)
lessons.slider(curve, alt="The loss over 100 steps", rate=[0.02, 0.5, 20.0])

# %% [markdown]
# ## The same with nn and optim
#
# `nn.Linear` holds a weight and a bias. An optimizer knows the parameters: `zero_grad` clears their gradients, and `step` is the
# update under `no_grad`. The four lines stay.

# %%
from minigrad import nn, optim

model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
with torch.no_grad():
    for p, own in zip(model.parameters(), fresh()):
        p.copy_(own.mT if own.ndim == 2 else own)  # nn.Linear keeps its weight as (outputs, inputs)
optimizer = optim.SGD(model.parameters(), lr=0.5)

for _ in range(300):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(points), labels)
    loss.backward()
    optimizer.step()

assert abs(loss.item() - losses[-1]) < 1e-3

# %% [markdown]
# ## Exercises
#
# ### 1. Without clearing
#
# The loss is `w * w`, with `w = 1.0` and the rate 0.1. Compute `w` after two steps of a loop that never
# clears `w.grad`.

# %%
loop_uncleared = ...

lessons.check("loop_uncleared", loop_uncleared)

# %% [markdown]
# ### 2. A repair
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
# ### 3. Momentum
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
# - A step: clear `grad`, compute the loss, call `backward`, update under `no_grad`.
# - `backward` adds to `grad`. Without clearing, a step follows the sum of all past gradients.
# - A rate that is too small needs many steps; one that is too large overshoots.
# - Keep losses as plain numbers, with `item()`.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does a list of loss tensors fill the memory?</summary>
#
# Each loss holds its graph, and the graph holds the saved tensors of the step. `item()` returns a plain number without a graph.
#
# </details>
#
# <details markdown="1">
# <summary>When is it useful that <code>backward</code> adds?</summary>
#
# When a batch does not fit into memory: call `backward` for each part of it, and take one step with the sum of the gradients.
#
# </details>
