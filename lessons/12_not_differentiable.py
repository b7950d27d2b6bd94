# %% [markdown]
# # Outputs without a derivative
#
# *Needs lessons 8 and 9.*
#
# **My function returns an index or a mask as well. What is its gradient?** There is none: you mark such an output with
# `mark_non_differentiable`. For an output that is not used, `backward` receives zeros or `None`.
#
# After this lesson you can:
#
# - tell which outputs need a mark, and mark them,
# - find an output whose gradient `backward` forgets,
# - predict the incoming gradients of `backward`, and choose between zeros and `None`.

# %%
import warnings

import lessons
import minigrad as torch
from minigrad.autograd import Function
from minigrad.autograd.function import once_differentiable
from viz import draw

# %% [markdown]
# `KeepPositive` returns two results: the positive numbers, and a mask of ones and zeros.


# %%
class KeepPositive(Function):
    @staticmethod
    def forward(ctx, x):
        mask = (x > 0).float()
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return x.clamp(min=0), mask

    @staticmethod
    def backward(ctx, grad_kept, grad_mask):
        (mask,) = ctx.saved_tensors
        return grad_kept * mask


def weighted(x):
    kept, mask = KeepPositive.apply(x)
    return kept * (mask + 1)


x = torch.tensor([1.0, -5.0, 2.0], requires_grad=True)
draw(weighted, x, passes=("forward", "backward"))

# %% [markdown]
# `KeepPositive` also returns a mask of ones and zeros, and marks it. Later operations treat the mask as a constant: the
# dashed line in the backward pass says that no gradient is needed there.
#
# ## Integers
#
# The largest element has a derivative; its index has none, because an index cannot change by a small amount. minigrad
# knows this about all integers: they need no mark.


# %%
class LargestAt(Function):
    @staticmethod
    def forward(ctx, x):
        index = x.argmax()
        ctx.save_for_backward(x, index)
        return x.max(), index

    @staticmethod
    def backward(ctx, grad_largest, grad_index):
        x, index = ctx.saved_tensors
        grad = torch.zeros_like(x)
        grad[index] = grad_largest
        return grad


x = torch.tensor([1.0, 5.0, 2.0], requires_grad=True)
largest, index = LargestAt.apply(x)
print(largest, index)
assert largest.requires_grad and not index.requires_grad

# %% [markdown]
# ## Floats
#
# A float may have a derivative, so minigrad assumes that it does. `forward` has to mark the exceptions, as `KeepPositive`
# does. Asking for the derivative of a marked output raises an error.


# %%
def message_of(f, *args):
    """Return the message of the error that f raises."""
    try:
        f(*args)
    except (RuntimeError, TypeError) as e:
        return str(e)
    raise AssertionError("no error was raised")


kept, mask = KeepPositive.apply(x)
print(kept, mask)
assert kept.requires_grad and not mask.requires_grad

message = message_of(mask.sum().backward)
print(message)
assert "does not require grad" in message

# %% [markdown]
# ## Without the mark
#
# This Function also returns a number for a log, and its author forgot the gradient of that number. Then a user adds the
# number to the loss.


# %%
class Tripled(Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x, x.abs().sum()

    @staticmethod
    def backward(ctx, grad_output, grad_size):
        return 3 * grad_output


x = torch.tensor([1.0, 2.0], requires_grad=True)


def slope_with_size():
    y, size = Tripled.apply(x)
    return torch.autograd.grad(y.sum() + size, x)[0]


lessons.predict(
    "Both numbers are positive, so the loss y.sum() + size is 3 * x.sum() + x.sum(). Which gradient does x get?",
    {
        "[4.0, 4.0]": "That is the derivative. But backward does not use grad_size.",
        "[3.0, 3.0]": "backward returns 3 * grad_output alone. The gradient of the size is lost, without an error.",
        "[1.0, 1.0]": "It is the other way round: the gradient of the size is lost, and the gradient of y arrives.",
        "an error": "minigrad cannot know that the size has a derivative: every float may have one.",
    },
    slope_with_size,
)

# %% [markdown]
# `torch.testing.check` compares with differences of `forward`, for each output, and finds the unused gradient. There are
# two fixes: use `grad_size` in `backward`, or mark the size.

# %%
failure = torch.testing.check(Tripled, x).failures[0]
print(failure.message)
assert "grad_size is not used for x" in failure.message


class TripledAndMarked(Tripled):
    @staticmethod
    def forward(ctx, x):
        size = x.abs().sum()
        ctx.mark_non_differentiable(size)
        return 3 * x, size


class TripledInFull(Tripled):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 3 * x, x.abs().sum()

    @staticmethod
    def backward(ctx, grad_output, grad_size):
        (x,) = ctx.saved_tensors
        return 3 * grad_output + grad_size * x.sign()


assert not TripledAndMarked.apply(x)[1].requires_grad
assert not torch.testing.check(TripledInFull, x).failures

# %% [markdown]
# Mark the tensor that you return. A mark on another tensor with the same values has no effect, and minigrad warns.


# %%
class MarksAnother(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(x.round())
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    rounded = MarksAnother.apply(x)
print(caught[0].message)
assert "the mark has no effect" in str(caught[0].message) and rounded.requires_grad

# %% [markdown]
# ## The gradients that backward receives
#
# `backward` has an argument for every output, even if the output is marked or unused. This example is from PyTorch's
# documentation; lesson 13 explains `once_differentiable`. `incoming` returns the gradients that `backward` receives.


# %%
class SimpleFunc(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone(), x.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, g1, g2):
        return g1 + g2  # No check for None necessary


def incoming(function, use):
    """Return the gradients that `function`'s backward receives when `use` is computed from its outputs."""
    seen = []

    class Recording(function):
        @staticmethod
        def backward(ctx, g1, g2):
            seen.extend(None if g is None else g.item() for g in (g1, g2))
            return g1 if g1 is not None else g2

    a = torch.tensor(1.0, requires_grad=True)
    use(*Recording.apply(a)).backward()
    return seen


lessons.predict(
    "b, _ = SimpleFunc.apply(a), and then b.backward(). What does backward receive as g1 and g2?",
    {
        "[1.0, 0.0]": "The second output plays no part in b, so its gradient arrives as zeros.",
        "[1.0, None]": "minigrad replaces a missing gradient with zeros, unless the Function asks for None.",
        "[1.0, 1.0]": "Both outputs are copies of a, but the loss uses only the first.",
        "[1.0]": "backward always has one argument for each output.",
    },
    lambda: incoming(SimpleFunc, lambda b, c: b),
)

# %% [markdown]
# Zeros are convenient: the formula needs no `if`. But minigrad creates and adds them for nothing, and for a large output
# they are a large tensor. `ctx.set_materialize_grads(False)` replaces them with `None`. The documentation changes the
# example like this:


# %%
# We modify SimpleFunc to handle non-materialized grad outputs
class Func(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.clone(), x.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, g1, g2):
        (x,) = ctx.saved_tensors
        grad_input = torch.zeros_like(x)
        if g1 is not None:  # We must check for None now
            grad_input += g1
        if g2 is not None:
            grad_input += g2
        return grad_input


a = torch.tensor(1.0, requires_grad=True)
b, _ = Func.apply(a)  # induces g2 to be undefined
b.backward()
print(a.grad)
assert a.grad.item() == 1.0

# %% [markdown]
# Compare the two Functions. `TripledAndMarked` has a marked output: `backward` receives zeros for it as well, even though
# the loss uses it.

# %%
print("SimpleFunc", incoming(SimpleFunc, lambda b, c: b * 5))
print("Func", incoming(Func, lambda b, c: b * 5))
print("TripledAndMarked", incoming(TripledAndMarked, lambda y, size: y * 5 + size * 7))
assert incoming(Func, lambda b, c: b * 5) == [5.0, None]
assert incoming(TripledAndMarked, lambda y, size: y * 5 + size * 7) == [5.0, 0.0]

# %% [markdown]
# With `None` instead of zeros, a formula without a check fails.


# %%
class Unprepared(Func):
    @staticmethod
    def backward(ctx, g1, g2):
        return g1 + g2


b, _ = Unprepared.apply(a)
message = message_of(b.backward)
print(message)
assert "g2, gradient 1, which is None: its output is not used" in message

# %% [markdown]
# ## Exercises
#
# ### 1. Which gradients come in?
#
# `forward` returns three floats, `a`, `b` and `c`, and marks `c` as not differentiable. It does not call
# `set_materialize_grads`. The loss is `2 * a + 3 * c`; `b` is unused. Which three gradients does `backward` receive? Give
# a list, with `None` where it receives `None`.

# %%
nondiff_received = ...

lessons.check("nondiff_received", nondiff_received)

# %% [markdown]
# ### 2. Clip, and say where
#
# This Function clips its input to the range from -1 to 1, and returns a mask with 1 where nothing was clipped. Fill in the
# gaps: the gradient passes where nothing was clipped, and the mask has none.


# %%
class NondiffClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        inside = (x.abs() <= 1).float()
        ...
        return x.clamp(-1, 1), inside

    @staticmethod
    def backward(ctx, *grads):
        return ...


lessons.check("NondiffClip", NondiffClip)

# %% [markdown]
# ### 3. Repair (at home)
#
# This Function splits numbers into the nearest whole number and the rest. The whole part should have no derivative, but
# its mark has no effect. `backward` also claims that the rest has no derivative, though the rest grows like `x`. Repair
# both.


# %%
class NondiffParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_non_differentiable(x.round())
        return x.round(), x - x.round()

    @staticmethod
    def backward(ctx, grad_whole, grad_rest):
        return torch.zeros_like(grad_rest)


lessons.check("NondiffParts", NondiffParts)

# %% [markdown]
# ### 4. No zeros (at home)
#
# Write a Function that returns `x`, `2 * x` and `3 * x` as three new tensors. Its backward must not receive zeros, and
# has to work whichever outputs are used.


# %%
class NondiffMultiples(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, g1, g2, g3): ...


lessons.check("NondiffMultiples", NondiffMultiples)

# %% [markdown]
# ## Summary
#
# - A marked output is a constant for later operations. Integers need no mark; floats do.
# - The mark belongs to the tensor that `forward` returns, not to its values.
# - An output without a mark has a gradient, and `backward` must use it. `torch.testing.check` finds a forgotten one.
# - For unused and marked outputs `backward` receives zeros, or `None` after `ctx.set_materialize_grads(False)`.
#
# ## Questions
#
# <details markdown="1">
# <summary>Is a marked output the same as a detached one?</summary>
#
# For later operations, yes: both are constants. But the mark is set inside `forward`, where the other outputs of the same
# Function keep their gradients.
#
# </details>
#
# <details markdown="1">
# <summary>When is <code>None</code> better than zeros?</summary>
#
# When an output is large and often unused. Then minigrad creates no zeros, and `backward` leaves out a term. The price is
# an `if` for each gradient.
#
# </details>
#
# <details markdown="1">
# <summary>Why can minigrad not find out by itself that a float has no derivative?</summary>
#
# It sees only the values that `forward` returns. A mask of ones and zeros looks like any other result, and in a Function
# any formula may have made it.
#
# </details>
