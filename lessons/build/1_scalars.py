# %% [markdown]
# # Numbers with a memory
#
# *Needs no other lesson.*
#
# **What does an autograd engine have to remember?** In eight steps you write one, in a file `engine.py` beside this notebook. You
# answer each task here. A right answer is written into the file, and the next step goes on with it.
#
# After this step you can:
#
# - record a computation as a graph, by overloading Python's operators
# - give each operation its local derivatives
# - compute a derivative as a sum over paths

# %%
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## The chain rule
#
# Each operation depends on its inputs in a simple way. For $z = xy$, a small change of $x$ is multiplied by $y$: the **local
# derivative** is $\partial z/\partial x = y$. In a longer computation, the local derivatives along a path are multiplied, and the
# products of all paths are added:
#
# $$\frac{dz}{dx} = \sum_{\text{paths from } z \text{ to } x} \; \prod_{\text{edges}} \text{local derivative}$$
#
# So a number has to remember its parents, the numbers that it was computed from, and the local derivative for each.
#
# ## Operators
#
# Python calls `x.__add__(y)` for `x + y`, and `y.__radd__(x)` if `x` is a plain number. This class passes them on to functions that
# you write: `add`, `mul` and `tanh` in this step, the others in step 3.


# %%
class Operators:
    """Python's operators, as calls of the engine's functions."""

    __array_ufunc__ = None  # NumPy leaves array + node to __radd__

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __mul__(self, other):
        return mul(self, other)

    def __rmul__(self, other):
        return mul(other, self)

    def __neg__(self):
        return mul(self, -1.0)

    def __sub__(self, other):
        return add(self, -other)

    def __rsub__(self, other):
        return add(other, -self)

    def __matmul__(self, other):
        return matmul(self, other)

    def exp(self):
        return exp(self)

    def tanh(self):
        return tanh(self)

    def sum(self):
        return total(self)


lessons.keep(Operators)

# %% [markdown]
# ## 1. A node
#
# Write the class. A node keeps its `value`, its `parents` as a tuple, `op` and `local_grads` as they are given. Its `grad` is
# `None` until a backward pass. Its `number` is `next(created)`, from a counter in `engine.py`: a later node has a larger number. Step
# 2 needs that.


# %%
class Value(Operators):
    def __init__(self, value, parents=(), op=None, local_grads=None): ...


lessons.check("Value", Value)

# %% [markdown]
# A parent may also be a plain number, as in `x + 1`. `value_of` returns the number in both cases.


# %%
def value_of(x):
    """Return the value of a node, and a plain number as it is."""
    return x.value if isinstance(x, Value) else x


lessons.keep(value_of)

# %% [markdown]
# ## 2. A sum
#
# Write `add(x, y)`. It returns a `Value` with the sum, the parents `(x, y)`, the op `"+"` and the two local derivatives.


# %%
def add(x, y): ...


lessons.check("add", add)

# %% [markdown]
# ## 3. A product
#
# Write `mul(x, y)`, with the op `"*"`.


# %%
def mul(x, y): ...


lessons.check("mul", mul)

# %%
a = Value(3.0)
b = a * a + 2 * a
draw(b)

# %% [markdown]
# That is your graph. Two edges lead from `a` to the product: one for each use.
#
# ## 4. A curve
#
# `exp` is given: its local derivative is its result. Write `tanh(x)`, with the op `"tanh"`. Its derivative is
# $1 - \tanh^2 x$. Use `np.tanh`.


# %%
def exp(x):
    """Return e to the power of x as a node."""
    out = np.exp(value_of(x))
    return Value(out, (x,), "exp", (out,))


lessons.keep(exp)


# %%
def tanh(x): ...


lessons.check("tanh", tanh)

# %% [markdown]
# ## 5. All paths
#
# Write `slope(out, x)`, the derivative of `out` with respect to `x`, as the formula says: follow every path, recursively. The
# derivative of a node with respect to itself is 1. A plain number, or a leaf that is not `x`, contributes 0.


# %%
def slope(out, x): ...


lessons.check("slope", slope)


# %%
def paths_of(doublings):
    x = Value(1.0)
    out = x
    for _ in range(doublings):
        out = out + out
    return slope(out, x)


lessons.predict(
    "out = x, and then out = out + out ten times. How many paths does slope follow?",
    {
        10: "That is the number of nodes above x. Each has two edges.",
        20: "That is the number of edges. A path takes one edge at each node, and each choice is another path.",
        1024: "Each doubling doubles the number of paths. Twenty doublings need a million.",
    },
    lambda: int(paths_of(10)),
)

# %% [markdown]
# Your derivatives are right, but their cost grows with the number of paths. Step 2 makes it grow with the number of edges.
#
# ## Your lines and minigrad's
#
# minigrad keeps the graph apart from the numbers. A node has edges, and a tensor leads to its node, its `grad_fn`.

# %%
from lessons.build.beside import beside
from minigrad.core import graph, tensor

beside((Value, graph.FullNode, tensor.Tensor.grad_fn))

# %% [markdown]
# The extra lines there are for:
#
# - `_edges`: instead of parents. An edge also says which result of a node it means, since a node may have several
# - `_saved`: what backward needs, and no other values, so memory is freed early. `_seq` is your `number`
# - `_meta`: the shape and dtype of each result, so gradients get the same
# - `_hooks`, `_trace`, `events`: users and pictures may watch a node
# - `history`: a view finds its node anew after a write, as in step 5
#
# ## Summary
#
# - A node keeps its value, its parents and a local derivative for each parent.
# - Operators only call functions, and functions make nodes.
# - A derivative is a sum over paths. Following each path is right and slow.
