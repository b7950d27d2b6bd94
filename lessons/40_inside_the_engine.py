# %% [markdown]
# # Inside the engine
#
# *Needs lesson 1.*
#
# **What does `loss.backward()` do, line by line?** It walks over the graph from the loss to the leaves and calls each node
# once. You will call the nodes yourself, see why some must wait, and write the walk.
#
# After this lesson you can:
#
# - follow the edges of a graph with `grad_fn` and `next_functions`
# - call a node like a function
# - explain why a node waits for all of its gradients
# - write a working `backward`, and find its parts in PyTorch's engine and in minigrad's

# %%
from collections import Counter

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# Here is the backward pass of a small program. Each card shows at which step of the backward pass its node ran. Look at `mul`:
# it receives two gradients, and runs last.


# %%
def f(x, w):
    h = x * w
    return (h + h.sin()).sum()


x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, -1.0], requires_grad=True)
record = torch.record(f, x, w, passes=("forward", "backward")).to_dict()
steps = [op["of"] for op in record["ops"] if op["phase"] == "backward"]
for step, of in enumerate(steps, 1):
    record["ops"][of]["note"] = f"step {step}"
draw(record, passes="backward", show=("values", "grads"))

# %% [markdown]
# ## Edges
#
# The engine does not see the tensors of your program. It starts from `loss.grad_fn`, a node. Each node has `next_functions`:
# for each input, the node that computed it, and the number of that node's output. A leaf has a node, too: `AccumulateGrad`.

# %%
loss = f(x, w)
add = loss.grad_fn.next_functions[0][0]
mul = add.next_functions[0][0]
for node in (loss.grad_fn, add, mul):
    print(node.name(), "->", [(after.name(), output) for after, output in node.next_functions])
assert add.next_functions[1][0].next_functions[0][0] is mul, "both paths lead to the same node"

# %% [markdown]
# ## A node is a function
#
# Call a node with the gradient of its output. It returns the gradient of each input, in the order of `next_functions`, without
# a tuple if there is only one. `mul` multiplies by the other factor, as in the picture. `AccumulateGrad` returns nothing: it
# adds the gradient to `.grad` of its tensor, which is its attribute `variable`.

# %%
gradient = torch.tensor([10.0, 20.0])
with torch.no_grad():  # backward records nothing either
    to_x, to_w = mul(gradient)
print(to_x, to_w)
assert to_x.tolist() == (gradient * w).tolist() and to_w.tolist() == (gradient * x).tolist()

leaf = mul.next_functions[0][0]
print(leaf.name(), leaf(gradient), x.grad)
assert leaf.variable is x and x.grad.tolist() == gradient.tolist()
x.grad = None

# %% [markdown]
# ## The first idea: recursion
#
# Call the node, and do the same for the node behind each edge. That is the chain rule, and the gradients are right.


# %%
def recursive(node, gradient):
    """Call a node and, once for each edge, all nodes behind it; return the number of calls."""
    results = node(gradient)
    results = results if isinstance(results, tuple) else (results,)
    pairs = zip(node.next_functions, results)
    return 1 + sum(recursive(after, g) for (after, _), g in pairs if after is not None)


with torch.no_grad():
    recursive(loss.grad_fn, torch.ones_like(loss))
by_recursion, x.grad = x.grad, None
f(x, w).backward()
print(by_recursion, x.grad)
assert torch.allclose(by_recursion, x.grad)

# %% [markdown]
# But it calls `mul` twice, once for each arrow. Now take a program that doubles a number ten times with an addition.


# %%
def doubled(x, times):
    for _ in range(times):
        x = x + x
    return x


def calls_of_recursion(times):
    """Return the number of calls of nodes that the recursion makes for doubled(x, times)."""
    one = torch.tensor(1.0, requires_grad=True)
    with torch.no_grad():
        return recursive(doubled_graph(one, times), torch.tensor(1.0))


def doubled_graph(one, times):
    with torch.enable_grad():
        return doubled(one, times).grad_fn


lessons.predict(
    "How many times does the recursion call a node for doubled(x, 10), the leaf's node included?",
    {
        10: "That is the number of additions. But the recursion calls a node once for every path that leads to it.",
        11: "The graph has 11 nodes, and the engine calls each once. But more than one path leads to most of them.",
        21: "That is the root and 20 edges. But the recursion follows an edge each time it calls the node where it begins.",
        2047: "Every addition doubles the number of paths: 1 + 2 + 4 + ... + 1024 calls.",
    },
    lambda: calls_of_recursion(10),
)

# %% [markdown]
# Thirty additions would take two billion calls. And a thousand operations exceed Python's limit on recursion.
#
# ## Count first
#
# A node is linear: for the sum of two gradients, it returns the sum of its two results. So add the gradients first, and call
# the node once. For that, the engine must know when the last gradient has arrived. PyTorch counts: before it calls any node,
# it walks over the graph and counts the edges to each node, its *dependencies*.


# %%
def count_dependencies(root):
    """Return for each node behind `root` the number of edges that lead to it."""
    count, seen, stack = Counter(), {root}, [root]
    while stack:
        for after, _ in stack.pop().next_functions:
            if after is not None:
                count[after] += 1
                if after not in seen:
                    seen.add(after)
                    stack.append(after)
    return count


count = count_dependencies(f(x, w).grad_fn)
print({node.name(): n for node, n in count.items()})
assert sorted(count.values()) == [1, 1, 1, 1, 2]

# %% [markdown]
# The engine adds each gradient that arrives to the earlier ones, and the node's count goes down by one. At zero, the node is
# *ready*.
#
# ## Which ready node comes first?
#
# Often several nodes are ready. Every node has a *sequence number*, which counts the recorded operations. PyTorch keeps ready
# nodes in a queue that returns the one with the largest number. So backward visits the operations in reverse order: one of
# the reverse topological orders of lesson 1.

# %%
x.grad = None
first = x * 2
second = x * 3
loss = (first * second).sum()
order = []
for name, tensor in (("first", first), ("second", second)):
    tensor.grad_fn.register_prehook(lambda got, name=name: order.append(name))
numbers = {"first": first.grad_fn._sequence_nr(), "second": second.grad_fn._sequence_nr()}

lessons.predict(
    "loss = (first * second).sum(), and first was computed before second. Which node does backward call first?",
    {
        "first": "That is the order of the forward pass and of the edges. The queue returns the node with the largest number.",
        "second": "It was computed later: its sequence number is larger.",
    },
    lambda: max(numbers, key=numbers.get),
)

# %%
loss.backward()
print(numbers, order)
assert order == ["second", "first"]

# %% [markdown]
# A leaf's node is an exception. In PyTorch its number is $2^{64} - 1$, so it never waits in the queue: as soon as the gradient
# of a parameter is complete, it is in `.grad`.
#
# ## minigrad counts nothing
#
# An input always has a smaller number than the output. So among all nodes that have received a gradient, the one with the
# largest number is complete: a gradient that is still missing would come from a node with a larger number. minigrad keeps
# these nodes in a heap and pops that node. `minigrad/core/engine.py` explains this (it calls a node with a larger number
# *younger*); `backward_loop` is the loop.

# %%
numbers = {node._sequence_nr(): node.name() for node in count if hasattr(node, "_sequence_nr")}
largest_first = [numbers[n] for n in sorted(numbers, reverse=True)]
print(largest_first)
assert largest_first == ["AddBackward0", "SinBackward0", "MulBackward0"], "the steps 2 to 4 in the first picture"

# %% [markdown]
# ## Side by side
#
# | step | PyTorch | minigrad |
# | --- | --- | --- |
# | the state of one backward | `GraphTask` | `BackwardRun` |
# | when a node is ready | `dependencies_`, from `compute_dependencies`, are 0 | it has the largest number of those that wait |
# | waiting gradients | `not_ready_`: an `InputBuffer` for each node | the dictionary `waiting` |
# | the next node | `ReadyQueue`, the largest `sequence_nr` first | `heappop` |
# | one node | `call_function`: prehooks, the node, hooks | `step_on_arrays` or `step_on_tensors` |
# | shapes | `validate_outputs` sums over broadcast dimensions | `fit` |
# | a leaf | `AccumulateGrad`, as soon as it is ready | last; with hooks, as soon as it is ready |
# | only some gradients, for `autograd.grad` | `exec_info_` and `captured_vars_` | `targets` and `useful` |
# | threads | the caller's for the CPU, one for each GPU | the caller's |
#
# PyTorch's names are from `torch/csrc/autograd/engine.cpp`, `engine.h`, `graph_task.h` and `node.h`; the note "Autograd
# mechanics" in its documentation describes the threads.
#
# A node knows nothing about broadcasting: in this sum, `b` has one element, but the node returns
# a gradient with three. The engine adds them up before it passes them on.

# %%
b = torch.tensor(1.0, requires_grad=True)
added = torch.ones(3, requires_grad=True) + b
_, to_b = added.grad_fn(torch.ones(3))
added.sum().backward()
print(to_b, b.grad)
assert to_b.shape == (3,) and b.grad.item() == 3.0

# %% [markdown]
# ## Exercises
#
# ### 1. The order of the nodes
#
# In which order does the engine call the nodes of this program? Write the names of the variables, `loss` first.

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a.exp()
c = b * 3
d = b.sin()
loss = (c * d).sum()
engine_turns = ...  # for example ["loss", "b", "c", "d"]

lessons.check("engine_turns", engine_turns)

# %% [markdown]
# ### 2. Your engine
#
# Write `backward`: call each node once, when its count is zero, and pass its results on. `waiting` holds the sum of the
# gradients that have arrived at a node. The programs of the check have only nodes with one output, and neither broadcasting
# nor hooks. It does not matter which ready node comes first.


# %%
def engine_backward(loss):
    count = count_dependencies(loss.grad_fn)
    waiting = {loss.grad_fn: torch.ones_like(loss)}
    ready = [loss.grad_fn]
    ...


lessons.check("engine_backward", engine_backward)

# %% [markdown]
# ### 3. Only the gradients
#
# `torch.autograd.grad(loss, leaves)` returns gradients and does not touch `.grad`. Write it for leaves, with your engine or a
# new loop: return a tuple with the gradient of each leaf, or `None` for a leaf that the loss does not depend on. Afterwards,
# every `.grad` must be as it was before.


# %%
def engine_grad(loss, leaves): ...


lessons.check("engine_grad", engine_grad)

# %% [markdown]
# ## Summary
#
# - The engine starts at `loss.grad_fn` with a gradient of 1 and follows `next_functions`.
# - A node with several uses waits: its gradients are added, and it is called once.
# - PyTorch counts edges to know when a gradient is complete; minigrad takes the node with the largest number.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does the engine use a loop and a queue instead of recursion?</summary>
#
# Recursion follows every path, and their number can double with each operation. It would also need a stack as deep as the
# graph.
#
# </details>
#
# <details markdown="1">
# <summary>What would go wrong if a node ran as soon as its first gradient arrived?</summary>
#
# It would pass on an incomplete gradient. It would have to run again for the next one, and so would all nodes behind it, as in
# the recursion.
#
# </details>
#
# <details markdown="1">
# <summary>Why can PyTorch not always take the waiting node with the largest number, as minigrad does?</summary>
#
# Its sequence numbers count within a thread, and a graph can be built by several threads, so a smaller number does not always
# mean an older node. In addition, its queues for several devices run at the same time. Counting works in any order.
#
# </details>
