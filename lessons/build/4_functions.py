# %% [markdown]
# # Functions and contexts
#
# *Needs build 3.*
#
# **How does one add an operation without touching the engine?** A Function has a forward and a backward, and a context carries
# arrays from one to the other. PyTorch's `torch.autograd.Function` is this idea.
#
# After this step you can:
#
# - write `apply`, which records any Function
# - save arrays for backward, in both forms
# - skip gradients that are not needed, and return several results

# %%
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## 1. A memory for one call
#
# In step 3 a lambda kept the arrays that `pull` needed. Make that explicit. Write `Context(needs_input_grad)`:
#
# - `needs_input_grad` is kept as a tuple: for each argument, `True` if it needs a gradient
# - `save_for_backward(*arrays)` keeps the arrays in `saved_tensors`, a tuple that is empty at first


# %%
class Context:
    def __init__(self, needs_input_grad): ...


lessons.check("Context", Context)

# %% [markdown]
# A node keeps its Function as `op`, and the context. `contributions` calls `backward` of the Function. It accepts one gradient or a
# tuple, and `None` for an argument without gradient.
#
# A Function with several results is recorded as one node whose value has all of them in a row. `Part` cuts each result out. In
# backward, the gradients of the parts meet at the row, and `incoming` cuts them apart. So the walk of step 2 stays unchanged.


# %%
class Value(Operators):
    """An array that remembers how it was computed."""

    def __init__(self, value, parents=(), op=None, ctx=None):
        self.value = np.asarray(value, dtype=float)
        self.parents = tuple(parents)
        self.op = op
        self.ctx = ctx
        self.grad = None
        self.number = next(created)


def guards(ctx):
    """Return what must not change before backward: nothing until step 5."""
    return []


def wrap(function, ctx, args, result):
    """Return the node of a result, or a node for each of several."""
    ctx.guards = guards(ctx)
    if not isinstance(result, tuple):
        return Value(result, args, function, ctx)
    ctx.shapes = [np.shape(one) for one in result]
    row = Value(np.concatenate([np.ravel(one) for one in result]), args, function, ctx)
    starts = np.cumsum([0, *(np.size(one) for one in result)])
    return tuple(Part.apply(row, start, shape) for start, shape in zip(starts, map(np.array, ctx.shapes)))


def incoming(node, g):
    """Return the gradients that backward receives: one for each result."""
    shapes = getattr(node.ctx, "shapes", None)
    if shapes is None:
        return [g]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(g, ends), shapes)]


def contributions(node, g):
    """Yield each parent that is a node, and what it gets when the gradient of the node is g."""
    for guard in node.ctx.guards if node.parents else ():
        guard.open()
    gs = node.op.backward(node.ctx, *incoming(node, g)) if node.parents else ()
    for parent, part in zip(node.parents, gs if isinstance(gs, tuple) else (gs,)):
        if isinstance(parent, Value) and part is not None:
            yield parent, unbroadcast(part, parent.value.shape)


lessons.keep(Value, guards, wrap, incoming, contributions)

# %% [markdown]
# ## 2. Apply
#
# Write the class `Function` with a classmethod `apply(cls, *args)`:
#
# - Make a `Context`; an argument needs a gradient if it is a `Value`.
# - Take the arrays with `value_of`. If the class has `setup_context`, call `forward(*arrays)` and then
#   `setup_context(ctx, arrays, result)`, with `arrays` as a tuple. Otherwise call `forward(ctx, *arrays)`.
# - Return `wrap(cls, ctx, args, result)`.


# %%
class Function:
    @classmethod
    def apply(cls, *args): ...


lessons.check("Function", Function)


# %%
class Part(Function):
    """One of several results, cut out of the row of all."""

    @staticmethod
    def forward(ctx, row, start, shape):
        shape = tuple(shape.astype(int))
        ctx.place = slice(int(start), int(start) + int(np.prod(shape)))
        ctx.size = row.size
        return row[ctx.place].reshape(shape)

    @staticmethod
    def backward(ctx, g):
        to_row = np.zeros(ctx.size)
        to_row[ctx.place] = np.ravel(g)
        return to_row, None, None


class Add(Function):
    """The sum."""

    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, g


class Mul(Function):
    """The product; an argument is saved only if the gradient of the other one needs it."""

    @staticmethod
    def forward(ctx, x, y):
        for_x, for_y = ctx.needs_input_grad
        ctx.save_for_backward(x if for_y else 0.0, y if for_x else 0.0)
        return x * y

    @staticmethod
    def backward(ctx, g):
        return mul_pull(g, *ctx.saved_tensors)


class Sum(Function):
    """The sum of all elements."""

    @staticmethod
    def forward(ctx, x):
        ctx.zeros = np.broadcast_to(0.0, x.shape)  # the shape is enough
        return x.sum()

    @staticmethod
    def backward(ctx, g):
        return sum_pull(g, ctx.zeros)


class Exp(Function):
    """The exponential function; its derivative is its result."""

    @staticmethod
    def forward(ctx, x):
        out = np.exp(x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


lessons.keep(Part, Add, Mul, Sum, Exp)

# %% [markdown]
# ## 3. Only what is needed
#
# In the first layer of a network, the data need no gradient, and it would be the most expensive one. Write `MatMul`. Its
# backward returns `None`, without computing anything, for an argument whose `ctx.needs_input_grad` is `False`. `y` may be a
# vector, as in step 3.


# %%
class MatMul(Function):
    @staticmethod
    def forward(ctx, x, y): ...

    @staticmethod
    def backward(ctx, g): ...


lessons.check("MatMul", MatMul)

# %% [markdown]
# ## 4. The separate form
#
# A forward without `ctx` can be called alone, which transforms such as vmap need. Write `Tanh` in this form: `forward(x)`,
# `setup_context(ctx, inputs, output)` and `backward(ctx, g)`. Save the output only: it is enough.


# %%
class Tanh(Function):
    @staticmethod
    def forward(x): ...

    @staticmethod
    def setup_context(ctx, inputs, output): ...

    @staticmethod
    def backward(ctx, g): ...


lessons.check("Tanh", Tanh)


# %%
def add(x, y):
    """Return x + y as a node."""
    return Add.apply(x, y)


def mul(x, y):
    """Return x * y as a node."""
    return Mul.apply(x, y)


def matmul(x, y):
    """Return x @ y as a node."""
    return MatMul.apply(x, y)


def total(x):
    """Return the sum of all elements as a node."""
    return Sum.apply(x)


def exp(x):
    """Return e to the power of x as a node."""
    return Exp.apply(x)


def tanh(x):
    """Return the hyperbolic tangent of x as a node."""
    return Tanh.apply(x)


lessons.keep(add, mul, matmul, total, exp, tanh)

# %%
x, w = Value([[1.0, -2.0], [0.5, 0.0]]), Value([0.3, 0.1])
y = (x @ w).tanh().sum()
backward(y)
draw(y, passes=("forward", "backward"))

# %% [markdown]
# ## 5. Several results
#
# Write `Polar`. Its forward returns a pair: the distance $r = \sqrt{x^2 + y^2}$ of a point from the origin, and its angle,
# `np.arctan2(y, x)`. Its backward receives a gradient for each. The derivatives of the angle are $-y/r^2$ for $x$ and $x/r^2$ for
# $y$.


# %%
class Polar(Function):
    @staticmethod
    def forward(ctx, x, y): ...

    @staticmethod
    def backward(ctx, g_distance, g_angle): ...


lessons.check("Polar", Polar)

# %% [markdown]
# ## Your lines and minigrad's
#
# `minigrad/core/function.py` has `apply`, which calls `eager` outside of transforms, and `minigrad/core/context.py` has `ctx`.

# %%
from lessons.build.beside import beside
from minigrad.core import context, function

Ctx = context.Ctx
beside(
    (Function, function.Function.eager, function.run_forward),
    (Context, Ctx.__init__, Ctx.save_for_backward, Ctx.saved_tensors),
)

# %% [markdown]
# The extra lines there are for:
#
# - `_check`, `services`: a wrong argument is reported with the Function's name and the user's line
# - `_dirty`, `_nondiff`, `_materialize`: `mark_dirty`, `mark_non_differentiable` and `set_materialize_grads` say what forward did
# - `unpack`: a saved tensor that changed in place is noticed, as in step 5
# - `tracked`, `enter`: under `no_grad`, and inside forward, nothing is recorded
# - `attach`: makes ctx the node of the results. Here ctx and node are one object
# - `frame.dual`, `observers`: forward mode, and the recorder that draws pictures
#
# ## Summary
#
# - The engine knows only `apply`, `forward` and `backward`. Operations are added outside it.
# - A context lives from forward to backward, and has what backward needs.
# - `needs_input_grad` saves work, and several results share one backward.
