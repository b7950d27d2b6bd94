# %% [markdown]
# # In place
#
# *Needs build 4.*
#
# **What happens to a graph when a program writes into an array?** The numbers change, but the nodes that used them are already
# there. You let tensors share memory, notice writes, and give each tensor the right history.
#
# After this step you can:
#
# - say why a write can make a gradient wrong, and how a version number finds out
# - differentiate a part of an array, and an array with a part replaced
# - write to a tensor and to its views, and keep all histories correct

# %%
import weakref

import numpy as np
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## A silent mistake
#
# The node of a product saves its arguments for backward. It saves the arrays themselves, not copies.

# %%
numbers = np.array([1.0, 2.0, 3.0])
x = Value(numbers)
y = total(mul(x, x))
numbers[0] = 10.0
backward(y)

lessons.predict(
    "The gradient of the sum of x * x is 2 * x. At forward time x was [1, 2, 3], and then numbers[0] = 10. Which number is x.grad[0]?",
    {
        2: "That would be right for the forward pass that ran. But backward reads the array as it is now.",
        20: "Backward reads the array that it saved, and there is a 10 in it now. No error, a wrong gradient.",
        11: "Backward does not mix the old number and the new one.",
    },
    lambda: int(x.grad[0]),
)

# %% [markdown]
# ## 1. A promise
#
# The memory of an array counts the writes to it. A `Saved` notes the count at the time of saving. Write `Saved(memory)`. Its
# method `open()` returns `memory.array`, or raises a `RuntimeError` with both versions if there was a write since.


# %%
class Memory:
    """An array that several tensors may share, and the number of writes to it."""

    known = weakref.WeakValueDictionary()  # by the id of the array

    def __init__(self, array):
        self.array, self.version = array, 0


def memory_of(array):
    """Return the one memory of an array."""
    return Memory.known.setdefault(id(array), Memory(array))


lessons.keep(Memory, memory_of)


# %%
class Saved:
    def __init__(self, memory): ...

    def open(self): ...


lessons.check("Saved", Saved)

# %% [markdown]
# ## 2. Every Function saves so
#
# After forward, `wrap` makes the node and keeps `guards(ctx)`, which is empty until now. Before backward, `contributions` opens
# each guard. Write `guards(ctx)`: return a list with a `Saved` for the memory of each array in `ctx.saved_tensors`. Then a write
# to what any Function has saved is an error instead of a wrong gradient.


# %%
def guards(ctx): ...


lessons.check("guards", guards)

# %% [markdown]
# ## 3. A part
#
# A view such as `x[0]` shares the memory of `x`. To a graph it is an operation. Write `take(base, index)`: define a Function inside
# it, whose forward returns a copy of `x[index]`, and apply it to the node `base`. Which gradient do the numbers get
# that are not in the part? No index names a number twice.


# %%
def take(base, index): ...


lessons.check("take", take)

# %% [markdown]
# ## 4. A part replaced
#
# A write to a part is an operation, too: it makes the whole anew, with `part` at `index`. The old numbers there no longer matter.
# Write `put(base, part, index)` for two nodes.


# %%
def put(base, part, index): ...


lessons.check("put", put)

# %%
base, part = Value(np.array([1.0, 2.0, 3.0])), Value(np.array([20.0, 30.0]))
loss = total(put(base, part, slice(1, 3)) * np.array([1.0, 10.0, 100.0]))
backward(loss)
draw(loss, passes=("forward", "backward"))

# %% [markdown]
# ## A tensor is not a node
#
# A node never changes: other nodes refer to it. A tensor is a name that stands for one node now, and for another after a write.
# So it has `memory` and `node`. A view also has its `base` and the `index` in it.


# %%
class Tensor:
    """A place in a memory, and the node that stands for its numbers now."""

    def __init__(self, memory, node, base=None, index=...):
        self.memory, self.node, self.base, self.index = memory, node, base, index
        self.seen = memory.version


def tensor(node):
    """Return a tensor for a node."""
    return Tensor(memory_of(node.value), node)


def view(x, index):
    """Return a view of a tensor that is no view itself."""
    return Tensor(x.memory, take(x.node, index), x, index)


lessons.keep(Tensor, tensor, view)

# %% [markdown]
# ## 5. A write
#
# Write `write(x, new)`: `new` is a node that was computed from the tensor's numbers. Refuse a leaf with a `RuntimeError` before
# anything changes: a base whose node has no parents. Give the base's node a copy of its value, so that it shows the numbers of its
# time. Copy the value of `new` into the memory at `x.index`, and count the write. Then the base needs a new node: `new` itself, or,
# if `x` is a view, the old node of the base with `new` put in.


# %%
def write(x, new): ...


lessons.check("write", write)

# %% [markdown]
# The derivative of `exp` is its result, which it saves. What if a program writes into it?

# %%
leaf = Value(np.array([1.0, 2.0]))
x = tensor(exp(leaf))
write(x, mul(x.node, 10.0))
try:
    backward(total(x.node))
except RuntimeError as e:
    print("RuntimeError:", e)
    draw(x.node)

# %% [markdown]
# ## 6. All views follow
#
# After a write, the nodes of other views are out of date. They need not know at once: it is enough to look when one is used. Write
# `history(x)`: return the tensor's node. If `x` is a view and the memory's version is not the one that it has `seen`, take its part
# from the base's node first, and note the version.


# %%
def history(x): ...


lessons.check("history", history)

# %%
leaf = Value(np.array([1.0, 2.0, 3.0]))
x = tensor(mul(leaf, 2.0))
first, rest = view(x, slice(0, 1)), view(x, slice(1, 3))
write(rest, mul(history(rest), 5.0))
write(x, mul(history(x), history(x)))
loss = total(history(rest))
backward(loss)
print(x.memory.array, leaf.grad)
assert leaf.grad.tolist() == [0.0, 400.0, 600.0], "(10 * leaf)**2 has the derivative 200 * leaf"
draw(loss)

# %% [markdown]
# ## Your lines and minigrad's
#
# Two files of minigrad do this: `saved.py` has the versions, and `inplace.py` the writes. A view's history is in `graph.py`.

# %%
from lessons.build.beside import beside
from minigrad.core import graph, inplace, saved

beside(
    (Saved, saved.Saved, saved.unpack),
    (write, inplace.write, inplace.check_writable, inplace.rebase),
    (history, graph.history, graph.derive),
)

# %% [markdown]
# The extra lines there are for:
#
# - `rebase`, `derive`: a view may be a view of a view. Each parent has its part replaced, up to the base, and each child follows
# - `layer`, `lower`: under a transform, each layer renews its histories, and the array is written once, at the bottom
# - `copy`: keeps the old numbers if backward of the write needs them
# - `index`, `with_edge`: an operation saves its result without a circle of references
# - `services.problem`: the error names the operation that saved, the one that wrote, and both lines
#
# ## Summary
#
# - A graph stays correct if nodes never change. A write gives the tensor another node.
# - A version number notices what a saved array has lost.
# - A write to a part is "the whole with this part replaced"; views take their part from it when they are used.
