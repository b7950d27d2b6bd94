# %% [markdown]
# # Gotchas
#
# *Needs lessons 13, 14, 16, 20 and 21.*
#
# **My gradient is wrong, and there was no error. Where do I look?** Look for a tensor that your Function hides: it is not an
# argument of `apply`, not saved by `save_for_backward`, or not an output. Autograd cannot follow such a tensor.
#
# After this lesson you can:
#
# - find a captured tensor, and pass it the right way
# - explain how a tensor on ctx or a computation in `setup_context` spoils a gradient
# - read minigrad's message about each mistake, and find all of them with one check

# %%
import warnings

import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function
from viz import draw

# %% [markdown]
# Two Functions for `x * w`: one takes `w` as an argument, the other finds it outside.


# %%
class Captures(Function):
    @staticmethod
    def forward(ctx, x):
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * w


class Takes(Function):
    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        return grad_output * w, grad_output * x


def outcome(f):
    """Return the result of a call with its first warning, or "an error" with the error's message."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = f()
        except Exception as e:
            return "an error", str(e)
    return result, str(caught[0].message) if caught else ""


def both(x, w):
    return Captures.apply(x) + Takes.apply(x, w)


x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
picture, warning = outcome(lambda: draw(both, x, w, passes=("forward", "backward")))
picture

# %% [markdown]
# Both Functions compute `x * w`, but no arrow leads from `w` to `Captures`. So half of the gradient of `w` is missing: it
# is 2, and should be 4.
#
# ## Captured tensors
#
# Only the arguments of `apply` get an edge. `Captures` takes `w` from outside. PyTorch computes this silently; minigrad warns
# when such a Function runs for the first time.

# %%
print(warning)
assert "captured-tensor" in warning
assert torch.autograd.grad(both(x, w), w) == (2.0,)

# %% [markdown]
# If `w` is used nowhere else, its gradient is None, which is easy to notice. A gradient that is partly right is worse.

# %%
Captures.apply(x).backward()
print(x.grad, w.grad)
assert x.grad.item() == 3.0 and w.grad is None


def gradient_of_w():
    return torch.autograd.grad(Captures.apply(x) * w, w)[0].item()


lessons.predict(
    "loss = Captures.apply(x) * w, with x = 2 and w = 3. Which gradient of w does backward compute?",
    {
        12.0: "That is the derivative of x * w * w, which is 2 * x * w. But Captures passes no gradient to w.",
        6.0: "Only the product with w counts, and its other factor is Captures.apply(x), which is 6.",
        "None": "The product with w is recorded, so w has a gradient: part of the right one.",
        "an error": "The graph leads to w, so there is no error.",
    },
    gradient_of_w,
)

# %% [markdown]
# If a transform differentiates with respect to a captured tensor, minigrad raises an error: the derivative would be lost.


# %%
def capture(w):
    """Return a Function that multiplies by w, a captured tensor."""

    class Times(Function):
        @staticmethod
        def forward(x):
            return x * w

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return Times


two, three = torch.tensor(2.0), torch.tensor(3.0)
_, error = outcome(lambda: torch.func.grad(lambda w: capture(w).apply(two))(three))
print(error)
assert "of the running `grad` transform" in error

# %% [markdown]
# The fix is always the same, and `Takes` shows it: pass every tensor that the result depends on to `apply`, and save it with
# `save_for_backward`.

# %%
assert torch.autograd.grad(Takes.apply(x, w), (x, w)) == (3.0, 2.0)
assert torch.func.grad(lambda w: Takes.apply(two, w))(three).item() == 2.0

# %% [markdown]
# A tensor in a list is no better than a captured one: `apply` does not look inside the list, and minigrad raises an error
# (lesson 14).
#
# ## Tensors on ctx
#
# Autograd checks the version of a saved tensor, but not of a tensor in an attribute of ctx (lesson 8). This Function keeps its
# input in such an attribute, in a list.


# %%
class OnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = [x]
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2 * ctx.kept[0]


class Saves(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


def gradient_after_write(function):
    z = torch.tensor(2.0, requires_grad=True)
    a = z * 1
    y = function.apply(a)
    a.mul_(10)
    y.backward()
    return z.grad.item()


lessons.predict(
    "The input of Saves is 2. Before backward, it is multiplied by 10 in place. What is the gradient?",
    {
        4.0: "That is the right gradient. But saving makes no copy, so the old value is gone.",
        40.0: "That is the result of OnCtx: it reads the new value, 20, and nothing checks that.",
        400.0: "The write comes after y, so the gradient does not pass through it.",
        "an error": "The saved tensor no longer has the version that it had when it was saved, and backward compares the two.",
    },
    lambda: outcome(lambda: gradient_after_write(Saves))[0],
)

# %%
gradient, warning = outcome(lambda: gradient_after_write(OnCtx))
_, error = outcome(lambda: gradient_after_write(Saves))
print(gradient, warning, "", error, sep="\n")
assert gradient == 40.0 and "ctx-attribute-changed" in warning
assert "modified by an inplace operation" in error

# %% [markdown]
# ## Computed in setup_context
#
# `setup_context` sees inputs and outputs, but no intermediate results of `forward`. It is tempting to compute one there. But
# that computation is not recorded, so its result is a constant. First derivatives are right, but second derivatives lack a
# term (lesson 13): here the second derivative is 6, and should be 12. `torch.debug()` finds the mistake.


# %%
class ComputesLate(Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(3 * x * x)

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


def second_derivative(f, at):
    x = torch.tensor(at, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(slope, x)[0].item()


late = second_derivative(lambda x: ComputesLate.apply(x) * x, 1.0)
print(late, second_derivative(lambda x: x**3 * x, 1.0))
assert (late, second_derivative(lambda x: x**3 * x, 1.0)) == (6.0, 12.0)

with torch.debug():
    _, message = outcome(lambda: second_derivative(lambda x: ComputesLate.apply(x) * x, 1.0))
print(message)
assert "saved-intermediate" in message

# %% [markdown]
# Compute the slope in `backward`, from saved inputs and outputs. Or return it as an output and add its gradient, as
# lesson 20 does: with $y = x^3$ and $s = 3x^2$, $\bar x = \bar y \, s + \bar s \cdot 6x$.
#
# A `backward` in NumPy loses the same term; lesson 44 shows its error.
#
# ## One check for all
#
# `torch.testing.check`, or `minigrad check` on the command line, searches for these mistakes. It also compares a vmap rule
# with a loop. The rule of `Sums` ignores that the batch dimension comes first, so it sums over the examples (lesson 21).


# %%
class Sums(Function):
    @staticmethod
    def forward(x):
        return x.cumsum(0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.flip(0).cumsum(0).flip(0)

    @staticmethod
    def vmap(info, in_dims, x):
        return Sums.apply(x), in_dims[0]


found = {}
for function, example in ((Captures, x), (OnCtx, x), (ComputesLate, x), (Sums, torch.ones(2))):
    failures = torch.testing.check(function, example).failures
    found[function.__name__] = [one.name for one in failures]
    print(function.__name__, *[f"{one.name}: {one.message}" for one in failures], sep="\n  ")
assert "captured tensors" in found["Captures"] and "tensors on ctx" in found["OnCtx"]
assert "second derivatives" in found["ComputesLate"] and "vmap" in found["Sums"]

# %% [markdown]
# ## Exercises
#
# ### 1. An input that changes
#
# `z` is 3. `a = z * 1`, `y = OnCtx.apply(a)`, then `a.mul_(2)` and `y.backward()`. Compute `z.grad`.

# %%
gotcha_written = ...

lessons.check("gotcha_written", gotcha_written)

# %% [markdown]
# ### 2. A captured weight
#
# Repair `GotchaDense` so that `GotchaDense.apply(x, weight)` has the right gradients for both, also under `torch.func.grad`.
# `x` is a vector, and the result is `weight @ x`.

# %%
weight = torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]], requires_grad=True)


class GotchaDense(Function):
    @staticmethod
    def forward(ctx, x):
        return weight @ x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output @ weight


lessons.check("GotchaDense", GotchaDense)

# %% [markdown]
# ### 3. Two mistakes at once (at home)
#
# `GotchaReciprocal` makes two of this lesson's mistakes. Repair it so that its second derivative is right, too. `apply` should
# still return one tensor, `1 / x`.


# %%
class GotchaReciprocal(Function):
    @staticmethod
    def forward(x):
        return 1 / x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.kept = {"x": x}
        ctx.save_for_backward(-1 / (x * x))

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


lessons.check("GotchaReciprocal", GotchaReciprocal)

# %% [markdown]
# ### 4. A vmap rule for NumPy (at home)
#
# `GotchaSums.apply(x, dim)` computes cumulative sums along the dimension `dim`, which counts from 0. Write a rule for `vmap`
# that replaces the generated one. The batch may be any dimension of `x`.


# %%
class GotchaSums(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, dim):
        return torch.tensor(np.cumsum(x.numpy(), axis=dim))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return GotchaSums.apply(grad_output.flip(ctx.dim), ctx.dim).flip(ctx.dim), None


lessons.check("GotchaSums", GotchaSums)

# %% [markdown]
# ## Summary
#
# - Pass every tensor to `apply`; a captured one gets no gradient.
# - Save tensors with `save_for_backward`; an attribute of ctx may change before backward reads it.
# - Save only inputs and outputs; a tensor computed in `setup_context` is a constant.
# - `backward` and `vmap` have to be transformable: no NumPy there.
# - Run `torch.testing.check` on each new Function.
#
# ## Questions
#
# <details markdown="1">
# <summary>A Function captures a tensor that does not require grad, such as a mask. Is that a mistake?</summary>
#
# No. Its gradient is not needed, so none is lost. It becomes a mistake as soon as the tensor requires grad or a transform
# differentiates it, so passing it as an argument is safer.
#
# </details>
#
# <details markdown="1">
# <summary>Which of these mistakes does a test of first derivatives miss?</summary>
#
# A tensor computed in `setup_context`, and a `backward` in NumPy: both give the right first derivatives. A tensor on ctx gives
# the right gradient as long as no code writes to it.
#
# </details>
#
# <details markdown="1">
# <summary>Why does autograd not simply record the operations in <code>forward</code>?</summary>
#
# Then it would compute the derivative of `forward`, and a Function exists to replace that derivative: with a better formula,
# or because `forward` calls another library. So it records one step, with the edges that you declare.
#
# </details>
