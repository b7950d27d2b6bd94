# %% [markdown]
# # Derivatives of derivatives
#
# *25 minutes. Needs lessons 2, 6 and 9.*
#
# A gradient is the result of operations, and minigrad can record these like any others: then the gradient has a
# derivative itself. You will compute second derivatives, see their path in a picture, and write a `backward` that
# either can be differentiated again or raises an error.

# %%
import warnings

import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function
from minigrad.autograd.function import once_differentiable
from viz import draw

# %% [markdown]
# ## A gradient that remembers
#
# `torch.autograd.grad` returns gradients instead of adding them to `.grad`. By default they have no history, so a
# second derivative raises an error.

# %%
x = torch.tensor(5.0, requires_grad=True)
(slope,) = torch.autograd.grad(x**3, x)
print(slope)
assert slope.item() == 75.0 and slope.grad_fn is None

try:
    torch.autograd.grad(slope, x)
except RuntimeError as e:
    print(e)
    assert "create_graph=True" in str(e)
else:
    raise AssertionError("a gradient without memory was differentiated")

# %% [markdown]
# With `create_graph=True`, minigrad records the backward pass as it runs. The gradient of $x^3$ is then $3x^2$ not only
# as a number but as a graph, and its derivative is $6x$.

# %%
(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
(curvature,) = torch.autograd.grad(slope, x, create_graph=True)
(third,) = torch.autograd.grad(curvature, x)
print(slope, curvature, third, sep="\n")
assert [t.item() for t in (slope, curvature, third)] == [75.0, 30.0, 6.0]

# %% [markdown]
# ## Your backward is recorded too
#
# The same holds for your own Function, as long as its `backward` consists of operations on tensors and begins with
# tracked tensors: the incoming gradient, and forward's inputs and outputs from `ctx.saved_tensors`.


# %%
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x * x


(slope,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
(curvature,) = torch.autograd.grad(slope, x, retain_graph=True)  # the picture below walks the graph once more
print(slope.item(), curvature.item())
assert (slope.item(), curvature.item()) == (75.0, 30.0)

# %% [markdown]
# The graph behind `slope` holds the operations of `backward` on `x`, the parameter in the picture. Its first product,
# `grad_output * 3`, is an input there, as the incoming gradient is the constant 1. `Cube` itself is not in it, only its
# saved tensor, `x`. So the second derivative goes through the formula that you wrote, not through `forward`.

# %%
draw(slope, passes=("forward", "backward"))

# %% [markdown]
# ## Intermediate results of forward have no history
#
# `forward` runs with recording off. A tensor created there has no history: saved and used in `backward`, it is a
# constant. This Function saves work by computing its slope in `forward`. Its first derivative is right.


# %%
class KeptSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x * x)  # neither an input nor an output
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (kept,) = ctx.saved_tensors
        return grad_output * kept


def two_derivatives(f, at):
    """Return the first and second derivative of f, as numbers."""
    x = torch.tensor(at, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, x)
    return slope.item(), curvature.item()


print(two_derivatives(lambda x: Cube.apply(x) ** 2, 1.0))
print(two_derivatives(lambda x: KeptSlope.apply(x) ** 2, 1.0))
assert two_derivatives(lambda x: Cube.apply(x) ** 2, 1.0) == (6.0, 30.0)
assert two_derivatives(lambda x: KeptSlope.apply(x) ** 2, 1.0) == (6.0, 18.0)

# %% [markdown]
# The derivatives of $x^6$ at 1 are 6 and 30. The 18 is silently wrong: of the product rule, only the term of the
# changing incoming gradient is there; the term of the changing slope, 12, is missing. In the picture the saved slope,
# 3, is an input without a path from `x`, at the top.

# %%
x = torch.tensor(1.0, requires_grad=True)
(slope,) = torch.autograd.grad(KeptSlope.apply(x) ** 2, x, create_graph=True)
draw(slope)

# %% [markdown]
# `torch.debug()` follows the computations of `forward`, and names the missing term and the line that created it. The
# fix is the one of `Cube`: save the input and compute the slope in `backward`. (Lesson 16 shows another, which keeps
# the work in `forward`.)

# %%
with warnings.catch_warnings(record=True) as said, torch.debug():
    warnings.simplefilter("always")
    torch.autograd.grad(KeptSlope.apply(x) ** 2, x, create_graph=True)
print(said[0].message)
assert "saved-intermediate" in str(said[0].message)

# %% [markdown]
# ## A backward that leaves the graph
#
# Some backward methods cannot be recorded at all, because they compute in another system: NumPy, a simulator, your own
# kernel. Their results come back as bare numbers. Here is one, differentiated twice.


# %%
class NumpyCube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tensor(np.power(x.numpy(), 3))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.tensor(grad_output.detach().numpy() * 3 * x.detach().numpy() ** 2)


x = torch.tensor(1.0, requires_grad=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    (slope,) = torch.autograd.grad(NumpyCube.apply(x) ** 2 + x**2, x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, x)
print(slope.item(), curvature.item())
print(said[0].message)
assert curvature.item() == 2.0, "30 + 2 is right; all of what NumpyCube should give is lost"
assert "untracked-backward" in str(said[0].message)

# %% [markdown]
# The slope is right, the curvature is 2 where it should be 32. minigrad warns; PyTorch says nothing here.
#
# ## once_differentiable
#
# The decorator `once_differentiable` states that a `backward` cannot be differentiated. Put it below `@staticmethod`.
# First derivatives work as before, and with `create_graph=True` the gradient gets a history that raises an error when
# walked.


# %%
class OnceCube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tensor(np.power(x.numpy(), 3))

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.tensor(grad_output.detach().numpy() * 3 * x.detach().numpy() ** 2)


(slope,) = torch.autograd.grad(OnceCube.apply(x) ** 2 + x**2, x, create_graph=True)
assert slope.item() == 8.0
try:
    torch.autograd.grad(slope, x)
except RuntimeError as e:
    print(e)
    assert "twice" in str(e) and "OnceCube" in str(e)
else:
    raise AssertionError("a once_differentiable backward was differentiated")

# %% [markdown]
# The error comes only with the second derivative, not before: a gradient whose history is never used does no harm. In
# the picture, `delayed_error` stands where the lost part of the graph would be.

# %%
(slope,) = torch.autograd.grad(OnceCube.apply(x), x, create_graph=True)
draw(slope)

# %% [markdown]
# ## When not to use it
#
# The decorator forbids the second derivative, even where it would be right. This is `SimpleFunc` of lesson 9, from
# PyTorch's documentation, which adds two gradients; a sum can well be differentiated.


# %%
class SimpleFunc(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone(), x.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, g1, g2):
        return g1 + g2  # No check for None necessary


class SumOfTwo(SimpleFunc):
    @staticmethod
    def backward(ctx, g1, g2):
        return g1 + g2


def product_of_copies(function):
    """x * x * x, from two copies of x."""

    def f(x):
        b, c = function.apply(x)
        return b * b * c

    return f


try:
    two_derivatives(product_of_copies(SimpleFunc), 5.0)
except RuntimeError as e:
    print(str(e).splitlines()[0])
else:
    raise AssertionError("SimpleFunc was differentiated twice")
print(two_derivatives(product_of_copies(SumOfTwo), 5.0))
assert two_derivatives(product_of_copies(SumOfTwo), 5.0) == (75.0, 30.0)

# %% [markdown]
# So a `backward` of tensor operations that reads inputs and outputs needs no decorator. One that leaves the graph, or
# reads intermediate results of `forward`, does. `gradgradcheck` of lesson 12 tests that a Function keeps the promise.
#
# ## Exercises
#
# ### 1. The missing part
#
# `Square.backward` returns `grad_output * slope`, where `slope` is `2 * x`, computed and saved in `forward`. The second
# derivative of `Square.apply(x) ** 2`, which is $x^4$, should be 108 at `x = 3`. Which number comes out instead? Work
# it out by hand.

# %%
second_missed = ...

lessons.check("second_missed", second_missed)

# %% [markdown]
# ### 2. Repair a root
#
# The first derivative of `SecondRoot` is right, the second is not. Change it so that all derivatives are right.


# %%
class SecondRoot(Function):
    @staticmethod
    def forward(ctx, x):
        root = x.sqrt()
        ctx.save_for_backward(0.5 / root)
        return root

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return grad_output * slope


lessons.check("SecondRoot", SecondRoot)

# %% [markdown]
# ### 3. Only once
#
# Write `OnceExp`, the exponential function, with `np.exp` in `forward` and a `backward` that computes in NumPy as well.
# First derivatives have to be right; a second one has to raise an error.


# %%
class OnceExp(Function):
    @staticmethod
    def forward(ctx, x): ...

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("OnceExp", OnceExp)

# %% [markdown]
# ### 4. A penalty on slopes
#
# Some training needs a function that is not steep. Write the penalty: the sum of the squares of the gradient of `f(x)`
# by `x`, where `f` returns a single number and `x` requires grad. The penalty has to be differentiable by `x` and by
# all other tensors that `f` uses.


# %%
def second_penalty(f, x): ...


lessons.check("second_penalty", second_penalty)

# %% [markdown]
# ### 5. As often as you like
#
# Write a function that returns the `n`-th derivative of `f` at the number `at`, as a number; for `n = 0` it is the
# value. `f` takes and returns a tensor with one number, and has more derivatives than you need.


# %%
def second_and_more(f, at, n): ...


lessons.check("second_and_more", second_and_more)
