# %% [markdown]
# # Another system, differentiated twice
#
# *Needs lessons 13 and 19.*
#
# **My `backward` calls NumPy. Why does the second derivative fail?** Because the second derivative differentiates the
# computation of `backward`, and NumPy cuts that graph, too. A Function around NumPy repairs it.
#
# After this lesson you can:
#
# - write a `backward` in NumPy that can be differentiated again,
# - find a derivative that is lost in an array,
# - say when first derivatives are enough.

# %%
import numpy as np

import lessons
import minigrad as torch
from viz import draw


def to_numpy(tensor):
    return tensor.cpu().numpy()


# %% [markdown]
# `HastyFlip` reverses a list of numbers with NumPy. The derivative moves each gradient back to its place, so `backward`
# reverses the gradients, also with NumPy.


# %%
class HastyFlip(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.flip(to_numpy(x)).copy())

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return torch.tensor(np.flip(to_numpy(grad_output)).copy())


def hasty_cubes(x):
    return (HastyFlip.apply(x) ** 3).sum()


plain = torch.tensor([3.0, 1.0, 2.0])
print(torch.func.grad(hasty_cubes)(plain))
assert torch.func.grad(hasty_cubes)(plain).tolist() == [27.0, 3.0, 12.0]

# %% [markdown]
# The first derivative is right, $3x^2$. minigrad notices that the second one is lost.

# %%
try:
    torch.func.grad(lambda x: torch.func.grad(hasty_cubes)(x).sum())(plain)
except RuntimeError as e:
    print(e)
    assert "HastyFlip.backward" in str(e)
else:
    raise AssertionError("NumPy was differentiated")

# %% [markdown]
# If first derivatives are all you need, put `@once_differentiable` on such a backward: this states the limit in the code.
#
# ## A backward that is a Function
#
# The backward of a reversal is a reversal, and there is a Function for it: itself. Then backward is a step in the graph of
# the gradient, and that step knows its own backward. `NumpySort` and `NumpyTake` of lesson 19 do the same.


# %%
class NumpyFlip(HastyFlip):
    @staticmethod
    def backward(ctx, grad_output):
        return NumpyFlip.apply(grad_output)


def cubes(x):
    return (NumpyFlip.apply(x) ** 3).sum()


x = plain.clone().requires_grad_()
(gradient,) = torch.autograd.grad(cubes(x), x, create_graph=True)
second = torch.func.grad(lambda x: torch.func.grad(cubes)(x).sum())(plain)
print(second)
assert second.tolist() == [18.0, 6.0, 12.0]  # 6x
assert torch.autograd.gradgradcheck(cubes, plain.double().requires_grad_())
draw(gradient, passes=("forward", "backward"))

# %% [markdown]
# This is the graph of the gradient. `NumpyFlip` is in it twice: once for the result, and once for the gradient.
#
# ## A saved array is not a saved tensor
#
# There is a quieter way to lose a derivative: `backward` uses numbers that depend on `x`, but reads them from an array.


# %%
class ArrayTanh(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.tanh(to_numpy(x)))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.y = to_numpy(output.detach())  # an array on ctx

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.tensor(1 - ctx.y**2)


point = torch.tensor(0.5, requires_grad=True)
lessons.predict(
    "Does the gradient of ArrayTanh, computed with create_graph=True, require grad?",
    {
        True: "It is a product of grad_output and a constant, and as far as minigrad can see, neither depends on x.",
        False: "The array has no history, so the gradient is a number without a path back to x.",
    },
    lambda: torch.autograd.grad(ArrayTanh.apply(point), point, create_graph=True)[0].requires_grad,
)

# %%
try:
    torch.func.grad(torch.func.grad(ArrayTanh.apply))(point.detach())
except RuntimeError as e:
    print(e)
    assert "ArrayTanh.setup_context" in str(e)
else:
    raise AssertionError("an array was kept for two derivatives")

# %% [markdown]
# The first exercise repairs it.
#
# ## Exercises
#
# ### 1. Repair
#
# Repair the two wrong methods of `ArrayTanh`, so that second derivatives are right. `forward` still uses NumPy.


# %%
class NumpyTanh(ArrayTanh):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.y = to_numpy(output.detach())

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.tensor(1 - ctx.y**2)


lessons.check("NumpyTanh", NumpyTanh)

# %% [markdown]
# ### 2. A running sum
#
# Fill in `backward` of this running sum along dimension 0. Each number of the input is part of all sums from its position
# on, so its gradient is the sum of all gradients from its position on. Second derivatives have to work. (`flip(0)`
# reverses a tensor.)


# %%
class NumpyCumsum(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.tensor(np.cumsum(to_numpy(x), axis=0))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output): ...


lessons.check("NumpyCumsum", NumpyCumsum)

# %% [markdown]
# ### 3. Equations
#
# Write a Function whose `apply(A, b)` solves `A @ x = b` for a square matrix and a vector with `np.linalg.solve`. Both
# arguments need gradients. With the incoming gradient `g`, the gradient of `b` solves `A.T @ grad_b = g`, and the
# gradient of `A` is `-torch.outer(grad_b, x)`. Second derivatives have to work.


# %%
class NumpySolve(torch.autograd.Function):
    @staticmethod
    def forward(A, b): ...


lessons.check("NumpySolve", NumpySolve)

# %% [markdown]
# ## Summary
#
# - A `backward` that calls NumPy through a Function can be differentiated again; one that calls NumPy itself cannot.
# - Save tensors with `save_for_backward`. A saved array has no history, and its derivative is lost.
# - `@once_differentiable` turns a second derivative into an error.
#
# ## Questions
#
# <details markdown="1">
# <summary>When is <code>once_differentiable</code> enough?</summary>
#
# When no program differentiates the gradient: then `backward` may call NumPy itself, and the decorator makes a second
# derivative an error.
#
# </details>
#
# <details markdown="1">
# <summary>Why is a wrong second derivative hard to notice?</summary>
#
# The first derivative is right, so training works. Check it with `gradgradcheck`.
#
# </details>
