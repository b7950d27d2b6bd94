# %% [markdown]
# # Arrays
#
# *Needs build 2.*
#
# **What changes when a value is an array?** The walk stays as it is. A local derivative would be a huge matrix, so each
# operation has a function instead: from the gradient of its result to the gradients of its inputs.
#
# After this step you can:
#
# - check any gradient with finite differences
# - undo broadcasting in a backward pass
# - write the backward of a matrix product and of a sum

# %%
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## 1. A judge
#
# You want to check gradients without trusting a formula. Write `numeric_gradient(f, x, h=1e-6)`. `f` takes an array like `x` and
# returns a number. Change each element by `+h` and by `-h`, and divide the difference of the results by `2h`. Do not change
# `x`. `np.ndindex(x.shape)` gives all indices.


# %%
def numeric_gradient(f, x, h=1e-6): ...


lessons.check("numeric_gradient", numeric_gradient)

# %% [markdown]
# ## Pull back
#
# A result with 1000 elements of 1000 inputs has a million local derivatives. Backward never needs the matrix $J$, only the product
# $J^T g$. So a node gets a function `pull` instead of `local_grads`: it takes the gradient of the result, and returns the
# gradient for each parent. `Value` keeps an array now, and `contributions` calls `pull`.


# %%
class Value(Operators):
    """An array that remembers how it was computed."""

    def __init__(self, value, parents=(), op=None, pull=None):
        self.value = np.asarray(value, dtype=float)
        self.parents = tuple(parents)
        self.op = op
        self.pull = pull
        self.grad = None
        self.number = next(created)


def value_of(x):
    """Return the array of a node, and a plain number or array as an array."""
    return x.value if isinstance(x, Value) else np.asarray(x, dtype=float)


def contributions(node, g):
    """Yield each parent that is a node, and what it gets when the gradient of the node is g."""
    pulled = node.pull(g) if node.parents else ()
    for parent, part in zip(node.parents, pulled):
        if isinstance(parent, Value):
            yield parent, unbroadcast(part, parent.value.shape)


lessons.keep(Value, value_of, contributions)

# %% [markdown]
# ## 2. Broadcasting backward
#
# A row of shape `(3,)` added to a matrix of shape `(2, 3)` is used twice. Each use contributes, so its gradient is the sum over the
# rows. Write `unbroadcast(g, shape)`, which sums `g` until it has the shape:
#
# - over the dimensions that were added in front, which disappear
# - over the dimensions where `shape` has a 1, which stay with size 1


# %%
def unbroadcast(g, shape): ...


lessons.check("unbroadcast", unbroadcast)

# %%
lessons.predict(
    "x has the shape (4, 1) and y the shape (3,). What is the gradient of one element of x, for the sum of all elements of x + y?",
    {
        1: "It is used once for each column of the result.",
        3: "The result has the shape (4, 3): each element of x is used in 3 columns.",
        12: "That is the number of elements of the result. An element of x is used in one row of them.",
    },
    lambda: int(unbroadcast(np.ones((4, 3)), (4, 1))[0, 0]),
)

# %% [markdown]
# ## 3. A product
#
# Write `mul_pull(g, x, y)`: the gradients of `x` and `y` for `x * y`, as a pair. All three are arrays, and broadcasting is undone
# for you by `contributions`.


# %%
def mul_pull(g, x, y): ...


lessons.check("mul_pull", mul_pull)

# %% [markdown]
# ## 4. A matrix product
#
# For $Z = XY$, the shapes leave only one way: $X$ of shape `(n, k)` gets $g Y^T$, and $Y$ of shape `(k, m)` gets $X^T g$. Write
# `matmul_pull(g, x, y)`. `y` may also be a vector of shape `(k,)`; then `g` has the shape `(n,)`, and the gradient of `x` is
# `np.outer(g, y)`.


# %%
def matmul_pull(g, x, y): ...


lessons.check("matmul_pull", matmul_pull)

# %% [markdown]
# ## 5. A sum
#
# Each element of `x` is used once, with the factor 1. Write `sum_pull(g, x)`: the gradient of `x` for the sum of all its elements.
# `g` is a number.


# %%
def sum_pull(g, x): ...


lessons.check("sum_pull", sum_pull)

# %% [markdown]
# Now the operations make nodes with these functions.


# %%
def add(x, y):
    """Return x + y as a node."""
    return Value(value_of(x) + value_of(y), (x, y), "+", lambda g: (g, g))


def mul(x, y):
    """Return x * y as a node."""
    a, b = value_of(x), value_of(y)
    return Value(a * b, (x, y), "*", lambda g: mul_pull(g, a, b))


def matmul(x, y):
    """Return x @ y as a node."""
    a, b = value_of(x), value_of(y)
    return Value(a @ b, (x, y), "@", lambda g: matmul_pull(g, a, b))


def total(x):
    """Return the sum of all elements as a node."""
    a = value_of(x)
    return Value(a.sum(), (x,), "sum", lambda g: (sum_pull(g, a),))


def exp(x):
    """Return e to the power of x as a node."""
    out = np.exp(value_of(x))
    return Value(out, (x,), "exp", lambda g: (g * out,))


def tanh(x):
    """Return the hyperbolic tangent of x as a node."""
    out = np.tanh(value_of(x))
    return Value(out, (x,), "tanh", lambda g: (g * (1 - out * out),))


lessons.keep(add, mul, matmul, total, exp, tanh)

# %% [markdown]
# A layer of a network, and your judge:

# %%
random = np.random.default_rng(0)
weights, bias, data = random.normal(size=(3, 2)), random.normal(size=2), random.normal(size=(4, 3))


def loss_of(w):
    return (Value(data) @ w + bias).tanh().sum()


w = Value(weights)
loss = loss_of(w)
backward(loss)
numeric = numeric_gradient(lambda a: float(loss_of(Value(a)).value), weights)
print(abs(w.grad - numeric).max())
assert np.allclose(w.grad, numeric, atol=1e-6)
draw(loss, passes=("forward", "backward"))

# %% [markdown]
# ## Your lines and minigrad's
#
# A tensor of minigrad holds a NumPy array as your `Value` does, and its backward undoes broadcasting in the same way.

# %%
from lessons.build.beside import beside
from minigrad.core import backward as theirs
from minigrad.core import tensor
from minigrad.ops.pointwise import Mul

beside((Value, tensor.wrap), (unbroadcast, theirs.fit, theirs.sum_to), (mul_pull, Mul))

# %% [markdown]
# The extra lines there are for:
#
# - `_ver`, `_view`, `_tan`: writes, views and tangents, of steps 5 and 6
# - `fit`: a gradient gets the dtype of its input as well as its shape
# - `reshape`: a dimension of size 1 needs no sum
#
# ## Summary
#
# - Backward multiplies by the transpose of the local Jacobian, without making it.
# - The transpose of repeating is summing: that is `unbroadcast`. The transpose of summing is repeating: that is `sum_pull`.
# - Finite differences judge every formula.
