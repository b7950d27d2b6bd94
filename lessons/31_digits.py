# %% [markdown]
# # Digits from nothing
#
# *30 minutes. Needs lessons 1 and 15.*
#
# **What does a network need to learn to read digits?** Pictures with their answers, a loss, and the gradient of the loss for
# each parameter. You write all of it with tensors and `backward`; `nn` and `optim` come at the end, when they hold no secrets.
#
# After this lesson you can:
#
# - write a network, its loss and its training loop with tensors alone
# - explain why weights start with random numbers, and how large they are
# - find the usual mistakes in a training loop
# - replace your loop by `nn` and `optim`

# %%
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import lessons
import minigrad as torch
from minigrad import nn, optim
from minigrad.nn import functional as F
from viz import draw
from viz.figures import running_mean
from viz.training import TrainingFilm

pixels, written = load_digits(return_X_y=True)
images, labels = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(written)


def layer(inputs, outputs):
    weight = torch.randn(inputs, outputs) / inputs**0.5
    return weight.requires_grad_(), torch.zeros(outputs, requires_grad=True)


def network(pictures, w1, b1, w2, b2):
    hidden = (pictures @ w1 + b1).tanh()
    return hidden @ w2 + b2


def training_step(w1, b1, w2, b2):
    return F.cross_entropy(network(images[:32], w1, b1, w2, b2), labels[:32])


draw(training_step, *layer(64, 32), *layer(32, 10), passes=("forward", "backward"))

# %% [markdown]
# This is one step for 32 pictures: the operations, the saved tensors, and the gradient on each edge. The four gradients at the
# end say how to change the four parameters. `+ b1` sends back the sum of its gradient over the 32 pictures, as each of them
# used the same `b1`.
#
# ## The pictures
#
# scikit-learn includes 1797 handwritten digits, each of 8 by 8 pixels between 0 and 16. Divided by 16, all inputs of the
# network are between 0 and 1.

# %%
print(images.shape, labels.shape, labels.bincount())
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
# A network can learn pictures by heart. Only pictures outside its training show that it can read, so set a random fifth
# aside.

# %%
torch.manual_seed(0)
order = torch.randperm(len(images))
test, train = order[: len(order) // 5], order[len(order) // 5 :]
print(len(train), "to train on,", len(test), "to test on")
assert not set(test.tolist()) & set(train.tolist())

# %% [markdown]
# ## The network
#
# 64 pixels, 32 hidden units, a score for each of the ten digits. Each layer multiplies by a matrix and adds a vector,
# with `tanh` between the two layers. A hidden unit adds up 64 products: `layer` divides the weights by the square root of 64
# and keeps its result around one, where `tanh` is not yet flat.

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
# Why not start with zeros?

# %%
zeros = [torch.zeros(p.shape, requires_grad=True) for p in parameters]


def vanished():
    """Return the names of the parameters whose gradient is zero."""
    gradients = torch.autograd.grad(F.cross_entropy(network(images[train], *zeros), labels[train]), zeros)
    return ", ".join(name for name, g in zip(("w1", "b1", "w2", "b2"), gradients) if not g.any())


lessons.predict(
    "All four parameters start with zeros. Which gradients are zero in the first step?",
    {
        "w1, b1, w2, b2": "The scores are wrong, so the loss sends a gradient to b2, which is added to them.",
        "w1, b1, w2": "The gradient of w2 is multiplied by the hidden units, and the others by w2: zeros.",
        "w1, b1": "These are zero because of w2. But w2's gradient is multiplied by the hidden units, tanh(0) = 0.",
        "": "A product sends back the other factor times the gradient. Here many of these factors are zero.",
    },
    vanished,
)

# %% [markdown]
# It stays like this after `b2` has taken a step: `b2` is the only parameter that learns, and it does not even see the picture.

# %%
for _ in range(2):
    gradients = torch.autograd.grad(F.cross_entropy(network(images[train], *zeros), labels[train]), zeros)
    largest = [g.abs().max().item() for g in gradients]
    print(dict(zip(("w1", "b1", "w2", "b2"), largest)))
    assert largest[:3] == [0, 0, 0] and largest[3] > 0
    with torch.no_grad():
        zeros[3] -= gradients[3]

# %% [markdown]
# ## The loss
#
# `softmax` turns scores into probabilities: `exp` of each, divided by their sum. The loss is minus the logarithm of the
# probability of the right digit, on average over the pictures. For one picture with scores $s$ and the right digit $r$:
#
# $$-\log \frac{e^{s_r}}{\sum_j e^{s_j}} = \log \sum_j e^{s_j} - s_r$$
#
# A network that knows nothing gives each digit a tenth, so its loss is about $\log 10$.


# %%
def loss_by_hand(scores, labels):
    right = scores[torch.arange(len(labels)), labels]
    return (scores.exp().sum(1).log() - right).mean()


first_loss = loss_by_hand(scores, labels[train])
print(first_loss.item(), "of which log 10 is", np.log(10))
assert abs(first_loss.item() - np.log(10)) < 0.5
assert first_loss.allclose(F.cross_entropy(scores, labels[train]))

# %% [markdown]
# `cross_entropy` does this in one operation, and works even where `exp` overflows. Its gradient with respect to the scores is
# simple: probability minus one for the right digit, probability for the others, divided by the number of pictures.

# %%
some = network(images[:5], *parameters).detach().requires_grad_()
loss_by_hand(some, labels[:5]).backward()
expected = (some.softmax(1) - F.one_hot(labels[:5], 10)) / 5
assert some.grad.allclose(expected.detach(), atol=1e-6)

huge = torch.tensor([[1000.0, 0.0]])
print("by hand:", loss_by_hand(huge, torch.tensor([1])).item())
print("cross_entropy:", F.cross_entropy(huge, torch.tensor([1])).item())
assert loss_by_hand(huge, torch.tensor([1])).item() == np.inf
assert F.cross_entropy(huge, torch.tensor([1])).item() == 1000.0

# %% [markdown]
# ## A step
#
# Here is the step of the first picture again, now for 32 pictures of the training.

# %%
pictures, answers = images[train[:32]], labels[train[:32]]


def step_loss(w1, b1, w2, b2):
    return F.cross_entropy(network(pictures, w1, b1, w2, b2), answers)


print(step_loss(*parameters).item())

# %% [markdown]
# Do not trust a gradient that you have never checked. In double precision, `gradcheck` compares all 2410 derivatives with
# finite differences.

# %%
in_double = [p.detach().double().requires_grad_() for p in parameters]


def loss_in_double(*parameters):
    return F.cross_entropy(network(pictures[:8].double(), *parameters), answers[:8])


assert torch.autograd.gradcheck(loss_in_double, in_double)

# %% [markdown]
# A step goes against the gradient. It changes a parameter in place, and must not be recorded: the update would become
# the parameter's own history. minigrad raises an error that shows the right way.

# %%
step_loss(*parameters).backward()
try:
    for p in parameters:
        p -= 0.2 * p.grad
except RuntimeError as e:
    print(e)
    assert "no_grad" in str(e)
else:
    raise AssertionError("a leaf that requires grad was changed while operations are recorded")

# %%
before = step_loss(*parameters).item()
with torch.no_grad():
    for p in parameters:
        p -= 0.2 * p.grad
print(before, "->", step_loss(*parameters).item())
assert step_loss(*parameters).item() < before

# %% [markdown]
# And what does a second `backward` do to `grad`?

# %%
for p in parameters:
    p.grad = None
step_loss(*parameters).backward()
once = parameters[0].grad.clone()
step_loss(*parameters).backward()

lessons.predict(
    "The parameters have not changed. By which factor is grad larger after the second backward?",
    {
        1: "That would be true if backward replaced grad. It adds to it.",
        2: "The same gradient was added twice.",
        4: "Adding the same gradient once more doubles it.",
        0: "Only you clear grad, with None or zero_grad.",
    },
    lambda: round((parameters[0].grad.norm() / once.norm()).item()),
)

# %% [markdown]
# If you forget to clear `grad`, each step follows the sum of all past gradients.

# %%
print("twice as much:", parameters[0].grad.allclose(2 * once))
assert parameters[0].grad.allclose(2 * once)

# %% [markdown]
# ## Training
#
# Go through all pictures twenty times, 32 at a time, in a new order each time. Keep the loss and the norm of each
# gradient of every step as plain numbers: a loss kept as a tensor would hold its whole graph.


# %%
def accuracy(pictures, labels):
    with torch.no_grad():
        return (network(pictures, *parameters).argmax(1) == labels).float().mean().item()


losses, norms = [], {"w1": [], "b1": [], "w2": [], "b2": []}
for epoch in range(20):
    for batch in train[torch.randperm(len(train))].split(32):
        for p in parameters:
            p.grad = None
        loss = F.cross_entropy(network(images[batch], *parameters), labels[batch])
        loss.backward()
        with torch.no_grad():
            for name, p in zip(norms, parameters):
                norms[name].append(p.grad.norm().item())
                p -= 0.2 * p.grad
        losses.append(loss.item())
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2}  loss {np.mean(losses[-45:]):.3f}  test {accuracy(images[test], labels[test]):.1%}")
assert accuracy(images[test], labels[test]) > 0.93

# %% alt="The loss of each step falls from 2.3 to less than 0.1, steeply at first"
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained", subplot_kw={"xlabel": "step", "ylabel": "loss"})
for numbers, how in ((losses, {"alpha": 0.3}), (running_mean(losses), {"linewidth": 2})):
    axes.plot(numbers, color="#1f4e8c", **how)
assert np.mean(losses[-45:]) < 0.2 < 1 < losses[0]

# %% [markdown]
# These are the gradients while it learns: each bar is the running mean of the norms of one parameter's gradient, the mark
# the norm at this step. They shrink with the loss, and the marks jump more and more: the remaining error comes from a few
# hard pictures, and some batches have none.

# %%
TrainingFilm(norms)

# %%
weights = np.array(norms["w1"])
calm, late = weights[:45], weights[-45:]
print(f"norm of w1's gradient: {calm.mean():.3f} at first, {late.mean():.3f} at last")
print(f"its spread over its mean: {calm.std() / calm.mean():.2f} at first, {late.std() / late.mean():.2f} at last")
assert late.mean() < calm.mean() and late.std() / late.mean() > calm.std() / calm.mean()

# %% [markdown]
# ## Pictures it cannot read
#
# Some of the pictures that it gets wrong are hard for people, too. The title of each gives the right digit and the
# network's answer.

# %% alt="Test pictures that the network reads wrongly, each with what it is and what it was read as"
said = network(images[test], *parameters).argmax(1)
wrong = test[said != labels[test]]
print(len(wrong), "of", len(test), "are read wrongly")
assert 0 < len(wrong) < 0.07 * len(test)
show(images[wrong[:8]], [f"{labels[i]}, not {said[test == i].item()}" for i in wrong[:8].tolist()])

# %% [markdown]
# ## The same with modules
#
# `nn.Linear` holds a weight and a bias, `nn.Sequential` calls one module after the other, and an optimizer knows the
# parameters: `zero_grad` clears their gradients, `step` is the update under `no_grad`. Starting from the same numbers,
# it follows the same path. `nn.Linear` keeps its weight as `(outputs, inputs)`, hence the transpose.

# %%
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
with torch.no_grad():
    for p, own in zip(model.parameters(), parameters):
        p.copy_(own.mT if own.ndim == 2 else own)
optimizer = optim.SGD(model.parameters(), lr=0.2)

for batch in train.split(32):
    for p in parameters:
        p.grad = None
    F.cross_entropy(network(images[batch], *parameters), labels[batch]).backward()
    with torch.no_grad():
        for p in parameters:
            p -= 0.2 * p.grad

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
# ### 2. Half of the zeros
#
# Only `w2` starts with zeros, the rest as in the lesson. Which gradients are zero in the first step? Give a list of names
# from `w1`, `b1`, `w2`, `b2`.

# %%
digit_zeros = ...

lessons.check("digit_zeros", digit_zeros)

# %% [markdown]
# ### 3. A loss that holds
#
# Write `digit_loss(scores, labels)`, which returns the same as `loss_by_hand` and also works for scores of 1000. Adding the
# same number to all scores of a picture changes no probability.


# %%
def digit_loss(scores, labels): ...


lessons.check("digit_loss", digit_loss)

# %% [markdown]
# ### 4. A repair
#
# This function should take `steps` steps of gradient descent on `loss()`, a function without arguments that computes the
# loss with the current parameters. It should return the loss before each step in a list of plain numbers. It runs, but
# learns nothing, and that is not all. Find three mistakes.


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
# ### 5. Momentum
#
# Write `digit_momentum(loss, parameters, steps, rate, momentum)`, which does the same with a velocity for each parameter. A
# velocity starts with zeros; each step multiplies it by `momentum`, adds the gradient, and subtracts `rate` times the
# velocity from the parameter.


# %%
def digit_momentum(loss, parameters, steps, rate, momentum): ...


lessons.check("digit_momentum", digit_momentum)

# %% [markdown]
# ## Summary
#
# - A step computes the loss of some pictures, its gradients, and moves each parameter against its gradient.
# - Weights start with random numbers: with zeros, most gradients are zero. Their size keeps `tanh` off its flat ends.
# - Update under `no_grad`, clear `grad` before each backward, and keep losses as plain numbers.
# - Pictures outside the training show if the network can read.
#
# ## Questions
#
# <details markdown="1">
# <summary>The loss of ten digits stays at about 2.3. What does the network say?</summary>
#
# It gives each digit a tenth: $\log 10 \approx 2.3$. It has learned nothing, as if it did not see the pictures.
#
# </details>
#
# <details markdown="1">
# <summary>Why does a list of losses as tensors fill the memory?</summary>
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
