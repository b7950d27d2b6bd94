# %% [markdown]
# # Numbers that remember
#
# *Needs no other lesson.*
#
# **How can a number know its derivative?** It remembers its history. Each result computed from a tensor with
# `requires_grad=True` remembers its operation and its inputs, and `backward` walks back through that memory.
#
# After this lesson you can:
#
# - follow the memory from a result to its leaves,
# - compute a gradient by hand with the chain rule,
# - explain why `backward` visits each node once, and in which order.

# %%
import lessons
import minigrad as torch
from viz import draw, live

a = torch.tensor(3.0, requires_grad=True)
b = a * a
picture = live(b, passes=("forward", "backward"))
lessons.drag("leaf_dragged", picture, lambda: picture.values["a"])

# %% [markdown]
# The picture shows the last step: press Play to see all steps, or ← and → for single ones.
#
# Two edges lead from `a` to the product, one for each use. In the backward pass, each edge multiplies and the leaf adds.
#
# **Try it.** Drag `a` in the picture, or click it and type, until its gradient is -5. The picture says when you are there.
# What is the value of `a` then?

# %%
leaf_dragged = ...

lessons.check("leaf_dragged", leaf_dragged)

# %% [markdown]
# ## One step
#
# `b` is computed from `a`, so it has a `grad_fn`: the node of the operation that produced it.

# %%
print(b)
assert b.grad_fn.name() == "MulBackward0"

# %% [markdown]
# The node knows where its inputs came from. For each input it has a pair: the node that produced the input, and which of
# that node's outputs it is, counted from 0. No operation produced `a`. It is a leaf, and the path ends at the node that
# accumulates its gradient.

# %%
for node, output in b.grad_fn.next_functions:
    print(node.name(), output)
assert [node.name() for node, _ in b.grad_fn.next_functions] == ["AccumulateGrad", "AccumulateGrad"]

# %% [markdown]
# ## The chain rule
#
# Let $L$ depend on $a$ through $p$ and $q$. If $a$ grows a little, $p$ grows $dp/da$ times as much, and $L$ grows $dL/dp$
# times as much as $p$. Along a path the derivatives multiply, and different paths add up. That is the chain rule:
#
# $$\frac{dL}{da} = \frac{dL}{dp}\,\frac{dp}{da} + \frac{dL}{dq}\,\frac{dq}{da}$$
#
# `backward` computes it from left to right. It starts with $dL/dL = 1$ and multiplies by each edge's local derivative.

# %%
a = torch.tensor(2.0, requires_grad=True)
p, q = 3 * a, a + 1
L = p * q
draw(L, passes=("forward", "backward"))

# %% [markdown]
# Here $dL/dp = q = 3$ and $dL/dq = p = 6$, with $dp/da = 3$ and $dq/da = 1$: the leaf adds up $3 \cdot 3 + 6 \cdot 1 = 15$.

# %%
L.backward()
print(a.grad)
assert a.grad.item() == 15.0

# %% [markdown]
# What does a second call do?


# %%
def called_twice():
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x
    y.backward()
    try:
        y.backward()
    except RuntimeError:
        return "an error"
    return f"x.grad is {x.grad.item()}"


lessons.predict(
    "x is 3.0 and y = x * x. What does a second y.backward() give?",
    {
        "x.grad is 12.0": "Gradients do add up in .grad, but this graph no longer has its saved factors.",
        "x.grad is 6.0": "A second call would add to .grad, not replace it. But the second call cannot even begin.",
        "an error": "The first call frees the saved tensors, here the factors. Nothing is left to multiply by.",
    },
    called_twice,
)

# %%
try:
    L.backward()
except RuntimeError as e:
    print(e)
else:
    raise AssertionError("a freed graph was used again")

# %% [markdown]
# ## Why the order matters
#
# `c` depends on `a` along four paths, two through each use of `b`. If `backward` went on from `b` as soon as one gradient
# arrived, it would pass on half a sum, and visit everything below `b` twice.

# %%
a = torch.tensor(1.0, requires_grad=True)
b = a + a
c = b + b
draw(c, passes=("forward", "backward"))

# %% [markdown]
# This recursion does it: it follows every path separately. The result is right, but watch the number of visits as the
# doubling is repeated.


# %%
def recursive(node, upstream):
    """Follow every path; return the gradient of the leaf and the number of visits to nodes."""
    if node.name() == "AccumulateGrad":
        return upstream, 1
    arrived, visits = 0.0, 1
    for following, _ in node.next_functions:
        more, below = recursive(following, upstream)  # + passes its gradient on unchanged
        arrived, visits = arrived + more, visits + below
    return arrived, visits


def visits_after(doublings):
    last = a
    for _ in range(doublings):
        last = last + last
    return recursive(last.grad_fn, 1.0)[1]


lessons.predict(
    "How many visits does the recursion need for 12 doublings?",
    {
        13: "That is the number of nodes. The recursion visits a node once for each path.",
        25: "That is the start plus 24 edges. But the recursion follows an edge again for each path that leads to it.",
        4096: "That is the number of visits to the leaf, one for each path. But the nodes above it count as well.",
        8191: "Each doubling doubles the number of paths: 1 + 2 + 4 + ... + 4096 visits.",
    },
    lambda: visits_after(12),
)

# %%
for doublings in (2, 4, 8, 12):
    print(f"{doublings} doublings, {visits_after(doublings)} visits")
assert recursive(c.grad_fn, 1.0)[0] == 4.0
assert visits_after(12) == 2**13 - 1

# %% [markdown]
# minigrad visits each node once, in *reverse topological order*: a node comes after all nodes that use its result. Then all
# contributions have arrived, and it passes on their sum. The order is easy to find. Nodes are numbered as the program
# creates them, and an input is created before the result. So the node with the largest number comes first.

# %%
c.backward()
print(a.grad)
assert a.grad.item() == 4.0

# %% [markdown]
# Hooks show the order. A node calls its hooks when `backward` visits it, with the gradient it received; the hooks here
# record it.


# %%
def received_by_b():
    b, received = a + a, []
    b.grad_fn.register_prehook(lambda gradients: received.append(gradients[0].item()))
    torch.autograd.grad(b + b, a)
    return received


lessons.predict(
    "Which gradients does the node of b receive, one for each visit?",
    {
        "[1.0, 1.0]": "That is the recursion: a visit for each contribution.",
        "[1.0]": "One visit is right. But b has two uses, and each contributes 1.",
        "[2.0]": "It waits for both contributions and is visited once, with their sum.",
        "[4.0]": "4 is the gradient of a: a contributes twice to b, and b twice to c.",
    },
    received_by_b,
)

# %%
a = torch.tensor(1.0, requires_grad=True)
b = a + a
c = b + b
visits = []
c.grad_fn.register_prehook(lambda gradients: visits.append(("c", gradients[0].item())))
b.grad_fn.register_prehook(lambda gradients: visits.append(("b", gradients[0].item())))
c.backward()
print(visits)
assert visits == [("c", 1.0), ("b", 2.0)]

# %% [markdown]
# `b` was visited once, after both contributions had arrived: 1 + 1 = 2.
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
# Write a function that counts the paths from a node to leaves that require grad. In `next_functions`, `None` stands for
# an input that does not require grad.


# %%
def count_paths(node): ...


lessons.check("count_paths", count_paths)

# %% [markdown]
# ### 3. The order of the nodes
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
# ### 4. By hand (at home)
#
# Let `b = 2 * a` and `c = b * b`. Write a function that returns the derivative of `c` with respect to `a` as a backward
# pass computes it: begin with 1, and go through both uses of `b`. Do not call `backward`.


# %%
def gradient_by_hand(a): ...


lessons.check("gradient_by_hand", gradient_by_hand)

# %% [markdown]
# ## Summary
#
# - A result has a `grad_fn`, the node of its operation; `next_functions` leads to the nodes of its inputs.
# - The chain rule: derivatives multiply along a path, and paths add up. `backward` starts with 1 at the result.
# - Each node is visited once, after all nodes that use its result: in reverse topological order.
# - A leaf keeps the sum in `.grad`; the saved tensors are freed.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does <code>a * a</code> have two edges to the same leaf?</summary>
#
# The operation uses `a` twice, and each use has its own local derivative. The leaf adds both contributions.
#
# </details>
#
# <details markdown="1">
# <summary>Why does the time of <code>backward</code> not depend on the number of paths?</summary>
#
# It adds contributions where paths meet and continues once. So its work grows with the number of edges, not with the
# number of paths.
#
# </details>
#
# <details markdown="1">
# <summary>Why can the node with the largest number go first?</summary>
#
# Only operations that were created later use its result, and those have been visited. So its gradient is complete.
#
# </details>
