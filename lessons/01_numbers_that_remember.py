# %% [markdown]
# # Numbers that remember
#
# *20 minutes. Needs no other.*
#
# A tensor with `requires_grad=True` remembers the operations applied to it, and autograd computes derivatives from that
# memory. You will follow the memory by hand, walk it backwards, and see why the order of that walk matters.

# %%
import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# ## One step
#
# `b` is computed from `a`, so it has a `grad_fn`: the node of the operation that produced it.

# %%
a = torch.tensor(3.0, requires_grad=True)
b = a * a
print(b)
assert b.grad_fn.name() == "MulBackward0"

# %% [markdown]
# The node knows where its inputs came from. For each input it has a pair: the node that produced the input, and the index
# of the output there, counted from 0. No operation produced `a`. It is a leaf, and the path ends at the node that
# accumulates its gradient.

# %%
for node, output in b.grad_fn.next_functions:
    print(node.name(), output)
assert [node.name() for node, _ in b.grad_fn.next_functions] == ["AccumulateGrad", "AccumulateGrad"]

# %% [markdown]
# Here is that memory as a picture. A tensor does not know the name of its variable, so the picture calls `a` `v0` and
# `b` `v1`. Two lines lead from `a` to the product, one for each use.

# %%
draw(b)

# %% [markdown]
# ## Walking back
#
# `backward` starts with the derivative of `b` with respect to itself, which is 1, and multiplies it by each edge's
# local derivative. Both edges of `a * a` lead to `a`. Each contributes 3, and the leaf adds the contributions.

# %%
b.backward()
print(a.grad)
assert a.grad.item() == 6.0

# %% [markdown]
# In the picture of the backward pass, each edge shows its multiplication and the leaf shows its sum.

# %%
draw(a * a, passes="backward")

# %% [markdown]
# The memory is gone now: `backward` frees the saved tensors, and a second walk raises an error.

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
# Here is such a walk: it continues from a node as soon as a gradient arrives. The result is right, but watch the number
# of visits as the doubling is repeated.


# %%
def hasty_walk(node, upstream):
    """Follow every path separately; return the gradient of the leaf and the number of nodes visited."""
    if node.name() == "AccumulateGrad":
        return upstream, 1
    arrived, visits = 0.0, 1
    for following, _ in node.next_functions:
        more, below = hasty_walk(following, upstream)  # + passes its gradient on unchanged
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
# minigrad visits each node once. It always continues with the youngest node that has received a gradient. Inputs are older than
# outputs, so none of the remaining nodes can send that node anything more. Such an order is called topological.

# %%
c.backward()
print(a.grad)
assert a.grad.item() == 4.0

# %% [markdown]
# Hooks show the order. A node calls its hooks when its turn comes, with the gradient it received; the hooks here record it.

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
# Compute `a.grad` after `(a * a * a).backward()` with `a = 2.0`. Work by hand, edge by edge.

# %%
three_uses = ...

lessons.check("three_uses", three_uses)

# %% [markdown]
# ### 2. Count the paths
#
# Write a function that counts the paths from a node to leaves that require grad. In `next_functions`, `None` stands for an
# input that does not.


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
# Let `b = 2 * a` and `c = b * b`. Write a function that returns the derivative of `c` with respect to `a` as a backward
# pass computes it: begin with 1, and go through both uses of `b`. Do not call `backward`.


# %%
def gradient_by_hand(a): ...


lessons.check("gradient_by_hand", gradient_by_hand)
