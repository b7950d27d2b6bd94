# %% [markdown]
# # Writing in place
#
# *25 minutes. Needs lessons 7 and 9.*
#
# **When may I overwrite a tensor?** An operation whose name ends in an underscore writes into its input's memory instead of
# making a new tensor. This is allowed unless backward still needs the old numbers, or the tensor is a leaf that requires grad.
#
# After this lesson you can:
#
# - read a write in the graph,
# - tell when a write is an error,
# - write a Function that works in place, with `mark_dirty`.

# %%
import lessons
import minigrad as torch
from viz import draw


def times_fifteen(leaf):
    x = leaf * 5
    x.mul_(3)
    return x


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
draw(times_fifteen, leaf, passes=("forward", "backward"))

# %% [markdown]
# A write is an operation like any other, marked "in place". The picture shows the values before and after it separately,
# although they share their memory.


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
# `mul_` returns the very tensor that you call it on. Its numbers have changed, and so has its history: `grad_fn` is the
# write, and the old tensor is only an input of that. `_version` counts the writes.

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
# ## A Function that writes in place
#
# This is the example from PyTorch's page on C++ Functions, which lesson 4 reads line by line, in Python. `mark_dirty` names
# the inputs that `forward` modifies, and `forward` returns those. The C++ text returns one gradient for two arguments; here
# there is a `None` for `n`.


# %%
class MyFunction(torch.autograd.Function):
    is_traceable = True

    @staticmethod
    def forward(ctx, n, var):
        # Save data for backward in context
        ctx.saved_data["n"] = n
        var.mul_(2)
        # Mark var as modified by inplace operation
        ctx.mark_dirty(var)
        return [var]

    @staticmethod
    def backward(ctx, *grad_output):
        # Use data saved in forward
        n = ctx.saved_data["n"]
        return None, grad_output[0] * n


leaf = torch.tensor([1.0, 2.0], requires_grad=True)
x = leaf * 1
y = MyFunction.apply(6, x)
assert y[0] is x
# Example backward call
y[0].sum().backward()
print(x, leaf.grad)
assert x.tolist() == [2.0, 4.0]
assert leaf.grad.tolist() == [6.0, 6.0]


def program(leaf):
    x = leaf * 1
    (y,) = MyFunction.apply(6, x)
    return y.sum()


draw(program, leaf, passes=("forward", "backward"))

# %% [markdown]
# With the one gradient of the C++ text, the count is wrong, and backward raises an error.


# %%
class Literally(MyFunction):
    @staticmethod
    def backward(ctx, grad_output):
        return [grad_output * ctx.saved_data["n"]]


(y,) = Literally.apply(6, leaf * 1)
message = message_of(y.sum().backward)
print(message)
assert "1 gradient for the 2 arguments of forward, (n, var)" in message

# %% [markdown]
# The example only shows how data travels: it doubles the numbers and multiplies the gradient by 6. That is not the
# derivative, and `minigrad check` reports it. With `n = 2` it is.

# %%
failure = torch.testing.check(MyFunction, 6, leaf * 1).failures[0]
print(failure.message)
assert "backward gives 6" in failure.message and "finite differences give 2" in failure.message
assert "gradients" not in [failure.name for failure in torch.testing.check(MyFunction, 2, leaf * 1).failures]

# %% [markdown]
# `x` had to be the result of an operation, here of `leaf * 1`. With the leaf itself, the Function raises the same error
# as `mul_`. But it comes late: `forward` has already run and written.

# %%
message = message_of(MyFunction.apply, 6, leaf)
print(message)
assert "a leaf Variable that requires grad" in message
print(leaf)
assert leaf.tolist() == [2.0, 4.0]

# %% [markdown]
# ## The purpose of mark_dirty
#
# Without the mark the graph would not know of the write: `x` would keep its old history, and gradients through `x`
# would miss the factor 2. minigrad sees the modified input and raises an error.


# %%
class Unmarked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


message = message_of(Unmarked.apply, leaf * 1)
print(message)
assert "in place (mul_) without ctx.mark_dirty(x)" in message

# %% [markdown]
# The other half of the promise is to return the marked tensor. The new history has to belong to some output.


# %%
class NotReturned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


message = message_of(NotReturned.apply, leaf * 1)
print(message)
assert "not returned as output" in message

# %% [markdown]
# ## What did you save?
#
# `save_for_backward` keeps the tensor, not its numbers. Here `forward` writes to a saved tensor.


# %%
class WrongSquare_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mark_dirty(x)
        return x.mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


b = torch.tensor(3.0, requires_grad=True)


def gradient_of_square():
    try:
        return torch.autograd.grad(WrongSquare_.apply(b * 1), b)[0]
    except RuntimeError:
        return "an error"


lessons.predict(
    "forward saves x, which is 3.0, and then squares it in place. Which gradient does backward compute?",
    {
        6.0: "That is the right one, 2 * 3. But the saved tensor is x itself, and its number is 9 now.",
        18.0: "backward sees the new number, 9, and returns 2 * 9.",
        "an error": "Versions are compared with the one after forward: there, x has its new number already.",
    },
    gradient_of_square,
)

# %%
WrongSquare_.apply(b * 1).backward()
print(b.grad)
assert b.grad.item() == 18.0

# %% [markdown]
# `backward` sees the new numbers, whatever the order of the lines. The derivative of `x * x` needs the old ones, and minigrad
# cannot know which were meant. `minigrad check` compares with differences of `forward`.

# %%
failure = torch.testing.check(WrongSquare_, b * 1).failures[0]
print(failure.message)
assert failure.name == "gradients"

# %% [markdown]
# If the derivative needs only the result, the same is just right, and working in place saves a tensor: only the result
# exists.


# %%
class Exp_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def exp_in_place(b):
    x = b * 1
    Exp_.apply(x)
    return x


(gradient,) = torch.autograd.grad(exp_in_place(b), b)
print(gradient, b.exp())
assert torch.allclose(gradient, b.exp())
draw(exp_in_place, b)

# %% [markdown]
# ## A write to a part
#
# A view, such as `x[0]`, shares the memory of its base. A write to the view changes the base, too, and the graph has to
# know: the base becomes "itself, with one element replaced". There the gradient splits: through the write for that
# element, directly for the rest.


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
# A Function that receives a view and marks it dirty works in the same way. Base and view share one count of writes.

# %%
x = leaf * 1
first = x[:1]
Exp_.apply(first)
print(x)
assert torch.allclose(x, torch.tensor([1.0, 2.0]).exp() * torch.tensor([1.0, 0.0]) + torch.tensor([0.0, 2.0]))
assert x._version == first._version > 0
(gradient,) = torch.autograd.grad(x.sum(), leaf)
print(gradient)
assert torch.allclose(gradient, torch.stack([leaf[0].exp(), torch.tensor(1.0)]))

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
# ### 2. The promise
#
# This Function multiplies its input by a number, in place. Fill in the gaps.


# %%
class InplaceScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        x.mul_(k)
        ctx.k = k
        return ...

    @staticmethod
    def backward(ctx, grad_output):
        return ...


lessons.check("InplaceScale", InplaceScale)

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
# ### 4. ReLU in place
#
# Write a Function that sets all negative elements of its input to 0, in place. Its derivative is 1 where the result is
# positive, and 0 elsewhere. Save no tensor but the result.


# %%
class InplaceRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("InplaceRelu", InplaceRelu)

# %% [markdown]
# ### 5. A right square
#
# Write a right version of `WrongSquare_` above: it squares its input in place and has the right gradient.


# %%
class InplaceSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("InplaceSquare", InplaceSquare)

# %% [markdown]
# ## Summary
#
# - A write returns the same tensor with a new history; `_version` counts the writes to its memory.
# - Two writes are errors: to a leaf that requires grad, and to a saved tensor.
# - A Function that writes calls `mark_dirty` and returns the tensor.
# - A saved tensor has the numbers after `forward`. So save the result, or a copy of the old numbers.
# - A write to a view is a write to its base.
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
# <summary>Why must `forward` return the tensor that it marks dirty?</summary>
#
# The write gives the tensor a new history, whose node is this call. Only an output of the call has this node.
#
# </details>
#
# <details markdown="1">
# <summary>When does working in place save memory in training?</summary>
#
# When the derivative needs only the result, or nothing: then the old numbers may go. A derivative that needs the input
# would have to keep a copy of it.
#
# </details>
