# %% [markdown]
# # Calling another system
#
# *Needs lessons 3, 12, 15 and 17.*
#
# **A step of my program uses NumPy. Can gradients go through it?** Yes, if you supply its derivative: NumPy, a C library
# or a simulator can be one step of a graph. Here it is NumPy's sort.
#
# After this lesson you can:
#
# - wrap a NumPy function as a `Function`,
# - say where sorting sends each gradient,
# - tell which programs keep the graph and which cut it.

# %%
import numpy as np

import lessons
import minigrad as torch
from viz import draw

x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
try:
    np.sort(x)
except RuntimeError as e:
    print(e)
    assert "detach().numpy()" in str(e)
else:
    raise AssertionError("a graph was cut silently")

# %% [markdown]
# A NumPy array has no history. So a tensor that requires grad does not convert to one by itself. `detach` gives you the
# values. But the result is a new leaf, without a path back to `x`.

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
# These two Functions are from PyTorch's documentation, "Extending torch.func with autograd.Function". `forward` may call
# NumPy, because nothing is recorded inside it. It computes the permutations, but only `setup_context` can save them, and it
# sees only inputs and outputs. So they are outputs too. A position in a list has no derivative, so
# `mark_non_differentiable` marks them. The function `numpy_sort` hides them from the caller.


# %%
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


draw(weighted, x, passes=("forward", "backward"))

# %% [markdown]
# The gradients come back in the order of `x`: the largest number gets the 100. The backward of `NumpySort` calls the second
# Function, `NumpyTake`, and the backward of `NumpyTake` is `NumpyTake` again, with the indices swapped. Lesson 44 says why
# it does not call NumPy itself.

# %%
print([output.requires_grad for output in NumpySort.apply(x, -1)])
assert [output.requires_grad for output in NumpySort.apply(x, -1)] == [True, False, False]

# %% [markdown]
# The documentation tests the sum of the sorted numbers: each gradient is 1. That holds for any permutation, even for a
# wrong one. Different weights are a better test, and so is `gradcheck`.

# %%
x = torch.randn(2, 3)
grad_x = torch.func.grad(lambda x: numpy_sort(x).sum())(x)
assert torch.allclose(grad_x, torch.ones_like(x))

x = torch.tensor([3.0, 1.0, 2.0])
print(torch.func.grad(weighted)(x))
assert torch.func.grad(weighted)(x).tolist() == [100.0, 1.0, 10.0]

different = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(numpy_sort, different)
tie = torch.tensor([2.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
assert not torch.autograd.gradcheck(numpy_sort, tie, raise_exception=False)

# %% [markdown]
# The last check fails: where two numbers are equal, sorting has no derivative (lesson 16), and `backward` returns one of
# several possible answers.
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
# ### 3. Which ones keep the graph?
#
# `x` requires grad. Which of these results have a gradient for `x`? Give a list of letters.
#
# - `"a"`: `torch.tensor(np.tanh(x.detach().numpy()))`
# - `"b"`: `numpy_sort(x) * 2`
# - `"c"`: `x * torch.tensor(np.sort(x.detach().numpy()))`
# - `"d"`: `NumpySort.apply(x, -1)[1]`
# - `"e"`: `NumpyTake.apply(x, ind, ind_inv, 0)` with the indices of `x`

# %%
keeps_graph = ...

lessons.check("keeps_graph", keeps_graph)

# %% [markdown]
# ## Summary
#
# - NumPy cuts the graph; a `Function` around it is one step of the graph, with your derivative.
# - Sorting moves numbers, so its backward moves gradients back, along the inverse permutation.
# - A tensor that backward needs is an input or an output of `forward`; mark the outputs that have no derivative.
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
