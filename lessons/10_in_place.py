# %% [markdown]
# # Writing in place
#
# *Needs lessons 7 and 9.*
#
# **When may I overwrite a tensor?** An operation whose name ends in an underscore writes into its input's memory instead
# of making a new tensor. This is allowed unless backward still needs the old values, or the tensor is a leaf that
# requires grad.
#
# After this lesson you can:
#
# - read a write in the graph,
# - tell when a write is an error,
# - follow the gradient through a write to a part of a tensor.

# %%
import lessons
import minigrad as torch
from viz import draw, live


def times_fifteen(leaf):
    x = leaf * 5
    x.mul_(3)
    return x


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
picture = live(times_fifteen, leaf, passes=("forward", "backward"))
lessons.drag("inplace_dragged", picture, lambda: picture.grads["leaf"][0] if picture.values["leaf"][0] == 0 else None)

# %% [markdown]
# A write is an operation like any other, marked "in place". The picture shows the values before and after it separately,
# although they share their memory.
#
# **Try it.** Drag the first number of `leaf` to 0. Which gradient does it have then?

# %%
inplace_dragged = ...

lessons.check("inplace_dragged", inplace_dragged)


# %%
def message_of(f, *args):
    """Return the message of the error that f raises."""
    try:
        f(*args)
    except RuntimeError as e:
        return str(e)
    raise AssertionError("no error was raised")


# %% [markdown]
# ## The same tensor with a new history
#
# `mul_` returns the very tensor that you call it on. Its values have changed, and so has its history: `grad_fn` is now
# the write, and the node before it is only an input of the write. `_version` counts the writes.

# %%
x = leaf * 5
before = x.grad_fn
y = x.mul_(3)
print(x, x._version)
assert y is x
assert x._version == 1
assert x.grad_fn is not before
assert x.grad_fn.next_functions[0][0] is before

# %% [markdown]
# The statement `x += 1` is a write, too. It is short for `x = x.add_(1)`. With `x = x + 1` the name `x` gets a new
# tensor, and the old tensor keeps its values.

# %%
x = leaf * 5
other = x
x += 1
print(other)
assert other is x and other.tolist() == [6.0, 11.0]
x = x + 1
print(other)
assert other is not x and other.tolist() == [6.0, 11.0]

# %% [markdown]
# ## Forbidden writes
#
# Writing to a leaf that requires grad is an error: after the write it would be the result of an operation, and no leaf
# would be left to hold `.grad`. Under `no_grad` nothing is recorded and the leaf stays a leaf; optimizers use this.

# %%
message = message_of(leaf.mul_, 2)
print(message)
assert "a leaf Variable that requires grad" in message
with torch.no_grad():
    leaf.mul_(2)
print(leaf)
assert leaf.is_leaf and leaf.tolist() == [2.0, 4.0]

# %% [markdown]
# You know the second error from lesson 7: a saved tensor must not change before backward.


# %%
def works(f):
    """Return True if backward works after a write to the result of f."""
    s = f(leaf)
    s.mul_(2)
    try:
        torch.autograd.grad(s.sum(), leaf)
    except RuntimeError:
        return False
    return True


def plus_one(x):
    return x + 1


lessons.predict(
    "s = f(leaf), then s.mul_(2). For which f does backward work afterwards: plus_one, torch.sigmoid, torch.sin?",
    {
        "[True, True, True]": "It depends on the formula: one of them saves its result.",
        "[True, False, True]": "sigmoid saves its result, sin saves its input, and + saves nothing.",
        "[True, False, False]": "sin saves its input, which does not change. Its result may.",
        "[False, False, False]": "A write is recorded like any other operation. Only saved tensors must not change.",
    },
    lambda: [works(f) for f in (plus_one, torch.sigmoid, torch.sin)],
)

# %% [markdown]
# `sigmoid` saves its result, so the result must stay unchanged. `leaf + 1` saves nothing.

# %%
s = leaf.sigmoid()
s.mul_(2)
message = message_of(s.sum().backward)
print(message)
assert "its own result" in message
s = leaf + 1
s.mul_(2)
s.sum().backward()
assert leaf.grad.tolist() == [2.0, 2.0]

# %% [markdown]
# The count belongs to the memory, not to the name. `detach` returns a tensor without a history on the same memory, and
# minigrad notices a write through it as well.

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
square = a * a
a.detach().mul_(10)
message = message_of(square.sum().backward)
print(message)
assert "it is at version 1, expected version 0" in message

# %% [markdown]
# A write through `.data` is the exception: it is not counted, in minigrad as in PyTorch. Backward then computes with the
# new values. The derivative of `a * a` is `2 * a`, here `[2., 4.]`, but the gradient is ten times as large. So do not use
# `.data`.

# %%
a = torch.tensor([1.0, 2.0], requires_grad=True)
square = a * a
a.data.mul_(10)
(gradient,) = torch.autograd.grad(square.sum(), a)
print(gradient)
assert a._version == 0
assert gradient.tolist() == [20.0, 40.0]

# %% [markdown]
# ## A write to a part
#
# A view, such as `x[0]`, shares the memory of its base. A write to the view changes the base, too, and the graph has to
# record that: in the graph, the base becomes "itself, with one element replaced". There the gradient splits: for that
# element it goes through the write, for the others directly to the base.


# %%
def first_times_ten(leaf):
    x = leaf * 1
    first = x[0]
    first.mul_(10)
    return x.sum()


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
first_times_ten(leaf).backward()
print(leaf.grad)
assert leaf.grad.tolist() == [10.0, 1.0]
draw(first_times_ten, leaf, passes=("forward", "backward"))

# %% [markdown]
# Now write to the base. Its views share the memory.


# %%
def gradient_of_view():
    x = leaf * 1
    first = x[0]
    x.mul_(3)
    return torch.autograd.grad(first, leaf)[0]


lessons.predict(
    "x = leaf * 1, then first = x[0], then x.mul_(3). Which gradient does leaf receive from first.backward()?",
    {
        "[1.0, 0.0]": "first is older than the write, but it shares the memory of x: its value is 3 times as large now.",
        "[3.0, 0.0]": "first is x[0] after the write, in its value and in its history.",
        "[3.0, 3.0]": "The write multiplies both elements by 3, but first is only one of them.",
        "an error": "No operation saved the old values: a product with a number saves only the number.",
    },
    gradient_of_view,
)

# %% [markdown]
# A write to the base changes its views, too, and their history; all share one count of writes. A write to a view of a leaf that
# requires grad is the same error as a write to the leaf.

# %%
x = leaf * 1
first = x[0]
x.mul_(3)
print(first, first._version)
assert first.item() == 3.0 and first._version == x._version == 1

message = message_of(leaf[:1].mul_, 2)
print(message)
assert "a view of a leaf Variable that requires grad" in message

# %% [markdown]
# ## Exercises
#
# ### 1. Two writes
#
# Compute `leaf.grad` at the end. Give the three numbers.
#
# ```python
# leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
# x = leaf * 2
# x[0].mul_(5)
# x.mul_(3)
# x.sum().backward()
# ```

# %%
inplace_gradient = ...

lessons.check("inplace_gradient", inplace_gradient)

# %% [markdown]
# ### 2. Which results may change?
#
# Let `y = f(x)`, and then `y.mul_(2)`. For two of these functions, backward then raises an error: `"neg"`, `"exp"`,
# `"cos"`, `"sqrt"`, `"square"`. Give their names in a list. Think of the derivative: can it be computed from the result?

# %%
inplace_refused = ...

lessons.check("inplace_refused", inplace_refused)

# %% [markdown]
# ### 3. Repair
#
# The backward pass of this program raises an error. Repair it: keep the result, and make the gradient right.


# %%
def inplace_repaired(x):
    s = x.sigmoid()
    s -= 0.5
    return (s * s).sum()


lessons.check("inplace_repaired", inplace_repaired)

# %% [markdown]
# ### 4. One column (at home)
#
# Write `inplace_column(x)` for a matrix `x`, which may be a leaf that requires grad. Return `x` with its first column doubled
# by a write to a view. `x` itself stays unchanged, and gets the right gradient.


# %%
def inplace_column(x): ...


lessons.check("inplace_column", inplace_column)

# %% [markdown]
# ## Summary
#
# - A write returns the same tensor with a new history; `_version` counts the writes to its memory.
# - Two writes are errors: to a leaf that requires grad, and to a saved tensor.
# - A write through `detach()` is noticed, and one through `.data` is not.
# - A write to a view is a write to its base, and vice versa.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why may an optimizer write to a leaf that requires grad?</summary>
#
# It does so under `no_grad`: nothing is recorded, so the leaf stays a leaf.
#
# </details>
#
# <details markdown="1">
# <summary>Why may I write to the result of <code>sin</code>, but not to the result of <code>sigmoid</code>?</summary>
#
# The derivative of `sin` is the cosine of the input, so `sin` saves its input. The derivative of `sigmoid` is `y * (1 - y)`, so
# `sigmoid` saves its result `y`.
#
# </details>
#
# <details markdown="1">
# <summary>Backward reports a write to a saved tensor. How do I repair my program?</summary>
#
# Make a new tensor in that line: `s = s - 0.5` instead of `s -= 0.5`. If the write has to stay, write to a `clone()`.
#
# </details>
