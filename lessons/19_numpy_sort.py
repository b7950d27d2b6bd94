# %% [markdown]
# # Calling another system
#
# *20 minutes. Needs lessons 3, 12, 15 and 17.*
#
# **A step of my program uses NumPy. Can gradients go through it?** Yes, if you supply its derivative: NumPy, a C library
# or a simulator can be one step of a graph. Here it is NumPy's sort.
#
# After this lesson you can:
#
# - wrap a NumPy function as a `Function`,
# - say where sorting sends each gradient,
# - write a `backward` in NumPy that can be differentiated again,
# - find a derivative that is lost in an array.

# %%
import numpy as np

import lessons
import minigrad as torch
from viz import draw


def to_numpy(tensor):
    return tensor.cpu().numpy()


class NumpySort(torch.autograd.Function):
    # Note that forward does not take ctx
    @staticmethod
    def forward(x, dim):
        device = x.device
        x = to_numpy(x)
        ind = np.argsort(x, axis=dim)
        ind_inv = np.argsort(ind, axis=dim)
        result = np.take_along_axis(x, ind, axis=dim)
        # Any intermediates to be saved in backward must be returned as
        # outputs.
        return (
            torch.tensor(result, device=device),
            torch.tensor(ind, device=device),
            torch.tensor(ind_inv, device=device),
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, dim = inputs
        _, ind, ind_inv = output
        ctx.mark_non_differentiable(ind, ind_inv)
        ctx.save_for_backward(ind, ind_inv)
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        # For the autograd.Function to be arbitrarily composable with function
        # transforms, all staticmethod other than forward and setup_context
        # must be implemented in a "transformable" way; that is, they must
        # only consist of PyTorch operations or autograd.Function.
        #
        # For example, this allows us to do double backwards and/or compute
        # second order gradients.
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None


class NumpyTake(torch.autograd.Function):
    @staticmethod
    def forward(x, ind, ind_inv, dim):
        device = x.device
        x = to_numpy(x)
        ind = to_numpy(ind)
        return torch.tensor(np.take_along_axis(x, ind, dim), device=device)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ind, ind_inv, dim = inputs
        ctx.save_for_backward(ind, ind_inv)
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad_output):
        ind, ind_inv = ctx.saved_tensors
        result = NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim)
        return result, None, None, None


def numpy_sort(x, dim=-1):
    result, _, _ = NumpySort.apply(x, dim)
    return result


weights = torch.tensor([1.0, 10.0, 100.0])


def weighted(x):
    return (numpy_sort(x) * weights).sum()


x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
draw(weighted, x, passes=("forward", "backward"))

# %% [markdown]
# NumPy sorts inside `NumpySort`, and the gradients come back in the order of `x`: the largest number gets the 100.
#
# ## What NumPy does to a graph
#
# A NumPy array has no history. So a tensor that requires grad does not convert to one by itself.

# %%
try:
    np.sort(x)
except RuntimeError as e:
    print(e)
    assert "detach().numpy()" in str(e)
else:
    raise AssertionError("a graph was cut silently")

# %% [markdown]
# `detach` gives you the values. But the result is a new leaf, without a path back to `x`.

# %%
cut = torch.tensor(np.sort(x.detach().numpy()))
print(cut)
assert cut.tolist() == [1.0, 2.0, 3.0] and not cut.requires_grad

# %% [markdown]
# ## The derivative of sorting
#
# Sorting only moves numbers. So the derivative moves gradients back to the original positions. That takes two
# permutations, one the inverse of the other:
#
# $$y_k = x_{\mathrm{ind}[k]} \qquad x_i = y_{\mathrm{ind\_inv}[i]} \qquad
# \bar x_i = \bar y_{\mathrm{ind\_inv}[i]}$$
#
# where $\bar x$ and $\bar y$ are the gradients. `ind` says which element goes to each position, and `ind_inv` says to
# which position each element goes.

# %%
values = np.array([3.0, 1.0, 2.0], dtype=np.float32)
ind = np.argsort(values)
ind_inv = np.argsort(ind)
print(ind, ind_inv)
assert ind.tolist() == [1, 2, 0]  # the smallest is element 1, then come elements 2 and 0
assert ind_inv.tolist() == [2, 0, 1]  # element 0 goes to position 2, element 1 to 0, element 2 to 1


def gradient_of_unsorted(numbers):
    """Return the gradient of the numbers if the sorted ones have the gradient 1, 10, 100."""
    return np.take_along_axis(np.array([1.0, 10.0, 100.0]), np.argsort(np.argsort(numbers)), axis=0)


assert gradient_of_unsorted(values).tolist() == [100.0, 1.0, 10.0]

lessons.predict(
    "The sorted numbers have the gradient [1, 10, 100]. Which gradient do the numbers [20, 30, 10] get?",
    {
        "[10.0, 100.0, 1.0]": "20 is second in the sorted order, 30 third and 10 first.",
        "[1.0, 10.0, 100.0]": "That is the order of the sorted numbers. The 1 belongs to the smallest, which is element 2.",
        "[100.0, 1.0, 10.0]": "That uses ind, [2, 0, 1]. The way back is ind_inv, [1, 2, 0].",
        "[200.0, 3000.0, 10.0]": "Sorting moves numbers and does not multiply by them: each derivative is 1 or 0.",
    },
    lambda: gradient_of_unsorted([20, 30, 10]),
)

# %% [markdown]
# ## NumpySort
#
# The two Functions at the top of the lesson are from PyTorch's documentation, "Extending torch.func with
# autograd.Function", with fewer comments. The forward of `NumpySort` calls NumPy. It may, because nothing is recorded
# inside `forward`. The backward calls a second Function, `NumpyTake`, and the backward of `NumpyTake` is `NumpyTake`
# again, with the indices swapped.
#
# `forward` computes the permutations, but only `setup_context` can save them, and it sees only inputs and outputs. So
# they are outputs too. A position in a list has no derivative, so `mark_non_differentiable` marks them. The function
# `numpy_sort` hides them from the caller.

# %%
print([output.requires_grad for output in NumpySort.apply(x, -1)])
assert [output.requires_grad for output in NumpySort.apply(x, -1)] == [True, False, False]

# %% [markdown]
# The documentation tests the sum of the sorted numbers: each gradient is 1. That holds for any permutation, even for a
# wrong one. Different weights are a better test, and so is `gradcheck`.

# %%
some = torch.randn(2, 3)
grad_x = torch.func.grad(lambda x: numpy_sort(x).sum())(some)
assert torch.allclose(grad_x, torch.ones_like(some))

print(torch.func.grad(weighted)(x.detach()))
assert torch.func.grad(weighted)(x.detach()).tolist() == [100.0, 1.0, 10.0]

different = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(numpy_sort, different)
tie = torch.tensor([2.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
assert not torch.autograd.gradcheck(numpy_sort, tie, raise_exception=False)

# %% [markdown]
# The last check fails: where two numbers are equal, sorting has no derivative (lesson 16), and `backward` returns one of
# several possible answers.
#
# ## Why backward calls a Function
#
# It would be shorter to call NumPy in `backward` as well, like this.


# %%
class HastySort(NumpySort):
    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        ind, ind_inv = ctx.saved_tensors
        return torch.tensor(np.take_along_axis(to_numpy(grad_output), to_numpy(ind_inv), ctx.dim)), None


def hasty_cubes(x):
    result, _, _ = HastySort.apply(x, -1)
    return (result**3).sum()


plain = x.detach()
assert torch.func.grad(hasty_cubes)(plain).tolist() == [27.0, 3.0, 12.0]

# %% [markdown]
# First derivatives are right. The second derivative differentiates the computation of `backward`, and there NumPy cuts
# the graph. minigrad notices it.

# %%
try:
    torch.func.grad(lambda x: torch.func.grad(hasty_cubes)(x).sum())(plain)
except RuntimeError as e:
    print(e)
    assert "HastySort.backward" in str(e)
else:
    raise AssertionError("NumPy was differentiated")

# %% [markdown]
# If first derivatives are all you need, put `@once_differentiable` on such a backward: this states the limit in the code.
#
# `NumpySort` can go on: its backward is a step in the graph of the gradient, and that step knows its own backward.


# %%
def cubes(x):
    return (numpy_sort(x) ** 3).sum()


second = torch.func.grad(lambda x: torch.func.grad(cubes)(x).sum())(plain)
print(second)
assert second.tolist() == [18.0, 6.0, 12.0]  # 6x, at the positions of x
assert torch.autograd.gradgradcheck(cubes, different)

# %% [markdown]
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
# The third exercise repairs it.
#
# ## Exercises
#
# ### 1. Where the gradient goes
#
# Work out by hand the gradient of `(numpy_sort(x) * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum()` at
# `x = [30.0, 10.0, 40.0, 20.0]`. Give a list.

# %%
sorting_gradient = ...

lessons.check("sorting_gradient", sorting_gradient)

# %% [markdown]
# ### 2. The way back
#
# Write a function that takes a permutation, as a NumPy array of ints such as `ind` above, and returns its inverse, also
# as an array: the element at position `ind[k]` is `k`. Can you do it without sorting?


# %%
def inverse_permutation(ind): ...


lessons.check("inverse_permutation", inverse_permutation)

# %% [markdown]
# ### 3. Repair
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
# ### 4. A running sum
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
# ### 5. Equations (at home)
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
# - NumPy cuts the graph; a `Function` around it is one step of the graph, with your derivative.
# - Sorting moves numbers, so its backward moves gradients back, along the inverse permutation.
# - A `backward` that calls NumPy through a Function can be differentiated again; one that calls NumPy itself cannot.
# - Save tensors with `save_for_backward`. A saved array has no history, and its derivative is lost.
#
# ## Questions
#
# <details markdown="1">
# <summary>Why does <code>forward</code> return the permutations, even though no caller needs them?</summary>
#
# In the separate form, `setup_context` saves tensors, and it sees only the inputs and outputs of `forward`.
#
# </details>
#
# <details markdown="1">
# <summary>The gradient of <code>numpy_sort(x).sum()</code> is all ones. Why is that a weak test?</summary>
#
# Every permutation of ones is ones, so a wrong order gives the same gradient. Use a different weight for each position.
#
# </details>
#
# <details markdown="1">
# <summary>When is <code>once_differentiable</code> enough?</summary>
#
# When no program differentiates the gradient: then `backward` may call NumPy itself, and the decorator makes a second
# derivative an error.
#
# </details>
