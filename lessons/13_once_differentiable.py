# %% [markdown]
# # Derivatives of derivatives
#
# *Needs lessons 2, 7 and 12.*
#
# **Can I differentiate a gradient?** Yes: minigrad records the operations of `backward` like any others. But your own
# `backward` must allow it, and some cannot.
#
# After this lesson you can:
#
# - compute second and third derivatives with `create_graph=True`,
# - write a `backward` that can be differentiated again,
# - find a second derivative that is silently wrong,
# - make a `backward` that cannot be differentiated raise an error.

# %%
import warnings

import numpy as np

import lessons
import minigrad as torch
from minigrad.autograd import Function
from minigrad.autograd.function import once_differentiable
from viz import draw

# %% [markdown]
# A cube, and its gradient, computed with `create_graph=True`.


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


x = torch.tensor(5.0, requires_grad=True)
(slope,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
draw(slope, passes=("forward", "backward"))

# %% [markdown]
# This is the graph of a gradient. Its forward pass consists of the operations of `Cube.backward`, so it has a backward
# pass, too, which leads to the second derivative, 30.
#
# ## A gradient that remembers
#
# `torch.autograd.grad` returns gradients instead of adding them to `.grad`. By default they have no history, so a
# second derivative raises an error.

# %%
(slope,) = torch.autograd.grad(x**3, x)
print(slope)
assert slope.item() == 75.0 and slope.grad_fn is None

try:
    torch.autograd.grad(slope, x)
except RuntimeError as e:
    print(e)
    assert "create_graph=True" in str(e)
else:
    raise AssertionError("a gradient without history was differentiated")

# %% [markdown]
# With `create_graph=True`, minigrad records the backward pass as it runs. The gradient of $x^3$ is then $3x^2$ as a graph,
# and its derivative is $6x$.

# %%
(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
(curvature,) = torch.autograd.grad(slope, x, create_graph=True)
(third,) = torch.autograd.grad(curvature, x)
print(slope, curvature, third, sep="\n")
assert [t.item() for t in (slope, curvature, third)] == [75.0, 30.0, 6.0]

# %% [markdown]
# ## Your backward is recorded too
#
# The same holds for your own Function if its `backward` consists of operations on tensors and starts from tracked
# tensors: the incoming gradient, and forward's inputs and outputs from `ctx.saved_tensors`. Look at the first picture again. `Cube` itself is not in it, only its saved tensor, `x`. So the second derivative goes
# through the formula that you wrote, not through `forward`.
#
# ## Intermediate results of forward have no history
#
# `forward` runs with recording off. A tensor created there has no history, so in `backward` it is a constant. This
# Function computes its slope in `forward`. Its first derivative is right.


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


lessons.predict(
    "KeptSlope.apply(x) ** 2 is the sixth power of x, with derivatives 6 and 30 at x = 1. What does minigrad compute?",
    {
        (6.0, 30.0): "The saved slope has no history, so a part of the second derivative is lost.",
        (6.0, 18.0): "The first derivative needs only numbers. The second lacks the term of the changing slope, 12.",
        (6.0, 0.0): "The incoming gradient changes with x, too, and its term is there.",
        (0.0, 0.0): "The saved number is right, and the first derivative needs no more.",
    },
    lambda: two_derivatives(lambda x: KeptSlope.apply(x) ** 2, 1.0),
)

# %% [markdown]
# The 18 is silently wrong. $g(x)$ is the incoming gradient and $s(x)$ the slope; the product rule needs both terms:
#
# $$(g\,s)' = g'\,s + g\,s' \qquad 30 = 18 + 12$$
#
# The term of the changing slope is missing. In the picture the saved slope, 3, is an input without a path from `x`, at the
# top.

# %%
assert two_derivatives(lambda x: Cube.apply(x) ** 2, 1.0) == (6.0, 30.0)
x = torch.tensor(1.0, requires_grad=True)
(slope,) = torch.autograd.grad(KeptSlope.apply(x) ** 2, x, create_graph=True)
draw(slope)

# %% [markdown]
# `torch.debug()` names the missing term and the line that created it. The fix: save the input and compute the slope in
# `backward`, as `Cube` does. (Lesson 20 shows another, which keeps the work in `forward`.)

# %%
with warnings.catch_warnings(record=True) as caught, torch.debug():
    warnings.simplefilter("always")
    torch.autograd.grad(KeptSlope.apply(x) ** 2, x, create_graph=True)
print(caught[0].message)
assert "saved-intermediate" in str(caught[0].message)

# %% [markdown]
# ## A backward that leaves the graph
#
# Some backward methods cannot be recorded at all, because they compute in another system: NumPy, a simulator, your own
# kernel. Here is one, differentiated twice.


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


def curvature_with_numpy():
    """Return the second derivative of x**6 + x**2 at 1, with NumpyCube for the cube."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return two_derivatives(lambda x: NumpyCube.apply(x) ** 2 + x**2, 1.0)[1]


lessons.predict(
    "Which second derivative does minigrad compute for NumpyCube.apply(x) ** 2 + x ** 2 at x = 1?",
    {
        32.0: "30 + 2 is right. But NumPy leaves no history, so the part of NumpyCube is lost.",
        20.0: "That would be the mistake of KeptSlope, 18 + 2. Here the incoming gradient loses its history, too.",
        2.0: "Only the square is left: everything that NumpyCube.backward returns is a constant.",
        0.0: "The gradient of the square still has a graph.",
    },
    curvature_with_numpy,
)

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(two_derivatives(lambda x: NumpyCube.apply(x) ** 2 + x**2, 1.0))
print(caught[0].message)
assert "untracked-backward" in str(caught[0].message)

# %% [markdown]
# The slope, 8, is right. minigrad warns; PyTorch does not.
#
# ## once_differentiable
#
# The decorator `once_differentiable` states that a `backward` cannot be differentiated. Put it below `@staticmethod`.
# First derivatives work as before. With `create_graph=True` the gradient gets a history that raises an error.


# %%
class OnceCube(NumpyCube):
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
# The error comes only with the second derivative.
#
# ## When not to use it
#
# The decorator forbids the second derivative, even where it would be right. `SimpleFunc` of lesson 12, from PyTorch's
# documentation, is an example: its `backward` adds two gradients, and a sum can be differentiated again.


# %%
class SimpleFunc(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone(), x.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, g1, g2):
        return g1 + g2  # No check for None necessary


def cube_of_copies(x):
    b, c = SimpleFunc.apply(x)
    return b * b * c


try:
    two_derivatives(cube_of_copies, 5.0)  # without the decorator: 75 and 30
except RuntimeError as e:
    print(str(e).splitlines()[0])
else:
    raise AssertionError("SimpleFunc was differentiated twice")

# %% [markdown]
# So a `backward` of tensor operations that reads inputs and outputs needs no decorator. One that leaves the graph, or
# reads intermediate results of `forward`, does. `gradgradcheck` of lesson 16 tests second derivatives.
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
# ### 4. A penalty on slopes (at home)
#
# Some training needs a function that is not too steep. Write the penalty: the sum of the squares of the gradient of
# `f(x)` with respect to `x`, where `f` returns a single number and `x` requires grad. The penalty must be differentiable
# with respect to `x` and all other tensors that `f` uses.


# %%
def second_penalty(f, x): ...


lessons.check("second_penalty", second_penalty)

# %% [markdown]
# ### 5. As often as you like (at home)
#
# Write a function that returns the `n`-th derivative of `f` at the number `at`, as a number; for `n = 0` it is the
# value. `f` takes and returns a tensor with one number, and has more derivatives than you need.


# %%
def second_and_more(f, at, n): ...


lessons.check("second_and_more", second_and_more)

# %% [markdown]
# ## Summary
#
# - With `create_graph=True`, the backward pass is recorded and can be differentiated.
# - The second derivative follows the formula in `backward`, so the formula must start from inputs, outputs and the
#   incoming gradient.
# - A tensor that `forward` creates and saves, but does not return, is a constant: second derivatives are silently wrong.
# - A `backward` that leaves the graph needs `once_differentiable`: a second derivative then raises an error.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why is <code>create_graph</code> not on by default?</summary>
#
# The recorded backward pass keeps its own tensors in memory, and most programs never differentiate a gradient.
#
# </details>
#
# <details markdown="1">
# <summary>May <code>backward</code> use a saved output of <code>forward</code>, as exp does?</summary>
#
# Yes. The saved output belongs to the graph: its history is the call of the Function, so its derivative is the formula
# of the same `backward`.
#
# </details>
#
# <details markdown="1">
# <summary>Does <code>once_differentiable</code> repair a wrong second derivative?</summary>
#
# No. It replaces a wrong number with an error. To repair it, write `backward` with operations on tracked tensors.
#
# </details>
