# %% [markdown]
# # Forward mode
#
# *36 minutes. Needs build 5.*
#
# **Can your engine differentiate without walking back?** Each operation also computes how fast its result changes. The same
# functions run on pairs of a value and a tangent. At the end you have Jacobians both ways, and know which way is cheaper.
#
# After this step you can:
#
# - write the rule of an operation for tangents
# - run unchanged programs on dual numbers
# - compute a Jacobian by columns and by rows, and choose between them
# - get a product with the Hessian from both modes together

# %%
import inspect

import numpy as np
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## A pair
#
# A `Dual` is a value and its tangent: the change of the value for each unit that the input moves in a chosen direction. Both are
# nodes of your engine. A `Dual` inherits the operators of `Value`, so your programs accept one as they are. It keeps its parents
# only for the picture: forward mode needs no graph.


# %%
class Dual(Value):
    """A value with a tangent; both are nodes of the engine."""

    def __init__(self, value, tangent, parents=(), op=None):
        self.value, self.tangent, self.grad = value, tangent, None
        self.parents, self.op = tuple(parents), op


def zeros_like(x):
    """Return a node of zeros: the tangent of a constant."""
    return Value(np.zeros(np.shape(getattr(x, "value", x))))


lessons.keep(Dual, zeros_like)

# %% [markdown]
# ## 1. Every product
#
# $(xy)' = x'y + xy'$ holds for numbers, and for matrices too: nothing in its proof needs $xy = yx$. So one function is the rule for
# `*` and for `@`. Write `product_jvp(product, x, y, tx, ty)`: `product` is the operation, `tx` and `ty` are the tangents of `x` and
# `y`.


# %%
def product_jvp(product, x, y, tx, ty): ...


lessons.check("product_jvp", product_jvp)

# %% [markdown]
# The rules of the other operations follow from school: the tangent goes through the same slope that backward multiplies by. A rule
# receives the result, the arguments and their tangents, and computes with operations of the engine. So its result has a graph,
# and can be differentiated again.


# %%
def rule_of(function):
    """Return the rule of a Function: the tangent of its result, from the result, the arguments and their tangents."""
    return {
        Add: lambda out, x, y, tx, ty: tx + ty,
        Mul: lambda out, x, y, tx, ty: product_jvp(mul, x, y, tx, ty),
        MatMul: lambda out, x, y, tx, ty: product_jvp(matmul, x, y, tx, ty),
        Exp: lambda out, x, tx: out * tx,
        Tanh: lambda out, x, tx: (1 - out * out) * tx,
        Sum: lambda out, x, tx: total(tx),
    }[function]


lessons.keep(rule_of)

# %% [markdown]
# ## 2. The same operations
#
# Write `push(function, *args)`. Some arguments are duals, others are not, and those have the tangent `zeros_like(a)`. Apply the
# Function to the values. Then call its rule, `rule_of(function)`, with the result, all values and all tangents. Return a `Dual` with
# both; give it `args` and `function` as well, for the picture.


# %%
def push(function, *args): ...


lessons.check("push", push)

# %% [markdown]
# The operators of your engine call `add`, `mul` and so on. Now these ask first if an argument is a dual.


# %%
def run(function, *args):
    """Apply a Function to nodes; with a dual among them, compute a tangent, too."""
    return push(function, *args) if any(isinstance(a, Dual) for a in args) else function.apply(*args)


def add(x, y):
    return run(Add, x, y)


def mul(x, y):
    return run(Mul, x, y)


def matmul(x, y):
    return run(MatMul, x, y)


def exp(x):
    return run(Exp, x)


def tanh(x):
    return run(Tanh, x)


def total(x):
    return run(Sum, x)


lessons.keep(run, add, mul, matmul, exp, tanh, total)


def f(x, w):
    return tanh(x * w) * x


x = Dual(Value(2.0), Value(1.0))
w = Value(0.5)
y = f(x, w)
print(y.value.value, y.tangent.value)
draw(y, passes="jvp")

# %% [markdown]
# The arrows run with the computation. No node waits, and none is visited twice, as each value is computed once.
#
# ## 3. A direction
#
# Write `jvp(f, xs, vs)`: call `f` with duals of the values `xs` and the tangents `vs`, lists of nodes of the same length. Return the
# value and the tangent of the result. If `f` ignores its arguments, its result is no dual, and the tangent is zero.


# %%
def jvp(f, xs, vs): ...


lessons.check("jvp", jvp)

# %% [markdown]
# ## Columns and rows
#
# For a function of a vector, the Jacobian $J$ has a row for each result and a column for each input. A tangent $v$ gives $Jv$: for
# a basis vector, one column. A gradient $g$ sent backward gives $J^T g$: for a basis vector, one row.

# %%
random = np.random.default_rng(1)
mixing = Value(random.normal(size=(2, 3)))


def two_of_three(x):
    return tanh(mixing @ x)


point = random.normal(size=3)
leaf = Value(point)
_, column = jvp(two_of_three, [leaf], [Value(np.eye(3)[0])])
out = two_of_three(leaf)
backward(out, np.eye(2)[0])
print("column 0:", column.value, "  row 0:", leaf.grad)
assert np.isclose(column.value[0], leaf.grad[0])

# %% [markdown]
# ## 4. By columns
#
# Write `jacobian_forward(f, x)` for an array `x` with one dimension: an array with a row for each result, from `jvp`.


# %%
def jacobian_forward(f, x): ...


lessons.check("jacobian_forward", jacobian_forward)

# %% [markdown]
# ## 5. By rows
#
# Write `jacobian_backward(f, x)`, the same array, from `backward`. Each call needs a fresh leaf, since `.grad` adds up.


# %%
def jacobian_backward(f, x): ...


lessons.check("jacobian_backward", jacobian_backward)

# %%
lessons.predict(
    "A network has 10,000 parameters and one loss. How many calls of backward does its gradient take? With jvp it takes 10,000.",
    {
        1: "One result, one row. That is why training runs backward.",
        100: "No square root is involved: backward takes one call for each result.",
        10000: "That is the number of columns. Backward gives a whole row at a time.",
    },
    lambda: len(jacobian_backward(lambda x: total(x * x) * np.ones(1), np.ones(4))),
)

# %% [markdown]
# ## Both modes together
#
# The tangent that `jvp` returns is a node with a graph: your rules computed it with your operations. So `backward` can start from
# it. The tangent is $\nabla f \cdot v$, and its gradient is $Hv$, a product with the matrix of second derivatives, without the
# matrix.

# %%
x, v = Value(np.array([1.0, 2.0])), Value(np.array([1.0, 0.0]))
_, slope = jvp(lambda x: total(x * x * x), [x], [v])
backward(slope)
print(x.grad)
assert np.allclose(x.grad, [6.0, 0.0]), "the second derivative of x**3 at 1 is 6, and the other input does not matter"
draw(slope, passes="backward")

# %% [markdown]
# ## Your lines and minigrad's
#
# In minigrad, forward mode is a layer: `minigrad/layers/jvp.py`. Its `process` is your `push`.

# %%
from minigrad.layers.jvp import Jvp

print(inspect.getsource(push))
print(inspect.getsource(Jvp.process))

# %% [markdown]
# The extra lines there are for:
#
# - **no zeros**: an argument without a tangent stays without one, and no rule multiplies by zero
# - **levels**: a jvp inside a jvp must not take the outer tangent for its own
# - **writes**: an in-place operation also writes to the tangent
# - **Functions of users**: a custom Function has its own `jvp(ctx, *tangents)`, which reads what `setup_context` saved
#
# ## Summary
#
# - A rule for tangents is linear in the tangents, and so is the backward of the same operation: one is the transpose of the other.
# - Forward mode costs one pass for each input, backward one for each result.
# - Forward over backward, or backward over forward, gives second derivatives.
