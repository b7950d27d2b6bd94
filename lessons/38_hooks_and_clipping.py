# %% [markdown]
# # Hooks and clipping
#
# *Needs lessons 1 and 2.*
#
# **How do I see or change a gradient on its way?** You register a hook: a function that the engine calls with a gradient
# during backward. If it returns another gradient, backward continues with that one.
#
# After this lesson you can:
#
# - choose among the hooks of tensors, nodes, leaves and modules by the time at which each fires
# - change a gradient on its way, and remove the hook again
# - write `clip_grad_norm_`, and explain how it differs from `clip_grad_value_`
# - name four things that a hook must not do

# %%
import math
import warnings

from matplotlib import pyplot as plt

import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# This program registers five hooks, and each one notes when it ran. In the picture, each note is at the place where its hook
# fires: three at `h`, two at the leaf `w`.

# %%
calls = []


def note(text):
    """Return a hook that notes its turn; it returns None, so it changes nothing."""
    return lambda *gradients: calls.append(f"{len(calls) + 1} {text}")


def f(x, w):
    h = x * w
    h.register_hook(note("tensor hook"))
    h.grad_fn.register_prehook(note("prehook"))
    h.grad_fn.register_hook(note("node's hook"))
    return (h * h + h).sum()


x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([2.0, 2.0], requires_grad=True)
w.register_hook(note("tensor hook"))
w.register_post_accumulate_grad_hook(note("post-accumulate"))
f(x, w).backward()
fired = list(calls)

record = torch.record(f, x, w, passes=("forward", "backward")).to_dict()
gradient_of_w = record["values"][record["gradients"]["1"]]
record["ops"][0]["note"], gradient_of_w["note"] = ", ".join(fired[:3]), ", ".join(fired[3:])
assert record["ops"][0]["name"] == "mul" and record["values"][1]["name"] == "w" and len(fired) == 5
draw(record, passes="backward", show=("values", "grads"))

# %% [markdown]
# ## The hook of a tensor
#
# `register_hook` takes a function of one gradient. If the function returns nothing, it only looks; if it returns a tensor,
# that replaces the gradient. `register_hook` returns a handle, which can remove the hook.


# %%
def gradient_with(hook):
    """Return the gradient of x for h = 3 * x and (h * h + h).sum(), with a hook on h."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    h.register_hook(hook)
    (h * h + h).sum().backward()
    return x.grad


seen = []
assert gradient_with(seen.append).tolist() == [21.0, 39.0] and [g.tolist() for g in seen] == [[7.0, 13.0]]

# %% [markdown]
# The hook fires once for each backward, with the whole gradient, $2h + 1$ at $h = 3$ and $6$: the engine first waits for the
# contributions of all uses of `h`.

# %%
lessons.predict(
    "The hook of h is lambda g: g.clamp(max=10), and h = 3 * x receives the gradient [7, 13]. Which gradient does x receive?",
    {
        "[7.0, 10.0]": "That is the gradient of h after the hook. The derivative of 3 * x is still to come.",
        "[21.0, 39.0]": "The hook returns a tensor, so backward continues with it.",
        "[21.0, 30.0]": "The hook limits 13 to 10, and then the node multiplies by 3.",
        "[10.0, 10.0]": "The hook limits the gradient of h. The factor 3 of x comes afterwards.",
    },
    lambda: gradient_with(lambda g: g.clamp(max=10)),
)

# %% [markdown]
# ## The hooks of a node
#
# A tensor hook sees the gradient of one tensor. A node, `h.grad_fn`, has hooks that receive tuples: its prehook gets the
# gradients of all outputs, and its hook gets the gradients of all inputs and all outputs. Only the hook of a node sees the
# gradients that a single operation sends to its inputs, before the engine adds the contributions of others.

# %%
a = torch.tensor(3.0, requires_grad=True)
product = a * a
contributions = []
product.grad_fn.register_hook(lambda to_inputs, from_output: contributions.extend(to_inputs))
product.backward()
print(contributions, a.grad)
assert [g.item() for g in contributions] == [3.0, 3.0] and a.grad.item() == 6.0

# %% [markdown]
# ## After the accumulation
#
# A hook that you register with `register_post_accumulate_grad_hook` fires last. It works only for leaves, receives the tensor
# instead of a gradient, and finds the sum in `.grad`. So it can step one parameter and free its gradient at once: the
# gradients of all parameters are never in memory together.


# %%
def step_and_free(parameter):
    with torch.no_grad():
        parameter -= 0.1 * parameter.grad
    parameter.grad = None


layers = [torch.full((2,), 1.5, requires_grad=True) for _ in range(3)]
for layer in layers:
    layer.register_post_accumulate_grad_hook(step_and_free)
for _ in range(20):
    loss = ((layers[0] * layers[1] * layers[2]) - 1).square().sum()
    loss.backward()
print(loss.item(), [layer.grad for layer in layers])
assert loss.item() < 1e-6 and all(layer.grad is None for layer in layers)

# %% [markdown]
# ## The hooks of a module
#
# The modules of a model have hooks: `register_forward_hook` sees inputs and
# output, and `register_full_backward_hook` the gradients of both. Here they measure how a gradient shrinks on its way through
# sigmoids.

# %%
torch.manual_seed(0)
model = torch.nn.Sequential(*[part for _ in range(4) for part in (torch.nn.Linear(8, 8), torch.nn.Sigmoid())])
norms = []
handles = [
    part.register_full_backward_hook(lambda part, to_input, from_output: norms.append(from_output[0].norm().item()))
    for part in model
    if isinstance(part, torch.nn.Sigmoid)
]
model(torch.randn(16, 8)).sum().backward()
print("from the last sigmoid to the first:", [f"{norm:.3g}" for norm in norms])
assert norms == sorted(norms, reverse=True) and norms[0] > 20 * norms[-1]
for handle in handles:
    handle.remove()

# %% [markdown]
# ## Clipping
#
# A single unusual batch can have a huge gradient, and one step of that size can ruin a model. Two functions limit it after
# backward, in place, in `.grad`. `clip_grad_norm_` treats all gradients as one vector $g$ and scales it:
#
# $$g \leftarrow g \cdot \min\left(1, \frac{m}{\lVert g \rVert}\right)$$
#
# `clip_grad_value_` limits each element to the range from $-m$ to $m$. Both are in `torch.nn.utils`.

# %%
parameters = [torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)]


def with_gradient(one, other):
    for parameter, number in zip(parameters, (one, other)):
        parameter.grad = torch.tensor([number])
    return parameters


def clipped(clip, *gradient, limit=2.0):
    """Return the two gradients after clipping."""
    clip(with_gradient(*gradient), limit)
    return [round(parameter.grad.item(), 3) for parameter in parameters]


clip_norm, clip_value = torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_

lessons.predict(
    "Two parameters have the gradients 6 and 8. What are they after clip_grad_norm_(parameters, 2)?",
    {
        "[2.0, 2.0]": "That is clip_grad_value_: it limits each element.",
        "[0.6, 0.8]": "These have the norm 1. The limit is 2.",
        "[1.2, 1.6]": "The norm of both together is 10, so both are scaled by 2 / 10.",
        "[6.0, 8.0]": "Their common norm is 10, which is more than 2.",
    },
    lambda: clipped(clip_norm, 6.0, 8.0),
)

# %% [markdown]
# Here are both functions with other limits.


# %%
def arrows(limit):
    figure, axes = plt.subplots(figsize=(4, 4.2), layout="constrained")
    by_norm, by_value = (clipped(clip, 6.0, 8.0, limit=limit) for clip in (clip_norm, clip_value))
    for name, (one, other), style in (
        ("gradient", (6.0, 8.0), "o:"),
        ("clip_grad_norm_", by_norm, "o-"),
        ("clip_grad_value_", by_value, "s--"),
    ):
        axes.plot([0, one], [0, other], style, linewidth=2.5, label=f"{name}: [{one:g}, {other:g}]")
    axes.set(xlabel="first parameter", ylabel="second parameter", aspect="equal", xlim=(-0.5, 9), ylim=(-0.5, 9))
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.3))
    return figure


lessons.slider(arrows, alt="The gradient and its two clipped versions as arrows", limit=[1.0, 2.0, 4.0, 7.0, 12.0])

# %% [markdown]
# Scaling keeps the direction of the step. Limiting each element does not: an element that is twice as large as another may end
# up equal to it. A gradient below the limit stays as it is, and `clip_grad_norm_` returns the norm before clipping, which is
# worth logging.

# %%
assert clipped(clip_norm, 0.3, 0.4) == clipped(clip_value, 0.3, 0.4) == [0.3, 0.4]
assert math.isclose(clip_norm(with_gradient(6.0, 8.0), 2.0).item(), 10.0)

# %% [markdown]
# ## What hooks must not do
#
# 1. Change the shape or dtype of a gradient.
# 2. Return something from a post-accumulate hook: there is nothing that it could replace.
# 3. Come too late: after backward, the graph of a result is gone.
# 4. Pile up: if you register a hook in every step, each step calls it once more than the last.
#
# minigrad raises an error for the first two and warns about the others. PyTorch's documentation adds that a hook should not
# write into its gradient: a sum `c + d` passes one tensor to both there. minigrad gives each hook a copy. A hook that returns
# a new tensor is right in both.

# %%
leaf = torch.ones(2, requires_grad=True)
for register, hook in (
    (leaf.register_hook, lambda g: g[:1]),
    (leaf.register_post_accumulate_grad_hook, lambda parameter: parameter.grad * 2),
):
    with register(hook):  # leaving the block removes the hook
        try:
            leaf.sum().backward()
        except RuntimeError as e:
            print(e, "\n")
        else:
            raise AssertionError("the hook was accepted")

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = leaf.exp()
    result.sum().backward()
    result.register_hook(print)  # too late
    for _ in range(3):
        leaf.register_hook(seen.append)  # again in every step
messages = [str(warning.message) for warning in caught]
print(*messages, sep="\n\n")
assert "call register_hook before backward" in messages[0] and "3 times" in messages[1]

# %% [markdown]
# ## Exercises
#
# ### 1. Two hooks
#
# `y = 2 * x` has a hook that doubles its gradient, and `x` has a hook that adds 1. Compute `x.grad` after
# `(5 * y).backward()`.

# %%
hook_number = ...

lessons.check("hook_number", hook_number)

# %% [markdown]
# ### 2. Clip it yourself
#
# Write `clip_grad_norm_` for a list of parameters: scale their gradients in place, so that their common norm is at most
# `max_norm`, and return the norm before scaling. Skip parameters whose `.grad` is `None`.


# %%
def hook_clip(parameters, max_norm): ...


lessons.check("hook_clip", hook_clip)

# %% [markdown]
# ### 3. A probe
#
# Apply a list of functions one after the other: the first to `x`, each other one to the result before it. Then call
# `.sum().backward()` on the last result, and return the gradients of all results, in the order of the list. Use hooks, not
# `retain_grad`.


# %%
def hook_probe(functions, x): ...


lessons.check("hook_probe", hook_probe)

# %% [markdown]
# ## Summary
#
# - A hook is a function that the engine calls with a gradient; a tensor that it returns replaces the gradient.
# - The order is: tensor hooks, prehooks of the node, the node, hooks of the node; at a leaf, post-accumulate hooks are last.
# - `clip_grad_norm_` scales all gradients together and keeps the direction; `clip_grad_value_` limits each element.
# - Register once, before backward; return a new tensor of the same shape; keep the handle to remove the hook.
#
# ## Questions
#
# <details markdown="1">
# <summary>You want to log the norm of each parameter's gradient, accumulated over two batches. Which hook do you need?</summary>
#
# `register_post_accumulate_grad_hook`: it sees `.grad` with the sum of both.
#
# </details>
#
# <details markdown="1">
# <summary>Why do you clip the norm between backward and the optimizer's step, and not in a hook?</summary>
#
# The common norm depends on all gradients, so you have to wait for the last one. A hook on one tensor sees only its gradient;
# it can limit the values or the norm of that.
#
# </details>
