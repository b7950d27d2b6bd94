# %% [markdown]
# # Jacobians and Hessians
#
# *Needs lessons 5 and 18.*
#
# **My function has several results. Which way gives all its derivatives, forward or backward?** Both do, one row or one
# column of a matrix at a time. The shape of the matrix says which way is cheaper.
#
# After this lesson you can:
#
# - build a Jacobian from backward passes or from forward passes
# - choose the cheaper way from the numbers of inputs and results
# - compute a Hessian, and check it by hand

# %%
import time

import numpy as np

import lessons
import minigrad as torch
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from viz import draw


def pair(a, b):
    return a * b, a * a


a, b = torch.tensor(2.0), torch.tensor(3.0)
draw(pair, a, b, passes=("backward", "jvp"))

# %% [markdown]
# Two inputs and two results have four derivatives. The backward pass starts at the results and brings one number to `a`. The
# forward pass starts at the inputs and brings one number to each result.
#
# ## All derivatives in a table
#
# `f` takes two numbers and returns two. Its Jacobian has a row for each result and a column for each input: the number
# in row `i` and column `j` says how fast result `i` changes with input `j`.


# %%
def f(x):
    a, b = x
    return torch.stack([a * b, a * a])


x = torch.tensor([2.0, 3.0])
print(jacrev(f)(x))
assert jacrev(f)(x).tolist() == [[3.0, 2.0], [4.0, 0.0]]

# %% [markdown]
# By hand, with $a = 2$ and $b = 3$:
#
# $$J = \begin{pmatrix} \partial(ab)/\partial a & \partial(ab)/\partial b \\ \partial(a^2)/\partial a & \partial(a^2)/\partial b
# \end{pmatrix} = \begin{pmatrix} b & a \\ 2a & 0 \end{pmatrix} = \begin{pmatrix} 3 & 2 \\ 4 & 0 \end{pmatrix}$$
#
# ## Backward gives rows, forward gives columns
#
# A backward pass that starts with 1 at one result and 0 at the others gives that result's row. A forward pass (`jvp`) that
# starts with 1 at one input and 0 at the others gives that input's column.

# %%
_, pull = vjp(f, x)
(row,) = pull(torch.tensor([1.0, 0.0]))
_, column = jvp(f, (x,), (torch.tensor([1.0, 0.0]),))
print("row of a * b:    ", row)
print("column of a:     ", column)
assert row.tolist() == [3.0, 2.0]
assert column.tolist() == [3.0, 4.0]

lessons.predict(
    "Now backward starts with 0 at a * b and 1 at a * a. What arrives at x?",
    {
        "[4.0, 0.0]": "That is the row of a * a: it changes with a at the rate 4, and with b not at all.",
        "[2.0, 0.0]": "That is the column of b, from a forward pass that starts at b.",
        "[7.0, 2.0]": "That is the sum of both rows, from a pass that starts with 1 at both results.",
        "[0.0, 4.0]": "Backward returns a number for each input, not for each result. a * a does not depend on b.",
    },
    lambda: pull(torch.tensor([0.0, 1.0]))[0],
)

# %% [markdown]
# If a pass starts with ones everywhere, as in the first picture, backward gives the sum of the rows, and forward the sum of
# the columns.

# %%
sum_of_rows = pull(torch.ones(2))[0]
sum_of_columns = jvp(f, (x,), (torch.ones(2),))[1]
print(sum_of_rows, sum_of_columns)
assert sum_of_rows.equal(jacrev(f)(x).sum(0)) and sum_of_rows.tolist() == [7.0, 2.0]
assert sum_of_columns.equal(jacrev(f)(x).sum(1)) and sum_of_columns.tolist() == [5.0, 4.0]

# %% [markdown]
# The whole matrix takes one pass for each row of the identity matrix. `vmap` runs them all at once, so `jacrev` is three
# lines.


# %%
def my_jacrev(f, x):
    y, pull = vjp(f, x)
    (rows,) = vmap(pull)(torch.eye(y.numel()))
    return rows


def my_jacfwd(f, x):
    column = lambda direction: jvp(f, (x,), (direction,))[1]
    return vmap(column, out_dims=1)(torch.eye(x.numel()))


assert my_jacrev(f, x).equal(jacrev(f)(x))
assert my_jacfwd(f, x).equal(jacfwd(f)(x))

# %% [markdown]
# The shape of the Jacobian is the shape of the result followed by the shape of the
# input. `grad` accepts only one result; for more, it raises an error.

# %%
matrix = torch.ones(2, 3)
print(jacrev(lambda m: m.sum(1))(matrix).shape)
assert jacrev(lambda m: m.sum(1))(matrix).shape == (2, 2, 3)
try:
    grad(f)(x)
except RuntimeError as e:
    print(e)
    assert "use jacrev" in str(e)
else:
    raise AssertionError("grad took a function with two results")

# %% [markdown]
# ## Which way is cheaper
#
# `jacrev` needs a pass for each result, `jacfwd` one for each input. Count the bytes of all intermediate results, and measure
# the time.

# %%
tall_weights = torch.linspace(-1.0, 1.0, 3 * 400).reshape(400, 3)


def tall(x):
    return (tall_weights @ x).tanh().cumsum(0)


def wide(x):
    return (tall_weights.mT @ x.tanh()).exp()


def bytes_made(f, *args):
    """Return the bytes of all tensors created while f runs."""
    return sum(value["bytes"] for value in torch.record(f, *args, passes="forward").to_dict()["values"])


def seconds(f, *args):
    """Return the shortest time of five runs."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


lessons.predict(
    "tall has 3 inputs and 400 results. Which transform allocates fewer bytes?",
    {
        "jacfwd": "Three passes, one for each input, against 400, one for each result.",
        "jacrev": "Backward is right for a loss, which has one result. Here it needs 400 passes.",
    },
    lambda: min((jacrev, jacfwd), key=lambda way: bytes_made(way(tall), torch.ones(3))).__name__,
)

# %%
made = {}
for name, function, n in (("tall: 3 to 400", tall, 3), ("wide: 400 to 3", wide, 400)):
    for transform in (jacrev, jacfwd):
        jacobian, at = transform(function), torch.ones(n) / n
        made[name[:4], transform.__name__] = bytes_made(jacobian, at)
        print(f"{name}  {transform.__name__}  {made[name[:4], transform.__name__]:>9,} bytes", end="  ")
        print(f"{1000 * seconds(jacobian, at):7.3f} ms")
assert made["tall", "jacfwd"] < made["tall", "jacrev"] / 10
assert made["wide", "jacrev"] < made["wide", "jacfwd"] / 10

# %% [markdown]
# A loss has one result and thousands of inputs. That is why training uses backward.
#
# The two ways also need different methods of a Function that calls another library. `jacrev` runs `vmap` over the backward
# pass only, so `backward` has to consist of tensor operations, and the Function needs neither a `vmap` nor a `jvp`
# staticmethod.


# %%
class NumpyExp(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.exp(x.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


x = torch.tensor([0.0, 1.0])
print(jacrev(NumpyExp.apply)(x))
assert jacrev(NumpyExp.apply)(x).allclose(x.exp().diag())
try:
    jacfwd(NumpyExp.apply)(x)
except NotImplementedError as e:
    print(e)
    assert "jvp" in str(e)
else:
    raise AssertionError("a Function without a jvp was differentiated forward")

# %% [markdown]
# ## Second derivatives
#
# The Hessian of a function with one result is the Jacobian of its gradient: row `i` and column `j` say how fast slope `i`
# changes with input `j`. `hessian` is `jacfwd(jacrev(f))`: one backward pass for the gradient, then forward passes through
# it, since the gradient has a result for each input.
#
# $$g = a^3 + 2ab^2 \qquad \nabla g = \begin{pmatrix} 3a^2 + 2b^2 \\ 4ab \end{pmatrix} \qquad
# H = \begin{pmatrix} 6a & 4b \\ 4b & 4a \end{pmatrix}$$


# %%
def g(x):
    a, b = x
    return a**3 + 2 * a * b**2


x = torch.tensor([1.0, 2.0])
print(hessian(g)(x))
assert hessian(g)(x).tolist() == [[6.0, 8.0], [8.0, 4.0]]
assert hessian(g)(x).equal(jacfwd(jacrev(g))(x))
assert hessian(g)(x).equal(torch.autograd.functional.hessian(g, x))

# %% [markdown]
# A Hessian is symmetric: the order of the two differentiations does not matter.

# %%
assert hessian(g)(x).equal(hessian(g)(x).mT)
lessons.predict(
    "relu consists of two straight pieces. Which matrix is the Hessian of x.relu().sum() at [1, 2]?",
    {
        "[[0.0, 0.0], [0.0, 0.0]]": "Along a straight piece the slope does not change.",
        "[[1.0, 0.0], [0.0, 1.0]]": "1 is the slope at each element. The Hessian tells how the slope changes.",
        "[[1.0, 1.0], [1.0, 1.0]]": "The slope of an element is 1, and no input changes it.",
        "[1.0, 1.0]": "That is the gradient. The Hessian is a matrix.",
    },
    lambda: hessian(lambda x: x.relu().sum())(x),
)

# %% [markdown]
# Lesson 24 uses the Hessian to find a minimum in a few steps.
#
# ## Exercises
#
# ### 1. A Jacobian by hand
#
# Work out the Jacobian of `[x0 * x1, x0 * x0, x1]` with respect to `x` at `x = [2, 3]`. Give it as a list of rows.

# %%
jacobian_by_hand = ...

lessons.check("jacobian_by_hand", jacobian_by_hand)

# %% [markdown]
# ### 2. Forward or reverse
#
# Which of `"jacfwd"` and `"jacrev"` is cheaper for the Jacobian of
#
# - the loss of a network with respect to its 1000 weights,
# - the position of a planet, in three coordinates, with respect to time,
# - the scores of ten digits with respect to the 784 pixels of a picture?
#
# Answer with a list of three words.

# %%
jacobian_modes = ...

lessons.check("jacobian_modes", jacobian_modes)

# %% [markdown]
# ### 3. Element by element
#
# `f` works element by element, like `tanh`, so its Jacobian has zeros off the diagonal. Write `jacobian_diagonal(f, x)`, which
# returns the diagonal, in the shape of `x`. One pass is enough. Do not compute the matrix: `x` may have a million elements.


# %%
def jacobian_diagonal(f, x): ...


lessons.check("jacobian_diagonal", jacobian_diagonal)

# %% [markdown]
# ### 4. A Hessian by hand (at home)
#
# Work out the Hessian of $a^2 b + b^3$ at $a = 1$, $b = 2$. Give it as a list of rows.

# %%
hessian_by_hand = ...

lessons.check("hessian_by_hand", hessian_by_hand)

# %% [markdown]
# ## Summary
#
# - A backward pass gives a row of the Jacobian, a forward pass (`jvp`) a column.
# - `jacrev` suits few results, `jacfwd` few inputs. A loss has one result: go backward.
# - A pass that starts with ones everywhere gives the sum of all rows or of all columns.
# - The Hessian is the Jacobian of the gradient, and it is symmetric.
#
# ## Questions
#
# <details markdown="1">
# <summary>A function takes a picture of 28 x 28 pixels and returns 10 scores. What is the shape of its Jacobian?</summary>
#
# `(10, 28, 28)`: the shape of the result, then the shape of the input. `jacrev` gives it in 10 passes.
#
# </details>
#
# <details markdown="1">
# <summary>A function has 5 inputs and 5 results. Does it matter which way you choose?</summary>
#
# Both take five passes. Forward keeps no tensors for later, so it needs less memory; but each operation must have a `jvp`.
#
# </details>
#
# <details markdown="1">
# <summary>Why is <code>hessian</code> not <code>jacrev(jacrev(f))</code>?</summary>
#
# That gives the same numbers. But the gradient has as many results as inputs, so neither way saves passes. A forward pass
# keeps no tensors for later, so the outer Jacobian uses forward passes.
#
# </details>
