# %% [markdown]
# # A Function that writes in place
#
# *Needs lessons 7, 9 and 10.*
#
# **How does the graph learn that my `forward` has overwritten its input?** You tell it: `ctx.mark_dirty(x)` names the
# input, and `forward` returns it. The tensor then gets a new history, with your Function in it, and `backward` sees the
# new values.
#
# After this lesson you can:
#
# - write a Function that works in place, with `mark_dirty`,
# - explain the errors of a Function that marks or returns the wrong tensor,
# - choose what to save: the result, or a copy of the old values.

# %%
import lessons
import minigrad as torch
from viz import draw

# %% [markdown]
# `Exp_` writes the result into its input and marks the input as dirty.


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


b = torch.tensor([0.0, 1.0], requires_grad=True)
draw(exp_in_place, b, passes=("forward", "backward"))

# %% [markdown]
# The card of `Exp_` is marked "in place". `exp_in_place` ignores the result of `apply` and returns `x`; still, the
# gradient goes through `Exp_`, because `x` is the result: the same tensor with new values and a new history.


# %%
def message_of(f, *args):
    """Return the message of the error that f raises."""
    try:
        f(*args)
    except RuntimeError as e:
        return str(e)
    raise AssertionError("no error was raised")


x = b * 1
y = Exp_.apply(x)
print(x)
assert y is x and x._version > 0 and "Exp_" in x.grad_fn.name()
(gradient,) = torch.autograd.grad(x.sum(), b)
assert torch.allclose(gradient, b.exp())

# %% [markdown]
# ## The example in the C++ documentation
#
# This is the example from PyTorch's page on C++ Functions, in Python; lesson 4 reads it line by line. `backward` returns
# one gradient per argument of `forward`, so there is a `None` for the number `n`.


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

# %% [markdown]
# The example only shows how data travels: it doubles the values and multiplies the gradient by 6. That is not the
# derivative, and `torch.testing.check` reports it. With `n = 2` it is.

# %%
failure = torch.testing.check(MyFunction, 6, leaf * 1).failures[0]
print(failure.message)
assert "backward gives 6" in failure.message and "finite differences give 2" in failure.message
assert "gradients" not in [failure.name for failure in torch.testing.check(MyFunction, 2, leaf * 1).failures]


# %%
def applied_to_leaf():
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    return message_of(MyFunction.apply, 6, leaf), leaf.detach()


lessons.predict(
    "leaf is [1., 2.] and requires grad, so MyFunction.apply(6, leaf) raises an error. What does leaf hold then?",
    {
        "[1.0, 2.0]": "leaf.mul_(2) checks first and then writes. But apply learns of the write from mark_dirty.",
        "[2.0, 4.0]": "The error comes after forward, which has written already.",
        "[6.0, 12.0]": "6 is the factor of backward, and backward does not run.",
    },
    lambda: applied_to_leaf()[1],
)

# %%
message, _ = applied_to_leaf()
print(message)
assert "a leaf Variable that requires grad" in message

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
# `mark_dirty` alone is not enough: `forward` also has to return the marked tensor. The new history has to belong to an
# output.


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
# `save_for_backward` keeps the tensor, not a copy of its values. Here `forward` writes to a saved tensor.


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
        6.0: "That is the right gradient, 2 * 3. But the saved tensor is x itself, and its value is 9 now.",
        18.0: "backward sees the new value, 9, and returns 2 * 9.",
        "an error": "Backward compares versions with the version after forward, when x already has its new value.",
    },
    gradient_of_square,
)

# %% [markdown]
# `backward` sees the new values, whatever the order of the lines. The derivative of `x * x` needs the old ones, and
# minigrad cannot know which are meant. `torch.testing.check` compares with differences of `forward`.

# %%
failure = torch.testing.check(WrongSquare_, b * 1).failures[0]
print(failure.message)
assert failure.name == "gradients"

# %% [markdown]
# There are two fixes. Save a copy of the old values; then two tensors are in memory, as with an operation that does not
# work in place. Or find a formula that needs only the result, as in `Exp_`: the result is then the saved tensor, too.

# %%
x = b * 1
y = Exp_.apply(x)
assert y is x and y.grad_fn.saved_tensors[0].data_ptr() == x.data_ptr()

# %% [markdown]
# A Function that receives a view and marks it dirty works in the same way. Base and view share one count of writes.

# %%
leaf = torch.tensor([1.0, 2.0], requires_grad=True)
x = leaf * 1
first = x[:1]
Exp_.apply(first)
assert torch.allclose(x, torch.stack([leaf[0].exp(), leaf[1]]))
assert x._version == first._version > 0
(gradient,) = torch.autograd.grad(x.sum(), leaf)
assert torch.allclose(gradient, torch.stack([leaf[0].exp(), torch.tensor(1.0)]))

# %% [markdown]
# ## Exercises
#
# ### 1. Mark and return
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
# ### 2. ReLU in place
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
# ### 3. A correct square
#
# Write a correct version of `WrongSquare_`: it squares its input in place and has the right gradient.


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
# - A Function that writes to its input calls `mark_dirty` and returns the input.
# - The returned tensor is the input, with the Function as its new history.
# - A saved tensor has the values after `forward`. So save the result, or a copy of the old values.
# - Working in place saves memory if the derivative needs only the result, or nothing.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why must <code>forward</code> return the tensor that it marks dirty?</summary>
#
# The write gives the tensor a new history, whose node is this call. Only an output of the call has this node.
#
# </details>
#
# <details markdown="1">
# <summary>When does working in place save memory in training?</summary>
#
# When the derivative needs only the result, or nothing: then the old values are not needed. A derivative that needs the
# input would have to keep a copy of it.
#
# </details>
