# %% [markdown]
# # Forget and compute again
#
# *Needs lessons 1, 2 and 7.*
#
# **My model does not fit into memory. What can I forget?** The forward pass keeps tensors for backward, more of them with each
# layer. Backward can compute most of these tensors again when it needs them.
#
# After this lesson you can:
#
# - count the bytes that a program keeps for backward, with and without a checkpoint
# - put checkpoints where they save the most memory
# - say how much time they cost
# - name the functions that must not run twice

# %%
import math
import tracemalloc

import numpy as np
from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from minigrad.utils.checkpoint import checkpoint, checkpoint_sequential
from viz import draw
from viz.figures import saved_memory

# %% [markdown]
# Two layers, each in a checkpoint.


# %%
def layer(x):
    return (x.sin() * x.exp()).tanh()


def forgetful(x):
    for _ in range(2):
        x = checkpoint(layer, x, use_reentrant=False)
    return x.sum()


x = torch.linspace(-1, 1, 256, requires_grad=True)  # 256 numbers of 4 bytes: 1 kB
draw(forgetful, x, passes=("forward", "backward"), show="saved", name="two layers with checkpoints")

# %% [markdown]
# Only the input of each layer stays in memory. Backward computes the others again, as their cards show.
#
# ## The tensors that stay
#
# The same two layers without checkpoints: a product keeps its two factors, `exp` and `tanh` keep their results, `sin` keeps
# its input. The title has the sum.


# %%
def stack(x, layers=2):
    for _ in range(layers):
        x = layer(x)
    return x.sum()


def saved_kilobytes(f, *args):
    return draw(f, *args).graph.saved_bytes() // 1024


assert saved_kilobytes(stack, x) == 7 and saved_kilobytes(forgetful, x) == 2
draw(stack, x, show="saved", name="two layers without checkpoints")

# %%
lessons.predict(
    "Each tensor has 1 kB. How many kB do ten layers without checkpoints keep?",
    {
        31: "Each layer keeps the sine, the exponential and the hyperbolic tangent. The first input makes 31.",
        30: "The first layer also keeps its input, x.",
        41: "The product is a fourth tensor of each layer, but no derivative needs it: tanh needs its result.",
        50: "Each layer saves five tensors, but two of them are in memory already, and memory holds each once.",
    },
    lambda: saved_kilobytes(stack, x, 10),
)

# %% [markdown]
# Over a step, the memory grows in forward and shrinks in backward.

# %% alt="The saved memory of ten layers rises in steps to 31 kB at the end of forward and falls to 0 in backward"
saved_memory(torch.record(stack, x, 10))

# %% [markdown]
# ## The same gradient
#
# `checkpoint(f, x, use_reentrant=False)` calls `f(x)`, but the graph keeps only `x`. When backward asks for the first tensor
# from inside `f`, minigrad runs `f` again, which supplies all of them. The gradient is the same to the last bit.

# %%
(kept,) = torch.autograd.grad(stack(x), x)
(computed_again,) = torch.autograd.grad(forgetful(x), x)
assert torch.equal(kept, computed_again)

calls = []


def counted(x):
    calls.append("call")
    return layer(x)


def calls_of(layers):
    calls.clear()
    h = x
    for _ in range(layers):
        h = checkpoint(counted, h, use_reentrant=False)
    h.sum().backward()
    return len(calls)


lessons.predict(
    "A program checkpoints three layers. How many times do forward and backward call a layer in total?",
    {
        6: "One call per layer in forward, and one per layer in backward.",
        3: "Then backward would have no tensors: forward keeps none from inside the layers.",
        9: "Backward keeps the inputs of all layers, so it need not begin at the first layer each time.",
        4: "Each layer has its own checkpoint, and each one runs its layer again.",
    },
    lambda: calls_of(3),
)

# %% [markdown]
# ## The price
#
# The price is one more forward pass, or a little less, because the second run
# stops when backward has everything it needs.

# %%
ops = torch.record(forgetful, x).to_dict()["ops"]
forward = [op["name"] for op in ops if op["phase"] == "forward"]
again = [op["name"] for op in ops if op.get("again")]
print(*again)
assert forward == [*again, "sum"]

# %% [markdown]
# Chen, Xu, Zhang and Guestrin measured 30 percent more time for a network with 1000 layers, and a seventh of the memory
# ("Training Deep Nets with Sublinear Memory Cost", 2016, arXiv:1604.06174).
#
# ## Too many at once
#
# The number in the picture is the memory between forward and backward. In backward, tensors come back.
# `measured` reads the memory of all arrays at the end of each layer, in both passes, and returns the maximum.

# %%
sizes = []


def watched(x):
    out = layer(x)
    arrays = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
    sizes.append(sum(trace.size for trace in arrays.traces) / 1024)
    return out


def every(k, layers, x, layer=layer):
    """Run layers with a checkpoint around each group of k."""

    def group(x):
        for _ in range(k):
            x = layer(x)
        return x

    for _ in range(layers // k):
        x = checkpoint(group, x, use_reentrant=False)
    return x.sum()


def measured(k, layers):
    """Return the maximum memory of arrays in kB at the end of a layer during a step, x included."""
    sizes.clear()
    tracemalloc.start()
    every(k, layers, x, watched).backward()
    tracemalloc.stop()
    return max(sizes) + 1


lessons.predict(
    "One checkpoint holds all 48 layers. How much memory does the step need at its worst moment?",
    {
        "about 145 kB": "Backward runs all layers again before it begins, which brings back all tensors, so nothing is gained.",
        "about 1 kB": "That is the memory between forward and backward. In backward, all tensors come back at once.",
        "about 48 kB": "That would be one tensor per layer, as with a checkpoint around each layer.",
        "about 3 kB": "Backward needs the tensors of the last layer first, but it gets them by running all layers.",
    },
    lambda: f"about {round(measured(48, 48) / 5) * 5} kB",
)

# %% [markdown]
# ## Every k-th layer
#
# Let each of $n$ layers keep $c$ tensors, and put a checkpoint around each group of $k$ layers. Then there are $n/k$ inputs to
# keep, and one group comes back at a time:
#
# $$m(k) = \frac{n}{k} + c\,k \qquad m'(k) = -\frac{n}{k^2} + c = 0 \qquad k = \sqrt{n/c} \qquad m = 2\sqrt{c\,n}$$
#
# So a network that is four times as deep needs only twice the memory. The formula is in the same paper. Compare: in forward, the memory climbs one step for each checkpoint, and in backward, each group that comes back makes a
# peak.

# %%
ks = [2, 4, 8, 16, 48]
runs = {k: (measured(k, 48), [*sizes]) for k in ks}  # the maximum, and the memory at the end of each layer
formula = {k: 48 / k + 3 * k for k in ks}
assert min(runs, key=lambda k: runs[k][0]) == min(formula, key=formula.get) == math.sqrt(48 / 3) == 4
assert all(math.isclose(runs[k][0], formula[k], rel_tol=0.1) for k in ks)


def memory_of(k):
    figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
    axes.plot(runs[k][1])
    axes.axhline(formula[k], color="#b2443c", linestyle="dotted", label=f"n/k + 3k = {formula[k]:.0f}")
    axes.axvline(47.5, color="#566171", linestyle="dashed")
    axes.set(xlabel="forward | backward, layer by layer", xticks=[], ylabel="memory in kB", ylim=(0, 180))
    axes.legend(loc="upper left", frameon=False)
    return figure


lessons.slider(memory_of, alt="Memory at the end of each layer, in forward and in backward", k=ks)

# %% [markdown]
# The time stays the same for all `k`: each layer runs twice. `checkpoint_sequential` makes the groups for you. It
# leaves the last group without a checkpoint, since backward needs its tensors at once.

# %%
total = checkpoint_sequential([layer] * 48, 12, x, use_reentrant=False).sum()
(sequential,) = torch.autograd.grad(total, x)
(plain,) = torch.autograd.grad(stack(x, 48), x)
assert torch.equal(sequential, plain)

# %% [markdown]
# ## Functions that must not run twice
#
# The second run has to compute the same as the first. Random numbers are no problem: `checkpoint` restores the
# generator, so dropout draws the same mask again.


# %%
def dropout(x):
    return (x * (torch.rand(256) < 0.5)).exp()


gradients = []
for f in (dropout, lambda x: checkpoint(dropout, x, use_reentrant=False)):
    torch.manual_seed(0)
    gradients += torch.autograd.grad(f(x).sum(), x)
assert torch.equal(*gradients)

# %% [markdown]
# A variable that changes between the two runs is a problem. If a shape differs, minigrad raises an error. If all shapes are
# the same, the gradient is silently wrong: here, `exp` runs again with a different factor.

# %%
factor, length = 2.0, 1


def careless(x):
    return (x[:length] * factor).exp()


one = torch.ones(2, requires_grad=True)
y = checkpoint(careless, one, use_reentrant=False)
length = 2
try:
    y.sum().backward()
except torch.utils.checkpoint.CheckpointError as e:
    print(e)
else:
    raise AssertionError("a different shape was accepted")

factor, length = 2.0, 1
y = checkpoint(careless, one, use_reentrant=False)
factor = 3.0
(wrong,) = torch.autograd.grad(y.sum(), one)
print("expected", 2 * math.exp(2), "got", wrong[0].item())
assert math.isclose(wrong[0].item(), 2 * math.exp(3), rel_tol=1e-6)

# %% [markdown]
# ## Exercises
#
# ### 1. Count the kilobytes
#
# A program runs 12 of the layers above, with a checkpoint around every 3 of them. How many kB does it keep between forward and
# backward?

# %%
checkpoint_kept = ...

lessons.check("checkpoint_kept", checkpoint_kept)

# %% [markdown]
# ### 2. The best group
#
# A layer of another network keeps 12 tensors, each as large as the layer's input. The network has 300 layers. With how many
# layers per checkpoint does a step need the least memory?

# %%
checkpoint_best = ...

lessons.check("checkpoint_best", checkpoint_best)

# %% [markdown]
# ### 3. Groups
#
# Write `checkpointed(functions, k, x)`: it calls the functions of a list one after another, with a checkpoint around
# each group of `k`. The last group may be shorter.


# %%
def checkpointed(functions, k, x): ...


lessons.check("checkpointed", checkpointed)

# %% [markdown]
# ### 4. Your own checkpoint (at home)
#
# Write a checkpoint as a `Function`. `forward` receives a function `f` and a tensor `x`, saves only `x`, and returns `f(x)`.
# `backward` runs `f` again, with recording switched on, and gets the gradient from `torch.autograd.grad`.


# %%
class OwnCheckpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, x): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("OwnCheckpoint", OwnCheckpoint)

# %% [markdown]
# ## Summary
#
# - A checkpoint keeps the inputs of a function; backward runs the function again.
# - The price is one more forward pass. The gradient is the same.
# - In backward, one checkpoint comes back at a time: $\sqrt{n/c}$ layers in each one need the least memory.
# - The second run must compute the same. Random numbers are no problem; variables that change are.
#
# ## Questions
#
# <details><summary>Why does a checkpoint around the whole program save nothing?</summary>
# Backward runs the whole program again before its first step, and then all tensors are in memory at the same time.
# </details>
#
# <details><summary>A network becomes nine times as deep. How does the memory grow, with the best checkpoints?</summary>
# Three times: it grows with the square root of the number of layers.
# </details>
#
# <details><summary>Forward mode needs no checkpoints. Why?</summary>
# It computes the derivative of each operation together with its value, so it keeps no tensors for later.
# </details>
