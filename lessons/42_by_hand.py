# %% [markdown]
# # A layer and its loss by hand
#
# *Needs lesson 1.*
#
# **Which formulas does `backward` use for a network?** For most networks two are enough: that of a linear layer, and that of
# softmax with cross entropy. You derive both from the chain rule, and compute every gradient without `backward`.
#
# After this lesson you can:
#
# - compute the gradients of a linear layer from the incoming gradient,
# - say why the gradient of the loss is the predicted probability minus the right one,
# - find a transposed or missing factor by its shape.

# %%
import lessons
import minigrad as torch
from minigrad.nn import functional as F
from viz import draw

x = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]])  # three examples
W = torch.tensor([[0.5, -0.5, 0.0], [1.0, 0.0, -1.0]], requires_grad=True)
b = torch.zeros(3, requires_grad=True)
labels = torch.tensor([0, 2, 1])  # the right class of each example
scores = x @ W + b
loss = F.cross_entropy(scores, labels)
draw(loss, passes=("forward", "backward"))

# %% [markdown]
# This is a network with one layer and its loss. Each example has three scores, one for each class. The backward pass has three
# steps: the loss sends a gradient to the scores, the sum passes it on, and the product sends it to `W`.
#
# ## A linear layer
#
# Call the scores $s$, and the gradient that arrives at them $G$: $G_{nk} = dL/ds_{nk}$ for example $n$ and class $k$. One
# score is
#
# $$s_{nk} = \sum_i x_{ni} W_{ik} + b_k$$
#
# A weight $W_{ik}$ is part of one score of each example, with the local derivative $x_{ni}$. So there is one path for each
# example, and paths add up. The same holds for $b_k$, with the local derivative 1. An input $x_{ni}$ is part of all scores of
# its example:
#
# $$\begin{aligned} \frac{dL}{dW_{ik}} &= \sum_n x_{ni} G_{nk} \\ \frac{dL}{db_k} &= \sum_n G_{nk} \\ \frac{dL}{dx_{ni}} &= \sum_k G_{nk} W_{ik} \end{aligned}$$
#
# The first and the last sum are matrix products: $x^\top G$ and $G W^\top$. You need not remember which one is transposed: a
# gradient has the shape of its tensor, and only one order of the factors gives it.

# %%
G = torch.tensor([[1.0, 0.0, -1.0], [0.0, 2.0, -2.0], [1.0, 1.0, -2.0]])
with torch.no_grad():
    grad_W, grad_b, grad_x = x.T @ G, G.sum(0), G @ W.T
print(grad_W, grad_b, grad_x, sep="\n")
by_autograd = torch.autograd.grad(x @ W + b, (W, b), G)
assert grad_W.tolist() == by_autograd[0].tolist() and grad_b.tolist() == by_autograd[1].tolist()
assert grad_x.shape == x.shape


def shape_of_bias():
    bias = torch.zeros(10, requires_grad=True)
    (torch.ones(32, 64) @ torch.ones(64, 10) + bias).sum().backward()
    return tuple(bias.grad.shape)


lessons.predict(
    "A batch of 32 examples with 64 numbers each goes through a layer with 10 outputs. What is the shape of the gradient of b?",
    {
        "(10,)": "b is added to the scores of each example. So its gradient is the sum over the examples.",
        "(32, 10)": "That is the shape of the incoming gradient. b has one number for each output: the examples add up.",
        "(64, 10)": "That is the shape of the gradient of W.",
        "(32, 64)": "That is the shape of the gradient of x.",
    },
    shape_of_bias,
)

# %% [markdown]
# ## Softmax and cross entropy
#
# `softmax` makes probabilities of the scores of an example, and the loss is minus the logarithm of the probability of the right
# class $r$:
#
# $$\begin{aligned} p_k &= \frac{e^{s_k}}{\sum_j e^{s_j}} \\ L &= -\log p_r = \log \sum_j e^{s_j} - s_r \end{aligned}$$
#
# Differentiate the two parts. The logarithm of a sum has the derivative of the sum, divided by the sum. That is $p_k$. The
# second part contributes $-1$, only for the right class:
#
# $$\frac{dL}{ds_k} = \frac{e^{s_k}}{\sum_j e^{s_j}} - [k = r] = p_k - [k = r]$$
#
# The gradient is the predicted probability minus the right one. All exponentials and logarithms have disappeared, so nothing
# is divided by a small number. That is why `cross_entropy` is one operation.

# %%
with torch.no_grad():
    p = scores.softmax(1)
    right = F.one_hot(labels, 3)
    G = (p - right) / len(labels)  # the loss is the mean over the examples
print(p, G, sep="\n")
assert torch.allclose(G, torch.autograd.grad(loss, scores, retain_graph=True)[0])

lessons.predict(
    "What is the sum of the gradients of the three scores of one example?",
    {
        0: "The probabilities add up to 1, and 1 is subtracted once. Adding a number to all scores changes no probability.",
        1: "The probabilities add up to 1. But 1 is subtracted at the right class.",
        -1: "The scores of the other classes have positive gradients: their probabilities.",
        "it depends on the scores": "Each gradient does, but their sum does not.",
    },
    lambda: round(G[0].sum().item()),
)

# %% [markdown]
# ## The whole backward pass
#
# Now put both formulas together, from the loss to the weights. `backward` does the same.

# %%
loss.backward()
with torch.no_grad():
    print(x.T @ G, W.grad, sep="\n")
    assert torch.allclose(x.T @ G, W.grad) and torch.allclose(G.sum(0), b.grad)

# %% [markdown]
# With more layers, the gradient $G W^\top$ of a layer's input is the incoming gradient of the layer before it. In between is
# the local derivative of the activation function, for example $1 - h^2$ for $h = \tanh(s)$.
#
# ## Exercises
#
# ### 1. By hand
#
# A layer has the input `x = [[1, 2], [0, 1]]`, and the gradient `G = [[1, -1], [3, 0]]` arrives at its output. Compute the
# gradient of `W`. Give two lists in a list.

# %%
layer_weights = ...

lessons.check("layer_weights", layer_weights)

# %% [markdown]
# ### 2. A layer backward
#
# Write a function that returns the gradients of `x`, `W` and `b` of `x @ W + b`, where `G` is the incoming gradient. Do not
# use `backward` or `autograd`.


# %%
def layer_backward(x, W, G): ...


lessons.check("layer_backward", layer_backward)

# %% [markdown]
# ### 3. A loss backward
#
# Write a function that returns the gradient of the mean cross entropy with respect to the scores, again without autograd.


# %%
def loss_backward(scores, labels): ...


lessons.check("loss_backward", loss_backward)

# %% [markdown]
# ### 4. Two layers
#
# The network is `scores = tanh(x @ W1 + b1) @ W2 + b2`, and its loss the mean cross entropy. Return the gradients of `W1`,
# `b1`, `W2` and `b2`, in this order, without autograd. You may use the two functions above.


# %%
def network_backward(x, labels, W1, b1, W2, b2): ...


lessons.check("network_backward", network_backward)

# %% [markdown]
# ## Summary
#
# - A linear layer: `x.T @ G` for the weights, `G.sum(0)` for the bias, `G @ W.T` for the input.
# - Softmax with cross entropy: the predicted probabilities minus the right ones, divided by the number of examples.
# - A gradient has the shape of its tensor. Check that first.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does the gradient of the weights sum over the examples?</summary>
#
# Every example uses the same weights. Each use is a path from the weights to the loss, and paths add up.
#
# </details>
#
# <details markdown="1">
# <summary>When is the gradient of all scores zero?</summary>
#
# When the right class has the probability 1. The scores of a network are finite, so it only gets close.
#
# </details>
