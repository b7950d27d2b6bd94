# %% [markdown]
# # Functions in, functions out
#
# *Needs lessons 1 and 5.*
#
# **Can I get a derivative without `requires_grad`, `backward` and `.grad`?** Yes: `torch.func` takes a function and returns
# a function. `grad` is one case of `vjp`, which multiplies the Jacobian from the left, as `jvp` does from the right.
#
# After this lesson you can:
#
# - differentiate a function with respect to the arguments you choose, and get other results along with the gradient,
# - compute rows of a Jacobian with `vjp` and columns with `jvp`,
# - choose between the two by the number of inputs and results.

# %%
import warnings

import lessons
import minigrad as torch
from viz import draw


def f(x):
    p, q = x[0], x[1]
    return torch.stack([p * q, p + q, 5 * q])


# %%
def message_of(f, *args):
    """Return the message of the error that f raises."""
    try:
        f(*args)
    except RuntimeError as e:
        return str(e)
    raise AssertionError("no error was raised")


draw(f, torch.tensor([2.0, 3.0]), passes=("backward", "jvp"))

# %% [markdown]
# `f` has two inputs and three results. The backward pass begins with three numbers, at the bottom, and ends with two: that is
# `vjp`. The jvp pass begins with two numbers, at the top, and ends with three.
#
# ## The derivative is a function
#
# `grad(f)` computes nothing yet. It returns a function of the same arguments, which computes the derivative of `f`. Its
# argument needs no `requires_grad` and gets no `.grad`. You can pass the result to `grad` again: the derivatives of $x^3$
# are $3x^2$ and $6x$.


# %%
def cube(x):
    return x**3


slope = torch.func.grad(cube)
curvature = torch.func.grad(slope)
x = torch.tensor(3.0)
print(slope(x), curvature(x))
assert slope(x).item() == 27.0 and curvature(x).item() == 18.0
assert x.grad is None and not x.requires_grad

# %% [markdown]
# ## Choosing the arguments
#
# `grad` differentiates with respect to the first argument. `argnums` gives the positions of others: an int gives one
# gradient, a tuple gives a tuple of gradients. All other arguments, here the data, stay constant.


# %%
def loss(w, b, xs, ys):
    return ((w * xs + b - ys) ** 2).mean()


w, b = torch.tensor(1.0), torch.tensor(0.0)
xs, ys = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])

by_w = torch.func.grad(loss)(w, b, xs, ys)
by_b = torch.func.grad(loss, argnums=1)(w, b, xs, ys)
print(by_w, by_b)
# the errors w * xs + b - ys are -2 and -3
assert by_w.item() == (2 * -2 * 1 + 2 * -3 * 2) / 2
assert by_b.item() == (2 * -2 + 2 * -3) / 2
assert torch.func.grad(loss, argnums=(0, 1))(w, b, xs, ys) == (by_w, by_b)

# %% [markdown]
# An argument may also be a list or a dict of tensors, such as the parameters of a model. Its gradient is nested in the same
# way.


# %%
def loss_of(params, xs, ys):
    return loss(params["w"], params["b"], xs, ys)


gradients = torch.func.grad(loss_of)({"w": w, "b": b}, xs, ys)
print(gradients)
assert gradients == {"w": by_w, "b": by_b}

# %% [markdown]
# `grad` differentiates only with respect to arguments.

# %%
weight = torch.tensor(3.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    by_unused = torch.func.grad(lambda unused: weight * weight)(weight)

lessons.predict(
    "weight is 3. What does torch.func.grad(lambda unused: weight * weight)(weight) give?",
    {
        6.0: "The argument is the same tensor, but the function never uses its argument.",
        9.0: "That is the value of the function.",
        0.0: "For grad, the weight from outside is a constant.",
        "None": "The result is always a tensor: the derivative of a constant function is zero.",
    },
    by_unused,
)

# %%
print(caught[0].message)
assert "the same tensor from outside" in str(caught[0].message)

# %% [markdown]
# minigrad warns here; PyTorch does not.
#
# ## Other results
#
# A training step needs the loss as well, and often the predictions. `grad_and_value` returns the value in the same run.
# With `has_aux=True`, the function returns a pair: the result to differentiate, and anything else, which `grad` passes
# through. Without `has_aux`, the pair is an error.


# %%
def loss_and_predictions(w, b, xs, ys):
    predictions = w * xs + b
    return ((predictions - ys) ** 2).mean(), predictions


gradient, value = torch.func.grad_and_value(loss)(w, b, xs, ys)
assert gradient.item() == -8.0 and value.item() == (4 + 9) / 2

gradient, predictions = torch.func.grad(loss_and_predictions, has_aux=True)(w, b, xs, ys)
print(gradient, predictions)
assert gradient.item() == -8.0 and predictions.tolist() == [1.0, 2.0]

message = message_of(torch.func.grad(loss_and_predictions), w, b, xs, ys)
print(message)
assert "has_aux=True" in message

# %% [markdown]
# ## Several results: a matrix
#
# The `f` of the first picture has 2 inputs and 3 results, so it has 6 derivatives. They form the Jacobian: one row for each
# result, one column for each input. By hand:
#
# $$J = \begin{pmatrix} q & p \\ 1 & 1 \\ 0 & 5 \end{pmatrix}$$
#
# `grad` raises an error for such a function: it has no single gradient.

# %%
x = torch.tensor([2.0, 3.0])
J = torch.tensor([[3.0, 2.0], [1.0, 1.0], [0.0, 5.0]])  # p is 2 and q is 3
message = message_of(torch.func.grad(f), x)
print(message)
assert "scalar" in message

# %% [markdown]
# ## vjp: rows
#
# `vjp(f, x)` runs `f` once and returns its value and a function, here called `pull`. `pull` takes a weight for each
# result, the *cotangent* $v$, and runs backward. It returns the vector-Jacobian product $v^\top J$, as a tuple with one
# gradient for each argument of `f`. With the weight 1 on one result and 0 on the others, this is one row of the Jacobian.
# You can call `pull` any number of times.

# %%
y, pull = torch.func.vjp(f, x)
(first_row,) = pull(torch.tensor([1.0, 0.0, 0.0]))
print(first_row)
assert first_row.tolist() == J[0].tolist() == [3.0, 2.0]

v = torch.tensor([1.0, 10.0, 100.0])
(weighted,) = pull(v)
print(weighted)
assert weighted.tolist() == (v @ J).tolist() == [1 * 3 + 10 * 1, 1 * 2 + 10 * 1 + 100 * 5]

# %% [markdown]
# The first picture starts the backward pass with ones, which adds the three rows.

# %%
assert pull(torch.ones(3))[0].tolist() == J.sum(0).tolist() == [4.0, 8.0]
lessons.predict(
    "J has the rows [3, 2], [1, 1] and [0, 5]. What does pull(torch.tensor([1.0, 0.0, 1.0])) give?",
    {
        "[3.0, 7.0]": "The first row and the third, added.",
        "[4.0, 8.0]": "That adds all rows. The weight of the second one is 0.",
        "[3.0, 2.0]": "That is the first row, for the cotangent [1, 0, 0]. The third row has the weight 1, too.",
        "[5.0, 0.0, 5.0]": "That has a number for each result. The gradient has one for each input.",
    },
    lambda: pull(torch.tensor([1.0, 0.0, 1.0]))[0],
)

# %% [markdown]
# `grad` is the special case of a single result: a vjp whose cotangent is 1.

# %%
_, pull_loss = torch.func.vjp(lambda w: loss(w, b, xs, ys), w)
assert pull_loss(torch.tensor(1.0))[0] == by_w

# %% [markdown]
# ## jvp: columns
#
# `jvp(f, (x,), (u,))` runs forward. `u` is a direction in the space of inputs, the *tangent*. Along with the value, you
# get the speed of each result in that direction: the Jacobian-vector product $J u$. Arguments and tangents are tuples,
# with one entry for each argument of `f`. A direction along one input gives one column.

# %%
y, second_column = torch.func.jvp(f, (x,), (torch.tensor([0.0, 1.0]),))
print(second_column)
assert second_column.tolist() == J[:, 1].tolist() == [2.0, 1.0, 5.0]

u = torch.tensor([1.0, -1.0])
_, changes = torch.func.jvp(f, (x,), (u,))
print(changes)
assert changes.tolist() == (J @ u).tolist() == [1.0, 0.0, -5.0]

# %% [markdown]
# ## Where both meet
#
# $v^\top J u$ is one number, from whichever side you compute it. So you can test a pair of derivative rules without a
# Jacobian.

# %%
print(pull(v)[0] @ u, v @ changes)
assert (pull(v)[0] @ u).item() == (v @ changes).item() == -499.0

# %% [markdown]
# ## When to use which
#
# One vjp gives a row, one jvp a column. A loss has one result and many inputs, so its Jacobian is a single row: one vjp
# finds all of it, and jvp needs one run for each input. Count the runs for 4 inputs and 1 result:


# %%
runs = 0


def energy(x):
    global runs
    runs += 1
    return (x * x).sum()


point = torch.tensor([1.0, 2.0, 3.0, 4.0])
by_reverse = torch.func.grad(energy)(point)
assert runs == 1

runs = 0
by_forward = torch.stack([torch.func.jvp(energy, (point,), (direction,))[1] for direction in torch.eye(4)])
assert runs == 4
assert by_forward.tolist() == by_reverse.tolist() == [2.0, 4.0, 6.0, 8.0]

# %% [markdown]
# For one input and many results it is the reverse, and jvp saves nothing for a backward pass.
#
# ## Exercises
#
# ### 1. A vjp by hand
#
# Let `g(x)` be `torch.stack([x[0] * x[0], x[0] * x[1]])`. Which gradient does `pull(torch.tensor([1.0, 2.0]))` return at
# `x = [3.0, 4.0]`? Work it out by hand, and give a list of two numbers.

# %%
vjp_by_hand = ...

lessons.check("vjp_by_hand", vjp_by_hand)

# %% [markdown]
# ### 2. Only the weights
#
# Write a function that returns one step of gradient descent, `(new_w, new_b)`, for the `loss` of this lesson: each of the
# two minus `rate` times its gradient. Do not differentiate with respect to the data.


# %%
def descent_step(w, b, xs, ys, rate): ...


lessons.check("descent_step", descent_step)

# %% [markdown]
# ### 3. Repair
#
# This function should return the gradient of the mean squared error with respect to `w`, and the largest error as a plain
# number. It raises an error. Repair it.


# %%
def gradient_and_worst(w, xs, ys):
    def mean_square(w):
        errors = w * xs - ys
        worst = errors.abs().max().item()
        return (errors**2).mean().item(), worst

    return torch.func.grad(mean_square)(w)


lessons.check("gradient_and_worst", gradient_and_worst)

# %% [markdown]
# ### 4. A slope in a direction (at home)
#
# Write a function that says how fast `f(x, y)` changes when `x` moves with speed `u` and `y` does not move. `f` takes
# two tensors of any shapes. Save nothing for a backward pass: use forward mode.


# %%
def partial_change(f, x, y, u): ...


lessons.check("partial_change", partial_change)

# %% [markdown]
# ### 5. A Jacobian from its rows (at home)
#
# Write a function that returns the Jacobian of `f` at `x` as a matrix, for any `f` of one vector that returns a vector.
# Run `f` only once. (`torch.func.jacrev` does this; do not use it here.)


# %%
def jacobian_of_rows(f, x): ...


lessons.check("jacobian_of_rows", jacobian_of_rows)

# %% [markdown]
# ## Summary
#
# - `grad(f)` is a function: it computes the derivative of `f` with respect to its first argument, or to those in
#   `argnums`.
# - `has_aux=True` passes other results through; `grad_and_value` returns the value as well.
# - `vjp` gives $v^\top J$, a combination of rows, in one backward pass; `grad` is the special case of a single result.
# - `jvp` gives $J u$, a combination of columns, in one forward pass.
# - Few results: use `vjp`. Few inputs: use `jvp`.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does <code>grad</code> need a function with a single number as its result?</summary>
#
# The gradient is one row of the Jacobian. With several results there are several rows, and you must give each row a
# weight: that is the cotangent of `vjp`.
#
# </details>
#
# <details markdown="1">
# <summary>A function <code>f</code> has 1000 inputs and 2 results. How many runs does its Jacobian take?</summary>
#
# With `vjp`, `f` runs once and `pull` runs twice, once for each row. With `jvp`, `f` runs 1000 times, once for each column.
#
# </details>
#
# <details markdown="1">
# <summary>Why is <code>v @ J @ u</code> a good test of a pair of rules?</summary>
#
# The vjp gives the same number as the jvp if both use the same Jacobian. The test needs two runs and no matrix.
#
# </details>
