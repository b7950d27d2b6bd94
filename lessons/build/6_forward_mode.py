# %% [markdown]
# # Forward mode
#
# *Needs build 5.*
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
import numpy as np
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## A pair
#
# A `Dual` is a value and its tangent: the change of the value for each unit that the input moves in a chosen direction. Both are
# nodes of your engine. A dual is a `Box`: it belongs to one call of `jvp`, its `layer`. Step 7 has boxes of other transforms. A box
# inherits the operators of `Value`, so your programs accept one as they are. It keeps its parents only for the picture: forward
# mode needs no graph.


# %%
class Layer:
    """One call of a transform; a later call has a larger number."""

    batched = False  # True if a box has a batch dimension in front, as in step 7

    def __init__(self):
        self.number = next(created)

    def inside(self, a):
        """Return what is in a box of this layer, and anything else as it is."""
        return a.value if isinstance(a, Box) and a.layer is self else a


class Forward(Layer):
    """One call of jvp."""

    def process(self, function, args):
        return push(self, function, *args)


class Box(Value):
    """A value of a layer; inside is a node, or a box of a layer further out."""

    def __init__(self, value, layer, parents=(), op=None):
        self.value, self.layer, self.parents, self.op, self.grad = value, layer, tuple(parents), op, None


class Dual(Box):
    """A box of jvp: a tangent is beside the value."""

    def __init__(self, value, tangent, layer, parents=(), op=None):
        super().__init__(value, layer, parents, op)
        self.tangent = tangent


def shape_of(x):
    """Return the shape of an array, a node or a box."""
    return shape_of(x.value) if isinstance(x, Value) else np.shape(x)


def zeros_like(x):
    """Return a node of zeros: the tangent of a constant."""
    return Value(np.zeros(shape_of(x)))


lessons.keep(Layer, Forward, Box, Dual, shape_of, zeros_like)

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
# The operators of your engine call `add`, `mul` and so on. Now these call `run`. It applies a Function to nodes as before. If there
# are boxes among them, the innermost of their layers processes the operation: the one whose call began last.


# %%
def run(function, *args):
    """Give an operation to the innermost layer; without one, apply the Function."""
    layers = [a.layer for a in args if isinstance(a, Box)]
    if not layers:
        return function.apply(*args)
    return max(layers, key=lambda layer: layer.number).process(function, args)


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

# %% [markdown]
# ## 2. The same operations
#
# Write `push(layer, function, *args)`. A dual of this layer has a value and a tangent. Anything else is a constant here, a dual of
# another layer, too: its tangent is `zeros_like(a)`. `layer.inside(a)` is the value in each case. Pass the values to `run`, since
# some may be duals of another layer. Then call the rule, `rule_of(function)`, with the result, all values and all tangents. Return a
# `Dual` of the layer with both; give it `args` and `function` as well, for the picture.


# %%
def push(layer, function, *args): ...


lessons.check("push", push)


# %%
def f(x, w):
    return tanh(x * w) * x


x = Dual(Value(2.0), Value(1.0), Forward())
w = Value(0.5)
y = f(x, w)
print(y.value.value, y.tangent.value)
draw(y, passes="jvp")

# %% [markdown]
# The arrows run with the computation. No node waits, and none is visited twice, as each value is computed once.
#
# ## 3. A direction
#
# Write `jvp(f, xs, vs)`: make a `Forward()`, and call `f` with its duals of the values `xs` and the tangents `vs`, lists of nodes of
# the same length. Return the value and the tangent of the result. If `f` ignores its arguments, its result is no dual of this
# layer, and the tangent is zero.


# %%
def jvp(f, xs, vs): ...


lessons.check("jvp", jvp)


# %%
def product_with_a_slope(x):
    _, slope = jvp(lambda y: x + y, [Value(1.0)], [Value(1.0)])  # of x + y with respect to y
    return x * slope


lessons.predict(
    "A jvp inside a function: the slope of x + y with respect to y, times x. What is the derivative of this product at x = 1?",
    {
        0: "The slope is 1 for every x, but the product with x is not constant.",
        1: "The slope is 1 for every x, so the product is x. Each dual knows its layer, so y's tangent does not meet that of x.",
        2: "That takes x's tangent for one of y. Engines without layers make this mistake, called perturbation confusion.",
    },
    lambda: int(jvp(product_with_a_slope, [Value(1.0)], [Value(1.0)])[1].value),
)

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
# In minigrad, forward mode is a layer: `minigrad/layers/jvp.py`. Its `process` is your `push`, and its boxes are the `Box` of
# `minigrad/core/tensor.py`.

# %%
from lessons.build.beside import beside
from minigrad.core import tensor
from minigrad.layers.jvp import Jvp

beside((Box, tensor.Box), (push, Jvp.process))

# %% [markdown]
# The extra lines there are for:
#
# - `_a`: a box has no array, so no operation can compute with it by mistake
# - `tangents` may be `None`: no rule multiplies by zero
# - `cls.primitive`: the Function of a user has its `jvp(ctx, *tangents)`, which reads what `setup_context` saved
# - `view`, `renew`: an in-place operation also writes to the tangent, and a view's tangent is a view
#
# ## Summary
#
# - A rule for tangents is linear in the tangents, and so is the backward of the same operation: one is the transpose of the other.
# - Forward mode costs one pass for each input, backward one for each result.
# - Forward over backward, or backward over forward, gives second derivatives.
