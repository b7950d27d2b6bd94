# %% [markdown]
# # A backward pass
#
# *Needs build 1.*
#
# **How can a million nodes be differentiated in seconds?** Each node waits until all contributions to its gradient have arrived.
# Then it passes the sum on, once. A heap finds the node that is ready.
#
# After this step you can:
#
# - explain why a recursive walk is slow, and fails on deep graphs
# - use the order of creation as a topological order
# - write a backward pass whose work grows with the number of edges

# %%
from engine import *

import lessons
from viz import draw

# %% [markdown]
# ## Two reasons against recursion
#
# `slope` follows each path. Twenty doublings have a million. And Python allows about 1000 calls inside each other, so a long
# chain without any branch fails as well.


# %%
def chain(length):
    out = x = Value(1.0)
    for _ in range(length):
        out = out + 1.0
    return out, x


def deep():
    try:
        return str(slope(*chain(100_000)))
    except RecursionError:
        return "an error"


lessons.predict(
    "out is x + 1 + 1 + ..., with 100,000 additions. What does slope(out, x) give?",
    {
        "1.0": "That is the derivative. But slope calls itself once for each node of the chain.",
        "100000.0": "The local derivatives are multiplied along a path, and all of them are 1.",
        "an error": "Python's stack ends long before the chain. A loop with a list has no such limit.",
    },
    deep,
)

# %% [markdown]
# ## 1. All nodes, once
#
# Write `reachable(out)`: a list of all nodes behind `out` and `out` itself, each once, in any order. Use a loop with a list of
# waiting nodes. A parent may be a plain number: skip it.


# %%
def reachable(out): ...


lessons.check("reachable", reachable)

# %% [markdown]
# ## 2. Add, do not assign
#
# Write `accumulate(node, g)`. It adds the gradient `g` to `node.grad`, which is `None` at first. Make a new number: later
# gradients will be arrays that several nodes share, so `+=` would change another node's gradient.


# %%
def accumulate(node, g): ...


lessons.check("accumulate", accumulate)

# %% [markdown]
# ## Which node is ready?
#
# A node may pass its gradient on when all contributions have arrived. They come from nodes that were computed from it, and those
# were created later. So the **youngest** node that has received anything is ready. The numbers of creation are a
# topological order, for free.
#
# `contributions` gives the parents of a node with the gradient that each gets from it.


# %%
def contributions(node, g):
    """Yield each parent that is a node, and what it gets when the gradient of the node is g."""
    for parent, d in zip(node.parents, node.local_grads or ()):
        if isinstance(parent, Value):
            yield parent, g * d


lessons.keep(contributions)

# %% [markdown]
# ## 3. The walk
#
# Write `backward(out, g=1.0)`:
#
# - A dictionary has the gradient that has arrived for each waiting node, by number: at first `g` for `out`.
# - A heap has the waiting nodes. `heapq` gives the smallest first, so push `(-node.number, node)`.
# - Take the youngest node and its gradient. Call `accumulate`. Add what `contributions` yields to the dictionary.
# - Push a parent when its first contribution arrives, and only then.


# %%
def backward(out, g=1.0): ...


lessons.check("backward", backward)

# %%
a = Value(0.5)
m = a * a
y = m + m.tanh()
backward(y)
draw(y, passes=("forward", "backward"))

# %% [markdown]
# `m` has two uses. It waits for both contributions, and then passes their sum on.


# %%
def doubled(times):
    out = Value(1.0)
    for _ in range(times):
        out = out + out
    return out


lessons.predict(
    "How many nodes does your backward take from the heap for 20 doublings of x?",
    {
        20: "Nearly. The leaf x is a node as well.",
        21: "Each node once: 20 sums and the leaf. slope would follow a million paths.",
        1048576: "That is the number of paths. Contributions that meet are added, and go on as one.",
    },
    lambda: len(reachable(doubled(20))),
)

# %%
out, x = chain(1_000_000)
backward(out)
print("a million nodes:", x.grad)
assert x.grad == 1.0

# %% [markdown]
# ## 4. Forget
#
# A second `backward` adds to the gradients. Write `forget(out)`, which sets the gradient of all nodes behind `out`, and of `out`
# itself, to `None`.


# %%
def forget(out): ...


lessons.check("forget", forget)

# %% [markdown]
# ## Your lines and minigrad's
#
# The same walk is in `minigrad/core/engine.py`: a heap, and the youngest node first. `minigrad/core/backward.py` runs one node, and
# adds to the leaves.

# %%
from lessons.build.beside import beside
from minigrad.core import backward as theirs
from minigrad.core import engine as walk

beside((backward, walk.backward_loop), (accumulate, theirs.add_grad))

# %% [markdown]
# The extra lines there are for:
#
# - `type(node) is Leaf`: only leaves get a `.grad`. The gradient of an inner node is dropped unless `retain_grad` was called
# - `allowed`, `ends_here`: `grad(outputs, inputs)` visits only the nodes between them
# - `step`: arrays flow, or tensors if backward is recorded for second derivatives; it also frees what a node saved
# - `OutputEdge`, `give`: a node with several results collects a gradient for each
# - `leaves`, `backward_on_arrays`: less work for the common cases
# - `add_grad`: adds in place where the memory belongs to the leaf alone
#
# ## Summary
#
# - Recursion visits paths; a heap visits nodes.
# - The youngest waiting node is complete, because gradients flow only from younger nodes to older ones.
# - Contributions are added, within a walk and between walks.
