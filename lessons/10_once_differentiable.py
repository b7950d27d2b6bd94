# %% [markdown]
# # Derivatives of derivatives
#
# *25 minutes. Needs lessons 2, 6 and 9.*
#
# A gradient is made of operations, and these can be remembered like any others: then it has a derivative in its turn.
# You will ask for second derivatives, see in a picture what they go through, and write a `backward` that either can be
# differentiated again or says that it cannot.

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
# `torch.autograd.grad` returns gradients instead of adding them to `.grad`. By default they remember nothing: they are
# results, and the way to them is forgotten. A second derivative is then refused.

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
# With `create_graph=True` the backward pass is recorded as it runs. The gradient of $x^3$ is then $3x^2$ not only as a
# number but as a graph, and its derivative is $6x$.

# %%
(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
(curvature,) = torch.autograd.grad(slope, x, create_graph=True)
(third,) = torch.autograd.grad(curvature, x)
print(slope, curvature, third, sep="\n")
assert [t.item() for t in (slope, curvature, third)] == [75.0, 30.0, 6.0]

# %% [markdown]
# ## Your backward is recorded too
#
# The same holds for a Function of your own, as long as its `backward` is made of operations on tensors, and begins with
# tensors that are tracked: the incoming gradient, and what `ctx.saved_tensors` gives back of forward's inputs and
# outputs.


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
# The graph behind `slope` is what `backward` has computed from `x`, the parameter in the picture. Its first product,
# `grad_output * 3`, is an input there, as the incoming gradient is the constant 1. `Cube` itself is not in it, only what
# it has saved: `x`. So the second derivative goes through the formula that you have written, and not through `forward`.

# %%
draw(slope, passes=("forward", "backward"))

# %% [markdown]
# ## What forward has computed has no memory
#
# `forward` runs with recording off. A tensor made there has no history: saved and used in `backward`, it is a constant.
# This Function saves work by computing its slope in `forward`. Its first derivative is right.


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
# The derivatives of $x^6$ at 1 are 6 and 30. The 18 is wrong, and nothing was said: of the product rule only the term
# is there in which the incoming gradient changes; the 12 of the term in which the slope changes are missing. In the
# picture the kept slope, 3, is an input to which no path from `x`, at the top, leads.

# %%
x = torch.tensor(1.0, requires_grad=True)
(slope,) = torch.autograd.grad(KeptSlope.apply(x) ** 2, x, create_graph=True)
draw(slope)

# %% [markdown]
# `torch.debug()` follows what `forward` computes, and says what will be missed and where it was made. The remedy is
# that of `Cube`: save the input and compute the slope in `backward`. (Lesson 16 shows another one, which keeps the work
# in `forward`.)

# %%
with warnings.catch_warnings(record=True) as said, torch.debug():
    warnings.simplefilter("always")
    torch.autograd.grad(KeptSlope.apply(x) ** 2, x, create_graph=True)
print(said[0].message)
assert "saved-intermediate" in str(said[0].message)

# %% [markdown]
# ## A backward that leaves the graph
#
# Some backwards cannot be recorded at all, because they compute in another system: NumPy, a simulator, a kernel of your
# own. Their results come back as bare numbers. Here is one, and what happens when it is differentiated again.


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
# The decorator `once_differentiable` states that a `backward` cannot be differentiated. It stands below
# `@staticmethod`. First derivatives work as before, and with `create_graph=True` the gradient gets a history that
# refuses to be walked.


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
# The decorator forbids the second derivative, also where it would be right. This is `SimpleFunc` of lesson 9, from
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
# So: a `backward` of tensor operations that reads inputs and outputs stays without the decorator. One that leaves the
# graph, or reads what `forward` has computed besides, gets it. `gradgradcheck` of lesson 12 tests that a Function keeps
# the promise.
#
# ## Exercises
#
# ### 1. The missing part
#
# `Square.backward` returns `grad_output * slope`, where `slope` is `2 * x`, computed and saved in `forward`. The second
# derivative of `Square.apply(x) ** 2`, which is $x^4$, should be 108 at `x = 3`. Which number comes instead? Work it
# out by hand.

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
# First derivatives have to be right, a second one has to be refused.


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
# Some trainings ask a function not to be steep. Write the penalty: the sum of the squares of the gradient of `f(x)` by
# `x`, where `f` gives a single number and `x` requires grad. The penalty has to be differentiable, by `x` and by
# whatever else `f` uses.


# %%
def second_penalty(f, x): ...


lessons.check("second_penalty", second_penalty)

# %% [markdown]
# ### 5. As often as you like
#
# Write the function that gives the `n`-th derivative of `f` at the number `at`, as a number; for `n = 0` it is the
# value. `f` takes and gives a tensor with one number, and has more derivatives than you are asked for.


# %%
def second_and_more(f, at, n): ...


lessons.check("second_and_more", second_and_more)
