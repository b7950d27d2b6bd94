# %% [markdown]
# # Numbers that remember
#
# *20 minutes. Needs no other.*
#
# A tensor with `requires_grad=True` remembers what is done with it, and from that memory derivatives are worked out. You
# will follow the memory by hand, walk it backwards, and see why the order of that walk matters.

# %%
import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# ## One step
#
# `b` is made of `a`, so it has a `grad_fn`: the node of the operation that made it.

# %%
a = torch.tensor(3.0, requires_grad=True)
b = a * a
print(b)
assert b.grad_fn.name() == "MulBackward0"

# %% [markdown]
# The node knows where its inputs came from: for each of them there is a pair of the node that made it, and which of that
# node's outputs it was, counted from 0. `a` is a leaf, made by no operation: the end of the path is where its gradient is
# accumulated.

# %%
for node, output in b.grad_fn.next_functions:
    print(node.name(), output)
assert [node.name() for node, _ in b.grad_fn.next_functions] == ["AccumulateGrad", "AccumulateGrad"]

# %% [markdown]
# Here is that memory as a picture. A tensor does not know the name of its variable, so `a` is called `v0` there and `b`
# `v1`. Two lines lead from `a` to the product, one for each use.

# %%
draw(b)

# %% [markdown]
# ## Walking back
#
# `backward` starts with the derivative of `b` by itself, which is 1, and multiplies it by each edge's local derivative.
# Both edges of `a * a` lead to `a`; each gives 3, and what meets at a leaf is added.

# %%
b.backward()
print(a.grad)
assert a.grad.item() == 6.0

# %% [markdown]
# In the picture of the backward pass, each edge says what was multiplied, and the leaf says what was added.

# %%
draw(a * a, passes="backward")

# %% [markdown]
# The memory is gone now: `backward` frees what the nodes kept, and a second walk says so.

# %%
try:
    b.backward()
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("a freed graph was walked again")

# %% [markdown]
# ## Why the order matters
#
# `c` depends on `a` along four paths, two through each use of `b`. A walk that went on from `b` as soon as one gradient
# arrived would pass a half-finished sum further down, and walk everything below it twice.

# %%
a = torch.tensor(1.0, requires_grad=True)
b = a + a
c = b + b
draw(c, passes=("forward", "backward"))

# %% [markdown]
# Let us write such a walk: it goes on from a node as soon as something arrives. It gives the right number, but see how
# often it visits a node when the doubling is repeated.


# %%
def hasty_walk(node, upstream):
    """Follow every path on its own; returns what arrives at the leaf, and how many nodes were visited."""
    if node.name() == "AccumulateGrad":
        return upstream, 1
    arrived, visits = 0.0, 1
    for following, _ in node.next_functions:
        more, below = hasty_walk(following, upstream)  # + passes on what it gets
        arrived, visits = arrived + more, visits + below
    return arrived, visits


for doublings in (2, 4, 8, 12):
    last = a
    for _ in range(doublings):
        last = last + last
    print(f"{doublings} doublings, {hasty_walk(last.grad_fn, 1.0)[1]} visits")
assert hasty_walk(c.grad_fn, 1.0)[0] == 4.0
assert hasty_walk(last.grad_fn, 1.0)[1] == 2**13 - 1

# %% [markdown]
# minigrad visits each node once. It always continues at the youngest node that something has arrived at: inputs are older
# than outputs, so nothing that is still to come can send that node anything more. Such an order is called topological.

# %%
c.backward()
print(a.grad)
assert a.grad.item() == 4.0

# %% [markdown]
# Hooks show the order: functions that a node calls when its turn comes, with what it got. Each node here writes that down.

# %%
a = torch.tensor(1.0, requires_grad=True)
b = a + a
c = b + b
turns = []
c.grad_fn.register_prehook(lambda got: turns.append(("c", got[0].item())))
b.grad_fn.register_prehook(lambda got: turns.append(("b", got[0].item())))
c.backward()
print(turns)
assert turns == [("c", 1.0), ("b", 2.0)]

# %% [markdown]
# `b` had its turn once, after both contributions had met: 1 + 1 = 2.
#
# ## Exercises
#
# ### 1. Three uses
#
# What is `a.grad` after `(a * a * a).backward()` with `a = 2.0`? Work it out by hand, edge by edge.

# %%
three_uses = ...

lessons.check("three_uses", three_uses)

# %% [markdown]
# ### 2. Count the paths
#
# Write a function that counts the paths from a node to leaves that want a gradient. In `next_functions`, `None` stands for
# an input that wants none.


# %%
def count_paths(node): ...


lessons.check("count_paths", count_paths)

# %% [markdown]
# ### 3. The order of the walk
#
# In which order does `y.backward()` visit the nodes of the three operations? Give the list of their names.

# %%
x = torch.tensor(0.5, requires_grad=True)
m = x * x
e = m.exp()
y = m + e
walking_order = ...

lessons.check("walking_order", walking_order)

# %% [markdown]
# ### 4. By hand
#
# Let `b = 2 * a` and `c = b * b`. Write the function that gives the derivative of `c` by `a`, as a backward pass would find
# it: begin with 1, and go through both uses of `b`. Do not call `backward`.


# %%
def gradient_by_hand(a): ...


lessons.check("gradient_by_hand", gradient_by_hand)
