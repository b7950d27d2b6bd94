# %% [markdown]
# # Transforms as layers
#
# *Needs build 6.*
#
# **How can one program be differentiated and run on a whole batch, in any order?** Each transform is a layer. An operation goes to
# the innermost layer first. The layer does its part, with operations of the layer below.
#
# After this step you can:
#
# - say which layer an operation meets first, and why
# - run a function of one example on a batch, without a loop
# - nest `grad`, `vmap` and `jvp` in any order

# %%
import numpy as np
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## Boxes
#
# A `Box` hides a value from the layers below: its `value` is a node, or a box of a layer further out. In step 6 all boxes were duals.
# The call that began last is the innermost, so its layer has the largest `number`.
#
# ## 1. Who is asked first
#
# Write `innermost(args)`: the layer with the largest number among the layers of the boxes in `args`, or `None` if there is no box.
# Other arguments are nodes, numbers and shapes.


# %%
def innermost(args): ...


lessons.check("innermost", innermost)

# %% [markdown]
# `run` asks it. A product of matrices goes to a layer as a product and a sum, so only `jvp` has a rule for it. Three small
# Functions change shapes: layers need them. Each does the same to a tangent.


# %%
def run(function, *args):
    """Give an operation to the innermost layer; without one, apply the Function."""
    if (layer := innermost(args)) is None:
        return function.apply(*args)
    if function is MatMul and not isinstance(layer, Forward):
        return contracted(*args)
    return layer.process(function, args)


def contracted(x, y):
    """Return x @ y as a product and a sum."""
    (rows, inner), (_, *columns) = shape_of(x), shape_of(y)
    products = run(Reshape, x, (rows, inner, 1)) * run(Reshape, y, (1, inner, *(columns or [1])))
    return run(Reshape, run(SumTo, products, (rows, 1, *(columns or [1]))), (rows, *columns))


def shape_of(x):
    """Return the shape that a program sees: in a batch, that of one example."""
    if isinstance(x, Box) and x.layer.batched:
        return shape_of(x.value)[1:]
    return shape_of(x.value) if isinstance(x, Value) else np.shape(x)


class Reshape(Function):
    """The same numbers in another shape."""

    @staticmethod
    def forward(ctx, x, shape):
        ctx.shape = x.shape
        return x.reshape(shape.astype(int))

    @staticmethod
    def backward(ctx, g):
        return g.reshape(ctx.shape), None


class Expand(Function):
    """Numbers repeated to a larger shape."""

    @staticmethod
    def forward(ctx, x, shape):
        return np.broadcast_to(x, shape.astype(int))

    @staticmethod
    def backward(ctx, g):
        return g, None


class SumTo(Function):
    """Broadcasting undone: the sum over repeated dimensions."""

    @staticmethod
    def forward(ctx, x, shape):
        ctx.shape = x.shape
        return unbroadcast(x, tuple(shape.astype(int)))

    @staticmethod
    def backward(ctx, g):
        return np.broadcast_to(g, ctx.shape), None


def rule_of(function):
    """Return the rule of a Function: the tangent of its result, from the result, the arguments and their tangents."""
    if function in (Reshape, Expand, SumTo):
        return lambda out, x, shape, tx, _: run(function, tx, shape)
    return {
        Add: lambda out, x, y, tx, ty: tx + ty,
        Mul: lambda out, x, y, tx, ty: product_jvp(mul, x, y, tx, ty),
        MatMul: lambda out, x, y, tx, ty: product_jvp(matmul, x, y, tx, ty),
        Exp: lambda out, x, tx: out * tx,
        Tanh: lambda out, x, tx: (1 - out * out) * tx,
        Sum: lambda out, x, tx: total(tx),
    }[function]


lessons.keep(run, contracted, shape_of, Reshape, Expand, SumTo, rule_of)

# %% [markdown]
# ## 2. Shapes in a batch
#
# In a batch of 4, an example of shape `(3,)` is inside a box as `(4, 3)`, and a number as `(4,)`. To add them, the number must
# become `(4, 1)`. Write `lift(layer, a, rank)`: return what is inside a box of `layer`, with ones behind the batch dimension until
# one example has `rank` dimensions. Use `run(Reshape, x, shape)`. Anything else stays as it is.


# %%
def lift(layer, a, rank): ...


lessons.check("lift", lift)

# %%
lessons.predict(
    "Without lift: a batch of 3 numbers, shape (3,), plus a batch of 3 examples, shape (3, 3). Does NumPy notice?",
    {
        "an error": "The shapes fit by chance: NumPy aligns the last dimensions.",
        "(3, 3)": "No error: number j is added to column j of each example, instead of to its own example.",
        "(3,)": "Broadcasting never makes a shape smaller.",
    },
    lambda: str((np.ones(3) + np.ones((3, 3))).shape),
)


# %%
class Batch(Layer):
    """The layer of vmap: a box has the numbers of all examples, with the batch dimension in front."""

    batched = True

    def process(self, function, args):
        size = next(shape_of(a.value)[0] for a in args if isinstance(a, Box) and a.layer is self)
        x, *rest = args
        inside = self.inside(x)
        if function is Sum:
            flat = run(Reshape, inside, (size, int(np.prod(shape_of(x)))))
            out = run(Reshape, run(SumTo, flat, (size, 1)), (size,))
        elif function is Reshape:
            out = run(Reshape, inside, (size, *rest[0]))
        elif function is Expand:
            out = run(Expand, lift(self, x, len(rest[0])), (size, *rest[0]))
        elif function is SumTo:
            ones = (1,) * (len(shape_of(x)) - len(rest[0]))
            out = run(Reshape, run(SumTo, inside, (size, *ones, *rest[0])), (size, *rest[0]))
        else:
            rank = max(len(shape_of(a)) for a in args)
            out = run(function, *(lift(self, a, rank) for a in args))
        return Box(out, self, args, function)


lessons.keep(Batch)

# %% [markdown]
# ## 3. vmap
#
# Write `vmap(f)`. It returns a function of one node or box `xs`, whose first dimension is the batch. That function makes a new
# `Batch()`, calls `f` once with a box, and returns what is inside the result. If `f` ignores its argument, its result is no box of
# the layer: repeat it with `run(Expand, out, shape)`.


# %%
def vmap(f): ...


lessons.check("vmap", vmap)

# %% [markdown]
# ## A layer that records
#
# The layer of `grad` runs an operation below, and notes the box of its result on a tape. `parts` gives each parent in this layer
# what it gets from a gradient. It computes with operations of the layer below. If that is another `grad`, these are recorded
# there: so second derivatives need no extra code.


# %%
class Grad(Layer):
    """The layer of grad: a tape of boxes, in the order of creation."""

    def __init__(self):
        super().__init__()
        self.tape = []

    def process(self, function, args):
        out = Box(run(function, *map(self.inside, args)), self, args, function)
        self.tape.append(out)
        return out

    def parts(self, node, g):
        """Yield each parent in this layer, and what it gets when the gradient of the node is g."""
        values = [self.inside(a) for a in node.parents]
        for parent, value, part in zip(node.parents, values, pull_of(node.op)(node.value, g, *values)):
            if isinstance(parent, Box) and parent.layer is self:
                same = shape_of(part) == shape_of(value)
                yield parent, part if same else run(SumTo, part, shape_of(value))


def pull_of(function):
    """Return the backward of a Function, made of operations: from the result, its gradient and the arguments."""
    return {
        Add: lambda out, g, x, y: (g, g),
        Mul: lambda out, g, x, y: (g * y, g * x),
        Exp: lambda out, g, x: (g * out,),
        Tanh: lambda out, g, x: (g * (1 - out * out),),
        Sum: lambda out, g, x: (run(Expand, g, shape_of(x)),),
        Reshape: lambda out, g, x, shape: (run(Reshape, g, shape_of(x)),),
        Expand: lambda out, g, x, shape: (run(SumTo, g, shape_of(x)),),
        SumTo: lambda out, g, x, shape: (run(Expand, g, shape_of(x)),),
    }[function]


lessons.keep(Grad, pull_of)

# %% [markdown]
# ## 4. grad
#
# Write `grad(f)`. It returns a function of one node or box `x`, which returns the gradient of the number `f(x)`:
#
# - Make a new `Grad()` and a box of `x`, and call `f` with the box.
# - The gradient of the result is `Value(1.0)`. Walk over the tape backward. A node that has a gradient passes it on with
#   `layer.parts(node, g)`. Add what arrives at the same box; nodes can be keys of a dict.
# - Return the gradient of the box, or `Value(np.zeros(shape_of(x)))` if none arrived.


# %%
def grad(f): ...


lessons.check("grad", grad)

# %% [markdown]
# Now they nest:

# %%
second = grad(grad(lambda x: x * x * x))(Value(2.0))
print(second.value)
each = vmap(grad(lambda x: total(tanh(x) * x)))(Value([[1.0, 2.0], [3.0, 4.0]]))
print(each.value)
assert np.isclose(second.value, 12.0), "the second derivative of x**3 at 2"
w, xs = Value(np.ones((2, 3))), Value([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
per_example = vmap(lambda x: grad(lambda w: total(tanh(w @ x)))(w))(xs)
assert per_example.value.shape == (2, 2, 3), "a gradient of w for each example"
_, along = jvp(grad(lambda x: total(x * x * x)), [Value([1.0, 2.0])], [Value([1.0, 0.0])])
assert np.allclose(along.value, [6.0, 0.0]), "forward over reverse: a product with the Hessian"
draw(grad(lambda x: x * x)(Value(3.0)))

# %% [markdown]
# That graph is the computation of the gradient: what the layer handed to the nodes below.
#
# ## Your lines and minigrad's
#
# `minigrad/core/frames.py` finds the layer. The layers are in `minigrad/layers`.

# %%
from lessons.build.beside import beside
from minigrad.core import frames
from minigrad.layers import batching
from minigrad.layers import grad as recording

beside(
    (run, frames.apply_at, frames.push),
    (lift, batching.lift),
    (Grad, recording.Grad.process, recording.pull_back),
)

# %% [markdown]
# The extra lines there are for:
#
# - `frame`: a stack of layers is set for a block of code, so a layer also meets operations without boxes, and no layer needs a number
# - `pull_back`: the tape is a graph, and the walk of step 2 runs over it
# - `cls.view`: writes, whose histories each layer renews
# - `custom`: backward of a user's Function runs in the layer that called it
#
# ## Summary
#
# - An operation meets the innermost layer, and each layer computes with operations of the one below.
# - vmap changes shapes, grad keeps a tape; neither knows the other.
# - Nesting needs no extra code.
